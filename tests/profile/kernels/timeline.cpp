// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Small kernels whose timelines can be worked out by hand.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kTile = 4096;  // floats: 16 KB

// ---- pipeline -----------------------------------------------------------------------------------
// y = x + x in tiles; `form` says how far loads, sums and stores may overlap.

enum Form : uint32_t { kSerial, kSingleBuffer, kDoubleBuffer };

struct PipelineTiling {
    uint32_t form, tiles, extra;  // extra: further tiles of block 0
};

template <int buffers>
__aicore__ inline void Queued(GlobalTensor<float> x, GlobalTensor<float> y, uint32_t tiles) {
    TPipe pipe;
    TQue<TPosition::VECIN, buffers> in;
    TQue<TPosition::VECOUT, buffers> out;
    pipe.InitBuffer(in, buffers, kTile * sizeof(float));
    pipe.InitBuffer(out, buffers, kTile * sizeof(float));
    for (uint32_t i = 0; i < tiles; ++i) {
        LocalTensor<float> a = in.template AllocTensor<float>();
        DataCopy(a, x[i * kTile], kTile);
        in.EnQue(a);
        a = in.template DeQue<float>();
        LocalTensor<float> b = out.template AllocTensor<float>();
        // Several instructions, so that the vector unit has about as much to do as the copies.
        for (int k = 0; k < 6; ++k) Add(b, a, a, kTile);
        out.EnQue(b);
        in.FreeTensor(a);
        b = out.template DeQue<float>();
        DataCopy(y[i * kTile], b, kTile);
        out.FreeTensor(b);
    }
}

extern "C" __global__ __aicore__ void pipeline(GM_ADDR x, GM_ADDR y, GM_ADDR, GM_ADDR tiling) {
    REGISTER_TILING_DEFAULT(PipelineTiling);
    GET_TILING_DATA(t, tiling);
    const uint32_t tiles = t.tiles + (GetBlockIdx() == 0 ? t.extra : 0);
    GlobalTensor<float> in, out;
    in.SetGlobalBuffer((__gm__ float*)x);
    out.SetGlobalBuffer((__gm__ float*)y);
    if (t.form == kSingleBuffer) return Queued<1>(in, out, tiles);
    if (t.form == kDoubleBuffer) return Queued<2>(in, out, tiles);
    LocalTensor<float> a(TPosition::VECCALC, 0, kTile);
    LocalTensor<float> b(TPosition::VECCALC, kTile * sizeof(float), kTile);
    for (uint32_t i = 0; i < tiles; ++i) {
        DataCopy(a, in[i * kTile], kTile);
        PipeBarrier<PIPE_ALL>();
        for (int k = 0; k < 6; ++k) Add(b, a, a, kTile);
        PipeBarrier<PIPE_ALL>();
        DataCopy(out[i * kTile], b, kTile);
        PipeBarrier<PIPE_ALL>();
    }
}

// ---- banks --------------------------------------------------------------------------------------
// Adds tensors that begin at given bytes of UB, `times` times over `count` floats.

struct BankTiling {
    uint32_t first, second, result, count, times, barrier;
};

extern "C" __global__ __aicore__ void banks(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR tiling) {
    REGISTER_TILING_DEFAULT(BankTiling);
    GET_TILING_DATA(t, tiling);
    LocalTensor<float> a(TPosition::VECCALC, t.first, t.count);
    LocalTensor<float> b(TPosition::VECCALC, t.second, t.count);
    LocalTensor<float> c(TPosition::VECCALC, t.result, t.count);
    for (uint32_t i = 0; i < t.times; ++i) {
        Add(c, a, b, t.count);
        if (t.barrier != 0) PipeBarrier<PIPE_V>();
    }
}

// ---- meeting ------------------------------------------------------------------------------------
// Block 0 works, all meet, all work.

extern "C" __global__ __aicore__ void meeting(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR) {
    LocalTensor<float> a(TPosition::VECCALC, 0, kTile);
    LocalTensor<float> b(TPosition::VECCALC, kTile * sizeof(float), kTile);
    if (GetBlockIdx() == 0) {
        for (int i = 0; i < 200; ++i) Adds(b, a, 1.0f, kTile);
    }
    SyncAll();
    Adds(b, a, 1.0f, kTile);
}

// ---- reading again ------------------------------------------------------------------------------
// Every block reads a half of the same `tiles` tiles `times` times, past L2 or not.

struct AgainTiling {
    uint32_t tiles, times, bypass, rows;
};

extern "C" __global__ __aicore__ void again(GM_ADDR x, GM_ADDR, GM_ADDR, GM_ADDR tiling) {
    REGISTER_TILING_DEFAULT(AgainTiling);
    GET_TILING_DATA(t, tiling);
    LocalTensor<float> a(TPosition::VECCALC, 0, kTile);
    GlobalTensor<float> in;
    in.SetGlobalBuffer((__gm__ float*)x, t.tiles * kTile);
    if (t.bypass != 0) in.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    for (uint32_t k = 0; k < t.times; ++k) {
        for (uint32_t i = 0; i < t.tiles; ++i) {
            // Half of a tile, in runs with gaps between them.
            const uint16_t length = static_cast<uint16_t>(kTile / 2 / t.rows * sizeof(float));
            DataCopyPad(a, in[i * kTile], {static_cast<uint16_t>(t.rows), length, length, 0},
                        {false, 0, 0, 0});
        }
    }
}

// ---- values ------------------------------------------------------------------------------------
// Does further work where what it has computed says so.

extern "C" __global__ __aicore__ void values(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR) {
    LocalTensor<float> a(TPosition::VECCALC, 0, kTile);
    Duplicate(a, 1.0f, kTile);
    SetFlag<HardEvent::V_S>(EVENT_ID0);
    WaitFlag<HardEvent::V_S>(EVENT_ID0);
    if (a.GetValue(0) == 1.0f) Adds(a, a, 1.0f, kTile);
}

// ---- hang ---------------------------------------------------------------------------------------
// Works, then waits for a flag that nobody sets.

extern "C" __global__ __aicore__ void hang(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR) {
    LocalTensor<float> a(TPosition::VECCALC, 0, kTile);
    for (int i = 0; i < 10; ++i) Adds(a, a, 1.0f, kTile);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Adds(a, a, 1.0f, kTile);
}
