// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Region proposals of arch 2002: putting parts in and out, sorting, merging.
#include "ascendc_emu/proposal_api.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/scheduler.h"
#include "vector/lanes.h"
#include "vector/merge.h"

namespace ascendc_emu {
namespace {

constexpr uint32_t kParts = 8;
constexpr uint32_t kGroup = 16;
constexpr uint32_t kY1 = 1, kScore = 4, kLabel = 5;

struct Proposal {
    float score = 0;
    uint8_t raw[kParts * 4] = {0};
};

// Bytes of an element and of a proposal.
struct Layout {
    explicit Layout(DType type)
        : half(type == DType::kF16), element(half ? 2 : 4), bytes(kParts * element) {}
    bool half;
    uint32_t element;
    uint32_t bytes;
};

Proposal Read(const uint8_t* p, const Layout& layout) {
    Proposal out;
    memcpy(out.raw, p, layout.bytes);
    if (layout.half) {
        uint16_t bits;
        memcpy(&bits, out.raw + kScore * 2, 2);
        out.score = HalfBitsToFloat(bits);
    } else {
        memcpy(&out.score, out.raw + kScore * 4, 4);
    }
    return out;
}

void SetIndex(Proposal& p, uint32_t index, const Layout& layout) {
    if (!layout.half) {
        memcpy(p.raw + kLabel * 4, &index, 4);
        return;
    }
    const uint16_t low = static_cast<uint16_t>(index), high = static_cast<uint16_t>(index >> 16);
    memcpy(p.raw + kY1 * 2, &low, 2);
    memcpy(p.raw + kLabel * 2, &high, 2);
}

uint32_t IndexOf(const Proposal& p, const Layout& layout) {
    uint32_t index;
    if (!layout.half) {
        memcpy(&index, p.raw + kLabel * 4, 4);
        return index;
    }
    uint16_t low, high;
    memcpy(&low, p.raw + kY1 * 2, 2);
    memcpy(&high, p.raw + kLabel * 2, 2);
    return uint32_t{high} << 16 | low;
}

// NaN sorts first, like the largest value; keeps the order a strict weak one.
bool Before(const Proposal& a, const Proposal& b) {
    const bool na = a.score != a.score, nb = b.score != b.score;
    if (na || nb) return na && !nb;
    return a.score > b.score;
}

Record Start(const Core& core, Api api, int32_t repeats, Loc loc) {
    Record r;
    r.SetApi(api);
    r.pipe = Pipe::kV;
    r.loc = Where(core, loc);
    r.repeat = static_cast<uint32_t>(repeats);
    return r;
}

}  // namespace

void RunProposalPart(Api api, DType type, const TensorRef& dst, const TensorRef& src,
                     ProposalPart way, int32_t repeats, int32_t part, Loc loc) {
    Core& core = Current();
    if (repeats <= 0) return;
    if (part < 0 || part > 5) {
        TrapCheck(core, loc, "ErrorParam", api, "use 0 (x1) to 5 (label)", "modeNumber is %d",
                  part);
    }
    const Layout layout(type);
    const uint64_t n = static_cast<uint64_t>(repeats) * kGroup;
    const bool put = way == ProposalPart::kPut;
    const TensorRef& proposals = put ? dst : src;
    const TensorRef& plain = put ? src : dst;
    if (core.sink) {
        Record r = Start(core, api, repeats, loc);
        Operand& o = DescribePlain(r, put ? "dst" : "src", proposals, type,
                                   put ? Access::kWrite : Access::kRead, n * layout.bytes);
        // One element of every proposal.
        o.addr += part * layout.element;
        o.align = static_cast<uint16_t>(layout.element);
        o.blockBytes = layout.element;
        o.blocks = 1;
        o.repeats = static_cast<uint32_t>(n);
        o.repeatStride = layout.bytes;
        DescribePlain(r, put ? "src" : "dst", plain, type, put ? Access::kRead : Access::kWrite,
                      n * layout.element);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, proposals, proposals.addr + n * layout.bytes, api, put ? "dst" : "src", loc);
    CheckEnd(core, plain, plain.addr + n * layout.element, api, put ? "src" : "dst", loc);
    std::vector<uint8_t> from(src.ptr, src.ptr + n * (put ? layout.element : layout.bytes));
    for (uint64_t i = 0; i < n; ++i) {
        const uint64_t wide = i * layout.bytes + part * layout.element;
        const uint64_t narrow = i * layout.element;
        memcpy(dst.ptr + (put ? wide : narrow), from.data() + (put ? narrow : wide),
               layout.element);
    }
}

void RunProposalSort(Api api, DType type, const TensorRef& dst, const TensorRef& src,
                     const TensorRef* index, const TensorRef* tmp, bool full, int32_t repeats,
                     Loc loc) {
    Core& core = Current();
    if (repeats <= 0) return;
    const Layout layout(type);
    const uint64_t n = static_cast<uint64_t>(repeats) * kGroup;
    const bool hasIndex = index != nullptr && index->size != 0;
    if (core.sink) {
        Record r = Start(core, api, repeats, loc);
        DescribePlain(r, "dst", dst, type, Access::kWrite, n * layout.bytes);
        // Parts that nobody has written move along.
        Operand& o =
            DescribePlain(r, index ? "concat" : "src", src, type, Access::kRead, n * layout.bytes);
        o.addr += kScore * layout.element;
        o.align = static_cast<uint16_t>(layout.element);
        o.blockBytes = layout.element;
        o.blocks = 1;
        o.repeats = static_cast<uint32_t>(n);
        o.repeatStride = layout.bytes;
        if (hasIndex) DescribePlain(r, "index", *index, DType::kU32, Access::kRead, n * 4);
        if (full && tmp->addr != src.addr)
            DescribePlain(r, Role("tmp", Use::kScratch), *tmp, type, Access::kWrite,
                          n * layout.bytes);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, dst, dst.addr + n * layout.bytes, api, "dst", loc);
    CheckEnd(core, src, src.addr + n * layout.bytes, api, index ? "concat" : "src", loc);
    if (hasIndex) CheckEnd(core, *index, index->addr + n * 4, api, "index", loc);
    std::vector<Proposal> all(n);
    for (uint64_t i = 0; i < n; ++i) {
        all[i] = Read(src.ptr + i * layout.bytes, layout);
        if (!hasIndex) continue;
        uint32_t number;
        memcpy(&number, index->ptr + i * 4, 4);
        SetIndex(all[i], number, layout);
    }
    const uint64_t group = full ? n : kGroup;
    for (auto at = all.begin(); at != all.end(); at += static_cast<std::ptrdiff_t>(group)) {
        std::stable_sort(at, at + static_cast<std::ptrdiff_t>(group), Before);
    }
    for (uint64_t i = 0; i < n; ++i) memcpy(dst.ptr + i * layout.bytes, all[i].raw, layout.bytes);
}

namespace {

// How many lists validBit stands for.
int ListsOf(Core& core, Api api, uint16_t valid, Loc loc) {
    if (valid != 1 && valid != 3 && valid != 7 && valid != 15) {
        TrapCheck(core, loc, "ErrorParam", api, "set validBit to 3, 7 or 15",
                  "validBit %u is not 3, 7 or 15", valid);
    }
    // Not documented, and CANN's CPU twin refuses it; kernels that run on the part copy a list this
    // way.
    if (valid == 1) {
        Warn(core, loc, "ErrorParam", api, "copy a single list with DataCopy",
             "validBit 1: a list alone is copied, but the documentation has 3, 7 and 15 only");
    }
    return valid == 1 ? 1 : valid == 3 ? 2 : valid == 7 ? 3 : 4;
}

}  // namespace

void RunProposalMerge(Api api, DType type, const TensorRef& dst, const TensorRef* const lists[4],
                      const uint16_t lengths[4], bool suspend, uint16_t valid, int32_t repeats,
                      Loc loc) {
    Core& core = Current();
    if (repeats <= 0) return;
    const int used = ListsOf(core, api, valid, loc);
    const Layout layout(type);
    const uint64_t group = GroupOf(lengths, used);
    if (repeats > 1 && !CanRepeat(lengths, used, suspend)) {
        TrapCheck(core, loc, "ErrorParam", api, "use repeatTimes 1",
                  "repeatTimes > 1 needs four lists of equal length, no exhausted suspension");
    }
    if (core.sink) {
        static const char* const roles[] = {"src1", "src2", "src3", "src4"};
        Record r = Start(core, api, repeats, loc);
        DescribePlain(r, "dst", dst, type, Access::kWrite, group * repeats * layout.bytes).align =
            static_cast<uint16_t>(layout.bytes);
        for (int i = 0; i < used; ++i) {
            // Only scores have to have values. With several repeats the lists follow each other.
            Operand& o = DescribePlain(r, roles[i], *lists[i], type, Access::kRead, 0);
            o.addr += kScore * layout.element;
            o.align = static_cast<uint16_t>(layout.element);
            o.blockBytes = layout.element;
            o.blocks = lengths[i];
            o.blockStride = layout.bytes;
            o.repeats = static_cast<uint32_t>(repeats);
            o.repeatStride = static_cast<int64_t>(group) * layout.bytes;
            if (repeats > 1) o.tensorEnd = 0;
            if (repeats > 1 && i > 0)
                o.hi = lists[0]->hi ? std::max(o.hi, decltype(o.hi)(lists[0]->hi)) : o.hi;
        }
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, dst, dst.addr + group * repeats * layout.bytes, api, "dst", loc);
    for (int i = 0; i < used; ++i) {
        const uint64_t last = static_cast<uint64_t>(repeats - 1) * group + lengths[i];
        CheckEnd(core, *lists[i], lists[i]->addr + last * layout.bytes, api, "src", loc);
    }
    for (int32_t r = 0; r < repeats; ++r) {
        const uint64_t begin = static_cast<uint64_t>(r) * group * layout.bytes;
        std::vector<Proposal> in[4];
        for (int i = 0; i < used; ++i) {
            for (uint32_t k = 0; k < lengths[i]; ++k) {
                in[i].push_back(Read(lists[i]->ptr + begin + k * layout.bytes, layout));
            }
        }
        uint8_t* to = dst.ptr + begin;
        core.regs.mrgSort = MergeLists(in, used, suspend, Before, [&](const Proposal& proposal) {
            memcpy(to, proposal.raw, layout.bytes);
            to += layout.bytes;
        });
    }
}

void RunProposalExtract(DType type, const TensorRef& value, const TensorRef& index,
                        const TensorRef& sorted, int32_t repeats, Loc loc) {
    Core& core = Current();
    if (repeats <= 0) return;
    const Layout layout(type);
    const uint64_t n = static_cast<uint64_t>(repeats) * kGroup;
    if (core.sink) {
        Record r = Start(core, Api::kExtract, repeats, loc);
        DescribePlain(r, "dstValue", value, type, Access::kWrite, n * layout.element);
        DescribePlain(r, "dstIndex", index, DType::kU32, Access::kWrite, n * 4);
        // Score and label: all of a proposal that has a value here.
        Operand& o = DescribePlain(r, "sorted", sorted, type, Access::kRead, 0);
        o.addr += kScore * layout.element;
        o.align = static_cast<uint16_t>(layout.element);
        o.blockBytes = 2 * layout.element;
        o.blocks = 1;
        o.repeats = static_cast<uint32_t>(n);
        o.repeatStride = layout.bytes;
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, value, value.addr + n * layout.element, Api::kExtract, "dstValue", loc);
    CheckEnd(core, index, index.addr + n * 4, Api::kExtract, "dstIndex", loc);
    CheckEnd(core, sorted, sorted.addr + n * layout.bytes, Api::kExtract, "sorted", loc);
    std::vector<Proposal> all(n);
    for (uint64_t i = 0; i < n; ++i) all[i] = Read(sorted.ptr + i * layout.bytes, layout);
    for (uint64_t i = 0; i < n; ++i) {
        const uint32_t number = IndexOf(all[i], layout);
        memcpy(value.ptr + i * layout.element, all[i].raw + kScore * layout.element,
               layout.element);
        memcpy(index.ptr + i * 4, &number, 4);
    }
}

}  // namespace ascendc_emu
