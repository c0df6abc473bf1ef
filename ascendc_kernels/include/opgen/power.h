// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// pow on float tiles (conventions: float_tile.h).
#ifndef OPGEN_POWER_H
#define OPGEN_POWER_H

#include "kernel_operator.h"
#include "opgen/float_tile.h"

namespace opgen {

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
    VectorBarrier();
    AscendC::Cast(t2, y, RoundMode::CAST_FLOOR, count);
    VectorBarrier();
    // m2: keep the sign: y is even (y / 2 is an integer) or no integer at all
    AscendC::Compare(m0, t2, y, CMPMODE::NE, count);
    VectorBarrier();
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

// The largest power that is made of products.
constexpr float kMostProducts = 8.0f;

// x^y of one number y for all elements. What is a product or a reciprocal, as the orders of most
// norms are, is computed as that; anything else is Pow of a tile of y in `ty`.
__aicore__ inline void PowOfNumber(const Tile32& dst, const Tile32& x, float y, const Tile32& ty,
                                   const Tile32& t0, const Tile32& t1, const Tile32& t2,
                                   const MaskTile& m0, const MaskTile& m1, const MaskTile& m2,
                                   uint32_t count) {
    if (y == 0.0f) {
        AscendC::Duplicate(dst, 1.0f, count);
    } else if (y == -1.0f) {
        AscendC::Duplicate(ty, 1.0f, count);
        VectorBarrier();
        AscendC::Div(dst, ty, x, count);
    } else if (y >= 1.0f && y <= kMostProducts &&
               y == static_cast<float>(static_cast<int32_t>(y))) {
        AscendC::Muls(dst, x, 1.0f, count);
        for (int32_t power = 1; power < static_cast<int32_t>(y); ++power) {
            VectorBarrier();
            AscendC::Mul(dst, dst, x, count);
        }
    } else {
        AscendC::Duplicate(ty, y, count);
        VectorBarrier();
        Pow(dst, x, ty, t0, t1, t2, m0, m1, m2, count);
        return;
    }
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_POWER_H
