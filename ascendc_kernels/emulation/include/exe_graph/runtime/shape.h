// SPDX-License-Identifier: Apache-2.0
// gert::Shape: up to 25 dimensions, a plain value.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_SHAPE_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_SHAPE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <type_traits>
#include <vector>

namespace gert {
struct Shape {
 public:
    static constexpr size_t kMaxDimNum = 25;
    static constexpr int64_t kInvalidDimValue = std::numeric_limits<int64_t>::min();

    Shape() : rank_(0), dims_{} {}
    // More than kMaxDimNum dimensions give a scalar, as in CANN.
    Shape(const std::initializer_list<int64_t> &dims) : Shape() {
        if (dims.size() <= kMaxDimNum) {
            for (const int64_t dim : dims) {
                dims_[rank_++] = dim;
            }
        }
    }

    bool operator==(const Shape &other) const {
        if (rank_ != other.rank_) {
            return false;
        }
        for (size_t i = 0; i < rank_; ++i) {
            if (dims_[i] != other.dims_[i]) {
                return false;
            }
        }
        return true;
    }
    bool operator!=(const Shape &other) const { return !(*this == other); }

    // Product of the dimensions, 1 for a scalar; kInvalidDimValue on int64 overflow.
    int64_t GetShapeSize() const {
        int64_t size = 1;
        for (size_t i = 0; i < rank_; ++i) {
            if (__builtin_mul_overflow(size, dims_[i], &size)) {
                return kInvalidDimValue;
            }
        }
        return size;
    }
    bool IsScalar() const { return rank_ == 0; }
    void SetScalar() { rank_ = 0; }
    size_t GetDimNum() const { return rank_; }
    void SetDimNum(const size_t rank) { rank_ = rank; }
    // Beyond the rank the value is whatever was there (CANN), beyond kMaxDimNum kInvalidDimValue.
    int64_t GetDim(const size_t index) const {
        return index < kMaxDimNum ? dims_[index] : kInvalidDimValue;
    }
    const int64_t &operator[](const size_t index) const { return dims_[index]; }
    int64_t &operator[](const size_t index) { return dims_[index]; }
    // Writes one dimension. The rank becomes at least `index`, not `index + 1`: call SetDimNum.
    void SetDim(size_t index, const int64_t value) {
        if (index < kMaxDimNum) {
            dims_[index] = value;
            rank_ = rank_ < index ? index : rank_;
        }
    }
    Shape &AppendDim(const int64_t value) {
        if (rank_ < kMaxDimNum) {
            dims_[rank_++] = value;
        }
        return *this;
    }

 private:
    size_t rank_;
    int64_t dims_[kMaxDimNum];
};
static_assert(std::is_standard_layout<Shape>::value, "Shape crosses library boundaries");
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_SHAPE_H
