// SPDX-License-Identifier: Apache-2.0
// gert::ExpandDimsType: where size-1 axes are inserted when a shape is expanded to a format.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_EXPAND_DIMS_TYPE_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_EXPAND_DIMS_TYPE_H

#include <cstdint>
#include <cstring>

#include "exe_graph/runtime/shape.h"
#include "graph/ge_error_codes.h"
#include "graph/types.h"

namespace gert {
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
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_EXPAND_DIMS_TYPE_H
