// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// BilinearInterpolation: gather 32-byte blocks, weigh them, add the horizontal iterations. On arch
// 2201 it is composed of vector instructions, so masks, checks and timing are those of the parts.
// Source: page BilinearInterpolation(ISASI).
#ifndef ASCENDC_EMU_INTERPOLATION_API_H
#define ASCENDC_EMU_INTERPOLATION_API_H

#include "ascendc_emu/gather_api.h"
#include "ascendc_emu/pipe.h"

namespace AscendC {

namespace interpolation_detail {
// `mask` is an element count or the two words of a bit mask; only the result's lanes follow it.
template <typename T, typename M>
__aicore__ inline void Interpolate(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                   const LocalTensor<uint32_t>& offset,
                                   const LocalTensor<T>& weight, M mask, uint8_t columns,
                                   bool weightPerBlock, uint16_t dstBlkStride, uint16_t rowOffset,
                                   uint8_t rows, const LocalTensor<uint8_t>& tmp, Loc loc) {
    static_assert(std::is_same<PrimT<T>, half>::value, "BilinearInterpolation works on half");
    if (columns == 0 || rows == 0) {
        ascendc_emu::Trap(ascendc_emu::Current(), loc, "BilinearInterpolation",
                          "hRepeat and vRepeat start at 1");
    }
    constexpr uint32_t lanes = 128, blocks = 8;
    const uint32_t repeats = static_cast<uint32_t>(columns) * rows;
    const LocalTensor<T> gathered = tmp.template ReinterpretCast<T>();
    const LocalTensor<T> spread = gathered[repeats * lanes];
    const uint32_t weights = weightPerBlock ? repeats * blocks : repeats;
    for (uint32_t i = 0; i < repeats; ++i) {
        Gatherb(gathered[i * lanes], src, offset[i * blocks], 1, GatherRepeatParams{1, 8}, loc);
    }
    constexpr uint32_t most = 254 * blocks;  // of one Brcb, a multiple of 32 bytes
    for (uint32_t i = 0; i < weights; i += most) {
        const uint32_t left = weights - i < most ? weights - i : most;
        Brcb(spread[i * 16], weight[i], static_cast<uint8_t>((left + blocks - 1) / blocks),
             BrcbRepeatParams{1, 8}, loc);
    }
    PipeBarrier<PIPE_V>(loc);
    const uint8_t each = weightPerBlock ? 1 : 0;
    for (uint32_t i = 0; i < repeats; ++i) {
        Mul(gathered[i * lanes], gathered[i * lanes], spread[i * (weightPerBlock ? lanes : 16)],
            static_cast<uint64_t>(lanes), 1, BinaryRepeatParams{1, 1, each, 8, 8, 8}, loc);
    }
    PipeBarrier<PIPE_V>(loc);
    for (uint32_t row = 0; row < rows; ++row) {
        const LocalTensor<T> sum = gathered[row * columns * lanes];
        for (uint32_t i = 1; i < columns; ++i) {
            Add(sum, sum, sum[i * lanes], mask, 1, BinaryRepeatParams{1, 1, 1, 8, 8, 8}, loc);
            PipeBarrier<PIPE_V>(loc);
        }
        Adds(dst[row * rowOffset], sum, static_cast<T>(0), mask, 1,
             UnaryRepeatParams{dstBlkStride, 1, 8, 8}, loc);
    }
}
}  // namespace interpolation_detail

// dst row v = sum over h of block-gathered src times weights src1; rows are `vROffset` elements
// apart. repeatMode: false takes one weight per iteration, true one per block of an iteration.
template <typename T>
__aicore__ inline void BilinearInterpolation(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src0Offset,
    const LocalTensor<T>& src1, uint64_t mask, uint8_t hRepeat, bool repeatMode,
    uint16_t dstBlkStride, uint16_t vROffset, uint8_t vRepeat,
    const LocalTensor<uint8_t>& sharedTmpBuffer, Loc loc = Loc::Here()) {
    interpolation_detail::Interpolate(dst, src0, src0Offset, src1, mask, hRepeat, repeatMode,
                                      dstBlkStride, vROffset, vRepeat, sharedTmpBuffer, loc);
}
template <typename T>
__aicore__ inline void BilinearInterpolation(
    const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src0Offset,
    const LocalTensor<T>& src1, const uint64_t mask[], uint8_t hRepeat, bool repeatMode,
    uint16_t dstBlkStride, uint16_t vROffset, uint8_t vRepeat,
    const LocalTensor<uint8_t>& sharedTmpBuffer, Loc loc = Loc::Here()) {
    interpolation_detail::Interpolate(dst, src0, src0Offset, src1, mask, hRepeat, repeatMode,
                                      dstBlkStride, vROffset, vRepeat, sharedTmpBuffer, loc);
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_INTERPOLATION_API_H
