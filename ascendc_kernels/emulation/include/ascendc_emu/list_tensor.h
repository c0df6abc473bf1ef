// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// ListTensorDesc: how a dynamic list of inputs arrives in a kernel. In global memory, 64-bit words:
// byte offset of the pointer table; per tensor (dimensions | index << 32) and its sizes; pointers.
#ifndef ASCENDC_EMU_LIST_TENSOR_H
#define ASCENDC_EMU_LIST_TENSOR_H

#include "ascendc_emu/tensor.h"

namespace AscendC {

class ListTensorDesc;

template <class T>
class TensorDesc {
 public:
    // Caller's room for the sizes; must be set before GetDesc().
    __aicore__ void SetShapeAddr(uint64_t* shape) { shape_ = shape; }
    __aicore__ uint64_t GetDim() { return dim_; }
    __aicore__ uint64_t GetIndex() { return index_; }
    __aicore__ uint64_t GetShape(uint32_t axis) { return shape_[axis]; }
    __aicore__ __gm__ T* GetDataPtr() { return ptr_; }
    __aicore__ GlobalTensor<T> GetDataObj() {
        GlobalTensor<T> t;
        uint64_t n = 1;
        for (uint64_t i = 0; i < dim_; ++i) n *= shape_[i];
        t.SetGlobalBuffer(ptr_, n);
        return t;
    }

 private:
    friend class ListTensorDesc;
    uint64_t dim_ = 0;
    uint64_t index_ = 0;
    uint64_t* shape_ = nullptr;
    T* ptr_ = nullptr;
};

class ListTensorDesc {
 public:
    __aicore__ ListTensorDesc() {}
    __aicore__ ListTensorDesc(__gm__ void* data, uint32_t length = 0xffffffff,
                              uint32_t count = 0xffffffff) {
        Init(data, length, count);
    }
    __aicore__ void Init(__gm__ void* data, uint32_t = 0xffffffff, uint32_t = 0xffffffff) {
        words_ = reinterpret_cast<const uint64_t*>(data);
        pointers_ = words_ + words_[0] / sizeof(uint64_t);
        size_ = 0;
        for (const uint64_t* p = words_ + 1; p < pointers_; p += 1 + Dims(p)) ++size_;
    }
    template <class T>
    __aicore__ void GetDesc(TensorDesc<T>& desc, uint32_t index) {
        const uint64_t* p = words_ + 1;
        for (uint32_t i = 0; i < index; ++i) p += 1 + Dims(p);
        desc.dim_ = Dims(p);
        desc.index_ = index;
        desc.ptr_ = GetDataPtr<T>(index);
        if (desc.shape_ != nullptr) {
            for (uint64_t i = 0; i < desc.dim_; ++i) desc.shape_[i] = p[1 + i];
        }
    }
    template <class T>
    __aicore__ __gm__ T* GetDataPtr(uint32_t index) {
        return reinterpret_cast<T*>(static_cast<uintptr_t>(pointers_[index]));
    }
    __aicore__ uint32_t GetSize() { return size_; }

 private:
    static uint64_t Dims(const uint64_t* p) { return *p & 0xffffffffu; }
    const uint64_t* words_ = nullptr;
    const uint64_t* pointers_ = nullptr;
    uint32_t size_ = 0;
};

}  // namespace AscendC
#endif  // ASCENDC_EMU_LIST_TENSOR_H
