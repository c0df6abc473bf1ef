// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Common ground of the sanitizer's test kernels. Every kernel gets inputs x and y, output z and a
// workspace ws, each of kCount floats (kBytes bytes), y three floats less. A comment before a
// kernel says what is expected:
//     // case NAME: CHECK found|warning|silent [blocks=N] [kind=mix12|mix11|aic|aiv_mix] [auto=off]
//     [soc=...]
//         [z=ELEMENTS] [place=slice|near] [tail=error] [freed=error]
//         [output=whole|cleared]
// and "// <- CHECK" marks the line a found case must report.
#ifndef OPGEN_TESTS_SANITIZER_SKELETON_H
#define OPGEN_TESTS_SANITIZER_SKELETON_H

#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kCount = 1024;
constexpr uint32_t kBytes = kCount * sizeof(float);
constexpr uint32_t kTile = 256;
constexpr uint32_t kTileBytes = kTile * sizeof(float);

#define KERNEL(name) \
    extern "C" __global__ __aicore__ void name(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR ws)

// The four tensors, typed.
struct Tensors {
    __aicore__ inline Tensors(GM_ADDR x_, GM_ADDR y_, GM_ADDR z_, GM_ADDR ws_) {
        x.SetGlobalBuffer((__gm__ float*)x_, kCount);
        y.SetGlobalBuffer((__gm__ float*)y_, kCount);
        z.SetGlobalBuffer((__gm__ float*)z_, kCount);
        ws.SetGlobalBuffer((__gm__ float*)ws_, kCount);
    }
    GlobalTensor<float> x, y, z, ws;
};
#define TENSORS Tensors g(x, y, z, ws)

// Queues of a vector kernel; InitBuffer is done here, one kTile each, `n` buffers.
struct Queues {
    __aicore__ inline explicit Queues(uint8_t n = 1) {
        pipe.InitBuffer(in, n, kTileBytes);
        pipe.InitBuffer(out, n, kTileBytes);
        pipe.InitBuffer(tmp, kTileBytes);
    }
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in;
    TQue<TPosition::VECOUT, 2> out;
    TBuf<TPosition::VECCALC> tmp;
};

// Two plain buffers without queues, and the waits between the pipes that use them.
struct Buffers {
    __aicore__ inline Buffers() {
        pipe.InitBuffer(bufA, kTileBytes);
        pipe.InitBuffer(bufB, kTileBytes);
        a = bufA.Get<float>();
        b = bufB.Get<float>();
    }
    TPipe pipe;
    TBuf<TPosition::VECCALC> bufA, bufB;
    LocalTensor<float> a, b;
};

template <HardEvent event>
__aicore__ inline void Sync() {
    SetFlag<event>(EVENT_ID0);
    WaitFlag<event>(EVENT_ID0);
}

#endif  // OPGEN_TESTS_SANITIZER_SKELETON_H
