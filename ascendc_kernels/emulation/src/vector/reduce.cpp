// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Reductions. A repeat is summed as a binary tree over neighbouring lanes, rounding to the element
// type at every level; ReduceSum's count form then adds the repeats one after the other, its mask
// form repeats the tree over them. Of equal maxima (minima) the first wins; masked-off lanes are 0
// in sums and -inf / +inf in maxima / minima. A block or pair without an active lane writes nothing
// (ReduceDataBlock, ReducePairElem).
#include <algorithm>
#include <cstring>
#include <vector>

#include "ascendc_emu/reduce_api.h"
#include "core/scheduler.h"
#include "vector/floats.h"
#include "vector/lanes.h"

namespace ascendc_emu {
namespace {

float RoundAs(DType t, float v) {
    return t == DType::kF16 ? HalfBitsToFloat(FloatToHalfBits(v)) : v;
}

// Sums of kFrom values by neighbours, level by level, until kTo are left. Both are powers of two,
// and known when this is compiled: the loops become vector code.
template <bool kHalf, uint32_t kFrom, uint32_t kTo>
void SumNeighbours(const float* v, float* sums) {
    constexpr uint32_t kPairs = kFrom / 2;
    float pairs[kPairs];
    for (uint32_t i = 0; i < kPairs; ++i) pairs[i] = v[2 * i] + v[2 * i + 1];
    if constexpr (kHalf) {
        half h[kPairs];
        Store(h, pairs, kPairs);
        Load(pairs, h, kPairs);
    }
    if constexpr (kPairs == kTo) {
        std::copy(pairs, pairs + kTo, sums);
    } else {
        SumNeighbours<kHalf, kPairs, kTo>(pairs, sums);
    }
}

// Lanes of a repeat, and its data blocks.
constexpr uint32_t kFloats = 64, kHalves = 128, kBlocks = 8;

// The sum of all lanes of a repeat by neighbours.
float TreeSum(DType t, const float* v) {
    float sum = 0;
    if (t == DType::kF16) {
        SumNeighbours<true, kHalves, 1>(v, &sum);
    } else {
        SumNeighbours<false, kFloats, 1>(v, &sum);
    }
    return sum;
}

// The same of each data block.
void BlockSums(DType t, const float* v, float* sums) {
    if (t == DType::kF16) {
        SumNeighbours<true, kHalves, kBlocks>(v, sums);
    } else {
        SumNeighbours<false, kFloats, kBlocks>(v, sums);
    }
}

float Neutral(ReduceOp op) {
    return op == ReduceOp::kSum ? 0.0f : op == ReduceOp::kMax ? -kInfinity : kInfinity;
}

// How many lanes of repeat r the mask reaches, counted from the first.
uint32_t Reached(const Geometry& g, uint32_t r) {
    const uint32_t n = g.tail && r + 1 == g.repeats ? g.tail : g.lanes;
    return g.full ? n : g.prefix > 0 ? std::min(g.prefix, n) : n;
}

// Is any of `count` lanes from `first` on active in repeat r?
bool AnyActive(const Geometry& g, uint32_t r, uint32_t first, uint32_t count) {
    const uint32_t end = std::min(first + count, Reached(g, r));
    if (g.full || g.prefix > 0) return first < end;
    for (uint32_t e = first; e < end; ++e) {
        if ((g.mask[e >> 6] >> (e & 63)) & 1) return true;
    }
    return false;
}

// Results of a repeat up to the last one that is written, when `group` lanes make one.
uint32_t GroupsWritten(const Geometry& g, uint32_t group) {
    uint32_t n = g.lanes / group;
    while (n > 0 && !AnyActive(g, 0, (n - 1) * group, group)) --n;
    return n;
}

// Lanes of repeat r as float, neutral where masked off.
void Gather(const TensorRef& t, DType type, const Geometry& g, const Form& f, uint32_t r,
            ReduceOp op, float* v) {
    const uint32_t es = DTypeBits(type) / 8;
    const uint32_t perBlock = 32 / es;
    const uint8_t* base = t.ptr + static_cast<int64_t>(r) * f.src0Rep * 32;
    const uint32_t used = Reached(g, r);
    if (f.src0Blk == 1) {
        if (es == 4)
            Load(v, reinterpret_cast<const float*>(base), used);
        else
            Load(v, reinterpret_cast<const half*>(base), used);
    } else {
        for (uint32_t e = 0; e < used; e += perBlock) {
            const uint8_t* p = base + static_cast<int64_t>(e / perBlock) * f.src0Blk * 32;
            const uint32_t m = std::min(perBlock, used - e);
            if (es == 4)
                Load(v + e, reinterpret_cast<const float*>(p), m);
            else
                Load(v + e, reinterpret_cast<const half*>(p), m);
        }
    }
    const float neutral = Neutral(op);
    if (!g.full && g.prefix == 0) {
        for (uint32_t e = 0; e < used; ++e) {
            if (((g.mask[e >> 6] >> (e & 63)) & 1) == 0) v[e] = neutral;
        }
    }
    for (uint32_t e = used; e < g.lanes; ++e) v[e] = neutral;
}

struct Extreme {
    float value;
    uint32_t index;
};

// Eight running extremes vectorise; NaN anywhere, or the position, takes the slow way afterwards.
float FastExtreme(const float* v, uint32_t n, ReduceOp op, bool& nan) {
    float best[8];
    uint32_t bad = 0;
    for (int k = 0; k < 8; ++k) best[k] = v[k];
    for (uint32_t i = 0; i < n; i += 8) {
        for (uint32_t k = 0; k < 8; ++k) {
            const float x = v[i + k];
            bad |= x != x ? 1u : 0u;
            best[k] =
                op == ReduceOp::kMax ? (x > best[k] ? x : best[k]) : (x < best[k] ? x : best[k]);
        }
    }
    nan = bad != 0;
    float r = best[0];
    for (int k = 1; k < 8; ++k)
        r = op == ReduceOp::kMax ? (best[k] > r ? best[k] : r) : (best[k] < r ? best[k] : r);
    return r;
}

Extreme Find(const float* v, uint32_t n, ReduceOp op) {
    if (n % 8 == 0) {
        bool nan = false;
        const float value = op == ReduceOp::kMax ? FastExtreme(v, n, ReduceOp::kMax, nan)
                                                 : FastExtreme(v, n, ReduceOp::kMin, nan);
        if (!nan) {
            uint32_t i = 0;
            while (v[i] != value) ++i;
            return {v[i], i};
        }
    }
    Extreme best{v[0], 0};
    if (op == ReduceOp::kMax) {
        for (uint32_t i = 1; i < n; ++i) {
            if (v[i] > best.value || (v[i] != v[i] && best.value == best.value)) best = {v[i], i};
        }
    } else {
        for (uint32_t i = 1; i < n; ++i) {
            if (v[i] < best.value || (v[i] != v[i] && best.value == best.value)) best = {v[i], i};
        }
    }
    return best;
}

void PutValue(uint8_t* to, DType t, float v) {
    if (t == DType::kF16) {
        const uint16_t bits = FloatToHalfBits(v);
        memcpy(to, &bits, 2);
    } else {
        memcpy(to, &v, 4);
    }
}

// The index keeps its integer bits in the element's width.
void PutIndex(uint8_t* to, uint32_t bytes, uint32_t index) {
    if (bytes == 2) {
        const uint16_t narrow = static_cast<uint16_t>(index);
        memcpy(to, &narrow, 2);
    } else {
        memcpy(to, &index, 4);
    }
}

void RememberExtreme(Core& core, DType t, const Extreme& e) {
    core.regs.maxMinValue = 0;
    PutValue(reinterpret_cast<uint8_t*>(&core.regs.maxMinValue), t, e.value);
    core.regs.maxMinIndex = e.index;
}

Geometry ReduceGeometry(Core& core, const Form& f, DType t) {
    return Resolve(core, f, DTypeBits(t));
}

// What one repeat produces.
struct Result {
    uint32_t unit;   // of dstRepStride, bytes
    uint32_t bytes;  // written by a repeat
    uint32_t align;
};

Result ResultOf(const ReduceCall& c, const Geometry& g) {
    const uint32_t es = DTypeBits(c.dt) / 8;
    if (c.span == ReduceSpan::kBlock) {
        return {8 * es, GroupsWritten(g, 32 / es) * es, es == 2 ? 16u : 32u};
    }
    if (c.span == ReduceSpan::kPair) return {128, GroupsWritten(g, 2) * es, 32};
    if (c.op != ReduceOp::kSum && c.order <= 1) return {2 * es, 2 * es, 2 * es};
    if (c.op != ReduceOp::kSum && c.order == 3) return {4, 4, 4};
    return {es, es, es};
}

// Results of repeat r, whose lanes are v: one per pair of them.
void StorePairs(const ReduceCall& c, const Geometry& g, uint32_t r, const float* v, uint32_t pairs,
                uint8_t* to) {
    const uint32_t es = DTypeBits(c.dt) / 8;
    for (uint32_t i = 0; i < pairs; ++i) {
        if (AnyActive(g, r, 2 * i, 2)) PutValue(to + i * es, c.dt, v[2 * i] + v[2 * i + 1]);
    }
}

// The same, one per data block.
void StoreBlocks(const ReduceCall& c, const Geometry& g, uint32_t r, const float* v,
                 uint32_t blocks, uint8_t* to) {
    const uint32_t es = DTypeBits(c.dt) / 8;
    const uint32_t per = 32 / es;
    float sums[kBlocks];
    if (c.op == ReduceOp::kSum) BlockSums(c.dt, v, sums);
    for (uint32_t b = 0; b < blocks; ++b) {
        if (!AnyActive(g, r, b * per, per)) continue;
        const float x = c.op == ReduceOp::kSum ? sums[b] : Find(v + b * per, per, c.op).value;
        PutValue(to + b * es, c.dt, x);
    }
}

#if defined(__clang__) || __GNUC__ >= 12
// One data block of float. Functions take it by address: by value it has another calling convention
// on machines without AVX.
using FloatBlock = float __attribute__((vector_size(32)));

// Sums of neighbours within each half of two blocks: both first halves, then both second halves.
inline void SumPairs(const FloatBlock& a, const FloatBlock& b, FloatBlock* sums) {
    *sums = __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14) +
            __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
}

// SumNeighbours<false, kFloats, kBlocks> in half of its shuffles: the order of the additions is the
// same, and only what is left of each block is put in order.
inline void SumBlocks(const uint8_t* lanes, uint8_t* to) {
    FloatBlock v[kBlocks], pairs[4], fours[2];
    std::memcpy(v, lanes, sizeof(v));
    for (uint32_t i = 0; i < 4; ++i) SumPairs(v[2 * i], v[2 * i + 1], &pairs[i]);
    for (uint32_t i = 0; i < 2; ++i) SumPairs(pairs[2 * i], pairs[2 * i + 1], &fours[i]);
    const FloatBlock sums = __builtin_shufflevector(fours[0], fours[1], 0, 1, 2, 3, 8, 9, 10, 11) +
                            __builtin_shufflevector(fours[0], fours[1], 4, 5, 6, 7, 12, 13, 14, 15);
    std::memcpy(to, &sums, sizeof(sums));
}
#else
inline void SumBlocks(const uint8_t* lanes, uint8_t* to) {
    float v[kFloats], sums[kBlocks];
    std::memcpy(v, lanes, sizeof(v));
    SumNeighbours<false, kFloats, kBlocks>(v, sums);
    std::memcpy(to, sums, sizeof(sums));
}
#endif

// The sums of data blocks of float where every lane is on, without a copy of the lanes.
void SumWholeBlocks(const ReduceCall& c, uint32_t repeats, int64_t step) {
    for (uint32_t r = 0; r < repeats; ++r) {
        SumBlocks(c.src->ptr + static_cast<int64_t>(r) * c.form.src0Rep * 32,
                  c.dst->ptr + static_cast<int64_t>(r) * step);
    }
}

// The extreme of a repeat, its position, or both, in the order that was asked for.
void StoreExtreme(const ReduceCall& c, const Extreme& e, uint8_t* to) {
    const uint32_t es = DTypeBits(c.dt) / 8;
    switch (c.order) {
        case 0:
            PutValue(to, c.dt, e.value);
            PutIndex(to + es, es, e.index);
            break;
        case 1:
            PutIndex(to, es, e.index);
            PutValue(to + es, c.dt, e.value);
            break;
        case 2:
            PutValue(to, c.dt, e.value);
            break;
        default:
            PutIndex(to, 4, e.index);
            break;
    }
}

}  // namespace

void RunReduce(const ReduceCall& c) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    const Geometry g = ReduceGeometry(core, c.form, c.dt);
    const Result result = ResultOf(c, g);
    const int64_t dstStep = static_cast<int64_t>(c.form.dstRep) * result.unit;
    if (core.sink) {
        Record r;
        r.SetApi(c.api);
        r.pipe = Pipe::kV;
        r.loc = Where(core, c.loc);
        DescribeMask(r, g, c.form);
        Operand& d = DescribePlain(r, "dst", *c.dst, c.dt, Access::kWrite, result.bytes);
        d.align = static_cast<uint16_t>(result.align);
        d.repeats = g.repeats;
        d.repeatStride = dstStep;
        DescribeLanes(r.Add("src"), *c.src, c.dt, Access::kRead, g, c.form, c.form.src0Blk,
                      c.form.src0Rep);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    if (g.repeats == 0) return;
    CheckEnd(core, *c.src, EndOf(*c.src, c.dt, g, c.form, c.form.src0Blk, c.form.src0Rep), c.api,
             "src", c.loc);
    CheckEnd(core, *c.dst,
             c.dst->addr + static_cast<uint64_t>(g.repeats - 1) * static_cast<uint64_t>(dstStep) +
                 result.bytes,
             c.api, "dst", c.loc);
    const uint32_t es = DTypeBits(c.dt) / 8;
    const bool sums = c.op == ReduceOp::kSum && c.span == ReduceSpan::kBlock;
    if (sums && es == 4 && g.full && g.tail == 0 && c.form.src0Blk == 1) {
        SumWholeBlocks(c, g.repeats, dstStep);
        return;
    }
    float v[128];
    for (uint32_t r = 0; r < g.repeats; ++r) {
        Gather(*c.src, c.dt, g, c.form, r, c.op, v);
        uint8_t* to = c.dst->ptr + static_cast<int64_t>(r) * dstStep;
        if (c.span == ReduceSpan::kPair) {
            StorePairs(c, g, r, v, result.bytes / es, to);
        } else if (c.span == ReduceSpan::kBlock) {
            StoreBlocks(c, g, r, v, result.bytes / es, to);
        } else if (c.op == ReduceOp::kSum) {
            const float x = TreeSum(c.dt, v);
            PutValue(to, c.dt, x);
            core.regs.accValue = RoundAs(c.dt, x);
        } else {
            const Extreme e = Find(v, g.lanes, c.op);
            RememberExtreme(core, c.dt, e);
            StoreExtreme(c, e, to);
        }
    }
}

namespace {
// Whether the result goes through the scalar unit, as CANN's public implementation has it: the sum
// of the count form is read from the accumulator, results of several repeats are combined, and a
// value without its index is picked from the work tensor. Left are a single instruction with its
// index, and the sum of more repeats than one instruction can add up.
bool PassesScalar(const FullReduceCall& c, const Geometry& g, uint32_t lanesOfRepeat) {
    if (c.op == ReduceOp::kSum) return c.level2 || g.repeats <= lanesOfRepeat;
    return !c.index || g.repeats > 1;
}

// The events such a call waits for before it returns: V to S, then S to V and MTE3.
void SyncByScalar(Core& core, Loc loc) {
    SyncEvent e;
    e.kind = SyncKind::kPassScalar;
    e.src = Pipe::kV;
    e.loc = Where(core, loc);
    core.sink->OnSync(core, e);
}

// Repeat after repeat.
float SumInOrder(const FullReduceCall& c, const Geometry& g) {
    float v[128];
    float total = 0;
    for (uint32_t r = 0; r < g.repeats; ++r) {
        Gather(*c.src, c.dt, g, c.form, r, c.op, v);
        const float x = TreeSum(c.dt, v);
        total = r == 0 ? x : RoundAs(c.dt, total + x);
    }
    return total;
}

// The sums of repeats are added as a repeat is, until one is left.
float SumByLevels(const FullReduceCall& c, const Geometry& g) {
    float v[128];
    std::vector<float> level;
    for (uint32_t r = 0; r < g.repeats; ++r) {
        Gather(*c.src, c.dt, g, c.form, r, c.op, v);
        level.push_back(TreeSum(c.dt, v));
    }
    while (level.size() > 1) {
        std::vector<float> next;
        for (size_t at = 0; at < level.size(); at += g.lanes) {
            for (uint32_t e = 0; e < g.lanes; ++e)
                v[e] = at + e < level.size() ? level[at + e] : 0.0f;
            next.push_back(TreeSum(c.dt, v));
        }
        level.swap(next);
    }
    return level[0];
}

// Whether no lane is NaN or beyond the best so far.
bool HasNoBetter(const float* v, uint32_t n, ReduceOp op, float best) {
    bool nan = false;
    const float quick = op == ReduceOp::kMax ? FastExtreme(v, n, ReduceOp::kMax, nan)
                                             : FastExtreme(v, n, ReduceOp::kMin, nan);
    return !nan && (op == ReduceOp::kMax ? quick <= best : quick >= best);
}

Extreme ExtremeOf(const FullReduceCall& c, const Geometry& g) {
    float v[128];
    Extreme best{Neutral(c.op), 0};
    const int64_t lanesPerRepeat =
        static_cast<int64_t>(c.form.src0Rep) * 32 / (DTypeBits(c.dt) / 8);
    for (uint32_t r = 0; r < g.repeats; ++r) {
        Gather(*c.src, c.dt, g, c.form, r, c.op, v);
        if (r > 0 && best.value == best.value && HasNoBetter(v, g.lanes, c.op, best.value)) {
            continue;
        }
        const Extreme e = Find(v, g.lanes, c.op);
        const bool nan = e.value != e.value && best.value == best.value;
        const bool better = c.op == ReduceOp::kMax ? e.value > best.value : e.value < best.value;
        if (r == 0 || better || nan) {
            best.value = e.value;
            best.index = static_cast<uint32_t>(r * lanesPerRepeat) + e.index;
        }
    }
    return best;
}
}  // namespace

void RunFullReduce(const FullReduceCall& c) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    const uint32_t es = DTypeBits(c.dt) / 8;
    const Form& form = c.form;
    const Geometry g = ReduceGeometry(core, form, c.dt);
    const bool sum = c.op == ReduceOp::kSum;
    // Elements of the work tensor the device needs: one result (or value and index) per repeat,
    // rounded up to blocks. The count form of ReduceSum adds repeat after repeat and needs none on
    // arch 2201; on 2002 it works like the other form.
    const bool inOrder = c.level2 && core.kind != CoreKind::kUnified;
    uint64_t need = 0;
    if (c.work && !(sum && inOrder)) {
        const uint64_t per = 32 / es;
        need = (g.repeats * (sum ? 1ull : 2ull) + per - 1) / per * per * es;
    }
    if (core.sink) {
        Record r;
        r.SetApi(c.api);
        r.pipe = Pipe::kV;
        r.loc = Where(core, c.loc);
        DescribeMask(r, g, form);
        Operand& d = DescribePlain(r, "dst", *c.dst, c.dt, Access::kWrite, es * (c.index ? 2 : 1));
        d.align = static_cast<uint16_t>(es * (c.index ? 2 : 1));
        DescribeLanes(r.Add("src"), *c.src, c.dt, Access::kRead, g, form, form.src0Blk,
                      form.src0Rep);
        if (need > 0) DescribePlain(r, kTmpRole, *c.work, c.dt, Access::kWrite, need);
        core.sink->OnInstruction(core, r);
        if (g.repeats > 0 && PassesScalar(c, g, 256 / es)) SyncByScalar(core, c.loc);
        if (core.timeOnly) return;
    }
    if (g.repeats == 0) return;
    CheckEnd(core, *c.src, EndOf(*c.src, c.dt, g, form, form.src0Blk, form.src0Rep), c.api, "src",
             c.loc);
    CheckEnd(core, *c.dst, c.dst->addr + es * (c.index ? 2 : 1), c.api, "dst", c.loc);
    if (sum) {
        const float total = inOrder ? SumInOrder(c, g) : SumByLevels(c, g);
        PutValue(c.dst->ptr, c.dt, total);
        core.regs.accValue = RoundAs(c.dt, total);
        return;
    }
    const Extreme best = ExtremeOf(c, g);
    PutValue(c.dst->ptr, c.dt, best.value);
    if (c.index) PutIndex(c.dst->ptr + es, es, best.index);
    RememberExtreme(core, c.dt, best);
}

void RunAccumulate(DType type, const TensorRef& src, const Form& form, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    const Geometry g = ReduceGeometry(core, form, type);
    if (core.sink) {
        Record r;
        r.SetApi(Api::kvcadd);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        DescribeMask(r, g, form);
        DescribeLanes(r.Add("src"), src, type, Access::kRead, g, form, form.src0Blk, form.src0Rep);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, src, EndOf(src, type, g, form, form.src0Blk, form.src0Rep), Api::kvcadd, "src",
             loc);
    float v[128];
    float total = 0;
    for (uint32_t r = 0; r < g.repeats; ++r) {
        Gather(src, type, g, form, r, ReduceOp::kSum, v);
        total = RoundAs(type, total + TreeSum(type, v));
    }
    core.regs.accValue = total;
}

}  // namespace ascendc_emu
