// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Units and capacities that Matmul tiling counts in.
#ifndef SRC_HOST_MATMUL_TILING_UNITS_H
#define SRC_HOST_MATMUL_TILING_UNITS_H

#include "adv_api/matmul/matmul_tiling.h"

namespace matmul_tiling {

constexpr int32_t kCubeBlock = 16;     // rows and columns of a fractal
constexpr int32_t kFractalBytes = 32;  // K side of a fractal
constexpr int64_t kL1Reserved = 128;   // kept by the framework at the end of L1

// Capacities of arch 2201; used when no platform is given.
constexpr int64_t kL1 = 512 * 1024 - kL1Reserved;
constexpr int64_t kL0a = 64 * 1024;
constexpr int64_t kL0b = 64 * 1024;
constexpr int64_t kL0c = 128 * 1024;
constexpr int64_t kUb = 192 * 1024 - 256;

inline int32_t CeilDiv(int32_t a, int32_t b) { return b <= 0 ? 0 : (a + b - 1) / b; }
inline int32_t AlignUp(int32_t a, int32_t b) { return CeilDiv(a, b) * b; }
inline int32_t AlignDown(int32_t a, int32_t b) { return a / b * b; }

inline int32_t Bits(DataType type) {
    const auto found = DTYPE_BIT_TAB.find(type);
    return found == DTYPE_BIT_TAB.end() ? 0 : static_cast<int32_t>(found->second);
}

inline int64_t Bytes(int64_t elements, DataType type) { return elements * Bits(type) / 8; }

// Elements along K in one fractal.
inline int32_t KFractal(DataType type) {
    const int32_t bits = Bits(type);
    return bits == 0 ? kCubeBlock : kFractalBytes * 8 / bits;
}

inline bool Positive(int32_t a, int32_t b, int32_t c) { return a > 0 && b > 0 && c > 0; }

}  // namespace matmul_tiling
#endif  // SRC_HOST_MATMUL_TILING_UNITS_H
