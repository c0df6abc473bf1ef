// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// What scripts/bench_emulation.py measures: add, gelu (tanh), softmax and layer norm over rows,
// float.
#include "kernel_operator.h"

using namespace AscendC;

struct BenchTiling {
    uint32_t length;  // elements in all; a multiple of tile * blocks
    uint32_t row;     // elements of a row and of a tile
};

class Bench {
 public:
    __aicore__ inline Bench(GM_ADDR x, GM_ADDR y, GM_ADDR z, const BenchTiling& t) : row(t.row) {
        perBlock = t.length / GetBlockNum();
        const uint64_t begin = static_cast<uint64_t>(GetBlockIdx()) * perBlock;
        a.SetGlobalBuffer((__gm__ float*)x + begin, perBlock);
        b.SetGlobalBuffer((__gm__ float*)y + begin, perBlock);
        c.SetGlobalBuffer((__gm__ float*)z + begin, perBlock);
        pipe.InitBuffer(inA, 2, row * sizeof(float));
        pipe.InitBuffer(inB, 2, row * sizeof(float));
        pipe.InitBuffer(outC, 2, row * sizeof(float));
        pipe.InitBuffer(scratch, 1024);
    }
    __aicore__ inline void Run(uint64_t op) {
        for (uint32_t at = 0; at < perBlock; at += row) {
            LocalTensor<float> x = inA.AllocTensor<float>();
            DataCopy(x, a[at], row);
            inA.EnQue(x);
            if (op == 0) {
                LocalTensor<float> y = inB.AllocTensor<float>();
                DataCopy(y, b[at], row);
                inB.EnQue(y);
            }
            x = inA.DeQue<float>();
            LocalTensor<float> z = outC.AllocTensor<float>();
            if (op == 0) AddTile(z, x);
            if (op == 1) GeluTile(z, x);
            if (op == 2) SoftmaxTile(z, x);
            if (op == 3) LayerNormTile(z, x);
            inA.FreeTensor(x);
            outC.EnQue(z);
            z = outC.DeQue<float>();
            DataCopy(c[at], z, row);
            outC.FreeTensor(z);
        }
    }

 private:
    __aicore__ inline void AddTile(LocalTensor<float>& z, LocalTensor<float>& x) {
        LocalTensor<float> y = inB.DeQue<float>();
        Add(z, x, y, row);
        inB.FreeTensor(y);
    }
    __aicore__ inline void GeluTile(LocalTensor<float>& z, LocalTensor<float>& x) {
        // x / (1 + exp(-1.5957691 (x + 0.044715 x^3)))
        Mul(z, x, x, row);
        PipeBarrier<PIPE_V>();
        Muls(z, z, 0.044715f, row);
        PipeBarrier<PIPE_V>();
        Adds(z, z, 1.0f, row);
        PipeBarrier<PIPE_V>();
        Mul(z, z, x, row);
        PipeBarrier<PIPE_V>();
        Muls(z, z, -1.595769121605731f, row);
        PipeBarrier<PIPE_V>();
        Exp(z, z, row);
        PipeBarrier<PIPE_V>();
        Adds(z, z, 1.0f, row);
        PipeBarrier<PIPE_V>();
        Div(z, x, z, row);
    }
    __aicore__ inline float Scalar(const LocalTensor<float>& t) {
        const event_t toS = static_cast<event_t>(pipe.FetchEventID(HardEvent::V_S));
        SetFlag<HardEvent::V_S>(toS);
        WaitFlag<HardEvent::V_S>(toS);
        const float value = t.GetValue(0);
        const event_t toV = static_cast<event_t>(pipe.FetchEventID(HardEvent::S_V));
        SetFlag<HardEvent::S_V>(toV);
        WaitFlag<HardEvent::S_V>(toV);
        return value;
    }
    __aicore__ inline void SoftmaxTile(LocalTensor<float>& z, LocalTensor<float>& x) {
        LocalTensor<float> s = scratch.Get<float>();
        ReduceMax(s, x, s[64], row);
        Adds(z, x, -Scalar(s), row);
        PipeBarrier<PIPE_V>();
        Exp(z, z, row);
        PipeBarrier<PIPE_V>();
        ReduceSum(s, z, s[64], row);
        Muls(z, z, 1.0f / Scalar(s), row);
    }
    __aicore__ inline void LayerNormTile(LocalTensor<float>& z, LocalTensor<float>& x) {
        LocalTensor<float> s = scratch.Get<float>();
        ReduceSum(s, x, s[64], row);
        Adds(x, x, -Scalar(s) / row, row);
        PipeBarrier<PIPE_V>();
        Mul(z, x, x, row);
        PipeBarrier<PIPE_V>();
        ReduceSum(s, z, s[64], row);
        Muls(z, x, 1.0f / sqrt(Scalar(s) / row + 1e-5f), row);
    }

    TPipe pipe;
    TQue<QuePosition::VECIN, 1> inA, inB;
    TQue<QuePosition::VECOUT, 1> outC;
    TBuf<> scratch;
    GlobalTensor<float> a, b, c;
    uint32_t row, perBlock;
};

extern "C" __global__ __aicore__ void throughput(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace,
                                                 GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(BenchTiling, t, tiling);
    Bench(x, y, z, t).Run(TILING_KEY_VAR);
}
