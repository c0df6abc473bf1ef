// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Launch, cores and the life of buffers.
#include "checker.h"

#include <algorithm>
#include <exception>

#include "ascendc_emu/sanitizer.h"
#include "core/call_names.h"
#include "device_memory.h"

namespace ascendc_emu {
namespace sanitizer {

namespace {

// Tensors of queues at the same position that are allocated and not yet freed.
int TensorsInUse(const CoreState& state, const Buffer& buffer) {
    int taken = 0;
    for (const auto& entry : state.buffers) {
        const Buffer& b = entry.second;
        taken +=
            b.queued && b.position == buffer.position && b.dstPosition == buffer.dstPosition &&
            (b.life == Life::kAllocated || b.life == Life::kEnQueued || b.life == Life::kDeQueued);
    }
    return taken;
}

// The only buffer of its queue: AllocTensor cannot hand out another one, or this one to somebody
// else.
bool AloneInQueue(const CoreState& state, const Buffer& buffer) {
    int members = 0;
    for (const auto& entry : state.buffers) {
        const Buffer& b = entry.second;
        members += b.queue == buffer.queue && b.life != Life::kGone;
    }
    return buffer.queue != 0 && members == 1;
}

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

// A tensor that only one pipe has ever used: scratch, which holds no event.
bool UsedByOnePipe(const CoreState& state, const Buffer& b) {
    const auto& shadow = state.shadow[static_cast<int>(b.mem)];
    if (b.life != Life::kAllocated || !shadow) return false;
    LocalClock used;
    shadow->Dependencies(b.addr, b.addr + b.bytes, true, &used);
    return used.at[b.producer] <= b.allocatedAt || used.at[b.consumer] <= b.allocatedAt;
}

// Whether any tensor of the buffer's queue has been enqueued, or freed.
bool Travels(const CoreState& state, const Buffer& buffer) {
    return std::any_of(state.buffers.begin(), state.buffers.end(), [&](const auto& entry) {
        return entry.second.queue == buffer.queue && (entry.second.enqueued || entry.second.freed);
    });
}

// A buffer that goes away while a tensor of it is in use.
void Checker::ReportLeak(const CoreState& state, const Buffer& buffer) {
    if (!buffer.queued || buffer.life == Life::kFree || buffer.life == Life::kGone) return;
    // A trapped block is unwound: its TPipe goes away in the middle of its work.
    if (std::uncaught_exceptions() > 0) return;
    bool inQueue = buffer.life == Life::kEnQueued;
    Finding f = Start(state, "ErrorLeak", inQueue ? "EnQue" : "AllocTensor",
                      inQueue ? buffer.last : buffer.allocated);
    const bool dequeued = buffer.life == Life::kDeQueued;
    std::string tensor = TensorNameAt(buffer.last, inQueue    ? "EnQue"
                                                   : dequeued ? "DeQue"
                                                              : "AllocTensor");
    if (tensor.empty()) tensor = TensorNameAt(buffer.allocated, "AllocTensor");
    const std::string queue = QueueNameAt(buffer.allocated, buffer.declared);
    f.name = tensor;
    f.what = tensor.empty() ? "a tensor" : "tensor '" + tensor + "'";
    f.what += " of the " + (queue.empty() ? "" : "queue '" + queue + "', a ") + BufferText(buffer);
    f.what += queue.empty() ? "" : ",";
    if (inQueue) {
        f.what += " was enqueued but never dequeued and freed";
    } else if (dequeued) {
        f.what +=
            Format(" was allocated, and dequeued in line %u, but not freed", buffer.last.line);
    } else {
        f.what += " was allocated but not freed";
    }
    f.why = "AllocTensor without FreeTensor keeps a buffer and an event of the queue for ever";
    // A queue that vector instructions fill and drain themselves has no event to lose.
    // A queue that no tensor passes is a plain buffer, taken once for the whole kernel.
    f.warning = !inQueue && (buffer.producer == buffer.consumer || UsedByOnePipe(state, buffer) ||
                             !Travels(state, buffer));
    f.fix = inQueue ? "DeQue the tensor and FreeTensor it before the kernel ends"
                    : "call FreeTensor on the queue once the tensor is no longer needed";
    Findings::Instance().Add(f);
}

// A freed tensor was used, and now its memory is given to the next one: what FreeTensor announced
// does not cover that use.
void Checker::ReportStaleUses(const CoreState& state, Buffer& buffer) {
    const PipeClock known = state.Release(buffer.producer);
    const Limits limits = state.LimitsFor(buffer.producer);
    for (StaleUse& use : buffer.stale) {
        if (known.local.at[use.pipe] >= use.seq || limits.waw[use.pipe] == kForever) continue;
        use.finding.warning = false;
        Findings::Instance().Add(use.finding);
    }
    buffer.stale.clear();
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

void Checker::OnBuffer(Core& core, const BufferEvent& e) {
    CoreState& state = State(core);
    if (e.kind == BufferKind::kRelease) {
        for (auto& entry : state.buffers) {
            Buffer& b = entry.second;
            if (e.buffer != 0 && entry.first != e.buffer) continue;
            // A pool releases its range, a pipe everything.
            if (e.bytes != 0 && (b.mem != e.mem || b.addr < e.addr || b.addr >= e.addr + e.bytes)) {
                continue;
            }
            ReportLeak(state, b);
            b.life = Life::kGone;
        }
        return;
    }
    if (e.kind == BufferKind::kPointer) {
        TakePointer(state, e.addr, e.addr + e.bytes);
        if (!state.glimpses.empty()) LookThroughPointers(state);
        return;
    }
    if (e.buffer == 0) return;
    // Kernels that program with bare addresses may make a tensor per instruction. Their bounds
    // travel with the operands; only where the first ones were made is worth remembering.
    if (e.kind == BufferKind::kRaw && ++state.rawBuffers > 1024) return;
    Buffer& b = state.buffers[e.buffer];
    auto misuse = [&](const char* check, const char* op, const std::string& what, const char* why,
                      const char* fix) {
        Finding f = Start(state, check, op, e.loc);
        f.what = what;
        f.why = why;
        f.fix = fix;
        Findings::Instance().Add(f);
    };
    switch (e.kind) {
        case BufferKind::kInit:
        case BufferKind::kInitBuf:
        case BufferKind::kInitPool:
        case BufferKind::kRaw:
            b = Buffer();
            b.queued = e.kind == BufferKind::kInit;
            b.placed = e.kind != BufferKind::kRaw;
            b.life = b.queued ? Life::kFree : Life::kPlain;
            b.mem = e.mem;
            b.position = e.position;
            b.dstPosition = e.dstPosition;
            b.queue = e.queue;
            b.producer = Dense(e.producer);
            b.consumer = Dense(e.consumer);
            b.addr = e.addr;
            b.bytes = e.bytes;
            b.declared = b.last = e.loc;
            if (e.kind != BufferKind::kRaw) {
                state.Shadow(e.mem).SetInitialised(e.addr, e.addr + e.bytes, false);
                DropPointers(state, e.mem, e.addr, e.addr + e.bytes);
            }
            return;
        case BufferKind::kAlloc:
            if (b.life == Life::kGone) return;
            b.life = Life::kAllocated;
            b.last = b.allocated = e.loc;
            b.allocatedAt = state.seq;
            state.Acquire(Dense(e.producer), b.drained);
            ReportStaleUses(state, b);
            // A lone buffer still holds its last tile, and public kernels go on computing with
            // that.
            if (GetOptions().freedTensorIsError || !AloneInQueue(state, b)) {
                state.Shadow(b.mem).SetInitialised(b.addr, b.addr + b.bytes, false);
                DropPointers(state, b.mem, b.addr, b.addr + b.bytes);
            }
            if (b.producer != b.consumer && TensorsInUse(state, b) > kEventIds) {
                misuse("EventId", "AllocTensor",
                       Format("%d tensors of %s queues are in use at once", TensorsInUse(state, b),
                              PositionName(b.position)),
                       "every one of them holds one of the 8 event ids of its two pipes",
                       "free tensors earlier, or let several tensors share one buffer");
            }
            return;
        case BufferKind::kEnQue:
            if (e.queue != 0 && b.queue != 0 && e.queue != b.queue) {
                misuse("ErrorBuffer1", "EnQue",
                       "EnQue of a tensor that belongs to the " + BufferText(b),
                       "a tensor can only travel through the queue it was allocated from",
                       "EnQue it to the queue whose AllocTensor made it");
            } else if (b.queued && b.life != Life::kAllocated && b.life != Life::kDeQueued) {
                misuse("ErrorBuffer2", "EnQue",
                       std::string("EnQue of a tensor that is ") +
                           (b.life == Life::kEnQueued ? "already in the queue" : "not allocated"),
                       "EnQue is legal after AllocTensor or DeQue only",
                       "keep the order AllocTensor, EnQue, DeQue, FreeTensor");
            }
            b.life = Life::kEnQueued;
            b.enqueued = true;
            b.last = e.loc;
            b.filled = state.ReleaseByQueue(Dense(e.producer));
            return;
        case BufferKind::kDeQue:
            b.life = Life::kDeQueued;
            b.last = e.loc;
            state.Acquire(Dense(e.consumer), b.filled);
            return;
        case BufferKind::kFree:
            if (e.queue != 0 && b.queue != 0 && e.queue != b.queue) {
                misuse("ErrorBuffer1", "FreeTensor",
                       "FreeTensor of a tensor that belongs to the " + BufferText(b),
                       "a tensor must be freed by the queue it was allocated from",
                       "FreeTensor it with the queue whose AllocTensor made it");
            } else if (b.life == Life::kFree) {
                misuse("ErrorFree", "FreeTensor", "tensor of the " + BufferText(b) + " freed twice",
                       "the second FreeTensor sets the queue's event again",
                       "free each allocated tensor once");
            } else if (b.life == Life::kEnQueued) {
                misuse("ErrorBuffer2", "FreeTensor", "FreeTensor of a tensor still in the queue",
                       "the consumer has not taken it out, so nothing waits for the producer",
                       "DeQue it first");
            }
            b.life = Life::kFree;
            b.freed = true;
            b.last = e.loc;
            b.drained = state.ReleaseByQueue(Dense(e.consumer));
            return;
        case BufferKind::kGet:
        case BufferKind::kPointer:
        case BufferKind::kRelease:
            return;
    }
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
