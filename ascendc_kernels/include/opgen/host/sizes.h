// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Limits of tensor sizes, arithmetic on sizes, and how shapes broadcast. C++11, no CANN header
// needed.
#ifndef OPGEN_HOST_SIZES_H
#define OPGEN_HOST_SIZES_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

// Whether 64-bit offsets reach every element of a space; a size of 0 does not hide the others.
inline bool Addressable(const std::vector<int64_t>& dims) {
    int64_t total = 1;
    for (size_t i = 0; i < dims.size(); ++i) {
        total = Times(total, std::max<int64_t>(1, dims[i]));
    }
    return total < kMaxElements;
}

inline std::string ShapeText(const std::vector<int64_t>& dims) {
    std::string text = "[";
    for (size_t i = 0; i < dims.size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
    }
    return text + "]";
}

// Extend `dims` to the broadcast with `other`; false: they do not broadcast.
inline bool BroadcastDims(std::vector<int64_t>& dims, const std::vector<int64_t>& other) {
    if (other.size() > dims.size()) {
        dims.insert(dims.begin(), other.size() - dims.size(), 1);
    }
    const size_t lead = dims.size() - other.size();
    for (size_t i = 0; i < other.size(); ++i) {
        if (other[i] == dims[lead + i] || other[i] == 1) {
            continue;
        }
        if (dims[lead + i] != 1) {
            return false;
        }
        dims[lead + i] = other[i];
    }
    return true;
}

// Whether a tensor of shape `other` can be read as one of shape `dims`.
inline bool BroadcastsTo(const std::vector<int64_t>& other, const std::vector<int64_t>& dims) {
    for (size_t i = 0; i < other.size(); ++i) {
        const int64_t at = static_cast<int64_t>(dims.size()) - static_cast<int64_t>(other.size()) +
                           static_cast<int64_t>(i);
        const int64_t wanted = at < 0 ? 1 : dims[static_cast<size_t>(at)];
        if (other[i] != 1 && other[i] != wanted) {
            return false;
        }
    }
    return true;
}

// Whether `other`, which broadcasts with `dims`, has all elements along an axis, counted from the
// front of `dims` or from the end.
inline bool SameAlong(int64_t axis, const std::vector<int64_t>& other,
                      const std::vector<int64_t>& dims) {
    const int64_t rank = static_cast<int64_t>(dims.size());
    const int64_t at = axis < 0 ? axis + rank : axis;
    const int64_t own = at - (rank - static_cast<int64_t>(other.size()));
    const int64_t size = own < 0 ? 1 : other[static_cast<size_t>(own)];
    return size == dims[static_cast<size_t>(at)];
}

// Whether two shapes are equal but for leading ones.
inline bool SameDims(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    const std::vector<int64_t>& longer = a.size() > b.size() ? a : b;
    const std::vector<int64_t>& shorter = a.size() > b.size() ? b : a;
    const size_t lead = longer.size() - shorter.size();
    for (size_t i = 0; i < longer.size(); ++i) {
        if (longer[i] != (i < lead ? 1 : shorter[i - lead])) {
            return false;
        }
    }
    return true;
}

inline std::string UnreachableText(const std::vector<int64_t>& dims) {
    return "64-bit offsets do not reach all elements of shape " + ShapeText(dims);
}

}  // namespace opgen

#endif  // OPGEN_HOST_SIZES_H
