// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Blocks of 16-bit floats to float and back, with SIMD where the CPU has it.
#ifndef OPGEN_VECTOR_CONVERT_H
#define OPGEN_VECTOR_CONVERT_H

#include <cstdint>

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

}  // namespace ascendc_emu
#endif  // OPGEN_VECTOR_CONVERT_H
