// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// The host's tiling of a Matmul, for a test to look at.
#include "tiling/tiling_api.h"

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
