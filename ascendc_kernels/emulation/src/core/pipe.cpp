// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Rules of TPipe, queues, buffers and events.
#include "ascendc_emu/pipe.h"

#include <array>

#include "core/scheduler.h"

namespace ascendc_emu {
namespace {

using AscendC::TBufState;
using AscendC::TPosition;

uint32_t Align32(uint32_t n) { return (n + 31) / 32 * 32; }

// Bytes of a memory on this SoC, whether or not this core has it: both halves of a mixed kernel run
// the same InitBuffer calls.
uint32_t SizeOf(const Core& core, Mem mem)
{
    const SocInfo& s = *core.soc;
    switch (mem) {
        case Mem::kUb: return s.ubBytes;
        case Mem::kL1: return s.l1Bytes;
        case Mem::kL0a: return s.l0aBytes;
        case Mem::kL0b: return s.l0bBytes;
        case Mem::kL0c: return s.l0cBytes;
        case Mem::kBt: return s.btBytes;
        case Mem::kFb: return s.fbBytes;
        default: return ~0u;
    }
}

// Unified cores (arch 2002) move results of the cube to UB, by the vector unit.
bool IsUnified() { return Current().soc->arch == 2002; }
Mem MemoryOf(TPosition pos) { return MemOf(pos, IsUnified()); }

// Pipes that fill and drain a buffer on its way from src to dst.
PipePair Flow(TPosition src, TPosition dst)
{
    if (dst == TPosition::TSCM) {
        return {src == TPosition::GM ? Pipe::kMte2 : Pipe::kMte3, Pipe::kMte1};
    }
    if (src != dst) {
        if (src == TPosition::VECIN && dst == TPosition::VECOUT) return {Pipe::kMte2, Pipe::kMte3};
        if (src == TPosition::GM) src = dst;
        if (dst == TPosition::GM && src == TPosition::VECOUT) dst = src;
    }
    switch (src) {
        case TPosition::VECIN: return {Pipe::kMte2, Pipe::kV};
        case TPosition::VECOUT: return {Pipe::kV, Pipe::kMte3};
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1: return {Pipe::kMte2, Pipe::kMte1};
        case TPosition::A2:
        case TPosition::B2:
        case TPosition::C2: return {Pipe::kMte1, Pipe::kM};
        case TPosition::CO1: return {Pipe::kM, IsUnified() ? Pipe::kV : Pipe::kFix};
        case TPosition::CO2: return {Pipe::kV, IsUnified() ? Pipe::kMte3 : Pipe::kV};
        case TPosition::C2PIPE2GM: return {Pipe::kMte1, Pipe::kFix};
        default: return {Pipe::kV, Pipe::kV};
    }
}

// Positions that a call names count for that call.
PipePair FlowOf(const QueueState& q, UserPositions user = {})
{
    return user.src == TPosition::MAX ? Flow(static_cast<TPosition>(q.src), static_cast<TPosition>(q.dst))
                                      : Flow(user.src, user.dst);
}

BufferEvent Event(BufferKind kind, const QueueState& q, uint32_t index, Loc loc, UserPositions user = {})
{
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

TensorRef Tensor(const Core& core, const QueueState& q, uint32_t index)
{
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

void RequireInit(Core& core, const QueueState& q, const char* op, Loc loc)
{
    if (q.queue == 0) {
        TrapCheck(core, loc, "ErrorBuffer0", op, "call pipe.InitBuffer(queue, number, bytes) first",
                  "the queue or buffer was never initialised");
    }
}

// A tensor of a queue or buffer that reaches past the end of its memory makes of InitBuffer's warning
// an error: the next tile or the next larger input will touch what is not there.
void RequirePlace(Core& core, const QueueState& q)
{
    if (__builtin_expect(q.pastEnd.file == nullptr, 1)) return;
    Complain(core, q.pastEnd, "InitBuffer", "InitBuffer", "use smaller tiles or fewer buffers",
             "%s overflow: %u buffers of %u bytes from byte %u on, %u there are, and the kernel uses them",
             Name(q.mem), q.number, q.bytes, q.addr, SizeOf(core, q.mem));
}

// The HardEvent from one pipe to another; -1: there is none.
int EventOf(Pipe src, Pipe dst)
{
    static const auto kEvents = [] {
        std::array<std::array<int8_t, kPipeCount>, kPipeCount> all;
        for (auto& row : all) row.fill(-1);
        for (int e = 0; e < static_cast<int>(AscendC::HardEvent::MAX); ++e) {
            const PipePair p = PipesOf(static_cast<AscendC::HardEvent>(e));
            int8_t& slot = all[static_cast<size_t>(p.src)][static_cast<size_t>(p.dst)];
            if (slot < 0) slot = static_cast<int8_t>(e);
        }
        return all;
    }();
    return kEvents[static_cast<size_t>(src)][static_cast<size_t>(dst)];
}

// EnQue and FreeTensor take the lowest free event id and set it, DeQue and AllocTensor wait for it and
// give it back. Ids the kernel names itself can collide with those. Returns the id plus one, 0: none.
uint8_t TakeQueueEvent(const Core& core, Pipe src, Pipe dst)
{
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

void GiveQueueEvent(const Core& core, Pipe src, Pipe dst, uint8_t* taken)
{
    if (*taken == 0 || core.pipe == nullptr) return;
    const int event = EventOf(src, dst);
    const uint8_t mask = static_cast<uint8_t>(~(1u << (*taken - 1)));
    core.pipe->events[event] &= mask;
    core.pipe->queueEvents[event] &= mask;
    *taken = 0;
}

// Index of the buffer a tensor lies in, -1 if it is not one of this queue's.
int IndexOf(const QueueState& q, const TensorRef& t)
{
    const uint32_t i = t.buffer - q.firstBuffer;
    if (t.queue == q.queue && i < q.number) return static_cast<int>(i);
    return -1;
}

// The queue a tensor was allocated from, null when there is none any more.
QueueState* OwnerOf(const Core& core, const TensorRef& t)
{
    QueueState* const q = t.queue == 0 ? nullptr : core.queues[t.queue % kRememberedQueues];
    return q != nullptr && IndexOf(*q, t) >= 0 ? q : nullptr;
}

}  // namespace

namespace {
void WaitForTakenFlags(Core& core, const PipeState& pipe, Loc loc);
}

void PipeInit(PipeState& pipe, Loc loc)
{
    Core& core = Current();
    // A second TPipe starts the core's memory over.
    if (core.sink && core.pipe != nullptr && core.pipe->active) {
        SyncEvent e;
        e.kind = SyncKind::kPipeReset;
        e.loc = Where(core, loc);
        core.sink->OnSync(core, e);
        BufferEvent b;
        b.kind = BufferKind::kRelease;
        b.loc = e.loc;
        core.sink->OnBuffer(core, b);
    }
    pipe = PipeState();
    pipe.active = true;
    core.pipe = &pipe;
}

void PipeReset(PipeState& pipe, bool destroy, Loc loc)
{
    Core* core = g_current;
    if (core == nullptr || !pipe.active) return;
    if (destroy) WaitForTakenFlags(*core, pipe, loc);
    if (core->sink) {
        SyncEvent e;
        e.kind = SyncKind::kPipeReset;
        e.loc = Where(*core, loc);
        core->sink->OnSync(*core, e);
        BufferEvent b;
        b.kind = BufferKind::kRelease;
        b.loc = e.loc;
        core->sink->OnBuffer(*core, b);
    }
    pipe = PipeState();
    pipe.active = !destroy;
    if (destroy && core->pipe == &pipe) core->pipe = nullptr;
}

void InitQueue(PipeState& pipe, PoolState* pool, QueueState& q, TPosition src, TPosition dst,
               int32_t depth, uint32_t number, uint32_t bytes, bool isBuf, Loc loc)
{
    Core& core = Current();
    loc = Where(core, loc);
    if (number == 0 || number > kMaxQueueBuffers) {
        TrapCheck(core, loc, "InitBuffer", "InitBuffer", "give a queue 1 to 64 buffers (8 at most use events)",
                  "a queue of %u buffers", number);
    }
    if (bytes == 0) {
        // Debug builds assert; release builds get a buffer that is good as long as nobody uses it,
        // as on cores without work.
        Warn(core, loc, "InitBuffer", "InitBuffer", "give the buffer a size, or leave it out",
             "a buffer of 0 bytes");
    }
    // A TQueBind from GM lives where its destination is.
    const TPosition home = src == TPosition::GM ? dst : dst == TPosition::TSCM ? dst : src;
    const Mem mem = MemoryOf(home);
    // A vector core that keeps operands of its Matmul objects in TSCM writes to the L1 of its cube
    // core; here it has one of its own.
    if (home == TPosition::TSCM && core.kind == CoreKind::kAiv) {
        core.capacity[static_cast<int>(Mem::kL1)] = core.soc->l1Bytes;
    }
    const uint32_t len = Align32(bytes);
    const uint64_t total = static_cast<uint64_t>(len) * number;
    uint32_t addr;
    bool past = false;
    if (pool != nullptr) {
        if (!pool->ready) {
            TrapCheck(core, loc, "ErrorBuffer4", "InitBuffer", "call InitBufPool first",
                      "TBufPool used without InitBufPool");
        }
        if (pool->used + total > pool->size) {
            Complain(core, loc, "InitBuffer", "InitBuffer", "enlarge the pool or use fewer, smaller buffers",
                     "the pool has %u of %u bytes left, %llu are needed",
                     pool->size - std::min(pool->used, pool->size), pool->size,
                     static_cast<unsigned long long>(total));
        }
        addr = pool->base + pool->used;
        pool->used += static_cast<uint32_t>(total);
    } else {
        uint32_t& next = pipe.next[static_cast<int>(mem)];
        const uint32_t size = SizeOf(core, mem);
        // The device does not look: a buffer that is never used works wherever it lies, so this is a
        // warning until a tensor is taken from it (RequirePlace), and anything behind the end stops
        // the kernel when it is used. Sizes far off are not worth a start.
        if (mem != Mem::kGm && next + total > size) {
            const auto report = next >= 2 * uint64_t{size} ? TrapCheck : Warn;
            report(core, loc, "InitBuffer", "InitBuffer", "use smaller tiles or fewer buffers",
                   "%s overflow: %u of %u bytes are taken, %llu more are needed", Name(mem), next, size,
                   static_cast<unsigned long long>(total));
            past = true;
        }
        addr = next;
        next += static_cast<uint32_t>(total);
    }
    pipe.buffers += number;
    if (pipe.buffers > 64) {
        Complain(core, loc, "InitBuffer", "InitBuffer", "use fewer buffers",
                 "a pipe manages at most 64 buffers, this is number %u", pipe.buffers);
    }
    q = QueueState();
    q.queue = core.nextQueue++;
    core.queues[q.queue % kRememberedQueues] = &q;
    q.firstBuffer = core.nextBuffer;
    core.nextBuffer += number;
    q.addr = addr;
    q.bytes = q.stride = len;
    q.number = static_cast<uint8_t>(number);
    q.mem = mem;
    if (past) q.pastEnd = loc;
    q.src = static_cast<uint8_t>(src);
    q.dst = static_cast<uint8_t>(dst);
    q.depth = static_cast<int8_t>(depth);
    if (core.sink) {
        for (uint32_t i = 0; i < number; ++i) {
            core.sink->OnBuffer(core,
                                Event(isBuf ? BufferKind::kInitBuf : BufferKind::kInit, q, i, loc));
        }
    }
}

void PlaceQueue(QueueState& q, TPosition src, TPosition dst, int32_t depth, uint32_t number, uint32_t bytes,
                Loc loc)
{
    Core& core = Current();
    if (number == 0 || number > kMaxQueueBuffers) {
        TrapCheck(core, loc, "InitBuffer", "InitStartBufHandle", "give a queue 1 to 64 buffers",
                  "a queue of %u buffers", number);
    }
    q = QueueState();
    q.queue = core.nextQueue++;
    core.queues[q.queue % kRememberedQueues] = &q;
    q.firstBuffer = core.nextBuffer;
    core.nextBuffer += number;
    q.bytes = q.stride = Align32(bytes);
    q.number = static_cast<uint8_t>(number);
    q.mem = MemoryOf(src == TPosition::GM || dst == TPosition::TSCM ? dst : src);
    q.src = static_cast<uint8_t>(src);
    q.dst = static_cast<uint8_t>(dst);
    q.depth = static_cast<int8_t>(depth);
}

void PlaceBuffer(QueueState& q, uint32_t index, uint32_t addr, bool isBuf, Loc loc)
{
    Core& core = Current();
    loc = Where(core, loc);
    if (index == 0) q.addr = addr;
    if (index == 1) q.stride = addr - q.addr;
    if (index >= q.number || addr != q.addr + index * q.stride) {
        TrapCheck(core, loc, "InitBuffer", "InitBufHandle", "place the buffers of a queue at equal distances",
                  "buffer %u at byte %u: only equal distances are emulated", index, addr);
    }
    if (static_cast<uint64_t>(addr) + q.bytes > SizeOf(core, q.mem)) {
        TrapCheck(core, loc, "InitBuffer", "InitBufHandle", "stay inside the pool",
                  "bytes %u..%u are outside the %u bytes of %s", addr, addr + q.bytes, SizeOf(core, q.mem),
                  Name(q.mem));
    }
    if (core.sink) {
        core.sink->OnBuffer(core, Event(isBuf ? BufferKind::kInitBuf : BufferKind::kInit, q, index, loc));
    }
}

void InitPool(PipeState& pipe, PoolState* parent, PoolState& pool, TPosition pos, uint32_t bytes,
              const PoolState* share, Loc loc)
{
    Core& core = Current();
    loc = Where(core, loc);
    const Mem mem = MemoryOf(pos);
    const uint32_t len = Align32(bytes);
    pool = PoolState();
    pool.mem = mem;
    pool.size = len;
    if (share != nullptr) {
        if (len > share->size) {
            TrapCheck(core, loc, "InitBuffer", "InitBufPool", "make the shared pool at least as large",
                      "a pool of %u bytes cannot share one of %u", len, share->size);
        }
        pool.base = share->base;
    } else if (parent != nullptr) {
        if (parent->used + len > parent->size) {
            TrapCheck(core, loc, "InitBuffer", "InitBufPool", "enlarge the parent pool",
                      "the parent pool has %u bytes left, %u are needed", parent->size - parent->used, len);
        }
        pool.base = parent->base + parent->used;
        parent->used += len;
    } else {
        uint32_t& next = pipe.next[static_cast<int>(mem)];
        if (next + static_cast<uint64_t>(len) > SizeOf(core, mem)) {
            TrapCheck(core, loc, "InitBuffer", "InitBufPool", "use a smaller pool",
                      "%s overflow: %u of %u bytes are taken, %u more are needed", Name(mem), next,
                      SizeOf(core, mem), len);
        }
        pool.base = next;
        next += len;
    }
    pool.ready = true;
    if (core.sink) {
        BufferEvent e;
        e.kind = BufferKind::kInitPool;
        e.mem = mem;
        e.position = e.dstPosition = static_cast<uint8_t>(pos);
        e.addr = pool.base;
        e.bytes = pool.size;
        e.loc = loc;
        core.sink->OnBuffer(core, e);
    }
}

void ResetPool(PoolState& pool, Loc loc)
{
    Core& core = Current();
    if (core.sink && pool.used > 0) {
        // The device waits here for the last user of every buffer of the pool.
        SyncEvent s;
        s.kind = SyncKind::kPipeReset;
        s.loc = Where(core, loc);
        core.sink->OnSync(core, s);
        BufferEvent e;
        e.kind = BufferKind::kRelease;
        e.mem = pool.mem;
        e.addr = pool.base;
        e.bytes = pool.used;
        e.loc = Where(core, loc);
        core.sink->OnBuffer(core, e);
    }
    pool.used = 0;
}

TensorRef QueueAlloc(QueueState& q, Loc loc)
{
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
                  "all %u buffers of the queue are in use", q.number);
    }
    q.cursor = static_cast<uint8_t>((index + 1) % q.number);
    q.state[index] = static_cast<uint8_t>(TBufState::OCCUPIED);
    ++q.used;
    if (core.sink) {
        const PipePair flow = FlowOf(q);
        GiveQueueEvent(core, flow.dst, flow.src, &q.freedId[index]);
        core.sink->OnBuffer(core, Event(BufferKind::kAlloc, q, index, Where(core, loc)));
    }
    return Tensor(core, q, index);
}

void QueueFree(QueueState& q, TensorRef& tensor, Loc loc)
{
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
        // A buffer holds its state and events itself: a queue of the same kind frees it as well as its
        // own. Another kind sets an event that AllocTensor does not wait for.
        if (alike) QueueFree(*owner, tensor, loc);
        return;
    }
    // The sink knows the state itself and reports a double free.
    if (core.sink) {
        core.sink->OnBuffer(core, Event(BufferKind::kFree, q, static_cast<uint32_t>(index), Where(core, loc)));
        const PipePair flow = FlowOf(q);
        if (q.freedId[index] == 0) q.freedId[index] = TakeQueueEvent(core, flow.dst, flow.src);
    }
    if (q.state[index] != static_cast<uint8_t>(TBufState::FREE)) {
        q.state[index] = static_cast<uint8_t>(TBufState::FREE);
        if (q.used > 0) --q.used;
    }
}

void QueueEnQue(QueueState& q, const TensorRef& tensor, Loc loc, UserPositions user)
{
    Core& core = Current();
    RequireInit(core, q, "EnQue", loc);
    const int index = IndexOf(q, tensor);
    if (index < 0) {
        TrapCheck(core, loc, "ErrorBuffer1", "EnQue", "enqueue a tensor that AllocTensor of this queue gave",
                  "the tensor does not belong to this queue");
    }
    if (core.sink) {
        core.sink->OnBuffer(core, Event(BufferKind::kEnQue, q, static_cast<uint32_t>(index), Where(core, loc),
                                        user));
        const PipePair flow = FlowOf(q, user);
        if (q.filledId[index] == 0) q.filledId[index] = TakeQueueEvent(core, flow.src, flow.dst);
        if (q.depth > 0 && q.queued >= static_cast<uint32_t>(q.depth) && q.queued < q.number) {
            Complain(core, loc, "ErrorBuffer2", "EnQue", "DeQue in between, or declare the queue deeper",
                     "%u tensors are in a queue of depth %d: the device loses one", q.queued + 1u, q.depth);
        }
    }
    if (q.queued >= q.number) {
        TrapCheck(core, loc, "ErrorBuffer2", "EnQue", "dequeue before enqueueing again",
                  "the queue already holds all of its %u buffers", q.number);
    }
    q.fifo[(q.head + q.queued) % kMaxQueueBuffers] = static_cast<uint8_t>(index);
    ++q.queued;
    q.state[index] = static_cast<uint8_t>(TBufState::ENQUE);
}

TensorRef QueueDeQue(QueueState& q, Loc loc, UserPositions user)
{
    Core& core = Current();
    RequireInit(core, q, "DeQue", loc);
    if (q.queued == 0) {
        // A queue of depth 1 remembers one tensor: the device gives it again, and waits for nothing.
        const uint32_t last = q.fifo[(q.head + kMaxQueueBuffers - 1) % kMaxQueueBuffers];
        if (q.depth == 1 && q.state[last] == static_cast<uint8_t>(TBufState::DEQUE)) {
            Complain(core, loc, "ErrorBuffer2", "DeQue", "EnQue the tensor again before the next DeQue",
                     "the queue is empty: the device gives its last tensor again without waiting for it");
            return Tensor(core, q, last);
        }
        TrapCheck(core, loc, "ErrorBuffer2", "DeQue", "EnQue a tensor before DeQue",
                  "the queue is empty: the device would wait for ever");
    }
    const uint32_t index = q.fifo[q.head];
    q.head = static_cast<uint8_t>((q.head + 1) % kMaxQueueBuffers);
    --q.queued;
    q.state[index] = static_cast<uint8_t>(TBufState::DEQUE);
    if (core.sink) {
        const PipePair flow = FlowOf(q, user);
        GiveQueueEvent(core, flow.src, flow.dst, &q.filledId[index]);
        core.sink->OnBuffer(core, Event(BufferKind::kDeQue, q, index, Where(core, loc), user));
    }
    return Tensor(core, q, index);
}

TensorRef BufGet(const QueueState& q, uint32_t offset, uint32_t bytes, bool whole, Loc loc)
{
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
            // The device makes the tensor all the same: what it uses behind the buffer is the error.
            Warn(core, loc, "ErrorBuffer3", "TBuf::Get", "enlarge the buffer or take fewer elements",
                     "bytes %u..%u of a buffer of %u bytes", offset, offset + bytes, q.bytes);
        }
        t.addr += offset;
        t.ptr += offset;
        t.size = bytes;
    }
    if (core.sink) {
        BufferEvent e = Event(BufferKind::kGet, q, 0, Where(core, loc));
        e.addr = t.addr;
        e.bytes = t.size;
        core.sink->OnBuffer(core, e);
    }
    return t;
}

int32_t EventId(PipeState& pipe, AscendC::HardEvent event, bool reserve, Loc loc)
{
    Core& core = Current();
    uint8_t& used = pipe.events[static_cast<int>(event)];
    int id = 0;
    while (id < kEventIds && ((used >> id) & 1)) ++id;
    if (id == kEventIds) {
        TrapCheck(core, loc, "EventId", reserve ? "AllocEventID" : "FetchEventID",
                  "release ids with ReleaseEventID", "all 8 event ids of this pipe pair are in use");
    }
    if (reserve) used = static_cast<uint8_t>(used | (1 << id));
    if (core.sink) {
        const PipePair p = PipesOf(event);
        SyncEvent e;
        e.kind = reserve ? SyncKind::kAllocEvent : SyncKind::kFetchEvent;
        e.src = p.src;
        e.dst = p.dst;
        e.id = id;
        e.loc = Where(core, loc);
        core.sink->OnSync(core, e);
    }
    return id;
}

void ReleaseEvent(PipeState& pipe, AscendC::HardEvent event, int32_t id, Loc loc)
{
    Core& core = Current();
    if (id >= 0 && id < kEventIds) {
        uint8_t& used = pipe.events[static_cast<int>(event)];
        used = static_cast<uint8_t>(used & ~(1 << id));
    }
    if (core.sink) {
        const PipePair p = PipesOf(event);
        SyncEvent e;
        e.kind = SyncKind::kReleaseEvent;
        e.src = p.src;
        e.dst = p.dst;
        e.id = id;
        e.loc = Where(core, loc);
        core.sink->OnSync(core, e);
    }
}

namespace {
// A cube core has no V pipe and ignores its flags, a vector core has neither MTE1, M nor FIX: both
// halves of a mixed kernel may run the same code.
bool HasPipe(const Core& core, Pipe p)
{
    if (core.kind == CoreKind::kAic) return p != Pipe::kV;
    if (core.kind == CoreKind::kAiv) return p != Pipe::kM && p != Pipe::kMte1 && p != Pipe::kFix;
    return true;
}

bool CheckFlag(Core& core, Pipe src, Pipe dst, int32_t id, const char* op, Loc loc)
{
    if (!HasPipe(core, src) || !HasPipe(core, dst)) return false;
    if (id < 0 || id >= kEventIds) {
        TrapCheck(core, loc, "EventId", op, "use an id from AllocEventID or FetchEventID",
                  "event id %d is not in 0..7", id);
    }
    return true;
}

// On cube cores of arch 2201 TPipe sets M_MTE1 flags 0 to 2 for products and waits for them at its end
// (CANN's public implementation; no page says so). Kernels that know begin with a WaitFlag; others set
// these flags themselves, so one counts from the first wait for it only.
constexpr int32_t kFlagsOfPipe = 3;

bool TakePipesFlag(Core& core, Pipe src, Pipe dst, int32_t id)
{
    if (src != Pipe::kM || dst != Pipe::kMte1 || id >= kFlagsOfPipe || core.kind != CoreKind::kAic ||
        core.soc == nullptr || core.soc->arch != 2201 || core.pipe == nullptr) {
        return false;
    }
    const uint8_t bit = static_cast<uint8_t>(1 << id);
    if ((core.pipe->takenFlags & bit) != 0) return false;
    core.pipe->takenFlags |= bit;
    core.pipe->events[static_cast<int>(AscendC::HardEvent::M_MTE1)] |= bit;  // AllocEventID has others
    return true;
}

// The waits at the end of a TPipe.
void WaitForTakenFlags(Core& core, const PipeState& pipe, Loc loc)
{
    for (int32_t id = 0; id < kFlagsOfPipe; ++id) {
        const bool isSet = core.flags[static_cast<int>(Pipe::kM)][static_cast<int>(Pipe::kMte1)][id] != 0;
        if ((pipe.takenFlags >> id & 1) != 0 && isSet) WaitEvent(Pipe::kM, Pipe::kMte1, id, loc);
    }
}
}  // namespace

void SetEvent(Pipe src, Pipe dst, int32_t id, Loc loc)
{
    Core& core = Current();
    if (!CheckFlag(core, src, dst, id, "SetFlag", loc)) return;
    uint8_t& flag = core.flags[static_cast<int>(src)][static_cast<int>(dst)][id];
    if (core.sink) {
        const int event = EventOf(src, dst);
        if (core.pipe != nullptr && event >= 0 && (core.pipe->queueEvents[event] >> id & 1) != 0) {
            Complain(core, loc, "ErrorSync4", "SetFlag",
                     "take the id from AllocEventID, or FetchEventID for immediate use, which know the queues'",
                     "event %d of %s_%s is set although a queue has set it: EnQue and FreeTensor take the "
                     "lowest free ids until DeQue and AllocTensor", id, Name(src), Name(dst));
        }
        SyncEvent e;
        e.kind = SyncKind::kSetFlag;
        e.src = src;
        e.dst = dst;
        e.id = id;
        e.loc = Where(core, loc);
        core.sink->OnSync(core, e);
    }
    if (flag < 255) ++flag;
}

void WaitEvent(Pipe src, Pipe dst, int32_t id, Loc loc)
{
    Core& core = Current();
    if (!CheckFlag(core, src, dst, id, "WaitFlag", loc)) return;
    uint8_t& flag = core.flags[static_cast<int>(src)][static_cast<int>(dst)][id];
    if (flag == 0 && TakePipesFlag(core, src, dst, id)) SetEvent(src, dst, id, loc);
    if (flag == 0) {
        TrapCheck(core, loc, "ErrorSync3", "WaitFlag", "put the matching SetFlag before it",
                  "waits for event %s_%s id %d that nothing has set: the device would hang", Name(src),
                  Name(dst), id);
    }
    --flag;
    if (core.sink) {
        SyncEvent e;
        e.kind = SyncKind::kWaitFlag;
        e.src = src;
        e.dst = dst;
        e.id = id;
        e.loc = Where(core, loc);
        core.sink->OnSync(core, e);
    }
}

void Barrier(Pipe pipe, Loc loc)
{
    Core& core = Current();
    if (!core.sink || (pipe != Pipe::kAll && !HasPipe(core, pipe))) return;
    if (pipe == Pipe::kS) {
        Complain(core, loc, "ErrorParam", "PipeBarrier", "remove it: the scalar unit works in order",
                 "there is no barrier of the scalar pipe PIPE_S");
    }
    SyncEvent e;
    e.kind = SyncKind::kPipeBarrier;
    e.src = e.dst = pipe;
    e.loc = Where(core, loc);
    core.sink->OnSync(core, e);
}

TensorRef Remaining(TPosition pos, Loc loc)
{
    Core& core = Current();
    const Mem mem = MemoryOf(pos);
    const uint32_t next = core.pipe ? core.pipe->next[static_cast<int>(mem)] : 0;
    TensorRef t;
    t.mem = mem;
    t.pos = static_cast<uint8_t>(pos);
    t.addr = t.lo = next;
    t.hi = SizeOf(core, mem);
    t.size = t.hi - t.lo;
    t.ptr = core.memory[static_cast<int>(mem)] + t.addr;
    if (core.sink) {
        t.buffer = core.nextBuffer++;
        BufferEvent e;
        e.kind = BufferKind::kRaw;
        e.mem = mem;
        e.position = e.dstPosition = t.pos;
        e.buffer = t.buffer;
        e.addr = t.addr;
        e.bytes = t.size;
        e.loc = Where(core, loc);
        core.sink->OnBuffer(core, e);
    }
    return t;
}

TensorRef MakeRaw(TPosition pos, uint32_t addr, uint64_t bytes, Loc loc)
{
    Core& core = Current();
    const Mem mem = MemoryOf(pos);
    const uint32_t size = SizeOf(core, mem);
    if (bytes == 0) bytes = addr < size ? size - addr : 0;
    if (mem != Mem::kGm && addr + bytes > size) {
        TrapCheck(core, loc, "ErrorBuffer3", "LocalTensor", "stay inside the buffer",
                  "bytes %u..%llu are outside the %u bytes of %s", addr,
                  static_cast<unsigned long long>(addr + bytes), size, Name(mem));
    }
    TensorRef t;
    t.mem = mem;
    t.pos = static_cast<uint8_t>(pos);
    t.addr = t.lo = addr;
    t.size = static_cast<uint32_t>(bytes);
    t.hi = t.lo + t.size;
    t.ptr = core.memory[static_cast<int>(mem)] + addr;
    if (core.sink) {
        t.buffer = core.nextBuffer++;
        BufferEvent e;
        e.kind = BufferKind::kRaw;
        e.mem = mem;
        e.position = e.dstPosition = t.pos;
        e.buffer = t.buffer;
        e.addr = t.addr;
        e.bytes = t.size;
        e.loc = Where(core, loc);
        core.sink->OnBuffer(core, e);
    }
    return t;
}

void PlaceTensor(TensorRef& t, TPosition pos, uint64_t address, uint32_t bytes)
{
    Core& core = Current();
    const Mem mem = MemoryOf(pos);
    const uint32_t size = SizeOf(core, mem);
    const auto base = reinterpret_cast<uint64_t>(core.memory[static_cast<int>(mem)]);
    if (address >= base && address < base + size) address -= base;
    const uint32_t addr = static_cast<uint32_t>(address);
    const uint32_t room = addr < size ? size - addr : 0;
    t = MakeRaw(pos, addr, bytes != 0 && bytes < room ? bytes : room, Loc());
}

TensorRef AbsoluteTensor(TPosition pos, uint32_t offset, uint32_t bytes, Loc loc)
{
    return MakeRaw(pos, offset, bytes, loc);
}

}  // namespace ascendc_emu
