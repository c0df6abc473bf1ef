// SPDX-License-Identifier: Apache-2.0
// gert::OpKernelContextBuilder: a context of plain values.
#ifndef OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_KERNEL_RUN_CONTEXT_BUILDER_H
#define OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_KERNEL_RUN_CONTEXT_BUILDER_H

#include <vector>

#include "base/context_builder/context_holder.h"
#include "base/context_builder/op_context_builder_base.h"
#include "exe_graph/runtime/kernel_context.h"

namespace gert {
class OpKernelContextBuilder : public OpContextBuilderBase<OpKernelContextBuilder> {
 public:
    OpKernelContextBuilder();
    ~OpKernelContextBuilder() override;

    OpKernelContextBuilder &InputTensorDesc(size_t index, ge::DataType dtype,
                                            ge::Format origin_format, ge::Format storage_format,
                                            const ExpandDimsType &expand_dims_type = {});
    OpKernelContextBuilder &OutputTensorDesc(size_t index, ge::DataType dtype,
                                             ge::Format origin_format, ge::Format storage_format,
                                             const ExpandDimsType &expand_dims_type = {});
    // Values of up to 8 bytes are given in place of the pointer, larger ones by address.
    OpKernelContextBuilder &Inputs(std::vector<void *> inputs);
    OpKernelContextBuilder &Outputs(std::vector<void *> outputs);
    ContextHolder<KernelContext> Build();
};
}  // namespace gert

#endif  // OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_KERNEL_RUN_CONTEXT_BUILDER_H
