// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/parameters.h"

#include <strings.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "ascendc_emu/core.h"
#include "ascendc_emu/platform_table.h"

namespace ascendc_emu {
namespace profile {
namespace {

const char* const kTable =
#include "profile_parameters.inc"
    ;

// Whether a larger value makes kernels faster; of all others a smaller one does.
enum Sense { kCost, kRate };

struct Field {
    const char* name;
    double Parameters::* member;
    Sense sense;
};

#define OPGEN_FIELD(name, sense) {#name, &Parameters::name, sense}
constexpr Field kFields[] = {
    OPGEN_FIELD(clock, kRate),           OPGEN_FIELD(launch, kCost),
    OPGEN_FIELD(launch_core, kCost),     OPGEN_FIELD(gm_bandwidth, kRate),
    OPGEN_FIELD(gm_request, kCost),      OPGEN_FIELD(l2_bandwidth, kRate),
    OPGEN_FIELD(gm_write_weight, kCost), OPGEN_FIELD(gm_core_rate, kRate),
    OPGEN_FIELD(l2_core_rate, kRate),    OPGEN_FIELD(store_rate, kRate),
    OPGEN_FIELD(l2_bytes, kRate),        OPGEN_FIELD(l2_ways, kRate),
    OPGEN_FIELD(l2_line, kCost),         OPGEN_FIELD(copy_issue, kCost),
    OPGEN_FIELD(load_latency, kCost),    OPGEN_FIELD(store_latency, kCost),
    OPGEN_FIELD(burst, kCost),           OPGEN_FIELD(same_line, kCost),
    OPGEN_FIELD(scalar_issue, kCost),    OPGEN_FIELD(scalar_queue, kCost),
    OPGEN_FIELD(scalar_access, kCost),   OPGEN_FIELD(scalar_gm_hit, kCost),
    OPGEN_FIELD(scalar_gm_miss, kCost),  OPGEN_FIELD(queue_depth, kRate),
    OPGEN_FIELD(flag_latency, kCost),    OPGEN_FIELD(vector_start, kCost),
    OPGEN_FIELD(vector_repeat, kCost),   OPGEN_FIELD(library_repeat, kCost),
    OPGEN_FIELD(sync_all, kCost),        OPGEN_FIELD(cross_flag, kCost),
    OPGEN_FIELD(cube_start, kCost),      OPGEN_FIELD(l0a_rate, kRate),
    OPGEN_FIELD(l0b_rate, kRate),        OPGEN_FIELD(fixpipe_rate, kRate),
    OPGEN_FIELD(local_copy_rate, kRate),
};
#undef OPGEN_FIELD

// How well a row's SoC fits; 0: not at all.
int Fit(const std::string& row, const SocInfo& soc) {
    if (strcasecmp(row.c_str(), soc.name) == 0) return 3;
    if (strcasecmp(row.c_str(), soc.family) == 0) return 2;
    return row == "*" ? 1 : 0;
}

bool Number(const std::string& text, double* value) {
    char* end = nullptr;
    *value = std::strtod(text.c_str(), &end);
    return !text.empty() && *end == '\0' && *value >= 0;
}

}  // namespace

std::string ReadParameters(const SocInfo& soc, const std::string& path, End end, Parameters* out) {
    std::string text = kTable + 1;  // a line break is put before the first piece
    if (!path.empty()) {
        std::ifstream file(path);
        std::stringstream all;
        if (!file || !(all << file.rdbuf())) return path + " cannot be read\n";
        text = all.str();
    }
    std::string problems;
    int fits[sizeof(kFields) / sizeof(kFields[0])] = {};
    for (auto& row : CsvRows(text.c_str())) {
        const Field* field = nullptr;
        int index = 0;
        for (const Field& one : kFields) {
            if (row["name"] == one.name) field = &one;
            if (field == nullptr) ++index;
        }
        double value = 0;
        if (field == nullptr) {
            problems += "unknown parameter '" + row["name"] + "'\n";
            continue;
        }
        if (!Number(row["value"], &value)) {
            problems += row["name"] + ": '" + row["value"] + "' is no number\n";
            continue;
        }
        const int fit = Fit(row["soc"], soc);
        if (fit <= fits[index]) continue;
        fits[index] = fit;
        const bool rate = field->sense == kRate;
        const char* const side = (end == End::kFast) == rate ? "high" : "low";
        const std::string& other = row[side];
        if (end != End::kValue && row["kind"] == "guessed" && !other.empty()) {
            if (!Number(other, &value)) {
                problems += row["name"] + ": '" + other + "' is no number\n";
            }
        }
        out->*(field->member) = value;
    }
    for (size_t i = 0; i < sizeof(kFields) / sizeof(kFields[0]); ++i) {
        if (fits[i] == 0) problems += std::string("no value of '") + kFields[i].name + "'\n";
    }
    const bool general = fits[0] <= 1;
    if (general && soc.frequencyMhz > 0) out->clock = soc.frequencyMhz;
    return problems;
}

}  // namespace profile
}  // namespace ascendc_emu
