// SPDX-License-Identifier: Apache-2.0
// 16-bit floats on the host, in Ops::Base.
#ifndef OPGEN_EMULATION_OP_COMMON_FP16_H
#define OPGEN_EMULATION_OP_COMMON_FP16_H

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "opdev/fp16_t.h"

namespace Ops {
namespace Base {
// Ops::Base::fp16_t: a half on the host, as tiling functions read it from tensors. Arithmetic is
// float arithmetic, rounded to nearest even when it is stored.
struct fp16_t {
    uint16_t val;  // the bits

    fp16_t() : val(0) {}
    // A uint16_t is taken as the bits, any other number as a value.
    fp16_t(const uint16_t &bits) : val(bits) {}
    template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value &&
                                                      !std::is_same<T, uint16_t>::value>>
    fp16_t(const T &value) : val(Round(static_cast<float>(value))) {}

    operator float() const { return Widen(val); }
    float toFloat() const { return Widen(val); }
    double toDouble() const { return Widen(val); }
    fp16_t &operator+=(const fp16_t &other) { return *this = fp16_t(toFloat() + other.toFloat()); }
    fp16_t &operator-=(const fp16_t &other) { return *this = fp16_t(toFloat() - other.toFloat()); }
    fp16_t &operator*=(const fp16_t &other) { return *this = fp16_t(toFloat() * other.toFloat()); }
    fp16_t &operator/=(const fp16_t &other) { return *this = fp16_t(toFloat() / other.toFloat()); }

 private:
    static float FromBits(uint32_t bits) {
        float value;
        std::memcpy(&value, &bits, sizeof(value));
        return value;
    }
    static float Widen(uint16_t half) {
        const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
        const uint32_t exponent = (half >> 10) & 0x1FU;
        const uint32_t mantissa = half & 0x3FFU;
        if (exponent == 0x1FU) {
            return FromBits(sign | 0x7F800000U | (mantissa << 13));
        }
        if (exponent != 0) {
            return FromBits(sign | ((exponent + 112) << 23) | (mantissa << 13));
        }
        const float tiny = static_cast<float>(mantissa) * 5.9604644775390625e-8F;  // 2^-24
        return sign == 0 ? tiny : -tiny;
    }
    static uint16_t Round(float value) {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof(bits));
        const uint32_t sign = (bits >> 16) & 0x8000U;
        const uint32_t magnitude = bits & 0x7FFFFFFFU;
        if (magnitude > 0x7F800000U) {
            return static_cast<uint16_t>(sign | 0x7E00U);
        }
        if (magnitude >= 0x477FF000U) {  // 65520: rounds to infinity
            return static_cast<uint16_t>(sign | 0x7C00U);
        }
        if (magnitude < 0x38800000U) {  // below 2^-14: multiples of 2^-24
            // Adding 0.5 puts the units of 2^-24 into the last bits, rounded to nearest even.
            const float shifted = FromBits(magnitude) + 0.5F;
            uint32_t rounded;
            std::memcpy(&rounded, &shifted, sizeof(rounded));
            return static_cast<uint16_t>(sign | (rounded - 0x3F000000U));
        }
        const uint32_t odd = (magnitude >> 13) & 1U;
        return static_cast<uint16_t>(sign | ((magnitude - 0x38000000U + 0xFFFU + odd) >> 13));
    }
};
static_assert(sizeof(fp16_t) == sizeof(uint16_t), "laid over tensor memory");

// Ops::Base::bfloat16: the data type on the host.
using bfloat16 = ::op::bfloat16;
}  // namespace Base
}  // namespace Ops

#endif  // OPGEN_EMULATION_OP_COMMON_FP16_H
