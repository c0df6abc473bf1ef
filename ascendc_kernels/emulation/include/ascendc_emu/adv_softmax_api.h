// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Softmax family of the high-level API. Rows are [m, k] with k padded to 32 bytes; max and sum
// tensors hold one 32-byte block per row. Source: asc-devkit docs, high-level API / activation
// functions.
#ifndef ASCENDC_EMU_ADV_SOFTMAX_API_H
#define ASCENDC_EMU_ADV_SOFTMAX_API_H

#include "ascendc_emu/adv.h"
#include "kernel_tiling/kernel_tiling.h"

namespace ascendc_emu {

enum class SoftmaxKind : uint8_t { kSoftmax, kSimple, kFlash, kFlashV2, kGrad, kGradFront, kLog };

struct SoftmaxCall {
    Api api;
    SoftmaxKind kind;
    bool update;  // kFlash, kFlashV2: continue from inSum and inMax
    bool nz;      // [k / block][m][block] instead of [m][k]
    uint32_t m, k, validK;
    DType type;     // dst, src
    DType rowType;  // max, sum
    DType expType;  // expMax
    const TensorRef* dst;
    const TensorRef* src;
    const TensorRef* sum;
    const TensorRef* max;
    const TensorRef* expMax;
    const TensorRef* inSum;
    const TensorRef* inMax;
    const TensorRef* tmp;
    Loc loc;
    bool narrow = false;                   // one element per row in max, sum, expMax: not a block
    const TensorRef* reduceMax = nullptr;  // maximum of the source alone
};
void RunSoftmax(const SoftmaxCall& call);

struct SoftmaxV3Call {
    DType type, rowType;
    bool update;
    uint32_t m, k, loops, parts;
    float alpha;
    const TensorRef* dst;
    const TensorRef* src;
    const TensorRef* mean;
    const TensorRef* sum;
    const TensorRef* max;
    const TensorRef* expMax;
    const TensorRef* inMean;
    const TensorRef* inSum;
    const TensorRef* inMax;
    const TensorRef* tmp;
    Loc loc;
};
void RunSoftmaxV3(const SoftmaxV3Call& call);

// Rows whose max equals `from` (raw bits) become `to`; returns whether there was one.
bool RunAdjustSoftmax(const TensorRef& res, DType resType, const TensorRef& max, DType maxType,
                      uint32_t from, double to, uint32_t m, uint32_t k, bool nz, uint8_t stepMode,
                      Loc loc);

}  // namespace ascendc_emu

namespace AscendC {

struct SoftMaxShapeInfo {
    uint32_t srcM{0};
    uint32_t srcK{0};
    uint32_t oriSrcM{0};
    uint32_t oriSrcK{0};
};

// Tiling of SoftmaxFlashV2 made on the device, as a constant where all arguments are. The emulation
// works on all rows at once: one range, no tail. Source: the page of SoftmaxFlashV2's tiling.
__aicore__ inline constexpr SoftMaxTiling SoftMaxFlashV2TilingFuncImpl(
    const uint32_t srcM, const uint32_t srcK, const uint32_t dataTypeSize1,
    const uint32_t dataTypeSize2, const uint32_t localWorkSpaceSize, const bool isUpdate = false,
    const bool isBasicBlock = false, const bool isDataFormatNZ = false,
    const bool isFlashOutputBrc = false) {
    (void)dataTypeSize1, (void)localWorkSpaceSize, (void)isUpdate, (void)isBasicBlock;
    (void)isDataFormatNZ, (void)isFlashOutputBrc;
    SoftMaxTiling t;
    const uint32_t block = ONE_BLK_SIZE / dataTypeSize2;
    t.srcM = t.outMaxM = t.splitM = t.reduceM = srcM;
    t.srcK = t.splitK = srcK;
    t.outMaxK = t.reduceK = block;
    t.srcSize = t.splitSize = srcM * srcK;
    t.outMaxSize = t.reduceSize = srcM * block;
    t.rangeM = 1;
    return t;
}
__aicore__ inline constexpr SoftMaxTiling SoftMaxFlashV2TilingFunc(
    const SoftMaxShapeInfo& shapeInfo, const uint32_t dataTypeSize1, const uint32_t dataTypeSize2,
    const uint32_t localWorkSpaceSize, const bool isUpdate = false, const bool isBasicBlock = false,
    const bool isDataFormatNZ = false, const bool isFlashOutputBrc = false) {
    return SoftMaxFlashV2TilingFuncImpl(shapeInfo.srcM, shapeInfo.srcK, dataTypeSize1,
                                        dataTypeSize2, localWorkSpaceSize, isUpdate, isBasicBlock,
                                        isDataFormatNZ, isFlashOutputBrc);
}
enum class SoftmaxMode { SOFTMAX_NORMAL = 0, SOFTMAX_OUTPUT_WITHOUT_BRC = 1 };
struct SoftmaxConfig {
    __aicore__ constexpr SoftmaxConfig(bool check = true, uint32_t m = 0, uint32_t k = 0,
                                       SoftmaxMode output = SoftmaxMode::SOFTMAX_NORMAL)
        : isCheckTiling(check), oriSrcM(m), oriSrcK(k), mode(output) {}
    bool isCheckTiling = true;
    uint32_t oriSrcM = 0;
    uint32_t oriSrcK = 0;
    SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
};
constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG = {true, 0, 0, SoftmaxMode::SOFTMAX_NORMAL};

namespace softmax_detail {
using ascendc_emu::kDTypeOf;
using ascendc_emu::SoftmaxCall;
using ascendc_emu::SoftmaxKind;

// The shape comes from the argument, else from the source tensor, else from the tiling.
template <typename T>
inline void Shape(SoftmaxCall& c, const LocalTensor<T>& src, const SoftMaxTiling& tiling,
                  const SoftMaxShapeInfo& info) {
    c.m = info.srcM;
    c.k = info.srcK;
    c.validK = info.oriSrcK;
    const ShapeInfo own = src.GetShapeInfo();
    if ((c.m == 0 || c.k == 0) && own.shapeDim >= 2) {
        c.k = own.shape[own.shapeDim - 1];
        c.m = 1;
        for (int i = 0; i + 1 < own.shapeDim; ++i) c.m *= own.shape[i];
        c.validK = own.originalShapeDim > 0 ? own.originalShape[own.originalShapeDim - 1] : c.k;
    }
    if (c.m == 0 || c.k == 0) {
        c.m = tiling.srcM;
        c.k = tiling.srcK;
    }
    if (c.validK == 0) c.validK = c.k;
}

template <typename T, typename R>
inline void Full(ascendc_emu::Api api, SoftmaxKind kind, bool nz, const LocalTensor<T>& dst,
                 const LocalTensor<R>* sum, const LocalTensor<R>* max, const LocalTensor<T>& src,
                 const LocalTensor<uint8_t>* tmp, const SoftMaxTiling& tiling,
                 const SoftMaxShapeInfo& info, Loc loc) {
    SoftmaxCall c = {};
    c.api = api;
    c.kind = kind;
    c.nz = nz;
    c.type = kDTypeOf<PrimT<T>>;
    c.rowType = kDTypeOf<PrimT<R>>;
    c.dst = &dst;
    c.src = &src;
    if (kind == SoftmaxKind::kSimple) {
        c.inSum = sum;
        c.inMax = max;
    } else {
        c.sum = sum;
        c.max = max;
    }
    c.tmp = tmp;
    c.loc = loc;
    Shape(c, src, tiling, info);
    RunSoftmax(c);
}

template <typename T, typename R, typename E>
inline void Flash(ascendc_emu::Api api, SoftmaxKind kind, bool update, bool nz,
                  const LocalTensor<T>& dst, const LocalTensor<R>& sum, const LocalTensor<R>& max,
                  const LocalTensor<T>& src, const LocalTensor<E>& expMax,
                  const LocalTensor<R>& inSum, const LocalTensor<R>& inMax,
                  const LocalTensor<uint8_t>* tmp, const SoftMaxTiling& tiling,
                  const SoftMaxShapeInfo& info, Loc loc, bool narrow = false,
                  const LocalTensor<R>* reduceMax = nullptr) {
    SoftmaxCall c = {};
    c.api = api;
    c.kind = kind;
    c.update = update;
    c.narrow = narrow;
    c.reduceMax = update ? reduceMax : nullptr;
    c.nz = nz;
    c.type = kDTypeOf<PrimT<T>>;
    c.rowType = kDTypeOf<PrimT<R>>;
    c.expType = kDTypeOf<PrimT<E>>;
    c.dst = &dst;
    c.src = &src;
    c.sum = &sum;
    c.max = &max;
    if (update) {
        c.expMax = &expMax;
        c.inSum = &inSum;
        c.inMax = &inMax;
    }
    c.tmp = tmp;
    c.loc = loc;
    Shape(c, src, tiling, info);
    RunSoftmax(c);
}
}  // namespace softmax_detail

// SoftMax and SimpleSoftMax with and without a temporary buffer. The row tensors may be float
// beside half data. Trailing template parameters steer the device's algorithm only.
#define OPGEN_SOFTMAX_ROWS(NAME, KIND)                                                          \
    template <typename T = void, bool isReuseSource = false, bool isBasicBlock = false,         \
              bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG,   \
              typename D, typename R>                                                           \
    __aicore__ inline void NAME(const LocalTensor<D>& dst, const LocalTensor<R>& sum,           \
                                const LocalTensor<R>& max, const LocalTensor<D>& src,           \
                                const SoftMaxTiling& tiling, const SoftMaxShapeInfo& info = {}, \
                                Loc loc = Loc::Here()) {                                        \
        softmax_detail::Full(ascendc_emu::Api::k##NAME, ascendc_emu::SoftmaxKind::KIND,         \
                             isDataFormatNZ, dst, &sum, &max, src, nullptr, tiling, info, loc); \
    }                                                                                           \
    template <typename T = void, bool isReuseSource = false, bool isBasicBlock = false,         \
              bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG,   \
              typename D, typename R>                                                           \
    __aicore__ inline void NAME(const LocalTensor<D>& dst, const LocalTensor<R>& sum,           \
                                const LocalTensor<R>& max, const LocalTensor<D>& src,           \
                                const LocalTensor<uint8_t>& tmp, const SoftMaxTiling& tiling,   \
                                const SoftMaxShapeInfo& info = {}, Loc loc = Loc::Here()) {     \
        softmax_detail::Full(ascendc_emu::Api::k##NAME, ascendc_emu::SoftmaxKind::KIND,         \
                             isDataFormatNZ, dst, &sum, &max, src, &tmp, tiling, info, loc);    \
    }
OPGEN_SOFTMAX_ROWS(SoftMax, kSoftmax)
OPGEN_SOFTMAX_ROWS(SimpleSoftMax, kSimple)
#undef OPGEN_SOFTMAX_ROWS

template <typename T, bool isReuseSource = false, bool isBasicBlock = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
__aicore__ inline void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const SoftMaxTiling& tiling, const SoftMaxShapeInfo& info = {},
                               Loc loc = Loc::Here()) {
    softmax_detail::Full<T, T>(ascendc_emu::Api::kSoftMax, ascendc_emu::SoftmaxKind::kSoftmax,
                               false, dst, nullptr, nullptr, src, nullptr, tiling, info, loc);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
__aicore__ inline void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<uint8_t>& tmp, const SoftMaxTiling& tiling,
                               const SoftMaxShapeInfo& info = {}, Loc loc = Loc::Here()) {
    softmax_detail::Full<T, T>(ascendc_emu::Api::kSoftMax, ascendc_emu::SoftmaxKind::kSoftmax,
                               false, dst, nullptr, nullptr, src, &tmp, tiling, info, loc);
}

template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
__aicore__ inline void LogSoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& sum,
                                  const LocalTensor<T>& max, const LocalTensor<T>& src,
                                  const LocalTensor<uint8_t>& tmp, const LogSoftMaxTiling& tiling,
                                  const SoftMaxShapeInfo& info = {}, Loc loc = Loc::Here()) {
    SoftMaxTiling shape;  // the rest of a tiling is not read
    shape.srcM = tiling.srcM;
    shape.srcK = tiling.srcK;
    softmax_detail::Full(ascendc_emu::Api::kLogSoftMax, ascendc_emu::SoftmaxKind::kLog,
                         isDataFormatNZ, dst, &sum, &max, src, &tmp, shape, info, loc);
}

template <typename T = void, bool isReuseSource = false, bool isBasicBlock = false, typename D,
          typename R, typename E>
__aicore__ inline void SoftmaxFlash(const LocalTensor<D>& dst, const LocalTensor<R>& sum,
                                    const LocalTensor<R>& max, const LocalTensor<D>& src,
                                    const LocalTensor<E>& expMax, const LocalTensor<R>& inSum,
                                    const LocalTensor<R>& inMax, const SoftMaxTiling& tiling,
                                    bool isUpdate = false, const SoftMaxShapeInfo& info = {},
                                    Loc loc = Loc::Here()) {
    softmax_detail::Flash(ascendc_emu::Api::kSoftmaxFlash, ascendc_emu::SoftmaxKind::kFlash,
                          isUpdate, false, dst, sum, max, src, expMax, inSum, inMax, nullptr,
                          tiling, info, loc);
}
template <typename T = void, bool isReuseSource = false, bool isBasicBlock = false, typename D,
          typename R, typename E>
__aicore__ inline void SoftmaxFlash(const LocalTensor<D>& dst, const LocalTensor<R>& sum,
                                    const LocalTensor<R>& max, const LocalTensor<D>& src,
                                    const LocalTensor<E>& expMax, const LocalTensor<R>& inSum,
                                    const LocalTensor<R>& inMax, const LocalTensor<uint8_t>& tmp,
                                    const SoftMaxTiling& tiling, bool isUpdate = false,
                                    const SoftMaxShapeInfo& info = {}, Loc loc = Loc::Here()) {
    softmax_detail::Flash(ascendc_emu::Api::kSoftmaxFlash, ascendc_emu::SoftmaxKind::kFlash,
                          isUpdate, false, dst, sum, max, src, expMax, inSum, inMax, &tmp, tiling,
                          info, loc);
}

// SoftmaxFlashV2 with and without a temporary buffer, with and without the maximum of the source
// alone (outReduceMax, not written without isUpdate).
#define OPGEN_SOFTMAX_FLASH_V2(MAX_PARAM, MAX_ARG, TMP_PARAM, TMP_ARG)                             \
    template <typename T = void, bool isUpdate = false, bool isReuseSource = false,                \
              bool isBasicBlock = false, bool isDataFormatNZ = false,                              \
              const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename D, typename R,           \
              typename E>                                                                          \
    __aicore__ inline void SoftmaxFlashV2(                                                         \
        const LocalTensor<D>& dst, MAX_PARAM const LocalTensor<R>& expSum,                         \
        const LocalTensor<R>& max, const LocalTensor<D>& src, const LocalTensor<E>& expMax,        \
        const LocalTensor<R>& inExpSum, const LocalTensor<R>& inMax,                               \
        TMP_PARAM const SoftMaxTiling& tiling, const SoftMaxShapeInfo& info = {},                  \
        Loc loc = Loc::Here()) {                                                                   \
        softmax_detail::Flash(                                                                     \
            ascendc_emu::Api::kSoftmaxFlashV2, ascendc_emu::SoftmaxKind::kFlashV2, isUpdate,       \
            isDataFormatNZ, dst, expSum, max, src, expMax, inExpSum, inMax, TMP_ARG, tiling, info, \
            loc, config.mode == SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC, MAX_ARG);                 \
    }
#define OPGEN_NOTHING
#define OPGEN_REDUCE_MAX const LocalTensor<R>&outReduceMax,
#define OPGEN_TMP const LocalTensor<uint8_t>&tmp,
#define OPGEN_NO_MAX static_cast<const LocalTensor<R>*>(nullptr)
OPGEN_SOFTMAX_FLASH_V2(OPGEN_NOTHING, OPGEN_NO_MAX, OPGEN_NOTHING, nullptr)
OPGEN_SOFTMAX_FLASH_V2(OPGEN_NOTHING, OPGEN_NO_MAX, OPGEN_TMP, &tmp)
OPGEN_SOFTMAX_FLASH_V2(OPGEN_REDUCE_MAX, &outReduceMax, OPGEN_NOTHING, nullptr)
OPGEN_SOFTMAX_FLASH_V2(OPGEN_REDUCE_MAX, &outReduceMax, OPGEN_TMP, &tmp)
#undef OPGEN_SOFTMAX_FLASH_V2
#undef OPGEN_NOTHING
#undef OPGEN_REDUCE_MAX
#undef OPGEN_TMP
#undef OPGEN_NO_MAX

struct SoftMaxParams {
    uint32_t srcM;
    uint32_t srcK;
    uint32_t oriSrcM;
    uint32_t oriSrcK;
    uint32_t loopCnt;
    uint32_t splitMeanCnt;
    float alpha;
};

namespace softmax_detail {
template <bool update, typename T, typename U>
inline void FlashV3(const LocalTensor<T>& dst, const LocalTensor<U>& mean,
                    const LocalTensor<U>& sum, const LocalTensor<U>& max, const LocalTensor<T>& src,
                    const LocalTensor<T>& expMax, const LocalTensor<U>& inMean,
                    const LocalTensor<U>& inSum, const LocalTensor<U>& inMax,
                    const LocalTensor<uint8_t>* tmp, const SoftMaxParams& p, Loc loc) {
    ascendc_emu::SoftmaxV3Call c = {};
    c.type = kDTypeOf<PrimT<T>>;
    c.rowType = kDTypeOf<PrimT<U>>;
    c.update = update;
    c.m = p.srcM;
    c.k = p.srcK;
    c.loops = p.loopCnt;
    c.parts = p.splitMeanCnt;
    c.alpha = p.alpha;
    c.dst = &dst;
    c.src = &src;
    c.mean = &mean;
    c.sum = &sum;
    c.max = &max;
    if (update) {
        c.expMax = &expMax;
        c.inMean = &inMean;
        c.inSum = &inSum;
        c.inMax = &inMax;
    }
    c.tmp = tmp;
    c.loc = loc;
    RunSoftmaxV3(c);
}
}  // namespace softmax_detail

// SoftmaxFlash with the row mean of parts taken out first (PASA).
template <typename T, typename U, bool isUpdate = false, bool isReuseSource = false,
          bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
__aicore__ inline void SoftmaxFlashV3(const LocalTensor<T>& dst, const LocalTensor<U>& mean,
                                      const LocalTensor<U>& expSum, const LocalTensor<U>& max,
                                      const LocalTensor<T>& src, const LocalTensor<T>& expMax,
                                      const LocalTensor<U>& inMean, const LocalTensor<U>& inExpSum,
                                      const LocalTensor<U>& inMax, const LocalTensor<uint8_t>& tmp,
                                      const SoftMaxTiling& tiling, const SoftMaxParams& params,
                                      Loc loc = Loc::Here()) {
    (void)tiling;
    softmax_detail::FlashV3<isUpdate>(dst, mean, expSum, max, src, expMax, inMean, inExpSum, inMax,
                                      &tmp, params, loc);
}
template <typename T, typename U, bool isUpdate = false, bool isReuseSource = false,
          bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
__aicore__ inline void SoftmaxFlashV3(const LocalTensor<T>& dst, const LocalTensor<U>& mean,
                                      const LocalTensor<U>& expSum, const LocalTensor<U>& max,
                                      const LocalTensor<T>& src, const LocalTensor<T>& expMax,
                                      const LocalTensor<U>& inMean, const LocalTensor<U>& inExpSum,
                                      const LocalTensor<U>& inMax, const SoftMaxTiling& tiling,
                                      const SoftMaxParams& params, Loc loc = Loc::Here()) {
    (void)tiling;
    softmax_detail::FlashV3<isUpdate>(dst, mean, expSum, max, src, expMax, inMean, inExpSum, inMax,
                                      nullptr, params, loc);
}

namespace softmax_detail {
template <typename T>
inline void Grad(ascendc_emu::Api api, SoftmaxKind kind, bool nz, const LocalTensor<T>& dst,
                 const LocalTensor<T>& grad, const LocalTensor<T>& src,
                 const LocalTensor<uint8_t>* tmp, const SoftMaxTiling& tiling,
                 const SoftMaxShapeInfo& info, Loc loc) {
    SoftmaxCall c = {};
    c.api = api;
    c.kind = kind;
    c.nz = nz;
    c.type = c.rowType = kDTypeOf<PrimT<T>>;
    c.dst = &dst;
    c.src = &src;
    c.inMax = &grad;
    c.tmp = tmp;
    c.loc = loc;
    Shape(c, src, tiling, info);
    RunSoftmax(c);
}
}  // namespace softmax_detail

// dst = (grad - rowsum(grad * src)) * src, or the row sums alone when isFront.
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
__aicore__ inline void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad,
                                   const LocalTensor<T>& src, const SoftMaxTiling& tiling,
                                   bool isFront = false, const SoftMaxShapeInfo& info = {},
                                   Loc loc = Loc::Here()) {
    using ascendc_emu::SoftmaxKind;
    softmax_detail::Grad(ascendc_emu::Api::kSoftmaxGrad,
                         isFront ? SoftmaxKind::kGradFront : SoftmaxKind::kGrad, isDataFormatNZ,
                         dst, grad, src, nullptr, tiling, info, loc);
}
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
__aicore__ inline void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad,
                                   const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                                   const SoftMaxTiling& tiling, bool isFront = false,
                                   const SoftMaxShapeInfo& info = {}, Loc loc = Loc::Here()) {
    using ascendc_emu::SoftmaxKind;
    softmax_detail::Grad(ascendc_emu::Api::kSoftmaxGrad,
                         isFront ? SoftmaxKind::kGradFront : SoftmaxKind::kGrad, isDataFormatNZ,
                         dst, grad, src, &tmp, tiling, info, loc);
}
template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false>
__aicore__ inline void SoftmaxGradFront(const LocalTensor<T>& dst, const LocalTensor<T>& grad,
                                        const LocalTensor<T>& src, const SoftMaxTiling& tiling,
                                        const SoftMaxShapeInfo& info = {}, Loc loc = Loc::Here()) {
    softmax_detail::Grad(ascendc_emu::Api::kSoftmaxGradFront, ascendc_emu::SoftmaxKind::kGradFront,
                         isDataFormatNZ, dst, grad, src, nullptr, tiling, info, loc);
}
template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false>
__aicore__ inline void SoftmaxGradFront(const LocalTensor<T>& dst, const LocalTensor<T>& grad,
                                        const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                                        const SoftMaxTiling& tiling,
                                        const SoftMaxShapeInfo& info = {}, Loc loc = Loc::Here()) {
    softmax_detail::Grad(ascendc_emu::Api::kSoftmaxGradFront, ascendc_emu::SoftmaxKind::kGradFront,
                         isDataFormatNZ, dst, grad, src, &tmp, tiling, info, loc);
}

template <typename T1, typename T2, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
__aicore__ inline bool AdjustSoftMaxRes(const LocalTensor<T1>& res, const LocalTensor<T2>& max,
                                        const uint32_t from, const T1 to,
                                        const SoftMaxShapeInfo& info, Loc loc = Loc::Here()) {
    using ascendc_emu::kDTypeOf;
    return ascendc_emu::RunAdjustSoftmax(res, kDTypeOf<PrimT<T1>>, max, kDTypeOf<PrimT<T2>>, from,
                                         double(float(to)), info.srcM, info.srcK, isDataFormatNZ,
                                         stepSizeMode, loc);
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_ADV_SOFTMAX_API_H
