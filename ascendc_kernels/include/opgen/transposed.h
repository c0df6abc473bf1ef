// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Operands that are contiguous along the rows of a box instead of its columns, as a transposed
// tensor is: read column by column, transposed in UB. Elements of 2 and 4 bytes; the host
// (BoxShape) makes boxes of which whole blocks of the transposition fit in a tile.
#ifndef OPGEN_TRANSPOSED_H
#define OPGEN_TRANSPOSED_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/operand.h"
#include "opgen/tile.h"

namespace opgen {

// Addresses that TransDataTo5HD takes, and so the columns of a block that it transposes.
constexpr uint32_t kTransposeBlock = 16;

// Elements from one column to the next of a box in UB.
template <typename T>
__aicore__ inline uint32_t ColumnPitch(const Tile& box) {
    return AlignElements<T>(box.rows);
}

// Copy an operand's part of a tile to UB; the columns of a transposed operand one after another,
// and zeros up to the pitch of the box.
template <bool kBroadcast, typename T>
__aicore__ inline void LoadTransposable(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                        const Walk& walk, const Tile& part) {
    if constexpr (kBroadcast) {
        if (walk.Transposed()) {
            const uint32_t pitch = ColumnPitch<T>(part);
            const int64_t next = walk.stride[kOuterDims + 1];
            const uint64_t gap = static_cast<uint64_t>(next - part.rows) * sizeof(T);
            const AscendC::DataCopyExtParams columns{static_cast<uint16_t>(part.cols),
                                                     Bytes<T>(part.rows),
                                                     static_cast<uint32_t>(gap), 0, 0};
            const AscendC::DataCopyPadExtParams<T> pad{
                pitch > part.rows, 0, static_cast<uint8_t>(pitch - part.rows), static_cast<T>(0)};
            if (part.pitch > part.cols) {
                ClearForLoad(tile[part.cols * pitch], (part.pitch - part.cols) * pitch);
            }
            AscendC::DataCopyPad(tile, gm[static_cast<uint64_t>(walk.At(part))], columns, pad);
            return;
        }
    }
    Load<kBroadcast>(tile, gm, walk, part);
}

// Transpose the columns that LoadTransposable brought: row r of the box is written at r * pitch.
template <typename T>
__aicore__ inline void TransposeColumns(const LocalTensor<T>& dst, const LocalTensor<T>& columns,
                                        const Tile& box) {
    using Word = typename Choose<sizeof(T) == 2, uint16_t, uint32_t>::Type;
    constexpr uint32_t kRows = kBlockBytes / sizeof(T);   // that a block of 16 columns has
    constexpr uint32_t kParts = kTransposeBlock / kRows;  // 32-byte parts of a row of 16 elements
    const uint32_t next = ColumnPitch<T>(box);
    const uint32_t repeat = box.pitch / kTransposeBlock;
    const AscendC::TransDataTo5HDParams blocks(
        false, false, static_cast<uint8_t>(repeat), static_cast<uint16_t>(repeat > 1 ? kParts : 0),
        static_cast<uint16_t>(repeat > 1 ? kTransposeBlock * next / kRows : 0));
    for (uint32_t row = 0; row < box.rows; row += kRows) {
        uint64_t from[kTransposeBlock];
        uint64_t to[kTransposeBlock];
        for (uint32_t i = 0; i < kTransposeBlock; ++i) {
            const uint32_t at = (row + i / kParts) * box.pitch + i % kParts * kRows;
            from[i] = static_cast<uint64_t>(columns[i * next + row].GetPhyAddr());
            to[i] = static_cast<uint64_t>(dst[at].GetPhyAddr());
        }
        AscendC::TransDataTo5HD<Word>(to, from, blocks);
    }
}

// WidenOperand for operands that may be transposed.
template <bool kBroadcast, typename C, typename T>
__aicore__ inline void WidenTransposable(const LocalTensor<C>& dst, const LocalTensor<T>& tile,
                                         const Walk& walk, const Tile& part,
                                         const LocalTensor<C>& stage = LocalTensor<C>(),
                                         const LocalTensor<half>& bytes = LocalTensor<half>()) {
    if constexpr (kBroadcast && (sizeof(T) == 2 || sizeof(T) == 4)) {
        if (walk.Transposed()) {
            if constexpr (Same<C, T>::value) {
                TransposeColumns(dst, tile, part);
            } else {
                const LocalTensor<T> rows = stage.template ReinterpretCast<T>();
                TransposeColumns(rows, tile, part);
                VectorBarrier();
                Widen(dst, rows, bytes, part.rows * part.pitch);
            }
            VectorBarrier();
            return;
        }
    }
    WidenOperand<kBroadcast>(dst, tile, walk, part, stage, bytes);
}

}  // namespace opgen

#endif  // OPGEN_TRANSPOSED_H
