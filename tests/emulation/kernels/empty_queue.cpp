// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Loops that take tensors of a queue and never give them back: AllocTensor finds none left.
#include "kernel_operator.h"

using namespace AscendC;

struct Kernel {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> inQueueX;
    GlobalTensor<float> xGm;

    __aicore__ inline void Step(uint32_t form) {
        LocalTensor<float> xLocal = inQueueX.AllocTensor<float>();  // allocated
        DataCopy(xLocal, xGm, 64);
        if (form == 0) return;
        inQueueX.EnQue(xLocal);  // enqueued
        if (form == 1) return;
        LocalTensor<float> tile;
        inQueueX.DeQue<float>(tile);  // dequeued
        Adds(tile, tile, 1.0f, 64);
    }
};

extern "C" __global__ __aicore__ void empty_queue(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
    Kernel kernel;
    kernel.xGm.SetGlobalBuffer((__gm__ float*)x, 64);
    kernel.pipe.InitBuffer(kernel.inQueueX, 2, 256);
    for (int i = 0; i < 3; ++i) kernel.Step(*(__gm__ uint32_t*)tiling);
}
