// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "profile/recorder.h"

#include <algorithm>

#include "core/instructions.h"

namespace ascendc_emu {
namespace profile {
namespace {

constexpr int kCrossKey = 0, kBlockKey = 1;

// Whether a flag of mode `mode` that one core sets goes to cores of the other kind.
bool CrossesKinds(int mode) { return mode == 2; }

uint32_t FlagKey(Pipe src, Pipe dst, int32_t id) {
    return static_cast<uint32_t>(src) << 16 | static_cast<uint32_t>(dst) << 8 |
           (static_cast<uint32_t>(id) & 0xff);
}

}  // namespace

Recorder::Recorder(const Parameters& parameters, uint64_t room)
    : p_(parameters), costs_(parameters), room_(room), trace_(new Trace) {}

void Recorder::OnLaunch(const LaunchInfo& info) {
    trace_->kernel = info.name ? info.name : "";
    trace_->soc = info.soc;
    states_.resize(static_cast<size_t>(info.cores));
    for (int i = 0; i < info.numRanges; ++i) {
        const OpgenGmRange& range = info.ranges[i];
        const auto begin = reinterpret_cast<uint64_t>(range.data);
        const std::string name = range.name != nullptr ? range.name : "range " + std::to_string(i);
        trace_->buffers.push_back({name, begin, begin + range.bytes, range.kind & 0xff});
    }
    placed_ = Placement(&trace_->buffers);
    std::stable_sort(trace_->buffers.begin(), trace_->buffers.end(),
                     [](const Buffer& a, const Buffer& b) { return a.begin < b.begin; });
}

Recorder::CoreState& Recorder::State(const Core& core) {
    const auto index = static_cast<size_t>(core.id);
    if (index >= states_.size()) states_.resize(index + 1);
    if (!states_[index]) {
        states_[index] = std::make_unique<CoreState>();
        states_[index]->trace.id = core.id;
        states_[index]->trace.kind = core.kind;
        states_[index]->lines.fill(~0ull);
    }
    return *states_[index];
}

void Recorder::OnCoreStart(Core& core) { State(core); }

void Recorder::OnCoreEnd(Core& core) {
    CoreState& state = State(core);
    state.trace.ended = true;
    state.trace.tail = state.scalar;
}

uint32_t Recorder::SiteOf(Loc loc) {
    SiteCache& cached =
        siteCache_[(reinterpret_cast<uintptr_t>(loc.file) + loc.line) % siteCache_.size()];
    if (cached.used && loc.file == cached.file && loc.line == cached.line) return cached.site;
    auto known = fileNumbers_.find(loc.file);
    if (known == fileNumbers_.end()) {
        // One file can have several addresses: each module that includes it has its own text.
        const std::string name = loc.file != nullptr ? loc.file : "";
        const auto next = static_cast<uint32_t>(trace_->files.size());
        const auto added = fileNames_.emplace(name, next);
        if (added.second) trace_->files.push_back(name);
        known = fileNumbers_.emplace(loc.file, added.first->second).first;
    }
    const uint32_t file = known->second;
    const uint64_t key = uint64_t{file} << 32 | loc.line;
    const auto next = static_cast<uint32_t>(trace_->sites.size());
    const auto added = siteNumbers_.emplace(key, next);
    if (added.second) trace_->sites.push_back({file, loc.line});
    cached = {true, loc.file, loc.line, added.first->second};
    return cached.site;
}

// Where a step goes: to the steps that are kept, to the copies of a gap, or to a place that is
// written again. Null where there is no room for it.
Step* Recorder::Place(CoreState& state, StepKind kind) {
    const bool together = AreTogether(kind);
    together_ += together;
    ++trace_->records;
    state.window.Next(state.trace, trace_->stride);
    while (!state.window.skipping || together) {
        if (trace_->kept < room_) {
            ++trace_->kept;
            return &state.trace.steps.Add();
        }
        // The window that this step is in may be one that is not kept from now on.
        if (!MakeRoom()) {
            --trace_->records;
            ++trace_->dropped;
            return nullptr;
        }
    }
    Gap& gap = OpenGap(state.trace);
    ++gap.steps;
    gap.slotEnd = state.trace.slots;
    if (kind != StepKind::kCopy) return &state.window.scratch;
    if (trace_->kept >= room_ && !MakeRoom()) {
        --trace_->records;
        ++trace_->dropped;
        return nullptr;
    }
    ++trace_->kept;
    Gap& open = OpenGap(state.trace);
    open.copies.emplace_back();
    return &open.copies.back();
}

// Keeps half as many windows of all cores.
bool Recorder::MakeRoom() {
    // Where cores wait for one another all the time, a window says little about what follows it.
    constexpr uint64_t kRarely = 64;
    if (full_ || together_ * kRarely > trace_->records) return false;
    trace_->stride *= 2;
    uint64_t kept = 0;
    for (auto& state : states_) {
        if (!state) continue;
        Thin(&state->trace, trace_->stride);
        kept += KeptOf(state->trace);
        state->window.Decide(trace_->stride);
    }
    full_ = kept > trace_->kept / 8 * 7;
    trace_->kept = kept;
    return kept < room_;
}

Step* Recorder::Add(CoreState& state, StepKind kind, Pipe pipe, Loc loc) {
    Step* const place = Place(state, kind);
    if (place == nullptr) return nullptr;
    Step& step = *place;
    step.kind = kind;
    step.pipe = static_cast<uint8_t>(pipe);
    step.flags = 0;
    step.detail = 0;
    step.api = 0;
    step.id = 0;
    step.site = SiteOf(loc);
    step.scalar = state.scalar + static_cast<float>(p_.scalar_issue);
    state.scalar = 0;
    return &step;
}

void Recorder::AddScalar(CoreState& state, const Record& r) {
    if (!r.scalarAccess || r.count == 0) {
        state.scalar += static_cast<float>(p_.scalar_issue);
        return;
    }
    const Operand& o = r.operands[0];
    if (o.mem != Mem::kGm) {
        state.scalar += static_cast<float>(p_.scalar_access);
        return;
    }
    const uint64_t line = placed_(o.addr) / 64;
    uint64_t& cached = state.lines[line % state.lines.size()];
    state.scalar += static_cast<float>(cached == line ? p_.scalar_gm_hit : p_.scalar_gm_miss);
    cached = line;
}

void Recorder::AddCopies(CoreState& state, const Record& r, const Operand& o) {
    const bool store = o.access != Access::kRead;
    // What reads GM on the way out of the cube is a whole product.
    const Pipe pipe = r.pipe == Pipe::kFix && !store ? Pipe::kMte2 : r.pipe;
    bool bypass = false;
    for (const Hint& hint : state.hints) {
        if (o.addr >= hint.begin && o.addr < hint.end) bypass = hint.bypass;
    }
    const uint16_t names = operandNames_.Of(r, placed_, trace_.get());
    // A pattern of two strides is one copy per outer step.
    const bool nested = o.blocks > 1 && o.repeats > 1;
    const uint32_t outer = nested ? o.repeats : 1;
    for (uint32_t i = 0; i < outer; ++i) {
        Step* const step = Add(state, StepKind::kCopy, pipe, r.loc);
        if (step == nullptr) return;
        step->api = r.api.id;
        step->id = names;
        step->flags = static_cast<uint8_t>((store ? kStore : 0) | (bypass ? kBypass : 0) |
                                           (i > 0 ? kContinued : 0) | (o.atomic ? kAtomic : 0));
        if (i > 0) step->scalar = 0;
        step->copy.addr = placed_(o.addr) + static_cast<uint64_t>(static_cast<int64_t>(i) *
                                                                  (nested ? o.repeatStride : 0));
        step->copy.burst = o.blockBytes;
        step->copy.count = o.blocks > 1 ? o.blocks : o.repeats;
        step->copy.stride = o.blocks > 1 ? o.blockStride : o.repeatStride;
        if (step->copy.stride == static_cast<int64_t>(step->copy.burst)) {
            step->copy.burst *= step->copy.count;
            step->copy.count = 1;
        }
    }
}

void Recorder::OnInstruction(Core& core, const Record& r) {
    CoreState& state = State(core);
    if (r.pipe == Pipe::kS || r.scalarAccess) return AddScalar(state, r);
    bool copies = false, product = false;
    for (int i = 0; i < r.count; ++i) {
        const Operand& o = r.operands[i];
        if (o.mem == Mem::kGm) {
            if (r.pipe != Pipe::kV && PatternBytes(o) > 0) {
                AddCopies(state, r, o);
                copies = true;
                product = product || (r.pipe == Pipe::kFix && o.access == Access::kRead);
            }
        } else if (o.mem == Mem::kUb) {
            (o.access == Access::kRead ? trace_->ubRead : trace_->ubWritten) += PatternBytes(o);
        }
    }
    if (product) {
        Step* const step = Add(state, StepKind::kWork, Pipe::kM, r.loc);
        if (step == nullptr) return;
        step->api = r.api.id;
        costs_.FillProduct(r, step);
    }
    if (copies) return;
    Step* const step = Add(state, StepKind::kWork, r.pipe, r.loc);
    if (step == nullptr) return;
    step->api = r.api.id;
    step->id = operandNames_.Of(r, placed_, trace_.get());
    costs_.Fill(r, step);
}

void Recorder::AddSet(CoreState& state, Pipe pipe, uint32_t slot, Loc loc) {
    Step* const step = Add(state, StepKind::kSet, pipe, loc);
    if (step != nullptr) step->sync.slot = slot;
}

Step* Recorder::AddWait(CoreState& state, Pipe pipe, uint32_t slot, WaitFor what, Pipe from,
                        Loc loc) {
    Step* const step = Add(state, StepKind::kWait, pipe, loc);
    if (step == nullptr) return nullptr;
    step->sync.slot = slot;
    step->detail = static_cast<uint8_t>(static_cast<int>(what) | static_cast<int>(from) << 4);
    return step;
}

uint32_t Recorder::EffectOf(const EffectKey& key) {
    const auto next = static_cast<uint32_t>(trace_->contributors.size());
    const auto added = effects_.emplace(key, next);
    if (added.second) trace_->contributors.push_back(0);
    return added.first->second;
}

// The n-th set of a flag by a group of cores takes effect when each of them has executed its n-th.
void Recorder::CrossSet(const Core& core, CoreState& state, const SyncEvent& e) {
    const int group = e.mode == 0 ? -1 : core.group;
    const uint32_t n = state.sets[{e.mode, e.id}]++;
    const uint32_t effect =
        EffectOf({kCrossKey + 2 * e.mode, e.id, group, static_cast<int>(core.kind), n});
    Step* const step = Add(state, StepKind::kCrossSet, e.src, e.loc);
    if (step == nullptr) return;
    step->sync.effect = effect;
    ++trace_->contributors[effect];
}

void Recorder::CrossWait(const Core& core, CoreState& state, const SyncEvent& e) {
    const uint32_t n = state.waits[{0, e.id}]++;
    for (const int mode : {2, 1, 0}) {
        const int group = mode == 0 ? -1 : core.group;
        int kind = static_cast<int>(core.kind);
        if (CrossesKinds(mode)) {
            kind = static_cast<int>(core.kind == CoreKind::kAic ? CoreKind::kAiv : CoreKind::kAic);
        }
        const auto found = effects_.find({kCrossKey + 2 * mode, e.id, group, kind, n});
        if (found == effects_.end()) continue;
        Step* const step = Add(state, StepKind::kCrossWait, e.dst, e.loc);
        if (step == nullptr) return;
        step->sync.effect = found->second;
        step->detail = static_cast<uint8_t>(WaitFor::kCoreFlag);
        step->id = static_cast<uint16_t>(e.id);
        return;
    }
}

void Recorder::OnSync(Core& core, const SyncEvent& e) {
    CoreState& state = State(core);
    switch (e.kind) {
        case SyncKind::kSetFlag: {
            const uint32_t slot = NewSlot(state);
            state.flags[FlagKey(e.src, e.dst, e.id)].slots.push_back(slot);
            AddSet(state, e.src, slot, e.loc);
            return;
        }
        case SyncKind::kWaitFlag: {
            Fifo& fifo = state.flags[FlagKey(e.src, e.dst, e.id)];
            if (fifo.head == fifo.slots.size()) return;
            const uint32_t slot = fifo.slots[fifo.head++];
            if (fifo.head == fifo.slots.size()) {
                fifo.slots.clear();
                fifo.head = 0;
            }
            Step* const step = AddWait(state, e.dst, slot, WaitFor::kEvent, e.src, e.loc);
            if (step != nullptr) {
                step->id = static_cast<uint16_t>(e.id);
                if (e.src > e.dst && e.dst != Pipe::kS && e.dst != Pipe::kV)
                    step->flags |= kBackward;
                if (e.dst == Pipe::kV && e.src == Pipe::kMte3) step->flags |= kBackward;
                if (e.dst == Pipe::kMte2 && e.src == Pipe::kV) step->flags |= kBackward;
            }
            return;
        }
        case SyncKind::kPipeBarrier:
            if (e.src == Pipe::kS) return;
            Add(state, e.src == Pipe::kAll ? StepKind::kBarrierAll : StepKind::kBarrier,
                e.src == Pipe::kAll ? Pipe::kS : e.src, e.loc);
            return;
        case SyncKind::kPipeReset:
            Add(state, StepKind::kBarrierAll, Pipe::kS, e.loc);
            return;
        case SyncKind::kPassScalar: {
            const uint32_t slot = NewSlot(state);
            AddSet(state, e.src, slot, e.loc);
            AddWait(state, Pipe::kS, slot, WaitFor::kEvent, e.src, e.loc);
            return;
        }
        case SyncKind::kSyncArrive: {
            const auto scope = static_cast<size_t>(e.mode) % 3;
            if (open_[scope] == 0) {
                trace_->contributors.push_back(0);
                open_[scope] = static_cast<uint32_t>(trace_->contributors.size());
            }
            state.barrier[scope] = open_[scope];
            Step* const step = Add(state, StepKind::kSyncArrive, Pipe::kS, e.loc);
            if (step == nullptr) return;
            step->sync.effect = open_[scope] - 1;
            ++trace_->contributors[open_[scope] - 1];
            return;
        }
        case SyncKind::kSyncLeave: {
            // Who leaves first closes the barrier: all have arrived.
            const auto scope = static_cast<size_t>(e.mode) % 3;
            const uint32_t mine = state.barrier[scope];
            if (mine == 0) return;
            if (open_[scope] == mine) open_[scope] = 0;
            Step* const step = Add(state, StepKind::kSyncLeave, Pipe::kS, e.loc);
            if (step == nullptr) return;
            step->sync.effect = mine - 1;
            step->detail = static_cast<uint8_t>(WaitFor::kSyncAll);
            return;
        }
        case SyncKind::kCrossSet:
            return CrossSet(core, state, e);
        case SyncKind::kCrossWait:
            return CrossWait(core, state, e);
        case SyncKind::kBlockSet: {
            const uint32_t n = state.sets[{-1, e.id}]++;
            const uint32_t effect = EffectOf({kBlockKey, e.id, 0, 0, n});
            Step* const step = Add(state, StepKind::kCrossSet, Pipe::kMte3, e.loc);
            if (step == nullptr) return;
            step->sync.effect = effect;
            ++trace_->contributors[effect];
            return;
        }
        case SyncKind::kBlockWait: {
            const uint32_t n = state.waits[{-1, e.id}]++;
            const auto found = effects_.find({kBlockKey, e.id, 0, 0, n});
            if (found == effects_.end()) return;
            Step* const step = Add(state, StepKind::kCrossWait, Pipe::kS, e.loc);
            if (step == nullptr) return;
            step->sync.effect = found->second;
            step->detail = static_cast<uint8_t>(WaitFor::kCoreFlag);
            return;
        }
        case SyncKind::kCacheHint: {
            // The newest hint for an address counts.
            const uint64_t end = e.bytes == 0 ? ~0ull : e.addr + e.bytes;
            const bool bypass = e.mode == 0;
            for (Hint& hint : state.hints) {
                if (hint.begin != e.addr || hint.end != end) continue;
                hint.bypass = bypass;
                return;
            }
            if (bypass || !state.hints.empty()) state.hints.push_back({e.addr, end, bypass});
            return;
        }
        case SyncKind::kDirectStore:
        case SyncKind::kDirectLoad:
        case SyncKind::kCacheClean:
            state.scalar += static_cast<float>(p_.scalar_gm_miss);
            return;
        case SyncKind::kAllocEvent:
        case SyncKind::kReleaseEvent:
        case SyncKind::kFetchEvent:
            state.scalar += static_cast<float>(p_.scalar_issue);
            return;
        case SyncKind::kSyncSpace:
            return;
    }
}

void Recorder::OnBuffer(Core& core, const BufferEvent& e) {
    CoreState& state = State(core);
    const bool moves = e.kind == BufferKind::kAlloc || e.kind == BufferKind::kEnQue ||
                       e.kind == BufferKind::kDeQue || e.kind == BufferKind::kFree;
    if (!moves) return;
    state.scalar += static_cast<float>(p_.scalar_queue);
    if (e.producer == e.consumer) return;
    if (e.buffer >= state.buffers.size()) state.buffers.resize(e.buffer + 1);
    BufferSlots& slots = state.buffers[e.buffer];
    const bool sets = e.kind == BufferKind::kEnQue || e.kind == BufferKind::kFree;
    const bool filling = e.kind == BufferKind::kEnQue || e.kind == BufferKind::kDeQue;
    uint32_t& slot = filling ? slots.filled : slots.freed;
    const Pipe setter = filling ? e.producer : e.consumer;
    const Pipe waiter = filling ? e.consumer : e.producer;
    // Their scalar work is that of the queue's call.
    if (sets) {
        slot = NewSlot(state) + 1;
        AddSet(state, setter, slot - 1, e.loc);
        return;
    }
    if (slot == 0) return;
    Step* const step =
        AddWait(state, waiter, slot - 1, filling ? WaitFor::kQueue : WaitFor::kFree, setter, e.loc);
    slot = 0;
    if (step == nullptr) return;
    step->id = e.position;
    if (!filling) step->flags |= kBackward;
}

std::unique_ptr<Trace> Recorder::Take() {
    for (auto& state : states_) {
        if (!state) continue;
        trace_->cores.push_back(std::move(state->trace));
    }
    states_.clear();
    for (uint16_t id = 0; id < Api::kCount; ++id) {
        trace_->apis.emplace_back(static_cast<const char*>(Api(static_cast<Api::Id>(id))));
    }
    return std::move(trace_);
}

}  // namespace profile
}  // namespace ascendc_emu
