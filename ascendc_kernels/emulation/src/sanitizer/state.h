// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What the sanitizer knows about one core while it runs, and about flags that cores poll.
#ifndef ASCENDC_EMU_SANITIZER_STATE_H
#define ASCENDC_EMU_SANITIZER_STATE_H

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ascendc_emu/core.h"
#include "ascendc_emu/record.h"
#include "clock.h"
#include "report.h"
#include "shadow.h"

namespace ascendc_emu {
namespace sanitizer {

// Pipes of record.h, numbered densely.
enum PipeIndex { kPS = 0, kPV, kPM, kPMte1, kPMte2, kPMte3, kPFix, kPOther };

inline int Dense(Pipe pipe) {
    switch (pipe) {
        case Pipe::kS:
            return kPS;
        case Pipe::kV:
            return kPV;
        case Pipe::kM:
            return kPM;
        case Pipe::kMte1:
            return kPMte1;
        case Pipe::kMte2:
            return kPMte2;
        case Pipe::kMte3:
            return kPMte3;
        case Pipe::kFix:
            return kPFix;
        default:
            return kPOther;
    }
}

inline const char* PipeName(int dense) {
    static const char* const kNames[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "other"};
    return kNames[dense];
}

// Whether a span differs from the one before: an operand with stride 0 reads the same block again
// and again, and looking at it once is enough.
class SpanChange {
 public:
    bool operator()(uint64_t at, uint64_t bytes) {
        if (at == at_ && bytes == bytes_) return false;
        at_ = at;
        bytes_ = bytes;
        return true;
    }

 private:
    uint64_t at_ = 0;
    uint64_t bytes_ = 0;
};

// A source line and the operation on it; numbered so that an epoch can hold it.
struct Site {
    Api api;
    const char* op;  // its name
    Loc loc;
};

class Sites {
 public:
    Sites() { items_.push_back({Api(), "", Loc()}); }
    uint32_t Number(Api api, Loc loc);
    const Site& operator[](uint32_t number) const { return items_[number]; }

 private:
    struct Slot {
        Api api;
        const char* file = nullptr;
        uint32_t line = 0;
        uint32_t number = 0;
    };
    Slot recent_[256];
    std::map<std::string, uint32_t> index_;
    std::vector<Site> items_;
};

enum class Life { kFree, kAllocated, kEnQueued, kDeQueued, kPlain, kGone };

// A use of a tensor after its FreeTensor.
struct StaleUse {
    int pipe = 0;
    uint64_t seq = 0;
    Finding finding;
};

// One buffer handed out by InitBuffer, a TBuf or an allocator.
struct Buffer {
    Life life = Life::kGone;
    bool queued = false;  // belongs to a TQue: alloc, enqueue, dequeue, free
    bool placed = false;  // InitBuffer gave it memory of its own; a bare address does not
    Mem mem = Mem::kUb;
    uint8_t position = 0;
    uint8_t dstPosition = 0;
    uint32_t queue = 0;
    int producer = 0;
    int consumer = 0;
    uint64_t addr = 0;
    uint64_t bytes = 0;
    Loc declared;
    Loc allocated;
    Loc last;                     // last change of life
    uint64_t allocatedAt = 0;     // record number
    PipeClock filled;             // what EnQue announces to DeQue
    PipeClock drained;            // what FreeTensor announces to AllocTensor
    bool enqueued = false;        // there was an EnQue
    bool freed = false;           // there was a FreeTensor
    std::vector<StaleUse> stale;  // since that FreeTensor
};

struct Flag {
    int set = 0;  // SetFlags that no WaitFlag has answered; more than one is reported, and counted
    bool told = false;  // of the surplus: what follows from it is no other bug
    PipeClock clock;
    Loc loc;
};

// One round of a cross-core flag: what its senders had completed.
struct Round {
    int mode = 0;
    CoreKind sender = CoreKind::kAiv;
    int32_t group = 0;
    uint32_t senders = 0;
    Loc loc;
    CrossClock clock;

    // Mode 0: all cores of the sender's kind; 1: the AIVs of one group; 2: the other kind in it.
    bool Reaches(const Core& core) const {
        if (mode == 0) return core.kind == sender;
        return core.group == group && (mode == 1) == (core.kind == sender);
    }
};

// One round of SyncAll.
struct Meeting {
    CrossClock clock;
    bool over = false;
};

// A write to global memory that races with another write: does it change anything?
struct Pending {
    Finding finding;
    uint64_t begin = 0;
    std::vector<uint8_t> before;
    Epoch reader;  // of another core, whose read it overwrites
};

// Two copies of one pipe to the same on-chip bytes: which of them comes last matters to a reader
// only.
struct Undecided {
    Epoch writer;
    Mem mem = Mem::kUb;
    uint64_t begin = 0;
    uint64_t end = 0;
    Finding finding;
};

// What one instruction wrote, as a whole.
struct Written {
    uint64_t seq = 0;
    Mem mem = Mem::kUb;
    uint64_t begin = 0;
    uint64_t end = 0;
    bool first = false;  // no further result
};

// Flags in global memory: a core stores a small value, another one copies it to its own memory (or
// reads it with GetValue) again and again until it has changed. The read that ends such a loop is
// ordered after the store, and with it everything the storing pipe knew to be complete.

// A small store to global memory, which may be a flag.
struct FlagStore {
    uint64_t end = 0;
    std::vector<Epoch> writers;  // the last one first; atomic stores add up
    LocalClock known;            // what the storing pipe knew of its own core
    CrossClock cross;            // and of the others
    bool atomic = false;
    std::vector<uint8_t> before;  // the bytes it replaced
};

// The latest of them, by address.
class FlagStores {
 public:
    static constexpr uint64_t kMaxBytes = 256;

    bool Empty() const { return stores_.empty(); }
    void Add(uint64_t begin, FlagStore store);
    void Forget(uint64_t begin, uint64_t end);
    // Calls f(begin, store) for all that touch [begin, end).
    template <typename F>
    void ForOverlaps(uint64_t begin, uint64_t end, F f) const {
        auto next = stores_.lower_bound(begin < kMaxBytes ? 0 : begin - kMaxBytes);
        for (; next != stores_.end() && next->first < end; ++next) {
            if (next->second.end > begin) f(next->first, next->second);
        }
    }

 private:
    static constexpr size_t kMost = 4096;

    std::map<uint64_t, FlagStore> stores_;
    std::deque<uint64_t> order_;
};

// A read of such stores by a core that nothing had told about them.
struct Glimpse {
    struct Part {
        ByteRun bytes;          // in global memory
        FlagStore store;        // without the bytes before it
        bool shown = false;     // the read got the new value
        bool polled = false;    // the core had read the bytes before, and done nothing since
        bool observed = false;  // the scalar unit has looked at it
    };

    Epoch me;             // the read, or the vector instruction that computed on it
    ByteRun source;       // in global memory
    uint64_t stores = 0;  // of this core, until then
    Mem mem = Mem::kGm;   // where it went; kGm: GetValue
    uint64_t begin = 0;
    uint64_t end = 0;
    bool linear = false;  // byte i of the destination is byte i of the source
    std::vector<Part> parts;
    Finding finding;
};

struct CoreState {
    explicit CoreState(Core* c) : core(c) {}

    Core* core;
    bool autoSync = false;
    uint64_t seq = 0;
    uint64_t issued[kPipes] = {};
    PipeClock clock[kPipes];
    uint64_t scalarVersion = 0;
    uint64_t seenVersion[kPipes] = {};
    Flag flags[kPipes][kPipes][kEventIds];
    PipeClock unit[kPipes];  // what the last Mmad / Fixpipe with unitFlag 3 hands over
    std::map<uint32_t, Buffer> buffers;
    uint32_t rawBuffers = 0;
    std::vector<Pending> pending;
    std::vector<Undecided> undecided;
    std::unordered_map<uint64_t, std::pair<Epoch, uint8_t>>
        partBytes;  // of UB: who wrote garbage into which bits
    std::vector<Written> extents = std::vector<Written>(4096);  // of the latest writes, by seq
    std::unique_ptr<LocalShadow> shadow[kMemCount];

    std::vector<ByteRun> pointed;  // bytes of UB that plain C++ may have written: see TakePointer

    std::deque<Glimpse> glimpses;         // in the order of their copies
    std::vector<ByteRun> polled;          // global memory that this core has polled
    std::unordered_set<uint64_t> seen;    // stores of other cores that it has seen there, by epoch
    std::unordered_set<uint64_t> looked;  // stores that it has read once without synchronisation
    uint64_t stores = 0;                  // instructions that wrote to global memory

    size_t meeting[3] = {};                             // SyncAll round it is in, per scope
    std::map<std::pair<int, int>, uint64_t> crossSets;  // (mode, flag) -> CrossCoreSetFlag calls

    LocalShadow& Shadow(Mem mem);
    const Buffer* FindBuffer(uint32_t number) const;          // null: none known
    const Buffer* BufferAt(Mem mem, uint64_t address) const;  // the only one there; else null
    // Whether a live buffer of a later InitBuffer has bytes [begin, end) of released buffer
    // `number`.
    bool GivenAway(uint32_t number, uint64_t begin, uint64_t end) const;

    // A new instruction on `pipe`: it starts after everything the scalar unit has waited for.
    uint64_t Issue(int pipe);
    PipeClock Release(int pipe) const;  // `pipe` and all it knows, everything issued on it done
    PipeClock ReleaseByQueue(int pipe) const;  // the same, told by a queue and meant for one tensor
    void Acquire(int pipe, const PipeClock& clock);
    void AcquireFrom(int pipe, const CrossClock& clock);
    void BarrierAll();
    Limits LimitsFor(int pipe) const;
};

}  // namespace sanitizer
}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_SANITIZER_STATE_H
