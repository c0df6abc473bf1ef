// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Prefix sums and the like along the rows or the columns of a box. A vector instruction works on
// whole blocks of a row, so a scan is made of rows: each joins the one before it. Where the scan
// runs along the columns, the tile is transposed first. Every row of it is cut into segments, and
// each segment becomes a column: the rows of the transposed tile are then as long as a tile has
// segments. What the segments before it add to a segment is a scan of their last elements.
#ifndef OPGEN_SCAN_H
#define OPGEN_SCAN_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/tile.h"

namespace opgen {

// Rows that TransDataTo5HD takes at once, and so the segments of a row.
constexpr uint32_t kScanSegments = 16;
// Rows of a box are cut into segments where they are a multiple of this, which leaves 16 elements
// to a segment. Shorter ones are one segment; the host leaves room for whole groups of them.
constexpr uint32_t kSegmentedPitch = kScanSegments * kScanSegments;

// A matrix of 4-byte elements transposed: element (row, col) of src, whose rows are `cols` apart,
// is written at col * pitch + row of dst. cols: a multiple of 8; pitch: one of 16. Behind its rows
// a column of dst repeats the last one.
template <typename C>
__aicore__ inline void TransposeMatrix(const LocalTensor<C>& dst, const LocalTensor<C>& src,
                                       uint32_t rows, uint32_t cols, uint32_t pitch) {
    constexpr uint32_t kGroup = 16;  // rows of an instruction
    constexpr uint32_t kBlock = kBlockBytes / sizeof(C);
    uint32_t groups = 1;  // of an instruction
    for (uint32_t first = 0; first < pitch; first += groups * kGroup) {
        // the last group may lack rows
        groups = rows - first < kGroup ? 1 : (rows - first) / kGroup;
        const bool repeats = groups > 1;
        const AscendC::TransDataTo5HDParams blocks(
            false, false, static_cast<uint8_t>(groups),
            static_cast<uint16_t>(repeats ? kGroup / kBlock : 0),
            static_cast<uint16_t>(repeats ? kGroup / kBlock * cols : 0));
        for (uint32_t col = 0; col < cols; col += kBlock) {
            uint64_t from[kGroup];
            uint64_t to[kGroup];
            for (uint32_t i = 0; i < kGroup; ++i) {
                const uint32_t row = first + i < rows ? first + i : rows - 1;
                const uint32_t at = (col + i / 2) * pitch + first + i % 2 * kBlock;
                from[i] = static_cast<uint64_t>(src[row * cols + col].GetPhyAddr());
                to[i] = static_cast<uint64_t>(dst[at].GetPhyAddr());
            }
            AscendC::TransDataTo5HD<uint32_t>(to, from, blocks);
        }
    }
}

// Fill the elements between the columns of a box and its pitch.
template <typename C>
__aicore__ inline void FillGaps(const LocalTensor<C>& tile, C number, const Tile& box) {
    constexpr uint32_t kLanes = kRepeatBytes / sizeof(C);
    for (uint32_t col = box.cols / kLanes * kLanes; col < box.pitch; col += kLanes) {
        const uint32_t end = box.pitch - col < kLanes ? box.pitch - col : kLanes;
        const uint32_t begin = box.cols > col ? box.cols - col : 0;
        const uint64_t below = begin == 0 ? 0 : ~uint64_t(0) >> (kLanes - begin);
        const uint64_t mask[2] = {(~uint64_t(0) >> (kLanes - end)) & ~below, 0};
        if (mask[0] == 0) {
            continue;
        }
        for (uint32_t row = 0; row < box.rows; ++row) {
            AscendC::Duplicate(tile[row * box.pitch + col], number, mask, 1, 1, 0);
        }
    }
}

// How each element joins what is before it: sums.
struct SumScan {
    static constexpr int32_t kIdentity = 0;

    template <typename C>
    __aicore__ inline static void Join(const LocalTensor<C>& dst, const LocalTensor<C>& before,
                                       const LocalTensor<C>& element, uint32_t count) {
        AscendC::Add(dst, before, element, count);
    }
};

// Products.
struct ProductScan {
    static constexpr int32_t kIdentity = 1;

    template <typename C>
    __aicore__ inline static void Join(const LocalTensor<C>& dst, const LocalTensor<C>& before,
                                       const LocalTensor<C>& element, uint32_t count) {
        AscendC::Mul(dst, before, element, count);
    }
};

// A scan through the boxes of an item, one after another.
// Kind: how an element joins what is before it.
template <typename Kind, typename C>
class Scan {
 public:
    // rowLength: numbers of a row of a box, or rows of it where it is scanned along the columns;
    // blockRows: rows of a box that is scanned along the columns.
    __aicore__ inline void Init(AscendC::TPipe* pipe, uint32_t rowLength, uint32_t blockRows) {
        rowLength_ = rowLength;
        const uint32_t rows = Grouped(blockRows);
        pipe->InitBuffer(carryBuf_, Bytes<C>(rowLength));
        pipe->InitBuffer(stepsBuf_, Bytes<C>((2 * kScanSegments + 1) * rows));
    }
    // Begin with a new item.
    __aicore__ inline void Start() {
        VectorBarrier();
        AscendC::Duplicate(carryBuf_.template Get<C>(), static_cast<C>(Kind::kIdentity),
                           rowLength_);
        VectorBarrier();
    }
    // dst = the scan of src, the next box of the item. columns: scratch of a tile.
    __aicore__ inline void Next(const LocalTensor<C>& dst, const LocalTensor<C>& src,
                                const LocalTensor<C>& columns, const Tile& box) {
        if (box.lanes) {
            AlongColumns(dst, src, columns, box);
        } else {
            AlongRows(dst, src, box.rows, box.pitch);
        }
    }

 private:
    __aicore__ inline static uint32_t Grouped(uint32_t rows) {
        return (rows + kScanSegments - 1) / kScanSegments * kScanSegments;
    }
    // Scan rows of `pitch` elements, beginning with the carry.
    __aicore__ inline void AlongRows(const LocalTensor<C>& dst, const LocalTensor<C>& src,
                                     uint32_t rows, uint32_t pitch) {
        const LocalTensor<C> carry = carryBuf_.template Get<C>();
        Kind::Join(dst, carry, src, pitch);
        VectorBarrier();
        for (uint32_t row = 1; row < rows; ++row) {
            const uint32_t at = row * pitch;
            Kind::Join(dst[at], dst[at - pitch], src[at], pitch);
            VectorBarrier();
        }
        AscendC::DataCopy(carry, dst[(rows - 1) * pitch], pitch);
        VectorBarrier();
    }
    __aicore__ inline void AlongColumns(const LocalTensor<C>& dst, const LocalTensor<C>& src,
                                        const LocalTensor<C>& columns, const Tile& box) {
        const uint32_t segments = box.pitch % kSegmentedPitch == 0 ? kScanSegments : 1;
        const uint32_t steps = box.pitch / segments;
        const uint32_t lanes = Grouped(box.rows * segments);
        FillGaps(src, static_cast<C>(Kind::kIdentity), box);
        VectorBarrier();
        TransposeMatrix(columns, src, box.rows * segments, steps, lanes);
        VectorBarrier();
        for (uint32_t step = 1; step < steps; ++step) {
            const uint32_t at = step * lanes;
            Kind::Join(columns[at], columns[at - lanes], columns[at], lanes);
            VectorBarrier();
        }
        if (segments > 1) {
            const LocalTensor<C> before = BeforeSegments(columns[(steps - 1) * lanes], box.rows);
            for (uint32_t step = 0; step < steps; ++step) {
                const uint32_t at = step * lanes;
                Kind::Join(columns[at], before, columns[at], lanes);
            }
            VectorBarrier();
        }
        TransposeMatrix(dst, columns, steps, lanes, steps);
        VectorBarrier();
    }
    // What the carry and the segments before it join to, for every segment of every row, from the
    // last element of each. The carry goes on.
    __aicore__ inline LocalTensor<C> BeforeSegments(const LocalTensor<C>& last, uint32_t rows) {
        const uint32_t lanes = Grouped(rows);
        const LocalTensor<C> carry = carryBuf_.template Get<C>();
        const LocalTensor<C> steps = stepsBuf_.template Get<C>();
        const LocalTensor<C> before = steps[(kScanSegments + 1) * lanes];
        AscendC::DataCopy(steps, carry, lanes);
        TransposeMatrix(steps[lanes], last, rows, kScanSegments, lanes);
        VectorBarrier();
        for (uint32_t segment = 1; segment <= kScanSegments; ++segment) {
            const uint32_t at = segment * lanes;
            Kind::Join(steps[at], steps[at - lanes], steps[at], lanes);
            VectorBarrier();
        }
        AscendC::DataCopy(carry, steps[kScanSegments * lanes], lanes);
        TransposeMatrix(before, steps, kScanSegments, lanes, kScanSegments);
        VectorBarrier();
        return before;
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> carryBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> stepsBuf_;
    uint32_t rowLength_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_SCAN_H
