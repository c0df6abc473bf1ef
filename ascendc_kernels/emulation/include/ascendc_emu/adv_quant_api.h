// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Quantisation of the high-level API on arch 2201. Source: asc-devkit docs, high-level API
// (量化操作).
#ifndef ASCENDC_EMU_ADV_QUANT_API_H
#define ASCENDC_EMU_ADV_QUANT_API_H

#include "ascendc_emu/adv.h"
#include "ascendc_emu/adv_tensor_api.h"

namespace ascendc_emu {

// dst[i] = int8(half(src[i]) * scale + offset), every step in half as documented.
struct QuantCall {
    DType type;
    const TensorRef* dst;
    const TensorRef* src;
    const TensorRef* tmp;
    const TensorRef* scale;   // null: scale0
    const TensorRef* offset;  // null: offset0
    double scale0, offset0;
    uint32_t scaleCount, offsetCount, count;
    Loc loc;
};
void RunAscendQuant(const QuantCall& call);

// dst[i][j] = float(src[i][j]) * scale[j].
struct DequantCall {
    DType dstType, scaleType;
    const TensorRef* dst;
    const TensorRef* src;
    const TensorRef* tmp;
    const TensorRef* scale;  // null: scale0
    double scale0;
    uint32_t m, n, count;
    bool singleRow;  // {1, n, count} means {n / count, count, count}
    Loc loc;
};
void RunAscendDequant(const DequantCall& call);

// dst[i][j] = (src[i][j] + offset) * scale, by groups along k.
struct AntiQuantCall {
    DType srcType, dstType;
    bool transposed;  // src is [n, k] instead of [k, n]
    const TensorRef* dst;
    const TensorRef* src;
    const TensorRef* tmp;
    const TensorRef* scale;   // null: scale0
    const TensorRef* offset;  // null: offset0
    double scale0, offset0;
    uint32_t k, count;
    uint32_t height, width;  // of scale and offset; 0: unknown
    Loc loc;
};
void RunAscendAntiQuant(const AntiQuantCall& call);

}  // namespace ascendc_emu

namespace AscendC {

struct AscendQuantConfig {
    uint32_t calcCount = 0;
    uint32_t offsetCount = 0;
    uint32_t scaleCount = 0;
    uint32_t workLocalSize = 0;
};
constexpr AscendQuantConfig ASCEND_QUANT_DEFAULT_CFG = {0, 0, 0, 0};

namespace adv_detail {
template <typename T>
inline void Quant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src,
                  const LocalTensor<uint8_t>* tmp, const LocalTensor<T>* scale, double scale0,
                  const LocalTensor<T>* offset, double offset0, uint32_t scaleCount,
                  uint32_t offsetCount, uint32_t count, Loc loc) {
    ascendc_emu::RunAscendQuant({ascendc_emu::kDTypeOf<PrimT<T>>, &dst, &src, tmp, scale, offset,
                                 scale0, offset0, scaleCount, offsetCount, count, loc});
}
}  // namespace adv_detail

#define OPGEN_QUANT_HEAD                                                       \
    template <typename T, bool isReuseSource = false, const auto & ... config> \
    __aicore__ inline void
// TMP is the parameter, PASS its pointer.
#define OPGEN_QUANT_FORMS(TMP, PASS)                                                               \
    OPGEN_QUANT_HEAD AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src TMP,    \
                                 const float scale, const float offset, const uint32_t count,      \
                                 Loc loc = Loc::Here()) {                                          \
        adv_detail::Quant<T>(dst, src, PASS, nullptr, scale, nullptr, offset, 0, 0, count, loc);   \
    }                                                                                              \
    OPGEN_QUANT_HEAD AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src TMP,    \
                                 const float scale, const float offset, Loc loc = Loc::Here()) {   \
        adv_detail::Quant<T>(dst, src, PASS, nullptr, scale, nullptr, offset, 0, 0, src.GetSize(), \
                             loc);                                                                 \
    }                                                                                              \
    OPGEN_QUANT_HEAD AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src TMP,    \
                                 const LocalTensor<T>& scale, const PrimT<T> offset,               \
                                 const uint32_t scaleCount, const uint32_t count,                  \
                                 Loc loc = Loc::Here()) {                                          \
        adv_detail::Quant<T>(dst, src, PASS, &scale, 0, nullptr, ascendc_emu::AdvScalar(offset),   \
                             scaleCount, 0, count, loc);                                           \
    }                                                                                              \
    OPGEN_QUANT_HEAD AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src TMP,    \
                                 const LocalTensor<T>& scale, const PrimT<T> offset,               \
                                 Loc loc = Loc::Here()) {                                          \
        adv_detail::Quant<T>(dst, src, PASS, &scale, 0, nullptr, ascendc_emu::AdvScalar(offset),   \
                             scale.GetSize(), 0, src.GetSize(), loc);                              \
    }                                                                                              \
    OPGEN_QUANT_HEAD AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src TMP,    \
                                 const LocalTensor<T>& scale, const LocalTensor<T>& offset,        \
                                 const uint32_t scaleCount, const uint32_t offsetCount,            \
                                 const uint32_t count, Loc loc = Loc::Here()) {                    \
        adv_detail::Quant<T>(dst, src, PASS, &scale, 0, &offset, 0, scaleCount, offsetCount,       \
                             count, loc);                                                          \
    }                                                                                              \
    OPGEN_QUANT_HEAD AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src TMP,    \
                                 const LocalTensor<T>& scale, const LocalTensor<T>& offset,        \
                                 Loc loc = Loc::Here()) {                                          \
        adv_detail::Quant<T>(dst, src, PASS, &scale, 0, &offset, 0, scale.GetSize(),               \
                             offset.GetSize(), src.GetSize(), loc);                                \
    }
#define OPGEN_TMP_PARAM , const LocalTensor<uint8_t>& tmp
OPGEN_QUANT_FORMS(OPGEN_TMP_PARAM, &tmp)
OPGEN_QUANT_FORMS(, nullptr)
#undef OPGEN_QUANT_FORMS
#undef OPGEN_QUANT_HEAD
#undef OPGEN_TMP_PARAM

enum class DeQuantMode { DEQUANT_WITH_SINGLE_ROW = 0, DEQUANT_WITH_MULTI_ROW };
struct DequantParams {
    uint32_t m;
    uint32_t n;
    uint32_t calCount;
};

namespace adv_detail {
template <typename D, typename S>
inline void Dequant(const LocalTensor<D>& dst, const LocalTensor<int32_t>& src,
                    const LocalTensor<S>* scale, double scale0, const LocalTensor<uint8_t>* tmp,
                    const DequantParams& p, DeQuantMode mode, Loc loc) {
    ascendc_emu::RunAscendDequant({ascendc_emu::kDTypeOf<PrimT<D>>, ascendc_emu::kDTypeOf<PrimT<S>>,
                                   &dst, &src, tmp, scale, scale0, p.m, p.n, p.calCount,
                                   mode == DeQuantMode::DEQUANT_WITH_SINGLE_ROW, loc});
}
}  // namespace adv_detail

template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
__aicore__ inline void AscendDequant(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src,
                                     const LocalTensor<scaleT>& deqScale,
                                     const LocalTensor<uint8_t>& tmp, DequantParams params,
                                     Loc loc = Loc::Here()) {
    adv_detail::Dequant(dst, src, &deqScale, 0, &tmp, params, mode, loc);
}
template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
__aicore__ inline void AscendDequant(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src,
                                     const LocalTensor<scaleT>& deqScale, DequantParams params,
                                     Loc loc = Loc::Here()) {
    adv_detail::Dequant(dst, src, &deqScale, 0, nullptr, params, mode, loc);
}
template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
__aicore__ inline void AscendDequant(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src,
                                     const scaleT deqScale, const LocalTensor<uint8_t>& tmp,
                                     DequantParams params, Loc loc = Loc::Here()) {
    adv_detail::Dequant<dstT, scaleT>(dst, src, nullptr, ascendc_emu::AdvScalar(deqScale), &tmp,
                                      params, mode, loc);
}
template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
__aicore__ inline void AscendDequant(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src,
                                     const scaleT deqScale, DequantParams params,
                                     Loc loc = Loc::Here()) {
    adv_detail::Dequant<dstT, scaleT>(dst, src, nullptr, ascendc_emu::AdvScalar(deqScale), nullptr,
                                      params, mode, loc);
}
namespace adv_detail {
constexpr DeQuantMode DequantModeOf(DeQuantMode mode) { return mode; }
// Older versions have a bool in this place, which changes nothing.
constexpr DeQuantMode DequantModeOf(bool) { return DeQuantMode::DEQUANT_WITH_SINGLE_ROW; }
}  // namespace adv_detail

// The older forms without a shape: rows as long as the scale.
template <typename dstT, typename scaleT, auto mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
__aicore__ inline void AscendDequant(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src,
                                     const LocalTensor<scaleT>& deqScale,
                                     const LocalTensor<uint8_t>& tmp, const uint32_t count,
                                     Loc loc = Loc::Here()) {
    adv_detail::Dequant(dst, src, &deqScale, 0, &tmp,
                        DequantParams{1, static_cast<uint32_t>(src.GetSize()), count},
                        adv_detail::DequantModeOf(mode), loc);
}
template <typename dstT, typename scaleT, auto mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
__aicore__ inline void AscendDequant(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src,
                                     const LocalTensor<scaleT>& deqScale, const uint32_t count,
                                     Loc loc = Loc::Here()) {
    adv_detail::Dequant(dst, src, &deqScale, 0, nullptr,
                        DequantParams{1, static_cast<uint32_t>(src.GetSize()), count},
                        adv_detail::DequantModeOf(mode), loc);
}
template <typename dstT, typename scaleT, auto mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
__aicore__ inline void AscendDequant(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src,
                                     const LocalTensor<scaleT>& deqScale,
                                     const LocalTensor<uint8_t>& tmp, Loc loc = Loc::Here()) {
    adv_detail::Dequant(dst, src, &deqScale, 0, &tmp,
                        DequantParams{1, static_cast<uint32_t>(src.GetSize()),
                                      static_cast<uint32_t>(deqScale.GetSize())},
                        adv_detail::DequantModeOf(mode), loc);
}
template <typename dstT, typename scaleT, auto mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
__aicore__ inline void AscendDequant(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src,
                                     const LocalTensor<scaleT>& deqScale, Loc loc = Loc::Here()) {
    adv_detail::Dequant(dst, src, &deqScale, 0, nullptr,
                        DequantParams{1, static_cast<uint32_t>(src.GetSize()),
                                      static_cast<uint32_t>(deqScale.GetSize())},
                        adv_detail::DequantModeOf(mode), loc);
}

struct AntiQuantShapeInfo {
    uint32_t offsetHeight{0};
    uint32_t offsetWidth{0};
    uint32_t scaleHeight{0};
    uint32_t scaleWidth{0};
};

namespace adv_detail {
// The shape of scale and offset comes from the argument, else from the tensor.
template <typename In, typename Out, bool transposed>
inline void AntiQuant(const LocalTensor<Out>& dst, const LocalTensor<In>& src,
                      const LocalTensor<Out>* offset, double offset0, const LocalTensor<Out>* scale,
                      double scale0, const LocalTensor<uint8_t>* tmp, uint32_t k,
                      const AntiQuantShapeInfo& info, Loc loc) {
    uint32_t height = info.scaleHeight != 0 ? info.scaleHeight : info.offsetHeight;
    uint32_t width = info.scaleWidth != 0 ? info.scaleWidth : info.offsetWidth;
    const LocalTensor<Out>* const tensors[] = {offset, scale};
    for (const LocalTensor<Out>* t : tensors) {
        if (t == nullptr || (height != 0 && width != 0)) continue;
        const ShapeInfo own = t->GetShapeInfo();
        if (own.shapeDim < 1) continue;
        width = own.shape[own.shapeDim - 1];
        height = own.shapeDim > 1 ? own.shape[own.shapeDim - 2] : 1;
    }
    ascendc_emu::RunAscendAntiQuant({ascendc_emu::kDTypeOf<PrimT<In>>,
                                     ascendc_emu::kDTypeOf<PrimT<Out>>, transposed, &dst, &src, tmp,
                                     scale, offset, scale0, offset0, k,
                                     static_cast<uint32_t>(src.GetSize()), height, width, loc});
}
}  // namespace adv_detail

template <typename InputDataType, typename OutputDataType, bool isTranspose>
__aicore__ inline void AscendAntiQuant(const LocalTensor<OutputDataType>& dst,
                                       const LocalTensor<InputDataType>& src,
                                       const LocalTensor<OutputDataType>& offset,
                                       const LocalTensor<OutputDataType>& scale,
                                       const LocalTensor<uint8_t>& tmp, const uint32_t k,
                                       const AntiQuantShapeInfo& shapeInfo = {},
                                       Loc loc = Loc::Here()) {
    adv_detail::AntiQuant<InputDataType, OutputDataType, isTranspose>(dst, src, &offset, 0, &scale,
                                                                      1, &tmp, k, shapeInfo, loc);
}
template <typename InputDataType, typename OutputDataType, bool isTranspose>
__aicore__ inline void AscendAntiQuant(const LocalTensor<OutputDataType>& dst,
                                       const LocalTensor<InputDataType>& src,
                                       const LocalTensor<OutputDataType>& scale,
                                       const LocalTensor<uint8_t>& tmp, const uint32_t k,
                                       const AntiQuantShapeInfo& shapeInfo = {},
                                       Loc loc = Loc::Here()) {
    adv_detail::AntiQuant<InputDataType, OutputDataType, isTranspose>(dst, src, nullptr, 0, &scale,
                                                                      1, &tmp, k, shapeInfo, loc);
}
template <typename InputDataType, typename OutputDataType, bool isTranspose>
__aicore__ inline void AscendAntiQuant(const LocalTensor<OutputDataType>& dst,
                                       const LocalTensor<InputDataType>& src,
                                       const OutputDataType offset, const OutputDataType scale,
                                       const LocalTensor<uint8_t>& tmp, const uint32_t k,
                                       const AntiQuantShapeInfo& shapeInfo = {},
                                       Loc loc = Loc::Here()) {
    adv_detail::AntiQuant<InputDataType, OutputDataType, isTranspose>(
        dst, src, nullptr, ascendc_emu::AdvScalar(offset), nullptr, ascendc_emu::AdvScalar(scale),
        &tmp, k, shapeInfo, loc);
}
template <typename InputDataType, typename OutputDataType, bool isTranspose>
__aicore__ inline void AscendAntiQuant(const LocalTensor<OutputDataType>& dst,
                                       const LocalTensor<InputDataType>& src,
                                       const OutputDataType scale, const LocalTensor<uint8_t>& tmp,
                                       const uint32_t k, const AntiQuantShapeInfo& shapeInfo = {},
                                       Loc loc = Loc::Here()) {
    adv_detail::AntiQuant<InputDataType, OutputDataType, isTranspose>(
        dst, src, nullptr, 0, nullptr, ascendc_emu::AdvScalar(scale), &tmp, k, shapeInfo, loc);
}

// The same with temporary memory of the framework.
template <typename InputDataType, typename OutputDataType, bool isTranspose>
__aicore__ inline void AscendAntiQuant(const LocalTensor<OutputDataType>& dst,
                                       const LocalTensor<InputDataType>& src,
                                       const LocalTensor<OutputDataType>& offset,
                                       const LocalTensor<OutputDataType>& scale, const uint32_t k,
                                       const AntiQuantShapeInfo& shapeInfo = {},
                                       Loc loc = Loc::Here()) {
    adv_detail::AntiQuant<InputDataType, OutputDataType, isTranspose>(
        dst, src, &offset, 0, &scale, 1, nullptr, k, shapeInfo, loc);
}
template <typename InputDataType, typename OutputDataType, bool isTranspose>
__aicore__ inline void AscendAntiQuant(const LocalTensor<OutputDataType>& dst,
                                       const LocalTensor<InputDataType>& src,
                                       const LocalTensor<OutputDataType>& scale, const uint32_t k,
                                       const AntiQuantShapeInfo& shapeInfo = {},
                                       Loc loc = Loc::Here()) {
    adv_detail::AntiQuant<InputDataType, OutputDataType, isTranspose>(
        dst, src, nullptr, 0, &scale, 1, nullptr, k, shapeInfo, loc);
}
template <typename InputDataType, typename OutputDataType, bool isTranspose>
__aicore__ inline void AscendAntiQuant(const LocalTensor<OutputDataType>& dst,
                                       const LocalTensor<InputDataType>& src,
                                       const OutputDataType offset, const OutputDataType scale,
                                       const uint32_t k, const AntiQuantShapeInfo& shapeInfo = {},
                                       Loc loc = Loc::Here()) {
    adv_detail::AntiQuant<InputDataType, OutputDataType, isTranspose>(
        dst, src, nullptr, ascendc_emu::AdvScalar(offset), nullptr, ascendc_emu::AdvScalar(scale),
        nullptr, k, shapeInfo, loc);
}
template <typename InputDataType, typename OutputDataType, bool isTranspose>
__aicore__ inline void AscendAntiQuant(const LocalTensor<OutputDataType>& dst,
                                       const LocalTensor<InputDataType>& src,
                                       const OutputDataType scale, const uint32_t k,
                                       const AntiQuantShapeInfo& shapeInfo = {},
                                       Loc loc = Loc::Here()) {
    adv_detail::AntiQuant<InputDataType, OutputDataType, isTranspose>(
        dst, src, nullptr, 0, nullptr, ascendc_emu::AdvScalar(scale), nullptr, k, shapeInfo, loc);
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_ADV_QUANT_API_H
