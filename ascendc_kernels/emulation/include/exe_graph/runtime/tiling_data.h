// SPDX-License-Identifier: Apache-2.0
// gert::TilingData: the byte buffer TilingFunc fills for the kernel.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TILING_DATA_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TILING_DATA_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "exe_graph/runtime/continuous_vector.h"
#include "exe_graph/runtime/runtime_attrs.h"
#include "graph/ge_error_codes.h"

namespace gert {
class TilingData {
 public:
    TilingData(const TilingData &) = delete;
    TilingData &operator=(const TilingData &) = delete;

    size_t GetCapacity() const { return capacity_; }
    size_t GetDataSize() const { return size_; }
    void SetDataSize(const size_t size) { size_ = size; }
    void *GetData() { return data_; }
    const void *GetData() const { return data_; }
    template <typename T, typename std::enable_if<std::is_standard_layout<T>::value, int>::type = 0>
    ge::graphStatus Append(const T &value) {
        return Append(&value, 1);
    }
    template <typename T, typename std::enable_if<std::is_standard_layout<T>::value, int>::type = 0>
    ge::graphStatus Append(const T *values, size_t count) {
        void *const place = Expand(sizeof(T) * count);
        if (place == nullptr) {
            return ge::GRAPH_FAILED;
        }
        std::memcpy(place, values, sizeof(T) * count);
        return ge::GRAPH_SUCCESS;
    }
    // Room for `bytes` more, or null when the capacity does not allow it.
    void *Expand(size_t bytes) {
        if (size_ > capacity_ || bytes > capacity_ - size_) {
            return nullptr;
        }
        void *const place = static_cast<uint8_t *>(data_) + size_;
        size_ += bytes;
        return place;
    }
    static std::unique_ptr<uint8_t[]> CreateCap(const size_t capacity) {
        std::unique_ptr<uint8_t[]> block(new (std::nothrow)
                                             uint8_t[sizeof(TilingData) + capacity]());
        if (block != nullptr) {
            (new (block.get()) TilingData())->Init(capacity, block.get() + sizeof(TilingData));
        }
        return block;
    }
    void Init(const size_t capacity, void *const data) {
        capacity_ = capacity;
        size_ = 0;
        data_ = data;
    }

 private:
    TilingData() = default;

    size_t capacity_ = 0;
    size_t size_ = 0;
    void *data_ = nullptr;
};

template <typename T>
TilingData &operator<<(TilingData &out, const T &value) {
    (void)out.Append(value);
    return out;
}
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TILING_DATA_H
