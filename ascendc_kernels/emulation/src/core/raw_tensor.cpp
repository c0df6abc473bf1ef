// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tensors by their address, without a queue or buffer.
#include "core/pipe_rules.h"

namespace ascendc_emu {

using AscendC::TPosition;

uint32_t SizeOf(const Core& core, Mem mem) {
    const SocInfo& s = *core.soc;
    switch (mem) {
        case Mem::kUb:
            return s.ubBytes;
        case Mem::kL1:
            return s.l1Bytes;
        case Mem::kL0a:
            return s.l0aBytes;
        case Mem::kL0b:
            return s.l0bBytes;
        case Mem::kL0c:
            return s.l0cBytes;
        case Mem::kBt:
            return s.btBytes;
        case Mem::kFb:
            return s.fbBytes;
        default:
            return ~0u;
    }
}

namespace {

// The tensor of `size` bytes at `addr`; to the sink it is a buffer of its own.
TensorRef RawTensor(Core& core, Mem mem, TPosition pos, uint32_t addr, uint32_t size, Loc loc) {
    TensorRef t;
    t.mem = mem;
    t.pos = static_cast<uint8_t>(pos);
    t.addr = t.lo = addr;
    t.size = size;
    t.hi = t.lo + t.size;
    t.ptr = core.memory[static_cast<int>(mem)] + addr;
    if (core.sink == nullptr) return t;
    t.buffer = core.nextBuffer++;
    BufferEvent e;
    e.kind = BufferKind::kRaw;
    e.mem = t.mem;
    e.position = e.dstPosition = t.pos;
    e.buffer = t.buffer;
    e.addr = t.addr;
    e.bytes = t.size;
    e.loc = Where(core, loc);
    core.sink->OnBuffer(core, e);
    return t;
}

}  // namespace

TensorRef Remaining(TPosition pos, Loc loc) {
    Core& core = Current();
    const Mem mem = MemoryOf(pos);
    const uint32_t next = core.pipe ? core.pipe->next[static_cast<int>(mem)] : 0;
    return RawTensor(core, mem, pos, next, SizeOf(core, mem) - next, loc);
}

TensorRef MakeRaw(TPosition pos, uint32_t addr, uint64_t bytes, Loc loc) {
    Core& core = Current();
    const Mem mem = MemoryOf(pos);
    const uint32_t size = SizeOf(core, mem);
    if (bytes == 0) bytes = addr < size ? size - addr : 0;
    if (mem != Mem::kGm && addr + bytes > size) {
        TrapCheck(core, loc, "ErrorBuffer3", "LocalTensor", "stay inside the buffer",
                  "bytes %u..%llu are outside the %u bytes of %s", addr,
                  static_cast<unsigned long long>(addr + bytes), size, Name(mem));
    }
    return RawTensor(core, mem, pos, addr, static_cast<uint32_t>(bytes), loc);
}

void PlaceTensor(TensorRef& t, TPosition pos, uint64_t address, uint32_t bytes) {
    Core& core = Current();
    const Mem mem = MemoryOf(pos);
    const uint32_t size = SizeOf(core, mem);
    const auto base = reinterpret_cast<uint64_t>(core.memory[static_cast<int>(mem)]);
    if (address >= base && address < base + size) address -= base;
    const uint32_t addr = static_cast<uint32_t>(address);
    const uint32_t room = addr < size ? size - addr : 0;
    t = MakeRaw(pos, addr, bytes != 0 && bytes < room ? bytes : room, Loc());
}

void MoveTensor(TensorRef& t, TPosition pos) {
    const bool cut = t.addr + uint64_t{t.size} >= SizeOf(Current(), t.mem);
    PlaceTensor(t, pos, t.addr, cut ? 0 : t.size);
}

void TellPointer(const TensorRef& t) {
    if (t.mem != Mem::kUb || t.hi <= t.lo) return;
    Core& core = Current();
    // The instructions that get a pointer have values of their own; C++ that reads through it has
    // not, and it cannot be told apart.
    NeedsValues(core, "GetPhyAddr", Loc());
    BufferEvent e;
    e.kind = BufferKind::kPointer;
    e.mem = t.mem;
    e.position = e.dstPosition = t.pos;
    e.buffer = t.buffer;
    e.addr = t.lo;
    e.bytes = t.hi - t.lo;
    core.sink->OnBuffer(core, e);
}

TensorRef AbsoluteTensor(TPosition pos, uint32_t offset, uint32_t bytes, Loc loc) {
    return MakeRaw(pos, offset, bytes, loc);
}

}  // namespace ascendc_emu
