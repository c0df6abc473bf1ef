// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// c[32, 48] = a[32, 128] * b[128, 48], b kept as 2 of every 4 rows; tensors placed through
// address_.
#include "kernel_operator.h"

using namespace AscendC;

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
