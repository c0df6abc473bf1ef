// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The language extensions of the device compiler as macros a host compiler understands.
#ifndef ASCENDC_EMU_MACROS_H
#define ASCENDC_EMU_MACROS_H

#include <cstdint>  // kernels write std::uint8_t
#include <type_traits>

#include "ascendc_emu/core.h"

// Kernels are compiled with hidden visibility; entries must be found by dlsym.
#define __global__ __attribute__((visibility("default"), used))
#define __aicore__
#define __host_aicore__
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __biasbuf__
#define __fbuf__
#define __ssbuf__
#define __vector__
#define __cube__
#define __mix__(...)
#define __aiv__
#define __aic__
#define __simd_vf__
#define __simt_vf__
#define __in_pipe__(...)
#define __out_pipe__(...)
#define __inout_pipe__(...)
#define __sync_alias__
#define __check_sync_alias__
#define __sync_noalias__
#define __sync_out__
#define __sync_in__
#define __kfc_workspace__
#define __disable_kernel_type_autoinfer__
#define __no_simd_vf_fusion__
#define __WORKGROUP_LOCAL__
#define __tiling_data_ptr__
// Globals with one instance per block: the fiber is pinned to its thread, but several blocks share
// it, so only values that every block sets before use may live there.
#define __BLOCK_LOCAL__ static thread_local
#ifndef __forceinline__
#define __forceinline__ inline __attribute__((always_inline))
#endif

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

// The device compiler's builtin type; compilers for the host have it from GCC 13 on, without
// arithmetic.
#define __bf16 bfloat16_t

using GM_ADDR = uint8_t*;
#define __NPU_DEVICE__ 1

#define ASCENDC_EMULATION 1

// Core kind. A kernel compiled once per kind, as the device compiler does, sets
// ASCENDC_EMU_CORE_AIV or _AIC and gets constants; otherwise the running core is asked
// (msopgen_wrap/build/core_kinds.py).
namespace AscendC {
constexpr int32_t AIC = 1;
constexpr int32_t AIV = 2;
constexpr int32_t MIX = 3;
}  // namespace AscendC

namespace ascendc_emu {
inline bool OnAiv() { return g_current->kind != CoreKind::kAic; }
inline bool OnAic() { return g_current->kind != CoreKind::kAiv; }

// The kind of the running core, where a kernel says g_coreType and the kind is no constant.
struct RunningCoreType {
    operator int32_t() const {
        const CoreKind kind = g_current->kind;
        return kind == CoreKind::kAic   ? AscendC::AIC
               : kind == CoreKind::kAiv ? AscendC::AIV
                                        : AscendC::MIX;
    }
};
}  // namespace ascendc_emu

namespace AscendC {
#if defined(ASCENDC_EMU_CORE_AIV)
constexpr int32_t g_coreType = AIV;
#elif defined(ASCENDC_EMU_CORE_AIC)
constexpr int32_t g_coreType = AIC;
#elif defined(OPGEN_UNIFIED_CORES)
constexpr int32_t g_coreType = MIX;
#else
constexpr ::ascendc_emu::RunningCoreType g_coreType = {};
#endif
}  // namespace AscendC
using AscendC::g_coreType;

#if defined(ASCENDC_EMU_CORE_AIV) || defined(ASCENDC_EMU_CORE_AIC)
#define ASCEND_IS_AIV constexpr(::AscendC::g_coreType == ::AscendC::AIV)
#define ASCEND_IS_AIC constexpr(::AscendC::g_coreType == ::AscendC::AIC)
#define ASCEND_IS_NOT_AIV constexpr(::AscendC::g_coreType != ::AscendC::AIV)
#define ASCEND_IS_NOT_AIC constexpr(::AscendC::g_coreType != ::AscendC::AIC)
#else
#define ASCEND_IS_AIV (::ascendc_emu::OnAiv())
#define ASCEND_IS_AIC (::ascendc_emu::OnAic())
#define ASCEND_IS_NOT_AIV (!::ascendc_emu::OnAiv())
#define ASCEND_IS_NOT_AIC (!::ascendc_emu::OnAic())
#endif

// Scalar mathematics. Not <math.h>: ops are called sqrt, exp, cos, and their extern "C" entries
// must not meet C functions of that name. Templates give way to <cmath>'s functions where it is
// included.
#define OPGEN_SCALAR_MATH(NAME)                                                            \
    template <typename T, std::enable_if_t<std::is_floating_point<T>::value, bool> = true> \
    inline T NAME(T x) {                                                                   \
        return static_cast<T>(__builtin_##NAME(x));                                        \
    }
OPGEN_SCALAR_MATH(sqrt)
OPGEN_SCALAR_MATH(exp)
OPGEN_SCALAR_MATH(log)
OPGEN_SCALAR_MATH(sin)
OPGEN_SCALAR_MATH(cos)
OPGEN_SCALAR_MATH(tanh)
OPGEN_SCALAR_MATH(fabs)
OPGEN_SCALAR_MATH(ceil)
OPGEN_SCALAR_MATH(floor)
OPGEN_SCALAR_MATH(round)
#undef OPGEN_SCALAR_MATH
template <typename T, std::enable_if_t<std::is_arithmetic<T>::value, bool> = true>
inline T abs(T x) {
    return x < T(0) ? static_cast<T>(-x) : x;
}

// Scalar min and max that kernels call without a namespace. Two types, so that std::min is the
// better match where a using directive brings it in; the empty pack, so that a kernel's own one for
// two types is, too.
template <typename T, typename U, typename... None>
constexpr std::enable_if_t<sizeof...(None) == 0 && std::is_arithmetic<T>::value &&
                               std::is_arithmetic<U>::value,
                           std::common_type_t<T, U>>
min(T a, U b, None...) {
    using C = std::common_type_t<T, U>;
    return static_cast<C>(b) < static_cast<C>(a) ? static_cast<C>(b) : static_cast<C>(a);
}
template <typename T, typename U, typename... None>
constexpr std::enable_if_t<sizeof...(None) == 0 && std::is_arithmetic<T>::value &&
                               std::is_arithmetic<U>::value,
                           std::common_type_t<T, U>>
max(T a, U b, None...) {
    using C = std::common_type_t<T, U>;
    return static_cast<C>(a) < static_cast<C>(b) ? static_cast<C>(b) : static_cast<C>(a);
}

namespace ascendc_emu {

// A configuration that a function of a kernel holds, at namespace scope
// (build/rewriting/device_dialect.py).
template <typename T, auto... values>
inline constexpr T kConfig = {values...};

}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_MACROS_H
