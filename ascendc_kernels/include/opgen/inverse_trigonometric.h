// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Inverse trigonometric functions on float tiles (conventions: float_tile.h).
#ifndef OPGEN_INVERSE_TRIGONOMETRIC_H
#define OPGEN_INVERSE_TRIGONOMETRIC_H

#include "kernel_operator.h"
#include "opgen/float_tile.h"

namespace opgen {

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
    VectorBarrier();
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

}  // namespace opgen

#endif  // OPGEN_INVERSE_TRIGONOMETRIC_H
