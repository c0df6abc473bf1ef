// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// erf and erfc on float tiles (conventions: float_tile.h).
#ifndef OPGEN_ERROR_FUNCTION_H
#define OPGEN_ERROR_FUNCTION_H

#include "kernel_operator.h"
#include "opgen/float_tile.h"

namespace opgen {

// erfc of |x|, into dst: t p(t) exp(-x^2) with t = 1 / (1 + |x| / 2), degree 8 fit (1e-7).
__aicore__ inline void ErfcOfAbs(const Tile32& dst, const Tile32& x, const Tile32& t0,
                                 const Tile32& t1, uint32_t count) {
    constexpr float kFit[] = {0.28208908438682556f, 0.28229770064353943f,   0.24393315613269806f,
                              0.19822287559509277f, -0.013030537404119968f, 0.253645122051239f,
                              -0.461597204208374f,  0.2701089084148407f,    -0.05566902086138725f};
    // Beyond 16 erfc is 0 in float; the bound keeps t in the range of the fit and lets NaN through.
    AscendC::Abs(t0, x, count);
    VectorBarrier();
    AscendC::Mins(t0, t0, 16.0f, count);
    VectorBarrier();
    AscendC::Muls(t1, t0, 0.5f, count);
    AscendC::Duplicate(dst, 1.0f, count);
    VectorBarrier();
    AscendC::Adds(t1, t1, 1.0f, count);
    VectorBarrier();
    AscendC::Div(t1, dst, t1, count);
    VectorBarrier();
    Polynomial(dst, t1, kFit, count);
    AscendC::Mul(dst, dst, t1, count);
    AscendC::Mul(t0, t0, t0, count);
    VectorBarrier();
    AscendC::Muls(t0, t0, -1.0f, count);
    VectorBarrier();
    AscendC::Exp(t0, t0, count);
    VectorBarrier();
    AscendC::Mul(dst, dst, t0, count);
    VectorBarrier();
}

// Odd polynomial below 1 (1e-9), 1 - erfc above.
__aicore__ inline void Erf(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                           const Tile32& t2, const MaskTile& mask, uint32_t count) {
    constexpr float kFit[] = {1.1283791065216064f,    -0.3761262595653534f, 0.1128358542919159f,
                              -0.026853810995817184f, 0.00518832728266716f, -0.0008010189631022513f,
                              7.853847637306899e-05f};
    ErfcOfAbs(dst, x, t0, t1, count);
    AscendC::Muls(dst, dst, -1.0f, count);
    VectorBarrier();
    AscendC::Adds(dst, dst, 1.0f, count);
    VectorBarrier();
    ApplySign(dst, x, t0, mask, count);
    AscendC::Abs(t0, x, count);
    AscendC::Mul(t1, x, x, count);
    VectorBarrier();
    AscendC::CompareScalar(mask, t0, 1.0f, CMPMODE::LT, count);
    Polynomial(t2, t1, kFit, count);
    AscendC::Mul(t2, t2, x, count);
    VectorBarrier();
    AscendC::Select(dst, mask, t2, dst, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
}

// erfc(x) for x >= 0, 2 - erfc(|x|) below: relative accuracy in the tail.
__aicore__ inline void Erfc(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                            const MaskTile& mask, uint32_t count) {
    ErfcOfAbs(dst, x, t0, t1, count);
    AscendC::Muls(t0, dst, -1.0f, count);
    AscendC::CompareScalar(mask, x, 0.0f, CMPMODE::LT, count);
    VectorBarrier();
    AscendC::Adds(t0, t0, 2.0f, count);
    VectorBarrier();
    AscendC::Select(dst, mask, t0, dst, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_ERROR_FUNCTION_H
