// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "vector/lanes.h"

#include <algorithm>
#include <cstring>

#include "core/bounds.h"
#include "core/instructions.h"
#include "core/operands.h"
#include "core/read_ahead.h"
#include "core/scheduler.h"

namespace ascendc_emu {

Geometry Resolve(Core& core, const Form& f, uint32_t bits) {
    Geometry g;
    g.lanes = 256 * 8 / std::max<uint32_t>(bits, 8);
    Registers& regs = core.regs;
    if (f.kind == Form::kCount) {
        g.total = f.mask[0];
        g.full = true;
        g.repeats = static_cast<uint32_t>((g.total + g.lanes - 1) / g.lanes);
        g.tail = static_cast<uint32_t>(g.total % g.lanes);
        regs.counter = false;
        regs.mask[0] = regs.mask[1] = ~0ull;
        return g;
    }
    if (regs.counter) {
        // The mask is an element count whichever way it was given; repeatTime is ignored.
        if (f.setMask) {
            regs.mask[0] = f.mask[0];
            regs.mask[1] = 0;
        }
        const uint32_t n = static_cast<uint32_t>(regs.mask[0]);
        g.cut = n != regs.mask[0];
        g.repeats = (n + g.lanes - 1) / g.lanes;
        g.tail = n % g.lanes;
        g.full = true;
        return g;
    }
    if (f.setMask) {
        if (f.kind == Form::kMask) {
            const uint64_t n = std::min<uint64_t>(f.mask[0], g.lanes);
            regs.mask[0] = n >= 64 ? ~0ull : (1ull << n) - 1;
            regs.mask[1] = n >= 128 ? ~0ull : n > 64 ? (1ull << (n - 64)) - 1 : 0;
        } else {
            regs.mask[0] = f.mask[0];
            regs.mask[1] = f.mask[1];
        }
    }
    g.mask[0] = regs.mask[0];
    g.mask[1] = regs.mask[1];
    if (g.lanes <= 64) {
        g.mask[1] = 0;
        if (g.lanes < 64) g.mask[0] &= (1ull << g.lanes) - 1;
    }
    g.repeats = static_cast<uint32_t>(std::max(0, f.repeats));
    const uint64_t lo = g.mask[0], hi = g.mask[1];
    uint32_t n = 0;
    if (lo == ~0ull) {
        n = (hi & (hi + 1)) == 0 ? 64 + static_cast<uint32_t>(__builtin_popcountll(hi)) : 0;
    } else if (hi == 0 && (lo & (lo + 1)) == 0) {
        n = static_cast<uint32_t>(__builtin_popcountll(lo));
    }
    // 8-bit types have 256 lanes but 128 mask bits: a full register means all lanes.
    if (g.lanes > 128 && n == 128) n = g.lanes;
    g.full = n == g.lanes;
    g.prefix = n;
    if (lo == 0 && hi == 0) g.repeats = 0;
    return g;
}

void DescribeMask(Record& r, const Geometry& g, const Form& form) {
    r.repeat = form.kind == Form::kCount ? 0 : form.repeats;
    r.countForm = form.kind == Form::kCount;
    if (!g.full) {
        r.mask[0] = g.mask[0];
        r.mask[1] = g.mask[1];
    }
    if (g.tail != 0) r.elements = (g.repeats - 1) * g.lanes + g.tail;
}

void DescribeLanes(Operand& o, const TensorRef& t, DType type, Access access, const Geometry& g,
                   const Form& form, int32_t blk, int32_t rep) {
    Locate(o, t, type, access);
    if (form.kind == Form::kCount) {
        o.blockBytes = static_cast<uint32_t>(Bytes(type, g.total));
        return;
    }
    const uint64_t repeatBytes = Bytes(type, g.lanes);
    o.masked = !g.full || g.tail != 0;
    o.blockBytes = static_cast<uint32_t>(std::min<uint64_t>(32, repeatBytes));
    o.blocks = static_cast<uint32_t>(repeatBytes / o.blockBytes);
    o.blockStride = static_cast<int64_t>(blk) * 32;
    o.repeats = g.repeats;
    o.repeatStride = static_cast<int64_t>(rep) * 32;
    if (!o.masked && blk == 1) {
        // One run per repeat; per instruction when repeats follow each other.
        o.blockBytes = static_cast<uint32_t>(repeatBytes);
        o.blocks = 1;
        if (o.repeatStride == static_cast<int64_t>(repeatBytes) || g.repeats == 1) {
            o.blockBytes *= g.repeats;
            o.repeats = 1;
        }
    }
}

uint64_t EndOf(const TensorRef& t, DType type, const Geometry& g, const Form& form, int32_t blk,
               int32_t rep) {
    if (form.kind == Form::kCount) return t.addr + Bytes(type, g.total);
    if (g.repeats == 0) return t.addr;
    const uint64_t repeatBytes = Bytes(type, g.lanes);
    uint64_t lanes = g.lanes;
    if (g.prefix > 0) lanes = g.prefix;
    if (!g.full && g.prefix == 0) {
        lanes = g.mask[1] != 0 ? 128 - static_cast<uint32_t>(__builtin_clzll(g.mask[1]))
                               : 64 - static_cast<uint32_t>(__builtin_clzll(g.mask[0]));
    }
    const uint64_t blocks = (Bytes(type, lanes) + 31) / 32;
    const uint64_t last = blocks > 0 ? (blocks - 1) * static_cast<uint64_t>(blk) * 32 : 0;
    const uint64_t rest = Bytes(type, lanes) - (blocks > 0 ? (blocks - 1) * 32 : 0);
    (void)repeatBytes;
    uint64_t end =
        static_cast<uint64_t>(g.repeats - 1) * static_cast<uint64_t>(rep) * 32 + last + rest;
    if (g.tail != 0) {
        const uint64_t tailBlocks = (Bytes(type, g.tail) + 31) / 32;
        end = static_cast<uint64_t>(g.repeats - 1) * static_cast<uint64_t>(rep) * 32 +
              (tailBlocks - 1) * static_cast<uint64_t>(blk) * 32 + Bytes(type, g.tail) -
              (tailBlocks - 1) * 32;
        if (g.repeats > 1) {
            end = std::max(
                end, static_cast<uint64_t>(g.repeats - 2) * static_cast<uint64_t>(rep) * 32 + last +
                         rest);
        }
    }
    return t.addr + end;
}

Operand& DescribePlain(Record& r, Role role, const TensorRef& t, DType type, Access access,
                       uint64_t bytes) {
    Operand& o = AddTensor(r, role, t, type, access);
    o.blockBytes = static_cast<uint32_t>(bytes);
    return o;
}

void CheckEnd(Core& core, const TensorRef& t, uint64_t end, Api api, const char* role, Loc loc) {
    const uint32_t size = core.capacity[static_cast<int>(t.mem)];
    if (__builtin_expect(end <= size && t.ptr != nullptr, 1)) return;
    OutOfBounds(core, t, end, api, role, loc);
}

namespace {

struct Walk {
    uint8_t* ptr;
    int64_t blk, rep;  // bytes
    uint32_t bits;
    // Bytes from the start of a repeat to its lane `e`.
    int64_t Offset(uint32_t e) const {
        const uint32_t perBlock = 256 / bits;
        return static_cast<int64_t>(e / perBlock) * blk + e % perBlock * bits / 8;
    }
};

bool Contiguous(const Walk& w, uint32_t lanes) {
    return w.blk == 32 || static_cast<uint64_t>(lanes) * w.bits <= 256;
}

bool Overlap(const uint8_t* a, int64_t aBytes, const uint8_t* b, int64_t bBytes) {
    return a < b + bBytes && b < a + aBytes;
}

// Runs an instruction whose sources are contiguous or read one block for all lanes of a repeat: a
// row value against a row. The block is written out, since one call for all lanes takes a fraction
// of the time of one per block. False when the instruction is of another kind.
bool ExecuteRepeatedBlocks(const VecCall& c, RunFn fn, const Geometry& g, const Walk& d,
                           const Walk (&sources)[2]) {
    constexpr uint32_t kMostRepeats = 8;
    constexpr int64_t kBlock = 32, kRepeat = 256;
    if (!g.full || !Contiguous(d, g.lanes)) return false;
    const auto repeatBytes = [&](const Walk& w) {
        return static_cast<int64_t>(g.lanes) * w.bits / 8;
    };
    const auto rangeBytes = [&](const Walk& w, int64_t ofRepeat) {
        return static_cast<int64_t>(g.repeats - 1) * w.rep + ofRepeat;
    };
    uint32_t step = d.rep == repeatBytes(d) ? std::min(kMostRepeats, g.repeats) : 1;
    bool repeated[2] = {false, false};
    for (int k = 0; k < 2; ++k) {
        const Walk& w = sources[k];
        if (w.ptr == nullptr) continue;
        repeated[k] = !Contiguous(w, g.lanes);
        if (w.rep != (repeated[k] ? 0 : repeatBytes(w))) step = 1;
        if (!repeated[k]) continue;
        // Where dst overwrites the block the order of the blocks counts.
        if (w.blk != 0 ||
            Overlap(d.ptr, rangeBytes(d, repeatBytes(d)), w.ptr, rangeBytes(w, kBlock))) {
            return false;
        }
    }
    alignas(64) uint8_t copies[2][kMostRepeats * kRepeat];
    for (uint32_t r = 0; r < g.repeats; r += step) {
        const uint32_t now = std::min(step, g.repeats - r);
        uint64_t n = static_cast<uint64_t>(now) * g.lanes;
        if (g.tail != 0 && r + now == g.repeats) n -= g.lanes - g.tail;
        const uint8_t* from[2] = {nullptr, nullptr};
        for (int k = 0; k < 2; ++k) {
            const Walk& w = sources[k];
            if (w.ptr == nullptr) continue;
            from[k] = w.ptr + r * w.rep;
            if (!repeated[k]) continue;
            if (r == 0 || w.rep != 0) {
                for (int64_t at = 0; at < step * repeatBytes(w); at += kBlock) {
                    std::memcpy(copies[k] + at, from[k], kBlock);
                }
            }
            from[k] = copies[k];
        }
        fn(d.ptr + r * d.rep, from[0], from[1], n, c);
    }
    return true;
}

// Operands whose first `prefix` lanes of every repeat lie in one piece.
void ExecuteRows(const VecCall& c, RunFn fn, const Geometry& g, const Walk& d, const Walk& s0,
                 const Walk& s1, uint32_t prefix) {
    auto source = [](const Walk& w, uint32_t r) -> const void* {
        return w.ptr ? w.ptr + r * w.rep : nullptr;
    };
    auto dense = [&](const Walk& w) {
        return !w.ptr || w.rep == static_cast<int64_t>(Bytes(
                                      DType::kU8, static_cast<uint64_t>(g.lanes) * w.bits / 8));
    };
    if (g.full && dense(d) && dense(s0) && dense(s1)) {
        const uint64_t n = g.tail ? static_cast<uint64_t>(g.repeats - 1) * g.lanes + g.tail
                                  : static_cast<uint64_t>(g.repeats) * g.lanes;
        fn(d.ptr, s0.ptr, s1.ptr, n, c);
        return;
    }
    for (uint32_t r = 0; r < g.repeats; ++r) {
        const uint32_t n = g.tail && r + 1 == g.repeats ? g.tail : prefix;
        fn(d.ptr + r * d.rep, source(s0, r), source(s1, r), n, c);
    }
}

// Block by block: within a group of lanes that share a block in every operand. A repeat has at most
// 8 such groups, whose places are the same in every repeat.
void ExecuteBlocks(const VecCall& c, RunFn fn, const Geometry& g, const Walk& d, const Walk& s0,
                   const Walk& s1) {
    uint32_t group = 256 / d.bits;
    if (s0.ptr || s1.ptr) group = std::min(group, 256 / s0.bits);
    struct Places {
        int64_t d, s0, s1;
    } places[8];
    for (uint32_t e = 0; e < g.lanes; e += group) {
        places[e / group] = {d.Offset(e), s0.Offset(e), s1.Offset(e)};
    }
    for (uint32_t r = 0; r < g.repeats; ++r) {
        const uint32_t lanes = g.tail && r + 1 == g.repeats ? g.tail : g.lanes;
        const Places* at = places;
        for (uint32_t e = 0; e < lanes; e += group, ++at) {
            uint8_t* const to = d.ptr + r * d.rep + at->d;
            const uint8_t* const from0 = s0.ptr ? s0.ptr + r * s0.rep + at->s0 : nullptr;
            const uint8_t* const from1 = s1.ptr ? s1.ptr + r * s1.rep + at->s1 : nullptr;
            const uint32_t n = std::min(group, lanes - e);
            uint64_t bits = ~0ull;
            if (!g.full && e < 128) bits = g.mask[e >> 6] >> (e & 63);
            const uint64_t all = n >= 64 ? ~0ull : (1ull << n) - 1;
            if ((bits & all) == all) {
                fn(to, from0, from1, n, c);
                continue;
            }
            for (uint32_t i = 0; i < n;) {
                if (((bits >> i) & 1) == 0) {
                    ++i;
                    continue;
                }
                uint32_t k = i;
                while (k < n && ((bits >> k) & 1)) ++k;
                fn(to + i * d.bits / 8, from0 ? from0 + i * s0.bits / 8 : nullptr,
                   from1 ? from1 + i * s1.bits / 8 : nullptr, k - i, c);
                i = k;
            }
        }
    }
}

void Execute(const VecCall& c, RunFn fn, const Geometry& g) {
    const uint8_t* const p0 = c.src0 ? c.src0->ptr : nullptr;
    const uint8_t* const p1 = c.src1 ? c.src1->ptr : nullptr;
    if (c.form.kind == Form::kCount) {
        if (g.total > 0) fn(c.dst->ptr, p0, p1, g.total, c);
        return;
    }
    if (g.repeats == 0) return;
    const Walk d{c.dst->ptr, c.form.dstBlk * 32ll, c.form.dstRep * 32ll, DTypeBits(c.dt)};
    const Walk s0{const_cast<uint8_t*>(p0), c.form.src0Blk * 32ll, c.form.src0Rep * 32ll,
                  DTypeBits(c.st)};
    const Walk s1{const_cast<uint8_t*>(p1), c.form.src1Blk * 32ll, c.form.src1Rep * 32ll,
                  DTypeBits(c.st)};
    const uint32_t prefix = g.full ? g.lanes : g.prefix;
    const bool rows = prefix > 0 && Contiguous(d, prefix) && (!p0 || Contiguous(s0, prefix)) &&
                      (!p1 || Contiguous(s1, prefix));
    if (rows) return ExecuteRows(c, fn, g, d, s0, s1, prefix);
    if (ExecuteRepeatedBlocks(c, fn, g, d, {s0, s1})) return;
    ExecuteBlocks(c, fn, g, d, s0, s1);
}

// inf -> the largest value, NaN -> 0: the results of an instruction in saturating mode.
template <typename T, uint16_t kLargest, uint16_t kInfinity>
void SaturateRun(void* d, const void*, const void*, uint64_t n, const VecCall&) {
    T* dst = static_cast<T*>(d);
    for (uint64_t i = 0; i < n; ++i) {
        const uint16_t magnitude = dst[i].bits & 0x7fff;
        if (magnitude < kInfinity) continue;
        dst[i].bits = magnitude == kInfinity ? (dst[i].bits & 0x8000) | kLargest : 0;
    }
}
RunFn Saturation(const Core& core, const VecCall& c, VecOp op) {
    if (__builtin_expect((core.regs.ctrl >> 48) & 1, 1)) return nullptr;
    if (op == VecOp::kCopy || op == VecOp::kDuplicate) return nullptr;
    if (c.dt == DType::kF16) return &SaturateRun<half, 0x7bff, 0x7c00>;
    return c.dt == DType::kBf16 ? &SaturateRun<bfloat16_t, 0x7f7f, 0x7f80> : nullptr;
}

RunFn Find(const VecCall& c, VecOp op) {
    if (op == VecOp::kCast) return CastRun(c.dt, c.st, c.param);
    if (op == VecOp::kAddReluCast || op == VecOp::kSubReluCast || op == VecOp::kMulCast ||
        op == VecOp::kAddDeqRelu) {
        return BinaryCast(op, c.dt, c.st);
    }
    RunFn fn = FloatRun(op, c.dt, c.st);
    return fn ? fn : IntegerRun(op, c.dt, c.st);
}

}  // namespace

void RunVector(const VecCall& c) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    const uint32_t bits = std::max(DTypeBits(c.dt), c.src0 ? DTypeBits(c.st) : 0u);
    const Geometry g = Resolve(core, c.form, bits);
    const Instruction& facts = FactsOf(c.api);
    if (__builtin_expect(core.sink != nullptr, 0)) {
        Record r;
        r.SetApi(c.api);
        r.pipe = facts.pipe;
        r.loc = Where(core, c.loc);
        r.perLane = true;
        DescribeMask(r, g, c.form);
        DescribeLanes(r.Add("dst"), *c.dst, c.dt,
                      facts.readsDst ? Access::kReadWrite : Access::kWrite, g, c.form,
                      c.form.dstBlk, c.form.dstRep);
        if (c.src0) {
            DescribeLanes(r.Add(c.src1 ? "src0" : "src"), *c.src0, c.st, Access::kRead, g, c.form,
                          c.form.src0Blk, c.form.src0Rep);
        }
        if (c.src1) {
            DescribeLanes(r.Add("src1"), *c.src1, c.st, Access::kRead, g, c.form, c.form.src1Blk,
                          c.form.src1Rep);
        }
        const uint64_t last = EndOf(*c.dst, c.dt, g, c.form, 1, 0) - c.dst->addr;
        if (c.form.kind != Form::kCount && c.form.dstBlk == 0 && last > 32) {
            r.note =
                "dstBlkStride is 0: all blocks of a repeat go to one place, the result is "
                "undefined";
        }
        if (core.kind == CoreKind::kUnified && c.form.repeats > 0 && g.repeats == 0 &&
            c.form.kind != Form::kCount) {
            r.note = "a mask of zero is illegal on arch 2002";
        }
        if (facts.arithmetic == VecOp::kCast) r.mode = static_cast<int8_t>(c.param);
        if (g.cut) r.note = "counter mode uses the low 32 bits of the mask only";
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    const RunFn fn = Find(c, facts.arithmetic);
    if (fn == nullptr) {
        Trap(core, c.loc, c.api, "not supported from %s to %s on arch 2201", Name(c.st),
             Name(c.dt));
    }
    CheckEnd(core, *c.dst, EndOf(*c.dst, c.dt, g, c.form, c.form.dstBlk, c.form.dstRep), c.api,
             "dst", c.loc);
    if (c.src0) {
        CheckEnd(core, *c.src0, EndOf(*c.src0, c.st, g, c.form, c.form.src0Blk, c.form.src0Rep),
                 c.api, "src0", c.loc);
    }
    if (c.src1) {
        CheckEnd(core, *c.src1, EndOf(*c.src1, c.st, g, c.form, c.form.src1Blk, c.form.src1Rep),
                 c.api, "src1", c.loc);
    }
    g_read_ahead.Step();
    Execute(c, fn, g);
    if (const RunFn saturate = Saturation(core, c, facts.arithmetic)) {
        VecCall again = c;
        again.src0 = again.src1 = nullptr;
        Execute(again, saturate, g);
    }
}

void RunCopy(const VecCall& call) {
    if (!Current().regs.counter) {
        RunVector(call);
        return;
    }
    VecCall row = call;
    TensorRef dst = *call.dst, src = *call.src0;
    row.dst = &dst;
    row.src0 = &src;
    row.form.repeats = 1;
    row.form.dstRep = 8 * call.form.dstBlk;
    row.form.src0Rep = 8 * call.form.src0Blk;
    const auto skip = [](TensorRef& t, int32_t blocks) {
        const uint32_t bytes = static_cast<uint32_t>(blocks) * 32;
        t.addr += bytes;
        t.ptr += bytes;
        t.size -= std::min<decltype(t.size)>(t.size, bytes);
    };
    for (int32_t r = 0; r < call.form.repeats; ++r) {
        RunVector(row);
        skip(dst, call.form.dstRep);
        skip(src, call.form.src0Rep);
    }
}

}  // namespace ascendc_emu
