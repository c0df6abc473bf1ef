// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Cast: conversions with the rounding modes of the device. Out-of-range values saturate; NaN
// becomes 0 in an integer type; inf and NaN survive between floating types.
#include <algorithm>
#include <cmath>

#include "ascendc_emu/system_api.h"
#include "vector/floats.h"
#include "vector/lanes.h"

namespace ascendc_emu {
namespace {

using AscendC::RoundMode;

// To an integral value in floating point.
template <RoundMode mode>
inline float RoundTo(float x) {
    if constexpr (mode == RoundMode::CAST_FLOOR) return std::floor(x);
    if constexpr (mode == RoundMode::CAST_CEIL) return std::ceil(x);
    if constexpr (mode == RoundMode::CAST_TRUNC) return std::trunc(x);
    if constexpr (mode == RoundMode::CAST_ROUND) {
        const float t = std::trunc(x);
        return std::fabs(x - t) >= 0.5f ? t + std::copysign(1.0f, x) : t;
    }
    return std::nearbyint(x);
}

template <typename D>
inline D Saturate(float r) {
    // Comparisons with the first value that does not fit: exact in float for every integer type.
    constexpr float top = static_cast<float>(std::numeric_limits<D>::max() / 2 + 1) * 2.0f;
    constexpr float bottom = static_cast<float>(std::numeric_limits<D>::min());
    const bool high = r >= top;
    const bool low = r < bottom;
    const float safe = high || low || r != r ? 0.0f : r;
    D v = static_cast<D>(safe);
    v = high ? std::numeric_limits<D>::max() : v;
    return low ? std::numeric_limits<D>::min() : v;
}

template <typename D, typename S, RoundMode mode>
void FloatToIntRun(void* d, const void* s, const void*, uint64_t n, const VecCall&) {
    D* dst = static_cast<D*>(d);
    const S* src = static_cast<const S*>(s);
    float x[kChunk];
    // Backwards when dst is wider and shares the buffer? The device forbids that; forward is
    // enough.
    for (uint64_t at = 0; at < n; at += kChunk) {
        const uint64_t m = std::min(kChunk, n - at);
        Load(x, src + at, m);
#pragma GCC ivdep
        for (uint64_t i = 0; i < m; ++i) dst[at + i] = Saturate<D>(RoundTo<mode>(x[i]));
    }
}

template <typename S, RoundMode mode>
void FloatToInt4Run(void* d, const void* s, const void*, uint64_t n, const VecCall&) {
    uint8_t* dst = static_cast<uint8_t*>(d);
    const S* src = static_cast<const S*>(s);
    for (uint64_t i = 0; i < n; ++i) {
        float x;
        Load(&x, src + i, 1);
        float r = RoundTo<mode>(x);
        r = r != r ? 0.0f : std::min(7.0f, std::max(-8.0f, r));
        const uint8_t nibble = static_cast<uint8_t>(static_cast<int>(r)) & 15;
        dst[i / 2] = static_cast<uint8_t>((i & 1) ? (dst[i / 2] & 15) | (nibble << 4)
                                                  : (dst[i / 2] & 0xf0) | nibble);
    }
}

void Int4ToHalfRun(void* d, const void* s, const void*, uint64_t n, const VecCall&) {
    half* dst = static_cast<half*>(d);
    const uint8_t* src = static_cast<const uint8_t*>(s);
    // From the end: dst may not overlap, but reading before writing costs nothing.
    for (uint64_t i = 0; i < n; ++i) {
        const int nibble = (i & 1) ? src[i / 2] >> 4 : src[i / 2] & 15;
        dst[i] = half(nibble >= 8 ? nibble - 16 : nibble);
    }
}

template <RoundMode mode>
void RoundFloatRun(void* d, const void* s, const void*, uint64_t n, const VecCall&) {
    float* dst = static_cast<float*>(d);
    const float* src = static_cast<const float*>(s);
#pragma GCC ivdep
    for (uint64_t i = 0; i < n; ++i) dst[i] = RoundTo<mode>(src[i]);
}

// Widening and nearest-even narrowing between floating types.
template <typename D, typename S>
void FloatToFloatRun(void* d, const void* s, const void*, uint64_t n, const VecCall&) {
    D* dst = static_cast<D*>(d);
    const S* src = static_cast<const S*>(s);
    float x[kChunk];
    for (uint64_t at = 0; at < n; at += kChunk) {
        const uint64_t m = std::min(kChunk, n - at);
        Load(x, src + at, m);
        Store(dst + at, x, m);
    }
}

template <int kMode>
void FloatToHalfModeRun(void* d, const void* s, const void*, uint64_t n, const VecCall&) {
    half* dst = static_cast<half*>(d);
    const float* src = static_cast<const float*>(s);
    for (uint64_t i = 0; i < n; ++i) dst[i].bits = FloatToHalfMode(src[i], kMode);
}

template <RoundMode mode>
uint16_t ToBf16(float v) {
    const uint32_t bits = BitCast<uint32_t>(v);
    if ((bits & 0x7fffffffu) > 0x7f800000u || (bits & 0xffffu) == 0) return FloatToBf16Bits(v);
    const uint16_t cut = static_cast<uint16_t>(bits >> 16);
    const bool negative = (bits >> 31) != 0;
    bool away = false;
    if (mode == RoundMode::CAST_FLOOR) away = negative;
    if (mode == RoundMode::CAST_CEIL) away = !negative;
    if (mode == RoundMode::CAST_ROUND) away = (bits & 0x8000u) != 0;
    return static_cast<uint16_t>(cut + (away ? 1 : 0));
}
template <RoundMode mode>
void FloatToBf16ModeRun(void* d, const void* s, const void*, uint64_t n, const VecCall&) {
    bfloat16_t* dst = static_cast<bfloat16_t*>(d);
    const float* src = static_cast<const float*>(s);
    for (uint64_t i = 0; i < n; ++i) dst[i].bits = ToBf16<mode>(src[i]);
}

template <typename D, typename S>
void IntToFloatRun(void* d, const void* s, const void*, uint64_t n, const VecCall&) {
    D* dst = static_cast<D*>(d);
    const S* src = static_cast<const S*>(s);
    if constexpr (std::is_same<D, float>::value) {
#pragma GCC ivdep
        for (uint64_t i = 0; i < n; ++i) dst[i] = static_cast<float>(src[i]);
    } else {
        float x[kChunk];
        for (uint64_t at = 0; at < n; at += kChunk) {
            const uint64_t m = std::min(kChunk, n - at);
            for (uint64_t i = 0; i < m; ++i) x[i] = static_cast<float>(src[at + i]);
            Store(dst + at, x, m);
        }
    }
}

// Integer to float with a direction: double holds every int32 and the error of int64 is found by
// comparing back.
template <typename S, int kMode>
float IntToFloatMode(S v) {
    const float near = static_cast<float>(v);
    const long double exact = static_cast<long double>(v);
    const long double back = static_cast<long double>(near);
    if (back == exact) return near;
    const float low = back > exact ? std::nextafter(near, -kInfinity) : near;
    const float high = back > exact ? near : std::nextafter(near, kInfinity);
    switch (static_cast<RoundMode>(kMode)) {
        case RoundMode::CAST_FLOOR:
            return low;
        case RoundMode::CAST_CEIL:
            return high;
        case RoundMode::CAST_TRUNC:
            return v > 0 ? low : high;
        case RoundMode::CAST_ROUND:
            if (exact - low == high - exact) return v > 0 ? high : low;
            return near;
        default:
            return near;
    }
}
template <typename S, int kMode>
void IntToFloatModeRun(void* d, const void* s, const void*, uint64_t n, const VecCall&) {
    float* dst = static_cast<float*>(d);
    const S* src = static_cast<const S*>(s);
    for (uint64_t i = 0; i < n; ++i) dst[i] = IntToFloatMode<S, kMode>(src[i]);
}
template <int kMode>
void Int16ToHalfModeRun(void* d, const void* s, const void*, uint64_t n, const VecCall&) {
    half* dst = static_cast<half*>(d);
    const int16_t* src = static_cast<const int16_t*>(s);
    for (uint64_t i = 0; i < n; ++i)
        dst[i].bits = FloatToHalfMode(static_cast<float>(src[i]), kMode);
}

template <typename D, typename S>
void IntToIntRun(void* d, const void* s, const void*, uint64_t n, const VecCall&) {
    D* dst = static_cast<D*>(d);
    const S* src = static_cast<const S*>(s);
    for (uint64_t i = 0; i < n; ++i) {
        const int64_t v = src[i];
        const int64_t top = std::numeric_limits<D>::max(), bottom = std::numeric_limits<D>::min();
        dst[i] = static_cast<D>(v > top ? top : v < bottom ? bottom : v);
    }
}

// int32 -> half uses the register: (src / 2^17) * scale * 2^17.
void Int32ToHalfRun(void* d, const void* s, const void*, uint64_t n, const VecCall&) {
    half* dst = static_cast<half*>(d);
    const int32_t* src = static_cast<const int32_t*>(s);
    const double scale = HalfBitsToFloat(static_cast<uint16_t>(Current().regs.deqScale));
    for (uint64_t i = 0; i < n; ++i) dst[i] = half(static_cast<float>(src[i] * scale));
}

// Relu of the same for the (wrapping) sum of two.
void AddDeqReluRun(void* d, const void* s0, const void* s1, uint64_t n, const VecCall&) {
    half* dst = static_cast<half*>(d);
    const uint32_t* a = static_cast<const uint32_t*>(s0);
    const uint32_t* b = static_cast<const uint32_t*>(s1);
    const double scale = HalfBitsToFloat(static_cast<uint16_t>(Current().regs.deqScale));
    for (uint64_t i = 0; i < n; ++i) {
        const int32_t sum = static_cast<int32_t>(a[i] + b[i]);
        dst[i] = half(MaxF(static_cast<float>(sum * scale), 0.0f));
    }
}

// An operation on two sources whose result is narrowed to the nearest value and saturated.
template <typename D, typename S, typename Op>
void BinaryCastRun(void* d, const void* s0, const void* s1, uint64_t n, const VecCall&) {
    D* dst = static_cast<D*>(d);
    const S* a = static_cast<const S*>(s0);
    const S* b = static_cast<const S*>(s1);
    for (uint64_t i = 0; i < n; ++i) {
        const float r = Op::Apply(static_cast<float>(a[i]), static_cast<float>(b[i]));
        if constexpr (std::is_integral<D>::value) {
            dst[i] = Saturate<D>(std::nearbyint(r));
        } else {
            dst[i] = D(r);
        }
    }
}
struct AddReluOp {
    static float Apply(float x, float y) { return MaxF(x + y, 0.0f); }
};
struct SubReluOp {
    static float Apply(float x, float y) { return MaxF(x - y, 0.0f); }
};
struct MulOp {
    static float Apply(float x, float y) { return x * y; }
};

#define OPGEN_MODES(MAKE)                   \
    switch (static_cast<RoundMode>(mode)) { \
        case RoundMode::CAST_FLOOR:         \
            return MAKE(CAST_FLOOR);        \
        case RoundMode::CAST_CEIL:          \
            return MAKE(CAST_CEIL);         \
        case RoundMode::CAST_ROUND:         \
            return MAKE(CAST_ROUND);        \
        case RoundMode::CAST_TRUNC:         \
            return MAKE(CAST_TRUNC);        \
        default:                            \
            return MAKE(CAST_RINT);         \
    }

template <typename D, typename S>
RunFn ToInt(int mode) {
#define OPGEN_MAKE(M) (&FloatToIntRun<D, S, RoundMode::M>)
    OPGEN_MODES(OPGEN_MAKE)
#undef OPGEN_MAKE
}
template <typename S>
RunFn ToInt4(int mode){
#define OPGEN_MAKE(M) (&FloatToInt4Run<S, RoundMode::M>)
    OPGEN_MODES(OPGEN_MAKE)
#undef OPGEN_MAKE
} RunFn RoundFloat(int mode) {
#define OPGEN_MAKE(M) (&RoundFloatRun<RoundMode::M>)
    OPGEN_MODES(OPGEN_MAKE)
#undef OPGEN_MAKE
}
bool Nearest(int mode) {
    return mode == static_cast<int>(RoundMode::CAST_NONE) ||
           mode == static_cast<int>(RoundMode::CAST_RINT);
}
RunFn FloatToHalf(int mode) {
    if (Nearest(mode)) return &FloatToFloatRun<half, float>;
    if (mode == static_cast<int>(RoundMode::CAST_ODD)) {
        return &FloatToHalfModeRun<static_cast<int>(RoundMode::CAST_ODD)>;
    }
#define OPGEN_MAKE(M) (&FloatToHalfModeRun<static_cast<int>(RoundMode::M)>)
    OPGEN_MODES(OPGEN_MAKE)
#undef OPGEN_MAKE
}
RunFn FloatToBf16(int mode) {
    if (Nearest(mode)) return &FloatToFloatRun<bfloat16_t, float>;
#define OPGEN_MAKE(M) (&FloatToBf16ModeRun<RoundMode::M>)
    OPGEN_MODES(OPGEN_MAKE)
#undef OPGEN_MAKE
}
template <typename S>
RunFn IntToFloat(int mode) {
    if (Nearest(mode)) return &IntToFloatRun<float, S>;
#define OPGEN_MAKE(M) (&IntToFloatModeRun<S, static_cast<int>(RoundMode::M)>)
    OPGEN_MODES(OPGEN_MAKE)
#undef OPGEN_MAKE
}
RunFn Int16ToHalf(int mode) {
    if (Nearest(mode)) return &IntToFloatRun<half, int16_t>;
#define OPGEN_MAKE(M) (&Int16ToHalfModeRun<static_cast<int>(RoundMode::M)>)
    OPGEN_MODES(OPGEN_MAKE)
#undef OPGEN_MAKE
}

}  // namespace

RunFn BinaryCast(VecOp op, DType dt, DType st) {
    if (op == VecOp::kAddDeqRelu) return &AddDeqReluRun;
    if (op == VecOp::kMulCast) {
        if (st != DType::kF16) return nullptr;
        if (dt == DType::kI8) return &BinaryCastRun<int8_t, half, MulOp>;
        return dt == DType::kU8 ? &BinaryCastRun<uint8_t, half, MulOp> : nullptr;
    }
    const bool add = op == VecOp::kAddReluCast;
    if (st == DType::kF16 && dt == DType::kI8) {
        return add ? &BinaryCastRun<int8_t, half, AddReluOp>
                   : &BinaryCastRun<int8_t, half, SubReluOp>;
    }
    if (st == DType::kF32 && dt == DType::kF16) {
        return add ? &BinaryCastRun<half, float, AddReluOp>
                   : &BinaryCastRun<half, float, SubReluOp>;
    }
    if (st == DType::kI16 && dt == DType::kI8) {
        return add ? &BinaryCastRun<int8_t, int16_t, AddReluOp>
                   : &BinaryCastRun<int8_t, int16_t, SubReluOp>;
    }
    return nullptr;
}

// One case per pair of types; splitting would hide the table.
RunFn CastRun(DType dt, DType st, int mode) {
    switch (st) {
        case DType::kF16:
            switch (dt) {
                case DType::kF32:
                    return &FloatToFloatRun<float, half>;
                case DType::kI32:
                    return ToInt<int32_t, half>(mode);
                case DType::kI16:
                    return ToInt<int16_t, half>(mode);
                case DType::kI8:
                    return ToInt<int8_t, half>(mode);
                case DType::kU8:
                    return ToInt<uint8_t, half>(mode);
                case DType::kI4:
                    return ToInt4<half>(mode);
                default:
                    return nullptr;
            }
        case DType::kF32:
            switch (dt) {
                case DType::kF32:
                    return RoundFloat(mode);
                case DType::kF16:
                    return FloatToHalf(mode);
                case DType::kBf16:
                    return FloatToBf16(mode);
                case DType::kI64:
                    return ToInt<int64_t, float>(mode);
                case DType::kI32:
                    return ToInt<int32_t, float>(mode);
                case DType::kI16:
                    return ToInt<int16_t, float>(mode);
                default:
                    return nullptr;
            }
        case DType::kBf16:
            if (dt == DType::kF32) return &FloatToFloatRun<float, bfloat16_t>;
            if (dt == DType::kI32) return ToInt<int32_t, bfloat16_t>(mode);
            return nullptr;
        case DType::kI4:
            return dt == DType::kF16 ? &Int4ToHalfRun : nullptr;
        case DType::kU8:
            return dt == DType::kF16 ? &IntToFloatRun<half, uint8_t> : nullptr;
        case DType::kI8:
            return dt == DType::kF16 ? &IntToFloatRun<half, int8_t> : nullptr;
        case DType::kI16:
            if (dt == DType::kF16) return Int16ToHalf(mode);
            return dt == DType::kF32 ? &IntToFloatRun<float, int16_t> : nullptr;
        case DType::kI32:
            switch (dt) {
                case DType::kF32:
                    return IntToFloat<int32_t>(mode);
                case DType::kI64:
                    return &IntToIntRun<int64_t, int32_t>;
                case DType::kI16:
                    return &IntToIntRun<int16_t, int32_t>;
                case DType::kF16:
                    return &Int32ToHalfRun;
                default:
                    return nullptr;
            }
        case DType::kI64:
            if (dt == DType::kI32) return &IntToIntRun<int32_t, int64_t>;
            return dt == DType::kF32 ? IntToFloat<int64_t>(mode) : nullptr;
        default:
            return nullptr;
    }
}

}  // namespace ascendc_emu
