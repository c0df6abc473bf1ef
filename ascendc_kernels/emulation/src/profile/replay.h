// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The replay of a trace: when each pipe of each core would have done what it did.
//
// Within a core nothing but time is open, so a core runs ahead until it needs GM; copies of all
// cores then meet in one queue, ordered by modelled time.
#ifndef OPGEN_PROFILE_REPLAY_H
#define OPGEN_PROFILE_REPLAY_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ascendc_emu/profile.h"
#include "profile/memory.h"
#include "profile/parameters.h"
#include "profile/trace.h"

namespace ascendc_emu {
namespace profile {

// What a replay leaves out.
struct Effects {
    bool conflicts = true, starts = true, latency = true, bursts = true, rereads = true,
         bufferWaits = true, coreStart = true;
};

struct ReplayOptions {
    Effects effects;
    bool warm = false;
    bool detail = false;     // lines, waits, buffers
    uint64_t maxEvents = 0;  // 0: none
    double workScale = 1;    // of library functions, whose costs are guesses
    double scalarScale = 1;
};

// What was waited for (WaitFor | from << 4, id) and at which site.
using WaitKey = std::pair<uint32_t, uint32_t>;

struct PipeResult {
    double busy = 0, stalled = 0;  // ns
    double gmWait = 0;             // of busy: for the shared memories
    double work = 0;               // ns of the instructions alone: no start-up, no sharing
    uint64_t instructions = 0, bytes = 0;
    std::map<WaitKey, double> waits;
};

struct CoreResult {
    int id = 0;
    CoreKind kind = CoreKind::kAiv;
    double start = 0, end = 0;  // ns
    bool used = false;
    PipeResult pipes[kPipeCount];
};

struct LineResult {
    double busy = 0, stalled = 0;
    uint64_t instructions = 0, bytes = 0;
};

struct BufferResult {
    uint64_t read = 0, written = 0, distinctRead = 0, distinctWritten = 0;
};

struct Result {
    double kernel = 0, launch = 0;  // ns: of the cores; of the start before them
    double gmBytes = 0, l2Bytes = 0, hitBytes = 0, readBytes = 0, writtenBytes = 0;
    bool stuck = false;      // something waits for what never comes
    double sampleError = 0;  // ns: by which the time of a sample may be wrong
    uint64_t windows = 0;    // of all cores' samples
    std::vector<CoreResult> cores;
    std::vector<LineResult> lines;      // by site * kPipeCount + pipe
    std::vector<BufferResult> buffers;  // by Trace::buffers, the last: elsewhere
    std::vector<OpgenProfileEvent> events;
    uint64_t lostEvents = 0;
};

Result Replay(const Trace& trace, const Parameters& parameters, const ReplayOptions& options);

}  // namespace profile
}  // namespace ascendc_emu

#endif  // OPGEN_PROFILE_REPLAY_H
