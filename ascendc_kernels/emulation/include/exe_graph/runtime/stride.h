// SPDX-License-Identifier: Apache-2.0
// gert::Stride: elements between neighbours of each dimension of a view; empty for a dense tensor.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_STRIDE_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_STRIDE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace gert {
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
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_STRIDE_H
