// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiling of the normalisation APIs. Shapes are [B, S, H] (LayerNorm, RmsNorm, DeepNorm), [A, R]
// (LayerNorm with rstd), [N, C, H, W] (GroupNorm). Included by adv_api/tiling_functions.h.
#ifndef ADV_API_NORM_TILING_FUNCTIONS_H
#define ADV_API_NORM_TILING_FUNCTIONS_H

namespace AscendC {

// [B, S, H] APIs that differ in nothing but the name.
#define OPGEN_TMP_NORM(NAME, NODES)                                                            \
    inline void Get##NAME##MaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize, \
                                         const bool isReuseSource, uint32_t& maxValue,         \
                                         uint32_t& minValue) {                                 \
        (void)typeSize;                                                                        \
        (void)isReuseSource;                                                                   \
        ascendc_emu::TmpRows(srcShape, NODES, maxValue, minValue);                             \
    }
OPGEN_TMP_NORM(LayerNorm, 4)
OPGEN_TMP_NORM(LayerNormGrad, 9)
OPGEN_TMP_NORM(LayerNormGradBeta, 4)
#undef OPGEN_TMP_NORM
inline void GetLayerNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                      const bool isReuseSource, const bool isComputeRstd,
                                      const bool isOnlyOutput, uint32_t& maxValue,
                                      uint32_t& minValue) {
    (void)isComputeRstd;
    (void)isOnlyOutput;
    GetLayerNormMaxMinTmpSize(srcShape, typeSize, isReuseSource, maxValue, minValue);
}
inline void GetNormalizeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSizeU,
                                      const uint32_t typeSizeT, const bool isReuseSource,
                                      const bool isComputeRstd, const bool isOnlyOutput,
                                      uint32_t& maxValue, uint32_t& minValue) {
    (void)typeSizeU;
    (void)typeSizeT;
    (void)isReuseSource;
    (void)isComputeRstd;
    (void)isOnlyOutput;
    ascendc_emu::TmpRows(srcShape, 3, maxValue, minValue);
}
inline void GetWelfordUpdateMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSizeT,
                                          const uint32_t typeSizeU, const bool isReuseSource,
                                          const bool isInplace, uint32_t& maxValue,
                                          uint32_t& minValue) {
    (void)typeSizeT;
    (void)typeSizeU;
    (void)isReuseSource;
    (void)isInplace;
    ascendc_emu::TmpRange(ascendc_emu::Elements(srcShape), 2, 0, maxValue, minValue);
}
inline bool GetRmsNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                    uint32_t& maxValue, uint32_t& minValue,
                                    const bool isBasicBlock = false) {
    (void)typeSize;
    (void)isBasicBlock;
    ascendc_emu::TmpRows(srcShape, 3, maxValue, minValue);
    return true;
}
inline bool GetDeepNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                     const bool isReuseSource, const bool isBasicBlock,
                                     uint32_t& maxValue, uint32_t& minValue) {
    (void)typeSize;
    (void)isReuseSource;
    (void)isBasicBlock;
    ascendc_emu::TmpRows(srcShape, 4, maxValue, minValue);
    return true;
}
inline bool GetBatchNormMaxMinTmpSize(const TensorShape& srcShape,
                                      const TensorShape& originSrcShape, const uint32_t typeSize,
                                      const bool isReuseSource, uint32_t& maxValue,
                                      uint32_t& minValue, const bool isBasicBlock = false) {
    (void)originSrcShape;
    (void)typeSize;
    (void)isReuseSource;
    (void)isBasicBlock;
    ascendc_emu::TmpRange(ascendc_emu::Elements(srcShape), 4, 0, maxValue, minValue);
    return true;
}
inline void GetGroupNormMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                      const bool isReuseSource, const uint32_t groupNum,
                                      uint32_t& maxValue, uint32_t& minValue) {
    (void)typeSize;
    (void)isReuseSource;
    const uint32_t group =
        ascendc_emu::Elements(srcShape) / std::max(1u, ascendc_emu::DimAt(srcShape, 0) * groupNum);
    minValue = ascendc_emu::RoundUpTo(std::max(1u, group) * 4, ascendc_emu::kRepeatBytes) * 3;
    maxValue = std::max(minValue, ascendc_emu::Elements(srcShape) * 12);
}

template <typename Tiling>
inline void GetLayerNormNDTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize,
                                     const uint32_t typeSize, const bool isReuseSource,
                                     Tiling& tiling) {
    (void)stackBufferSize;
    (void)typeSize;
    (void)isReuseSource;
    AscendC::tiling::LayerNormTiling t;
    t.bLength = ascendc_emu::DimAt(srcShape, 0);
    t.sLength = ascendc_emu::DimAt(srcShape, 1);
    t.hLength = ascendc_emu::DimAt(srcShape, 2);
    t.originalHLength = srcShape.GetDimNum() > 3 ? ascendc_emu::DimAt(srcShape, 3) : t.hLength;
    t.inputXSize = t.bLength * t.sLength * t.hLength;
    t.meanVarSize = t.bLength * t.sLength;
    t.lastDimValueBack = t.hLength == 0 ? 0 : 1.0f / static_cast<float>(t.hLength);
    ascendc_emu::StoreTiling(tiling, t);
}
// The older spelling.
template <typename Tiling>
inline void GetLayerNormNDTillingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize,
                                      const uint32_t typeSize, const bool isReuseSource,
                                      Tiling& tiling) {
    GetLayerNormNDTilingInfo(srcShape, stackBufferSize, typeSize, isReuseSource, tiling);
}
template <typename Tiling>
inline void GetLayerNormNDTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize,
                                     const uint32_t typeSize, const bool isReuseSource,
                                     const bool isComputeRstd, Tiling& tiling) {
    (void)stackBufferSize;
    (void)typeSize;
    (void)isReuseSource;
    (void)isComputeRstd;
    AscendC::tiling::LayerNormSeparateTiling t;
    t.aLength = ascendc_emu::RowsOf(srcShape);
    t.rLength = ascendc_emu::LastDim(srcShape);
    t.inputXSize = t.aLength * t.rLength;
    t.meanVarSize = t.aLength;
    t.rValueBack = t.rLength == 0 ? 0 : 1.0f / static_cast<float>(t.rLength);
    ascendc_emu::StoreTiling(tiling, t);
}
template <typename Tiling>
inline void GetLayerNormGradNDTilingInfo(const TensorShape srcShape, const uint32_t stackBufferSize,
                                         const uint32_t typeSize, const bool isReuseSource,
                                         Tiling& tiling) {
    (void)typeSize;
    (void)isReuseSource;
    AscendC::tiling::LayerNormGradTiling t;
    t.stackBufferSize = stackBufferSize;
    t.bLength = ascendc_emu::DimAt(srcShape, 0);
    t.sLength = ascendc_emu::DimAt(srcShape, 1);
    t.hLength = ascendc_emu::DimAt(srcShape, 2);
    t.originalHLength = srcShape.GetDimNum() > 3 ? ascendc_emu::DimAt(srcShape, 3) : t.hLength;
    ascendc_emu::StoreTiling(tiling, t);
}
template <typename Tiling>
inline void GetLayerNormGradBetaNDTilingInfo(const TensorShape srcShape,
                                             const uint32_t stackBufferSize,
                                             const uint32_t typeSize, const bool isReuseSource,
                                             Tiling& tiling) {
    (void)typeSize;
    (void)isReuseSource;
    AscendC::tiling::LayerNormGradBetaTiling t;
    t.stackBufferSize = stackBufferSize;
    t.bLength = ascendc_emu::DimAt(srcShape, 0);
    t.sLength = ascendc_emu::DimAt(srcShape, 1);
    t.hLength = ascendc_emu::DimAt(srcShape, 2);
    t.originalHLength = srcShape.GetDimNum() > 3 ? ascendc_emu::DimAt(srcShape, 3) : t.hLength;
    t.bsLength = t.bLength * t.sLength;
    t.bshLength = t.bsLength * t.hLength;
    ascendc_emu::StoreTiling(tiling, t);
}
template <typename Tiling>
inline bool GetRmsNormTilingInfo(const TensorShape& srcShape, const TensorShape& originSrcShape,
                                 const uint32_t stackBufferByteSize, const uint32_t typeSize,
                                 Tiling& tiling, const bool isBasicBlock = false) {
    (void)typeSize;
    (void)isBasicBlock;
    AscendC::tiling::RmsNormTiling t;
    t.bLength = ascendc_emu::DimAt(srcShape, 0);
    t.sLength = ascendc_emu::DimAt(srcShape, 1);
    t.hLength = ascendc_emu::DimAt(srcShape, 2);
    t.originalHLength = ascendc_emu::DimAt(originSrcShape, 2);
    if (t.hLength == 0 || t.originalHLength == 0 || t.originalHLength > t.hLength) return false;
    t.reciprocalOfHLength = 1.0f / static_cast<float>(t.originalHLength);
    const uint32_t rows = t.bLength * t.sLength;
    const uint32_t rowBytes = t.hLength * 4 + 2 * ascendc_emu::kBlockBytes;
    t.mainBsLength = std::min(rows, std::max(1u, stackBufferByteSize / rowBytes));
    if (t.mainBsLength == 0) return false;
    t.mainBsLengthAlign = ascendc_emu::RoundUpTo(t.mainBsLength, 8);
    t.mainBshLength = t.mainBsLength * t.hLength;
    t.loopRound = rows / t.mainBsLength;
    t.tailBsLength = rows % t.mainBsLength;
    t.tailBshLength = t.tailBsLength * t.hLength;
    t.inputTailPos = rows * t.hLength - t.tailBshLength;
    ascendc_emu::StoreTiling(tiling, t);
    return true;
}
template <typename Tiling>
inline bool GetDeepNormTilingInfo(const TensorShape& srcShape, const TensorShape& originSrcShape,
                                  const uint32_t stackBufferSize, const uint32_t typeSize,
                                  const bool isReuseSource, const bool isBasicBlock,
                                  Tiling& tiling) {
    (void)stackBufferSize;
    (void)typeSize;
    (void)isReuseSource;
    (void)isBasicBlock;
    AscendC::tiling::DeepNormTiling t;
    t.bLength = ascendc_emu::DimAt(srcShape, 0);
    t.sLength = ascendc_emu::DimAt(srcShape, 1);
    t.hLength = ascendc_emu::DimAt(srcShape, 2);
    t.originalHLength = ascendc_emu::DimAt(originSrcShape, 2);
    if (t.originalHLength == 0 || t.originalHLength > t.hLength) return false;
    t.inputXSize = t.bLength * t.sLength * t.hLength;
    t.meanVarSize = t.bLength * t.sLength;
    t.lastDimValueBack = 1.0f / static_cast<float>(t.originalHLength);
    ascendc_emu::StoreTiling(tiling, t);
    return true;
}
template <typename Tiling>
inline bool GetBatchNormNDTilingInfo(const TensorShape& srcShape, const TensorShape& originSrcShape,
                                     const uint32_t stackBufferByteSize, const uint32_t typeSize,
                                     const bool isReuseSource, Tiling& tiling,
                                     const bool isBasicBlock = false) {
    (void)stackBufferByteSize;
    (void)typeSize;
    (void)isReuseSource;
    (void)isBasicBlock;
    AscendC::tiling::BatchNormTiling t;
    t.originalBLength = ascendc_emu::DimAt(originSrcShape, 0);
    t.meanVarSize = ascendc_emu::DimAt(srcShape, 1) * ascendc_emu::DimAt(srcShape, 2);
    if (t.originalBLength == 0) return false;
    t.firstDimValueBack = 1.0f / static_cast<float>(t.originalBLength);
    ascendc_emu::StoreTiling(tiling, t);
    return true;
}
template <typename Tiling>
inline void GetGroupNormNDTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize,
                                     const uint32_t typeSize, const bool isReuseSource,
                                     const uint32_t groupNum, Tiling& tiling) {
    (void)stackBufferSize;
    (void)isReuseSource;
    AscendC::tiling::GroupNormTiling t;
    const uint32_t perBlock = ascendc_emu::kBlockBytes / (typeSize == 0 ? 4 : typeSize);
    t.n = ascendc_emu::DimAt(srcShape, 0);
    t.c = ascendc_emu::DimAt(srcShape, 1);
    t.hw = ascendc_emu::DimAt(srcShape, 2) * ascendc_emu::DimAt(srcShape, 3);
    t.g = std::max(1u, groupNum);
    t.d = t.c / t.g;
    t.hwAlignSize = ascendc_emu::RoundUpTo(t.hw, perBlock);
    t.dhwAlignSize = t.d * t.hwAlignSize;
    t.inputXSize = t.n * t.c * t.hwAlignSize;
    t.meanVarSize = t.n * t.g;
    t.factor = t.d * t.hw == 0 ? 0 : 1.0f / static_cast<float>(t.d * t.hw);
    ascendc_emu::StoreTiling(tiling, t);
}

}  // namespace AscendC
#endif  // ADV_API_NORM_TILING_FUNCTIONS_H
