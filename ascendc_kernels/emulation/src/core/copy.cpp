// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Data movement by the MTE pipes.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "ascendc_emu/copy_api.h"
#include "core/bounds.h"
#include "core/scheduler.h"

namespace ascendc_emu {

uint64_t GmBytes(Core& core, const uint8_t* address, uint64_t bytes, bool write, const char* name, Loc loc)
{
    const Scheduler& s = *core.scheduler;
    if (!s.bounded()) return bytes;
    const OpgenGmRange* r = s.FindRange(address);
    const uint64_t cutOff = write ? kGmCutOff : kGmReadCutOff;
    if (r == nullptr) {
        // Behind a tensor: the rows of a block that is rounded up.
        const bool near = s.FindRange(address - 512) != nullptr ||
                          (!write && s.FindRange(address - kGmReadCutOff) != nullptr);
        if (bytes <= kGmCutOff && near) return 0;
        TrapCheck(core, loc, write ? "ErrorWrite2" : "ErrorRead3", name, "check the offset and the length",
                  "%s %llu bytes of global memory at %p, which no argument of the kernel covers",
                  write ? "writes" : "reads", static_cast<unsigned long long>(bytes),
                  static_cast<const void*>(address));
    }
    const uint64_t left = static_cast<uint64_t>(static_cast<const uint8_t*>(r->data) + r->bytes - address);
    if (bytes <= left) return bytes;
    if (bytes > left + cutOff) {
        TrapCheck(core, loc, write ? "ErrorWrite2" : "ErrorRead3", name, "check the offset and the length",
                  "%s %llu bytes of '%s' where %llu are left", write ? "writes" : "reads",
                  static_cast<unsigned long long>(bytes), r->name ? r->name : "",
                  static_cast<unsigned long long>(left));
    }
    return left;
}

bool GmHolds(const Core& core, const uint8_t* address, uint64_t bytes)
{
    const Scheduler& s = *core.scheduler;
    if (!s.bounded()) return true;
    const OpgenGmRange* r = s.FindRange(address);
    return r != nullptr && address + bytes <= static_cast<const uint8_t*>(r->data) + r->bytes;
}

namespace {

// Atomic stores of different blocks may hit the same address; DMA atomics are per element, so one
// lock per address stripe is enough.
std::mutex g_atomic[64];

template <typename T, typename Op>
void AtomicLoop(uint8_t* dst, const uint8_t* src, uint64_t bytes, Op op)
{
    for (uint64_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
        T a, b;
        memcpy(&a, dst + i, sizeof(T));
        memcpy(&b, src + i, sizeof(T));
        a = op(a, b);
        memcpy(dst + i, &a, sizeof(T));
    }
}

template <typename T>
void AtomicStore(uint8_t* dst, const uint8_t* src, uint64_t bytes, int op)
{
    if (op == 1) {
        AtomicLoop<T>(dst, src, bytes, [](T a, T b) {
            if constexpr (std::is_integral<T>::value) {
                using U = std::make_unsigned_t<T>;
                return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
            } else {
                return static_cast<T>(static_cast<float>(a) + static_cast<float>(b));
            }
        });
    } else if (op == 2) {
        AtomicLoop<T>(dst, src, bytes, [](T a, T b) { return a < b ? b : a; });
    } else {
        AtomicLoop<T>(dst, src, bytes, [](T a, T b) { return b < a ? b : a; });
    }
}

void Store(Core& core, uint8_t* dst, const uint8_t* src, uint64_t bytes, const char* name, Loc loc)
{
    const Registers& r = core.regs;
    if (r.atomicOp == 0) {
        memcpy(dst, src, bytes);
        return;
    }
    // Stripes of 4 KB, locked one after the other: a store never holds two locks.
    while (bytes > 0) {
        const uintptr_t page = reinterpret_cast<uintptr_t>(dst) >> 12;
        const uint64_t room = ((page + 1) << 12) - reinterpret_cast<uintptr_t>(dst);
        const uint64_t n = std::min(bytes, room);
        std::lock_guard<std::mutex> lock(g_atomic[page % 64]);
        switch (r.atomicType) {
            case DType::kF32: AtomicStore<float>(dst, src, n, r.atomicOp); break;
            case DType::kF16: AtomicStore<half>(dst, src, n, r.atomicOp); break;
            case DType::kBf16: AtomicStore<bfloat16_t>(dst, src, n, r.atomicOp); break;
            case DType::kI32: AtomicStore<int32_t>(dst, src, n, r.atomicOp); break;
            case DType::kI16: AtomicStore<int16_t>(dst, src, n, r.atomicOp); break;
            case DType::kI8: AtomicStore<int8_t>(dst, src, n, r.atomicOp); break;
            default:
                Trap(core, loc, name, "atomic stores of %s do not exist on arch 2201", Name(r.atomicType));
        }
        dst += n;
        src += n;
        bytes -= n;
    }
}

// On-chip accesses must stay inside the buffer in every mode: anything else would corrupt another
// buffer of the emulation.
void CheckLocal(Core& core, const TensorRef& t, uint64_t end, const char* name, const char* role, Loc loc)
{
    const uint32_t size = core.capacity[static_cast<int>(t.mem)];
    if (__builtin_expect(end > size || t.ptr == nullptr, 0)) OutOfBounds(core, t, end, name, role, loc);
}

bool Has(const Core& core, Mem mem) { return core.capacity[static_cast<int>(mem)] > 0; }

Operand& AddLocal(Record& r, const char* role, const TensorRef& t, DType type, Access access)
{
    Operand& o = r.Add(role);
    o.mem = t.mem;
    o.dtype = type;
    o.access = access;
    o.position = t.pos;
    o.addr = t.addr;
    o.lo = t.lo;
    o.hi = t.hi;
    o.tensorEnd = uint64_t{t.addr} + t.size;
    o.buffer = t.buffer;
    return o;
}

Operand& AddGm(Record& r, const char* role, const GmRef& t, DType type, Access access)
{
    Operand& o = r.Add(role);
    o.mem = Mem::kGm;
    o.dtype = type;
    o.access = access;
    o.addr = reinterpret_cast<uint64_t>(t.ptr);
    o.lo = reinterpret_cast<uint64_t>(t.lo);
    o.hi = reinterpret_cast<uint64_t>(t.hi);
    o.align = static_cast<uint16_t>(std::max<uint32_t>(1, DTypeBits(type) / 8));
    return o;
}

void SetBlocks(Operand& o, uint64_t bytes, uint32_t blocks, int64_t stride)
{
    o.blockBytes = static_cast<uint32_t>(bytes);
    o.repeats = blocks;
    o.repeatStride = stride;
}

uint64_t Span(uint64_t bytes, uint32_t blocks, int64_t stride)
{
    return blocks == 0 ? 0 : bytes + static_cast<uint64_t>(blocks - 1) * static_cast<uint64_t>(stride);
}

Record Start(const Core& core, const CopyCall& c, Pipe pipe)
{
    Record r;
    r.op = c.name;
    r.pipe = pipe;
    r.loc = Where(core, c.loc);
    return r;
}

// Lengths of DataCopy count whole 32-byte units; the device drops the rest.
uint64_t WholeUnits(Core& core, const CopyCall& c)
{
    if (c.blockBytes % 32 != 0) {
        Complain(core, c.loc, "ErrorParam", c.name, "use DataCopyPad for lengths that are not multiples of 32 bytes",
                 "%llu bytes are not a multiple of 32: the device copies only %llu",
                 static_cast<unsigned long long>(c.blockBytes),
                 static_cast<unsigned long long>(c.blockBytes / 32 * 32));
    }
    if (c.blocks > 4095) {
        Complain(core, c.loc, "ErrorParam", c.name, "split the copy", "blockCount %u is not in 1..4095",
                 c.blocks);
    }
    return c.blockBytes / 32 * 32;
}

}  // namespace

void RunCopyIn(const CopyCall& c, const TensorRef& dst, const GmRef& src)
{
    Core& core = Current();
    if (!Has(core, dst.mem)) return;
    PollByCopy(core, src.ptr);
    const uint64_t bytes = WholeUnits(core, c);
    const int64_t srcStride = static_cast<int64_t>(bytes) + c.srcGap;
    const int64_t dstStride = static_cast<int64_t>(bytes) + c.dstGap;
    if (core.sink) {
        Record r = Start(core, c, Pipe::kMte2);
        r.countForm = c.blocks == 1;
        SetBlocks(AddLocal(r, "dst", dst, c.type, Access::kWrite), bytes, c.blocks, dstStride);
        SetBlocks(AddGm(r, "src", src, c.type, Access::kRead), bytes, c.blocks, srcStride);
        core.sink->OnInstruction(core, r);
    }
    if (bytes == 0 || c.blocks == 0) return;
    CheckLocal(core, dst, dst.addr + Span(bytes, c.blocks, dstStride), c.name, "dst", c.loc);
    for (uint32_t i = 0; i < c.blocks; ++i) {
        const uint8_t* from = src.ptr + static_cast<int64_t>(i) * srcStride;
        memcpy(dst.ptr + static_cast<int64_t>(i) * dstStride, from,
               GmBytes(core, from, bytes, false, c.name, c.loc));
    }
}

void RunCopyOut(const CopyCall& c, const GmRef& dst, const TensorRef& src)
{
    Core& core = Current();
    if (!Has(core, src.mem)) return;
    NoteStore(core);
    const uint64_t bytes = WholeUnits(core, c);
    const int64_t srcStride = static_cast<int64_t>(bytes) + c.srcGap;
    const int64_t dstStride = static_cast<int64_t>(bytes) + c.dstGap;
    if (core.sink) {
        Record r = Start(core, c, src.mem == Mem::kL0c ? Pipe::kFix : Pipe::kMte3);
        r.countForm = c.blocks == 1;
        Operand& o = AddGm(r, "dst", dst, c.type, Access::kWrite);
        SetBlocks(o, bytes, c.blocks, dstStride);
        o.atomic = core.regs.atomicOp != 0;
        SetBlocks(AddLocal(r, "src", src, c.type, Access::kRead), bytes, c.blocks, srcStride);
        core.sink->OnInstruction(core, r);
    }
    if (bytes == 0 || c.blocks == 0) return;
    CheckLocal(core, src, src.addr + Span(bytes, c.blocks, srcStride), c.name, "src", c.loc);
    for (uint32_t i = 0; i < c.blocks; ++i) {
        uint8_t* to = dst.ptr + static_cast<int64_t>(i) * dstStride;
        Store(core, to, src.ptr + static_cast<int64_t>(i) * srcStride,
              GmBytes(core, to, bytes, true, c.name, c.loc), c.name, c.loc);
    }
}

void RunCopyLocal(const CopyCall& c, const TensorRef& dst, const TensorRef& src)
{
    Core& core = Current();
    if (!Has(core, dst.mem) || !Has(core, src.mem)) {
        // UB -> L1 exists on a vector core although L1 belongs to the cube core; the matching
        // high-level API routes it through the group.
        return;
    }
    const uint64_t bytes = WholeUnits(core, c);
    const uint64_t written = c.widens ? bytes * 2 : bytes;
    const int64_t srcStride = static_cast<int64_t>(bytes) + c.srcGap;
    const int64_t dstStride = static_cast<int64_t>(written) + c.dstGap;
    if (core.sink) {
        Pipe pipe = Pipe::kV;
        if (src.mem == Mem::kL1) pipe = dst.mem == Mem::kFb ? Pipe::kFix : Pipe::kMte1;
        if (src.mem == Mem::kUb && dst.mem != Mem::kUb) pipe = Pipe::kMte3;
        Record r = Start(core, c, pipe);
        r.countForm = c.blocks == 1;
        const DType to = c.widens ? DType::kF32 : c.type;
        SetBlocks(AddLocal(r, "dst", dst, to, Access::kWrite), written, c.blocks, dstStride);
        SetBlocks(AddLocal(r, "src", src, c.type, Access::kRead), bytes, c.blocks, srcStride);
        core.sink->OnInstruction(core, r);
    }
    if (bytes == 0 || c.blocks == 0) return;
    CheckLocal(core, dst, dst.addr + Span(written, c.blocks, dstStride), c.name, "dst", c.loc);
    CheckLocal(core, src, src.addr + Span(bytes, c.blocks, srcStride), c.name, "src", c.loc);
    for (uint32_t i = 0; i < c.blocks; ++i) {
        uint8_t* to = dst.ptr + static_cast<int64_t>(i) * dstStride;
        const uint8_t* from = src.ptr + static_cast<int64_t>(i) * srcStride;
        if (!c.widens) {
            memmove(to, from, bytes);
            continue;
        }
        for (uint64_t at = 0; at < bytes; at += 2) {
            uint16_t bits;
            memcpy(&bits, from + at, 2);
            const float value = HalfBitsToFloat(bits);
            memcpy(to + 2 * at, &value, 4);
        }
    }
}

void RunPadIn(const CopyPadCall& p, const TensorRef& dst, const GmRef& src)
{
    const CopyCall& c = p.copy;
    Core& core = Current();
    if (!Has(core, dst.mem)) return;
    PollByCopy(core, src.ptr);
    NeedsArch2201(core, c.loc, "DataCopyPad");
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(c.type) / 8);
    const uint64_t left = static_cast<uint64_t>(p.left) * es, right = static_cast<uint64_t>(p.right) * es;
    const uint64_t padded = (left + c.blockBytes + right + 31) / 32 * 32;
    const int64_t srcStride = static_cast<int64_t>(c.blockBytes) + c.srcGap;
    const int64_t dstStride = static_cast<int64_t>(padded) + c.dstGap * 32;
    if (c.blocks > 4095 || c.blockBytes > 2097151) {
        Complain(core, c.loc, "ErrorParam", c.name, "split the copy",
                 "blockCount %u (at most 4095) or blockLen %llu (at most 2097151) is out of range", c.blocks,
                 static_cast<unsigned long long>(c.blockBytes));
    }
    if (left > 32 || right > 32) {
        Complain(core, c.loc, "ErrorParam", c.name, "pad at most 32 bytes on each side",
                 "leftPadding %u and rightPadding %u elements", p.left, p.right);
    }
    if (es == 8 && p.isPad && p.value != 0) {
        Complain(core, c.loc, "ErrorParam", c.name, "pad 64-bit types with 0",
                 "paddingValue of a 64-bit type must be 0");
    }
    if (core.sink) {
        Record r = Start(core, c, Pipe::kMte2);
        SetBlocks(AddLocal(r, "dst", dst, c.type, Access::kWrite), padded, c.blocks, dstStride);
        Operand& o = AddGm(r, "src", src, c.type, Access::kRead);
        SetBlocks(o, c.blockBytes, c.blocks, srcStride);
        o.align = 1;
        if (c.blockBytes == 0) r.operands[0].blockBytes = 0;
        core.sink->OnInstruction(core, r);
    }
    if (p.isPad) core.regs.padValue = p.value;  // the value goes through SetPadValue's register
    if (c.blockBytes == 0 || c.blocks == 0) return;
    CheckLocal(core, dst, dst.addr + Span(padded, c.blocks, dstStride), c.name, "dst", c.loc);
    auto fill = [&](uint8_t* at, uint64_t bytes, const void* element) {
        for (uint64_t i = 0; i + es <= bytes; i += es) memcpy(at + i, element, es);
        // A tail that is no whole element keeps its first bytes.
        if (bytes % es != 0) memcpy(at + bytes / es * es, element, bytes % es);
    };
    for (uint32_t i = 0; i < c.blocks; ++i) {
        uint8_t* to = dst.ptr + static_cast<int64_t>(i) * dstStride;
        const uint8_t* from = src.ptr + static_cast<int64_t>(i) * srcStride;
        memcpy(to + left, from, GmBytes(core, from, c.blockBytes, false, c.name, c.loc));
        uint8_t* const tail = to + left + c.blockBytes;
        const uint64_t rest = padded - left - c.blockBytes;
        if (left == 0 && right == 0) {
            // Without pads the rest is dummy data, whatever isPad says: the block's first element.
            if (rest > 0) {
                uint8_t first[8] = {};
                memcpy(first, to, std::min<uint64_t>(es, c.blockBytes));
                fill(tail, rest, first);
            }
        } else {
            // With isPad false the page says random; it is what was last set.
            fill(to, left, &core.regs.padValue);
            fill(tail, rest, &core.regs.padValue);
        }
    }
}

void RunPadOut(const CopyCall& c, const GmRef& dst, const TensorRef& src)
{
    Core& core = Current();
    if (!Has(core, src.mem)) return;
    NoteStore(core);
    NeedsArch2201(core, c.loc, "DataCopyPad");
    const uint64_t padded = (c.blockBytes + 31) / 32 * 32;
    const int64_t srcStride = static_cast<int64_t>(padded) + c.srcGap * 32;
    const int64_t dstStride = static_cast<int64_t>(c.blockBytes) + c.dstGap;
    if (c.blocks > 4095 || c.blockBytes > 2097151) {
        Complain(core, c.loc, "ErrorParam", c.name, "split the copy",
                 "blockCount %u (at most 4095) or blockLen %llu (at most 2097151) is out of range", c.blocks,
                 static_cast<unsigned long long>(c.blockBytes));
    }
    if (core.sink) {
        Record r = Start(core, c, Pipe::kMte3);
        Operand& o = AddGm(r, "dst", dst, c.type, Access::kWrite);
        SetBlocks(o, c.blockBytes, c.blocks, dstStride);
        o.align = 1;
        o.atomic = core.regs.atomicOp != 0;
        SetBlocks(AddLocal(r, "src", src, c.type, Access::kRead), c.blockBytes, c.blocks, srcStride);
        core.sink->OnInstruction(core, r);
    }
    if (c.blockBytes == 0 || c.blocks == 0) return;
    CheckLocal(core, src, src.addr + Span(c.blockBytes, c.blocks, srcStride), c.name, "src", c.loc);
    for (uint32_t i = 0; i < c.blocks; ++i) {
        uint8_t* to = dst.ptr + static_cast<int64_t>(i) * dstStride;
        Store(core, to, src.ptr + static_cast<int64_t>(i) * srcStride,
              GmBytes(core, to, c.blockBytes, true, c.name, c.loc), c.name, c.loc);
    }
}

namespace {
// Rows of C0 columns: element (n, d) of the matrix goes to fractal column d / C0.
template <typename Read>
void Nd2NzLoop(DType type, const TensorRef& dst, const AscendC::Nd2NzParams& p, Read read)
{
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    const uint32_t c0 = 32 / es;
    for (uint32_t m = 0; m < p.ndNum; ++m) {
        uint8_t* const base = dst.ptr + static_cast<uint64_t>(m) * p.dstNzMatrixStride * es;
        for (uint32_t n = 0; n < p.nValue; ++n) {
            for (uint32_t d = 0; d < p.dValue; d += c0) {
                uint8_t* to = base + static_cast<uint64_t>(d / c0) * p.dstNzC0Stride * 32 +
                              static_cast<uint64_t>(n) * p.dstNzNStride * 32;
                const uint32_t cols = std::min<uint32_t>(c0, p.dValue - d);
                read(m, n, d, to, cols * es);
                // The last fractal column is padded with zeros.
                if (cols < c0) memset(to + cols * es, 0, (c0 - cols) * es);
            }
        }
    }
}

uint64_t Nd2NzEnd(DType type, const TensorRef& dst, const AscendC::Nd2NzParams& p)
{
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    const uint32_t c0 = 32 / es;
    if (p.ndNum == 0 || p.nValue == 0 || p.dValue == 0) return dst.addr;
    const uint64_t columns = (p.dValue + c0 - 1) / c0;
    return dst.addr + static_cast<uint64_t>(p.ndNum - 1) * p.dstNzMatrixStride * es +
           (columns - 1) * p.dstNzC0Stride * 32 + static_cast<uint64_t>(p.nValue - 1) * p.dstNzNStride * 32 + 32;
}

void Nd2NzDst(Operand& o, DType type, const AscendC::Nd2NzParams& p)
{
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    const uint32_t c0 = 32 / es;
    // Rows of one fractal column are contiguous when dstNzNStride is 1, the usual case.
    const uint32_t columns = (p.dValue + c0 - 1) / c0;
    if (p.dstNzNStride == 1) {
        o.blockBytes = static_cast<uint32_t>(p.nValue) * 32;
        o.blocks = columns;
        o.blockStride = static_cast<int64_t>(p.dstNzC0Stride) * 32;
    } else {
        o.blockBytes = columns > 0 ? 32 : 0;
        o.blocks = p.nValue;
        o.blockStride = static_cast<int64_t>(p.dstNzNStride) * 32;
    }
    o.repeats = p.dstNzNStride == 1 ? p.ndNum : columns;
    o.repeatStride = p.dstNzNStride == 1 ? static_cast<int64_t>(p.dstNzMatrixStride) * es
                                         : static_cast<int64_t>(p.dstNzC0Stride) * 32;
}
}  // namespace

void RunNd2Nz(DType type, const TensorRef& dst, const GmRef& src, const AscendC::Nd2NzParams& p, Loc loc)
{
    Core& core = Current();
    if (!Has(core, dst.mem)) return;
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    if (core.sink) {
        Record r = Start(core, CopyCall{"DataCopy", type, 1, 0, 0, 0, loc}, Pipe::kMte2);
        Nd2NzDst(AddLocal(r, "dst", dst, type, Access::kWrite), type, p);
        Operand& o = AddGm(r, "src", src, type, Access::kRead);
        o.blockBytes = p.dValue * es;
        o.blocks = p.nValue;
        o.blockStride = static_cast<int64_t>(p.srcDValue) * es;
        o.repeats = p.ndNum;
        o.repeatStride = static_cast<int64_t>(p.srcNdMatrixStride) * es;
        core.sink->OnInstruction(core, r);
    }
    CheckLocal(core, dst, Nd2NzEnd(type, dst, p), "DataCopy", "dst", loc);
    Nd2NzLoop(type, dst, p, [&](uint32_t m, uint32_t n, uint32_t d, uint8_t* to, uint64_t bytes) {
        const uint8_t* from = src.ptr + (static_cast<uint64_t>(m) * p.srcNdMatrixStride +
                                         static_cast<uint64_t>(n) * p.srcDValue + d) * es;
        memcpy(to, from, GmBytes(core, from, bytes, false, "DataCopy", loc));
    });
}

void RunNd2NzLocal(DType type, const TensorRef& dst, const TensorRef& src, const AscendC::Nd2NzParams& p,
                   Loc loc)
{
    Core& core = Current();
    if (!Has(core, dst.mem) || !Has(core, src.mem)) return;
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    if (core.sink) {
        Record r = Start(core, CopyCall{"DataCopy", type, 1, 0, 0, 0, loc}, Pipe::kMte3);
        Nd2NzDst(AddLocal(r, "dst", dst, type, Access::kWrite), type, p);
        Operand& o = AddLocal(r, "src", src, type, Access::kRead);
        o.blockBytes = p.dValue * es;
        o.blocks = p.nValue;
        o.blockStride = static_cast<int64_t>(p.srcDValue) * es;
        o.repeats = p.ndNum;
        o.repeatStride = static_cast<int64_t>(p.srcNdMatrixStride) * es;
        core.sink->OnInstruction(core, r);
    }
    CheckLocal(core, dst, Nd2NzEnd(type, dst, p), "DataCopy", "dst", loc);
    Nd2NzLoop(type, dst, p, [&](uint32_t m, uint32_t n, uint32_t d, uint8_t* to, uint64_t bytes) {
        memcpy(to, src.ptr + (static_cast<uint64_t>(m) * p.srcNdMatrixStride +
                              static_cast<uint64_t>(n) * p.srcDValue + d) * es, bytes);
    });
}

void RunPadNd2Nz(DType type, const TensorRef& dst, const TensorRef& src,
                 const AscendC::DataCopyExtParams& copy, const AscendC::Nd2NzParams& p, Loc loc)
{
    Core& core = Current();
    if (!Has(core, dst.mem) || !Has(core, src.mem)) return;
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    if (p.ndNum != 1) {
        TrapCheck(core, loc, "ErrorParam", "DataCopyPad", "call it once per matrix",
                  "ndNum is %u: UB to L1 moves one matrix", p.ndNum);
    }
    const uint64_t rowBytes = (copy.blockLen + 31ull) / 32 * 32 + copy.srcStride * 32ull;
    if (core.sink) {
        Record r = Start(core, CopyCall{"DataCopyPad", type, 1, 0, 0, 0, loc}, Pipe::kMte3);
        Nd2NzDst(AddLocal(r, "dst", dst, type, Access::kWrite), type, p);
        Operand& o = AddLocal(r, "src", src, type, Access::kRead);
        o.blockBytes = copy.blockLen;
        o.blocks = copy.blockCount;
        o.blockStride = static_cast<int64_t>(rowBytes);
        core.sink->OnInstruction(core, r);
    }
    CheckLocal(core, dst, Nd2NzEnd(type, dst, p), "DataCopyPad", "dst", loc);
    CheckLocal(core, src, src.addr + (copy.blockCount ? copy.blockCount - 1 : 0) * rowBytes + copy.blockLen,
               "DataCopyPad", "src", loc);
    // What lies in the workspace between the two copies on the device.
    const uint64_t step = static_cast<uint64_t>(copy.blockLen) + copy.dstStride;
    std::vector<uint8_t> staged(copy.blockCount * step);
    for (uint32_t i = 0; i < copy.blockCount; ++i) {
        memcpy(staged.data() + i * step, src.ptr + i * rowBytes, copy.blockLen);
    }
    Nd2NzLoop(type, dst, p, [&](uint32_t, uint32_t n, uint32_t d, uint8_t* to, uint64_t bytes) {
        const uint64_t from = (static_cast<uint64_t>(n) * p.srcDValue + d) * es;
        if (from + bytes > staged.size()) {
            TrapCheck(core, loc, "ErrorParam", "DataCopyPad", "make nValue, dValue and srcDValue fit the blocks",
                      "row %u of the matrix ends behind the %u blocks of %u bytes that are copied", n,
                      copy.blockCount, copy.blockLen);
        }
        memcpy(to, staged.data() + from, bytes);
    });
}

void RunNz2Nd(DType type, const GmRef& dst, const TensorRef& src, const AscendC::Nz2NdParamsFull& p, Loc loc)
{
    Core& core = Current();
    if (!Has(core, src.mem)) return;
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    const uint32_t c0 = 32 / es;
    const uint32_t columns = (p.dValue + c0 - 1) / c0;
    if (core.sink) {
        Record r = Start(core, CopyCall{"DataCopy", type, 1, 0, 0, 0, loc}, Pipe::kMte3);
        Operand& d = AddGm(r, "dst", dst, type, Access::kWrite);
        d.blockBytes = p.dValue * es;
        d.blocks = p.nValue;
        d.blockStride = static_cast<int64_t>(p.dstDStride) * es;
        d.repeats = p.ndNum;
        d.repeatStride = static_cast<int64_t>(p.dstNdMatrixStride) * es;
        d.atomic = core.regs.atomicOp != 0;
        Operand& o = AddLocal(r, "src", src, type, Access::kRead);
        o.blockBytes = static_cast<uint32_t>(p.nValue) * 32;
        o.blocks = columns;
        o.blockStride = static_cast<int64_t>(p.srcNStride) * 32;
        o.repeats = p.ndNum;
        o.repeatStride = static_cast<int64_t>(p.srcNdMatrixStride) * 512;
        core.sink->OnInstruction(core, r);
    }
    for (uint32_t m = 0; m < p.ndNum; ++m) {
        for (uint32_t n = 0; n < p.nValue; ++n) {
            for (uint32_t d = 0; d < p.dValue; d += c0) {
                const uint64_t at = static_cast<uint64_t>(m) * p.srcNdMatrixStride * 512 +
                                    static_cast<uint64_t>(d / c0) * p.srcNStride * 32 + n * 32ull;
                CheckLocal(core, src, src.addr + at + 32, "DataCopy", "src", loc);
                uint8_t* to = dst.ptr + (static_cast<uint64_t>(m) * p.dstNdMatrixStride +
                                         static_cast<uint64_t>(n) * p.dstDStride + d) * es;
                const uint64_t bytes = std::min<uint32_t>(c0, p.dValue - d) * static_cast<uint64_t>(es);
                Store(core, to, src.ptr + at, GmBytes(core, to, bytes, true, "DataCopy", loc), "DataCopy", loc);
            }
        }
    }
}

namespace {
// One dimension-0 burst per combination of the outer dimensions' slices.
struct SliceWalk {
    uint64_t bursts = 1;   // along all dimensions
    uint64_t inner = 1;    // along dimension 0
    uint64_t burstBytes = 0;
};

uint64_t SliceSteps(const AscendC::SliceInfo& s, uint64_t burst)
{
    // Elements per step: the burst and the gap after it.
    const uint64_t length = static_cast<uint64_t>(s.endIndex) - s.startIndex + 1;
    const uint64_t step = burst + s.stride;
    return step == 0 ? 0 : (length + s.stride) / step;
}

// Element offsets of all bursts. Dimension 0 counts bursts of burstLen 32-byte units, the outer ones
// single rows.
template <typename F>
void ForSlices(const AscendC::SliceInfo* s, uint32_t dims, uint32_t es, F f)
{
    const uint64_t burst = static_cast<uint64_t>(s[0].burstLen) * 32 / es;
    uint64_t counts[8] = {}, strides[8] = {};
    uint64_t stride = 1;
    for (uint32_t d = 0; d < dims && d < 8; ++d) {
        counts[d] = SliceSteps(s[d], d == 0 ? burst : 1);
        strides[d] = stride;
        stride *= s[d].shapeValue;
    }
    uint64_t total = 1;
    for (uint32_t d = 0; d < dims && d < 8; ++d) total *= counts[d];
    for (uint64_t i = 0; i < total; ++i) {
        uint64_t rest = i, offset = 0;
        for (uint32_t d = 0; d < dims && d < 8; ++d) {
            const uint64_t k = rest % counts[d];
            rest /= counts[d];
            offset += (s[d].startIndex + k * ((d == 0 ? burst : 1) + s[d].stride)) * strides[d];
        }
        f(i, offset, burst);
    }
}
// Both sides must name the same bursts: the device walks them in step.
void CheckSlices(size_t from, size_t to, const AscendC::SliceInfo* s, const AscendC::SliceInfo* d,
                 Loc loc)
{
    if (from == to && s[0].burstLen == d[0].burstLen) return;
    Complain(Current(), loc, "ErrorParam", "DataCopy",
             "give both slices the same burstLen and the same number of elements per dimension",
             "srcSlice has %llu bursts of %u blocks, dstSlice %llu of %u",
             static_cast<unsigned long long>(from), s[0].burstLen, static_cast<unsigned long long>(to),
             d[0].burstLen);
}

}  // namespace

void RunSliceIn(DType type, const TensorRef& dst, const GmRef& src, const AscendC::SliceInfo* d,
                const AscendC::SliceInfo* s, uint32_t dims, Loc loc)
{
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    std::vector<uint64_t> from, to;
    uint64_t burst = 0;
    ForSlices(s, dims, es, [&](uint64_t, uint64_t o, uint64_t b) { from.push_back(o), burst = b; });
    ForSlices(d, dims, es, [&](uint64_t, uint64_t o, uint64_t) { to.push_back(o); });
    CheckSlices(from.size(), to.size(), s, d, loc);
    LocScope scope(loc);
    for (size_t i = 0; i < from.size() && i < to.size(); ++i) {
        TensorRef t = dst;
        GmRef g = src;
        t.ptr += to[i] * es;
        t.addr += static_cast<uint32_t>(to[i] * es);
        g.ptr += from[i] * es;
        RunCopyIn(CopyCall{"DataCopy", type, 1, burst * es, 0, 0, loc}, t, g);
    }
}

void RunSliceOut(DType type, const GmRef& dst, const TensorRef& src, const AscendC::SliceInfo* d,
                 const AscendC::SliceInfo* s, uint32_t dims, Loc loc)
{
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    std::vector<uint64_t> from, to;
    uint64_t burst = 0;
    ForSlices(s, dims, es, [&](uint64_t, uint64_t o, uint64_t b) { from.push_back(o), burst = b; });
    ForSlices(d, dims, es, [&](uint64_t, uint64_t o, uint64_t) { to.push_back(o); });
    CheckSlices(from.size(), to.size(), s, d, loc);
    LocScope scope(loc);
    for (size_t i = 0; i < from.size() && i < to.size(); ++i) {
        TensorRef t = src;
        GmRef g = dst;
        t.ptr += from[i] * es;
        t.addr += static_cast<uint32_t>(from[i] * es);
        g.ptr += to[i] * es;
        RunCopyOut(CopyCall{"DataCopy", type, 1, burst * es, 0, 0, loc}, g, t);
    }
}

void RunGmFill(const char* name, DType type, const GmRef& dst, uint64_t count, uint64_t value, Loc loc)
{
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(type) / 8);
    const uint64_t bytes = count * es;
    if (core.sink) {
        Record r = Start(core, CopyCall{name, type, 1, bytes, 0, 0, loc}, Pipe::kMte3);
        Operand& o = AddGm(r, "gm", dst, type, Access::kWrite);
        SetBlocks(o, bytes, 1, 0);
        core.sink->OnInstruction(core, r);
    }
    if (bytes == 0) return;
    const uint64_t room = GmBytes(core, dst.ptr, bytes, true, name, loc);
    for (uint64_t i = 0; i + es <= room; i += es) memcpy(dst.ptr + i, &value, es);
}

}  // namespace ascendc_emu
