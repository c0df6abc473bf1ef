// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// High-level tensor transformation, index, filter and prefix-sum APIs. Source: asc-devkit docs,
// high-level API (张量变换, 索引计算, 数据过滤, CumSum).
#ifndef ASCENDC_EMU_ADV_TENSOR_API_H
#define ASCENDC_EMU_ADV_TENSOR_API_H

#include "ascendc_emu/adv.h"
#include "ascendc_emu/adv_config.h"
#include "kernel_tiling/kernel_tiling.h"

namespace ascendc_emu {

// A scalar argument of any element type; integers up to 53 bits exactly.
template <typename T>
inline double AdvScalar(T value) {
    if constexpr (std::is_arithmetic<T>::value) {
        return static_cast<double>(value);
    } else {
        return static_cast<double>(static_cast<float>(value));
    }
}

// [srcRows, srcColumns] to [rows, columns]; a size of 1 is repeated.
void RunBroadcast(Api api, DType type, const TensorRef& dst, const TensorRef& src, uint32_t rows,
                  uint32_t columns, uint32_t srcRows, uint32_t srcColumns, const TensorRef* tmp,
                  Loc loc);
void RunArange(Api api, DType type, const TensorRef& dst, double first, double step, int32_t count,
               Loc loc);
struct PadCall {
    Api api;
    DType type;
    const TensorRef* dst;
    const TensorRef* src;
    const TensorRef* tmp;
    uint32_t height, width, validWidth;  // of the source; validWidth < width: padding inside it
    uint32_t left, right;
    int32_t value;
    bool remove;  // UnPad
    Loc loc;
};
void RunPad(const PadCall& call);
// Scene 1 to 7 of the documentation; `dims` is [B, N, S, H/N], or [H, W] for scene 7.
void RunConfusionTranspose(Api api, DType type, const TensorRef& dst, const TensorRef& src,
                           const TensorRef* tmp, uint8_t scene, const uint32_t dims[4], Loc loc);
struct BytesSelectCall {
    DType type, maskType;
    const TensorRef* dst;
    const TensorRef* src;
    const TensorRef* mask;
    const TensorRef* tmp;
    double scalar;
    bool scalarIsFirst;  // chosen where the mask is 0
    uint32_t rows, columns, maskColumns;
    Loc loc;
};
void RunBytesSelect(const BytesSelectCall& call);
void RunDropOut(DType type, const TensorRef& dst, const TensorRef& src, const TensorRef& mask,
                const TensorRef* tmp, double keepProb, uint32_t rows, uint32_t columns,
                uint32_t maskColumns, uint32_t mode, Loc loc);
void RunCumSum(DType type, const TensorRef& dst, const TensorRef* lastRow, const TensorRef& src,
               const TensorRef* tmp, uint32_t rows, uint32_t columns, bool alongLast, Loc loc);

}  // namespace ascendc_emu

namespace AscendC {

#define OPGEN_BROADCAST(NAME)                                                                      \
    template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>                   \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,              \
                                const uint32_t dstShape[dim], const uint32_t srcShape[dim],        \
                                const LocalTensor<uint8_t>& tmp, Loc loc = Loc::Here()) {          \
        static_assert(dim == 1 || dim == 2, #NAME " takes 1 or 2 dimensions");                     \
        static_assert(axis == 0 || axis == 1, #NAME " takes axis 0 or 1");                         \
        ascendc_emu::RunBroadcast(ascendc_emu::Api::k##NAME, ascendc_emu::kDTypeOf<PrimT<T>>, dst, \
                                  src, dim == 2 ? dstShape[0] : 1, dstShape[dim - 1],              \
                                  dim == 2 ? srcShape[0] : 1, srcShape[dim - 1], &tmp, loc);       \
    }                                                                                              \
    template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>                   \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,              \
                                const uint32_t dstShape[dim], const uint32_t srcShape[dim],        \
                                Loc loc = Loc::Here()) {                                           \
        static_assert(dim == 1 || dim == 2, #NAME " takes 1 or 2 dimensions");                     \
        static_assert(axis == 0 || axis == 1, #NAME " takes axis 0 or 1");                         \
        ascendc_emu::RunBroadcast(ascendc_emu::Api::k##NAME, ascendc_emu::kDTypeOf<PrimT<T>>, dst, \
                                  src, dim == 2 ? dstShape[0] : 1, dstShape[dim - 1],              \
                                  dim == 2 ? srcShape[0] : 1, srcShape[dim - 1], nullptr, loc);    \
    }
OPGEN_BROADCAST(Broadcast)
OPGEN_BROADCAST(BroadCast)
#undef OPGEN_BROADCAST

#define OPGEN_ARANGE(NAME)                                                                      \
    template <typename T>                                                                       \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const PrimT<T> firstValue,           \
                                const PrimT<T> diffValue, const int32_t count,                  \
                                Loc loc = Loc::Here()) {                                        \
        ascendc_emu::RunArange(ascendc_emu::Api::k##NAME, ascendc_emu::kDTypeOf<PrimT<T>>, dst, \
                               ascendc_emu::AdvScalar(firstValue),                              \
                               ascendc_emu::AdvScalar(diffValue), count, loc);                  \
    }
OPGEN_ARANGE(Arange)
OPGEN_ARANGE(ArithProgression)
#undef OPGEN_ARANGE

struct PadParams {
    uint16_t leftPad = 0;  // columns
    uint16_t rightPad = 0;
    int32_t padValue = 0;
};
struct UnPadParams {
    uint16_t leftPad = 0;  // has no effect, as documented
    uint16_t rightPad = 0;
};

namespace adv_detail {
template <typename T>
inline void Pad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const PadParams& params,
                const LocalTensor<uint8_t>* tmp, const PadTiling& tiling, Loc loc) {
    ascendc_emu::RunPad({ascendc_emu::Api::kPad, ascendc_emu::kDTypeOf<PrimT<T>>, &dst, &src, tmp,
                         tiling.srcHeight, tiling.srcWidth, tiling.srcOriWidth, params.leftPad,
                         params.rightPad, params.padValue, false, loc});
}
template <typename T>
inline void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const UnPadParams& params,
                  const LocalTensor<uint8_t>* tmp, const UnPadTiling& tiling, Loc loc) {
    ascendc_emu::RunPad({ascendc_emu::Api::kUnPad, ascendc_emu::kDTypeOf<PrimT<T>>, &dst, &src, tmp,
                         tiling.srcHeight, tiling.srcWidth, tiling.srcWidth, 0, params.rightPad, 0,
                         true, loc});
}
template <typename T>
inline void Transpose(ascendc_emu::Api api, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                      const LocalTensor<uint8_t>* tmp, TransposeType type,
                      const ConfusionTransposeTiling& tiling, Loc loc) {
    const uint32_t dims[4] = {tiling.param0, tiling.param1, tiling.param2, tiling.param3};
    ascendc_emu::RunConfusionTranspose(api, ascendc_emu::kDTypeOf<PrimT<T>>, dst, src, tmp,
                                       static_cast<uint8_t>(type), dims, loc);
}
}  // namespace adv_detail

template <typename T>
__aicore__ inline void Pad(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const PadParams& padParams, const LocalTensor<uint8_t>& tmp,
                           const PadTiling& tiling, Loc loc = Loc::Here()) {
    adv_detail::Pad(dst, src, padParams, &tmp, tiling, loc);
}
template <typename T>
__aicore__ inline void Pad(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const PadParams& padParams, const PadTiling& tiling,
                           Loc loc = Loc::Here()) {
    adv_detail::Pad(dst, src, padParams, nullptr, tiling, loc);
}
template <typename T>
__aicore__ inline void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                             const UnPadParams& unPadParams, const LocalTensor<uint8_t>& tmp,
                             const UnPadTiling& tiling, Loc loc = Loc::Here()) {
    adv_detail::UnPad(dst, src, unPadParams, &tmp, tiling, loc);
}
template <typename T>
__aicore__ inline void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                             const UnPadParams& unPadParams, const UnPadTiling& tiling,
                             Loc loc = Loc::Here()) {
    adv_detail::UnPad(dst, src, unPadParams, nullptr, tiling, loc);
}

#define OPGEN_CONFUSION_TRANSPOSE(NAME)                                                          \
    template <typename T>                                                                        \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                const LocalTensor<uint8_t>& tmp, TransposeType transposeType,    \
                                const ConfusionTransposeTiling& tiling, Loc loc = Loc::Here()) { \
        adv_detail::Transpose(ascendc_emu::Api::k##NAME, dst, src, &tmp, transposeType, tiling,  \
                              loc);                                                              \
    }                                                                                            \
    template <typename T>                                                                        \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,            \
                                TransposeType transposeType,                                     \
                                const ConfusionTransposeTiling& tiling, Loc loc = Loc::Here()) { \
        adv_detail::Transpose(ascendc_emu::Api::k##NAME, dst, src,                               \
                              static_cast<const LocalTensor<uint8_t>*>(nullptr), transposeType,  \
                              tiling, loc);                                                      \
    }
OPGEN_CONFUSION_TRANSPOSE(Transpose)
OPGEN_CONFUSION_TRANSPOSE(ConfusionTranspose)
#undef OPGEN_CONFUSION_TRANSPOSE

struct SelectWithBytesMaskShapeInfo {
    __aicore__ SelectWithBytesMaskShapeInfo() {}
    uint32_t firstAxis = 0;
    uint32_t srcLastAxis = 0;
    uint32_t maskLastAxis = 0;
};
// Where the mask element is 0 the first source is taken, else the second.
#define OPGEN_BYTES_SELECT(NAME)                                                                   \
    template <typename T, typename U, bool isReuseMask = true>                                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0,             \
                                PrimT<T> src1, const LocalTensor<U>& mask,                         \
                                const LocalTensor<uint8_t>& tmp,                                   \
                                const SelectWithBytesMaskShapeInfo& info, Loc loc = Loc::Here()) { \
        ascendc_emu::RunBytesSelect({ascendc_emu::kDTypeOf<PrimT<T>>,                              \
                                     ascendc_emu::kDTypeOf<PrimT<U>>, &dst, &src0, &mask, &tmp,    \
                                     ascendc_emu::AdvScalar(src1), false, info.firstAxis,          \
                                     info.srcLastAxis, info.maskLastAxis, loc});                   \
    }                                                                                              \
    template <typename T, typename U, bool isReuseMask = true>                                     \
    __aicore__ inline void NAME(const LocalTensor<T>& dst, PrimT<T> src0,                          \
                                const LocalTensor<T>& src1, const LocalTensor<U>& mask,            \
                                const LocalTensor<uint8_t>& tmp,                                   \
                                const SelectWithBytesMaskShapeInfo& info, Loc loc = Loc::Here()) { \
        ascendc_emu::RunBytesSelect({ascendc_emu::kDTypeOf<PrimT<T>>,                              \
                                     ascendc_emu::kDTypeOf<PrimT<U>>, &dst, &src1, &mask, &tmp,    \
                                     ascendc_emu::AdvScalar(src0), true, info.firstAxis,           \
                                     info.srcLastAxis, info.maskLastAxis, loc});                   \
    }
OPGEN_BYTES_SELECT(Select)
OPGEN_BYTES_SELECT(SelectWithBytesMask)
#undef OPGEN_BYTES_SELECT

struct DropOutShapeInfo {
    __aicore__ DropOutShapeInfo() {}
    uint32_t firstAxis = 0;
    uint32_t srcLastAxis = 0;
    uint32_t maskLastAxis = 0;
};
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
__aicore__ inline void DropOut(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<uint8_t>& mask, const LocalTensor<uint8_t>& tmp,
                               const float keepProb, const DropOutShapeInfo& info,
                               Loc loc = Loc::Here()) {
    ascendc_emu::RunDropOut(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src, mask, &tmp, keepProb,
                            info.firstAxis, info.srcLastAxis, info.maskLastAxis, dropOutMode, loc);
}
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
__aicore__ inline void DropOut(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<uint8_t>& mask, const float keepProb,
                               const DropOutShapeInfo& info, Loc loc = Loc::Here()) {
    ascendc_emu::RunDropOut(ascendc_emu::kDTypeOf<PrimT<T>>, dst, src, mask, nullptr, keepProb,
                            info.firstAxis, info.srcLastAxis, info.maskLastAxis, dropOutMode, loc);
}
// Prepares the registers of the bit mode, for DropOut with isInitBitMode; there are none here.
template <typename T>
__aicore__ inline void DropOutBitModeInit(const LocalTensor<T>& sharedTmpBuffer) {
    (void)sharedTmpBuffer;
}
__aicore__ inline void DropOutBitModeInit() {}

enum class CumSumAlgorithm { CUMSUM_ALGORITHM_LINEBYLINE = 0, CUMSUM_ALGORITHM_SKLANSKY = 1 };
struct CumSumConfig {
    bool isLastAxis{true};
    bool isReuseSource{false};
    bool outputLastRow{false};
    CumSumAlgorithm algorithm{CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE};
};
constexpr CumSumConfig defaultCumSumConfig = {true, false, false,
                                              CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE};
struct CumSumInfo {
    uint32_t outter{0};
    uint32_t inner{0};
};
template <typename T, const CumSumConfig& config = defaultCumSumConfig>
__aicore__ inline void CumSum(const LocalTensor<T>& dst, const LocalTensor<T>& lastRow,
                              const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                              const CumSumInfo& info, Loc loc = Loc::Here()) {
    ascendc_emu::RunCumSum(ascendc_emu::kDTypeOf<PrimT<T>>, dst,
                           config.outputLastRow ? &lastRow : nullptr, src, &tmp, info.outter,
                           info.inner, config.isLastAxis, loc);
}
template <typename T, const CumSumConfig& config = defaultCumSumConfig>
__aicore__ inline void CumSum(const LocalTensor<T>& dst, const LocalTensor<T>& lastRow,
                              const LocalTensor<T>& src, const CumSumInfo& info,
                              Loc loc = Loc::Here()) {
    ascendc_emu::RunCumSum(ascendc_emu::kDTypeOf<PrimT<T>>, dst,
                           config.outputLastRow ? &lastRow : nullptr, src, nullptr, info.outter,
                           info.inner, config.isLastAxis, loc);
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_ADV_TENSOR_API_H
