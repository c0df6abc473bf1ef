// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "cube/gemm.h"

#include <string.h>

#include <algorithm>

#if defined(__FMA__) && defined(__AVX__)
#include <immintrin.h>
#endif

namespace ascendc_emu {
namespace {

typedef float Vec __attribute__((vector_size(32)));
constexpr uint32_t kLanes = 8;
constexpr uint32_t kRows = 6;   // rows and vectors of C kept in registers: 12 accumulators of 16
constexpr uint32_t kVectors = 2;

inline Vec Load(const float* p)
{
    Vec v;
    memcpy(&v, p, sizeof(v));
    return v;
}
inline void Store(float* p, Vec v) { memcpy(p, &v, sizeof(v)); }

// x * y + sum; fused where the CPU can and the caller allows.
template <bool kExact>
inline Vec MulAdd(Vec x, Vec y, Vec sum)
{
#if defined(__FMA__) && defined(__AVX__)
    if constexpr (kExact) return Vec(_mm256_fmadd_ps(__m256(x), __m256(y), __m256(sum)));
#endif
    return sum + x * y;
}

// kRows x 16 elements of C.
template <bool kExact>
void Tile(float* c, uint64_t ldc, const float* a, uint64_t lda, const float* b, uint64_t ldb,
          uint32_t k)
{
    Vec sum[kRows][kVectors];
    for (uint32_t i = 0; i < kRows; ++i) {
        for (uint32_t j = 0; j < kVectors; ++j) sum[i][j] = Load(c + i * ldc + j * kLanes);
    }
    for (uint32_t p = 0; p < k; ++p) {
        const Vec b0 = Load(b + p * ldb);
        const Vec b1 = Load(b + p * ldb + kLanes);
        for (uint32_t i = 0; i < kRows; ++i) {
            const float x = a[i * lda + p];
            const Vec v = {x, x, x, x, x, x, x, x};
            sum[i][0] = MulAdd<kExact>(v, b0, sum[i][0]);
            sum[i][1] = MulAdd<kExact>(v, b1, sum[i][1]);
        }
    }
    for (uint32_t i = 0; i < kRows; ++i) {
        for (uint32_t j = 0; j < kVectors; ++j) Store(c + i * ldc + j * kLanes, sum[i][j]);
    }
}

template <typename T>
void Plain(T* c, uint64_t ldc, const T* a, uint64_t lda, const T* b, uint64_t ldb, uint32_t m,
           uint32_t n, uint32_t k)
{
    for (uint32_t i = 0; i < m; ++i) {
        for (uint32_t p = 0; p < k; ++p) {
            const T x = a[i * lda + p];
            const T* row = b + p * ldb;
            T* out = c + i * ldc;
            for (uint32_t j = 0; j < n; ++j) out[j] += x * row[j];
        }
    }
}

}  // namespace

void Gemm(float* c, uint64_t ldc, const float* a, uint64_t lda, const float* b, uint64_t ldb,
          uint32_t m, uint32_t n, uint32_t k, bool exact)
{
    const auto tile = exact ? Tile<true> : Tile<false>;
    constexpr uint32_t width = kLanes * kVectors;
    const uint32_t wide = n / width * width;
    const uint32_t tall = m / kRows * kRows;
    for (uint32_t j = 0; j < wide; j += width) {
        for (uint32_t i = 0; i < tall; i += kRows) {
            tile(c + i * ldc + j, ldc, a + i * lda, lda, b + j, ldb, k);
        }
    }
    if (tall < m) Plain(c + tall * ldc, ldc, a + tall * lda, lda, b, ldb, m - tall, wide, k);
    if (wide < n) Plain(c + wide, ldc, a, lda, b + wide, ldb, m, n - wide, k);
}

void Gemm(int64_t* c, uint64_t ldc, const int64_t* a, uint64_t lda, const int64_t* b, uint64_t ldb,
          uint32_t m, uint32_t n, uint32_t k, bool)
{
    Plain(c, ldc, a, lda, b, ldb, m, n, k);
}

}  // namespace ascendc_emu
