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
// A kernel may have several cases, one comment each, which launch it with other options.
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

template <HardEvent event>
__aicore__ inline void Sync() {
    SetFlag<event>(EVENT_ID0);
    WaitFlag<event>(EVENT_ID0);
}

// Copies into a tile; the vector unit waits for it.
template <typename T>
__aicore__ inline void Load(const LocalTensor<T>& tile, const GlobalTensor<T>& from,
                            uint32_t n = kTile) {
    DataCopy(tile, from, n);
    Sync<HardEvent::MTE2_V>();
}

// Stores what the vector unit has computed.
template <typename T>
__aicore__ inline void StoreResult(const GlobalTensor<T>& to, const LocalTensor<T>& tile,
                                   uint32_t n = kTile) {
    Sync<HardEvent::V_MTE3>();
    DataCopy(to, tile, n);
}

// Stores what a copy has brought.
template <typename T>
__aicore__ inline void StoreCopy(const GlobalTensor<T>& to, const LocalTensor<T>& tile,
                                 uint32_t n = kTile) {
    Sync<HardEvent::MTE2_MTE3>();
    DataCopy(to, tile, n);
}

// Queues of a vector kernel; InitBuffer is done here, one kTile each, `n` buffers.
struct Queues {
    __aicore__ inline explicit Queues(uint8_t n = 1) {
        pipe.InitBuffer(in, n, kTileBytes);
        pipe.InitBuffer(out, n, kTileBytes);
        pipe.InitBuffer(tmp, kTileBytes);
    }
    // A tile of `in` that holds what begins at `from`.
    __aicore__ inline LocalTensor<float> Load(const GlobalTensor<float>& from) {
        auto tile = in.AllocTensor<float>();
        DataCopy(tile, from, kTile);
        in.EnQue(tile);
        return in.DeQue<float>();
    }
    // A tile of `out` that holds a value.
    __aicore__ inline LocalTensor<float> Fill(float value) {
        auto tile = out.AllocTensor<float>();
        Duplicate(tile, value, kTile);
        return tile;
    }
    // Stores a tile of `out` and frees it.
    __aicore__ inline void Store(const GlobalTensor<float>& to, LocalTensor<float> tile,
                                 uint32_t n = kTile) {
        out.EnQue(tile);
        tile = out.DeQue<float>();
        DataCopy(to, tile, n);
        out.FreeTensor(tile);
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

// What most kernels begin with.
#define BUFFERS \
    TENSORS;    \
    Buffers b
#define QUEUES(n) \
    TENSORS;      \
    Queues q(n)

#endif  // OPGEN_TESTS_SANITIZER_SKELETON_H
