// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Hyperbolic functions and their inverses on float tiles (conventions: float_tile.h).
#ifndef OPGEN_HYPERBOLIC_H
#define OPGEN_HYPERBOLIC_H

#include "kernel_operator.h"
#include "opgen/exponential.h"
#include "opgen/float_tile.h"

namespace opgen {

// tanh|x| = -e / (e + 2) with e = expm1(-2|x|) in (-1, 0]: no overflow, no cancellation.
__aicore__ inline void Tanh(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                            const Tile32& t2, const MaskTile& mask, uint32_t count) {
    AscendC::Abs(t0, x, count);
    VectorBarrier();
    AscendC::Muls(t0, t0, -2.0f, count);
    VectorBarrier();
    Expm1(t1, t0, t2, dst, mask, count);
    AscendC::Adds(t0, t1, 2.0f, count);
    AscendC::Muls(t1, t1, -1.0f, count);
    VectorBarrier();
    AscendC::Div(dst, t1, t0, count);
    VectorBarrier();
    ApplySign(dst, x, t0, mask, count);
}

// Taylor to x^9 below 1 (3e-8); elsewhere e^|x|/2 - e^-|x|/2 with e^(|x| - ln 2), which does not
// overflow before the result does.
__aicore__ inline void Sinh(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                            const Tile32& t2, const MaskTile& mask, uint32_t count) {
    constexpr float kSeries[] = {1.0f, 1.0f / 6.0f, 1.0f / 120.0f, 1.0f / 5040.0f,
                                 1.0f / 362880.0f};
    AscendC::Abs(t0, x, count);
    VectorBarrier();
    AscendC::Adds(t1, t0, -kLn2, count);
    VectorBarrier();
    AscendC::Exp(t1, t1, count);
    AscendC::Duplicate(t2, 0.25f, count);
    VectorBarrier();
    AscendC::Div(t2, t2, t1, count);
    VectorBarrier();
    AscendC::Sub(dst, t1, t2, count);
    VectorBarrier();
    ApplySign(dst, x, t1, mask, count);
    AscendC::CompareScalar(mask, t0, 1.0f, CMPMODE::LT, count);
    AscendC::Mul(t1, x, x, count);
    VectorBarrier();
    Polynomial(t2, t1, kSeries, count);
    AscendC::Mul(t2, t2, x, count);
    VectorBarrier();
    AscendC::Select(dst, mask, t2, dst, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
}

// a + 1 / (4 a) with a = e^(|x| - ln 2).
__aicore__ inline void Cosh(const Tile32& dst, const Tile32& x, const Tile32& t0, uint32_t count) {
    AscendC::Abs(t0, x, count);
    VectorBarrier();
    AscendC::Adds(t0, t0, -kLn2, count);
    VectorBarrier();
    AscendC::Exp(t0, t0, count);
    AscendC::Duplicate(dst, 0.25f, count);
    VectorBarrier();
    AscendC::Div(dst, dst, t0, count);
    VectorBarrier();
    AscendC::Add(dst, dst, t0, count);
    VectorBarrier();
}

// log1p(a + a^2 / (1 + sqrt(1 + a^2))) of a = |x|; log(a) + ln 2 where a^2 would overflow.
__aicore__ inline void Asinh(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                             const Tile32& t2, const Tile32& t3, const MaskTile& mask,
                             uint32_t count) {
    AscendC::Abs(t0, x, count);
    VectorBarrier();
    AscendC::Mins(t0, t0, 1.0e15f, count);
    VectorBarrier();
    AscendC::Mul(t1, t0, t0, count);
    VectorBarrier();
    AscendC::Adds(t2, t1, 1.0f, count);
    VectorBarrier();
    AscendC::Sqrt(t2, t2, count);
    VectorBarrier();
    AscendC::Adds(t2, t2, 1.0f, count);
    VectorBarrier();
    AscendC::Div(t1, t1, t2, count);
    VectorBarrier();
    AscendC::Add(t0, t0, t1, count);
    VectorBarrier();
    Log1p(t3, t0, t1, t2, mask, count);
    AscendC::Abs(t0, x, count);
    VectorBarrier();
    AscendC::CompareScalar(mask, t0, 1.0e15f, CMPMODE::GE, count);
    AscendC::Ln(dst, t0, count);
    VectorBarrier();
    AscendC::Adds(dst, dst, kLn2, count);
    VectorBarrier();
    AscendC::Select(dst, mask, dst, t3, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
    ApplySign(dst, x, t0, mask, count);
}

// log1p(t + sqrt(t) sqrt(t + 2)) with t = x - 1; NaN below 1.
__aicore__ inline void Acosh(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                             const Tile32& t2, const Tile32& t3, const MaskTile& mask,
                             uint32_t count) {
    AscendC::Adds(t0, x, -1.0f, count);
    VectorBarrier();
    AscendC::Mins(t0, t0, 1.0e15f, count);
    VectorBarrier();
    AscendC::Adds(t1, t0, 2.0f, count);
    AscendC::Sqrt(t2, t0, count);
    VectorBarrier();
    AscendC::Sqrt(t1, t1, count);
    VectorBarrier();
    AscendC::Mul(t1, t1, t2, count);
    VectorBarrier();
    AscendC::Add(t0, t0, t1, count);
    VectorBarrier();
    Log1p(t3, t0, t1, t2, mask, count);
    AscendC::CompareScalar(mask, x, 1.0e15f, CMPMODE::GE, count);
    AscendC::Ln(dst, x, count);
    VectorBarrier();
    AscendC::Adds(dst, dst, kLn2, count);
    VectorBarrier();
    AscendC::Select(dst, mask, dst, t3, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
}

// log1p(2 a / (1 - a)) / 2 of a = |x|; NaN beyond 1.
__aicore__ inline void Atanh(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                             const Tile32& t2, const MaskTile& mask, uint32_t count) {
    AscendC::Abs(t0, x, count);
    VectorBarrier();
    AscendC::Muls(t1, t0, -1.0f, count);
    AscendC::Muls(t0, t0, 2.0f, count);
    VectorBarrier();
    AscendC::Adds(t1, t1, 1.0f, count);
    VectorBarrier();
    AscendC::Div(t0, t0, t1, count);
    VectorBarrier();
    Log1p(dst, t0, t1, t2, mask, count);
    AscendC::Muls(dst, dst, 0.5f, count);
    VectorBarrier();
    ApplySign(dst, x, t0, mask, count);
}

}  // namespace opgen

#endif  // OPGEN_HYPERBOLIC_H
