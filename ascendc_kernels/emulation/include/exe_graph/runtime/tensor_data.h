// SPDX-License-Identifier: Apache-2.0
// gert::TensorData: an address with placement, size and an optional manager that frees it.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TENSOR_DATA_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TENSOR_DATA_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "graph/ge_error_codes.h"

namespace gert {
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
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TENSOR_DATA_H
