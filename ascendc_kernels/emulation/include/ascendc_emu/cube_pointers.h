// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tensors of the cube's buffers from pointers, and the parameters of its instructions from their
// arguments: what the compiler's names (cube_instructions.h) and the C interface (c_api_cube.h,
// c_api_product.h) have in common.
#ifndef ASCENDC_EMU_CUBE_POINTERS_H
#define ASCENDC_EMU_CUBE_POINTERS_H

#include "kernel_operator.h"

namespace ascendc_emu {

template <typename T>
inline AscendC::LocalTensor<T> InL1(T* p, Loc loc) {
    return InBuffer<AscendC::TPosition::A1, Mem::kL1>(p, loc);
}
template <typename T>
inline AscendC::LocalTensor<T> InL0a(T* p, Loc loc) {
    return InBuffer<AscendC::TPosition::A2, Mem::kL0a>(p, loc);
}
template <typename T>
inline AscendC::LocalTensor<T> InL0b(T* p, Loc loc) {
    return InBuffer<AscendC::TPosition::B2, Mem::kL0b>(p, loc);
}
template <typename T>
inline AscendC::LocalTensor<T> InL0c(T* p, Loc loc) {
    return InBuffer<AscendC::TPosition::CO1, Mem::kL0c>(p, loc);
}
template <typename T>
inline AscendC::LocalTensor<T> InBt(T* p, Loc loc) {
    return InBuffer<AscendC::TPosition::C2, Mem::kBt>(p, loc);
}
template <typename T>
inline AscendC::LocalTensor<T> InFb(T* p, Loc loc) {
    return InBuffer<AscendC::TPosition::C2PIPE2GM, Mem::kFb>(p, loc);
}
// Memory that is copied whatever its type.
template <typename T>
inline int8_t* AsBytes(T* p) {
    return reinterpret_cast<int8_t*>(p);
}

// The image-to-column load with what the feature map and padding registers hold.
inline AscendC::LoadData3DParamsV2Pro Columns(uint16_t kExtension, uint16_t mExtension,
                                              uint16_t kStart, uint16_t mStart, uint8_t strideW,
                                              uint8_t strideH, uint8_t filterW, uint8_t filterH,
                                              uint8_t dilationW, uint8_t dilationH, bool bigW,
                                              bool bigH, bool transpose, bool rightMatrix,
                                              uint16_t channels) {
    const uint64_t extent = uint64_t{kExtension} | uint64_t{mExtension} << 16 |
                            uint64_t{kStart} << 32 | uint64_t{mStart} << 48;
    const uint64_t filter = uint64_t{strideW} | uint64_t{strideH} << 8 | uint64_t{filterW} << 16 |
                            uint64_t{filterH} << 24 | uint64_t{dilationW} << 32 |
                            uint64_t{dilationH} << 40;
    return AscendC::LoadData3DParamsV2Pro(channels, transpose, false, bigW, bigH, rightMatrix,
                                          extent, filter);
}

// The feature map register: height, width (16 bits each), padding left, right, top, bottom (8
// each).
inline void SetFeatureMap(uint64_t config, bool right) {
    const uint8_t padding[4] = {uint8_t(config >> 32), uint8_t(config >> 40), uint8_t(config >> 48),
                                uint8_t(config >> 56)};
    CubeSetFmatrix(uint16_t(config), uint16_t(config >> 16), padding, right);
}
// The repeat register of such loads: stride (16 bits), times (8), direction (1).
inline void SetLoadRepeat(uint64_t config) {
    CubeSetLoadRepeat(uint8_t(config >> 16), uint16_t(config), (config >> 24 & 1) != 0);
}

inline AscendC::MmadParams Product(uint16_t m, uint16_t k, uint16_t n, uint8_t unitFlag,
                                   bool kDirectionAlign, bool cmatrixSource, bool cmatrixInitVal) {
    AscendC::MmadParams params(m, n, k, unitFlag, cmatrixSource, cmatrixInitVal);
    params.kDirectionAlign = kDirectionAlign;
    return params;
}

inline AscendC::DataCopyCO12DstParams CopyOut(uint16_t n, uint16_t m, uint32_t dstStride,
                                              uint16_t srcStride, uint8_t unitFlag,
                                              QuantMode_t quant, uint8_t relu, bool channelSplit,
                                              bool toNd) {
    AscendC::DataCopyCO12DstParams params;
    params.nSize = n;
    params.mSize = m;
    params.dstStride = dstStride;
    params.srcStride = srcStride;
    params.unitFlag = unitFlag;
    params.quantPre = quant;
    params.reluPre = relu;
    params.channelSplit = channelSplit;
    params.nz2ndEn = toNd;
    return params;
}

}  // namespace ascendc_emu

#endif  // ASCENDC_EMU_CUBE_POINTERS_H
