// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Orthogonal polynomials of a degree per element (conventions: float_tile.h). A family gives its
// polynomial of degree 1, and the factors of the step to the next degree:
//     P(k + 1) = (Slope(k) x + Shift(k)) P(k) - Back(k) P(k - 1)
#ifndef OPGEN_RECURRENCE_H
#define OPGEN_RECURRENCE_H

#include "kernel_operator.h"
#include "opgen/float_tile.h"
#include "opgen/tile.h"

namespace opgen {

// The four kinds differ in the polynomial of degree 1: T: x, U: 2 x, V: 2 x - 1, W: 2 x + 1.
template <int32_t kSlope, int32_t kShift>
struct Chebyshev {
    static constexpr float kFirstSlope = kSlope;
    static constexpr float kFirstShift = kShift;
    static constexpr bool kShifts = false;
    __aicore__ static inline float Slope(float) { return 2.0f; }
    __aicore__ static inline float Back(float) { return 1.0f; }
};

// H of physicists (kScale = 2), He of probabilists (kScale = 1).
template <int32_t kScale>
struct Hermite {
    static constexpr float kFirstSlope = kScale;
    static constexpr float kFirstShift = 0.0f;
    static constexpr bool kShifts = false;
    __aicore__ static inline float Slope(float) { return kScale; }
    __aicore__ static inline float Back(float k) { return kScale * k; }
};

struct Laguerre {
    static constexpr float kFirstSlope = -1.0f;
    static constexpr float kFirstShift = 1.0f;
    static constexpr bool kShifts = true;
    __aicore__ static inline float Slope(float k) { return -1.0f / (k + 1.0f); }
    __aicore__ static inline float Shift(float k) { return (2.0f * k + 1.0f) / (k + 1.0f); }
    __aicore__ static inline float Back(float k) { return k / (k + 1.0f); }
};

struct Legendre {
    static constexpr float kFirstSlope = 1.0f;
    static constexpr float kFirstShift = 0.0f;
    static constexpr bool kShifts = false;
    __aicore__ static inline float Slope(float k) { return (2.0f * k + 1.0f) / (k + 1.0f); }
    __aicore__ static inline float Back(float k) { return k / (k + 1.0f); }
};

// dst = the polynomial at x of the degree that each lane has, a whole number in a float tile; 0 for
// degrees below 0. Lanes need different numbers of steps: all take those of the largest degree,
// which the scalar unit reads.
template <typename Family>
__aicore__ inline void Recurrence(const Tile32& dst, const Tile32& x, const Tile32& degree,
                                  const Tile32& t0, const Tile32& t1, const Tile32& t2,
                                  const Tile32& t3, const MaskTile& mask, uint32_t count) {
    Tile32 now = t0;
    Tile32 next = t1;
    Tile32 after = t2;
    AscendC::ReduceMax(t3, degree, after, static_cast<int32_t>(count));
    const int32_t last = static_cast<int32_t>(FirstElement(t3));
    AscendC::Duplicate(dst, 0.0f, count);
    AscendC::Duplicate(now, 1.0f, count);
    AscendC::Muls(next, x, Family::kFirstSlope, count);
    VectorBarrier();
    AscendC::Adds(next, next, Family::kFirstShift, count);
    VectorBarrier();
    for (int32_t k = 0; k <= last; ++k) {
        AscendC::CompareScalar(mask, degree, static_cast<float>(k), CMPMODE::EQ, count);
        VectorBarrier();
        AscendC::Select(dst, mask, now, dst, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
        const float step = static_cast<float>(k + 1);
        AscendC::Muls(after, x, Family::Slope(step), count);
        AscendC::Muls(t3, now, Family::Back(step), count);
        VectorBarrier();
        if constexpr (Family::kShifts) {
            AscendC::Adds(after, after, Family::Shift(step), count);
            VectorBarrier();
        }
        AscendC::Mul(after, after, next, count);
        VectorBarrier();
        AscendC::Sub(after, after, t3, count);
        VectorBarrier();
        const Tile32 spent = now;
        now = next;
        next = after;
        after = spent;
    }
}

}  // namespace opgen

#endif  // OPGEN_RECURRENCE_H
