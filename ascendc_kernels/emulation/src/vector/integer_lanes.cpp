// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Lane-wise operations on integers, bit operations, Duplicate and Copy. Integer arithmetic wraps.
// An arithmetic of the table is one line here, <name>Op.
#include <cstring>

#include "vector/lanes.h"

namespace ascendc_emu {
namespace {

template <typename T>
T ScalarAs(const VecCall& c) {
    T v;
    memcpy(&v, &c.scalar, sizeof(T));
    return v;
}

template <typename T, typename Op>
void Binary(void* d, const void* s0, const void* s1, uint64_t n, const VecCall&) {
    T* dst = static_cast<T*>(d);
    const T* a = static_cast<const T*>(s0);
    const T* b = static_cast<const T*>(s1);
#pragma GCC ivdep
    for (uint64_t i = 0; i < n; ++i) dst[i] = Op::template Apply<T>(a[i], b[i]);
}

template <typename T, typename Op>
void WithScalar(void* d, const void* s0, const void*, uint64_t n, const VecCall& c) {
    T* dst = static_cast<T*>(d);
    const T* a = static_cast<const T*>(s0);
    const T k = ScalarAs<T>(c);
#pragma GCC ivdep
    for (uint64_t i = 0; i < n; ++i) dst[i] = Op::template Apply<T>(a[i], k);
}

// x: the source; y: the second one or the scalar; ux, uy: the same as unsigned numbers U.
#define OPGEN_OP(NAME, EXPRESSION)             \
    struct NAME {                              \
        template <typename T>                  \
        static T Apply(T x, T y) {             \
            using U = std::make_unsigned_t<T>; \
            const U ux = static_cast<U>(x);    \
            const U uy = static_cast<U>(y);    \
            (void)ux, (void)uy;                \
            return static_cast<T>(EXPRESSION); \
        }                                      \
    };
OPGEN_OP(AddOp, static_cast<U>(ux + uy))
OPGEN_OP(SubOp, static_cast<U>(ux - uy))
// Through 32 bits: 16-bit factors would be promoted to int and overflow.
OPGEN_OP(MulOp, static_cast<U>(static_cast<uint32_t>(ux) * static_cast<uint32_t>(uy)))
OPGEN_OP(MaxOp, x > y ? x : y)
OPGEN_OP(MinOp, x < y ? x : y)
OPGEN_OP(AndOp, ux& uy)
OPGEN_OP(OrOp, ux | uy)
OPGEN_OP(NotOp, static_cast<U>(~ux))
OPGEN_OP(ReluOp, x > 0 ? x : 0)
OPGEN_OP(AddReluOp,
         static_cast<T>(static_cast<U>(ux + uy)) > 0 ? static_cast<T>(static_cast<U>(ux + uy)) : 0)
OPGEN_OP(SubReluOp,
         static_cast<T>(static_cast<U>(ux - uy)) > 0 ? static_cast<T>(static_cast<U>(ux - uy)) : 0)
OPGEN_OP(ShiftLeftOp, uy >= sizeof(T) * 8 ? U(0) : static_cast<U>(static_cast<uint64_t>(ux) << uy))
OPGEN_OP(ShiftRightOp, uy >= sizeof(T) * 8 ? (x < 0 ? T(-1) : T(0)) : static_cast<T>(x >> uy))
#undef OPGEN_OP
using AddsOp = AddOp;
using MulsOp = MulOp;
using MaxsOp = MaxOp;
using MinsOp = MinOp;

// Adds the last bit shifted out.
template <typename T>
void ShiftRightRounding(void* d, const void* s0, const void*, uint64_t n, const VecCall& c) {
    T* dst = static_cast<T*>(d);
    const T* a = static_cast<const T*>(s0);
    const int64_t k = static_cast<int64_t>(ScalarAs<T>(c));
    for (uint64_t i = 0; i < n; ++i) {
        const int64_t v = a[i];
        if (k <= 0) {
            dst[i] = a[i];
        } else if (k > static_cast<int64_t>(sizeof(T) * 8)) {
            dst[i] = 0;
        } else {
            dst[i] = static_cast<T>((v >> k) + ((v >> (k - 1)) & 1));
        }
    }
}
template <typename T>
void ShiftRight(void* d, const void* s0, const void* s1, uint64_t n, const VecCall& c) {
    if (c.param) {
        ShiftRightRounding<T>(d, s0, s1, n, c);
    } else {
        WithScalar<T, ShiftRightOp>(d, s0, s1, n, c);
    }
}

template <typename T>
void Fill(void* d, const void*, const void*, uint64_t n, const VecCall& c) {
    T* dst = static_cast<T*>(d);
    const T k = ScalarAs<T>(c);
    for (uint64_t i = 0; i < n; ++i) dst[i] = k;
}

template <int kBytes>
void Copy(void* d, const void* s0, const void*, uint64_t n, const VecCall&) {
    memmove(d, s0, n * kBytes);
}

// For an instruction with so many sources on one of the types.
template <typename Op, int kSources, typename... T>
RunFn Pick(DType type) {
    RunFn found = nullptr;
    const auto take = [&](DType of, RunFn fn) {
        if (of == type) found = fn;
    };
    if constexpr (kSources > 1) {
        (take(kDTypeOf<T>, &Binary<T, Op>), ...);
    } else {
        (take(kDTypeOf<T>, &WithScalar<T, Op>), ...);
    }
    return found;
}

RunFn PickShiftRight(DType type) {
    switch (type) {
        case DType::kI16:
            return &ShiftRight<int16_t>;
        case DType::kU16:
            return &ShiftRight<uint16_t>;
        case DType::kI32:
            return &ShiftRight<int32_t>;
        case DType::kU32:
            return &ShiftRight<uint32_t>;
        default:
            return nullptr;
    }
}

RunFn PickFill(uint32_t bits) {
    switch (bits) {
        case 8:
            return &Fill<uint8_t>;
        case 16:
            return &Fill<uint16_t>;
        case 32:
            return &Fill<uint32_t>;
        default:
            return &Fill<uint64_t>;
    }
}

RunFn PickCopy(uint32_t bits) {
    switch (bits) {
        case 8:
            return &Copy<1>;
        case 16:
            return &Copy<2>;
        case 32:
            return &Copy<4>;
        default:
            return &Copy<8>;
    }
}

}  // namespace

// Cases like those of FloatRun: `return Pick<<name>Op, sources, types>(dt);`.
RunFn IntegerRun(VecOp op, DType dt, DType) {
    switch (op) {
#include "ascendc_emu/integer_lanes.inc"
        case VecOp::kShiftRight:
            return PickShiftRight(dt);
        case VecOp::kDuplicate:
            return PickFill(DTypeBits(dt));
        case VecOp::kCopy:
            return PickCopy(DTypeBits(dt));
        default:
            return nullptr;
    }
}

}  // namespace ascendc_emu
