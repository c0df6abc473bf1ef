// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef OPGEN_PROFILER_COUNTS_H
#define OPGEN_PROFILER_COUNTS_H

#include "ascendc_emu/record.h"

namespace ascendc_emu {
namespace profiler {

// A sink that counts what opgen_counts_json() returns; the caller owns it.
Sink* MakeCounter();

}  // namespace profiler
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILER_COUNTS_H
