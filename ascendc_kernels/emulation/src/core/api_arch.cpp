// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "core/api_arch.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "ascendc_emu/core.h"
#include "ascendc_emu/platform_table.h"

namespace ascendc_emu {
namespace {

// Written from api_arch.csv when the library is built.
const char* const kTable =
#include "api_arch.inc"
    ;

struct ApiTable {
    std::set<int32_t> archs;  // with a column of types
    std::map<std::string, ApiFacts> apis;
};

// The columns are api, archs, types_<arch> of one or more architectures, page.
ApiTable Read() {
    static const std::string prefix = "types_";
    ApiTable table;
    for (const auto& row : CsvRows(kTable)) {
        ApiFacts& facts = table.apis[row.at("api")];
        facts.page = row.at("page");
        std::istringstream words(row.at("archs"));
        for (int32_t word = 0; words >> word;) facts.archs.insert(word);
        for (const auto& cell : row) {
            if (cell.first.compare(0, prefix.size(), prefix) != 0) continue;
            const int32_t arch = std::atoi(cell.first.c_str() + prefix.size());
            table.archs.insert(arch);
            facts.types[arch] = cell.second;
        }
    }
    return table;
}

const ApiTable& Table() {
    static const ApiTable table = Read();
    return table;
}

bool Reads(const Operand& o) { return static_cast<int>(o.access) & 1; }

// The first source; of an instruction without one, its destination.
const Operand* Main(const Record& r, bool source) {
    for (int i = 0; i < r.count; ++i) {
        if (Reads(r.operands[i]) == source && r.operands[i].dtype != DType::kNone) {
            return &r.operands[i];
        }
    }
    return source ? Main(r, false) : nullptr;
}

std::string MissingCast(const Record& r, const std::string& types) {
    static const char* const modes[] = {"NONE", "RINT", "FLOOR", "CEIL", "ROUND", "TRUNC", "ODD"};
    const Operand* from = Main(r, true);
    const Operand* to = Main(r, false);
    if (from == nullptr || to == nullptr) return "";
    const std::string pair = std::string(Name(from->dtype)) + ">" + Name(to->dtype);
    std::istringstream words(types);
    for (std::string word; words >> word;) {
        const size_t colon = word.find(':');
        if (word.substr(0, colon) != pair) continue;
        if (colon == std::string::npos || r.mode < 0 || r.mode > 6) return "";
        const std::string allowed = "/" + word.substr(colon + 1) + "/";
        if (allowed.find(std::string("/") + modes[r.mode] + "/") != std::string::npos) return "";
        return std::string("Cast from ") + Name(from->dtype) + " to " + Name(to->dtype) +
               " does not have CAST_" + modes[r.mode] + " (it has " + word.substr(colon + 1) + ")";
    }
    return std::string("Cast from ") + Name(from->dtype) + " to " + Name(to->dtype) +
           " does not exist";
}

}  // namespace

const ApiFacts* FindApi(const std::string& name) {
    const auto found = Table().apis.find(name);
    return found == Table().apis.end() ? nullptr : &found->second;
}

bool HasType(const ApiFacts& facts, int32_t arch, const std::string& type) {
    const auto listed = facts.types.find(arch);
    return listed != facts.types.end() && listed->second.find(type) != std::string::npos;
}

bool ListsApisOf(int32_t arch) { return Table().archs.count(arch) != 0; }

std::string MissingOn(int32_t arch, const Record& r, std::string* page) {
    const Operand* from = Main(r, true);
    const Operand* to = Main(r, false);
    const std::string op = r.op;
    std::string form;
    if (from != nullptr && to != nullptr)
        form = std::string(" ") + Name(from->mem) + ">" + Name(to->mem);
    for (const std::string& name : {op + form, op}) {
        const ApiFacts* facts = FindApi(name);
        if (facts == nullptr) continue;
        *page = facts->page;
        if (facts->archs.count(arch) == 0) return name + " does not exist";
        const auto listed = facts->types.find(arch);
        if (listed == facts->types.end() || listed->second.empty() || from == nullptr) return "";
        if (op == "Cast") return MissingCast(r, listed->second);
        const std::string known = " " + listed->second + " ";
        if (known.find(std::string(" ") + Name(from->dtype) + " ") != std::string::npos) return "";
        return op + " of " + Name(from->dtype) + " does not exist (it has " + listed->second + ")";
    }
    return "";
}

void StopAbsentApi(const char* name, Loc loc) {
    Core& core = Current();
    TrapCheck(
        core, loc, "NotOnSoc", name,
        "take the SoC out of the op's, give it a branch of its own, or run another one (--soc "
        "ascend310p)",
        "%s does not exist on %s (arch %d): the device's compiler warns, and the call does nothing",
        name, core.soc->name, core.soc->arch);
}

void ReportMissingApi(Core& core, Loc loc, const char* name) {
    const ApiFacts* facts = FindApi(name);
    if (facts == nullptr || facts->archs.count(core.soc->arch) != 0) return;
    if (core.sink != nullptr) {
        Complain(core, loc, "NotOnSoc", name,
                 "use another API on this SoC, or take it out of the op's",
                 "%s does not exist on %s (arch %d): page %s", name, core.soc->name, core.soc->arch,
                 facts->page.c_str());
        return;
    }
    // No sanitizer to tell: say it once, the numbers are those of another architecture.
    static std::mutex mutex;
    static std::set<std::string> told;
    std::lock_guard<std::mutex> lock(mutex);
    if (!told.insert(name).second) return;
    loc = Where(core, loc);
    std::fprintf(stderr, "opgen: %s:%u: %s does not exist on %s (arch %d)\n",
                 loc.file ? loc.file : "?", loc.line, name, core.soc->name, core.soc->arch);
}

}  // namespace ascendc_emu
