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
