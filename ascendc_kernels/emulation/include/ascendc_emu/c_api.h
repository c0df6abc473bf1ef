// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The C interface on arch 2201: copies, elementwise computation, conversions, reductions of a
// repeat, masks, synchronisation, identity. Each function is the instruction of the C++ interface
// on tensors made from its pointers; with `repeat` the lanes are those of the mask register;
// `_sync` waits for all pipes afterwards. Strides count 32 bytes. Source: asc-devkit docs, SIMD-API
// / C-API.
#ifndef ASCENDC_EMU_C_API_H
#define ASCENDC_EMU_C_API_H

#include "ascendc_emu/instruction_names.h"
#include "ascendc_emu/reduce_api.h"
#include "ascendc_emu/system_api.h"

namespace ascendc_emu {

// An array that a kernel declares in a memory of the core (`__ubuf__ float x[64];`): one place per
// declaration and core.
void* LocalArray(Mem memory, const void* declaration, uint64_t bytes, Loc loc);

template <Mem memory, typename T, typename Tag>
__aicore__ inline T& LocalVariable(Tag, Loc loc = Loc::Here()) {
    static const char declaration = 0;  // one per lambda type, that is per declaration
    return *static_cast<T*>(LocalArray(memory, &declaration, sizeof(T), loc));
}

// A conversion of repeats under the mask register, on pointers; strides in blocks of 32 bytes.
template <AscendC::RoundMode mode, typename D, typename S>
__aicore__ inline void CastRepeats(D* dst, S* src, uint8_t repeat, uint16_t dstBlk, uint16_t srcBlk,
                                   uint16_t dstRep, uint16_t srcRep, Loc loc) {
    AscendC::Cast<D, S, false>(
        FromPointer(dst, loc), FromPointer(src, loc), mode, uint64_t(0), repeat,
        AscendC::UnaryRepeatParams(dstBlk, srcBlk, uint8_t(dstRep), uint8_t(srcRep)), loc);
}

}  // namespace ascendc_emu

#define OPGEN_C_LOC ascendc_emu::Loc loc = ascendc_emu::Loc::Here()
#define OPGEN_C_UB(p) ascendc_emu::FromPointer(p, loc)

// --- synchronisation ---------------------------------------------------------------------------

__aicore__ inline void asc_init() { AscendC::InitSocState(); }
__aicore__ inline void asc_sync(OPGEN_C_LOC) { ascendc_emu::Barrier(ascendc_emu::Pipe::kAll, loc); }
__aicore__ inline void asc_sync_pipe(pipe_t pipe, OPGEN_C_LOC) {
    ascendc_emu::Barrier(static_cast<ascendc_emu::Pipe>(pipe), loc);
}
__aicore__ inline void asc_sync_vec(OPGEN_C_LOC) { asc_sync_pipe(PIPE_V, loc); }
__aicore__ inline void asc_sync_mte2(int, OPGEN_C_LOC) { asc_sync_pipe(PIPE_MTE2, loc); }
__aicore__ inline void asc_sync_mte3(int, OPGEN_C_LOC) { asc_sync_pipe(PIPE_MTE3, loc); }
// tpipe waits with asc_sync_wait(pipe, tpipe, id) until pipe has come here.
__aicore__ inline void asc_sync_notify(pipe_t pipe, pipe_t tpipe, int32_t id, OPGEN_C_LOC) {
    ascendc_emu::SetEvent(static_cast<ascendc_emu::Pipe>(pipe),
                          static_cast<ascendc_emu::Pipe>(tpipe), id, loc);
}
__aicore__ inline void asc_sync_wait(pipe_t pipe, pipe_t tpipe, int32_t id, OPGEN_C_LOC) {
    ascendc_emu::WaitEvent(static_cast<ascendc_emu::Pipe>(pipe),
                           static_cast<ascendc_emu::Pipe>(tpipe), id, loc);
}

// --- identity and registers --------------------------------------------------------------------

__aicore__ inline int64_t asc_get_block_idx() { return get_block_idx(); }
__aicore__ inline int64_t asc_get_block_num() { return AscendC::GetBlockNum(); }
__aicore__ inline int64_t asc_get_sub_block_id() { return AscendC::GetSubBlockIdx(); }
__aicore__ inline int64_t asc_get_sub_block_num() { return AscendC::GetSubBlockNum(); }
__aicore__ inline int64_t asc_get_core_id() { return ascendc_emu::Current().id; }
__aicore__ inline int64_t asc_get_system_cycle() { return AscendC::GetSystemCycle(); }
__aicore__ inline int64_t asc_get_ctrl() {
    return static_cast<int64_t>(ascendc_emu::Current().regs.ctrl);
}
__aicore__ inline void asc_set_ctrl(uint64_t value) { ascendc_emu::Current().regs.ctrl = value; }
__aicore__ inline void asc_get_arch_ver(uint32_t& version) { AscendC::GetArchVersion(version); }
__aicore__ inline void asc_set_mask_count() { AscendC::SetMaskCount(); }
__aicore__ inline void asc_set_mask_norm() { AscendC::SetMaskNorm(); }
__aicore__ inline void asc_set_vector_mask(uint64_t high, uint64_t low) {
    AscendC::SetVectorMask<half>(high, low);
}
__aicore__ inline void asc_set_deq_scale(half scale) { AscendC::SetDeqScale(scale); }
template <typename T>
__aicore__ inline void asc_set_copy_pad_val(T value) {
    AscendC::SetPadValue(value);
}

// --- copies ------------------------------------------------------------------------------------

// `size` in bytes, a multiple of 32; or bursts and gaps of 32 bytes.
template <typename D, typename S>
__aicore__ inline void asc_copy_gm2ub(D* dst, S* src, uint32_t size, OPGEN_C_LOC) {
    AscendC::DataCopy(OPGEN_C_UB(reinterpret_cast<int8_t*>(dst)),
                      ascendc_emu::GmPointer(reinterpret_cast<int8_t*>(src)), size, loc);
}
template <typename D, typename S>
__aicore__ inline void asc_copy_gm2ub(D* dst, S* src, uint16_t bursts, uint16_t length,
                                      uint16_t srcGap, uint16_t dstGap, OPGEN_C_LOC) {
    AscendC::DataCopy(OPGEN_C_UB(reinterpret_cast<int8_t*>(dst)),
                      ascendc_emu::GmPointer(reinterpret_cast<int8_t*>(src)),
                      AscendC::DataCopyParams(bursts, length, srcGap, dstGap), loc);
}
template <typename D, typename S>
__aicore__ inline void asc_copy_ub2gm(D* dst, S* src, uint32_t size, OPGEN_C_LOC) {
    AscendC::DataCopy(ascendc_emu::GmPointer(reinterpret_cast<int8_t*>(dst)),
                      OPGEN_C_UB(reinterpret_cast<int8_t*>(src)), size, loc);
}
template <typename D, typename S>
__aicore__ inline void asc_copy_ub2gm(D* dst, S* src, uint16_t bursts, uint16_t length,
                                      uint16_t srcGap, uint16_t dstGap, OPGEN_C_LOC) {
    AscendC::DataCopy(ascendc_emu::GmPointer(reinterpret_cast<int8_t*>(dst)),
                      OPGEN_C_UB(reinterpret_cast<int8_t*>(src)),
                      AscendC::DataCopyParams(bursts, length, srcGap, dstGap), loc);
}
// Any length in bytes. In the long form gaps are bytes in GM and blocks of 32 bytes in UB.
template <typename T>
__aicore__ inline void asc_copy_gm2ub_align(T* dst, T* src, uint32_t size, OPGEN_C_LOC) {
    AscendC::DataCopyPad(OPGEN_C_UB(dst), ascendc_emu::GmPointer(src),
                         AscendC::DataCopyExtParams(1, size, 0, 0, 0),
                         AscendC::DataCopyPadExtParams<T>(false, 0, 0, T(0)), loc);
}
template <typename T>
__aicore__ inline void asc_copy_gm2ub_align(T* dst, T* src, uint16_t bursts, uint32_t length,
                                            uint8_t left, uint8_t right, uint32_t srcGap,
                                            uint32_t dstGap, OPGEN_C_LOC) {
    AscendC::DataCopyPad(OPGEN_C_UB(dst), ascendc_emu::GmPointer(src),
                         AscendC::DataCopyExtParams(bursts, length, srcGap, dstGap, 0),
                         AscendC::DataCopyPadExtParams<T>(false, left, right, T(0)), loc);
}
template <typename T>
__aicore__ inline void asc_copy_ub2gm_align(T* dst, T* src, uint32_t size, OPGEN_C_LOC) {
    AscendC::DataCopyPad(ascendc_emu::GmPointer(dst), OPGEN_C_UB(src),
                         AscendC::DataCopyExtParams(1, size, 0, 0, 0), loc);
}
template <typename T>
__aicore__ inline void asc_copy_ub2gm_align(T* dst, T* src, uint16_t bursts, uint32_t length,
                                            uint32_t srcGap, uint32_t dstGap, OPGEN_C_LOC) {
    AscendC::DataCopyPad(ascendc_emu::GmPointer(dst), OPGEN_C_UB(src),
                         AscendC::DataCopyExtParams(bursts, length, srcGap, dstGap, 0), loc);
}
#define OPGEN_C_COPY_SYNC(NAME)                                                      \
    template <typename D, typename S>                                                \
    __aicore__ inline void NAME##_sync(D* dst, S* src, uint32_t size, OPGEN_C_LOC) { \
        NAME(dst, src, size, loc);                                                   \
        asc_sync(loc);                                                               \
    }
OPGEN_C_COPY_SYNC(asc_copy_gm2ub)
OPGEN_C_COPY_SYNC(asc_copy_ub2gm)
OPGEN_C_COPY_SYNC(asc_copy_gm2ub_align)
OPGEN_C_COPY_SYNC(asc_copy_ub2gm_align)
#undef OPGEN_C_COPY_SYNC

// --- elementwise -------------------------------------------------------------------------------

#define OPGEN_C_BINARY(NAME, API)                                                                  \
    template <typename T>                                                                          \
    __aicore__ inline void NAME(T* dst, T* src0, T* src1, uint32_t count, OPGEN_C_LOC) {           \
        AscendC::API(OPGEN_C_UB(dst), OPGEN_C_UB(src0), OPGEN_C_UB(src1), int32_t(count), loc);    \
    }                                                                                              \
    template <typename T>                                                                          \
    __aicore__ inline void NAME##_sync(T* dst, T* src0, T* src1, uint32_t count, OPGEN_C_LOC) {    \
        NAME(dst, src0, src1, count, loc);                                                         \
        asc_sync(loc);                                                                             \
    }                                                                                              \
    template <typename T>                                                                          \
    __aicore__ inline void NAME(T* dst, T* src0, T* src1, uint8_t repeat, uint8_t dstBlk,          \
                                uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep, uint8_t src0Rep, \
                                uint8_t src1Rep, OPGEN_C_LOC) {                                    \
        AscendC::API<T, false>(                                                                    \
            OPGEN_C_UB(dst), OPGEN_C_UB(src0), OPGEN_C_UB(src1), uint64_t(0), repeat,              \
            AscendC::BinaryRepeatParams(dstBlk, src0Blk, src1Blk, dstRep, src0Rep, src1Rep), loc); \
    }
OPGEN_C_BINARY(asc_add, Add)
OPGEN_C_BINARY(asc_sub, Sub)
OPGEN_C_BINARY(asc_mul, Mul)
OPGEN_C_BINARY(asc_div, Div)
OPGEN_C_BINARY(asc_max, Max)
OPGEN_C_BINARY(asc_min, Min)
OPGEN_C_BINARY(asc_and, And)
OPGEN_C_BINARY(asc_or, Or)
OPGEN_C_BINARY(asc_add_relu, AddRelu)
OPGEN_C_BINARY(asc_sub_relu, SubRelu)
OPGEN_C_BINARY(asc_mul_add, FusedMulAdd)
OPGEN_C_BINARY(asc_mul_add_relu, FusedMulAddRelu)
#undef OPGEN_C_BINARY

// dst = src0 * src1 + dst; half sources may add to float.
template <typename D, typename S>
__aicore__ inline void asc_fma(D* dst, S* src0, S* src1, uint32_t count, OPGEN_C_LOC) {
    AscendC::MulAddDst(OPGEN_C_UB(dst), OPGEN_C_UB(src0), OPGEN_C_UB(src1), int32_t(count), loc);
}
template <typename D, typename S>
__aicore__ inline void asc_fma_sync(D* dst, S* src0, S* src1, uint32_t count, OPGEN_C_LOC) {
    asc_fma(dst, src0, src1, count, loc);
    asc_sync(loc);
}

#define OPGEN_C_UNARY(NAME, API)                                                                  \
    template <typename T>                                                                         \
    __aicore__ inline void NAME(T* dst, T* src, uint32_t count, OPGEN_C_LOC) {                    \
        AscendC::API(OPGEN_C_UB(dst), OPGEN_C_UB(src), int32_t(count), loc);                      \
    }                                                                                             \
    template <typename T>                                                                         \
    __aicore__ inline void NAME##_sync(T* dst, T* src, uint32_t count, OPGEN_C_LOC) {             \
        NAME(dst, src, count, loc);                                                               \
        asc_sync(loc);                                                                            \
    }                                                                                             \
    template <typename T>                                                                         \
    __aicore__ inline void NAME(T* dst, T* src, uint8_t repeat, uint16_t dstBlk, uint16_t srcBlk, \
                                uint16_t dstRep, uint16_t srcRep, OPGEN_C_LOC) {                  \
        AscendC::API<T, false>(                                                                   \
            OPGEN_C_UB(dst), OPGEN_C_UB(src), uint64_t(0), repeat,                                \
            AscendC::UnaryRepeatParams(dstBlk, srcBlk, uint8_t(dstRep), uint8_t(srcRep)), loc);   \
    }
OPGEN_C_UNARY(asc_abs, Abs)
OPGEN_C_UNARY(asc_exp, Exp)
OPGEN_C_UNARY(asc_log, Ln)
OPGEN_C_UNARY(asc_not, Not)
OPGEN_C_UNARY(asc_rcp, Reciprocal)
OPGEN_C_UNARY(asc_relu, Relu)
OPGEN_C_UNARY(asc_rsqrt, Rsqrt)
OPGEN_C_UNARY(asc_sqrt, Sqrt)
#undef OPGEN_C_UNARY

#define OPGEN_C_SCALAR(NAME, API)                                                                 \
    template <typename T>                                                                         \
    __aicore__ inline void NAME(T* dst, T* src, T value, uint32_t count, OPGEN_C_LOC) {           \
        AscendC::API(OPGEN_C_UB(dst), OPGEN_C_UB(src), value, int32_t(count), loc);               \
    }                                                                                             \
    template <typename T>                                                                         \
    __aicore__ inline void NAME##_sync(T* dst, T* src, T value, uint32_t count, OPGEN_C_LOC) {    \
        NAME(dst, src, value, count, loc);                                                        \
        asc_sync(loc);                                                                            \
    }                                                                                             \
    template <typename T>                                                                         \
    __aicore__ inline void NAME(T* dst, T* src, T value, uint8_t repeat, uint16_t dstBlk,         \
                                uint16_t srcBlk, uint16_t dstRep, uint16_t srcRep, OPGEN_C_LOC) { \
        AscendC::API<T, false>(                                                                   \
            OPGEN_C_UB(dst), OPGEN_C_UB(src), value, uint64_t(0), repeat,                         \
            AscendC::UnaryRepeatParams(dstBlk, srcBlk, uint8_t(dstRep), uint8_t(srcRep)), loc);   \
    }
OPGEN_C_SCALAR(asc_add_scalar, Adds)
OPGEN_C_SCALAR(asc_mul_scalar, Muls)
OPGEN_C_SCALAR(asc_max_scalar, Maxs)
OPGEN_C_SCALAR(asc_min_scalar, Mins)
OPGEN_C_SCALAR(asc_leakyrelu, LeakyRelu)
OPGEN_C_SCALAR(asc_shiftleft, ShiftLeft)
OPGEN_C_SCALAR(asc_shiftright, ShiftRight)
#undef OPGEN_C_SCALAR

template <typename D, typename S>
__aicore__ inline void asc_axpy(D* dst, S* src, S value, uint32_t count, OPGEN_C_LOC) {
    AscendC::Axpy(OPGEN_C_UB(dst), OPGEN_C_UB(src), value, int32_t(count), loc);
}
template <typename D, typename S>
__aicore__ inline void asc_axpy_sync(D* dst, S* src, S value, uint32_t count, OPGEN_C_LOC) {
    asc_axpy(dst, src, value, count, loc);
    asc_sync(loc);
}
template <typename T>
__aicore__ inline void asc_duplicate(T* dst, T value, uint32_t count, OPGEN_C_LOC) {
    AscendC::Duplicate(OPGEN_C_UB(dst), value, int32_t(count), loc);
}
template <typename T>
__aicore__ inline void asc_duplicate_sync(T* dst, T value, uint32_t count, OPGEN_C_LOC) {
    asc_duplicate(dst, value, count, loc);
    asc_sync(loc);
}
template <typename T>
__aicore__ inline void asc_duplicate(T* dst, T value, uint8_t repeat, uint16_t dstBlk,
                                     uint16_t dstRep, OPGEN_C_LOC) {
    AscendC::Duplicate<T, false>(OPGEN_C_UB(dst), value, uint64_t(0), repeat, dstBlk,
                                 uint8_t(dstRep), loc);
}

// --- conversions: the suffix names the rounding -------------------------------------------------

using AscendC::int4b_t;

#define OPGEN_C_CAST_AS(NAME, D, S, MODE)                                                         \
    __aicore__ inline void NAME(D* dst, S* src, uint32_t count, OPGEN_C_LOC) {                    \
        AscendC::Cast(OPGEN_C_UB(dst), OPGEN_C_UB(src), AscendC::RoundMode::MODE, count, loc);    \
    }                                                                                             \
    __aicore__ inline void NAME##_sync(D* dst, S* src, uint32_t count, OPGEN_C_LOC) {             \
        NAME(dst, src, count, loc);                                                               \
        asc_sync(loc);                                                                            \
    }                                                                                             \
    __aicore__ inline void NAME(D* dst, S* src, uint8_t repeat, uint16_t dstBlk, uint16_t srcBlk, \
                                uint16_t dstRep, uint16_t srcRep, OPGEN_C_LOC) {                  \
        ascendc_emu::CastRepeats<AscendC::RoundMode::MODE>(dst, src, repeat, dstBlk, srcBlk,      \
                                                           dstRep, srcRep, loc);                  \
    }
#define OPGEN_C_CAST_ROUNDED(NAME, D, S)          \
    OPGEN_C_CAST_AS(NAME##_rn, D, S, CAST_RINT)   \
    OPGEN_C_CAST_AS(NAME##_rd, D, S, CAST_FLOOR)  \
    OPGEN_C_CAST_AS(NAME##_ru, D, S, CAST_CEIL)   \
    OPGEN_C_CAST_AS(NAME##_rna, D, S, CAST_ROUND) \
    OPGEN_C_CAST_AS(NAME##_rz, D, S, CAST_TRUNC)
#define OPGEN_C_CAST(NAME, D, S)           \
    OPGEN_C_CAST_AS(NAME, D, S, CAST_NONE) \
    OPGEN_C_CAST_ROUNDED(NAME, D, S)
OPGEN_C_CAST_AS(asc_bfloat162float, float, bfloat16_t, CAST_NONE)
OPGEN_C_CAST_ROUNDED(asc_bfloat162int32, int32_t, bfloat16_t)
OPGEN_C_CAST_ROUNDED(asc_float2bfloat16, bfloat16_t, float)
OPGEN_C_CAST_ROUNDED(asc_float2float, float, float)
OPGEN_C_CAST(asc_float2half, half, float)
OPGEN_C_CAST_AS(asc_float2half_ro, half, float, CAST_ODD)
OPGEN_C_CAST_ROUNDED(asc_float2int16, int16_t, float)
OPGEN_C_CAST_ROUNDED(asc_float2int32, int32_t, float)
OPGEN_C_CAST_ROUNDED(asc_float2int64, int64_t, float)
OPGEN_C_CAST_AS(asc_half2float, float, half, CAST_NONE)
OPGEN_C_CAST_ROUNDED(asc_half2int16, int16_t, half)
OPGEN_C_CAST_ROUNDED(asc_half2int32, int32_t, half)
OPGEN_C_CAST(asc_half2int4, int4b_t, half)
OPGEN_C_CAST(asc_half2int8, int8_t, half)
OPGEN_C_CAST(asc_half2uint8, uint8_t, half)
OPGEN_C_CAST_AS(asc_int162float, float, int16_t, CAST_NONE)
OPGEN_C_CAST(asc_int162half, half, int16_t)
OPGEN_C_CAST(asc_int322float, float, int32_t)
OPGEN_C_CAST_AS(asc_int322int16, int16_t, int32_t, CAST_NONE)
OPGEN_C_CAST_AS(asc_int322int64, int64_t, int32_t, CAST_NONE)
OPGEN_C_CAST_AS(asc_deq_int322half, half, int32_t, CAST_NONE)
OPGEN_C_CAST_ROUNDED(asc_int642float, float, int64_t)
OPGEN_C_CAST_AS(asc_int642int32, int32_t, int64_t, CAST_NONE)
OPGEN_C_CAST_AS(asc_int42half, half, int4b_t, CAST_NONE)
OPGEN_C_CAST_AS(asc_int82half, half, int8_t, CAST_NONE)
OPGEN_C_CAST_AS(asc_uint82half, half, uint8_t, CAST_NONE)
#undef OPGEN_C_CAST
#undef OPGEN_C_CAST_ROUNDED
#undef OPGEN_C_CAST_AS

// --- reductions of each repeat -----------------------------------------------------------------

#define OPGEN_C_REDUCE(NAME, OP, SPAN, ORDER)                                                     \
    template <typename T>                                                                         \
    __aicore__ inline void NAME(T* dst, T* src, uint8_t repeat, uint16_t dstRep, uint16_t srcBlk, \
                                uint16_t srcRep, OPGEN_C_LOC) {                                   \
        using namespace ascendc_emu;                                                              \
        const auto d = FromPointer(dst, loc), s = FromPointer(src, loc);                          \
        RunReduce({Api::k##NAME, kDTypeOf<T>, ReduceOp::OP, ReduceSpan::SPAN, ORDER, &d, &s,      \
                   ReduceForm(0ull, repeat, dstRep, srcBlk, srcRep, false), loc});                \
    }                                                                                             \
    template <typename T>                                                                         \
    __aicore__ inline void NAME##_sync(T* dst, T* src, uint8_t repeat, uint16_t dstRep,           \
                                       uint16_t srcBlk, uint16_t srcRep, OPGEN_C_LOC) {           \
        NAME(dst, src, repeat, dstRep, srcBlk, srcRep, loc);                                      \
        asc_sync(loc);                                                                            \
    }
OPGEN_C_REDUCE(asc_repeat_reduce_sum, kSum, kWhole, 2)
OPGEN_C_REDUCE(asc_repeat_reduce_max_value_index, kMax, kWhole, 0)
OPGEN_C_REDUCE(asc_repeat_reduce_max_index_value, kMax, kWhole, 1)
OPGEN_C_REDUCE(asc_repeat_reduce_max_only_value, kMax, kWhole, 2)
OPGEN_C_REDUCE(asc_repeat_reduce_max_only_index, kMax, kWhole, 3)
OPGEN_C_REDUCE(asc_repeat_reduce_min_value_index, kMin, kWhole, 0)
OPGEN_C_REDUCE(asc_repeat_reduce_min_index_value, kMin, kWhole, 1)
OPGEN_C_REDUCE(asc_repeat_reduce_min_only_value, kMin, kWhole, 2)
OPGEN_C_REDUCE(asc_repeat_reduce_min_only_index, kMin, kWhole, 3)
OPGEN_C_REDUCE(asc_datablock_reduce_sum, kSum, kBlock, 2)
OPGEN_C_REDUCE(asc_datablock_reduce_max, kMax, kBlock, 2)
OPGEN_C_REDUCE(asc_datablock_reduce_min, kMin, kBlock, 2)
OPGEN_C_REDUCE(asc_pair_reduce_sum, kSum, kPair, 2)
#undef OPGEN_C_REDUCE
#undef OPGEN_C_UB
#undef OPGEN_C_LOC

#endif  // ASCENDC_EMU_C_API_H
