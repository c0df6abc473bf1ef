// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Rows of x, of `length` floats each, are padded into UB and stored with their padding.
#include "kernel_operator.h"

using namespace AscendC;

struct RowTiling {
    uint32_t rows, length, isPad, left, right, setValue;
    float value;
};

extern "C" __global__ __aicore__ void pad_rows(GM_ADDR x, GM_ADDR z, GM_ADDR workspace,
                                               GM_ADDR tiling) {
    const auto& t = *reinterpret_cast<const __gm__ RowTiling*>(tiling);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float*)x, t.rows * t.length);
    const uint32_t padded = (t.left + t.length + t.right + 7) / 8 * 8;
    to.SetGlobalBuffer((__gm__ float*)z, t.rows * padded);
    TPipe pipe;
    TBuf<TPosition::VECIN> buf;
    pipe.InitBuffer(buf, t.rows * padded * sizeof(float));
    auto a = buf.Get<float>();
    if (t.setValue == 1) SetPadValue(t.value);
    if (t.setValue == 2) {  // what a call with isPad leaves behind
        DataCopyPad(a, from, DataCopyExtParams(1, 4, 0, 0, 0),
                    DataCopyPadExtParams<float>(true, 0, 1, t.value));
        PipeBarrier<PIPE_MTE2>();
    }
    DataCopyPad(a, from, DataCopyExtParams(t.rows, t.length * sizeof(float), 0, 0, 0),
                DataCopyPadExtParams<float>(t.isPad, t.left, t.right, t.isPad ? t.value : 0.0f));
    SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    DataCopy(to, a, t.rows * padded);
}
