// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// From UB to L0C and back on a unified core (arch 2002): blocks of fractals, or of their first
// rows.
#include "kernel_operator.h"

using namespace AscendC;

struct WayBackCase {
    uint32_t blocks, length, srcGap, dstGap, vector;
};

template <typename S, typename D>
__aicore__ inline void WayBack(GM_ADDR in, GM_ADDR out, const WayBackCase& p) {
    constexpr uint32_t kFractals = 16;
    GlobalTensor<S> inGm;
    GlobalTensor<D> outGm;
    inGm.SetGlobalBuffer((__gm__ S*)in);
    outGm.SetGlobalBuffer((__gm__ D*)out);
    TPipe pipe;
    TBuf<TPosition::VECCALC> ub;
    TBuf<TPosition::CO1> co1;
    pipe.InitBuffer(ub, 64 * 1024);
    pipe.InitBuffer(co1, kFractals * 1024);
    LocalTensor<S> from = ub.Get<S>();
    LocalTensor<D> to = ub.GetWithOffset<D>(kFractals * 256, 32 * 1024);
    LocalTensor<D> product = co1.Get<D>();
    DataCopy(from, inGm, kFractals * 256);
    Duplicate(to, static_cast<D>(0), kFractals * 256);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    PipeBarrier<PIPE_V>();
    DataCopyEnhancedParams how;
    how.blockMode = BlockMode::BLOCK_MODE_MATRIX;
    DataCopy(product, to, DataCopyParams(1, kFractals, 0, 0), how);
    PipeBarrier<PIPE_V>();
    how.blockMode = p.vector != 0 ? BlockMode::BLOCK_MODE_VECTOR : BlockMode::BLOCK_MODE_MATRIX;
    DataCopy(product, from, DataCopyParams(p.blocks, p.length, p.srcGap, p.dstGap), how);
    PipeBarrier<PIPE_V>();
    how.blockMode = BlockMode::BLOCK_MODE_MATRIX;
    DataCopy(to, product, DataCopyParams(1, kFractals, 0, 0), how);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(outGm, to, kFractals * 256);
}

extern "C" __global__ __aicore__ void unified_way_back(GM_ADDR in, GM_ADDR out, GM_ADDR ws,
                                                       GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(WayBackCase, t, tiling);
    if (TILING_KEY_IS(1)) WayBack<half, half>(in, out, t);
    if (TILING_KEY_IS(2)) WayBack<half, float>(in, out, t);
    if (TILING_KEY_IS(3)) WayBack<float, float>(in, out, t);
    if (TILING_KEY_IS(4)) WayBack<int32_t, int32_t>(in, out, t);
}
