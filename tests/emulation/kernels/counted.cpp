// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Moves and computes what test_counts.py has counted by hand; the second block does nothing.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void counted(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                              GM_ADDR tiling) {
    if (GetBlockIdx() == 1) return;
    TPipe pipe;
    TBuf<TPosition::VECCALC> first, second;
    pipe.InitBuffer(first, 512);
    pipe.InitBuffer(second, 2048);
    LocalTensor<float> a = first.Get<float>();
    LocalTensor<float> b = second.Get<float>();
    GlobalTensor<float> in, out, space;
    in.SetGlobalBuffer((__gm__ float*)x, 256);
    out.SetGlobalBuffer((__gm__ float*)y, 256);
    space.SetGlobalBuffer((__gm__ float*)workspace, 256);
    const DataCopyPadExtParams<float> pad{false, 0, 0, 0};
    // 2 x 400 bytes of the input, and one element by the scalar unit.
    DataCopyPad(a, in, DataCopyExtParams{1, 400, 0, 0, 0}, pad);
    DataCopyPad(b, in, DataCopyExtParams{1, 400, 0, 0, 0}, pad);
    const float scalar = in.GetValue(200);
    PipeBarrier<PIPE_ALL>();
    // 100 elements in two steps; 3 times 40 elements; one element in each of 64.
    Add(b, a, b, 100);
    Adds(b, b, scalar, uint64_t{40}, 3, {1, 1, 8, 8});
    const uint64_t lanes[2] = {1, 0};
    Muls(b, b, 2.0f, lanes, 2, {1, 1, 8, 8});
    PipeBarrier<PIPE_ALL>();
    // 3 rows of 32 bytes to the workspace and one of them back, 64 bytes of padding not counted.
    DataCopyPad(space, b, DataCopyExtParams{3, 32, 0, 64, 0});
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(b, space, DataCopyExtParams{1, 32, 0, 0, 0}, pad);
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(out, b, DataCopyExtParams{1, 20, 0, 0, 0});
}
