// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Lane-wise operations on half and float. half is computed in float and rounded once at the store,
// like the vector unit's internal precision. An arithmetic of the table is one line here, <name>Op.
#include <algorithm>
#include <cmath>

#include "vector/floats.h"
#include "vector/lanes.h"

namespace ascendc_emu {
namespace {

float ScalarOf(const VecCall& c) {
    switch (c.st) {
        case DType::kF16:
            return HalfBitsToFloat(static_cast<uint16_t>(c.scalar));
        case DType::kBf16:
            return Bf16BitsToFloat(static_cast<uint16_t>(c.scalar));
        default:
            return BitCast<float>(static_cast<uint32_t>(c.scalar));
    }
}

// dst = op(dst, src0, src1, scalar) for any mix of half and float; kDst: op reads dst.
template <typename D, typename S, int kSources, bool kDst, typename Op>
void Run(void* d, const void* s0, const void* s1, uint64_t n, const VecCall& c) {
    D* dst = static_cast<D*>(d);
    const S* a = static_cast<const S*>(s0);
    const S* b = static_cast<const S*>(s1);
    const float k = kSources < 2 ? ScalarOf(c) : 0.0f;
    if constexpr (std::is_same<D, float>::value && std::is_same<S, float>::value) {
        // Exact aliasing of dst and a source is allowed and harmless: lane i reads before it
        // writes.
#pragma GCC ivdep
        for (uint64_t i = 0; i < n; ++i) {
            const float x = a[i];
            const float y = kSources > 1 ? b[i] : 0.0f;
            const float z = kDst ? dst[i] : 0.0f;
            dst[i] = Op::Apply(x, y, z, k);
        }
    } else {
        float x[kChunk], y[kChunk], z[kChunk];
        for (uint64_t at = 0; at < n; at += kChunk) {
            const uint64_t m = std::min(kChunk, n - at);
            Load(x, a + at, m);
            if (kSources > 1) Load(y, b + at, m);
            if (kDst) Load(z, dst + at, m);
#pragma GCC ivdep
            for (uint64_t i = 0; i < m; ++i) {
                x[i] = Op::Apply(x[i], kSources > 1 ? y[i] : 0.0f, kDst ? z[i] : 0.0f, k);
            }
            Store(dst + at, x, m);
        }
    }
}

// x, y: the sources; z: dst; k: the scalar.
#define OPGEN_OP(NAME, EXPRESSION)                               \
    struct NAME {                                                \
        static float Apply(float x, float y, float z, float k) { \
            (void)x, (void)y, (void)z, (void)k;                  \
            return EXPRESSION;                                   \
        }                                                        \
    };
OPGEN_OP(AddOp, x + y)
OPGEN_OP(SubOp, x - y)
OPGEN_OP(MulOp, x* y)
OPGEN_OP(DivOp, x / y)
OPGEN_OP(MaxOp, MaxF(x, y))
OPGEN_OP(MinOp, MinF(x, y))
OPGEN_OP(AddReluOp, MaxF(x + y, 0.0f))
OPGEN_OP(SubReluOp, MaxF(x - y, 0.0f))
OPGEN_OP(MulAddDstOp, x* y + z)
OPGEN_OP(FusedMulAddOp, x* z + y)
OPGEN_OP(FusedMulAddReluOp, MaxF(x* z + y, 0.0f))
OPGEN_OP(ReluOp, MaxF(x, 0.0f))
OPGEN_OP(ExpOp, ExpF(x))
OPGEN_OP(LnOp, LogF(x))
OPGEN_OP(AbsOp, std::fabs(x))
OPGEN_OP(ReciprocalOp, 1.0f / x)
OPGEN_OP(RsqrtOp, 1.0f / std::sqrt(x))
OPGEN_OP(SqrtOp, std::sqrt(x))
OPGEN_OP(AddsOp, x + k)
OPGEN_OP(MulsOp, x* k)
OPGEN_OP(MaxsOp, MaxF(x, k))
OPGEN_OP(MinsOp, MinF(x, k))
OPGEN_OP(LeakyReluOp, x >= 0.0f ? x : x * k)
OPGEN_OP(AxpyOp, x* k + z)
#undef OPGEN_OP

template <int kSources, bool kDst, typename Op>
RunFn Pick(DType dt, DType st) {
    if (dt == DType::kF32 && st == DType::kF32) return &Run<float, float, kSources, kDst, Op>;
    if (dt == DType::kF16 && st == DType::kF16) return &Run<half, half, kSources, kDst, Op>;
    if (dt == DType::kF32 && st == DType::kF16) return &Run<float, half, kSources, kDst, Op>;
    return nullptr;
}

}  // namespace

// A case per arithmetic whose API has a form and takes half or float: `return Pick<sources, reads
// dst, <name>Op>(dt, st);`.
RunFn FloatRun(VecOp op, DType dt, DType st) {
    switch (op) {
#include "ascendc_emu/float_lanes.inc"
        default:
            return nullptr;
    }
}

}  // namespace ascendc_emu
