// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What MatmulApiTilingBase is told before it computes a tiling: platform, types, shapes, limits.
#include <algorithm>

#include "adv_api/matmul/matmul_tiling.h"
#include "host/matmul_tiling_units.h"

namespace matmul_tiling {

MatmulApiTilingBase::MatmulApiTilingBase()
    : l1_(kL1), l0c_(kL0c), ub_(kUb), l0a_(kL0a), l0b_(kL0b) {}

MatmulApiTilingBase::MatmulApiTilingBase(const platform_ascendc::PlatformAscendC& platform)
    : MatmulApiTilingBase() {
    using platform_ascendc::CoreMemType;
    const auto size = [&platform](CoreMemType type, int64_t fallback) {
        uint64_t bytes = 0;
        platform.GetCoreMemSize(type, bytes);
        return bytes == 0 ? fallback : static_cast<int64_t>(bytes);
    };
    l1_ = size(CoreMemType::L1, kL1 + kL1Reserved) - kL1Reserved;
    l0c_ = size(CoreMemType::L0_C, kL0c);
    ub_ = size(CoreMemType::UB, kUb);
    l0a_ = size(CoreMemType::L0_A, kL0a);
    l0b_ = size(CoreMemType::L0_B, kL0b);
}

MatmulApiTilingBase::MatmulApiTilingBase(const PlatformInfo& platform) : MatmulApiTilingBase() {
    const auto size = [](uint64_t bytes, int64_t fallback) {
        return bytes == 0 ? fallback : static_cast<int64_t>(bytes);
    };
    l1_ = size(platform.l1Size, kL1);
    l0c_ = size(platform.l0CSize, kL0c);
    ub_ = size(platform.ubSize, kUb);
    l0a_ = size(platform.l0ASize, kL0a);
    l0b_ = size(platform.l0BSize, kL0b);
}

MatmulApiTilingBase::~MatmulApiTilingBase() = default;

int32_t MatmulApiTilingBase::SetAType(TPosition pos, CubeFormat type, DataType dataType,
                                      bool isTrans) {
    a_ = {pos, type, dataType, isTrans, false};
    return 0;
}

int32_t MatmulApiTilingBase::SetBType(TPosition pos, CubeFormat type, DataType dataType,
                                      bool isTrans) {
    b_ = {pos, type, dataType, isTrans, false};
    return 0;
}

int32_t MatmulApiTilingBase::SetCType(TPosition pos, CubeFormat type, DataType dataType) {
    c_ = {pos, type, dataType, false, false};
    return 0;
}

int32_t MatmulApiTilingBase::SetBiasType(TPosition pos, CubeFormat type, DataType dataType) {
    bias_ = {pos, type, dataType, false, false};
    return 0;
}

int32_t MatmulApiTilingBase::SetDequantType(DequantType) { return 0; }

int32_t MatmulApiTilingBase::SetShape(int32_t m, int32_t n, int32_t k) {
    m_ = m;
    n_ = n;
    k_ = k;
    return 0;
}

int32_t MatmulApiTilingBase::SetOrgShape(int32_t m, int32_t n, int32_t k) {
    return SetOrgShape(m, n, k, k);
}

int32_t MatmulApiTilingBase::SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) {
    if (!Positive(m, n, ka) || kb <= 0) {
        return -1;
    }
    orgM_ = m;
    orgN_ = n;
    orgKa_ = ka;
    orgKb_ = kb;
    return 0;
}

int32_t MatmulApiTilingBase::SetALayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    plain_.ALayoutInfoB = b;
    plain_.ALayoutInfoS = s;
    plain_.ALayoutInfoN = n;
    plain_.ALayoutInfoG = g;
    plain_.ALayoutInfoD = d;
    return 0;
}

int32_t MatmulApiTilingBase::SetBLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    plain_.BLayoutInfoB = b;
    plain_.BLayoutInfoS = s;
    plain_.BLayoutInfoN = n;
    plain_.BLayoutInfoG = g;
    plain_.BLayoutInfoD = d;
    return 0;
}

int32_t MatmulApiTilingBase::SetCLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    plain_.CLayoutInfoB = b;
    plain_.CLayoutInfoS1 = s;
    plain_.CLayoutInfoN = n;
    plain_.CLayoutInfoG = g;
    plain_.CLayoutInfoS2 = d;
    return 0;
}

int32_t MatmulApiTilingBase::SetBatchInfoForNormal(int32_t batchA, int32_t batchB, int32_t m,
                                                   int32_t n, int32_t k) {
    batchA_ = batchA;
    batchB_ = batchB;
    m_ = m;
    n_ = n;
    k_ = k;
    return 0;
}

int32_t MatmulApiTilingBase::SetBatchNum(int32_t batch) {
    plain_.BatchNum = batch;
    return 0;
}

int32_t MatmulApiTilingBase::EnableBias(bool isBias) {
    hasBias_ = isBias;
    return 0;
}

int32_t MatmulApiTilingBase::SetBias(bool isBias) { return EnableBias(isBias); }

int32_t MatmulApiTilingBase::SetFixSplit(int32_t baseM, int32_t baseN, int32_t baseK) {
    const auto bad = [](int32_t v) { return v != -1 && v <= 0; };
    if (bad(baseM) || bad(baseN) || bad(baseK)) {
        return -1;
    }
    fixM_ = baseM;
    fixN_ = baseN;
    fixK_ = baseK;
    return 0;
}

int32_t MatmulApiTilingBase::SetBufferSpace(int32_t l1Bytes, int32_t l0CBytes, int32_t ubBytes,
                                            int32_t) {
    // More than the hardware has is refused; -1 keeps what the platform says.
    if (l1Bytes > l1_ + kL1Reserved || l0CBytes > l0c_) {
        return -1;
    }
    l1_ = l1Bytes == -1 ? l1_ : std::min<int64_t>(l1Bytes, l1_);
    l0c_ = l0CBytes == -1 ? l0c_ : l0CBytes;
    ub_ = ubBytes == -1 ? ub_ : ubBytes;
    return 0;
}

int32_t MatmulApiTilingBase::SetTraverse(MatrixTraverse traverse) {
    traverse_ = traverse;
    return 0;
}

int32_t MatmulApiTilingBase::SetMadType(MatrixMadType madType) {
    hf32_ = madType == MatrixMadType::HF32;
    return 0;
}

int32_t MatmulApiTilingBase::SetSplitRange(int32_t maxBaseM, int32_t maxBaseN, int32_t maxBaseK,
                                           int32_t, int32_t, int32_t) {
    maxM_ = maxBaseM;
    maxN_ = maxBaseN;
    maxK_ = maxBaseK;
    return 0;
}

int32_t MatmulApiTilingBase::SetDoubleBuffer(bool a, bool b, bool c, bool bias, bool, bool) {
    a_.isDB = a;
    b_.isDB = b;
    c_.isDB = c;
    bias_.isDB = bias;
    return 0;
}

void MatmulApiTilingBase::SetMatmulConfigParams(int32_t, bool, ScheduleType,
                                                MatrixTraverse traverse, bool) {
    if (traverse != MatrixTraverse::NOSET) {
        traverse_ = traverse;
    }
}

void MatmulApiTilingBase::SetMatmulConfigParams(const MatmulConfigParams& params) {
    SetMatmulConfigParams(params.mmConfigType, params.enableL1CacheUB, params.scheduleType,
                          params.traverse, params.enVecND2NZ);
}

// B is 4:2 compressed; its blocks take half the room, which the split does not use.
int32_t MatmulApiTilingBase::SetSparse(bool) { return 0; }

}  // namespace matmul_tiling
