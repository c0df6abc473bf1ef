// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The C interface on arch 2201, continued: sorting, gathering by a mask, transposition, copies
// inside UB, narrow conversions, results in registers. Source: asc-devkit docs, SIMD-API / C-API:
// vector_compute, vector_datamove.
#ifndef ASCENDC_EMU_C_API_SORT_H
#define ASCENDC_EMU_C_API_SORT_H

#include "ascendc_emu/c_api.h"
#include "ascendc_emu/dequant_api.h"
#include "ascendc_emu/gather_api.h"
#include "ascendc_emu/vector_api.h"

#define OPGEN_C_LOC ascendc_emu::Loc loc = ascendc_emu::Loc::Here()
#define OPGEN_C_UB(p) ascendc_emu::FromPointer(p, loc)

// `size` in bytes, a multiple of 32; or bursts and gaps of 32 bytes.
__aicore__ inline void asc_copy_ub2ub(void* dst, void* src, uint32_t size, OPGEN_C_LOC) {
    AscendC::DataCopy(OPGEN_C_UB(static_cast<int8_t*>(dst)), OPGEN_C_UB(static_cast<int8_t*>(src)),
                      size, loc);
}
__aicore__ inline void asc_copy_ub2ub(void* dst, void* src, uint16_t bursts, uint16_t length,
                                      uint16_t srcGap, uint16_t dstGap, OPGEN_C_LOC) {
    AscendC::DataCopy(OPGEN_C_UB(static_cast<int8_t*>(dst)), OPGEN_C_UB(static_cast<int8_t*>(src)),
                      AscendC::DataCopyParams(bursts, length, srcGap, dstGap), loc);
}
__aicore__ inline void asc_copy_ub2ub_sync(void* dst, void* src, uint32_t size, OPGEN_C_LOC) {
    asc_copy_ub2ub(dst, src, size, loc);
    asc_sync(loc);
}

// --- sorting: records of score and index, descending
// ----------------------------------------------

template <typename T>
__aicore__ inline void asc_bitsort(T* dst, T* src0, uint32_t* src1, int32_t repeat, OPGEN_C_LOC) {
    AscendC::Sort32(OPGEN_C_UB(dst), OPGEN_C_UB(src0), OPGEN_C_UB(src1), repeat, loc);
}
template <typename T>
__aicore__ inline void asc_bitsort_sync(T* dst, T* src0, uint32_t* src1, int32_t repeat,
                                        OPGEN_C_LOC) {
    asc_bitsort(dst, src0, src1, repeat, loc);
    asc_sync(loc);
}
template <typename T>
__aicore__ inline void asc_mrgsort4(T* dst, T* src[4], uint8_t repeat, uint16_t length0,
                                    uint16_t length1, uint16_t length2, uint16_t length3,
                                    bool suspend, uint8_t validBit, OPGEN_C_LOC) {
    const uint16_t lengths[4] = {length0, length1, length2, length3};
    AscendC::MrgSort(OPGEN_C_UB(dst),
                     AscendC::MrgSortSrcList<T>(OPGEN_C_UB(src[0]), OPGEN_C_UB(src[1]),
                                                OPGEN_C_UB(src[2]), OPGEN_C_UB(src[3])),
                     AscendC::MrgSort4Info(lengths, suspend, validBit, repeat), loc);
}
template <typename T>
__aicore__ inline void asc_mrgsort4_sync(T* dst, T* src[4], uint8_t repeat, uint16_t length0,
                                         uint16_t length1, uint16_t length2, uint16_t length3,
                                         bool suspend, uint8_t validBit, OPGEN_C_LOC) {
    asc_mrgsort4(dst, src, repeat, length0, length1, length2, length3, suspend, validBit, loc);
    asc_sync(loc);
}
// How many records of each list the last asc_mrgsort4 has used.
__aicore__ inline void asc_get_vms4_sr(uint16_t number[4]) {
    AscendC::GetMrgSortResult(number[0], number[1], number[2], number[3]);
}

// --- elements by a mask: pattern_mode 0 takes src1, 1 to 7 the fixed patterns
// ------------------------

template <typename T>
__aicore__ inline void asc_reduce(T* dst, T* src0, T* src1, uint16_t repeat, uint8_t src0Blk,
                                  uint8_t pattern, uint16_t src0Rep, uint8_t src1Rep, OPGEN_C_LOC) {
    static_assert(std::is_same<T, uint16_t>::value || std::is_same<T, uint32_t>::value,
                  "asc_reduce works on uint16_t and uint32_t");
    uint64_t kept = 0;
    const AscendC::GatherMaskParams params(src0Blk, repeat, src0Rep, src1Rep);
    if (pattern == 0) {
        AscendC::GatherMask(OPGEN_C_UB(dst), OPGEN_C_UB(src0), OPGEN_C_UB(src1), false, 0, params,
                            kept, loc);
    } else {
        AscendC::GatherMask(OPGEN_C_UB(dst), OPGEN_C_UB(src0), pattern, false, 0, params, kept,
                            loc);
    }
}
template <typename T>
__aicore__ inline void asc_reduce(T* dst, T* src0, T* src1, uint32_t count, OPGEN_C_LOC) {
    uint64_t kept = 0;
    AscendC::GatherMask(OPGEN_C_UB(dst), OPGEN_C_UB(src0), OPGEN_C_UB(src1), true, count,
                        AscendC::GatherMaskParams(1, 1, 8, 1), kept, loc);
}
template <typename T>
__aicore__ inline void asc_reduce_sync(T* dst, T* src0, T* src1, uint32_t count, OPGEN_C_LOC) {
    asc_reduce(dst, src0, src1, count, loc);
    asc_sync(loc);
}
// Elements the last asc_reduce has kept.
__aicore__ inline int64_t asc_get_rsvd_count() { return AscendC::GetGatherMaskRemainCount(); }

// --- transposition: eight addresses per register, dst and src name the first of two
// -----------------

template <typename T>
__aicore__ inline void asc_set_va_reg(ub_addr8_t reg, T** addresses) {
    for (int i = 0; i < 8; ++i) {
        ascendc_emu::AddressRegisters(reg)[i] = reinterpret_cast<uint64_t>(addresses[i]);
    }
}
#define OPGEN_C_TRANSPOSE(SUFFIX, TYPE, PARAMS, ARGS)                                              \
    __aicore__ inline void asc_transto5hd_##SUFFIX(ub_addr8_t dst, ub_addr8_t src, uint8_t repeat, \
                                                   uint16_t dstStride, uint16_t srcStride PARAMS,  \
                                                   OPGEN_C_LOC) {                                  \
        AscendC::TransDataTo5HD<TYPE>(ascendc_emu::AddressRegisters(dst),                          \
                                      ascendc_emu::AddressRegisters(src),                          \
                                      {ARGS, repeat, dstStride, srcStride}, loc);                  \
    }                                                                                              \
    __aicore__ inline void asc_transto5hd_##SUFFIX##_sync(                                         \
        ub_addr8_t dst, ub_addr8_t src, uint8_t repeat, uint16_t dstStride,                        \
        uint16_t srcStride PARAMS, OPGEN_C_LOC) {                                                  \
        AscendC::TransDataTo5HD<TYPE>(ascendc_emu::AddressRegisters(dst),                          \
                                      ascendc_emu::AddressRegisters(src),                          \
                                      {ARGS, repeat, dstStride, srcStride}, loc);                  \
        asc_sync(loc);                                                                             \
    }
#define OPGEN_C_NONE
#define OPGEN_C_COMMA ,
OPGEN_C_TRANSPOSE(b16, uint16_t, OPGEN_C_NONE, false OPGEN_C_COMMA false)
OPGEN_C_TRANSPOSE(b32, uint32_t, OPGEN_C_NONE, false OPGEN_C_COMMA false)
OPGEN_C_TRANSPOSE(b8, uint8_t, OPGEN_C_COMMA bool dstHigh OPGEN_C_COMMA bool srcHigh,
                  dstHigh OPGEN_C_COMMA srcHigh)
#undef OPGEN_C_TRANSPOSE
#undef OPGEN_C_NONE
#undef OPGEN_C_COMMA

// --- conversions with a product or a scale
// ---------------------------------------------------------

#define OPGEN_C_MUL_CAST(NAME, D)                                                              \
    __aicore__ inline void NAME(D* dst, half* src0, half* src1, uint32_t count, OPGEN_C_LOC) { \
        AscendC::MulCast(OPGEN_C_UB(dst), OPGEN_C_UB(src0), OPGEN_C_UB(src1), count, loc);     \
    }                                                                                          \
    __aicore__ inline void NAME##_sync(D* dst, half* src0, half* src1, uint32_t count,         \
                                       OPGEN_C_LOC) {                                          \
        NAME(dst, src0, src1, count, loc);                                                     \
        asc_sync(loc);                                                                         \
    }
OPGEN_C_MUL_CAST(asc_mul_cast_half2int8, int8_t)
OPGEN_C_MUL_CAST(asc_mul_cast_half2uint8, uint8_t)
#undef OPGEN_C_MUL_CAST

// int16 with a scale into one half of each block of dst, _h the upper, _l the lower; vdeq: a scale
// per lane.
#define OPGEN_C_DEQ(NAME, D, VECTOR, HIGH)                                                      \
    __aicore__ inline void NAME(D* dst, int16_t* src, uint32_t count, OPGEN_C_LOC) {            \
        AscendC::CastDequant<D, int16_t, VECTOR, HIGH>(OPGEN_C_UB(dst), OPGEN_C_UB(src), count, \
                                                       loc);                                    \
    }                                                                                           \
    __aicore__ inline void NAME##_sync(D* dst, int16_t* src, uint32_t count, OPGEN_C_LOC) {     \
        NAME(dst, src, count, loc);                                                             \
        asc_sync(loc);                                                                          \
    }
OPGEN_C_DEQ(asc_deq_int162b8_h, int8_t, false, true)
OPGEN_C_DEQ(asc_deq_int162b8_h, uint8_t, false, true)
OPGEN_C_DEQ(asc_deq_int162b8_l, int8_t, false, false)
OPGEN_C_DEQ(asc_deq_int162b8_l, uint8_t, false, false)
OPGEN_C_DEQ(asc_vdeq_int162b8_h, int8_t, true, true)
OPGEN_C_DEQ(asc_vdeq_int162b8_h, uint8_t, true, true)
OPGEN_C_DEQ(asc_vdeq_int162b8_l, int8_t, true, false)
OPGEN_C_DEQ(asc_vdeq_int162b8_l, uint8_t, true, false)
#undef OPGEN_C_DEQ

// The extreme value and its index that the last reduction of a repeat has left.
#define OPGEN_C_EXTREME(NAME, T)                                                \
    __aicore__ inline void NAME(T& value, uint32_t& index) {                    \
        AscendC::GetReduceMaxMinCount(value);                                   \
        index = static_cast<uint32_t>(ascendc_emu::Current().regs.maxMinIndex); \
    }
OPGEN_C_EXTREME(asc_get_reduce_max_cnt, half)
OPGEN_C_EXTREME(asc_get_reduce_max_cnt, float)
OPGEN_C_EXTREME(asc_get_reduce_min_cnt, half)
OPGEN_C_EXTREME(asc_get_reduce_min_cnt, float)
#undef OPGEN_C_EXTREME
#undef OPGEN_C_UB
#undef OPGEN_C_LOC

#endif  // ASCENDC_EMU_C_API_SORT_H
