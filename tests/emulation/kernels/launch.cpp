// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What a launch reports of its kernel: counts, reads beside the workspace, calls that stop it.
#include "kernel_operator.h"

using namespace AscendC;

// ---- counts -------------------------------------------------------------------------------------
// Moves and computes what test_launch.py has counted by hand; the second block does nothing.

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

// ---- workspace ----------------------------------------------------------------------------------
// Copies `count` floats of the workspace, from `first` on, to the output; puts -1 at `first`
// before.

struct EdgeTiling {
    int32_t first, count;
};

extern "C" __global__ __aicore__ void workspace_edge(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                     GM_ADDR tiling) {
    REGISTER_TILING_DEFAULT(EdgeTiling);
    GET_TILING_DATA(t, tiling);
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 256);
    LocalTensor<float> row = buf.Get<float>();
    GlobalTensor<float> in, space, out;
    in.SetGlobalBuffer((__gm__ float*)x);
    space.SetGlobalBuffer((__gm__ float*)workspace);
    out.SetGlobalBuffer((__gm__ float*)y);
    const DataCopyExtParams copy{1, uint32_t(t.count * sizeof(float)), 0, 0, 0};
    const DataCopyPadExtParams<float> pad{false, 0, 0, 0};
    DataCopyPad(row, in, copy, pad);
    SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    DataCopyPad(space, row, copy);
    SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
    DataCopyPad(row, space[t.first], copy, pad);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    if (t.first < 0) Duplicate(row, -1.0f, -t.first);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopyPad(out, row, copy);
}

// ---- a queue without a free buffer --------------------------------------------------------------
// Loops that take tensors of a queue and never give them back: AllocTensor finds none left.

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

// ---- calls of another arch ----------------------------------------------------------------------
// Calls that compile for arch 2201 and do nothing there: in a branch that the caller takes or not.

extern "C" __global__ __aicore__ void absent_api(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                 GM_ADDR tiling) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 8192);
    LocalTensor<half> a = buffer.Get<half>();
    const uint32_t form = *(__gm__ uint32_t*)tiling;
    if (form == 1) ProposalConcat(a, a, 1, 4);                     // form 1
    if (form == 2) RpSort16<half>(a, a, 1);                        // form 2
    if (form == 3) VectorPadding<half, true>(a, a, 0, false, 64);  // form 3
    y[0] = 1;
}
