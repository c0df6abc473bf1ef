// SPDX-License-Identifier: Apache-2.0
// gert::Range: a pair of pointers to the lower and upper bound.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_RANGE_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_RANGE_H

#include "exe_graph/runtime/shape.h"

namespace gert {
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
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_RANGE_H
