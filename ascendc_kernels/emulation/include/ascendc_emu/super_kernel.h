// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Functions for super kernels, which a framework makes of several ops. Here every kernel runs by
// itself: such functions are compiled against their declarations and never called. Source:
// AscendC's page SK_BIND and the guide on super kernels.
#ifndef ASCENDC_EMU_SUPER_KERNEL_H
#define ASCENDC_EMU_SUPER_KERNEL_H

#include <stdint.h>

#define __sk__

namespace sk {
// What the framework tells a function about its launch.
struct SkSystemArgs {
    uint32_t skNumBlocks;
    uint32_t SkGetNumBlocks() const { return skNumBlocks; }
};
}  // namespace sk

namespace ascendc_emu {
// A kernel, its features as bits, and one to four functions that take its arguments as a struct.
template <typename Kernel, typename... Functions>
constexpr bool SuperKernelBinds(Kernel*, uint64_t, Functions*...) {
    return sizeof...(Functions) >= 1 && sizeof...(Functions) <= 4;
}
}  // namespace ascendc_emu

#define SK_BIND(...)                                            \
    static_assert(::ascendc_emu::SuperKernelBinds(__VA_ARGS__), \
                  "SK_BIND(kernel, features, one to four functions)")

#endif  // ASCENDC_EMU_SUPER_KERNEL_H
