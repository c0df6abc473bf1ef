// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Integers of 64 bits as two tiles of 32-bit words. The vector unit of arch 2201 moves and converts
// int64_t and does not compute with it. So the words of an operand are taken apart, instructions on
// int32_t compute with them, and the words of a result are joined again.
#ifndef OPGEN_WIDE_WORDS_H
#define OPGEN_WIDE_WORDS_H

#include "kernel_operator.h"
#include "opgen/int_division.h"
#include "opgen/operand.h"
#include "opgen/tile.h"

namespace opgen {

// Which word of a number; also the pattern of GatherMask that takes these words of a tile.
constexpr uint8_t kLowWord = 1;
constexpr uint8_t kHighWord = 2;

// dst[i] = a word of src[i].
template <uint8_t kWord>
__aicore__ inline void SplitWords(const TileInt& dst, const LocalTensor<int64_t>& src,
                                  uint32_t count) {
    uint64_t taken = 0;
    const AscendC::GatherMaskParams once{1, 1, 0, 0};
    AscendC::GatherMask(dst, src.template ReinterpretCast<int32_t>(), kWord, true, 2 * count, once,
                        taken);
    VectorBarrier();
}

// The words of an operand for every element of the tile; in a box they are expanded. `stage` is
// scratch of a whole tile.
template <bool kBroadcast, uint8_t kWord>
__aicore__ inline void WordsOfOperand(const TileInt& dst, const LocalTensor<int64_t>& tile,
                                      const Walk& walk, const Tile& part,
                                      const TileInt& stage = TileInt()) {
    if constexpr (kBroadcast) {
        if (!walk.ByRow() || !walk.ByCol()) {
            constexpr uint32_t kPerBlock = kSpreadLanes<int64_t>;
            const uint32_t rows = walk.ByRow() ? part.rows : 1;
            const uint32_t count = walk.ByCol() ? part.pitch : rows * kPerBlock;
            SplitWords<kWord>(stage, tile, count);
            BroadcastRows(dst, stage, part,
                          walk.ByRow() ? kPerBlock * sizeof(int32_t) / kBlockBytes : 0,
                          walk.ByCol() ? 1 : 0);
            VectorBarrier();
            return;
        }
        SplitWords<kWord>(dst, tile, part.rows * part.pitch);
    } else {
        SplitWords<kWord>(dst, tile, part.count);
    }
}

// Write src[i] to word 2 i + kOdd of dst, for the first `words` words of dst. `offsets` says where
// the words of dst come from, `base` bytes further.
template <bool kOdd>
__aicore__ inline void SpreadWords(const TileInt& dst, const TileInt& src,
                                   const LocalTensor<uint32_t>& offsets, uint32_t base,
                                   uint32_t words) {
    constexpr uint32_t kLanes = kRepeatBytes / sizeof(int32_t);
    constexpr uint32_t kMaxRepeat = 255;
    constexpr uint64_t kChosen = kOdd ? 0xaaaaaaaaaaaaaaaaULL : 0x5555555555555555ULL;
    for (uint32_t done = 0; done < words;) {
        const uint32_t whole = (words - done) / kLanes;
        const uint32_t repeats = whole < kMaxRepeat ? whole : kMaxRepeat;
        uint64_t mask[2] = {kChosen, 0};
        if (repeats == 0) {
            mask[0] &= (static_cast<uint64_t>(1) << (words - done)) - 1;
        }
        AscendC::Gather(dst[done], src, offsets[done], base, mask,
                        static_cast<uint8_t>(repeats == 0 ? 1 : repeats),
                        static_cast<uint16_t>(kRepeatBytes / kBlockBytes));
        done += (repeats == 0 ? 1 : repeats) * kLanes;
    }
}

// dst[i] = the number of two words. `offsets` is scratch of a tile.
__aicore__ inline void JoinWords(const LocalTensor<int64_t>& dst, const TileInt& low,
                                 const TileInt& high, const TileInt& offsets, uint32_t count) {
    // The words of half the numbers fill a tile.
    constexpr uint32_t kLanes = kRepeatBytes / sizeof(int32_t);
    const uint32_t half = (count + kLanes - 1) / kLanes * kLanes;
    AscendC::CreateVecIndex(offsets, static_cast<int32_t>(0), half);
    VectorBarrier();
    ShiftRightLogical(offsets, offsets, 1, half);
    VectorBarrier();
    AscendC::ShiftLeft(offsets, offsets, static_cast<int32_t>(2), static_cast<int32_t>(half));
    VectorBarrier();
    const LocalTensor<uint32_t> places = offsets.template ReinterpretCast<uint32_t>();
    const TileInt words = dst.template ReinterpretCast<int32_t>();
    for (uint32_t first = 0; first < 2 * count; first += half) {
        const uint32_t now = 2 * count - first < half ? 2 * count - first : half;
        const uint32_t base = first / 2 * static_cast<uint32_t>(sizeof(int32_t));
        SpreadWords<false>(words[first], low, places, base, now);
        SpreadWords<true>(words[first], high, places, base, now);
    }
    VectorBarrier();
}

// What the scalar unit makes of two numbers of 64 bits, as C++ does, with the wrapping of PyTorch.
// Division by zero gives 0.
constexpr int32_t kWideFloorQuotient = 0;
constexpr int32_t kWideQuotient = 1;
constexpr int32_t kWideFloorRest = 2;
constexpr int32_t kWideRest = 3;
constexpr int32_t kWideDivisor = 4;

// -a, which is a itself for the smallest number.
__aicore__ inline int64_t WideNegative(int64_t a) {
    return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
}

// a / b rounded toward zero, or its rest.
template <bool kRest>
__aicore__ inline int64_t WideDivided(int64_t a, int64_t b) {
    if (b == 0 || b == -1) {
        // neither is defined for all numbers in C++
        return kRest || b == 0 ? 0 : WideNegative(a);
    }
    return kRest ? a % b : a / b;
}

// The greatest common divisor by Euclid's algorithm.
__aicore__ inline int64_t WideDivisor(int64_t a, int64_t b) {
    int64_t rest = a < 0 ? WideNegative(a) : a;
    int64_t divisor = b < 0 ? WideNegative(b) : b;
    while (rest != 0) {
        const int64_t next = WideDivided<true>(divisor, rest);
        divisor = rest;
        rest = next;
    }
    return divisor;
}

template <int32_t kKind>
__aicore__ inline int64_t WideJoined(int64_t a, int64_t b) {
    if constexpr (kKind == kWideDivisor) {
        return WideDivisor(a, b);
    } else {
        constexpr bool kRest = kKind == kWideRest || kKind == kWideFloorRest;
        const int64_t rest = WideDivided<true>(a, b);
        const bool lower = rest != 0 && (rest < 0) != (b < 0);
        const int64_t result = kRest ? rest : WideDivided<false>(a, b);
        if constexpr (kKind == kWideFloorQuotient) {
            return lower ? result - 1 : result;
        } else if constexpr (kKind == kWideFloorRest) {
            return lower ? result + b : result;
        } else {
            return result;
        }
    }
}

__aicore__ inline int64_t WideNumber(const TileInt& low, const TileInt& high, uint32_t i) {
    const uint64_t upper = static_cast<uint32_t>(high.GetValue(i));
    return static_cast<int64_t>(upper << 32U | static_cast<uint32_t>(low.GetValue(i)));
}

// low, high = the words of what the scalar unit makes of a and b, an element at a time.
template <int32_t kKind>
__aicore__ inline void JoinByScalar(const TileInt& low, const TileInt& aLow, const TileInt& aHigh,
                                    const TileInt& bLow, const TileInt& bHigh, const TileInt& high,
                                    uint32_t count) {
    VectorBarrier();
    Order<AscendC::HardEvent::V_S>();
    for (uint32_t i = 0; i < count; ++i) {
        const int64_t result =
            WideJoined<kKind>(WideNumber(aLow, aHigh, i), WideNumber(bLow, bHigh, i));
        low.SetValue(i, static_cast<int32_t>(result));
        high.SetValue(i, static_cast<int32_t>(result >> 32U));
    }
    Order<AscendC::HardEvent::S_V>();
}

}  // namespace opgen

#endif  // OPGEN_WIDE_WORDS_H
