// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host side of numbers that compute makes of sizes and int attrs. Python's integers have no limit;
// here a result that 64 bits cannot hold, or a division by 0, is noted instead of wrapping, and the
// tiling function refuses the call. C++11, no CANN header needed.
#ifndef OPGEN_HOST_WHOLE_NUMBERS_H
#define OPGEN_HOST_WHOLE_NUMBERS_H

#include <cstdint>

namespace opgen {

struct WholeNumbers {
    bool fit = true;  // whether every result so far is the mathematical one

    int64_t Add(int64_t a, int64_t b) {
        int64_t result = 0;
        fit = !__builtin_add_overflow(a, b, &result) && fit;
        return result;
    }
    int64_t Sub(int64_t a, int64_t b) {
        int64_t result = 0;
        fit = !__builtin_sub_overflow(a, b, &result) && fit;
        return result;
    }
    int64_t Mul(int64_t a, int64_t b) {
        int64_t result = 0;
        fit = !__builtin_mul_overflow(a, b, &result) && fit;
        return result;
    }
    int64_t Neg(int64_t a) { return Sub(0, a); }
    int64_t Abs(int64_t a) { return a < 0 ? Neg(a) : a; }
    // Rounds toward minus infinity, as Python does.
    int64_t FloorDiv(int64_t a, int64_t b) {
        if (b == 0 || (a == INT64_MIN && b == -1)) {
            fit = false;
            return 0;
        }
        return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
    }
    int64_t FloorMod(int64_t a, int64_t b) {
        if (b == 0 || b == -1) {
            fit = b != 0 && fit;
            return 0;
        }
        const int64_t rest = a % b;
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    int64_t Power(int64_t base, int64_t exponent) {
        fit = exponent >= 0 && fit;
        int64_t result = 1;
        while (exponent > 0 && fit) {
            result = exponent % 2 == 1 ? Mul(result, base) : result;
            exponent /= 2;
            base = exponent > 0 ? Mul(base, base) : base;
        }
        return result;
    }
    // A float without its fraction.
    int64_t Of(double value) {
        const bool inside = value >= -9223372036854775808.0 && value < 9223372036854775808.0;
        fit = inside && fit;
        return inside ? static_cast<int64_t>(value) : 0;
    }
};

}  // namespace opgen

#endif  // OPGEN_HOST_WHOLE_NUMBERS_H
