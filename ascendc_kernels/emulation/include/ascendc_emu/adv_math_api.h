// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// High-level elementwise math, activation and logic. Source: asc-devkit docs, SIMD-API / high-level
// API (mathematical computation, activation functions). Computed in float32 (double inside for the
// transcendental ones) and rounded once to the element type.
#ifndef ASCENDC_EMU_ADV_MATH_API_H
#define ASCENDC_EMU_ADV_MATH_API_H

#include "ascendc_emu/adv.h"

namespace ascendc_emu {

enum class AdvOp : uint8_t {
    kAcos,
    kAcosh,
    kAsin,
    kAsinh,
    kAtan,
    kAtanh,
    kCeil,
    kCos,
    kCosh,
    kDigamma,
    kErf,
    kErfc,
    kExp,
    kFloor,
    kFrac,
    kGelu,
    kFasterGelu,
    kFasterGeluV2,
    kIsFinite,
    kIsInf,
    kIsNan,
    kLgamma,
    kLog,
    kLog10,
    kLog2,
    kLogicalNot,
    kRint,
    kRound,
    kSigmoid,
    kSign,
    kSilu,
    kSin,
    kSinh,
    kSwish,
    kTan,
    kTanh,
    kTrunc,
    kBitwiseNot,
    kClampMax,
    kClampMin,
    kClamp,
    kAxpy,
    kBitwiseAnd,
    kBitwiseOr,
    kXor,
    kFmod,
    kHypot,
    kPower,
    kLogicalAnd,
    kLogicalOr,
    kLogicalXor,
    kGeGLU,
    kReGlu,
    kSwiGLU,
    kFma,
    kWhere,
};

struct AdvMathCall {
    Api api;
    AdvOp op;
    DType dt;
    DType st;
    const TensorRef* dst;
    const TensorRef* src0;
    const TensorRef* src1;  // null: scalar
    const TensorRef* src2;
    const TensorRef* tmp;
    uint64_t count;
    double scalar0;
    double scalar1;
    Loc loc;
};
// dst[i] = op(src0[i], src1[i] or scalar0, src2[i] or scalar1).
void RunAdvMath(const AdvMathCall& call);

}  // namespace ascendc_emu

namespace AscendC {

// The configurations of the 9.x interfaces choose an algorithm on the device; accepted, not needed.
// The form without a location has the documented function type: kernels pass `&Sigmoid<half,
// false>`.
#define OPGEN_ADV_UNARY(NAME)                                                                      \
    template <typename T, bool isReuseSource = false, typename... None,                            \
              std::enable_if_t<sizeof...(None) == 0, bool> = true>                                 \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,              \
                                const uint32_t count, None...) {                                   \
        NAME<T, isReuseSource>(dst, src, count, Loc());                                            \
    }                                                                                              \
    template <typename T, bool isReuseSource = false, const auto & ... config>                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,              \
                                const LocalTensor<uint8_t>& tmp, const uint32_t count,             \
                                Loc loc = Loc::Here()) {                                           \
        ascendc_emu::RunAdvMath({ascendc_emu::Api::k##NAME, ascendc_emu::AdvOp::k##NAME,           \
                                 ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::kDTypeOf<PrimT<T>>, \
                                 &dst, &src, nullptr, nullptr, &tmp, count, 0, 0, loc});           \
    }                                                                                              \
    template <typename T, bool isReuseSource = false, const auto & ... config>                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,              \
                                const LocalTensor<uint8_t>& tmp, Loc loc = Loc::Here()) {          \
        NAME<T, isReuseSource>(dst, src, tmp, src.GetSize(), loc);                                 \
    }                                                                                              \
    template <typename T, bool isReuseSource = false, const auto & ... config>                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,              \
                                const uint32_t count, Loc loc = Loc::Here()) {                     \
        ascendc_emu::RunAdvMath({ascendc_emu::Api::k##NAME, ascendc_emu::AdvOp::k##NAME,           \
                                 ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::kDTypeOf<PrimT<T>>, \
                                 &dst, &src, nullptr, nullptr, nullptr, count, 0, 0, loc});        \
    }                                                                                              \
    template <typename T, bool isReuseSource = false, const auto & ... config>                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,              \
                                Loc loc = Loc::Here()) {                                           \
        NAME<T, isReuseSource>(dst, src, src.GetSize(), loc);                                      \
    }

OPGEN_ADV_UNARY(Acos)
OPGEN_ADV_UNARY(Acosh)
OPGEN_ADV_UNARY(Asin)
OPGEN_ADV_UNARY(Asinh)
OPGEN_ADV_UNARY(Atan)
OPGEN_ADV_UNARY(Atanh)
OPGEN_ADV_UNARY(Ceil)
OPGEN_ADV_UNARY(Cos)
OPGEN_ADV_UNARY(Cosh)
OPGEN_ADV_UNARY(Digamma)
OPGEN_ADV_UNARY(Erf)
OPGEN_ADV_UNARY(Erfc)
OPGEN_ADV_UNARY(Floor)
OPGEN_ADV_UNARY(Frac)
OPGEN_ADV_UNARY(Lgamma)
OPGEN_ADV_UNARY(Log)
OPGEN_ADV_UNARY(Log10)
OPGEN_ADV_UNARY(Log2)
OPGEN_ADV_UNARY(Round)
OPGEN_ADV_UNARY(Sigmoid)
OPGEN_ADV_UNARY(Sign)
OPGEN_ADV_UNARY(Silu)
OPGEN_ADV_UNARY(Sin)
OPGEN_ADV_UNARY(Sinh)
OPGEN_ADV_UNARY(Tan)
OPGEN_ADV_UNARY(Tanh)
OPGEN_ADV_UNARY(Trunc)
#undef OPGEN_ADV_UNARY

// Forms whose template parameters differ from the family above.
#define OPGEN_ADV_GELU(NAME)                                                                       \
    template <typename T, bool highPrecision = false, bool highPerformance = false>                \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,              \
                                const LocalTensor<uint8_t>& tmp, const uint32_t count,             \
                                Loc loc = Loc::Here()) {                                           \
        ascendc_emu::RunAdvMath({ascendc_emu::Api::k##NAME, ascendc_emu::AdvOp::k##NAME,           \
                                 ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::kDTypeOf<PrimT<T>>, \
                                 &dst, &src, nullptr, nullptr, &tmp, count, 0, 0, loc});           \
    }                                                                                              \
    template <typename T, bool highPrecision = false, bool highPerformance = false>                \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,              \
                                const uint32_t count, Loc loc = Loc::Here()) {                     \
        ascendc_emu::RunAdvMath({ascendc_emu::Api::k##NAME, ascendc_emu::AdvOp::k##NAME,           \
                                 ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::kDTypeOf<PrimT<T>>, \
                                 &dst, &src, nullptr, nullptr, nullptr, count, 0, 0, loc});        \
    }
OPGEN_ADV_GELU(Gelu)
OPGEN_ADV_GELU(FasterGelu)
OPGEN_ADV_GELU(FasterGeluV2)
#undef OPGEN_ADV_GELU

// Exp with a Taylor expansion of the given level: more accurate than the instruction.
template <typename T, uint8_t taylorExpandLevel, bool isReuseSource = false>
__aicore__ inline void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const LocalTensor<uint8_t>& tmp, const uint32_t count,
                           Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunAdvMath({Api::kExp, AdvOp::kExp, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, &dst, &src, nullptr,
                nullptr, &tmp, count, 0, 0, loc});
}
template <typename T, uint8_t taylorExpandLevel, bool isReuseSource = false>
__aicore__ inline void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const uint32_t count, Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunAdvMath({Api::kExp, AdvOp::kExp, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, &dst, &src, nullptr,
                nullptr, nullptr, count, 0, 0, loc});
}

template <typename T, bool isReuseSource = false>
__aicore__ inline void Swish(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count,
                             const T scalar, Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunAdvMath({Api::kSwish, AdvOp::kSwish, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, &dst, &src,
                nullptr, nullptr, nullptr, count, double(float(scalar)), 0, loc});
}

// One result type other than the source type.
#define OPGEN_ADV_TEST(NAME)                                                                       \
    template <const auto&... config, typename T, typename U>                                       \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src,              \
                                const LocalTensor<uint8_t>& tmp, const uint32_t count,             \
                                Loc loc = Loc::Here()) {                                           \
        ascendc_emu::RunAdvMath({ascendc_emu::Api::k##NAME, ascendc_emu::AdvOp::k##NAME,           \
                                 ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::kDTypeOf<PrimT<U>>, \
                                 &dst, &src, nullptr, nullptr, &tmp, count, 0, 0, loc});           \
    }                                                                                              \
    template <const auto&... config, typename T, typename U>                                       \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src,              \
                                const uint32_t count, Loc loc = Loc::Here()) {                     \
        ascendc_emu::RunAdvMath({ascendc_emu::Api::k##NAME, ascendc_emu::AdvOp::k##NAME,           \
                                 ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::kDTypeOf<PrimT<U>>, \
                                 &dst, &src, nullptr, nullptr, nullptr, count, 0, 0, loc});        \
    }
// Not offered by arch 2201 and 2002, where kernels define classes of these names themselves.
#if defined(__NPU_ARCH__) && __NPU_ARCH__ >= 3510
OPGEN_ADV_TEST(IsFinite)
OPGEN_ADV_TEST(IsInf)
OPGEN_ADV_TEST(IsNan)
#endif
OPGEN_ADV_TEST(LogicalNot)
OPGEN_ADV_TEST(Rint)
OPGEN_ADV_TEST(BitwiseNot)
#undef OPGEN_ADV_TEST

#define OPGEN_ADV_BINARY(NAME)                                                                     \
    template <typename T, bool isReuseSource = false, const auto & ... config>                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,             \
                                const LocalTensor<T>& src1, const LocalTensor<uint8_t>& tmp,       \
                                const uint32_t count, Loc loc = Loc::Here()) {                     \
        ascendc_emu::RunAdvMath({ascendc_emu::Api::k##NAME, ascendc_emu::AdvOp::k##NAME,           \
                                 ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::kDTypeOf<PrimT<T>>, \
                                 &dst, &src0, &src1, nullptr, &tmp, count, 0, 0, loc});            \
    }                                                                                              \
    template <typename T, bool isReuseSource = false, const auto & ... config>                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,             \
                                const LocalTensor<T>& src1, const LocalTensor<uint8_t>& tmp,       \
                                Loc loc = Loc::Here()) {                                           \
        NAME<T, isReuseSource>(dst, src0, src1, tmp, src0.GetSize(), loc);                         \
    }                                                                                              \
    template <typename T, bool isReuseSource = false, const auto & ... config>                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,             \
                                const LocalTensor<T>& src1, const uint32_t count,                  \
                                Loc loc = Loc::Here()) {                                           \
        ascendc_emu::RunAdvMath({ascendc_emu::Api::k##NAME, ascendc_emu::AdvOp::k##NAME,           \
                                 ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::kDTypeOf<PrimT<T>>, \
                                 &dst, &src0, &src1, nullptr, nullptr, count, 0, 0, loc});         \
    }                                                                                              \
    template <typename T, bool isReuseSource = false, const auto & ... config>                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,             \
                                const LocalTensor<T>& src1, Loc loc = Loc::Here()) {               \
        NAME<T, isReuseSource>(dst, src0, src1, src0.GetSize(), loc);                              \
    }
OPGEN_ADV_BINARY(Fmod)
OPGEN_ADV_BINARY(Hypot)
OPGEN_ADV_BINARY(Power)
OPGEN_ADV_BINARY(Xor)
OPGEN_ADV_BINARY(GeGLU)
OPGEN_ADV_BINARY(ReGlu)
#undef OPGEN_ADV_BINARY

// Power with a scalar on either side.
#define OPGEN_POWER_SCALAR(PARAMS, BASE, EXPONENT, SCALAR)                                         \
    template <typename T, bool isReuseSource = false, const auto & ... config>                     \
    __aicore__ inline void Power(const LocalTensor<T>& dst, PARAMS,                                \
                                 const LocalTensor<uint8_t>& tmp, uint32_t count,                  \
                                 Loc loc = Loc::Here()) {                                          \
        ascendc_emu::RunAdvMath({ascendc_emu::Api::kPower, ascendc_emu::AdvOp::kPower,             \
                                 ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::kDTypeOf<PrimT<T>>, \
                                 &dst, BASE, EXPONENT, nullptr, &tmp, count,                       \
                                 double(float(SCALAR)), 0, loc});                                  \
    }                                                                                              \
    template <typename T, bool isReuseSource = false, const auto & ... config>                     \
    __aicore__ inline void Power(const LocalTensor<T>& dst, PARAMS, uint32_t count,                \
                                 Loc loc = Loc::Here()) {                                          \
        ascendc_emu::RunAdvMath({ascendc_emu::Api::kPower, ascendc_emu::AdvOp::kPower,             \
                                 ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::kDTypeOf<PrimT<T>>, \
                                 &dst, BASE, EXPONENT, nullptr, nullptr, count,                    \
                                 double(float(SCALAR)), 0, loc});                                  \
    }
#define OPGEN_COMMA ,
OPGEN_POWER_SCALAR(const LocalTensor<T>& src OPGEN_COMMA const T& exponent, &src, nullptr, exponent)
OPGEN_POWER_SCALAR(const T& base OPGEN_COMMA const LocalTensor<T>& src, nullptr, &src, base)
#undef OPGEN_COMMA
#undef OPGEN_POWER_SCALAR
template <typename T, bool isReuseSource = false, const auto&... config>
__aicore__ inline void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                             const T& exponent, const LocalTensor<uint8_t>& tmp,
                             Loc loc = Loc::Here()) {
    Power<T, isReuseSource>(dst, src, exponent, tmp, src.GetSize(), loc);
}
template <typename T, bool isReuseSource = false, const auto&... config>
__aicore__ inline void Power(const LocalTensor<T>& dst, const T& base, const LocalTensor<T>& src,
                             const LocalTensor<uint8_t>& tmp, Loc loc = Loc::Here()) {
    Power<T, isReuseSource>(dst, base, src, tmp, src.GetSize(), loc);
}
template <typename T, bool isReuseSource = false, const auto&... config>
__aicore__ inline void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                             const T& exponent, Loc loc = Loc::Here()) {
    Power<T, isReuseSource>(dst, src, exponent, src.GetSize(), loc);
}
template <typename T, bool isReuseSource = false, const auto&... config>
__aicore__ inline void Power(const LocalTensor<T>& dst, const T& base, const LocalTensor<T>& src,
                             Loc loc = Loc::Here()) {
    Power<T, isReuseSource>(dst, base, src, src.GetSize(), loc);
}

// dst[i] = src0[i] * src1[i] * sigmoid(beta * src1[i]).
template <typename T, bool isReuseSource = false>
__aicore__ inline void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                              const LocalTensor<T>& src1, const float& beta,
                              const LocalTensor<uint8_t>& tmp, const uint32_t count,
                              Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunAdvMath({Api::kSwiGLU, AdvOp::kSwiGLU, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, &dst, &src0,
                &src1, nullptr, &tmp, count, 0, beta, loc});
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                              const LocalTensor<T>& src1, const float& beta,
                              const LocalTensor<uint8_t>& tmp, Loc loc = Loc::Here()) {
    SwiGLU<T, isReuseSource>(dst, src0, src1, beta, tmp, src0.GetSize(), loc);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                              const LocalTensor<T>& src1, const float& beta, const uint32_t count,
                              Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunAdvMath({Api::kSwiGLU, AdvOp::kSwiGLU, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, &dst, &src0,
                &src1, nullptr, nullptr, count, 0, beta, loc});
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                              const LocalTensor<T>& src1, const float& beta,
                              Loc loc = Loc::Here()) {
    SwiGLU<T, isReuseSource>(dst, src0, src1, beta, src0.GetSize(), loc);
}

#define OPGEN_ADV_LOGIC(NAME, OP)                                                                  \
    template <const auto&... config, typename T, typename U>                                       \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0,             \
                                const LocalTensor<U>& src1, const uint32_t count,                  \
                                Loc loc = Loc::Here()) {                                           \
        ascendc_emu::RunAdvMath({ascendc_emu::Api::k##NAME, ascendc_emu::AdvOp::OP,                \
                                 ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::kDTypeOf<PrimT<U>>, \
                                 &dst, &src0, &src1, nullptr, nullptr, count, 0, 0, loc});         \
    }
OPGEN_ADV_LOGIC(LogicalAnd, kLogicalAnd)
OPGEN_ADV_LOGIC(LogicalOr, kLogicalOr)
OPGEN_ADV_LOGIC(LogicalXor, kLogicalXor)
OPGEN_ADV_LOGIC(BitwiseAnd, kBitwiseAnd)
OPGEN_ADV_LOGIC(BitwiseOr, kBitwiseOr)
OPGEN_ADV_LOGIC(BitwiseXor, kXor)
#undef OPGEN_ADV_LOGIC

#define OPGEN_ADV_CLAMP(NAME)                                                                      \
    template <typename T, bool isReuseSource = false>                                              \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,              \
                                const LocalTensor<uint8_t>& tmp, const T scalar,                   \
                                const uint32_t count, Loc loc = Loc::Here()) {                     \
        ascendc_emu::RunAdvMath({ascendc_emu::Api::k##NAME, ascendc_emu::AdvOp::k##NAME,           \
                                 ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::kDTypeOf<PrimT<T>>, \
                                 &dst, &src, nullptr, nullptr, &tmp, count, double(float(scalar)), \
                                 0, loc});                                                         \
    }                                                                                              \
    template <typename T, bool isReuseSource = false>                                              \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,              \
                                const T scalar, const uint32_t count, Loc loc = Loc::Here()) {     \
        ascendc_emu::RunAdvMath({ascendc_emu::Api::k##NAME, ascendc_emu::AdvOp::k##NAME,           \
                                 ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::kDTypeOf<PrimT<T>>, \
                                 &dst, &src, nullptr, nullptr, nullptr, count,                     \
                                 double(float(scalar)), 0, loc});                                  \
    }
OPGEN_ADV_CLAMP(ClampMax)
OPGEN_ADV_CLAMP(ClampMin)
#undef OPGEN_ADV_CLAMP

// dst = src * scalar + dst with a wider destination.
template <typename T, typename U, bool isReuseSource = false>
__aicore__ inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U scalar,
                            const LocalTensor<uint8_t>& tmp, const uint32_t count,
                            Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunAdvMath({Api::kAxpy, AdvOp::kAxpy, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<U>>, &dst, &src,
                nullptr, nullptr, &tmp, count, double(float(scalar)), 0, loc});
}
template <const auto&... config, typename T>
__aicore__ inline void Fma(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                           const LocalTensor<T>& src1, const LocalTensor<T>& src2,
                           const LocalTensor<uint8_t>& tmp, const uint32_t count,
                           Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunAdvMath({Api::kFma, AdvOp::kFma, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, &dst, &src0, &src1,
                &src2, &tmp, count, 0, 0, loc});
}
template <const auto&... config, typename T>
__aicore__ inline void Fma(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                           const LocalTensor<T>& src1, const LocalTensor<T>& src2,
                           const uint32_t count, Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunAdvMath({Api::kFma, AdvOp::kFma, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, &dst, &src0, &src1,
                &src2, nullptr, count, 0, 0, loc});
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_ADV_MATH_API_H
