// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Instructions of arch 2201 by the names the compiler has for them, beyond those of
// instruction_names.h, as public kernels call them: on pointers, under the mask register. Included
// only where a source uses such a name. Repeat strides and block strides count 32 bytes.
#ifndef ASCENDC_EMU_COMPILER_NAMES_H
#define ASCENDC_EMU_COMPILER_NAMES_H

#include "kernel_operator.h"

#include "ascendc_emu/c_api_select.h"
#include "ascendc_emu/vector_instructions.h"

#define OPGEN_LOC ascendc_emu::Loc loc = ascendc_emu::Loc::Here()

// --- copies: bursts and gaps of 32 bytes; _align: bursts in bytes, gaps in bytes in GM
// ------------

__aicore__ inline void copy_gm_to_ubuf(void* dst, void* src, uint8_t, uint16_t bursts,
                                       uint16_t length, uint16_t srcGap, uint16_t dstGap,
                                       OPGEN_LOC) {
    asc_copy_gm2ub(static_cast<int8_t*>(dst), static_cast<int8_t*>(src), bursts, length, srcGap,
                   dstGap, loc);
}
__aicore__ inline void copy_ubuf_to_gm(void* dst, void* src, uint8_t, uint16_t bursts,
                                       uint16_t length, uint16_t srcGap, uint16_t dstGap,
                                       OPGEN_LOC) {
    asc_copy_ub2gm(static_cast<int8_t*>(dst), static_cast<int8_t*>(src), bursts, length, srcGap,
                   dstGap, loc);
}
#define OPGEN_ALIGNED_COPIES(SUFFIX, T)                                                          \
    __aicore__ inline void copy_gm_to_ubuf_align_##SUFFIX(                                       \
        void* dst, void* src, uint8_t, uint16_t bursts, uint32_t length, uint8_t left,           \
        uint8_t right, uint32_t srcGap, uint32_t dstGap, OPGEN_LOC) {                            \
        asc_copy_gm2ub_align(static_cast<T*>(dst), static_cast<T*>(src), bursts, length, left,   \
                             right, srcGap, dstGap, loc);                                        \
    }                                                                                            \
    __aicore__ inline void copy_ubuf_to_gm_align_##SUFFIX(                                       \
        void* dst, void* src, uint8_t, uint16_t bursts, uint32_t length, uint8_t, uint8_t,       \
        uint32_t srcGap, uint32_t dstGap, OPGEN_LOC) {                                           \
        asc_copy_ub2gm_align(static_cast<T*>(dst), static_cast<T*>(src), bursts, length, srcGap, \
                             dstGap, loc);                                                       \
    }
OPGEN_ALIGNED_COPIES(b8, int8_t)
OPGEN_ALIGNED_COPIES(b16, int16_t)
OPGEN_ALIGNED_COPIES(b32, int32_t)
#undef OPGEN_ALIGNED_COPIES

// --- elementwise ---------------------------------------------------------------------------------

#define OPGEN_UNARY(NAME, API)                                                                    \
    template <typename T>                                                                         \
    __aicore__ inline void NAME(T* dst, T* src, uint8_t repeat, uint16_t dstBlk, uint16_t srcBlk, \
                                uint16_t dstRep, uint16_t srcRep, OPGEN_LOC) {                    \
        API(dst, src, repeat, dstBlk, srcBlk, dstRep, srcRep, loc);                               \
    }
OPGEN_UNARY(vabs, asc_abs)
OPGEN_UNARY(vexp, asc_exp)
OPGEN_UNARY(vln, asc_log)
OPGEN_UNARY(vnot, asc_not)
OPGEN_UNARY(vrec, asc_rcp)
OPGEN_UNARY(vrelu, asc_relu)
OPGEN_UNARY(vrsqrt, asc_rsqrt)
OPGEN_UNARY(vsqrt, asc_sqrt)
#undef OPGEN_UNARY

#define OPGEN_SCALAR(NAME, API)                                                                 \
    template <typename T, typename U>                                                           \
    __aicore__ inline void NAME(T* dst, T* src, U value, uint8_t repeat, uint16_t dstBlk,       \
                                uint16_t srcBlk, uint16_t dstRep, uint16_t srcRep, OPGEN_LOC) { \
        API(dst, src, static_cast<T>(value), repeat, dstBlk, srcBlk, dstRep, srcRep, loc);      \
    }
OPGEN_SCALAR(vadds, asc_add_scalar)
OPGEN_SCALAR(vmuls, asc_mul_scalar)
OPGEN_SCALAR(vmaxs, asc_max_scalar)
OPGEN_SCALAR(vmins, asc_min_scalar)
OPGEN_SCALAR(vlrelu, asc_leakyrelu)
#undef OPGEN_SCALAR

// --- conversions: r to nearest even, f down, c up, a away from zero, z towards zero, o odd
// ---------

#define OPGEN_CONVERSION(NAME, D, S, MODE)                                                        \
    template <typename = void>                                                                    \
    __aicore__ inline void NAME(D* dst, S* src, uint8_t repeat, uint16_t dstBlk, uint16_t srcBlk, \
                                uint16_t dstRep, uint16_t srcRep, OPGEN_LOC) {                    \
        ascendc_emu::CastRepeats<AscendC::RoundMode::MODE>(dst, src, repeat, dstBlk, srcBlk,      \
                                                           dstRep, srcRep, loc);                  \
    }
#define OPGEN_ROUNDED(NAME, D, S)               \
    OPGEN_CONVERSION(NAME##r, D, S, CAST_RINT)  \
    OPGEN_CONVERSION(NAME##f, D, S, CAST_FLOOR) \
    OPGEN_CONVERSION(NAME##c, D, S, CAST_CEIL)  \
    OPGEN_CONVERSION(NAME##a, D, S, CAST_ROUND) \
    OPGEN_CONVERSION(NAME##z, D, S, CAST_TRUNC)
OPGEN_CONVERSION(vconv_bf162f32, float, bfloat16_t, CAST_NONE)
OPGEN_ROUNDED(vconv_bf162s32, int32_t, bfloat16_t)
OPGEN_CONVERSION(vconv_f162f32, float, half, CAST_NONE)
OPGEN_ROUNDED(vconv_f162s16, int16_t, half)
OPGEN_ROUNDED(vconv_f162s32, int32_t, half)
OPGEN_CONVERSION(vconv_f162s8, int8_t, half, CAST_NONE)
OPGEN_ROUNDED(vconv_f162s8, int8_t, half)
OPGEN_CONVERSION(vconv_f162u8, uint8_t, half, CAST_NONE)
OPGEN_ROUNDED(vconv_f162u8, uint8_t, half)
OPGEN_ROUNDED(vconv_f322bf16, bfloat16_t, float)
OPGEN_CONVERSION(vconv_f322f16, half, float, CAST_NONE)
OPGEN_CONVERSION(vconv_f322f16o, half, float, CAST_ODD)
OPGEN_ROUNDED(vconv_f322f16, half, float)
OPGEN_ROUNDED(vconv_f322f32, float, float)
OPGEN_ROUNDED(vconv_f322s16, int16_t, float)
OPGEN_ROUNDED(vconv_f322s32, int32_t, float)
OPGEN_ROUNDED(vconv_f322s64, int64_t, float)
OPGEN_CONVERSION(vconv_s162f16, half, int16_t, CAST_NONE)
OPGEN_ROUNDED(vconv_s162f16, half, int16_t)
OPGEN_CONVERSION(vconv_s162f32, float, int16_t, CAST_NONE)
OPGEN_CONVERSION(vconv_s322f32, float, int32_t, CAST_NONE)
OPGEN_ROUNDED(vconv_s322f32, float, int32_t)
OPGEN_CONVERSION(vconv_s322s16, int16_t, int32_t, CAST_NONE)
OPGEN_CONVERSION(vconv_s322s64, int64_t, int32_t, CAST_NONE)
OPGEN_CONVERSION(vconv_s642s32, int32_t, int64_t, CAST_NONE)
OPGEN_ROUNDED(vconv_s642f32, float, int64_t)
OPGEN_CONVERSION(vconv_s82f16, half, int8_t, CAST_NONE)
OPGEN_CONVERSION(vconv_u82f16, half, uint8_t, CAST_NONE)
// Two elements of 4 bits to a byte: the pointer has no type of its own.
#define OPGEN_PACKED(NAME, MODE)                                                                \
    template <typename = void>                                                                  \
    __aicore__ inline void NAME(void* dst, half* src, uint8_t repeat, uint16_t dstBlk,          \
                                uint16_t srcBlk, uint16_t dstRep, uint16_t srcRep, OPGEN_LOC) { \
        ascendc_emu::CastRepeats<AscendC::RoundMode::MODE>(static_cast<AscendC::int4b_t*>(dst), \
                                                           src, repeat, dstBlk, srcBlk, dstRep, \
                                                           srcRep, loc);                        \
    }
OPGEN_PACKED(vconv_f162s4, CAST_NONE)
OPGEN_PACKED(vconv_f162s4r, CAST_RINT)
OPGEN_PACKED(vconv_f162s4f, CAST_FLOOR)
OPGEN_PACKED(vconv_f162s4c, CAST_CEIL)
OPGEN_PACKED(vconv_f162s4a, CAST_ROUND)
OPGEN_PACKED(vconv_f162s4z, CAST_TRUNC)
#undef OPGEN_PACKED
template <typename = void>
__aicore__ inline void vconv_s42f16(half* dst, void* src, uint8_t repeat, uint16_t dstBlk,
                                    uint16_t srcBlk, uint16_t dstRep, uint16_t srcRep, OPGEN_LOC) {
    ascendc_emu::CastRepeats<AscendC::RoundMode::CAST_NONE>(
        dst, static_cast<AscendC::int4b_t*>(src), repeat, dstBlk, srcBlk, dstRep, srcRep, loc);
}
// By the factor that set_deqscale gave.
OPGEN_CONVERSION(vconv_deq, half, int32_t, CAST_NONE)
#undef OPGEN_ROUNDED
#undef OPGEN_CONVERSION

// --- extremes of each repeat; the sums and those of blocks are in internal_names.h
// ------------------

enum Order_t { VALUE_INDEX = 0, INDEX_VALUE = 1, ONLY_VALUE = 2, ONLY_INDEX = 3 };

#define OPGEN_EXTREMUM(NAME, OP)                                                                  \
    template <typename T>                                                                         \
    __aicore__ inline void NAME(T* dst, T* src, uint8_t repeat, uint16_t dstRep, uint16_t srcBlk, \
                                uint16_t srcRep, Order_t order = VALUE_INDEX, OPGEN_LOC) {        \
        using namespace ascendc_emu;                                                              \
        const auto d = FromPointer(dst, loc), s = FromPointer(src, loc);                          \
        RunReduce({Api::k##NAME, kDTypeOf<T>, ReduceOp::OP, ReduceSpan::kWhole,                   \
                   static_cast<uint8_t>(order), &d, &s,                                           \
                   ReduceForm(0ull, repeat, dstRep, srcBlk, srcRep, false), loc});                \
    }
OPGEN_EXTREMUM(vcmax, kMax)
OPGEN_EXTREMUM(vcmin, kMin)
#undef OPGEN_EXTREMUM

// --- comparison and selection --------------------------------------------------------------------

// vcmpv: bits in UB; vcmpvs: against a scalar; vcmp: one repeat, bits in the compare-mask register.
#define OPGEN_COMPARISON(MODE)                                                                     \
    template <typename D, typename T>                                                              \
    __aicore__ inline void vcmpv_##MODE(D* dst, T* src0, T* src1, uint8_t repeat, uint8_t dstBlk,  \
                                        uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep,          \
                                        uint8_t src0Rep, uint8_t src1Rep, OPGEN_LOC) {             \
        asc_##MODE(reinterpret_cast<uint8_t*>(dst), src0, src1, repeat, dstBlk, src0Blk, src1Blk,  \
                   dstRep, src0Rep, src1Rep, loc);                                                 \
    }                                                                                              \
    template <typename D, typename T, typename U>                                                  \
    __aicore__ inline void vcmpvs_##MODE(D* dst, T* src, U value, uint8_t repeat, uint16_t dstBlk, \
                                         uint16_t srcBlk, uint16_t dstRep, uint16_t srcRep,        \
                                         OPGEN_LOC) {                                              \
        asc_##MODE##_scalar(reinterpret_cast<uint8_t*>(dst), src, static_cast<T>(value), repeat,   \
                            dstBlk, srcBlk, dstRep, srcRep, loc);                                  \
    }                                                                                              \
    template <typename T>                                                                          \
    __aicore__ inline void vcmp_##MODE(T* src0, T* src1, uint8_t repeat, uint8_t dstBlk,           \
                                       uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep,           \
                                       uint8_t src0Rep, uint8_t src1Rep, OPGEN_LOC) {              \
        asc_##MODE(src0, src1, repeat, dstBlk, src0Blk, src1Blk, dstRep, src0Rep, src1Rep, loc);   \
    }
OPGEN_COMPARISON(eq)
OPGEN_COMPARISON(ne)
OPGEN_COMPARISON(lt)
OPGEN_COMPARISON(le)
OPGEN_COMPARISON(gt)
OPGEN_COMPARISON(ge)
#undef OPGEN_COMPARISON

template <typename T>
__aicore__ inline void set_cmpmask(T* src, OPGEN_LOC) {
    asc_set_cmp_mask(src, loc);
}
// mode 0: bits of the compare-mask register choose from src0 and src1; 1: bits at src1 choose from
// src0 and the scalar in the register. Mode 2, which keeps the address of the bits there, is not
// emulated.
template <typename T, typename S>
__aicore__ inline void vsel(T* dst, T* src0, S* src1, uint8_t repeat, uint8_t dstBlk,
                            uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep, uint8_t src0Rep,
                            uint8_t src1Rep, int32_t mode = 0, OPGEN_LOC) {
    using ascendc_emu::FromPointer;
    if (mode == 1) {
        T scalar;
        memcpy(&scalar, ascendc_emu::Current().regs.cmpMask, sizeof(T));
        AscendC::Select<T, uint8_t, false>(
            FromPointer(dst, loc), FromPointer(reinterpret_cast<uint8_t*>(src1), loc),
            FromPointer(src0, loc), scalar, AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE, uint64_t(0),
            repeat, AscendC::BinaryRepeatParams(dstBlk, src0Blk, src1Blk, dstRep, src0Rep, src1Rep),
            loc);
    } else if (mode == 0) {
        asc_select(dst, src0, reinterpret_cast<T*>(src1), repeat, dstBlk, src0Blk, src1Blk, dstRep,
                   src0Rep, src1Rep, loc);
    } else {
        ascendc_emu::TrapCheck(ascendc_emu::Current(), loc, "ErrorParam", "vsel",
                               "call AscendC::Select", "mode %d is not emulated", mode);
    }
}

// --- moves within UB -----------------------------------------------------------------------------

template <typename T>
__aicore__ inline void vbrcb(T* dst, T* src, uint16_t dstBlk, uint16_t dstRep, uint8_t repeat,
                             OPGEN_LOC) {
    asc_brcb(dst, src, dstBlk, dstRep, repeat, loc);
}
// `base`: the low 32 bits of the address that offsets, in bytes, are relative to.
template <typename T>
__aicore__ inline void vgather(T* dst, uint32_t* offsets, uint32_t base, uint16_t dstRep,
                               uint8_t repeat, OPGEN_LOC) {
    using namespace ascendc_emu;
    uint8_t* const ub = Current().memory[static_cast<int>(Mem::kUb)];
    const uint32_t place = base - static_cast<uint32_t>(reinterpret_cast<uint64_t>(ub));
    Form form = MaskForm(0ull, repeat, AscendC::UnaryRepeatParams(), false);
    form.dstRep = dstRep;
    RunGather(Api::kvgather, kDTypeOf<T>, FromPointer(dst, loc),
              FromPointer(reinterpret_cast<T*>(ub), loc), FromPointer(offsets, loc), place, form,
              loc);
}
// Keeps the elements that a pattern selects: 1 to 7 the built-in ones, 0 the bits at src1. The
// number of elements of each repeat is the mask register's in counter mode. A built-in pattern
// leaves src1 alone; it may be nullptr.
template <typename T>
__aicore__ inline void vreducev2(T* dst, T* src0, std::common_type_t<T>* src1, uint16_t repeat,
                                 uint8_t src0Blk, uint8_t pattern, uint16_t src0Rep,
                                 uint8_t src1Rep, OPGEN_LOC) {
    using namespace ascendc_emu;
    const Registers& regs = Current().regs;
    const auto d = FromPointer(dst, loc), s = FromPointer(src0, loc);
    const auto p = pattern == 0 ? FromPointer(src1, loc) : d;
    const uint32_t count = regs.counter ? static_cast<uint32_t>(regs.mask[0]) : 0;
    uint64_t kept = 0;
    RunGatherMask(kDTypeOf<T>, d, s, pattern == 0 ? &p : nullptr, pattern, regs.counter, count,
                  AscendC::GatherMaskParams(src0Blk, repeat, src0Rep, src1Rep), kept, loc);
}
__aicore__ inline int64_t get_rsvd_cnt() { return AscendC::GetGatherMaskRemainCount(); }

// --- registers and synchronisation ---------------------------------------------------------------

__aicore__ inline int64_t get_ctrl() { return asc_get_ctrl(); }
__aicore__ inline void set_ctrl(uint64_t value) { asc_set_ctrl(value); }
__aicore__ inline int64_t sbitset1(int64_t value, int64_t bit) {
    return value | (int64_t(1) << bit);
}
__aicore__ inline int64_t sbitset0(int64_t value, int64_t bit) {
    return value & ~(int64_t(1) << bit);
}
template <typename T>
__aicore__ inline void set_padding(T value) {
    AscendC::SetPadValue(value);              // of copies on a vector core
    AscendC::SetLoadDataPaddingValue(value);  // of image-to-column loads
}
__aicore__ inline void set_atomic_none() { AscendC::SetAtomicNone(); }
__aicore__ inline void set_atomic_f32(OPGEN_LOC) { AscendC::SetAtomicType<float>(loc); }
__aicore__ inline void set_atomic_f16(OPGEN_LOC) { AscendC::SetAtomicType<half>(loc); }
__aicore__ inline void set_atomic_bf16(OPGEN_LOC) { AscendC::SetAtomicType<bfloat16_t>(loc); }
__aicore__ inline void set_atomic_s8(OPGEN_LOC) { AscendC::SetAtomicType<int8_t>(loc); }
__aicore__ inline void set_atomic_s16(OPGEN_LOC) { AscendC::SetAtomicType<int16_t>(loc); }
__aicore__ inline void set_atomic_s32(OPGEN_LOC) { AscendC::SetAtomicType<int32_t>(loc); }
#define OPGEN_ATOMIC(NAME, OP)                         \
    __aicore__ inline void NAME(OPGEN_LOC) {           \
        ascendc_emu::Current().regs.atomicLoc = loc;   \
        ascendc_emu::Current().regs.atomicOp = OP;     \
        ascendc_emu::Current().regs.lastAtomicOp = OP; \
    }
OPGEN_ATOMIC(set_atomic_add, 1)
OPGEN_ATOMIC(set_atomic_max, 2)
OPGEN_ATOMIC(set_atomic_min, 3)
#undef OPGEN_ATOMIC
// Writes back and drops what the scalar unit's cache holds of one line (0) or of everything (1). UB
// is not behind that cache.
enum cache_line_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum dcci_dst_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
__aicore__ inline void dcci(void* dst, uint64_t entire, OPGEN_LOC) {
    ascendc_emu::CacheClean(entire != 0 ? nullptr : dst, entire != 0 ? 0 : 64, loc);
}
__aicore__ inline void dcci(void* dst, uint64_t entire, dcci_dst_t memory, OPGEN_LOC) {
    if (memory != CACHELINE_UB) dcci(dst, entire, loc);
}
__aicore__ inline void set_ffts_base_addr(uint64_t config) { asc_set_ffts_base_addr(config); }
__aicore__ inline int64_t get_ffts_base_addr() { return asc_get_ffts_base_addr(); }
// config: mode in bits 4 and 5, number of the flag in bits 8 to 11.
__aicore__ inline void ffts_cross_core_sync(pipe_t pipe, uint64_t config, OPGEN_LOC) {
    ascendc_emu::CrossSet((config >> 4) & 3, static_cast<ascendc_emu::Pipe>(pipe),
                          (config >> 8) & 15, loc);
}
__aicore__ inline void wait_flag_dev(int64_t flag, OPGEN_LOC) {
    AscendC::CrossCoreWaitFlag(static_cast<uint16_t>(flag), loc);
}
#undef OPGEN_LOC

#endif  // ASCENDC_EMU_COMPILER_NAMES_H
