// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on floats: blocks of 16-bit ones to float and back, with SIMD where the CPU has it,
// and elementary functions as straight-line code, so that the compiler turns loops over them into
// SIMD. Errors are at most 1 ulp for Exp and Log over the whole range
// (tests/emulation/test_math.py).
#ifndef OPGEN_VECTOR_FLOATS_H
#define OPGEN_VECTOR_FLOATS_H

#include <cmath>
#include <cstdint>
#include <limits>

#if defined(__F16C__) && defined(__AVX__)
#include <immintrin.h>
#endif

#include "ascendc_emu/types.h"

namespace ascendc_emu {

inline void Load(float* to, const float* from, uint64_t n) { memcpy(to, from, n * sizeof(float)); }
inline void Store(float* to, const float* from, uint64_t n) { memcpy(to, from, n * sizeof(float)); }

inline void Load(float* to, const half* from, uint64_t n) {
    uint64_t i = 0;
#if defined(__F16C__) && defined(__AVX__)
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(
            to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
    }
#endif
    for (; i < n; ++i) to[i] = HalfBitsToFloat(from[i].bits);
}

inline void Store(half* to, const float* from, uint64_t n) {
    uint64_t i = 0;
#if defined(__F16C__) && defined(__AVX__)
    for (; i + 8 <= n; i += 8) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), 0));
    }
#endif
    for (; i < n; ++i) to[i].bits = FloatToHalfBits(from[i]);
}

inline void Load(float* to, const bfloat16_t* from, uint64_t n) {
#pragma GCC ivdep
    for (uint64_t i = 0; i < n; ++i) to[i] = Bf16BitsToFloat(from[i].bits);
}

inline void Store(bfloat16_t* to, const float* from, uint64_t n) {
#pragma GCC ivdep
    for (uint64_t i = 0; i < n; ++i) to[i].bits = FloatToBf16Bits(from[i]);
}

// Elements converted at a time: three float buffers stay in L1.
constexpr uint64_t kChunk = 1024;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Nearest integer, ties to even, for |x| < 2^22; vectorises without SSE4.1.
inline float RoundSmall(float x) {
    constexpr float magic = 12582912.0f;  // 1.5 * 2^23
    return (x + magic) - magic;
}

inline float Power2(int32_t n) { return BitCast<float>(static_cast<uint32_t>(n + 127) << 23); }

inline float ExpF(float x) {
    // exp(x) = 2^n exp(r), |r| <= ln2 / 2. The clamp keeps n in range; its results are 0 and inf.
    float c = x < -104.0f ? -104.0f : x;
    c = c > 89.0f ? 89.0f : c;
    const float n = RoundSmall(c * 1.44269504f);
    float r = c - n * 0.693145752f;  // ln2 in two parts: the first has 15 significant bits
    r = r - n * 1.42860677e-6f;
    float p = 1.98412698e-4f;
    p = p * r + 1.38888889e-3f;
    p = p * r + 8.33333333e-3f;
    p = p * r + 4.16666667e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 0.5f;
    // 1 + (r + r^2 p): the large term is added last.
    const float e = 1.0f + (r + r * r * p);
    // Two steps, so that results in the subnormal range are rounded once and none overflows early.
    const int32_t k = static_cast<int32_t>(n);
    const int32_t half = k >> 1;
    const float y = e * Power2(half) * Power2(k - half);
    return x != x ? x : y;
}

inline float LogF(float x) {
    // x = m 2^e with m in [sqrt(1/2), sqrt(2)).
    const bool tiny = x < 1.17549435e-38f;
    const float scaled = tiny ? x * 8388608.0f : x;
    const uint32_t bits = BitCast<uint32_t>(scaled);
    const uint32_t shifted = bits - 0x3f3504f3u;
    const int32_t e = static_cast<int32_t>(shifted) >> 23;
    const float m = BitCast<float>((shifted & 0x007fffffu) + 0x3f3504f3u);
    const float f = m - 1.0f;
    const float s = f / (2.0f + f);
    const float z = s * s;
    // log(1 + f) = f - f^2/2 + s (f^2/2 + R(z))
    float r = 0.24279078841f;
    r = r * z + 0.28498786688f;
    r = r * z + 0.40000972152f;
    r = r * z + 0.66666662693f;
    r = r * z;
    const float h = 0.5f * f * f;
    const float k = static_cast<float>(tiny ? e - 23 : e);
    const float y = k * 0.693138123f + (f - (h - (s * (h + r) + k * 9.05800061e-6f)));
    float out = x == kInfinity ? kInfinity : y;
    out = x == 0.0f ? -kInfinity : out;
    out = x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : out;
    return x != x ? x : out;
}

// NaN if either is.
inline float MaxF(float a, float b) { return (a > b || a != a) ? a : b; }
inline float MinF(float a, float b) { return (a < b || a != a) ? a : b; }

}  // namespace ascendc_emu
#endif  // OPGEN_VECTOR_FLOATS_H
