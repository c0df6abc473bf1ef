// SPDX-License-Identifier: Apache-2.0
// gert::ComputeNodeInfo: what is known of a node before it runs (names, dtypes, formats, attrs).
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_COMPUTE_NODE_INFO_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_COMPUTE_NODE_INFO_H

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "exe_graph/runtime/runtime_attrs.h"
#include "exe_graph/runtime/storage_format.h"
#include "graph/types.h"

namespace gert {
// How many tensors one parameter of the OpDef stands for (0: absent optional, n: dynamic list)
// and where they start in the flat list of inputs or outputs.
class AnchorInstanceInfo {
 public:
    AnchorInstanceInfo() = default;
    AnchorInstanceInfo(const uint32_t start, const uint32_t count) : start_(start), count_(count) {}
    size_t GetInstanceNum() const { return count_; }
    size_t GetInstanceStart() const { return start_; }
    void SetInstanceStart(const uint32_t start) { start_ = start; }
    void SetInstantiationNum(const uint32_t count) { count_ = count; }

 private:
    uint32_t start_ = 0;
    uint32_t count_ = 0;
};

class CompileTimeTensorDesc {
 public:
    ge::DataType GetDataType() const { return data_type_; }
    const StorageFormat &GetFormat() const { return format_; }
    ge::Format GetOriginFormat() const { return format_.GetOriginFormat(); }
    ge::Format GetStorageFormat() const { return format_.GetStorageFormat(); }
    ExpandDimsType GetExpandDimsType() const { return format_.GetExpandDimsType(); }
    void SetDataType(const ge::DataType data_type) { data_type_ = data_type; }
    void SetStorageFormat(const ge::Format format) { format_.SetStorageFormat(format); }
    void SetOriginFormat(const ge::Format format) { format_.SetOriginFormat(format); }
    void SetExpandDimsType(const ExpandDimsType &expand_dims_type) {
        format_.SetExpandDimsType(expand_dims_type);
    }

 private:
    ge::DataType data_type_ = ge::DT_UNDEFINED;
    StorageFormat format_;
};

// Arrays it points to are owned by the op runtime and outlive the call.
class ComputeNodeInfo {
 public:
    struct Parts {
        const char *node_type = "";
        const char *node_name = "";
        size_t num_ir_inputs = 0;
        size_t num_ir_outputs = 0;
        size_t num_inputs = 0;
        size_t num_outputs = 0;
        const AnchorInstanceInfo *input_instances = nullptr;
        const AnchorInstanceInfo *output_instances = nullptr;
        const CompileTimeTensorDesc *inputs = nullptr;
        const CompileTimeTensorDesc *outputs = nullptr;
        const RuntimeAttrs *attrs = nullptr;
    };
    ComputeNodeInfo() = default;
    explicit ComputeNodeInfo(const Parts &parts) : parts_(parts) {}

    const ge::char_t *GetNodeType() const { return parts_.node_type; }
    const ge::char_t *GetNodeName() const { return parts_.node_name; }
    size_t GetIrInputsNum() const { return parts_.num_ir_inputs; }
    size_t GetIrOutputsNum() const { return parts_.num_ir_outputs; }
    size_t GetInputsNum() const { return parts_.num_inputs; }
    size_t GetOutputsNum() const { return parts_.num_outputs; }
    const AnchorInstanceInfo *GetInputInstanceInfo(const size_t ir_index) const {
        return ir_index < parts_.num_ir_inputs ? parts_.input_instances + ir_index : nullptr;
    }
    const AnchorInstanceInfo *GetOutputInstanceInfo(const size_t ir_index) const {
        return ir_index < parts_.num_ir_outputs ? parts_.output_instances + ir_index : nullptr;
    }
    const CompileTimeTensorDesc *GetInputTdInfo(const size_t index) const {
        return index < parts_.num_inputs ? parts_.inputs + index : nullptr;
    }
    const CompileTimeTensorDesc *GetOutputTdInfo(const size_t index) const {
        return index < parts_.num_outputs ? parts_.outputs + index : nullptr;
    }
    const RuntimeAttrs *GetAttrs() const { return parts_.attrs; }

 private:
    Parts parts_;
};
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_COMPUTE_NODE_INFO_H
