// SPDX-License-Identifier: Apache-2.0
// Ops::Base in kernels: sizes of the core in bytes.
#ifndef OPGEN_EMULATION_OP_COMMON_KERNEL_PLATFORM_UTIL_H
#define OPGEN_EMULATION_OP_COMMON_KERNEL_PLATFORM_UTIL_H

#include "kernel_operator.h"

namespace Ops {
namespace Base {
// A data block: the unit of on-chip addresses.
__aicore__ inline constexpr uint32_t GetUbBlockSize() { return 32; }
// What one repeat of a vector instruction covers.
__aicore__ inline constexpr uint32_t GetVRegSize() { return 256; }
}  // namespace Base
}  // namespace Ops

#endif  // OPGEN_EMULATION_OP_COMMON_KERNEL_PLATFORM_UTIL_H
