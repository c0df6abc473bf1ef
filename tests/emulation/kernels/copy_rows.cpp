// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Copy in counter mode: rows of 100 elements, 104 apart.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kRow = 100, kApart = 104, kRows = 3;

extern "C" __global__ __aicore__ void copy_rows(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                GM_ADDR tiling) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    GlobalTensor<float> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ float*)x, kRows * kApart);
    yGm.SetGlobalBuffer((__gm__ float*)y, kRows * kApart);
    pipe.InitBuffer(in, 1, kRows * kApart * 4);
    pipe.InitBuffer(out, 1, kRows * kApart * 4);
    auto a = in.AllocTensor<float>();
    DataCopy(a, xGm, kRows * kApart);
    in.EnQue(a);
    a = in.DeQue<float>();
    auto b = out.AllocTensor<float>();
    Duplicate(b, -1.0f, kRows * kApart);
    PipeBarrier<PIPE_V>();
    SetMaskCount();
    SetVectorMask<float, MaskMode::COUNTER>(0, kRow);
    if (TILING_KEY_IS(1)) Copy<float, false>(b, a, MASK_PLACEHOLDER, kRows, {1, 1, kApart / 8, 0});
    if (TILING_KEY_IS(2)) Copy<float, false>(b, a, MASK_PLACEHOLDER, kRows, {1, 0, kApart / 8, 1});
    if (TILING_KEY_IS(3)) Copy<float, false>(b, a, MASK_PLACEHOLDER, 1, {1, 1, 0, 0});
    SetMaskNorm();
    ResetMask();
    out.EnQue(b);
    b = out.DeQue<float>();
    DataCopy(yGm, b, kRows * kApart);
    in.FreeTensor(a);
    out.FreeTensor(b);
}
