// SPDX-License-Identifier: Apache-2.0
// fe::PlatformInfoManager: the platform of this process.
#ifndef OPGEN_EMULATION_PLATFORM_PLATFORM_INFO_H
#define OPGEN_EMULATION_PLATFORM_PLATFORM_INFO_H

#include <cstdint>
#include <map>
#include <string>

#include "platform/platform_info_def.h"
#include "platform/platform_infos_def.h"

namespace fe {
// Results are 0 on success. The SoC is the one OPGEN_SOC names, or the default, until a test says
// something else: entries of platform_info_map_, which it reaches with `#define private public`, go
// first, and SetOptionalCompilationInfo names the SoC that is asked for without a name.
class PlatformInfoManager {
 public:
    static PlatformInfoManager &Instance();
    static PlatformInfoManager &GeInstance() { return Instance(); }
    uint32_t InitializePlatformInfo() { return 0; }
    uint32_t Finalize() { return 0; }
    uint32_t GetPlatformInfo(const std::string soc_version, PlatformInfo &platform_info,
                             OptionalInfo &optional_info);
    uint32_t GetPlatformInfoWithOutSocVersion(PlatformInfo &platform_info,
                                              OptionalInfo &optional_info);
    uint32_t GetPlatformInfos(const std::string soc_version, PlatFormInfos &platform_infos);
    uint32_t GetPlatformInfos(const std::string soc_version, PlatFormInfos &platform_infos,
                              OptionalInfos &optional_infos);
    uint32_t GetPlatformInfoWithOutSocVersion(PlatFormInfos &platform_infos,
                                              OptionalInfos &optional_infos);
    void SetOptionalCompilationInfo(OptionalInfo &optional_info) {
        opti_compilation_info_ = optional_info;
    }
    void SetOptionalCompilationInfo(OptionalInfos &optional_infos) {
        opti_compilation_infos_ = optional_infos;
    }
    uint32_t GetPlatformInstanceByDevice(const uint32_t &device_id, PlatFormInfos &platform_infos);

 private:
    std::map<std::string, PlatformInfo> platform_info_map_;
    std::map<std::string, PlatFormInfos> platform_infos_map_;
    OptionalInfo opti_compilation_info_;
    OptionalInfos opti_compilation_infos_;
};
}  // namespace fe

#endif  // OPGEN_EMULATION_PLATFORM_PLATFORM_INFO_H
