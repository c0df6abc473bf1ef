// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Which bytes hold data. Vector kernels routinely compute on the rounded-up tail of a tile, so
// reading memory nobody wrote is not yet a bug. It becomes one when the garbage reaches a result:
// the property is carried along from sources to destinations, and reported where the scalar unit
// reads such a value, where it is used as an index, and where a kernel leaves it in an output.
#include <algorithm>
#include <cstring>

#include "checker.h"
#include "device_memory.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

bool HasPart(const char* text, const char* part) { return std::strstr(text, part) != nullptr; }

// A value that decides which data is used. The indices of Sort and TopK are not: they only go where
// their values go, those of padding to the end that nobody looks at. Neither is what quantisation
// adds.
bool IsIndex(const Record& r, const Operand& o) {
    return (HasPart(o.role, "ffset") && !HasPart(r.op, "uant")) || HasPart(o.role, "attern");
}

enum class Flow {
    kLanes,   // part i of the destination comes from part i of the source
    kBlocks,  // the same, block by block of a copy, where the destination may be padded
    kWhole,   // any part may come from any part
};

Flow FlowOf(const Record& r, const Operand& dst, const LaneRuns&) {
    if (r.perLane) return Flow::kLanes;
    for (const char* part : {"Reduce", "Brcb", "Cast", "Compare"}) {
        if (HasPart(r.op, part)) return Flow::kLanes;
    }
    bool plainCopy = HasPart(r.op, "DataCopy") && dst.mem != Mem::kL1;
    return plainCopy ? Flow::kBlocks : Flow::kWhole;
}

const Operand* Source(const Record& r) {
    for (int i = 0; i < r.count; ++i) {
        if (static_cast<int>(r.operands[i].access) & 1) return &r.operands[i];
    }
    return nullptr;
}

}  // namespace

// Asked for every operand, so the answer is kept by the name's address: names are literals.
bool Checker::IsScratch(const Operand& o) {
    KnownRole& known = roles_[reinterpret_cast<uintptr_t>(o.role) / 4 % roles_.size()];
    if (known.role != o.role) {
        known.role = o.role;
        known.scratch = HasPart(o.role, "tmp") || HasPart(o.role, "Tmp") ||
                        HasPart(o.role, "work") || HasPart(o.role, "shared");
    }
    return known.scratch;
}

// Fresh device memory happens to hold zeros as long as the process is new. Public samples
// accumulate in it, or read behind the end of a short input file; that the kernel is wrong is not
// sure then.
bool Checker::IsDoubtful(uint64_t address, Epoch writer) const {
    if (writer) return doubtful_.count(writer.Bits()) != 0;
    const Region* region = FindRegion(address);
    if (!region || region->kind != OPGEN_GM_OTHER) return false;
    using Content = DeviceMemory::Content;
    const Content content = DeviceMemory::Instance().ContentAt(address);
    return content == Content::kRest || content == Content::kDoubtful;
}

void Checker::ReadData(Step& step, const Operand& o, bool allData) {
    const Record& r = step.record;
    if (IsScratch(o)) return;
    CoreState& state = step.state;
    bool gm = o.mem == Mem::kGm;
    LocalShadow* shadow = gm ? nullptr : &state.Shadow(o.mem);
    ++step.sources;
    if (allData) return;
    if (o.mem == Mem::kUb && !state.pointed.empty()) AdoptPlainStores(state, r, o);

    LaneRuns lanes;
    uint64_t first = 0;
    std::vector<ByteRun> runs;
    ForEachSpan(r, o, [&](uint64_t at, uint64_t bytes) {
        runs.clear();
        if (gm) {
            gm_.UninitialisedRuns(at, at + bytes, &runs);
        } else {
            shadow->UninitialisedRuns(at, at + bytes, &runs);
        }
        for (const ByteRun& run : runs) {
            uint64_t lo = std::max(run.begin, at);
            uint64_t hi = std::min(run.end, at + bytes);
            if (lo >= hi) continue;
            if (lanes.runs.empty()) first = lo;
            uint64_t lane = lanes.total + (lo - at);
            if (!lanes.runs.empty() && lanes.runs.back().end == lane) {
                lanes.runs.back().end = lane + (hi - lo);
            } else {
                lanes.runs.push_back({lane, lane + (hi - lo)});
            }
        }
        lanes.total += bytes;
    });
    if (lanes.runs.empty()) return;
    Epoch writer = gm ? gm_.Writer(first) : shadow->Writer(first);
    auto known = origins_.find(writer.Bits());
    lanes.origin = known == origins_.end() ? step.me : known->second;
    lanes.operand = &o;
    if (gm && lanes.origin == step.me) {
        if (IsDoubtful(first, writer)) doubtful_.insert(step.me.Bits());
    }
    bool index = IsIndex(r, o);
    if (r.scalarAccess || index) {
        Finding f = Start(state, "ErrorRead2", r.op, r.loc);
        f.warning = doubtful_.count(lanes.origin.Bits()) != 0;
        f.pipe = PipeName(step.pipe);
        Describe(state, o, first, first + (lanes.runs[0].end - lanes.runs[0].begin), &f);
        if (lanes.origin != step.me) SetOther(lanes.origin, "read of uninitialised data", &f);
        f.what = Format("%s of %s reads memory that holds no data", o.role, r.op);
        f.why =
            "nobody has written these bytes since they were allocated; on hardware they hold "
            "what the last kernel left";
        f.fix =
            "write them first: check offset, count and tail of the producing instruction, or "
            "fill with Duplicate";
        Findings::Instance().Add(f);
        return;
    }
    step.poison.push_back(std::move(lanes));
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
void Checker::KeepPartBytes(Step& step, const Operand& dst, const LaneRuns& source,
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

// An instruction whose indices lead nowhere is about to be stopped: were they ever written?
void Checker::ReportEmptyIndices(Step& step) {
    const Record& r = step.record;
    for (int i = 0; i < r.count && GetOptions().uninit; ++i) {
        const Operand& o = r.operands[i];
        const bool inside =
            o.mem == Mem::kUb && o.addr < step.state.core->capacity[static_cast<int>(o.mem)];
        if (inside && (static_cast<int>(o.access) & 1) && IsIndex(r, o)) ReadData(step, o, false);
    }
}

// Bytes of `run` whose result depends on garbage: all but those of And whose other operand is 0,
// and of Or whose other operand has all bits set, as kernels clear what a mask leaves out.
void Checker::PushUndecided(const Step& step, const LaneRuns& source, const ByteRun& run,
                            std::vector<ByteRun>* bad) {
    const Record& r = step.record;
    const bool isAnd = std::strcmp(r.op, "And") == 0;
    const Operand* other = nullptr;
    if (isAnd || std::strcmp(r.op, "Or") == 0) {
        for (int i = 0; i < r.count; ++i) {
            const Operand& o = r.operands[i];
            if (&o != source.operand && (static_cast<int>(o.access) & 1)) other = &o;
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
            if (!bad->empty() && bad->back().end == i) {
                bad->back().end = i + 1;
            } else {
                bad->push_back({i, i + 1});
            }
        }
        lane += bytes;
    });
}

void Checker::WriteData(Step& step, const Operand& o) {
    const Record& r = step.record;
    CoreState& state = step.state;
    bool gm = o.mem == Mem::kGm;
    LocalShadow* shadow = gm ? nullptr : &state.Shadow(o.mem);
    auto mark = [&](uint64_t lo, uint64_t hi, bool value) {
        if (gm) {
            gm_.SetInitialised(lo, hi, value);
        } else {
            shadow->SetInitialised(lo, hi, value);
        }
    };
    // An atomic add to memory nobody cleared stays garbage.
    if (!o.atomic) {
        ForEachSpan(r, o, [&](uint64_t at, uint64_t bytes) { mark(at, at + bytes, true); });
    } else if (gm && step.poison.empty()) {
        using Content = DeviceMemory::Content;
        const Region* region = FindRegion(o.addr);
        const bool program = region && region->kind == OPGEN_GM_OTHER;
        if (program && DeviceMemory::Instance().ContentAt(o.addr) != Content::kGarbage) {
            doubtful_.insert(step.me.Bits());
        }
    }
    if (step.poison.empty()) return;

    uint64_t total = 0;
    ForEachSpan(r, o, [&](uint64_t, uint64_t bytes) { total += bytes; });
    std::vector<ByteRun> bad;
    size_t others = 0;
    for (const LaneRuns& source : step.poison) others += source.operand != &o;
    bool accumulates = static_cast<int>(o.access) & 1;
    bool allWhole = others != 0 && others == step.sources - (accumulates ? 1 : 0);
    // Every element of a product depends on each of its operands.
    const bool product = r.pipe == Pipe::kM || r.pipe == Pipe::kFix;
    bool oneWhole = false;
    Epoch origin;
    for (const LaneRuns& source : step.poison) {
        // What an instruction adds to (Mmad to L0C) keeps its place.
        Flow flow = source.operand == &o ? Flow::kLanes : FlowOf(r, o, source);
        if (flow == Flow::kWhole) {
            const bool whole = source.runs.size() == 1 &&
                               source.runs[0].end - source.runs[0].begin == source.total;
            allWhole &= whole;
            oneWhole |= whole || SpoilsProduct(r, source);
            origin = source.origin;
            continue;
        }
        if (source.operand != &o) allWhole = false;
        // Selected lanes are only known at run time: trust the mask.
        if (HasPart(r.op, "Select") && step.poison.size() < step.sources) continue;
        uint64_t from = source.total;
        uint64_t to = total;
        const Operand* src = Source(r);
        bool blocks = flow == Flow::kBlocks && src && src->repeats * src->blocks > 1 &&
                      src->repeats * src->blocks == o.repeats * o.blocks;
        uint64_t unit = std::max<uint64_t>(1, DTypeBits(o.dtype) / 8);
        for (const ByteRun& run : source.runs) {
            if (blocks || (flow == Flow::kBlocks && from != to)) {
                uint64_t sb = src ? std::max<uint64_t>(1, src->blockBytes) : 1;
                uint64_t db = std::max<uint64_t>(1, o.blockBytes);
                for (uint64_t b = run.begin / sb; b * sb < run.end; ++b) {
                    uint64_t lo = std::max(run.begin, b * sb) - b * sb;
                    uint64_t hi = std::min(run.end, (b + 1) * sb) - b * sb;
                    lo = std::min(lo, db);
                    hi = std::min(hi, db);
                    if (lo < hi) bad.push_back({b * db + lo, b * db + hi});
                }
            } else if (from == to) {
                PushUndecided(step, source, run, &bad);
            } else {
                if (HasPart(r.op, "Compare")) KeepPartBytes(step, o, source, run);
                uint64_t lo = run.begin * to / from / unit * unit;
                uint64_t hi = (run.end * to + from - 1) / from;
                bad.push_back({lo, (hi + unit - 1) / unit * unit});
            }
        }
        origin = source.origin;
    }
    if (allWhole || (product && oneWhole)) bad.push_back({0, total});
    if (bad.empty()) return;
    origins_[step.me.Bits()] = origin;
    uint64_t lane = 0;
    ForEachSpan(r, o, [&](uint64_t at, uint64_t bytes) {
        for (const ByteRun& run : bad) {
            uint64_t lo = std::max(run.begin, lane);
            uint64_t hi = std::min(run.end, lane + bytes);
            if (lo < hi) mark(at + (lo - lane), at + (hi - lane), false);
        }
        lane += bytes;
    });
}

// Says who wrote data to `region` that was computed from memory that holds none.
Finding Checker::PoisonedOutput(const Region& region, Epoch writer) const {
    const Site& site = sites_[writer.Site()];
    const CoreState state(const_cast<Core*>(&identities_[writer.Core()]));
    Finding f = Start(state, "ErrorRead2", site.op, site.loc);
    f.pipe = PipeName(writer.Pipe());
    f.role = "dst";
    f.memory = "GM";
    f.name = region.name;
    f.why =
        "a source of the computation was never written; on hardware it holds what the last "
        "kernel left";
    f.fix = "check count, offset and tail of the instructions that fill the source tile";
    auto origin = origins_.find(writer.Bits());
    if (origin != origins_.end() && origin->second.Site() != writer.Site()) {
        SetOther(origin->second, "first read of the uninitialised bytes", &f);
    }
    const Epoch first = origin == origins_.end() ? writer : origin->second;
    if (doubtful_.count(first.Bits()) != 0) {
        f.warning = true;
        f.why =
            "the host has not filled what the kernel reads or adds to; in a new process fresh "
            "memory "
            "mostly holds zeros";
        f.fix = "copy as many bytes to the device as the kernel reads, aclrtMemset what it adds to";
    }
    return f;
}

// Hands what the launch did to the program's device memory on to later launches and to the host.
void Checker::KeepContents(bool known) {
    DeviceMemory& memory = DeviceMemory::Instance();
    for (const auto& line : sharedLines_) {
        const uint64_t begin = line.first * kCacheLine;
        const Region* region = FindRegion(begin);
        if (region && region->kind == OPGEN_GM_WORKSPACE) continue;  // gone with the launch
        if (memory.Tracks(begin, begin + kCacheLine)) {
            memory.Lost(begin, line.second);
        } else {
            Findings::Instance().Add(line.second);
        }
    }
    if (!memory.TracksAny()) return;
    for (const Region& region : regions_) {
        // An op's tensors are known by their kind, and checked by ReportPoisonedOutputs.
        if (!known || region.kind != OPGEN_GM_OTHER) memory.Filled(region.begin, region.end);
    }
    if (!known) return;
    for (const Region& region : regions_) {
        if (region.kind == OPGEN_GM_OTHER && region.fresh) KeepWriters(region);
    }
    std::map<std::pair<const Region*, uint32_t>, size_t> told;
    gm_.ForTouched([&](const GmCell& cell, uint64_t begin, uint64_t bytes) {
        if (cell.reader) {
            const Region* region = FindRegion(begin);
            if (region && region->fresh)
                memory.ReadByKernel(begin, std::min(begin + bytes, region->end));
        }
        if (cell.written == 0) return;
        auto run = [&](uint64_t lo, uint64_t hi, bool filled) {
            if (filled) return memory.Filled(lo, hi);
            const Region* region = FindRegion(lo);
            if (!region || region->kind != OPGEN_GM_OTHER || !memory.Tracks(lo, hi)) return;
            if (!cell.writer || cell.writer.Core() >= identities_.size()) return;
            const auto key = std::make_pair(region, cell.writer.Site());
            auto found = told.find(key);
            if (found == told.end()) {
                Finding f = PoisonedOutput(*region, cell.writer);
                f.begin = region->begin;  // Fetched counts from there
                found = told.emplace(key, memory.Remember(f)).first;
            }
            memory.Poisoned(lo, std::min(hi, region->end), found->second);
        };
        const uint32_t good = cell.written & cell.init;
        if (good == kAllBytes) return run(begin, begin + bytes, true);
        if (good == 0 && cell.written == kAllBytes) return run(begin, begin + bytes, false);
        for (uint64_t at = begin; at < begin + bytes; at += kGranule) {
            for (uint32_t b = 0; b < kGranule;) {
                uint32_t e = b + 1;
                const bool written = cell.written >> b & 1;
                const bool filled = good >> b & 1;
                while (e < kGranule && (cell.written >> e & 1) == written &&
                       (good >> e & 1) == filled)
                    ++e;
                if (written) run(at + b, at + e, filled);
                b = e;
            }
        }
    });
}

void Checker::ReportPoisonedOutputs() {
    if (!GetOptions().uninit) return;
    for (const Region& region : regions_) {
        if (region.kind != OPGEN_GM_OUTPUT && region.kind != OPGEN_GM_INOUT) continue;
        std::vector<ByteRun> runs;
        Epoch writer;
        gm_.PoisonedRuns(region.begin, region.end, &runs, &writer);
        if (runs.empty() || !writer) continue;
        if (writer.Core() >= identities_.size()) continue;
        Finding f = PoisonedOutput(region, writer);
        f.begin = runs.front().begin - region.begin;
        f.end = runs.front().end - region.begin;
        uint64_t bytes = 0;
        for (const ByteRun& run : runs) bytes += run.end - run.begin;
        f.what = Format("%llu bytes of output '%s' were computed from memory that holds no data",
                        static_cast<unsigned long long>(bytes), region.name.c_str());
        Findings::Instance().Add(f);
    }
}

}  // namespace sanitizer
}  // namespace ascendc_emu
