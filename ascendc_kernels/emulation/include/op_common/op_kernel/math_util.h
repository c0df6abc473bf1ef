// SPDX-License-Identifier: Apache-2.0
// Ops::Base in kernels: integer arithmetic, and sizes of the core in bytes.
#ifndef OPGEN_EMULATION_OP_COMMON_KERNEL_MATH_UTIL_H
#define OPGEN_EMULATION_OP_COMMON_KERNEL_MATH_UTIL_H

#include "kernel_operator.h"

namespace Ops {
namespace Base {
// Ops::Base in kernels: integer division and alignment. A divisor of 0 gives the dividend.
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

// A data block: the unit of on-chip addresses.
__aicore__ inline constexpr uint32_t GetUbBlockSize() { return 32; }
// What one repeat of a vector instruction covers.
__aicore__ inline constexpr uint32_t GetVRegSize() { return 256; }
}  // namespace Base
}  // namespace Ops

#endif  // OPGEN_EMULATION_OP_COMMON_KERNEL_MATH_UTIL_H
