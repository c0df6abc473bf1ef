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

    // A platform without a SoC knows what is set below, and nothing else.
    bool Init() { return true; }
    // Labels and keys of CANN's platform files ("AICoreSpec", "ub_size"); false when unknown.
    bool GetPlatformRes(const std::string &label, const std::string &key, std::string &value) const;
    bool GetPlatformResWithLock(const std::string &label, const std::string &key,
                                std::string &value) const {
        return GetPlatformRes(label, key, value);
    }
    // All that was set for a label.
    bool GetPlatformRes(const std::string &label, std::map<std::string, std::string> &res) const;
    bool GetPlatformResWithLock(const std::string &label,
                                std::map<std::string, std::string> &res) const {
        return GetPlatformRes(label, res);
    }
    // Replaces what a label says; goes before the SoC's own facts.
    void SetPlatformRes(const std::string &label, std::map<std::string, std::string> &res) {
        set_[label] = res;
    }
    void SetPlatformResWithLock(const std::string &label, std::map<std::string, std::string> &res) {
        SetPlatformRes(label, res);
    }
    using DtypeMap = std::map<std::string, std::vector<std::string>>;
    DtypeMap GetAICoreIntrinsicDtype() const { return cube_dtypes_; }
    DtypeMap GetVectorCoreIntrinsicDtype() const { return vector_dtypes_; }
    DtypeMap GetFixPipeDtypeMap() const { return fixpipe_dtypes_; }
    void SetAICoreIntrinsicDtype(const DtypeMap &intrinsic_dtypes) {
        cube_dtypes_ = intrinsic_dtypes;
    }
    void SetVectorCoreIntrinsicDtype(const DtypeMap &intrinsic_dtypes) {
        vector_dtypes_ = intrinsic_dtypes;
    }
    void SetFixPipeDtypeMap(const DtypeMap &fixpipe_dtypes) { fixpipe_dtypes_ = fixpipe_dtypes; }
    // Cores of the kind an AI-core op uses: vector cores where they are separate.
    uint32_t GetCoreNum() const;
    uint32_t GetCoreNumByType(const std::string &core_type) const;  // "AiCore" or "VectorCore"
    uint32_t GetCoreNumWithLock() const { return GetCoreNum(); }
    void SetCoreNum(const uint32_t &core_num) { cores_ = core_num; }
    // "AICore", "VectorCore" or anything else, for both: takes the number from what was set for
    // "SoCInfo"; without it the SoC's own number stays.
    void SetCoreNumByCoreType(const std::string &core_type);
    // Bytes a kernel may use. UB of split-core SoCs is 256 bytes less than the hardware has.
    void GetLocalMemSize(const LocalMemType &mem_type, uint64_t &size) const;
    // Bytes per cycle and core between the memory and its neighbour.
    void GetLocalMemBw(const LocalMemType &mem_type, uint64_t &bandwidth) const;

    const ascendc_emu::SocFacts *facts() const { return facts_; }
    uint32_t core_override() const { return cores_; }

    // Whether anything was set; a SoC's family and architecture then come from "version".
    bool described() const { return !set_.empty(); }

    // Whether the size of UB was set.
    bool SetsMemory() const { return SetNumber("AICoreSpec", "ub_size") != 0; }

 private:
    // A number that was set, 0 when there is none.
    uint64_t SetNumber(const std::string &label, const std::string &key) const;

    const ascendc_emu::SocFacts *facts_ = nullptr;
    uint32_t cores_ = 0;
    std::map<std::string, std::map<std::string, std::string>> set_;
    DtypeMap cube_dtypes_, vector_dtypes_, fixpipe_dtypes_;
};
// What a compilation chose of a SoC.
class OptionalInfos {
 public:
    bool Init() { return true; }
    std::string GetSocVersion() const { return soc_version_; }
    std::string GetCoreType() const { return core_type_; }
    uint32_t GetAICoreNum() const { return core_num_; }
    std::string GetL1FusionFlag() const { return l1_fusion_; }
    void SetSocVersion(const std::string &soc_version) { soc_version_ = soc_version; }
    void SetSocVersionWithLock(const std::string &soc_version) { soc_version_ = soc_version; }
    void SetCoreType(const std::string &core_type) { core_type_ = core_type; }
    void SetAICoreNum(const uint32_t &core_num) { core_num_ = core_num; }
    void SetL1FusionFlag(const std::string &l1_fusion_flag) { l1_fusion_ = l1_fusion_flag; }

 private:
    std::string soc_version_, core_type_, l1_fusion_;
    uint32_t core_num_ = 0;
};
}  // namespace fe

#endif  // OPGEN_EMULATION_PLATFORM_PLATFORM_INFOS_DEF_H
