// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Often used APIs that no other kernel of the tests calls: x, y and z go to UB, z comes back.
#include "frame.h"

// z[i] += 1.5 * x[i] three ways: a count, a mask of one repeat, every other lane.
template <typename D, typename S>
__aicore__ inline void RunAxpy(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR tiling) {
    Frame f(x, y, z, tiling);
    constexpr uint32_t n = 256 / sizeof(D);
    const uint8_t rep = 8 * sizeof(S) / sizeof(D);
    uint64_t bits[2] = {0x5555555555555555, 0x5555555555555555};
    if (n == 64) bits[1] = 0;
    auto s = f.X<S>();
    auto d = f.Z<D>();
    const S a = static_cast<S>(1.5f);
    Axpy(d, s, a, int32_t(n));
    Axpy<D, S>(d[n], s, a, uint64_t(n), 1, {1, 1, 8, rep});
    Axpy<D, S>(d[2 * n], s, a, bits, 1, {1, 1, 8, rep});
    f.End(z);
}
KERNEL(axpy_float) { RunAxpy<float, float>(x, y, z, tiling); }
KERNEL(axpy_half) { RunAxpy<half, half>(x, y, z, tiling); }
KERNEL(axpy_mixed) { RunAxpy<float, half>(x, y, z, tiling); }

// x: [8, 64] gradients, y: [8, 64] values; z: [8, 64] and [8, block].
template <typename T>
__aicore__ inline void RunGrad(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR tiling) {
    Frame f(x, y, z, tiling);
    const SoftMaxShapeInfo shape{8, 64, 8, 64};
    SoftMaxTiling t;
    SoftmaxGrad<T>(f.Z<T>(), f.X<T>(), f.Y<T>(), f.W<uint8_t>(), t, false, shape);
    SoftmaxGradFront<T>(f.Z<T>()[512], f.X<T>(), f.Y<T>(), f.W<uint8_t>(), t, shape);
    f.End(z);
}
KERNEL(grad_float) { RunGrad<float>(x, y, z, tiling); }
KERNEL(grad_half) { RunGrad<half>(x, y, z, tiling); }

// x: [8, 64] values, y: sum[8, 8] and max[8, 8]; z: [8, 64]; then the rows whose max is -100
// become 7.
KERNEL(simple_softmax) {
    Frame f(x, y, z, tiling);
    const SoftMaxShapeInfo shape{8, 64, 8, 64};
    SimpleSoftMax<float>(f.Z<float>(), f.Y<float>(), f.Y<float>()[64], f.X<float>(), f.W<uint8_t>(),
                         SoftMaxTiling(), shape);
    const bool any =
        AdjustSoftMaxRes<float, float>(f.Z<float>(), f.Y<float>()[64], 0xc2c80000, 7.0f, shape);
    PipeBarrier<PIPE_ALL>();
    f.Z<float>().SetValue(512, any ? 1.0f : 0.0f);
    f.End(z);
}

// x: 64 scores, y: their indices; z: scores and indices in descending order.
KERNEL(sort_extract) {
    Frame f(x, y, z, tiling);
    auto score = f.X<float>();
    auto sorted = f.W<float>(), tmp = f.W<float>()[GetSortLen<float>(64)];
    LocalTensor<float> joined;
    Concat(joined, score, tmp, 4);
    Sort<float, true>(sorted, joined, f.Y<uint32_t>(), tmp, 2);
    Extract(f.Z<float>(), f.Z<uint32_t>()[64], sorted, 2);
    f.End(z);
}

// x: 128 float; z: the accumulator after WholeReduceSum of 64 and of 32 lanes by RepeatReduceSum
// and both comparisons with a scalar as bits.
KERNEL(sums_and_compares) {
    Frame f(x, y, z, tiling);
    auto s = f.X<float>(), d = f.Z<float>();
    RepeatReduceSum<float>(d, s, 2, 64, 0, 1, 1, 8);
    ReduceSum(d[8], s, f.W<float>(), 128);
    const float total = GetAccVal<float>();
    CompareScalar(f.Z<uint8_t>()[64], s, 0.25f, CMPMODE::LT, 128);
    Compares(f.Z<uint8_t>()[96], s, 0.25f, CMPMODE::GE, 128);
    PipeBarrier<PIPE_ALL>();
    d.SetValue(12, total);
    f.End(z);
}

// x: 16 x 16 int16; z: transposed; then scalar conversions.
KERNEL(transpose_and_scalars) {
    Frame f(x, y, z, tiling);
    Transpose(f.Z<int16_t>(), f.X<int16_t>());
    PipeBarrier<PIPE_ALL>();
    auto d = f.Z<float>()[128];
    const float v = f.Y<float>().GetValue(0);
    d.SetValue(0, ToFloat(ToBfloat16(v)));
    d.SetValue(1, float(ScalarCast<float, half, RoundMode::CAST_ROUND>(v)));
    f.Z<int32_t>()[128].SetValue(2, ScalarCast<float, int32_t, RoundMode::CAST_FLOOR>(v));
    f.Z<int32_t>()[128].SetValue(3, ScalarCast<float, int32_t, RoundMode::CAST_CEIL>(v));
    f.Z<int32_t>()[128].SetValue(4, GetDataBlockSizeInBytes());
    f.Z<int32_t>()[128].SetValue(5, static_cast<int32_t>(GetSubBlockNum()));
    f.Z<int32_t>()[128].SetValue(6, AlignUp(33, 32));
    f.Z<int32_t>()[128].SetValue(7, GetSystemCycle() > 0 ? 1 : 0);
    f.End(z);
}

// Fills z's first 64 float with 2 and the next 40 with 3 without a buffer of its own.
KERNEL(fill_memory) {
    TPipe pipe;
    GlobalTensor<float> g;
    g.SetGlobalBuffer((__gm__ float*)z, 104);
    InitOutput<float>(g, 64, 2.0f);
    GlobalTensor<float> rest = g[64];
    InitGlobalMemory(rest, 40, 3.0f);
    SetAtomicAdd<float>();
    DisableDmaAtomic();
}
