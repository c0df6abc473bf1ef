// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Reductions along rows by blocks: BlockReduceSum, -Max and -Min give one number per block of 32
// bytes at the full rate of the vector unit, where WholeReduceSum and its like take several cycles
// per repeat. Each step leaves an eighth of the numbers. The instructions of a step do not depend
// on one another, so that one barrier behind them is enough.
#ifndef OPGEN_ROW_BLOCKS_H
#define OPGEN_ROW_BLOCKS_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/row_join.h"
#include "opgen/tile.h"

namespace opgen {

constexpr uint32_t kBlocksOfRepeat = kRepeatBytes / kBlockBytes;

// One number per block of `repeats` repeats. mask: how many lanes count, or their bits.
// dstStep: results from repeat to repeat, in eights; srcStep: blocks from repeat to repeat.
template <int32_t kKind, typename Mask>
__aicore__ inline void JoinBlocks(const Tile32& dst, const Tile32& src, uint32_t repeats, Mask mask,
                                  uint32_t dstStep, uint32_t srcStep) {
    const int32_t times = static_cast<int32_t>(repeats);
    const int32_t next = static_cast<int32_t>(dstStep);
    const int32_t from = static_cast<int32_t>(srcStep);
    if constexpr (kKind == kSum) {
        AscendC::BlockReduceSum(dst, src, times, mask, next, 1, from);
    } else if constexpr (kKind == kMax) {
        AscendC::BlockReduceMax(dst, src, times, mask, next, 1, from);
    } else {
        AscendC::BlockReduceMin(dst, src, times, mask, next, 1, from);
    }
}

// The same for any number of repeats.
template <int32_t kKind, typename Mask>
__aicore__ inline void JoinManyBlocks(const Tile32& dst, const Tile32& src, uint32_t repeats,
                                      Mask mask, uint32_t dstStep, uint32_t srcStep) {
    constexpr uint32_t kMaxRepeat = 255;
    for (uint32_t done = 0; done < repeats; done += kMaxRepeat) {
        const uint32_t now = repeats - done < kMaxRepeat ? repeats - done : kMaxRepeat;
        JoinBlocks<kKind>(dst[done * dstStep * kFloatBlock], src[done * srcStep * kFloatBlock], now,
                          mask, dstStep, srcStep);
    }
}

// Numbers from row to row where a row has `count` of them: each row starts aligned.
__aicore__ inline uint32_t BlockPitch(uint32_t count) {
    return (count + kFloatBlock - 1) / kFloatBlock * kFloatBlock;
}

// Blocks of `cols` elements.
__aicore__ inline uint32_t BlockCount(uint32_t cols) { return BlockPitch(cols) / kFloatBlock; }

// dst[r * dstPitch + b] = block b of row r joined. Pitches are multiples of 8; dst and src do not
// overlap.
template <int32_t kKind>
__aicore__ inline void ReduceToBlocks(const Tile32& dst, uint32_t dstPitch, const Tile32& src,
                                      uint32_t srcPitch, uint32_t rows, uint32_t cols) {
    const int32_t lanes = static_cast<int32_t>(kFloatLanes);
    const uint32_t whole = cols / kFloatLanes;
    const uint32_t tail = cols % kFloatLanes;
    const uint32_t dstStep = dstPitch / kFloatBlock;
    const uint32_t srcStep = srcPitch / kFloatBlock;
    if (srcStep == whole * kBlocksOfRepeat && dstStep == whole) {
        // rows without gaps: one after the other
        JoinManyBlocks<kKind>(dst, src, rows * whole, lanes, 1, kBlocksOfRepeat);
    } else if (rows < whole) {
        for (uint32_t row = 0; row < rows; ++row) {
            JoinManyBlocks<kKind>(dst[row * dstPitch], src[row * srcPitch], whole, lanes, 1,
                                  kBlocksOfRepeat);
        }
    } else {
        for (uint32_t chunk = 0; chunk < whole; ++chunk) {
            JoinManyBlocks<kKind>(dst[chunk * kBlocksOfRepeat], src[chunk * kFloatLanes], rows,
                                  lanes, dstStep, srcStep);
        }
    }
    if (tail > 0) {
        JoinManyBlocks<kKind>(dst[whole * kBlocksOfRepeat], src[whole * kFloatLanes], rows,
                              static_cast<int32_t>(tail), dstStep, srcStep);
    }
    VectorBarrier();
}

// dst[r] = the first `lanes` numbers of block r joined, for `rows` blocks. dst gets numbers up to
// whole groups of 8.
template <int32_t kKind>
__aicore__ inline void ReduceEachBlock(const Tile32& dst, const Tile32& blocks, uint32_t lanes,
                                       uint32_t rows) {
    // the same lanes of all 8 blocks of a repeat
    constexpr uint64_t kEachBlock = 0x0101010101010101;
    const uint64_t taken = ((static_cast<uint64_t>(1) << lanes) - 1) * kEachBlock;
    const uint32_t whole = rows / kBlocksOfRepeat;
    const uint32_t rest = rows % kBlocksOfRepeat;
    uint64_t mask[2] = {taken, 0};
    const uint64_t* bits = mask;
    JoinManyBlocks<kKind>(dst, blocks, whole, bits, 1, kBlocksOfRepeat);
    if (rest > 0) {
        mask[0] = taken & ((static_cast<uint64_t>(1) << rest * kFloatBlock) - 1);
        JoinBlocks<kKind>(dst[whole * kBlocksOfRepeat], blocks[whole * kFloatLanes], 1, bits, 1,
                          kBlocksOfRepeat);
    }
    VectorBarrier();
}

// dst[r] = row r joined, for rows of up to 64 elements. `blocks` is scratch of one block per row
// and does not overlap src. For many rows only: each of the two steps has a start-up.
template <int32_t kKind>
__aicore__ inline void ReduceManyShortRows(const Tile32& dst, const Tile32& src, uint32_t pitch,
                                           const Tile32& blocks, uint32_t rows, uint32_t cols) {
    if (pitch == kFloatBlock) {
        ReduceEachBlock<kKind>(dst, src, cols, rows);
        return;
    }
    JoinManyBlocks<kKind>(blocks, src, rows, static_cast<int32_t>(cols), 1, pitch / kFloatBlock);
    VectorBarrier();
    ReduceEachBlock<kKind>(dst, blocks, BlockCount(cols), rows);
}

// src[r * pitch + c] for c < half = what lies there and `half` further on, joined, for the
// columns [half, cols).
template <int32_t kKind>
__aicore__ inline void FoldHalves(const Tile32& src, uint32_t pitch, uint32_t rows, uint32_t half,
                                  uint32_t cols) {
    for (uint32_t row = 0; row < rows; ++row) {
        const Tile32 line = src[row * pitch];
        Join<kKind>(line, line, line[half], cols - half);
    }
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_ROW_BLOCKS_H
