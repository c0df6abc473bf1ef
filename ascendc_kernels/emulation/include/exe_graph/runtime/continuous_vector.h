// SPDX-License-Identifier: Apache-2.0
// gert::ContinuousVector: a vector whose elements follow its header in memory.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_CONTINUOUS_VECTOR_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_CONTINUOUS_VECTOR_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "graph/types.h"

namespace gert {
class ContinuousVector {
 public:
    // Allocates header and room for `capacity` elements of type T in one block.
    template <typename T>
    static std::unique_ptr<uint8_t[]> Create(size_t capacity, size_t &total_size) {
        total_size = sizeof(ContinuousVector) + capacity * sizeof(T);
        std::unique_ptr<uint8_t[]> block(new (std::nothrow) uint8_t[total_size]());
        if (block != nullptr) {
            (new (block.get()) ContinuousVector())->Init(capacity);
        }
        return block;
    }
    template <typename T>
    static std::unique_ptr<uint8_t[]> Create(const size_t capacity) {
        size_t total_size = 0;
        return Create<T>(capacity, total_size);
    }
    void Init(const size_t capacity) {
        capacity_ = capacity;
        size_ = 0;
    }
    size_t GetSize() const { return size_; }
    ge::graphStatus SetSize(const size_t size) {
        if (size > capacity_) {
            return ge::GRAPH_PARAM_OUT_OF_RANGE;
        }
        size_ = size;
        return ge::GRAPH_SUCCESS;
    }
    size_t GetCapacity() const { return capacity_; }
    const void *GetData() const { return elements_; }
    void *MutableData() { return elements_; }

 private:
    size_t capacity_ = 0;
    size_t size_ = 0;
    uint8_t elements_[8] = {};
};
static_assert(std::is_standard_layout<ContinuousVector>::value, "crosses library boundaries");

template <typename T>
class TypedContinuousVector : private ContinuousVector {
 public:
    using ContinuousVector::GetCapacity;
    using ContinuousVector::GetSize;
    using ContinuousVector::SetSize;
    T *MutableData() { return static_cast<T *>(ContinuousVector::MutableData()); }
    const T *GetData() const { return static_cast<const T *>(ContinuousVector::GetData()); }
};

// A list of lists: an offset per inner vector, the vectors behind.
class ContinuousVectorVector {
 public:
    void Init(const size_t capacity) {
        capacity_ = capacity;
        size_ = 0;
        if (capacity != 0) {
            offsets_[0] = GetOverHeadLength(capacity);
        }
    }
    // Appends a vector of `length` elements of type T; the block must have room for it.
    template <typename T>
    ContinuousVector *Add(size_t length) {
        if (size_ >= capacity_) {
            return nullptr;
        }
        uint8_t *const place = reinterpret_cast<uint8_t *>(this) + offsets_[size_];
        ContinuousVector *const inner = reinterpret_cast<ContinuousVector *>(place);
        inner->Init(length);
        (void)inner->SetSize(length);
        const size_t bytes = (sizeof(ContinuousVector) + length * sizeof(T) + 7U) / 8U * 8U;
        const size_t end = offsets_[size_] + bytes;
        if (++size_ < capacity_) {
            offsets_[size_] = end;
        }
        return inner;
    }
    const ContinuousVector *Get(const size_t index) const {
        return reinterpret_cast<const ContinuousVector *>(reinterpret_cast<const uint8_t *>(this) +
                                                          offsets_[index]);
    }
    size_t GetSize() const { return size_; }
    static size_t GetOverHeadLength(const size_t capacity) {
        return sizeof(size_t) * (2U + (capacity == 0 ? 1U : capacity));
    }

 private:
    size_t capacity_ = 0;
    size_t size_ = 0;
    size_t offsets_[1] = {0};
};
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_CONTINUOUS_VECTOR_H
