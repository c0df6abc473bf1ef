// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// TPipe: which memory its queues, buffers and pools get.
#include <algorithm>

#include "core/pipe_rules.h"

namespace ascendc_emu {

using AscendC::TPosition;

namespace {

uint32_t Align32(uint32_t n) { return (n + 31) / 32 * 32; }

// All that the core's TPipe has handed out is given back.
void TellReset(Core& core, Loc loc) {
    SyncEvent e;
    e.kind = SyncKind::kPipeReset;
    e.loc = Where(core, loc);
    core.sink->OnSync(core, e);
    BufferEvent b;
    b.kind = BufferKind::kRelease;
    b.loc = e.loc;
    core.sink->OnBuffer(core, b);
}

}  // namespace

void PipeInit(PipeState& pipe, Loc loc) {
    Core& core = Current();
    // A second TPipe starts the core's memory over.
    if (core.sink && core.pipe != nullptr && core.pipe->active) {
        TellReset(core, loc);
    }
    pipe = PipeState();
    pipe.active = true;
    core.pipe = &pipe;
}

void PipeReset(PipeState& pipe, bool destroy, Loc loc) {
    Core* core = g_current;
    if (core == nullptr || !pipe.active) return;
    if (destroy) WaitForTakenFlags(*core, pipe, loc);
    if (core->sink) {
        TellReset(*core, loc);
    }
    pipe = PipeState();
    pipe.active = !destroy;
    if (destroy && core->pipe == &pipe) core->pipe = nullptr;
}

namespace {

// Take `total` bytes of a TBufPool; the address.
uint32_t PlaceInPool(Core& core, PoolState& pool, Mem mem, uint64_t total, Loc loc) {
    // UB is the vector cores': what the cube core of a mixed kernel sets up there has no effect.
    const bool absent = mem == Mem::kUb && core.kind == CoreKind::kAic;
    if (!pool.ready && !absent) {
        TrapCheck(core, loc, "ErrorBuffer4", "InitBuffer", "call InitBufPool first",
                  "TBufPool used without InitBufPool");
    }
    if (pool.used + total > pool.size && !absent) {
        Complain(core, loc, "InitBuffer", "InitBuffer",
                 "enlarge the pool or use fewer, smaller buffers",
                 "the pool has %u of %u bytes left, %llu are needed",
                 pool.size - std::min(pool.used, pool.size), pool.size,
                 static_cast<unsigned long long>(total));
    }
    const uint32_t addr = pool.base + pool.used;
    pool.used += static_cast<uint32_t>(total);
    return addr;
}

// Take `total` bytes of a memory behind what is taken of it; the address. `past`: they end behind
// the memory.
uint32_t PlaceInMemory(Core& core, PipeState& pipe, Mem mem, uint64_t total, Loc loc, bool& past) {
    uint32_t& next = pipe.next[static_cast<int>(mem)];
    const uint32_t size = SizeOf(core, mem);
    // The device does not look: a buffer that is never used works wherever it lies, so this is a
    // warning until a tensor is taken from it (RequirePlace), and anything behind the end stops the
    // kernel when it is used. Sizes far off are not worth a start.
    if (mem != Mem::kGm && next + total > size) {
        const auto report = next >= 2 * uint64_t{size} ? TrapCheck : Warn;
        report(core, loc, "InitBuffer", "InitBuffer", "use smaller tiles or fewer buffers",
               "%s overflow: %u of %u bytes are taken, %llu more are needed", Name(mem), next, size,
               static_cast<unsigned long long>(total));
        past = true;
    }
    const uint32_t addr = next;
    next += static_cast<uint32_t>(total);
    return addr;
}

}  // namespace

void InitQueue(PipeState& pipe, PoolState* pool, QueueState& q, TPosition src, TPosition dst,
               int32_t depth, uint32_t number, uint32_t bytes, bool isBuf, Loc loc) {
    Core& core = Current();
    loc = Where(core, loc);
    if (number == 0 || number > kMaxQueueBuffers) {
        TrapCheck(core, loc, "InitBuffer", "InitBuffer",
                  "give a queue 1 to 64 buffers (8 at most use events)", "a queue of %u buffers",
                  number);
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
    bool past = false;
    const uint32_t addr = pool != nullptr ? PlaceInPool(core, *pool, mem, total, loc)
                                          : PlaceInMemory(core, pipe, mem, total, loc, past);
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
    q.declared = loc;
    if (past) q.pastEnd = loc;
    q.src = static_cast<uint8_t>(src);
    q.dst = static_cast<uint8_t>(dst);
    q.depth = static_cast<int8_t>(depth);
    if (core.sink) {
        for (uint32_t i = 0; i < number; ++i) {
            core.sink->OnBuffer(
                core, QueueEvent(isBuf ? BufferKind::kInitBuf : BufferKind::kInit, q, i, loc));
        }
    }
}

void PlaceQueue(QueueState& q, TPosition src, TPosition dst, int32_t depth, uint32_t number,
                uint32_t bytes, Loc loc) {
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

void PlaceBuffer(QueueState& q, uint32_t index, uint32_t addr, bool isBuf, Loc loc) {
    Core& core = Current();
    loc = Where(core, loc);
    if (index == 0) q.addr = addr;
    if (index == 1) q.stride = addr - q.addr;
    if (index >= q.number || addr != q.addr + index * q.stride) {
        TrapCheck(core, loc, "InitBuffer", "InitBufHandle",
                  "place the buffers of a queue at equal distances",
                  "buffer %u at byte %u: only equal distances are emulated", index, addr);
    }
    if (static_cast<uint64_t>(addr) + q.bytes > SizeOf(core, q.mem)) {
        TrapCheck(core, loc, "InitBuffer", "InitBufHandle", "stay inside the pool",
                  "bytes %u..%u are outside the %u bytes of %s", addr, addr + q.bytes,
                  SizeOf(core, q.mem), Name(q.mem));
    }
    if (core.sink) {
        core.sink->OnBuffer(
            core, QueueEvent(isBuf ? BufferKind::kInitBuf : BufferKind::kInit, q, index, loc));
    }
}

void InitPool(PipeState& pipe, PoolState* parent, PoolState& pool, TPosition pos, uint32_t bytes,
              const PoolState* share, Loc loc) {
    Core& core = Current();
    loc = Where(core, loc);
    const Mem mem = MemoryOf(pos);
    const uint32_t len = Align32(bytes);
    pool = PoolState();
    pool.mem = mem;
    pool.size = len;
    if (share != nullptr) {
        if (len > share->size) {
            TrapCheck(core, loc, "InitBuffer", "InitBufPool",
                      "make the shared pool at least as large",
                      "a pool of %u bytes cannot share one of %u", len, share->size);
        }
        pool.base = share->base;
    } else if (parent != nullptr) {
        if (parent->used + len > parent->size) {
            TrapCheck(core, loc, "InitBuffer", "InitBufPool", "enlarge the parent pool",
                      "the parent pool has %u bytes left, %u are needed",
                      parent->size - parent->used, len);
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

void ResetPool(PoolState& pool, Loc loc) {
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

}  // namespace ascendc_emu
