// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Elementary functions on float tiles, built from vector instructions of arch 2201. Conventions:
// dst and the scratch tiles t0, t1, ... are distinct from each other and from the sources; masks are
// bit masks of uint8_t; `count` is a multiple of 64 wherever a mask is used (see AlignLanes). NaN
// gives NaN and infinities give the limits. Coefficients are least-squares minimax fits; the bounds
// below are relative errors of the formula, before the rounding of the instructions themselves.
#ifndef OPGEN_MATH_H
#define OPGEN_MATH_H

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

// dst = dst with the sign of x, that of a zero included, for dst >= 0; NaN stays.
__aicore__ inline void ApplySign(const Tile32& dst, const Tile32& x, const Tile32& t0,
                                 const MaskTile& mask, uint32_t count) {
    AscendC::ShiftRight(t0.template ReinterpretCast<uint32_t>(),
                        x.template ReinterpretCast<uint32_t>(), static_cast<uint32_t>(31),
                        static_cast<int32_t>(count));
    VectorBarrier();
    AscendC::CompareScalar(mask, t0.template ReinterpretCast<int32_t>(), static_cast<int32_t>(0),
                           CMPMODE::EQ, count);
    AscendC::Muls(t0, dst, -1.0f, count);
    VectorBarrier();
    AscendC::Select(dst, mask, dst, t0, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
}

// exp(x) - 1: Taylor to x^8 below 1/2 (1e-8), exp elsewhere.
__aicore__ inline void Expm1(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                             const MaskTile& mask, uint32_t count) {
    constexpr float kSeries[] = {1.0f,           1.0f / 2.0f,   1.0f / 6.0f,    1.0f / 24.0f,
                                 1.0f / 120.0f,  1.0f / 720.0f, 1.0f / 5040.0f, 1.0f / 40320.0f};
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
// rounding of u lost. It is NaN for x = -1 and inf, where log(u) alone is right. The sum is written as
// a difference from 0 - log(u), which is +0 for u = 1: -0 - (+0) keeps the sign of a zero x.
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

// erfc of |x|, into dst: t p(t) exp(-x^2) with t = 1 / (1 + |x| / 2), degree 8 fit (1e-7).
__aicore__ inline void ErfcOfAbs(const Tile32& dst, const Tile32& x, const Tile32& t0,
                                 const Tile32& t1, uint32_t count) {
    constexpr float kFit[] = {0.28208908438682556f,  0.28229770064353943f,  0.24393315613269806f,
                              0.19822287559509277f,  -0.013030537404119968f, 0.253645122051239f,
                              -0.461597204208374f,   0.2701089084148407f,   -0.05566902086138725f};
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
    constexpr float kFit[] = {1.1283791065216064f,    -0.3761262595653534f,  0.1128358542919159f,
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

// atan of z in [0, 1], degree 8 in z^2 (2e-8); t0 may not be z.
__aicore__ inline void AtanOfUnit(const Tile32& dst, const Tile32& z, const Tile32& t0,
                                  uint32_t count) {
    constexpr float kFit[] = {1.0f,
                              -0.3333307206630707f,
                              0.19992618262767792f,
                              -0.1420363485813141f,
                              0.1064089685678482f,
                              -0.07504214346408844f,
                              0.042690571397542953f,
                              -0.016068045049905777f,
                              0.0028497432358562946f};
    AscendC::Mul(t0, z, z, count);
    VectorBarrier();
    Polynomial(dst, t0, kFit, count);
    AscendC::Mul(dst, dst, z, count);
    VectorBarrier();
}

// pi/2 - atan(1/|x|) above 1.
__aicore__ inline void Atan(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                            const Tile32& t2, const MaskTile& mask, uint32_t count) {
    AscendC::Abs(t0, x, count);
    AscendC::Duplicate(t1, 1.0f, count);
    VectorBarrier();
    AscendC::Div(t1, t1, t0, count);
    AscendC::CompareScalar(mask, t0, 1.0f, CMPMODE::GT, count);
    VectorBarrier();
    AscendC::Select(t0, mask, t1, t0, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
    AtanOfUnit(dst, t0, t1, count);
    AscendC::Muls(t2, dst, -1.0f, count);
    VectorBarrier();
    AscendC::Adds(t2, t2, kHalfPi, count);
    VectorBarrier();
    AscendC::Select(dst, mask, t2, dst, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
    ApplySign(dst, x, t0, mask, count);
}

// atan2(y, x): atan(min/max of the magnitudes), then the octant; both zero or both infinite give
// the limits of IEEE atan2.
__aicore__ inline void Atan2(const Tile32& dst, const Tile32& y, const Tile32& x, const Tile32& t0,
                             const Tile32& t1, const Tile32& t2, const Tile32& t3,
                             const MaskTile& mask, const MaskTile& swapped, uint32_t count) {
    AscendC::Abs(t0, y, count);
    AscendC::Abs(t1, x, count);
    VectorBarrier();
    AscendC::Compare(swapped, t0, t1, CMPMODE::GT, count);
    AscendC::Max(t2, t0, t1, count);
    AscendC::Min(t3, t0, t1, count);
    VectorBarrier();
    AscendC::Div(t3, t3, t2, count);
    VectorBarrier();
    // inf / inf counts as 1 and 0 / 0 as 0
    AscendC::Compare(mask, t0, t1, CMPMODE::EQ, count);
    AscendC::Duplicate(t1, 1.0f, count);
    VectorBarrier();
    // where both are equal: 0 for zeros (t2 == 0), 1 otherwise
    AscendC::CompareScalar(t0.template ReinterpretCast<uint8_t>(), t2, 0.0f, CMPMODE::GT, count);
    VectorBarrier();
    AscendC::Select(t1, t0.template ReinterpretCast<uint8_t>(), t1, 0.0f,
                    SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    VectorBarrier();
    AscendC::Select(t3, mask, t1, t3, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
    AtanOfUnit(dst, t3, t1, count);
    AscendC::Muls(t1, dst, -1.0f, count);
    VectorBarrier();
    AscendC::Adds(t1, t1, kHalfPi, count);
    VectorBarrier();
    AscendC::Select(dst, swapped, t1, dst, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
    AscendC::Muls(t1, dst, -1.0f, count);
    AscendC::ShiftRight(t2.template ReinterpretCast<uint32_t>(),
                        x.template ReinterpretCast<uint32_t>(), static_cast<uint32_t>(31),
                        static_cast<int32_t>(count));
    VectorBarrier();
    AscendC::Adds(t1, t1, kPi, count);
    // no sign bit, which a zero can have, too
    AscendC::CompareScalar(mask, t2.template ReinterpretCast<int32_t>(), static_cast<int32_t>(0),
                           CMPMODE::EQ, count);
    VectorBarrier();
    AscendC::Select(dst, mask, dst, t1, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
    ApplySign(dst, y, t1, mask, count);
}

// asin of z in [0, 1/2], degree 5 in z^2 (5e-9); dst, z and t0 distinct.
__aicore__ inline void AsinOfHalf(const Tile32& dst, const Tile32& z, const Tile32& t0,
                                  uint32_t count) {
    constexpr float kFit[] = {1.0f,
                              0.1666679084300995f,
                              0.07494435459375381f,
                              0.0455501452088356f,
                              0.02385835163295269f,
                              0.04263535141944885f};
    AscendC::Mul(t0, z, z, count);
    VectorBarrier();
    Polynomial(dst, t0, kFit, count);
    AscendC::Mul(dst, dst, z, count);
    VectorBarrier();
}

// t1 = |x| up to 1/2, else sqrt((1 - |x|) / 2) (NaN beyond 1); mask = |x| > 1/2; dst = asin(t1).
__aicore__ inline void AsinFolded(const Tile32& dst, const Tile32& x, const Tile32& t0,
                                  const Tile32& t1, const MaskTile& mask, uint32_t count) {
    AscendC::Abs(t0, x, count);
    VectorBarrier();
    AscendC::CompareScalar(mask, t0, 0.5f, CMPMODE::GT, count);
    AscendC::Muls(t1, t0, -0.5f, count);
    VectorBarrier();
    AscendC::Adds(t1, t1, 0.5f, count);
    VectorBarrier();
    AscendC::Sqrt(t1, t1, count);
    VectorBarrier();
    AscendC::Select(t1, mask, t1, t0, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
    AsinOfHalf(dst, t1, t0, count);
}

// pi/2 - 2 asin(sqrt((1 - |x|) / 2)) above 1/2.
__aicore__ inline void Asin(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                            const MaskTile& mask, uint32_t count) {
    AsinFolded(dst, x, t0, t1, mask, count);
    AscendC::Muls(t0, dst, -2.0f, count);
    VectorBarrier();
    AscendC::Adds(t0, t0, kHalfPi, count);
    VectorBarrier();
    AscendC::Select(dst, mask, t0, dst, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
    ApplySign(dst, x, t0, mask, count);
}

// pi/2 - asin(x) up to 1/2; 2 asin(sqrt((1 - x) / 2)) above; pi minus the same of |x| below -1/2.
__aicore__ inline void Acos(const Tile32& dst, const Tile32& x, const Tile32& t0, const Tile32& t1,
                            const Tile32& t2, const MaskTile& mask, const MaskTile& negative,
                            uint32_t count) {
    AsinFolded(dst, x, t0, t1, mask, count);
    AscendC::CompareScalar(negative, x, 0.0f, CMPMODE::LT, count);
    AscendC::Muls(t0, dst, 2.0f, count);
    AscendC::Muls(t1, dst, -1.0f, count);
    VectorBarrier();
    // outer part: 2 a, or pi - 2 a for negative x
    AscendC::Muls(t2, t0, -1.0f, count);
    VectorBarrier();
    AscendC::Adds(t2, t2, kPi, count);
    VectorBarrier();
    AscendC::Select(t0, negative, t2, t0, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    // inner part: pi/2 - a, or pi/2 + a for negative x
    AscendC::Select(t1, negative, dst, t1, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
    AscendC::Adds(t1, t1, kHalfPi, count);
    VectorBarrier();
    AscendC::Select(dst, mask, t0, t1, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
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

// x^y = exp(y log|x|) with the sign and the special cases of IEEE pow: integers y of negative x,
// NaN for other y, 1 for y = 0 and |x| = 1.
__aicore__ inline void Pow(const Tile32& dst, const Tile32& x, const Tile32& y, const Tile32& t0,
                           const Tile32& t1, const Tile32& t2, const MaskTile& m0,
                           const MaskTile& m1, const MaskTile& m2, uint32_t count) {
    AscendC::Abs(t0, x, count);
    VectorBarrier();
    AscendC::Ln(t1, t0, count);
    AscendC::CompareScalar(m0, t0, 1.0f, CMPMODE::NE, count);
    AscendC::CompareScalar(m2, t0, kInf, CMPMODE::EQ, count);
    AscendC::Cast(t2, y, RoundMode::CAST_FLOOR, count);
    VectorBarrier();
    AscendC::Mul(t1, t1, y, count);
    AscendC::Compare(m1, t2, y, CMPMODE::EQ, count);
    AscendC::Muls(t0, y, 0.5f, count);
    VectorBarrier();
    AscendC::Exp(t1, t1, count);
    AscendC::Cast(t2, t0, RoundMode::CAST_FLOOR, count);
    // m1: the power is defined for negative x: integer y, or x infinite or zero
    VectorBarrier();
    AscendC::Or(m1.template ReinterpretCast<uint16_t>(), m1.template ReinterpretCast<uint16_t>(),
                m2.template ReinterpretCast<uint16_t>(), count / 16);
    VectorBarrier();
    AscendC::CompareScalar(m2, x, 0.0f, CMPMODE::EQ, count);
    VectorBarrier();
    AscendC::Or(m1.template ReinterpretCast<uint16_t>(), m1.template ReinterpretCast<uint16_t>(),
                m2.template ReinterpretCast<uint16_t>(), count / 16);
    VectorBarrier();
    AscendC::Select(t1, m0, t1, 1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    AscendC::Compare(m2, t2, t0, CMPMODE::EQ, count);
    AscendC::Cast(t2, y, RoundMode::CAST_FLOOR, count);
    VectorBarrier();
    // m2: keep the sign: y is even (y / 2 is an integer) or no integer at all
    AscendC::Compare(m0, t2, y, CMPMODE::NE, count);
    AscendC::Muls(t2, t1, -1.0f, count);
    VectorBarrier();
    AscendC::Or(m2.template ReinterpretCast<uint16_t>(), m2.template ReinterpretCast<uint16_t>(),
                m0.template ReinterpretCast<uint16_t>(), count / 16);
    VectorBarrier();
    AscendC::Select(t2, m2, t1, t2, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    AscendC::ShiftRight(t0.template ReinterpretCast<uint32_t>(),
                        x.template ReinterpretCast<uint32_t>(), static_cast<uint32_t>(31),
                        static_cast<int32_t>(count));
    VectorBarrier();
    // m0: no sign bit, which a zero can have, too
    AscendC::CompareScalar(m0, t0.template ReinterpretCast<int32_t>(), static_cast<int32_t>(0),
                           CMPMODE::EQ, count);
    AscendC::Select(t2, m1, t2, kNan, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    VectorBarrier();
    AscendC::Select(dst, m0, t1, t2, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    AscendC::CompareScalar(m1, y, 0.0f, CMPMODE::NE, count);
    VectorBarrier();
    AscendC::Select(dst, m1, dst, 1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    VectorBarrier();
}

// high = a number of the upper 12 significant bits of x, rest = x - high of as many: products of two
// halves are exact. x is finite; rest may be x.
__aicore__ inline void SplitBits(const Tile32& high, const Tile32& rest, const Tile32& x,
                                 uint32_t count) {
    LocalTensor<int32_t> bits = high.template ReinterpretCast<int32_t>();
    AscendC::ShiftRight(bits, x.template ReinterpretCast<int32_t>(), 12,
                        static_cast<int32_t>(count));
    VectorBarrier();
    AscendC::ShiftLeft(bits, bits, 12, static_cast<int32_t>(count));
    VectorBarrier();
    AscendC::Sub(rest, x, high, count);
    VectorBarrier();
}

// rest -= q (high + low), where both products are exact.
__aicore__ inline void SubtractProducts(const Tile32& rest, const Tile32& q, const Tile32& high,
                                        const Tile32& low, const Tile32& product, uint32_t count) {
    AscendC::Mul(product, q, high, count);
    VectorBarrier();
    AscendC::Sub(rest, rest, product, count);
    VectorBarrier();
    AscendC::Mul(product, q, low, count);
    VectorBarrier();
    AscendC::Sub(rest, rest, product, count);
    VectorBarrier();
}

// floor(a / b); NaN for infinite a, as PyTorch has it. The rounded quotient can be the next integer:
// then a - quotient * b, from exact products of halves, has the other sign than b. An infinite b
// counts as the largest number there: floor(-1 / inf) is -1.
__aicore__ inline void FloorQuotient(const Tile32& dst, const Tile32& a, const Tile32& b,
                                     const Tile32& t0, const Tile32& t1, const Tile32& t2,
                                     const Tile32& t3, const Tile32& t4, const MaskTile& mask,
                                     uint32_t count) {
    AscendC::Div(dst, a, b, count);
    AscendC::Mins(t1, b, kLargest, count);
    AscendC::Muls(t0, a, 1.0f, count);
    VectorBarrier();
    AscendC::Cast(dst, dst, RoundMode::CAST_FLOOR, count);
    AscendC::Maxs(t1, t1, -kLargest, count);
    VectorBarrier();
    SplitBits(t2, t1, t1, count);
    SplitBits(t3, t4, dst, count);
    SubtractProducts(t0, t3, t2, t1, t4, count);
    AscendC::Sub(t3, dst, t3, count);
    VectorBarrier();
    SubtractProducts(t0, t3, t2, t1, t4, count);
    // the sign of b as a factor
    AscendC::Mins(t1, b, kLargest, count);
    VectorBarrier();
    AscendC::Maxs(t1, t1, -kLargest, count);
    VectorBarrier();
    AscendC::Abs(t2, t1, count);
    VectorBarrier();
    AscendC::Div(t1, t1, t2, count);
    VectorBarrier();
    AscendC::Mul(t0, t0, t1, count);
    VectorBarrier();
    AscendC::Adds(t1, dst, -1.0f, count);
    VectorBarrier();
    AscendC::CompareScalar(mask, t0, 0.0f, CMPMODE::LT, count);
    AscendC::Sub(t0, a, a, count);
    VectorBarrier();
    AscendC::Select(dst, mask, t1, dst, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
    // a - a is NaN for infinite a; a division by zero stays what it is
    AscendC::CompareScalar(mask, t0, 0.0f, CMPMODE::EQ, count);
    AscendC::Div(t1, a, b, count);
    VectorBarrier();
    AscendC::Select(t0, mask, dst, kNan, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    AscendC::CompareScalar(mask, b, 0.0f, CMPMODE::EQ, count);
    VectorBarrier();
    AscendC::Select(dst, mask, t1, t0, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
}

// rest -= trunc(rest / (b step)) b step, exact, for |rest| up to 2^12 times b step. `divisor` is b
// times a power of two (infinite where rest cannot reach it), high + low are its 12-bit halves,
// finite, and step is a power of two. A quotient that the division rounded up leaves a small
// negative rest, which the next step takes back.
__aicore__ inline void SubtractMultiple(const Tile32& rest, const Tile32& divisor,
                                        const Tile32& high, const Tile32& low, float step,
                                        const Tile32& quotient, const Tile32& product,
                                        uint32_t count) {
    AscendC::Muls(quotient, divisor, step, count);
    VectorBarrier();
    AscendC::Div(quotient, rest, quotient, count);
    VectorBarrier();
    AscendC::Cast(quotient, quotient, RoundMode::CAST_TRUNC, count);
    VectorBarrier();
    AscendC::Muls(quotient, quotient, step, count);
    VectorBarrier();
    SubtractProducts(rest, quotient, high, low, product, count);
}

// a - trunc(a / b) b with the sign of a, exact: the long division of |a| by |b|, 11 bits of the
// quotient a step, so that every product is exact. A quotient of kBits bits takes kBits / 11 steps:
// 277 for any two floats, 40 for any two numbers of half, 23 for integers.
template <int32_t kBits>
__aicore__ inline void Fmod(const Tile32& dst, const Tile32& a, const Tile32& b, const Tile32& t0,
                            const Tile32& t1, const Tile32& t2, const Tile32& t3, const Tile32& t4,
                            const MaskTile& mask, const MaskTile& small, uint32_t count) {
    constexpr int32_t kStepBits = 11;
    constexpr int32_t kStageBits = 126;  // powers of two beyond this are no floats
    constexpr float kStage = 0x1p126f;
    AscendC::Abs(dst, a, count);
    AscendC::Abs(t0, b, count);
    VectorBarrier();
    AscendC::Compare(small, dst, t0, CMPMODE::LT, count);
    for (int32_t stage = (kBits - 1) / kStageBits; stage >= 0; --stage) {
        // t0 = |b| 2^(126 stage), infinite where |a| cannot reach it; t1 = the same, finite
        float largest = kLargest;
        for (int32_t i = 0; i < stage; ++i) {
            largest /= kStage;
        }
        AscendC::Abs(t0, b, count);
        VectorBarrier();
        AscendC::Mins(t1, t0, largest, count);
        VectorBarrier();
        for (int32_t i = 0; i < stage; ++i) {
            AscendC::Muls(t0, t0, kStage, count);
            AscendC::Muls(t1, t1, kStage, count);
            VectorBarrier();
        }
        SplitBits(t2, t1, t1, count);
        const int32_t left = kBits - stage * kStageBits;
        int32_t shift = ((left < kStageBits ? left : kStageBits) - 1) / kStepBits * kStepBits;
        for (; shift >= 0; shift -= kStepBits) {
            float step = 1.0f;
            for (int32_t i = 0; i < shift; ++i) {
                step *= 2.0f;
            }
            SubtractMultiple(dst, t0, t2, t1, step, t3, t4, count);
        }
    }
    // the rounded quotient may have been one off either way
    AscendC::CompareScalar(mask, dst, 0.0f, CMPMODE::LT, count);
    AscendC::Add(t1, dst, t0, count);
    VectorBarrier();
    AscendC::Select(dst, mask, t1, dst, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
    AscendC::Compare(mask, dst, t0, CMPMODE::GE, count);
    AscendC::Sub(t1, dst, t0, count);
    VectorBarrier();
    AscendC::Select(dst, mask, t1, dst, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    AscendC::Abs(t1, a, count);
    VectorBarrier();
    // |a| < |b|, infinite b included: a itself
    AscendC::Select(dst, small, t1, dst, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
    ApplySign(dst, a, t0, mask, count);
}

// Fmod moved to the sign of b.
template <int32_t kBits>
__aicore__ inline void Remainder(const Tile32& dst, const Tile32& a, const Tile32& b,
                                 const Tile32& t0, const Tile32& t1, const Tile32& t2,
                                 const Tile32& t3, const Tile32& t4, const MaskTile& mask,
                                 const MaskTile& small, uint32_t count) {
    Fmod<kBits>(dst, a, b, t0, t1, t2, t3, t4, mask, small, count);
    AscendC::CompareScalar(mask, dst, 0.0f, CMPMODE::LT, count);
    AscendC::CompareScalar(small, b, 0.0f, CMPMODE::LT, count);
    AscendC::Add(t0, dst, b, count);
    AscendC::Duplicate(t1, 1.0f, count);
    VectorBarrier();
    // signs as 0 / 1; they differ where the rest must move, except for a rest of zero
    AscendC::Select(t2, mask, t1, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    AscendC::Select(t3, small, t1, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    AscendC::CompareScalar(small, dst, 0.0f, CMPMODE::EQ, count);
    VectorBarrier();
    AscendC::Compare(mask, t2, t3, CMPMODE::EQ, count);
    VectorBarrier();
    AscendC::Or(mask.template ReinterpretCast<uint16_t>(),
                mask.template ReinterpretCast<uint16_t>(),
                small.template ReinterpretCast<uint16_t>(), count / 16);
    VectorBarrier();
    AscendC::Select(dst, mask, dst, t0, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
}

using TileInt = LocalTensor<int32_t>;

// dst = mask ? a : b; Select moves 32-bit words of any meaning.
__aicore__ inline void SelectInt(const TileInt& dst, const MaskTile& mask, const TileInt& a,
                                 const TileInt& b, uint32_t count) {
    AscendC::Select(dst.template ReinterpretCast<float>(), mask, a.template ReinterpretCast<float>(),
                    b.template ReinterpretCast<float>(), SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
}

// dst = src >> bits with zeros shifted in.
__aicore__ inline void ShiftRightLogical(const TileInt& dst, const TileInt& src, int32_t bits,
                                         uint32_t count) {
    AscendC::ShiftRight(dst.template ReinterpretCast<uint32_t>(),
                        src.template ReinterpretCast<uint32_t>(), static_cast<uint32_t>(bits),
                        static_cast<int32_t>(count));
}

// mask = a * b kMode 0 (LT, LE or GE), from the signs of the float values.
template <CMPMODE kMode>
__aicore__ inline void CompareSigns(const MaskTile& mask, const TileInt& a, const TileInt& b,
                                    const Tile32& f0, const Tile32& f1, uint32_t count) {
    AscendC::Cast(f0, a, RoundMode::CAST_RINT, count);
    AscendC::Cast(f1, b, RoundMode::CAST_RINT, count);
    VectorBarrier();
    AscendC::Mul(f0, f0, f1, count);
    VectorBarrier();
    AscendC::CompareScalar(mask, f0, 0.0f, kMode, count);
    VectorBarrier();
}

// floor(a / b) of int32, exact: two float quotients reduce the remainder i0 to at most |b|, two
// comparisons of signs finish. Division by zero gives an unspecified value.
__aicore__ inline void DivideFloor(const TileInt& dst, const TileInt& a, const TileInt& b,
                                   const Tile32& f0, const Tile32& f1, const TileInt& i0,
                                   const TileInt& i1, const MaskTile& mask, const MaskTile&,
                                   uint32_t count) {
    AscendC::Duplicate(dst, static_cast<int32_t>(0), count);
    AscendC::Muls(i0, a, static_cast<int32_t>(1), count);
    VectorBarrier();
    for (int32_t round = 0; round < 2; ++round) {
        AscendC::Cast(f0, i0, RoundMode::CAST_RINT, count);
        AscendC::Cast(f1, b, RoundMode::CAST_RINT, count);
        VectorBarrier();
        AscendC::Div(f0, f0, f1, count);
        VectorBarrier();
        AscendC::Cast(i1, f0, RoundMode::CAST_TRUNC, count);
        VectorBarrier();
        AscendC::Add(dst, dst, i1, count);
        AscendC::Mul(i1, i1, b, count);
        VectorBarrier();
        AscendC::Sub(i0, i0, i1, count);
        VectorBarrier();
    }
    // remainder of the other sign than b: one too many
    CompareSigns<CMPMODE::LT>(mask, i0, b, f0, f1, count);
    AscendC::Adds(i1, dst, static_cast<int32_t>(-1), count);
    VectorBarrier();
    SelectInt(dst, mask, i1, dst, count);
    AscendC::Add(i1, i0, b, count);
    VectorBarrier();
    SelectInt(i0, mask, i1, i0, count);
    VectorBarrier();
    // remainder at least b: one too few; b - 0 does not overflow for the smallest b, 0 - b would
    AscendC::Sub(i0, b, i0, count);
    VectorBarrier();
    CompareSigns<CMPMODE::LE>(mask, i0, b, f0, f1, count);
    AscendC::Adds(i1, dst, static_cast<int32_t>(1), count);
    VectorBarrier();
    SelectInt(dst, mask, i1, dst, count);
    VectorBarrier();
}

// trunc(a / b) of int32: the floor, plus one where it is negative and not exact.
__aicore__ inline void DivideTrunc(const TileInt& dst, const TileInt& a, const TileInt& b,
                                   const Tile32& f0, const Tile32& f1, const TileInt& i0,
                                   const TileInt& i1, const MaskTile& mask, const MaskTile& exact,
                                   uint32_t count) {
    DivideFloor(dst, a, b, f0, f1, i0, i1, mask, exact, count);
    AscendC::Mul(i0, dst, b, count);
    VectorBarrier();
    AscendC::Sub(i0, a, i0, count);
    VectorBarrier();
    AscendC::CompareScalar(exact, i0, static_cast<int32_t>(0), CMPMODE::EQ, count);
    CompareSigns<CMPMODE::GE>(mask, a, b, f0, f1, count);
    AscendC::Or(mask.template ReinterpretCast<uint16_t>(),
                mask.template ReinterpretCast<uint16_t>(),
                exact.template ReinterpretCast<uint16_t>(), count / 16);
    AscendC::Adds(i1, dst, static_cast<int32_t>(1), count);
    VectorBarrier();
    SelectInt(dst, mask, dst, i1, count);
    VectorBarrier();
}

// Greatest common divisor of two int32 magnitudes by Euclid's algorithm. Lanes need different numbers
// of divisions: all take kSteps, and a lane whose rest is 0 keeps its result.
template <int32_t kSteps>
__aicore__ inline void Gcd(const TileInt& dst, const TileInt& a, const TileInt& b, const Tile32& f0,
                           const Tile32& f1, const TileInt& i0, const TileInt& i1,
                           const TileInt& rest, const TileInt& next, const MaskTile& m0,
                           const MaskTile& m1, const MaskTile& done, uint32_t count) {
    AscendC::Muls(dst, b, static_cast<int32_t>(1), count);
    AscendC::Muls(rest, a, static_cast<int32_t>(1), count);
    VectorBarrier();
    for (int32_t step = 0; step < kSteps; ++step) {
        DivideTrunc(next, dst, rest, f0, f1, i0, i1, m0, m1, count);
        AscendC::CompareScalar(done, rest, static_cast<int32_t>(0), CMPMODE::EQ, count);
        AscendC::Mul(next, next, rest, count);
        VectorBarrier();
        AscendC::Sub(next, dst, next, count);
        SelectInt(i0, done, dst, rest, count);
        VectorBarrier();
        SelectInt(rest, done, rest, next, count);
        AscendC::Muls(dst, i0, static_cast<int32_t>(1), count);
        VectorBarrier();
    }
}

}  // namespace opgen

#endif  // OPGEN_MATH_H
