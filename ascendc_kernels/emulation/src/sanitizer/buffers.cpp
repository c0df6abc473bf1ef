// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The life of buffers: what InitBuffer and queues do with them, who uses them when, and what is
// never freed.
#include <algorithm>
#include <exception>

#include "checker.h"
#include "core/call_names.h"

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

Buffer DeclaredBuffer(const BufferEvent& e) {
    Buffer b;
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
    return b;
}

bool OfAnotherQueue(const BufferEvent& e, const Buffer& b) {
    return e.queue != 0 && b.queue != 0 && e.queue != b.queue;
}

}  // namespace

void Checker::OnBuffer(Core& core, const BufferEvent& e) {
    CoreState& state = State(core);
    if (e.kind == BufferKind::kRelease) return ReleaseBuffers(state, e);
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
    switch (e.kind) {
        case BufferKind::kInit:
        case BufferKind::kInitBuf:
        case BufferKind::kInitPool:
        case BufferKind::kRaw:
            b = DeclaredBuffer(e);
            if (b.placed) ClearData(state, b);
            return;
        case BufferKind::kAlloc:
            return OnAlloc(state, e, b);
        case BufferKind::kEnQue:
            return OnEnQue(state, e, b);
        case BufferKind::kDeQue:
            b.life = Life::kDeQueued;
            b.last = e.loc;
            return state.Acquire(Dense(e.consumer), b.filled);
        case BufferKind::kFree:
            return OnFree(state, e, b);
        case BufferKind::kGet:
        case BufferKind::kPointer:
        case BufferKind::kRelease:
            return;
    }
}

void Checker::ReleaseBuffers(CoreState& state, const BufferEvent& e) {
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
}

// What lies in the buffer from before is nobody's data any more.
void Checker::ClearData(CoreState& state, const Buffer& b) {
    state.Shadow(b.mem).SetInitialised(b.addr, b.addr + b.bytes, false);
    DropPointers(state, b.mem, b.addr, b.addr + b.bytes);
}

void Checker::OnAlloc(CoreState& state, const BufferEvent& e, Buffer& b) {
    if (b.life == Life::kGone) return;
    b.life = Life::kAllocated;
    b.last = b.allocated = e.loc;
    b.allocatedAt = state.seq;
    state.Acquire(Dense(e.producer), b.drained);
    ReportStaleUses(state, b);
    // A lone buffer still holds its last tile, and public kernels go on computing with that.
    if (GetOptions().freedTensorIsError || !AloneInQueue(state, b)) ClearData(state, b);
    if (b.producer != b.consumer && TensorsInUse(state, b) > kEventIds) {
        Findings::Instance().Add(
            Start(state, "EventId", "AllocTensor", e.loc,
                  {Format("%d tensors of %s queues are in use at once", TensorsInUse(state, b),
                          PositionName(b.position)),
                   "every one of them holds one of the 8 event ids of its two pipes",
                   "free tensors earlier, or let several tensors share one buffer"}));
    }
}

void Checker::OnEnQue(CoreState& state, const BufferEvent& e, Buffer& b) {
    if (OfAnotherQueue(e, b)) {
        Findings::Instance().Add(
            Start(state, "ErrorBuffer1", "EnQue", e.loc,
                  {"EnQue of a tensor that belongs to the " + BufferText(b),
                   "a tensor can only travel through the queue it was allocated from",
                   "EnQue it to the queue whose AllocTensor made it"}));
    } else if (b.queued && b.life != Life::kAllocated && b.life != Life::kDeQueued) {
        Findings::Instance().Add(
            Start(state, "ErrorBuffer2", "EnQue", e.loc,
                  {std::string("EnQue of a tensor that is ") +
                       (b.life == Life::kEnQueued ? "already in the queue" : "not allocated"),
                   "EnQue is legal after AllocTensor or DeQue only",
                   "keep the order AllocTensor, EnQue, DeQue, FreeTensor"}));
    }
    b.life = Life::kEnQueued;
    b.enqueued = true;
    b.last = e.loc;
    b.filled = state.ReleaseByQueue(Dense(e.producer));
}

void Checker::OnFree(CoreState& state, const BufferEvent& e, Buffer& b) {
    if (OfAnotherQueue(e, b)) {
        Findings::Instance().Add(
            Start(state, "ErrorBuffer1", "FreeTensor", e.loc,
                  {"FreeTensor of a tensor that belongs to the " + BufferText(b),
                   "a tensor must be freed by the queue it was allocated from",
                   "FreeTensor it with the queue whose AllocTensor made it"}));
    } else if (b.life == Life::kFree) {
        Findings::Instance().Add(Start(state, "ErrorFree", "FreeTensor", e.loc,
                                       {"tensor of the " + BufferText(b) + " freed twice",
                                        "the second FreeTensor sets the queue's event again",
                                        "free each allocated tensor once"}));
    } else if (b.life == Life::kEnQueued) {
        Findings::Instance().Add(
            Start(state, "ErrorBuffer2", "FreeTensor", e.loc,
                  {"FreeTensor of a tensor still in the queue",
                   "the consumer has not taken it out, so nothing waits for the producer",
                   "DeQue it first"}));
    }
    b.life = Life::kFree;
    b.freed = true;
    b.last = e.loc;
    b.drained = state.ReleaseByQueue(Dense(e.consumer));
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

void Checker::CheckLife(Step& step, const Operand& o) {
    const Record& r = step.record;
    const Buffer* known = step.state.FindBuffer(o.buffer);
    if (!known) return;
    const Buffer& b = *known;
    if (b.life == Life::kAllocated) CheckQueueSkipped(step, o, b);
    if (b.life == Life::kAllocated || b.life == Life::kDeQueued || b.life == Life::kPlain) return;
    bool writes = Writes(r, o);
    uint64_t begin, end;
    Extent(r, o, &begin, &end);
    // After Destroy or Reset the addresses are as good as before, until InitBuffer gives them away.
    if (b.life == Life::kGone && !step.state.GivenAway(o.buffer, begin, end)) return;
    Finding f = Start(step.state, writes ? "ErrorWrite1" : "ErrorRead1", r.op, r.loc);
    f.pipe = PipeName(step.pipe);
    Describe(step.state, o, begin, end, &f);
    f.hasOther = b.last.file != nullptr;
    f.other.file = b.last.file ? b.last.file : "";
    f.other.line = b.last.line;
    switch (b.life) {
        case Life::kFree:
            f.what =
                Format("%s of %s is a tensor that is not allocated: it was freed", o.role, r.op);
            f.why = "after FreeTensor the next AllocTensor hands the memory to another tile";
            f.fix = "use the tensor before FreeTensor";
            f.other.op = "FreeTensor";
            f.other.access = "freed";
            RememberStaleUse(step, o, writes, &f);
            break;
        case Life::kGone:
            f.what = Format(
                "%s of %s lies in a buffer that TPipe or TBufPool has released and given "
                "to another",
                o.role, r.op);
            f.why = "after Reset and Destroy the next InitBuffer gets the memory";
            f.fix = "get the tensor again after the new InitBuffer";
            f.hasOther = false;
            break;
        default: {
            bool byProducer = step.pipe == b.producer;
            if (!writes && (byProducer || b.producer == b.consumer)) return;
            f.check = "ErrorBuffer2";
            f.what = Format("%s of %s is a tensor that is in the queue", o.role, r.op);
            f.why =
                "between EnQue and DeQue a tensor belongs to the queue; nothing orders this "
                "access after the producer";
            f.fix = "DeQue the tensor before using it";
            f.other.op = "EnQue";
            f.other.access = "enqueued";
        }
    }
    Findings::Instance().Add(f);
}

// FreeTensor only lets the producer go on: its memory is still there, and a kernel that allocates
// no more from the queue is none the worse for using it. It is an error once the memory is given
// away (ReportStaleUses), and at once where it writes over what the consumer may still be reading.
void Checker::RememberStaleUse(const Step& step, const Operand& o, bool writes, Finding* finding) {
    Buffer& b = step.state.buffers[o.buffer];
    const auto consumed = b.drained.local.at[b.consumer];
    const bool races = writes && step.pipe != b.consumer &&
                       step.state.clock[step.pipe].local.at[b.consumer] < consumed &&
                       step.state.LimitsFor(step.pipe).war[b.consumer] != kForever;
    finding->warning = !races && b.freed && !GetOptions().freedTensorIsError;
    if (!finding->warning) return;
    b.stale.push_back({step.pipe, step.me.Seq(), *finding});
    if (b.stale.size() > 64) b.stale.erase(b.stale.begin());
}

// A tensor that its consumer uses between AllocTensor and EnQue. With flags or barriers of the
// kernel's own that is right; where only the queue of another tensor orders the two pipes, it is
// luck.
void Checker::CheckQueueSkipped(Step& step, const Operand& o, const Buffer& b) {
    if (!Reads(o) || !b.queued || step.pipe != b.consumer || b.producer == b.consumer) return;
    const Record& r = step.record;
    CoreState& state = step.state;
    const LocalShadow& shadow = state.Shadow(o.mem);
    LocalClock written;
    uint64_t first = ~uint64_t{0};
    ForEachSpan(r, o, [&](uint64_t at, uint64_t bytes) {
        first = std::min(first, at);
        shadow.Dependencies(at, at + bytes, false, &written);
    });
    const uint64_t filled = written.at[b.producer];
    const PipeClock& clock = state.clock[step.pipe];
    if (filled <= clock.manual.at[b.producer] || filled > clock.local.at[b.producer]) return;
    Finding f = Start(state, "ErrorBuffer2", r.op, r.loc);
    f.pipe = PipeName(step.pipe);
    uint64_t begin, end;
    Extent(r, o, &begin, &end);
    Describe(state, o, begin, end, &f);
    const Epoch writer = shadow.Writer(first);
    if (writer.Pipe() == b.producer) SetOther(writer, "write", &f);
    f.what = Format("%s of %s is a tensor of the %s that has not been through its queue", o.role,
                    r.op, BufferText(b).c_str());
    f.why = Format("pipe %s waits for pipe %s here only because another tensor was dequeued",
                   PipeName(step.pipe), PipeName(b.producer));
    f.fix = "EnQue the tensor once it is filled and DeQue it before this";
    Findings::Instance().Add(f);
}

}  // namespace sanitizer
}  // namespace ascendc_emu
