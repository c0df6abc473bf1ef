// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Random bits by Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3) on int32
// tiles (conventions: float_tile.h). Arch 2201 multiplies 32 bits into the low 32 of the product:
// the high ones are put together from products of 16-bit halves. And and Or take 16-bit words.
#ifndef OPGEN_PHILOX_H
#define OPGEN_PHILOX_H

#include "kernel_operator.h"
#include "opgen/int_division.h"

namespace opgen {

// dst = a & b, or a | b.
__aicore__ inline void AndInt(const TileInt& dst, const TileInt& a, const TileInt& b,
                              uint32_t count) {
    AscendC::And(dst.template ReinterpretCast<int16_t>(), a.template ReinterpretCast<int16_t>(),
                 b.template ReinterpretCast<int16_t>(), count * 2);
}
__aicore__ inline void OrInt(const TileInt& dst, const TileInt& a, const TileInt& b,
                             uint32_t count) {
    AscendC::Or(dst.template ReinterpretCast<int16_t>(), a.template ReinterpretCast<int16_t>(),
                b.template ReinterpretCast<int16_t>(), count * 2);
}

// dst = dst ^ b: what is in one of them less what is in both.
__aicore__ inline void XorInt(const TileInt& dst, const TileInt& b, const TileInt& t0,
                              uint32_t count) {
    AndInt(t0, dst, b, count);
    VectorBarrier();
    OrInt(dst, dst, b, count);
    VectorBarrier();
    AscendC::Sub(dst, dst, t0, count);
    VectorBarrier();
}

// high, x = the two words of x * kFactor, unsigned.
template <uint32_t kFactor>
__aicore__ inline void MultiplyWide(const TileInt& high, const TileInt& x, const TileInt& t0,
                                    const TileInt& t1, const TileInt& t2, uint32_t count) {
    constexpr int32_t kLow = static_cast<int32_t>(kFactor & 0xFFFFU);
    constexpr int32_t kHigh = static_cast<int32_t>(kFactor >> 16U);
    ShiftRightLogical(t0, x, 16, count);
    AscendC::ShiftLeft(t1, x, static_cast<int32_t>(16), static_cast<int32_t>(count));
    VectorBarrier();
    ShiftRightLogical(t1, t1, 16, count);
    AscendC::Muls(x, x, static_cast<int32_t>(kFactor), count);
    AscendC::Muls(t2, t0, kLow, count);
    VectorBarrier();
    AscendC::Muls(high, t1, kLow, count);
    AscendC::Muls(t1, t1, kHigh, count);
    AscendC::Muls(t0, t0, kHigh, count);
    VectorBarrier();
    // No sum leaves 32 bits: 65535 * 65535 + 65535 does not.
    ShiftRightLogical(high, high, 16, count);
    VectorBarrier();
    AscendC::Add(t2, t2, high, count);
    VectorBarrier();
    AscendC::ShiftLeft(high, t2, static_cast<int32_t>(16), static_cast<int32_t>(count));
    ShiftRightLogical(t2, t2, 16, count);
    VectorBarrier();
    ShiftRightLogical(high, high, 16, count);
    AscendC::Add(t0, t0, t2, count);
    VectorBarrier();
    AscendC::Add(t1, t1, high, count);
    VectorBarrier();
    ShiftRightLogical(t1, t1, 16, count);
    VectorBarrier();
    AscendC::Add(high, t0, t1, count);
    VectorBarrier();
}

// dst = dst ^ other ^ key.
__aicore__ inline void MixKey(const TileInt& dst, const TileInt& other, uint32_t key,
                              const TileInt& t0, const TileInt& t1, uint32_t count) {
    AscendC::Duplicate(t1, static_cast<int32_t>(key), count);
    XorInt(dst, other, t0, count);
    XorInt(dst, t1, t0, count);
}

// The four words of the counters in c0 to c3, in ten rounds. h0, h1 and the t are scratch; the words
// end up in the tiles that the references name.
__aicore__ inline void PhiloxRounds(TileInt& c0, TileInt& c1, TileInt& c2, TileInt& c3, TileInt& h0,
                                    TileInt& h1, uint32_t key0, uint32_t key1, const TileInt& t0,
                                    const TileInt& t1, const TileInt& t2, uint32_t count) {
    constexpr int32_t kRounds = 10;
    for (int32_t round = 0; round < kRounds; ++round) {
        MultiplyWide<0xD2511F53U>(h0, c0, t0, t1, t2, count);
        MultiplyWide<0xCD9E8D57U>(h1, c2, t0, t1, t2, count);
        MixKey(h1, c1, key0, t0, t1, count);
        MixKey(h0, c3, key1, t0, t1, count);
        const TileInt low0 = c0;
        const TileInt low1 = c2;
        const TileInt free0 = c1;
        const TileInt free1 = c3;
        c0 = h1;
        c1 = low1;
        c2 = h0;
        c3 = low0;
        h0 = free0;
        h1 = free1;
        key0 += 0x9E3779B9U;
        key1 += 0xBB67AE85U;
    }
}

// dst = word index % 4 of the block whose counter is index / 4 in the low 64 bits and the offset in
// the high ones, under the seed as the key.
__aicore__ inline void Philox(const TileInt& dst, const TileInt& index, int32_t seedLow,
                              int32_t seedHigh, int32_t offsetLow, int32_t offsetHigh, TileInt c0,
                              TileInt c1, TileInt c2, TileInt c3, TileInt h0, TileInt h1,
                              const TileInt& t0, const TileInt& t1, const MaskTile& mask,
                              uint32_t count) {
    ShiftRightLogical(c0, index, 2, count);
    AscendC::Duplicate(c1, static_cast<int32_t>(0), count);
    AscendC::Duplicate(c2, offsetLow, count);
    AscendC::Duplicate(c3, offsetHigh, count);
    VectorBarrier();
    PhiloxRounds(c0, c1, c2, c3, h0, h1, static_cast<uint32_t>(seedLow),
                 static_cast<uint32_t>(seedHigh), t0, t1, dst, count);
    AscendC::ShiftLeft(t0, index, static_cast<int32_t>(31), static_cast<int32_t>(count));
    ShiftRightLogical(t1, index, 1, count);
    VectorBarrier();
    AscendC::CompareScalar(mask, t0, static_cast<int32_t>(0), CMPMODE::EQ, count);
    AscendC::ShiftLeft(t1, t1, static_cast<int32_t>(31), static_cast<int32_t>(count));
    VectorBarrier();
    SelectInt(c0, mask, c0, c1, count);
    SelectInt(c2, mask, c2, c3, count);
    VectorBarrier();
    AscendC::CompareScalar(mask, t1, static_cast<int32_t>(0), CMPMODE::EQ, count);
    VectorBarrier();
    SelectInt(dst, mask, c0, c2, count);
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_PHILOX_H
