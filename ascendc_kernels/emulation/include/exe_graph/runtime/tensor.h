// SPDX-License-Identifier: Apache-2.0
// Tensors at run time: their memory, and what is known of them.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TENSOR_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TENSOR_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "exe_graph/runtime/shape.h"
#include "graph/types.h"

namespace gert {
// gert::TensorData: an address with placement, size and an optional manager that frees it.
using TensorAddress = void *;
using ConstTensorAddressPtr = const void *;

enum TensorPlacement : int32_t {
    kOnDeviceHbm,
    kOnHost,
    kFollowing,  // the data lies behind the Tensor object
    kOnDeviceP2p,
    kTensorPlacementEnd
};

class TensorPlacementUtils {
 public:
    static bool IsOnDevice(TensorPlacement placement) {
        return IsOnDeviceHbm(placement) || IsOnDeviceP2p(placement);
    }
    static bool IsOnHost(TensorPlacement placement) {
        return IsOnHostNotFollowing(placement) || IsOnHostFollowing(placement);
    }
    static bool IsOnHostFollowing(TensorPlacement placement) { return placement == kFollowing; }
    static bool IsOnHostNotFollowing(TensorPlacement placement) { return placement == kOnHost; }
    static bool IsOnDeviceHbm(TensorPlacement placement) { return placement == kOnDeviceHbm; }
    static bool IsOnDeviceP2p(TensorPlacement placement) { return placement == kOnDeviceP2p; }
};

enum TensorOperateType : int32_t {
    kGetTensorAddress,
    kFreeTensor,
    kPlusShareCount,
    kTensorOperateType
};

using TensorAddrManager = ge::graphStatus (*)(TensorAddress addr, TensorOperateType operate_type,
                                              void **out);

class TensorData {
 public:
    explicit TensorData(TensorAddress addr = nullptr, const TensorAddrManager manager = nullptr)
        : TensorData(addr, manager, 0U, kTensorPlacementEnd) {}
    explicit TensorData(TensorAddress addr, const TensorAddrManager manager, size_t size,
                        TensorPlacement placement)
        : addr_(addr), manager_(manager), size_(size), placement_(placement) {}
    TensorData(const TensorData &) = delete;
    TensorData &operator=(const TensorData &) = delete;
    TensorData(TensorData &&other) noexcept : TensorData() { Swap(other); }
    TensorData &operator=(TensorData &&other) noexcept {
        if (this != &other) {
            (void)Free();
            addr_ = nullptr;
            manager_ = nullptr;
            size_ = 0U;
            placement_ = kTensorPlacementEnd;
            Swap(other);
        }
        return *this;
    }
    ~TensorData() noexcept { (void)Free(); }

    TensorAddress GetAddr() const {
        if (manager_ == nullptr || addr_ == nullptr) {
            return addr_;
        }
        TensorAddress addr = nullptr;
        return manager_(addr_, kGetTensorAddress, &addr) == ge::GRAPH_SUCCESS ? addr : nullptr;
    }
    size_t GetSize() const { return size_; }
    void SetSize(const size_t size) { size_ = size; }
    TensorPlacement GetPlacement() const { return placement_; }
    void SetPlacement(const TensorPlacement placement) { placement_ = placement; }
    ge::graphStatus Free() {
        if (manager_ == nullptr) {
            return ge::GRAPH_SUCCESS;
        }
        const ge::graphStatus status = manager_(addr_, kFreeTensor, nullptr);
        if (status == ge::GRAPH_SUCCESS) {
            addr_ = nullptr;
            manager_ = nullptr;
        }
        return status;
    }
    ge::graphStatus SetAddr(const ConstTensorAddressPtr addr, TensorAddrManager manager) {
        const ge::graphStatus status = Free();
        if (status == ge::GRAPH_SUCCESS) {
            addr_ = const_cast<TensorAddress>(addr);
            manager_ = manager;
        }
        return status;
    }

 private:
    void Swap(TensorData &other) {
        std::swap(addr_, other.addr_);
        std::swap(manager_, other.manager_);
        std::swap(size_, other.size_);
        std::swap(placement_, other.placement_);
    }

    TensorAddress addr_;
    TensorAddrManager manager_;
    size_t size_;
    TensorPlacement placement_;
};

// gert::Tensor: shape, format, dtype and data as op-host functions see them.
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

// gert::TensorV2: a tensor with strides and an offset in its storage.
// Contexts hand tensors over dense and do not read what is added here.
class TensorV2 : public Tensor {
 public:
    TensorV2() {}
    TensorV2(const StorageShape &shape, const StorageFormat &format, ge::DataType data_type)
        : Tensor(shape, format, data_type) {}
    TensorV2(const StorageShape &shape, const StorageFormat &format,
             const TensorPlacement placement, const ge::DataType data_type, TensorAddress addr,
             TensorAddrManager manager = nullptr)
        : Tensor(shape, format, placement, data_type, addr, manager) {}
    TensorV2(const StorageShape &shape, const StorageFormat &format,
             const TensorPlacement placement, const ge::DataType data_type, TensorAddress addr,
             TensorAddrManager manager, const Stride &stride, const int64_t offset)
        : Tensor(shape, format, placement, data_type, addr, manager),
          stride_(stride),
          offset_(offset) {}

    const Stride &GetStride() const { return stride_; }
    Stride &MutableStride() { return stride_; }
    int64_t GetOffset() const { return offset_; }
    void SetOffset(const int64_t offset) { offset_ = offset; }

 private:
    Stride stride_;
    int64_t offset_ = 0;
};
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TENSOR_H
