// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiles that operands and outputs are computed in, and how operands get there: widened from
// their storage type and, in a box, broadcast to every element.
#ifndef OPGEN_OPERAND_H
#define OPGEN_OPERAND_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/tile.h"

namespace opgen {

// Broadcast source rows over a box: source row r starts `rowBlocks` blocks after row r - 1 (0: one
// row for all) and its blocks are read `blockStride` blocks apart (0: the first block for all
// columns).
template <typename T>
__aicore__ inline void BroadcastRows(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                     const Tile& box, uint32_t rowBlocks, uint32_t blockStride) {
    constexpr uint32_t kLanes = kRepeatBytes / sizeof(T);
    constexpr uint32_t kBlock = kBlockBytes / sizeof(T);
    constexpr uint32_t kMaxRepeat = 255;
    const uint32_t whole = box.pitch / kLanes;
    if (box.rows < whole) {
        // Few long rows: the repeats of an instruction go along the row.
        const uint16_t next = static_cast<uint16_t>(blockStride * kRepeatBytes / kBlockBytes);
        for (uint32_t row = 0; row < box.rows; ++row) {
            const LocalTensor<T> to = dst[row * box.pitch];
            const LocalTensor<T> from = src[row * rowBlocks * kBlock];
            for (uint32_t done = 0; done < whole; done += kMaxRepeat) {
                const uint32_t repeat = whole - done < kMaxRepeat ? whole - done : kMaxRepeat;
                AscendC::Copy(
                    to[done * kLanes], from[blockStride * done * kLanes],
                    static_cast<uint64_t>(kLanes), static_cast<uint8_t>(repeat),
                    {1, static_cast<uint16_t>(blockStride), kRepeatBytes / kBlockBytes, next});
            }
            if (whole * kLanes < box.pitch) {
                AscendC::Copy(to[whole * kLanes], from[blockStride * whole * kLanes],
                              static_cast<uint64_t>(box.pitch - whole * kLanes), 1,
                              {1, static_cast<uint16_t>(blockStride), 0, 0});
            }
        }
        return;
    }
    for (uint32_t col = 0; col < box.pitch; col += kLanes) {
        const uint64_t mask = box.pitch - col < kLanes ? box.pitch - col : kLanes;
        for (uint32_t row = 0; row < box.rows; row += kMaxRepeat) {
            const uint32_t repeat = box.rows - row < kMaxRepeat ? box.rows - row : kMaxRepeat;
            AscendC::Copy(
                dst[row * box.pitch + col], src[row * rowBlocks * kBlock + (blockStride ? col : 0)],
                mask, static_cast<uint8_t>(repeat),
                {1, static_cast<uint16_t>(blockStride), static_cast<uint16_t>(box.pitch / kBlock),
                 static_cast<uint16_t>(rowBlocks)});
        }
    }
}

// Widen what LoadBox brought and expand it to every element of the box. `stage` is scratch of a
// whole tile; `bytes` as in Widen. T and C may be equal.
template <typename C, typename T>
__aicore__ inline void ExpandBox(const LocalTensor<C>& dst, const LocalTensor<T>& tile,
                                 const LocalTensor<C>& stage, const LocalTensor<half>& bytes,
                                 const Walk& walk, const Tile& box) {
    constexpr uint32_t kPerBlock = kSpreadLanes<T>;
    if (walk.ByRow() && walk.ByCol()) {
        Widen(dst, tile, bytes, box.rows * box.pitch);
        return;
    }
    const uint32_t rows = walk.ByRow() ? box.rows : 1;
    const uint32_t count = walk.ByCol() ? box.pitch : rows * kPerBlock;
    const uint32_t rowBlocks = walk.ByRow() ? kPerBlock * sizeof(C) / kBlockBytes : 0;
    const uint32_t blockStride = walk.ByCol() ? 1 : 0;
    if constexpr (Same<C, T>::value) {
        BroadcastRows(dst, tile, box, rowBlocks, blockStride);
    } else if constexpr (Same<C, half>::value) {
        AscendC::Cast(stage, tile, RoundMode::CAST_NONE, count);
        VectorBarrier();
        BroadcastRows(dst, stage, box, rowBlocks, blockStride);
    } else {
        Widen(stage, tile, bytes, count);
        VectorBarrier();
        BroadcastRows(dst, stage, box, rowBlocks, blockStride);
    }
}

// ExpandBox for bool tensors: the result is a bit mask.
__aicore__ inline void ExpandMaskBox(const LocalTensor<uint8_t>& mask,
                                     const LocalTensor<uint8_t>& tile,
                                     const LocalTensor<half>& stage, const LocalTensor<half>& bytes,
                                     const Walk& walk, const Tile& box) {
    ExpandBox(bytes, tile, stage, bytes, walk, box);
    VectorBarrier();
    MaskFromHalf(mask, bytes, box.rows * box.pitch);
}

// Scratch slot `index` of a buffer of slots of `tileLength` 4-byte elements.
template <typename C>
__aicore__ inline LocalTensor<C> Slot(AscendC::TBuf<AscendC::TPosition::VECCALC>& scratch,
                                      uint32_t index, uint32_t tileLength) {
    return scratch.template GetWithOffset<C>(tileLength,
                                             index * tileLength * static_cast<uint32_t>(sizeof(C)));
}

// Elements from one scratch tile to the next: an odd number of 256-byte steps, so that an
// instruction reads two neighbours from different halves of UB's 16 bank groups, which do not take
// turns.
__aicore__ inline constexpr uint32_t ScratchStep(uint32_t tileLength) { return tileLength | 64; }

// Bytes of a buffer of scratch tiles. A step before the first one keeps it apart from tiles of
// queues, which start in the first half.
__aicore__ inline constexpr uint32_t ScratchBytes(uint32_t slots, uint32_t tileLength) {
    return (64 + slots * ScratchStep(tileLength)) * static_cast<uint32_t>(sizeof(float));
}

// Scratch tile `index` of such a buffer, of `tileLength` 4-byte elements (a multiple of 64).
template <typename C>
__aicore__ inline LocalTensor<C> ScratchTile(AscendC::TBuf<AscendC::TPosition::VECCALC>& scratch,
                                             uint32_t index, uint32_t tileLength) {
    return scratch.template GetWithOffset<C>(
        tileLength, (64 + index * ScratchStep(tileLength)) * static_cast<uint32_t>(sizeof(C)));
}

// The tile of one tensor in a buffer that holds a tile of several; `at` is where it starts, in
// bytes.
template <typename T>
__aicore__ inline LocalTensor<T> TileIn(const LocalTensor<uint8_t>& buffer, uint32_t at) {
    return buffer[at].template ReinterpretCast<T>();
}

// Scratch slots of values of type C that come from or go to a tile of type T.
template <typename C, typename T>
constexpr uint32_t kOwnSlots = Same<C, T>::value ? 0 : 1;

// The same for operands: those of a box are expanded to a slot of their own.
template <bool kBroadcast, typename C, typename T>
constexpr uint32_t kOperandSlots = kBroadcast ? 1 : kOwnSlots<C, T>;

// The tile that an operand with every element of the tile, or an output, is computed in: the
// queue's own where it holds the type already, else a scratch slot.
template <typename C, typename T>
__aicore__ inline LocalTensor<C> ComputeTile(const LocalTensor<T>& tile,
                                             AscendC::TBuf<AscendC::TPosition::VECCALC>& scratch,
                                             uint32_t slot, uint32_t tileLength) {
    if constexpr (Same<C, T>::value) {
        return tile;
    } else {
        return ScratchTile<C>(scratch, slot, tileLength);
    }
}

// The tile that any operand is computed in: the queue's own where it holds the type and, in a box,
// every element already, else a scratch slot.
template <bool kBroadcast, typename C, typename T>
__aicore__ inline LocalTensor<C> OperandTile(const LocalTensor<T>& tile,
                                             AscendC::TBuf<AscendC::TPosition::VECCALC>& scratch,
                                             uint32_t slot, uint32_t tileLength, const Walk& walk) {
    if constexpr (kBroadcast) {
        if (!walk.ByRow() || !walk.ByCol() || walk.Apart()) {
            return ScratchTile<C>(scratch, slot, tileLength);
        }
    }
    return ComputeTile<C>(tile, scratch, slot, tileLength);
}

// Widen an operand to its tile or, in a box, expand it there. `stage` is scratch of a whole tile
// where T is not C, `bytes` as in Widen.
template <bool kBroadcast, typename C, typename T>
__aicore__ inline void WidenOperand(const LocalTensor<C>& dst, const LocalTensor<T>& tile,
                                    const Walk& walk, const Tile& part,
                                    const LocalTensor<C>& stage = LocalTensor<C>(),
                                    const LocalTensor<half>& bytes = LocalTensor<half>()) {
    if constexpr (kBroadcast) {
        ExpandBox(dst, tile, stage, bytes, walk, part);
    } else if constexpr (!Same<C, T>::value) {
        Widen(dst, tile, bytes, part.count);
    }
    // Also where nothing is to be done: what follows counts on it for what came before.
    VectorBarrier();
}

// WidenOperand for bool tensors: the result is a bit mask.
template <bool kBroadcast>
__aicore__ inline void WidenOperandMask(const LocalTensor<uint8_t>& mask,
                                        const LocalTensor<uint8_t>& tile, const Walk& walk,
                                        const Tile& part, const LocalTensor<half>& stage,
                                        const LocalTensor<half>& bytes) {
    if constexpr (kBroadcast) {
        ExpandMaskBox(mask, tile, stage, bytes, walk, part);
    } else {
        WidenMask(mask, tile, bytes, part.count);
    }
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_OPERAND_H
