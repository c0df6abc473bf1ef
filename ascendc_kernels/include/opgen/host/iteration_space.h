// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host side of broadcasting: the common iteration space of all operands, its collapse to as few
// dimensions as possible. C++11, no CANN header needed.
#ifndef OPGEN_HOST_ITERATION_SPACE_H
#define OPGEN_HOST_ITERATION_SPACE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "view.h"

namespace opgen {

// Elements of a row from which on it matters that its neighbours are copied with it: shorter ones
// are bursts of their own in any order.
constexpr int64_t kLeastForwardColumns = 8;

// Elements from one column to the next, at most, where what lies between is read with them: a burst
// of one element takes as long as eight blocks.
constexpr int64_t kMostBetween = 16;
// A step of numbers that are counted in groups of columns is less.
constexpr int64_t kMostCounted = 1 << 19;
// Columns of a group, at most; and of one that is transposed, which are this many or two.
constexpr int64_t kLargestGroup = 15;
constexpr int64_t kTransposedGroup = 4;
// Elements that a group has in common with the next one, at most, where they are read once.
constexpr int64_t kMostOverlap = 16;
// The stride of columns that lie in groups, as Walk (opgen/tile.h) reads it.
constexpr int64_t kGroupedColumns = static_cast<int64_t>(1) << 62;
constexpr int64_t kFarMembers = static_cast<int64_t>(1) << 56;

// Whether elements lie too far apart for what lies between to be read with them.
inline bool LieFar(int64_t step) { return std::abs(step) > kMostBetween; }

// How the columns of an operand lie that has `group` of them for each index of a dimension.
struct ColumnGroups {
    int64_t group = 1;  // 1: the operand has a stride along all columns
    int64_t step = 0;   // from one group to the next
    int64_t within = 0;

    // Whether the columns of a group lie too far apart to be read together.
    bool FarMembers() const { return LieFar(within); }
    int64_t Packed() const {
        const bool far = FarMembers();
        const int64_t large = (far ? within : step) & 0xffffffff;
        const int64_t small = (far ? step : within) & 0xfffff;
        return kGroupedColumns + (far ? kFarMembers : 0) + (group << 52) + (large << 20) + small;
    }
    // Elements from the first to the last of `columns` columns that are read together, both
    // included.
    int64_t Span(int64_t columns) const {
        const int64_t own = FarMembers() ? 0 : (group - 1) * std::abs(within);
        return (columns / group - 1) * std::abs(step) + own + 1;
    }
};

// The common iteration space of several operands (inputs and outputs), collapsed.
struct IterationSpace {
    std::vector<int64_t> dim;
    std::vector<std::vector<int64_t>> stride;  // per operand
    std::vector<int64_t> offset;               // per operand
    std::vector<std::vector<int64_t>> from;    // per operand: where its own elements begin
    std::vector<std::vector<int64_t>> to;      // and end
    std::vector<bool> memory;                  // per operand: not numbers counted from the index
    std::vector<bool> nothing;                 // per operand: no element is its own
    bool transposed =
        false;  // operands that stride along the columns are contiguous along the rows
    // How many elements of a tile an element of a box takes, where columns lie apart.
    int64_t step = 1;
    std::vector<ColumnGroups> groups;  // per operand

    // All operands must broadcast to `dims`.
    void Build(const std::vector<int64_t>& dims, const std::vector<Operand>& operands) {
        dim.clear();
        stride.assign(operands.size(), std::vector<int64_t>());
        from = to = stride;
        offset.clear();
        memory.clear();
        nothing.clear();
        transposed = false;
        step = 1;
        groups.assign(operands.size(), ColumnGroups());
        for (size_t v = 0; v < operands.size(); ++v) {
            offset.push_back(operands[v].view.offset);
            memory.push_back(operands[v].bytes > 0);
            nothing.push_back(operands[v].view.Nothing());
        }
        for (size_t i = 0; i < dims.size(); ++i) {
            if (dims[i] == 1) {
                continue;
            }
            std::vector<int64_t> steps;
            std::vector<int64_t> first;
            std::vector<int64_t> last;
            for (size_t v = 0; v < operands.size(); ++v) {
                const View& view = operands[v].view;
                const int64_t behind = DimensionBehind(view, dims.size(), i);
                const bool own = behind >= 0;
                const size_t at = static_cast<size_t>(own ? behind : 0);
                steps.push_back(own ? view.stride[at] : 0);
                first.push_back(own ? view.from[at] : 0);
                last.push_back(nothing[v] ? 0 : (own ? view.to[at] : dims[i]));
            }
            Append(dims[i], steps, first, last);
        }
    }
    // After PadToMax.
    OperandWalk Walk(size_t operand) const {
        OperandWalk walk;
        std::copy(stride[operand].begin(), stride[operand].end(), walk.steps);
        if (groups[operand].group > 1) {
            walk.steps[kMaxDims - 1] = groups[operand].Packed();
        }
        walk.steps[kMaxDims] = offset[operand];
        return walk;
    }
    // Where the elements of an operand begin and end along each dimension, after PadToMax.
    OperandBounds Bounds(size_t operand) const {
        OperandBounds bounds;
        std::copy(from[operand].begin(), from[operand].end(), bounds.ends);
        std::copy(to[operand].begin(), to[operand].end(), bounds.ends + kMaxDims);
        return bounds;
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
            if (nothing[v] || (dim.size() == 1 && (from[v][0] != 0 || to[v][0] != dim[0]))) {
                return false;
            }
        }
        return true;
    }
    // Where operands stride along the last dimension: make the one before it a dimension along
    // which all of these are contiguous, so that the kernel reads them in columns and transposes
    // these in UB. False: there is none, or the others could not be copied box by box.
    bool TransposeRows(const std::vector<Operand>& operands) {
        if (dim.size() < 2) {
            return false;
        }
        const size_t last = dim.size() - 1;
        size_t rows = last;
        for (size_t v = 0; v < stride.size(); ++v) {
            if (!Strides(v)) {
                continue;
            }
            const size_t own = static_cast<size_t>(
                std::find(stride[v].begin(), stride[v].end(), 1) - stride[v].begin());
            if (own >= last || (rows != last && rows != own) ||
                !CanTranspose(v, own, operands[v])) {
                return false;
            }
            rows = own;
        }
        if (rows == last) {
            return false;
        }
        for (size_t v = 0; v < stride.size(); ++v) {
            if (memory[v] && !Strides(v) && !RowsFit(v, rows, operands[v].bytes)) {
                return false;
            }
        }
        MoveBeforeLast(rows);
        transposed = true;
        return true;
    }
    // The same where the last dimension has two or four elements that stay together, such as the
    // two words of a 64-bit number: those and the dimension before it become the columns, in which
    // operands that are not contiguous along both lie in groups.
    bool TransposeGroups(const std::vector<Operand>& operands) {
        if (dim.size() < 3 || (dim.back() != 2 && dim.back() != kTransposedGroup)) {
            return false;
        }
        const size_t last = dim.size() - 1;
        size_t rows = last;
        for (size_t v = 0; v < stride.size(); ++v) {
            if (!memory[v] || IsOneColumn(v)) {
                continue;
            }
            const size_t own = static_cast<size_t>(
                std::find(stride[v].begin(), stride[v].end(), dim.back()) - stride[v].begin());
            if (own >= last - 1 || (rows != last && rows != own) ||
                !CanTransposeGroups(v, own, operands[v])) {
                return false;
            }
            rows = own;
        }
        if (rows == last) {
            return false;
        }
        for (size_t v = 0; v < stride.size(); ++v) {
            const int64_t row = stride[v][rows];
            const bool apart = row >= dim[last - 1] * dim[last] * stride[v][last];
            if (memory[v]
                    ? IsOneColumn(v) &&
                          (row < 0 || (row > 0 && !apart) || row > kMaxRowBytes / operands[v].bytes)
                    : stride[v][last - 1] >= kMostCounted || stride[v][last] >= kMostCounted) {
                return false;
            }
        }
        JoinGroups();
        MoveBeforeLast(rows);
        step = 2;  // places take as much as the elements
        transposed = true;
        return true;
    }
    // Where the last dimension has few elements and the one before it many: make both the columns,
    // in which operands that are not contiguous along both lie in groups. False: one of them does
    // not allow it, takes more than `most` elements of a tile, or has more than `mostFar` columns
    // that lie far apart.
    bool GroupColumns(const std::vector<Operand>& operands, int64_t most, int64_t mostFar) {
        if (dim.size() < 2 || dim.back() > kLargestGroup ||
            dim[dim.size() - 2] < kLeastForwardColumns) {
            return false;
        }
        int64_t largest = 2;  // places take as much as the elements
        for (size_t v = 0; v < stride.size(); ++v) {
            if (IsOneColumn(v)) {
                continue;
            }
            const bool far = memory[v] && LieFar(stride[v].back());
            if (!CanGroup(v, operands[v]) || (far && dim.back() > mostFar)) {
                return false;
            }
            largest = memory[v] ? std::max(largest, TakenByGroups(v)) : largest;
        }
        if (largest > most) {
            return false;
        }
        step = largest;
        JoinGroups();
        return true;
    }
    // Where operands stride along the last dimension by few elements, or run backwards: let the
    // kernel read these with what lies between and take them from it in UB. False: one of them does
    // not allow it, or lies more than `most` elements apart.
    bool ReadBetween(const std::vector<Operand>& operands, int64_t most) {
        if (dim.empty() || dim.back() < kLeastForwardColumns) {
            return false;
        }
        int64_t largest = 1;
        for (size_t v = 0; v < stride.size(); ++v) {
            if (Strides(v) && !CanReadBetween(v, operands[v])) {
                return false;
            }
            const int64_t column = stride[v].back();
            // places take as much as the elements
            const int64_t taken = column < 0 ? std::max<int64_t>(2, -column) : column;
            largest = memory[v] ? std::max(largest, taken) : largest;
        }
        if (largest == 1 || largest > most) {
            return false;
        }
        step = largest;
        return true;
    }
    // Whether boxes of several rows can be copied of an operand at once, with `rows` as the
    // dimension of the rows. The gap between rows is largest for the last, narrower box, so the
    // whole stride has to fit. Rows that run backwards are copied one by one.
    bool RowsFit(size_t operand, size_t rows, int64_t bytes) const {
        const int64_t row = stride[operand][rows];
        const int64_t own = to[operand].back() - from[operand].back();
        const ColumnGroups& columns = groups[operand];
        int64_t used = (std::min(dim.back(), own) - 1) * std::abs(stride[operand].back()) + 1;
        if (columns.group > 1) {
            used = columns.Span(dim.back());
        }
        return row <= 0 || (row >= used && row <= kMaxRowBytes / bytes);
    }
    // Make the last dimension one that every operand with memory reads contiguously or not at all:
    // where one strides, add a dimension of size 1, so that every element is a row of its own.
    void EnsureUnitColumns() {
        if (dim.empty()) {
            return;
        }
        for (size_t v = 0; v < stride.size(); ++v) {
            if (Strides(v)) {
                const std::vector<int64_t> zeros(stride.size(), 0);
                Push(1, zeros, zeros, std::vector<int64_t>(stride.size(), 1));
                return;
            }
        }
    }
    // Where rows of an operand run backwards, which takes a copy for each of them, let another
    // dimension be that of the rows: the longest along which all operands run forwards.
    void LeaveBackwardRows(const std::vector<Operand>& operands) {
        if (dim.size() < 3 || dim.back() < kLeastForwardColumns) {
            return;
        }
        const size_t rows = dim.size() - 2;
        bool backwards = false;
        for (size_t v = 0; v < stride.size(); ++v) {
            backwards = backwards || (memory[v] && stride[v][rows] < 0);
        }
        size_t best = rows;
        for (size_t i = 0; backwards && i < rows; ++i) {
            if ((best == rows || dim[i] > dim[best]) && CanBeRows(i, operands)) {
                best = i;
            }
        }
        if (best != rows) {
            MoveBeforeLast(best);
        }
    }
    // Whether the rows of boxes can be those of another dimension: all operands run forwards along
    // it, and rows of them can be copied at once.
    bool CanBeRows(size_t axis, const std::vector<Operand>& operands) const {
        for (size_t v = 0; v < stride.size(); ++v) {
            const int64_t row = stride[v][axis];
            const bool same = groups[v].group > 1 && groups[v].step == 0;  // columns of all groups
            if (memory[v] &&
                (row < 0 || !RowsFit(v, axis, operands[v].bytes) || (row > 0 && same))) {
                return false;
            }
        }
        return true;
    }
    // Let a dimension be that of the rows.
    void MoveBeforeLast(size_t axis) {
        MoveBeforeLast(dim, axis);
        for (size_t v = 0; v < stride.size(); ++v) {
            MoveBeforeLast(stride[v], axis);
            MoveBeforeLast(from[v], axis);
            MoveBeforeLast(to[v], axis);
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
            from[v].insert(from[v].begin(), missing, 0);
            to[v].insert(to[v].begin(), missing, nothing[v] ? 0 : 1);
        }
        return true;
    }

 private:
    // Whether an operand with memory is neither contiguous nor the same along the last dimension.
    bool Strides(size_t operand) const {
        return memory[operand] && stride[operand].back() != 0 && stride[operand].back() != 1;
    }
    // Whether every element along a dimension is the operand's own.
    bool IsWhole(size_t v, size_t axis) const {
        return from[v][axis] == 0 && to[v][axis] == dim[axis] && !nothing[v];
    }
    // Whether the kernel can join columns of an operand that lie apart.
    static bool CanJoin(const Operand& operand) {
        return operand.transposable && (operand.bytes == 2 || operand.bytes == 4);
    }
    // Whether columns along `rows` can be copied of an operand and transposed.
    bool CanTranspose(size_t v, size_t rows, const Operand& operand) const {
        const int64_t column = stride[v].back();
        return CanJoin(operand) && IsWhole(v, dim.size() - 1) && column >= dim[rows] &&
               column <= kMaxRowBytes / operand.bytes;
    }
    // Whether groups of columns along `rows` can be copied of an operand and transposed.
    bool CanTransposeGroups(size_t v, size_t rows, const Operand& operand) const {
        const size_t last = dim.size() - 1;
        const int64_t column = stride[v][last - 1];
        return CanJoin(operand) && IsWhole(v, last) && IsWhole(v, last - 1) &&
               stride[v][last] == 1 && column >= dim[rows] * dim[last] &&
               column <= kMaxRowBytes / operand.bytes;
    }
    // Make the last two dimensions one, in which operands that are not contiguous along both lie in
    // groups.
    void JoinGroups() {
        const size_t last = dim.size() - 1;
        const int64_t size = dim[last];
        for (size_t v = 0; v < stride.size(); ++v) {
            if (IsOneColumn(v)) {
                stride[v][last - 1] = stride[v][last];
            } else {
                groups[v].group = size;
                groups[v].step = stride[v][last - 1];
                groups[v].within = stride[v][last];
                stride[v][last - 1] = size;  // apart
            }
            from[v][last - 1] *= size;
            to[v][last - 1] *= size;
            stride[v].pop_back();
            from[v].pop_back();
            to[v].pop_back();
        }
        dim[last - 1] *= size;
        dim.pop_back();
    }
    // Whether an operand is contiguous along the last two dimensions, or the same for all of them.
    bool IsOneColumn(size_t v) const {
        const size_t last = dim.size() - 1;
        const int64_t step = stride[v][last];
        return memory[v] && IsWhole(v, last) && (step == 0 || step == 1) &&
               stride[v][last - 1] == step * dim[last];
    }
    // How many elements of a tile an element of a box takes whose last two dimensions are groups of
    // columns.
    int64_t TakenByGroups(size_t v) const {
        const size_t last = dim.size() - 1;
        const int64_t next = std::abs(stride[v][last - 1]);
        const int64_t within = std::abs(stride[v][last]);
        if (LieFar(within)) {
            return next;
        }
        // what the last group has beyond its step counts, too
        const bool overlaps = next != 0 && (dim[last] - 1) * within >= next;
        return CeilDiv(next, dim[last]) + (overlaps ? 1 : 0);
    }
    // Whether the last two dimensions of an operand can be groups of columns. Rows of numbers that
    // are counted take no memory.
    bool CanGroup(size_t v, const Operand& operand) const {
        const size_t last = dim.size() - 1;
        const int64_t next = std::abs(stride[v][last - 1]);
        const int64_t within = std::abs(stride[v][last]);
        const int64_t row = last < 2 ? 0 : stride[v][last - 2];
        if (!IsWhole(v, last) || !IsWhole(v, last - 1)) {
            return false;
        }
        if (!memory[v]) {
            return next < kMostCounted && within < kMostCounted;
        }
        if (!CanJoin(operand) || LieFar(next) || within > INT32_MAX) {
            return false;
        }
        const bool far = LieFar(within);
        const int64_t group = far ? 0 : (dim[last] - 1) * within;
        if (next == 0) {
            return row == 0 && !far;
        }
        return next > group - kMostOverlap &&
               (row == 0 || row > (dim[last - 1] - 1) * next + group);
    }
    // Whether rows of an operand can be copied with what lies between their columns.
    bool CanReadBetween(size_t v, const Operand& operand) const {
        const int64_t column = std::abs(stride[v].back());
        const int64_t row = dim.size() < 2 ? 0 : stride[v][dim.size() - 2];
        return CanJoin(operand) && IsWhole(v, dim.size() - 1) && !LieFar(column) &&
               (row == 0 || row > dim.back() * (column - 1));
    }
    static void MoveBeforeLast(std::vector<int64_t>& values, size_t axis) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(axis);
        std::rotate(values.begin() + at, values.begin() + at + 1, values.end() - 1);
    }
    void Append(int64_t size, const std::vector<int64_t>& steps, const std::vector<int64_t>& first,
                const std::vector<int64_t>& last) {
        bool merges = !dim.empty();
        for (size_t v = 0; merges && v < steps.size(); ++v) {
            merges = stride[v].back() == steps[v] * size && first[v] == 0 && last[v] == size;
        }
        if (!merges) {
            Push(size, steps, first, last);
            return;
        }
        dim.back() *= size;
        for (size_t v = 0; v < steps.size(); ++v) {
            stride[v].back() = steps[v];
            from[v].back() *= size;
            to[v].back() *= size;
        }
    }
    void Push(int64_t size, const std::vector<int64_t>& steps, const std::vector<int64_t>& first,
              const std::vector<int64_t>& last) {
        dim.push_back(size);
        for (size_t v = 0; v < steps.size(); ++v) {
            stride[v].push_back(steps[v]);
            from[v].push_back(first[v]);
            to[v].push_back(last[v]);
        }
    }
};

}  // namespace opgen

#endif  // OPGEN_HOST_ITERATION_SPACE_H
