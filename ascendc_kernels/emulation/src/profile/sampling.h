// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Samples of what a core does, of launches with more steps than there is room for. The steps of a
// core are counted off in windows. One of `stride` windows is kept whole; of the others only their
// copies are, because they change what L2 holds, and steps that cores do together.
#ifndef OPGEN_PROFILE_SAMPLING_H
#define OPGEN_PROFILE_SAMPLING_H

#include <cstdint>

#include "profile/trace.h"

namespace ascendc_emu {
namespace profile {

// Long against the steps of a tile and what the queues of the pipes hold.
constexpr uint32_t kWindowSteps = 4096;

// Steps that are kept always: another core waits for them, or they for it.
inline bool AreTogether(StepKind kind) {
    return kind == StepKind::kSyncArrive || kind == StepKind::kSyncLeave ||
           kind == StepKind::kCrossSet || kind == StepKind::kCrossWait;
}

// Where a core is while it is recorded.
struct Window {
    uint32_t number = 0, steps = kWindowSteps;
    bool begun = false, skipping = false;
    Step scratch;  // a step that is not kept is written here

    // Counts a step, and begins the next window behind a full one.
    void Next(CoreTrace& core, uint32_t stride);
    void Decide(uint32_t stride) { skipping = begun && number % stride != 0; }
};

// The gap at the end of a core's steps, which is added where there is none.
Gap& OpenGap(CoreTrace& core);

// Takes out what a larger stride does not keep.
void Thin(CoreTrace* core, uint32_t stride);

// How many steps a core stores.
uint64_t KeptOf(const CoreTrace& core);

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_SAMPLING_H
