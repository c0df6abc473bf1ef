// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "core/instructions.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <sstream>

#include "ascendc_emu/core.h"

namespace ascendc_emu {

// The first row stands for calls that no row describes.
const Instruction kInstructions[Api::kCount] = {
    {},
#include "ascendc_emu/instruction_rows.inc"
};

Api::operator const char*() const { return FactsOf(*this).name; }

namespace {

// Architectures whose data types have a column, types_<arch>.
constexpr int32_t kListedArchs[] = {
#include "ascendc_emu/listed_archs.inc"
};

// Rows of one way that an API takes, such as DataCopy from L0C to GM.
struct Route {
    Api api;
    Mem from, to;
    Api row;
};
constexpr Route kRoutes[] = {
#include "ascendc_emu/instruction_routes.inc"
};

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

bool Instruction::IsOn(int32_t arch) const {
    for (const int32_t one : archs) {
        if (one == arch) return true;
    }
    return false;
}

const char* Instruction::TypesOn(int32_t arch) const {
    int column = 0;
    for (const int32_t listed : kListedArchs) {
        if (listed == arch) return types[column];
        ++column;
    }
    return "";
}

bool HasType(const Instruction& facts, int32_t arch, const std::string& type) {
    return std::string(facts.TypesOn(arch)).find(type) != std::string::npos;
}

bool ListsApisOf(int32_t arch) {
    for (const int32_t listed : kListedArchs) {
        if (listed == arch) return true;
    }
    return false;
}

std::string MissingOn(int32_t arch, const Record& r, std::string* page) {
    const Operand* from = Main(r, true);
    const Operand* to = Main(r, false);
    Api row = r.api;
    for (const Route& route : kRoutes) {
        const bool taken = route.api == r.api && from != nullptr && to != nullptr &&
                           route.from == from->mem && route.to == to->mem;
        if (taken) row = route.row;
    }
    const Instruction& facts = FactsOf(row);
    if (!facts.IsListed()) return "";
    *page = facts.page;
    if (!facts.IsOn(arch)) return std::string(facts.name) + " does not exist";
    const std::string types = facts.TypesOn(arch);
    if (types.empty() || from == nullptr) return "";
    if (r.api == Api::kCast) return MissingCast(r, types);
    if ((" " + types + " ").find(std::string(" ") + Name(from->dtype) + " ") != std::string::npos)
        return "";
    return std::string(r.op) + " of " + Name(from->dtype) + " does not exist (it has " + types +
           ")";
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

void ReportMissingApi(Core& core, Loc loc, Api api) {
    const Instruction& facts = FactsOf(api);
    if (!facts.IsListed() || facts.IsOn(core.soc->arch)) return;
    const char* const name = facts.name;
    if (core.sink != nullptr) {
        Complain(core, loc, "NotOnSoc", name,
                 "use another API on this SoC, or take it out of the op's",
                 "%s does not exist on %s (arch %d): page %s", name, core.soc->name, core.soc->arch,
                 facts.page);
        return;
    }
    // No sanitizer to tell: say it once, the numbers are those of another architecture.
    static std::mutex mutex;
    static std::set<Api::Id> told;
    std::lock_guard<std::mutex> lock(mutex);
    if (!told.insert(api.id).second) return;
    loc = Where(core, loc);
    std::fprintf(stderr, "opgen: %s:%u: %s does not exist on %s (arch %d)\n",
                 loc.file ? loc.file : "?", loc.line, name, core.soc->name, core.soc->arch);
}

}  // namespace ascendc_emu
