// SPDX-License-Identifier: Apache-2.0
// gert::KernelContext: typed access to the values of a step by position.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_KERNEL_CONTEXT_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_KERNEL_CONTEXT_H

#include <cstddef>
#include <type_traits>

#include "exe_graph/runtime/kernel_run_context.h"

namespace gert {
// Lies in memory that the op runtime or a context builder made; values of T of up to 8 bytes are in
// the slot itself.
class KernelContext {
 public:
    size_t GetInputNum() const { return context_.input_size; }
    size_t GetOutputNum() const { return context_.output_size; }
    // Address of value i, null beyond the end.
    template <typename T>
    const T *GetInputPointer(size_t i) const {
        return i < context_.input_size ? Value<T>(context_.values[i]) : nullptr;
    }
    template <typename T>
    T *MutableInputPointer(size_t i) const {
        return i < context_.input_size ? Value<T>(context_.values[i]) : nullptr;
    }
    template <typename T>
    T GetInputValue(size_t i) const {
        const T *const value = GetInputPointer<T>(i);
        return value == nullptr ? T{} : *value;
    }
    const char *GetInputStrPointer(const size_t i) const { return GetInputValue<const char *>(i); }
    template <typename T>
    T *GetOutputPointer(size_t i) const {
        return i < context_.output_size ? Value<T>(context_.output_start[i]) : nullptr;
    }
    const void *GetComputeNodeExtend() const { return context_.compute_node_info; }
    KernelRunContext *GetContext() { return &context_; }
    const KernelRunContext *GetContext() const { return &context_; }

 private:
    template <typename T>
    static T *Value(AsyncAnyValue *slot) {
        if constexpr (!std::is_void<T>::value) {
            if (sizeof(T) <= sizeof(void *)) {
                return (T *)slot->data.inplace;  // NOLINT: whatever T's constness is
            }
        }
        return static_cast<T *>(slot->data.pointer);
    }

    KernelRunContext context_;
};
static_assert(std::is_standard_layout<KernelContext>::value, "contexts are cast to each other");
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_KERNEL_CONTEXT_H
