// SPDX-License-Identifier: Apache-2.0
// Contexts of InferDataType, InferShape and InferShapeRange.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_INFER_SHAPE_CONTEXT_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_INFER_SHAPE_CONTEXT_H

#include "exe_graph/runtime/kernel_context.h"
#include "exe_graph/runtime/shape.h"
#include "exe_graph/runtime/tensor.h"
#include "graph/types.h"

namespace gert {
// gert::InferDataTypeContext: input dtypes in, output dtypes out.
// A missing input reads as DT_UNDEFINED.
class InferDataTypeContext : public ExtendedKernelContext {
 public:
    ge::DataType GetInputDataType(const size_t index) const {
        return ValueOf(GetInputPointer<ge::DataType>(index));
    }
    ge::DataType GetOptionalInputDataType(const size_t ir_index) const {
        return ValueOf(GetDynamicInputPointer<ge::DataType>(ir_index, 0));
    }
    ge::DataType GetRequiredInputDataType(const size_t ir_index) const {
        return ValueOf(GetDynamicInputPointer<ge::DataType>(ir_index, 0));
    }
    ge::DataType GetDynamicInputDataType(const size_t ir_index, const size_t relative_index) const {
        return ValueOf(GetDynamicInputPointer<ge::DataType>(ir_index, relative_index));
    }
    ge::DataType GetOutputDataType(const size_t index) const {
        return ValueOf(GetOutputPointer<ge::DataType>(index));
    }
    ge::graphStatus SetOutputDataType(const size_t index, const ge::DataType data_type) {
        ge::DataType *const output = GetOutputPointer<ge::DataType>(index);
        if (output == nullptr) {
            return ge::GRAPH_FAILED;
        }
        *output = data_type;
        return ge::GRAPH_SUCCESS;
    }

 private:
    static ge::DataType ValueOf(const ge::DataType *value) {
        return value == nullptr ? ge::DT_UNDEFINED : *value;
    }
};

// gert::InferShapeContext: input shapes (and values) in, output shapes out.
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

// gert::InferShapeRangeContext: as InferShapeContext with lower and upper bounds.
using TensorRange = Range<Tensor>;

// Bounds of outputs whose shape InferShape cannot tell; input bounds are the real shapes.
class InferShapeRangeContext : public ExtendedKernelContext {
 public:
    const Range<Shape> *GetInputShapeRange(const size_t index) const {
        return GetInputPointer<Range<Shape>>(index);
    }
    const Range<Shape> *GetOptionalInputShapeRange(const size_t ir_index) const {
        return GetDynamicInputPointer<Range<Shape>>(ir_index, 0);
    }
    const Range<Shape> *GetRequiredInputShapeRange(const size_t ir_index) const {
        return GetDynamicInputPointer<Range<Shape>>(ir_index, 0);
    }
    const Range<Shape> *GetDynamicInputShapeRange(const size_t ir_index,
                                                  const size_t relative_index) const {
        return GetDynamicInputPointer<Range<Shape>>(ir_index, relative_index);
    }
    const TensorRange *GetInputTensorRange(const size_t index) const {
        return GetInputPointer<TensorRange>(index);
    }
    const TensorRange *GetOptionalInputTensorRange(const size_t ir_index) const {
        return GetDynamicInputPointer<TensorRange>(ir_index, 0);
    }
    Range<Shape> *GetOutputShapeRange(const size_t index) {
        return GetOutputPointer<Range<Shape>>(index);
    }
};
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_INFER_SHAPE_CONTEXT_H
