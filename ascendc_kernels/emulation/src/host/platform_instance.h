// SPDX-License-Identifier: Apache-2.0
// The names of SoCs, and shared PlatFormInfos objects; they live until the process ends.
#ifndef OPGEN_HOST_PLATFORM_INSTANCE_H
#define OPGEN_HOST_PLATFORM_INSTANCE_H

#include <cstdint>
#include <string>

#include "platform/platform_info.h"

namespace ascendc_emu {
// Lower case of ASCII names: SoCs are named in either case.
inline std::string Lower(std::string text) {
    for (char &c : text) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return text;
}

// The platform of a SoC with `cores` vector cores (0: all).
fe::PlatFormInfos *PlatformOf(const SocFacts *facts, uint32_t cores);
// The platform of the op call this thread is in, else the SoC of OPGEN_SOC, else the default one.
fe::PlatFormInfos *CurrentPlatform();

// Makes a platform the current one while op-host functions of a call run: public tiling functions
// ask PlatformAscendCManager as well as their context.
class PlatformScope {
 public:
    explicit PlatformScope(fe::PlatFormInfos *platform);
    ~PlatformScope();
    PlatformScope(const PlatformScope &) = delete;
    PlatformScope &operator=(const PlatformScope &) = delete;

 private:
    fe::PlatFormInfos *saved_;
};
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_PLATFORM_INSTANCE_H
