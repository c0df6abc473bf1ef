// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// What scripts/bench_emulation.py measures: C = A * B with the Matmul object, half in, half out.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void throughput_matmul(GM_ADDR a, GM_ADDR b, GM_ADDR c,
                                                        GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    using Matrix = MatmulType<TPosition::GM, CubeFormat::ND, half>;
    const TCubeTiling t = *reinterpret_cast<__gm__ TCubeTiling*>(tiling);
    const uint32_t blocksM = t.M / t.singleCoreM;
    const uint32_t row = GetBlockIdx() % blocksM * t.singleCoreM;
    const uint32_t column = GetBlockIdx() / blocksM * t.singleCoreN;
    GlobalTensor<half> left, right, out;
    left.SetGlobalBuffer((__gm__ half*)a + row * t.Ka);
    right.SetGlobalBuffer((__gm__ half*)b + column);
    out.SetGlobalBuffer((__gm__ half*)c + row * t.N + column);
    TPipe pipe;
    Matmul<Matrix, Matrix, Matrix> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
    mm.SetTensorA(left);
    mm.SetTensorB(right);
    mm.IterateAll(out);
    mm.End();
}
