// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef SRC_HOST_LOAD_PROBE_H
#define SRC_HOST_LOAD_PROBE_H

#include <string>

namespace ascendc_emu {

// Loads the library in a child process and returns how its static objects crashed, "" if they did
// not or no child could be made. The loader holds its lock while they are made: had it been given
// up in this process, every thread that loads, or first uses a thread_local, would wait for ever.
// The report of the crash is LastCrash() then.
std::string CrashOfLoading(const char* path);

}  // namespace ascendc_emu
#endif  // SRC_HOST_LOAD_PROBE_H
