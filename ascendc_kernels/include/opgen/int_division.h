// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Division of int32 tiles and what is made of it (conventions: float_tile.h).
#ifndef OPGEN_INT_DIVISION_H
#define OPGEN_INT_DIVISION_H

#include "kernel_operator.h"
#include "opgen/float_tile.h"

namespace opgen {

using TileInt = LocalTensor<int32_t>;

// dst = mask ? a : b; Select moves 32-bit words of any meaning.
__aicore__ inline void SelectInt(const TileInt& dst, const MaskTile& mask, const TileInt& a,
                                 const TileInt& b, uint32_t count) {
    AscendC::Select(dst.template ReinterpretCast<float>(), mask,
                    a.template ReinterpretCast<float>(), b.template ReinterpretCast<float>(),
                    SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
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
    VectorBarrier();
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

// Greatest common divisor of two int32 magnitudes by Euclid's algorithm. Lanes need different
// numbers of divisions: all take kSteps, and a lane whose rest is 0 keeps its result.
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

#endif  // OPGEN_INT_DIVISION_H
