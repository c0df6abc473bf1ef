// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// A product with a 4:2 compressed B, on tensors given by their addresses.
#include "kernel_operator.h"

using namespace AscendC;

struct Case {
    uint32_t m, n, k, start;
};

extern "C" __global__ __cube__ void sparse(GM_ADDR a, GM_ADDR b, GM_ADDR idx, GM_ADDR c, GM_ADDR,
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
