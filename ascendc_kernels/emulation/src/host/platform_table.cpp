// SPDX-License-Identifier: Apache-2.0
#include "ascendc_emu/platform_table.h"

#include <cstdlib>
#include <vector>

#include "host/lower_case.h"

namespace ascendc_emu {
namespace {
// Written from platform_facts.csv when the library is built.
const char *const kTable =
#include "platform_facts.inc"
    ;

constexpr const char *kDefaultSoc = "ascend910b3";

// The member of a family that its bare name stands for: the one on common boards.
const char *const kReferenceParts[][2] = {
    {"ascend910b", "ascend910b3"},
    {"ascend910_93", "ascend910_9391"},
    {"ascend310p", "ascend310p3"},
    {"ascend310b", "ascend310b1"},
    {"ascend910", "ascend910a"},
};

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
    std::vector<SocFacts> rows;
    std::vector<std::string> header;
    std::string line;
    for (const char *p = kTable;; ++p) {
        if (*p != '\n' && *p != '\0') {
            line += *p;
            continue;
        }
        if (!line.empty()) {
            const std::vector<std::string> cells = Cells(line);
            if (header.empty()) {
                header = cells;
            } else {
                SocFacts facts;
                for (size_t i = 0; i < header.size() && i < cells.size(); ++i) {
                    facts.columns[header[i]] = cells[i];
                }
                facts.name = facts.Text("soc");
                facts.family = facts.Text("Short_SoC_version");
                rows.push_back(facts);
            }
        }
        line.clear();
        if (*p == '\0') {
            return rows;
        }
    }
}

const std::vector<SocFacts> &Rows() {
    static const std::vector<SocFacts> rows = Parse();
    return rows;
}
}  // namespace

uint64_t SocFacts::Number(const char *column) const {
    return std::strtoull(Text(column).c_str(), nullptr, 10);
}

std::string SocFacts::Text(const char *column) const {
    const auto it = columns.find(column);
    return it == columns.end() ? "" : it->second;
}

bool SocFacts::IsSplit() const {
    return Text("cube_vector_combine") == "split";
}

uint32_t SocFacts::CubeCores() const {
    const uint64_t cores = Number("cube_core_cnt");
    return static_cast<uint32_t>(cores != 0 ? cores : Number("ai_core_cnt"));
}

uint32_t SocFacts::VectorCores() const {
    return static_cast<uint32_t>(IsSplit() ? Number("vector_core_cnt") : Number("ai_core_cnt"));
}

uint64_t SocFacts::UsableUb() const {
    const uint64_t size = Number("ub_size");
    return IsSplit() && size >= 256 ? size - 256 : size;
}

uint32_t SocFacts::LibraryWorkspace() const {
    return (IsSplit() ? 16U : 2U) * 1024U * 1024U;
}

const SocFacts *FindSocFacts(const char *name) {
    std::string wanted = Lower(name == nullptr ? "" : name);
    if (wanted.empty()) {
        const char *const chosen = std::getenv("OPGEN_SOC");
        wanted = Lower(chosen == nullptr || *chosen == '\0' ? kDefaultSoc : chosen);
    }
    for (const auto &part : kReferenceParts) {
        if (wanted == part[0]) {
            wanted = part[1];
            break;
        }
    }
    for (const SocFacts &facts : Rows()) {
        if (Lower(facts.name) == wanted) {
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
}  // namespace ascendc_emu
