// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Shadow of one on-chip memory (UB, L1, L0A, L0B, L0C, BT, FB) of one core. The granule is the
// 32-byte data block in which the hardware moves data; byte masks keep neighbours inside a block
// apart, so two pipes that touch different bytes of one block do not conflict. Pages of 1 KiB hold
// one cell while they are used as a whole, which tiles mostly are, and one per granule otherwise.
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

    uint64_t Bytes() const { return bytes_; }

    // Check and record an access to bytes [begin, end); ends beyond the memory are cut off.
    // Read returns whether all of them hold data; Write says that they do now where `fills` is set.
    bool Read(uint64_t begin, uint64_t end, Epoch me, const Limits& limits, Conflicts* out);
    void Write(uint64_t begin, uint64_t end, Epoch me, const Limits& limits, bool fills,
               Conflicts* out);

    // Largest record number of an access that a scalar or automatically synchronised instruction
    // waits for: writers (and readers when `asWrite`), per pipe.
    void Dependencies(uint64_t begin, uint64_t end, bool asWrite, LocalClock* out) const;

    // True when `writer` was the last to write every byte of [begin, end), and no part was read
    // since.
    bool Unread(uint64_t begin, uint64_t end, Epoch writer) const;

    // Which bytes hold data somebody wrote.
    void UninitialisedRuns(uint64_t begin, uint64_t end, std::vector<ByteRun>* out) const;
    void SetInitialised(uint64_t begin, uint64_t end, bool value);

    Epoch Writer(uint64_t byte) const;

 private:
    struct Cell {
        Epoch writer;
        uint32_t writerMask = 0;
        uint32_t init = 0;  // bytes that hold data
        Epoch reader[kPipes];
        uint32_t readerMask[kPipes] = {};
        uint32_t readers = 0;  // bit per pipe with a reader
    };
    struct Page {
        Cell uniform;
        std::unique_ptr<Cell[]> cells;
    };

    template <typename F>
    void ForCells(uint64_t begin, uint64_t end, F f);
    template <typename F>
    void LookAtCells(uint64_t begin, uint64_t end, F f) const;
    static void Split(Page* page);
    static void Merge(Page* page);
    bool Clip(uint64_t begin, uint64_t* end) const;

    uint64_t bytes_;
    std::vector<Page> pages_;
};

}  // namespace sanitizer
}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_SANITIZER_LOCAL_SHADOW_H
