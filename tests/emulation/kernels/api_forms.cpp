// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Forms of APIs that few kernels use, and often used APIs that the tables of vector instructions do
// not hold.
#include "kernel_operator.h"

using namespace AscendC;

// What most of them share: x, y and z go to UB, the kernel computes there, z comes back.
class Frame {
 public:
    __aicore__ inline Frame(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR sizes) {
        const __gm__ uint32_t* bytes = (const __gm__ uint32_t*)sizes;
        out = bytes[2];
        GM_ADDR from[] = {x, y, z};
        for (int i = 0; i < 3; ++i) {
            pipe.InitBuffer(buf[i], 32768);
            GlobalTensor<uint8_t> g;
            g.SetGlobalBuffer(from[i], bytes[i]);
            DataCopyPad(buf[i].Get<uint8_t>(), g, DataCopyExtParams(1, bytes[i], 0, 0, 0),
                        DataCopyPadExtParams<uint8_t>(false, 0, 0, 0));
        }
        pipe.InitBuffer(buf[3], 65536);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
    }
    __aicore__ inline void End(GM_ADDR z) {
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        GlobalTensor<uint8_t> g;
        g.SetGlobalBuffer(z, out);
        DataCopyPad(g, buf[2].Get<uint8_t>(), DataCopyExtParams(1, out, 0, 0, 0));
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> X() {
        return buf[0].Get<T>();
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> Y() {
        return buf[1].Get<T>();
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> Z() {
        return buf[2].Get<T>();
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> W() {
        return buf[3].Get<T>();
    }
    TPipe pipe;

 private:
    TBuf<> buf[4];
    uint32_t out;
};

// Arguments of a test kernel; tiling holds the bytes of x, y and z.
#define KERNEL(NAME)                                                                               \
    extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, \
                                               GM_ADDR tiling)

// x: [8, 64] values, y: inSum[8], inMax[8]; z: dst[8, 64], reduceMax[8], sum[8], max[8], expMax[8].
constexpr SoftmaxConfig kNarrow(true, 8, 64, SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC);
KERNEL(flash_narrow) {
    Frame f(x, y, z, tiling);
    auto out = f.Z<float>();
    const SoftMaxShapeInfo shape{8, 64, 8, 64};
    const SoftMaxTiling t = SoftMaxFlashV2TilingFunc(shape, 4, 4, 65536, true);
    SoftmaxFlashV2<float, true, false, false, false, kNarrow>(
        out, out[512], out[520], out[528], f.X<float>(), out[536], f.Y<float>(), f.Y<float>()[8],
        f.W<uint8_t>(), t, shape);
    f.End(z);
}

// The same rows through SoftMax with deduced types; the row tensors are blocks of 8.
KERNEL(softmax_deduced) {
    Frame f(x, y, z, tiling);
    auto out = f.Z<float>();
    SoftMax(out, out[512], out[576], f.X<float>(), f.W<uint8_t>(), SoftMaxTiling(),
            SoftMaxShapeInfo{8, 64, 8, 64});
    f.End(z);
}

// x: 64 int16; z: x >> 3 by count, by mask, by bits with rounding.
KERNEL(shift_typed) {
    Frame f(x, y, z, tiling);
    auto in = f.X<int16_t>(), out = f.Z<int16_t>();
    uint64_t bits[2] = {FULL_MASK, 0};
    ShiftRight<int16_t, int16_t>(out, in, static_cast<int16_t>(3), 64);
    ShiftRight<int16_t, int16_t, true>(out[64], in, static_cast<int16_t>(3), 64ul, 1, {1, 1, 8, 8},
                                       false);
    ShiftRight<int16_t, int16_t>(out[128], in, static_cast<int16_t>(3), bits, 1, {1, 1, 8, 8},
                                 true);
    f.End(z);
}

// x, y: 32 words; z: the first 48 halves of them by And as float, the next by Or as uint8.
KERNEL(bits_of_any_type) {
    Frame f(x, y, z, tiling);
    And(f.Z<float>(), f.X<float>(), f.Y<float>(), 48);
    Or(f.Z<uint8_t>()[128], f.X<uint8_t>(), f.Y<uint8_t>(), 48);
    f.End(z);
}

// x: 512 half, y: 32 block offsets and the weights; z: two rows of 128.
__aicore__ inline void Interpolate(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR tiling, bool perBlock) {
    Frame f(x, y, z, tiling);
    auto offsets = f.Y<uint32_t>();
    auto weights = f.Y<half>()[64];
    if (perBlock) {
        BilinearInterpolation(f.Z<half>(), f.X<half>(), offsets, weights, 128ul, 2, true, 1, 128, 2,
                              f.W<uint8_t>());
    } else {
        uint64_t bits[2] = {FULL_MASK, FULL_MASK};
        BilinearInterpolation(f.Z<half>(), f.X<half>(), offsets, weights, bits, 2, false, 1, 128, 2,
                              f.W<uint8_t>());
    }
    f.End(z);
}
KERNEL(interpolate) { Interpolate(x, y, z, tiling, false); }
KERNEL(interpolate_blocks) { Interpolate(x, y, z, tiling, true); }

// x: 256 float, out to the workspace and back with gaps.
KERNEL(spm) {
    Frame f(x, y, z, tiling);
    GlobalTensor<float> space;
    space.SetGlobalBuffer((__gm__ float*)GetUserWorkspace(workspace), 1024);
    f.pipe.InitSpmBuffer(space, 4096);
    f.pipe.WriteSpmBuffer(f.X<float>(), 128, 0);
    f.pipe.WriteSpmBuffer(f.X<float>()[128], DataCopyParams(8, 2, 0, 2), 256);
    Duplicate(f.X<float>(), 0.0f, 256);
    f.pipe.ReadSpmBuffer(f.Z<float>(), 128);
    f.pipe.ReadSpmBuffer(f.Z<float>()[128], DataCopyParams(8, 2, 2, 0), 256);
    f.End(z);
}

// Keys 1 and 2 add x * 2, key 3 and 4 x * 3; a file keeps x.
KERNEL(key_list) {
    Frame f(x, y, z, tiling);
    if (TILING_KEY_LIST(1, 2)) {
        Axpy(f.Z<float>(), f.X<float>(), 2.0f, 64);
    } else if (TILING_KEY_LIST(3, 4)) {
        Axpy(f.Z<float>(), f.X<float>(), 3.0f, 64);
    }
    auto part = f.X<float>()[8];
    part.SetSize(16);
    ASSERT(part.ToFile("part.bin") == 0);
    f.End(z);
}

// ---- often used APIs ----------------------------------------------------------------------------

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

// ---- SoftmaxFlashV2 in two parts ----------------------------------------------------------------
// SoftmaxFlashV2 over two halves of the columns: y = exp(second half - max), z = rows of sum, max,
// expMax and the second half's own maximum. Tiling key: 1 blocks of 32 bytes per row, 2 one
// element, 3 one element with the own maximum.

static constexpr SoftmaxConfig kOnePerRow = {false, 0, 0, SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC};
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
        SoftmaxFlashV2<float, false, false, false, false, kOnePerRow>(
            first, sum0, max0, first, scale, sum0, max0, tiling, shape);
        PipeBarrier<PIPE_V>();
        if (TILING_KEY_IS(2)) {
            SoftmaxFlashV2<float, true, false, false, false, kOnePerRow>(
                second, sum, max, second, scale, sum0, max0, tmp, tiling, shape);
        } else {
            SoftmaxFlashV2<float, true, true, false, false, kOnePerRow>(
                second, own, sum, max, second, scale, sum0, max0, tmp, tiling, shape);
        }
    }
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(out, second, n);
    DataCopy(stats, rows, 4 * 64);
}

// ---- DataCopyPad --------------------------------------------------------------------------------
// Rows of x, of `length` floats each, are padded into UB and stored with their padding.

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

// ---- Copy ---------------------------------------------------------------------------------------
// Copy in counter mode: rows of 100 elements, 104 apart.

constexpr uint32_t kRow = 100, kApart = 104, kCopied = 3;

extern "C" __global__ __aicore__ void copy_rows(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                GM_ADDR tiling) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    GlobalTensor<float> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ float*)x, kCopied * kApart);
    yGm.SetGlobalBuffer((__gm__ float*)y, kCopied * kApart);
    pipe.InitBuffer(in, 1, kCopied * kApart * 4);
    pipe.InitBuffer(out, 1, kCopied * kApart * 4);
    auto a = in.AllocTensor<float>();
    DataCopy(a, xGm, kCopied * kApart);
    in.EnQue(a);
    a = in.DeQue<float>();
    auto b = out.AllocTensor<float>();
    Duplicate(b, -1.0f, kCopied * kApart);
    PipeBarrier<PIPE_V>();
    SetMaskCount();
    SetVectorMask<float, MaskMode::COUNTER>(0, kRow);
    if (TILING_KEY_IS(1))
        Copy<float, false>(b, a, MASK_PLACEHOLDER, kCopied, {1, 1, kApart / 8, 0});
    if (TILING_KEY_IS(2))
        Copy<float, false>(b, a, MASK_PLACEHOLDER, kCopied, {1, 0, kApart / 8, 1});
    if (TILING_KEY_IS(3)) Copy<float, false>(b, a, MASK_PLACEHOLDER, 1, {1, 1, 0, 0});
    SetMaskNorm();
    ResetMask();
    out.EnQue(b);
    b = out.DeQue<float>();
    DataCopy(yGm, b, kCopied * kApart);
    in.FreeTensor(a);
    out.FreeTensor(b);
}
