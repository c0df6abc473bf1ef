// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "shadow.h"

#include <algorithm>
#include <cstring>

namespace ascendc_emu {
namespace sanitizer {

namespace {

// Adds the bytes of `bits` (inside granules starting at `begin`, `bytes` long in all).
void AddBits(std::vector<ByteRun>* out, uint64_t begin, uint64_t bytes, uint32_t bits) {
    if (bits == 0) return;
    if (bits == kAllBytes) {
        AddRun(out, begin, begin + bytes);
        return;
    }
    for (uint64_t base = begin; base < begin + bytes; base += kGranule) {
        for (uint32_t b = 0; b < kGranule; ++b) {
            if (bits >> b & 1) AddRun(out, base + b, base + b + 1);
        }
    }
}

}  // namespace

void GmShadow::Declare(uint64_t begin, uint64_t end, bool initialised) {
    if (begin >= end) return;
    declared_.push_back({{begin, end}, initialised});
    if (end - begin <= largest_) return;
    largest_ = end - begin;
    phase_ = begin % kPageBytes / kCacheLine * kCacheLine;
}

GmShadow::Page& GmShadow::PageAt(uint64_t number) {
    const uint64_t chunk = number / kChunkPages;
    if (chunk != lastChunk_) {
        std::unique_ptr<Page[]>& pages = chunks_[chunk];
        if (!pages) pages.reset(new Page[kChunkPages]);
        lastChunk_ = chunk;
        last_ = pages.get();
    }
    Page& page = last_[number % kChunkPages];
    if (!page.touched) Start(page, number);
    return page;
}

void GmShadow::Start(Page& page, uint64_t number) {
    page.touched = true;
    page.uniform.init = kAllBytes;
    uint64_t begin = BeginOf(number);
    uint64_t end = begin + kPageBytes;
    for (const auto& range : declared_) {
        uint64_t lo = std::max(begin, range.first.begin);
        uint64_t hi = std::min(end, range.first.end);
        if (lo >= hi) continue;
        uint32_t value = range.second ? kAllBytes : 0;
        if (lo == begin && hi == end && !page.cells) {
            page.uniform.init = value;
            continue;
        }
        if (!page.cells) Split(&page);
        for (uint64_t b = lo; b < hi; ++b) {
            uint32_t& init = page.cells[(b - begin) / kGranule].init;
            uint32_t bit = 1u << (b % kGranule);
            init = (init & ~bit) | (value & bit);
        }
    }
}

GmCell& GmShadow::CellAt(uint64_t granule) {
    const uint64_t number = NumberOf(granule * kGranule);
    Page& page = PageAt(number);
    return page.cells ? page.cells[granule - BeginOf(number) / kGranule] : page.uniform;
}

// One cell per granule from now on.
void GmShadow::Split(Page* page) {
    page->cells.reset(new GmCell[kCellsPerPage]);
    std::fill(page->cells.get(), page->cells.get() + kCellsPerPage, page->uniform);
}

// Back to one cell if all are the same and whole.
void GmShadow::Merge(Page* page) {
    const GmCell& first = page->cells[0];
    auto plain = [](uint32_t mask) { return mask == 0 || mask == kAllBytes; };
    if (!plain(first.writerMask) || !plain(first.readerMask) || !plain(first.init) ||
        !plain(first.written) || !plain(first.plainMask)) {
        return;
    }
    for (uint64_t i = 0; i < kCellsPerPage; ++i) {
        if (!page->cells[i].Single() || !page->cells[i].SameState(first)) return;
    }
    page->uniform = first;
    page->cells.reset();
}

// Calls f(cell, first byte, mask, bytes): a whole page at once where its state is uniform.
template <typename F>
void GmShadow::ForCells(uint64_t begin, uint64_t end, bool change, F f) {
    while (begin < end) {
        uint64_t number = NumberOf(begin);
        uint64_t pageBegin = BeginOf(number);
        uint64_t stop = std::min(end, pageBegin + kPageBytes);
        Page& page = PageAt(number);
        bool whole = begin == pageBegin && stop == pageBegin + kPageBytes;
        if (!page.cells && (whole || !change)) {
            // Masks of a uniform page are all-or-nothing, so a partial look needs no cells.
            f(page.uniform, begin, kAllBytes, stop - begin);
            begin = stop;
            continue;
        }
        if (!page.cells) Split(&page);
        uint64_t first = (begin - pageBegin) / kGranule;
        uint64_t last = (stop - 1 - pageBegin) / kGranule;
        for (uint64_t i = first; i <= last; ++i) {
            uint64_t cellBegin = pageBegin + i * kGranule;
            uint64_t lo = std::max(begin, cellBegin) - cellBegin;
            uint64_t hi = std::min(stop, cellBegin + kGranule) - cellBegin;
            f(page.cells[i], cellBegin, ByteMask(lo, hi), kGranule);
        }
        if (whole && change) Merge(&page);
        begin = stop;
    }
}

void GmShadow::ReadCell(GmCell& cell, uint64_t begin, uint32_t mask, uint64_t bytes,
                        const GmAccess& access, GmHits* out) {
    for (int i = 0; i < 2; ++i) {
        Epoch w = i ? cell.writer2 : cell.writer;
        if (!w || !((i ? cell.writer2Mask : cell.writerMask) & mask)) continue;
        if (!Ordered(w, access.limits->raw, access)) {
            out->conflicts.Add(Hazard::kRaw, w, begin, begin + bytes);
        }
    }
    if (uint32_t dirty = cell.dirty & mask) {
        // The scalar unit sees its own cache; everybody else sees memory.
        if (!access.own && !(access.scalar && cell.dirtier.Core() == access.core)) {
            AddBits(&out->dirty, begin, bytes, dirty);
            out->dirtyWriter = cell.dirtier;
        }
    }
    Epoch r = cell.reader;
    if (!r || r.Core() == access.core || Ordered(r, access.limits->raw, access)) {
        cell.reader = access.me;
        cell.readerMask = mask;
    } else if (!cell.reader2 || cell.reader2.Core() == access.core) {
        cell.reader2 = access.me;
        cell.reader2Mask = mask;
    }
}

namespace {

// What a write to bytes `mask` of a cell races with.
void AddWriteConflicts(const GmCell& cell, uint64_t begin, uint32_t mask, uint64_t bytes,
                       const GmAccess& access, Conflicts* out) {
    for (int i = 0; i < 2; ++i) {
        Epoch w = i ? cell.writer2 : cell.writer;
        if (!w || w == access.me || !((i ? cell.writer2Mask : cell.writerMask) & mask)) continue;
        if (cell.atomic && access.atomic) continue;
        if (!Ordered(w, access.limits->waw, access)) {
            out->Add(Hazard::kWaw, w, begin, begin + bytes);
        }
    }
    // Atomic writes commute with each other, but not with what filled the memory before them.
    if (access.atomic && cell.atomic && (cell.plainMask & mask) &&
        !Ordered(cell.plain, access.limits->waw, access)) {
        out->Add(Hazard::kWaw, cell.plain, begin, begin + bytes);
    }
    for (int i = 0; i < 2; ++i) {
        Epoch r = i ? cell.reader2 : cell.reader;
        if (!r || !((i ? cell.reader2Mask : cell.readerMask) & mask)) continue;
        if (r.Core() == access.core && r.Seq() == access.me.Seq()) continue;
        if (!Ordered(r, access.limits->war, access)) {
            out->Add(Hazard::kWar, r, begin, begin + bytes);
        }
    }
}

void RememberWriter(GmCell& cell, uint32_t mask, const GmAccess& access) {
    if (!access.atomic) {
        cell.plain = Epoch();
        cell.plainMask = 0;
    } else if (cell.writer && !cell.atomic) {
        cell.plain = cell.writer;
        cell.plainMask = cell.writerMask;
    }
    if (cell.writer == access.me) {
        cell.writerMask |= mask;
    } else {
        // Neighbours that share a block write different bytes of it, or add to the same: remember
        // both.
        if (cell.writer && cell.writer.Core() != access.core &&
            (!(cell.writerMask & mask) || (access.atomic && cell.atomic))) {
            cell.writer2 = cell.writer;
            cell.writer2Mask = cell.writerMask;
        }
        cell.writer = access.me;
        cell.writerMask = mask;
    }
    cell.written |= mask;
    cell.atomic = access.atomic;
}

}  // namespace

void GmShadow::WriteCell(GmCell& cell, uint64_t begin, uint32_t mask, uint64_t bytes,
                         const GmAccess& access, GmHits* out) {
    AddWriteConflicts(cell, begin, mask, bytes, access, &out->conflicts);
    RememberWriter(cell, mask, access);
    if (access.scalar) cell.dirtier = access.me;
    if (access.scalar || cell.dirty != 0) {
        SetDirty(cell, access.scalar ? cell.dirty | mask : cell.dirty & ~mask);
    }
}

bool GmShadow::Read(uint64_t begin, uint64_t end, const GmAccess& reader, GmHits* out) {
    bool data = true;
    GmAccess access = reader;
    access.own = reader.scalar && Owns(reader.core, begin, end);
    ForCells(begin, end, true, [&](GmCell& cell, uint64_t at, uint32_t mask, uint64_t bytes) {
        ReadCell(cell, at, mask, bytes, access, out);
        data &= (cell.init & mask) == mask;
    });
    if (access.scalar && !access.own) ReadThroughCache(begin, end, access, out);
    return data;
}

void GmShadow::Write(uint64_t begin, uint64_t end, const GmAccess& access, bool fills,
                     GmHits* out) {
    if (access.scalar) {
        WriteThroughCache(begin, end, access, out);
    } else if (dirtyCells_ != 0 && begin < end) {
        CheckDirtyLines(begin, end, out);
    }
    ForCells(begin, end, true, [&](GmCell& cell, uint64_t at, uint32_t mask, uint64_t bytes) {
        WriteCell(cell, at, mask, bytes, access, out);
        if (fills) cell.init |= mask;
    });
}

void GmShadow::Dependencies(uint64_t begin, uint64_t end, uint32_t core, bool asWrite,
                            LocalClock* out) {
    auto wait = [&](Epoch e) {
        if (e && e.Core() == core) out->at[e.Pipe()] = std::max(out->at[e.Pipe()], e.Seq());
    };
    ForCells(begin, end, false, [&](GmCell& cell, uint64_t, uint32_t mask, uint64_t) {
        if (cell.writerMask & mask) wait(cell.writer);
        if (cell.writer2Mask & mask) wait(cell.writer2);
        if (!asWrite) return;
        if (cell.readerMask & mask) wait(cell.reader);
        if (cell.reader2Mask & mask) wait(cell.reader2);
    });
}

void GmShadow::UninitialisedRuns(uint64_t begin, uint64_t end, std::vector<ByteRun>* out) {
    ForCells(begin, end, false, [&](GmCell& cell, uint64_t at, uint32_t mask, uint64_t bytes) {
        AddBits(out, at, bytes, mask & ~cell.init);
    });
}

void GmShadow::SetInitialised(uint64_t begin, uint64_t end, bool value) {
    ForCells(begin, end, true, [&](GmCell& cell, uint64_t, uint32_t mask, uint64_t) {
        cell.init = value ? cell.init | mask : cell.init & ~mask;
    });
}

void GmShadow::PoisonedRuns(uint64_t begin, uint64_t end, std::vector<ByteRun>* out,
                            Epoch* writer) {
    ForCells(begin, end, false, [&](GmCell& cell, uint64_t at, uint32_t mask, uint64_t bytes) {
        uint32_t bad = mask & cell.written & ~cell.init;
        if (bad == 0) return;
        if (out->empty()) *writer = cell.writer;
        AddBits(out, at, bytes, bad);
    });
}

void GmShadow::Writers(uint64_t begin, uint64_t end, std::vector<WriterRun>* writers,
                       std::vector<ByteRun>* unwritten) {
    auto note = [&](uint64_t lo, uint64_t hi, Epoch writer) {
        lo = std::max(lo, begin);
        hi = std::min(hi, end);
        if (lo >= hi || !writer) return;
        if (!writers->empty() && writers->back().end == lo &&
            writers->back().writer.Core() == writer.Core()) {
            writers->back().end = hi;
        } else {
            writers->push_back({lo, hi, writer});
        }
    };
    ForCells(begin, end, false, [&](GmCell& cell, uint64_t at, uint32_t mask, uint64_t bytes) {
        const uint32_t written = cell.written & mask;
        AddBits(unwritten, at, bytes, mask & ~(cell.written | cell.init));
        if (written == 0) return;
        if (written == kAllBytes && !cell.writer2) return note(at, at + bytes, cell.writer);
        for (uint32_t b = 0; b < kGranule;) {
            if ((written >> b & 1) == 0) {
                ++b;
                continue;
            }
            const bool second =
                cell.writer2 && (cell.writerMask >> b & 1) == 0 && (cell.writer2Mask >> b & 1);
            uint32_t e = b + 1;
            while (e < kGranule && (written >> e & 1) != 0 &&
                   (cell.writerMask >> e & 1) == (cell.writerMask >> b & 1))
                ++e;
            note(at + b, at + e, second ? cell.writer2 : cell.writer);
            b = e;
        }
    });
}

Epoch GmShadow::Writer(uint64_t byte) { return CellAt(byte / kGranule).writer; }

}  // namespace sanitizer
}  // namespace ascendc_emu
