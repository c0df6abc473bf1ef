// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The C interface on arch 2201: comparisons, selection, gathering, moves within UB. As c_api.h: the
// instructions of the C++ interface on tensors made from pointers. Source: asc-devkit docs, C-API.
#ifndef ASCENDC_EMU_C_API_SELECT_H
#define ASCENDC_EMU_C_API_SELECT_H

#include "ascendc_emu/c_api.h"
#include "ascendc_emu/gather_api.h"
#include "ascendc_emu/select_api.h"

#define OPGEN_C_LOC ascendc_emu::Loc loc = ascendc_emu::Loc::Here()
#define OPGEN_C_UB(p) ascendc_emu::FromPointer(p, loc)

// --- comparisons: bits in UB, or without dst in the compare-mask register ------------------------

#define OPGEN_C_COMPARE(NAME, MODE)                                                                \
    template <typename T>                                                                          \
    __aicore__ inline void NAME(uint8_t* dst, T* src0, T* src1, uint8_t repeat, uint8_t dstBlk,    \
                                uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep, uint8_t src0Rep, \
                                uint8_t src1Rep, OPGEN_C_LOC) {                                    \
        AscendC::Compare<T, uint8_t, false>(                                                       \
            OPGEN_C_UB(dst), OPGEN_C_UB(src0), OPGEN_C_UB(src1), AscendC::CMPMODE::MODE,           \
            uint64_t(0), repeat,                                                                   \
            AscendC::BinaryRepeatParams(dstBlk, src0Blk, src1Blk, dstRep, src0Rep, src1Rep), loc); \
    }                                                                                              \
    template <typename T>                                                                          \
    __aicore__ inline void NAME(T* src0, T* src1, uint8_t, uint8_t dstBlk, uint8_t src0Blk,        \
                                uint8_t src1Blk, uint8_t dstRep, uint8_t src0Rep, uint8_t src1Rep, \
                                OPGEN_C_LOC) {                                                     \
        AscendC::Compare<T, false>(                                                                \
            OPGEN_C_UB(src0), OPGEN_C_UB(src1), AscendC::CMPMODE::MODE, uint64_t(0),               \
            AscendC::BinaryRepeatParams(dstBlk, src0Blk, src1Blk, dstRep, src0Rep, src1Rep), loc); \
    }                                                                                              \
    template <typename T>                                                                          \
    __aicore__ inline void NAME##_scalar(uint8_t* dst, T* src, T value, uint8_t repeat,            \
                                         uint16_t dstBlk, uint16_t srcBlk, uint16_t dstRep,        \
                                         uint16_t srcRep, OPGEN_C_LOC) {                           \
        AscendC::CompareScalar<T, uint8_t, false>(                                                 \
            OPGEN_C_UB(dst), OPGEN_C_UB(src), value, AscendC::CMPMODE::MODE, uint64_t(0), repeat,  \
            AscendC::UnaryRepeatParams(dstBlk, srcBlk, uint8_t(dstRep), uint8_t(srcRep)), loc);    \
    }
OPGEN_C_COMPARE(asc_eq, EQ)
OPGEN_C_COMPARE(asc_ne, NE)
OPGEN_C_COMPARE(asc_lt, LT)
OPGEN_C_COMPARE(asc_le, LE)
OPGEN_C_COMPARE(asc_gt, GT)
OPGEN_C_COMPARE(asc_ge, GE)
#undef OPGEN_C_COMPARE

template <typename T>
__aicore__ inline void asc_get_cmp_mask(T* dst, OPGEN_C_LOC) {
    AscendC::GetCmpMask(OPGEN_C_UB(reinterpret_cast<uint8_t*>(dst)), loc);
}
template <typename T>
__aicore__ inline void asc_set_cmp_mask(T* src, OPGEN_C_LOC) {
    AscendC::SetCmpMask(OPGEN_C_UB(reinterpret_cast<uint8_t*>(src)), loc);
}

// dst = bit of the compare-mask register ? src0 : src1.
template <typename T>
__aicore__ inline void asc_select(T* dst, T* src0, T* src1, uint8_t repeat, uint8_t dstBlk,
                                  uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep, uint8_t src0Rep,
                                  uint8_t src1Rep, OPGEN_C_LOC) {
    AscendC::Select<T, AscendC::SELMODE::VSEL_CMPMASK_SPR>(
        OPGEN_C_UB(dst), OPGEN_C_UB(src0), OPGEN_C_UB(src1), repeat,
        AscendC::BinaryRepeatParams(dstBlk, src0Blk, src1Blk, dstRep, src0Rep, src1Rep), loc);
}

// --- gathering and moves -------------------------------------------------------------------------

// Offsets in bytes.
template <typename T>
__aicore__ inline void asc_gather(T* dst, T* src, uint32_t* offsets, uint32_t count, OPGEN_C_LOC) {
    AscendC::Gather(OPGEN_C_UB(dst), OPGEN_C_UB(src), OPGEN_C_UB(offsets), 0, count, loc);
}
template <typename T>
__aicore__ inline void asc_gather_datablock(T* dst, T* src, uint32_t* offsets, uint16_t dstRep,
                                            uint8_t dstBlk, uint8_t repeat, OPGEN_C_LOC) {
    AscendC::GatherRepeatParams params;
    params.dstBlkStride = dstBlk;
    params.dstRepStride = dstRep;
    AscendC::Gatherb(OPGEN_C_UB(dst), OPGEN_C_UB(src), OPGEN_C_UB(offsets), repeat, params, loc);
}

template <typename T>
__aicore__ inline void asc_copy(T* dst, T* src, uint8_t repeat, uint16_t dstBlk, uint16_t srcBlk,
                                uint16_t dstRep, uint16_t srcRep, OPGEN_C_LOC) {
    AscendC::Copy<T, false>(OPGEN_C_UB(dst), OPGEN_C_UB(src), uint64_t(0), repeat,
                            AscendC::CopyRepeatParams(dstBlk, srcBlk, dstRep, srcRep), loc);
}
template <typename T>
__aicore__ inline void asc_copy(T* dst, T* src, uint32_t count, OPGEN_C_LOC) {
    using namespace ascendc_emu;
    const auto d = FromPointer(dst, loc), s = FromPointer(src, loc);
    RunVector(
        {Api::kasc_copy, kDTypeOf<T>, kDTypeOf<T>, 0, &d, &s, nullptr, 0, CountForm(count), loc});
}
// Each of 8 elements per repeat fills a block of 32 bytes.
template <typename T>
__aicore__ inline void asc_brcb(T* dst, T* src, uint16_t dstBlk, uint16_t dstRep, uint8_t repeat,
                                OPGEN_C_LOC) {
    AscendC::Brcb(OPGEN_C_UB(dst), OPGEN_C_UB(src), repeat,
                  AscendC::BrcbRepeatParams(dstBlk, dstRep), loc);
}
// 16 x 16 elements of 16 bits.
template <typename T>
__aicore__ inline void asc_transpose(T* dst, T* src, OPGEN_C_LOC) {
    AscendC::Transpose(OPGEN_C_UB(dst), OPGEN_C_UB(src), loc);
}
// There is no subtraction of a scalar on this arch: it adds the opposite.
template <typename T>
__aicore__ inline void asc_sub_scalar(T* dst, T* src, T value, uint32_t count, OPGEN_C_LOC) {
    asc_add_scalar(dst, src, T(-value), count, loc);
}
template <typename T>
__aicore__ inline void asc_sub_scalar(T* dst, T* src, T value, uint8_t repeat, uint16_t dstBlk,
                                      uint16_t srcBlk, uint16_t dstRep, uint16_t srcRep,
                                      OPGEN_C_LOC) {
    asc_add_scalar(dst, src, T(-value), repeat, dstBlk, srcBlk, dstRep, srcRep, loc);
}
#undef OPGEN_C_UB
#undef OPGEN_C_LOC

// Each, then a wait for all pipes; macros keep the caller's line.
#define asc_eq_sync(...) (asc_eq(__VA_ARGS__), asc_sync())
#define asc_eq_scalar_sync(...) (asc_eq_scalar(__VA_ARGS__), asc_sync())
#define asc_ne_sync(...) (asc_ne(__VA_ARGS__), asc_sync())
#define asc_ne_scalar_sync(...) (asc_ne_scalar(__VA_ARGS__), asc_sync())
#define asc_lt_sync(...) (asc_lt(__VA_ARGS__), asc_sync())
#define asc_lt_scalar_sync(...) (asc_lt_scalar(__VA_ARGS__), asc_sync())
#define asc_le_sync(...) (asc_le(__VA_ARGS__), asc_sync())
#define asc_le_scalar_sync(...) (asc_le_scalar(__VA_ARGS__), asc_sync())
#define asc_gt_sync(...) (asc_gt(__VA_ARGS__), asc_sync())
#define asc_gt_scalar_sync(...) (asc_gt_scalar(__VA_ARGS__), asc_sync())
#define asc_ge_sync(...) (asc_ge(__VA_ARGS__), asc_sync())
#define asc_ge_scalar_sync(...) (asc_ge_scalar(__VA_ARGS__), asc_sync())
#define asc_select_sync(...) (asc_select(__VA_ARGS__), asc_sync())
#define asc_gather_sync(...) (asc_gather(__VA_ARGS__), asc_sync())
#define asc_gather_datablock_sync(...) (asc_gather_datablock(__VA_ARGS__), asc_sync())
#define asc_copy_sync(...) (asc_copy(__VA_ARGS__), asc_sync())
#define asc_brcb_sync(...) (asc_brcb(__VA_ARGS__), asc_sync())
#define asc_transpose_sync(...) (asc_transpose(__VA_ARGS__), asc_sync())
#define asc_sub_scalar_sync(...) (asc_sub_scalar(__VA_ARGS__), asc_sync())

#endif  // ASCENDC_EMU_C_API_SELECT_H
