// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// SoftmaxFlashV2 over two halves of the columns: y = exp(second half - max), z = rows of sum, max,
// expMax and the second half's own maximum. Tiling key: 1 blocks of 32 bytes per row, 2 one
// element, 3 one element with the own maximum.
#include "kernel_operator.h"
using namespace AscendC;

static constexpr SoftmaxConfig kNarrow = {false, 0, 0, SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC};
constexpr uint32_t kRows = 8, kColumns = 32;

extern "C" __global__ __aicore__ void softmax_flash(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR,
                                                    GM_ADDR) {
    TPipe pipe;
    TBuf<> buffers[3];
    for (TBuf<>& buffer : buffers) pipe.InitBuffer(buffer, 4096);
    LocalTensor<float> data = buffers[0].Get<float>(), rows = buffers[1].Get<float>();
    LocalTensor<uint8_t> tmp = buffers[2].Get<uint8_t>();
    GlobalTensor<float> in, out, stats;
    in.SetGlobalBuffer((__gm__ float*)x);
    out.SetGlobalBuffer((__gm__ float*)y);
    stats.SetGlobalBuffer((__gm__ float*)z);
    const uint32_t n = kRows * kColumns;
    DataCopy(data, in, 2 * n);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Duplicate(rows, 0.0f, 6 * 64);
    PipeBarrier<PIPE_V>();
    LocalTensor<float> sum = rows, max = rows[64], scale = rows[128], own = rows[192],
                       sum0 = rows[256], max0 = rows[320];
    const SoftMaxShapeInfo shape = {kRows, kColumns, kRows, kColumns};
    const SoftMaxTiling tiling = SoftMaxFlashV2TilingFunc(shape, 4, 4, 4096, true);
    LocalTensor<float> first = data, second = data[n];
    if (TILING_KEY_IS(1)) {
        SoftmaxFlashV2<float>(first, sum0, max0, first, scale, sum0, max0, tmp, tiling, shape);
        PipeBarrier<PIPE_V>();
        SoftmaxFlashV2<float, true>(second, sum, max, second, scale, sum0, max0, tiling, shape);
    } else {
        SoftmaxFlashV2<float, false, false, false, false, kNarrow>(first, sum0, max0, first, scale,
                                                                   sum0, max0, tiling, shape);
        PipeBarrier<PIPE_V>();
        if (TILING_KEY_IS(2)) {
            SoftmaxFlashV2<float, true, false, false, false, kNarrow>(
                second, sum, max, second, scale, sum0, max0, tmp, tiling, shape);
        } else {
            SoftmaxFlashV2<float, true, true, false, false, kNarrow>(
                second, own, sum, max, second, scale, sum0, max0, tmp, tiling, shape);
        }
    }
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(out, second, n);
    DataCopy(stats, rows, 4 * 64);
}
