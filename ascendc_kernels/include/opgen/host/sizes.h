// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Limits of tensor sizes, and arithmetic on sizes. C++11, no CANN header needed.
#ifndef OPGEN_HOST_SIZES_H
#define OPGEN_HOST_SIZES_H

#include <cmath>
#include <cstdint>

namespace opgen {

constexpr int32_t kMaxDims = 8;
constexpr int64_t kUnit = 256;
constexpr int64_t kMaxBlockCount = 4095;
// Copies take the distance between rows as an unsigned 32-bit count of bytes.
constexpr int64_t kMaxRowBytes = 0xFFFFFFFFLL;
// Offsets and byte counts of that many elements fit int64_t, whatever the element type is.
constexpr int64_t kMaxElements = INT64_MAX / 16;

inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t AlignUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }
inline int64_t FloorDiv(int64_t a, int64_t b) {
    return b == 0 ? 0 : a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
inline int64_t FloorMod(int64_t a, int64_t b) { return b == 0 ? 0 : a - FloorDiv(a, b) * b; }
// Product of sizes; one that does not fit stays at kMaxElements, which Addressable refuses.
inline int64_t Times(int64_t a, int64_t b) {
    return b > 0 && a > kMaxElements / b ? kMaxElements : a * b;
}
// Of floats: as Python has them, not a number where the divisor is 0.
inline double FloorDiv(double a, double b) { return b == 0.0 ? std::nan("") : std::floor(a / b); }
inline double FloorMod(double a, double b) {
    const double rest = b == 0.0 ? std::nan("") : std::fmod(a, b);
    return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

// Whether a number can be an int32 tiling field.
inline bool FitsInt32(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

}  // namespace opgen

#endif  // OPGEN_HOST_SIZES_H
