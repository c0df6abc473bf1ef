// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The modelled time of all launches of a process that nobody else adds up.
#ifndef OPGEN_PROFILE_PROCESS_SUMMARY_H
#define OPGEN_PROFILE_PROCESS_SUMMARY_H

#include <string>

#include "profile/trace.h"

namespace ascendc_emu {
namespace profile {

// Counts a launch for the table that the process prints at its end: kernels, calls, modelled time.
// Only where OPGEN_EMULATION=profile, which a user sets, and not OPGEN_PROFILE, whose file opgen or
// the user reads.
// parameters: file that replaces the built-in parameters, "" for none; warm: state of L2.
void AddToSummary(const Trace& trace, const std::string& parameters, bool warm);

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_PROCESS_SUMMARY_H
