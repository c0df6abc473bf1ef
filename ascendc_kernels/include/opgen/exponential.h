// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// exp(x) - 1 and log(1 + x) on float tiles (conventions: float_tile.h).
#ifndef OPGEN_EXPONENTIAL_H
#define OPGEN_EXPONENTIAL_H

#include "kernel_operator.h"
#include "opgen/float_tile.h"

namespace opgen {

// exp(x) - 1: Taylor to x^8 below 1/2 (1e-8), exp elsewhere.
__aicore__ inline void Expm1(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                             const MaskTile& mask, uint32_t count) {
    constexpr float kSeries[] = {1.0f,          1.0f / 2.0f,   1.0f / 6.0f,    1.0f / 24.0f,
                                 1.0f / 120.0f, 1.0f / 720.0f, 1.0f / 5040.0f, 1.0f / 40320.0f};
    AscendC::Abs(t1, x, count);
    VectorBarrier();
    AscendC::CompareScalar(mask, t1, 0.5f, CMPMODE::LT, count);
    Polynomial(t0, x, kSeries, count);
    AscendC::Mul(t0, t0, x, count);
    AscendC::Exp(dst, x, count);
    VectorBarrier();
    AscendC::Adds(dst, dst, -1.0f, count);
    VectorBarrier();
    AscendC::Select(dst, mask, t0, dst, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
}

// log(1 + x) = log(u) + (x - (u - 1)) / u with u = fl(1 + x): the second term gives back what the
// rounding of u lost. It is NaN for x = -1 and inf, where log(u) alone is right. The sum is written
// as a difference from 0 - log(u), which is +0 for u = 1: -0 - (+0) keeps the sign of a zero x.
__aicore__ inline void Log1p(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                             const MaskTile& mask, uint32_t count) {
    AscendC::Adds(t0, x, 1.0f, count);
    VectorBarrier();
    AscendC::Adds(t1, t0, -1.0f, count);
    AscendC::Ln(dst, t0, count);
    VectorBarrier();
    AscendC::Sub(t1, x, t1, count);
    AscendC::Muls(dst, dst, -1.0f, count);
    VectorBarrier();
    AscendC::Div(t1, t1, t0, count);
    AscendC::Adds(dst, dst, 0.0f, count);
    VectorBarrier();
    AscendC::Compare(mask, t1, t1, CMPMODE::EQ, count);
    VectorBarrier();
    AscendC::Select(t1, mask, t1, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    VectorBarrier();
    AscendC::Sub(dst, t1, dst, count);
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_EXPONENTIAL_H
