// SPDX-License-Identifier: Apache-2.0
// The memory of a context.
#ifndef OPGEN_HOST_CONTEXT_BLOCK_H
#define OPGEN_HOST_CONTEXT_BLOCK_H

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "exe_graph/runtime/kernel_context.h"

namespace ascendc_emu {
// A value in its slot: small ones in place of the pointer.
inline void *InPlace(int64_t value) { return reinterpret_cast<void *>(value); }

class ContextBlock {
 public:
    // `node` is a gert::ComputeNodeInfo and outlives the block, as `extend` does.
    ContextBlock(const std::vector<void *> &inputs, const std::vector<void *> &outputs,
                 const void *node, const gert::KernelExtendInfo &extend) {
        const size_t count = inputs.size() + outputs.size();
        slots_.resize(count + 1);
        memory_.resize((sizeof(KernelRunContext) + count * sizeof(void *)) / 8 + 1);
        auto *const context = reinterpret_cast<KernelRunContext *>(memory_.data());
        context->input_size = inputs.size();
        context->output_size = outputs.size();
        context->compute_node_info = node;
        context->kernel_extend_info = &extend;
        context->output_start = context->values + inputs.size();
        for (size_t i = 0; i < count; ++i) {
            slots_[i].data.pointer = i < inputs.size() ? inputs[i] : outputs[i - inputs.size()];
            slots_[i].deleter = nullptr;
            context->values[i] = &slots_[i];
        }
    }
    ContextBlock(const ContextBlock &) = delete;
    ContextBlock &operator=(const ContextBlock &) = delete;

    template <typename Context>
    Context *As() {
        return reinterpret_cast<Context *>(memory_.data());
    }

 private:
    std::vector<AsyncAnyValue> slots_;
    std::vector<uint64_t> memory_;
};
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_CONTEXT_BLOCK_H
