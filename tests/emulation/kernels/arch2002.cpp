// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Instructions and ways of data that only arch 2002 (unified cores) has.
#include "kernel_operator.h"

using namespace AscendC;

// ---- the cube of unified cores ------------------------------------------------------------------
// A product on a unified core (arch 2002): operands come in fractals, results leave through UB.

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

// ---- from UB to L0C and back --------------------------------------------------------------------
// From UB to L0C and back on a unified core (arch 2002): blocks of fractals, or of their first
// rows.

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

// ---- sorting in region proposals ----------------------------------------------------------------

namespace proposals_of {

constexpr uint32_t kCount = 64;
constexpr uint32_t kRepeats = kCount / 16;

template <typename T>
struct Buffers {
    __aicore__ inline Buffers(GM_ADDR x, GM_ADDR index, GM_ADDR y, GM_ADDR order) {
        xGm.SetGlobalBuffer((__gm__ T*)x, kCount);
        yGm.SetGlobalBuffer((__gm__ T*)y, kCount);
        indexGm.SetGlobalBuffer((__gm__ uint32_t*)index, kCount);
        orderGm.SetGlobalBuffer((__gm__ uint32_t*)order, kCount);
        pipe.InitBuffer(in, 1, kCount * sizeof(T));
        pipe.InitBuffer(at, 1, kCount * 4);
        pipe.InitBuffer(out, 1, kCount * sizeof(T));
        pipe.InitBuffer(outAt, 1, kCount * 4);
        pipe.InitBuffer(bufA, GetSortLen<T>(kCount) * sizeof(T));
        pipe.InitBuffer(bufB, GetSortLen<T>(kCount) * sizeof(T));
        a = bufA.template Get<T>();
        b = bufB.template Get<T>();
        x_ = in.template AllocTensor<T>();
        DataCopy(x_, xGm, kCount);
        in.EnQue(x_);
        index_ = at.template AllocTensor<uint32_t>();
        DataCopy(index_, indexGm, kCount);
        at.EnQue(index_);
        x_ = in.template DeQue<T>();
        index_ = at.template DeQue<uint32_t>();
        y_ = out.template AllocTensor<T>();
        order_ = outAt.template AllocTensor<uint32_t>();
    }
    __aicore__ inline void Store() {
        out.EnQue(y_);
        outAt.EnQue(order_);
        y_ = out.template DeQue<T>();
        order_ = outAt.template DeQue<uint32_t>();
        DataCopy(yGm, y_, kCount);
        DataCopy(orderGm, order_, kCount);
        in.FreeTensor(x_);
        at.FreeTensor(index_);
        out.FreeTensor(y_);
        outAt.FreeTensor(order_);
    }
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in, at;
    TQue<TPosition::VECOUT, 1> out, outAt;
    TBuf<TPosition::VECCALC> bufA, bufB;
    GlobalTensor<T> xGm, yGm;
    GlobalTensor<uint32_t> indexGm, orderGm;
    LocalTensor<T> x_, y_, a, b;
    LocalTensor<uint32_t> index_, order_;
};

// Sort of everything or of groups of 16, which MrgSort then merges.
template <typename T, bool full>
__aicore__ inline void SortAndExtract(Buffers<T>& u) {
    LocalTensor<T> scores;
    Concat(scores, u.x_, u.a, kRepeats);
    PipeBarrier<PIPE_V>();
    Sort<T, full>(u.b, scores, u.index_, scores, kRepeats);
    PipeBarrier<PIPE_V>();
    if (!full) {
        const uint32_t group = GetSortOffset<T>(16);
        MrgSortSrcList<T> lists(u.b, u.b[group], u.b[group * 2], u.b[group * 3]);
        const uint16_t lengths[4] = {16, 16, 16, 16};
        uint32_t sorted[4];
        MrgSort<T, false>(u.a, lists, lengths, sorted, 0b1111, 1);
        PipeBarrier<PIPE_V>();
        Extract(u.y_, u.order_, u.a, kRepeats);
    } else {
        Extract(u.y_, u.order_, u.b, kRepeats);
    }
}

// By instructions: part x1 travels along.
template <typename T>
__aicore__ inline void SortByInstructions(Buffers<T>& u) {
    Duplicate(u.a, T(0), kCount * 8);
    PipeBarrier<PIPE_V>();
    ProposalConcat(u.a, u.x_, kRepeats, 4);
    ProposalConcat(u.a, u.x_, kRepeats, 0);
    PipeBarrier<PIPE_V>();
    RpSort16(u.b, u.a, kRepeats);
    PipeBarrier<PIPE_V>();
    const uint16_t lengths[4] = {16, 16, 32, 0};
    MrgSortSrcList<T> lists(u.b, u.b[16 * 8], u.b, u.b);
    MrgSort4(u.a, lists, MrgSort4Info(lengths, false, 0b11, 1));
    PipeBarrier<PIPE_V>();
    ProposalExtract(u.y_, u.a, kRepeats, 0);
    Duplicate(u.order_.template ReinterpretCast<float>(), 0.0f, kCount);
}

// A list alone: copied.
template <typename T>
__aicore__ inline void MergeOneList(Buffers<T>& u) {
    Duplicate(u.b, T(0), kCount * 8);
    PipeBarrier<PIPE_V>();
    ProposalConcat(u.b, u.x_, kRepeats, 4);
    PipeBarrier<PIPE_V>();
    const uint16_t lengths[4] = {48, 16, 16, 16};
    MrgSortSrcList<T> lists(u.b, u.b, u.b, u.b);
    MrgSort4(u.a, lists, MrgSort4Info(lengths, true, 0b1, 1));
    PipeBarrier<PIPE_V>();
    ProposalExtract(u.y_, u.a, 3, 4);
    Duplicate(u.order_.template ReinterpretCast<float>(), 0.0f, kCount);
}

template <typename T>
__aicore__ inline void Run(GM_ADDR x, GM_ADDR index, GM_ADDR y, GM_ADDR order, uint32_t form) {
    Buffers<T> u(x, index, y, order);
    if (form == 0) SortAndExtract<T, true>(u);
    if (form == 1) SortAndExtract<T, false>(u);
    if (form == 2) SortByInstructions(u);
    if (form == 3) MergeOneList(u);
    u.Store();
}

}  // namespace proposals_of

extern "C" __global__ __aicore__ void proposals(GM_ADDR x, GM_ADDR index, GM_ADDR y, GM_ADDR order,
                                                GM_ADDR workspace, GM_ADDR tiling) {
    const uint32_t form = *(__gm__ uint32_t*)tiling;
    if (TILING_KEY_IS(1)) proposals_of::Run<half>(x, index, y, order, form);
    if (TILING_KEY_IS(2)) proposals_of::Run<float>(x, index, y, order, form);
}

// ---- Scatter in its three forms -----------------------------------------------------------------

namespace scatter_of {

constexpr uint32_t kCount = 256;
constexpr uint32_t kRoom = 512;  // elements of the result
constexpr uint32_t kBase = 64;   // bytes

template <typename T>
__aicore__ inline void Run(GM_ADDR x, GM_ADDR offsets, GM_ADDR y, uint32_t form) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in, at;
    TQue<TPosition::VECOUT, 1> out;
    GlobalTensor<T> xGm, yGm;
    GlobalTensor<uint32_t> offsetGm;
    xGm.SetGlobalBuffer((__gm__ T*)x, kCount);
    yGm.SetGlobalBuffer((__gm__ T*)y, kRoom);
    offsetGm.SetGlobalBuffer((__gm__ uint32_t*)offsets, kCount);
    pipe.InitBuffer(in, 1, kCount * sizeof(T));
    pipe.InitBuffer(at, 1, kCount * 4);
    pipe.InitBuffer(out, 1, kRoom * sizeof(T));
    auto a = in.AllocTensor<T>();
    DataCopy(a, xGm, kCount);
    in.EnQue(a);
    auto o = at.AllocTensor<uint32_t>();
    DataCopy(o, offsetGm, kCount);
    at.EnQue(o);
    a = in.DeQue<T>();
    o = at.DeQue<uint32_t>();
    auto b = out.AllocTensor<T>();
    Duplicate(b, T(7), kRoom);
    PipeBarrier<PIPE_V>();
    const uint32_t lanes = 256 / sizeof(T);
    uint64_t bits[2] = {0x5555555555555555, 0x3};
    if (form == 0) Scatter(b, a, o, kBase, 200);
    if (form == 1) Scatter(b, a, o, kBase, uint64_t(lanes / 2), kCount / lanes, 8);
    if (form == 2) Scatter(b, a, o, kBase, bits, kCount / lanes, 8);
    out.EnQue(b);
    in.FreeTensor(a);
    at.FreeTensor(o);
    b = out.DeQue<T>();
    DataCopy(yGm, b, kRoom);
    out.FreeTensor(b);
}

}  // namespace scatter_of

extern "C" __global__ __aicore__ void scatter(GM_ADDR x, GM_ADDR offsets, GM_ADDR y,
                                              GM_ADDR workspace, GM_ADDR tiling) {
    const uint32_t form = *(__gm__ uint32_t*)tiling;
    if (TILING_KEY_IS(1)) scatter_of::Run<half>(x, offsets, y, form);
    if (TILING_KEY_IS(2)) scatter_of::Run<float>(x, offsets, y, form);
    if (TILING_KEY_IS(3)) scatter_of::Run<uint32_t>(x, offsets, y, form);
}
