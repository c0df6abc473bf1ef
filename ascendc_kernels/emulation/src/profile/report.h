// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The profile of a launch as JSON; docs/profile_model.md describes it.
#ifndef OPGEN_PROFILE_REPORT_H
#define OPGEN_PROFILE_REPORT_H

#include <string>
#include <vector>

#include "profile/replay.h"

namespace ascendc_emu {
namespace profile {

// Of the replays of one launch.
struct Profile {
    const Trace& trace;
    const Parameters& parameters;
    bool warm;
    const Result& result;
    double lowNs, highNs;  // with launch
    struct Ablation {
        const char* what;
        double ns;
        bool estimated;  // by a formula, not by a replay
    };
    std::vector<Ablation> ablations;
};

std::string ProfileJson(const Profile& profile);

// A JSON object that says why there is no profile.
std::string ErrorJson(const char* code, const std::string& what, const std::string& why,
                      const std::string& fix);

// What of the trace the model has not been compared with measurements for.
std::vector<const char*> NotValidated(const Trace& trace);

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_REPORT_H
