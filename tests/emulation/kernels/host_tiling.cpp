// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Host tiling of the high-level APIs, called as an op's TilingFunc does.
#include "register/op_def_registry.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(AdvTiling)
TILING_DATA_FIELD_DEF(uint32_t, first);
TILING_DATA_FIELD_DEF_STRUCT(SoftMaxTiling, softmax);
TILING_DATA_FIELD_DEF_STRUCT(LayerNormTiling, layerNorm);
TILING_DATA_FIELD_DEF_STRUCT(RmsNormTiling, rmsNorm);
TILING_DATA_FIELD_DEF_STRUCT(TopkTiling, topk);
TILING_DATA_FIELD_DEF_STRUCT(GroupNormTiling, groupNorm);
END_TILING_DATA_DEF
}  // namespace optiling

// The same struct as the kernel sees it.
struct KernelTiling {
    uint32_t first;
    alignas(8) SoftMaxTiling softmax;
    alignas(8) LayerNormTiling layerNorm;
    alignas(8) RmsNormTiling rmsNorm;
    alignas(8) TopkTiling topk;
    alignas(8) GroupNormTiling groupNorm;
};

extern "C" {
// Fills `out` with what the kernel reads back; returns false when a function refuses.
bool Fill(uint32_t rows, uint32_t columns, uint32_t k, uint32_t workspace, uint32_t* out) {
    optiling::AdvTiling tiling;
    const ge::Shape plane({rows, columns});
    const ge::Shape cube({1, rows, columns});
    const ge::Shape image({2, 4, rows, columns});
    const platform_ascendc::PlatformAscendC platform(nullptr);
    tiling.set_first(7);
    AscendC::SoftMaxTilingFunc(plane, 4, workspace, tiling.softmax);
    AscendC::GetLayerNormNDTilingInfo(cube, workspace, 4, false, tiling.layerNorm);
    AscendC::GetGroupNormNDTilingInfo(image, workspace, 4, false, 2, tiling.groupNorm);
    if (!AscendC::GetRmsNormTilingInfo(cube, cube, workspace, 4, tiling.rmsNorm)) return false;
    if (!AscendC::TopKTilingFunc(platform, columns, rows, k, 4, true,
                                 AscendC::TopKMode::TOPK_NORMAL, true, tiling.topk)) {
        return false;
    }
    KernelTiling kernel = {};
    tiling.SaveToBuffer(&kernel, sizeof(kernel));
    const uint32_t values[] = {
        kernel.first,
        kernel.softmax.srcM,
        kernel.softmax.srcK,
        kernel.softmax.splitM * kernel.softmax.rangeM + kernel.softmax.tailM,
        kernel.layerNorm.sLength,
        kernel.layerNorm.hLength,
        kernel.rmsNorm.mainBsLength * kernel.rmsNorm.loopRound + kernel.rmsNorm.tailBsLength,
        static_cast<uint32_t>(kernel.topk.kAlignFourBytes),
        kernel.groupNorm.g,
        kernel.groupNorm.d,
        kernel.groupNorm.hw};
    memcpy(out, values, sizeof(values));
    return true;
}

// Pairs of (max, min) bytes.
uint32_t TmpSizes(uint32_t rows, uint32_t columns, uint32_t* out) {
    const ge::Shape shape({rows, columns});
    uint32_t n = 0, high = 0, low = 0;
    const auto add = [&]() {
        out[n++] = high;
        out[n++] = low;
    };
    AscendC::GetSigmoidMaxMinTmpSize(shape, 4, false, high, low), add();
    AscendC::GetTanhMaxMinTmpSize(shape, 2, false, high, low), add();
    AscendC::GetPowerMaxMinTmpSize(shape, shape, false, 4, false, high, low), add();
    AscendC::GetRmsNormMaxMinTmpSize(shape, 4, high, low), add();
    AscendC::GetLayerNormMaxMinTmpSize(shape, 4, false, high, low), add();
    AscendC::GetAscendDequantMaxMinTmpSize(shape, 4, high, low), add();
    AscendC::GetReduceSumMaxMinTmpSize(shape, ge::DT_FLOAT, AscendC::ReducePattern::AR, true, false,
                                       high, low),
        add();
    high = AscendC::GetSoftMaxMaxTmpSize(shape, 4, false);
    low = AscendC::GetSoftMaxMinTmpSize(shape, 4, false), add();
    return n;
}
}

// The host's tiling of a Matmul, for a test to look at.
// q: m, n, k, cores, A type, C type, bias, baseM, baseN, baseK (-1: free), transA, transB.
extern "C" int matmul_tiling_of(const int32_t* q, TCubeTiling* out) {
    using namespace matmul_tiling;
    auto* platform = platform_ascendc::PlatformAscendCManager::GetInstance("Ascend910B3");
    MultiCoreMatmulTiling api(*platform);
    const auto a = matmul_tiling::DataType(q[4]), c = matmul_tiling::DataType(q[5]);
    const auto gm = matmul_tiling::TPosition::GM;
    const auto nd = matmul_tiling::CubeFormat::ND;
    api.SetDim(q[3]);
    api.SetAType(gm, nd, a, q[10] != 0);
    api.SetBType(gm, nd, a, q[11] != 0);
    api.SetCType(gm, nd, c);
    api.SetBiasType(gm, nd, c);
    api.SetOrgShape(q[0], q[1], q[2]);
    api.SetShape(q[0], q[1], q[2]);
    api.EnableBias(q[6] != 0);
    api.SetBufferSpace(-1, -1, -1);
    if (q[7] != -1 || q[8] != -1 || q[9] != -1) api.SetFixSplit(q[7], q[8], q[9]);
    return int(api.GetTiling(*out));
}
