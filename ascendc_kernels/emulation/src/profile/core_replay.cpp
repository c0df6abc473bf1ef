// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/core_replay.h"

#include <algorithm>

namespace ascendc_emu {
namespace profile {
namespace {

constexpr uint8_t kScalarPipe = static_cast<uint8_t>(Pipe::kS);
constexpr uint8_t kVectorPipe = static_cast<uint8_t>(Pipe::kV);

// Shorter than a cycle: no gap between two instructions.
constexpr double kGap = 1e-6;

}  // namespace

CoreReplay::CoreReplay(Shared& shared, const CoreTrace& trace, uint32_t index, double start)
    : s_(shared),
      trace_(trace),
      out_(shared.result.cores[index]),
      index_(index),
      now_(start),
      slots_(trace.slots, kUnknown) {
    const auto depth = static_cast<uint32_t>(std::max(1.0, s_.p.queue_depth));
    for (PipeState& pipe : pipes_) {
        pipe.queue.resize(depth);
        pipe.free = pipe.done = pipe.busyUntil = start;
    }
    if (s_.options.maxEvents > 0) slotEvents_.assign(trace.slots, OPGEN_PROFILE_NO_EVENT);
    out_.id = trace.id;
    out_.kind = trace.kind;
    out_.start = start;
    out_.used = trace.steps.size() > 0;
    end_ = start;
}

uint32_t CoreReplay::Event(uint8_t pipe, uint8_t kind, const Step& step, double from, double to,
                           uint64_t bytes, uint32_t cause) {
    if (s_.options.maxEvents == 0) return OPGEN_PROFILE_NO_EVENT;
    auto& events = s_.result.events;
    if (events.size() >= s_.options.maxEvents) {
        ++s_.result.lostEvents;
        return OPGEN_PROFILE_NO_EVENT;
    }
    const Site& site = s_.trace.sites[step.site];
    OpgenProfileEvent e;
    e.start_ns = from;
    e.end_ns = to;
    e.bytes = bytes;
    e.core = static_cast<uint32_t>(trace_.id);
    e.line = site.line;
    e.file = site.file;
    e.from = cause;
    e.api = step.api;
    e.pipe = pipe;
    e.kind = kind;
    events.push_back(e);
    return static_cast<uint32_t>(events.size() - 1);
}

void CoreReplay::Stall(uint8_t pipe, const Step& step, double from, double to, uint32_t cause) {
    if (to <= from + kGap) return;
    out_.pipes[pipe].stalled += to - from;
    if (!s_.options.detail) return;
    out_.pipes[pipe].waits[{uint32_t{step.detail} | uint32_t{step.id} << 8, step.site}] +=
        to - from;
    s_.result.lines[size_t{step.site} * kPipeCount + pipe].stalled += to - from;
    Event(pipe, OPGEN_PROFILE_STALL, step, from, to, 0, cause);
}

void CoreReplay::SetSlot(uint32_t slot, double time, uint32_t event) {
    slots_[slot] = time;
    if (!slotEvents_.empty()) slotEvents_[slot] = event;
}

double CoreReplay::SlotTime(const Step& step) const {
    if (!s_.options.effects.bufferWaits && (step.flags & kBackward) != 0) return 0;
    return slots_[step.sync.slot];
}

void CoreReplay::Contribute(uint32_t effect, double time, uint32_t event) {
    Effect& e = s_.effects[effect];
    e.time = std::max(e.time, time);
    e.event = event;
    if (e.left > 0 && --e.left == 0) {
        s_.woken.insert(s_.woken.end(), e.waiting.begin(), e.waiting.end());
        e.waiting.clear();
    }
}

void CoreReplay::Await(Effect& effect) {
    // It is looked at again whenever the core goes on.
    if (effect.waiting.empty() || effect.waiting.back() != index_) effect.waiting.push_back(index_);
}

void CoreReplay::Pop(PipeState& pipe, double when) {
    pipe.head = (pipe.head + 1) % static_cast<uint32_t>(pipe.queue.size());
    --pipe.count;
    pipe.freed = when;
}

bool CoreReplay::PipesDrained(double* until) const {
    for (const PipeState& pipe : pipes_) {
        if (pipe.count > 0 || pipe.inCopy) return false;
        *until = std::max(*until, std::max(pipe.done, pipe.free));
    }
    return true;
}

// The next step of the program: hand it to its pipe, or do it. False: it has to wait.
bool CoreReplay::StepScalar() {
    if (next_ >= trace_.steps.size()) {
        if (finished_) return false;
        double until = now_ + static_cast<double>(trace_.tail) * s_.cycle;
        if (!PipesDrained(&until)) return false;
        finished_ = true;
        end_ = out_.end = until;
        return false;
    }
    const Step& step = trace_.steps[next_];
    const double issued =
        now_ + static_cast<double>(step.scalar) * s_.options.scalarScale * s_.cycle;
    const auto work = [&] { out_.pipes[kScalarPipe].busy += issued - now_; };
    if (step.pipe != kScalarPipe) {
        PipeState& pipe = pipes_[step.pipe];
        const auto depth = static_cast<uint32_t>(pipe.queue.size());
        if (pipe.count == depth) return false;
        work();
        // A queue that was full until now lets the scalar unit go on when a place gets free.
        now_ = issued;
        if (pipe.count + 1 == depth) now_ = std::max(now_, pipe.freed);
        pipe.queue[(pipe.head + pipe.count) % depth] = {next_, now_};
        ++pipe.count;
        ++next_;
        return true;
    }
    double until = issued;
    uint32_t cause = OPGEN_PROFILE_NO_EVENT;
    switch (step.kind) {
        case StepKind::kSet:
            SetSlot(step.sync.slot, issued,
                    Event(kScalarPipe, OPGEN_PROFILE_SET_FLAG, step, issued, issued, 0));
            break;
        case StepKind::kWait: {
            const double set = SlotTime(step);
            if (set == kUnknown) return false;
            until = std::max(until, set + s_.p.flag_latency * s_.cycle);
            if (!slotEvents_.empty()) cause = slotEvents_[step.sync.slot];
            break;
        }
        case StepKind::kBarrierAll:
            if (!PipesDrained(&until)) return false;
            for (PipeState& pipe : pipes_) pipe.dry = true;
            break;
        case StepKind::kSyncArrive:
            if (!PipesDrained(&until)) return false;
            Contribute(step.sync.effect, until,
                       Event(kScalarPipe, OPGEN_PROFILE_SYNC_ALL, step, issued, until, 0));
            break;
        case StepKind::kSyncLeave:
        case StepKind::kCrossWait: {
            Effect& effect = s_.effects[step.sync.effect];
            if (effect.left > 0) {
                Await(effect);
                return false;
            }
            const double cost = step.kind == StepKind::kSyncLeave ? s_.p.sync_all : s_.p.cross_flag;
            until = std::max(until, effect.time + cost * s_.cycle);
            cause = effect.event;
            break;
        }
        default:
            break;
    }
    work();
    if (until > issued) {
        Stall(kScalarPipe, step, issued, until, cause);
        Event(kScalarPipe,
              step.kind == StepKind::kWait         ? OPGEN_PROFILE_WAIT_FLAG
              : step.kind == StepKind::kBarrierAll ? OPGEN_PROFILE_BARRIER
              : step.kind == StepKind::kCrossWait  ? OPGEN_PROFILE_CROSS_CORE
                                                   : OPGEN_PROFILE_SYNC_ALL,
              step, issued, until, 0, cause);
    }
    now_ = until;
    ++next_;
    return true;
}

void CoreReplay::Work(uint8_t number, PipeState& pipe, const Step& step, double issue) {
    const double start = std::max(issue, pipe.free);
    const Effects& effects = s_.options.effects;
    double cycles = step.work.body;
    if ((step.flags & kLibrary) != 0) cycles *= s_.options.workScale;
    const double alone = cycles;
    if (effects.conflicts) cycles += step.work.conflict;
    const bool dry = number != kVectorPipe || pipe.dry || start > pipe.free + kGap;
    if (dry && effects.starts) cycles += step.work.start;
    const double end = start + cycles * s_.cycle;
    PipeResult& result = out_.pipes[number];
    result.busy += end - start;
    result.work += alone * s_.cycle;
    ++result.instructions;
    result.bytes += step.work.bytes;
    if (s_.options.detail) {
        LineResult& line = s_.result.lines[size_t{step.site} * kPipeCount + number];
        line.busy += end - start;
        ++line.instructions;
        line.bytes += step.work.bytes;
        pipe.lastEvent =
            Event(number, OPGEN_PROFILE_INSTRUCTION, step, start, end, step.work.bytes);
    }
    pipe.dry = false;
    Pop(pipe, start);
    pipe.free = pipe.done = end;
}

void CoreReplay::BeginCopy(uint8_t number, PipeState& pipe, const Step& step, double issue) {
    const double issueCycles = (step.flags & kContinued) != 0 ? 0 : s_.p.copy_issue;
    const double start = std::max(issue, pipe.free);
    pipe.copy = CopyProgress();
    pipe.copy.step = &step;
    pipe.copy.start = start;
    pipe.inCopy = true;
    Pop(pipe, start);
    starts.push_back({number, start + issueCycles * s_.cycle});
}

void CoreReplay::EndCopy(uint8_t number, double end, double done) {
    PipeState& pipe = pipes_[number];
    const Step& step = *pipe.copy.step;
    const double start = pipe.copy.start;
    pipe.inCopy = false;
    pipe.free = end;
    pipe.done = done;
    PipeResult& result = out_.pipes[number];
    result.busy += std::max(0.0, done - std::max(start, pipe.busyUntil));
    result.work += pipe.copy.portEnd;
    result.gmWait += pipe.copy.gmWait;
    pipe.busyUntil = std::max(pipe.busyUntil, done);
    result.instructions += (step.flags & kContinued) == 0;
    result.bytes += pipe.copy.bytes;
    if (!s_.options.detail) return;
    LineResult& line = s_.result.lines[size_t{step.site} * kPipeCount + number];
    line.busy += end - start;
    line.instructions += (step.flags & kContinued) == 0;
    line.bytes += pipe.copy.bytes;
    if (pipe.copy.gmWait > kGap) {
        result.waits[{static_cast<uint32_t>(WaitFor::kGm), step.site}] += pipe.copy.gmWait;
    }
    pipe.lastEvent = Event(number, OPGEN_PROFILE_INSTRUCTION, step, start, end, pipe.copy.bytes);
}

// The step at the head of a pipe's queue. False: there is none, or it has to wait.
bool CoreReplay::StepPipe(uint8_t number) {
    PipeState& pipe = pipes_[number];
    if (pipe.inCopy || pipe.count == 0) return false;
    const Queued head = pipe.queue[pipe.head];
    const Step& step = trace_.steps[head.step];
    switch (step.kind) {
        case StepKind::kWork:
            Work(number, pipe, step, head.issue);
            return true;
        case StepKind::kCopy:
            BeginCopy(number, pipe, step, head.issue);
            return false;
        case StepKind::kSet: {
            const double time = std::max(head.issue, std::max(pipe.done, pipe.free));
            SetSlot(step.sync.slot, time,
                    Event(number, OPGEN_PROFILE_SET_FLAG, step, time, time, 0, pipe.lastEvent));
            Pop(pipe, head.issue);
            return true;
        }
        case StepKind::kWait: {
            const double set = SlotTime(step);
            if (set == kUnknown) return false;
            const double ready = std::max(head.issue, pipe.free);
            // Until then it was busy with its own work, not waiting.
            const double idle = std::max(ready, pipe.done);
            const double until = std::max(ready, set + s_.p.flag_latency * s_.cycle);
            const uint32_t cause =
                slotEvents_.empty() ? OPGEN_PROFILE_NO_EVENT : slotEvents_[step.sync.slot];
            Stall(number, step, idle, until, cause);
            Event(number, OPGEN_PROFILE_WAIT_FLAG, step, ready, until, 0, cause);
            pipe.free = until;
            Pop(pipe, until);
            return true;
        }
        case StepKind::kBarrier: {
            const double time = std::max(head.issue, std::max(pipe.done, pipe.free));
            pipe.free = time;
            pipe.dry = true;
            Event(number, OPGEN_PROFILE_BARRIER, step, time, time, 0);
            Pop(pipe, time);
            return true;
        }
        case StepKind::kCrossSet: {
            const double time = std::max(head.issue, std::max(pipe.done, pipe.free));
            Contribute(step.sync.effect, time,
                       Event(number, OPGEN_PROFILE_CROSS_CORE, step, time, time, 0));
            Pop(pipe, head.issue);
            return true;
        }
        case StepKind::kCrossWait: {
            Effect& effect = s_.effects[step.sync.effect];
            if (effect.left > 0) {
                Await(effect);
                return false;
            }
            const double ready = std::max(head.issue, pipe.free);
            const double until = std::max(ready, effect.time + s_.p.cross_flag * s_.cycle);
            Stall(number, step, std::max(ready, pipe.done), until, effect.event);
            pipe.free = until;
            Pop(pipe, until);
            return true;
        }
        default:
            Pop(pipe, head.issue);
            return true;
    }
}

void CoreReplay::Advance() {
    for (bool moved = true; moved;) {
        moved = false;
        while (StepScalar()) moved = true;
        for (uint8_t pipe = 0; pipe < kPipeCount; ++pipe) {
            while (StepPipe(pipe)) moved = true;
        }
    }
}

bool CoreReplay::ForceOn() {
    if (finished_) return false;
    finished_ = true;
    end_ = now_;
    for (const PipeState& pipe : pipes_) end_ = std::max(end_, std::max(pipe.done, pipe.free));
    out_.end = end_;
    return true;
}

}  // namespace profile
}  // namespace ascendc_emu
