// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Logical time for the sanitizer: which instructions are known to be complete when another one
// starts. An AI core issues instructions in program order to pipes that then run on their own, so
// program order alone orders nothing; only SetFlag/WaitFlag, barriers, queues and cross-core flags
// do. Inside one core a clock has one component per pipe. Between cores a second, rarely changing
// clock is shared by pointer, because cores meet only at SyncAll, CrossCoreSetFlag or IBSet.
#ifndef ASCENDC_EMU_SANITIZER_CLOCK_H
#define ASCENDC_EMU_SANITIZER_CLOCK_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace ascendc_emu {
namespace sanitizer {

constexpr int kPipes = 8;  // S, V, M, MTE1, MTE2, MTE3, FIX and one spare
constexpr uint64_t kForever = ~uint64_t{0};

// One access, packed so that shadow memory can keep it per granule: when (record number inside its
// core), who (core, pipe) and where in the source (site). Zero means "never".
class Epoch {
 public:
    static constexpr uint32_t kMaxCores = 1u << 13;
    static constexpr uint32_t kMaxSites = 1u << 16;

    Epoch() = default;
    Epoch(uint64_t seq, uint32_t core, int pipe, uint32_t site)
        : bits_(seq << 32 | uint64_t{core} << 19 | static_cast<uint64_t>(pipe) << 16 | site) {}

    explicit operator bool() const { return bits_ != 0; }
    bool operator==(Epoch other) const { return bits_ == other.bits_; }
    bool operator!=(Epoch other) const { return bits_ != other.bits_; }
    uint64_t Seq() const { return bits_ >> 32; }
    uint32_t Core() const { return static_cast<uint32_t>(bits_ >> 19) & (kMaxCores - 1); }
    int Pipe() const { return static_cast<int>(bits_ >> 16) & 7; }
    uint32_t Site() const { return static_cast<uint32_t>(bits_) & 0xffffu; }
    uint64_t Bits() const { return bits_; }

 private:
    uint64_t bits_ = 0;
};

// For each pipe of one core: the record number up to which its instructions are complete.
struct LocalClock {
    std::array<uint64_t, kPipes> at{};

    void Join(const LocalClock& other) {
        for (int p = 0; p < kPipes; ++p) at[p] = std::max(at[p], other.at[p]);
    }
};

// The same for the pipes of all other cores; immutable once shared, index core * kPipes + pipe.
using CrossClock = std::shared_ptr<const std::vector<uint64_t>>;

inline CrossClock Join(const CrossClock& a, const CrossClock& b) {
    if (a == b || !b) return a;
    if (!a) return b;
    const auto& longer = a->size() >= b->size() ? a : b;
    const auto& shorter = a->size() >= b->size() ? b : a;
    auto joined = std::make_shared<std::vector<uint64_t>>(*longer);
    for (size_t i = 0; i < shorter->size(); ++i) {
        (*joined)[i] = std::max((*joined)[i], (*shorter)[i]);
    }
    return joined;
}

inline CrossClock With(const CrossClock& base, uint32_t core, const LocalClock& local) {
    auto joined = base ? std::make_shared<std::vector<uint64_t>>(*base)
                       : std::make_shared<std::vector<uint64_t>>();
    if (joined->size() < (core + 1) * size_t{kPipes}) joined->resize((core + 1) * size_t{kPipes});
    for (int p = 0; p < kPipes; ++p) {
        uint64_t& slot = (*joined)[core * kPipes + p];
        slot = std::max(slot, local.at[p]);
    }
    return joined;
}

// Everything one pipe knows to be complete.
struct PipeClock {
    LocalClock local;
    LocalClock manual;  // the part of `local` that does not come from EnQue/DeQue and Free/Alloc
    CrossClock cross;

    void Join(const PipeClock& other) {
        local.Join(other.local);
        manual.Join(other.manual);
        cross = sanitizer::Join(cross, other.cross);
    }

    bool Knows(Epoch epoch, uint32_t myCore) const {
        if (epoch.Core() == myCore) return local.at[epoch.Pipe()] >= epoch.Seq();
        if (!cross) return false;
        size_t index = epoch.Core() * size_t{kPipes} + epoch.Pipe();
        return index < cross->size() && (*cross)[index] >= epoch.Seq();
    }
};

// What a signal carries from one core to another: the sender's knowledge, its own pipes included.
inline CrossClock Release(const PipeClock& clock, uint32_t core) {
    return With(clock.cross, core, clock.local);
}

}  // namespace sanitizer
}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_SANITIZER_CLOCK_H
