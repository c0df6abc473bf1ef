// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Queues and buffers of TPipe: their tensors, states and the events they take.
#include <map>
#include <string>

#include "core/call_names.h"
#include "core/pipe_rules.h"
#include "core/scheduler.h"

namespace ascendc_emu {
namespace {

using AscendC::TBufState;
using AscendC::TPosition;

// Pipes that fill and drain a buffer on its way from src to dst.
PipePair Flow(TPosition src, TPosition dst) {
    if (dst == TPosition::TSCM) {
        return {src == TPosition::GM ? Pipe::kMte2 : Pipe::kMte3, Pipe::kMte1};
    }
    if (src != dst) {
        if (src == TPosition::VECIN && dst == TPosition::VECOUT) return {Pipe::kMte2, Pipe::kMte3};
        if (src == TPosition::GM) src = dst;
        if (dst == TPosition::GM && src == TPosition::VECOUT) dst = src;
    }
    switch (src) {
        case TPosition::VECIN:
            return {Pipe::kMte2, Pipe::kV};
        case TPosition::VECOUT:
            return {Pipe::kV, Pipe::kMte3};
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
            return {Pipe::kMte2, Pipe::kMte1};
        case TPosition::A2:
        case TPosition::B2:
        case TPosition::C2:
            return {Pipe::kMte1, Pipe::kM};
        case TPosition::CO1:
            return {Pipe::kM, IsUnified() ? Pipe::kV : Pipe::kFix};
        case TPosition::CO2:
            return {Pipe::kV, IsUnified() ? Pipe::kMte3 : Pipe::kV};
        case TPosition::C2PIPE2GM:
            return {Pipe::kMte1, Pipe::kFix};
        default:
            return {Pipe::kV, Pipe::kV};
    }
}

// Positions that a call names count for that call.
PipePair FlowOf(const QueueState& q, UserPositions user = {}) {
    return user.src == TPosition::MAX
               ? Flow(static_cast<TPosition>(q.src), static_cast<TPosition>(q.dst))
               : Flow(user.src, user.dst);
}

TensorRef Tensor(const Core& core, const QueueState& q, uint32_t index) {
    TensorRef t;
    t.addr = q.addr + index * q.stride;
    t.size = q.bytes;
    t.lo = t.addr;
    t.hi = t.addr + q.bytes;
    t.buffer = q.firstBuffer + index;
    t.queue = q.queue;
    t.mem = q.mem;
    t.pos = q.src;
    t.ptr = core.memory[static_cast<int>(q.mem)] + t.addr;
    return t;
}

void RequireInit(Core& core, const QueueState& q, const char* op, Loc loc) {
    if (q.queue == 0) {
        TrapCheck(core, loc, "ErrorBuffer0", op, "call pipe.InitBuffer(queue, number, bytes) first",
                  "the queue or buffer was never initialised");
    }
}

// A tensor of a queue or buffer that reaches past the end of its memory makes of InitBuffer's
// warning an error: the next tile or the next larger input will touch what is not there.
void RequirePlace(Core& core, const QueueState& q) {
    if (__builtin_expect(q.pastEnd.file == nullptr, 1)) return;
    Complain(core, q.pastEnd, "InitBuffer", "InitBuffer", "use smaller tiles or fewer buffers",
             "%s overflow: %u buffers of %u bytes from byte %u on, %u there are, and the kernel "
             "uses them",
             Name(q.mem), q.number, q.bytes, q.addr, SizeOf(core, q.mem));
}

// EnQue and FreeTensor take the lowest free event id and set it, DeQue and AllocTensor wait for it
// and give it back. Ids the kernel names itself can collide with those. Returns the id plus one, 0:
// none.
uint8_t TakeQueueEvent(const Core& core, Pipe src, Pipe dst) {
    const int event = core.pipe != nullptr && src != dst ? EventOf(src, dst) : -1;
    if (event < 0) return 0;
    for (uint8_t id = 0; id < kEventIds; ++id) {
        const uint8_t bit = static_cast<uint8_t>(1u << id);
        if (core.pipe->events[event] & bit) continue;
        core.pipe->events[event] |= bit;
        core.pipe->queueEvents[event] |= bit;
        return static_cast<uint8_t>(id + 1);
    }
    return 0;  // EventId reports that there are none left
}

void GiveQueueEvent(const Core& core, Pipe src, Pipe dst, uint8_t* taken) {
    if (*taken == 0 || core.pipe == nullptr) return;
    const int event = EventOf(src, dst);
    const uint8_t mask = static_cast<uint8_t>(~(1u << (*taken - 1)));
    core.pipe->events[event] &= mask;
    core.pipe->queueEvents[event] &= mask;
    *taken = 0;
}

// Index of the buffer a tensor lies in, -1 if it is not one of this queue's.
int IndexOf(const QueueState& q, const TensorRef& t) {
    const uint32_t i = t.buffer - q.firstBuffer;
    if (t.queue == q.queue && i < q.number) return static_cast<int>(i);
    return -1;
}

// The queue a tensor was allocated from, null when there is none any more.
QueueState* OwnerOf(const Core& core, const TensorRef& t) {
    QueueState* const q = t.queue == 0 ? nullptr : core.queues[t.queue % kRememberedQueues];
    return q != nullptr && IndexOf(*q, t) >= 0 ? q : nullptr;
}

std::string Quoted(const std::string& name) { return "'" + name + "'"; }

// Who holds the buffers of a queue that has none left, for the reader to see where a FreeTensor is
// missing: "'xLocal', which line 40 dequeued, is not freed".
std::string Holders(const QueueState& q) {
    std::map<std::string, int> counts;
    for (uint32_t i = 0; i < q.number; ++i) {
        const bool enqueued = q.state[i] == static_cast<uint8_t>(TBufState::ENQUE);
        const bool dequeued = q.state[i] == static_cast<uint8_t>(TBufState::DEQUE);
        const char* const method = enqueued ? "EnQue" : dequeued ? "DeQue" : "AllocTensor";
        const Loc loc = q.last[i];
        const std::string name = TensorNameAt(loc, method);
        std::string text = name.empty() ? "a tensor" : Quoted(name);
        text += ", which line " + std::to_string(loc.line) +
                (enqueued   ? " enqueued"
                 : dequeued ? " dequeued"
                            : " allocated");
        text += enqueued   ? ", is not dequeued"
                : dequeued ? ", is not freed"
                           : ", is neither enqueued nor freed";
        ++counts[text];
    }
    std::string all;
    for (const auto& entry : counts) {
        if (!all.empty()) all += "; ";
        all += entry.first;
        if (entry.second > 1) all += " (" + std::to_string(entry.second) + " times)";
    }
    return all;
}

// "queue 'inQueueX'", or "queue" when the source does not tell.
std::string QueueName(const QueueState& q, Loc alloc) {
    const std::string name = QueueNameAt(alloc, q.declared);
    return name.empty() ? "queue" : "queue " + Quoted(name);
}

}  // namespace

BufferEvent QueueEvent(BufferKind kind, const QueueState& q, uint32_t index, Loc loc,
                       UserPositions user) {
    BufferEvent e;
    const PipePair flow = FlowOf(q, user);
    e.kind = kind;
    e.mem = q.mem;
    e.position = q.src;
    e.dstPosition = q.dst;
    e.buffer = q.firstBuffer + index;
    e.queue = q.queue;
    e.addr = q.addr + static_cast<uint64_t>(index) * q.stride;
    e.bytes = q.bytes;
    e.producer = flow.src;
    e.consumer = flow.dst;
    e.depth = q.depth;
    e.number = q.number;
    e.loc = loc;
    return e;
}

TensorRef QueueAlloc(QueueState& q, Loc loc) {
    Core& core = Current();
    RequireInit(core, q, "AllocTensor", loc);
    RequirePlace(core, q);
    uint32_t index = q.number;
    for (uint32_t i = 0; i < q.number; ++i) {
        const uint32_t k = (q.cursor + i) % q.number;
        if (q.state[k] == static_cast<uint8_t>(TBufState::FREE)) {
            index = k;
            break;
        }
    }
    if (index == q.number) {
        TrapCheck(core, loc, "ErrorBuffer2", "AllocTensor",
                  "free a tensor of the queue first (FreeTensor), or give InitBuffer more buffers",
                  "all %u buffers of the %s are in use: %s", q.number,
                  QueueName(q, Where(core, loc)).c_str(), Holders(q).c_str());
    }
    q.cursor = static_cast<uint8_t>((index + 1) % q.number);
    q.state[index] = static_cast<uint8_t>(TBufState::OCCUPIED);
    q.last[index] = Where(core, loc);
    ++q.used;
    NoteTile(core, q.queue);
    if (core.sink) {
        const PipePair flow = FlowOf(q);
        GiveQueueEvent(core, flow.dst, flow.src, &q.freedId[index]);
        core.sink->OnBuffer(core, QueueEvent(BufferKind::kAlloc, q, index, Where(core, loc)));
    }
    return Tensor(core, q, index);
}

void QueueFree(QueueState& q, TensorRef& tensor, Loc loc) {
    Core& core = Current();
    RequireInit(core, q, "FreeTensor", loc);
    const int index = IndexOf(q, tensor);
    if (index < 0) {
        QueueState* const owner = OwnerOf(core, tensor);
        const bool alike = owner != nullptr && owner->src == q.src && owner->dst == q.dst;
        (alike ? Warn : Complain)(core, loc, "ErrorBuffer1", "FreeTensor",
                                  "free a tensor through the queue it came from",
                                  "the tensor does not belong to this queue%s",
                                  alike ? ", but to one between the same positions" : "");
        // A buffer holds its state and events itself: a queue of the same kind frees it as well as
        // its own. Another kind sets an event that AllocTensor does not wait for.
        if (alike) QueueFree(*owner, tensor, loc);
        return;
    }
    // The sink knows the state itself and reports a double free.
    if (core.sink) {
        core.sink->OnBuffer(
            core, QueueEvent(BufferKind::kFree, q, static_cast<uint32_t>(index), Where(core, loc)));
        const PipePair flow = FlowOf(q);
        if (q.freedId[index] == 0) q.freedId[index] = TakeQueueEvent(core, flow.dst, flow.src);
    }
    if (q.state[index] != static_cast<uint8_t>(TBufState::FREE)) {
        q.state[index] = static_cast<uint8_t>(TBufState::FREE);
        if (q.used > 0) --q.used;
    }
}

namespace {

// One tensor more than the queue has buffers. The device looks at nothing: the tensor takes the
// place of the oldest, and the event id of that one is never given back. Kernels that dequeue too
// seldom get by until there is no id left to set.
void Overrun(Core& core, QueueState& q, Loc loc) {
    if (++q.forgotten >= kEventIds) {
        TrapCheck(core, loc, "EventId", "EnQue", "DeQue each tensor that was enqueued",
                  "%d tensors were enqueued and never dequeued: each holds one of the %d event ids "
                  "of its pipes",
                  kEventIds, kEventIds);
    }
    Complain(core, loc, "ErrorBuffer2", "EnQue", "dequeue before enqueueing again",
             "the queue already holds all of its %u buffers: the device forgets the oldest",
             q.number);
    q.head = static_cast<uint8_t>((q.head + 1) % kMaxQueueBuffers);
    --q.queued;
}

}  // namespace

void QueueEnQue(QueueState& q, const TensorRef& tensor, Loc loc, UserPositions user) {
    Core& core = Current();
    RequireInit(core, q, "EnQue", loc);
    const int index = IndexOf(q, tensor);
    if (index < 0) {
        TrapCheck(core, loc, "ErrorBuffer1", "EnQue",
                  "enqueue a tensor that AllocTensor of this queue gave",
                  "the tensor does not belong to this queue");
    }
    if (core.sink) {
        core.sink->OnBuffer(core, QueueEvent(BufferKind::kEnQue, q, static_cast<uint32_t>(index),
                                             Where(core, loc), user));
        const PipePair flow = FlowOf(q, user);
        if (q.filledId[index] == 0) q.filledId[index] = TakeQueueEvent(core, flow.src, flow.dst);
        if (q.depth > 0 && q.queued >= static_cast<uint32_t>(q.depth) && q.queued < q.number) {
            Complain(core, loc, "ErrorBuffer2", "EnQue",
                     "DeQue in between, or declare the queue deeper",
                     "%u tensors are in a queue of depth %d: the device loses one", q.queued + 1u,
                     q.depth);
        }
    }
    if (q.queued >= q.number) Overrun(core, q, loc);
    q.fifo[(q.head + q.queued) % kMaxQueueBuffers] = static_cast<uint8_t>(index);
    ++q.queued;
    q.state[index] = static_cast<uint8_t>(TBufState::ENQUE);
    q.last[index] = Where(core, loc);
}

TensorRef QueueDeQue(QueueState& q, Loc loc, UserPositions user) {
    Core& core = Current();
    RequireInit(core, q, "DeQue", loc);
    if (q.queued == 0) {
        // A queue of depth 1 remembers one tensor: the device gives it again, and waits for
        // nothing.
        const uint32_t last = q.fifo[(q.head + kMaxQueueBuffers - 1) % kMaxQueueBuffers];
        if (q.depth == 1 && q.state[last] == static_cast<uint8_t>(TBufState::DEQUE)) {
            Complain(core, loc, "ErrorBuffer2", "DeQue",
                     "EnQue the tensor again before the next DeQue",
                     "the queue is empty: the device gives its last tensor again without waiting "
                     "for it");
            return Tensor(core, q, last);
        }
        TrapCheck(core, loc, "ErrorBuffer2", "DeQue", "EnQue a tensor before DeQue",
                  "the queue is empty: the device would wait for ever");
    }
    const uint32_t index = q.fifo[q.head];
    q.head = static_cast<uint8_t>((q.head + 1) % kMaxQueueBuffers);
    --q.queued;
    q.state[index] = static_cast<uint8_t>(TBufState::DEQUE);
    q.last[index] = Where(core, loc);
    if (core.sink) {
        const PipePair flow = FlowOf(q, user);
        GiveQueueEvent(core, flow.src, flow.dst, &q.filledId[index]);
        core.sink->OnBuffer(core, QueueEvent(BufferKind::kDeQue, q, index, Where(core, loc), user));
    }
    return Tensor(core, q, index);
}

TensorRef BufGet(const QueueState& q, uint32_t offset, uint32_t bytes, bool whole, Loc loc) {
    Core& core = Current();
    if (q.queue == 0) {
        // On the device this only makes a tensor; kernels do so for all types and use it for some.
        Warn(core, loc, "ErrorBuffer0", "TBuf::Get", "call pipe.InitBuffer(buffer, bytes) first",
             "the buffer was never initialised: its tensor must not be used");
        core.nowhere = Where(core, loc);
        TensorRef t;
        t.addr = core.capacity[static_cast<int>(t.mem)];  // RequireInitialised knows it by that
        t.ptr = core.memory[static_cast<int>(t.mem)] + t.addr;
        return t;
    }
    RequirePlace(core, q);
    TensorRef t = Tensor(core, q, 0);
    if (!whole) {
        if (static_cast<uint64_t>(offset) + bytes > q.bytes) {
            // The device makes the tensor all the same: what it uses behind the buffer is the
            // error.
            Warn(core, loc, "ErrorBuffer3", "TBuf::Get",
                 "enlarge the buffer or take fewer elements",
                 "bytes %u..%u of a buffer of %u bytes", offset, offset + bytes, q.bytes);
        }
        t.addr += offset;
        t.ptr += offset;
        t.size = bytes;
    }
    if (core.sink) {
        BufferEvent e = QueueEvent(BufferKind::kGet, q, 0, Where(core, loc));
        e.addr = t.addr;
        e.bytes = t.size;
        core.sink->OnBuffer(core, e);
    }
    return t;
}

}  // namespace ascendc_emu
