// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How single elements that indices name are taken from parts of the table in UB, and whether that
// is sooner done than a copy for each of them. C++11, no CANN header needed.
#ifndef OPGEN_HOST_TABLE_TILING_H
#define OPGEN_HOST_TABLE_TILING_H

#include <algorithm>
#include <cstdint>
#include <vector>

#include "indexed_space.h"
#include "tile_budget.h"

namespace opgen {

constexpr int64_t kBatchLanes = 1024;  // opgen/gathered_elements.h
constexpr double kBatchCycles = 400;   // start-ups of the instructions of a batch
constexpr double kLaneCycles = 0.5;    // of an element in a batch
constexpr double kCopyRowCycles = 10;  // of a row of a copy, at least
constexpr double kCopyLatency = 300;   // until a window is there
constexpr double kBytesPerCycle = 16;  // that a core copies while all others do, too

// Windows of a table and batches of items. The last axis of the items gives the columns of a batch,
// another one its rows. Where the table goes along with the last axis, a window is some columns of
// the table, with all rows that the indices reach; else it is lines, with all that they reach.
struct TableTiling {
    bool chosen = false;
    bool byColumns = false;
    bool sharedIndex = false;  // the rows of a batch have the same indices
    int64_t rowDim = 0;        // of the items, kMaxDims counted
    int64_t batchRows = 1;
    int64_t batchCols = 1;
    int64_t batchPitch = 1;  // lanes from row to row
    int64_t windowRows = 1;
    int64_t windowCols = 1;
    int64_t windowPitch = 0;   // elements from row to row; 0: a line for all rows of a batch
    int64_t windowStep = 0;    // the same in the table
    int64_t windowLength = 0;  // elements
    int64_t windowCopies = 1;
    int64_t cores = 1;
    std::vector<int64_t> windowSteps;  // bytes per index

    // elementBytes: of the table; narrowest: of table and result; room: bytes of UB for windows;
    // copyCores: that would copy each item by itself.
    void Choose(const IndexedSpace& space, int64_t elementBytes, int64_t narrowest, int64_t room,
                int64_t coresOfChip, int64_t copyCores) {
        windowSteps.assign(space.axisSizes.size(), 0);
        if (!space.refusal.empty() || (elementBytes != 2 && elementBytes != 4) || room <= 0) {
            return;
        }
        const int64_t items = space.Items();
        if (space.rowLength != 1 || items == 0 || space.dims.empty() || !HasTable(space)) {
            return;
        }
        bytes_ = elementBytes;
        unit_ = std::max<int64_t>(8, kBlockOfCopy / narrowest);
        room_ = room / elementBytes;
        coresOfChip_ = coresOfChip;
        least_ = kItemCycles * static_cast<double>(CeilDiv(items, copyCores));
        const int64_t step = space.steps[0].back();
        if (step == 0) {
            TryLines(space);
        } else if (step == 1) {
            TryColumns(space);
        }
    }

 private:
    // Whether every index runs along the last axis of the items, and reaches elements.
    static bool HasTable(const IndexedSpace& space) {
        for (size_t k = 0; k < space.axisSizes.size(); ++k) {
            if (space.steps[1 + k].back() != 1 || space.axisSizes[k] < 1 ||
                space.axisSteps[k] < 1 || space.axisSizes[k] > INT32_MAX) {
                return false;
            }
        }
        return true;
    }
    // Whether rows of `cols` indices along an axis do not overlap, nor lie farther apart than a
    // copy reaches, and neither do the rows of the result.
    static bool HasRows(const IndexedSpace& space, size_t axis, int64_t cols) {
        int64_t apart = 1;
        for (size_t i = axis + 1; i < space.dims.size(); ++i) {
            apart = Times(apart, space.dims[i]);
        }
        for (size_t k = 0; k < space.axisSizes.size(); ++k) {
            if (space.steps[1 + k][axis] < cols || space.steps[1 + k][axis] > kFarthest) {
                return false;
            }
        }
        return apart <= kFarthest;
    }
    static bool SharesIndices(const IndexedSpace& space, size_t axis) {
        for (size_t k = 0; k < space.axisSizes.size(); ++k) {
            if (space.steps[1 + k][axis] != 0) {
                return false;
            }
        }
        return true;
    }
    // The axis of the rows as the kernel counts it; none: one that has a single element.
    static int64_t Packed(const IndexedSpace& space, int64_t axis) {
        return axis < 0 ? 0 : axis + kMaxDims - static_cast<int64_t>(space.dims.size());
    }
    void TryLines(const IndexedSpace& space) {
        int64_t reach = 1;
        for (size_t k = 0; k < space.axisSizes.size(); ++k) {
            reach += (space.axisSizes[k] - 1) * space.axisSteps[k];
        }
        if (reach > room_) {
            return;
        }
        const int64_t last = static_cast<int64_t>(space.dims.size()) - 1;
        const int64_t all = space.dims.back();
        TableTiling next = *this;
        next.batchCols = std::min(all, kBatchLanes);
        next.batchPitch = AlignUp(next.batchCols, unit_);
        next.windowCols = reach;
        const int64_t pitch = AlignUp(reach, unit_);
        int64_t axis = last - 1;
        if (axis >= 0) {
            const int64_t step = space.steps[0][static_cast<size_t>(axis)];
            next.sharedIndex = SharesIndices(space, static_cast<size_t>(axis));
            const bool rows = next.sharedIndex || HasRows(space, static_cast<size_t>(axis), all);
            const bool apart = step >= reach && step <= kFarthest;
            axis = rows && (step == 0 || apart) ? axis : -1;
        }
        next.sharedIndex = next.sharedIndex && axis >= 0;
        next.rowDim = Packed(space, axis);
        int64_t rows = 1;
        if (axis >= 0) {
            rows = space.dims[static_cast<size_t>(axis)];
            next.windowStep = space.steps[0][static_cast<size_t>(axis)];
            next.windowPitch = next.windowStep == 0 ? 0 : pitch;
        } else if (last + 1 == kMaxDims) {
            return;  // no axis of one element to count as rows
        }
        for (size_t k = 0; k < space.axisSteps.size(); ++k) {
            next.windowSteps[k] = space.axisSteps[k] * bytes_;
        }
        for (int64_t copies = 1; copies <= 2; ++copies) {
            const int64_t lines = next.windowPitch == 0 ? rows : room_ / copies / pitch;
            const int64_t most = std::min(std::min(lines, kBatchLanes / next.batchPitch), rows);
            if (most < 1 || pitch > room_ / copies) {
                continue;
            }
            next.windowCopies = copies;
            for (int64_t n = most; n > 0; n /= 2) {
                next.batchRows = n;
                next.windowRows = next.windowPitch == 0 ? 1 : n;
                next.windowLength = next.windowRows * pitch;
                Try(space, next, CeilDiv(rows, n), CeilDiv(all, next.batchCols));
            }
        }
    }
    void TryColumns(const IndexedSpace& space) {
        const size_t last = space.dims.size() - 1;
        TableTiling next = *this;
        next.byColumns = true;
        next.windowStep = space.axisSteps.back();
        next.windowRows = 1;
        for (size_t k = space.axisSizes.size(); k > 0; --k) {
            if (space.axisSteps[k - 1] != Times(next.windowStep, next.windowRows)) {
                return;  // rows at several distances
            }
            next.windowSteps[k - 1] = next.windowRows;
            next.windowRows = Times(next.windowRows, space.axisSizes[k - 1]);
        }
        const int64_t all = space.dims.back();
        if (next.windowRows > room_ / unit_ || next.windowStep < all ||
            next.windowStep > kFarthest) {
            return;
        }
        int64_t axis = static_cast<int64_t>(last) - 1;
        while (axis >= 0 && (space.steps[0][static_cast<size_t>(axis)] != 0 ||
                             !HasRows(space, static_cast<size_t>(axis), all))) {
            --axis;
        }
        if (axis < 0 && last + 1 == static_cast<size_t>(kMaxDims)) {
            return;
        }
        next.rowDim = Packed(space, axis);
        const int64_t rows = axis < 0 ? 1 : space.dims[static_cast<size_t>(axis)];
        const std::vector<int64_t> steps = next.windowSteps;
        for (int64_t copies = 1; copies <= 2; ++copies) {
            next.windowCopies = copies;
            const int64_t fit = room_ / copies / next.windowRows / unit_ * unit_;
            const int64_t most = std::min(std::min(fit, AlignUp(all, unit_)), kBatchLanes);
            for (int64_t cols = most; cols >= unit_; cols = cols / 2 / unit_ * unit_) {
                next.batchPitch = next.windowPitch = cols;
                next.batchCols = next.windowCols = std::min(cols, all);
                next.batchRows = std::min(rows, kBatchLanes / cols);
                next.windowLength = next.windowRows * cols;
                for (size_t k = 0; k < steps.size(); ++k) {
                    next.windowSteps[k] = steps[k] * cols * bytes_;
                }
                Try(space, next, CeilDiv(rows, next.batchRows), CeilDiv(all, next.batchCols));
            }
        }
    }
    // Take the tiling if its last core is ready before that of the best one so far.
    void Try(const IndexedSpace& space, TableTiling next, int64_t rowBlocks, int64_t colBlocks) {
        const int64_t steps = next.byColumns ? rowBlocks : colBlocks;
        int64_t units = next.byColumns ? colBlocks : rowBlocks;
        for (size_t i = 0; i + 1 < space.dims.size(); ++i) {
            const bool isRow = Packed(space, static_cast<int64_t>(i)) == next.rowDim;
            units = Times(units, isRow ? 1 : space.dims[i]);
        }
        const int64_t indexRows = next.sharedIndex ? 1 : next.batchRows;
        const double lanes = static_cast<double>(next.batchRows * next.batchPitch);
        const double indexBytes = 8.0 * static_cast<double>(space.axisSizes.size());
        const double batch = kBatchCycles + kLaneCycles * lanes +
                             Copies(indexRows, indexBytes * static_cast<double>(next.batchCols)) +
                             Copies(next.batchRows, static_cast<double>(bytes_ * next.batchCols));
        const double window =
            kCopyLatency / static_cast<double>(next.windowCopies) +
            Copies(next.windowRows, static_cast<double>(bytes_ * next.windowCols));
        const int64_t batches = Times(units, steps);
        const double work =
            static_cast<double>(batches) * batch + static_cast<double>(units) * window;
        next.cores = CoresThatPay(work, std::min(coresOfChip_, batches));
        const int64_t each = CeilDiv(batches, next.cores);
        const int64_t windows = std::min(each, CeilDiv(each, steps) + (steps > 1 ? 1 : 0));
        const double cycles =
            static_cast<double>(each) * batch + static_cast<double>(windows) * window;
        if (cycles < least_) {
            next.least_ = cycles;
            next.chosen = true;
            *this = next;
        }
    }
    // Cycles of rows of so many bytes each.
    static double Copies(int64_t rows, double bytes) {
        return static_cast<double>(rows) * std::max(kCopyRowCycles, bytes / kBytesPerCycle);
    }

    int64_t bytes_ = 2;
    int64_t unit_ = 16;
    int64_t room_ = 0;  // elements
    int64_t coresOfChip_ = 1;
    double least_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_HOST_TABLE_TILING_H
