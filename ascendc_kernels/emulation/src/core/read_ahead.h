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

    // Blocks of `bytes` that begin `stride` bytes apart.
    struct Stream {
        const uint8_t* block = nullptr;
        uint64_t at = 0, bytes = 0, blocks = 0;
        int64_t stride = 0;
    } streams[kStreams];
    uint32_t last = 0;

    // After a copy of such blocks from `from` on.
    void Follow(const uint8_t* from, uint64_t bytes, uint64_t blocks, int64_t stride) {
        if (stride == static_cast<int64_t>(bytes)) {
            bytes *= blocks;
            stride *= static_cast<int64_t>(blocks);
            blocks = 1;
        }
        if (bytes < kLine) return;
        last = (last + 1) % kStreams;
        const uint8_t* const next = from + stride * static_cast<int64_t>(blocks);
        bytes = std::min(bytes, kMostBytes);
        streams[last] = {next, 0, bytes, std::min(blocks, kMostBytes / bytes), stride};
    }
    // With each vector instruction.
    void Step() {
        uint32_t lines = 0;
        for (Stream& s : streams) {
            for (; s.blocks > 0; --s.blocks, s.block += s.stride, s.at = 0) {
                for (; s.at < s.bytes; s.at += kLine) {
                    if (lines++ == kLinesPerStep) return;
                    __builtin_prefetch(s.block + s.at, 0, 2);
                }
            }
        }
    }
};

// Of the worker thread, not of the core: it only guesses.
extern thread_local ReadAhead g_read_ahead __attribute__((tls_model("initial-exec")));

}  // namespace ascendc_emu
#endif  // OPGEN_CORE_READ_AHEAD_H
