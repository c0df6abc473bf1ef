// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Reductions that have no instruction along a row: products, and whatever integers are joined with
// (WholeReduceSum, -Max and -Min take floats). A row is folded to one block; then neighbours are
// joined until one number is left, for all rows at once.
#ifndef OPGEN_ROW_PAIRS_H
#define OPGEN_ROW_PAIRS_H

#include "kernel_operator.h"
#include "opgen/row.h"
#include "opgen/row_join.h"
#include "opgen/tile.h"

namespace opgen {

// dst[r] = the 8 numbers of block r joined, for whole groups of 8 blocks. `tmp` is scratch of as
// many elements.
template <int32_t kKind, typename C>
__aicore__ inline void JoinNeighbours(const LocalTensor<C>& dst, const LocalTensor<C>& blocks,
                                      const LocalTensor<C>& tmp, uint32_t rows) {
    constexpr uint8_t kEven = 1;
    constexpr uint8_t kOdd = 2;
    for (uint32_t half = rows * kFloatBlock / 2; half >= rows; half /= 2) {
        uint64_t taken = 0;
        const AscendC::GatherMaskParams once{1, 1, 0, 0};
        AscendC::GatherMask(tmp, blocks, kEven, true, 2 * half, once, taken);
        AscendC::GatherMask(tmp[half], blocks, kOdd, true, 2 * half, once, taken);
        VectorBarrier();
        Join<kKind>(half == rows ? dst : blocks, tmp, tmp[half], half);
        VectorBarrier();
    }
}

// dst[r] = row r of the box joined, and more numbers up to whole groups of 8. tmp holds a tile, or
// is src. `scratch` has one block per row.
template <int32_t kKind, bool kInPlace, typename C>
__aicore__ inline void ReduceLanesPairwise(const LocalTensor<C>& dst, const LocalTensor<C>& src,
                                           const LocalTensor<C>& tmp, const Tile32& scratch,
                                           const Tile& box) {
    constexpr uint32_t kMaxStride = 255 * kFloatBlock;
    constexpr uint32_t kGroup = 8;
    LocalTensor<C> from = src;
    uint32_t pitch = box.pitch;
    uint32_t cols = box.cols;
    if (cols > kFloatLanes) {
        pitch = FoldLanes<kKind, kInPlace>(tmp, src, box);
        cols = kFloatLanes;
        from = tmp;
    }
    const LocalTensor<C> blocks = scratch.template ReinterpretCast<C>();
    const uint32_t rows = (box.rows + kGroup - 1) / kGroup * kGroup;
    AscendC::Duplicate(blocks, Identity<kKind, C>(), rows * kFloatBlock);
    VectorBarrier();
    const uint32_t most = pitch <= kMaxStride ? 255 : 1;
    const uint8_t step = static_cast<uint8_t>(pitch <= kMaxStride ? pitch / kFloatBlock : 0);
    for (uint32_t col = 0; col < cols; col += kFloatBlock) {
        const uint64_t lanes = cols - col < kFloatBlock ? cols - col : kFloatBlock;
        for (uint32_t row = 0; row < box.rows; row += most) {
            const uint32_t now = box.rows - row < most ? box.rows - row : most;
            const LocalTensor<C> to = blocks[row * kFloatBlock];
            JoinRepeats<kKind>(to, to, from[row * pitch + col], lanes, static_cast<uint8_t>(now),
                               {1, 1, 1, 1, 1, step});
        }
        VectorBarrier();
    }
    JoinNeighbours<kKind>(dst, blocks, tmp, rows);
}

// dst = the rows of the box joined; tmp holds a tile. `scratch` has one block per row.
template <int32_t kKind, typename C>
__aicore__ inline void ReducePairwise(const LocalTensor<C>& dst, const LocalTensor<C>& src,
                                      const LocalTensor<C>& tmp, const Tile32& scratch,
                                      const Tile& box) {
    if (box.joined) {
        const Tile line = LineOf(box);
        if (line.count < box.count) {
            ReduceColumns<kKind>(tmp, src, tmp, box);
            ReduceLanesPairwise<kKind, true>(dst, tmp, tmp, scratch, line);
        } else {
            ReduceLanesPairwise<kKind, false>(dst, src, tmp, scratch, line);
        }
    } else if (box.lanes) {
        ReduceLanesPairwise<kKind, false>(dst, src, tmp, scratch, box);
    } else {
        ReduceColumns<kKind>(dst, src, tmp, box);
    }
}

// ReducePairwise that uses src itself as scratch.
template <int32_t kKind, typename C>
__aicore__ inline void ReducePairwiseInPlace(const LocalTensor<C>& dst, const LocalTensor<C>& src,
                                             const Tile32& scratch, const Tile& box) {
    if (box.joined) {
        const Tile line = LineOf(box);
        if (line.count < box.count) {
            ReduceColumns<kKind>(src, src, src, box);
        }
        ReduceLanesPairwise<kKind, true>(dst, src, src, scratch, line);
    } else if (box.lanes) {
        ReduceLanesPairwise<kKind, true>(dst, src, src, scratch, box);
    } else {
        ReduceColumns<kKind>(dst, src, src, box);
    }
}

// acc = acc op reduce(src), for boxes that stream through.
template <int32_t kKind, typename C>
__aicore__ inline void AccumulatePairwise(const LocalTensor<C>& acc, const Tile32& partial,
                                          const LocalTensor<C>& src, const LocalTensor<C>& tmp,
                                          const Tile32& scratch, const Tile& box) {
    const LocalTensor<C> own = partial.template ReinterpretCast<C>();
    ReducePairwise<kKind>(own, src, tmp, scratch, box);
    Join<kKind>(acc, acc, own, RowCount(box));
    VectorBarrier();
}

// AccumulatePairwise that uses src itself as scratch.
template <int32_t kKind, typename C>
__aicore__ inline void AccumulatePairwiseInPlace(const LocalTensor<C>& acc, const Tile32& partial,
                                                 const LocalTensor<C>& src, const Tile32& scratch,
                                                 const Tile& box) {
    const LocalTensor<C> own = partial.template ReinterpretCast<C>();
    ReducePairwiseInPlace<kKind>(own, src, scratch, box);
    Join<kKind>(acc, acc, own, RowCount(box));
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_ROW_PAIRS_H
