// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Elements of any type the cube takes, as the numbers it multiplies: float, or int64 for integers.
#ifndef SRC_CUBE_UNPACK_H
#define SRC_CUBE_UNPACK_H

#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "ascendc_emu/types.h"
#include "vector/convert.h"

namespace ascendc_emu {

// out[count] <- elements first, first + 1, ... of packed data.
template <typename Out>
void UnpackRow(Out* out, const uint8_t* data, uint64_t first, uint32_t count, DType type) {
    auto copy = [&](auto element) {
        using T = decltype(element);
        const T* in = reinterpret_cast<const T*>(data) + first;
        if constexpr (std::is_same<Out, float>::value &&
                      (std::is_same<T, half>::value || std::is_same<T, bfloat16_t>::value)) {
            Load(out, in, count);
        } else {
            for (uint32_t i = 0; i < count; ++i)
                out[i] = static_cast<Out>(static_cast<float>(in[i]));
        }
    };
    auto integers = [&](auto element) {
        const auto* in = reinterpret_cast<const decltype(element)*>(data) + first;
        for (uint32_t i = 0; i < count; ++i) out[i] = static_cast<Out>(in[i]);
    };
    switch (type) {
        case DType::kF16:
            return copy(half());
        case DType::kBf16:
            return copy(bfloat16_t());
        case DType::kF32:
            return copy(float());
        case DType::kI8:
            return integers(int8_t());
        case DType::kU8:
            return integers(uint8_t());
        case DType::kI32:
            return integers(int32_t());
        case DType::kI4:
            for (uint32_t i = 0; i < count; ++i) {
                const uint64_t at = first + i;
                const int32_t v = (at & 1) ? data[at / 2] >> 4 : data[at / 2] & 15;
                out[i] = static_cast<Out>(v >= 8 ? v - 16 : v);
            }
            return;
        default:
            for (uint32_t i = 0; i < count; ++i) out[i] = Out(0);
    }
}

// FP32 numbers rounded to HF32 (8 bits exponent, 11 bits mantissa): nearest even, or towards zero.
template <typename Out>
void RoundToHf32(Out* values, size_t count, bool towardsZero) {
    for (size_t i = 0; i < count; ++i) {
        Out& v = values[i];
        uint32_t bits = BitCast<uint32_t>(static_cast<float>(v));
        if ((bits & 0x7f800000u) == 0x7f800000u) continue;
        if (!towardsZero) bits += 0x7ffu + ((bits >> 12) & 1u);
        v = static_cast<Out>(BitCast<float>(bits & ~0xfffu));
    }
}

}  // namespace ascendc_emu
#endif  // SRC_CUBE_UNPACK_H
