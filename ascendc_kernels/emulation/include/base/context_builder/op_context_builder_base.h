// SPDX-License-Identifier: Apache-2.0
// Builders of contexts for op_host functions, for their unit tests.
#ifndef OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_CONTEXT_BUILDER_BASE_H
#define OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_CONTEXT_BUILDER_BASE_H

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "exe_graph/runtime/continuous_vector.h"
#include "exe_graph/runtime/infer_shape_context.h"
#include "exe_graph/runtime/kernel_context.h"
#include "exe_graph/runtime/shape.h"
#include "exe_graph/runtime/tensor.h"
#include "exe_graph/runtime/tiling_context.h"
#include "graph/types.h"

namespace gert {
// gert::ContextHolder: a context that a builder made, and all it refers to.
class ContextHolderImpl;

// The context lives as long as its holder. Null when the builder was not told enough.
class ContextHolderVoid {
 public:
    ContextHolderVoid();
    explicit ContextHolderVoid(std::unique_ptr<ContextHolderImpl> impl);
    ~ContextHolderVoid();
    ContextHolderVoid(ContextHolderVoid &&other) noexcept;
    ContextHolderVoid &operator=(ContextHolderVoid &&other) noexcept;
    void *GetContext() const;

 private:
    std::unique_ptr<ContextHolderImpl> impl_;
};

template <typename ContextTypeT>
class ContextHolder {
 public:
    ContextHolder() = default;
    explicit ContextHolder(ContextHolderVoid &&holder) : holder_(std::move(holder)) {}
    ContextTypeT *GetContext() { return static_cast<ContextTypeT *>(holder_.GetContext()); }

 private:
    ContextHolderVoid holder_;
};

// What the builders of contexts for op_host functions have in common (unit tests of op_host).
class ContextBuilderImpl;

// T is the builder itself, which every setter returns. A builder builds once.
template <typename T>
class OpContextBuilderBase {
 public:
    T &OpType(const ge::AscendString &op_type);
    T &OpName(const ge::AscendString &op_name);
    // Parameters of the op's prototype, each one tensor.
    T &IONum(size_t input_ir_num, size_t output_ir_num);
    // Instead: how many tensors each parameter stands for (0: absent, n: a dynamic list).
    T &IOInstanceNum(const std::vector<uint32_t> &input_instance_num,
                     const std::vector<uint32_t> &output_instance_num);
    // Attributes in the order of the prototype.
    T &AppendAttr(bool attr);
    T &AppendAttr(int64_t attr);
    T &AppendAttr(float attr);
    T &AppendAttr(const ge::AscendString &attr);
    T &AppendAttr(const std::vector<bool> &attr);
    T &AppendAttr(const std::vector<int64_t> &attr);
    T &AppendAttr(const std::vector<float> &attr);
    T &AppendAttr(const std::vector<ge::AscendString> &attr);
    T &AppendAttr(const std::vector<std::vector<int64_t>> &attr);

    OpContextBuilderBase(const OpContextBuilderBase &) = delete;
    OpContextBuilderBase &operator=(const OpContextBuilderBase &) = delete;
    OpContextBuilderBase(OpContextBuilderBase &&) = delete;
    OpContextBuilderBase &operator=(OpContextBuilderBase &&) = delete;
    virtual ~OpContextBuilderBase();

 protected:
    OpContextBuilderBase();

    // By the position of the tensor in the flat list.
    ge::DataType &MutableInputDataType(size_t index);
    ge::Format &MutableInputOriginalFormat(size_t index);
    ge::Format &MutableInputStorageFormat(size_t index);
    ExpandDimsType &MutableInputExpandDimsType(size_t index);
    ge::DataType &MutableOutputDataType(size_t index);
    ge::Format &MutableOutputOriginalFormat(size_t index);
    ge::Format &MutableOutputStorageFormat(size_t index);
    ExpandDimsType &MutableOutputExpandDimsType(size_t index);
    T &Describe(bool input, size_t index, ge::DataType dtype, ge::Format origin_format,
                ge::Format storage_format, const ExpandDimsType &expand_dims_type);

    std::unique_ptr<ContextBuilderImpl> impl_;
};

// gert::OpKernelContextBuilder: a context of plain values.
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

// gert::OpInferDataTypeContextBuilder: a context for InferDataType.
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

// gert::OpInferShapeContextBuilder: a context for InferShape.
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

// gert::OpInferShapeRangeContextBuilder: a context for InferShapeRange.
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

// gert::OpTilingParseContextBuilder: a context for TilingParse.
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

// gert::OpTilingContextBuilder: a context for TilingFunc.
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

#endif  // OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_CONTEXT_BUILDER_BASE_H
