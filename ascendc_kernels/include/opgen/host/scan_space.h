// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host side of scans: the rows and columns of a call, one of which is the axis, and how they are
// cut into boxes. A core scans the boxes of an item one after another. C++11, no CANN header
// needed.
#ifndef OPGEN_HOST_SCAN_SPACE_H
#define OPGEN_HOST_SCAN_SPACE_H

#include <algorithm>
#include <cstdint>
#include <vector>

#include "row_space.h"

namespace opgen {

// A row that is scanned along its columns is cut into 16 segments, of 16 elements at least; rows of
// fewer elements stay whole.
constexpr int64_t kScanSegments = 16;
constexpr int64_t kSegmentedPitch = 256;

class ScanSpace : public RowSpace {
 public:
    // rows of a box are this many elements apart, or a multiple of it
    int64_t pitchUnit = 1;

    ScanSpace() { inOrder_ = true; }

    // room: bytes of UB; block: elements of the narrowest type in 32 bytes; group: rows, or
    // segments of rows, that a scan works on at once; cores: how many can work. tileLength is 0
    // where UB does not hold the smallest box.
    void Cut(const RowBudget& budget, int64_t room, int64_t block, int64_t group,
             const std::vector<Operand>& operands, int64_t cores,
             const Schedule& asked = Schedule()) {
        mostTile_ = asked.Tile(INT64_MAX);
        copies = 2;
        tileLength = 0;
        const bool narrow = lanes && dim[kMaxDims - 1] < kSegmentedPitch;
        if (narrow) {
            pitchUnit = std::max(kScanSegments, block);
            group_ = group;
            CutRows(budget, room, operands, cores);
        }
        if (lanes && tileLength == 0) {
            pitchUnit = kSegmentedPitch;
            group_ = group / kScanSegments;
            CutRows(budget, room, operands, cores);
        }
        if (!lanes) {
            // whole repeats where rows are compared
            pitchUnit = group > kScanSegments ? std::max(group, block) : block;
            group_ = 1;
            CutColumns(budget, room, operands, cores);
        }
        const int64_t rowBoxes = CeilDiv(dim[kMaxDims - 2], boxRows);
        const int64_t colBoxes = CeilDiv(dim[kMaxDims - 1], boxCols);
        items = Outer() * (lanes ? rowBoxes : colBoxes);
        chunks = lanes ? colBoxes : rowBoxes;
        const int64_t work = std::max<int64_t>(1, items);
        usedCores = CeilDiv(work, CeilDiv(work, std::min(cores, work)));
    }

 private:
    int64_t Outer() const {
        int64_t outer = 1;
        for (int64_t i = 0; i < kMaxDims - 2; ++i) {
            outer *= dim[i];
        }
        return outer;
    }
    // Whether boxes of these sizes fit; sets the lengths of tiles.
    bool Holds(const RowBudget& budget, int64_t room, int64_t rows, int64_t cols) {
        const int64_t pitch = AlignUp(cols, pitchUnit);
        boxRows = rows;
        boxCols = cols;
        tileLength = AlignUp(AlignUp(rows, group_) * pitch, kUnit);
        rowLength = AlignUp(lanes ? rows : pitch, kUnit);
        blockRows = AlignUp(lanes ? rows : 1, kRowGroup);
        return tileLength <= mostTile_ && budget.Fits(room, tileLength, rowLength, blockRows, rows);
    }
    // The most of something, up to `most` in steps of `unit`, with which a box fits; 0: not one.
    template <typename Fits>
    static int64_t Most(int64_t most, int64_t unit, const Fits& fits) {
        int64_t low = 0;
        int64_t high = CeilDiv(most, unit);
        while (low < high) {
            const int64_t middle = (low + high + 1) / 2;
            if (fits(std::min(middle * unit, most))) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return std::min(low * unit, most);
    }
    // The axis runs along the columns: whole rows where they fit, else chunks of one row.
    void CutRows(const RowBudget& budget, int64_t room, const std::vector<Operand>& operands,
                 int64_t cores) {
        const int64_t rows = std::max<int64_t>(1, dim[kMaxDims - 2]);
        const int64_t cols = std::max<int64_t>(1, dim[kMaxDims - 1]);
        const int64_t fair = std::max<int64_t>(1, CeilDiv(rows * Outer(), cores));
        const int64_t wanted = std::min(std::min(rows, fair), kMaxBlockCount);
        const int64_t most = RowsFit(cols, operands) ? wanted : 1;
        const int64_t whole =
            Most(most, 1, [&](int64_t n) { return Holds(budget, room, n, cols); });
        if (whole > 0) {
            Holds(budget, room, whole, cols);
            return;
        }
        // what goes from chunk to chunk goes through segments
        const int64_t part = pitchUnit < kSegmentedPitch
                                 ? 0
                                 : Most(
                                       cols / pitchUnit * pitchUnit, pitchUnit,
                                       [&](int64_t n) { return Holds(budget, room, 1, n); });
        if (part == 0 || !Holds(budget, room, 1, part)) {
            boxRows = boxCols = 1;
            tileLength = 0;
        }
    }
    // The axis runs along the rows: columns for all cores as long as copies stay long, and as many
    // rows as fit.
    void CutColumns(const RowBudget& budget, int64_t room, const std::vector<Operand>& operands,
                    int64_t cores) {
        const int64_t rows = std::max<int64_t>(1, dim[kMaxDims - 2]);
        const int64_t cols = std::max<int64_t>(1, dim[kMaxDims - 1]);
        const int64_t parts = std::max<int64_t>(1, cores / std::max<int64_t>(1, Outer()));
        const int64_t fair = AlignUp(CeilDiv(cols, parts), std::max<int64_t>(64, pitchUnit));
        const int64_t few = std::min(rows, kRowGroup);
        const int64_t wide = Most(std::min(cols, fair), pitchUnit,
                                  [&](int64_t n) { return Holds(budget, room, few, n); });
        const int64_t most = RowsFit(wide, operands) ? std::min(rows, kMaxBlockCount) : 1;
        const int64_t high =
            wide == 0 ? 0 : Most(most, 1, [&](int64_t n) { return Holds(budget, room, n, wide); });
        if (high == 0 || !Holds(budget, room, high, wide)) {
            boxRows = boxCols = 1;
            tileLength = 0;
        }
    }

    int64_t group_ = 1;  // a tile has room for whole groups of rows
    int64_t mostTile_ = INT64_MAX;
};

}  // namespace opgen

#endif  // OPGEN_HOST_SCAN_SPACE_H
