// SPDX-License-Identifier: Apache-2.0
// fe:: and platform_ascendc:: on top of the platform table.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "ascendc_emu/platform_table.h"
#include "host/platform_instance.h"
#include "platform/platform_info.h"
#include "tiling/platform/platform_ascendc.h"

namespace fe {
namespace {
const char *Column(LocalMemType type) {
    switch (type) {
        case LocalMemType::L0_A:
            return "l0_a_size";
        case LocalMemType::L0_B:
            return "l0_b_size";
        case LocalMemType::L0_C:
            return "l0_c_size";
        case LocalMemType::L1:
            return "l1_size";
        case LocalMemType::L2:
            return "l2_size";
        case LocalMemType::UB:
            return "ub_size";
        case LocalMemType::HBM:
            return "memory_size";
        default:
            return "";
    }
}

void FillInfo(const ascendc_emu::SocFacts &facts, PlatformInfo &info, OptionalInfo &optional) {
    info.str_info.aic_version = facts.Text("AIC_version");
    info.str_info.ccec_aic_version = facts.Text("CCEC_AIC_version");
    info.str_info.ccec_aiv_version = facts.Text("CCEC_AIV_version");
    info.str_info.short_soc_version = facts.family;
    info.soc_info.ai_core_cnt = facts.CubeCores();
    info.soc_info.vector_core_cnt = facts.IsSplit() ? facts.VectorCores() : 0;
    info.soc_info.ai_cpu_cnt = static_cast<uint32_t>(facts.Number("ai_cpu_cnt"));
    info.soc_info.memory_size = facts.Number("memory_size");
    info.soc_info.l2_size = facts.Number("l2_size");
    info.soc_info.l2PageNum = static_cast<uint32_t>(facts.Number("l2PageNum"));
    AiCoreSpec &core = info.ai_core_spec;
    core.cube_freq = static_cast<double>(facts.Number("cube_freq"));
    core.cube_m_size = facts.Number("cube_m_size");
    core.cube_n_size = facts.Number("cube_n_size");
    core.cube_k_size = facts.Number("cube_k_size");
    core.vec_calc_size = facts.Number("vec_calc_size");
    core.l0_a_size = facts.Number("l0_a_size");
    core.l0_b_size = facts.Number("l0_b_size");
    core.l0_c_size = facts.Number("l0_c_size");
    core.l1_size = facts.Number("l1_size");
    core.smask_buffer = facts.Number("smask_buffer");
    core.ub_size = facts.UsableUb();
    core.ubblock_size = facts.Number("ubblock_size");
    core.ubbank_size = facts.Number("ubbank_size");
    core.ubbank_num = facts.Number("ubbank_num");
    core.ubburst_in_one_block = facts.Number("ubburst_in_one_block");
    core.ubbank_group_num = facts.Number("ubbank_group_num");
    optional.soc_version = facts.name;
    optional.ai_core_num = facts.CubeCores();
}
}  // namespace

bool PlatFormInfos::GetPlatformRes(const std::string &label, const std::string &key,
                                   std::string &value) const {
    if (const auto found = set_.find(label); found != set_.end()) {
        if (const auto entry = found->second.find(key); entry != found->second.end()) {
            value = entry->second;
            return true;
        }
    }
    if (facts_ == nullptr) {
        return false;
    }
    if (label == "version" && (key == "SoC_version" || key == "Soc_version")) {
        value = facts_->name;
        return true;
    }
    if (label == "version" && (key == "NpuArch" || key == "NPU_Arch")) {
        value = facts_->Text("npu_arch_9x");
        return true;
    }
    std::string column = label == "VectorCoreSpec" ? "VectorCoreSpec." + key : key;
    if (facts_->columns.count(column) == 0) {
        column = key;
    }
    if (column == "ub_size") {
        value = std::to_string(facts_->UsableUb());
        return true;
    }
    value = facts_->Text(column.c_str());
    return !value.empty();
}

bool PlatFormInfos::GetPlatformRes(const std::string &label,
                                   std::map<std::string, std::string> &res) const {
    const auto found = set_.find(label);
    if (found == set_.end()) {
        return false;
    }
    res = found->second;
    return true;
}

uint64_t PlatFormInfos::SetNumber(const std::string &label, const std::string &key) const {
    const auto found = set_.find(label);
    if (found == set_.end() || found->second.count(key) == 0) {
        return 0;
    }
    return std::strtoull(found->second.at(key).c_str(), nullptr, 10);
}

void PlatFormInfos::SetCoreNumByCoreType(const std::string &core_type) {
    const auto cube = static_cast<uint32_t>(SetNumber("SoCInfo", "ai_core_cnt"));
    const auto vector = static_cast<uint32_t>(SetNumber("SoCInfo", "vector_core_cnt"));
    const uint32_t count = core_type == "VectorCore" ? vector
                           : core_type == "AICore"   ? cube
                                                     : cube + vector;
    if (count != 0) {
        cores_ = count;
    }
}

uint32_t PlatFormInfos::GetCoreNum() const {
    if (cores_ != 0) {
        return cores_;
    }
    return facts_ == nullptr ? 0 : facts_->VectorCores();
}

uint32_t PlatFormInfos::GetCoreNumByType(const std::string &core_type) const {
    if (described()) {
        std::string combine;
        const bool split =
            GetPlatformRes("SoCInfo", "cube_vector_combine", combine) && combine == "split";
        const char *const key = !split                      ? "ai_core_cnt"
                                : core_type == "VectorCore" ? "vector_core_cnt"
                                                            : "cube_core_cnt";
        if (const uint64_t count = SetNumber("SoCInfo", key); count != 0) {
            return static_cast<uint32_t>(count);
        }
    }
    if (facts_ == nullptr) {
        return 0;
    }
    if (core_type == "VectorCore") {
        return cores_ != 0 ? cores_ : facts_->VectorCores();
    }
    const uint32_t ratio = facts_->IsSplit() ? facts_->VectorCores() / facts_->CubeCores() : 1;
    return cores_ != 0 ? std::max(1U, cores_ / ratio) : facts_->CubeCores();
}

void PlatFormInfos::GetLocalMemSize(const LocalMemType &mem_type, uint64_t &size) const {
    const char *const label =
        mem_type == LocalMemType::L2 || mem_type == LocalMemType::HBM ? "SoCInfo" : "AICoreSpec";
    size = SetNumber(label, Column(mem_type));
    if (size == 0 && facts_ != nullptr) {
        size = mem_type == LocalMemType::UB ? facts_->UsableUb() : facts_->Number(Column(mem_type));
    }
}

void PlatFormInfos::GetLocalMemBw(const LocalMemType &mem_type, uint64_t &bandwidth) const {
    static const std::map<LocalMemType, const char *> columns = {
        {LocalMemType::L2, "l2_rate"},           {LocalMemType::HBM, "ddr_rate"},
        {LocalMemType::L0_A, "l1_to_l0_a_rate"}, {LocalMemType::L0_B, "l1_to_l0_b_rate"},
        {LocalMemType::L0_C, "l0_c_to_ub_rate"}, {LocalMemType::L1, "l1_to_ub_rate"},
        {LocalMemType::UB, "ub_to_l2_rate"},
    };
    const auto it = columns.find(mem_type);
    bandwidth = it == columns.end() ? 0 : SetNumber("AICoreMemoryRates", it->second);
    if (bandwidth != 0) {
        return;
    }
    bandwidth = facts_ == nullptr || it == columns.end() ? 0 : facts_->Number(it->second);
}

PlatformInfoManager &PlatformInfoManager::Instance() {
    static PlatformInfoManager manager;
    return manager;
}

namespace {
constexpr uint32_t kUnknownSoc = 0xFFFFFFFFU;
}  // namespace

uint32_t PlatformInfoManager::GetPlatformInfo(const std::string soc_version, PlatformInfo &info,
                                              OptionalInfo &optional_info) {
    const auto set = platform_info_map_.find(soc_version);
    if (set != platform_info_map_.end()) {
        info = set->second;
        optional_info = opti_compilation_info_;
        return 0;
    }
    const ascendc_emu::SocFacts *const facts = ascendc_emu::FindSocFacts(soc_version.c_str());
    if (facts == nullptr) {
        return kUnknownSoc;
    }
    FillInfo(*facts, info, optional_info);
    return 0;
}

uint32_t PlatformInfoManager::GetPlatformInfoWithOutSocVersion(PlatformInfo &info,
                                                               OptionalInfo &optional_info) {
    return GetPlatformInfo(opti_compilation_info_.soc_version, info, optional_info);
}

uint32_t PlatformInfoManager::GetPlatformInfos(const std::string soc_version,
                                               PlatFormInfos &platform_infos) {
    const auto set = platform_infos_map_.find(soc_version);
    if (set != platform_infos_map_.end()) {
        platform_infos = set->second;
        return 0;
    }
    const ascendc_emu::SocFacts *const facts = ascendc_emu::FindSocFacts(soc_version.c_str());
    if (facts == nullptr) {
        return kUnknownSoc;
    }
    platform_infos = PlatFormInfos(facts, 0);
    return 0;
}

uint32_t PlatformInfoManager::GetPlatformInfos(const std::string soc_version,
                                               PlatFormInfos &platform_infos,
                                               OptionalInfos &optional_infos) {
    optional_infos = opti_compilation_infos_;
    return GetPlatformInfos(soc_version, platform_infos);
}

uint32_t PlatformInfoManager::GetPlatformInfoWithOutSocVersion(PlatFormInfos &platform_infos,
                                                               OptionalInfos &optional_infos) {
    return GetPlatformInfos(opti_compilation_infos_.GetSocVersion(), platform_infos,
                            optional_infos);
}

uint32_t PlatformInfoManager::GetPlatformInstanceByDevice(const uint32_t &,
                                                          PlatFormInfos &platform_infos) {
    return GetPlatformInfos("", platform_infos);
}
}  // namespace fe

namespace platform_ascendc {
namespace {
fe::LocalMemType ToLocal(CoreMemType type) {
    return type < CoreMemType::FB ? static_cast<fe::LocalMemType>(type)
                                  : fe::LocalMemType::RESERVED;
}
}  // namespace

// The SoC of a platform that a test describes: its family names the reference part.
static const ascendc_emu::SocFacts *FactsOf(const fe::PlatFormInfos &info) {
    if (info.facts() != nullptr) {
        return info.facts();
    }
    for (const char *const key : {"Short_SoC_version", "SoC_version", "Soc_version"}) {
        std::string name;
        if (info.GetPlatformRes("version", key, name) && !name.empty()) {
            if (const auto *const facts = ascendc_emu::FindSocFacts(name.c_str())) {
                return facts;
            }
        }
    }
    return nullptr;
}

fe::PlatFormInfos *PlatformAscendC::Info() const {
    return info_ != nullptr ? info_ : ascendc_emu::CurrentPlatform();
}

uint32_t PlatformAscendC::GetCoreNum(void) const { return Info()->GetCoreNum(); }

uint32_t PlatformAscendC::GetCoreNumAic(void) const { return Info()->GetCoreNumByType("AiCore"); }

uint32_t PlatformAscendC::GetCoreNumAiv(void) const {
    return Info()->GetCoreNumByType("VectorCore");
}

uint32_t PlatformAscendC::GetCoreNumVector(void) const {
    // Vector cores beside the AI cores exist on 310P; elsewhere the answer is 0.
    const ascendc_emu::SocFacts *const facts = FactsOf(*Info());
    if (facts == nullptr || facts->IsSplit()) {
        return 0;
    }
    return static_cast<uint32_t>(facts->Number("vector_core_cnt"));
}

uint32_t PlatformAscendC::CalcTschBlockDim(uint32_t slice_num, uint32_t aic_core_num,
                                           uint32_t aiv_core_num) const {
    if (aic_core_num == 0 || aiv_core_num == 0 || aic_core_num > aiv_core_num) {
        return slice_num;
    }
    const uint32_t vector_per_cube = aiv_core_num / aic_core_num;
    return (slice_num + vector_per_cube - 1) / vector_per_cube;
}

uint32_t PlatformAscendC::GetLibApiWorkSpaceSize(void) const {
    const ascendc_emu::SocFacts *const facts = FactsOf(*Info());
    return facts == nullptr ? 0xFFFFFFFFU : facts->LibraryWorkspace();
}

uint32_t PlatformAscendC::GetResCubeGroupWorkSpaceSize(void) const { return 13U * 1024U * 1024U; }

uint32_t PlatformAscendC::GetResGroupBarrierWorkSpaceSize(void) const {
    return 13U * 1024U * 1024U;
}

void PlatformAscendC::GetCoreMemSize(const CoreMemType &mem_type, uint64_t &size) const {
    const ascendc_emu::SocFacts *const facts = FactsOf(*Info());
    if (mem_type == CoreMemType::FB || mem_type == CoreMemType::BT) {
        const char *const column = mem_type == CoreMemType::FB ? "fb0_size" : "bt_size";
        size = facts == nullptr ? 0 : facts->Number(column);
        return;
    }
    Info()->GetLocalMemSize(ToLocal(mem_type), size);
    // Messages between cube and vector cores take 256 bytes of either memory; platform files have
    // the sizes of the hardware, only the UB of a row of facts is less that already.
    const bool whole =
        mem_type == CoreMemType::L1 || (mem_type == CoreMemType::UB && Info()->SetsMemory());
    if (whole && facts != nullptr && facts->IsSplit()) {
        size -= std::min<uint64_t>(size, 256);
    }
    if (mem_type == CoreMemType::UB) {
        size -= std::min<uint64_t>(size, reserved_bytes_);
    }
}

void PlatformAscendC::GetCoreMemBw(const CoreMemType &mem_type, uint64_t &bandwidth) const {
    Info()->GetLocalMemBw(ToLocal(mem_type), bandwidth);
}

void PlatformAscendC::ReserveLocalMemory(ReservedSize size) {
    reserved_bytes_ = 8192U << static_cast<uint32_t>(size);
}

SocVersion PlatformAscendC::GetSocVersion(void) const {
    static const std::map<std::string, SocVersion> versions = {
        {"Ascend910", SocVersion::ASCEND910},     {"Ascend910B", SocVersion::ASCEND910B},
        {"Ascend910_93", SocVersion::ASCEND910B}, {"Ascend310P", SocVersion::ASCEND310P},
        {"Ascend310B", SocVersion::ASCEND310B},
    };
    const ascendc_emu::SocFacts *const facts = FactsOf(*Info());
    const auto it = versions.find(facts == nullptr ? "" : facts->family);
    return it == versions.end() ? SocVersion::RESERVED_VERSION : it->second;
}

NpuArch PlatformAscendC::GetCurNpuArch(void) const {
    std::string arch;
    if (Info()->described() && Info()->GetPlatformRes("version", "NpuArch", arch)) {
        return static_cast<NpuArch>(std::atoi(arch.c_str()));
    }
    const ascendc_emu::SocFacts *const facts = FactsOf(*Info());
    return facts == nullptr ? NpuArch::DAV_RESV
                            : static_cast<NpuArch>(facts->Number("npu_arch_9x"));
}

uint32_t PlatformAscendC::GetVecRegLen(void) const {
    // No vector registers a kernel could name on the emulated architectures.
    return 0;
}

PlatformAscendC *PlatformAscendCManager::GetInstance() { return GetInstance(nullptr); }

PlatformAscendC *PlatformAscendCManager::GetInstance(const char *custom_soc_version) {
    static std::mutex mutex;
    static std::map<fe::PlatFormInfos *, PlatformAscendC *> instances;
    static fe::PlatFormInfos *chosen = nullptr;
    const std::lock_guard<std::mutex> lock(mutex);
    fe::PlatFormInfos *const current = ascendc_emu::CurrentPlatform();
    const ascendc_emu::SocFacts *const facts = ascendc_emu::FindSocFacts(custom_soc_version);
    if (custom_soc_version != nullptr && facts == nullptr) {
        return nullptr;
    }
    if (chosen == nullptr && custom_soc_version != nullptr) {
        chosen = ascendc_emu::PlatformOf(facts, 0);
    }
    // Inside a call the call's SoC wins; a program's own choice holds for the rest.
    const bool in_call = current != ascendc_emu::PlatformOf(ascendc_emu::FindSocFacts(nullptr), 0);
    fe::PlatFormInfos *const infos = in_call || chosen == nullptr ? current : chosen;
    if (infos->facts() == nullptr) {
        return nullptr;
    }
    PlatformAscendC *&instance = instances[infos];
    if (instance == nullptr) {
        instance = new PlatformAscendC(infos);
    }
    return instance;
}
}  // namespace platform_ascendc
