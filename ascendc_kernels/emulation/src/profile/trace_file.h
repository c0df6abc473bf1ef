// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Traces as files, to be replayed with other parameters, or in another process, without the kernel.
// A file serves the library that wrote it: it holds the structs as they lie in memory.
#ifndef OPGEN_PROFILE_TRACE_FILE_H
#define OPGEN_PROFILE_TRACE_FILE_H

#include <memory>
#include <string>

#include "profile/trace.h"

namespace ascendc_emu {
namespace profile {

// False: the file cannot be written.
bool SaveTrace(const Trace& trace, const std::string& path);

// Null: it cannot be read or is no such file.
std::unique_ptr<Trace> LoadTrace(const std::string& path);

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_TRACE_FILE_H
