// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Shadow memory: who wrote and read which bytes last, and which of them hold data. The granule is
// the 32-byte data block in which the hardware moves data; byte masks keep neighbours inside a
// block apart, so two pipes that touch different bytes of one block do not conflict.
#ifndef ASCENDC_EMU_SANITIZER_SHADOW_H
#define ASCENDC_EMU_SANITIZER_SHADOW_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
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

// Adds bytes behind the last run, as part of it where they follow each other.
inline void AddRun(std::vector<ByteRun>* out, uint64_t begin, uint64_t end) {
    if (!out->empty() && out->back().end == begin) {
        out->back().end = end;
    } else {
        out->push_back({begin, end});
    }
}

// Shadow of one on-chip memory (UB, L1, L0A, L0B, L0C, BT, FB) of one core. Pages of 1 KiB hold one
// cell while they are used as a whole, which tiles mostly are, and one per granule otherwise.
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

constexpr uint64_t kPageBytes = 2048;
constexpr uint64_t kCellsPerPage = kPageBytes / kGranule;
constexpr uint64_t kCacheLine = 64;

struct GmCell {
    Epoch writer;
    Epoch writer2;  // another core's bytes in the same granule
    Epoch reader;
    Epoch reader2;  // a second, concurrent core
    Epoch plain;    // last write that was no atomic one, where atomic ones followed it
    Epoch dirtier;  // scalar write that `dirty` comes from
    uint32_t writerMask = 0;
    uint32_t writer2Mask = 0;
    uint32_t readerMask = 0;
    uint32_t reader2Mask = 0;
    uint32_t plainMask = 0;
    uint32_t init = 0;     // bytes that hold data
    uint32_t written = 0;  // bytes a kernel wrote, also with data nobody initialised
    uint32_t dirty = 0;    // bytes written by a scalar unit and still only in its data cache
    bool atomic = false;   // last write was an atomic add, max or min

    bool SameState(const GmCell& o) const {
        return writer == o.writer && reader == o.reader && init == o.init &&
               writerMask == o.writerMask && readerMask == o.readerMask && written == o.written &&
               atomic == o.atomic && plain == o.plain && plainMask == o.plainMask;
    }
    // No second writer or reader, and nothing in a data cache.
    bool Single() const { return !writer2 && !reader2 && dirty == 0; }
};

// An access to global memory.
struct GmAccess {
    Epoch me;
    uint32_t core = 0;
    const PipeClock* clock = nullptr;
    const Limits* limits = nullptr;  // for earlier accesses of the same core
    bool atomic = false;
    bool scalar = false;  // through the data cache
    bool own = false;     // reads what this core wrote, which its cache still holds
};

// Whether an earlier access has completed before this one.
inline bool Ordered(Epoch earlier, const std::array<uint64_t, kPipes>& limit,
                    const GmAccess& access) {
    if (earlier.Core() == access.core) return earlier.Seq() <= limit[earlier.Pipe()];
    return access.clock->Knows(earlier, access.core);
}

struct GmHits {
    Conflicts conflicts;
    std::vector<ByteRun> dirty;  // bytes some other unit still holds in its data cache
    Epoch dirtyWriter;
    std::vector<ByteRun> stale;  // cached bytes that memory has newer values of
    Epoch staleWriter;
    Epoch sharedLine;  // scalar write of another core into the same cache line
    Epoch dirtyLine;   // scalar write whose line will be written back over this one
    Epoch staleLine;   // write that this scalar write's line, loaded before, will undo
};

// Bytes that one core wrote.
struct WriterRun {
    uint64_t begin;
    uint64_t end;
    Epoch writer;
};

// Shadow of global memory, shared by all cores of a launch. Pages of 2 KiB hold one cell while they
// are treated uniformly, which bulk copies do, and one cell per 32 bytes once they are not. The
// scalar unit's data cache is modelled here too: it is coherent with nothing.
class GmShadow {
 public:
    // Memory not declared holds data (it was filled by the host). Before any access.
    void Declare(uint64_t begin, uint64_t end, bool initialised);
    // Calls f(cell, begin, bytes) for everything a kernel has looked at or changed.
    template <typename F>
    void ForTouched(F f) const {
        for (const auto& chunk : chunks_) {
            for (uint64_t p = 0; p < kChunkPages; ++p) {
                const Page& page = chunk.second[p];
                if (!page.touched) continue;
                const uint64_t begin = BeginOf(chunk.first * kChunkPages + p);
                if (!page.cells) {
                    f(page.uniform, begin, kPageBytes);
                    continue;
                }
                for (uint64_t i = 0; i < kCellsPerPage; ++i) {
                    f(page.cells[i], begin + i * kGranule, kGranule);
                }
            }
        }
    }

    // As LocalShadow's.
    bool Read(uint64_t begin, uint64_t end, const GmAccess& access, GmHits* out);
    void Write(uint64_t begin, uint64_t end, const GmAccess& access, bool fills, GmHits* out);
    // Latest accesses of `core` to the range, per pipe: what automatic synchronisation waits for.
    void Dependencies(uint64_t begin, uint64_t end, uint32_t core, bool asWrite, LocalClock* out);

    void UninitialisedRuns(uint64_t begin, uint64_t end, std::vector<ByteRun>* out);
    void SetInitialised(uint64_t begin, uint64_t end, bool value);
    // Bytes of [begin, end) written by the kernel with data that nobody initialised.
    void PoisonedRuns(uint64_t begin, uint64_t end, std::vector<ByteRun>* out, Epoch* writer);

    // Who wrote which bytes of [begin, end), and which of them nobody wrote or filled; both in
    // order.
    void Writers(uint64_t begin, uint64_t end, std::vector<WriterRun>* writers,
                 std::vector<ByteRun>* unwritten);

    // A scalar write has taken effect: the core's data cache has these values now.
    void KeepOwn(uint32_t core, uint64_t begin, uint64_t end);

    // DataCacheCleanAndInvalid of one line (`address` set) or of the whole cache.
    void Clean(uint32_t core, uint64_t address, bool entire);

    Epoch Writer(uint64_t byte);
    // Whether a core's data cache has its own copy of a line.
    bool Holds(uint32_t core, uint64_t line) const {
        return core < caches_.size() && caches_[core].count(line) != 0;
    }

 private:
    struct Page {
        GmCell uniform;
        std::unique_ptr<GmCell[]> cells;
        bool touched = false;
    };
    // Kernels walk through memory: one look-up finds the pages of a quarter of a megabyte.
    static constexpr uint64_t kChunkPages = 128;
    // A line in a core's data cache: the last writers when it was loaded, and the bytes that the
    // core itself has changed since (bit i: value[i]).
    struct Line {
        Epoch writer[kCacheLine / kGranule];
        uint64_t own = 0;
        uint8_t value[kCacheLine];
    };
    using Cache = std::unordered_map<uint64_t, Line>;

    uint64_t NumberOf(uint64_t address) const { return (address - phase_) / kPageBytes; }
    uint64_t BeginOf(uint64_t number) const { return number * kPageBytes + phase_; }
    Page& PageAt(uint64_t number);
    void Start(Page& page, uint64_t number);
    GmCell& CellAt(uint64_t granule);
    static void Split(Page* page);
    static void Merge(Page* page);
    template <typename F>
    void ForCells(uint64_t begin, uint64_t end, bool change, F f);
    void ReadCell(GmCell& cell, uint64_t begin, uint32_t mask, uint64_t bytes,
                  const GmAccess& access, GmHits* out);
    void WriteCell(GmCell& cell, uint64_t begin, uint32_t mask, uint64_t bytes,
                   const GmAccess& access, GmHits* out);
    void ReadThroughCache(uint64_t begin, uint64_t end, const GmAccess& access, GmHits* out);
    void WriteThroughCache(uint64_t begin, uint64_t end, const GmAccess& access, GmHits* out);
    bool ChangedAlongside(const GmCell& cell, uint32_t mask, const GmAccess& access) const;
    bool Owns(uint32_t core, uint64_t begin, uint64_t end);
    void CheckDirtyLines(uint64_t begin, uint64_t end, GmHits* out);
    void SetDirty(GmCell& cell, uint32_t dirty);
    void DropLine(uint32_t core, uint64_t line);
    Cache& CacheOf(uint32_t core);

    std::unordered_map<uint64_t, std::unique_ptr<Page[]>> chunks_;
    uint64_t lastChunk_ = ~uint64_t{0};
    Page* last_ = nullptr;  // pages of lastChunk_
    std::vector<std::pair<ByteRun, bool>> declared_;
    // Pages begin where the largest declared range does, as its tiles do: those of whole pages then
    // leave none of them split. A multiple of kCacheLine.
    uint64_t phase_ = 0;
    uint64_t largest_ = 0;  // bytes of that range
    std::vector<Cache> caches_;
    uint64_t dirtyCells_ = 0;  // granules with dirty bytes: most kernels never have one
};

}  // namespace sanitizer
}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_SANITIZER_SHADOW_H
