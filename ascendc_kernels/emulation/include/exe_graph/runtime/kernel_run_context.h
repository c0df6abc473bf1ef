// SPDX-License-Identifier: Apache-2.0
// The values a context gives access to, in CANN's layout: unit tests of op_host reach into it.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_KERNEL_RUN_CONTEXT_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_KERNEL_RUN_CONTEXT_H

#include <cstddef>

extern "C" {
typedef void (*FreeCallback)(void *);

// A value of up to 8 bytes, or the address of a larger one.
typedef struct {
    union {
        void *pointer;
        unsigned char inplace[sizeof(void *)];
    } data;
    FreeCallback deleter;
} AsyncAnyValue;

// Starts a context. The inputs' values and then the outputs' follow one another; the context's
// memory is as long as they need.
typedef struct {
    size_t input_size;
    size_t output_size;
    const void *compute_node_info;
    const void *kernel_extend_info;
    AsyncAnyValue **output_start;
    AsyncAnyValue *values[1];
} KernelRunContext;
}

namespace gert {
using ::AsyncAnyValue;
using ::KernelRunContext;

// What kernel_extend_info points to.
struct KernelExtendInfo {
    const char *kernel_name = nullptr;
    const char *kernel_type = nullptr;
};
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_KERNEL_RUN_CONTEXT_H
