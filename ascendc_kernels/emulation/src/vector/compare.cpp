// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Compare and Select. Bits are little endian: lane i is bit i % 8 of byte i / 8.
#include <algorithm>
#include <cstring>

#include "core/operands.h"
#include "core/scheduler.h"
#include "vector/floats.h"
#include "vector/lanes.h"

namespace ascendc_emu {
namespace {

using AscendC::CMPMODE;
using AscendC::SELMODE;

template <typename T>
bool Test(T a, T b, CMPMODE mode) {
    switch (mode) {
        case CMPMODE::LT:
            return a < b;
        case CMPMODE::GT:
            return a > b;
        case CMPMODE::EQ:
            return a == b;
        case CMPMODE::LE:
            return a <= b;
        case CMPMODE::GE:
            return a >= b;
        default:
            return a != b;
    }
}

// The bits of 8 comparisons: of a[j] with b[j], or with k where b is null.
template <CMPMODE mode, typename T>
uint8_t Test8(const T* a, const T* b, T k) {
    uint8_t flags[8];
    for (int j = 0; j < 8; ++j) flags[j] = Test<T>(a[j], b ? b[j] : k, mode) ? 1 : 0;
    // Gathers the low bits of 8 bytes into one.
    uint64_t word;
    memcpy(&word, flags, 8);
    return static_cast<uint8_t>((word * 0x0102040810204080ull) >> 56);
}

#if defined(__AVX__)
// The predicate of the instruction that gives what Test gives, NaN included.
constexpr int Predicate(CMPMODE mode) {
    return mode == CMPMODE::LT   ? _CMP_LT_OQ
           : mode == CMPMODE::GT ? _CMP_GT_OQ
           : mode == CMPMODE::EQ ? _CMP_EQ_OQ
           : mode == CMPMODE::LE ? _CMP_LE_OQ
           : mode == CMPMODE::GE ? _CMP_GE_OQ
                                 : _CMP_NEQ_UQ;
}

template <CMPMODE mode>
uint8_t Test8(const float* a, const float* b, float k) {
    const __m256 other = b ? _mm256_loadu_ps(b) : _mm256_set1_ps(k);
    return static_cast<uint8_t>(
        _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(a), other, Predicate(mode))));
}
#endif
#if defined(__AVX2__)
template <CMPMODE mode>
uint8_t Test8(const int32_t* a, const int32_t* b, int32_t k) {
    static_assert(mode == CMPMODE::EQ, "int32_t is compared with EQ only");
    const __m256i other =
        b ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)) : _mm256_set1_epi32(k);
    const __m256i same =
        _mm256_cmpeq_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a)), other);
    return static_cast<uint8_t>(_mm256_movemask_ps(_mm256_castsi256_ps(same)));
}
#endif

// Packs n comparisons into bits at `out`, which is written in whole bytes (the last one partially).
template <typename T, CMPMODE mode>
void PackMode(const T* a, const T* b, T k, uint64_t n, uint8_t* out) {
    uint64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        out[i / 8] = Test8<mode>(a + i, b ? b + i : nullptr, k);
    }
    for (; i < n; ++i) {
        const uint8_t bit = static_cast<uint8_t>(1u << (i % 8));
        const bool on = Test<T>(a[i], b ? b[i] : k, mode);
        out[i / 8] = static_cast<uint8_t>(on ? out[i / 8] | bit : out[i / 8] & ~bit);
    }
}

template <typename T>
void Pack(const T* a, const T* b, T k, uint64_t n, CMPMODE mode, uint8_t* out) {
    switch (mode) {
        case CMPMODE::LT:
            return PackMode<T, CMPMODE::LT>(a, b, k, n, out);
        case CMPMODE::GT:
            return PackMode<T, CMPMODE::GT>(a, b, k, n, out);
        case CMPMODE::EQ:
            return PackMode<T, CMPMODE::EQ>(a, b, k, n, out);
        case CMPMODE::LE:
            return PackMode<T, CMPMODE::LE>(a, b, k, n, out);
        case CMPMODE::GE:
            return PackMode<T, CMPMODE::GE>(a, b, k, n, out);
        default:
            return PackMode<T, CMPMODE::NE>(a, b, k, n, out);
    }
}

void PackAny(DType t, const uint8_t* a, const uint8_t* b, uint64_t scalar, uint64_t n, CMPMODE mode,
             uint8_t* out) {
    if (t == DType::kF32) {
        Pack(reinterpret_cast<const float*>(a), reinterpret_cast<const float*>(b),
             BitCast<float>(static_cast<uint32_t>(scalar)), n, mode, out);
    } else if (t == DType::kI32) {
        // RunCompare refused the other modes.
        PackMode<int32_t, CMPMODE::EQ>(reinterpret_cast<const int32_t*>(a),
                                       reinterpret_cast<const int32_t*>(b),
                                       static_cast<int32_t>(static_cast<uint32_t>(scalar)), n, out);
    } else {
        float x[kChunk], y[kChunk];
        const float k = HalfBitsToFloat(static_cast<uint16_t>(scalar));
        for (uint64_t at = 0; at < n; at += kChunk) {
            const uint64_t m = std::min(kChunk, n - at);
            Load(x, reinterpret_cast<const half*>(a) + at, m);
            if (b) Load(y, reinterpret_cast<const half*>(b) + at, m);
            Pack(x, b ? y : nullptr, k, m, mode, out + at / 8);
        }
    }
}

// Address of the first byte of repeat r, with block stride applied lane by lane.
const uint8_t* LaneAt(const TensorRef& t, DType type, uint32_t r, uint32_t lane, int32_t blk,
                      int32_t rep) {
    const uint32_t bytes = DTypeBits(type) / 8;
    const uint32_t perBlock = 32 / bytes;
    return t.ptr + static_cast<int64_t>(r) * rep * 32 +
           static_cast<int64_t>(lane / perBlock) * blk * 32 + (lane % perBlock) * bytes;
}

// Copies one repeat's lanes to a dense buffer when they are strided.
const uint8_t* Dense(const TensorRef& t, DType type, uint32_t r, uint32_t lanes, int32_t blk,
                     int32_t rep, uint8_t* buffer) {
    if (blk == 1) return LaneAt(t, type, r, 0, blk, rep);
    const uint32_t bytes = DTypeBits(type) / 8;
    const uint32_t perBlock = 32 / bytes;
    for (uint32_t e = 0; e < lanes; e += perBlock)
        memcpy(buffer + e * bytes, LaneAt(t, type, r, e, blk, rep), 32);
    return buffer;
}

bool LaneOn(const Geometry& g, uint32_t lane) {
    return g.full || (lane < 128 && ((g.mask[lane >> 6] >> (lane & 63)) & 1));
}

Operand& BitsOperand(Record& r, const char* role, const TensorRef& t, Access access,
                     uint64_t bytes) {
    Operand& o = AddTensor(r, role, t, DType::kU8, access);
    o.blockBytes = static_cast<uint32_t>(bytes);
    return o;
}

uint64_t TotalLanes(const Geometry& g, const Form& f) {
    if (f.kind == Form::kCount) return g.total;
    return g.tail ? static_cast<uint64_t>(g.repeats - 1) * g.lanes + g.tail
                  : static_cast<uint64_t>(g.repeats) * g.lanes;
}

}  // namespace

void RunCompare(const CompareCall& c) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    const CMPMODE mode = static_cast<CMPMODE>(c.mode);
    if (c.st == DType::kI32 && mode != CMPMODE::EQ) {
        TrapCheck(core, c.loc, "ErrorParam", c.api, "cast to float, or compare with EQ",
                  "int32_t supports CMPMODE::EQ only on arch 2201");
    }
    const Geometry g = Resolve(core, c.form, DTypeBits(c.st));
    const uint64_t lanes = TotalLanes(g, c.form);
    if (c.form.kind == Form::kCount && g.total * DTypeBits(c.st) / 8 % 256 != 0) {
        Complain(core, c.loc, "ErrorParam", c.api, "round the count up to 256 bytes of elements",
                 "count * sizeof(T) = %llu bytes is not a multiple of 256",
                 static_cast<unsigned long long>(g.total * DTypeBits(c.st) / 8));
    }
    if (core.sink) {
        Record r;
        r.SetApi(c.api);
        r.pipe = Pipe::kV;
        r.loc = Where(core, c.loc);
        DescribeMask(r, g, c.form);
        if (c.dst) BitsOperand(r, "dst", *c.dst, Access::kWrite, (lanes + 7) / 8);
        DescribeLanes(r.Add("src0"), *c.src0, c.st, Access::kRead, g, c.form, c.form.src0Blk,
                      c.form.src0Rep);
        if (c.src1) {
            DescribeLanes(r.Add("src1"), *c.src1, c.st, Access::kRead, g, c.form, c.form.src1Blk,
                          c.form.src1Rep);
        }
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, *c.src0, EndOf(*c.src0, c.st, g, c.form, c.form.src0Blk, c.form.src0Rep), c.api,
             "src0", c.loc);
    if (c.src1) {
        CheckEnd(core, *c.src1, EndOf(*c.src1, c.st, g, c.form, c.form.src1Blk, c.form.src1Rep),
                 c.api, "src1", c.loc);
    }
    if (c.dst) CheckEnd(core, *c.dst, c.dst->addr + (lanes + 7) / 8, c.api, "dst", c.loc);
    uint8_t* out = c.dst ? c.dst->ptr : reinterpret_cast<uint8_t*>(core.regs.cmpMask);
    if (c.form.kind == Form::kCount) {
        PackAny(c.st, c.src0->ptr, c.src1 ? c.src1->ptr : nullptr, c.scalar, g.total, mode, out);
        return;
    }
    uint8_t buffer0[256], buffer1[256], bits[32];
    for (uint32_t r = 0; r < g.repeats; ++r) {
        const uint32_t n = g.tail && r + 1 == g.repeats ? g.tail : g.lanes;
        const uint8_t* a =
            Dense(*c.src0, c.st, r, g.lanes, c.form.src0Blk, c.form.src0Rep, buffer0);
        const uint8_t* b =
            c.src1 ? Dense(*c.src1, c.st, r, g.lanes, c.form.src1Blk, c.form.src1Rep, buffer1)
                   : nullptr;
        uint8_t* to = out + static_cast<uint64_t>(r) * g.lanes / 8;
        memcpy(bits, to, (g.lanes + 7) / 8);
        PackAny(c.st, a, b, c.scalar, n, mode, bits);
        if (g.full) {
            memcpy(to, bits, (n + 7) / 8);
            continue;
        }
        for (uint32_t e = 0; e < n; ++e) {
            if (!LaneOn(g, e)) continue;
            const uint8_t bit = static_cast<uint8_t>(1u << (e % 8));
            to[e / 8] = static_cast<uint8_t>((to[e / 8] & ~bit) | (bits[e / 8] & bit));
        }
    }
}

namespace {
// 8 lanes: d[j] = bit j of `byte` on ? a[j] : b[j] (or k where b is null). d may be a or b.
template <typename T>
void Choose8(T* d, const T* a, const T* b, T k, uint8_t byte) {
    for (int j = 0; j < 8; ++j) d[j] = (byte >> j) & 1 ? a[j] : (b ? b[j] : k);
}

#if defined(__AVX2__)
void Choose8(uint32_t* d, const uint32_t* a, const uint32_t* b, uint32_t k, uint8_t byte) {
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i on = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(byte), bits), bits);
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a));
    const __m256i y = b ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b))
                        : _mm256_set1_epi32(static_cast<int>(k));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(d), _mm256_blendv_epi8(y, x, on));
}

void Choose8(uint16_t* d, const uint16_t* a, const uint16_t* b, uint16_t k, uint8_t byte) {
    const __m128i bits = _mm_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128);
    const __m128i on = _mm_cmpeq_epi16(_mm_and_si128(_mm_set1_epi16(byte), bits), bits);
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
    const __m128i y = b ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(b))
                        : _mm_set1_epi16(static_cast<int16_t>(k));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(d), _mm_blendv_epi8(y, x, on));
}
#endif

template <typename T>
void Choose(T* d, const T* a, const T* b, T k, const uint8_t* bits, uint64_t n) {
    uint64_t i = 0;
    for (; i + 8 <= n; i += 8) Choose8(d + i, a + i, b ? b + i : nullptr, k, bits[i / 8]);
    for (; i < n; ++i) d[i] = (bits[i / 8] >> (i % 8)) & 1 ? a[i] : (b ? b[i] : k);
}

template <typename T>
void SelectRows(const SelectCall& c, const Geometry& g, const uint8_t* bits, bool reuse) {
    T k;
    memcpy(&k, &c.scalar, sizeof(T));
    auto maskAt = [&](uint64_t lane) { return bits + (reuse ? 0 : lane / 8); };
    if (c.form.kind == Form::kCount) {
        T* d = reinterpret_cast<T*>(c.dst->ptr);
        const T* a = reinterpret_cast<const T*>(c.src0->ptr);
        const T* b = c.src1 ? reinterpret_cast<const T*>(c.src1->ptr) : nullptr;
        if (!reuse) return Choose(d, a, b, k, bits, g.total);
        for (uint64_t at = 0; at < g.total; at += g.lanes) {
            Choose(d + at, a + at, b ? b + at : nullptr, k, bits,
                   std::min<uint64_t>(g.lanes, g.total - at));
        }
        return;
    }
    uint8_t buffer0[256], buffer1[256];
    T row[128];
    for (uint32_t r = 0; r < g.repeats; ++r) {
        const uint32_t n = g.tail && r + 1 == g.repeats ? g.tail : g.lanes;
        const T* a = reinterpret_cast<const T*>(
            Dense(*c.src0, c.dt, r, g.lanes, c.form.src0Blk, c.form.src0Rep, buffer0));
        const T* b = nullptr;
        if (c.src1) {
            b = reinterpret_cast<const T*>(
                Dense(*c.src1, c.dt, r, g.lanes, c.form.src1Blk, c.form.src1Rep, buffer1));
        }
        Choose(row, a, b, k, maskAt(static_cast<uint64_t>(r) * g.lanes), n);
        const uint32_t perBlock = 32 / sizeof(T);
        for (uint32_t e = 0; e < n; ++e) {
            if (!LaneOn(g, e)) continue;
            uint8_t* to =
                const_cast<uint8_t*>(LaneAt(*c.dst, c.dt, r, e, c.form.dstBlk, c.form.dstRep));
            (void)perBlock;
            memcpy(to, &row[e], sizeof(T));
        }
    }
}
}  // namespace

void RunSelect(const SelectCall& c) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    const Geometry g = Resolve(core, c.form, DTypeBits(c.dt));
    const bool reuse = static_cast<SELMODE>(c.mode) == SELMODE::VSEL_CMPMASK_SPR;
    const uint64_t lanes = TotalLanes(g, c.form);
    const uint64_t maskBytes =
        reuse ? (std::min<uint64_t>(lanes, g.lanes) + 7) / 8 : (lanes + 7) / 8;
    if (core.sink) {
        Record r;
        r.SetApi(c.api);
        r.pipe = Pipe::kV;
        r.loc = Where(core, c.loc);
        DescribeMask(r, g, c.form);
        DescribeLanes(r.Add("dst"), *c.dst, c.dt, Access::kWrite, g, c.form, c.form.dstBlk,
                      c.form.dstRep);
        if (c.mask) BitsOperand(r, "selMask", *c.mask, Access::kRead, maskBytes);
        DescribeLanes(r.Add("src0"), *c.src0, c.dt, Access::kRead, g, c.form, c.form.src0Blk,
                      c.form.src0Rep);
        if (c.src1) {
            DescribeLanes(r.Add("src1"), *c.src1, c.dt, Access::kRead, g, c.form, c.form.src1Blk,
                          c.form.src1Rep);
        }
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    CheckEnd(core, *c.dst, EndOf(*c.dst, c.dt, g, c.form, c.form.dstBlk, c.form.dstRep), c.api,
             "dst", c.loc);
    CheckEnd(core, *c.src0, EndOf(*c.src0, c.dt, g, c.form, c.form.src0Blk, c.form.src0Rep), c.api,
             "src0", c.loc);
    if (c.src1) {
        CheckEnd(core, *c.src1, EndOf(*c.src1, c.dt, g, c.form, c.form.src1Blk, c.form.src1Rep),
                 c.api, "src1", c.loc);
    }
    if (c.mask) CheckEnd(core, *c.mask, c.mask->addr + maskBytes, c.api, "selMask", c.loc);
    const uint8_t* bits =
        c.mask ? c.mask->ptr : reinterpret_cast<const uint8_t*>(core.regs.cmpMask);
    if (c.mask && reuse) memcpy(core.regs.cmpMask, c.mask->ptr, 16);
    if (DTypeBits(c.dt) == 32) {
        SelectRows<uint32_t>(c, g, bits, reuse);
    } else {
        SelectRows<uint16_t>(c, g, bits, reuse);
    }
}

void ReadCmpMask(const TensorRef& dst, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    if (core.sink) {
        Record r;
        r.SetApi(Api::kGetCmpMask);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        BitsOperand(r, "dst", dst, Access::kWrite, 16);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    memcpy(dst.ptr, core.regs.cmpMask, 16);
}

void WriteCmpMask(const TensorRef& src, Loc loc) {
    Core& core = Current();
    if (core.kind == CoreKind::kAic) return;
    if (core.sink) {
        Record r;
        r.SetApi(Api::kSetCmpMask);
        r.pipe = Pipe::kV;
        r.loc = Where(core, loc);
        BitsOperand(r, "src", src, Access::kRead, 16);
        core.sink->OnInstruction(core, r);
        if (core.timeOnly) return;
    }
    memcpy(core.regs.cmpMask, src.ptr, 16);
}

}  // namespace ascendc_emu
