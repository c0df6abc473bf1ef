// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host side of broadcasting: views of inputs, the common iteration space of all operands, and its
// collapse to as few dimensions as possible. C++11, no CANN header needed.
#ifndef OPGEN_HOST_ITERATION_SPACE_H
#define OPGEN_HOST_ITERATION_SPACE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace opgen {

constexpr int32_t kMaxDims = 8;
constexpr int64_t kUnit = 256;
constexpr int64_t kMaxBlockCount = 4095;
// Copies take the distance between rows as an unsigned 32-bit count of bytes.
constexpr int64_t kMaxRowBytes = 0xFFFFFFFFLL;
// Offsets and byte counts of that many elements fit int64_t, whatever the element type is.
constexpr int64_t kMaxElements = INT64_MAX / 16;

inline int64_t CeilDiv(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}
inline int64_t AlignUp(int64_t a, int64_t b) {
    return CeilDiv(a, b) * b;
}
inline int64_t FloorDiv(int64_t a, int64_t b) {
    return b == 0 ? 0 : a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
inline int64_t FloorMod(int64_t a, int64_t b) {
    return b == 0 ? 0 : a - FloorDiv(a, b) * b;
}
// Product of sizes; one that does not fit stays at kMaxElements, which Addressable refuses.
inline int64_t Times(int64_t a, int64_t b) {
    return b > 0 && a > kMaxElements / b ? kMaxElements : a * b;
}
// Of floats: as Python has them, not a number where the divisor is 0.
inline double FloorDiv(double a, double b) {
    return b == 0.0 ? std::nan("") : std::floor(a / b);
}
inline double FloorMod(double a, double b) {
    const double rest = b == 0.0 ? std::nan("") : std::fmod(a, b);
    return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

// Sizes, strides (elements) and first element of a tensor as an operand reads it.
struct View {
    std::vector<int64_t> dim;
    std::vector<int64_t> stride;
    int64_t offset = 0;

    // A contiguous tensor; Shape has GetDimNum() and GetDim(i).
    template <typename Shape>
    static View Of(const Shape& shape) {
        View view;
        for (size_t i = 0; i < shape.GetDimNum(); ++i) {
            view.dim.push_back(shape.GetDim(i));
        }
        view.stride.assign(view.dim.size(), 1);
        for (size_t i = view.dim.size(); i > 1; --i) {
            view.stride[i - 2] = Times(view.stride[i - 1], view.dim[i - 1]);
        }
        return view;
    }
    int64_t Rank() const {
        return static_cast<int64_t>(dim.size());
    }
    // Negative axes count from the end; false: no such axis.
    bool Axis(int64_t axis, size_t& index, int64_t extra = 0) const {
        const int64_t rank = Rank() + extra;
        const int64_t at = axis < 0 ? axis + rank : axis;
        index = static_cast<size_t>(at);
        return at >= 0 && at < rank;
    }
    bool Slice(int64_t axis, int64_t start, int64_t length) {
        size_t i = 0;
        if (!Axis(axis, i) || start < 0 || length < 0 || length > dim[i] ||
            start > dim[i] - length) {
            return false;
        }
        offset += length == 0 ? 0 : start * stride[i];
        dim[i] = length;
        return true;
    }
    // Every `step`-th element of an axis, from the first.
    bool Every(int64_t axis, int64_t step) {
        size_t i = 0;
        if (!Axis(axis, i) || step < 1) {
            return false;
        }
        dim[i] = (dim[i] + step - 1) / step;
        stride[i] = Times(stride[i], step);
        return true;
    }
    // The diagonal of two axes, as a last axis; a positive shift is above the main one.
    bool Diagonal(int64_t first, int64_t second, int64_t shift) {
        size_t i = 0;
        size_t j = 0;
        if (!Axis(first, i) || !Axis(second, j) || i == j) {
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
        return true;
    }
    // Windows of `size` elements, `step` apart; a window is a last axis.
    bool Unfold(int64_t axis, int64_t size, int64_t step) {
        size_t i = 0;
        if (!Axis(axis, i) || size < 0 || step < 1 || size > dim[i]) {
            return false;
        }
        const int64_t inside = stride[i];
        dim[i] = (dim[i] - size) / step + 1;
        stride[i] = Times(inside, step);
        dim.push_back(size);
        stride.push_back(inside);
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
        dim.erase(dim.begin() + static_cast<int64_t>(i));
        stride.erase(stride.begin() + static_cast<int64_t>(i));
        return true;
    }
    bool Unsqueeze(int64_t axis) {
        size_t i = 0;
        if (!Axis(axis, i, 1)) {
            return false;
        }
        dim.insert(dim.begin() + static_cast<int64_t>(i), 1);
        stride.insert(stride.begin() + static_cast<int64_t>(i), 0);
        return true;
    }
    bool Squeeze(int64_t axis) {
        size_t i = 0;
        if (!Axis(axis, i)) {
            return false;
        }
        if (dim[i] == 1) {
            dim.erase(dim.begin() + static_cast<int64_t>(i));
            stride.erase(stride.begin() + static_cast<int64_t>(i));
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
        dim = sizes;
        for (size_t i = 0; i < dim.size(); ++i) {
            if (dim[i] < 0) {
                dim[i] = known == 0 ? 0 : total / known;
                known *= dim[i];
            }
        }
        stride.assign(dim.size(), 1);
        for (size_t i = dim.size(); i > 1; --i) {
            stride[i - 2] = stride[i - 1] * dim[i - 1];
        }
        return known == total;
    }
    // The last axes, in another order; those before stay where they are.
    bool Permute(const std::vector<int64_t>& axes) {
        if (axes.size() > dim.size()) {
            return false;
        }
        const int64_t stay = Rank() - static_cast<int64_t>(axes.size());
        std::vector<int64_t> newDim(dim.begin(), dim.begin() + stay);
        std::vector<int64_t> newStride(stride.begin(), stride.begin() + stay);
        for (size_t k = 0; k < axes.size(); ++k) {
            size_t i = 0;
            if (!Axis(axes[k], i)) {
                return false;
            }
            newDim.push_back(dim[i]);
            newStride.push_back(stride[i]);
        }
        dim = newDim;
        stride = newStride;
        return true;
    }
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

// Whether 64-bit offsets reach every element of a space; a size of 0 does not hide the others.
inline bool Addressable(const std::vector<int64_t>& dims) {
    int64_t total = 1;
    for (size_t i = 0; i < dims.size(); ++i) {
        total = Times(total, std::max<int64_t>(1, dims[i]));
    }
    return total < kMaxElements;
}

// Whether a number can be an int32 tiling field.
inline bool FitsInt32(int64_t value) {
    return value >= INT32_MIN && value <= INT32_MAX;
}

inline std::string ShapeText(const std::vector<int64_t>& dims) {
    std::string text = "[";
    for (size_t i = 0; i < dims.size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
    }
    return text + "]";
}

// Extend `dims` to the broadcast with `other`; false: they do not broadcast.
inline bool BroadcastDims(std::vector<int64_t>& dims, const std::vector<int64_t>& other) {
    if (other.size() > dims.size()) {
        dims.insert(dims.begin(), other.size() - dims.size(), 1);
    }
    const size_t lead = dims.size() - other.size();
    for (size_t i = 0; i < other.size(); ++i) {
        if (other[i] == dims[lead + i] || other[i] == 1) {
            continue;
        }
        if (dims[lead + i] != 1) {
            return false;
        }
        dims[lead + i] = other[i];
    }
    return true;
}

// Whether a tensor of shape `other` can be read as one of shape `dims`.
inline bool BroadcastsTo(const std::vector<int64_t>& other, const std::vector<int64_t>& dims) {
    for (size_t i = 0; i < other.size(); ++i) {
        const int64_t at = static_cast<int64_t>(dims.size()) - static_cast<int64_t>(other.size()) +
                           static_cast<int64_t>(i);
        const int64_t wanted = at < 0 ? 1 : dims[static_cast<size_t>(at)];
        if (other[i] != 1 && other[i] != wanted) {
            return false;
        }
    }
    return true;
}

// Whether two shapes are equal but for leading ones.
inline bool SameDims(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    const std::vector<int64_t>& longer = a.size() > b.size() ? a : b;
    const std::vector<int64_t>& shorter = a.size() > b.size() ? b : a;
    const size_t lead = longer.size() - shorter.size();
    for (size_t i = 0; i < longer.size(); ++i) {
        if (longer[i] != (i < lead ? 1 : shorter[i - lead])) {
            return false;
        }
    }
    return true;
}

// The common iteration space of several operands (inputs and outputs), collapsed.
struct IterationSpace {
    std::vector<int64_t> dim;
    std::vector<std::vector<int64_t>> stride;  // per operand
    std::vector<int64_t> offset;               // per operand

    // All views must broadcast to `dims`.
    void Build(const std::vector<int64_t>& dims, const std::vector<View>& views) {
        dim.clear();
        stride.assign(views.size(), std::vector<int64_t>());
        offset.clear();
        for (size_t v = 0; v < views.size(); ++v) {
            offset.push_back(views[v].offset);
        }
        for (size_t i = 0; i < dims.size(); ++i) {
            if (dims[i] == 1) {
                continue;
            }
            std::vector<int64_t> steps;
            for (size_t v = 0; v < views.size(); ++v) {
                const size_t lead = dims.size() - views[v].dim.size();
                const bool own = i >= lead && views[v].dim[i - lead] != 1;
                steps.push_back(own ? views[v].stride[i - lead] : 0);
            }
            Append(dims[i], steps);
        }
    }
    // Strides and offset of an operand as the kernel's Walk reads them, after PadToMax.
    void Walk(size_t operand, int64_t (&walk)[kMaxDims + 1]) const {
        std::copy(stride[operand].begin(), stride[operand].end(), walk);
        walk[kMaxDims] = offset[operand];
    }
    int64_t Total() const {
        int64_t total = 1;
        for (size_t i = 0; i < dim.size(); ++i) {
            total *= dim[i];
        }
        return total;
    }
    // Whether every operand is one contiguous range from its first element.
    bool IsFlat() const {
        if (Total() == 0) {
            return true;
        }
        for (size_t v = 0; v < stride.size(); ++v) {
            if (offset[v] != 0 || dim.size() > 1 || (dim.size() == 1 && stride[v][0] != 1)) {
                return false;
            }
        }
        return true;
    }
    // Make the last dimension one that every operand reads contiguously or not at all: where one
    // strides, add a dimension of size 1, so that every element is a row of its own.
    void EnsureUnitColumns() {
        if (dim.empty()) {
            return;
        }
        for (size_t v = 0; v < stride.size(); ++v) {
            if (stride[v].back() > 1 || stride[v].back() < 0) {
                Push(1, std::vector<int64_t>(stride.size(), 0));
                return;
            }
        }
    }
    // Pad with leading dimensions of size 1 to kMaxDims; false: more dimensions than that.
    bool PadToMax() {
        if (dim.size() > static_cast<size_t>(kMaxDims)) {
            return false;
        }
        const size_t missing = static_cast<size_t>(kMaxDims) - dim.size();
        dim.insert(dim.begin(), missing, 1);
        for (size_t v = 0; v < stride.size(); ++v) {
            stride[v].insert(stride[v].begin(), missing, 0);
        }
        return true;
    }

private:
    void Append(int64_t size, const std::vector<int64_t>& steps) {
        bool merges = !dim.empty();
        for (size_t v = 0; merges && v < steps.size(); ++v) {
            merges = stride[v].back() == steps[v] * size;
        }
        if (!merges) {
            Push(size, steps);
            return;
        }
        dim.back() *= size;
        for (size_t v = 0; v < steps.size(); ++v) {
            stride[v].back() = steps[v];
        }
    }
    void Push(int64_t size, const std::vector<int64_t>& steps) {
        dim.push_back(size);
        for (size_t v = 0; v < steps.size(); ++v) {
            stride[v].push_back(steps[v]);
        }
    }
};

// Rows and columns of the largest box of a padded space.
struct BoxShape {
    int64_t rows = 1;
    int64_t cols = 1;
    int64_t tiles = 1;

    // tileLength: elements a tile holds; pitchUnit: rows start at multiples of it; sizes: bytes per
    // element of each operand; cores: how many can work.
    void Choose(const IterationSpace& space, int64_t tileLength, int64_t pitchUnit,
                const std::vector<int64_t>& sizes, int64_t cores) {
        const int64_t allRows = space.dim[kMaxDims - 2];
        const int64_t allCols = space.dim[kMaxDims - 1];
        int64_t outer = 1;
        for (int32_t i = 0; i < kMaxDims - 2; ++i) {
            outer *= space.dim[static_cast<size_t>(i)];
        }
        cols = allCols;
        rows = 1;
        if (AlignUp(allCols, pitchUnit) <= tileLength) {
            rows = std::min(std::min(allRows, tileLength / AlignUp(allCols, pitchUnit)),
                            kMaxBlockCount);
            rows = RowsFit(space, sizes) ? rows : 1;
            rows = std::max<int64_t>(1, std::min(rows, allRows * outer / cores));
        } else {
            cols = tileLength;
        }
        const int64_t bands = outer * CeilDiv(allRows, rows);
        if (bands < cores) {
            const int64_t parts = cores / bands;
            cols = std::min(cols, std::max(kUnit, AlignUp(CeilDiv(allCols, parts), kUnit)));
        }
        tiles = bands * CeilDiv(allCols, cols);
    }

private:
    // Whether several rows can be copied at once. The gap between rows is largest for the last,
    // narrower box, so the whole stride has to fit.
    static bool RowsFit(const IterationSpace& space, const std::vector<int64_t>& sizes) {
        const int64_t allCols = space.dim[kMaxDims - 1];
        for (size_t v = 0; v < space.stride.size(); ++v) {
            const int64_t row = space.stride[v][kMaxDims - 2];
            const int64_t used = space.stride[v][kMaxDims - 1] == 0 ? 1 : allCols;
            if (row != 0 && (row < used || row > kMaxRowBytes / sizes[v])) {
                return false;
            }
        }
        return true;
    }
};

}  // namespace opgen

#endif  // OPGEN_HOST_ITERATION_SPACE_H
