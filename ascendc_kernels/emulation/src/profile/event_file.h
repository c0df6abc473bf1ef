// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Events of a process that opgen has started, for the traces and pages that opgen writes of them.
#ifndef OPGEN_PROFILE_EVENT_FILE_H
#define OPGEN_PROFILE_EVENT_FILE_H

#include <vector>

#include "ascendc_emu/profile.h"

namespace ascendc_emu {
namespace profile {

// Appends the events of a launch to the file that OPGEN_PROFILE_EVENTS names, if it names one.
void AppendEvents(const std::vector<OpgenProfileEvent>& events);

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_EVENT_FILE_H
