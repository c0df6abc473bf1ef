// SPDX-License-Identifier: Apache-2.0
// Sizes of the core that a tiling function runs for, in bytes unless the name says otherwise.
// `context` is a gert::TilingContext or a gert::TilingParseContext.
#ifndef OPGEN_EMULATION_OP_COMMON_PLATFORM_UTIL_H
#define OPGEN_EMULATION_OP_COMMON_PLATFORM_UTIL_H

#include <cstdint>

#include "exe_graph/runtime/tiling_context.h"
#include "tiling/platform/platform_ascendc.h"

namespace Ops {
namespace Base {
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

#endif  // OPGEN_EMULATION_OP_COMMON_PLATFORM_UTIL_H
