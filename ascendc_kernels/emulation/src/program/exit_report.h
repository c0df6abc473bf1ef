// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What the launches of a program came to, written at its end where `opgen run` asked for it.
#ifndef ASCENDC_EMU_PROGRAM_EXIT_REPORT_H
#define ASCENDC_EMU_PROGRAM_EXIT_REPORT_H

#include "ascendc_emu/launch.h"

namespace ascendc_emu {

// Runs the launch and counts it; a failure is printed and counted, too.
void RunReported(const OpgenLaunch& launch);

// Writes the report of a program that a signal ends: what was found until then.
void WriteExitReport();

// The area that the device libraries use in every launch of a program.
void* SystemWorkspace();

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_PROGRAM_EXIT_REPORT_H
