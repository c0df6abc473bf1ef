// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/sampling.h"

#include <algorithm>
#include <utility>

namespace ascendc_emu {
namespace profile {
namespace {

// A step that is no instruction of the kernel.
Step Marker(StepKind kind, uint32_t slot) {
    Step step;
    step.kind = kind;
    step.pipe = static_cast<uint8_t>(Pipe::kS);
    step.flags = step.detail = 0;
    step.api = step.id = 0;
    step.site = 0;
    step.scalar = 0;
    step.sync.slot = slot;
    step.sync.effect = 0;
    return step;
}

}  // namespace

void Window::Next(CoreTrace& core, uint32_t stride) {
    if (steps < kWindowSteps) {
        ++steps;
        return;
    }
    number += begun ? 1 : 0;
    begun = true;
    steps = 1;
    Decide(stride);
    if (!skipping) core.steps.Add() = Marker(StepKind::kWindow, number);
}

Gap& OpenGap(CoreTrace& core) {
    const uint32_t size = core.steps.size();
    if (size == 0 || core.steps[size - 1].kind != StepKind::kSkip) {
        core.steps.Add() = Marker(StepKind::kSkip, static_cast<uint32_t>(core.gaps.size()));
        core.gaps.emplace_back();
    }
    return core.gaps.back();
}

void Thin(CoreTrace* core, uint32_t stride) {
    CoreTrace thin;
    bool keep = true;
    for (uint32_t i = 0; i < core->steps.size(); ++i) {
        const Step& step = core->steps[i];
        if (step.kind == StepKind::kWindow) {
            keep = step.sync.slot % stride == 0;
            if (keep) thin.steps.Add() = step;
        } else if (step.kind == StepKind::kSkip) {
            Gap& from = core->gaps[step.sync.slot];
            Gap& to = OpenGap(thin);
            to.steps += from.steps;
            to.slotEnd = std::max(to.slotEnd, from.slotEnd);
            to.copies.insert(to.copies.end(), from.copies.begin(), from.copies.end());
            from = Gap();
        } else if (keep || AreTogether(step.kind)) {
            thin.steps.Add() = step;
        } else {
            Gap& gap = OpenGap(thin);
            ++gap.steps;
            if (step.kind == StepKind::kCopy) gap.copies.push_back(step);
            if (step.kind == StepKind::kSet && step.sync.slot != kPassedSlot) {
                gap.slotEnd = std::max(gap.slotEnd, step.sync.slot + 1);
            }
        }
    }
    core->steps = std::move(thin.steps);
    core->gaps = std::move(thin.gaps);
}

uint64_t KeptOf(const CoreTrace& core) {
    uint64_t kept = core.steps.size();
    for (const Gap& gap : core.gaps) kept += gap.copies.size();
    return kept;
}

}  // namespace profile
}  // namespace ascendc_emu
