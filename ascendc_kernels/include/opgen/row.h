// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Reductions over boxes. box.lanes: a box has one row per kept element and is reduced along its
// columns; otherwise one row per reduced element and is reduced along its rows. The result is a row
// tile: `rows` numbers (lanes) or `pitch` numbers.
#ifndef OPGEN_ROW_H
#define OPGEN_ROW_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/row_blocks.h"
#include "opgen/row_join.h"
#include "opgen/tile.h"

namespace opgen {

// dst = 1 / sqrt(x), which the instruction Rsqrt only approximates. dst may be x.
__aicore__ inline void InverseSqrt(const Tile32& dst, const Tile32& x, const Tile32& ones,
                                   uint32_t count) {
    AscendC::Sqrt(dst, x, count);
    AscendC::Duplicate(ones, 1.0f, count);
    VectorBarrier();
    AscendC::Div(dst, ones, dst, count);
    VectorBarrier();
}

// One number per repeat: `lanes` (up to 64) lanes of repeats `blocks` blocks apart.
template <int32_t kKind>
__aicore__ inline void ReduceRepeats(const Tile32& dst, const Tile32& src, uint32_t lanes,
                                     uint32_t repeats, uint32_t blocks) {
    constexpr uint32_t kMaxRepeat = 248;  // a multiple of 8, so that results start aligned
    for (uint32_t done = 0; done < repeats; done += kMaxRepeat) {
        const int32_t now =
            static_cast<int32_t>(repeats - done < kMaxRepeat ? repeats - done : kMaxRepeat);
        const Tile32 from = src[done * blocks * kFloatBlock];
        const Tile32 to = dst[done];
        const int32_t mask = static_cast<int32_t>(lanes);
        const int32_t stride = static_cast<int32_t>(blocks);
        if constexpr (kKind == kSum) {
            AscendC::WholeReduceSum(to, from, mask, now, 1, 1, stride);
        } else if constexpr (kKind == kMax) {
            AscendC::WholeReduceMax(to, from, mask, now, 1, 1, stride,
                                    AscendC::ReduceOrder::ORDER_ONLY_VALUE);
        } else {
            AscendC::WholeReduceMin(to, from, mask, now, 1, 1, stride,
                                    AscendC::ReduceOrder::ORDER_ONLY_VALUE);
        }
    }
    VectorBarrier();
}

// The first 64 lanes of each row of tmp = all 64-lane chunks of the row joined; rows of more than
// one repeat, `tmpPitch` elements apart in tmp. tmp may be src, with the pitch of the box.
template <int32_t kKind, bool kInPlace, typename C>
__aicore__ inline void FoldRows(const LocalTensor<C>& tmp, uint32_t tmpPitch,
                                const LocalTensor<C>& src, const Tile& box) {
    constexpr uint32_t kMaxRepeat = 255;
    const uint32_t rowBlocks = box.pitch / kFloatBlock;
    const uint32_t whole = box.cols / kFloatLanes;
    const uint32_t tail = box.cols % kFloatLanes;
    for (uint32_t row = 0; row < box.rows; row += kMaxRepeat) {
        const uint8_t repeat =
            static_cast<uint8_t>(box.rows - row < kMaxRepeat ? box.rows - row : kMaxRepeat);
        const LocalTensor<C> to = tmp[row * tmpPitch];
        const uint32_t from = row * box.pitch;
        const uint8_t step = static_cast<uint8_t>(rowBlocks);
        const uint8_t toStep = static_cast<uint8_t>(tmpPitch / kFloatBlock);
        if constexpr (!kInPlace) {
            AscendC::Copy(to, src[from], kFloatLanes, repeat,
                          {1, 1, toStep, static_cast<uint16_t>(rowBlocks)});
            VectorBarrier();
        }
        for (uint32_t chunk = 1; chunk < whole; ++chunk) {
            JoinRepeats<kKind>(to, to, src[from + chunk * kFloatLanes], kFloatLanes, repeat,
                               {1, 1, 1, toStep, toStep, step});
            VectorBarrier();
        }
        if (tail > 0) {
            JoinRepeats<kKind>(to, to, src[from + whole * kFloatLanes], tail, repeat,
                               {1, 1, 1, toStep, toStep, step});
            VectorBarrier();
        }
    }
}

// One long row: fold in halves until one repeat is left; a tree, so rounding errors grow with the
// logarithm of the length. tmp may be src.
template <int32_t kKind, bool kInPlace, typename C>
__aicore__ inline void FoldLongRow(const LocalTensor<C>& tmp, const LocalTensor<C>& src,
                                   uint32_t cols) {
    const uint32_t whole = cols / kFloatLanes * kFloatLanes;
    uint32_t length = AlignBlock(whole / 2 * sizeof(float)) / sizeof(float);
    length = (length + kFloatLanes - 1) / kFloatLanes * kFloatLanes;
    // [0, length) joined with [length, whole)
    Join<kKind>(tmp, src, src[length], whole - length);
    if constexpr (!kInPlace) {
        const uint32_t lone = whole - length;
        if (lone < length) {
            AscendC::Muls(tmp[lone], src[lone], static_cast<C>(1), length - lone);
        }
    }
    VectorBarrier();
    if (cols > whole) {
        Join<kKind>(tmp, tmp, src[whole], cols - whole);
        VectorBarrier();
    }
    while (length > kFloatLanes) {
        const uint32_t half = (length / 2 + kFloatLanes - 1) / kFloatLanes * kFloatLanes;
        Join<kKind>(tmp, tmp, tmp[half], length - half);
        VectorBarrier();
        length = half;
    }
}

// The first 64 lanes of each row of tmp = the row of the box joined, for rows of more than one
// repeat. tmp holds a tile, or is src. Returns how far apart the rows of tmp are.
template <int32_t kKind, bool kInPlace, typename C>
__aicore__ inline uint32_t FoldLanes(const LocalTensor<C>& tmp, const LocalTensor<C>& src,
                                     const Tile& box) {
    constexpr uint32_t kMaxStride = 255 * kFloatBlock;
    // Few long rows: a tree along each row is fewer and longer instructions than one chunk of all
    // rows at a time.
    constexpr uint32_t kChunksPerRow = 8;
    if (box.pitch <= kMaxStride && box.cols / kFloatLanes < kChunksPerRow * box.rows) {
        const uint32_t pitch = kInPlace ? box.pitch : kFloatLanes;
        FoldRows<kKind, kInPlace>(tmp, pitch, src, box);
        return pitch;
    }
    for (uint32_t row = 0; row < box.rows; ++row) {
        FoldLongRow<kKind, kInPlace>(tmp[row * box.pitch], src[row * box.pitch], box.cols);
    }
    return box.pitch;
}

// Rows of more than this join blocks in place; folding fewer chunks takes as long.
constexpr uint32_t kBlocksInPlace = 4 * kFloatLanes;
// From so many rows on two steps of blocks take less than one repeat per row that ends in a number.
constexpr uint32_t kManyRows = 12;

// dst[r] = row r of the box joined. tmp holds a tile.
template <int32_t kKind>
__aicore__ inline void ReduceLanes(const Tile32& dst, const Tile32& src, const Tile32& tmp,
                                   const Tile& box) {
    uint32_t cols = box.cols;
    uint32_t pitch = box.pitch;
    Tile32 from = src;
    Tile32 to = tmp;
    while (cols > kFloatLanes) {
        const uint32_t count = BlockCount(cols);
        const uint32_t toPitch = BlockPitch(count);
        ReduceToBlocks<kKind>(to, toPitch, from, pitch, box.rows, cols);
        from = to;
        to = to[box.rows * toPitch];
        cols = count;
        pitch = toPitch;
    }
    if (box.rows >= kManyRows) {
        ReduceManyShortRows<kKind>(dst, from, pitch, to, box.rows, cols);
    } else {
        ReduceRepeats<kKind>(dst, from, cols, box.rows, pitch / kFloatBlock);
    }
}

// ReduceLanes that uses src itself as scratch.
template <int32_t kKind>
__aicore__ inline void ReduceLanesInPlace(const Tile32& dst, const Tile32& src, const Tile& box) {
    uint32_t cols = box.cols;
    Tile32 from = src;
    if (cols > kBlocksInPlace) {
        // The second half of each row is scratch once it is joined with the first one.
        uint32_t start = ((cols + 1) / 2 + kFloatLanes - 1) / kFloatLanes * kFloatLanes;
        FoldHalves<kKind>(src, box.pitch, box.rows, start, cols);
        cols = start;
        while (cols > kFloatLanes) {
            const Tile32 to = src[start];
            ReduceToBlocks<kKind>(to, box.pitch, from, box.pitch, box.rows, cols);
            from = to;
            cols = BlockCount(cols);
            start += BlockPitch(cols);
        }
    } else if (cols > kFloatLanes) {
        FoldLanes<kKind, true>(src, src, box);
        cols = kFloatLanes;
    }
    ReduceRepeats<kKind>(dst, from, cols, box.rows, box.pitch / kFloatBlock);
}

// dst[c] = column c of the box joined, as a tree over the rows. tmp holds a tile, or is src.
template <int32_t kKind, typename C>
__aicore__ inline void ReduceColumns(const LocalTensor<C>& dst, const LocalTensor<C>& src,
                                     const LocalTensor<C>& tmp, const Tile& box) {
    uint32_t rows = box.rows;
    if (rows == 1) {
        AscendC::Muls(dst, src, static_cast<C>(1), box.pitch);
        VectorBarrier();
        return;
    }
    uint32_t half = rows / 2;
    const LocalTensor<C>& first = half == 1 ? dst : tmp;
    Join<kKind>(first, src, src[half * box.pitch], half * box.pitch);
    VectorBarrier();
    if (rows % 2 == 1) {
        Join<kKind>(first, first, src[(rows - 1) * box.pitch], box.pitch);
        VectorBarrier();
    }
    rows = half;
    while (rows > 1) {
        half = rows / 2;
        if (rows % 2 == 1) {
            Join<kKind>(tmp, tmp, tmp[(rows - 1) * box.pitch], box.pitch);
            VectorBarrier();
        }
        const LocalTensor<C>& to = half == 1 ? dst : tmp;
        Join<kKind>(to, tmp, tmp[half * box.pitch], half * box.pitch);
        VectorBarrier();
        rows = half;
    }
}

// A joined box as one row: the whole of it where its rows have no gaps between them, else its first
// row, which all others are to be joined with before.
__aicore__ inline Tile LineOf(const Tile& box) {
    Tile line = box;
    line.joined = false;
    line.rows = 1;
    if (box.pitch == box.cols) {
        line.cols = box.count;
        line.pitch = box.count;
    }
    line.count = line.pitch;
    return line;
}

// dst = the rows of the box joined; tmp holds a tile.
template <int32_t kKind>
__aicore__ inline void Reduce(const Tile32& dst, const Tile32& src, const Tile32& tmp,
                              const Tile& box) {
    if (box.joined) {
        const Tile line = LineOf(box);
        if (line.count < box.count) {
            ReduceColumns<kKind>(tmp, src, tmp, box);
            ReduceLanes<kKind>(dst, tmp, tmp[line.pitch], line);
        } else {
            ReduceLanes<kKind>(dst, src, tmp, line);
        }
    } else if (box.lanes) {
        ReduceLanes<kKind>(dst, src, tmp, box);
    } else {
        ReduceColumns<kKind>(dst, src, tmp, box);
    }
}

// Reduce that uses src itself as scratch.
template <int32_t kKind>
__aicore__ inline void ReduceInPlace(const Tile32& dst, const Tile32& src, const Tile& box) {
    if (box.joined) {
        const Tile line = LineOf(box);
        if (line.count < box.count) {
            ReduceColumns<kKind>(src, src, src, box);
        }
        ReduceLanesInPlace<kKind>(dst, src, line);
    } else if (box.lanes) {
        ReduceLanesInPlace<kKind>(dst, src, box);
    } else {
        ReduceColumns<kKind>(dst, src, src, box);
    }
}

// How many numbers a row tile of this box has.
__aicore__ inline uint32_t RowCount(const Tile& box) {
    return box.joined ? 1 : (box.lanes ? box.rows : box.pitch);
}

// The same in whole blocks of floats.
__aicore__ inline uint32_t RowBlocks(const Tile& box) {
    return AlignBlock(RowCount(box) * sizeof(float)) / sizeof(float);
}

// acc = acc op reduce(src), for boxes that stream through.
template <int32_t kKind>
__aicore__ inline void Accumulate(const Tile32& acc, const Tile32& partial, const Tile32& src,
                                  const Tile32& tmp, const Tile& box) {
    Reduce<kKind>(partial, src, tmp, box);
    Join<kKind>(acc, acc, partial, RowCount(box));
    VectorBarrier();
}

// Accumulate that uses src itself as scratch.
template <int32_t kKind>
__aicore__ inline void AccumulateInPlace(const Tile32& acc, const Tile32& partial,
                                         const Tile32& src, const Tile& box) {
    ReduceInPlace<kKind>(partial, src, box);
    Join<kKind>(acc, acc, partial, RowCount(box));
    VectorBarrier();
}

// Position of every element along the reduced axes, as a float (box.offset is that of the first).
__aicore__ inline void Position(const Tile32& dst, const Tile& box) {
    const float first = static_cast<float>(static_cast<int64_t>(box.offset));
    if (box.lanes) {
        AscendC::CreateVecIndex(dst, first, box.pitch);
        VectorBarrier();
        for (uint32_t row = 1; row < box.rows; ++row) {
            if (box.joined) {
                AscendC::CreateVecIndex(dst[row * box.pitch],
                                        first + static_cast<float>(row * box.cols), box.pitch);
            } else {
                AscendC::Muls(dst[row * box.pitch], dst, 1.0f, box.pitch);
            }
        }
    } else {
        for (uint32_t row = 0; row < box.rows; ++row) {
            AscendC::Duplicate(dst[row * box.pitch], first + static_cast<float>(row), box.pitch);
        }
    }
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_ROW_H
