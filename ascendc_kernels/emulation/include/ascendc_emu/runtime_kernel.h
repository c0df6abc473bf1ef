// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What a library of kernels compiled at run time (aclrtc) shows to the runtime that launches them.
// `msopgen_wrap/foreign/runtime_compiler.py` writes the table into every such library.
#ifndef ASCENDC_EMU_RUNTIME_KERNEL_H
#define ASCENDC_EMU_RUNTIME_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include <utility>

struct OpgenRuntimeKernel {
    const char* name;         // entry, or the name expression it was asked for by
    const void* address;      // of the function, to find its mangled name
    uint32_t count;           // of parameters
    uint32_t bytes;           // of all of them one after another, as in a C struct
    const uint32_t* sizes;    // of each in bytes
    const uint32_t* offsets;  // of each among all
    // args[i] points to the value of parameter i.
    void (*launch)(uint32_t blocks, void* stream, void* const* args);
};

// The table ends with an entry without name.
extern "C" __attribute__((visibility("default"))) const OpgenRuntimeKernel opgen_runtime_kernels[];

namespace ascendc_emu {

// Sizes and places of a kernel's parameters.
template <typename Function>
struct KernelParameters;

template <typename... Types>
struct KernelParameters<void (*)(Types...)> {
    static constexpr uint32_t count = sizeof...(Types);

    struct Layout {
        uint32_t sizes[sizeof...(Types) + 1] = {static_cast<uint32_t>(sizeof(Types))..., 0};
        uint32_t offsets[sizeof...(Types) + 1] = {};

        constexpr Layout() {
            const uint32_t alignments[sizeof...(Types) + 1] = {
                static_cast<uint32_t>(alignof(Types))..., 1};
            uint32_t at = 0;
            for (uint32_t i = 0; i < count; ++i) {
                at = (at + alignments[i] - 1) / alignments[i] * alignments[i];
                offsets[i] = at;
                at += sizes[i];
            }
            offsets[count] = at;
        }
    };
    static constexpr Layout layout = Layout();

    // Calls start(blocks, stream, values...) with the values that args point to.
    template <typename Start, size_t... I>
    static void Unpack(std::index_sequence<I...>, Start start, uint32_t blocks, void* stream,
                       void* const* args) {
        start(blocks, stream, *static_cast<const Types*>(args[I])...);
    }
    template <typename Start>
    static void Call(Start start, uint32_t blocks, void* stream, void* const* args) {
        Unpack(std::index_sequence_for<Types...>(), start, blocks, stream, args);
    }
};

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_RUNTIME_KERNEL_H
