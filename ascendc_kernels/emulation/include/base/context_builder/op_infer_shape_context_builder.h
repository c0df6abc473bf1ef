// SPDX-License-Identifier: Apache-2.0
// gert::OpInferShapeContextBuilder: a context for InferShape.
#ifndef OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_INFER_SHAPE_CONTEXT_BUILDER_H
#define OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_INFER_SHAPE_CONTEXT_BUILDER_H

#include <vector>

#include "base/context_builder/context_holder.h"
#include "base/context_builder/op_context_builder_base.h"
#include "exe_graph/runtime/infer_shape_context.h"
#include "exe_graph/runtime/runtime_tensor.h"

namespace gert {
class OpInferShapeContextBuilder : public OpContextBuilderBase<OpInferShapeContextBuilder> {
 public:
    OpInferShapeContextBuilder();
    ~OpInferShapeContextBuilder() override;

    OpInferShapeContextBuilder &OutputTensorDesc(size_t index, ge::DataType dtype,
                                                 ge::Format origin_format,
                                                 ge::Format storage_format,
                                                 const ExpandDimsType &expand_dims_type = {});
    // Data types and formats are those of the tensors. Output shapes are the context's.
    OpInferShapeContextBuilder &InputTensors(const std::vector<Tensor *> &inputs);
    ContextHolder<InferShapeContext> Build();
};
}  // namespace gert

#endif  // OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_INFER_SHAPE_CONTEXT_BUILDER_H
