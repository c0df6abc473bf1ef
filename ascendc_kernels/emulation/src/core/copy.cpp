// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Data movement by the MTE pipes: blocks as they are, with padding.
#include <cstring>

#include "core/copy_steps.h"
#include "core/read_ahead.h"

namespace ascendc_emu {

thread_local ReadAhead g_read_ahead __attribute__((tls_model("initial-exec")));

namespace {

// Lengths of DataCopy count whole 32-byte units; the device drops the rest.
uint64_t WholeUnits(Core& core, const CopyCall& c) {
    if (c.blockBytes % 32 != 0) {
        Complain(core, c.loc, "ErrorParam", c.api,
                 "use DataCopyPad for lengths that are not multiples of 32 bytes",
                 "%llu bytes are not a multiple of 32: the device copies only %llu",
                 static_cast<unsigned long long>(c.blockBytes),
                 static_cast<unsigned long long>(c.blockBytes / 32 * 32));
    }
    if (c.blocks > 4095) {
        Complain(core, c.loc, "ErrorParam", c.api, "split the copy",
                 "blockCount %u is not in 1..4095", c.blocks);
    }
    return c.blockBytes / 32 * 32;
}

}  // namespace

void RunCopyIn(const CopyCall& c, const TensorRef& dst, const GmRef& src) {
    Core& core = Current();
    if (!Has(core, dst.mem)) return;
    PollByCopy(core, src.ptr);
    const uint64_t bytes = WholeUnits(core, c);
    const int64_t srcStride = static_cast<int64_t>(bytes) + c.srcGap;
    const int64_t dstStride = static_cast<int64_t>(bytes) + c.dstGap;
    if (core.sink) {
        Record r = Start(core, c, Pipe::kMte2);
        r.countForm = c.blocks == 1;
        SetBlocks(AddTensor(r, "dst", dst, c.type, Access::kWrite), bytes, c.blocks, dstStride);
        SetBlocks(AddTensor(r, "src", src, c.type, Access::kRead), bytes, c.blocks, srcStride);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    if (bytes == 0 || c.blocks == 0) return;
    CheckLocal(core, dst, dst.addr + Span(bytes, c.blocks, dstStride), c.api, "dst", c.loc);
    for (uint32_t i = 0; i < c.blocks; ++i) {
        const uint8_t* from = src.ptr + static_cast<int64_t>(i) * srcStride;
        memcpy(dst.ptr + static_cast<int64_t>(i) * dstStride, from,
               GmBytes(core, from, bytes, false, c.api, c.loc));
    }
    g_read_ahead.Follow(src.ptr, bytes, c.blocks, srcStride);
}

void RunCopyOut(const CopyCall& c, const GmRef& dst, const TensorRef& src) {
    Core& core = Current();
    if (!Has(core, src.mem)) return;
    NoteStore(core);
    const uint64_t bytes = WholeUnits(core, c);
    const int64_t srcStride = static_cast<int64_t>(bytes) + c.srcGap;
    const int64_t dstStride = static_cast<int64_t>(bytes) + c.dstGap;
    if (core.sink) {
        Record r = Start(core, c, src.mem == Mem::kL0c ? Pipe::kFix : Pipe::kMte3);
        r.countForm = c.blocks == 1;
        Operand& o = AddTensor(r, "dst", dst, c.type, Access::kWrite);
        SetBlocks(o, bytes, c.blocks, dstStride);
        o.atomic = core.regs.atomicOp != 0;
        SetBlocks(AddTensor(r, "src", src, c.type, Access::kRead), bytes, c.blocks, srcStride);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    if (bytes == 0 || c.blocks == 0) return;
    CheckLocal(core, src, src.addr + Span(bytes, c.blocks, srcStride), c.api, "src", c.loc);
    for (uint32_t i = 0; i < c.blocks; ++i) {
        uint8_t* to = dst.ptr + static_cast<int64_t>(i) * dstStride;
        Store(core, to, src.ptr + static_cast<int64_t>(i) * srcStride,
              GmBytes(core, to, bytes, true, c.api, c.loc), c.api, c.loc);
    }
}

void RunCopyLocal(const CopyCall& c, const TensorRef& dst, const TensorRef& src) {
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
        if (src.mem == Mem::kUb && dst.mem != Mem::kUb && dst.mem != Mem::kL0c) pipe = Pipe::kMte3;
        Record r = Start(core, c, pipe);
        r.countForm = c.blocks == 1;
        const DType to = c.widens ? DType::kF32 : c.type;
        SetBlocks(AddTensor(r, "dst", dst, to, Access::kWrite), written, c.blocks, dstStride);
        SetBlocks(AddTensor(r, "src", src, c.type, Access::kRead), bytes, c.blocks, srcStride);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    if (bytes == 0 || c.blocks == 0) return;
    CheckLocal(core, dst, dst.addr + Span(written, c.blocks, dstStride), c.api, "dst", c.loc);
    CheckLocal(core, src, src.addr + Span(bytes, c.blocks, srcStride), c.api, "src", c.loc);
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

void RunPadIn(const CopyPadCall& p, const TensorRef& dst, const GmRef& src) {
    const CopyCall& c = p.copy;
    Core& core = Current();
    if (!Has(core, dst.mem)) return;
    PollByCopy(core, src.ptr);
    NeedsApi(core, c.loc, Api::kDataCopyPad);
    const uint32_t es = std::max<uint32_t>(1, DTypeBits(c.type) / 8);
    const uint64_t left = static_cast<uint64_t>(p.left) * es,
                   right = static_cast<uint64_t>(p.right) * es;
    const uint64_t padded = (left + c.blockBytes + right + 31) / 32 * 32;
    const int64_t srcStride = static_cast<int64_t>(c.blockBytes) + c.srcGap;
    const int64_t dstStride = static_cast<int64_t>(padded) + c.dstGap * 32;
    if (c.blocks > 4095 || c.blockBytes > 2097151) {
        Complain(core, c.loc, "ErrorParam", c.api, "split the copy",
                 "blockCount %u (at most 4095) or blockLen %llu (at most 2097151) is out of range",
                 c.blocks, static_cast<unsigned long long>(c.blockBytes));
    }
    if (left > 32 || right > 32) {
        Complain(core, c.loc, "ErrorParam", c.api, "pad at most 32 bytes on each side",
                 "leftPadding %u and rightPadding %u elements", p.left, p.right);
    }
    if (es == 8 && p.isPad && p.value != 0) {
        Complain(core, c.loc, "ErrorParam", c.api, "pad 64-bit types with 0",
                 "paddingValue of a 64-bit type must be 0");
    }
    if (core.sink) {
        Record r = Start(core, c, Pipe::kMte2);
        SetBlocks(AddTensor(r, "dst", dst, c.type, Access::kWrite), padded, c.blocks, dstStride);
        Operand& o = AddTensor(r, "src", src, c.type, Access::kRead);
        SetBlocks(o, c.blockBytes, c.blocks, srcStride);
        o.align = 1;
        if (c.blockBytes == 0) r.operands[0].blockBytes = 0;
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    if (p.isPad) core.regs.padValue = p.value;  // the value goes through SetPadValue's register
    if (c.blockBytes == 0 || c.blocks == 0) return;
    CheckLocal(core, dst, dst.addr + Span(padded, c.blocks, dstStride), c.api, "dst", c.loc);
    auto fill = [&](uint8_t* at, uint64_t bytes, const void* element) {
        for (uint64_t i = 0; i + es <= bytes; i += es) memcpy(at + i, element, es);
        // A tail that is no whole element keeps its first bytes.
        if (bytes % es != 0) memcpy(at + bytes / es * es, element, bytes % es);
    };
    for (uint32_t i = 0; i < c.blocks; ++i) {
        uint8_t* to = dst.ptr + static_cast<int64_t>(i) * dstStride;
        const uint8_t* from = src.ptr + static_cast<int64_t>(i) * srcStride;
        memcpy(to + left, from, GmBytes(core, from, c.blockBytes, false, c.api, c.loc));
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
    g_read_ahead.Follow(src.ptr, c.blockBytes, c.blocks, srcStride);
}

void RunPadOut(const CopyCall& c, const GmRef& dst, const TensorRef& src) {
    Core& core = Current();
    if (!Has(core, src.mem)) return;
    NoteStore(core);
    NeedsApi(core, c.loc, Api::kDataCopyPad);
    const uint64_t padded = (c.blockBytes + 31) / 32 * 32;
    const int64_t srcStride = static_cast<int64_t>(padded) + c.srcGap * 32;
    const int64_t dstStride = static_cast<int64_t>(c.blockBytes) + c.dstGap;
    if (c.blocks > 4095 || c.blockBytes > 2097151) {
        Complain(core, c.loc, "ErrorParam", c.api, "split the copy",
                 "blockCount %u (at most 4095) or blockLen %llu (at most 2097151) is out of range",
                 c.blocks, static_cast<unsigned long long>(c.blockBytes));
    }
    if (core.sink) {
        Record r = Start(core, c, Pipe::kMte3);
        Operand& o = AddTensor(r, "dst", dst, c.type, Access::kWrite);
        SetBlocks(o, c.blockBytes, c.blocks, dstStride);
        o.align = 1;
        o.atomic = core.regs.atomicOp != 0;
        SetBlocks(AddTensor(r, "src", src, c.type, Access::kRead), c.blockBytes, c.blocks,
                  srcStride);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    if (c.blockBytes == 0 || c.blocks == 0) return;
    CheckLocal(core, src, src.addr + Span(c.blockBytes, c.blocks, srcStride), c.api, "src", c.loc);
    for (uint32_t i = 0; i < c.blocks; ++i) {
        uint8_t* to = dst.ptr + static_cast<int64_t>(i) * dstStride;
        Store(core, to, src.ptr + static_cast<int64_t>(i) * srcStride,
              GmBytes(core, to, c.blockBytes, true, c.api, c.loc), c.api, c.loc);
    }
}

}  // namespace ascendc_emu
