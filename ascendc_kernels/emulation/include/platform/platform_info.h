// SPDX-License-Identifier: Apache-2.0
// Hardware facts of the chosen SoC: as structs, as labelled strings, and who hands them out.
#ifndef OPGEN_EMULATION_PLATFORM_PLATFORM_INFO_H
#define OPGEN_EMULATION_PLATFORM_PLATFORM_INFO_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// CANN's header makes these global, and op sources have come to rely on it.
using std::map;
using std::string;
using std::vector;

namespace fe {
enum MemoryType { DDR = 0, HBM };
enum L2Type { Cache = 0, Buff };

struct StrInfo {
    std::string aic_version;
    std::string ccec_aic_version;
    std::string ccec_aiv_version;
    std::string is_support_ai_cpu_compiler;
    std::string short_soc_version;
};

struct SoCInfo {
    uint32_t ai_core_cnt = 0;
    uint32_t vector_core_cnt = 0;
    uint32_t ai_cpu_cnt = 0;
    MemoryType memory_type = HBM;
    uint64_t memory_size = 0;
    L2Type l2_type = Cache;
    uint64_t l2_size = 0;
    uint32_t l2PageNum = 0;
};

struct AiCoreSpec {
    double cube_freq = 0;
    uint64_t cube_m_size = 0;
    uint64_t cube_n_size = 0;
    uint64_t cube_k_size = 0;
    uint64_t vec_calc_size = 0;
    uint64_t l0_a_size = 0;
    uint64_t l0_b_size = 0;
    uint64_t l0_c_size = 0;
    uint64_t l1_size = 0;
    uint64_t smask_buffer = 0;
    uint64_t ub_size = 0;
    uint64_t ubblock_size = 0;
    uint64_t ubbank_size = 0;
    uint64_t ubbank_num = 0;
    uint64_t ubburst_in_one_block = 0;
    uint64_t ubbank_group_num = 0;
};

struct PlatformInfo {
    StrInfo str_info;
    SoCInfo soc_info;
    AiCoreSpec ai_core_spec;
};

struct OptionalInfo {
    std::string soc_version;
    std::string core_type;
    uint32_t ai_core_num = 0;
    std::string l1_fusion_flag;
};
}  // namespace fe

namespace ascendc_emu {
struct SocFacts;
}  // namespace ascendc_emu

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

// fe::PlatformInfoManager: the platform of this process.
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
