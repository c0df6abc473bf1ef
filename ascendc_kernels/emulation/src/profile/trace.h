// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What the cores of a launch did, in the few bytes per step that the replay needs. The order of a
// core's steps is that of its program; what waits for what is settled while recording, so that the
// replay decides about nothing but time.
#ifndef OPGEN_PROFILE_TRACE_H
#define OPGEN_PROFILE_TRACE_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ascendc_emu/core.h"
#include "ascendc_emu/launch.h"
#include "ascendc_emu/record.h"

namespace ascendc_emu {
namespace profile {

enum class StepKind : uint8_t {
    kWork,        // an instruction that does not touch GM
    kCopy,        // one that moves data from or to GM
    kSet,         // an event that `slot` stands for is set
    kWait,        // until `slot` is set
    kBarrier,     // the pipe waits for its own instructions
    kBarrierAll,  // the scalar unit waits for all pipes
    kSyncArrive,  // the core reaches a barrier of cores, `effect`
    kSyncLeave,
    kCrossSet,   // a flag of other cores: adds to `effect`
    kCrossWait,  // until `effect` is complete
    kWindow,     // a sample of the core's steps begins (sampling.h)
    kSkip,       // steps that were not kept, `slot` of CoreTrace::gaps
};

// What a wait is for, to be told.
enum class WaitFor : uint8_t { kEvent, kQueue, kFree, kBarrier, kSyncAll, kCoreFlag, kScalar, kGm };

// Bits of Step::flags.
enum : uint8_t {
    kStore = 1,      // a copy to GM
    kBypass = 2,     // past L2
    kContinued = 4,  // goes on with the copy before it: issued once
    kLibrary = 8,    // a library function: its cost is a guess
    kBackward = 16,  // a wait for a buffer to be free again
    kAtomic = 32,
};

struct Step {
    Step() {}  // filled by who adds it
    StepKind kind;
    uint8_t pipe;
    uint8_t flags;
    uint8_t detail;  // of a wait: WaitFor | source pipe << 4
    uint16_t api;
    uint16_t id;    // of a wait: event id or position of the queue; of others: Trace::operands
    uint32_t site;  // index of Trace::sites
    float scalar;   // cycles of the scalar unit before and for the issue
    union {
        struct {
            float start, body, conflict;  // cycles
            uint32_t bytes;
        } work;
        struct {
            uint64_t addr;
            uint32_t burst;  // bytes of a run
            uint32_t count;  // runs
            int64_t stride;  // bytes from one run to the next
        } copy;
        struct {
            uint32_t slot, effect;
        } sync;
    };
};

// Steps in chunks: growing moves nothing.
class Steps {
 public:
    static constexpr uint32_t kShift = 12, kChunk = 1u << kShift;
    Step& Add() {
        if ((size_ & (kChunk - 1)) == 0) chunks_.emplace_back(new Step[kChunk]);
        Step& step = (*this)[size_++];
        return step;
    }
    Step& operator[](uint32_t i) { return chunks_[i >> kShift][i & (kChunk - 1)]; }
    const Step& operator[](uint32_t i) const { return chunks_[i >> kShift][i & (kChunk - 1)]; }
    uint32_t size() const { return size_; }

 private:
    std::vector<std::unique_ptr<Step[]>> chunks_;
    uint32_t size_ = 0;
};

// Steps that were not kept: how many, and the copies among them, which change what L2 holds.
struct Gap {
    uint64_t steps = 0;
    uint32_t slotEnd = 0;  // slots below are set, whether their step was kept or not
    std::vector<Step> copies;
};

// A slot that nobody waits for any more: what sets it was not kept.
constexpr uint32_t kPassedSlot = 0xfffffffeu;

struct CoreTrace {
    int id = -1;
    CoreKind kind = CoreKind::kAiv;
    Steps steps;
    std::vector<Gap> gaps;
    uint32_t slots = 0;
    bool ended = false;
    float tail = 0;  // cycles of the scalar unit behind the last step
};

struct Site {
    uint32_t file, line;
};

struct Buffer {
    std::string name;
    uint64_t begin = 0, end = 0;
    int kind = 0;
};

// Which of some buffers, sorted by address, holds one; their number where none does. Buffers may
// lie in one another (a slice of an allocation): the last that begins before the address and holds
// it.
inline size_t BufferAt(const std::vector<Buffer>& buffers, uint64_t addr) {
    auto it = std::upper_bound(buffers.begin(), buffers.end(), addr,
                               [](uint64_t a, const Buffer& b) { return a < b.begin; });
    while (it != buffers.begin()) {
        --it;
        if (addr < it->end) return static_cast<size_t>(it - buffers.begin());
    }
    return buffers.size();
}

struct Trace {
    std::string kernel;
    const SocInfo* soc = nullptr;
    std::vector<CoreTrace> cores;
    std::vector<Site> sites;
    std::vector<std::string> files;
    std::vector<std::string> apis;       // by Api::Id
    std::vector<uint32_t> contributors;  // of each effect
    std::vector<Buffer> buffers;         // by address
    std::vector<std::string> operands{""};
    uint64_t records = 0, ubRead = 0, ubWritten = 0;
    uint64_t kept = 0;      // of the records: those that are stored
    uint64_t dropped = 0;   // steps that found no room
    uint32_t stride = 1;    // one window of so many is kept: more than 1 is a sample
    bool failed = false;    // the launch did not reach its end
    bool timeOnly = false;  // no instruction did anything
};

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_TRACE_H
