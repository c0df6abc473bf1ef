// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// One core of a replay: its scalar unit, which hands steps to the queues of the pipes, and the
// pipes.
#ifndef OPGEN_PROFILE_CORE_REPLAY_H
#define OPGEN_PROFILE_CORE_REPLAY_H

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/replay.h"
#include "profile/sampling.h"

namespace ascendc_emu {
namespace profile {

constexpr double kUnknown = -1;
// Stands for a pipe where the copies of a gap take turns.
constexpr uint8_t kGapPipe = kPipeCount;

// An effect that several cores make together: a barrier, a flag between cores.
struct Effect {
    uint32_t left = 0;              // contributors to come
    double time = 0;                // of the last one, ns
    std::vector<uint32_t> waiting;  // cores
    uint32_t event = OPGEN_PROFILE_NO_EVENT;
};

// What the cores of a replay share.
struct Shared {
    const Trace& trace;
    const Parameters& p;
    const ReplayOptions& options;
    double cycle;  // ns
    Result& result;
    std::vector<Effect> effects;
    std::vector<uint32_t> woken;  // cores whose effect is complete
};

// The copy a pipe is busy with.
struct CopyProgress {
    const Step* step = nullptr;
    double start = 0, portEnd = 0;
    double gmWait = 0;
    uint32_t run = 0;     // next run
    uint64_t offset = 0;  // in that run
    uint64_t bytes = 0;   // so far
};

// The steps of a core that were not kept: they take as long as those of the window before them did.
struct SkipProgress {
    const Gap* gap = nullptr;  // null: no skip under way
    double begin = 0, length = 0;
    size_t copy = 0;  // the next one
};

// The window of a sample that a core is in, or was in last.
struct WindowProgress {
    uint32_t first = 0;                // its step
    double begin = 0;                  // when it began
    double headEnd = 0, tailEnd = 0;   // how far the pipes were at the end of its head, and its own
    double rate = 0, lastRate = 0;     // ns per step of this window; of the one before
    double lastSkipped = 0;            // steps behind the one before
    uint64_t steps = 0;                // in it
    bool open = false, isOnly = true;  // isOnly: none before it
    PipeResult pipes[kPipeCount];      // before it; once it is over: in it
    std::unordered_map<size_t, LineResult> lines;
};

class CoreReplay {
 public:
    CoreReplay(Shared& shared, const CoreTrace& trace, uint32_t index, double start);

    // Goes on as far as it can without GM; fills `requests` with pipes whose next copy starts.
    void Advance();
    // Pipes that have a copy to start, with its start; taken by the caller.
    struct Start {
        uint8_t pipe;
        double time;
    };
    std::vector<Start> starts;

    CopyProgress& copy(uint8_t pipe) { return pipes_[pipe].copy; }
    // The copy of a pipe has left it at `end`; its data is there at `done`.
    void EndCopy(uint8_t pipe, double end, double done);
    SkipProgress& skip() { return skip_; }
    // The copies of a gap are served.
    void EndSkip();
    // ns by which the time of the core may be wrong because windows differ.
    double sampleError() const { return sampleError_; }
    uint64_t windows() const { return windows_; }
    // Takes what is waited for as given: the launch did not get there.
    bool ForceOn();
    bool finished() const { return finished_; }
    double end() const { return end_; }
    uint32_t index() const { return index_; }

 private:
    struct Queued {
        uint32_t step;
        double issue;
    };
    struct PipeState {
        std::vector<Queued> queue;  // ring
        uint32_t head = 0, count = 0;
        double free = 0, done = 0, busyUntil = 0;
        double worked = 0;  // when its last instruction ended
        double freed = 0;   // when a place in the queue became free last
        bool inCopy = false, dry = true;
        uint32_t lastEvent = OPGEN_PROFILE_NO_EVENT;
        CopyProgress copy;
    };

    bool StepScalar();
    bool StepPipe(uint8_t pipe);
    double Reached() const;
    void BeginWindow();
    void EndWindow();
    bool BeginSkip(const Gap& gap);
    LineResult& Line(const Step& step, uint8_t pipe);
    void Pop(PipeState& pipe, double when);
    void Work(uint8_t pipe, PipeState& state, const Step& step, double issue);
    void BeginCopy(uint8_t pipe, PipeState& state, const Step& step, double issue);
    bool PipesDrained(double* until) const;
    void Await(Effect& effect);
    void Contribute(uint32_t effect, double time, uint32_t event);
    void Stall(uint8_t pipe, const Step& step, double from, double to, uint32_t cause);
    uint32_t Event(uint8_t pipe, uint8_t kind, const Step& step, double from, double to,
                   uint64_t bytes, uint32_t cause = OPGEN_PROFILE_NO_EVENT);
    void SetSlot(uint32_t slot, double time, uint32_t event);
    double SlotTime(const Step& step) const;
    uint32_t SlotEvent(const Step& step) const;

    Shared& s_;
    const CoreTrace& trace_;
    CoreResult& out_;
    uint32_t index_, next_ = 0;
    double now_;  // of the scalar unit
    double end_ = 0;
    bool finished_ = false;
    PipeState pipes_[kPipeCount];
    std::vector<double> slots_;
    std::vector<uint32_t> slotEvents_;
    const bool sampled_;
    uint32_t passed_ = 0;  // slots below are set
    SkipProgress skip_;
    WindowProgress window_;
    double sampleError_ = 0;
    uint64_t windows_ = 0;
};

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_CORE_REPLAY_H
