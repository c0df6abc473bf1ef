// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The scalar unit's data cache, which is coherent with nothing: what it holds, and what goes wrong
// with it.
#include <algorithm>
#include <cstring>
#include <utility>

#include "checker.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

constexpr int kScalarPipe = 0;

}  // namespace

void GmShadow::SetDirty(GmCell& cell, uint32_t dirty) {
    dirtyCells_ += (dirty != 0) - (cell.dirty != 0);
    cell.dirty = dirty;
}

// A copy into a line that some scalar unit has changed: the write-back of the line, which is whole,
// comes later and restores what was there before the copy.
void GmShadow::CheckDirtyLines(uint64_t begin, uint64_t end, GmHits* out) {
    uint64_t first = begin / kCacheLine * (kCacheLine / kGranule);
    uint64_t last = ((end - 1) / kCacheLine + 1) * (kCacheLine / kGranule);
    for (uint64_t g = first; g < last; ++g) {
        const GmCell& cell = CellAt(g);
        if (cell.dirty != 0) out->dirtyLine = cell.dirtier;
    }
}

// Whether a core's cache holds these bytes as it wrote them, and memory has the same. Cores that
// all note down the same table read their own copy of it, whoever wrote to memory last.
bool GmShadow::Owns(uint32_t core, uint64_t begin, uint64_t end) {
    const uint64_t number = begin / kCacheLine;
    const uint64_t at = begin % kCacheLine;
    const uint64_t bytes = end - begin;
    if (core >= caches_.size() || bytes == 0 || at + bytes > kCacheLine) return false;
    auto line = caches_[core].find(number);
    if (line == caches_[core].end()) return false;
    const uint64_t mask = (bytes == kCacheLine ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1) << at;
    return (line->second.own & mask) == mask &&
           std::memcmp(line->second.value + at, reinterpret_cast<const void*>(begin), bytes) == 0;
}

void GmShadow::KeepOwn(uint32_t core, uint64_t begin, uint64_t end) {
    for (uint64_t address = begin; address < end; ++address) {
        auto line = CacheOf(core).find(address / kCacheLine);
        if (line == CacheOf(core).end()) continue;
        line->second.own |= uint64_t{1} << address % kCacheLine;
        line->second.value[address % kCacheLine] = *reinterpret_cast<const uint8_t*>(address);
    }
}

GmShadow::Cache& GmShadow::CacheOf(uint32_t core) {
    if (caches_.size() <= core) caches_.resize(core + 1);
    return caches_[core];
}

void GmShadow::ReadThroughCache(uint64_t begin, uint64_t end, const GmAccess& access, GmHits* out) {
    Cache& cache = CacheOf(access.core);
    for (uint64_t line = begin / kCacheLine; line <= (end - 1) / kCacheLine; ++line) {
        uint64_t granule = line * (kCacheLine / kGranule);
        auto found = cache.find(line);
        if (found == cache.end()) {
            Line fresh;
            for (uint64_t i = 0; i < kCacheLine / kGranule; ++i) {
                fresh.writer[i] = CellAt(granule + i).writer;
            }
            cache.emplace(line, fresh);
            continue;
        }
        for (uint64_t i = 0; i < kCacheLine / kGranule; ++i) {
            uint64_t at = (granule + i) * kGranule;
            uint64_t lo = std::max(begin, at);
            uint64_t hi = std::min(end, at + kGranule);
            if (lo >= hi) continue;
            const GmCell& cell = CellAt(granule + i);
            bool mine = cell.writer.Core() == access.core && cell.writer.Pipe() == kScalarPipe;
            if (cell.writer == found->second.writer[i] || mine ||
                !(cell.writerMask & ByteMask(lo - at, hi - at))) {
                continue;
            }
            AddRun(&out->stale, lo, hi);
            out->staleWriter = cell.writer;
        }
    }
}

// Whether another core's scalar unit has written some of these bytes, and may still be doing so.
bool GmShadow::ChangedAlongside(const GmCell& cell, uint32_t mask, const GmAccess& access) const {
    const Epoch w = cell.writer;
    return w && w.Core() != access.core && w.Pipe() == kScalarPipe &&
           (cell.writerMask & mask) != 0 && !Ordered(w, access.limits->waw, access);
}

void GmShadow::WriteThroughCache(uint64_t begin, uint64_t end, const GmAccess& access,
                                 GmHits* out) {
    Cache& cache = CacheOf(access.core);
    for (uint64_t line = begin / kCacheLine; line <= (end - 1) / kCacheLine; ++line) {
        uint64_t granule = line * (kCacheLine / kGranule);
        auto held = cache.find(line);
        Line fresh;
        for (uint64_t i = 0; i < kCacheLine / kGranule; ++i) {
            const GmCell& cell = CellAt(granule + i);
            fresh.writer[i] = cell.writer;
            // Writing back a line overwrites all 64 bytes of it, also those of another core.
            if (cell.dirty != 0 && cell.dirtier.Core() != access.core) {
                out->sharedLine = cell.dirtier;
            }
            uint64_t at = (granule + i) * kGranule;
            uint64_t lo = std::max(begin, at);
            uint64_t hi = std::min(end, at + kGranule);
            uint32_t own = lo < hi ? ByteMask(lo - at, hi - at) : 0;
            // Nor does a clean help that nothing orders before this core loads the line.
            if (ChangedAlongside(cell, ~own, access)) out->sharedLine = cell.writer;
            bool mine = cell.writer.Core() == access.core && cell.writer.Pipe() == kScalarPipe;
            if (held == cache.end() || mine || cell.writer == held->second.writer[i]) continue;
            if (cell.writerMask & ~own) out->staleLine = cell.writer;
        }
        if (held == cache.end()) cache.emplace(line, fresh);
    }
}

void GmShadow::DropLine(uint32_t core, uint64_t line) {
    for (uint64_t i = 0; i < kCacheLine / kGranule; ++i) {
        GmCell& cell = CellAt(line * (kCacheLine / kGranule) + i);
        if (cell.dirty != 0 && cell.dirtier.Core() == core) SetDirty(cell, 0);
    }
}

void GmShadow::Clean(uint32_t core, uint64_t address, bool entire) {
    Cache& cache = CacheOf(core);
    if (entire) {
        for (const auto& line : cache) DropLine(core, line.first);
        cache.clear();
        return;
    }
    DropLine(core, address / kCacheLine);
    cache.erase(address / kCacheLine);
}

Finding Checker::CacheFinding(const Step& step, const Operand& o, const std::vector<ByteRun>& runs,
                              Epoch writer, Words words) const {
    Finding f = Start(step.state, "DataCache", step.record.op, step.record.loc, std::move(words));
    f.pipe = PipeName(step.pipe);
    Describe(step.state, o, runs.front().begin, runs.back().end, &f);
    SetOther(writer, "write", &f);
    return f;
}

// Bytes whose value in a data cache is not that in memory.
void Checker::ReportCachedBytes(const Step& step, const Operand& o, const GmHits& hits) {
    const Record& r = step.record;
    if (!hits.dirty.empty()) {
        Findings::Instance().Add(CacheFinding(
            step, o, hits.dirty, hits.dirtyWriter,
            {Format("%s of %s reads global memory whose new value is still in a data cache", o.role,
                    r.op),
             "SetValue on a GlobalTensor writes to the core's data cache, not to memory",
             "DataCacheCleanAndInvalid the written lines after SetValue, then synchronise"}));
    }
    if (!hits.stale.empty()) {
        Findings::Instance().Add(CacheFinding(
            step, o, hits.stale, hits.staleWriter,
            {Format("%s of %s reads a value cached before memory changed", o.role, r.op),
             "the scalar unit's data cache is not coherent with copies or with other cores",
             "DataCacheCleanAndInvalid the line before reading it again"}));
    }
}

// Lines that are written back whole, with more than what was changed in them.
void Checker::ReportCacheLines(const Step& step, const Operand& o, const GmHits& hits) {
    const Record& r = step.record;
    const std::vector<ByteRun> here{{o.addr, o.addr + o.blockBytes}};
    if (hits.dirtyLine) {
        Findings::Instance().Add(CacheFinding(
            step, o, here, hits.dirtyLine,
            {Format("%s of %s is in a cache line that a scalar unit has changed and not yet "
                    "written back",
                    o.role, r.op),
             "a cache line of 64 bytes is written back whole, at the end of the kernel at the "
             "latest: that undoes this copy",
             "DataCacheCleanAndInvalid the line after SetValue and before this, or keep the two "
             "in different lines"}));
    }
    if (hits.staleLine) {
        const Finding f = CacheFinding(
            step, o, here, hits.staleLine,
            {Format("%s of %s changes a cache line loaded before another unit wrote to it", o.role,
                    r.op),
             "a cache line of 64 bytes is written back whole: that undoes the other write",
             "DataCacheCleanAndInvalid the line before SetValue, or keep the two in "
             "different lines"});
        const bool notes = hits.staleLine.Pipe() == kPS &&
                           hits.staleLine.Core() != static_cast<uint32_t>(step.state.core->id);
        if (notes) {
            ReportUnlessNotes(o, f);
        } else {
            Findings::Instance().Add(f);
        }
    }
    if (hits.sharedLine) {
        ReportUnlessNotes(
            o, CacheFinding(
                   step, o, here, hits.sharedLine,
                   {Format("%s of %s is in a cache line that another core's scalar unit also "
                           "writes",
                           o.role, r.op),
                    "a cache line of 64 bytes is written back whole: one core's values get lost",
                    "give every core its own 64-byte line, or write with DataCopyPad"}));
    }
}

// Notes of a core for itself stay in its cache: see ReportSharedLines.
void Checker::ReportUnlessNotes(const Operand& o, const Finding& finding) {
    const Region* region = FindRegion(o.addr);
    const int kind = region ? region->kind : OPGEN_GM_INOUT;
    if (kind == OPGEN_GM_OTHER || kind == OPGEN_GM_WORKSPACE) {
        sharedLines_.emplace(o.addr / kCacheLine, finding);
    } else {
        Findings::Instance().Add(finding);
    }
}

// Values that got lost because two cores changed one line matter once somebody else reads them.
void Checker::ReportSharedLines(const Step& step, uint64_t begin, uint64_t end) {
    const uint32_t core = static_cast<uint32_t>(step.state.core->id);
    for (auto line = sharedLines_.lower_bound(begin / kCacheLine);
         line != sharedLines_.end() && line->first * kCacheLine < end;) {
        if (step.record.scalarAccess && gm_.Holds(core, line->first)) {
            ++line;
            continue;
        }
        Findings::Instance().Add(line->second);
        line = sharedLines_.erase(line);
    }
}

}  // namespace sanitizer
}  // namespace ascendc_emu
