// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Integers that floats do not hold, as keys of the sort instructions: digits of 16 bits, which are
// sorted by from the lowest to the highest, each sort in the order of the one before. The words of
// 32 bits of such integers lie in planes, all low words before all high ones, as instructions
// compute with words only.
#ifndef OPGEN_ORDER_DIGITS_H
#define OPGEN_ORDER_DIGITS_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/wide_words.h"

namespace opgen {

// Digits that elements of T are sorted by; 0: floats hold them.
template <typename T>
constexpr uint32_t kDigitsOf = 0;
template <>
constexpr uint32_t kDigitsOf<int32_t> = 2;
template <>
constexpr uint32_t kDigitsOf<int64_t> = 4;

constexpr uint32_t kDigitsOfWord = 2;

// Planes of elements that are sorted by so many digits.
template <uint32_t kDigits>
constexpr uint32_t kPlanesOf = kDigits <= kDigitsOfWord ? 1 : kDigits / kDigitsOfWord;

// Copy the words of a plane from elements of T.
template <typename T>
__aicore__ inline void TakePlane(const LocalTensor<int32_t>& dst, const LocalTensor<T>& src,
                                 uint32_t plane, uint32_t count) {
    if constexpr (Same<T, int64_t>::value) {
        if (plane == 0) {
            SplitWords<kLowWord>(dst, src, count);
        } else {
            SplitWords<kHighWord>(dst, src, count);
        }
    } else {
        AscendC::Adds(dst, src, 0, count);
    }
}

// One digit of `count`, 0 being the lowest.
struct Digit {
    uint32_t number = 0;
    uint32_t count = 0;

    __aicore__ inline uint32_t Plane() const { return number / kDigitsOfWord; }
    __aicore__ inline bool Upper() const { return number % kDigitsOfWord != 0; }
    __aicore__ inline bool Signed() const { return number + 1 == count; }
};

// A digit of integers as floats; `words` are those of the plane that has the digit.
__aicore__ inline void DigitKeys(const LocalTensor<float>& keys, const LocalTensor<int32_t>& words,
                                 const Digit& digit, uint32_t count) {
    constexpr uint32_t kBits = 16;
    const LocalTensor<int32_t> whole = keys.template ReinterpretCast<int32_t>();
    const LocalTensor<uint32_t> bits = keys.template ReinterpretCast<uint32_t>();
    LocalTensor<uint32_t> source = words.template ReinterpretCast<uint32_t>();
    const int32_t calculated = static_cast<int32_t>(count);
    if (digit.Signed()) {
        AscendC::ShiftRight(whole, words, static_cast<int32_t>(kBits), calculated);
    } else {
        if (!digit.Upper()) {
            AscendC::ShiftLeft(bits, source, kBits, calculated);
            VectorBarrier();
            source = bits;
        }
        AscendC::ShiftRight(bits, source, kBits, calculated);
    }
    VectorBarrier();
    AscendC::Cast(keys, whole, RoundMode::CAST_RINT, count);
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_ORDER_DIGITS_H
