// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Sorting on arch 2002: records are region proposals, eight elements of one type each
// (x1, y1, x2, y2, score, label and two nobody uses), in groups of 16; descending by score, equal
// scores keep their order. Sort() keeps a float's index in the label, and of a half's index the
// lower two bytes in y1, the upper two in the label. Source: asc-devkit docs, pages ProposalConcat,
// RpSort16, MrgSort4, Sort, Extract.
#ifndef ASCENDC_EMU_PROPOSAL_API_H
#define ASCENDC_EMU_PROPOSAL_API_H

#include "ascendc_emu/reduce_api.h"

namespace ascendc_emu {

enum class ProposalPart : uint8_t { kPut, kTake };

// Puts elements into part `part` (0 to 5) of proposals, or takes them out.
void RunProposalPart(Api api, DType type, const TensorRef& dst, const TensorRef& src,
                     ProposalPart way, int32_t repeats, int32_t part, Loc loc);
// Groups of 16, one list when `full`; index null: the labels are not touched.
void RunProposalSort(Api api, DType type, const TensorRef& dst, const TensorRef& src,
                     const TensorRef* index, const TensorRef* tmp, bool full, int32_t repeats,
                     Loc loc);
void RunProposalMerge(Api api, DType type, const TensorRef& dst, const TensorRef* const lists[4],
                      const uint16_t lengths[4], bool suspend, uint16_t valid, int32_t repeats,
                      Loc loc);
void RunProposalExtract(DType type, const TensorRef& value, const TensorRef& index,
                        const TensorRef& sorted, int32_t repeats, Loc loc);

}  // namespace ascendc_emu

namespace AscendC {

template <typename T>
__aicore__ inline void ProposalConcat(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                      const int32_t repeatTime, const int32_t modeNumber,
                                      Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(ProposalConcat, T);
    ascendc_emu::RunProposalPart(ascendc_emu::Api::kProposalConcat, ascendc_emu::kDTypeOf<PrimT<T>>,
                                 dst, src, ascendc_emu::ProposalPart::kPut, repeatTime, modeNumber,
                                 loc);
}
template <typename T>
__aicore__ inline void ProposalExtract(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                       const int32_t repeatTime, const int32_t modeNumber,
                                       Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(ProposalExtract, T);
    ascendc_emu::RunProposalPart(ascendc_emu::Api::kProposalExtract,
                                 ascendc_emu::kDTypeOf<PrimT<T>>, dst, src,
                                 ascendc_emu::ProposalPart::kTake, repeatTime, modeNumber, loc);
}
template <typename T>
__aicore__ inline void RpSort16(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const int32_t repeatTime, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(RpSort16, T);
    ascendc_emu::RunProposalSort(ascendc_emu::Api::kRpSort16, ascendc_emu::kDTypeOf<PrimT<T>>, dst,
                                 src, nullptr, nullptr, false, repeatTime, loc);
}
template <typename T>
__aicore__ inline void MrgSort4(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src,
                                const MrgSort4Info& params, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(MrgSort4, T);
    const ascendc_emu::TensorRef* const lists[4] = {&src.src1, &src.src2, &src.src3, &src.src4};
    ascendc_emu::RunProposalMerge(ascendc_emu::Api::kMrgSort4, ascendc_emu::kDTypeOf<PrimT<T>>, dst,
                                  lists, params.elementLengths, params.ifExhaustedSuspension,
                                  params.validBit, params.repeatTimes, loc);
}

template <typename T, bool isExhaustedSuspension = false>
__aicore__ inline void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src,
                               const uint16_t lengths[4], uint32_t sortedNum[4], uint16_t validBit,
                               const int32_t repeat, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(MrgSort, T);
    const ascendc_emu::TensorRef* const lists[4] = {&src.src1, &src.src2, &src.src3, &src.src4};
    ascendc_emu::RunProposalMerge(ascendc_emu::Api::kMrgSort, ascendc_emu::kDTypeOf<PrimT<T>>, dst,
                                  lists, lengths, isExhaustedSuspension, validBit, repeat, loc);
    if (isExhaustedSuspension) {
        const uint64_t r = ascendc_emu::ResultRegisters().mrgSort;
        for (int i = 0; i < 4; ++i) sortedNum[i] = static_cast<uint16_t>(r >> (16 * i));
    }
}
// The proposals lie in tmp: only scores have values.
template <typename T>
__aicore__ inline void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src,
                              const LocalTensor<T>& tmp, const int32_t repeat,
                              Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Concat, T);
    ascendc_emu::RunProposalPart(ascendc_emu::Api::kConcat, ascendc_emu::kDTypeOf<PrimT<T>>, tmp,
                                 src, ascendc_emu::ProposalPart::kPut, repeat, 4, loc);
    concat = tmp;
}
template <typename T, bool isFullSort>
__aicore__ inline void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat,
                            const LocalTensor<uint32_t>& index, LocalTensor<T>& tmp,
                            const int32_t repeat, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Sort, T);
    ascendc_emu::RunProposalSort(ascendc_emu::Api::kSort, ascendc_emu::kDTypeOf<PrimT<T>>, dst,
                                 concat, &index, &tmp, isFullSort, repeat, loc);
}
template <typename T>
__aicore__ inline void Extract(const LocalTensor<T>& value, const LocalTensor<uint32_t>& index,
                               const LocalTensor<T>& sorted, const int32_t repeat,
                               Loc loc = Loc::Here()) {
    ascendc_emu::RunProposalExtract(ascendc_emu::kDTypeOf<PrimT<T>>, value, index, sorted, repeat,
                                    loc);
}
// Offset and length in elements of T of records.
template <typename T>
__aicore__ inline uint32_t GetSortOffset(const uint32_t records) {
    return records * 8;
}
template <typename T>
__aicore__ inline uint32_t GetSortLen(const uint32_t records) {
    return records * 8;
}

}  // namespace AscendC

#endif  // ASCENDC_EMU_PROPOSAL_API_H
