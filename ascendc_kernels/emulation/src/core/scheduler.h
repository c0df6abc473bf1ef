// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// One launch: its cores, the worker threads that run them, what they share, and how it can fail.
#ifndef OPGEN_CORE_SCHEDULER_H
#define OPGEN_CORE_SCHEDULER_H

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "ascendc_emu/core.h"
#include "ascendc_emu/launch.h"
#include "core/fiber.h"

namespace ascendc_emu {

// Thrown on a block's stack to end it; caught where the block was started.
struct BlockAbort {};

// Bytes of a copy past the end of a global tensor that are cut off instead of ending the launch:
// device allocations are rounded up by about that much.
constexpr uint64_t kGmCutOff = 1024;
// Reads do no harm on the device: matrices are copied in whole blocks of rows.
constexpr uint64_t kGmReadCutOff = 4096;

// A core of the launch before it has started.
struct CoreSpec {
    CoreKind kind;
    int32_t blockIdx, group, subBlockIdx;
};

struct Running;

// How the work of a launch was spread.
struct Work {
    uint32_t cores = 0;  // that had any
    uint32_t tiles = 0;  // of the core that had most, see opgen_launch_work
};

// How the blocks map to cores (OpgenKernelKind) and who said so.
struct DeclaredKind {
    int kind;
    KindSource source;
};

class Scheduler {
 public:
    Scheduler(const OpgenLaunch& launch, DeclaredKind kind, const SocInfo& soc, Sink* sink,
              std::vector<OpgenGmRange> ranges);

    // Runs every core; returns false when the launch failed.
    bool Run(int threads);

    // Called on a block's stack.
    void Wait(Core& core, bool (*ready)(void*), void* context, const char* what, Loc loc);
    void GiveWay(Core& core);
    void LeaveLoop(Core& core);
    void Update(void (*change)(void*), void* context);
    void Fail(const std::string& text);
    // The time limit is over: every block ends as soon as it can. In a signal handler, too.
    void TimeOut();
    bool timedOut() const { return timedOut_.load(std::memory_order_relaxed); }
    // A running kernel tells its kind; true when the launch has to start again with it.
    bool RequestKind(int kind, KindSource source);

    bool failed() const { return failed_.load(std::memory_order_relaxed); }
    const std::string& error() const { return error_; }
    // Ends a launch that ran out of time with the places of its blocks.
    void ReportTimeOut();
    // What the kernel declared: the running kind unless the launch has to start again.
    DeclaredKind declared() const { return declared_; }
    int kind() const { return kind_; }
    const Work& work() const { return work_; }  // valid after Run
    const OpgenLaunch& launch() const { return launch_; }
    const SocInfo& soc() const { return soc_; }
    int coreCount() const { return static_cast<int>(specs_.size()); }
    int CountOf(int scope) const;  // cores that take part in a SyncAll of this scope
    LaunchInfo Info() const;
    // The range that holds `address`, or null.
    const OpgenGmRange* FindRange(const void* address) const;
    bool bounded() const { return !ranges_.empty(); }

    // State shared by the cores; only touched under the lock (in ready/change callbacks).
    struct Barrier {
        int arrived = 0;
        uint64_t generation = 0;
    };
    struct Shared {
        Barrier barriers[3];
        // CrossCoreSetFlag: sets seen per core and flag that have not completed a group yet.
        // [mode * 16 + flag][core id]; a row is empty until its flag is first set
        std::vector<std::vector<int>> pending;
        std::map<std::tuple<const void*, int, int>, int> blockFlags;
        int fullFlags = 0;  // cores that wait until a flag has room for one more set
    } shared;
    std::vector<Core*> cores;  // by id; null until started
    // Credits given to cores that have not started yet: [core id][flag].
    std::vector<std::array<int, kCrossFlags>> credits;
    const CoreSpec& spec(int id) const { return specs_[static_cast<size_t>(id)]; }

 private:
    void Worker();
    void StartOn(Running& slot, int id);
    void LetOthersRun(Core& core, const char* what);
    void ReportDeadlock();
    struct Place {
        std::string core;
        std::string file;
        int line;
        std::string doing;  // "in function()", "CrossCoreWaitFlag 3"
    };
    void NotePlace(Running& r, Place place);
    void NotePlace(Running& r);  // where its stack is

    const OpgenLaunch launch_;
    const int kind_;
    const SocInfo& soc_;
    Sink* const sink_;
    std::vector<OpgenGmRange> ranges_;
    std::vector<CoreSpec> specs_;

    std::atomic<int> next_{0};
    std::atomic<bool> failed_{false};
    std::atomic<bool> timedOut_{false};
    std::vector<Place> places_;  // of the blocks that were stopped
    std::string error_;
    DeclaredKind declared_;

    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t epoch_ = 0;
    int workers_ = 1;
    int idle_ = 0;  // workers that found nothing to do since the last change
    int left_ = 0;  // workers that have nothing more to do
    Work work_;
    std::vector<Running*> waiting_;  // all parked blocks, for the deadlock report
};

// Memory of one core, kept between launches.
struct CoreMemory;
// Throws std::bad_alloc.
CoreMemory* TakeCoreMemory();
// What a launch says that ends with std::bad_alloc.
constexpr char kNoMemory[] = "out of memory: the host has none left for the emulation";
void GiveCoreMemory(CoreMemory* memory);
void AttachMemory(Core& core, CoreMemory* memory, const SocInfo& soc, CoreKind kind);

// Formats "kernel.cpp:12: " or "".
std::string AtLine(Loc loc);
std::string CoreName(const Core& core);

// A copy into the core: gives way now and then once a core copies again what it has copied before,
// as one does that polls flags, one or several in turn.
void PollByCopy(Core& core, const void* source);
// A copy out of the core.
void NoteStore(Core& core);
// A tensor that a queue has given out.
void NoteTile(Core& core, uint32_t queue);

// How many bytes at `address` the host may really touch. Outside every known range the access is
// refused; past the end of a range by less than what device allocations are rounded up to, it is
// cut off (the device would touch the rounding). The sink has seen the full access.
uint64_t GmBytes(Core& core, const uint8_t* address, uint64_t bytes, bool write, Api api, Loc loc);
// Whether the host may touch all of them.
bool GmHolds(const Core& core, const uint8_t* address, uint64_t bytes);

}  // namespace ascendc_emu
#endif  // OPGEN_CORE_SCHEDULER_H
