// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
// Scatter in its three forms; arch 2002.
#include "kernel_operator.h"

using namespace AscendC;

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

extern "C" __global__ __aicore__ void scatter(GM_ADDR x, GM_ADDR offsets, GM_ADDR y,
                                              GM_ADDR workspace, GM_ADDR tiling) {
    const uint32_t form = *(__gm__ uint32_t*)tiling;
    if (TILING_KEY_IS(1)) Run<half>(x, offsets, y, form);
    if (TILING_KEY_IS(2)) Run<float>(x, offsets, y, form);
    if (TILING_KEY_IS(3)) Run<uint32_t>(x, offsets, y, form);
}
