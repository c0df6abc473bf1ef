// SPDX-License-Identifier: Apache-2.0
// gert::InferShapeRangeContext: as InferShapeContext with lower and upper bounds.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_INFER_SHAPE_RANGE_CONTEXT_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_INFER_SHAPE_RANGE_CONTEXT_H

#include "exe_graph/runtime/extended_kernel_context.h"
#include "exe_graph/runtime/range.h"
#include "exe_graph/runtime/tensor.h"

namespace gert {
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

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_INFER_SHAPE_RANGE_CONTEXT_H
