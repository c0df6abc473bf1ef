// SPDX-License-Identifier: Apache-2.0
// The memory of a context, and the bytes of what it hands out.
#ifndef OPGEN_HOST_CONTEXT_BLOCK_H
#define OPGEN_HOST_CONTEXT_BLOCK_H

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "exe_graph/runtime/continuous_vector.h"
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

// Attribute values as the bytes that gert::RuntimeAttrs hands out.
template <typename T>
std::vector<uint8_t> Bytes(T value) {
    std::vector<uint8_t> bytes(sizeof(T) < 8 ? 8 : sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

inline std::vector<uint8_t> Bytes(const std::string &text) {
    std::vector<uint8_t> bytes(text.begin(), text.end());
    bytes.push_back(0);
    return bytes;
}

template <typename T>
std::vector<uint8_t> ListBytes(const std::vector<T> &values) {
    std::vector<uint8_t> bytes(sizeof(gert::ContinuousVector) + values.size() * sizeof(T));
    auto *const vector = new (bytes.data()) gert::ContinuousVector();
    vector->Init(values.size());
    (void)vector->SetSize(values.size());
    if (!values.empty()) {
        std::memcpy(vector->MutableData(), values.data(), values.size() * sizeof(T));
    }
    return bytes;
}

inline std::vector<uint8_t> ListListBytes(const std::vector<std::vector<int64_t>> &values) {
    size_t size = gert::ContinuousVectorVector::GetOverHeadLength(values.size());
    for (const auto &inner : values) {
        size += sizeof(gert::ContinuousVector) + inner.size() * sizeof(int64_t) + 8;
    }
    std::vector<uint8_t> bytes(size);
    auto *const outer = new (bytes.data()) gert::ContinuousVectorVector();
    outer->Init(values.size());
    for (const auto &inner : values) {
        gert::ContinuousVector *const place = outer->Add<int64_t>(inner.size());
        if (!inner.empty()) {
            std::memcpy(place->MutableData(), inner.data(), inner.size() * sizeof(int64_t));
        }
    }
    return bytes;
}

// A list of texts: the texts one after the other, each with its end.
inline std::vector<uint8_t> ListTextBytes(const std::vector<std::string> &values) {
    size_t length = 0;
    for (const std::string &value : values) {
        length += value.size() + 1;
    }
    std::vector<uint8_t> bytes(sizeof(gert::ContinuousVector) + length);
    auto *const vector = new (bytes.data()) gert::ContinuousVector();
    vector->Init(values.size());
    (void)vector->SetSize(values.size());
    auto *place = static_cast<char *>(vector->MutableData());
    for (const std::string &value : values) {
        std::memcpy(place, value.c_str(), value.size() + 1);
        place += value.size() + 1;
    }
    return bytes;
}
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_CONTEXT_BLOCK_H
