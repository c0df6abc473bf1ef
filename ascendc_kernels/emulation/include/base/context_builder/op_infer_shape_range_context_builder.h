// SPDX-License-Identifier: Apache-2.0
// gert::OpInferShapeRangeContextBuilder: a context for InferShapeRange.
#ifndef OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_INFER_SHAPE_RANGE_CONTEXT_BUILDER_H
#define OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_INFER_SHAPE_RANGE_CONTEXT_BUILDER_H

#include <vector>

#include "base/context_builder/context_holder.h"
#include "base/context_builder/op_context_builder_base.h"
#include "exe_graph/runtime/infer_shape_range_context.h"

namespace gert {
class OpInferShapeRangeContextBuilder
    : public OpContextBuilderBase<OpInferShapeRangeContextBuilder> {
 public:
    OpInferShapeRangeContextBuilder();
    ~OpInferShapeRangeContextBuilder() override;

    OpInferShapeRangeContextBuilder &OutputTensorDesc(size_t index, ge::DataType dtype,
                                                      ge::Format origin_format,
                                                      ge::Format storage_format,
                                                      const ExpandDimsType &expand_dims_type = {});
    // Output ranges are the context's.
    OpInferShapeRangeContextBuilder &InputTensorsRange(const std::vector<Range<Tensor> *> &inputs);
    ContextHolder<InferShapeRangeContext> Build();
};
}  // namespace gert

#endif  // OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_INFER_SHAPE_RANGE_CONTEXT_BUILDER_H
