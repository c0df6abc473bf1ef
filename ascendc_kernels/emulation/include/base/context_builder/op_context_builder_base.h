// SPDX-License-Identifier: Apache-2.0
// What the builders of contexts for op_host functions have in common (unit tests of op_host).
#ifndef OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_CONTEXT_BUILDER_BASE_H
#define OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_CONTEXT_BUILDER_BASE_H

#include <cstdint>
#include <memory>
#include <vector>

#include "exe_graph/runtime/expand_dims_type.h"
#include "exe_graph/runtime/shape.h"
#include "exe_graph/runtime/storage_shape.h"
#include "graph/ascend_string.h"
#include "graph/types.h"

namespace gert {
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
}  // namespace gert

#endif  // OPGEN_EMULATION_BASE_CONTEXT_BUILDER_OP_CONTEXT_BUILDER_BASE_H
