// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The schedule that `opgen tune` tries in a build of its own; no project has it. C++11, no CANN
// header needed.
#ifndef OPGEN_HOST_SCHEDULE_OVERRIDE_H
#define OPGEN_HOST_SCHEDULE_OVERRIDE_H

#include <cstdint>
#include <cstdlib>
#include <string>

#include "schedule.h"

namespace opgen {

// Of OPGEN_SCHEDULE: "tile=4096 cores=24 rows=streamed"; knobs that it lacks are left to the
// tiling.
inline Schedule ScheduleFromEnvironment() {
    Schedule asked;
    const char* given = std::getenv("OPGEN_SCHEDULE");
    const std::string text = " " + std::string(given == nullptr ? "" : given) + " ";
    const auto number = [&text](const std::string& name) -> int64_t {
        const size_t at = text.find(" " + name + "=");
        return at == std::string::npos
                   ? 0
                   : std::strtoll(text.c_str() + at + name.size() + 2, nullptr, 10);
    };
    asked.tile = number("tile");
    asked.buffers = number("buffers");
    asked.cores = number("cores");
    asked.elementsPerCore = number("elements_per_core");
    asked.rows = text.find(" rows=resident ") != std::string::npos   ? RowPlace::kResident
                 : text.find(" rows=streamed ") != std::string::npos ? RowPlace::kStreamed
                                                                     : RowPlace::kAny;
    return asked;
}

}  // namespace opgen

#endif  // OPGEN_HOST_SCHEDULE_OVERRIDE_H
