// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "shadow.h"

#include <algorithm>
#include <cstring>

namespace ascendc_emu {
namespace sanitizer {

namespace {

constexpr uint64_t kLocalPage = 1024;
constexpr uint64_t kPageCells = kLocalPage / kGranule;

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
    : bytes_((bytes + kGranule - 1) / kGranule * kGranule),
      pages_((bytes + kLocalPage - 1) / kLocalPage) {}

bool LocalShadow::Clip(uint64_t begin, uint64_t* end) const {
    *end = std::min(*end, bytes_);
    return begin < *end;
}

void LocalShadow::Split(Page* page) {
    page->cells.reset(new Cell[kPageCells]);
    std::fill(page->cells.get(), page->cells.get() + kPageCells, page->uniform);
}

// Back to one cell if all are the same and whole.
void LocalShadow::Merge(Page* page) {
    const Cell& first = page->cells[0];
    auto plain = [](uint32_t mask) { return mask == 0 || mask == kAllBytes; };
    if (!plain(first.writerMask) || !plain(first.init)) return;
    for (uint32_t mask : first.readerMask) {
        if (!plain(mask)) return;
    }
    for (uint64_t i = 1; i < kPageCells; ++i) {
        const Cell& c = page->cells[i];
        if (c.writer != first.writer || c.writerMask != first.writerMask || c.init != first.init) {
            return;
        }
        for (int p = 0; p < kPipes; ++p) {
            if (c.reader[p] != first.reader[p] || c.readerMask[p] != first.readerMask[p]) return;
        }
    }
    page->uniform = first;
    page->cells.reset();
}

// Calls f(cell, first byte, mask, bytes, whole) and splits or merges pages as needed.
template <typename F>
void LocalShadow::ForCells(uint64_t begin, uint64_t end, F f) {
    while (begin < end) {
        uint64_t number = begin / kLocalPage;
        uint64_t pageBegin = number * kLocalPage;
        uint64_t stop = std::min(end, pageBegin + kLocalPage);
        Page& page = pages_[number];
        bool whole = begin == pageBegin && stop == pageBegin + kLocalPage;
        if (whole && page.cells) Merge(&page);
        if (whole && !page.cells) {
            f(page.uniform, begin, kAllBytes, kLocalPage);
            begin = stop;
            continue;
        }
        if (!page.cells) Split(&page);
        for (uint64_t at = begin / kGranule * kGranule; at < stop; at += kGranule) {
            uint64_t lo = std::max(begin, at) - at;
            uint64_t hi = std::min(stop, at + kGranule) - at;
            f(page.cells[(at - pageBegin) / kGranule], at, ByteMask(lo, hi), kGranule);
        }
        begin = stop;
    }
}

// The same without changing anything; a uniform page is shown once per touched part.
template <typename F>
void LocalShadow::LookAtCells(uint64_t begin, uint64_t end, F f) const {
    while (begin < end) {
        uint64_t number = begin / kLocalPage;
        uint64_t pageBegin = number * kLocalPage;
        uint64_t stop = std::min(end, pageBegin + kLocalPage);
        const Page& page = pages_[number];
        if (!page.cells) {
            f(page.uniform, begin, kAllBytes, stop - begin);
            begin = stop;
            continue;
        }
        for (uint64_t at = begin / kGranule * kGranule; at < stop; at += kGranule) {
            uint64_t lo = std::max(begin, at) - at;
            uint64_t hi = std::min(stop, at + kGranule) - at;
            f(page.cells[(at - pageBegin) / kGranule], at, ByteMask(lo, hi), kGranule);
        }
        begin = stop;
    }
}

bool LocalShadow::Read(uint64_t begin, uint64_t end, Epoch me, const Limits& limits,
                       Conflicts* out) {
    if (!Clip(begin, &end)) return true;
    const int pipe = me.Pipe();
    bool data = true;
    ForCells(begin, end, [&](Cell& cell, uint64_t at, uint32_t mask, uint64_t bytes) {
        Epoch w = cell.writer;
        if (w != me && w.Seq() > limits.raw[w.Pipe()] && (cell.writerMask & mask)) {
            out->Add(Hazard::kRaw, w, at, at + bytes);
        }
        // Pieces of one instruction, and of a run of instructions of one pipe, add up.
        cell.readerMask[pipe] = cell.reader[pipe] == me ? cell.readerMask[pipe] | mask : mask;
        cell.reader[pipe] = me;
        cell.readers |= 1u << pipe;
        data &= (cell.init & mask) == mask;
    });
    return data;
}

void LocalShadow::Write(uint64_t begin, uint64_t end, Epoch me, const Limits& limits, bool fills,
                        Conflicts* out) {
    if (!Clip(begin, &end)) return;
    ForCells(begin, end, [&](Cell& cell, uint64_t at, uint32_t mask, uint64_t bytes) {
        Epoch w = cell.writer;
        if (w != me && w.Seq() > limits.waw[w.Pipe()] && (cell.writerMask & mask)) {
            out->Add(Hazard::kWaw, w, at, at + bytes);
        }
        for (uint32_t left = cell.readers; left != 0; left &= left - 1) {
            const int p = __builtin_ctz(left);
            Epoch r = cell.reader[p];
            if (r.Seq() > limits.war[p] && r.Seq() != me.Seq() && (cell.readerMask[p] & mask)) {
                out->Add(Hazard::kWar, r, at, at + bytes);
            }
        }
        if (mask == kAllBytes) {
            // Whoever knows this write knows what it was ordered after, so readers before it need
            // not be remembered. This instruction's own reads come again with the next one.
            for (uint32_t left = cell.readers; left != 0; left &= left - 1) {
                const int p = __builtin_ctz(left);
                if (cell.reader[p].Seq() == me.Seq()) continue;
                cell.reader[p] = Epoch();
                cell.readerMask[p] = 0;
                cell.readers &= ~(1u << p);
            }
        }
        // Several strided pieces of one instruction may share a granule.
        cell.writerMask = w == me ? cell.writerMask | mask : mask;
        cell.writer = me;
        if (fills) cell.init |= mask;
    });
}

void LocalShadow::Dependencies(uint64_t begin, uint64_t end, bool asWrite, LocalClock* out) const {
    if (!Clip(begin, &end)) return;
    LookAtCells(begin, end, [&](const Cell& cell, uint64_t, uint32_t mask, uint64_t) {
        if (cell.writerMask & mask) {
            uint64_t& slot = out->at[cell.writer.Pipe()];
            slot = std::max(slot, cell.writer.Seq());
        }
        if (!asWrite) return;
        for (uint32_t left = cell.readers; left != 0; left &= left - 1) {
            const int p = __builtin_ctz(left);
            if (cell.readerMask[p] & mask) out->at[p] = std::max(out->at[p], cell.reader[p].Seq());
        }
    });
}

bool LocalShadow::Unread(uint64_t begin, uint64_t end, Epoch writer) const {
    if (!Clip(begin, &end)) return false;
    bool unread = true;
    LookAtCells(begin, end, [&](const Cell& cell, uint64_t, uint32_t mask, uint64_t) {
        unread &= cell.writer == writer && (mask == kAllBytes || (cell.writerMask & ~mask) == 0);
        for (uint32_t left = cell.readers; left != 0; left &= left - 1) {
            unread &= cell.reader[__builtin_ctz(left)].Seq() < writer.Seq();
        }
    });
    return unread;
}

void LocalShadow::UninitialisedRuns(uint64_t begin, uint64_t end, std::vector<ByteRun>* out) const {
    if (!Clip(begin, &end)) return;
    LookAtCells(begin, end, [&](const Cell& cell, uint64_t at, uint32_t mask, uint64_t bytes) {
        uint32_t missing = mask & ~cell.init;
        if (missing == kAllBytes) {
            AddRun(out, at, at + bytes);
            return;
        }
        for (uint32_t b = 0; missing >> b && b < kGranule; ++b) {
            if (missing >> b & 1) AddRun(out, at + b, at + b + 1);
        }
    });
}

void LocalShadow::SetInitialised(uint64_t begin, uint64_t end, bool value) {
    if (!Clip(begin, &end)) return;
    ForCells(begin, end, [&](Cell& cell, uint64_t, uint32_t mask, uint64_t) {
        cell.init = value ? cell.init | mask : cell.init & ~mask;
    });
}

Epoch LocalShadow::Writer(uint64_t byte) const {
    if (byte >= bytes_) return Epoch();
    const Page& page = pages_[byte / kLocalPage];
    return page.cells ? page.cells[byte % kLocalPage / kGranule].writer : page.uniform.writer;
}

}  // namespace sanitizer
}  // namespace ascendc_emu
