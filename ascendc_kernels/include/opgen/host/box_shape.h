// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How an iteration space is cut into boxes for the cores. C++11, no CANN header needed.
#ifndef OPGEN_HOST_BOX_SHAPE_H
#define OPGEN_HOST_BOX_SHAPE_H

#include <algorithm>
#include <cstdint>
#include <vector>

#include "iteration_space.h"
#include "tile_budget.h"

namespace opgen {

// Tiles of a core, as far as boxes are aimed at a number of them.
constexpr int64_t kMostTiles = 8;
// A shorter row takes as long as one of so many elements: it is a burst of its own.
constexpr int64_t kLeastRow = 64;
// Rows and columns that TransDataTo5HD transposes at once, of elements of 2 bytes; of 4 bytes half
// as many rows.
constexpr int64_t kTransposeBlock = 16;
// Rows or columns of a box that is transposed: an instruction repeats 255 times at most, and a copy
// has 4095 blocks.
constexpr int64_t kMaxTransposed = 2048;

// Rows and columns of the largest box of a padded space, and the cores that share the boxes: of the
// boxes that a tile holds those by which the last core is ready first.
struct BoxShape {
    int64_t rows = 1;
    int64_t cols = 1;
    int64_t cores = 1;
    int64_t boxes = 0;
    double elements = 0;  // of a box, a burst counted as one of kLeastRow elements at least

    // tileLength: elements a tile holds; pitchUnit: rows start at multiples of it; cycles: of an
    // element; allCores: as far as there are boxes.
    void Choose(const IterationSpace& space, int64_t tileLength, int64_t pitchUnit,
                const std::vector<Operand>& operands, double cycles, int64_t coresOfChip,
                bool allCores = false) {
        allRows_ = space.dim[kMaxDims - 2];
        allCols_ = space.dim[kMaxDims - 1];
        pitchUnit_ = pitchUnit;
        cycles_ = cycles;
        coresOfChip_ = coresOfChip;
        allCores_ = allCores;
        transposed_ = space.transposed;
        outer_ = 1;
        for (int32_t i = 0; i < kMaxDims - 2; ++i) {
            outer_ *= space.dim[static_cast<size_t>(i)];
        }
        least_ = -1;
        if (space.transposed) {
            TryBlocks(tileLength);
            return;
        }
        columnUnit_ = AlignUp(kUnit, pitchUnit);
        const int64_t pitch = AlignUp(allCols_, pitchUnit);
        if (pitch > tileLength) {
            TryColumns(CeilDiv(allCols_, tileLength / columnUnit_ * columnUnit_));
            return;
        }
        const int64_t room = std::min(tileLength / pitch, kMaxBlockCount);
        TryRows(RowsFit(space, operands) ? CeilDiv(allRows_, std::min(allRows_, room)) : allRows_);
        if (outer_ * allRows_ < coresOfChip) {
            TryColumns(1);
        }
    }

 private:
    // Whole rows, in `parts` boxes or more along the rows.
    void TryRows(int64_t parts) {
        for (int64_t more = 0; more < kMostTiles; ++more) {
            Try(CeilDiv(allRows_, std::min(allRows_, parts + more)), allCols_);
            // as many boxes as give each core that many
            const int64_t wanted = CeilDiv((more + 1) * coresOfChip_, std::max<int64_t>(1, outer_));
            Try(CeilDiv(allRows_, std::min(allRows_, std::max(parts, wanted))), allCols_);
        }
    }
    // Single rows, in `parts` boxes or more along the columns.
    void TryColumns(int64_t parts) {
        const int64_t bands = std::max<int64_t>(1, outer_ * allRows_);
        for (int64_t more = 0; more < kMostTiles; ++more) {
            const int64_t wanted = CeilDiv((more + 1) * coresOfChip_, bands);
            for (const int64_t count : {parts + more, std::max(parts, wanted)}) {
                Try(1, std::min(allCols_, AlignUp(CeilDiv(allCols_, count), columnUnit_)));
            }
        }
    }
    // Boxes of whole blocks of the transposition. Narrow ones have short rows, wide ones short
    // columns: both are bursts.
    void TryBlocks(int64_t tileLength) {
        const int64_t most = std::min(kMaxTransposed, AlignUp(allCols_, pitchUnit_));
        for (int64_t wide = pitchUnit_; wide < 2 * most; wide *= 2) {
            const int64_t boxCols = std::min(wide, most);
            const int64_t room = std::min(kMaxTransposed, tileLength / boxCols);
            for (int64_t parts = 1; parts <= room / kTransposeBlock; parts *= 2) {
                const int64_t boxRows = room / kTransposeBlock / parts * kTransposeBlock;
                Try(std::min(allRows_, boxRows), std::min(allCols_, boxCols));
            }
        }
    }
    void Try(int64_t boxRows, int64_t boxCols) {
        boxRows = std::max<int64_t>(1, boxRows);
        boxCols = std::max<int64_t>(1, boxCols);
        const int64_t all = outer_ * CeilDiv(allRows_, boxRows) * CeilDiv(allCols_, boxCols);
        const int64_t row = std::max(kLeastRow, AlignUp(boxCols, pitchUnit_));
        double each = static_cast<double>(boxRows * row);
        if (transposed_) {
            each = std::max(each, static_cast<double>(boxCols * std::max(kLeastRow, boxRows)));
        }
        SharedTiles shared;
        shared.Choose(all, kTileCycles + each * cycles_, coresOfChip_, allCores_);
        if (least_ < 0 || shared.cycles < least_) {
            least_ = shared.cycles;
            rows = boxRows;
            cols = boxCols;
            cores = shared.cores;
            boxes = all;
            elements = each;
        }
    }
    // Whether several rows can be copied at once.
    static bool RowsFit(const IterationSpace& space, const std::vector<Operand>& operands) {
        for (size_t v = 0; v < space.stride.size(); ++v) {
            if (space.memory[v] && !space.RowsFit(v, kMaxDims - 2, operands[v].bytes)) {
                return false;
            }
        }
        return true;
    }

    bool transposed_ = false;
    int64_t outer_ = 1;
    int64_t allRows_ = 1;
    int64_t allCols_ = 1;
    int64_t pitchUnit_ = 1;
    int64_t columnUnit_ = kUnit;  // a box of single rows has whole ones
    int64_t coresOfChip_ = 1;
    bool allCores_ = false;
    double cycles_ = 0;
    double least_ = -1;
};

}  // namespace opgen

#endif  // OPGEN_HOST_BOX_SHAPE_H
