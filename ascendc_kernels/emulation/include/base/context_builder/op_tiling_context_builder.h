// SPDX-License-Identifier: Apache-2.0
// gert::OpTilingContextBuilder: a context for TilingFunc.
#ifndef OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_TILING_CONTEXT_BUILDER_H
#define OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_TILING_CONTEXT_BUILDER_H

#include <vector>

#include "base/context_builder/context_holder.h"
#include "base/context_builder/op_context_builder_base.h"
#include "exe_graph/runtime/tiling_context.h"

namespace gert {
class OpTilingContextBuilder : public OpContextBuilderBase<OpTilingContextBuilder> {
 public:
    OpTilingContextBuilder();
    ~OpTilingContextBuilder() override;

    // Both are needed; they stay the caller's, as the tensors and the workspace.
    OpTilingContextBuilder &CompileInfo(const void *compile_info);
    OpTilingContextBuilder &PlatformInfo(const void *platform_info);
    // 0 or 1; other values are ignored.
    OpTilingContextBuilder &Deterministic(int32_t deterministic);
    // 0 to 3; other values are ignored.
    OpTilingContextBuilder &DeterministicLevel(int32_t deterministic_level);
    // A TilingData::CreateCap block; with a deleter it is the context's.
    OpTilingContextBuilder &TilingData(const gert::TilingData *tiling_data,
                                       void (*deleter)(void *) = nullptr);
    // Instead: room for so many bytes.
    OpTilingContextBuilder &TilingDataSize(size_t tiling_data_size);
    OpTilingContextBuilder &Workspace(const ContinuousVector *workspace);
    // Data types and formats are those of the tensors.
    OpTilingContextBuilder &InputTensors(const std::vector<Tensor *> &inputs);
    OpTilingContextBuilder &OutputTensors(const std::vector<Tensor *> &outputs);
    ContextHolder<TilingContext> Build();
};
}  // namespace gert

#endif  // OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_TILING_CONTEXT_BUILDER_H
