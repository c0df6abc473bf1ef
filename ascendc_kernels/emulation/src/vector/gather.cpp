// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Gather, Gatherb, GatherMask, CreateVecIndex, and Scatter, which arch 2002 has.
#include <algorithm>
#include <cstring>

#include "ascendc_emu/gather_api.h"
#include "core/scheduler.h"
#include "vector/lanes.h"

namespace ascendc_emu {
namespace {

template <typename T>
void GatherLoop(T* dst, const uint8_t* base, const uint32_t* offset, uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) memcpy(dst + i, base + offset[i], sizeof(T));
}

constexpr uint64_t kRepeatBytes = 256;

// `sources` are the bytes gathered from. In place, a repeat is read before it is written, as on the
// device: kernels swap neighbours that way.
void GatherRun(uint8_t* dst, const uint8_t* base, const uint8_t* offset, uint64_t n, uint32_t es,
               const uint8_t* sources, uint64_t sourceBytes) {
    if (dst < sources + sourceBytes && sources < dst + n * es) {
        const uint64_t lanes = kRepeatBytes / es;
        uint8_t repeat[kRepeatBytes];
        for (uint64_t i = 0; i < n; i += lanes) {
            const uint64_t now = std::min(lanes, n - i);
            GatherRun(repeat, base, offset + i * 4, now, es, nullptr, 0);
            memcpy(dst + i * es, repeat, now * es);
        }
        return;
    }
    const auto* o = reinterpret_cast<const uint32_t*>(offset);
    if (es == 4)
        GatherLoop(reinterpret_cast<uint32_t*>(dst), base, o, n);
    else
        GatherLoop(reinterpret_cast<uint16_t*>(dst), base, o, n);
}

}  // namespace

void RunGather(Api api, DType type, const TensorRef& dst, const TensorRef& src,
               const TensorRef& offset, uint32_t base, const Form& form, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    NeedsValues(core, api, loc);
    const uint32_t es = DTypeBits(type) / 8;
    const Geometry g = Resolve(core, form, es * 8);
    const uint64_t lanes = form.kind == Form::kCount ? g.total
                           : g.tail ? static_cast<uint64_t>(g.repeats - 1) * g.lanes + g.tail
                                    : static_cast<uint64_t>(g.repeats) * g.lanes;
    if (lanes == 0) return;
    CheckEnd(core, dst, EndOf(dst, type, g, form, form.dstBlk, form.dstRep), api, "dst", loc);
    // Every address must be checked before it is used; the range also bounds the record.
    const uint32_t* o = reinterpret_cast<const uint32_t*>(offset.ptr);
    const auto off = [&](uint64_t i) {
        return !g.full && i % g.lanes < 128 && ((g.mask[i % g.lanes >> 6] >> (i & 63)) & 1) == 0;
    };
    // Offsets behind the last active lane count for nothing.
    uint64_t used = lanes;
    while (used > 0 && off(used - 1)) --used;
    CheckEnd(core, offset, offset.addr + used * 4, api, "srcOffset", loc);
    const OffsetRange range = RangeOf(o, used, off);
    if (range.Empty()) return;
    const uint32_t low = range.low, high = range.high;
    if (range.bits % es != 0) {
        Complain(core, loc, "ErrorParam", api, "multiply element indices by the element size",
                 "srcOffset counts bytes and must be multiples of %u", es);
    }
    if (core.sink) {
        Record r;
        r.SetApi(api);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        DescribeMask(r, g, form);
        DescribeLanes(r.Add("dst"), dst, type, Access::kWrite, g, form, form.dstBlk, form.dstRep);
        DescribePlain(r, {"srcOffset", Use::kIndex}, offset, DType::kU32, Access::kRead, used * 4);
        Operand& s = DescribePlain(r, "src", src, type, Access::kRead, high - low + es);
        s.addr += static_cast<uint64_t>(base) + low;
        s.align = static_cast<uint16_t>(es);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, src, static_cast<uint64_t>(src.addr) + base + high + es, api, "src", loc);
    const uint8_t* from = src.ptr + base;
    if (form.kind == Form::kCount) {
        GatherRun(dst.ptr, from, offset.ptr, lanes, es, from + low, uint64_t(high) - low + es);
        return;
    }
    uint8_t repeat[kRepeatBytes];
    for (uint32_t r = 0; r < g.repeats; ++r) {
        const uint32_t n = g.tail && r + 1 == g.repeats ? g.tail : g.lanes;
        for (uint32_t e = 0; e < n; ++e) {
            if (!g.full && ((g.mask[e >> 6] >> (e & 63)) & 1) == 0) continue;
            memcpy(repeat + e * es, from + o[static_cast<uint64_t>(r) * g.lanes + e], es);
        }
        for (uint32_t e = 0; e < n; ++e) {
            if (!g.full && ((g.mask[e >> 6] >> (e & 63)) & 1) == 0) continue;
            const uint32_t perBlock = 32 / es;
            uint8_t* to = dst.ptr + static_cast<int64_t>(r) * form.dstRep * 32 +
                          static_cast<int64_t>(e / perBlock) * form.dstBlk * 32 +
                          (e % perBlock) * es;
            memcpy(to, repeat + e * es, es);
        }
    }
}

void RunGatherb(DType type, const TensorRef& dst, const TensorRef& src, const TensorRef& offset,
                const Form& form, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic || form.repeats <= 0) return;
    NeedsApi(core, loc, Api::kGatherb);
    NeedsValues(core, Api::kGatherb, loc);
    const uint64_t blocks = static_cast<uint64_t>(form.repeats) * 8;
    CheckEnd(core, offset, offset.addr + blocks * 4, Api::kGatherb, "offset", loc);
    CheckEnd(core, dst,
             dst.addr +
                 static_cast<uint64_t>(form.repeats - 1) * static_cast<uint64_t>(form.dstRep) * 32 +
                 7ull * static_cast<uint64_t>(form.dstBlk) * 32 + 32,
             Api::kGatherb, "dst", loc);
    const uint32_t* o = reinterpret_cast<const uint32_t*>(offset.ptr);
    uint32_t low = ~0u, high = 0;
    for (uint64_t i = 0; i < blocks; ++i) {
        low = std::min(low, o[i]);
        high = std::max(high, o[i]);
    }
    if (core.sink) {
        Record r;
        r.SetApi(Api::kGatherb);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        r.repeat = form.repeats;
        Operand& d = DescribePlain(r, "dst", dst, type, Access::kWrite, 32);
        d.blocks = 8;
        d.blockStride = form.dstBlk * 32ll;
        d.repeats = static_cast<uint32_t>(form.repeats);
        d.repeatStride = form.dstRep * 32ll;
        DescribePlain(r, {"offset", Use::kIndex}, offset, DType::kU32, Access::kRead, blocks * 4);
        Operand& s = DescribePlain(r, "src", src, type, Access::kRead, high - low + 32);
        s.addr += low;
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, src, static_cast<uint64_t>(src.addr) + high + 32, Api::kGatherb, "src", loc);
    uint8_t repeat[kRepeatBytes];
    for (int32_t r = 0; r < form.repeats; ++r) {
        for (int32_t b = 0; b < 8; ++b) memcpy(repeat + b * 32, src.ptr + o[r * 8 + b], 32);
        for (int32_t b = 0; b < 8; ++b) {
            memcpy(dst.ptr + (static_cast<int64_t>(r) * form.dstRep +
                              static_cast<int64_t>(b) * form.dstBlk) *
                                 32,
                   repeat + b * 32, 32);
        }
    }
}

namespace {

// Which elements GatherMask keeps: those of a pattern tensor, or of a built-in pattern.
struct GatherPattern {
    const TensorRef* tensor;
    uint32_t rowBytes;  // of the tensor, from repeat to repeat
    uint8_t builtin;

    bool operator()(uint32_t r, uint64_t e) const {
        switch (tensor ? 0 : builtin) {
            case 0: {
                const uint8_t* bits = tensor->ptr + static_cast<uint64_t>(r) * rowBytes;
                return (bits[e / 8] >> (e % 8)) & 1;
            }
            case 1:
                return e % 2 == 0;
            case 2:
                return e % 2 == 1;
            case 3:
                return e % 4 == 0;
            case 4:
                return e % 4 == 1;
            case 5:
                return e % 4 == 2;
            case 6:
                return e % 4 == 3;
            default:
                return true;
        }
    }
};

// The operand reads `bytes` per repeat.
void DescribeRows(Operand& o, const AscendC::GatherMaskParams& p, uint64_t bytes) {
    o.repeats = p.repeatTimes;
    o.repeatStride = p.src0RepeatStride * 32ll;
    if (p.src0BlockStride == 1) {
        o.blockBytes = static_cast<uint32_t>(bytes);
        return;
    }
    o.blockBytes = 32;
    o.blocks = static_cast<uint32_t>((bytes + 31) / 32);
    o.blockStride = p.src0BlockStride * 32ll;
}

}  // namespace

void RunGatherMask(DType type, const TensorRef& dst, const TensorRef& src, const TensorRef* pattern,
                   uint8_t builtin, bool counter, uint32_t mask, const AscendC::GatherMaskParams& p,
                   uint64_t& kept, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    const uint32_t es = DTypeBits(type) / 8;
    const uint32_t lanes = 256 / es;
    // How much it keeps is what its cost follows from.
    if (pattern) NeedsValues(core, Api::kGatherMask, loc);
    const uint32_t perBlock = 32 / es;
    // Normal mode: whole repeats; counter mode: `mask` elements per repeat.
    const uint64_t each = counter ? mask : lanes;
    const uint64_t repeatBytes = (each + 7) / 8;
    if (!pattern && (builtin < 1 || builtin > 7)) {
        TrapCheck(core, loc, "ErrorParam", "GatherMask",
                  "use a pattern number 1..7 or a pattern tensor",
                  "built-in pattern %u does not exist", builtin);
    }
    const GatherPattern bit{pattern, p.src1RepeatStride * 32u, builtin};
    auto source = [&](uint32_t r, uint64_t e) {
        return static_cast<uint64_t>(r) * p.src0RepeatStride * 32 +
               e / perBlock * p.src0BlockStride * 32 + (e % perBlock) * es;
    };
    uint64_t count = 0;
    if (p.repeatTimes > 0 && each > 0) {
        CheckEnd(core, src, src.addr + source(p.repeatTimes - 1, each - 1) + es, Api::kGatherMask,
                 "src0", loc);
        if (pattern) {
            CheckEnd(core, *pattern,
                     pattern->addr +
                         static_cast<uint64_t>(p.repeatTimes - 1) * p.src1RepeatStride * 32 +
                         repeatBytes,
                     Api::kGatherMask, "src1Pattern", loc);
        }
        for (uint32_t r = 0; r < p.repeatTimes; ++r) {
            for (uint64_t e = 0; e < each; ++e) count += bit(r, e) ? 1 : 0;
        }
    }
    if (core.sink) {
        Record r;
        r.SetApi(Api::kGatherMask);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        r.repeat = p.repeatTimes;
        DescribePlain(r, "dst", dst, type, Access::kWrite, count * es);
        DescribeRows(DescribePlain(r, "src0", src, type, Access::kRead, 0), p, each * es);
        if (pattern) {
            Operand& m = DescribePlain(r, {"src1Pattern", Use::kIndex}, *pattern, DType::kU8,
                                       Access::kRead, repeatBytes);
            m.repeats = p.repeatTimes;
            m.repeatStride = p.src1RepeatStride * 32ll;
        }
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, dst, dst.addr + count * es, Api::kGatherMask, "dst", loc);
    uint8_t* to = dst.ptr;
    for (uint32_t r = 0; r < p.repeatTimes; ++r) {
        for (uint64_t e = 0; e < each; ++e) {
            if (!bit(r, e)) continue;
            // In place is allowed: the write never overtakes the read.
            memmove(to, src.ptr + source(r, e), es);
            to += es;
        }
    }
    kept = count;
    core.regs.rsvdCount = static_cast<int64_t>(count);
    core.regs.counter = false;
    core.regs.mask[0] = core.regs.mask[1] = ~0ull;
}

namespace {
template <typename T>
void IndexLanes(const TensorRef& dst, const Geometry& g, const Form& form, uint64_t raw) {
    T first;
    memcpy(&first, &raw, sizeof(T));
    auto value = [&](uint64_t i) {
        if constexpr (std::is_same<T, half>::value)
            return half(static_cast<float>(first) + static_cast<float>(i));
        else
            return static_cast<T>(first + static_cast<T>(i));
    };
    if (form.kind == Form::kCount) {
        T* d = reinterpret_cast<T*>(dst.ptr);
        for (uint64_t i = 0; i < g.total; ++i) d[i] = value(i);
        return;
    }
    const uint32_t perBlock = 32 / sizeof(T);
    for (uint32_t r = 0; r < g.repeats; ++r) {
        const uint32_t n = g.tail && r + 1 == g.repeats ? g.tail : g.lanes;
        for (uint32_t e = 0; e < n; ++e) {
            if (!g.full && ((g.mask[e >> 6] >> (e & 63)) & 1) == 0) continue;
            const T v = value(static_cast<uint64_t>(r) * g.lanes + e);
            memcpy(dst.ptr + static_cast<int64_t>(r) * form.dstRep * 32 +
                       static_cast<int64_t>(e / perBlock) * form.dstBlk * 32 +
                       (e % perBlock) * sizeof(T),
                   &v, sizeof(T));
        }
    }
}
}  // namespace

void RunVectorIndex(DType type, const TensorRef& dst, uint64_t first, const Form& form, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    const Geometry g = Resolve(core, form, DTypeBits(type));
    if (core.sink) {
        Record r;
        r.SetApi(Api::kCreateVecIndex);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        DescribeMask(r, g, form);
        DescribeLanes(r.Add("dst"), dst, type, Access::kWrite, g, form, form.dstBlk, form.dstRep);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, dst, EndOf(dst, type, g, form, form.dstBlk, form.dstRep), Api::kCreateVecIndex,
             "dst", loc);
    switch (type) {
        case DType::kF16:
            return IndexLanes<half>(dst, g, form, first);
        case DType::kF32:
            return IndexLanes<float>(dst, g, form, first);
        case DType::kI16:
            return IndexLanes<int16_t>(dst, g, form, first);
        case DType::kI32:
            return IndexLanes<int32_t>(dst, g, form, first);
        default:
            Trap(core, loc, "CreateVecIndex", "%s is not supported on arch 2201", Name(type));
    }
}

void RunScatter(DType type, const TensorRef& dst, const TensorRef& src, const TensorRef& offset,
                uint32_t base, const Form& form, Loc loc) {
    Core& core = Current();
    const Api api = Api::kScatter;
    NeedsValues(core, api, loc);
    const uint32_t es = DTypeBits(type) / 8;
    const Geometry g = Resolve(core, form, es * 8);
    const bool whole = form.kind == Form::kCount;
    const uint64_t lanes = whole ? g.total : static_cast<uint64_t>(g.repeats) * g.lanes;
    if (lanes == 0) return;
    const auto off = [&](uint64_t i) {
        const uint64_t lane = whole ? 0 : i % g.lanes;
        return !whole && !g.full && ((g.mask[lane >> 6] >> (lane & 63)) & 1) == 0;
    };
    CheckEnd(core, offset, offset.addr + lanes * 4, api, "dstOffset", loc);
    CheckEnd(core, src, EndOf(src, type, g, form, form.src0Blk, form.src0Rep), api, "src", loc);
    const auto* const to = reinterpret_cast<const uint32_t*>(offset.ptr);
    const OffsetRange range = RangeOf(to, lanes, off);
    if (range.Empty()) return;
    const uint32_t low = range.low, high = range.high;
    if ((range.bits | base) % es != 0) {
        Complain(core, loc, "ErrorParam", api, "multiply element indices by the element size",
                 "dstOffset and dstBaseAddr count bytes and must be multiples of %u", es);
    }
    if (core.sink) {
        Record r;
        r.SetApi(api);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        DescribeMask(r, g, form);
        // What lies between the elements stays as it is, as if it were read and written back.
        const bool dense = high - low + es == lanes * es;
        Operand& d = DescribePlain(r, "dst", dst, type, dense ? Access::kWrite : Access::kReadWrite,
                                   high - low + es);
        d.addr += static_cast<uint64_t>(base) + low;
        d.align = static_cast<uint16_t>(es);
        DescribePlain(r, {"dstOffset", Use::kIndex}, offset, DType::kU32, Access::kRead, lanes * 4);
        DescribeLanes(r.Add("src"), src, type, Access::kRead, g, form, form.src0Blk, form.src0Rep);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, dst, static_cast<uint64_t>(dst.addr) + base + high + es, api, "dst", loc);
    for (uint64_t i = 0; i < lanes; ++i) {
        const uint64_t repeat = whole ? 0 : i / g.lanes, lane = whole ? i : i % g.lanes;
        if (off(i)) continue;
        memcpy(dst.ptr + base + to[i], src.ptr + repeat * form.src0Rep * 32 + lane * es, es);
    }
}

}  // namespace ascendc_emu
