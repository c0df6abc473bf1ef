// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/process_summary.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "profile/parameters.h"
#include "profile/replay.h"

namespace ascendc_emu {
namespace profile {
namespace {

struct Sum {
    unsigned long calls = 0;
    double us = 0;
};

bool IsWanted() {
    const char* const mode = std::getenv("OPGEN_EMULATION");
    const char* const file = std::getenv("OPGEN_PROFILE");
    return mode != nullptr && std::strcmp(mode, "profile") == 0 &&
           (file == nullptr || *file == '\0');
}

// Prints when the process ends, after the last launch.
class Summary {
 public:
    void Add(const std::string& kernel, double us) {
        Sum& sum = sums_[kernel];
        ++sum.calls;
        sum.us += us;
    }
    ~Summary() {
        if (sums_.empty()) return;
        std::vector<std::pair<std::string, Sum>> rows(sums_.begin(), sums_.end());
        std::stable_sort(rows.begin(), rows.end(),
                         [](const auto& a, const auto& b) { return a.second.us > b.second.us; });
        Sum all;
        size_t width = 6;
        for (const auto& [kernel, sum] : rows) {
            all.calls += sum.calls;
            all.us += sum.us;
            width = std::max(width, kernel.size());
        }
        const int columns = static_cast<int>(width);
        std::fprintf(stderr, "%lu launches, %.2f us modelled in all (not measured)\n", all.calls,
                     all.us);
        std::fprintf(stderr, "  %-*s  %8s  %12s  %6s\n", columns, "kernel", "calls", "modelled us",
                     "share");
        for (const auto& [kernel, sum] : rows) {
            std::fprintf(stderr, "  %-*s  %8lu  %12.2f  %5.1f%%\n", columns, kernel.c_str(),
                         sum.calls, sum.us, all.us > 0 ? 100 * sum.us / all.us : 0.0);
        }
    }

 private:
    std::map<std::string, Sum> sums_;
};

}  // namespace

void AddToSummary(const Trace& trace, const std::string& parameters, bool warm) {
    if (!IsWanted() || trace.soc == nullptr || trace.dropped > 0) return;
    Parameters p;
    if (!ReadParameters(*trace.soc, parameters, End::kValue, &p).empty()) return;
    ReplayOptions options;
    options.warm = warm;
    const Result result = Replay(trace, p, options);
    static Summary summary;
    summary.Add(trace.kernel, (result.launch + result.kernel) / 1000);
}

}  // namespace profile
}  // namespace ascendc_emu
