// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Which cores a kernel gets: declarations by default and by tiling key. Every core counts itself.
#include "kernel_operator.h"

using namespace AscendC;

__aicore__ inline void CountMe(GM_ADDR y) {
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer((__gm__ int32_t*)y);
    g.SetValue((g_coreType == AIC ? 0 : 32) + GetBlockIdx(), 1);
}

// The default first, as the documentation shows it; a key may override it in its branch.
extern "C" __global__ __aicore__ void kinds(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    if (TILING_KEY_IS(1)) {
        KERNEL_TASK_TYPE(1, KERNEL_TYPE_AIV_ONLY);
    } else if (TILING_KEY_IS(2)) {
        KERNEL_TASK_TYPE(2, KERNEL_TYPE_MIX_AIC_1_1);
    } else if (TILING_KEY_IS(3)) {
        KERNEL_TASK_TYPE(3, KERNEL_TYPE_AIC_ONLY);
    } else if (TILING_KEY_IS(4)) {
        KERNEL_TASK_TYPE(4, KERNEL_TYPE_MIX_AIC_1_2);
    }
    CountMe(y);
}

// The default behind the keys, and a default that is the usual kind anyway.
extern "C" __global__ __aicore__ void kinds_late(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE(1, KERNEL_TYPE_MIX_AIC_1_1);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    CountMe(y);
}

extern "C" __global__ __aicore__ void kinds_twice(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
    CountMe(y);
}

// An instruction of the cube core that every core reaches: the vector cores have no L1.
extern "C" __global__ __aicore__ void kinds_fill(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    TPipe pipe;
    TBuf<TPosition::A1> l1;
    pipe.InitBuffer(l1, 512);
    Fill(l1.Get<half>(), InitConstValueParams<half>(1, 16, 0, half(1)));
    CountMe(y);
}
