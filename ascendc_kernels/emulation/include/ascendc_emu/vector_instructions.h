// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The rest of compiler_names.h: fused and shifting instructions of the vector unit, gathers of
// blocks, sorting, bit counts and registers. Each does what the API beside it does.
#ifndef ASCENDC_EMU_VECTOR_INSTRUCTIONS_H
#define ASCENDC_EMU_VECTOR_INSTRUCTIONS_H

#include "kernel_operator.h"

#include "ascendc_emu/c_api_control.h"
#include "ascendc_emu/c_api_sort.h"

#define OPGEN_LOC ascendc_emu::Loc loc = ascendc_emu::Loc::Here()

// --- two factors and a sum, Relu behind
// -----------------------------------------------------------

#define OPGEN_FUSED(NAME, API)                                                                     \
    template <typename T>                                                                          \
    __aicore__ inline void NAME(T* dst, T* src0, T* src1, uint8_t repeat, uint8_t dstBlk,          \
                                uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep, uint8_t src0Rep, \
                                uint8_t src1Rep, OPGEN_LOC) {                                      \
        API(dst, src0, src1, repeat, dstBlk, src0Blk, src1Blk, dstRep, src0Rep, src1Rep, loc);     \
    }
OPGEN_FUSED(vmadd, asc_mul_add)
OPGEN_FUSED(vmaddrelu, asc_mul_add_relu)
OPGEN_FUSED(vaddrelu, asc_add_relu)
OPGEN_FUSED(vsubrelu, asc_sub_relu)
#undef OPGEN_FUSED

// dst = src0 * src1 + dst; half factors may add to float.
template <typename D, typename S>
__aicore__ inline void vmla(D* dst, S* src0, S* src1, uint8_t repeat, uint8_t dstBlk,
                            uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep, uint8_t src0Rep,
                            uint8_t src1Rep, OPGEN_LOC) {
    using ascendc_emu::FromPointer;
    AscendC::MulAddDst<D, S, false>(
        FromPointer(dst, loc), FromPointer(src0, loc), FromPointer(src1, loc), uint64_t(0), repeat,
        AscendC::BinaryRepeatParams(dstBlk, src0Blk, src1Blk, dstRep, src0Rep, src1Rep), loc);
}
template <typename D, typename S>
__aicore__ inline void vaxpy(D* dst, S* src, std::common_type_t<S> value, uint8_t repeat,
                             uint16_t dstBlk, uint16_t srcBlk, uint16_t dstRep, uint16_t srcRep,
                             OPGEN_LOC) {
    using ascendc_emu::FromPointer;
    AscendC::Axpy<D, S, false>(
        FromPointer(dst, loc), FromPointer(src, loc), value, uint64_t(0), repeat,
        AscendC::UnaryRepeatParams(dstBlk, srcBlk, uint8_t(dstRep), uint8_t(srcRep)), loc);
}

// --- shifts; moves of elements and blocks; sorting
// ------------------------------------------------

template <typename T>
__aicore__ inline void vshl(T* dst, T* src, uint32_t distance, uint8_t repeat, uint16_t dstBlk,
                            uint16_t srcBlk, uint16_t dstRep, uint16_t srcRep, OPGEN_LOC) {
    using ascendc_emu::FromPointer;
    AscendC::ShiftLeft<T, false>(
        FromPointer(dst, loc), FromPointer(src, loc), static_cast<T>(distance), uint64_t(0), repeat,
        AscendC::UnaryRepeatParams(dstBlk, srcBlk, uint8_t(dstRep), uint8_t(srcRep)), loc);
}
template <typename T>
__aicore__ inline void vshr(T* dst, T* src, int32_t distance, uint8_t repeat, uint16_t dstBlk,
                            uint16_t srcBlk, uint16_t dstRep, uint16_t srcRep, bool round = false,
                            OPGEN_LOC) {
    using ascendc_emu::FromPointer;
    AscendC::ShiftRight<T, false>(
        FromPointer(dst, loc), FromPointer(src, loc), static_cast<T>(distance), uint64_t(0), repeat,
        AscendC::UnaryRepeatParams(dstBlk, srcBlk, uint8_t(dstRep), uint8_t(srcRep)), round, loc);
}
template <typename T>
__aicore__ inline void vcopy(T* dst, T* src, uint8_t repeat, uint16_t dstBlk, uint16_t srcBlk,
                             uint16_t dstRep, uint16_t srcRep, OPGEN_LOC) {
    asc_copy(dst, src, repeat, dstBlk, srcBlk, dstRep, srcRep, loc);
}
// `base`: the address that the offsets of blocks, in bytes, are relative to.
template <typename T>
__aicore__ inline void vgatherb(T* dst, uint32_t* offsets, uint64_t base, uint16_t dstRep,
                                uint8_t dstBlk, uint8_t repeat, OPGEN_LOC) {
    asc_gather_datablock(dst, reinterpret_cast<T*>(base), offsets, dstRep, dstBlk, repeat, loc);
}
template <typename T>
__aicore__ inline void vbitsort(T* dst, T* scores, uint32_t* indices, uint8_t repeat, OPGEN_LOC) {
    asc_bitsort(dst, scores, indices, repeat, loc);
}
template <typename T>
__aicore__ inline void vmrgsort4(T* dst, T* src[4], uint8_t repeat, uint16_t length0,
                                 uint16_t length1, uint16_t length2, uint16_t length3, bool suspend,
                                 uint8_t validBit, OPGEN_LOC) {
    asc_mrgsort4(dst, src, repeat, length0, length1, length2, length3, suspend, validBit, loc);
}
// The same from registers: 16 bits per length; config: repeats in bits 0 to 7, valid lists in 8 to
// 11, stop at the end of a list in 12.
template <typename T>
__aicore__ inline void vmrgsort4(T* dst, T* src[4], uint64_t lengths, uint64_t config, OPGEN_LOC) {
    asc_mrgsort4(dst, src, static_cast<uint8_t>(config), static_cast<uint16_t>(lengths),
                 static_cast<uint16_t>(lengths >> 16), static_cast<uint16_t>(lengths >> 32),
                 static_cast<uint16_t>(lengths >> 48), (config >> 12 & 1) != 0,
                 static_cast<uint8_t>(config >> 8 & 15), loc);
}
// The numbers of elements taken of each list, 16 bits each.
__aicore__ inline int64_t get_vms4_sr() {
    return static_cast<int64_t>(ascendc_emu::ResultRegisters().mrgSort);
}

// --- bits of scalars, registers, barriers
// ----------------------------------------------------------

__aicore__ inline int64_t bcnt0(uint64_t value) { return asc_zero_bits_cnt(value); }
__aicore__ inline int64_t bcnt1(uint64_t value) { return asc_popc(value); }
__aicore__ inline int64_t clz(uint64_t value) { return asc_clz(value); }
__aicore__ inline int64_t sff0(uint64_t value) { return asc_ffz(value); }
__aicore__ inline int64_t sff1(uint64_t value) { return asc_ffs(value); }
__aicore__ inline int64_t get_coreid() { return asc_get_core_id(); }
__aicore__ inline void set_deqscale(half scale) { asc_set_deq_scale(scale); }
template <typename T>
__aicore__ inline void get_cmpmask(T* dst, OPGEN_LOC) {
    asc_get_cmp_mask(dst, loc);
}
__aicore__ inline void dsb(mem_dsb_t memory, OPGEN_LOC) { asc_sync_data_barrier(memory, loc); }

#undef OPGEN_LOC

#endif  // ASCENDC_EMU_VECTOR_INSTRUCTIONS_H
