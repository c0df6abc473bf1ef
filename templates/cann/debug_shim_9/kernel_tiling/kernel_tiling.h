// SPDX-License-Identifier: Apache-2.0
//
// The library tiling structs of an older CANN, also under the namespace that 9.x headers use.
#ifndef OPGEN_KERNEL_TILING_H
#define OPGEN_KERNEL_TILING_H

#include_next "kernel_tiling/kernel_tiling.h"

namespace AscendC {
namespace tiling {
using ::LogSoftMaxTiling;
}  // namespace tiling
}  // namespace AscendC

#endif  // OPGEN_KERNEL_TILING_H
