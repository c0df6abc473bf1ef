// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// High-level reductions and TopK. Source: asc-devkit docs, high-level API (归约操作, 排序操作).
#ifndef ASCENDC_EMU_ADV_REDUCE_API_H
#define ASCENDC_EMU_ADV_REDUCE_API_H

#include "ascendc_emu/adv.h"
#include "ascendc_emu/adv_config.h"
#include "kernel_tiling/kernel_tiling.h"

namespace ascendc_emu {

enum class AdvReduce : uint8_t { kSum, kMean, kMax, kMin, kProd, kAny, kAll };

struct AdvReduceCall {
    Api api;
    AdvReduce op;
    DType type;
    DType accumulate;  // half: rounded to half after every step
    const TensorRef* dst;
    const TensorRef* src;
    const TensorRef* tmp;
    uint32_t rows, columns, stride;  // elements; stride >= columns
    bool alongRows;                  // reduce the first axis: one result per column
    Loc loc;
};
void RunAdvReduce(const AdvReduceCall& call);
void RunReduceXorSum(DType type, const TensorRef& dst, const TensorRef& src0, const TensorRef& src1,
                     const TensorRef* tmp, uint32_t count, Loc loc);

struct TopKCall {
    DType type;
    const TensorRef* value;
    const TensorRef* index;
    const TensorRef* src;
    const TensorRef* srcIndex;  // null: 0 .. inner - 1
    const TensorRef* finish;    // null: every row counts
    const TensorRef* tmp;
    int32_t k, rows, inner, n;
    bool small;  // rows of k without padding, indices per row
    bool largest;
    Loc loc;
};
void RunTopK(const TopKCall& call);

}  // namespace ascendc_emu

namespace AscendC {

namespace Pattern {
namespace Reduce {
struct R {
    static constexpr ReducePattern kPattern = ReducePattern::R;
};
struct AR {
    static constexpr ReducePattern kPattern = ReducePattern::AR;
};
struct RA {
    static constexpr ReducePattern kPattern = ReducePattern::RA;
};
}  // namespace Reduce
}  // namespace Pattern

struct SumParams {
    uint32_t outter = 1;
    uint32_t inner;  // padded to 32 bytes
    uint32_t n;
};
struct MeanParams {
    uint32_t outter = 1;
    uint32_t inner;
    uint32_t n;
};

namespace adv_detail {
template <typename T, typename pattern>
inline void Reduce(ascendc_emu::Api api, ascendc_emu::AdvReduce op, const LocalTensor<T>& dst,
                   const LocalTensor<T>& src, const LocalTensor<uint8_t>* tmp,
                   const uint32_t shape[], bool srcInnerPad, Loc loc) {
    static_assert(pattern::kPattern == ReducePattern::AR || pattern::kPattern == ReducePattern::RA,
                  "high-level reductions take the patterns AR and RA");
    const uint32_t perBlock = 32 / sizeof(PrimT<T>);
    const uint32_t stride =
        srcInnerPad ? (shape[1] + perBlock - 1) / perBlock * perBlock : shape[1];
    ascendc_emu::RunAdvReduce({api, op, ascendc_emu::kDTypeOf<PrimT<T>>, ascendc_emu::DType::kF32,
                               &dst, &src, tmp, shape[0], shape[1], stride,
                               pattern::kPattern == ReducePattern::RA, loc});
}
}  // namespace adv_detail

#define OPGEN_PATTERN_REDUCE(NAME, OP)                                                             \
    template <class T, class pattern, bool isReuseSource = false>                                  \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,              \
                                const LocalTensor<uint8_t>& tmp, const uint32_t srcShape[],        \
                                bool srcInnerPad, Loc loc = Loc::Here()) {                         \
        adv_detail::Reduce<T, pattern>(ascendc_emu::Api::k##NAME, ascendc_emu::AdvReduce::OP, dst, \
                                       src, &tmp, srcShape, srcInnerPad, loc);                     \
    }                                                                                              \
    template <class T, class pattern, bool isReuseSource = false>                                  \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,              \
                                const uint32_t srcShape[], bool srcInnerPad,                       \
                                Loc loc = Loc::Here()) {                                           \
        adv_detail::Reduce<T, pattern>(ascendc_emu::Api::k##NAME, ascendc_emu::AdvReduce::OP, dst, \
                                       src, nullptr, srcShape, srcInnerPad, loc);                  \
    }
OPGEN_PATTERN_REDUCE(ReduceSum, kSum)
OPGEN_PATTERN_REDUCE(ReduceMean, kMean)
OPGEN_PATTERN_REDUCE(ReduceMax, kMax)
OPGEN_PATTERN_REDUCE(ReduceMin, kMin)
OPGEN_PATTERN_REDUCE(ReduceProd, kProd)
OPGEN_PATTERN_REDUCE(ReduceAny, kAny)
OPGEN_PATTERN_REDUCE(ReduceAll, kAll)
#undef OPGEN_PATTERN_REDUCE

template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
__aicore__ inline void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const LocalTensor<uint8_t>& tmp, const SumParams& params,
                           Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunAdvReduce({Api::kSum, AdvReduce::kSum, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, &dst, &src,
                  &tmp, params.outter, params.n, params.inner, false, loc});
}
template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
__aicore__ inline void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const SumParams& params, Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunAdvReduce({Api::kSum, AdvReduce::kSum, kDTypeOf<PrimT<T>>, kDTypeOf<PrimT<T>>, &dst, &src,
                  nullptr, params.outter, params.n, params.inner, false, loc});
}
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
__aicore__ inline void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const LocalTensor<uint8_t>& tmp, const MeanParams& params,
                            Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunAdvReduce({Api::kMean, AdvReduce::kMean, kDTypeOf<PrimT<T>>, kDTypeOf<accType>, &dst, &src,
                  &tmp, params.outter, params.n, params.inner, false, loc});
}
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
__aicore__ inline void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const MeanParams& params, Loc loc = Loc::Here()) {
    using namespace ascendc_emu;
    RunAdvReduce({Api::kMean, AdvReduce::kMean, kDTypeOf<PrimT<T>>, kDTypeOf<accType>, &dst, &src,
                  nullptr, params.outter, params.n, params.inner, false, loc});
}

// dst[0] = sum of src0[i] ^ src1[i].
template <typename T, bool isReuseSource = false>
__aicore__ inline void ReduceXorSum(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                    const LocalTensor<T>& src1, const LocalTensor<uint8_t>& tmp,
                                    const uint32_t count, Loc loc = Loc::Here()) {
    ascendc_emu::RunReduceXorSum(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src0, src1, &tmp, count,
                                 loc);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void ReduceXorSum(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                    const LocalTensor<T>& src1, const uint32_t count,
                                    Loc loc = Loc::Here()) {
    ascendc_emu::RunReduceXorSum(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src0, src1, nullptr, count,
                                 loc);
}

struct TopKInfo {
    int32_t outter = 1;
    int32_t inner;  // multiple of 32
    int32_t n;      // valid elements of a row
};
template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          enum TopKMode topkMode = TopKMode::TOPK_NORMAL,
          const TopKConfig& config = defaultTopKConfig>
__aicore__ inline void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex,
                            const LocalTensor<T>& src, const LocalTensor<int32_t>& srcIndex,
                            const LocalTensor<bool>& finish, const LocalTensor<uint8_t>& tmp,
                            const int32_t k, const TopkTiling& tiling, const TopKInfo& info,
                            const bool isLargest = true, Loc loc = Loc::Here()) {
    ascendc_emu::RunTopK({ascendc_emu::kDTypeOf<PrimT<T>>, &dstValue, &dstIndex, &src,
                          isInitIndex ? &srcIndex : nullptr, isHasfinish ? &finish : nullptr, &tmp,
                          k, info.outter, info.inner, info.n, topkMode == TopKMode::TOPK_NSMALL,
                          isLargest, loc});
    (void)tiling;
}
template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          enum TopKMode topkMode = TopKMode::TOPK_NORMAL,
          const TopKConfig& config = defaultTopKConfig>
__aicore__ inline void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex,
                            const LocalTensor<T>& src, const LocalTensor<int32_t>& srcIndex,
                            const LocalTensor<bool>& finish, const int32_t k,
                            const TopkTiling& tiling, const TopKInfo& info,
                            const bool isLargest = true, Loc loc = Loc::Here()) {
    ascendc_emu::RunTopK({ascendc_emu::kDTypeOf<PrimT<T>>, &dstValue, &dstIndex, &src,
                          isInitIndex ? &srcIndex : nullptr, isHasfinish ? &finish : nullptr,
                          nullptr, k, info.outter, info.inner, info.n,
                          topkMode == TopKMode::TOPK_NSMALL, isLargest, loc});
    (void)tiling;
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_ADV_REDUCE_API_H
