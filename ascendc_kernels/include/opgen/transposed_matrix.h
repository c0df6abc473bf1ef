// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Matrices of 4-byte elements in UB, transposed: columns become rows, which vector instructions
// work on.
#ifndef OPGEN_TRANSPOSED_MATRIX_H
#define OPGEN_TRANSPOSED_MATRIX_H

#include "kernel_operator.h"
#include "opgen/convert.h"

namespace opgen {

// A matrix of 4-byte elements transposed: element (row, col) of src, whose rows are `cols` apart,
// is written at col * pitch + row of dst. cols: a multiple of 8; pitch: one of 16. Behind its rows
// a column of dst repeats the last one.
template <typename C>
__aicore__ inline void TransposeMatrix(const LocalTensor<C>& dst, const LocalTensor<C>& src,
                                       uint32_t rows, uint32_t cols, uint32_t pitch) {
    constexpr uint32_t kGroup = 16;  // rows of an instruction
    constexpr uint32_t kBlock = kBlockBytes / sizeof(C);
    constexpr uint32_t kMaxRepeat = 255;
    // The repeats of an instruction go where there are more of them.
    const bool alongRows = cols / kBlock <= rows / kGroup;
    uint32_t groups = 1;  // of an instruction
    for (uint32_t first = 0; first < pitch; first += groups * kGroup) {
        // the last groups may lack rows
        groups = alongRows && first + kGroup <= rows ? (rows - first) / kGroup : 1;
        groups = groups < kMaxRepeat ? groups : kMaxRepeat;
        uint32_t blocks = 1;
        for (uint32_t col = 0; col < cols; col += blocks * kBlock) {
            const uint32_t left = (cols - col) / kBlock;
            blocks = alongRows ? 1 : (left < kMaxRepeat ? left : kMaxRepeat);
            const uint32_t repeat = alongRows ? groups : blocks;
            const uint32_t toNext = alongRows ? kGroup / kBlock : pitch;
            const uint32_t fromNext = alongRows ? kGroup / kBlock * cols : 1;
            const AscendC::TransDataTo5HDParams repeats(
                false, false, static_cast<uint8_t>(repeat),
                static_cast<uint16_t>(repeat > 1 ? toNext : 0),
                static_cast<uint16_t>(repeat > 1 ? fromNext : 0));
            uint64_t from[kGroup];
            uint64_t to[kGroup];
            for (uint32_t i = 0; i < kGroup; ++i) {
                const uint32_t row = first + i < rows ? first + i : rows - 1;
                const uint32_t at = (col + i / 2) * pitch + first + i % 2 * kBlock;
                from[i] = reinterpret_cast<uint64_t>(src[row * cols + col].GetPhyAddr());
                to[i] = reinterpret_cast<uint64_t>(dst[at].GetPhyAddr());
            }
            AscendC::TransDataTo5HD<uint32_t>(to, from, repeats);
        }
    }
}

}  // namespace opgen

#endif  // OPGEN_TRANSPOSED_MATRIX_H
