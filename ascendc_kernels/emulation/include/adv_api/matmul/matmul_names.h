// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Helpers of CANN's Matmul headers that kernels use as well. Kernels written for versions without
// one of them have their own under the same name: the empty parameter pack makes those the better
// match.
#ifndef ADV_API_MATMUL_MATMUL_NAMES_H
#define ADV_API_MATMUL_MATMUL_NAMES_H

#include <cstdint>
#include <type_traits>

#include "ascendc_emu/types.h"

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

}  // namespace AscendC
#endif  // ADV_API_MATMUL_MATMUL_NAMES_H
