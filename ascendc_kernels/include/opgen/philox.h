// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Random bits by Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3) on
// int32 tiles (conventions: float_tile.h). Arch 2201 multiplies 32 bits into the low 32 of the
// product: the high ones are put together from products of 16-bit halves. And and Or take 16-bit
// words.
#ifndef OPGEN_PHILOX_H
#define OPGEN_PHILOX_H

#include "kernel_operator.h"
#include "opgen/index.h"
#include "opgen/int_division.h"

namespace opgen {

// Words of the key and of the high half of the counter.
struct PhiloxKey {
    int32_t seedLow;
    int32_t seedHigh;
    int32_t offsetLow;
    int32_t offsetHigh;
};

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

// The tiles of ten rounds, each of a quarter of a tile's length. A round gives every word another
// tile, and three of them give it back: after ten the words lie behind one another from word(0) on.
struct PhiloxTiles {
    uint32_t length = 0;
    TileInt counter[4];
    TileInt high[2];
    TileInt t0;
    TileInt t1;
    TileInt t2;

    // Place them in two tiles of four times the length and in one of the length.
    __aicore__ inline void Init(const TileInt& first, const TileInt& second, const TileInt& third,
                                uint32_t quarter) {
        length = quarter;
        high[1] = first;
        counter[2] = first[quarter];
        high[0] = first[2 * quarter];
        counter[0] = first[3 * quarter];
        counter[1] = second;
        counter[3] = second[quarter];
        t0 = second[2 * quarter];
        t1 = second[3 * quarter];
        t2 = third;
    }
    __aicore__ inline void Turn() {
        const TileInt low0 = counter[0];
        const TileInt low1 = counter[2];
        counter[0] = high[1];
        high[1] = counter[3];
        counter[2] = high[0];
        high[0] = counter[1];
        counter[1] = low1;
        counter[3] = low0;
    }
};

// Turn the low words of the counters in counter[0] into random words; the second ones are 0.
__aicore__ inline void PhiloxRounds(PhiloxTiles& tiles, const PhiloxKey& key, uint32_t count) {
    constexpr int32_t kRounds = 10;
    AscendC::Duplicate(tiles.counter[1], static_cast<int32_t>(0), count);
    AscendC::Duplicate(tiles.counter[2], key.offsetLow, count);
    AscendC::Duplicate(tiles.counter[3], key.offsetHigh, count);
    VectorBarrier();
    uint32_t key0 = static_cast<uint32_t>(key.seedLow);
    uint32_t key1 = static_cast<uint32_t>(key.seedHigh);
    for (int32_t round = 0; round < kRounds; ++round) {
        MultiplyWide<0xD2511F53U>(tiles.high[0], tiles.counter[0], tiles.t0, tiles.t1, tiles.t2,
                                  count);
        MultiplyWide<0xCD9E8D57U>(tiles.high[1], tiles.counter[2], tiles.t0, tiles.t1, tiles.t2,
                                  count);
        MixKey(tiles.high[1], tiles.counter[1], key0, tiles.t0, tiles.t1, count);
        MixKey(tiles.high[0], tiles.counter[3], key1, tiles.t0, tiles.t1, count);
        tiles.Turn();
        key0 += 0x9E3779B9U;
        key1 += 0xBB67AE85U;
    }
}

// dst = bit 31 - shift of index ? b : a, by the difference; b and t0 are overwritten.
__aicore__ inline void ChooseByBit(const TileInt& dst, const TileInt& a, const TileInt& b,
                                   const TileInt& index, int32_t shift, const TileInt& t0,
                                   uint32_t count) {
    const int32_t length = static_cast<int32_t>(count);
    AscendC::ShiftLeft(t0, index, shift, length);
    AscendC::Sub(b, b, a, count);
    VectorBarrier();
    AscendC::ShiftRight(t0, t0, static_cast<int32_t>(31), length);  // all bits are that bit
    VectorBarrier();
    AndInt(b, b, t0, count);
    VectorBarrier();
    AscendC::Add(dst, a, b, count);
    VectorBarrier();
}

// Length of the tiles of PhiloxTiles for so many elements: a quarter, in whole blocks.
__aicore__ inline uint32_t PhiloxQuarter(uint32_t count) {
    constexpr uint32_t kPerBlock = kBlockBytes / sizeof(int32_t);
    return (count + 4 * kPerBlock - 1) / (4 * kPerBlock) * kPerBlock;
}

// dst = word index % 4 of the block whose counter is index / 4 in the low 64 bits and the offset in
// the high ones, under the seed as the key. Every element makes its whole block.
__aicore__ inline void Philox(const TileInt& dst, const TileInt& index, int32_t seedLow,
                              int32_t seedHigh, int32_t offsetLow, int32_t offsetHigh,
                              const TileInt& first, const TileInt& second, uint32_t count) {
    const PhiloxKey key{seedLow, seedHigh, offsetLow, offsetHigh};
    const uint32_t quarter = PhiloxQuarter(count);
    for (uint32_t done = 0; done < count; done += quarter) {
        const uint32_t now = count - done < quarter ? count - done : quarter;
        const TileInt from = index[done];
        const TileInt to = dst[done];
        PhiloxTiles tiles;
        tiles.Init(first, second, to, quarter);
        ShiftRightLogical(tiles.counter[0], from, 2, now);
        PhiloxRounds(tiles, key, now);
        ChooseByBit(tiles.counter[0], tiles.counter[0], tiles.counter[1], from, 31, tiles.t0, now);
        ChooseByBit(tiles.counter[2], tiles.counter[2], tiles.counter[3], from, 31, tiles.t0, now);
        ChooseByBit(to, tiles.counter[0], tiles.counter[2], from, 30, tiles.t0, now);
    }
}

// The same for indices that are counted. Where they follow one another from a whole block on, each
// block is made once, and its words are put beside one another. Else the indices are counted in the
// tile `index`.
template <bool kBroadcast>
__aicore__ inline void PhiloxCounted(const TileInt& dst, const TileInt& index, const Walk& walk,
                                     const Tile& part, int32_t seedLow, int32_t seedHigh,
                                     int32_t offsetLow, int32_t offsetHigh, const TileInt& first,
                                     const TileInt& second, uint32_t count) {
    int64_t start = static_cast<int64_t>(part.offset);
    bool follow = true;
    if constexpr (kBroadcast) {
        start = walk.At(part);
        follow = walk.stride[kOuterDims + 1] == 1 &&
                 (part.rows == 1 || walk.RowStride() == static_cast<int64_t>(part.pitch));
    }
    if (!follow || start % 4 != 0) {
        CountIndex<kBroadcast>(index, walk, part);
        if (count > part.count) {
            FillTail(index, part.count, static_cast<int32_t>(0));
        }
        Philox(dst, index, seedLow, seedHigh, offsetLow, offsetHigh, first, second, count);
        return;
    }
    const PhiloxKey key{seedLow, seedHigh, offsetLow, offsetHigh};
    const uint32_t quarter = PhiloxQuarter(count);
    PhiloxTiles tiles;
    tiles.Init(first, second, dst, quarter);
    AscendC::CreateVecIndex(tiles.counter[0], static_cast<int32_t>(start / 4), quarter);
    PhiloxRounds(tiles, key, quarter);
    // Element i is at i / 4 of the tile of word i % 4, in bytes.
    const int32_t length = static_cast<int32_t>(count);
    AscendC::CreateVecIndex(second, static_cast<int32_t>(0), count);
    VectorBarrier();
    ShiftRightLogical(dst, second, 2, count);
    VectorBarrier();
    AscendC::ShiftLeft(dst, dst, static_cast<int32_t>(2), length);
    VectorBarrier();
    AscendC::Sub(second, second, dst, count);
    VectorBarrier();
    AscendC::Muls(second, second, static_cast<int32_t>(quarter * sizeof(int32_t)), count);
    VectorBarrier();
    AscendC::Add(second, second, dst, count);
    VectorBarrier();
    AscendC::Gather(dst, first, second.template ReinterpretCast<uint32_t>(), 0U, count);
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_PHILOX_H
