// SPDX-License-Identifier: Apache-2.0
#include "ascendc_emu/platform_table.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>
#include <vector>

#include "host/platform_instance.h"
#include "runtime/rt_external_base.h"

namespace ascendc_emu {
namespace {
// Written from platform_facts.csv when the library is built.
const char *const kTable =
#include "platform_facts.inc"
    ;

constexpr const char *kDefaultSoc = "ascend910b3";

// Written from architectures.csv when the library is built.
const char *const kArchTable =
#include "architectures.inc"
    ;

// Splits one CSV line; a quoted cell may contain commas.
std::vector<std::string> Cells(const std::string &line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
        if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            cells.emplace_back();
        } else if (c != '\r') {
            cells.back() += c;
        }
    }
    return cells;
}

std::vector<SocFacts> Parse() {
    std::vector<SocFacts> socs;
    for (const auto &row : CsvRows(kTable)) {
        SocFacts facts;
        facts.columns = row;
        facts.name = facts.Text("soc");
        facts.family = facts.Text("Short_SoC_version");
        socs.push_back(facts);
    }
    return socs;
}

std::vector<ArchFacts> ParseArchs() {
    std::vector<ArchFacts> archs;
    for (const auto &row : CsvRows(kArchTable)) {
        const auto number = [&](const char *column, int base = 10) {
            return std::strtoul(row.at(column).c_str(), nullptr, base);
        };
        ArchFacts facts;
        facts.arch = static_cast<int32_t>(number("arch"));
        facts.full = row.at("emulation") == "full";
        facts.instructions = static_cast<int32_t>(number("instructions"));
        facts.version = static_cast<uint32_t>(number("cce_aicore", 16));
        facts.unified = row.at("cores") == "unified";
        facts.libraryWorkspace = static_cast<uint32_t>(number("library_workspace"));
        facts.ubReserved = static_cast<uint32_t>(number("ub_reserved"));
        facts.fixpipeBytes = static_cast<uint32_t>(number("fixpipe_bytes"));
        facts.pipeFlags = static_cast<int32_t>(number("pipe_flags"));
        archs.push_back(facts);
    }
    return archs;
}

const std::vector<ArchFacts> &Archs() {
    static const std::vector<ArchFacts> archs = ParseArchs();
    return archs;
}

const std::vector<SocFacts> &Rows() {
    static const std::vector<SocFacts> rows = Parse();
    return rows;
}
}  // namespace

std::vector<std::map<std::string, std::string>> CsvRows(const char *text) {
    std::vector<std::map<std::string, std::string>> rows;
    std::vector<std::string> header;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty()) {
            continue;
        }
        const std::vector<std::string> cells = Cells(line);
        if (header.empty()) {
            header = cells;
            continue;
        }
        rows.emplace_back();
        for (size_t i = 0; i < header.size() && i < cells.size(); ++i) {
            rows.back()[header[i]] = cells[i];
        }
    }
    return rows;
}

uint64_t SocFacts::Number(const char *column) const {
    return std::strtoull(Text(column).c_str(), nullptr, 10);
}

std::string SocFacts::Text(const char *column) const {
    const auto it = columns.find(column);
    return it == columns.end() ? "" : it->second;
}

bool SocFacts::IsSplit() const { return Text("cube_vector_combine") == "split"; }

uint32_t SocFacts::CubeCores() const {
    const uint64_t cores = Number("cube_core_cnt");
    return static_cast<uint32_t>(cores != 0 ? cores : Number("ai_core_cnt"));
}

uint32_t SocFacts::VectorCores() const {
    return static_cast<uint32_t>(IsSplit() ? Number("vector_core_cnt") : Number("ai_core_cnt"));
}

uint64_t SocFacts::UsableUb() const {
    const uint64_t size = Number("ub_size");
    const ArchFacts *arch = FindArchFacts(static_cast<int32_t>(Number("npu_arch_9x")));
    return arch != nullptr && size >= arch->ubReserved ? size - arch->ubReserved : size;
}

uint32_t SocFacts::LibraryWorkspace() const {
    const ArchFacts *arch = FindArchFacts(static_cast<int32_t>(Number("npu_arch_9x")));
    return arch != nullptr ? arch->libraryWorkspace : 2U * 1024U * 1024U;
}

const ArchFacts *FindArchFacts(int32_t arch) {
    for (const ArchFacts &facts : Archs()) {
        if (facts.arch == arch) {
            return &facts;
        }
    }
    return nullptr;
}

std::string EmulatedArchs() {
    std::string text;
    for (const ArchFacts &facts : Archs()) {
        text += text.empty() ? "the emulation knows " : ", ";
        text += std::to_string(facts.arch) + (facts.full ? "" : " (roughly)");
    }
    return text;
}

const SocFacts *FindSocFacts(const char *name) {
    std::string wanted = Lower(name == nullptr ? "" : name);
    if (wanted.empty()) {
        const char *const chosen = std::getenv("OPGEN_SOC");
        wanted = Lower(chosen == nullptr || *chosen == '\0' ? kDefaultSoc : chosen);
    }
    // Every launch asks.
    static std::mutex mutex;
    static std::map<std::string, const SocFacts *> asked;
    const std::lock_guard<std::mutex> lock(mutex);
    const auto known = asked.find(wanted);
    if (known != asked.end()) {
        return known->second;
    }
    for (const SocFacts &facts : Rows()) {
        // A family's bare name stands for its part on common boards.
        const bool family = Lower(facts.family) == wanted && facts.Text("reference") == "yes";
        if (family || Lower(facts.name) == wanted) {
            asked[wanted] = &facts;
            return &facts;
        }
    }
    return nullptr;
}

std::string KnownSocs() {
    std::string names;
    for (const SocFacts &facts : Rows()) {
        names += names.empty() ? facts.name : ", " + facts.name;
    }
    return names;
}

fe::PlatFormInfos *PlatformOf(const SocFacts *facts, uint32_t cores) {
    static std::mutex mutex;
    static std::map<std::pair<const SocFacts *, uint32_t>, fe::PlatFormInfos> instances;
    const std::lock_guard<std::mutex> lock(mutex);
    return &instances.emplace(std::make_pair(facts, cores), fe::PlatFormInfos(facts, cores))
                .first->second;
}

namespace {
thread_local fe::PlatFormInfos *t_platform = nullptr;
}  // namespace

fe::PlatFormInfos *CurrentPlatform() {
    static fe::PlatFormInfos *const process = PlatformOf(FindSocFacts(nullptr), 0);
    return t_platform != nullptr ? t_platform : process;
}

PlatformScope::PlatformScope(fe::PlatFormInfos *platform) : saved_(t_platform) {
    t_platform = platform;
}

PlatformScope::~PlatformScope() { t_platform = saved_; }
}  // namespace ascendc_emu

extern "C" rtError_t rtGetSocSpec(const char *label, const char *key, char *val, uint32_t maxLen) {
    constexpr rtError_t kInvalid = 107000;  // ACL_ERROR_RT_PARAM_INVALID
    if (label == nullptr || key == nullptr || val == nullptr) return kInvalid;
    std::string text;
    const bool found = ascendc_emu::CurrentPlatform()->GetPlatformRes(label, key, text);
    if (!found || text.size() >= maxLen) return kInvalid;
    memcpy(val, text.c_str(), text.size() + 1);
    return RT_ERROR_NONE;
}
