// SPDX-License-Identifier: Apache-2.0
// Ops::Base on the host: integer arithmetic, and sizes of the core.
#ifndef OPGEN_EMULATION_OP_COMMON_MATH_UTIL_H
#define OPGEN_EMULATION_OP_COMMON_MATH_UTIL_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "exe_graph/runtime/tiling_context.h"
#include "tiling/platform/platform_ascendc.h"

namespace Ops {
namespace Base {
// Integer arithmetic that op-host sources of CANN 9 use. A divisor of 0 gives the dividend.
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

// Sizes of the core that a tiling function runs for, in bytes unless the name says otherwise.
// `context` is a gert::TilingContext or a gert::TilingParseContext.

// A data block: the unit of on-chip addresses.
template <typename Context>
uint32_t GetUbBlockSize(const Context *) {
    return 32;
}
// What one repeat of a vector instruction covers.
template <typename Context>
uint32_t GetVRegSize(const Context *) {
    return 256;
}
// A line of the L2 cache.
template <typename Context>
uint32_t GetCacheLineSize(const Context *) {
    return 512;
}
template <typename Context>
uint32_t GetAivCoreNum(const Context *context) {
    return platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();
}
template <typename Context>
uint32_t GetAicCoreNum(const Context *context) {
    return platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAic();
}
template <typename Context>
uint64_t GetUbSize(const Context *context) {
    uint64_t bytes = 0;
    platform_ascendc::PlatformAscendC(context->GetPlatformInfo())
        .GetCoreMemSize(platform_ascendc::CoreMemType::UB, bytes);
    return bytes;
}
// Whether vector code of this SoC works on registers (arch 3510 and later).
template <typename Context>
bool IsRegbaseSocVersion(const Context *context) {
    const NpuArch arch =
        platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCurNpuArch();
    return arch == NpuArch::DAV_3510 || arch == NpuArch::DAV_5102;
}
}  // namespace Base
}  // namespace Ops

#endif  // OPGEN_EMULATION_OP_COMMON_MATH_UTIL_H
