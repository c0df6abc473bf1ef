// SPDX-License-Identifier: Apache-2.0
// The values a context gives access to: addresses of inputs and of outputs.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_KERNEL_RUN_CONTEXT_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_KERNEL_RUN_CONTEXT_H

#include <cstddef>

namespace gert {
// Our own layout (CANN packs tagged values): slot i holds the address of value i. Owned by the op
// runtime, which fills it per step (InferShape, TilingParse, Tiling).
struct KernelRunContext {
    size_t input_size = 0;
    void *const *inputs = nullptr;
    size_t output_size = 0;
    void *const *outputs = nullptr;
    const void *compute_node_info = nullptr;
    const char *kernel_name = nullptr;
    const char *kernel_type = nullptr;
};
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_KERNEL_RUN_CONTEXT_H
