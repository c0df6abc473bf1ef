// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Sorting in region proposals; arch 2002.
#include "kernel_operator.h"

using namespace AscendC;

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

extern "C" __global__ __aicore__ void proposals(GM_ADDR x, GM_ADDR index, GM_ADDR y, GM_ADDR order,
                                                GM_ADDR workspace, GM_ADDR tiling) {
    const uint32_t form = *(__gm__ uint32_t*)tiling;
    if (TILING_KEY_IS(1)) Run<half>(x, index, y, order, form);
    if (TILING_KEY_IS(2)) Run<float>(x, index, y, order, form);
}
