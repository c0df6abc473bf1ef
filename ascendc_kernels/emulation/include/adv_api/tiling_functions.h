// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host tiling of the high-level APIs: how much temporary space a call wants, and the tiling data
// that the kernel passes on. Source: asc-devkit docs, high-level API, the `... Tiling` pages.
//
// The emulation computes without the temporary buffer, so the sizes are estimates from the number
// of float32 intermediates an API keeps; on a device ask CANN's own functions (same names).
#ifndef ADV_API_TILING_FUNCTIONS_H
#define ADV_API_TILING_FUNCTIONS_H

#include <algorithm>

#include "adv_api/tiling_data.h"
#include "ascendc_emu/adv_config.h"
#include "graph/tensor.h"
#include "graph/types.h"
#include "tiling/platform/platform_ascendc.h"

namespace AscendC {
using TensorShape = ge::Shape;
using TensorDataType = ge::DataType;

// Sizes that CANN's tiling headers leave to host code, in host types; a source that saw the
// device's own first keeps those.
#ifndef ASCC_PARAM_BLOCK_CUBE
#define ASCC_PARAM_BLOCK_CUBE
constexpr uint32_t BLOCK_CUBE = 16;
#endif
#ifndef ASCC_PARAM_ONE_BLK_SIZE
#define ASCC_PARAM_ONE_BLK_SIZE
constexpr uint32_t ONE_BLK_SIZE = 32;
#endif
#ifndef ASCC_PARAM_CUBE_MAX_SIZE
#define ASCC_PARAM_CUBE_MAX_SIZE
constexpr int32_t CUBE_MAX_SIZE = 256;
#endif
}  // namespace AscendC

namespace ascendc_emu {

constexpr uint32_t kRepeatBytes = 256;
constexpr uint32_t kBlockBytes = 32;

inline uint32_t RoundUpTo(uint32_t value, uint32_t unit) {
    return (value + unit - 1) / unit * unit;
}
inline uint32_t Elements(const ge::Shape& shape) {
    const int64_t n = shape.GetShapeSize();
    return n > 0 ? static_cast<uint32_t>(n) : 1;  // a scalar, or empty
}
inline uint32_t DimAt(const ge::Shape& shape, size_t index) {
    return index < shape.GetDimNum() ? static_cast<uint32_t>(shape.GetDim(index)) : 1;
}
// All dimensions but the last; and the last.
inline uint32_t RowsOf(const ge::Shape& shape) {
    uint32_t rows = 1;
    for (size_t i = 0; i + 1 < shape.GetDimNum(); ++i) rows *= DimAt(shape, i);
    return rows;
}
inline uint32_t LastDim(const ge::Shape& shape) {
    return shape.GetDimNum() == 0 ? 1 : DimAt(shape, shape.GetDimNum() - 1);
}

// `nodes` float32 intermediates: one repeat of each at least, all of the data at most.
inline void TmpRange(uint64_t elements, uint32_t nodes, uint32_t extra, uint32_t& maxValue,
                     uint32_t& minValue) {
    minValue = nodes * kRepeatBytes + extra;
    const uint64_t all =
        static_cast<uint64_t>(RoundUpTo(static_cast<uint32_t>(elements) * 4, kRepeatBytes)) *
            nodes +
        extra;
    maxValue = std::max(minValue, static_cast<uint32_t>(std::min<uint64_t>(all, UINT32_MAX / 2)));
}
// The same for row-wise APIs, which keep whole rows.
inline void TmpRows(const ge::Shape& shape, uint32_t nodes, uint32_t& maxValue,
                    uint32_t& minValue) {
    const uint32_t row = RoundUpTo(LastDim(shape) * 4, kBlockBytes) + 2 * kBlockBytes;
    minValue = RoundUpTo(row * nodes, kRepeatBytes);
    maxValue = std::max(minValue, RowsOf(shape) * row * nodes);
}

}  // namespace ascendc_emu

namespace AscendC {

// Elementwise: GetXxxMaxMinTmpSize and GetXxxTmpBufferFactorSize. NODES for half and for float.
#define OPGEN_TMP_FACTOR(NAME, HALF, FLOAT)                                                      \
    inline void Get##NAME##TmpBufferFactorSize(const uint32_t typeSize,                          \
                                               uint32_t& maxLiveNodeCount, uint32_t& extraBuf) { \
        maxLiveNodeCount = typeSize == sizeof(float) ? (FLOAT) : (HALF);                         \
        extraBuf = 0;                                                                            \
    }
#define OPGEN_TMP_ELEMENTWISE(NAME, HALF, FLOAT)                                               \
    OPGEN_TMP_FACTOR(NAME, HALF, FLOAT)                                                        \
    inline void Get##NAME##MaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, \
                                         const bool isReuseSource, uint32_t& maxValue,         \
                                         uint32_t& minValue) {                                 \
        (void)isReuseSource;                                                                   \
        ascendc_emu::TmpRange(ascendc_emu::Elements(srcShape),                                 \
                              typeSize == sizeof(float) ? (FLOAT) : (HALF), 0, maxValue,       \
                              minValue);                                                       \
    }
OPGEN_TMP_ELEMENTWISE(Acos, 6, 4)
OPGEN_TMP_ELEMENTWISE(Acosh, 3, 1)
OPGEN_TMP_ELEMENTWISE(Asin, 6, 4)
OPGEN_TMP_ELEMENTWISE(Asinh, 4, 3)
OPGEN_TMP_ELEMENTWISE(Atan, 6, 5)
OPGEN_TMP_ELEMENTWISE(Atanh, 3, 1)
OPGEN_TMP_ELEMENTWISE(Axpy, 4, 1)
OPGEN_TMP_ELEMENTWISE(Ceil, 2, 1)
OPGEN_TMP_ELEMENTWISE(Clamp, 1, 1)
OPGEN_TMP_ELEMENTWISE(ClampMax, 1, 1)
OPGEN_TMP_ELEMENTWISE(ClampMin, 1, 1)
OPGEN_TMP_ELEMENTWISE(Cosh, 3, 2)
OPGEN_TMP_ELEMENTWISE(Cos, 4, 3)
OPGEN_TMP_ELEMENTWISE(Digamma, 8, 7)
OPGEN_TMP_ELEMENTWISE(Erf, 4, 3)
OPGEN_TMP_ELEMENTWISE(Erfc, 8, 7)
OPGEN_TMP_ELEMENTWISE(Floor, 2, 1)
OPGEN_TMP_ELEMENTWISE(Fmod, 3, 1)
OPGEN_TMP_ELEMENTWISE(Frac, 4, 1)
OPGEN_TMP_ELEMENTWISE(Hypot, 4, 1)
OPGEN_TMP_ELEMENTWISE(Lgamma, 13, 10)
OPGEN_TMP_ELEMENTWISE(Log, 1, 1)
OPGEN_TMP_ELEMENTWISE(Log10, 1, 1)
OPGEN_TMP_ELEMENTWISE(Log2, 2, 1)
OPGEN_TMP_ELEMENTWISE(Sign, 3, 3)
OPGEN_TMP_ELEMENTWISE(Sinh, 4, 3)
OPGEN_TMP_ELEMENTWISE(Sin, 4, 3)
OPGEN_TMP_ELEMENTWISE(Tanh, 4, 1)
OPGEN_TMP_ELEMENTWISE(Tan, 10, 4)
OPGEN_TMP_ELEMENTWISE(Trunc, 2, 1)
OPGEN_TMP_ELEMENTWISE(Xor, 2, 2)
OPGEN_TMP_ELEMENTWISE(GeGLU, 4, 1)
OPGEN_TMP_ELEMENTWISE(ReGlu, 6, 1)
OPGEN_TMP_ELEMENTWISE(Sigmoid, 1, 1)
OPGEN_TMP_ELEMENTWISE(DropOut, 2, 2)
OPGEN_TMP_ELEMENTWISE(ReduceXorSum, 3, 3)
OPGEN_TMP_ELEMENTWISE(WelfordFinalize, 2, 2)
#undef OPGEN_TMP_ELEMENTWISE
OPGEN_TMP_FACTOR(Exp, 4, 2)
OPGEN_TMP_FACTOR(SwiGLU, 4, 2)
OPGEN_TMP_FACTOR(Mean, 2, 2)
#undef OPGEN_TMP_FACTOR

// The 9.x elementwise APIs take the platform too.
#define OPGEN_TMP_PLATFORM(NAME, NODES)                                                           \
    inline void Get##NAME##MaxMinTmpSize(const platform_ascendc::PlatformAscendC& platform,       \
                                         const TensorShape& srcShape, const uint32_t typeSize,    \
                                         const bool isReuseSource, uint32_t& maxValue,            \
                                         uint32_t& minValue) {                                    \
        (void)platform;                                                                           \
        (void)typeSize;                                                                           \
        (void)isReuseSource;                                                                      \
        ascendc_emu::TmpRange(ascendc_emu::Elements(srcShape), NODES, 0, maxValue, minValue);     \
    }                                                                                             \
    inline void Get##NAME##TmpBufferFactorSize(const platform_ascendc::PlatformAscendC& platform, \
                                               const uint32_t typeSize,                           \
                                               uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {  \
        (void)platform;                                                                           \
        (void)typeSize;                                                                           \
        maxLiveNodeCount = NODES;                                                                 \
        extraBuf = 0;                                                                             \
    }
OPGEN_TMP_PLATFORM(BitwiseAnd, 1)
OPGEN_TMP_PLATFORM(BitwiseNot, 1)
OPGEN_TMP_PLATFORM(BitwiseOr, 1)
OPGEN_TMP_PLATFORM(BitwiseXor, 1)
OPGEN_TMP_PLATFORM(Fma, 3)
OPGEN_TMP_PLATFORM(IsInf, 2)
OPGEN_TMP_PLATFORM(IsNan, 2)
OPGEN_TMP_PLATFORM(LogicalAnd, 2)
OPGEN_TMP_PLATFORM(LogicalAnds, 2)
OPGEN_TMP_PLATFORM(LogicalNot, 2)
OPGEN_TMP_PLATFORM(LogicalOr, 2)
OPGEN_TMP_PLATFORM(LogicalOrs, 2)
OPGEN_TMP_PLATFORM(LogicalXor, 2)
OPGEN_TMP_PLATFORM(Rint, 1)
OPGEN_TMP_PLATFORM(Round, 2)
OPGEN_TMP_PLATFORM(SinCos, 4)
OPGEN_TMP_PLATFORM(Where, 2)
#undef OPGEN_TMP_PLATFORM

inline void GetCosMaxMinTmpSize(const CosConfig& config, const TensorShape& srcShape,
                                const uint32_t typeSize, const bool isReuseSource,
                                uint32_t& maxValue, uint32_t& minValue) {
    (void)config;
    GetCosMaxMinTmpSize(srcShape, typeSize, isReuseSource, maxValue, minValue);
}
inline void GetSinMaxMinTmpSize(const SinConfig& config, const TensorShape& srcShape,
                                const uint32_t typeSize, const bool isReuseSource,
                                uint32_t& maxValue, uint32_t& minValue) {
    (void)config;
    GetSinMaxMinTmpSize(srcShape, typeSize, isReuseSource, maxValue, minValue);
}
inline bool GetExpMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) {
    (void)isReuseSource;
    ascendc_emu::TmpRange(ascendc_emu::Elements(srcShape), typeSize == 4 ? 2 : 4, 0, maxValue,
                          minValue);
    return true;
}
inline void GetSiluTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                           const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) {
    GetSigmoidMaxMinTmpSize(srcShape, typeSize, isReuseSource, maxValue, minValue);
}
inline void GetSwishTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                            const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) {
    GetSigmoidMaxMinTmpSize(srcShape, typeSize, isReuseSource, maxValue, minValue);
}
inline void GetSwiGLUMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                   uint32_t& maxValue, uint32_t& minValue,
                                   const bool isReuseSource = false) {
    (void)isReuseSource;
    ascendc_emu::TmpRange(ascendc_emu::Elements(srcShape), typeSize == 4 ? 2 : 4, 0, maxValue,
                          minValue);
}
inline void GetGeluMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                 uint32_t& maxValue, uint32_t& minValue) {
    ascendc_emu::TmpRange(ascendc_emu::Elements(srcShape), typeSize == 4 ? 2 : 4, 0, maxValue,
                          minValue);
}
inline uint32_t GetGeluMaxTmpSize(const TensorShape& srcShape, const uint32_t typeSize) {
    uint32_t high = 0, low = 0;
    GetGeluMaxMinTmpSize(srcShape, typeSize, high, low);
    return high;
}
inline uint32_t GetGeluMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize) {
    uint32_t high = 0, low = 0;
    GetGeluMaxMinTmpSize(srcShape, typeSize, high, low);
    return low;
}
inline void GetPowerMaxMinTmpSize(const TensorShape& srcShape1, const TensorShape& srcShape2,
                                  const bool typeIsInt, const uint32_t typeSize,
                                  const bool isReuseSource, uint32_t& maxValue,
                                  uint32_t& minValue) {
    (void)isReuseSource;
    const uint32_t nodes = typeIsInt ? 6 : (typeSize == 4 ? 4 : 7);
    ascendc_emu::TmpRange(
        std::max(ascendc_emu::Elements(srcShape1), ascendc_emu::Elements(srcShape2)), nodes, 256,
        maxValue, minValue);
}
inline void GetPowerTmpBufferFactorSize(const bool baseIsTensor, const bool expIsTensor,
                                        const bool typeIsInt, const uint32_t typeSize,
                                        uint32_t& maxLiveNodeCount, uint32_t& extraBuffer) {
    (void)baseIsTensor;
    (void)expIsTensor;
    maxLiveNodeCount = typeIsInt ? 6 : (typeSize == 4 ? 4 : 7);
    extraBuffer = 256;
}
inline uint32_t GetDropOutMaxTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                     const bool isReuseSource) {
    uint32_t high = 0, low = 0;
    GetDropOutMaxMinTmpSize(srcShape, typeSize, isReuseSource, high, low);
    return high;
}
inline uint32_t GetDropOutMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                     const bool isReuseSource) {
    uint32_t high = 0, low = 0;
    GetDropOutMaxMinTmpSize(srcShape, typeSize, isReuseSource, high, low);
    return low;
}
inline void GetCumSumMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                   const bool isLastAxis, const bool isReuseSource,
                                   uint32_t& maxValue, uint32_t& minValue) {
    (void)typeSize;
    (void)isLastAxis;
    (void)isReuseSource;
    ascendc_emu::TmpRange(ascendc_emu::Elements(srcShape), 2, 0, maxValue, minValue);
    minValue = maxValue;
}

// Index, select, broadcast.
inline void GetArangeMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = 0;
}
inline void GetArithProgressionMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = 0;
}
inline void GetBroadCastMaxMinTmpSize(const platform_ascendc::PlatformAscendC& platform,
                                      const TensorShape& srcShape, const TensorShape& dstShape,
                                      uint32_t typeSize, const bool isReuseSource,
                                      uint32_t& maxValue, uint32_t& minValue) {
    (void)platform;
    (void)isReuseSource;
    const uint32_t source = ascendc_emu::RoundUpTo(ascendc_emu::Elements(srcShape), 8);
    minValue = source * ascendc_emu::kBlockBytes + ascendc_emu::kRepeatBytes;
    const uint32_t aligned =
        ascendc_emu::RowsOf(dstShape) *
        ascendc_emu::RoundUpTo(ascendc_emu::LastDim(dstShape) * typeSize, ascendc_emu::kBlockBytes);
    maxValue = minValue + aligned;
}
inline void GetSelectMaxMinTmpSize(const TensorShape& src0Shape, const TensorShape& src1Shape,
                                   const uint32_t srcTypeSize, const TensorShape& maskShape,
                                   const uint32_t maskTypeSize, const bool isReuseMask,
                                   uint32_t& maxValue, uint32_t& minValue) {
    (void)srcTypeSize;
    (void)isReuseMask;
    const uint32_t n = std::max(ascendc_emu::Elements(src0Shape), ascendc_emu::Elements(src1Shape));
    const uint32_t mask = ascendc_emu::Elements(maskShape) * maskTypeSize;
    minValue = 1024 + ascendc_emu::RoundUpTo(mask, ascendc_emu::kBlockBytes);
    maxValue = minValue + ascendc_emu::RoundUpTo(n * 3, ascendc_emu::kRepeatBytes);
}
inline uint32_t GetSelectMaxTmpSize(const TensorShape& src0Shape, const TensorShape& src1Shape,
                                    const uint32_t srcTypeSize, const TensorShape& maskShape,
                                    const uint32_t maskTypeSize, const bool isReuseMask) {
    uint32_t high = 0, low = 0;
    GetSelectMaxMinTmpSize(src0Shape, src1Shape, srcTypeSize, maskShape, maskTypeSize, isReuseMask,
                           high, low);
    return high;
}
inline uint32_t GetSelectMinTmpSize(const TensorShape& src0Shape, const TensorShape& src1Shape,
                                    const uint32_t srcTypeSize, const TensorShape& maskShape,
                                    const uint32_t maskTypeSize, const bool isReuseMask) {
    uint32_t high = 0, low = 0;
    GetSelectMaxMinTmpSize(src0Shape, src1Shape, srcTypeSize, maskShape, maskTypeSize, isReuseMask,
                           high, low);
    return low;
}
inline void GetSelectWithBytesMaskMaxMinTmpSize(const TensorShape& src0Shape,
                                                const TensorShape& src1Shape,
                                                const uint32_t srcTypeSize,
                                                const TensorShape& maskShape,
                                                const uint32_t maskTypeSize, const bool isReuseMask,
                                                uint32_t& maxValue, uint32_t& minValue) {
    GetSelectMaxMinTmpSize(src0Shape, src1Shape, srcTypeSize, maskShape, maskTypeSize, isReuseMask,
                           maxValue, minValue);
}
inline uint32_t GetSelectWithBytesMaskMaxTmpSize(
    const TensorShape& src0Shape, const TensorShape& src1Shape, const uint32_t srcTypeSize,
    const TensorShape& maskShape, const uint32_t maskTypeSize, const bool isReuseMask) {
    return GetSelectMaxTmpSize(src0Shape, src1Shape, srcTypeSize, maskShape, maskTypeSize,
                               isReuseMask);
}
inline uint32_t GetSelectWithBytesMaskMinTmpSize(
    const TensorShape& src0Shape, const TensorShape& src1Shape, const uint32_t srcTypeSize,
    const TensorShape& maskShape, const uint32_t maskTypeSize, const bool isReuseMask) {
    return GetSelectMinTmpSize(src0Shape, src1Shape, srcTypeSize, maskShape, maskTypeSize,
                               isReuseMask);
}

// Reductions.
inline void GetSumMaxMinTmpSize(const uint32_t n, const uint32_t typeSize, const bool isReuseSource,
                                uint32_t& maxSize, uint32_t& minSize) {
    (void)isReuseSource;
    const uint32_t perRepeat = ascendc_emu::kRepeatBytes / typeSize;
    minSize = maxSize = ascendc_emu::RoundUpTo((n + perRepeat - 1) / perRepeat * typeSize,
                                               ascendc_emu::kBlockBytes);
}
inline void GetMeanMaxMinTmpSize(const uint32_t n, const uint32_t srcTypeSize,
                                 const uint32_t accTypeSize, const bool isReuseSource,
                                 uint32_t& maxSize, uint32_t& minSize) {
    GetSumMaxMinTmpSize(n, accTypeSize, isReuseSource, maxSize, minSize);
    if (accTypeSize > srcTypeSize) {  // the row in the wider type beside the partial sums
        maxSize += ascendc_emu::RoundUpTo(n * accTypeSize, ascendc_emu::kBlockBytes);
        minSize = maxSize;
    }
}
#define OPGEN_TMP_REDUCE(NAME)                                                                     \
    inline void Get##NAME##MaxMinTmpSize(                                                          \
        const TensorShape& srcShape, const TensorDataType dataType, ReducePattern pattern,         \
        bool isSrcInnerPad, bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) {          \
        (void)pattern;                                                                             \
        (void)isSrcInnerPad;                                                                       \
        const uint32_t width =                                                                     \
            static_cast<uint32_t>(std::max(1, ge::GetSizeByDataType(dataType)));                   \
        minValue = isReuseSource ? ascendc_emu::kRepeatBytes                                       \
                                 : ascendc_emu::RoundUpTo(ascendc_emu::Elements(srcShape) * width, \
                                                          ascendc_emu::kRepeatBytes);              \
        maxValue = minValue;                                                                       \
    }
OPGEN_TMP_REDUCE(ReduceAll)
OPGEN_TMP_REDUCE(ReduceAny)
OPGEN_TMP_REDUCE(ReduceMax)
OPGEN_TMP_REDUCE(ReduceMean)
OPGEN_TMP_REDUCE(ReduceMin)
OPGEN_TMP_REDUCE(ReduceProd)
OPGEN_TMP_REDUCE(ReduceSum)
#undef OPGEN_TMP_REDUCE

// Quantisation.
#define OPGEN_TMP_QUANT(NAME)                                                                  \
    inline void Get##NAME##MaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, \
                                         uint32_t& maxValue, uint32_t& minValue) {             \
        (void)typeSize;                                                                        \
        ascendc_emu::TmpRange(ascendc_emu::Elements(srcShape), 3,                              \
                              ascendc_emu::LastDim(srcShape) * 4, maxValue, minValue);         \
    }
OPGEN_TMP_QUANT(AscendQuant)
OPGEN_TMP_QUANT(AscendDequant)
OPGEN_TMP_QUANT(Quantize)
OPGEN_TMP_QUANT(Dequantize)
#undef OPGEN_TMP_QUANT
#define OPGEN_TMP_ANTIQUANT(NAME)                                                         \
    inline void Get##NAME##MaxMinTmpSize(                                                 \
        const TensorShape& srcShape, const TensorShape& scaleShape, bool isTranspose,     \
        TensorDataType inputDataType, TensorDataType outputDataType, uint32_t& maxValue,  \
        uint32_t& minValue) {                                                             \
        (void)isTranspose;                                                                \
        (void)inputDataType;                                                              \
        (void)outputDataType;                                                             \
        ascendc_emu::TmpRange(ascendc_emu::Elements(srcShape), 2,                         \
                              ascendc_emu::Elements(scaleShape) * 8, maxValue, minValue); \
    }
OPGEN_TMP_ANTIQUANT(AscendAntiQuant)
OPGEN_TMP_ANTIQUANT(AntiQuantize)
#undef OPGEN_TMP_ANTIQUANT
inline uint32_t GetAscendAntiQuantMaxTmpSize(const TensorShape& srcShape,
                                             const TensorShape& scaleShape, bool isTranspose,
                                             TensorDataType inputDataType,
                                             TensorDataType outputDataType) {
    uint32_t high = 0, low = 0;
    GetAscendAntiQuantMaxMinTmpSize(srcShape, scaleShape, isTranspose, inputDataType,
                                    outputDataType, high, low);
    return high;
}
inline uint32_t GetAscendAntiQuantMinTmpSize(const TensorShape& srcShape,
                                             const TensorShape& scaleShape, bool isTranspose,
                                             TensorDataType inputDataType,
                                             TensorDataType outputDataType) {
    uint32_t high = 0, low = 0;
    GetAscendAntiQuantMaxMinTmpSize(srcShape, scaleShape, isTranspose, inputDataType,
                                    outputDataType, high, low);
    return low;
}
inline void GetAscendQuantTmpBufferFactorSize(uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
    maxLiveNodeCount = 3;
    extraBuf = 0;
}
inline void GetQuantizeTmpBufferFactorSize(uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
    maxLiveNodeCount = 3;
    extraBuf = 0;
}
inline void GetAscendDequantTmpBufferFactorSize(const TensorShape& srcShape,
                                                uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
    maxLiveNodeCount = 3;
    extraBuf = ascendc_emu::LastDim(srcShape) * 4;
}
inline void GetDequantizeTmpBufferFactorSize(const TensorShape& srcShape,
                                             uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {
    GetAscendDequantTmpBufferFactorSize(srcShape, maxLiveNodeCount, extraBuf);
}

}  // namespace AscendC

#include "adv_api/shape_tiling_functions.h"

#endif  // ADV_API_TILING_FUNCTIONS_H
