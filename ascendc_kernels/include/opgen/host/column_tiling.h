// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Scatters along an axis of few rows, column by column: whether a call is one, and how its columns
// are shared. C++11, no CANN header needed.
#ifndef OPGEN_HOST_COLUMN_TILING_H
#define OPGEN_HOST_COLUMN_TILING_H

#include <algorithm>
#include <cstdint>

#include "indexed_space.h"
#include "tile_budget.h"

namespace opgen {

constexpr int64_t kLeastColumns = 64;    // fewer leave most of an instruction unused
constexpr double kColumnStart = 40;      // cycles of an instruction beside its repeats
constexpr double kJoinInstructions = 3;  // for each row of the tensor and each row of items
constexpr double kRowInstructions = 12;  // for each row of items
constexpr double kElementCycles = 45;    // of an element that the scalar unit joins
constexpr double kFoundCycles = 1.6;     // of an item that the vector unit finds in a window
constexpr double kCopiedCycles = 80;     // of an item that is a copy and an instruction

// The tensor is parts of `rows` rows of `columns` elements, and the items are parts of `itemRows`
// rows: each core owns some columns, all rows of which UB holds.
struct ColumnTiling {
    bool chosen = false;
    int64_t parts = 0;
    int64_t columns = 0;
    int64_t itemRows = 0;
    int64_t boxCols = 0;
    int64_t cores = 1;

    // total: elements of the tensor; rowBytes: of UB for a column of a row, 0: its elements are not
    // joined by the vector unit; columnBytes: for a column beside that; windows: the tiling it
    // competes with, which joins single elements by the scalar unit if `byElement`.
    void Choose(const IndexedSpace& space, int64_t total, int64_t rowBytes, int64_t columnBytes,
                uint64_t ubSize, int64_t reserved, int64_t coresOfChip, const WindowTiling& windows,
                bool byElement) {
        if (!space.refusal.empty() || rowBytes == 0 || !IsOfColumns(space, total)) {
            return;
        }
        const int64_t rows = space.axisSizes[0];
        const int64_t room = static_cast<int64_t>(ubSize) - reserved;
        const int64_t most = room / (rows * rowBytes + columnBytes) / kLanes * kLanes;
        if (most < kLanes) {
            return;
        }
        // as many columns as give every core some
        const int64_t fair = CeilDiv(Times(columns, parts), coresOfChip);
        boxCols = std::min(std::min(most, kMostColumns),
                           std::max<int64_t>(AlignUp(fair, kLanes), kLanes));
        const int64_t boxes = Times(parts, CeilDiv(columns, boxCols));
        const double repeats = static_cast<double>(boxCols) / 64;
        const double joins = kJoinInstructions * static_cast<double>(rows) + kRowInstructions;
        const double box = static_cast<double>(itemRows) * joins * (kColumnStart + repeats);
        const double work = static_cast<double>(boxes) * box;
        cores = CoresThatPay(work, std::min(coresOfChip, boxes));
        chosen = box * static_cast<double>(CeilDiv(boxes, cores)) <
                 CyclesOf(windows, space.Items(), byElement);
    }

 private:
    static constexpr int64_t kLanes = 256;  // masks of them are whole blocks
    static constexpr int64_t kMostColumns = 4096;

    // Whether items and tensor are parts, rows and columns that lie together.
    bool IsOfColumns(const IndexedSpace& space, int64_t total) {
        const size_t rank = space.dims.size();
        if (space.rowLength != 1 || space.axisSizes.size() != 1 || rank < 2 || rank > 3) {
            return false;
        }
        columns = space.dims[rank - 1];
        itemRows = space.dims[rank - 2];
        parts = rank == 3 ? space.dims[0] : 1;
        const int64_t rows = space.axisSizes[0];
        const int64_t part = Times(rows, columns);
        if (columns < kLeastColumns || columns > kFarthest || rows < 1 ||
            Times(part, parts) != total || space.axisSteps[0] != columns || space.Items() == 0) {
            return false;
        }
        for (size_t k = 0; k < space.steps.size(); ++k) {
            const std::vector<int64_t>& steps = space.steps[k];
            const int64_t row = k == 0 ? 0 : columns;
            const int64_t whole = k == 0 ? part : Times(itemRows, columns);
            if (steps[rank - 1] != 1 || steps[rank - 2] != row ||
                (rank == 3 && steps[0] != whole)) {
                return false;
            }
        }
        return space.tableOffset == 0;
    }
    // What the other tiling takes: each core goes through the items of its windows.
    static double CyclesOf(const WindowTiling& windows, int64_t items, bool byElement) {
        const int64_t all = CeilDiv(windows.rows, windows.rowsPerWindow) * windows.pieces;
        const int64_t each = CeilDiv(all, windows.cores);
        const int64_t slabs = std::max<int64_t>(1, windows.rows / windows.slabRows);
        const int64_t passes =
            Times(each, std::max<int64_t>(1, CeilDiv(windows.rowsPerWindow, windows.slabRows)));
        const double seen = static_cast<double>(Times(passes, items / slabs));
        const double joined = static_cast<double>(items) / static_cast<double>(windows.cores);
        return byElement ? kFoundCycles * seen + kElementCycles * joined : kCopiedCycles * seen;
    }
};

}  // namespace opgen

#endif  // OPGEN_HOST_COLUMN_TILING_H
