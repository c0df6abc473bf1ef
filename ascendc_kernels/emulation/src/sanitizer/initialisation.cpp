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
    if (o.use == Use::kScratch) return;
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
            AddRun(&lanes.runs, lane, lane + (hi - lo));
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
    bool index = o.use == Use::kIndex;
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

// An instruction whose indices lead nowhere is about to be stopped: were they ever written?
void Checker::ReportEmptyIndices(Step& step) {
    const Record& r = step.record;
    for (int i = 0; i < r.count && GetOptions().uninit; ++i) {
        const Operand& o = r.operands[i];
        const bool inside =
            o.mem == Mem::kUb && o.addr < step.state.core->capacity[static_cast<int>(o.mem)];
        if (inside && Reads(o) && o.use == Use::kIndex) ReadData(step, o, false);
    }
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

namespace {

// Calls f(begin, end, filled) for the runs of a cell's bytes [begin, begin + bytes) that a kernel
// wrote; filled: with data.
template <typename F>
void ForWrittenRuns(const GmCell& cell, uint64_t begin, uint64_t bytes, F f) {
    const uint32_t good = cell.written & cell.init;
    if (good == kAllBytes) return f(begin, begin + bytes, true);
    if (good == 0 && cell.written == kAllBytes) return f(begin, begin + bytes, false);
    for (uint64_t at = begin; at < begin + bytes; at += kGranule) {
        for (uint32_t b = 0; b < kGranule;) {
            uint32_t e = b + 1;
            const bool written = cell.written >> b & 1;
            const bool filled = good >> b & 1;
            while (e < kGranule && (cell.written >> e & 1) == written && (good >> e & 1) == filled)
                ++e;
            if (written) f(at + b, at + e, filled);
            b = e;
        }
    }
}

}  // namespace

// Values that got lost because two cores changed one line matter to whoever reads the memory later.
void Checker::KeepLostLines() {
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
}

// Bytes [begin, end) that `writer` filled with what it computed from memory without data. `told`:
// the findings kept so far, by region and source line.
void Checker::KeepPoisoned(uint64_t begin, uint64_t end, Epoch writer, PoisonTold* told) {
    DeviceMemory& memory = DeviceMemory::Instance();
    const Region* region = FindRegion(begin);
    if (!region || region->kind != OPGEN_GM_OTHER || !memory.Tracks(begin, end)) return;
    if (!writer || writer.Core() >= identities_.size()) return;
    const auto key = std::make_pair(region, writer.Site());
    auto found = told->find(key);
    if (found == told->end()) {
        Finding f = PoisonedOutput(*region, writer);
        f.begin = region->begin;  // Fetched counts from there
        found = told->emplace(key, memory.Remember(f)).first;
    }
    memory.Poisoned(begin, std::min(end, region->end), found->second);
}

// Hands what the launch did to the program's device memory on to later launches and to the host.
// known: the launch has ended as it should.
void Checker::KeepContents(bool known) {
    DeviceMemory& memory = DeviceMemory::Instance();
    KeepLostLines();
    if (!memory.TracksAny()) return;
    for (const Region& region : regions_) {
        // An op's tensors are known by their kind, and checked by ReportPoisonedOutputs.
        if (!known || region.kind != OPGEN_GM_OTHER) memory.Filled(region.begin, region.end);
    }
    if (!known) return;
    for (const Region& region : regions_) {
        if (region.kind == OPGEN_GM_OTHER && region.fresh) KeepWriters(region);
    }
    PoisonTold told;
    gm_.ForTouched([&](const GmCell& cell, uint64_t begin, uint64_t bytes) {
        const Region* region = cell.reader ? FindRegion(begin) : nullptr;
        if (region && region->fresh) {
            memory.ReadByKernel(begin, std::min(begin + bytes, region->end));
        }
        if (cell.written == 0) return;
        ForWrittenRuns(cell, begin, bytes, [&](uint64_t lo, uint64_t hi, bool filled) {
            if (filled) {
                memory.Filled(lo, hi);
            } else {
                KeepPoisoned(lo, hi, cell.writer, &told);
            }
        });
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

// ---- Stores of plain C++ through pointers into UB (GetPhyAddr, arrays of the C interface). Nothing
// records them, so bytes without data get a mark when the pointer is taken, and what no longer has
// the mark when it is read holds data.

namespace {

constexpr uint8_t kMark = 0xa5;
// A value is written as a whole: one byte without the mark speaks for its neighbours.
constexpr uint64_t kWord = 8;

// What is left of some runs of bytes without [begin, end).
std::vector<ByteRun> Without(const std::vector<ByteRun>& runs, uint64_t begin, uint64_t end) {
    std::vector<ByteRun> rest;
    for (const ByteRun& run : runs) {
        if (run.begin < begin) rest.push_back({run.begin, std::min(run.end, begin)});
        if (run.end > end) rest.push_back({std::max(run.begin, end), run.end});
    }
    return rest;
}

// Of bytes without data in [begin, end), those that have lost the mark hold some.
void AdoptRun(const uint8_t* memory, LocalShadow* shadow, uint64_t begin, uint64_t end) {
    while (begin < end) {
        const uint64_t next = std::min(end, begin / kWord * kWord + kWord);
        const bool marked =
            std::all_of(memory + begin, memory + next, [](uint8_t byte) { return byte == kMark; });
        if (!marked) shadow->SetInitialised(begin, next, true);
        begin = next;
    }
}

uint8_t* Memory(const CoreState& state) { return state.core->memory[static_cast<int>(Mem::kUb)]; }

}  // namespace

void Checker::TakePointer(CoreState& state, uint64_t begin, uint64_t end) {
    // Only what no earlier pointer covers: there the mark may be overwritten already.
    std::vector<ByteRun> fresh = {{begin, end}};
    for (const ByteRun& known : state.pointed) fresh = Without(fresh, known.begin, known.end);
    std::vector<ByteRun> empty;
    for (const ByteRun& run : fresh) {
        state.pointed.push_back(run);
        if (!GetOptions().uninit) continue;
        empty.clear();
        state.Shadow(Mem::kUb).UninitialisedRuns(run.begin, run.end, &empty);
        for (const ByteRun& e : empty) {
            const uint64_t lo = std::max(e.begin, run.begin), hi = std::min(e.end, run.end);
            if (lo < hi) std::memset(Memory(state) + lo, kMark, hi - lo);
        }
    }
}

void Checker::DropPointers(CoreState& state, Mem mem, uint64_t begin, uint64_t end) {
    if (mem != Mem::kUb || state.pointed.empty()) return;
    state.pointed = Without(state.pointed, begin, end);
}

void Checker::AdoptPlainStores(CoreState& state, const Record& record, const Operand& operand) {
    LocalShadow& shadow = state.Shadow(Mem::kUb);
    std::vector<ByteRun> empty;
    ForEachSpan(record, operand, [&](uint64_t at, uint64_t bytes) {
        for (const ByteRun& known : state.pointed) {
            const uint64_t from = std::max(at, known.begin), to = std::min(at + bytes, known.end);
            if (from >= to) continue;
            empty.clear();
            shadow.UninitialisedRuns(from, to, &empty);
            for (const ByteRun& run : empty) {
                AdoptRun(Memory(state), &shadow, std::max(run.begin, from), std::min(run.end, to));
            }
        }
    });
}

}  // namespace sanitizer
}  // namespace ascendc_emu
