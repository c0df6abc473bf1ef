// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// A product on a unified core (arch 2002): operands come in fractals, results leave through UB.
#include "kernel_operator.h"

using namespace AscendC;

struct UnifiedCase {
    uint32_t m, n, k;
    uint32_t vector;  // copy the first row of each fractal only
    uint32_t deq;     // DeqScale
    uint32_t sid, relu, bias;
    uint32_t blocks, gap;  // blocks of the copy, and the gap between them in UB, 32 bytes
    uint64_t scale;
};

template <typename A, typename B, typename C, typename Out>
class UnifiedCube {
 public:
    __aicore__ inline void Run(GM_ADDR a, GM_ADDR b, GM_ADDR extra, GM_ADDR out,
                               const UnifiedCase& t) {
        p = t;
        aGm.SetGlobalBuffer((__gm__ A*)a);
        bGm.SetGlobalBuffer((__gm__ B*)b);
        scales.SetGlobalBuffer((__gm__ uint64_t*)extra);
        biasGm.SetGlobalBuffer((__gm__ C*)extra);
        outGm.SetGlobalBuffer((__gm__ Out*)out);
        fractals = p.m / 16 * (p.n / 16);
        pipe.InitBuffer(a1, 1, p.m * p.k * sizeof(A));
        pipe.InitBuffer(b1, 1, p.n * p.k * sizeof(B));
        pipe.InitBuffer(a2, 1, p.m * p.k * sizeof(A));
        pipe.InitBuffer(b2, 1, p.n * p.k * sizeof(B));
        pipe.InitBuffer(co1, 1, fractals * 256 * sizeof(C));
        pipe.InitBuffer(co2, 1, 32 * 1024);
        pipe.InitBuffer(table, 1, 1024);
        CopyIn();
        Load();
        Multiply();
        CopyToUb();
        auto y = co2.template DeQue<Out>();
        DataCopy(outGm, y, 32 * 1024 / sizeof(Out));
        co2.FreeTensor(y);
    }

 private:
    __aicore__ inline void CopyIn() {
        auto x = a1.template AllocTensor<A>();
        DataCopy(x, aGm, p.m * p.k);
        a1.EnQue(x);
        auto w = b1.template AllocTensor<B>();
        DataCopy(w, bGm, p.n * p.k);
        b1.EnQue(w);
        auto s = table.template AllocTensor<uint64_t>();
        DataCopy(s, scales, 128);
        table.EnQue(s);
    }
    __aicore__ inline void Load() {
        auto x1 = a1.template DeQue<A>();
        auto x2 = a2.template AllocTensor<A>();
        LoadData(x2, x1, LoadData2DParams(0, p.m * p.k * sizeof(A) / 512, 1, 0, 0, false, 0));
        a2.EnQue(x2);
        a1.FreeTensor(x1);
        auto w1 = b1.template DeQue<B>();
        auto w2 = b2.template AllocTensor<B>();
        LoadData(w2, w1, LoadData2DParams(0, p.n * p.k * sizeof(B) / 512, 1, 0, 0, false, 0));
        b2.EnQue(w2);
        b1.FreeTensor(w1);
    }
    __aicore__ inline void Multiply() {
        auto x = a2.template DeQue<A>();
        auto w = b2.template DeQue<B>();
        auto c = co1.template AllocTensor<C>();
        MmadParams mmad;
        mmad.m = p.m;
        mmad.n = p.n;
        mmad.k = p.k;
        if (p.bias != 0) {
            auto s = table.template DeQue<C>();
            BroadCastVecToMM(c, s, p.n / 16, 1, 0, p.m / 16 - 1);
            for (uint32_t i = 1; i < p.m / 16; ++i) {
                BroadCastVecToMM(c[i * 256], s, p.n / 16, 1, 0, p.m / 16 - 1);
            }
            table.FreeTensor(s);
            SetFlag<HardEvent::V_M>(EVENT_ID0);
            WaitFlag<HardEvent::V_M>(EVENT_ID0);
            mmad.cmatrixInitVal = false;
        }
        Mmad(c, x, w, mmad);
        co1.EnQue(c);
        a2.FreeTensor(x);
        b2.FreeTensor(w);
    }
    __aicore__ inline void CopyToUb() {
        auto c = co1.template DeQue<C>();
        auto y = co2.template AllocTensor<Out>();
        Duplicate(y.template ReinterpretCast<int32_t>(), 0, 8 * 1024);
        PipeBarrier<PIPE_V>();
        DataCopyEnhancedParams how;
        how.blockMode = p.vector != 0 ? BlockMode::BLOCK_MODE_VECTOR : BlockMode::BLOCK_MODE_MATRIX;
        how.deqScale = static_cast<DeqScale>(p.deq);
        how.deqValue = p.scale;
        how.sidStoreMode = p.sid;
        how.isRelu = p.relu != 0;
        LocalTensor<uint64_t> s;
        if (p.bias == 0) {
            s = table.template DeQue<uint64_t>();
            how.deqTensorAddr = s.GetPhyAddr();
        }
        DataCopy(y, c, DataCopyParams(p.blocks, fractals / p.blocks, 0, p.gap), how);
        if (p.bias == 0) table.FreeTensor(s);
        co2.EnQue(y);
        co1.FreeTensor(c);
    }

    TPipe pipe;
    TQue<TPosition::A1, 1> a1;
    TQue<TPosition::B1, 1> b1;
    TQue<TPosition::A2, 1> a2;
    TQue<TPosition::B2, 1> b2;
    TQue<TPosition::CO1, 1> co1;
    TQue<TPosition::CO2, 1> co2;
    TQue<TPosition::VECIN, 1> table;
    GlobalTensor<A> aGm;
    GlobalTensor<B> bGm;
    GlobalTensor<uint64_t> scales;
    GlobalTensor<C> biasGm;
    GlobalTensor<Out> outGm;
    UnifiedCase p;
    uint32_t fractals;
};

extern "C" __global__ __aicore__ void unified_cube(GM_ADDR a, GM_ADDR b, GM_ADDR extra, GM_ADDR out,
                                                   GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(UnifiedCase, t, tiling);
    if (TILING_KEY_IS(1)) UnifiedCube<half, half, half, half>().Run(a, b, extra, out, t);
    if (TILING_KEY_IS(2)) UnifiedCube<half, half, float, half>().Run(a, b, extra, out, t);
    if (TILING_KEY_IS(3)) UnifiedCube<half, half, float, float>().Run(a, b, extra, out, t);
    if (TILING_KEY_IS(4)) UnifiedCube<int8_t, int8_t, int32_t, half>().Run(a, b, extra, out, t);
    if (TILING_KEY_IS(5)) UnifiedCube<int8_t, int8_t, int32_t, int8_t>().Run(a, b, extra, out, t);
    if (TILING_KEY_IS(6)) UnifiedCube<uint8_t, int8_t, int32_t, uint8_t>().Run(a, b, extra, out, t);
    if (TILING_KEY_IS(7))
        UnifiedCube<uint8_t, uint8_t, int32_t, int16_t>().Run(a, b, extra, out, t);
    if (TILING_KEY_IS(8)) UnifiedCube<int8_t, int8_t, int32_t, int32_t>().Run(a, b, extra, out, t);
}
