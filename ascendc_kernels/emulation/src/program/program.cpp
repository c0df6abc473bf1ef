// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "ascendc_emu/program.h"

#include <stdlib.h>

#include "program/exit_report.h"

namespace ascendc_emu {
namespace {

// What the libraries of CANN reserve for themselves in a kernel's workspace on arch 2201.
constexpr size_t kSystemWorkspace = 16u << 20;

}  // namespace

void* SystemWorkspace()
{
    static void* memory = [] {
        void* fresh = calloc(1, kSystemWorkspace);
        opgen_register_gm(fresh, kSystemWorkspace, "system workspace");
        return fresh;
    }();
    return memory;
}

void LaunchProgramBody(const char* name, OpgenKernelKind kind, uint32_t blocks, void* stream,
                       void (*body)(void*), void* context)
{
    (void)stream;  // streams of the emulated runtime execute in program order
    OpgenLaunch launch = {};
    launch.body = body;
    launch.context = context;
    launch.name = name;
    launch.kind = kind;
    launch.block_dim = blocks;
    launch.workspace = SystemWorkspace();
    RunReported(launch);
}

}  // namespace ascendc_emu
