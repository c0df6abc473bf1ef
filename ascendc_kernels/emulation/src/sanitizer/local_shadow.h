// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Shadow of one on-chip memory (UB, L1, L0A, L0B, L0C, BT, FB) of one core. The granule is the
// 32-byte data block in which the hardware moves data; byte masks keep neighbours inside a block
// apart, so two pipes that touch different bytes of one block do not conflict.
#ifndef ASCENDC_EMU_SANITIZER_LOCAL_SHADOW_H
#define ASCENDC_EMU_SANITIZER_LOCAL_SHADOW_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "clock.h"

namespace ascendc_emu {
namespace sanitizer {

constexpr uint64_t kGranule = 32;
constexpr uint32_t kAllBytes = 0xffffffffu;

inline uint32_t ByteMask(uint64_t lo, uint64_t hi) {
    return (hi >= kGranule ? kAllBytes : (1u << hi) - 1) & ~((1u << lo) - 1);
}

enum class Hazard { kRaw, kWar, kWaw };

// For each pipe, the record number up to which its accesses may be ignored, per kind of hazard.
struct Limits {
    std::array<uint64_t, kPipes> raw{};
    std::array<uint64_t, kPipes> war{};
    std::array<uint64_t, kPipes> waw{};
};

struct Conflict {
    Hazard hazard;
    Epoch other;
    uint64_t begin = 0;  // bytes from the start of the memory
    uint64_t end = 0;
};

// The conflicts of one operand: a few different ones, each with the range it covers.
class Conflicts {
public:
    void Add(Hazard hazard, Epoch other, uint64_t begin, uint64_t end);
    bool Empty() const { return items_.empty(); }
    const std::vector<Conflict>& Items() const { return items_; }
    void Clear() { items_.clear(); }

private:
    std::vector<Conflict> items_;
};

struct ByteRun {
    uint64_t begin;
    uint64_t end;
};

class LocalShadow {
public:
    explicit LocalShadow(uint64_t bytes);

    uint64_t Bytes() const { return granules_ * kGranule; }

    // Check and record an access to bytes [begin, end); ends beyond the memory are cut off.
    void Read(uint64_t begin, uint64_t end, Epoch me, const Limits& limits, Conflicts* out);
    void Write(uint64_t begin, uint64_t end, Epoch me, const Limits& limits, Conflicts* out);

    // Largest record number of an access that a scalar or automatically synchronised instruction
    // waits for: writers (and readers when `asWrite`), per pipe.
    void Dependencies(uint64_t begin, uint64_t end, bool asWrite, LocalClock* out) const;

    // True when every byte of [begin, end) was written and no part of it read since; then
    // *writer is the last write. Only complete overwrites of one earlier write count.
    bool Unread(uint64_t begin, uint64_t end, Epoch* writer) const;

    // Which bytes hold data somebody wrote.
    bool Initialised(uint64_t begin, uint64_t end) const;
    void UninitialisedRuns(uint64_t begin, uint64_t end, std::vector<ByteRun>* out) const;
    void SetInitialised(uint64_t begin, uint64_t end, bool value);

    Epoch Writer(uint64_t byte) const;

private:
    struct Readers {
        std::vector<Epoch> epoch;
        std::vector<uint32_t> mask;
    };

    void CheckRead(uint64_t g, uint32_t mask, const Limits& limits, Conflicts* out) const;
    void CheckWrite(uint64_t g, uint32_t mask, Epoch me, const Limits& limits,
                    Conflicts* out) const;
    bool WritersDone(uint64_t first, uint64_t last,
                     const std::array<uint64_t, kPipes>& limit) const;
    bool ReadersDone(uint64_t first, uint64_t last,
                     const std::array<uint64_t, kPipes>& limit) const;
    Readers& ReadersOf(int pipe);
    bool Clip(uint64_t begin, uint64_t* end) const;

    uint64_t granules_;
    std::vector<Epoch> writer_;
    std::vector<uint32_t> writerMask_;
    std::vector<uint32_t> init_;
    std::array<std::unique_ptr<Readers>, kPipes> readers_;  // made when a pipe first reads
};

}  // namespace sanitizer
}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_SANITIZER_LOCAL_SHADOW_H
