// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// CastDequant from int16: the parameters are 64-bit words with the scale as float32 in bits 0-31, a
// 9-bit signed offset in bits 37-45 and the signedness of the result in bit 46.
#include <cmath>
#include <cstring>

#include "ascendc_emu/dequant_api.h"
#include "vector/lanes.h"

namespace ascendc_emu {
namespace {

constexpr uint32_t kBlock = 32;
constexpr uint32_t kPerBlock = 16;  // sources of a block; also parameters of the vector form
constexpr uint32_t kBlocks = 8;

uint8_t Convert(int16_t value, uint64_t word) {
    const float scale = BitCast<float>(static_cast<uint32_t>(word));
    int32_t offset = static_cast<int32_t>((word >> 37) & 0x1ff);
    if (offset >= 256) offset -= 512;
    const bool sign = ((word >> 46) & 1) != 0;
    const float low = sign ? -128.0f : 0.0f, high = sign ? 127.0f : 255.0f;
    const float v = std::nearbyint(static_cast<float>(value) * scale + static_cast<float>(offset));
    if (v != v) return 0;
    return static_cast<uint8_t>(static_cast<int32_t>(v < low ? low : v > high ? high : v));
}

}  // namespace

void RunCastDequant(const CastDequantCall& c) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    const Geometry g = Resolve(core, c.form, 16);
    if (g.repeats == 0) return;
    const bool count = c.form.kind == Form::kCount;
    const int64_t dstBlk = count ? 1 : c.form.dstBlk, srcBlk = count ? 1 : c.form.src0Blk;
    const int64_t dstRep = count ? kBlocks : c.form.dstRep,
                  srcRep = count ? kBlocks : c.form.src0Rep;
    const uint32_t half = c.upperHalf ? kPerBlock : 0;
    const Registers& regs = core.regs;
    uint64_t table[kPerBlock];
    for (uint64_t& word : table) word = regs.deqScale;
    TensorRef parameters;
    if (c.vector) {
        parameters.addr = static_cast<uint32_t>(regs.deqScale);
        parameters.ptr = core.memory[static_cast<int>(Mem::kUb)] + parameters.addr;
        CheckEnd(core, parameters, parameters.addr + sizeof(table), c.api, "SetDeqScale's tensor",
                 c.loc);
        memcpy(table, parameters.ptr, sizeof(table));
    }
    if (core.sink != nullptr) {
        Record r;
        r.SetApi(c.api);
        r.pipe = Pipe::kV;
        r.loc = Where(core, c.loc);
        DescribeMask(r, g, c.form);
        Operand& to = DescribePlain(r, "dst", *c.dst, c.dt, Access::kWrite, kPerBlock);
        to.addr += half;
        to.align = kPerBlock;
        to.masked = !g.full || g.tail != 0;
        to.blocks = kBlocks;
        to.blockStride = dstBlk * kBlock;
        to.repeats = g.repeats;
        to.repeatStride = dstRep * kBlock;
        Operand& from = DescribePlain(r, "src", *c.src, DType::kI16, Access::kRead, kBlock);
        from.masked = to.masked;
        from.blocks = kBlocks;
        from.blockStride = srcBlk * kBlock;
        from.repeats = g.repeats;
        from.repeatStride = srcRep * kBlock;
        if (c.vector)
            DescribePlain(r, "scale", parameters, DType::kU64, Access::kRead, sizeof(table));
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    for (uint32_t r = 0; r < g.repeats; ++r) {
        const uint32_t lanes = g.tail != 0 && r + 1 == g.repeats ? g.tail : g.lanes;
        for (uint32_t b = 0; b * kPerBlock < lanes; ++b) {
            const uint64_t d = static_cast<uint64_t>(r * dstRep + b * dstBlk) * kBlock;
            const uint64_t s = static_cast<uint64_t>(r * srcRep + b * srcBlk) * kBlock;
            uint32_t on = 0xffff;
            if (!g.full) on = static_cast<uint32_t>(g.mask[b >> 2] >> (b % 4 * kPerBlock)) & 0xffff;
            if (lanes - b * kPerBlock < kPerBlock) on &= (1u << (lanes - b * kPerBlock)) - 1;
            if (on == 0) continue;
            CheckEnd(core, *c.dst, c.dst->addr + d + half + kPerBlock, c.api, "dst", c.loc);
            CheckEnd(core, *c.src, c.src->addr + s + kBlock, c.api, "src", c.loc);
            int16_t in[kPerBlock];
            memcpy(in, c.src->ptr + s, sizeof(in));
            for (uint32_t i = 0; i < kPerBlock; ++i) {
                if ((on >> i) & 1) c.dst->ptr[d + half + i] = Convert(in[i], table[i]);
            }
        }
    }
}

}  // namespace ascendc_emu
