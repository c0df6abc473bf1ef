// SPDX-License-Identifier: Apache-2.0
// Ops::Base in kernels: integer division and alignment. A divisor of 0 gives the dividend.
#ifndef OPGEN_EMULATION_OP_COMMON_KERNEL_MATH_UTIL_H
#define OPGEN_EMULATION_OP_COMMON_KERNEL_MATH_UTIL_H

#include "kernel_operator.h"

namespace Ops {
namespace Base {
template <typename T>
__aicore__ inline T CeilDiv(T a, T b) {
    return b == 0 ? a : static_cast<T>(a / b + (a % b > 0 ? 1 : 0));
}
template <typename T>
__aicore__ inline T FloorDiv(T a, T b) {
    return b == 0 ? a : static_cast<T>(a / b);
}
template <typename T>
__aicore__ inline T CeilAlign(T a, T b) {
    return b == 0 ? a : static_cast<T>(CeilDiv(a, b) * b);
}
template <typename T>
__aicore__ inline T FloorAlign(T a, T b) {
    return b == 0 ? a : static_cast<T>(a / b * b);
}
}  // namespace Base
}  // namespace Ops

#endif  // OPGEN_EMULATION_OP_COMMON_KERNEL_MATH_UTIL_H
