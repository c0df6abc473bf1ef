// SPDX-License-Identifier: Apache-2.0
// Shared PlatFormInfos objects; they live until the process ends.
#ifndef OPGEN_HOST_PLATFORM_INSTANCE_H
#define OPGEN_HOST_PLATFORM_INSTANCE_H

#include <cstdint>

#include "platform/platform_infos_def.h"

namespace ascendc_emu {
// The platform of a SoC with `cores` vector cores (0: all).
fe::PlatFormInfos *PlatformOf(const SocFacts *facts, uint32_t cores);
// The SoC of OPGEN_SOC, or the default one.
fe::PlatFormInfos *ProcessPlatform();
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_PLATFORM_INSTANCE_H
