// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Products with a 4:2 compressed B.
#include "kernel_operator.h"

using namespace AscendC;

// ---- tensors given by their addresses -----------------------------------------------------------

struct Case {
    uint32_t m, n, k, start;
};

extern "C" __global__ __cube__ void sparse_at(GM_ADDR a, GM_ADDR b, GM_ADDR idx, GM_ADDR c, GM_ADDR,
                                              GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(Case, p, tiling);
    InitSocState();
    const uint32_t mBlocks = p.m / 16, nBlocks = p.n / 16, kBlocks = p.k / 32;
    const uint32_t fractals = nBlocks * kBlocks / 2;
    GlobalTensor<int8_t> aGm, bGm;
    GlobalTensor<uint8_t> idxGm;
    GlobalTensor<int32_t> cGm;
    aGm.SetGlobalBuffer((__gm__ int8_t*)a);
    bGm.SetGlobalBuffer((__gm__ int8_t*)b);
    idxGm.SetGlobalBuffer((__gm__ uint8_t*)idx);
    cGm.SetGlobalBuffer((__gm__ int32_t*)c);
    LocalTensor<int8_t> a1(TPosition::A1, 0, p.m * p.k), a2(TPosition::A2, 0, p.m * p.k);
    LocalTensor<int8_t> b1(TPosition::B1, 128 * 1024, (fractals + p.start) * 512);
    LocalTensor<uint8_t> idx1(TPosition::B1, 256 * 1024, (fractals + p.start) * 128);
    LocalTensor<int8_t> b2(TPosition::B2, 1024, fractals * 512);
    LocalTensor<int32_t> co1(TPosition::CO1, 0, p.m * p.n);
    DataCopy(a1, aGm, p.m * p.k);
    DataCopy(b1[p.start * 512], bGm, fractals * 512);
    DataCopy(idx1[p.start * 128], idxGm, fractals * 128);
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData2DParams q;
    q.repeatTimes = uint8_t(kBlocks);
    q.srcStride = uint16_t(mBlocks);
    for (uint32_t i = 0; i < mBlocks; ++i) LoadData(a2[i * kBlocks * 512], a1[i * 512], q);
    LoadData2DParams s;
    s.startIndex = uint16_t(p.start);
    s.repeatTimes = uint8_t(fractals);
    LoadDataWithSparse(b2, b1, idx1, s);
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    MmadWithSparse(co1, a2, b2,
                   {uint16_t(p.m), uint16_t(p.n), uint16_t(p.k), false, 0, false, false, false});
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 f;
    f.nSize = uint16_t(p.n), f.mSize = uint16_t(p.m), f.srcStride = uint16_t(p.m),
    f.dstStride = p.n;
    Fixpipe(cGm, co1, f);
    PipeBarrier<PIPE_ALL>();
}

// ---- tensors placed through address_ ------------------------------------------------------------
// c[32, 48] = a[32, 128] * b[128, 48], b kept as 2 of every 4 rows; tensors placed through
// address_.

constexpr uint32_t M = 32, N = 48, K = 128, KEPT = K / 2;

template <typename T>
__aicore__ inline LocalTensor<T> Place(TPosition position, uint32_t offset, uint32_t elements) {
    LocalTensor<uint8_t> whole;
    whole.InitBuffer(0, 64 * 1024);
    whole.address_.logicPos = static_cast<uint8_t>(position);
    LocalTensor<T> part;
    part.SetAddr(whole[offset].address_);
    part.address_.dataLen = elements * sizeof(T);
    ASSERT(part.address_.bufferAddr == offset && part.GetSize() == elements &&
           part.address_.logicPos == static_cast<uint8_t>(position));
    return part;
}

// The size is given before the position, whose memory is larger than UB.
__aicore__ inline bool WholeL1() {
    LocalTensor<uint8_t> whole;
    whole.InitBuffer(0, 512 * 1024);
    whole.address_.logicPos = static_cast<uint8_t>(TPosition::A1);
    return whole.GetSize() == 512 * 1024;
}

template <bool placed>
__aicore__ inline void Multiply(GM_ADDR a, GM_ADDR b, GM_ADDR index, GM_ADDR c) {
    ASSERT(WholeL1());
    GlobalTensor<int8_t> aGm, bGm;
    GlobalTensor<uint8_t> indexGm;
    GlobalTensor<int32_t> cGm;
    aGm.SetGlobalBuffer((__gm__ int8_t*)a, M * K);
    bGm.SetGlobalBuffer((__gm__ int8_t*)b, KEPT * N);
    indexGm.SetGlobalBuffer((__gm__ uint8_t*)index, KEPT * N / 4);
    cGm.SetGlobalBuffer((__gm__ int32_t*)c, M * N);
    auto a1 = Place<int8_t>(TPosition::A1, 0, M * K);
    auto b1 = Place<int8_t>(TPosition::B1, 8192, KEPT * N);
    auto index1 = Place<uint8_t>(TPosition::B1, 16384, KEPT * N / 4);
    auto a2 = Place<int8_t>(TPosition::A2, 0, M * K);
    auto b2 = Place<int8_t>(TPosition::B2, 1024, KEPT * N);
    LocalTensor<int32_t> co1;  // as it is, it has address 0
    if (placed) co1 = Place<int32_t>(TPosition::CO1, 0, M * N);
    DataCopy(a1, aGm, Nd2NzParams(1, M, K, 0, K, M, 1, 0));
    DataCopy(b1, bGm, KEPT * N);  // both are in fractals already
    DataCopy(index1, indexGm, KEPT * N / 4);
    SetFlag<HardEvent::MTE2_MTE1>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_MTE1>(EVENT_ID0);
    for (uint32_t m = 0; m < M / 16; ++m) {
        LoadData(a2[m * 16 * K], a1[m * 512], LoadData2dParams(0, K / 32, M / 16, 0, 0, false, 0));
    }
    // In two steps, the second one by startIndex.
    constexpr uint8_t first = 2, all = KEPT / 32 * N / 16;
    LoadDataWithSparse(b2, b1, index1, LoadData2dParams(0, first, 0, 0, 0, false, 0));
    LoadDataWithSparse(b2[first * 512], b1, index1,
                       LoadData2dParams(first, all - first, 0, 0, 0, false, 0));
    SetFlag<HardEvent::MTE1_M>(EVENT_ID0);
    WaitFlag<HardEvent::MTE1_M>(EVENT_ID0);
    if (!placed) a2 = LocalTensor<int8_t>();
    MmadWithSparse(co1, a2, b2, MmadParams(M, N, K, UFMode3, false, true));
    FixpipeParamsV220 out(N, M, M, N, false);
    out.unitFlag = UFMode3;
    Fixpipe(cGm, co1, out);
}

extern "C" __global__ __aicore__ void sparse(GM_ADDR a, GM_ADDR b, GM_ADDR index, GM_ADDR c,
                                             GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    Multiply<true>(a, b, index, c);
}

extern "C" __global__ __aicore__ void unplaced(GM_ADDR a, GM_ADDR b, GM_ADDR index, GM_ADDR c,
                                               GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    Multiply<false>(a, b, index, c);
}
