// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Which reads of another core's store are polls. Blocks run one after the other here, so the flag
// is mostly set when a core first looks at it, and a poll looks like a read without
// synchronisation. The first read of a store that nothing orders therefore gets the value before
// it, which a device may give too: whoever polls reads again. Whoever does not, or uses the value
// as data, has a race.
#include <algorithm>
#include <cstring>

#include "checker.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

constexpr uint64_t kMostPolledBytes = 4096;
constexpr size_t kMostGlimpses = 32;
constexpr size_t kMostDeferred = 4096;
constexpr size_t kMostWriters = 128;

bool Overlap(uint64_t a, uint64_t aEnd, uint64_t b, uint64_t bEnd) { return a < bEnd && b < aEnd; }

}  // namespace

void FlagStores::Add(uint64_t begin, FlagStore store) {
    order_.push_back(begin);
    stores_[begin] = std::move(store);
    while (stores_.size() > kMost || order_.size() > 2 * kMost) {
        stores_.erase(order_.front());
        order_.pop_front();
    }
}

void FlagStores::Forget(uint64_t begin, uint64_t end) {
    auto next = stores_.lower_bound(begin < kMaxBytes ? 0 : begin - kMaxBytes);
    while (next != stores_.end() && next->first < end) {
        next = next->second.end > begin ? stores_.erase(next) : std::next(next);
    }
}

// A store to [begin, end) is about to take effect.
void Checker::KeepStore(const Step& step, const Operand& o, uint64_t begin, uint64_t end) {
    const Region* region = FindRegion(begin);
    const bool small = end - begin <= FlagStores::kMaxBytes && region && end <= region->end;
    if (!small) {
        if (!flagStores_.Empty()) flagStores_.Forget(begin, end);
        return;
    }
    const PipeClock& clock = step.state.clock[step.pipe];
    FlagStore store;
    store.end = end;
    store.writers.push_back(step.me);
    store.known = clock.local;
    if (step.pipe == kPS) store.known.at[kPS] = step.me.Seq();  // one after the other
    store.cross = clock.cross;
    store.atomic = o.atomic;
    if (o.atomic) {
        // Counters: the value that somebody waits for holds the stores of several cores.
        flagStores_.ForOverlaps(begin, end, [&](uint64_t at, const FlagStore& earlier) {
            if (at != begin || earlier.end != end || !earlier.atomic) return;
            store.cross =
                Join(store.cross, With(earlier.cross, earlier.writers[0].Core(), earlier.known));
            for (Epoch writer : earlier.writers) {
                if (store.writers.size() < kMostWriters) store.writers.push_back(writer);
            }
        });
    }
    const auto* bytes = reinterpret_cast<const uint8_t*>(begin);
    store.before.assign(bytes, bytes + (end - begin));
    flagStores_.Forget(begin, end);
    flagStores_.Add(begin, std::move(store));
}

void Checker::ShowBefore(uint64_t begin, const std::vector<uint8_t>& bytes) {
    auto* memory = reinterpret_cast<uint8_t*>(begin);
    hidden_.push_back({begin, {memory, memory + bytes.size()}});
    std::memcpy(memory, bytes.data(), bytes.size());
}

// The read has taken effect: memory gets its bytes back.
void Checker::ShowNow() {
    for (auto hidden = hidden_.rbegin(); hidden != hidden_.rend(); ++hidden) {
        std::memcpy(reinterpret_cast<uint8_t*>(hidden->first), hidden->second.data(),
                    hidden->second.size());
    }
    hidden_.clear();
}

namespace {

// Where a read of global memory puts what it reads; null: not to memory of the core.
const Operand* LocalTarget(const Record& r) {
    const Operand* dst = nullptr;
    for (int i = 0; i < r.count; ++i) {
        const Operand& o = r.operands[i];
        if (o.mem != Mem::kGm && Writes(r, o)) dst = &o;
    }
    return dst;
}

// Whether a conflict is that the read gets one of these stores.
bool IsReadOf(const Conflict& c, const Glimpse& glimpse) {
    return c.hazard == Hazard::kRaw &&
           std::any_of(glimpse.parts.begin(), glimpse.parts.end(), [&](const Glimpse::Part& p) {
               const auto& all = p.store.writers;
               return std::find(all.begin(), all.end(), c.other) != all.end();
           });
}

}  // namespace

// The stores in [begin, end) that nothing has told the reading core about. It gets the bytes before
// a store that it looks at for the first time.
void Checker::CollectStores(const Step& step, uint64_t begin, uint64_t end, Glimpse* glimpse) {
    CoreState& state = step.state;
    const auto core = static_cast<uint32_t>(state.core->id);
    flagStores_.ForOverlaps(begin, end, [&](uint64_t at, const FlagStore& store) {
        const Epoch writer = store.writers[0];
        // What scalar units write for each other is told apart elsewhere.
        if (step.record.scalarAccess && writer.Pipe() == kPS) return;
        const bool news = std::any_of(store.writers.begin(), store.writers.end(), [&](Epoch w) {
            return w.Core() != core && state.seen.count(w.Bits()) == 0 &&
                   !state.clock[step.pipe].Knows(w, core);
        });
        if (!news) return;
        Glimpse::Part part;
        part.bytes = {std::max(at, begin), std::min(store.end, end)};
        part.shown = !state.looked.insert(writer.Bits()).second;
        if (!part.shown) ShowBefore(at, store.before);
        part.store = store;
        part.store.before.clear();
        glimpse->parts.push_back(std::move(part));
    });
}

// A read of global memory: takes those conflicts out of *hits that may belong to a poll.
void Checker::Glance(Step& step, const Operand& o, GmHits* hits) {
    const Record& r = step.record;
    const Operand* dst = LocalTarget(r);
    if (r.scalarAccess ? ByReference(r) : !dst || dst->mem != Mem::kUb) return;

    Glimpse glimpse;
    glimpse.source = {~uint64_t{0}, 0};
    uint64_t bytes = 0;
    int spans = 0;
    ForEachSpan(r, o, [&](uint64_t at, uint64_t n) {
        glimpse.source.begin = std::min(glimpse.source.begin, at);
        glimpse.source.end = std::max(glimpse.source.end, at + n);
        bytes += n;
        ++spans;
    });
    if (spans == 0 || bytes > kMostPolledBytes) return;
    ForEachSpan(r, o, [&](uint64_t at, uint64_t n) { CollectStores(step, at, at + n, &glimpse); });
    if (glimpse.parts.empty()) return;

    glimpse.me = step.me;
    glimpse.stores = step.state.stores;
    if (dst && !r.scalarAccess) {
        glimpse.mem = dst->mem;
        glimpse.begin = glimpse.end = dst->addr;
        ForEachSpan(r, *dst,
                    [&](uint64_t at, uint64_t n) { glimpse.end = std::max(glimpse.end, at + n); });
        glimpse.linear = spans == 1;
    }
    const Glimpse::Part& first = glimpse.parts[0];
    glimpse.finding = ConflictFinding(
        step, o, {Hazard::kRaw, first.store.writers[0], first.bytes.begin, first.bytes.end});

    Conflicts kept;
    for (const Conflict& c : hits->conflicts.Items()) {
        if (!IsReadOf(c, glimpse)) kept.Add(c.hazard, c.other, c.begin, c.end);
    }
    hits->conflicts = kept;
    KeepGlimpse(step, std::move(glimpse));
}

void Checker::KeepGlimpse(Step& step, Glimpse glimpse) {
    CoreState& state = step.state;
    if (Supersede(state, &glimpse)) {
        auto& polled = state.polled;
        const bool known = std::any_of(polled.begin(), polled.end(), [&](const ByteRun& run) {
            return run.begin <= glimpse.source.begin && glimpse.source.end <= run.end;
        });
        if (!known) polled.push_back(glimpse.source);
    }
    if (state.glimpses.size() >= kMostGlimpses) {
        Finish(state, state.glimpses.front());
        state.glimpses.pop_front();
    }
    state.glimpses.push_back(std::move(glimpse));
    if (step.record.scalarAccess) Observe(state, state.glimpses.back(), 0, 0);
}

// What the core read before of the same bytes is out of date now. Returns whether it polls them.
bool Checker::Supersede(CoreState& state, Glimpse* glimpse) {
    bool polls = false;
    for (auto old = state.glimpses.begin(); old != state.glimpses.end();) {
        const bool idle = old->stores == state.stores;
        bool told = false;
        for (auto part = old->parts.begin(); part != old->parts.end();) {
            if (part->bytes.begin < glimpse->source.begin ||
                part->bytes.end > glimpse->source.end) {
                ++part;
                continue;
            }
            for (Glimpse::Part& now : glimpse->parts) {
                const bool again =
                    Overlap(now.bytes.begin, now.bytes.end, part->bytes.begin, part->bytes.end);
                now.polled |= idle && again;
            }
            polls |= idle;
            told |= !idle && Unordered(state, *part);
            part = old->parts.erase(part);
        }
        if (told) Findings::Instance().Add(old->finding);
        old = old->parts.empty() ? state.glimpses.erase(old) : std::next(old);
    }
    return polls;
}

// The scalar unit looks at bytes [begin, end) of what was read. In a poll it learns what the
// writers knew.
void Checker::Observe(CoreState& state, Glimpse& glimpse, uint64_t begin, uint64_t end,
                      bool surely) {
    for (auto part = glimpse.parts.begin(); part != glimpse.parts.end();) {
        if (glimpse.linear &&
            !Overlap(glimpse.begin + (part->bytes.begin - glimpse.source.begin),
                     glimpse.begin + (part->bytes.end - glimpse.source.begin), begin, end)) {
            ++part;
            continue;
        }
        part->observed |= surely;
        if (!part->shown || !part->polled) {
            ++part;
            continue;
        }
        const FlagStore& store = part->store;
        state.AcquireFrom(kPS, With(store.cross, store.writers[0].Core(), store.known));
        for (Epoch writer : store.writers) state.seen.insert(writer.Bits());
        part = glimpse.parts.erase(part);
    }
}

// Reads of plain C++ through pointers into UB are not seen. Where there is such a pointer, and the
// scalar unit has waited for the copy, it may look at what was copied.
void Checker::LookThroughPointers(CoreState& state) {
    for (auto glimpse = state.glimpses.begin(); glimpse != state.glimpses.end();) {
        const bool inside = glimpse->mem == Mem::kUb &&
                            state.Shadow(Mem::kUb).Writer(glimpse->begin) == glimpse->me;
        for (const ByteRun& run : state.pointed) {
            if (!inside || !Overlap(run.begin, run.end, glimpse->begin, glimpse->end)) continue;
            Observe(state, *glimpse, run.begin, run.end, false);
        }
        glimpse = glimpse->parts.empty() ? state.glimpses.erase(glimpse) : std::next(glimpse);
    }
}

// An instruction reads local memory while the core holds values that it may have polled.
void Checker::UseGlimpses(Step& step) {
    const Record& r = step.record;
    CoreState& state = step.state;
    std::vector<Glimpse> derived;
    for (auto glimpse = state.glimpses.begin(); glimpse != state.glimpses.end();) {
        bool used = false;
        for (int i = 0; i < r.count; ++i) {
            const Operand& o = r.operands[i];
            if (glimpse->mem == Mem::kGm || o.mem != glimpse->mem ||
                (static_cast<int>(o.access) & 1) == 0) {
                continue;
            }
            uint64_t begin, end;
            if (!Extent(r, o, &begin, &end) || !Overlap(begin, end, glimpse->begin, glimpse->end))
                continue;
            if (state.Shadow(o.mem).Writer(std::max(begin, glimpse->begin)) != glimpse->me)
                continue;
            if (step.pipe == kPS) {
                Observe(state, *glimpse, begin, end);
            } else if (step.pipe == kPV) {
                // Counting flags, say: what comes out of it stands for them.
                for (Glimpse::Part& part : glimpse->parts) {
                    part.observed |=
                        !glimpse->linear ||
                        Overlap(glimpse->begin + (part.bytes.begin - glimpse->source.begin),
                                glimpse->begin + (part.bytes.end - glimpse->source.begin), begin,
                                end);
                }
                for (int d = 0; d < r.count; ++d) {
                    const Operand& out = r.operands[d];
                    if ((static_cast<int>(out.access) & 2) == 0 || out.mem != Mem::kUb) continue;
                    Glimpse result = *glimpse;
                    result.me = step.me;
                    result.linear = false;
                    if (Extent(r, out, &result.begin, &result.end))
                        derived.push_back(std::move(result));
                }
            } else {
                used = true;
            }
        }
        if (used) {
            Findings::Instance().Add(glimpse->finding);
            glimpse = state.glimpses.erase(glimpse);
        } else if (glimpse->parts.empty()) {
            glimpse = state.glimpses.erase(glimpse);
        } else {
            ++glimpse;
        }
    }
    for (Glimpse& result : derived) {
        if (state.glimpses.size() >= kMostGlimpses) {
            Finish(state, state.glimpses.front());
            state.glimpses.pop_front();
        }
        state.glimpses.push_back(std::move(result));
    }
}

// Whether the core has relied on the part without ever learning that it was written.
bool Checker::Unordered(const CoreState& state, const Glimpse::Part& part) {
    return part.observed && state.seen.count(part.store.writers[0].Bits()) == 0;
}

// The core reads no more there: it has not polled what it has looked at and not learnt from.
void Checker::Finish(CoreState& state, const Glimpse& glimpse) {
    const bool relied =
        std::any_of(glimpse.parts.begin(), glimpse.parts.end(),
                    [&](const Glimpse::Part& part) { return Unordered(state, part); });
    if (relied) Findings::Instance().Add(glimpse.finding);
}

// A small store over what another core has read is right if that core polls there, which may turn
// out later only.
bool Checker::DeferPolled(const Pending& pending) {
    if (pending.before.size() > kMostPolledBytes || unpolled_.size() >= kMostDeferred) return false;
    if (pending.reader.Pipe() != kPMte2 && pending.reader.Pipe() != kPS) return false;
    unpolled_.push_back(pending);
    return true;
}

void Checker::ReportUnpolled() {
    for (const Pending& p : unpolled_) {
        const size_t core = p.reader.Core();
        const std::vector<ByteRun>* polled = nullptr;
        if (core < cores_.size() && cores_[core]) {
            polled = &cores_[core]->polled;
        } else if (core < polled_.size()) {
            polled = &polled_[core];
        }
        const uint64_t end = p.begin + p.before.size();
        const bool right =
            polled && std::any_of(polled->begin(), polled->end(), [&](const ByteRun& run) {
                return Overlap(p.begin, end, run.begin, run.end);
            });
        if (!right) Findings::Instance().Add(p.finding);
    }
    unpolled_.clear();
}

}  // namespace sanitizer
}  // namespace ascendc_emu
