// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Reading ahead of copies. On the device a copy into a core runs beside the instructions on the
// tile before it; here one thread does both, one after the other. What a core copies next follows,
// most of the time, what it copied last: while vector instructions run, that is fetched into the
// CPU's cache. A wrong guess costs some bandwidth and nothing else: a prefetch reads no memory that
// is not there.
#ifndef OPGEN_CORE_READ_AHEAD_H
#define OPGEN_CORE_READ_AHEAD_H

#include <algorithm>
#include <cstdint>

namespace ascendc_emu {

struct ReadAhead {
    static constexpr uint32_t kLine = 64, kStreams = 4;
    static constexpr uint64_t kMostBytes = 64 * 1024;  // of a stream: a share of the L2 cache
    static constexpr uint32_t kLinesPerStep = 32;

    struct Stream {
        const uint8_t* at = nullptr;
        uint64_t lines = 0;
    } streams[kStreams];
    uint32_t last = 0;

    // After a copy of `bytes` at `from`.
    void Follow(const uint8_t* from, uint64_t bytes) {
        last = (last + 1) % kStreams;
        streams[last] = {from + bytes, std::min(bytes, kMostBytes) / kLine};
    }
    // With each vector instruction.
    void Step() {
        for (Stream& s : streams) {
            if (s.lines == 0) continue;
            const uint64_t now = std::min<uint64_t>(s.lines, kLinesPerStep);
            for (uint64_t i = 0; i < now; ++i) __builtin_prefetch(s.at + i * kLine, 0, 2);
            s.at += now * kLine;
            s.lines -= now;
            return;
        }
    }
};

// Of the worker thread, not of the core: it only guesses.
extern thread_local ReadAhead g_read_ahead __attribute__((tls_model("initial-exec")));

}  // namespace ascendc_emu
#endif  // OPGEN_CORE_READ_AHEAD_H
