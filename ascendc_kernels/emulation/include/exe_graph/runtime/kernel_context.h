// SPDX-License-Identifier: Apache-2.0
// What an op's host function is called with: values, the description of the node, its attributes.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_KERNEL_CONTEXT_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_KERNEL_CONTEXT_H

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "exe_graph/runtime/continuous_vector.h"
#include "exe_graph/runtime/shape.h"
#include "exe_graph/runtime/tensor.h"
#include "graph/types.h"

// C names that gert function types are spelled with.
typedef unsigned int UINT32;
typedef UINT32 KernelStatus;

// The values a context gives access to, in CANN's layout: unit tests of op_host reach into it.
extern "C" {
typedef void (*FreeCallback)(void *);

// A value of up to 8 bytes, or the address of a larger one.
typedef struct {
    union {
        void *pointer;
        unsigned char inplace[sizeof(void *)];
    } data;
    FreeCallback deleter;
} AsyncAnyValue;

// Starts a context. The inputs' values and then the outputs' follow one another; the context's
// memory is as long as they need.
typedef struct {
    size_t input_size;
    size_t output_size;
    const void *compute_node_info;
    const void *kernel_extend_info;
    AsyncAnyValue **output_start;
    AsyncAnyValue *values[1];
} KernelRunContext;
}

namespace gert {
using ::AsyncAnyValue;
using ::KernelRunContext;

// What kernel_extend_info points to.
struct KernelExtendInfo {
    const char *kernel_name = nullptr;
    const char *kernel_type = nullptr;
};

// gert::KernelContext: typed access to the values of a step by position.
// Lies in memory that the op runtime or a context builder made; values of T of up to 8 bytes are in
// the slot itself.
class KernelContext {
 public:
    size_t GetInputNum() const { return context_.input_size; }
    size_t GetOutputNum() const { return context_.output_size; }
    // Address of value i, null beyond the end.
    template <typename T>
    const T *GetInputPointer(size_t i) const {
        return i < context_.input_size ? Value<T>(context_.values[i]) : nullptr;
    }
    template <typename T>
    T *MutableInputPointer(size_t i) const {
        return i < context_.input_size ? Value<T>(context_.values[i]) : nullptr;
    }
    template <typename T>
    T GetInputValue(size_t i) const {
        const T *const value = GetInputPointer<T>(i);
        return value == nullptr ? T{} : *value;
    }
    const char *GetInputStrPointer(const size_t i) const { return GetInputValue<const char *>(i); }
    template <typename T>
    T *GetOutputPointer(size_t i) const {
        return i < context_.output_size ? Value<T>(context_.output_start[i]) : nullptr;
    }
    const void *GetComputeNodeExtend() const { return context_.compute_node_info; }
    KernelRunContext *GetContext() { return &context_; }
    const KernelRunContext *GetContext() const { return &context_; }

 private:
    template <typename T>
    static T *Value(AsyncAnyValue *slot) {
        if constexpr (!std::is_void<T>::value) {
            if (sizeof(T) <= sizeof(void *)) {
                return (T *)slot->data.inplace;  // NOLINT: whatever T's constness is
            }
        }
        return static_cast<T *>(slot->data.pointer);
    }

    KernelRunContext context_;
};
static_assert(std::is_standard_layout<KernelContext>::value, "contexts are cast to each other");

// gert::RuntimeAttrs: attribute values by their position in the OpDef.
// Every getter returns null for an index that is out of range. The caller names the type; a wrong
// one reads the bytes of the right one, as in CANN.
class RuntimeAttrs {
 public:
    // For the runtime that owns the values.
    RuntimeAttrs(const void *const *values, size_t count) : values_(values), count_(count) {}
    RuntimeAttrs(const RuntimeAttrs &) = delete;
    RuntimeAttrs &operator=(const RuntimeAttrs &) = delete;

    template <typename T>
    const T *GetAttrPointer(size_t index) const {
        return index < count_ ? static_cast<const T *>(values_[index]) : nullptr;
    }
    const int64_t *GetInt(const size_t index) const { return GetAttrPointer<int64_t>(index); }
    const TypedContinuousVector<int64_t> *GetListInt(const size_t index) const {
        return GetAttrPointer<TypedContinuousVector<int64_t>>(index);
    }
    const ContinuousVectorVector *GetListListInt(const size_t index) const {
        return GetAttrPointer<ContinuousVectorVector>(index);
    }
    const char *GetStr(const size_t index) const { return GetAttrPointer<char>(index); }
    const Tensor *GetTensor(const size_t index) const { return GetAttrPointer<Tensor>(index); }
    const float *GetFloat(const size_t index) const { return GetAttrPointer<float>(index); }
    const bool *GetBool(const size_t index) const { return GetAttrPointer<bool>(index); }
    const TypedContinuousVector<float> *GetListFloat(const size_t index) const {
        return GetAttrPointer<TypedContinuousVector<float>>(index);
    }
    const ContinuousVectorVector *GetListListFloat(const size_t index) const {
        return GetAttrPointer<ContinuousVectorVector>(index);
    }
    size_t GetAttrNum() const { return count_; }

 private:
    const void *const *values_;
    size_t count_;
};

// gert::ComputeNodeInfo: what is known of a node before it runs (names, dtypes, formats, attrs).
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

// gert::ExtendedKernelContext: node description, attributes and IR-index lookup.
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

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_KERNEL_CONTEXT_H
