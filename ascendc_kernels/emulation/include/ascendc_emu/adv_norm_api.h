// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// High-level normalisation. Source: asc-devkit docs, high-level API (归一化操作). Everything is
// computed in float32 or better and rounded once to the element type.
#ifndef ASCENDC_EMU_ADV_NORM_API_H
#define ASCENDC_EMU_ADV_NORM_API_H

#include "ascendc_emu/adv.h"
#include "ascendc_emu/adv_config.h"
#include "ascendc_emu/adv_tensor_api.h"
#include "kernel_tiling/kernel_tiling.h"

namespace ascendc_emu {

// Rows of `stride` elements of which `columns` count; null operands are absent.
struct NormCall {
    Api api;
    DType type;      // dst, src, residual
    DType statType;  // mean, deviation
    DType gainType;  // gamma, beta
    const TensorRef* dst;
    const TensorRef* mean;
    const TensorRef* deviation;
    const TensorRef* src;
    const TensorRef* residual;  // DeepNorm: normalises alpha * src + residual
    const TensorRef* gamma;
    const TensorRef* beta;
    const TensorRef* tmp;
    double alpha, epsilon;
    uint32_t rows, columns, stride;
    bool rootMeanSquare;  // no mean is subtracted
    bool reciprocal;      // deviation is 1 / sqrt(variance + epsilon), else the variance
    bool given;           // mean and variance are inputs; `rstd` is the output
    const TensorRef* rstd;
    Loc loc;
};
void RunNorm(const NormCall& call);

// [B, plane]: normalised over B, gamma and beta per B.
void RunBatchNorm(const NormCall& call);
// [n, groups * depth, plane (stride apart)]: normalised over depth * plane, gamma and beta per
// channel.
void RunGroupNorm(const NormCall& call, uint32_t n, uint32_t groups, uint32_t depth);

struct NormGradCall {
    DType type;
    const TensorRef* dx;
    const TensorRef* forGamma;
    const TensorRef* dy;
    const TensorRef* x;
    const TensorRef* variance;
    const TensorRef* mean;
    const TensorRef* gamma;
    const TensorRef* tmp;
    double epsilon;
    uint32_t rows, columns, stride;
    Loc loc;
};
void RunLayerNormGrad(const NormGradCall& call);
void RunLayerNormGradBeta(DType type, const TensorRef& dGamma, const TensorRef& dBeta,
                          const TensorRef& forGamma, const TensorRef& dy, const TensorRef* tmp,
                          uint32_t rows, uint32_t columns, uint32_t stride, Loc loc);

struct WelfordCall {
    Api api;
    DType type;  // of x
    const TensorRef* outMean;
    const TensorRef* outVariance;
    const TensorRef* inMean;
    const TensorRef* inVariance;
    const TensorRef* x;       // update
    const TensorRef* counts;  // finalize; null: equal, or by head and tail
    const TensorRef* tmp;
    uint32_t rows, length, used;
    bool inPlace;
    double factor;  // update: 1 / n
    double meanFactor, varianceFactor, repeat;
    uint32_t head, headLength, tail, tailLength;
    Loc loc;
};
void RunWelfordUpdate(const WelfordCall& call);
void RunWelfordFinalize(const WelfordCall& call);

}  // namespace ascendc_emu

namespace AscendC {

namespace adv_detail {
// Columns that count: the original length when the tiling tells one.
inline uint32_t Original(uint32_t original, uint32_t padded) {
    return original != 0 && original <= padded ? original : padded;
}
template <typename T>
inline ascendc_emu::NormCall Norm(ascendc_emu::Api api, const LocalTensor<T>& dst,
                                  const LocalTensor<T>& src, const LocalTensor<uint8_t>* tmp,
                                  Loc loc) {
    ascendc_emu::NormCall c = {};
    c.api = api;
    c.type = c.statType = c.gainType = ascendc_emu::kDTypeOf<PrimT<T>>;
    c.dst = &dst;
    c.src = &src;
    c.tmp = tmp;
    c.alpha = 1;
    c.loc = loc;
    return c;
}
template <typename T>
inline void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& mean,
                      const LocalTensor<T>& variance, const LocalTensor<T>& x,
                      const LocalTensor<T>& gamma, const LocalTensor<T>& beta,
                      const LocalTensor<uint8_t>* tmp, double epsilon,
                      const LayerNormTiling& tiling, Loc loc) {
    ascendc_emu::NormCall c = Norm(ascendc_emu::Api::kLayerNorm, output, x, tmp, loc);
    c.mean = &mean;
    c.deviation = &variance;
    c.gamma = &gamma;
    c.beta = &beta;
    c.epsilon = epsilon;
    c.rows = tiling.bLength * tiling.sLength;
    c.stride = tiling.hLength;
    c.columns = Original(tiling.originalHLength, tiling.hLength);
    ascendc_emu::RunNorm(c);
}
template <typename T>
inline void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                    const LocalTensor<T>& gamma, const LocalTensor<uint8_t>* tmp, double epsilon,
                    const RmsNormTiling& tiling, Loc loc) {
    ascendc_emu::NormCall c = Norm(ascendc_emu::Api::kRmsNorm, dst, src, tmp, loc);
    c.gamma = &gamma;
    c.epsilon = epsilon;
    c.rootMeanSquare = true;
    c.rows = tiling.bLength * tiling.sLength;
    c.stride = tiling.hLength;
    c.columns = Original(tiling.originalHLength, tiling.hLength);
    ascendc_emu::RunNorm(c);
}
template <typename T>
inline void DeepNorm(const LocalTensor<T>& dst, const LocalTensor<T>& mean,
                     const LocalTensor<T>& rstd, const LocalTensor<T>& src,
                     const LocalTensor<T>& gx, const LocalTensor<T>& beta,
                     const LocalTensor<T>& gamma, const LocalTensor<uint8_t>* tmp, double alpha,
                     double epsilon, const DeepNormTiling& tiling, Loc loc) {
    ascendc_emu::NormCall c = Norm(ascendc_emu::Api::kDeepNorm, dst, src, tmp, loc);
    c.mean = &mean;
    // Documented as the reciprocal deviation, but the official example checks it for the variance.
    c.deviation = &rstd;
    c.residual = &gx;
    c.gamma = &gamma;
    c.beta = &beta;
    c.alpha = alpha;
    c.epsilon = epsilon;
    c.rows = tiling.bLength * tiling.sLength;
    c.stride = tiling.hLength;
    c.columns = Original(tiling.originalHLength, tiling.hLength);
    ascendc_emu::RunNorm(c);
}
template <typename T>
inline void BatchNorm(const LocalTensor<T>& output, const LocalTensor<T>& mean,
                      const LocalTensor<T>& variance, const LocalTensor<T>& x,
                      const LocalTensor<T>& gamma, const LocalTensor<T>& beta,
                      const LocalTensor<uint8_t>* tmp, double epsilon,
                      const BatchNormTiling& tiling, Loc loc) {
    ascendc_emu::NormCall c = Norm(ascendc_emu::Api::kBatchNorm, output, x, tmp, loc);
    c.mean = &mean;
    c.deviation = &variance;
    c.gamma = &gamma;
    c.beta = &beta;
    c.epsilon = epsilon;
    c.rows = tiling.originalBLength;
    c.columns = c.stride = tiling.meanVarSize;
    ascendc_emu::RunBatchNorm(c);
}
template <typename T>
inline void GroupNorm(const LocalTensor<T>& output, const LocalTensor<T>& mean,
                      const LocalTensor<T>& variance, const LocalTensor<T>& x,
                      const LocalTensor<T>& gamma, const LocalTensor<T>& beta,
                      const LocalTensor<uint8_t>* tmp, double epsilon,
                      const GroupNormTiling& tiling, Loc loc) {
    ascendc_emu::NormCall c = Norm(ascendc_emu::Api::kGroupNorm, output, x, tmp, loc);
    c.mean = &mean;
    c.deviation = &variance;
    c.gamma = &gamma;
    c.beta = &beta;
    c.epsilon = epsilon;
    c.rows = tiling.n * tiling.g;
    c.columns = tiling.hw;
    c.stride = tiling.hwAlignSize;
    ascendc_emu::RunGroupNorm(c, tiling.n, tiling.g, tiling.d);
}
template <typename T>
inline void LayerNormGrad(const LocalTensor<T>& dx, const LocalTensor<T>& forGamma,
                          const LocalTensor<T>& dy, const LocalTensor<T>& x,
                          const LocalTensor<T>& variance, const LocalTensor<T>& mean,
                          const LocalTensor<T>& gamma, const LocalTensor<uint8_t>* tmp,
                          double epsilon, const LayerNormGradTiling& t, Loc loc) {
    ascendc_emu::RunLayerNormGrad({ascendc_emu::kDTypeOf<PrimT<T>>, &dx, &forGamma, &dy, &x,
                                   &variance, &mean, &gamma, tmp, epsilon, t.bLength * t.sLength,
                                   Original(t.originalHLength, t.hLength), t.hLength, loc});
}
}  // namespace adv_detail

#define OPGEN_NORM_BSH(NAME, TILING)                                                              \
    template <typename T, bool isReuseSource = false, bool isBasicBlock = false>                  \
    __aicore__ inline void NAME(                                                                  \
        const LocalTensor<T>& output, const LocalTensor<T>& outputMean,                           \
        const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,                       \
        const LocalTensor<T>& gamma, const LocalTensor<T>& beta, const LocalTensor<uint8_t>& tmp, \
        const PrimT<T> epsilon, const TILING& tiling, Loc loc = Loc::Here()) {                    \
        adv_detail::NAME(output, outputMean, outputVariance, inputX, gamma, beta, &tmp,           \
                         ascendc_emu::AdvScalar(epsilon), tiling, loc);                           \
    }                                                                                             \
    template <typename T, bool isReuseSource = false, bool isBasicBlock = false>                  \
    __aicore__ inline void NAME(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,   \
                                const LocalTensor<T>& outputVariance,                             \
                                const LocalTensor<T>& inputX, const LocalTensor<T>& gamma,        \
                                const LocalTensor<T>& beta, const PrimT<T> epsilon,               \
                                const TILING& tiling, Loc loc = Loc::Here()) {                    \
        adv_detail::NAME(output, outputMean, outputVariance, inputX, gamma, beta,                 \
                         static_cast<const LocalTensor<uint8_t>*>(nullptr),                       \
                         ascendc_emu::AdvScalar(epsilon), tiling, loc);                           \
    }
OPGEN_NORM_BSH(LayerNorm, LayerNormTiling)
OPGEN_NORM_BSH(BatchNorm, BatchNormTiling)
OPGEN_NORM_BSH(GroupNorm, GroupNormTiling)
#undef OPGEN_NORM_BSH

template <typename T, bool isBasicBlock = false>
__aicore__ inline void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<T>& gamma, const LocalTensor<uint8_t>& tmp,
                               const PrimT<T> epsilon, const RmsNormTiling& tiling,
                               Loc loc = Loc::Here()) {
    adv_detail::RmsNorm(dst, src, gamma, &tmp, ascendc_emu::AdvScalar(epsilon), tiling, loc);
}
template <typename T, bool isBasicBlock = false>
__aicore__ inline void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<T>& gamma, const PrimT<T> epsilon,
                               const RmsNormTiling& tiling, Loc loc = Loc::Here()) {
    adv_detail::RmsNorm(dst, src, gamma, nullptr, ascendc_emu::AdvScalar(epsilon), tiling, loc);
}
template <typename T, bool isReuseSrc = false, bool isBasicBlock = false>
__aicore__ inline void DeepNorm(const LocalTensor<T>& dst, const LocalTensor<T>& mean,
                                const LocalTensor<T>& rstd, const LocalTensor<T>& src,
                                const LocalTensor<T>& gx, const LocalTensor<T>& beta,
                                const LocalTensor<T>& gamma, const LocalTensor<uint8_t>& tmp,
                                const PrimT<T> alpha, const PrimT<T> epsilon,
                                const DeepNormTiling& tiling, Loc loc = Loc::Here()) {
    adv_detail::DeepNorm(dst, mean, rstd, src, gx, beta, gamma, &tmp, ascendc_emu::AdvScalar(alpha),
                         ascendc_emu::AdvScalar(epsilon), tiling, loc);
}
template <typename T, bool isReuseSrc = false, bool isBasicBlock = false>
__aicore__ inline void DeepNorm(const LocalTensor<T>& dst, const LocalTensor<T>& mean,
                                const LocalTensor<T>& rstd, const LocalTensor<T>& src,
                                const LocalTensor<T>& gx, const LocalTensor<T>& beta,
                                const LocalTensor<T>& gamma, const PrimT<T> alpha,
                                const PrimT<T> epsilon, const DeepNormTiling& tiling,
                                Loc loc = Loc::Here()) {
    adv_detail::DeepNorm(dst, mean, rstd, src, gx, beta, gamma, nullptr,
                         ascendc_emu::AdvScalar(alpha), ascendc_emu::AdvScalar(epsilon), tiling,
                         loc);
}

struct LayerNormGradShapeInfo {
    DataFormat dataFormat = DataFormat::ND;
};
template <typename T, bool isReuseSource = false>
__aicore__ inline void LayerNormGrad(
    const LocalTensor<T>& outputPdX, const LocalTensor<T>& resForGamma,
    const LocalTensor<T>& inputDy, const LocalTensor<T>& inputX,
    const LocalTensor<T>& inputVariance, const LocalTensor<T>& inputMean,
    const LocalTensor<T>& inputGamma, const LocalTensor<uint8_t>& tmp, PrimT<T> epsilon,
    const LayerNormGradTiling& tiling, const LayerNormGradShapeInfo& shapeInfo = {},
    Loc loc = Loc::Here()) {
    (void)shapeInfo;
    adv_detail::LayerNormGrad(outputPdX, resForGamma, inputDy, inputX, inputVariance, inputMean,
                              inputGamma, &tmp, ascendc_emu::AdvScalar(epsilon), tiling, loc);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void LayerNormGrad(
    const LocalTensor<T>& outputPdX, const LocalTensor<T>& resForGamma,
    const LocalTensor<T>& inputDy, const LocalTensor<T>& inputX,
    const LocalTensor<T>& inputVariance, const LocalTensor<T>& inputMean,
    const LocalTensor<T>& inputGamma, PrimT<T> epsilon, const LayerNormGradTiling& tiling,
    const LayerNormGradShapeInfo& shapeInfo = {}, Loc loc = Loc::Here()) {
    (void)shapeInfo;
    adv_detail::LayerNormGrad(outputPdX, resForGamma, inputDy, inputX, inputVariance, inputMean,
                              inputGamma, nullptr, ascendc_emu::AdvScalar(epsilon), tiling, loc);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void LayerNormGradBeta(
    const LocalTensor<T>& outputPdGamma, const LocalTensor<T>& outputPdBeta,
    const LocalTensor<T>& resForGamma, const LocalTensor<T>& inputDy,
    const LocalTensor<uint8_t>& tmp, const LayerNormGradBetaTiling& tiling, Loc loc = Loc::Here()) {
    ascendc_emu::RunLayerNormGradBeta(ascendc_emu::kDTypeOf<PrimT<T>>, outputPdGamma, outputPdBeta,
                                      resForGamma, inputDy, &tmp, tiling.bLength * tiling.sLength,
                                      adv_detail::Original(tiling.originalHLength, tiling.hLength),
                                      tiling.hLength, loc);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void LayerNormGradBeta(const LocalTensor<T>& outputPdGamma,
                                         const LocalTensor<T>& outputPdBeta,
                                         const LocalTensor<T>& resForGamma,
                                         const LocalTensor<T>& inputDy,
                                         const LayerNormGradBetaTiling& tiling,
                                         Loc loc = Loc::Here()) {
    ascendc_emu::RunLayerNormGradBeta(
        ascendc_emu::kDTypeOf<PrimT<T>>, outputPdGamma, outputPdBeta, resForGamma, inputDy, nullptr,
        tiling.bLength * tiling.sLength,
        adv_detail::Original(tiling.originalHLength, tiling.hLength), tiling.hLength, loc);
}

// LayerNorm of [A, R] that also gives the reciprocal standard deviation (or the variance).
struct LayerNormConfig {
    bool isNoBeta = false;
    bool isNoGamma = false;
    bool isOnlyOutput = false;
    bool isOutputRstd = true;
};
constexpr LayerNormConfig LNCFG_NORM = {false, false, false, true};
constexpr LayerNormConfig LNCFG_NOBETA = {true, false, false, true};
constexpr LayerNormConfig LNCFG_NOGAMMA = {false, true, false, true};
constexpr LayerNormConfig LNCFG_ONLYOUTPUT = {false, false, true, true};
constexpr LayerNormConfig LNCFG_NOBETAGAMMA = {true, true, false, true};
struct LayerNormPara {
    uint32_t aLength;
    uint32_t rLength;
    uint32_t rLengthWithPadding;
};
struct NormalizeConfig {
    ReducePattern reducePattern = ReducePattern::AR;
    int32_t aLength = -1;
    bool isNoBeta = false;
    bool isNoGamma = false;
    bool isOnlyOutput = false;
};
constexpr NormalizeConfig NLCFG_NORM = {ReducePattern::AR, -1, false, false, false};
constexpr NormalizeConfig NLCFG_NOBETA = {ReducePattern::AR, -1, true, false, false};
constexpr NormalizeConfig NLCFG_NOGAMMA = {ReducePattern::AR, -1, false, true, false};
struct NormalizePara {
    uint32_t aLength;
    uint32_t rLength;
    uint32_t rLengthWithPadding;
};

namespace adv_detail {
template <typename U, typename T, typename Config, typename Para>
inline ascendc_emu::NormCall NormRows(ascendc_emu::Api api, const Config& config,
                                      const LocalTensor<T>& output, const LocalTensor<float>& mean,
                                      const LocalTensor<T>& x, const LocalTensor<U>& gamma,
                                      const LocalTensor<U>& beta, float epsilon,
                                      const LocalTensor<uint8_t>* tmp, const Para& para, Loc loc) {
    ascendc_emu::NormCall c = Norm(api, output, x, tmp, loc);
    c.statType = ascendc_emu::DType::kF32;
    c.gainType = ascendc_emu::kDTypeOf<PrimT<U>>;
    c.mean = &mean;
    c.gamma = config.isNoGamma ? nullptr : &gamma;
    c.beta = config.isNoBeta ? nullptr : &beta;
    c.epsilon = static_cast<double>(epsilon);
    c.rows = para.aLength;
    c.columns = para.rLength;
    c.stride = para.rLengthWithPadding;
    return c;
}
}  // namespace adv_detail

#define OPGEN_NORM_ROWS(TMP, PASS)                                                                 \
    template <typename U, typename T, bool isReuseSource = false,                                  \
              const LayerNormConfig& config = LNCFG_NORM>                                          \
    __aicore__ inline void LayerNorm(                                                              \
        const LocalTensor<T>& output, const LocalTensor<float>& outputMean,                        \
        const LocalTensor<float>& outputRstd, const LocalTensor<T>& inputX,                        \
        const LocalTensor<U>& gamma, const LocalTensor<U>& beta, const float epsilon TMP,          \
        const LayerNormPara& para, const LayerNormSeparateTiling& tiling, Loc loc = Loc::Here()) { \
        (void)tiling;                                                                              \
        ascendc_emu::NormCall c =                                                                  \
            adv_detail::NormRows(ascendc_emu::Api::kLayerNorm, config, output, outputMean, inputX, \
                                 gamma, beta, epsilon, PASS, para, loc);                           \
        c.deviation = &outputRstd;                                                                 \
        c.reciprocal = config.isOutputRstd;                                                        \
        ascendc_emu::RunNorm(c);                                                                   \
    }
#define OPGEN_TMP_PARAM , const LocalTensor<uint8_t>& tmp
OPGEN_NORM_ROWS(OPGEN_TMP_PARAM, &tmp)
OPGEN_NORM_ROWS(, nullptr)
#undef OPGEN_NORM_ROWS

#define OPGEN_NORMALIZE(TMP, PASS)                                                                 \
    template <typename U, typename T, bool isReuseSource = false,                                  \
              const NormalizeConfig& config = NLCFG_NORM>                                          \
    __aicore__ inline void Normalize(                                                              \
        const LocalTensor<T>& output, const LocalTensor<float>& outputRstd,                        \
        const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance,              \
        const LocalTensor<T>& inputX, const LocalTensor<U>& gamma, const LocalTensor<U>& beta TMP, \
        const float epsilon, const NormalizePara& para, Loc loc = Loc::Here()) {                   \
        ascendc_emu::NormCall c =                                                                  \
            adv_detail::NormRows(ascendc_emu::Api::kNormalize, config, output, inputMean, inputX,  \
                                 gamma, beta, epsilon, PASS, para, loc);                           \
        c.deviation = &inputVariance;                                                              \
        c.given = true;                                                                            \
        c.rstd = config.isOnlyOutput ? nullptr : &outputRstd;                                      \
        ascendc_emu::RunNorm(c);                                                                   \
    }
OPGEN_NORMALIZE(OPGEN_TMP_PARAM, &tmp)
OPGEN_NORMALIZE(, nullptr)
#undef OPGEN_NORMALIZE
#undef OPGEN_TMP_PARAM

struct WelfordUpdateConfig {
    bool isInplace = false;  // beyond abComputeLength the inputs are copied
};
constexpr WelfordUpdateConfig WFUPDATE_DEFAULT_CFG = {false};
struct WelfordUpdateParam {
    uint32_t rnLength;
    uint32_t abLength;
    uint32_t abComputeLength;
    float nRec;
};
struct WelfordFinalizeConfig {
    bool isCorrection = false;
};
constexpr WelfordFinalizeConfig WFFINALIZE_DEFAULT_CFG = {false};
struct WelfordFinalizePara {
    uint32_t rnLength;
    uint32_t abLength;
    uint32_t headCount;
    uint32_t headCountLength;
    uint32_t tailCount;
    uint32_t tailCountLength;
    float abRec;
    float rRec;
    float rRecWithCorrection;
};

namespace adv_detail {
template <typename T, typename U>
inline void WelfordUpdate(const LocalTensor<U>& outMean, const LocalTensor<U>& outVariance,
                          const LocalTensor<U>& inMean, const LocalTensor<U>& inVariance,
                          const LocalTensor<T>& x, const LocalTensor<uint8_t>* tmp,
                          const WelfordUpdateParam& p, bool inPlace, Loc loc) {
    static_assert(ascendc_emu::kDTypeOf<PrimT<U>> == ascendc_emu::DType::kF32,
                  "WelfordUpdate keeps mean and variance in float");
    ascendc_emu::WelfordCall c = {};
    c.api = ascendc_emu::Api::kWelfordUpdate;
    c.type = ascendc_emu::kDTypeOf<PrimT<T>>;
    c.outMean = &outMean;
    c.outVariance = &outVariance;
    c.inMean = &inMean;
    c.inVariance = &inVariance;
    c.x = &x;
    c.tmp = tmp;
    c.rows = p.rnLength;
    c.length = p.abLength;
    c.used = p.abComputeLength;
    c.inPlace = inPlace;
    c.factor = static_cast<double>(p.nRec);
    c.loc = loc;
    ascendc_emu::RunWelfordUpdate(c);
}
inline void WelfordFinalize(const LocalTensor<float>& outMean,
                            const LocalTensor<float>& outVariance, const LocalTensor<float>& inMean,
                            const LocalTensor<float>& inVariance,
                            const LocalTensor<int32_t>* counts, const LocalTensor<uint8_t>* tmp,
                            const WelfordFinalizePara& p, bool corrected, Loc loc) {
    ascendc_emu::WelfordCall c = {};
    c.api = ascendc_emu::Api::kWelfordFinalize;
    c.outMean = &outMean;
    c.outVariance = &outVariance;
    c.inMean = &inMean;
    c.inVariance = &inVariance;
    c.counts = counts;
    c.tmp = tmp;
    c.length = p.abLength;
    c.repeat = p.rnLength;
    c.meanFactor = static_cast<double>(p.abRec);
    c.factor = static_cast<double>(p.rRec);
    c.varianceFactor = static_cast<double>(corrected ? p.rRecWithCorrection : p.rRec);
    c.head = p.headCount;
    c.headLength = p.headCountLength;
    c.tail = p.tailCount;
    c.tailLength = p.tailCountLength;
    c.loc = loc;
    ascendc_emu::RunWelfordFinalize(c);
}
}  // namespace adv_detail

template <typename T, typename U, bool isReuseSource = false,
          const WelfordUpdateConfig& config = WFUPDATE_DEFAULT_CFG>
__aicore__ inline void WelfordUpdate(const LocalTensor<U>& outputMean,
                                     const LocalTensor<U>& outputVariance,
                                     const LocalTensor<U>& inputMean,
                                     const LocalTensor<U>& inputVariance,
                                     const LocalTensor<T>& inputX, const LocalTensor<uint8_t>& tmp,
                                     const WelfordUpdateParam& para, Loc loc = Loc::Here()) {
    adv_detail::WelfordUpdate(outputMean, outputVariance, inputMean, inputVariance, inputX, &tmp,
                              para, config.isInplace, loc);
}
template <typename T, typename U, bool isReuseSource = false,
          const WelfordUpdateConfig& config = WFUPDATE_DEFAULT_CFG>
__aicore__ inline void WelfordUpdate(const LocalTensor<U>& outputMean,
                                     const LocalTensor<U>& outputVariance,
                                     const LocalTensor<U>& inputMean,
                                     const LocalTensor<U>& inputVariance,
                                     const LocalTensor<T>& inputX, const WelfordUpdateParam& para,
                                     Loc loc = Loc::Here()) {
    adv_detail::WelfordUpdate(outputMean, outputVariance, inputMean, inputVariance, inputX,
                              static_cast<const LocalTensor<uint8_t>*>(nullptr), para,
                              config.isInplace, loc);
}
#define OPGEN_WELFORD_FINALIZE(COUNTS, PASS_COUNTS, TMP, PASS_TMP)                               \
    template <bool isReuseSource = false,                                                        \
              const WelfordFinalizeConfig& config = WFFINALIZE_DEFAULT_CFG>                      \
    __aicore__ inline void WelfordFinalize(                                                      \
        const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance,          \
        const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance COUNTS TMP, \
        const WelfordFinalizePara& para, Loc loc = Loc::Here()) {                                \
        adv_detail::WelfordFinalize(outputMean, outputVariance, inputMean, inputVariance,        \
                                    PASS_COUNTS, PASS_TMP, para, config.isCorrection, loc);      \
    }
#define OPGEN_COUNTS_PARAM , const LocalTensor<int32_t>& counts
#define OPGEN_TMP_PARAM , const LocalTensor<uint8_t>& tmp
OPGEN_WELFORD_FINALIZE(OPGEN_COUNTS_PARAM, &counts, OPGEN_TMP_PARAM, &tmp)
OPGEN_WELFORD_FINALIZE(, nullptr, OPGEN_TMP_PARAM, &tmp)
OPGEN_WELFORD_FINALIZE(OPGEN_COUNTS_PARAM, &counts, , nullptr)
OPGEN_WELFORD_FINALIZE(, nullptr, , nullptr)
#undef OPGEN_COUNTS_PARAM
#undef OPGEN_TMP_PARAM
#undef OPGEN_WELFORD_FINALIZE

}  // namespace AscendC
#endif  // ASCENDC_EMU_ADV_NORM_API_H
