// SPDX-License-Identifier: Apache-2.0
// gert::Tensor: shape, format, dtype and data as op-host functions see them.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TENSOR_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TENSOR_H

#include <cstring>
#include <memory>
#include <utility>

#include "exe_graph/runtime/storage_format.h"
#include "exe_graph/runtime/storage_shape.h"
#include "exe_graph/runtime/tensor_data.h"
#include "graph/ge_error_codes.h"
#include "graph/types.h"

namespace gert {
class Tensor {
 public:
    Tensor() {}
    Tensor(const StorageShape &shape, const StorageFormat &format, ge::DataType data_type)
        : shape_(shape), format_(format), data_type_(data_type) {}
    Tensor(const StorageShape &shape, const StorageFormat &format, const TensorPlacement placement,
           const ge::DataType data_type, TensorAddress addr)
        : Tensor(shape, format, placement, data_type, addr, nullptr) {}
    Tensor(const StorageShape &shape, const StorageFormat &format, const TensorPlacement placement,
           const ge::DataType data_type, TensorAddress addr, TensorAddrManager manager)
        : shape_(shape), format_(format), data_type_(data_type) {
        data_ = TensorData(addr, manager,
                           static_cast<size_t>(ge::GetSizeInBytes(GetShapeSize(), data_type)),
                           placement);
    }

    int64_t GetShapeSize() const { return shape_.GetStorageShape().GetShapeSize(); }
    // Host address of the values. Null unless the op declared that it depends on them
    // (ValueDepend, InputsDataDependency): on a device only those are copied to the host.
    template <class T>
    const T *GetData() const {
        return static_cast<const T *>(GetAddr());
    }
    template <class T>
    T *GetData() {
        return static_cast<T *>(GetAddr());
    }
    void SetData(TensorData &&data) { data_ = std::move(data); }
    const void *GetAddr() const {
        return data_.GetPlacement() == kFollowing ? static_cast<const void *>(this + 1)
                                                  : data_.GetAddr();
    }
    void *GetAddr() {
        return data_.GetPlacement() == kFollowing ? static_cast<void *>(this + 1) : data_.GetAddr();
    }
    size_t GetSize() const { return data_.GetSize(); }
    void SetSize(const size_t size) { data_.SetSize(size); }
    ge::DataType GetDataType() const { return data_type_; }
    void SetDataType(const ge::DataType data_type) { data_type_ = data_type; }
    const Shape &GetStorageShape() const { return shape_.GetStorageShape(); }
    Shape &MutableStorageShape() { return shape_.MutableStorageShape(); }
    const Shape &GetOriginShape() const { return shape_.GetOriginShape(); }
    Shape &MutableOriginShape() { return shape_.MutableOriginShape(); }
    const StorageShape &GetShape() const { return shape_; }
    StorageShape &GetShape() { return shape_; }
    ge::Format GetStorageFormat() const { return format_.GetStorageFormat(); }
    void SetStorageFormat(const ge::Format format) { format_.SetStorageFormat(format); }
    ge::Format GetOriginFormat() const { return format_.GetOriginFormat(); }
    void SetOriginFormat(const ge::Format format) { format_.SetOriginFormat(format); }
    const StorageFormat &GetFormat() const { return format_; }
    StorageFormat &MutableFormat() { return format_; }
    ExpandDimsType GetExpandDimsType() const { return format_.GetExpandDimsType(); }
    void SetExpandDimsType(const ExpandDimsType &expand_dims_type) {
        format_.SetExpandDimsType(expand_dims_type);
    }
    TensorPlacement GetPlacement() const { return data_.GetPlacement(); }
    void SetPlacement(const TensorPlacement placement) { data_.SetPlacement(placement); }
    const TensorData &GetTensorData() const { return data_; }
    TensorData &MutableTensorData() { return data_; }

 private:
    // First member: InferShapeContext hands out the same address as Shape and as Tensor.
    StorageShape shape_;
    StorageFormat format_;
    ge::DataType data_type_ = ge::DT_UNDEFINED;
    TensorData data_;
};
static_assert(std::is_standard_layout<Tensor>::value, "crosses library boundaries");
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TENSOR_H
