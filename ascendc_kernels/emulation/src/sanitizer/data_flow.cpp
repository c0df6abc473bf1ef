// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How missing data flows through an instruction: which bytes of a destination come from bytes of a
// source that hold none.
#include <algorithm>

#include "checker.h"
#include "device_memory.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

// Copies to L1 may change the layout.
Flow FlowOf(const Record& r, const Operand& dst) {
    if (r.perLane) return Flow::kLanes;
    const Flow flow = FactsOf(r.api).flow;
    return flow == Flow::kBlocks && dst.mem == Mem::kL1 ? Flow::kWhole : flow;
}

const Operand* Source(const Record& r) {
    for (int i = 0; i < r.count; ++i) {
        if (Reads(r.operands[i])) return &r.operands[i];
    }
    return nullptr;
}

// Adds what of a copy's destination comes from `run`, block by block.
void PushBlocks(uint32_t sourceBytes, uint32_t targetBytes, const ByteRun& run,
                std::vector<ByteRun>* bad) {
    const uint64_t from = std::max<uint64_t>(1, sourceBytes);
    const uint64_t to = std::max<uint64_t>(1, targetBytes);
    for (uint64_t b = run.begin / from; b * from < run.end; ++b) {
        const uint64_t lo = std::min(std::max(run.begin, b * from) - b * from, to);
        const uint64_t hi = std::min(std::min(run.end, (b + 1) * from) - b * from, to);
        if (lo < hi) bad->push_back({b * to + lo, b * to + hi});
    }
}

constexpr uint64_t kLineBytes = 32;  // of a fractal: K elements of one row (L0A) or column (L0B)
constexpr uint64_t kLines = 16;      // of a fractal

}  // namespace

// Which operands of a product spoil all of it. Rows of L0A that hold no data spoil rows of the
// result only, columns of L0B columns, and those are often computed and never stored. But where
// every row of L0A, or every column of L0B, has some place without data, no element of the result
// is right: the product goes further along K than what was loaded.
bool SpoilsProduct(const Record& r, const LaneRuns& source) {
    const bool left = source.operand->use == Use::kLeft;
    if (r.k == 0 || (!left && source.operand->use != Use::kRight)) return false;
    const uint64_t lines = left ? r.m : r.n;
    const uint64_t usedBytes = (uint64_t{r.k} * DTypeBits(source.operand->dtype) + 7) / 8;
    const uint64_t groups = (lines + kLines - 1) / kLines;
    const uint64_t perGroup = std::max<uint64_t>(1, source.total / (groups * kLines * kLineBytes));
    std::vector<bool> spoilt(lines);
    uint64_t good = lines;
    for (const ByteRun& run : source.runs) {
        for (uint64_t at = run.begin / kLineBytes; at * kLineBytes < run.end; ++at) {
            uint64_t line = 0, depth = at;  // a single row is no fractal
            if (!left || r.m > 1) {
                const uint64_t fractal = at / kLines;
                line = (left ? fractal / perGroup : fractal % groups) * kLines + at % kLines;
                depth = left ? fractal % perGroup : fractal / groups;
            }
            if (line >= lines || spoilt[line]) continue;
            const uint64_t begin = std::max(run.begin, at * kLineBytes) - at * kLineBytes;
            if (depth * kLineBytes + begin >= usedBytes) continue;
            spoilt[line] = true;
            if (--good == 0) return true;
        }
    }
    return false;
}

// Of byte `offset` of an operand without data: the bits that hold none. All, unless Compare wrote
// it.
uint8_t Checker::GarbageBits(const Step& step, const Operand& o, uint64_t offset) {
    if (o.mem != Mem::kUb || !Contiguous(o)) return 0xff;
    const CoreState& state = step.state;
    auto found = state.partBytes.find(o.addr + offset);
    if (found == state.partBytes.end()) return 0xff;
    const Epoch writer = state.shadow[static_cast<int>(Mem::kUb)]->Writer(o.addr + offset);
    // In place the instruction itself counts as the writer by now.
    return found->second.first == writer || writer == step.me ? found->second.second : 0xff;
}

// Compare gives a bit per element: the first and last byte of what comes from garbage may have bits
// that do not.
void Checker::KeepPartBytes(const Step& step, const Operand& dst, const LaneRuns& source,
                            const ByteRun& run) {
    const uint64_t size = std::max<uint64_t>(1, DTypeBits(source.operand->dtype) / 8);
    if (dst.mem != Mem::kUb || !Contiguous(dst)) return;
    auto& parts = step.state.partBytes;
    if (parts.size() > 4096) parts.clear();
    const uint64_t first = run.begin / size;
    const uint64_t last = (run.end + size - 1) / size;
    for (uint64_t byte : {first / 8, (last - 1) / 8}) {
        uint8_t bits = 0;
        for (uint64_t lane = std::max(first, byte * 8); lane < std::min(last, byte * 8 + 8);
             ++lane) {
            bits |= static_cast<uint8_t>(1u << lane % 8);
        }
        auto& part = parts[dst.addr + byte];
        part.second = part.first == step.me ? part.second | bits : bits;
        part.first = step.me;
        if (first / 8 == (last - 1) / 8) break;
    }
}

// Bytes of `run` whose result depends on garbage: all but those of And whose other operand is 0,
// and of Or whose other operand has all bits set, as kernels clear what a mask leaves out.
void Checker::PushUndecided(const Step& step, const LaneRuns& source, const ByteRun& run,
                            std::vector<ByteRun>* bad) {
    const Record& r = step.record;
    const Absorbs absorbs = FactsOf(r.api).absorbs;
    const bool isAnd = absorbs == Absorbs::kZeros;
    const Operand* other = nullptr;
    if (absorbs != Absorbs::kNothing) {
        for (int i = 0; i < r.count; ++i) {
            const Operand& o = r.operands[i];
            if (&o != source.operand && Reads(o)) other = &o;
        }
    }
    const uint8_t* memory = other ? step.state.core->memory[static_cast<int>(other->mem)] : nullptr;
    if (!memory || std::any_of(step.poison.begin(), step.poison.end(),
                               [&](const LaneRuns& p) { return p.operand == other; })) {
        bad->push_back(run);
        return;
    }
    const uint8_t decided = isAnd ? 0 : 0xff;
    uint64_t lane = 0;
    ForEachSpan(r, *other, [&](uint64_t at, uint64_t bytes) {
        const uint64_t end = std::min(run.end, lane + bytes);
        for (uint64_t i = std::max(run.begin, lane); i < end; ++i) {
            const uint8_t value = memory[at + (i - lane)];
            if (value == decided) continue;
            const uint8_t garbage = GarbageBits(step, *source.operand, i);
            if (((isAnd ? value : ~value) & garbage) == 0) continue;
            AddRun(bad, i, i + 1);
        }
        lane += bytes;
    });
}

// Says of bytes whether they hold data.
void Checker::MarkData(CoreState& state, Mem mem, uint64_t begin, uint64_t end, bool value) {
    if (mem == Mem::kGm) {
        gm_.SetInitialised(begin, end, value);
    } else {
        state.Shadow(mem).SetInitialised(begin, end, value);
    }
}

// Adds what of a destination of `total` bytes comes from the bytes without data of a source. `flow`
// is not kWhole.
void Checker::PushEmptyLanes(const Step& step, const Operand& dst, const LaneRuns& source,
                             Flow flow, uint64_t total, std::vector<ByteRun>* bad) {
    const Record& r = step.record;
    const uint64_t from = source.total;
    const Operand* src = Source(r);
    const bool blocks = flow == Flow::kBlocks && src && src->repeats * src->blocks > 1 &&
                        src->repeats * src->blocks == dst.repeats * dst.blocks;
    const uint64_t unit = std::max<uint64_t>(1, DTypeBits(dst.dtype) / 8);
    for (const ByteRun& run : source.runs) {
        if (blocks || (flow == Flow::kBlocks && from != total)) {
            PushBlocks(src ? src->blockBytes : 1, dst.blockBytes, run, bad);
        } else if (from == total) {
            PushUndecided(step, source, run, bad);
        } else {
            if (FactsOf(r.api).makesBits) KeepPartBytes(step, dst, source, run);
            const uint64_t lo = run.begin * total / from / unit * unit;
            const uint64_t hi = (run.end * total + from - 1) / from;
            bad->push_back({lo, (hi + unit - 1) / unit * unit});
        }
    }
}

// The bytes of a destination, counted along it, that come from memory without data; *origin: who
// read that first.
std::vector<ByteRun> Checker::EmptyLanes(const Step& step, const Operand& o, Epoch* origin) {
    const Record& r = step.record;
    uint64_t total = 0;
    ForEachSpan(r, o, [&](uint64_t, uint64_t bytes) { total += bytes; });
    std::vector<ByteRun> bad;
    size_t others = 0;
    for (const LaneRuns& source : step.poison) others += source.operand != &o;
    bool allWhole = others != 0 && others == step.sources - (Reads(o) ? 1 : 0);
    bool oneWhole = false;
    for (const LaneRuns& source : step.poison) {
        // What an instruction adds to (Mmad to L0C) keeps its place.
        const Flow flow = source.operand == &o ? Flow::kLanes : FlowOf(r, o);
        if (flow == Flow::kWhole) {
            const bool whole = source.runs.size() == 1 &&
                               source.runs[0].end - source.runs[0].begin == source.total;
            allWhole &= whole;
            oneWhole |= whole || SpoilsProduct(r, source);
        } else {
            if (source.operand != &o) allWhole = false;
            // Selected lanes are only known at run time: trust the mask.
            if (FactsOf(r.api).chooses && step.poison.size() < step.sources) continue;
            PushEmptyLanes(step, o, source, flow, total, &bad);
        }
        *origin = source.origin;
    }
    // Every element of a product depends on each of its operands.
    const bool product = r.pipe == Pipe::kM || r.pipe == Pipe::kFix;
    if (allWhole || (product && oneWhole)) bad.push_back({0, total});
    return bad;
}

void Checker::WriteData(Step& step, const Operand& o) {
    const Record& r = step.record;
    CoreState& state = step.state;
    // An atomic add to memory nobody cleared stays garbage.
    if (!o.atomic) {
        ForEachSpan(r, o, [&](uint64_t at, uint64_t bytes) {
            MarkData(state, o.mem, at, at + bytes, true);
        });
    } else if (o.mem == Mem::kGm && step.poison.empty()) {
        using Content = DeviceMemory::Content;
        const Region* region = FindRegion(o.addr);
        const bool program = region && region->kind == OPGEN_GM_OTHER;
        if (program && DeviceMemory::Instance().ContentAt(o.addr) != Content::kGarbage) {
            doubtful_.insert(step.me.Bits());
        }
    }
    if (step.poison.empty()) return;

    Epoch origin;
    const std::vector<ByteRun> bad = EmptyLanes(step, o, &origin);
    if (bad.empty()) return;
    origins_[step.me.Bits()] = origin;
    uint64_t lane = 0;
    ForEachSpan(r, o, [&](uint64_t at, uint64_t bytes) {
        for (const ByteRun& run : bad) {
            uint64_t lo = std::max(run.begin, lane);
            uint64_t hi = std::min(run.end, lane + bytes);
            if (lo < hi) MarkData(state, o.mem, at + (lo - lane), at + (hi - lane), false);
        }
        lane += bytes;
    });
}

}  // namespace sanitizer
}  // namespace ascendc_emu
