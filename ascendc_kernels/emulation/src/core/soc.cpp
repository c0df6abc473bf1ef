// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "ascendc_emu/core.h"
#include "ascendc_emu/platform_table.h"
#include "core/instructions.h"

namespace ascendc_emu {

const SocInfo* FindSoc(const char* name) {
    const SocFacts* facts = FindSocFacts(name);
    if (facts == nullptr) return nullptr;
    static std::mutex mutex;
    static std::map<std::string, SocInfo> known;
    std::lock_guard<std::mutex> lock(mutex);
    auto found = known.find(facts->name);
    if (found != known.end()) return &found->second;
    SocInfo& s = known[facts->name];
    snprintf(s.name, sizeof(s.name), "%s", facts->name.c_str());
    snprintf(s.family, sizeof(s.family), "%s", facts->family.c_str());
    s.arch = static_cast<int32_t>(facts->Number("npu_arch_9x"));
    s.aiCores = static_cast<int32_t>(facts->Number("ai_core_cnt"));
    s.aicCores = static_cast<int32_t>(facts->CubeCores());
    s.aivCores = facts->IsSplit() ? static_cast<int32_t>(facts->VectorCores()) : 0;
    s.ubBytes = static_cast<uint32_t>(facts->Number("ub_size"));
    s.l1Bytes = static_cast<uint32_t>(facts->Number("l1_size"));
    s.l0aBytes = static_cast<uint32_t>(facts->Number("l0_a_size"));
    s.l0bBytes = static_cast<uint32_t>(facts->Number("l0_b_size"));
    s.l0cBytes = static_cast<uint32_t>(facts->Number("l0_c_size"));
    s.btBytes = static_cast<uint32_t>(facts->Number("bt_size"));
    const ArchFacts* arch = FindArchFacts(s.arch);
    if (arch != nullptr) s.traits = *arch;
    s.apisListed = ListsApisOf(s.arch);
    // The table has the first buffer of the fixpipe only, for quantisation parameters. TPipe hands
    // out all of them, which public kernels (Catlass) take as a whole.
    s.fbBytes = s.traits.fixpipeBytes != 0 ? s.traits.fixpipeBytes
                                           : static_cast<uint32_t>(facts->Number("fb0_size"));
    s.l2Bytes = facts->Number("l2_size");
    s.frequencyMhz = static_cast<int32_t>(facts->Number("cube_freq"));
    return &s;
}

}  // namespace ascendc_emu
