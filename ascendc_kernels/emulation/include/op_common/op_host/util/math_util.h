// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic that op-host sources of CANN 9 use. A divisor of 0 gives the dividend.
#ifndef OPGEN_EMULATION_OP_COMMON_MATH_UTIL_H
#define OPGEN_EMULATION_OP_COMMON_MATH_UTIL_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace Ops {
namespace Base {
template <typename T, typename U>
constexpr auto CeilDiv(T a, U b) -> typename std::common_type<T, U>::type {
    using R = typename std::common_type<T, U>::type;
    return b == 0 ? static_cast<R>(a)
                  : static_cast<R>(a) / static_cast<R>(b) +
                        (static_cast<R>(a) % static_cast<R>(b) > 0 ? R{1} : R{0});
}
template <typename T, typename U>
constexpr auto FloorDiv(T a, U b) -> typename std::common_type<T, U>::type {
    using R = typename std::common_type<T, U>::type;
    return b == 0 ? static_cast<R>(a) : static_cast<R>(a) / static_cast<R>(b);
}
template <typename T, typename U>
constexpr auto CeilAlign(T a, U b) -> typename std::common_type<T, U>::type {
    using R = typename std::common_type<T, U>::type;
    return b == 0 ? static_cast<R>(a) : CeilDiv(a, b) * static_cast<R>(b);
}
template <typename T, typename U>
constexpr auto FloorAlign(T a, U b) -> typename std::common_type<T, U>::type {
    using R = typename std::common_type<T, U>::type;
    return b == 0 ? static_cast<R>(a) : FloorDiv(a, b) * static_cast<R>(b);
}
template <typename T>
T GetLoopCounts(T total, T one) {
    return CeilDiv(total, one);
}
template <typename T>
T GetTailSize(T total, T one) {
    return one == 0 || total % one == 0 ? one : total % one;
}
}  // namespace Base
}  // namespace Ops

#endif  // OPGEN_EMULATION_OP_COMMON_MATH_UTIL_H
