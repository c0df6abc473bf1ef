// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Integer division by zero in a kernel: the scalar unit of the device goes on, x86 raises SIGFPE.
#ifndef SRC_CORE_DIVISION_H
#define SRC_CORE_DIVISION_H

#include <signal.h>

namespace ascendc_emu {

// Called by the handler of SIGFPE (crash.cpp). In a kernel the instruction is stepped over, with
// quotient 0 and the dividend as remainder, and true returned.
bool ResumeDivision(const siginfo_t& info, void* context);

}  // namespace ascendc_emu
#endif  // SRC_CORE_DIVISION_H
