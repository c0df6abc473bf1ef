// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// One instruction: its operands, whom they race with, what they leave behind.
#include <algorithm>

#include "checker.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

// Operands of one instruction whose extent is remembered.
constexpr uint64_t kResults = 4;

}  // namespace

bool Extent(const Record& r, const Operand& o, uint64_t* begin, uint64_t* end) {
    *begin = ~uint64_t{0};
    *end = 0;
    auto cover = [&](uint64_t at, uint64_t bytes) {
        *begin = std::min(*begin, at);
        *end = std::max(*end, at + bytes);
    };
    if (o.masked) {
        ForEachSpan(r, o, cover);
    } else if (o.repeats && o.blocks && o.blockBytes) {
        // Strides are linear: the corners suffice.
        for (uint64_t rep : {uint64_t{0}, uint64_t{o.repeats} - 1}) {
            for (uint64_t b : {uint64_t{0}, uint64_t{o.blocks} - 1}) {
                cover(o.addr + static_cast<int64_t>(rep) * o.repeatStride +
                          static_cast<int64_t>(b) * o.blockStride,
                      o.blockBytes);
            }
        }
    }
    return *begin < *end;
}

void Checker::OnInstruction(Core& core, const Record& r) {
    CoreState& state = State(core);
    if (!hidden_.empty()) ShowNow();
    Settle(state);
    if (!scalarWrites_.empty()) SettleScalarWrites();
    const int pipe = Dense(r.pipe);
    const uint64_t seq = state.Issue(pipe);
    Step step{
        state,    r,
        pipe,     Epoch(seq, static_cast<uint32_t>(core.id), pipe, sites_.Number(r.api, r.loc)),
        Limits(), {},
        0};
    if (r.note) ReportNote(step);
    if (core.soc && core.soc->apisListed) CheckArch(step);
    CheckScope(step);
    Place places[Record::kMaxOperands];
    CheckOperands(step, places);
    if (pipe == kPS && state.autoSync) WaitAutomatically(step);
    if (!state.glimpses.empty()) UseGlimpses(step);
    // unitFlag: Fixpipe follows the Mmad that fills L0C, and the next Mmad the Fixpipe that empties
    // it, without events.
    const int partner = pipe == kPM ? kPFix : kPM;
    if (r.unitFlag != 0) state.Acquire(pipe, state.unit[partner]);
    step.limits = state.LimitsFor(pipe);
    ReadOperands(step, places);
    WriteOperands(step, places);
    if (ByReference(r) && GetOptions().uninit) FillByReference(r, places);
    if (r.unitFlag == 3) state.unit[pipe] = state.Release(pipe);
}

// A parameter outside of its range, as the instruction itself has noted.
void Checker::ReportNote(const Step& step) {
    const Record& r = step.record;
    Finding f = Start(step.state, "ErrorParam", r.op, r.loc,
                      {r.note, "the documentation of the API allows other values only",
                       "pass a value in the documented range"});
    f.pipe = PipeName(step.pipe);
    Findings::Instance().Add(f);
}

// Where the operands lie and whether they may be used there: one place for each.
void Checker::CheckOperands(Step& step, Place* places) {
    const Record& r = step.record;
    bool inside = true;
    for (int i = 0; i < r.count; ++i) {
        const Operand& o = r.operands[i];
        places[i] = CheckPlace(step, o);
        if (places[i] != Place::kNowhere && o.mem != Mem::kGm) CheckLife(step, o);
        inside &= places[i] != Place::kOutside;
    }
    if (inside) CheckOverlap(step);
}

void Checker::ReadOperands(Step& step, const Place* places) {
    const Record& r = step.record;
    for (int i = 0; i < r.count; ++i) {
        const Operand& o = r.operands[i];
        if (places[i] == Place::kNowhere || !Reads(o)) continue;
        bool allData = false;
        if (places[i] == Place::kInside) {
            allData = ReadOperand(step, o);
        } else {
            MarkRead(step, o);
        }
        if (GetOptions().uninit && !ByReference(r)) ReadData(step, o, allData);
    }
}

void Checker::WriteOperands(Step& step, const Place* places) {
    const Record& r = step.record;
    for (int i = 0; i < r.count; ++i) {
        const Operand& o = r.operands[i];
        if (places[i] == Place::kNowhere || !Writes(r, o)) continue;
        // Where nothing doubtful has been read, one look at the memory does for both.
        const bool fills = GetOptions().uninit && step.poison.empty() && !o.atomic;
        if (places[i] == Place::kInside) WriteOperand(step, o, fills);
        if (GetOptions().uninit && !(fills && places[i] == Place::kInside)) WriteData(step, o);
    }
}

// What is done with a reference, nobody sees: it may be where the data comes from.
void Checker::FillByReference(const Record& r, const Place* places) {
    for (int i = 0; i < r.count; ++i) {
        const Operand& o = r.operands[i];
        if (places[i] != Place::kInside || o.mem != Mem::kGm) continue;
        ForEachSpan(r, o,
                    [&](uint64_t at, uint64_t bytes) { gm_.SetInitialised(at, at + bytes, true); });
    }
}

// The compiler makes the scalar unit wait for what it depends on (auto-sync). The scalar unit
// issues everything that follows, so all later instructions profit.
void Checker::WaitAutomatically(Step& step) {
    PipeClock from;
    uint32_t core = static_cast<uint32_t>(step.state.core->id);
    for (int i = 0; i < step.record.count; ++i) {
        const Operand& o = step.record.operands[i];
        bool writes = Writes(step.record, o);
        ForEachSpan(step.record, o, [&](uint64_t at, uint64_t bytes) {
            if (o.mem == Mem::kGm) {
                gm_.Dependencies(at, at + bytes, core, writes, &from.local);
            } else {
                step.state.Shadow(o.mem).Dependencies(at, at + bytes, writes, &from.local);
            }
        });
    }
    from.local.at[kPS] = 0;
    from.manual = from.local;
    bool news = false;
    for (int p = 0; p < kPipes; ++p) {
        news |= from.local.at[p] > step.state.clock[kPS].local.at[p];
    }
    if (news) step.state.Acquire(kPS, from);
}

bool Checker::ReadOperand(Step& step, const Operand& o) {
    CoreState& state = step.state;
    bool data = true;
    if (o.mem != Mem::kGm) {
        LocalShadow& shadow = state.Shadow(o.mem);
        Conflicts conflicts;
        SpanChange next;
        ForEachSpan(step.record, o, [&](uint64_t at, uint64_t bytes) {
            if (!next(at, bytes)) return;
            data &= shadow.Read(at, at + bytes, step.me, step.limits, &conflicts);
            if (!state.undecided.empty()) Decide(state, o.mem, at, at + bytes);
        });
        if (!conflicts.Empty()) ReportConflicts(step, o, conflicts);
    } else {
        GmAccess access{step.me,
                        static_cast<uint32_t>(state.core->id),
                        &state.clock[step.pipe],
                        &step.limits,
                        false,
                        step.record.scalarAccess};
        GmHits hits;
        ForEachSpan(step.record, o, [&](uint64_t at, uint64_t bytes) {
            data &= gm_.Read(at, at + bytes, access, &hits);
            if (!sharedLines_.empty()) ReportSharedLines(step, at, at + bytes);
        });
        if (!flagStores_.Empty()) Glance(step, o, &hits);
        ReportGm(step, o, hits);
    }
    return data;
}

// What an operand reads that is out of bounds is reported; what it reads besides has been of use.
void Checker::MarkRead(Step& step, const Operand& o) {
    Limits all;
    all.raw.fill(kForever);
    Conflicts none;
    LocalShadow& shadow = step.state.Shadow(o.mem);
    ForEachSpan(step.record, o, [&](uint64_t at, uint64_t bytes) {
        const uint64_t lo = std::max(at, o.lo);
        const uint64_t hi = o.hi != 0 ? std::min(at + bytes, o.hi) : at + bytes;
        if (lo < hi) shadow.Read(lo, hi, step.me, all, &none);
    });
}

void Checker::WriteOperand(Step& step, const Operand& o, bool fills) {
    CoreState& state = step.state;
    if (o.mem != Mem::kGm) {
        LocalShadow& shadow = state.Shadow(o.mem);
        bool scratch = o.use == Use::kScratch;
        if (GetOptions().suspicious && !step.record.scalarAccess && !o.masked && !scratch &&
            Contiguous(o)) {
            CheckUnread(step, o);
        }
        if (!o.masked && Contiguous(o)) {
            uint64_t end = o.addr + uint64_t{o.blockBytes} * o.blocks * o.repeats;
            const auto number = static_cast<uint64_t>(&o - step.record.operands);
            const bool first = std::none_of(
                step.record.operands, &o, [&](const Operand& p) { return Writes(step.record, p); });
            if (number < kResults) {
                state.extents[(step.me.Seq() * kResults + number) % state.extents.size()] = {
                    step.me.Seq(), o.mem, o.addr, end, first};
            }
        }
        Conflicts conflicts;
        ForEachSpan(step.record, o, [&](uint64_t at, uint64_t bytes) {
            shadow.Write(at, at + bytes, step.me, step.limits, fills, &conflicts);
            if (scratch) shadow.Read(at, at + bytes, step.me, step.limits, &conflicts);
        });
        if (!conflicts.Empty()) ReportConflicts(step, o, conflicts);
    } else {
        uint32_t core = static_cast<uint32_t>(state.core->id);
        GmAccess access{step.me,      core,     &state.clock[step.pipe],
                        &step.limits, o.atomic, step.record.scalarAccess};
        GmHits hits;
        const bool shared = cores_.size() > 1;
        ++state.stores;
        NoteItem(o);
        ForEachSpan(step.record, o, [&](uint64_t at, uint64_t bytes) {
            if (shared) KeepStore(step, o, at, at + bytes);
            gm_.Write(at, at + bytes, access, fills, &hits);
            if (!access.scalar) return;
            const Region* region = FindRegion(at);
            if (region && at + bytes <= region->end)
                scalarWrites_.push_back({core, {at, at + bytes}});
        });
        ReportGm(step, o, hits);
        if (step.record.scalarAccess && shared) {
            // A flag in global memory that another core polls publishes what is complete by now.
            CrossClock& slot = scalarReleases_[o.addr / kCacheLine];
            slot = Join(slot, Release(state.Release(kPS), core));
        }
    }
}

// Overwriting data nobody has read: suspicious, but filling a tile before copying part of it in,
// and instructions that only set up memory, are good practice.
void Checker::CheckUnread(Step& step, const Operand& o) {
    const Record& r = step.record;
    uint64_t end = o.addr + uint64_t{o.blockBytes} * o.blocks * o.repeats;
    for (int i = 0; i < r.count; ++i) {
        const Operand& other = r.operands[i];
        if (Reads(other) && other.mem == o.mem && other.addr < end && o.addr < other.addr + 1) {
            return;
        }
    }
    // Plain C++ may have read it through a pointer.
    for (const ByteRun& run : step.state.pointed) {
        if (o.mem == Mem::kUb && run.begin < end && o.addr < run.end) return;
    }
    const LocalShadow& shadow = step.state.Shadow(o.mem);
    const Epoch writer = shadow.Writer(o.addr);
    if (!writer) return;
    // What is left of a longer result, whose other part was of use, is no lost result. Nor are
    // further results of an API (the sums and maxima of SoftMax), which it writes whether wanted or
    // not.
    bool lost = false;
    for (uint64_t number = 0; number < kResults; ++number) {
        const Written& w =
            step.state.extents[(writer.Seq() * kResults + number) % step.state.extents.size()];
        lost |=
            w.seq == writer.Seq() && w.mem == o.mem && w.begin >= o.addr && w.end <= end && w.first;
    }
    if (!lost || !shadow.Unread(o.addr, end, writer)) return;
    const Site& site = sites_[writer.Site()];
    if (FactsOf(site.api).fills) return;
    Finding f = Start(step.state, "ErrorWrite3", r.op, r.loc);
    f.warning = true;
    f.pipe = PipeName(step.pipe);
    Describe(step.state, o, o.addr, end, &f);
    SetOther(writer, "write", &f);
    f.what = Format("%s of %s overwrites data nobody has read", o.role, r.op);
    f.why = Format("%s wrote it and its result is lost", site.op);
    f.fix = "remove the earlier instruction, or write to another buffer";
    Findings::Instance().Add(f);
}

}  // namespace sanitizer
}  // namespace ascendc_emu
