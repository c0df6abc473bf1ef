// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Gather, Gatherb, GatherMask, sorting and transposing instructions.
#ifndef ASCENDC_EMU_GATHER_API_H
#define ASCENDC_EMU_GATHER_API_H

#include "ascendc_emu/reduce_api.h"
#if OPGEN_INSTRUCTIONS == 2002
#include "ascendc_emu/proposal_api.h"
#endif

namespace ascendc_emu {

void RunGather(Api api, DType type, const TensorRef& dst, const TensorRef& src,
               const TensorRef& offset, uint32_t base, const Form& form, Loc loc);
void RunScatter(DType type, const TensorRef& dst, const TensorRef& src, const TensorRef& offset,
                uint32_t base, const Form& form, Loc loc);
void RunGatherb(DType type, const TensorRef& dst, const TensorRef& src, const TensorRef& offset,
                const Form& form, Loc loc);
// pattern null: the built-in pattern number `builtin` (1..7).
void RunGatherMask(DType type, const TensorRef& dst, const TensorRef& src, const TensorRef* pattern,
                   uint8_t builtin, bool counter, uint32_t mask,
                   const AscendC::GatherMaskParams& params, uint64_t& kept, Loc loc);
void RunSort32(DType type, const TensorRef& dst, const TensorRef& score, const TensorRef& index,
               int32_t repeats, Loc loc);
void RunMrgSort(DType type, const TensorRef& dst, const TensorRef* const lists[4],
                const uint16_t lengths[4], bool suspend, uint16_t valid, int32_t repeats, Loc loc);
// A whole Sort(): blocks of 32, merged into one list when `full`.
void RunSortAll(DType type, const TensorRef& dst, const TensorRef& score, const TensorRef& index,
                const TensorRef& tmp, bool full, int32_t repeats, Loc loc);
void RunExtract(DType type, const TensorRef& value, const TensorRef& index, const TensorRef& sorted,
                int32_t repeats, Loc loc);
void RunTransBlocks(DType type, const uint64_t dst[16], const uint64_t src[16],
                    const AscendC::TransDataTo5HDParams& params, Loc loc);
void RunTranspose16(DType type, const TensorRef& dst, const TensorRef& src, Loc loc);
void RunTransposeExt(DType type, const TensorRef& dst, const TensorRef& src, const TensorRef& tmp,
                     const AscendC::TransposeParamsExt& params, Loc loc);
void RunProposal(Api api, DType type, const TensorRef& dst, const TensorRef& src, int32_t repeats,
                 int32_t mode, Loc loc);

}  // namespace ascendc_emu

namespace AscendC {

// dst[i] = element of src at byte srcBaseAddr + srcOffset[i].
template <typename T>
__aicore__ inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                              const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr,
                              const uint32_t count, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Gather, T);
    using namespace ascendc_emu;
    RunGather(Api::kGather, kDTypeOf<PrimT<T>>, dst, src, srcOffset, srcBaseAddr, CountForm(count),
              loc);
}
template <typename T>
__aicore__ inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                              const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr,
                              const uint64_t mask, const uint8_t repeat,
                              const uint16_t dstRepStride, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Gather, T);
    using namespace ascendc_emu;
    Form f = MaskForm(mask, repeat, UnaryRepeatParams(), true);
    f.dstRep = dstRepStride;
    RunGather(Api::kGather, kDTypeOf<PrimT<T>>, dst, src, srcOffset, srcBaseAddr, f, loc);
}
template <typename T>
__aicore__ inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                              const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr,
                              const uint64_t mask[], const uint8_t repeat,
                              const uint16_t dstRepStride, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Gather, T);
    using namespace ascendc_emu;
    Form f = BitsForm(mask, repeat, UnaryRepeatParams(), true, sizeof(PrimT<T>));
    f.dstRep = dstRepStride;
    RunGather(Api::kGather, kDTypeOf<PrimT<T>>, dst, src, srcOffset, srcBaseAddr, f, loc);
}
#if OPGEN_INSTRUCTIONS == 2002
// Element of dst at byte dstBaseAddr + dstOffset[i] = src[i]; arch 2201 has no such instruction.
template <typename T>
__aicore__ inline void Scatter(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<uint32_t>& dstOffset, const uint32_t dstBaseAddr,
                               const uint32_t count, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Scatter, T);
    using namespace ascendc_emu;
    RunScatter(kDTypeOf<PrimT<T>>, dst, src, dstOffset, dstBaseAddr, CountForm(count), loc);
}
template <typename T>
__aicore__ inline void Scatter(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<uint32_t>& dstOffset, const uint32_t dstBaseAddr,
                               const uint64_t mask, const uint8_t repeatTime,
                               const uint8_t srcRepStride, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Scatter, T);
    using namespace ascendc_emu;
    Form f = MaskForm(mask, repeatTime, UnaryRepeatParams(), true);
    f.src0Rep = srcRepStride;
    RunScatter(kDTypeOf<PrimT<T>>, dst, src, dstOffset, dstBaseAddr, f, loc);
}
template <typename T>
__aicore__ inline void Scatter(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<uint32_t>& dstOffset, const uint32_t dstBaseAddr,
                               const uint64_t mask[], const uint8_t repeatTime,
                               const uint8_t srcRepStride, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Scatter, T);
    using namespace ascendc_emu;
    Form f = BitsForm(mask, repeatTime, UnaryRepeatParams(), true, sizeof(PrimT<T>));
    f.src0Rep = srcRepStride;
    RunScatter(kDTypeOf<PrimT<T>>, dst, src, dstOffset, dstBaseAddr, f, loc);
}
#endif
// Blocks of 32 bytes by byte offsets.
template <typename T>
__aicore__ inline void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<uint32_t>& offset, const uint8_t repeat,
                               const GatherRepeatParams& params, Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    Form f;
    f.kind = Form::kMask;
    f.repeats = repeat;
    f.dstBlk = params.dstBlkStride;
    f.dstRep = params.dstRepStride;
    RunGatherb(kDTypeOf<PrimT<T>>, dst, src, offset, f, loc);
}

// Elements of src0 whose bit in the pattern is set, packed; rsvdCnt: how many.
template <typename T, typename U, GatherMaskMode mode = defaultGatherMaskMode>
__aicore__ inline void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                  const LocalTensor<U>& src1Pattern, const bool reduceMode,
                                  const uint32_t mask, const GatherMaskParams& params,
                                  uint64_t& rsvdCnt, Loc loc = Loc::Here()) {
    ascendc_emu::RunGatherMask(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src0, &src1Pattern, 0,
                               reduceMode, mask, params, rsvdCnt, loc);
}
template <typename T, GatherMaskMode mode = defaultGatherMaskMode>
__aicore__ inline void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                  const uint8_t src1Pattern, const bool reduceMode,
                                  const uint32_t mask, const GatherMaskParams& params,
                                  uint64_t& rsvdCnt, Loc loc = Loc::Here()) {
    ascendc_emu::RunGatherMask(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src0, nullptr, src1Pattern,
                               reduceMode, mask, params, rsvdCnt, loc);
}
__aicore__ inline int64_t GetGatherMaskRemainCount() {
    return ascendc_emu::ResultRegisters().rsvdCount;
}

// Sorting: records of 8 bytes, score (half: in the low 2 bytes) and index, descending.
template <typename T>
__aicore__ inline void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                              const LocalTensor<uint32_t>& src1, const int32_t repeat,
                              Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Sort32, T);
    ascendc_emu::RunSort32(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src0, src1, repeat, loc);
}
template <typename T>
__aicore__ inline void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src,
                               const MrgSort4Info& params, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(MrgSort, T);
    const ascendc_emu::TensorRef* const lists[4] = {&src.src1, &src.src2, &src.src3, &src.src4};
    ascendc_emu::RunMrgSort(ascendc_emu::kDTypeOf<PrimT<T>>, dst, lists, params.elementLengths,
                            params.ifExhaustedSuspension, params.validBit, params.repeatTimes, loc);
}
__aicore__ inline void GetMrgSortResult(uint16_t& list1, uint16_t& list2, uint16_t& list3,
                                        uint16_t& list4) {
    const uint64_t r = ascendc_emu::ResultRegisters().mrgSort;
    list1 = static_cast<uint16_t>(r);
    list2 = static_cast<uint16_t>(r >> 16);
    list3 = static_cast<uint16_t>(r >> 32);
    list4 = static_cast<uint16_t>(r >> 48);
}
#if OPGEN_INSTRUCTIONS != 2002  // there records are proposals: proposal_api.h
template <typename T, bool isExhaustedSuspension = false>
__aicore__ inline void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src,
                               const uint16_t lengths[4], uint32_t sortedNum[4], uint16_t validBit,
                               const int32_t repeat, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(MrgSort, T);
    const ascendc_emu::TensorRef* const lists[4] = {&src.src1, &src.src2, &src.src3, &src.src4};
    ascendc_emu::RunMrgSort(ascendc_emu::kDTypeOf<PrimT<T>>, dst, lists, lengths,
                            isExhaustedSuspension, validBit, repeat, loc);
    if (isExhaustedSuspension) {
        uint16_t n[4];
        GetMrgSortResult(n[0], n[1], n[2], n[3]);
        for (int i = 0; i < 4; ++i) sortedNum[i] = n[i];
    }
}
// On arch 2201 scores and indices stay apart until Sort: nothing is moved.
template <typename T>
__aicore__ inline void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src,
                              const LocalTensor<T>& tmp, const int32_t repeat) {
    (void)tmp;
    (void)repeat;
    concat = src;
}
template <typename T, bool isFullSort>
__aicore__ inline void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat,
                            const LocalTensor<uint32_t>& index, LocalTensor<T>& tmp,
                            const int32_t repeat, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Sort, T);
    ascendc_emu::RunSortAll(ascendc_emu::kDTypeOf<PrimT<T>>, dst, concat, index, tmp, isFullSort,
                            repeat, loc);
}
template <typename T>
__aicore__ inline void Extract(const LocalTensor<T>& value, const LocalTensor<uint32_t>& index,
                               const LocalTensor<T>& sorted, const int32_t repeat,
                               Loc loc = Loc::Here()) {
    ascendc_emu::RunExtract(ascendc_emu::kDTypeOf<PrimT<T>>, value, index, sorted, repeat, loc);
}
// Offset and length in elements of T of records.
template <typename T>
__aicore__ inline uint32_t GetSortOffset(const uint32_t records) {
    return records * (8 / sizeof(T));
}
template <typename T>
__aicore__ inline uint32_t GetSortLen(const uint32_t records) {
    return records * (8 / sizeof(T));
}
#endif

// 16 rows of 32 bytes, transposed.
template <typename T>
__aicore__ inline void TransDataTo5HD(const LocalTensor<T> (&dst)[NCHW_CONV_ADDR_LIST_SIZE],
                                      const LocalTensor<T> (&src)[NCHW_CONV_ADDR_LIST_SIZE],
                                      const TransDataTo5HDParams& params, Loc loc = Loc::Here()) {
    uint64_t d[16], s[16];
    for (int i = 0; i < 16; ++i) {
        d[i] = dst[i].GetPhyAddr();
        s[i] = src[i].GetPhyAddr();
    }
    ascendc_emu::RunTransBlocks(ascendc_emu::kDTypeOf<PrimT<T>>, d, s, params, loc);
}
template <typename T>
__aicore__ inline void TransDataTo5HD(uint64_t dst[NCHW_CONV_ADDR_LIST_SIZE],
                                      uint64_t src[NCHW_CONV_ADDR_LIST_SIZE],
                                      const TransDataTo5HDParams& params, Loc loc = Loc::Here()) {
    ascendc_emu::RunTransBlocks(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src, params, loc);
}
template <typename T>
__aicore__ inline void TransDataTo5HD(const LocalTensor<uint64_t>& dst,
                                      const LocalTensor<uint64_t>& src,
                                      const TransDataTo5HDParams& params, Loc loc = Loc::Here()) {
    ascendc_emu::RunTransBlocks(ascendc_emu::kDTypeOf<PrimT<T>>,
                                reinterpret_cast<const uint64_t*>(dst.ptr),
                                reinterpret_cast<const uint64_t*>(src.ptr), params, loc);
}
// 16 x 16 elements of 16 bits.
template <typename T>
__aicore__ inline void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                 Loc loc = Loc::Here()) {
    static_assert(sizeof(PrimT<T>) == 2, "Transpose works on 16-bit elements");
    ascendc_emu::RunTranspose16(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src, loc);
}
template <typename T>
__aicore__ inline void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                 const LocalTensor<uint8_t>& tmp, const TransposeParamsExt& params,
                                 Loc loc = Loc::Here()) {
    ascendc_emu::RunTransposeExt(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src, tmp, params, loc);
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_GATHER_API_H
