// SPDX-License-Identifier: Apache-2.0
// fe::PlatformInfoManager: the platform of this process.
#ifndef OPGEN_EMULATION_PLATFORM_PLATFORM_INFO_H
#define OPGEN_EMULATION_PLATFORM_PLATFORM_INFO_H

#include <cstdint>
#include <string>

#include "platform/platform_info_def.h"
#include "platform/platform_infos_def.h"

namespace fe {
// Results are 0 on success. The SoC is the one OPGEN_SOC names, or the default.
class PlatformInfoManager {
public:
    static PlatformInfoManager &Instance();
    static PlatformInfoManager &GeInstance() {
        return Instance();
    }
    uint32_t InitializePlatformInfo() {
        return 0;
    }
    uint32_t Finalize() {
        return 0;
    }
    uint32_t GetPlatformInfo(const std::string soc_version, PlatformInfo &platform_info,
                             OptionalInfo &optional_info);
    uint32_t GetPlatformInfoWithOutSocVersion(PlatformInfo &platform_info,
                                              OptionalInfo &optional_info);
    uint32_t GetPlatformInfos(const std::string soc_version, PlatFormInfos &platform_infos);
};
}  // namespace fe

#endif  // OPGEN_EMULATION_PLATFORM_PLATFORM_INFO_H
