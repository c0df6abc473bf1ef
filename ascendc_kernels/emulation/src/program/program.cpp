// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "ascendc_emu/program.h"

#include <stdlib.h>

#include <map>
#include <string>
#include <utility>

#include "ascendc_emu/core.h"
#include "program/exit_report.h"

namespace ascendc_emu {
namespace {

// What the libraries of CANN reserve for themselves in a kernel's workspace on arch 2201.
constexpr size_t kSystemWorkspace = 16u << 20;

}  // namespace

void* SystemWorkspace() {
    static void* memory = [] {
        void* fresh = calloc(1, kSystemWorkspace);
        opgen_register_gm(fresh, kSystemWorkspace, "system workspace");
        return fresh;
    }();
    return memory;
}

namespace {
std::map<std::pair<int, std::string>, KernelBody>& CubeBodies() {
    static std::map<std::pair<int, std::string>, KernelBody> all;
    return all;
}
}  // namespace

bool RegisterCubeBody(int site, const char* call, KernelBody body) {
    CubeBodies()[{site, call}] = body;
    return true;
}

KernelBody FindCubeBody(int site, const char* call) {
    const auto found = CubeBodies().find({site, call});
    if (found != CubeBodies().end()) return found->second;
    // The type's name may say the core kind; a launch that stands in no template has one call.
    KernelBody only = nullptr;
    for (const auto& [key, body] : CubeBodies()) {
        if (key.first != site) continue;
        if (only != nullptr) return nullptr;
        only = body;
    }
    return only;
}

bool RunsOnCubeCore() { return Current().kind == CoreKind::kAic; }

void LaunchProgramBody(const char* name, OpgenKernelKind kind, int suggested, uint32_t blocks,
                       void* stream, void (*body)(void*), void* context) {
    (void)stream;  // streams of the emulated runtime execute in program order
    SuggestKind(reinterpret_cast<void*>(body), suggested);
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
