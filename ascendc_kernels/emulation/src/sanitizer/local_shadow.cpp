// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "local_shadow.h"

#include <algorithm>

namespace ascendc_emu {
namespace sanitizer {

namespace {

// Calls f(granule, mask) for the granules of [begin, end).
template <typename F>
void ForGranules(uint64_t begin, uint64_t end, F f) {
    if (begin >= end) return;
    uint64_t first = begin / kGranule;
    uint64_t last = (end - 1) / kGranule;
    if (first == last) {
        f(first, ByteMask(begin % kGranule, end - first * kGranule));
        return;
    }
    f(first, ByteMask(begin % kGranule, kGranule));
    for (uint64_t g = first + 1; g < last; ++g) f(g, kAllBytes);
    f(last, ByteMask(0, end - last * kGranule));
}

// Calls f(granule, mask) for the first and the last granule of [begin, end).
template <typename F>
void FirstAndLast(uint64_t begin, uint64_t end, F f) {
    uint64_t first = begin / kGranule;
    uint64_t last = (end - 1) / kGranule;
    if (first == last) {
        f(first, ByteMask(begin % kGranule, end - first * kGranule));
        return;
    }
    f(first, ByteMask(begin % kGranule, kGranule));
    f(last, ByteMask(0, end - last * kGranule));
}

}  // namespace

void Conflicts::Add(Hazard hazard, Epoch other, uint64_t begin, uint64_t end) {
    for (Conflict& c : items_) {
        if (c.hazard == hazard && c.other.Site() == other.Site() &&
            c.other.Pipe() == other.Pipe() && c.other.Core() == other.Core()) {
            c.begin = std::min(c.begin, begin);
            c.end = std::max(c.end, end);
            return;
        }
    }
    // More than a handful of different partners for one operand tells a reader nothing new.
    if (items_.size() < 4) items_.push_back({hazard, other, begin, end});
}

LocalShadow::LocalShadow(uint64_t bytes)
    : granules_((bytes + kGranule - 1) / kGranule),
      writer_(granules_),
      writerMask_(granules_),
      init_(granules_) {}

bool LocalShadow::Clip(uint64_t begin, uint64_t* end) const {
    *end = std::min(*end, Bytes());
    return begin < *end;
}

LocalShadow::Readers& LocalShadow::ReadersOf(int pipe) {
    auto& slot = readers_[pipe];
    if (!slot) {
        slot = std::make_unique<Readers>();
        slot->epoch.resize(granules_);
        slot->mask.resize(granules_);
    }
    return *slot;
}

inline void LocalShadow::CheckRead(uint64_t g, uint32_t mask, const Limits& limits,
                                   Conflicts* out) const {
    Epoch w = writer_[g];
    if (w && w.Seq() > limits.raw[w.Pipe()] && (writerMask_[g] & mask)) {
        out->Add(Hazard::kRaw, w, g * kGranule, (g + 1) * kGranule);
    }
}

inline void LocalShadow::CheckWrite(uint64_t g, uint32_t mask, Epoch me, const Limits& limits,
                                    Conflicts* out) const {
    Epoch w = writer_[g];
    if (w && w != me && w.Seq() > limits.waw[w.Pipe()] && (writerMask_[g] & mask)) {
        out->Add(Hazard::kWaw, w, g * kGranule, (g + 1) * kGranule);
    }
    for (int p = 0; p < kPipes; ++p) {
        if (!readers_[p]) continue;
        Epoch r = readers_[p]->epoch[g];
        if (r && r.Seq() != me.Seq() && r.Seq() > limits.war[p] && (readers_[p]->mask[g] & mask)) {
            out->Add(Hazard::kWar, r, g * kGranule, (g + 1) * kGranule);
        }
    }
}

// Whether all writers of whole granules [first, last) are within the limits: long runs have the same
// one, so most steps are one comparison.
bool LocalShadow::WritersDone(uint64_t first, uint64_t last,
                              const std::array<uint64_t, kPipes>& limit) const {
    Epoch good;
    for (uint64_t g = first; g < last; ++g) {
        Epoch w = writer_[g];
        if (w == good) continue;
        if (w && w.Seq() > limit[w.Pipe()]) return false;
        good = w;
    }
    return true;
}

bool LocalShadow::ReadersDone(uint64_t first, uint64_t last,
                              const std::array<uint64_t, kPipes>& limit) const {
    for (int p = 0; p < kPipes; ++p) {
        if (!readers_[p] || limit[p] == kForever) continue;
        const Epoch* epoch = readers_[p]->epoch.data();
        uint64_t bound = limit[p];
        bool late = false;
        for (uint64_t g = first; g < last; ++g) late |= epoch[g].Seq() > bound;
        if (late) return false;
    }
    return true;
}

void LocalShadow::Read(uint64_t begin, uint64_t end, Epoch me, const Limits& limits,
                       Conflicts* out) {
    if (!Clip(begin, &end)) return;
    Readers& mine = ReadersOf(me.Pipe());
    uint64_t first = begin / kGranule;
    uint64_t last = (end - 1) / kGranule + 1;
    if (!WritersDone(first, last, limits.raw)) {
        ForGranules(begin, end,
                    [&](uint64_t g, uint32_t mask) { CheckRead(g, mask, limits, out); });
    }
    std::fill(mine.epoch.begin() + first, mine.epoch.begin() + last, me);
    std::fill(mine.mask.begin() + first, mine.mask.begin() + last, kAllBytes);
    FirstAndLast(begin, end, [&](uint64_t g, uint32_t mask) { mine.mask[g] = mask; });
}

void LocalShadow::Write(uint64_t begin, uint64_t end, Epoch me, const Limits& limits,
                        Conflicts* out) {
    if (!Clip(begin, &end)) return;
    uint64_t first = begin / kGranule;
    uint64_t last = (end - 1) / kGranule + 1;
    if (!WritersDone(first, last, limits.waw) || !ReadersDone(first, last, limits.war)) {
        ForGranules(begin, end,
                    [&](uint64_t g, uint32_t mask) { CheckWrite(g, mask, me, limits, out); });
    }
    // Several strided pieces of one instruction may share a granule.
    uint32_t firstMask = writer_[first] == me ? writerMask_[first] : 0;
    uint32_t lastMask = writer_[last - 1] == me ? writerMask_[last - 1] : 0;
    std::fill(writer_.begin() + first, writer_.begin() + last, me);
    std::fill(writerMask_.begin() + first, writerMask_.begin() + last, kAllBytes);
    FirstAndLast(begin, end, [&](uint64_t g, uint32_t mask) {
        writerMask_[g] = mask | (g == first ? firstMask : lastMask);
    });
}

void LocalShadow::Dependencies(uint64_t begin, uint64_t end, bool asWrite, LocalClock* out) const {
    if (!Clip(begin, &end)) return;
    ForGranules(begin, end, [&](uint64_t g, uint32_t mask) {
        Epoch w = writer_[g];
        if (w && (writerMask_[g] & mask)) {
            out->at[w.Pipe()] = std::max(out->at[w.Pipe()], w.Seq());
        }
        if (!asWrite) return;
        for (int p = 0; p < kPipes; ++p) {
            if (readers_[p] && (readers_[p]->mask[g] & mask)) {
                out->at[p] = std::max(out->at[p], readers_[p]->epoch[g].Seq());
            }
        }
    });
}

bool LocalShadow::Unread(uint64_t begin, uint64_t end, Epoch* writer) const {
    if (!Clip(begin, &end)) return false;
    uint64_t first = begin / kGranule;
    uint64_t last = (end - 1) / kGranule;
    Epoch w = writer_[first];
    if (!w) return false;
    // The earlier write must lie entirely inside this one: otherwise it still has a purpose.
    if (begin % kGranule == 0 && first > 0 && writer_[first - 1] == w) return false;
    if (last + 1 < granules_ && writer_[last + 1] == w) return false;
    for (uint64_t g = first; g <= last; ++g) {
        if (writer_[g] != w) return false;
        uint32_t mine = kAllBytes;
        if (g == first) mine &= ByteMask(begin % kGranule, kGranule);
        if (g == last) mine &= ByteMask(0, end - last * kGranule);
        if (writerMask_[g] & ~mine) return false;
        for (const auto& readers : readers_) {
            if (readers && readers->epoch[g] && readers->epoch[g].Seq() >= w.Seq()) return false;
        }
    }
    *writer = w;
    return true;
}

bool LocalShadow::Initialised(uint64_t begin, uint64_t end) const {
    if (!Clip(begin, &end)) return true;
    bool all = true;
    ForGranules(begin, end,
                [&](uint64_t g, uint32_t mask) { all &= (init_[g] & mask) == mask; });
    return all;
}

void LocalShadow::UninitialisedRuns(uint64_t begin, uint64_t end,
                                    std::vector<ByteRun>* out) const {
    if (!Clip(begin, &end)) return;
    auto add = [out](uint64_t lo, uint64_t hi) {
        if (!out->empty() && out->back().end == lo) {
            out->back().end = hi;
        } else {
            out->push_back({lo, hi});
        }
    };
    ForGranules(begin, end, [&](uint64_t g, uint32_t mask) {
        uint32_t missing = mask & ~init_[g];
        if (missing == 0) return;
        if (missing == kAllBytes) {
            add(g * kGranule, (g + 1) * kGranule);
            return;
        }
        for (uint32_t b = 0; b < kGranule; ++b) {
            if (missing >> b & 1) add(g * kGranule + b, g * kGranule + b + 1);
        }
    });
}

void LocalShadow::SetInitialised(uint64_t begin, uint64_t end, bool value) {
    if (!Clip(begin, &end)) return;
    ForGranules(begin, end, [&](uint64_t g, uint32_t mask) {
        init_[g] = value ? init_[g] | mask : init_[g] & ~mask;
    });
}

Epoch LocalShadow::Writer(uint64_t byte) const {
    return byte < Bytes() ? writer_[byte / kGranule] : Epoch();
}

}  // namespace sanitizer
}  // namespace ascendc_emu
