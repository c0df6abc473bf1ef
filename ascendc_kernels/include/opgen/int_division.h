// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Division of int32 tiles and what is made of it (conventions: float_tile.h).
#ifndef OPGEN_INT_DIVISION_H
#define OPGEN_INT_DIVISION_H

#include "kernel_operator.h"
#include "opgen/float_tile.h"
#include "opgen/tile.h"

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

// Greatest common divisor by Euclid's algorithm with quotients rounded toward zero, in dst; rest is
// spent. All lanes take kSteps, and one whose rest is 0 keeps its result.
template <int32_t kSteps>
__aicore__ inline void GcdOfExactRests(const TileInt& dst, const Tile32& f0, const Tile32& f1,
                                       const TileInt& i0, const TileInt& i1, const TileInt& rest,
                                       const TileInt& next, const MaskTile& m0, const MaskTile& m1,
                                       const MaskTile& done, uint32_t count) {
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

// a -= b times the rounded float quotient a / b, whose float values are fa (spent) and fb. The
// new a is a rest of a / b, at most a little more than half of |b|, of either sign. One whose
// quotient has more bits than a float is larger, but 2^-22 of a at most. b = 0 leaves a as it is.
__aicore__ inline void TakeNearestMultiple(const TileInt& a, const TileInt& b, const Tile32& fa,
                                           const Tile32& fb, const TileInt& multiple,
                                           uint32_t count) {
    AscendC::Div(fa, fa, fb, count);
    VectorBarrier();
    AscendC::Cast(multiple, fa, RoundMode::CAST_RINT, count);
    VectorBarrier();
    AscendC::Mul(multiple, multiple, b, count);
    VectorBarrier();
    AscendC::Sub(a, a, multiple, count);
    VectorBarrier();
}

// Greatest common divisor of two int32 magnitudes of kBits. Any multiple of one number may be taken
// from the other, so that a float quotient need not be exact: two numbers in turn become rests of
// each other, until one of the two is 0 in all lanes. The scalar unit reads whether they are.
//
// A magnitude below 0 is that of the smallest integer, which has no positive one. The sign of the
// divisor then depends on how the rests are rounded; a tile with such a number takes exact ones.
template <int32_t kBits>
__aicore__ inline void Gcd(const TileInt& dst, const TileInt& a, const TileInt& b, const Tile32& f0,
                           const Tile32& f1, const TileInt& i0, const TileInt& i1,
                           const TileInt& rest, const TileInt& next, const MaskTile& m0,
                           const MaskTile& m1, const MaskTile& done, uint32_t count) {
    // Fibonacci numbers take the most exact rests, 1.44 for each bit, after one that may only swap
    constexpr int32_t kExactSteps = kBits * 3 / 2 + 2;
    // a step takes a bit at least, but for one that may only swap, and for the two after a quotient
    // of more bits than a float has
    constexpr int32_t kPairs = (kBits + 4) / 2 + 1;
    const Tile32 size = i0.template ReinterpretCast<float>();
    const Tile32 extreme = i1.template ReinterpretCast<float>();
    const Tile32 work = next.template ReinterpretCast<float>();
    AscendC::Muls(dst, b, static_cast<int32_t>(1), count);
    AscendC::Muls(rest, a, static_cast<int32_t>(1), count);
    AscendC::Min(next, a, b, count);
    VectorBarrier();
    AscendC::Cast(size, next, RoundMode::CAST_RINT, count);
    VectorBarrier();
    AscendC::ReduceMin(extreme, size, work, static_cast<int32_t>(count));
    if (FirstElement(extreme) < 0.0f) {
        GcdOfExactRests<kExactSteps>(dst, f0, f1, i0, i1, rest, next, m0, m1, done, count);
        return;
    }
    AscendC::Cast(f0, a, RoundMode::CAST_RINT, count);
    AscendC::Cast(f1, b, RoundMode::CAST_RINT, count);
    VectorBarrier();
    for (int32_t pair = 0; pair < kPairs; ++pair) {
        TakeNearestMultiple(dst, rest, f1, f0, i0, count);
        AscendC::Cast(f1, dst, RoundMode::CAST_RINT, count);
        VectorBarrier();
        TakeNearestMultiple(rest, dst, f0, f1, i0, count);
        AscendC::Cast(f0, rest, RoundMode::CAST_RINT, count);
        VectorBarrier();
        AscendC::Mul(size, f0, f1, count);
        VectorBarrier();
        AscendC::Abs(size, size, count);
        VectorBarrier();
        AscendC::ReduceMax(extreme, size, work, static_cast<int32_t>(count));
        if (FirstElement(extreme) == 0.0f) {
            break;
        }
    }
    // the one that is not 0, of either sign
    AscendC::Add(rest, rest, dst, count);
    VectorBarrier();
    AscendC::Muls(i0, rest, static_cast<int32_t>(-1), count);
    VectorBarrier();
    AscendC::Max(dst, rest, i0, count);
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_INT_DIVISION_H
