// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/event_file.h"

#include <cstdlib>
#include <fstream>

namespace ascendc_emu {
namespace profile {

static_assert(sizeof(OpgenProfileEvent) == 48,
              "msopgen_wrap/profile/event_table.py reads this layout");

void AppendEvents(const std::vector<OpgenProfileEvent>& events) {
    const char* const name = std::getenv("OPGEN_PROFILE_EVENTS");
    if (name == nullptr || *name == '\0' || events.empty()) return;
    std::ofstream file(name, std::ios::app | std::ios::binary);
    file.write(reinterpret_cast<const char*>(events.data()),
               static_cast<std::streamsize>(events.size() * sizeof(OpgenProfileEvent)));
}

}  // namespace profile
}  // namespace ascendc_emu
