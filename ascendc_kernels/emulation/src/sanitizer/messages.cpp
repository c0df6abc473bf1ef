// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The words of the reports: who, where, what it collides with and the cure.
#include <algorithm>
#include <cstring>
#include <utility>

#include "checker.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

const char* KindName(CoreKind kind) {
    return kind == CoreKind::kAic ? "AIC" : kind == CoreKind::kAiv ? "AIV" : "AICore";
}

const char* HazardText(Hazard hazard) {
    switch (hazard) {
        case Hazard::kRaw:
            return "reads what the other may still be writing";
        case Hazard::kWar:
            return "overwrites what the other may still be reading";
        default:
            return "writes what the other may still be writing";
    }
}

// The cure for two accesses of one core.
std::string LocalFix(int earlier, int later, const std::string& where) {
    if (earlier == later) {
        return Format("PipeBarrier<PIPE_%s>() between the two", PipeName(earlier));
    }
    std::string flags = Format(
        "SetFlag<HardEvent::%s_%s>(id) after %s and WaitFlag<HardEvent::%s_%s>(id) here",
        PipeName(earlier), PipeName(later), where.c_str(), PipeName(earlier), PipeName(later));
    if (earlier == kPMte2 && later == kPV) return "EnQue then DeQue the tensor, or " + flags;
    if (earlier == kPV && later == kPMte3) return "EnQue then DeQue the tensor, or " + flags;
    if ((earlier == kPV && later == kPMte2) || (earlier == kPMte3 && later == kPV)) {
        return "FreeTensor after the last use and AllocTensor before the next, or " + flags;
    }
    return flags;
}

}  // namespace

std::string CoreText(const Core& core) {
    std::string text = Format("%s of block %d", KindName(core.kind), core.blockIdx);
    if (core.mixed && core.kind == CoreKind::kAiv) text += Format(".%d", core.subBlockIdx);
    return text;
}

const char* PositionName(uint8_t position) {
    // Numbering of AscendC::TPosition.
    static const char* const kNames[] = {
        "GM",  "A1",    "A2",     "B1",      "B2",  "C1",   "C2",        "CO1",
        "CO2", "VECIN", "VECOUT", "VECCALC", "SPM", "TSCM", "C2PIPE2GM", "C2PIPE2LOCAL"};
    return position < sizeof(kNames) / sizeof(kNames[0]) ? kNames[position] : "?";
}

std::string Checker::BufferText(const Buffer& b) const {
    std::string text = PositionName(b.position);
    if (b.dstPosition != b.position && b.queued)
        text += Format("->%s", PositionName(b.dstPosition));
    text += b.queued ? " queue" : " buffer";
    if (b.declared.line) text += Format(" (line %u)", b.declared.line);
    return text;
}

const Region* Checker::FindRegion(uint64_t address) const {
    if (lastRegion_ < regions_.size()) {
        const Region& r = regions_[lastRegion_];
        if (address >= r.begin && address < r.end) return &r;
    }
    auto next = std::upper_bound(regions_.begin(), regions_.end(), address,
                                 [](uint64_t a, const Region& r) { return a < r.begin; });
    if (next == regions_.begin()) return nullptr;
    --next;
    if (address >= next->end) return nullptr;
    lastRegion_ = static_cast<size_t>(next - regions_.begin());
    return &*next;
}

const Region* Checker::RegionBefore(uint64_t address) const {
    const Region* found = nullptr;
    for (const Region& r : regions_) {
        if (r.end <= address) found = &r;
    }
    return found;
}

Finding Checker::Start(const CoreState& state, const char* check, const char* op, Loc loc) const {
    Finding f;
    f.check = check;
    f.op = op ? op : "";
    f.file = loc.file ? loc.file : "";
    f.line = loc.line;
    f.kernel = kernel_;
    f.coreId = state.core->id;
    f.coreKind = KindName(state.core->kind);
    f.block = state.core->blockIdx;
    f.subBlock = state.core->subBlockIdx;
    return f;
}

Finding Checker::Start(const CoreState& state, const char* check, const char* op, Loc loc,
                       Words words) const {
    Finding f = Start(state, check, op, loc);
    f.what = std::move(words.what);
    f.why = std::move(words.why);
    f.fix = std::move(words.fix);
    return f;
}

Finding Checker::Start(const Step& step, const char* check, const Operand& o, uint64_t begin,
                       uint64_t end) const {
    Finding f = Start(step.state, check, step.record.op, step.record.loc);
    f.pipe = PipeName(step.pipe);
    Describe(step.state, o, begin, end, &f);
    return f;
}

void Checker::Describe(const CoreState& state, const Operand& o, uint64_t begin, uint64_t end,
                       Finding* f) const {
    f->role = o.role;
    f->memory = Name(o.mem);
    f->dtype = o.dtype == DType::kNone ? "" : Name(o.dtype);
    uint64_t base = 0;
    if (o.mem == Mem::kGm) {
        if (const Region* region = FindRegion(begin)) {
            f->name = region->name;
            base = region->begin;
        }
    } else if (const Buffer* b = state.FindBuffer(o.buffer)) {
        f->name = BufferText(*b);
        base = b->addr <= begin ? b->addr : 0;
    }
    f->begin = begin - base;
    f->end = end - base;
}

void Checker::SetOther(Epoch epoch, const char* access, Finding* f) const {
    const Site& site = sites_[epoch.Site()];
    f->hasOther = true;
    f->other.op = site.op;
    f->other.file = site.loc.file ? site.loc.file : "";
    f->other.line = site.loc.line;
    f->other.pipe = PipeName(epoch.Pipe());
    if (epoch.Core() < identities_.size()) f->other.core = CoreText(identities_[epoch.Core()]);
    f->other.access = access;
}

Finding Checker::ConflictFinding(const Step& step, const Operand& o, const Conflict& c) const {
    const Record& r = step.record;
    bool cross = c.other.Core() != static_cast<uint32_t>(step.state.core->id);
    bool overlap = cross && c.hazard == Hazard::kWaw;
    const char* check = c.hazard == Hazard::kRaw ? "ErrorSync2"
                        : overlap                ? "GmOverlap"
                                                 : "ErrorSync1";
    Finding f = Start(step.state, check, r.op, r.loc);
    f.pipe = PipeName(step.pipe);
    Describe(step.state, o, c.begin, c.end, &f);
    SetOther(c.other, c.hazard == Hazard::kWar ? "read" : "write", &f);
    const Site& site = sites_[c.other.Site()];
    std::string where = Format("%s (line %u)", site.op, site.loc.line);
    if (cross) {
        f.what =
            Format("%s of %s on %s %s: %s on %s", o.role, r.op, CoreText(*step.state.core).c_str(),
                   HazardText(c.hazard), where.c_str(), f.other.core.c_str());
        f.why = "nothing orders the two cores; the result depends on their timing";
        f.fix = overlap ? "give every core its own range, or use SetAtomicAdd if they accumulate"
                        : "SyncAll() or CrossCoreSetFlag/CrossCoreWaitFlag between the two";
    } else {
        f.what = Format("%s of %s on pipe %s %s: %s on pipe %s", o.role, r.op, PipeName(step.pipe),
                        HazardText(c.hazard), where.c_str(), f.other.pipe.c_str());
        f.why = step.pipe == c.other.Pipe()
                    ? "instructions of one pipe overlap in time unless a barrier separates them"
                    : "the two pipes run in parallel and nothing makes the later one wait";
        f.fix = LocalFix(c.other.Pipe(), step.pipe, where);
        const bool ordered = (step.pipe == kPV && c.other.Pipe() == kPV) || step.pipe == kPS ||
                             c.other.Pipe() == kPS;
        f.warning =
            ordered && GetOptions().autoOrderIsWarning && step.state.core->kind != CoreKind::kAic;
    }
    return f;
}

void Checker::ReportConflicts(Step& step, const Operand& o, const Conflicts& conflicts) {
    uint32_t core = static_cast<uint32_t>(step.state.core->id);
    for (const Conflict& c : conflicts.Items()) {
        // Overwriting data somebody still reads: that the write before the read is not known to be
        // complete either is the same missing wait.
        bool told =
            c.hazard == Hazard::kWaw &&
            std::any_of(conflicts.Items().begin(), conflicts.Items().end(), [&](const Conflict& d) {
                return d.hazard == Hazard::kWar && d.other.Seq() > c.other.Seq() &&
                       d.other.Core() == c.other.Core() && d.begin < c.end && c.begin < d.end;
            });
        if (told) continue;
        Finding f = ConflictFinding(step, o, c);
        const bool cross = c.other.Core() != core;
        const bool rewrite = c.hazard == Hazard::kWaw || (cross && c.hazard == Hazard::kWar);
        if (o.mem == Mem::kGm && rewrite && (!o.atomic || c.hazard == Hazard::kWar)) {
            // Judged once the instruction has taken effect: see Settle.
            const auto* bytes = reinterpret_cast<const uint8_t*>(c.begin);
            step.state.pending.push_back({f,
                                          c.begin,
                                          {bytes, bytes + (c.end - c.begin)},
                                          cross && c.hazard == Hazard::kWar ? c.other : Epoch()});
            continue;
        }
        const bool copies = step.pipe == kPMte2 && c.other.Pipe() == kPMte2;
        if (copies && !cross && c.hazard == Hazard::kWaw && o.mem != Mem::kGm) {
            KeepUndecided(step, o, c, f);
            continue;
        }
        Findings::Instance().Add(f);
    }
}

// Copies into the same buffer of which only the last one has a purpose, or none, as measurements of
// transfer rates have it: an error once somebody reads the bytes, a warning if nobody ever does.
void Checker::KeepUndecided(const Step& step, const Operand& o, const Conflict& c,
                            const Finding& finding) {
    auto& all = step.state.undecided;
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const Undecided& u) {
                                 return u.mem == o.mem && c.begin <= u.begin && u.end <= c.end &&
                                        u.finding.line == finding.line &&
                                        u.finding.file == finding.file;
                             }),
              all.end());
    if (all.size() >= 64) {
        Findings::Instance().Add(all.front().finding);
        all.erase(all.begin());
    }
    all.push_back({step.me, o.mem, c.begin, c.end, finding});
}

// Bytes [begin, end) of local memory are read.
void Checker::Decide(CoreState& state, Mem mem, uint64_t begin, uint64_t end) {
    auto& all = state.undecided;
    const LocalShadow& shadow = state.Shadow(mem);
    for (auto u = all.begin(); u != all.end();) {
        bool read = false;
        const uint64_t from = std::max(u->begin, begin);
        const uint64_t to = std::min(u->end, end);
        for (uint64_t at = from; u->mem == mem && at < to && !read;
             at = (at / kGranule + 1) * kGranule) {
            read = shadow.Writer(at) == u->writer;
        }
        if (!read) {
            ++u;
            continue;
        }
        Findings::Instance().Add(u->finding);
        u = all.erase(u);
    }
}

// The core has ended, or its memory is given away.
void Checker::ReportUndecided(CoreState& state) {
    for (Undecided& u : state.undecided) {
        u.finding.warning = true;
        u.finding.why += "; nobody reads the bytes, so this run does not suffer";
        Findings::Instance().Add(u.finding);
    }
    state.undecided.clear();
}

// Writing what is there already is the usual way to handle an unaligned tail: the last tile starts
// earlier and repeats a few elements. The order does not matter then.
void Checker::Settle(CoreState& state) {
    for (Pending& p : state.pending) {
        if (std::memcmp(reinterpret_cast<const void*>(p.begin), p.before.data(), p.before.size()) ==
            0) {
            p.finding.warning = true;
            p.finding.why += p.finding.check == "GmOverlap"
                                 ? "; this time both wrote the same values"
                                 : "; this time the values stayed the same";
        }
        if (p.reader && DeferPolled(p)) continue;
        Findings::Instance().Add(p.finding);
    }
    state.pending.clear();
}

// Only the next instruction of any core finds what a scalar write has left in memory.
void Checker::SettleScalarWrites() {
    for (const auto& write : scalarWrites_) {
        gm_.KeepOwn(write.first, write.second.begin, write.second.end);
    }
    scalarWrites_.clear();
}

// What nothing orders, but for flags that the core has polled: reading one orders what follows
// after what its writer had completed.
Conflicts Checker::WithoutPolled(Step& step, const Conflicts& conflicts) {
    CoreState& state = step.state;
    const bool scalar = step.record.scalarAccess;
    Conflicts kept;
    for (const Conflict& c : conflicts.Items()) {
        // A scalar read of what another core's scalar unit wrote is how cores poll a flag.
        if (scalar && c.hazard == Hazard::kRaw && c.other.Pipe() == kPS) {
            auto released = scalarReleases_.find(c.begin / kCacheLine);
            if (released != scalarReleases_.end()) {
                state.AcquireFrom(kPS, released->second);
                continue;
            }
        }
        if (scalar && c.hazard != Hazard::kRaw && c.other.Pipe() == kPS) continue;
        // A store that this core has seen in a flag it polled.
        if (state.seen.count(c.other.Bits()) != 0) continue;
        kept.Add(c.hazard, c.other, c.begin, c.end);
    }
    return kept;
}

void Checker::ReportGm(Step& step, const Operand& o, const GmHits& hits) {
    if (!hits.conflicts.Empty()) {
        const Conflicts kept = WithoutPolled(step, hits.conflicts);
        if (!kept.Empty()) ReportConflicts(step, o, kept);
    }
    ReportCachedBytes(step, o, hits);
    ReportCacheLines(step, o, hits);
}

}  // namespace sanitizer
}  // namespace ascendc_emu
