// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Scalar types of the device: half, bfloat16_t, int4b_t and their conversions (round to nearest
// even). Arithmetic on the scalar unit is done in float and rounded at the store.
#ifndef ASCENDC_EMU_TYPES_H
#define ASCENDC_EMU_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "ascendc_emu/record.h"

namespace ascendc_emu {

template <typename To, typename From>
inline To BitCast(const From& from) {
    static_assert(sizeof(To) == sizeof(From), "BitCast needs equal sizes");
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}

#if defined(__F16C__)
// The instructions by their builtins: <immintrin.h> would double the compile time of a kernel.
using V4Float = float __attribute__((vector_size(16)));
using V8Short = short __attribute__((vector_size(16)));
#endif

// float -> IEEE half bits, round to nearest even; branch-light so that loops vectorise.
inline uint16_t FloatToHalfBits(float value) {
#if defined(__F16C__)
    const V4Float v = {value, 0.0f, 0.0f, 0.0f};
    const V8Short h = __builtin_ia32_vcvtps2ph(v, 0);
    return static_cast<uint16_t>(h[0]);
#elif defined(__ARM_FP16_FORMAT_IEEE)
    return BitCast<uint16_t>(static_cast<__fp16>(value));
#else
    const uint32_t bits = BitCast<uint32_t>(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t mag = bits & 0x7fffffffu;
    if (mag > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((mag >> 13) & 0x3ffu));
    if (mag >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
    if (mag < 0x38800000u) {
        // Subnormal half: adding 0.5 aligns the mantissa so that the FPU rounds at 2^-24.
        const float shifted = BitCast<float>(mag) + 0.5f;
        return static_cast<uint16_t>(sign | (BitCast<uint32_t>(shifted) - 0x3f000000u));
    }
    const uint32_t odd = (mag >> 13) & 1u;
    return static_cast<uint16_t>(sign | ((mag - 0x38000000u + 0xfffu + odd) >> 13));
#endif
}

inline float HalfBitsToFloat(uint16_t half) {
#if defined(__F16C__)
    const V8Short h = {static_cast<short>(half), 0, 0, 0, 0, 0, 0, 0};
    const V4Float v = __builtin_ia32_vcvtph2ps(h);
    return v[0];
#elif defined(__ARM_FP16_FORMAT_IEEE)
    return static_cast<float>(BitCast<__fp16>(half));
#else
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
    const uint32_t mag = half & 0x7fffu;
    if (mag >= 0x7c00u) return BitCast<float>(sign | 0x7f800000u | ((mag & 0x3ffu) << 13));
    if (mag < 0x400u) {
        const float f = static_cast<float>(mag) * 5.9604644775390625e-8f;  // 2^-24
        return BitCast<float>(sign | BitCast<uint32_t>(f));
    }
    return BitCast<float>(sign | ((mag << 13) + 0x38000000u));
#endif
}

// The same in arithmetic, usable in constant expressions.
constexpr uint16_t ConstHalfBits(double v) {
    uint16_t sign = 0;
    if (v < 0) {
        sign = 0x8000;
        v = -v;
    }
    if (v != v) return 0x7e00;
    if (v == 0) return sign;
    if (v >= 65520.0) return static_cast<uint16_t>(sign | 0x7c00);
    int e = 0;
    while (v >= 2.0) {
        v /= 2;
        ++e;
    }
    while (v < 1.0 && e > -14) {
        v *= 2;
        --e;
    }
    const double scaled = v * 1024.0;
    uint32_t m = static_cast<uint32_t>(scaled);
    const double rest = scaled - m;
    if (rest > 0.5 || (rest == 0.5 && (m & 1u))) ++m;
    const uint32_t biased = v < 1.0 ? 0u : static_cast<uint32_t>(e + 15);
    // A carry out of the mantissa walks into the exponent, as it should.
    return static_cast<uint16_t>(sign + (biased == 0 ? m : (biased << 10) + (m - 1024u)));
}

constexpr float ConstHalfToFloat(uint16_t h) {
    const int e = (h >> 10) & 31;
    const int m = h & 1023;
    float v = e == 0 ? static_cast<float>(m) : static_cast<float>(m + 1024);
    if (e == 31) v = m != 0 ? __builtin_nanf("") : __builtin_inff();
    if (e != 31) {
        for (int i = e == 0 ? 1 : e; i < 25; ++i) v /= 2;
        for (int i = 25; i < e; ++i) v *= 2;
    }
    return (h & 0x8000) != 0 ? -v : v;
}

inline uint16_t FloatToBf16Bits(float value) {
    const uint32_t bits = BitCast<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t nan = (bits >> 16) | 0x40u;
    return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

inline float Bf16BitsToFloat(uint16_t b) { return BitCast<float>(static_cast<uint32_t>(b) << 16); }

// Constant-expression float -> bfloat16 (finite values).
constexpr uint16_t ConstBf16Bits(double v) {
    uint16_t sign = 0;
    if (v < 0) {
        sign = 0x8000;
        v = -v;
    }
    if (v != v) return 0x7fc0;
    if (v == 0) return sign;
    if (v > 3.3961775292304957e38) return static_cast<uint16_t>(sign | 0x7f80);
    int e = 0;
    while (v >= 2.0) {
        v /= 2;
        ++e;
    }
    while (v < 1.0 && e > -126) {
        v *= 2;
        --e;
    }
    const double scaled = v * 128.0;
    uint32_t m = static_cast<uint32_t>(scaled);
    const double rest = scaled - m;
    if (rest > 0.5 || (rest == 0.5 && (m & 1u))) ++m;
    const uint32_t biased = v < 1.0 ? 0u : static_cast<uint32_t>(e + 127);
    return static_cast<uint16_t>(sign + (biased == 0 ? m : (biased << 7) + (m - 128u)));
}

constexpr float ConstBf16ToFloat(uint16_t b) {
    const int e = (b >> 7) & 255;
    const int m = b & 127;
    float v = e == 0 ? static_cast<float>(m) : static_cast<float>(m + 128);
    if (e == 255) v = m != 0 ? __builtin_nanf("") : __builtin_inff();
    if (e != 255) {
        for (int i = e == 0 ? 1 : e; i < 134; ++i) v /= 2;
        for (int i = 134; i < e; ++i) v *= 2;
    }
    return (b & 0x8000) != 0 ? -v : v;
}

}  // namespace ascendc_emu

// IEEE binary16.
struct half {
    uint16_t bits;

    half() = default;
    template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
    constexpr half(T value)
        : bits(__builtin_is_constant_evaluated()
                   ? ascendc_emu::ConstHalfBits(static_cast<double>(value))
                   : ascendc_emu::FloatToHalfBits(static_cast<float>(value))) {}
    constexpr operator float() const {
        return __builtin_is_constant_evaluated() ? ascendc_emu::ConstHalfToFloat(bits)
                                                 : ascendc_emu::HalfBitsToFloat(bits);
    }
    half& operator+=(float v) { return *this = half(float(*this) + v); }
    half& operator-=(float v) { return *this = half(float(*this) - v); }
    half& operator*=(float v) { return *this = half(float(*this) * v); }
    half& operator/=(float v) { return *this = half(float(*this) / v); }
};

// bfloat16: the upper half of an IEEE float.
struct bfloat16_t {
    uint16_t bits;

    bfloat16_t() = default;
    template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
    constexpr bfloat16_t(T value)
        : bits(__builtin_is_constant_evaluated()
                   ? ascendc_emu::ConstBf16Bits(static_cast<double>(value))
                   : ascendc_emu::FloatToBf16Bits(static_cast<float>(value))) {}
    bfloat16_t(half value) : bfloat16_t(float(value)) {}
    constexpr operator float() const {
        return __builtin_is_constant_evaluated() ? ascendc_emu::ConstBf16ToFloat(bits)
                                                 : ascendc_emu::Bf16BitsToFloat(bits);
    }
    bfloat16_t& operator+=(float v) { return *this = bfloat16_t(float(*this) + v); }
    bfloat16_t& operator-=(float v) { return *this = bfloat16_t(float(*this) - v); }
    bfloat16_t& operator*=(float v) { return *this = bfloat16_t(float(*this) * v); }
    bfloat16_t& operator/=(float v) { return *this = bfloat16_t(float(*this) / v); }
};

using float16_t = half;
using float32_t = float;

// 8-bit floats exist as names only: arch 2201 has no instruction for them.
struct fp8_e4m3fn_t {
    uint8_t bits;
};
struct fp8_e5m2_t {
    uint8_t bits;
};
struct fp8_e8m0_t {
    uint8_t bits;
};
struct hifloat8_t {
    uint8_t bits;
};
struct fp4x2_e2m1_t {
    uint8_t bits;
};
struct fp4x2_e1m2_t {
    uint8_t bits;
};
namespace AscendC {
using ::fp4x2_e1m2_t;
using ::fp4x2_e2m1_t;
using ::fp8_e4m3fn_t;
using ::fp8_e5m2_t;
using ::fp8_e8m0_t;
using ::hifloat8_t;
}  // namespace AscendC

namespace AscendC {
// Two values of 4 bits share a byte, the lower nibble first; sizeof is 1, element counts are not.
struct int4b_t {
    int8_t storage;
};
using int4x2_t = int4b_t;

// Bits of one element, where sizeof cannot tell: types of 4 bits.
template <typename T>
struct SizeOfBits {
    static constexpr size_t value = sizeof(T) * 8;
};
template <>
struct SizeOfBits<int4b_t> {
    static constexpr size_t value = 4;
};
}  // namespace AscendC

namespace ascendc_emu {

template <typename T>
struct DTypeOfImpl {
    static constexpr DType value = DType::kNone;
};
#define OPGEN_DTYPE(type, tag)                     \
    template <>                                    \
    struct DTypeOfImpl<type> {                     \
        static constexpr DType value = DType::tag; \
    };
OPGEN_DTYPE(half, kF16)
OPGEN_DTYPE(bfloat16_t, kBf16)
OPGEN_DTYPE(float, kF32)
OPGEN_DTYPE(double, kF64)
OPGEN_DTYPE(AscendC::int4b_t, kI4)
OPGEN_DTYPE(int8_t, kI8)
OPGEN_DTYPE(char, kI8)
OPGEN_DTYPE(uint8_t, kU8)
OPGEN_DTYPE(int16_t, kI16)
OPGEN_DTYPE(uint16_t, kU16)
OPGEN_DTYPE(int32_t, kI32)
OPGEN_DTYPE(uint32_t, kU32)
OPGEN_DTYPE(long, kI64)
OPGEN_DTYPE(unsigned long, kU64)
OPGEN_DTYPE(long long, kI64)
OPGEN_DTYPE(unsigned long long, kU64)
OPGEN_DTYPE(bool, kBool)
OPGEN_DTYPE(fp8_e4m3fn_t, kF8)
OPGEN_DTYPE(fp8_e5m2_t, kF8)
#undef OPGEN_DTYPE

template <typename T>
inline constexpr DType kDTypeOf = DTypeOfImpl<std::remove_cv_t<T>>::value;

// Bytes of n elements of T.
template <typename T>
constexpr uint64_t BytesOf(uint64_t n) {
    if constexpr (kDTypeOf<T> == DType::kI4) return n / 2;
    return n * sizeof(T);
}
// Elements of T in n bytes.
template <typename T>
constexpr uint64_t ElementsIn(uint64_t bytes) {
    if constexpr (kDTypeOf<T> == DType::kI4) return bytes * 2;
    return bytes / sizeof(T);
}

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_TYPES_H
