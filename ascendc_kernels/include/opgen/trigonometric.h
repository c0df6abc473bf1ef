// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Sine, cosine and tangent on float tiles (conventions: float_tile.h).
#ifndef OPGEN_TRIGONOMETRIC_H
#define OPGEN_TRIGONOMETRIC_H

#include "kernel_operator.h"
#include "opgen/float_tile.h"

namespace opgen {

// (-1)^k sin(r) for x = (k + shift) pi + r, |r| <= pi/2. pi is subtracted in four parts, the first
// three short enough for exact products: good to |x| of about 10^5, where float spacing is 0.008.
// Beyond, the rest is no longer exact; the bounds keep the result within [-1, 1].
__aicore__ inline void SinShifted(const Tile32& dst, const Tile32& x, float shift, float sign,
                                  const Tile32& t0, const Tile32& t1, const Tile32& t2,
                                  uint32_t count) {
    constexpr float kPiParts[] = {3.140625f, 0.0009675025939941406f, 1.5099067240953445e-07f,
                                  5.126688136514179e-12f};
    constexpr float kFit[] = {1.0f,
                              -0.1666666716337204f,
                              0.008333330973982811f,
                              -0.00019840819004457444f,
                              2.7523296921572182e-06f,
                              -2.38565416310621e-08f};
    AscendC::Muls(t0, x, 1.0f / kPi, count);
    VectorBarrier();
    if (shift != 0.0f) {
        AscendC::Adds(t0, t0, -shift, count);
        VectorBarrier();
    }
    AscendC::Cast(t0, t0, RoundMode::CAST_RINT, count);
    VectorBarrier();
    // parity of k as a factor 1 - 2 (k mod 2)
    AscendC::Muls(t1, t0, 0.5f, count);
    VectorBarrier();
    AscendC::Cast(t1, t1, RoundMode::CAST_FLOOR, count);
    VectorBarrier();
    AscendC::Muls(t1, t1, 2.0f, count);
    VectorBarrier();
    AscendC::Sub(t1, t0, t1, count);
    VectorBarrier();
    AscendC::Muls(t1, t1, -2.0f * sign, count);
    VectorBarrier();
    AscendC::Adds(t1, t1, sign, count);
    // Without a shift this makes +0 of -0, so that a zero x keeps its sign below.
    AscendC::Adds(t0, t0, shift, count);
    VectorBarrier();
    AscendC::Muls(t2, t0, -kPiParts[0], count);
    VectorBarrier();
    AscendC::Add(dst, x, t2, count);
    VectorBarrier();
    for (int32_t i = 1; i < 4; ++i) {
        AscendC::Muls(t2, t0, -kPiParts[i], count);
        VectorBarrier();
        AscendC::Add(dst, dst, t2, count);
        VectorBarrier();
    }
    AscendC::Mins(dst, dst, kHalfPi, count);
    VectorBarrier();
    AscendC::Maxs(dst, dst, -kHalfPi, count);
    VectorBarrier();
    AscendC::Mul(t1, t1, dst, count);
    AscendC::Mul(t0, dst, dst, count);
    VectorBarrier();
    Polynomial(dst, t0, kFit, count);
    AscendC::Mul(dst, dst, t1, count);
    VectorBarrier();
}

__aicore__ inline void Sin(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                           const Tile32& t2, uint32_t count) {
    SinShifted(dst, x, 0.0f, 1.0f, t0, t1, t2, count);
}

__aicore__ inline void Cos(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                           const Tile32& t2, uint32_t count) {
    SinShifted(dst, x, 0.5f, -1.0f, t0, t1, t2, count);
}

__aicore__ inline void Tan(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                           const Tile32& t2, const Tile32& t3, uint32_t count) {
    Sin(dst, x, t0, t1, t2, count);
    Cos(t3, x, t0, t1, t2, count);
    AscendC::Div(dst, dst, t3, count);
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_TRIGONOMETRIC_H
