// SPDX-License-Identifier: Apache-2.0
// gert::RuntimeAttrs: attribute values by their position in the OpDef.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_RUNTIME_ATTRS_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_RUNTIME_ATTRS_H

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "exe_graph/runtime/continuous_vector.h"
#include "exe_graph/runtime/tensor.h"

namespace gert {
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
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_RUNTIME_ATTRS_H
