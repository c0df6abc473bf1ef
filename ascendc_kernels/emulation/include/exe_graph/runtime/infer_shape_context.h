// SPDX-License-Identifier: Apache-2.0
// gert::InferShapeContext: input shapes (and values) in, output shapes out.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_INFER_SHAPE_CONTEXT_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_INFER_SHAPE_CONTEXT_H

#include "exe_graph/runtime/extended_kernel_context.h"
#include "exe_graph/runtime/shape.h"
#include "exe_graph/runtime/tensor.h"

namespace gert {
class InferShapeContext : public ExtendedKernelContext {
 public:
    const Shape *GetInputShape(const size_t index) const { return GetInputPointer<Shape>(index); }
    const Shape *GetOptionalInputShape(const size_t ir_index) const {
        return GetDynamicInputPointer<Shape>(ir_index, 0);
    }
    const Shape *GetRequiredInputShape(const size_t ir_index) const {
        return GetDynamicInputPointer<Shape>(ir_index, 0);
    }
    const Shape *GetDynamicInputShape(const size_t ir_index, const size_t relative_index) const {
        return GetDynamicInputPointer<Shape>(ir_index, relative_index);
    }
    const Tensor *GetInputTensor(const size_t index) const {
        return GetInputPointer<Tensor>(index);
    }
    const Tensor *GetOptionalInputTensor(const size_t ir_index) const {
        return GetDynamicInputPointer<Tensor>(ir_index, 0);
    }
    const Tensor *GetRequiredInputTensor(const size_t ir_index) const {
        return GetDynamicInputPointer<Tensor>(ir_index, 0);
    }
    const Tensor *GetDynamicInputTensor(const size_t ir_index, const size_t relative_index) const {
        return GetDynamicInputPointer<Tensor>(ir_index, relative_index);
    }
    Shape *GetOutputShape(const size_t index) { return GetOutputPointer<Shape>(index); }
};
static_assert(std::is_standard_layout<InferShapeContext>::value, "contexts are cast to each other");
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_INFER_SHAPE_CONTEXT_H
