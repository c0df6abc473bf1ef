// SPDX-License-Identifier: Apache-2.0
// fe::PlatFormInfos: hardware facts of the chosen SoC as labelled strings.
#ifndef OPGEN_EMULATION_PLATFORM_PLATFORM_INFOS_DEF_H
#define OPGEN_EMULATION_PLATFORM_PLATFORM_INFOS_DEF_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "platform/platform_info_def.h"

namespace ascendc_emu {
struct SocFacts;
}

namespace fe {
enum class LocalMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, RESERVED };

class PlatFormInfos {
public:
    PlatFormInfos() = default;
    // `cores` overrides the number of cores tiling sees (0: as the SoC has).
    PlatFormInfos(const ascendc_emu::SocFacts *facts, uint32_t cores)
        : facts_(facts), cores_(cores) {}

    bool Init() {
        return facts_ != nullptr;
    }
    // Labels and keys of CANN's platform files ("AICoreSpec", "ub_size"); false when unknown.
    bool GetPlatformRes(const std::string &label, const std::string &key, std::string &value) const;
    bool GetPlatformResWithLock(const std::string &label, const std::string &key,
                                std::string &value) const {
        return GetPlatformRes(label, key, value);
    }
    // Cores of the kind an AI-core op uses: vector cores where they are separate.
    uint32_t GetCoreNum() const;
    uint32_t GetCoreNumByType(const std::string &core_type) const;  // "AiCore" or "VectorCore"
    uint32_t GetCoreNumWithLock() const {
        return GetCoreNum();
    }
    void SetCoreNum(const uint32_t &core_num) {
        cores_ = core_num;
    }
    void SetCoreNumByCoreType(const std::string &) {}
    // Bytes a kernel may use. UB of split-core SoCs is 256 bytes less than the hardware has.
    void GetLocalMemSize(const LocalMemType &mem_type, uint64_t &size) const;
    // Bytes per cycle and core between the memory and its neighbour.
    void GetLocalMemBw(const LocalMemType &mem_type, uint64_t &bandwidth) const;

    const ascendc_emu::SocFacts *facts() const {
        return facts_;
    }
    uint32_t core_override() const {
        return cores_;
    }

private:
    const ascendc_emu::SocFacts *facts_ = nullptr;
    uint32_t cores_ = 0;
};
}  // namespace fe

#endif  // OPGEN_EMULATION_PLATFORM_PLATFORM_INFOS_DEF_H
