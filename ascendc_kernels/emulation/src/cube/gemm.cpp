// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "cube/cube.h"

#include <string.h>

#include <algorithm>

#if defined(__FMA__) && defined(__AVX__)
#include <immintrin.h>
#endif

namespace ascendc_emu {
namespace {

typedef float Vec __attribute__((vector_size(32)));
constexpr uint32_t kLanes = 8;
constexpr uint32_t kRows = 6;  // rows and vectors of C kept in registers: 12 accumulators of 16
constexpr uint32_t kVectors = 2;
constexpr uint32_t kWidth = kLanes * kVectors;
constexpr uint32_t kDepth = 256;  // rows of B in a strip: 16 KB, half of a usual L1 cache
// Products that are added to each other before they are added to C. The cube adds those of a
// fractal (32 bytes along K) first; groups of as few cost a fifth of the speed here.
constexpr uint32_t kGroup = 64;

inline Vec Load(const float* p) {
    Vec v;
    memcpy(&v, p, sizeof(v));
    return v;
}
inline void Store(float* p, Vec v) { memcpy(p, &v, sizeof(v)); }

// x * y + sum; fused where the CPU can and the caller allows.
template <bool kExact>
inline Vec MulAdd(Vec x, Vec y, Vec sum) {
#if defined(__FMA__) && defined(__AVX__)
    if constexpr (kExact) return Vec(_mm256_fmadd_ps(__m256(x), __m256(y), __m256(sum)));
#endif
    return sum + x * y;
}

// kHeight x kWidth elements of C; strip: k rows of kWidth elements of B.
template <bool kExact, uint32_t kHeight>
void Tile(float* c, uint64_t ldc, const float* a, uint64_t lda, const float* strip, uint32_t k) {
    Vec sum[kHeight][kVectors] = {};
    for (uint32_t p = 0; p < k; ++p) {
        const Vec b0 = Load(strip + p * kWidth);
        const Vec b1 = Load(strip + p * kWidth + kLanes);
        for (uint32_t i = 0; i < kHeight; ++i) {
            const float x = a[i * lda + p];
            const Vec v = {x, x, x, x, x, x, x, x};
            sum[i][0] = MulAdd<kExact>(v, b0, sum[i][0]);
            sum[i][1] = MulAdd<kExact>(v, b1, sum[i][1]);
        }
    }
    for (uint32_t i = 0; i < kHeight; ++i) {
        for (uint32_t j = 0; j < kVectors; ++j) {
            float* out = c + i * ldc + j * kLanes;
            Store(out, Load(out) + sum[i][j]);
        }
    }
}

using TileCall = void (*)(float*, uint64_t, const float*, uint64_t, const float*, uint32_t);

// By rows - 1.
template <bool kExact>
constexpr TileCall kTiles[kRows] = {Tile<kExact, 1>, Tile<kExact, 2>, Tile<kExact, 3>,
                                    Tile<kExact, 4>, Tile<kExact, 5>, Tile<kExact, 6>};

// strip[rows][kWidth] <- b[rows][ldb], 0 behind its last column.
void CopyStrip(float* strip, const float* b, uint64_t ldb, uint32_t rows, uint32_t columns) {
    if (columns == kWidth) {  // a length the compiler knows: two loads and stores a row
        for (uint32_t r = 0; r < rows; ++r)
            memcpy(strip + r * kWidth, b + r * ldb, kWidth * sizeof(float));
        return;
    }
    memset(strip, 0, rows * kWidth * sizeof(float));
    for (uint32_t r = 0; r < rows; ++r)
        memcpy(strip + r * kWidth, b + r * ldb, columns * sizeof(float));
}

// The last columns of C, fewer than a strip has: by way of a tile of full width.
void PartTile(TileCall tile, float* c, uint64_t ldc, const float* a, uint64_t lda,
              const float* strip, uint32_t rows, uint32_t columns, uint32_t k) {
    float full[kRows * kWidth] = {};
    for (uint32_t i = 0; i < rows; ++i)
        memcpy(full + i * kWidth, c + i * ldc, columns * sizeof(float));
    tile(full, kWidth, a, lda, strip, k);
    for (uint32_t i = 0; i < rows; ++i)
        memcpy(c + i * ldc, full + i * kWidth, columns * sizeof(float));
}

template <typename T>
void Plain(T* c, uint64_t ldc, const T* a, uint64_t lda, const T* b, uint64_t ldb, uint32_t m,
           uint32_t n, uint32_t k) {
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
          uint32_t m, uint32_t n, uint32_t k, bool exact) {
    const TileCall* tiles = exact ? kTiles<true> : kTiles<false>;
    // A strip of B is copied together before use: its rows, a power of two apart as they mostly
    // are, would push each other out of the cache.
    alignas(64) float strip[kDepth * kWidth];
    for (uint32_t p = 0; p < k; p += kDepth) {
        const uint32_t depth = std::min(kDepth, k - p);
        for (uint32_t j = 0; j < n; j += kWidth) {
            const uint32_t columns = std::min(kWidth, n - j);
            CopyStrip(strip, b + p * ldb + j, ldb, depth, columns);
            for (uint32_t i = 0; i < m; i += kRows) {
                const uint32_t rows = std::min(kRows, m - i);
                const TileCall tile = tiles[rows - 1];
                float* out = c + i * ldc + j;
                const float* left = a + i * lda + p;
                for (uint32_t q = 0; q < depth; q += kGroup) {
                    const uint32_t group = std::min(kGroup, depth - q);
                    const float* right = strip + q * kWidth;
                    if (columns == kWidth) {
                        tile(out, ldc, left + q, lda, right, group);
                    } else {
                        PartTile(tile, out, ldc, left + q, lda, right, rows, columns, group);
                    }
                }
            }
        }
    }
}

void Gemm(int64_t* c, uint64_t ldc, const int64_t* a, uint64_t lda, const int64_t* b, uint64_t ldb,
          uint32_t m, uint32_t n, uint32_t k, bool) {
    Plain(c, ldc, a, lda, b, ldb, m, n, k);
}

}  // namespace ascendc_emu
