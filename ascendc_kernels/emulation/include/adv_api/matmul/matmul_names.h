// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What kernels use beside the Matmul object: helpers of CANN's headers, and REGIST_MATMUL_OBJ.
#ifndef ADV_API_MATMUL_MATMUL_NAMES_H
#define ADV_API_MATMUL_MATMUL_NAMES_H

#include <cstdint>
#include <type_traits>

#include "ascendc_emu/matmul_ops.h"
#include "ascendc_emu/types.h"

// Helpers of CANN's Matmul headers that kernels use as well. Kernels written for versions without
// one of them have their own under the same name: the empty parameter pack makes those the better
// match.
namespace AscendC {

// num1 / num2, rounded up; 0 where num2 is 0.
template <typename T, typename... None>
__aicore__ constexpr std::enable_if_t<std::is_arithmetic<T>::value, T> Ceil(T num1, T num2,
                                                                            None...) {
    return num2 == 0 ? 0 : (num1 + num2 - 1) / num2;
}
template <typename T, typename... None>
__aicore__ constexpr T CeilT(T num1, T num2, None...) {
    return num2 == 0 ? 0 : (num1 + num2 - 1) / num2;
}
template <typename T, typename... None>
__aicore__ constexpr T CeilNoLog(T num1, T num2, None...) {
    return num2 == 0 ? 0 : (num1 + num2 - 1) / num2;
}
// num1 rounded up, or down, to a multiple of num2; 0 where num2 is 0.
template <typename T, typename... None>
__aicore__ constexpr T Align(T num1, T num2, None...) {
    return num2 == 0 ? 0 : (num1 + num2 - 1) / num2 * num2;
}
template <typename T, typename... None>
__aicore__ constexpr T CeilAlign(T num1, T num2, None...) {
    return num2 == 0 ? 0 : (num1 + num2 - 1) / num2 * num2;
}
template <typename T, typename... None>
__aicore__ constexpr T CeilAlignT(T num1, T num2, None...) {
    return num2 == 0 ? 0 : (num1 + num2 - 1) / num2 * num2;
}
template <typename T, typename... None>
__aicore__ constexpr T AlignDown(T num1, T num2, None...) {
    return num2 == 0 ? 0 : num1 / num2 * num2;
}

template <typename T>
__aicore__ constexpr T MaxValue(T value) {
    return value;
}
template <typename T, typename... Rest>
__aicore__ constexpr T MaxValue(T value, Rest... rest) {
    const T other = MaxValue<T>(rest...);
    return value > other ? value : other;
}
template <typename T>
__aicore__ constexpr T MinValue(T value) {
    return value;
}
template <typename T, typename... Rest>
__aicore__ constexpr T MinValue(T value, Rest... rest) {
    const T other = MinValue<T>(rest...);
    return value < other ? value : other;
}

namespace matmul_detail {
// REGIST_MATMUL_OBJ: the objects of a kernel with their tilings. Included by matmul.h.
inline void Register() {}
template <class M, typename... Rest>
inline void Register(M& mm, Rest&&... rest);
template <class M, typename... Rest>
inline void RegisterWith(M& mm, const ::TCubeTiling* tiling, Rest&&... rest) {
    // Without a tiling only one that is a constant of the type can be applied.
    if (tiling != nullptr || M::kStaticTiling) mm.Init(tiling);
    Register(rest...);
}
// Arguments come as object, tiling, object, tiling ...; the tiling may be left out.
template <class M>
inline void Register(M& mm) {
    if (M::kStaticTiling) mm.Init(nullptr);
}
template <class M, typename Second, typename... Rest>
inline void RegisterPair(M& mm, Second&& second, Rest&&... rest) {
    if constexpr (std::is_convertible<Second, const ::TCubeTiling*>::value) {
        RegisterWith(mm, static_cast<const ::TCubeTiling*>(second), rest...);
    } else {
        Register(mm);
        Register(second, rest...);
    }
}
template <class M, typename... Rest>
inline void Register(M& mm, Rest&&... rest) {
    RegisterPair(mm, rest...);
}
}  // namespace matmul_detail

}  // namespace AscendC

// Matmul objects of a mixed kernel belong to the vector cores; its cube cores only serve them.
#ifdef ASCENDC_CUBE_ONLY
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...) AscendC::matmul_detail::Register(__VA_ARGS__)
#else
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...)                 \
    if (ascendc_emu::IsMatmulServer(ascendc_emu::Loc::Here())) { \
        return;                                                  \
    }                                                            \
    AscendC::matmul_detail::Register(__VA_ARGS__)
#endif
#define REGIST_MATMUL_OBJ_STATIC REGIST_MATMUL_OBJ
#define REGIST_CUBE_OBJ REGIST_MATMUL_OBJ

#endif  // ADV_API_MATMUL_MATMUL_NAMES_H
