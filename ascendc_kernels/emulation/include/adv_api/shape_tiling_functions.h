// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiling of the APIs that know rows and columns: softmax, sort, pad, transpose, normalisation. The
// shape fields are the documented ones; how the work is split inside is this implementation's
// choice. Included by adv_api/tiling_functions.h.
#ifndef ADV_API_SHAPE_TILING_FUNCTIONS_H
#define ADV_API_SHAPE_TILING_FUNCTIONS_H

namespace ascendc_emu {

inline AscendC::tiling::SoftMaxTiling SoftMaxTilingOf(const ge::Shape& shape, uint32_t typeSize,
                                                      uint32_t workBytes, uint32_t nodes) {
    AscendC::tiling::SoftMaxTiling t;
    t.srcM = RowsOf(shape);
    t.srcK = LastDim(shape);
    t.srcSize = t.srcM * t.srcK;
    t.outMaxM = t.srcM;
    t.outMaxK = kBlockBytes / (typeSize == 0 ? 4 : typeSize);
    t.outMaxSize = t.outMaxM * t.outMaxK;
    const uint32_t rowBytes = (t.srcK * nodes + 16) * 4;
    t.splitM = std::min(t.srcM, std::max(1u, rowBytes == 0 ? 1u : workBytes / rowBytes));
    if (t.splitM == 0) return t;
    t.splitK = t.srcK;
    t.splitSize = t.splitM * t.splitK;
    t.reduceM = t.splitM;
    t.reduceK = t.outMaxK;
    t.reduceSize = t.reduceM * t.reduceK;
    t.rangeM = t.srcM / t.splitM;
    t.tailM = t.srcM % t.splitM;
    t.tailSplitSize = t.tailM * t.splitK;
    t.tailReduceSize = t.tailM * t.reduceK;
    return t;
}
inline void SoftMaxTmp(const ge::Shape& shape, uint32_t nodes, uint32_t& high, uint32_t& low) {
    TmpRows(shape, nodes, high, low);
}

}  // namespace ascendc_emu

namespace AscendC {

// As large as the padded result: what a transposition through a second buffer takes.
inline bool GetTransDataMaxMinTmpSize(const platform_ascendc::PlatformAscendC&,
                                      const TensorShape& srcShape, const TensorShape& dstShape,
                                      const TensorDataType dataType, const TransDataConfig&,
                                      uint32_t& maxValue, uint32_t& minValue) {
    const auto bytes = [&](const TensorShape& s) {
        uint64_t n = static_cast<uint64_t>(ge::GetSizeByDataType(dataType));
        for (size_t i = 0; i < s.GetDimNum(); ++i) n *= static_cast<uint64_t>(s.GetDim(i));
        return (n + 31) / 32 * 32;
    };
    maxValue = minValue = static_cast<uint32_t>(std::max(bytes(srcShape), bytes(dstShape)));
    return true;
}

// Softmax family: GetXxxMaxTmpSize and GetXxxMinTmpSize differ in their trailing flags only.
#define OPGEN_TMP_SOFTMAX(NAME, SHAPE, NODES, ...)                                     \
    inline uint32_t Get##NAME##MaxTmpSize(SHAPE srcShape, const uint32_t dataTypeSize, \
                                          __VA_ARGS__) {                               \
        (void)dataTypeSize;                                                            \
        uint32_t high = 0, low = 0;                                                    \
        ascendc_emu::SoftMaxTmp(srcShape, NODES, high, low);                           \
        return high;                                                                   \
    }                                                                                  \
    inline uint32_t Get##NAME##MinTmpSize(SHAPE srcShape, const uint32_t dataTypeSize, \
                                          __VA_ARGS__) {                               \
        (void)dataTypeSize;                                                            \
        uint32_t high = 0, low = 0;                                                    \
        ascendc_emu::SoftMaxTmp(srcShape, NODES, high, low);                           \
        return low;                                                                    \
    }
OPGEN_TMP_SOFTMAX(SoftMax, const TensorShape&, 2, const bool)
OPGEN_TMP_SOFTMAX(LogSoftMax, const TensorShape, 2, const bool)
OPGEN_TMP_SOFTMAX(SoftMaxFlash, const TensorShape&, 2, const bool, const bool)
OPGEN_TMP_SOFTMAX(SoftMaxFlashV2, const TensorShape&, 2, const uint32_t, const bool,
                  const bool = false, const bool = false)
OPGEN_TMP_SOFTMAX(SoftMaxGrad, const TensorShape&, 3, const bool, const bool)
#undef OPGEN_TMP_SOFTMAX

inline void GetSoftMaxFlashV3MaxMinTmpSize(const TensorShape& srcShape,
                                           const uint32_t dataTypeSize1,
                                           const uint32_t dataTypeSize2, uint32_t& maxValue,
                                           uint32_t& minValue, const bool isUpdate,
                                           const bool isBasicBlock = false) {
    (void)dataTypeSize1;
    (void)dataTypeSize2;
    (void)isUpdate;
    (void)isBasicBlock;
    ascendc_emu::SoftMaxTmp(srcShape, 3, maxValue, minValue);
}

template <typename Tiling>
inline void SoftMaxTilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize,
                              const uint32_t localWorkSpaceSize, Tiling& tiling) {
    ascendc_emu::StoreTiling(
        tiling, ascendc_emu::SoftMaxTilingOf(srcShape, dataTypeSize, localWorkSpaceSize, 2));
}
template <typename Tiling>
inline void SoftMaxFlashTilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize,
                                   const uint32_t localWorkSpaceSize, Tiling& tiling,
                                   const bool isUpdate = false) {
    (void)isUpdate;
    SoftMaxTilingFunc(srcShape, dataTypeSize, localWorkSpaceSize, tiling);
}
template <typename Tiling>
inline void SoftMaxFlashV2TilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize1,
                                     const uint32_t dataTypeSize2,
                                     const uint32_t localWorkSpaceSize, Tiling& tiling,
                                     const bool isUpdate, const bool isBasicBlock = false,
                                     const bool isFlashOutputBrc = false) {
    (void)dataTypeSize1;
    (void)isUpdate;
    (void)isBasicBlock;
    (void)isFlashOutputBrc;
    SoftMaxTilingFunc(srcShape, dataTypeSize2, localWorkSpaceSize, tiling);
}
template <typename Tiling>
inline void SoftMaxFlashV3TilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize1,
                                     const uint32_t dataTypeSize2,
                                     const uint32_t localWorkSpaceSize, Tiling& tiling,
                                     const bool isUpdate, const bool isBasicBlock = false) {
    SoftMaxFlashV2TilingFunc(srcShape, dataTypeSize1, dataTypeSize2, localWorkSpaceSize, tiling,
                             isUpdate, isBasicBlock);
}
template <typename Tiling>
inline void SoftMaxGradTilingFunc(const TensorShape& srcShape, const uint32_t dataTypeSize,
                                  const uint32_t localWorkSpaceSize, Tiling& tiling,
                                  const bool isFront = false) {
    (void)isFront;
    SoftMaxTilingFunc(srcShape, dataTypeSize, localWorkSpaceSize, tiling);
}
template <typename Tiling>
inline void LogSoftMaxTilingFunc(const TensorShape srcShape, const uint32_t dataTypeSize,
                                 const uint32_t localWorkSpaceSize, Tiling& tiling) {
    const AscendC::tiling::SoftMaxTiling from =
        ascendc_emu::SoftMaxTilingOf(srcShape, dataTypeSize, localWorkSpaceSize, 2);
    AscendC::tiling::LogSoftMaxTiling t;
#define OPGEN_TILING_COPY(type, name) t.name = from.name;
    OPGEN_SOFT_MAX_TILING_FIELDS(OPGEN_TILING_COPY)
#undef OPGEN_TILING_COPY
    ascendc_emu::StoreTiling(tiling, t);
}
// Whether a softmax tiling lets the kernel take the path for basic blocks (64 columns, 8 rows).
inline bool IsBasicBlockInSoftMax(const AscendC::tiling::SoftMaxTiling& tiling,
                                  const uint32_t dataTypeSize = 2) {
    return dataTypeSize != 0 && tiling.srcK % 64 == 0 && tiling.srcK < 2048 &&
           tiling.splitM % 8 == 0;
}
inline bool IsBasicBlockInSoftMax(optiling::SoftMaxTiling& tiling,
                                  const uint32_t dataTypeSize = 2) {
    return dataTypeSize != 0 && tiling.get_srcK() % 64 == 0 && tiling.get_srcK() < 2048 &&
           tiling.get_splitM() % 8 == 0;
}

// Sorting; sizes in bytes. Scores and indices of 8 bytes per element, twice for merging.
inline uint32_t GetConcatTmpSize(const platform_ascendc::PlatformAscendC& platform,
                                 const uint32_t elemCount, const uint32_t dataTypeSize) {
    (void)platform;
    (void)elemCount;
    (void)dataTypeSize;
    return 0;  // arch 2201 keeps scores and indices apart
}
inline uint32_t GetSortTmpSize(const platform_ascendc::PlatformAscendC& platform,
                               const uint32_t elemCount, const uint32_t dataTypeSize) {
    (void)platform;
    (void)dataTypeSize;
    return elemCount * 8;
}
inline void GetSortMaxMinTmpSize(const TensorShape& srcShape, TensorDataType valueType,
                                 TensorDataType indexType, bool isReuseSource,
                                 const SortConfig& config, uint32_t& maxValue, uint32_t& minValue) {
    (void)valueType;
    (void)indexType;
    (void)isReuseSource;
    (void)config;
    maxValue = minValue = ascendc_emu::Elements(srcShape) * 16 + 1024;
}
inline bool GetTopKMaxMinTmpSize(const platform_ascendc::PlatformAscendC& platform,
                                 const int32_t inner, const int32_t outter,
                                 const bool isReuseSource, const bool isInitIndex,
                                 enum TopKMode mode, const bool isLargest,
                                 const uint32_t dataTypeSize, uint32_t& maxValue,
                                 uint32_t& minValue) {
    (void)platform;
    (void)isReuseSource;
    (void)isInitIndex;
    (void)isLargest;
    if (inner <= 0 || outter <= 0 || inner % 32 != 0) return false;
    const uint32_t rows = mode == TopKMode::TOPK_NSMALL ? static_cast<uint32_t>(outter) : 1;
    minValue = rows * static_cast<uint32_t>(inner) * (16 + dataTypeSize + 4);
    maxValue = std::max(minValue, static_cast<uint32_t>(outter) * static_cast<uint32_t>(inner) *
                                          (dataTypeSize + 4) +
                                      static_cast<uint32_t>(inner) * 16);
    return true;
}
inline bool GetTopKMaxMinTmpSize(const int32_t inner, const int32_t outter, const int32_t k,
                                 const bool isReuseSource, const bool isInitIndex,
                                 enum TopKMode mode, const bool isLargest, TensorDataType dataType,
                                 const TopKConfig& config, uint32_t& maxValue, uint32_t& minValue) {
    (void)isReuseSource;
    (void)isInitIndex;
    (void)isLargest;
    (void)config;
    if (inner <= 0 || outter <= 0 || k <= 0) return false;
    const uint32_t rows = mode == TopKMode::TOPK_NSMALL ? static_cast<uint32_t>(outter) : 1;
    const uint32_t width = static_cast<uint32_t>(std::max(1, ge::GetSizeByDataType(dataType)));
    maxValue = minValue = rows * static_cast<uint32_t>(inner) * (16 + width + 4);
    return true;
}
template <typename Tiling>
inline bool TopKTilingFunc(const platform_ascendc::PlatformAscendC& platform, const int32_t inner,
                           const int32_t outter, const int32_t k, const uint32_t dataTypeSize,
                           const bool isInitIndex, enum TopKMode mode, const bool isLargest,
                           Tiling& topKTiling) {
    if (k <= 0 || k > inner) return false;
    uint32_t high = 0, low = 0;
    if (!GetTopKMaxMinTmpSize(platform, inner, outter, false, isInitIndex, mode, isLargest,
                              dataTypeSize, high, low)) {
        return false;
    }
    AscendC::tiling::TopkTiling t;
    t.tmpLocalSize = static_cast<int32_t>(low / (dataTypeSize == 0 ? 4 : dataTypeSize));
    t.allDataSize = mode == TopKMode::TOPK_NSMALL ? inner * outter : inner;
    t.innerDataSize = t.allDataSize * 2;
    t.sortRepeat = static_cast<uint32_t>(t.allDataSize / 32);
    t.kAlignFourBytes = (k + 7) / 8 * 8;
    t.kAlignTwoBytes = (k + 15) / 16 * 16;
    ascendc_emu::StoreTiling(topKTiling, t);
    return true;
}

// Pad, UnPad: [height, width] of the source; oriSrcShape without the padding inside it.
inline void GetPadMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                uint32_t& maxValue, uint32_t& minValue) {
    const uint32_t row = ascendc_emu::RoundUpTo(ascendc_emu::LastDim(srcShape) * typeSize, 32);
    minValue = 16 * row * 2;
    maxValue = std::max(minValue, ascendc_emu::RowsOf(srcShape) * row * 2);
}
inline void GetUnPadMaxMinTmpSize(const platform_ascendc::PlatformAscendC& platform,
                                  const TensorShape& srcShape, const uint32_t typeSize,
                                  uint32_t& maxValue, uint32_t& minValue) {
    (void)platform;
    GetPadMaxMinTmpSize(srcShape, typeSize, maxValue, minValue);
}
template <typename Tiling>
inline void PadTilingFunc(const TensorShape srcShape, const TensorShape oriSrcShape,
                          const uint32_t stackBufferSize, const uint32_t typeSize, Tiling& tiling) {
    (void)stackBufferSize;
    AscendC::tiling::PadTiling t;
    t.srcHeight = ascendc_emu::RowsOf(srcShape);
    t.srcWidth = ascendc_emu::LastDim(srcShape);
    t.srcOriWidth = ascendc_emu::LastDim(oriSrcShape);
    const uint32_t perBlock = 32 / (typeSize == 0 ? 4 : typeSize);
    t.widthWithoutLastBlock = t.srcWidth / perBlock * perBlock;
    t.blocksPerRow = (t.srcWidth + perBlock - 1) / perBlock;
    ascendc_emu::StoreTiling(tiling, t);
}
template <typename Tiling>
inline void UnPadTilingFunc(const TensorShape srcShape, const uint32_t stackBufferSize,
                            const uint32_t typeSize, Tiling& tiling) {
    (void)stackBufferSize;
    (void)typeSize;
    AscendC::tiling::UnPadTiling t;
    t.srcHeight = ascendc_emu::RowsOf(srcShape);
    t.srcWidth = ascendc_emu::LastDim(srcShape);
    ascendc_emu::StoreTiling(tiling, t);
}

// Transpose: [B, N, S, H/N] for scenes 1 to 6 and [H, W] for scene 7.
inline void GetTransposeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                      const uint32_t transposeTypeIn, uint32_t& maxValue,
                                      uint32_t& minValue) {
    const uint32_t height = srcShape.GetDimNum() > 2 ? ascendc_emu::DimAt(srcShape, 2)
                                                     : ascendc_emu::DimAt(srcShape, 0);
    minValue = transposeTypeIn == 7 ? 0 : ascendc_emu::RoundUpTo(height, 16) * 16 * typeSize * 2;
    maxValue = minValue;
}
inline void GetConfusionTransposeMaxMinTmpSize(const TensorShape& srcShape, const uint32_t typeSize,
                                               const uint32_t transposeTypeIn, uint32_t& maxValue,
                                               uint32_t& minValue) {
    GetTransposeMaxMinTmpSize(srcShape, typeSize, transposeTypeIn, maxValue, minValue);
}
template <typename Tiling>
inline void GetTransposeTilingInfo(const TensorShape& srcShape, const uint32_t stackBufferSize,
                                   const uint32_t typeSize, const uint32_t transposeTypeIn,
                                   Tiling& tiling) {
    (void)stackBufferSize;
    (void)typeSize;
    (void)transposeTypeIn;
    AscendC::tiling::ConfusionTransposeTiling t;  // read by the kernel's Transpose: the dimensions
    t.param0 = ascendc_emu::DimAt(srcShape, 0);
    t.param1 = ascendc_emu::DimAt(srcShape, 1);
    t.param2 = ascendc_emu::DimAt(srcShape, 2);
    t.param3 = ascendc_emu::DimAt(srcShape, 3);
    t.param4 = static_cast<uint32_t>(srcShape.GetDimNum());
    ascendc_emu::StoreTiling(tiling, t);
}
template <typename Tiling>
inline void GetConfusionTransposeTilingInfo(const TensorShape& srcShape,
                                            const uint32_t stackBufferSize, const uint32_t typeSize,
                                            const uint32_t transposeTypeIn, Tiling& tiling) {
    GetTransposeTilingInfo(srcShape, stackBufferSize, typeSize, transposeTypeIn, tiling);
}
template <typename Tiling>
inline void GetConfusionTransposeOnlyTilingInfo(const TensorShape& srcShape,
                                                const uint32_t stackBufferSize,
                                                const uint32_t typeSize, Tiling& tiling) {
    GetTransposeTilingInfo(srcShape, stackBufferSize, typeSize, 7, tiling);
}

}  // namespace AscendC

#include "adv_api/norm_tiling_functions.h"

#endif  // ADV_API_SHAPE_TILING_FUNCTIONS_H
