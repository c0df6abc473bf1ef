// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host side of operands: the view of a tensor that a kernel reads or writes. C++11, no CANN header
// needed.
#ifndef OPGEN_HOST_VIEW_H
#define OPGEN_HOST_VIEW_H

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "sizes.h"

namespace opgen {

// Sizes, strides (elements) and first element of a tensor as an operand reads it. Along an axis in
// which the tensor is placed in a larger one, its elements are those from `from` until `to`.
struct View {
    std::vector<int64_t> dim;
    std::vector<int64_t> stride;
    std::vector<int64_t> from;
    std::vector<int64_t> to;
    int64_t offset = 0;
    bool empty = false;  // no element is the tensor's

    // A contiguous tensor; Shape has GetDimNum() and GetDim(i).
    template <typename Shape>
    static View Of(const Shape& shape) {
        std::vector<int64_t> sizes;
        for (size_t i = 0; i < shape.GetDimNum(); ++i) {
            sizes.push_back(shape.GetDim(i));
        }
        return Dense(sizes);
    }
    static View Dense(const std::vector<int64_t>& sizes) {
        View view;
        view.dim = sizes;
        view.stride.assign(view.dim.size(), 1);
        for (size_t i = view.dim.size(); i > 1; --i) {
            view.stride[i - 2] = Times(view.stride[i - 1], view.dim[i - 1]);
        }
        view.TakeAll();
        return view;
    }
    // The numbers start, start + step, ...: an element is its own address.
    static View Counted(int64_t length, int64_t start, int64_t step) {
        View view;
        view.dim.push_back(std::max<int64_t>(0, length));
        view.stride.push_back(step);
        view.offset = start;
        view.TakeAll();
        return view;
    }
    // The same numbers in a shape, in C order.
    static View CountedIn(const std::vector<int64_t>& sizes, int64_t start, int64_t step) {
        View view = Dense(sizes);
        for (int64_t& apart : view.stride) {
            apart *= step;
        }
        view.offset = start;
        return view;
    }
    void TakeAll() {
        from.assign(dim.size(), 0);
        to = dim;
    }
    // Whether no element is the tensor's.
    bool Nothing() const {
        bool nothing = empty;
        for (size_t i = 0; i < dim.size(); ++i) {
            nothing = nothing || from[i] >= to[i];
        }
        return nothing;
    }
    // Whether every element is the tensor's.
    bool Whole() const {
        for (size_t i = 0; i < dim.size(); ++i) {
            if (from[i] != 0 || to[i] != dim[i]) {
                return false;
            }
        }
        return !empty;
    }
    int64_t Rank() const { return static_cast<int64_t>(dim.size()); }
    // Negative axes count from the end; false: no such axis.
    bool Axis(int64_t axis, size_t& index, int64_t extra = 0) const {
        const int64_t rank = Rank() + extra;
        const int64_t at = axis < 0 ? axis + rank : axis;
        index = static_cast<size_t>(at);
        return at >= 0 && at < rank;
    }
    // Whether there are no elements, whatever the length of axis `i` is.
    bool EmptyBeside(size_t i) const {
        for (size_t other = 0; other < dim.size(); ++other) {
            if (other != i && dim[other] == 0) {
                return true;
            }
        }
        return false;
    }
    bool Slice(int64_t axis, int64_t start, int64_t length) {
        size_t i = 0;
        if (!Axis(axis, i) || start < 0 || length < 0) {
            return false;
        }
        if (EmptyBeside(i)) {
            dim[i] = length;  // a reshape of no elements has not told how long the axis is
            from[i] = 0;
            to[i] = length;
            return true;
        }
        if (length > dim[i] || start > dim[i] - length) {
            return false;
        }
        offset += length == 0 ? 0 : start * stride[i];
        dim[i] = length;
        from[i] = std::min(std::max<int64_t>(0, from[i] - start), length);
        to[i] = std::min(std::max<int64_t>(0, to[i] - start), length);
        return true;
    }
    // Some elements of an output along an axis, as far as it has these: what stands before a slice
    // of a shorter axis than its start is all of the axis.
    bool Slab(int64_t axis, int64_t start, int64_t length) {
        size_t i = 0;
        if (!Axis(axis, i) || start < 0 || length < 0 || EmptyBeside(i)) {
            return Slice(axis, start, length);
        }
        const int64_t first = std::min(start, dim[i]);
        return Slice(axis, first, std::min(length, dim[i] - first));
    }
    // The tensor in a larger one: `before` elements before it, `length` with what lies behind. A
    // size other than `size` is 1 and broadcast, which it remains. A tensor without elements may
    // begin behind the end: a slice of a shorter axis than its start leaves none.
    bool Place(int64_t axis, int64_t before, int64_t length, int64_t size) {
        size_t i = 0;
        before = size == 0 ? std::min(before, length) : before;
        if (!Axis(axis, i) || before < 0 || length < before + size) {
            return false;
        }
        if (dim[i] != size) {
            return dim[i] == 1;
        }
        dim[i] = length;
        offset -= before * stride[i];
        from[i] += before;
        to[i] += before;
        return true;
    }
    // From the last element to the first.
    bool Flip(int64_t axis) {
        size_t i = 0;
        if (dim.empty() && (axis == 0 || axis == -1)) {
            return true;  // a scalar, as PyTorch has it
        }
        if (!Axis(axis, i)) {
            return false;
        }
        offset += std::max<int64_t>(0, dim[i] - 1) * stride[i];
        stride[i] = -stride[i];
        const int64_t last = dim[i] - from[i];
        from[i] = dim[i] - to[i];
        to[i] = last;
        return true;
    }
    // Every `step`-th element of an axis, from the first.
    bool Every(int64_t axis, int64_t step) {
        size_t i = 0;
        if (!Axis(axis, i) || step < 1 || !Whole()) {
            return false;
        }
        dim[i] = (dim[i] + step - 1) / step;
        stride[i] = stride[i] < 0 ? -Times(-stride[i], step) : Times(stride[i], step);
        TakeAll();
        return true;
    }
    // The diagonal of two axes, as a last axis; a positive shift is above the main one.
    bool Diagonal(int64_t first, int64_t second, int64_t shift) {
        size_t i = 0;
        size_t j = 0;
        if (!Axis(first, i) || !Axis(second, j) || i == j || !Whole()) {
            return false;
        }
        const int64_t down = std::max<int64_t>(0, -shift);
        const int64_t right = std::max<int64_t>(0, shift);
        const int64_t length = std::max<int64_t>(0, std::min(dim[i] - down, dim[j] - right));
        offset += length == 0 ? 0 : down * stride[i] + right * stride[j];
        const int64_t step = stride[i] + stride[j];
        const size_t later = std::max(i, j);
        const size_t earlier = std::min(i, j);
        for (const size_t axis : {later, earlier}) {
            dim.erase(dim.begin() + static_cast<int64_t>(axis));
            stride.erase(stride.begin() + static_cast<int64_t>(axis));
        }
        dim.push_back(length);
        stride.push_back(step);
        TakeAll();
        return true;
    }
    // Windows of `size` elements, `step` apart; a window is a last axis.
    bool Unfold(int64_t axis, int64_t size, int64_t step) {
        size_t i = 0;
        if (!Axis(axis, i) || size < 0 || step < 1 || size > dim[i] || !Whole()) {
            return false;
        }
        const int64_t inside = stride[i];
        dim[i] = (dim[i] - size) / step + 1;
        stride[i] = Times(inside, step);
        dim.push_back(size);
        stride.push_back(inside);
        TakeAll();
        return true;
    }
    bool Select(int64_t axis, int64_t index) {
        size_t i = 0;
        if (!Axis(axis, i)) {
            return false;
        }
        const int64_t at = index < 0 ? index + dim[i] : index;
        if (at < 0 || at >= dim[i]) {
            return false;
        }
        offset += at * stride[i];
        empty = empty || at < from[i] || at >= to[i];
        Erase(i);
        return true;
    }
    bool Unsqueeze(int64_t axis) {
        size_t i = 0;
        if (!Axis(axis, i, 1)) {
            return false;
        }
        dim.insert(dim.begin() + static_cast<int64_t>(i), 1);
        stride.insert(stride.begin() + static_cast<int64_t>(i), 0);
        from.insert(from.begin() + static_cast<int64_t>(i), 0);
        to.insert(to.begin() + static_cast<int64_t>(i), 1);
        return true;
    }
    // Axes of size 1 at the end, until there are `rank`.
    bool Behind(int64_t rank) {
        while (Rank() < rank) {
            Unsqueeze(-1);
        }
        return Rank() == rank;
    }
    bool Squeeze(int64_t axis) {
        if (dim.empty()) {
            return axis == 0 || axis == -1;  // as PyTorch takes them of a tensor without axes
        }
        size_t i = 0;
        if (!Axis(axis, i)) {
            return false;
        }
        if (dim[i] == 1) {
            empty = empty || from[i] >= to[i];
            Erase(i);
        }
        return true;
    }
    // A dense view only; one size of -1 takes what is left.
    bool Reshape(const std::vector<int64_t>& sizes) {
        int64_t total = 1;
        for (size_t i = 0; i < dim.size(); ++i) {
            total = Times(total, dim[i]);
        }
        int64_t known = 1;
        for (size_t i = 0; i < sizes.size(); ++i) {
            known = Times(known, sizes[i] < 0 ? 1 : sizes[i]);
        }
        std::vector<int64_t> expected(dim.size(), 1);
        for (size_t i = dim.size(); i > 1; --i) {
            expected[i - 2] = expected[i - 1] * dim[i - 1];
        }
        for (size_t i = 0; i < dim.size(); ++i) {
            if (dim[i] > 1 && stride[i] != expected[i]) {
                return false;
            }
        }
        if (!Whole()) {
            return false;
        }
        const std::vector<int64_t> before = dim;
        dim = sizes;
        for (size_t i = 0; i < dim.size(); ++i) {
            if (dim[i] < 0) {
                dim[i] = known == 0 ? Between(before, sizes, i) : total / known;
                known *= dim[i];
            }
        }
        stride.assign(dim.size(), 1);
        for (size_t i = dim.size(); i > 1; --i) {
            stride[i - 2] = stride[i - 1] * dim[i - 1];
        }
        TakeAll();
        return known == total;
    }
    // The same elements with other axes of size 1; a dense view in any shape that has as many.
    bool Fit(const std::vector<int64_t>& sizes) {
        View fitted = Dense(sizes);
        fitted.offset = offset;
        fitted.empty = empty;
        size_t own = 0;
        for (size_t i = 0; i < sizes.size(); ++i) {
            if (sizes[i] == 1) {
                continue;
            }
            while (own < dim.size() && dim[own] == 1) {
                ++own;
            }
            if (own == dim.size() || dim[own] != sizes[i]) {
                return Reshape(sizes);
            }
            fitted.stride[i] = stride[own];
            fitted.from[i] = from[own];
            fitted.to[i] = to[own];
            ++own;
        }
        if (std::any_of(dim.begin() + static_cast<int64_t>(own), dim.end(),
                        [](int64_t size) { return size != 1; })) {
            return Reshape(sizes);
        }
        *this = fitted;
        return true;
    }
    // The last axes in another shape; those before stay what they are.
    bool ReshapeLast(int64_t axes, const std::vector<int64_t>& sizes) {
        if (axes > Rank()) {
            return false;
        }
        const auto last = dim.end() - axes;
        View behind = Dense(std::vector<int64_t>(last, dim.end()));
        const bool same = behind.Reshape(sizes);
        if (!same && std::find(dim.begin(), last, 0) == last) {
            return false;
        }
        std::vector<int64_t> all(dim.begin(), last);
        all.insert(all.end(), behind.dim.begin(), behind.dim.end());
        return Reshape(all);
    }
    // The first axes in another shape; those behind stay what they are.
    bool ReshapeFirst(int64_t axes, const std::vector<int64_t>& sizes) {
        if (axes > Rank()) {
            return false;
        }
        const auto behind = dim.begin() + axes;
        View first = Dense(std::vector<int64_t>(dim.begin(), behind));
        const bool same = first.Reshape(sizes);
        if (!same && std::find(behind, dim.end(), 0) == dim.end()) {
            return false;
        }
        std::vector<int64_t> all = first.dim;
        all.insert(all.end(), behind, dim.end());
        return Reshape(all);
    }
    // The last axes, in another order; those before stay where they are.
    bool Permute(const std::vector<int64_t>& axes) { return Permute({}, axes); }
    // The axes that become the first and the last ones; the others lie between them, in their
    // order.
    bool Permute(const std::vector<int64_t>& first, const std::vector<int64_t>& last) {
        std::vector<size_t> order;
        std::vector<bool> taken(dim.size(), false);
        for (const std::vector<int64_t>* axes : {&first, &last}) {
            for (const int64_t axis : *axes) {
                size_t i = 0;
                if (!Axis(axis, i) || taken[i]) {
                    return false;
                }
                taken[i] = true;
                order.push_back(i);
            }
        }
        std::vector<size_t> between;
        for (size_t i = 0; i < dim.size(); ++i) {
            if (!taken[i]) {
                between.push_back(i);
            }
        }
        order.insert(order.begin() + static_cast<int64_t>(first.size()), between.begin(),
                     between.end());
        const View old = *this;
        for (size_t k = 0; k < order.size(); ++k) {
            dim[k] = old.dim[order[k]];
            stride[k] = old.stride[order[k]];
            from[k] = old.from[order[k]];
            to[k] = old.to[order[k]];
        }
        return true;
    }

    // All axes, in an order that names each of them once.
    bool PermuteAll(const int64_t* axes, size_t count) {
        return count == dim.size() && Permute(std::vector<int64_t>(axes, axes + count));
    }

 private:
    // The open size of a reshape of no elements: that of the axes between those that stay as they
    // are; 0 where others do not.
    static int64_t Between(const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                           size_t open) {
        const size_t behind = after.size() - open - 1;
        if (before.size() < open + behind) {
            return 0;
        }
        int64_t between = 1;
        for (size_t i = 0; i < before.size(); ++i) {
            const size_t end = before.size() - behind;
            if (i >= open && i < end) {
                between = Times(between, before[i]);
            } else if (before[i] != after[i < open ? i : open + 1 + i - end]) {
                return 0;
            }
        }
        return between;
    }
    void Erase(size_t i) {
        for (std::vector<int64_t>* part : {&dim, &stride, &from, &to}) {
            part->erase(part->begin() + static_cast<int64_t>(i));
        }
    }
};

// An operand of a kernel: the view of an input or output.
struct Operand {
    std::string name;
    View view;
    int64_t bytes;         // of an element; 0: numbers counted from the index, which have no memory
    bool present;          // false: an optional input that the call leaves out
    bool written = false;  // an output
    bool transposable = false;  // the kernel can put columns that lie apart together in UB

    Operand(const char* operandName, const View& operandView, int64_t bytesOfElement,
            bool isPresent = true)
        : name(operandName), view(operandView), bytes(bytesOfElement), present(isPresent) {}
    static Operand Output(const char* name, const View& view, int64_t bytesOfElement) {
        Operand output(name, view, bytesOfElement);
        output.written = true;
        return output;
    }
    static Operand Transposable(const char* name, const View& view, int64_t bytesOfElement,
                                bool isPresent = true) {
        Operand input(name, view, bytesOfElement, isPresent);
        input.transposable = true;
        return input;
    }
};

// Let every element be two of half its bytes, side by side along an axis of their own.
inline void SplitElements(std::vector<int64_t>& dims, std::vector<Operand>& operands) {
    dims.push_back(2);
    for (size_t i = 0; i < operands.size(); ++i) {
        View& view = operands[i].view;
        for (size_t axis = 0; axis < view.stride.size(); ++axis) {
            view.stride[axis] = Times(view.stride[axis], 2);
        }
        view.offset = Times(view.offset, 2);
        view.dim.push_back(2);
        view.stride.push_back(1);
        view.from.push_back(0);
        view.to.push_back(2);
        operands[i].bytes /= 2;
    }
}

// Strides of an operand, elements, and its first element, as the kernel's Walk reads them.
struct OperandWalk {
    int64_t steps[kMaxDims + 1];
};

// Where the elements of an operand begin along each dimension, and where they end.
struct OperandBounds {
    int64_t ends[2 * kMaxDims];
};

// Size of an axis; negative axes count from the end; 0 when there is no such axis.
inline int64_t DimAt(const View& view, int64_t axis) {
    size_t index = 0;
    return view.Axis(axis, index) ? view.dim[index] : 0;
}

inline int64_t Numel(const View& view) {
    int64_t total = 1;
    for (size_t i = 0; i < view.dim.size(); ++i) {
        total = Times(total, view.dim[i]);
    }
    return total;
}

// The product of all sizes but those of some axes; negative axes count from the end.
inline int64_t NumelWithout(const View& view, std::initializer_list<int64_t> axes) {
    int64_t total = 1;
    for (size_t i = 0; i < view.dim.size(); ++i) {
        bool leftOut = false;
        for (const int64_t axis : axes) {
            size_t index = 0;
            leftOut = leftOut || (view.Axis(axis, index) && index == i);
        }
        total = leftOut ? total : Times(total, view.dim[i]);
    }
    return total;
}

// Which dimension of a view lies behind dimension i of a space of `rank`; -1: the view is the same
// for all of it. Shapes line up at their ends, and a view of more dimensions starts with ones.
inline int64_t DimensionBehind(const View& view, size_t rank, size_t i) {
    const int64_t at = static_cast<int64_t>(i) + static_cast<int64_t>(view.dim.size()) -
                       static_cast<int64_t>(rank);
    return at >= 0 && view.dim[static_cast<size_t>(at)] != 1 ? at : -1;
}

// Why an operand cannot be read as one of shape `dims`; "": it can.
inline std::string BroadcastRefusal(const Operand& operand, const std::vector<int64_t>& dims) {
    if (!operand.present || BroadcastsTo(operand.view.dim, dims)) {
        return "";
    }
    return operand.name + " of shape " + ShapeText(operand.view.dim) + " does not broadcast to " +
           ShapeText(dims);
}

}  // namespace opgen

#endif  // OPGEN_HOST_VIEW_H
