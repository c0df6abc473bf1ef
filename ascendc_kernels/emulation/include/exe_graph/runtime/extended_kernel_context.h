// SPDX-License-Identifier: Apache-2.0
// gert::ExtendedKernelContext: node description, attributes and IR-index lookup.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_EXTENDED_KERNEL_CONTEXT_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_EXTENDED_KERNEL_CONTEXT_H

#include <type_traits>

#include "exe_graph/runtime/compute_node_info.h"
#include "exe_graph/runtime/kernel_context.h"

namespace gert {
// `index` counts tensors that are present; `ir_index` counts parameters of the OpDef.
class ExtendedKernelContext : protected KernelContext {
 public:
    const ComputeNodeInfo *GetComputeNodeInfo() const {
        return static_cast<const ComputeNodeInfo *>(GetComputeNodeExtend());
    }
    const CompileTimeTensorDesc *GetInputDesc(const size_t index) const {
        const ComputeNodeInfo *const node = GetComputeNodeInfo();
        return node == nullptr ? nullptr : node->GetInputTdInfo(index);
    }
    const CompileTimeTensorDesc *GetOptionalInputDesc(const size_t ir_index) const {
        return GetDynamicInputDesc(ir_index, 0);
    }
    const CompileTimeTensorDesc *GetRequiredInputDesc(const size_t ir_index) const {
        return GetDynamicInputDesc(ir_index, 0);
    }
    const CompileTimeTensorDesc *GetDynamicInputDesc(const size_t ir_index,
                                                     const size_t relative_index) const {
        const AnchorInstanceInfo *const instance = GetIrInputInstanceInfo(ir_index);
        return instance == nullptr || relative_index >= instance->GetInstanceNum()
                   ? nullptr
                   : GetInputDesc(instance->GetInstanceStart() + relative_index);
    }
    const CompileTimeTensorDesc *GetOutputDesc(const size_t index) const {
        const ComputeNodeInfo *const node = GetComputeNodeInfo();
        return node == nullptr ? nullptr : node->GetOutputTdInfo(index);
    }
    const AnchorInstanceInfo *GetIrInputInstanceInfo(const size_t ir_index) const {
        const ComputeNodeInfo *const node = GetComputeNodeInfo();
        return node == nullptr ? nullptr : node->GetInputInstanceInfo(ir_index);
    }
    const AnchorInstanceInfo *GetIrOutputInstanceInfo(const size_t ir_index) const {
        const ComputeNodeInfo *const node = GetComputeNodeInfo();
        return node == nullptr ? nullptr : node->GetOutputInstanceInfo(ir_index);
    }
    size_t GetComputeNodeInputNum() const {
        const ComputeNodeInfo *const node = GetComputeNodeInfo();
        return node == nullptr ? 0 : node->GetInputsNum();
    }
    size_t GetComputeNodeOutputNum() const {
        const ComputeNodeInfo *const node = GetComputeNodeInfo();
        return node == nullptr ? 0 : node->GetOutputsNum();
    }
    const RuntimeAttrs *GetAttrs() const {
        const ComputeNodeInfo *const node = GetComputeNodeInfo();
        return node == nullptr ? nullptr : node->GetAttrs();
    }
    const ge::char_t *GetNodeType() const {
        const ComputeNodeInfo *const node = GetComputeNodeInfo();
        return node == nullptr ? nullptr : node->GetNodeType();
    }
    const ge::char_t *GetNodeName() const {
        const ComputeNodeInfo *const node = GetComputeNodeInfo();
        return node == nullptr ? nullptr : node->GetNodeName();
    }
    const ge::char_t *GetKernelName() const { return Extend().kernel_name; }
    const ge::char_t *GetKernelType() const { return Extend().kernel_type; }

 private:
    const KernelExtendInfo &Extend() const {
        return *static_cast<const KernelExtendInfo *>(GetContext()->kernel_extend_info);
    }

 protected:
    template <typename T, size_t Offset = 0>
    const T *GetDynamicInputPointer(size_t ir_index, size_t relative_index) const {
        const AnchorInstanceInfo *const instance = GetIrInputInstanceInfo(ir_index);
        return instance == nullptr || relative_index >= instance->GetInstanceNum()
                   ? nullptr
                   : GetInputPointer<T>(Offset + instance->GetInstanceStart() + relative_index);
    }
    template <typename T, size_t Offset = 0>
    const T *GetDynamicOutputPointer(size_t ir_index, size_t relative_index) const {
        const AnchorInstanceInfo *const instance = GetIrOutputInstanceInfo(ir_index);
        return instance == nullptr || relative_index >= instance->GetInstanceNum()
                   ? nullptr
                   : GetInputPointer<T>(Offset + GetComputeNodeInputNum() +
                                        instance->GetInstanceStart() + relative_index);
    }
};
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_EXTENDED_KERNEL_CONTEXT_H
