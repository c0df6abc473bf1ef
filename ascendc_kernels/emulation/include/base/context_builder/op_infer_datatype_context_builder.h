// SPDX-License-Identifier: Apache-2.0
// gert::OpInferDataTypeContextBuilder: a context for InferDataType.
#ifndef OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_INFER_DATATYPE_CONTEXT_BUILDER_H
#define OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_INFER_DATATYPE_CONTEXT_BUILDER_H

#include <vector>

#include "base/context_builder/context_holder.h"
#include "base/context_builder/op_context_builder_base.h"
#include "exe_graph/runtime/infer_datatype_context.h"

namespace gert {
class OpInferDataTypeContextBuilder : public OpContextBuilderBase<OpInferDataTypeContextBuilder> {
 public:
    OpInferDataTypeContextBuilder();
    ~OpInferDataTypeContextBuilder() override;

    OpInferDataTypeContextBuilder &InputTensorDesc(size_t index, ge::DataType dtype,
                                                   ge::Format origin_format,
                                                   ge::Format storage_format,
                                                   const ExpandDimsType &expand_dims_type = {});
    OpInferDataTypeContextBuilder &OutputTensorDesc(size_t index, ge::Format origin_format,
                                                    ge::Format storage_format,
                                                    const ExpandDimsType &expand_dims_type = {});
    ContextHolder<InferDataTypeContext> Build();
};
}  // namespace gert

#endif  // OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_INFER_DATATYPE_CONTEXT_BUILDER_H
