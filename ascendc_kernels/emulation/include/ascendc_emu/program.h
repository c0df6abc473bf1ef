// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Launching kernels from a self-contained program: what `opgen run` turns kernel<<<...>>>(...) into.
#ifndef ASCENDC_EMU_PROGRAM_H
#define ASCENDC_EMU_PROGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What CANN's host headers bring along and public programs use without including it.
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "ascendc_emu/launch.h"

namespace ascendc_emu {

// Runs body(context) on all cores in the order of `stream` and returns when it is done; a failure is
// printed, remembered for the program's exit report and returned by the next synchronisation of the
// stream. `blocks` is the launch's block dim.
void LaunchProgramBody(const char* name, OpgenKernelKind kind, uint32_t blocks, void* stream,
                       void (*body)(void*), void* context);

// The arguments of the kernel are evaluated by `call`, once per core: a launch converts them exactly
// as a function call does.
template <typename Call>
void LaunchProgram(const char* name, OpgenKernelKind kind, uint64_t blocks, void* stream,
                   const Call& call)
{
    LaunchProgramBody(
        name, kind, static_cast<uint32_t>(blocks), stream,
        [](void* context) { (*static_cast<const Call*>(context))(); }, const_cast<Call*>(&call));
}

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_PROGRAM_H
