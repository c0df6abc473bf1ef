// SPDX-License-Identifier: Apache-2.0
// op::GetCurrentPlatformInfo(): the SoC as CANN's aclnn layer names it, for tiling that asks it
// there.
#ifndef OPGEN_EMULATION_OPDEV_PLATFORM_H
#define OPGEN_EMULATION_OPDEV_PLATFORM_H

#include <cstdint>

#include "tiling/platform/platform_ascendc.h"

namespace op {
using SocVersion = platform_ascendc::SocVersion;

class PlatformInfo {
 public:
    SocVersion GetSocVersion() const { return Platform()->GetSocVersion(); }
    uint32_t GetCubeCoreNum() const { return Platform()->GetCoreNumAic(); }
    uint32_t GetVectorCoreNum() const { return Platform()->GetCoreNumAiv(); }
    // Bytes of a data block.
    int64_t GetBlockSize() const { return 32; }

 private:
    static platform_ascendc::PlatformAscendC *Platform() {
        return platform_ascendc::PlatformAscendCManager::GetInstance();
    }
};

inline const PlatformInfo &GetCurrentPlatformInfo() {
    static const PlatformInfo info;
    return info;
}
}  // namespace op

#endif  // OPGEN_EMULATION_OPDEV_PLATFORM_H
