// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Launching kernels from a self-contained program: what `opgen run` turns kernel<<<...>>>(...)
// into.
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
#include <typeinfo>
#include <vector>

#include "ascendc_emu/launch.h"

namespace ascendc_emu {

// Runs body(context) on all cores in the order of `stream` and returns when it is done; a failure
// is printed, remembered for the program's exit report and returned by the next synchronisation of
// the stream. `blocks` is the launch's block dim; `suggested` the kind for AUTO when the kernel
// declares none.
void LaunchProgramBody(const char* name, OpgenKernelKind kind, int suggested, uint32_t blocks,
                       void* stream, void (*body)(void*), void* context);

// The launches of a program compiled once per core kind, by number and type of the call.
using KernelBody = void (*)(const void* call);
bool RegisterCubeBody(int site, const char* call, KernelBody body);
KernelBody FindCubeBody(int site, const char* call);

// Whether the calling kernel code runs on an AIC.
bool RunsOnCubeCore();

struct BodyContext {
    const void* call;
    KernelBody cube;  // null: cube cores run the same code
};

#if defined(ASCENDC_EMU_CORE_AIC)
// This object holds what cube cores run; the program itself is in the other one.
template <int site, typename Call>
void LaunchBody(const void* call) {
    (*static_cast<const Call*>(call))();
}
template <int site, typename Call>
struct CubeBody {
    static bool registered;
};
template <int site, typename Call>
bool CubeBody<site, Call>::registered =
    RegisterCubeBody(site, typeid(Call).name(), &LaunchBody<site, Call>);

template <int site, typename Call>
void LaunchProgram(const char*, OpgenKernelKind, uint64_t, void*, const Call&) {
    (void)&CubeBody<site, Call>::registered;
}
#else
// OpgenKernelKind of every launch of the program by number, from the instructions that it reaches.
extern "C" const int opgen_launch_kinds[];

template <int site, typename Call>
void LaunchBody(void* context) {
    const auto& both = *static_cast<const BodyContext*>(context);
    if (both.cube != nullptr && RunsOnCubeCore()) {
        both.cube(both.call);
    } else {
        (*static_cast<const Call*>(both.call))();
    }
}

// The arguments of the kernel are evaluated by `call`, once per core: a launch converts them
// exactly as a function call does.
template <int site, typename Call>
void LaunchProgram(const char* name, OpgenKernelKind kind, uint64_t blocks, void* stream,
                   const Call& call) {
#if defined(ASCENDC_EMU_CORE_AIV)
    BodyContext context = {&call, FindCubeBody(site, typeid(Call).name())};
#else
    BodyContext context = {&call, nullptr};
#endif
    LaunchProgramBody(name, kind, opgen_launch_kinds[site], static_cast<uint32_t>(blocks), stream,
                      &LaunchBody<site, Call>, &context);
}
#endif

// The same in a program that captures streams: `call` holds copies of the arguments and may run
// later.
extern "C" int opgen_capture_launch(void* stream, const char* name, void (*run)(void*),
                                    void (*drop)(void*), void* context);
template <int site, typename Call>
void LaunchOrKeep(const char* name, OpgenKernelKind kind, uint64_t blocks, void* stream,
                  const Call& call) {
    struct Kept {
        const char* name;
        OpgenKernelKind kind;
        uint64_t blocks;
        void* stream;
        Call call;
        static void Run(void* self) {
            const Kept& k = *static_cast<Kept*>(self);
            LaunchProgram<site>(k.name, k.kind, k.blocks, k.stream, k.call);
        }
        static void Drop(void* self) { delete static_cast<Kept*>(self); }
    };
    Kept* const kept = new Kept{name, kind, blocks, stream, call};
    if (opgen_capture_launch(stream, name, &Kept::Run, &Kept::Drop, kept) != 0) return;
    Kept::Run(kept);
    Kept::Drop(kept);
}

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_PROGRAM_H
