// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Floor division and remainders of floats, exact (conventions: float_tile.h).
#ifndef OPGEN_FLOAT_DIVISION_H
#define OPGEN_FLOAT_DIVISION_H

#include "kernel_operator.h"
#include "opgen/float_tile.h"

namespace opgen {

// high = a number of the upper 12 significant bits of x, which is finite.
__aicore__ inline void HighBits(const Tile32& high, const Tile32& x, uint32_t count) {
    LocalTensor<int32_t> bits = high.template ReinterpretCast<int32_t>();
    AscendC::ShiftRight(bits, x.template ReinterpretCast<int32_t>(), 12,
                        static_cast<int32_t>(count));
    VectorBarrier();
    AscendC::ShiftLeft(bits, bits, 12, static_cast<int32_t>(count));
    VectorBarrier();
}

// high as above, rest = x - high of as many bits: products of two halves are exact. rest may be x.
__aicore__ inline void SplitBits(const Tile32& high, const Tile32& rest, const Tile32& x,
                                 uint32_t count) {
    HighBits(high, x, count);
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

// floor(a / b); NaN for infinite a, as PyTorch has it. The rounded quotient can be the next
// integer: then a - quotient * b, from exact products of halves, has the other sign than b. An
// infinite b counts as the largest number there: floor(-1 / inf) is -1.
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
    HighBits(t3, dst, count);
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
    VectorBarrier();
    AscendC::Sub(t0, a, a, count);
    VectorBarrier();
    AscendC::Select(dst, mask, t1, dst, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    VectorBarrier();
    // a - a is NaN for infinite a; a division by zero stays what it is
    AscendC::CompareScalar(mask, t0, 0.0f, CMPMODE::EQ, count);
    AscendC::Div(t1, a, b, count);
    VectorBarrier();
    AscendC::Select(t0, mask, dst, kNan, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    VectorBarrier();
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
    VectorBarrier();
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
    VectorBarrier();
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
    VectorBarrier();
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

}  // namespace opgen

#endif  // OPGEN_FLOAT_DIVISION_H
