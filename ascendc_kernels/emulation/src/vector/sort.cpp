// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Sort32, MrgSort, Sort, Extract. A record is 8 bytes: the score (half: low 2 bytes) and the index.
// Order: descending score; equal scores keep their order (the earlier list or lane first).
#include <algorithm>
#include <cstring>
#include <vector>

#include "ascendc_emu/gather_api.h"
#include "core/scheduler.h"
#include "vector/lanes.h"
#include "vector/merge.h"

namespace ascendc_emu {
namespace {

struct Entry {
    float score;
    uint32_t index;
    uint64_t raw;
};

Entry Read(const uint8_t* p, DType t) {
    Entry e;
    memcpy(&e.raw, p, 8);
    e.score = t == DType::kF16 ? HalfBitsToFloat(static_cast<uint16_t>(e.raw))
                               : BitCast<float>(static_cast<uint32_t>(e.raw));
    e.index = static_cast<uint32_t>(e.raw >> 32);
    return e;
}

Entry Make(DType t, const uint8_t* score, uint32_t index) {
    Entry e;
    e.raw = static_cast<uint64_t>(index) << 32;
    e.index = index;
    if (t == DType::kF16) {
        uint16_t bits;
        memcpy(&bits, score, 2);
        e.raw |= bits;
        e.score = HalfBitsToFloat(bits);
    } else {
        uint32_t bits;
        memcpy(&bits, score, 4);
        e.raw |= bits;
        e.score = BitCast<float>(bits);
    }
    return e;
}

// NaN sorts first, like the largest value; keeps the order a strict weak one.
bool Before(const Entry& a, const Entry& b) {
    const bool na = a.score != a.score, nb = b.score != b.score;
    if (na || nb) return na && !nb;
    return a.score > b.score;
}

void Put(uint8_t* p, const Entry& e) { memcpy(p, &e.raw, 8); }

std::vector<Entry> Entries(DType t, const TensorRef& score, const TensorRef& index, uint64_t at,
                           uint64_t n) {
    const uint32_t es = DTypeBits(t) / 8;
    std::vector<Entry> out;
    out.reserve(n);
    for (uint64_t i = 0; i < n; ++i) {
        uint32_t k;
        memcpy(&k, index.ptr + (at + i) * 4, 4);
        out.push_back(Make(t, score.ptr + (at + i) * es, k));
    }
    return out;
}

Record Start(const Core& core, Api api, Loc loc) {
    Record r;
    r.SetApi(api);
    r.pipe = Pipe::kV;
    r.loc = Where(core, loc);
    return r;
}

}  // namespace

void RunSort32(DType type, const TensorRef& dst, const TensorRef& score, const TensorRef& index,
               int32_t repeats, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic || repeats <= 0) return;
    NeedsApi(core, loc, Api::kSort32);
    const uint64_t n = static_cast<uint64_t>(repeats) * 32;
    const uint32_t es = DTypeBits(type) / 8;
    if (core.sink) {
        Record r = Start(core, Api::kSort32, loc);
        r.repeat = repeats;
        DescribePlain(r, "dst", dst, type, Access::kWrite, n * 8);
        DescribePlain(r, "src0", score, type, Access::kRead, n * es);
        DescribePlain(r, "src1", index, DType::kU32, Access::kRead, n * 4);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, dst, dst.addr + n * 8, Api::kSort32, "dst", loc);
    CheckEnd(core, score, score.addr + n * es, Api::kSort32, "src0", loc);
    CheckEnd(core, index, index.addr + n * 4, Api::kSort32, "src1", loc);
    for (uint64_t at = 0; at < n; at += 32) {
        std::vector<Entry> e = Entries(type, score, index, at, 32);
        std::stable_sort(e.begin(), e.end(), Before);
        for (uint64_t i = 0; i < 32; ++i) Put(dst.ptr + (at + i) * 8, e[i]);
    }
}

void RunMrgSort(DType type, const TensorRef& dst, const TensorRef* const lists[4],
                const uint16_t lengths[4], bool suspend, uint16_t valid, int32_t repeats, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic || repeats <= 0) return;
    int used = 0;
    for (int i = 0; i < 4; ++i) {
        if (((valid >> i) & 1) == 0) break;
        ++used;
    }
    if (valid != 3 && valid != 7 && valid != 15) {
        TrapCheck(core, loc, "ErrorParam", "MrgSort", "set validBit to 3, 7 or 15",
                  "validBit %u is not 3, 7 or 15", valid);
    }
    const uint64_t group = GroupOf(lengths, used);
    if (repeats > 1 && !CanRepeat(lengths, used, suspend)) {
        TrapCheck(core, loc, "ErrorParam", "MrgSort", "use repeatTimes 1",
                  "repeatTimes > 1 needs four lists of equal length, no exhausted suspension");
    }
    if (core.sink) {
        static const char* const roles[] = {"src1", "src2", "src3", "src4"};
        Record r = Start(core, Api::kMrgSort, loc);
        r.repeat = repeats;
        DescribePlain(r, "dst", dst, type, Access::kWrite,
                      group * 8 * static_cast<uint64_t>(repeats));
        for (int i = 0; i < used; ++i) {
            Operand& o =
                DescribePlain(r, roles[i], *lists[i], type, Access::kRead, lengths[i] * 8ull);
            o.repeats = static_cast<uint32_t>(repeats);
            o.repeatStride = static_cast<int64_t>(group) * 8;
            // Lists of a group follow each other; only the first tensor's bounds are known then.
            if (repeats > 1) o.tensorEnd = 0;
            if (repeats > 1 && i > 0)
                o.hi = std::max(o.hi, lists[0]->hi ? static_cast<uint64_t>(lists[0]->hi) : o.hi);
        }
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, dst, dst.addr + group * 8 * static_cast<uint64_t>(repeats), Api::kMrgSort, "dst",
             loc);
    for (int i = 0; i < used; ++i) {
        CheckEnd(core, *lists[i],
                 lists[i]->addr + (static_cast<uint64_t>(repeats - 1) * group + lengths[i]) * 8,
                 Api::kMrgSort, "src", loc);
    }
    std::vector<Entry> in[4];
    for (int32_t r = 0; r < repeats; ++r) {
        for (int i = 0; i < used; ++i) {
            in[i].clear();
            const uint8_t* p = lists[i]->ptr + static_cast<uint64_t>(r) * group * 8;
            for (uint32_t k = 0; k < lengths[i]; ++k) in[i].push_back(Read(p + k * 8ull, type));
        }
        uint8_t* to = dst.ptr + static_cast<uint64_t>(r) * group * 8;
        core.regs.mrgSort = MergeLists(in, used, suspend, Before, [&](const Entry& entry) {
            Put(to, entry);
            to += 8;
        });
    }
}

void RunSortAll(DType type, const TensorRef& dst, const TensorRef& score, const TensorRef& index,
                const TensorRef& tmp, bool full, int32_t repeats, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic || repeats <= 0) return;
    const uint64_t n = static_cast<uint64_t>(repeats) * 32;
    const uint32_t es = DTypeBits(type) / 8;
    if (core.sink) {
        Record r = Start(core, Api::kSort, loc);
        r.repeat = repeats;
        DescribePlain(r, "dst", dst, type, Access::kWrite, n * 8);
        DescribePlain(r, "concat", score, type, Access::kRead, n * es);
        DescribePlain(r, "index", index, DType::kU32, Access::kRead, n * 4);
        if (full) DescribePlain(r, Role("tmp", Use::kScratch), tmp, type, Access::kWrite, n * 8);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, dst, dst.addr + n * 8, Api::kSort, "dst", loc);
    CheckEnd(core, score, score.addr + n * es, Api::kSort, "concat", loc);
    CheckEnd(core, index, index.addr + n * 4, Api::kSort, "index", loc);
    std::vector<Entry> e = Entries(type, score, index, 0, n);
    if (full) {
        std::stable_sort(e.begin(), e.end(), Before);
    } else {
        for (uint64_t at = 0; at < n; at += 32) {
            std::stable_sort(e.begin() + static_cast<std::ptrdiff_t>(at),
                             e.begin() + static_cast<std::ptrdiff_t>(at + 32), Before);
        }
    }
    for (uint64_t i = 0; i < n; ++i) Put(dst.ptr + i * 8, e[i]);
}

void RunExtract(DType type, const TensorRef& value, const TensorRef& index, const TensorRef& sorted,
                int32_t repeats, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic || repeats <= 0) return;
    const uint64_t n = static_cast<uint64_t>(repeats) * 32;
    const uint32_t es = DTypeBits(type) / 8;
    if (core.sink) {
        Record r = Start(core, Api::kExtract, loc);
        r.repeat = repeats;
        DescribePlain(r, "dstValue", value, type, Access::kWrite, n * es);
        DescribePlain(r, "dstIndex", index, DType::kU32, Access::kWrite, n * 4);
        DescribePlain(r, "sorted", sorted, type, Access::kRead, n * 8);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, value, value.addr + n * es, Api::kExtract, "dstValue", loc);
    CheckEnd(core, index, index.addr + n * 4, Api::kExtract, "dstIndex", loc);
    CheckEnd(core, sorted, sorted.addr + n * 8, Api::kExtract, "sorted", loc);
    for (uint64_t i = 0; i < n; ++i) {
        memcpy(value.ptr + i * es, sorted.ptr + i * 8, es);
        memcpy(index.ptr + i * 4, sorted.ptr + i * 8 + 4, 4);
    }
}

}  // namespace ascendc_emu
