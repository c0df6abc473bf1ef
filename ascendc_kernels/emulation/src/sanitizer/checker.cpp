// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The launch and its cores.
#include "checker.h"

#include <algorithm>

#include "ascendc_emu/sanitizer.h"
#include "device_memory.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

const bool kRegistered = [] {
    SetSinkFactory(OPGEN_MODE_CHECK, []() -> Sink* { return new Checker; });
    return true;
}();

}  // namespace

void Checker::OnLaunch(const LaunchInfo& info) {
    (void)kRegistered;
    kernel_ = info.name ? info.name : "";
    for (int i = 0; i < info.numRanges; ++i) {
        const OpgenGmRange& range = info.ranges[i];
        if (!range.data || range.bytes == 0) continue;
        Region region;
        region.begin = reinterpret_cast<uint64_t>(range.data);
        region.end = region.begin + range.bytes;
        region.name = range.name ? range.name : "";
        region.kind = range.kind & ~OPGEN_GM_SLICE;
        region.kind &= ~(OPGEN_GM_PARTIAL | OPGEN_GM_OPTIONAL);
        region.slice = (range.kind & OPGEN_GM_SLICE) != 0;
        region.partial = (range.kind & OPGEN_GM_PARTIAL) != 0;
        region.optional = (range.kind & OPGEN_GM_OPTIONAL) != 0;
        region.item = range.item > 0 ? static_cast<uint32_t>(range.item) : 0;
        // The launch's own ranges come first and are the precise ones: allocations around them only
        // matter where they are not covered.
        bool covered = false;
        for (Region& r : regions_) {
            if (region.begin >= r.end || r.begin >= region.end) continue;
            covered = true;
            r.device = r.device || region.kind == OPGEN_GM_OTHER;
        }
        if (!covered) regions_.push_back(region);
    }
    for (Region& region : regions_) {
        // Memory of a program: what of it holds data is known from what has happened before.
        const bool known = DeviceMemory::Instance().Tracks(region.begin, region.end) &&
                           (region.kind == OPGEN_GM_OTHER || region.kind == OPGEN_GM_OUTPUT);
        bool filled =
            known || (region.kind != OPGEN_GM_OUTPUT && region.kind != OPGEN_GM_WORKSPACE);
        gm_.Declare(region.begin, region.end, filled);
        if (!known) continue;
        std::vector<ByteRun> empty;
        DeviceMemory::Instance().EmptyRuns(region.begin, region.end, &empty);
        region.fresh = !empty.empty();
        for (const ByteRun& run : empty) gm_.Declare(run.begin, run.end, false);
    }
    std::sort(regions_.begin(), regions_.end(),
              [](const Region& a, const Region& b) { return a.begin < b.begin; });
    Resize(info.cores > 0 ? info.cores : 1);
    code_ = info.launch != nullptr && info.launch->entry != nullptr ? info.launch->entry
            : info.launch != nullptr ? reinterpret_cast<const void*>(info.launch->body)
                                     : nullptr;
    MarkOutputs();
}

void Checker::OnLaunchEnd(const LaunchInfo&) {
    ShowNow();
    for (auto& state : cores_) {
        if (!state) continue;
        Settle(*state);
        ReportUndecided(*state);
        for (const Glimpse& glimpse : state->glimpses) Finish(*state, glimpse);
    }
    ReportUnpolled();
    SettleScalarWrites();
    RestoreOutputs();
    const bool whole = ended_ == std::count(started_.begin(), started_.end(), 1);
    KeepContents(whole);
    if (!whole) return;  // stopped in the middle
    ReportPoisonedOutputs();
    ReportUnwrittenOutputs();
    ReportLeftCrossFlags();
}

void Checker::Resize(size_t cores) {
    cores_.resize(cores);
    identities_.resize(cores);
    started_.resize(cores);
    cursors_.resize(cores);
    polled_.resize(cores);
}

void Checker::OnCoreStart(Core& core) {
    size_t id = static_cast<size_t>(core.id);
    if (id >= cores_.size()) Resize(id + 1);
    cores_[id] = std::make_unique<CoreState>(&core);
    cores_[id]->autoSync = GetOptions().autoSync && core.kind != CoreKind::kAic;
    identities_[id] = core;
    started_[id] = 1;
}

void Checker::OnCoreEnd(Core& core) {
    ++ended_;
    CoreState& state = State(core);
    ShowNow();
    Settle(state);
    ReportUndecided(state);
    for (const Glimpse& glimpse : state.glimpses) Finish(state, glimpse);
    polled_[core.id] = std::move(state.polled);
    for (const auto& entry : state.buffers) ReportLeak(state, entry.second);
    if (core.regs.atomicOp != 0) {
        static const char* const kSetters[] = {"", "SetAtomicAdd", "SetAtomicMax", "SetAtomicMin"};
        Finding f =
            Start(state, "AtomicMode", kSetters[core.regs.atomicOp & 3], core.regs.atomicLoc);
        f.warning = true;
        f.what = "atomic stores are still switched on when the kernel ends";
        f.why =
            "later stores of this core, also those of a kernel that does not reset the mode, add "
            "to "
            "memory instead of writing it";
        f.fix = "SetAtomicNone() (DisableDmaAtomic) after the last atomic store";
        Findings::Instance().Add(f);
    }
    for (int src = 0; src < kPipes; ++src) {
        for (int dst = 0; dst < kPipes; ++dst) {
            for (int id = 0; id < kEventIds; ++id) {
                const Flag& flag = state.flags[src][dst][id];
                if (!flag.set || flag.told) continue;
                Finding f = Start(state, "ErrorSync3", "SetFlag", flag.loc);
                f.pipe = PipeName(src);
                f.what = Format("SetFlag<HardEvent::%s_%s>(%d) has no WaitFlag", PipeName(src),
                                PipeName(dst), id);
                f.why = "a flag left set makes the next kernel's WaitFlag pass too early";
                f.fix = Format("add WaitFlag<HardEvent::%s_%s>(%d) on every path before the end",
                               PipeName(src), PipeName(dst), id);
                Findings::Instance().Add(f);
            }
        }
    }
    cores_[core.id].reset();  // shadows are large and blocks are many
}

CoreState& Checker::State(Core& core) {
    size_t id = static_cast<size_t>(core.id);
    if (id >= cores_.size() || !cores_[id]) OnCoreStart(core);
    return *cores_[id];
}

void Checker::OnProblem(Core& core, const Problem& p) {
    CoreState& state = State(core);
    if (p.fatal && Findings::Instance().Has(p.check, p.op, p.loc)) return;  // told in more detail
    Finding f = Start(state, p.check, p.op, p.loc);
    f.warning = p.warning;
    f.what = p.text;
    f.fix = p.fix ? p.fix : "";
    if (f.check == "Deadlock") {
        f.why =
            "nothing that these cores wait for can happen any more: the device would run into its "
            "timeout (507014)";
    }
    Findings::Instance().Add(f);
}

}  // namespace sanitizer
}  // namespace ascendc_emu
