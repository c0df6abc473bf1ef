// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/core_replay.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace ascendc_emu {
namespace profile {
namespace {

constexpr uint8_t kScalarPipe = static_cast<uint8_t>(Pipe::kS);
constexpr uint8_t kVectorPipe = static_cast<uint8_t>(Pipe::kV);

// Shorter than a cycle: no gap between two instructions.
constexpr double kGap = 1e-6;

// Steps of a window until the pipes are filled: the rate is that of the others.
constexpr uint32_t kWindowHead = kWindowSteps / 4;

PipeResult Difference(const PipeResult& a, const PipeResult& b) {
    PipeResult d;
    d.busy = a.busy - b.busy;
    d.stalled = a.stalled - b.stalled;
    d.gmWait = a.gmWait - b.gmWait;
    d.work = a.work - b.work;
    d.instructions = a.instructions - b.instructions;
    d.bytes = a.bytes - b.bytes;
    for (const auto& [key, ns] : a.waits) {
        const auto before = b.waits.find(key);
        const double rest = ns - (before == b.waits.end() ? 0 : before->second);
        if (rest > 0) d.waits[key] = rest;
    }
    return d;
}

uint64_t Scaled(uint64_t count, double factor) {
    return static_cast<uint64_t>(static_cast<double>(count) * factor + 0.5);
}

void AddTimes(PipeResult* to, const PipeResult& part, double factor) {
    to->busy += part.busy * factor;
    to->stalled += part.stalled * factor;
    to->gmWait += part.gmWait * factor;
    to->work += part.work * factor;
    to->instructions += Scaled(part.instructions, factor);
    to->bytes += Scaled(part.bytes, factor);
    for (const auto& [key, ns] : part.waits) to->waits[key] += ns * factor;
}

void AddTimes(LineResult* to, const LineResult& part, double factor) {
    to->busy += part.busy * factor;
    to->stalled += part.stalled * factor;
    to->instructions += Scaled(part.instructions, factor);
    to->bytes += Scaled(part.bytes, factor);
}

}  // namespace

CoreReplay::CoreReplay(Shared& shared, const CoreTrace& trace, uint32_t index, double start)
    : s_(shared),
      trace_(trace),
      out_(shared.result.cores[index]),
      index_(index),
      now_(start),
      slots_(trace.slots, kUnknown),
      sampled_(shared.trace.stride > 1) {
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
    const bool works = step.kind == StepKind::kWork || step.kind == StepKind::kCopy;
    e.operands = works ? step.id : 0;
    events.push_back(e);
    return static_cast<uint32_t>(events.size() - 1);
}

void CoreReplay::Stall(uint8_t pipe, const Step& step, double from, double to, uint32_t cause) {
    if (to <= from + kGap) return;
    out_.pipes[pipe].stalled += to - from;
    if (!s_.options.detail) return;
    // An instruction waits for nothing but its issue.
    const bool works = step.kind == StepKind::kWork || step.kind == StepKind::kCopy;
    const uint32_t key = works ? static_cast<uint32_t>(WaitFor::kScalar)
                               : uint32_t{step.detail} | uint32_t{step.id} << 8;
    out_.pipes[pipe].waits[{key, step.site}] += to - from;
    Line(step, pipe).stalled += to - from;
    Event(pipe, OPGEN_PROFILE_STALL, step, from, to, 0, cause);
}

LineResult& CoreReplay::Line(const Step& step, uint8_t pipe) {
    const size_t index = size_t{step.site} * kPipeCount + pipe;
    return sampled_ ? window_.lines[index] : s_.result.lines[index];
}

void CoreReplay::SetSlot(uint32_t slot, double time, uint32_t event) {
    if (slot == kPassedSlot) return;
    slots_[slot] = time;
    if (!slotEvents_.empty()) slotEvents_[slot] = event;
}

uint32_t CoreReplay::SlotEvent(const Step& step) const {
    const bool known = step.sync.slot < slotEvents_.size();
    return known ? slotEvents_[step.sync.slot] : OPGEN_PROFILE_NO_EVENT;
}

double CoreReplay::SlotTime(const Step& step) const {
    if (!s_.options.effects.bufferWaits && (step.flags & kBackward) != 0) return 0;
    if (step.sync.slot == kPassedSlot) return 0;
    const double set = slots_[step.sync.slot];
    return set == kUnknown && step.sync.slot < passed_ ? 0 : set;
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
        if (sampled_) EndWindow();
        return false;
    }
    const Step& step = trace_.steps[next_];
    if (sampled_) {
        if (next_ == window_.first + kWindowHead) window_.headEnd = Reached();
        if (step.kind == StepKind::kSkip) return BeginSkip(trace_.gaps[step.sync.slot]);
    }
    if (step.kind == StepKind::kWindow) {
        if (sampled_) BeginWindow();
        ++next_;
        return true;
    }
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
            until = std::max(until, set + s_.p.scalar_flag * s_.cycle);
            cause = SlotEvent(step);
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

// How far the pipes are. The scalar unit is ahead of them, by more or less.
double CoreReplay::Reached() const {
    double reached = now_;
    for (const PipeState& pipe : pipes_) reached = std::max(reached, pipe.free);
    return reached;
}

void CoreReplay::BeginWindow() {
    EndWindow();
    window_.lastRate = window_.rate;
    window_.first = next_;
    window_.begin = window_.headEnd = now_;
    window_.tailEnd = kUnknown;
    window_.open = true;
    std::copy(std::begin(out_.pipes), std::end(out_.pipes), std::begin(window_.pipes));
    ++windows_;
}

// The steps of a window are over, or the core is: its lines go to those of the launch.
void CoreReplay::EndWindow() {
    for (const auto& [index, line] : window_.lines) AddTimes(&s_.result.lines[index], line, 1);
    window_.lines.clear();
    // Nothing follows that the last gap could be compared with: as far off as the one before.
    if (finished_ && !window_.isOnly) {
        sampleError_ += window_.lastSkipped * std::abs(window_.rate - window_.lastRate) / 2;
    }
}

// Takes the steps of a gap as done, in the time that follows from the window before it. False: the
// core waits for that.
bool CoreReplay::BeginSkip(const Gap& gap) {
    if (skip_.gap != nullptr) return false;
    if (window_.tailEnd == kUnknown) window_.tailEnd = Reached();
    double until = now_;
    if (!PipesDrained(&until)) return false;
    double idle = 0;
    if (window_.open) {
        window_.open = false;
        window_.steps = next_ - window_.first - 1;
        const uint64_t head = std::min<uint64_t>(kWindowHead, window_.steps / 2);
        const auto steps = static_cast<double>(window_.steps);
        window_.rate =
            (window_.tailEnd - window_.headEnd) / std::max(1.0, steps - static_cast<double>(head));
        for (int i = 0; i < kPipeCount; ++i) {
            window_.pipes[i] = Difference(out_.pipes[i], window_.pipes[i]);
        }
        if (windows_ > 1) {
            // Filling and draining the pipes is what sampling costs; the kernel does it once.
            idle = std::max(0.0, until - window_.begin - window_.rate * steps);
            sampleError_ += window_.lastSkipped * std::abs(window_.rate - window_.lastRate) / 2;
            window_.isOnly = false;
        }
        window_.lastSkipped = 0;
    }
    const auto skipped = static_cast<double>(gap.steps);
    window_.lastSkipped += skipped;
    const double factor = skipped / std::max(1.0, static_cast<double>(window_.steps));
    for (int i = 0; i < kPipeCount; ++i) AddTimes(&out_.pipes[i], window_.pipes[i], factor);
    if (s_.options.detail) {
        for (const auto& [index, line] : window_.lines) {
            AddTimes(&s_.result.lines[index], line, factor);
        }
    }
    skip_.gap = &gap;
    skip_.begin = until;
    skip_.length = std::max(0.0, window_.rate * skipped - idle);
    skip_.copy = 0;
    if (gap.copies.empty()) {
        EndSkip();
        return true;
    }
    starts.push_back({kGapPipe, until});
    return false;
}

void CoreReplay::EndSkip() {
    const double until = skip_.begin + skip_.length;
    passed_ = std::max(passed_, skip_.gap->slotEnd);
    skip_.gap = nullptr;
    now_ = until;
    for (PipeState& pipe : pipes_) {
        pipe.free = pipe.done = pipe.busyUntil = pipe.worked = pipe.freed = until;
    }
    ++next_;
}

void CoreReplay::Work(uint8_t number, PipeState& pipe, const Step& step, double issue) {
    const double start = std::max(issue, pipe.free);
    Stall(number, step, pipe.free, start, OPGEN_PROFILE_NO_EVENT);
    const Effects& effects = s_.options.effects;
    double cycles = step.work.body;
    if ((step.flags & kLibrary) != 0) cycles *= s_.options.workScale;
    const double alone = cycles;
    if (effects.conflicts) cycles += step.work.conflict;
    const bool dry = number != kVectorPipe || pipe.dry || start > pipe.worked + kGap;
    if (dry && effects.starts) cycles += step.work.start;
    const double end = start + cycles * s_.cycle;
    PipeResult& result = out_.pipes[number];
    result.busy += end - start;
    result.work += alone * s_.cycle;
    ++result.instructions;
    result.bytes += step.work.bytes;
    if (s_.options.detail) {
        LineResult& line = Line(step, number);
        line.busy += end - start;
        ++line.instructions;
        line.bytes += step.work.bytes;
        pipe.lastEvent =
            Event(number, OPGEN_PROFILE_INSTRUCTION, step, start, end, step.work.bytes);
    }
    pipe.dry = false;
    Pop(pipe, start);
    pipe.free = pipe.done = pipe.worked = end;
}

void CoreReplay::BeginCopy(uint8_t number, PipeState& pipe, const Step& step, double issue) {
    const double issueCycles = (step.flags & kContinued) != 0 ? 0 : s_.p.copy_issue;
    const double start = std::max(issue, pipe.free);
    Stall(number, step, std::max(pipe.free, pipe.done), start, OPGEN_PROFILE_NO_EVENT);
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
    LineResult& line = Line(step, number);
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
            const bool scalar = step.detail >> 4 == kScalarPipe;
            const double latency = scalar ? s_.p.scalar_flag : s_.p.flag_latency;
            const double until = std::max(ready, set + latency * s_.cycle);
            const uint32_t cause = SlotEvent(step);
            Stall(number, step, idle, until, cause);
            Event(number, OPGEN_PROFILE_WAIT_FLAG, step, ready, until, 0, cause);
            pipe.free = until;
            Pop(pipe, until);
            return true;
        }
        case StepKind::kBarrier: {
            const double time = std::max(head.issue, std::max(pipe.done, pipe.free));
            pipe.free = time;
            if (number == kVectorPipe && s_.options.effects.starts) {
                pipe.free += s_.p.vector_barrier * s_.cycle;
            }
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
