// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Reductions inside a repeat (Whole / Block / Pair), over a tensor (ReduceSum/Max/Min), and Brcb.
// The 9.x names ReduceRepeat, ReduceDataBlock, ReducePairElem are the same instructions.
#ifndef ASCENDC_EMU_REDUCE_API_H
#define ASCENDC_EMU_REDUCE_API_H

#include "ascendc_emu/vector_api.h"

namespace ascendc_emu {
void RunBrcb(DType type, const TensorRef& dst, const TensorRef& src, int32_t repeats,
             int32_t dstBlk, int32_t dstRep, Loc loc);

inline Form ReduceForm(uint64_t mask, int32_t repeats, int32_t dstRep, int32_t srcBlk,
                       int32_t srcRep, bool setMask) {
    Form f;
    f.kind = Form::kMask;
    f.mask[0] = mask;
    f.repeats = repeats;
    f.dstRep = dstRep;
    f.src0Blk = srcBlk;
    f.src0Rep = srcRep;
    f.setMask = setMask;
    return f;
}
inline Form ReduceForm(const uint64_t* mask, int32_t repeats, int32_t dstRep, int32_t srcBlk,
                       int32_t srcRep, bool setMask, uint32_t bytes) {
    Form f = ReduceForm(0ull, repeats, dstRep, srcBlk, srcRep, setMask);
    f.kind = Form::kBits;
    f.mask[0] = mask[0];
    f.mask[1] = bytes <= 2 ? mask[1] : 0;
    return f;
}
}  // namespace ascendc_emu

namespace AscendC {

// One result per repeat. dstRepStride counts elements (value and index: pairs).
#define OPGEN_WHOLE_SUM(NAME)                                                                     \
    template <typename T, bool isSetMask = true>                                                  \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,             \
                                const int32_t mask, const int32_t repeat,                         \
                                const int32_t dstRepStride, const int32_t srcBlkStride,           \
                                const int32_t srcRepStride, Loc loc = Loc::Here()) {              \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                              \
        using namespace ascendc_emu;                                                              \
        RunReduce({Api::k##NAME, kDTypeOf<PrimT<T>>, ReduceOp::kSum, ReduceSpan::kWhole, 2, &dst, \
                   &src,                                                                          \
                   ReduceForm(static_cast<uint64_t>(mask), repeat, dstRepStride, srcBlkStride,    \
                              srcRepStride, isSetMask),                                           \
                   loc});                                                                         \
    }                                                                                             \
    template <typename T, bool isSetMask = true>                                                  \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,             \
                                const uint64_t mask[], const int32_t repeat,                      \
                                const int32_t dstRepStride, const int32_t srcBlkStride,           \
                                const int32_t srcRepStride, Loc loc = Loc::Here()) {              \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                              \
        using namespace ascendc_emu;                                                              \
        RunReduce({Api::k##NAME, kDTypeOf<PrimT<T>>, ReduceOp::kSum, ReduceSpan::kWhole, 2, &dst, \
                   &src,                                                                          \
                   ReduceForm(mask, repeat, dstRepStride, srcBlkStride, srcRepStride, isSetMask,  \
                              sizeof(PrimT<T>)),                                                  \
                   loc});                                                                         \
    }
OPGEN_WHOLE_SUM(WholeReduceSum)
#undef OPGEN_WHOLE_SUM

#define OPGEN_WHOLE_MAXMIN(NAME, OP)                                                             \
    template <typename T, bool isSetMask = true>                                                 \
    __aicore__ inline void NAME(                                                                 \
        const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask,                \
        const int32_t repeat, const int32_t dstRepStride, const int32_t srcBlkStride,            \
        const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,          \
        Loc loc = Loc::Here()) {                                                                 \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        RunReduce({Api::k##NAME, kDTypeOf<PrimT<T>>, ReduceOp::OP, ReduceSpan::kWhole,           \
                   static_cast<uint8_t>(order), &dst, &src,                                      \
                   ReduceForm(static_cast<uint64_t>(mask), repeat, dstRepStride, srcBlkStride,   \
                              srcRepStride, isSetMask),                                          \
                   loc});                                                                        \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    __aicore__ inline void NAME(                                                                 \
        const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],             \
        const int32_t repeat, const int32_t dstRepStride, const int32_t srcBlkStride,            \
        const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,          \
        Loc loc = Loc::Here()) {                                                                 \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        RunReduce({Api::k##NAME, kDTypeOf<PrimT<T>>, ReduceOp::OP, ReduceSpan::kWhole,           \
                   static_cast<uint8_t>(order), &dst, &src,                                      \
                   ReduceForm(mask, repeat, dstRepStride, srcBlkStride, srcRepStride, isSetMask, \
                              sizeof(PrimT<T>)),                                                 \
                   loc});                                                                        \
    }
OPGEN_WHOLE_MAXMIN(WholeReduceMax, kMax)
OPGEN_WHOLE_MAXMIN(WholeReduceMin, kMin)
#undef OPGEN_WHOLE_MAXMIN

template <typename T, bool isSetMask = true>
__aicore__ inline void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                       const int32_t repeat, const int32_t mask,
                                       const int32_t dstBlkStride, const int32_t srcBlkStride,
                                       const int32_t dstRepStride, const int32_t srcRepStride,
                                       Loc loc = Loc::Here()) {
    (void)dstBlkStride;
    OPGEN_REQUIRE_TYPE(RepeatReduceSum, T);
    using namespace ascendc_emu;
    RunReduce({Api::kRepeatReduceSum, kDTypeOf<PrimT<T>>, ReduceOp::kSum, ReduceSpan::kWhole, 2,
               &dst, &src,
               ReduceForm(static_cast<uint64_t>(mask), repeat, dstRepStride, srcBlkStride,
                          srcRepStride, isSetMask),
               loc});
}

// One result per data block (Block) or per pair of neighbours (Pair).
#define OPGEN_SPAN_REDUCE(NAME, OP, SPAN)                                                        \
    template <typename T, bool isSetMask = true>                                                 \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const int32_t repeat, const int32_t mask,                        \
                                const int32_t dstRepStride, const int32_t srcBlkStride,          \
                                const int32_t srcRepStride, Loc loc = Loc::Here()) {             \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        RunReduce({Api::k##NAME, kDTypeOf<PrimT<T>>, ReduceOp::OP, ReduceSpan::SPAN, 2, &dst,    \
                   &src,                                                                         \
                   ReduceForm(static_cast<uint64_t>(mask), repeat, dstRepStride, srcBlkStride,   \
                              srcRepStride, isSetMask),                                          \
                   loc});                                                                        \
    }                                                                                            \
    template <typename T, bool isSetMask = true>                                                 \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const int32_t repeat, const uint64_t mask[],                     \
                                const int32_t dstRepStride, const int32_t srcBlkStride,          \
                                const int32_t srcRepStride, Loc loc = Loc::Here()) {             \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                             \
        using namespace ascendc_emu;                                                             \
        RunReduce({Api::k##NAME, kDTypeOf<PrimT<T>>, ReduceOp::OP, ReduceSpan::SPAN, 2, &dst,    \
                   &src,                                                                         \
                   ReduceForm(mask, repeat, dstRepStride, srcBlkStride, srcRepStride, isSetMask, \
                              sizeof(PrimT<T>)),                                                 \
                   loc});                                                                        \
    }
OPGEN_SPAN_REDUCE(BlockReduceSum, kSum, kBlock)
OPGEN_SPAN_REDUCE(BlockReduceMax, kMax, kBlock)
OPGEN_SPAN_REDUCE(BlockReduceMin, kMin, kBlock)
OPGEN_SPAN_REDUCE(PairReduceSum, kSum, kPair)
#undef OPGEN_SPAN_REDUCE

}  // namespace AscendC
namespace ascendc_emu {
constexpr ReduceOp OpOf(AscendC::ReduceType t) {
    return t == AscendC::ReduceType::MAX   ? ReduceOp::kMax
           : t == AscendC::ReduceType::MIN ? ReduceOp::kMin
                                           : ReduceOp::kSum;
}
}  // namespace ascendc_emu
namespace AscendC {

// 9.x names of the reductions inside a repeat.
#define OPGEN_NEW_REDUCE(NAME, SPAN, EXTRA, ORDER)                                               \
    template <ReduceType type, typename T, typename U, bool isSetMask = true>                    \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src,            \
                                const int32_t mask, const int32_t repeat,                        \
                                const int32_t dstRepStride, const int32_t srcBlkStride,          \
                                const int32_t srcRepStride EXTRA, Loc loc = Loc::Here()) {       \
        OPGEN_REQUIRE_TYPE(NAME, U);                                                             \
        using namespace ascendc_emu;                                                             \
        RunReduce({Api::k##NAME, kDTypeOf<PrimT<U>>, OpOf(type), ReduceSpan::SPAN,               \
                   static_cast<uint8_t>(ORDER), &dst, &src,                                      \
                   ReduceForm(static_cast<uint64_t>(mask), repeat, dstRepStride, srcBlkStride,   \
                              srcRepStride, isSetMask),                                          \
                   loc});                                                                        \
    }                                                                                            \
    template <ReduceType type, typename T, typename U, bool isSetMask = true>                    \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src,            \
                                const uint64_t mask[], const int32_t repeat,                     \
                                const int32_t dstRepStride, const int32_t srcBlkStride,          \
                                const int32_t srcRepStride EXTRA, Loc loc = Loc::Here()) {       \
        OPGEN_REQUIRE_TYPE(NAME, U);                                                             \
        using namespace ascendc_emu;                                                             \
        RunReduce({Api::k##NAME, kDTypeOf<PrimT<U>>, OpOf(type), ReduceSpan::SPAN,               \
                   static_cast<uint8_t>(ORDER), &dst, &src,                                      \
                   ReduceForm(mask, repeat, dstRepStride, srcBlkStride, srcRepStride, isSetMask, \
                              sizeof(PrimT<U>)),                                                 \
                   loc});                                                                        \
    }
#define OPGEN_ORDER_PARAMETER , ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX
OPGEN_NEW_REDUCE(ReduceRepeat, kWhole, OPGEN_ORDER_PARAMETER, order)
OPGEN_NEW_REDUCE(ReduceDataBlock, kBlock, , ReduceOrder::ORDER_ONLY_VALUE)
OPGEN_NEW_REDUCE(ReducePairElem, kPair, , ReduceOrder::ORDER_ONLY_VALUE)
#undef OPGEN_ORDER_PARAMETER
#undef OPGEN_NEW_REDUCE

// Sum of the whole tensor in the documented order: tree inside a repeat, then one repeat after the
// other (count form) or a tree again (mask form).
#define OPGEN_FULL_REDUCE(NAME, OP)                                                            \
    template <typename T>                                                                      \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,          \
                                const LocalTensor<T>& work, const int32_t mask,                \
                                const int32_t repeat, const int32_t srcRepStride,              \
                                bool index = false, Loc loc = Loc::Here()) {                   \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                           \
        using namespace ascendc_emu;                                                           \
        RunFullReduce(                                                                         \
            {Api::k##NAME, kDTypeOf<PrimT<T>>, ReduceOp::OP, index, false, &dst, &src, &work,  \
             ReduceForm(static_cast<uint64_t>(mask), repeat, 1, 1, srcRepStride, true), loc}); \
    }                                                                                          \
    template <typename T>                                                                      \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,          \
                                const LocalTensor<T>& work, const uint64_t mask[],             \
                                const int32_t repeat, const int32_t srcRepStride,              \
                                bool index = false, Loc loc = Loc::Here()) {                   \
        OPGEN_REQUIRE_TYPE(NAME, T);                                                           \
        using namespace ascendc_emu;                                                           \
        RunFullReduce(                                                                         \
            {Api::k##NAME, kDTypeOf<PrimT<T>>, ReduceOp::OP, index, false, &dst, &src, &work,  \
             ReduceForm(mask, repeat, 1, 1, srcRepStride, true, sizeof(PrimT<T>)), loc});      \
    }
OPGEN_FULL_REDUCE(ReduceSum, kSum)
OPGEN_FULL_REDUCE(ReduceMax, kMax)
OPGEN_FULL_REDUCE(ReduceMin, kMin)
#undef OPGEN_FULL_REDUCE

template <typename T, bool isSetMask = true>
__aicore__ inline void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                 const LocalTensor<T>& work, const int32_t count,
                                 Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(ReduceSum, T);
    using namespace ascendc_emu;
    RunFullReduce({Api::kReduceSum, kDTypeOf<PrimT<T>>, ReduceOp::kSum, false, true, &dst, &src,
                   &work, CountForm(count), loc});
}
template <typename T>
__aicore__ inline void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                 const LocalTensor<T>& work, const int32_t count,
                                 bool index = false, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(ReduceMax, T);
    using namespace ascendc_emu;
    RunFullReduce({Api::kReduceMax, kDTypeOf<PrimT<T>>, ReduceOp::kMax, index, true, &dst, &src,
                   &work, CountForm(count), loc});
}
template <typename T>
__aicore__ inline void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                 const LocalTensor<T>& work, const int32_t count,
                                 bool index = false, Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(ReduceMin, T);
    using namespace ascendc_emu;
    RunFullReduce({Api::kReduceMin, kDTypeOf<PrimT<T>>, ReduceOp::kMin, index, true, &dst, &src,
                   &work, CountForm(count), loc});
}

// Result registers of the last reduction.
template <typename T>
__aicore__ inline T GetAccVal(Loc loc = Loc::Here()) {
    ascendc_emu::NeedsApi(ascendc_emu::Current(), loc, ascendc_emu::Api::kGetAccVal);
    return static_cast<T>(ascendc_emu::ResultRegisters().accValue);
}
// Raw bits of the accumulator.
__aicore__ inline int64_t GetAccVal() {
    return static_cast<int64_t>(
        ascendc_emu::BitCast<uint32_t>(ascendc_emu::ResultRegisters().accValue));
}
template <typename T>
__aicore__ inline T GetReduceRepeatSumSpr() {
    return GetAccVal<T>();
}
template <typename T>
__aicore__ inline void GetReduceMaxMinCount(T& value, T& index) {
    const ascendc_emu::Registers& r = ascendc_emu::ResultRegisters();
    memcpy(&value, &r.maxMinValue, sizeof(T));
    memcpy(&index, &r.maxMinIndex, sizeof(T));
}
template <typename T>
__aicore__ inline void GetReduceMaxMinCount(T& value) {
    memcpy(&value, &ascendc_emu::ResultRegisters().maxMinValue, sizeof(T));
}
template <typename T>
__aicore__ inline void GetReduceRepeatMaxMinSpr(T& value, T& index) {
    GetReduceMaxMinCount(value, index);
}
template <typename T>
__aicore__ inline void GetReduceRepeatMaxMinSpr(T& value) {
    GetReduceMaxMinCount(value);
}

// Each of 8 elements per repeat fills one 32-byte block of dst.
template <typename T>
__aicore__ inline void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const uint8_t repeat, const BrcbRepeatParams& params,
                            Loc loc = Loc::Here()) {
    OPGEN_REQUIRE_TYPE(Brcb, T);
    ascendc_emu::RunBrcb(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src, repeat, params.dstBlkStride,
                         params.dstRepStride, loc);
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_REDUCE_API_H
