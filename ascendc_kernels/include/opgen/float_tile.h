// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiles of floats and bit masks, and what the elementary functions share. Conventions of all of
// them: dst and the scratch tiles t0, t1, ... are distinct from each other and from the sources;
// masks are bit masks of uint8_t; `count` is a multiple of 64 wherever a mask is used (see
// AlignLanes). NaN gives NaN and infinities give the limits. Coefficients are least-squares minimax
// fits; the bounds in comments are relative errors of the formula, before the rounding of the
// instructions themselves.
#ifndef OPGEN_FLOAT_TILE_H
#define OPGEN_FLOAT_TILE_H

#include "kernel_operator.h"
#include "opgen/convert.h"

namespace opgen {

using AscendC::CMPMODE;
using AscendC::SELMODE;
using Tile32 = LocalTensor<float>;
using MaskTile = LocalTensor<uint8_t>;

constexpr uint32_t kBlockFloats = 8;  // floats in a block of 32 bytes

// Written as bit patterns' builtins because <cmath> is a host header.
constexpr float kInf = __builtin_huge_valf();
constexpr float kNan = __builtin_nanf("");
constexpr float kLargest = 0x1.fffffep127f;
constexpr float kHalfPi = 1.57079632679489662f;
constexpr float kPi = 3.14159265358979324f;
constexpr float kLn2 = 0.693147180559945309f;

// dst = c[0] + c[1] s + ... + c[N-1] s^(N-1).
template <int32_t N>
__aicore__ inline void Polynomial(const Tile32& dst, const Tile32& s, const float (&c)[N],
                                  uint32_t count) {
    AscendC::Muls(dst, s, c[N - 1], count);
    VectorBarrier();
    for (int32_t i = N - 2; i > 0; --i) {
        AscendC::Adds(dst, dst, c[i], count);
        VectorBarrier();
        AscendC::Mul(dst, dst, s, count);
        VectorBarrier();
    }
    AscendC::Adds(dst, dst, c[0], count);
    VectorBarrier();
}

// Write each coefficient of a polynomial but the two highest to a block of its own, the highest
// first: what Polynomial reads there. blocks: N - 2 blocks of 32 bytes.
template <int32_t N>
__aicore__ inline void SetCoefficients(const Tile32& blocks, const float (&c)[N]) {
    for (int32_t i = 0; i < N - 2; ++i) {
        AscendC::Duplicate(blocks[i * kBlockFloats], c[N - 3 - i], kBlockFloats);
    }
}

// dst = dst s + the number that fills a block: an instruction in place of a product and a sum.
__aicore__ inline void MulAddBlock(const Tile32& dst, const Tile32& s, const Tile32& block,
                                   uint32_t count) {
    constexpr uint32_t kLanes = 64;
    constexpr uint32_t kMostRepeats = 255;
    const uint32_t repeats = count / kLanes;
    for (uint32_t done = 0; done < repeats; done += kMostRepeats) {
        const uint32_t next = repeats - done < kMostRepeats ? repeats - done : kMostRepeats;
        AscendC::FusedMulAdd(dst[done * kLanes], s[done * kLanes], block, kLanes,
                             static_cast<uint8_t>(next), {1, 1, 0, 8, 8, 0});
    }
    if (count % kLanes > 0) {
        const uint32_t at = repeats * kLanes;
        AscendC::FusedMulAdd(dst[at], s[at], block, count % kLanes, 1, {1, 1, 0, 8, 8, 0});
    }
}

// The same polynomial with the blocks that SetCoefficients has written.
template <int32_t N>
__aicore__ inline void Polynomial(const Tile32& dst, const Tile32& s, const float (&c)[N],
                                  const Tile32& blocks, uint32_t count) {
    AscendC::Muls(dst, s, c[N - 1], count);
    VectorBarrier();
    AscendC::Adds(dst, dst, c[N - 2], count);
    VectorBarrier();
    for (int32_t i = 0; i < N - 2; ++i) {
        MulAddBlock(dst, s, blocks[i * kBlockFloats], count);
        VectorBarrier();
    }
}

// dst = src within the finite numbers: infinities less infinities would be NaN.
__aicore__ inline void Finite(const Tile32& dst, const Tile32& src, uint32_t count) {
    AscendC::Maxs(dst, src, -kLargest, count);
    VectorBarrier();
    AscendC::Mins(dst, dst, kLargest, count);
    VectorBarrier();
}

// dst = dst with the sign of x, that of a zero included, for dst >= 0; NaN stays.
__aicore__ inline void ApplySign(const Tile32& dst, const Tile32& x, const Tile32& t0,
                                 const MaskTile& mask, uint32_t count) {
    AscendC::ShiftRight(t0.template ReinterpretCast<uint32_t>(),
                        x.template ReinterpretCast<uint32_t>(), static_cast<uint32_t>(31),
                        static_cast<int32_t>(count));
    VectorBarrier();
    AscendC::CompareScalar(mask, t0.template ReinterpretCast<int32_t>(), static_cast<int32_t>(0),
                           CMPMODE::EQ, count);
    VectorBarrier();
    AscendC::Muls(t0, dst, -1.0f, count);
    VectorBarrier();
    AscendC::Select(dst, mask, dst, t0, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_FLOAT_TILE_H
