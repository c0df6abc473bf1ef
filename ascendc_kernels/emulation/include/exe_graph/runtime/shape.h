// SPDX-License-Identifier: Apache-2.0
// Shapes, strides and ranges of tensors at run time, and the formats that they are stored in.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_SHAPE_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_SHAPE_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "graph/types.h"

namespace gert {
// gert::Shape: up to 25 dimensions, a plain value.
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

// gert::Stride: elements between neighbours of each dimension of a view; empty for a dense tensor.
struct Stride {
 public:
    static constexpr size_t kMaxDimNum = 25;
    static constexpr int64_t kInvalidStrideValue = std::numeric_limits<int64_t>::min();

    Stride() : rank_(0), strides_{} {}
    // More than kMaxDimNum strides give none, as in CANN.
    Stride(const std::initializer_list<int64_t> &strides) : Stride() {
        if (strides.size() <= kMaxDimNum) {
            rank_ = strides.size();
            std::copy(strides.begin(), strides.end(), strides_);
        }
    }

    bool operator==(const Stride &other) const {
        return rank_ == other.rank_ && std::equal(strides_, strides_ + rank_, other.strides_);
    }
    bool operator!=(const Stride &other) const { return !(*this == other); }

    size_t GetDimNum() const { return rank_; }
    void SetDimNum(const size_t dim_num) { rank_ = dim_num; }
    // kInvalidStrideValue behind the last possible dimension.
    int64_t GetStride(const size_t idx) const {
        return idx < kMaxDimNum ? strides_[idx] : kInvalidStrideValue;
    }
    const int64_t &operator[](const size_t idx) const { return strides_[idx]; }
    int64_t &operator[](const size_t idx) { return strides_[idx]; }
    void SetStride(const size_t idx, const int64_t stride) {
        if (idx < kMaxDimNum) {
            strides_[idx] = stride;
        }
    }
    Stride &AppendStride(const int64_t stride) {
        if (rank_ < kMaxDimNum) {
            strides_[rank_++] = stride;
        }
        return *this;
    }

 private:
    size_t rank_;
    int64_t strides_[kMaxDimNum];
    uint8_t reserved_[40] = {};
};

// gert::Range: a pair of pointers to the lower and upper bound.
template <typename T>
class Range {
 public:
    Range() : min_(nullptr), max_(nullptr) {}
    Range(T *min, T *max) : min_(min), max_(max) {}
    explicit Range(T *same) : min_(same), max_(same) {}
    bool operator==(const Range<T> &other) const {
        return (min_ == other.min_ && max_ == other.max_) ||
               (*min_ == *other.min_ && *max_ == *other.max_);
    }
    void SetMin(T *min) { min_ = min; }
    void SetMax(T *max) { max_ = max; }
    const T *GetMin() const { return min_; }
    const T *GetMax() const { return max_; }
    T *GetMin() { return min_; }
    T *GetMax() { return max_; }

 private:
    T *min_;
    T *max_;
};

// gert::StorageShape: the shape the user sees and the shape in memory (equal for FORMAT_ND).
struct StorageShape {
 public:
    StorageShape() {}
    StorageShape(const std::initializer_list<int64_t> &origin_shape,
                 const std::initializer_list<int64_t> &storage_shape)
        : origin_(origin_shape), storage_(storage_shape) {}
    const Shape &GetOriginShape() const { return origin_; }
    const Shape &GetStorageShape() const { return storage_; }
    Shape &MutableOriginShape() { return origin_; }
    // CANN 9's name of GetStorageShape().
    const Shape &GetShape() const { return storage_; }
    Shape &MutableStorageShape() { return storage_; }
    bool operator==(const StorageShape &other) const {
        return origin_ == other.origin_ && storage_ == other.storage_;
    }
    bool operator!=(const StorageShape &other) const { return !(*this == other); }

 private:
    // First member: a pointer to a StorageShape is also read as a pointer to its origin shape.
    Shape origin_;
    Shape storage_;
};
static_assert(std::is_standard_layout<StorageShape>::value, "crosses library boundaries");

// gert::ExpandDimsType: where size-1 axes are inserted when a shape is expanded to a format.
class ExpandDimsType {
 public:
    using AxisIndex = uint64_t;
    static constexpr size_t kMaxExpandSize = 56;

    ExpandDimsType() : size_(0), mask_(0) {}
    // Text of '0' and '1', one per axis of the expanded shape; '1' marks an inserted axis.
    explicit ExpandDimsType(const ge::char_t *text) : ExpandDimsType() {
        const size_t length = text == nullptr ? 0 : std::strlen(text);
        if (length > kMaxExpandSize) {
            return;
        }
        size_ = length;
        for (size_t axis = 0; axis < length; ++axis) {
            if (text[axis] == '1') {
                SetExpandIndex(axis);
            }
        }
    }
    bool operator==(const ExpandDimsType &other) const {
        return size_ == other.size_ && mask_ == other.mask_;
    }
    AxisIndex GetFullSize() const { return size_; }
    void SetExpandIndex(const AxisIndex axis) { mask_ |= uint64_t{1} << axis; }
    bool IsExpandIndex(const AxisIndex axis) const { return ((mask_ >> axis) & 1U) != 0; }
    ge::graphStatus Expand(const Shape &shape, Shape &expanded) const {
        if (shape.GetDimNum() == size_) {
            expanded = shape;
            return ge::GRAPH_SUCCESS;
        }
        Shape result;
        size_t next = 0;
        for (size_t axis = 0; axis < size_; ++axis) {
            if (IsExpandIndex(axis)) {
                result.AppendDim(1);
            } else if (next < shape.GetDimNum()) {
                result.AppendDim(shape.GetDim(next++));
            } else {
                return ge::GRAPH_FAILED;
            }
        }
        while (next < shape.GetDimNum()) {
            result.AppendDim(shape.GetDim(next++));
        }
        expanded = result;
        return ge::GRAPH_SUCCESS;
    }
    ge::graphStatus Expand(Shape &shape) const { return Expand(Shape(shape), shape); }

 private:
    uint64_t size_;
    uint64_t mask_;
};

// gert::StorageFormat: the format the user sees and the one in memory.
struct StorageFormat {
 public:
    StorageFormat() : origin_(ge::FORMAT_ND), storage_(ge::FORMAT_ND) {}
    StorageFormat(const ge::Format origin_format, const ge::Format storage_format,
                  const ExpandDimsType &expand_dims_type)
        : origin_(origin_format), storage_(storage_format), expand_(expand_dims_type) {}
    ge::Format GetOriginFormat() const { return origin_; }
    void SetOriginFormat(const ge::Format format) { origin_ = format; }
    ge::Format GetStorageFormat() const { return storage_; }
    void SetStorageFormat(const ge::Format format) { storage_ = format; }
    ExpandDimsType GetExpandDimsType() const { return expand_; }
    void SetExpandDimsType(const ExpandDimsType &expand_dims_type) { expand_ = expand_dims_type; }
    ExpandDimsType &MutableExpandDimsType() { return expand_; }
    bool operator==(const StorageFormat &other) const {
        return origin_ == other.origin_ && storage_ == other.storage_ && expand_ == other.expand_;
    }
    bool operator!=(const StorageFormat &other) const { return !(*this == other); }

 private:
    ge::Format origin_;
    ge::Format storage_;
    ExpandDimsType expand_;
};
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_SHAPE_H
