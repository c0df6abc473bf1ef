// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Scatter, which arch 2002 has. Source: API page "Scatter(ISASI)".
#include <cstring>

#include "ascendc_emu/gather_api.h"
#include "vector/lanes.h"

namespace ascendc_emu {

void RunScatter(DType type, const TensorRef& dst, const TensorRef& src, const TensorRef& offset,
                uint32_t base, const Form& form, Loc loc) {
    Core& core = Current();
    const char* const name = "Scatter";
    const uint32_t es = DTypeBits(type) / 8;
    const Geometry g = Resolve(core, form, es * 8);
    const bool whole = form.kind == Form::kCount;
    const uint64_t lanes = whole ? g.total : static_cast<uint64_t>(g.repeats) * g.lanes;
    if (lanes == 0) return;
    const auto off = [&](uint64_t i) {
        const uint64_t lane = whole ? 0 : i % g.lanes;
        return !whole && !g.full && ((g.mask[lane >> 6] >> (lane & 63)) & 1) == 0;
    };
    CheckEnd(core, offset, offset.addr + lanes * 4, name, "dstOffset", loc);
    CheckEnd(core, src, EndOf(src, type, g, form, form.src0Blk, form.src0Rep), name, "src", loc);
    const auto* const to = reinterpret_cast<const uint32_t*>(offset.ptr);
    const OffsetRange range = RangeOf(to, lanes, off);
    if (range.Empty()) return;
    const uint32_t low = range.low, high = range.high;
    if ((range.bits | base) % es != 0) {
        Complain(core, loc, "ErrorParam", name, "multiply element indices by the element size",
                 "dstOffset and dstBaseAddr count bytes and must be multiples of %u", es);
    }
    if (core.sink) {
        Record r;
        r.op = name;
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        DescribeMask(r, g, form);
        // What lies between the elements stays as it is, as if it were read and written back.
        const bool dense = high - low + es == lanes * es;
        Operand& d = DescribePlain(r, "dst", dst, type, dense ? Access::kWrite : Access::kReadWrite,
                                   high - low + es);
        d.addr += static_cast<uint64_t>(base) + low;
        d.align = static_cast<uint16_t>(es);
        DescribePlain(r, "dstOffset", offset, DType::kU32, Access::kRead, lanes * 4);
        DescribeLanes(r.Add("src"), src, type, Access::kRead, g, form, form.src0Blk, form.src0Rep);
        core.sink->OnInstruction(core, r);
    }
    CheckEnd(core, dst, static_cast<uint64_t>(dst.addr) + base + high + es, name, "dst", loc);
    for (uint64_t i = 0; i < lanes; ++i) {
        const uint64_t repeat = whole ? 0 : i / g.lanes, lane = whole ? i : i % g.lanes;
        if (off(i)) continue;
        memcpy(dst.ptr + base + to[i], src.ptr + repeat * form.src0Rep * 32 + lane * es, es);
    }
}

}  // namespace ascendc_emu
