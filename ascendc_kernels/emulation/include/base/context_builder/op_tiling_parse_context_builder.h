// SPDX-License-Identifier: Apache-2.0
// gert::OpTilingParseContextBuilder: a context for TilingParse.
#ifndef OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_TILING_PARSE_CONTEXT_BUILDER_H
#define OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_TILING_PARSE_CONTEXT_BUILDER_H

#include <vector>

#include "base/context_builder/context_holder.h"
#include "base/context_builder/op_context_builder_base.h"
#include "exe_graph/runtime/continuous_vector.h"
#include "exe_graph/runtime/tiling_parse_context.h"

namespace gert {
class OpTilingParseContextBuilder : public OpContextBuilderBase<OpTilingParseContextBuilder> {
 public:
    OpTilingParseContextBuilder();
    ~OpTilingParseContextBuilder() override;

    OpTilingParseContextBuilder &InputTensorDesc(size_t index, ge::DataType dtype,
                                                 ge::Format origin_format,
                                                 ge::Format storage_format,
                                                 const ExpandDimsType &expand_dims_type = {});
    OpTilingParseContextBuilder &OutputTensorDesc(size_t index, ge::DataType dtype,
                                                  ge::Format origin_format,
                                                  ge::Format storage_format,
                                                  const ExpandDimsType &expand_dims_type = {});
    // All three are needed and stay the caller's.
    OpTilingParseContextBuilder &CompiledJson(const ge::char_t *compiled_json);
    OpTilingParseContextBuilder &CompiledInfo(const void *compile_info);
    OpTilingParseContextBuilder &PlatformInfo(const void *platform_info);
    ContextHolder<TilingParseContext> Build();
};
}  // namespace gert

#endif  // OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_TILING_PARSE_CONTEXT_BUILDER_H
