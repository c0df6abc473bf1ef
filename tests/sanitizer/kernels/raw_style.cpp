// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Kernels that do without queues: LocalTensor by address, flags by hand; and kernels that mix both.
#include "skeleton.h"

namespace {

// A tile that comes in, a tile that goes out, by address.
struct Raw {
    __aicore__ inline Raw() : in(TPosition::VECIN, 0, kTile), out(TPosition::VECOUT, 4096, kTile) {}
    LocalTensor<float> in, out;
};

}  // namespace

// case raw_store_before_result: ErrorSync2 found
KERNEL(raw_store_before_result) {
    TENSORS;
    Raw r;
    Load(r.in, g.x);
    Exp(r.out, r.in, kTile);
    DataCopy(g.z, r.out, kTile);  // <- ErrorSync2
}

// case raw_loop_without_back_flags: ErrorSync1 found
KERNEL(raw_loop_without_back_flags) {
    TENSORS;
    Raw r;
    for (int i = 0; i < 4; ++i) {
        DataCopy(r.in, g.x[i * kTile], kTile);  // <- ErrorSync1
        Sync<HardEvent::MTE2_V>();
        Exp(r.out, r.in, kTile);  // <- ErrorSync1
        StoreResult(g.z[i * kTile], r.out);
    }
}

// case raw_loop_with_back_flags: ErrorSync1 silent
KERNEL(raw_loop_with_back_flags) {
    TENSORS;
    Raw r;
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID0);
    for (int i = 0; i < 4; ++i) {
        WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
        Load(r.in, g.x[i * kTile]);
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID0);
        Exp(r.out, r.in, kTile);
        SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
        StoreResult(g.z[i * kTile], r.out);
        SetFlag<HardEvent::MTE3_V>(EVENT_ID0);
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID0);
}

// case ping_pong_released_one_tile_early: ErrorSync1 silent
// Two buffers, one event: what is set before Exp(i) only promises Exp(i - 1), which is enough.
KERNEL(ping_pong_released_one_tile_early) {
    TENSORS;
    LocalTensor<float> in[2] = {LocalTensor<float>(TPosition::VECIN, 0, kTile),
                                LocalTensor<float>(TPosition::VECIN, 1024, kTile)};
    LocalTensor<float> out[2] = {LocalTensor<float>(TPosition::VECOUT, 8192, kTile),
                                 LocalTensor<float>(TPosition::VECOUT, 9216, kTile)};
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    for (int i = 0; i < 4; ++i) {
        WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
        Load(in[i & 1], g.x[i * kTile]);
        SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
        if (i > 1) WaitFlag<HardEvent::MTE3_V>(static_cast<event_t>(i & 1));
        Exp(out[i & 1], in[i & 1], kTile);
        StoreResult(g.z[i * kTile], out[i & 1]);
        SetFlag<HardEvent::MTE3_V>(static_cast<event_t>(i & 1));
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

// case raw_tensors_overlap: ErrorSync1 found
KERNEL(raw_tensors_overlap) {
    TENSORS;
    Raw r;
    LocalTensor<float> other(TPosition::VECCALC, 512, kTile);
    Duplicate(r.in, 1.0f, kTile);
    DataCopy(other, g.x, kTile);  // <- ErrorSync1
    Sync<HardEvent::MTE2_MTE3>();
    StoreResult(g.z, r.in, 128);
    PipeBarrier<PIPE_MTE3>();
    DataCopy(g.z[kTile], other, kTile);
}

// case buffer_reused_after_its_pipe_object: ErrorSync1 found
KERNEL(buffer_reused_after_its_pipe_object) {
    TENSORS;
    Raw r;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, kTileBytes);
    auto a = buf.Get<float>();
    DataCopy(a, g.x, kTile);
    StoreCopy(g.z, a);
    Duplicate(r.in, 1.0f, 8);  // <- ErrorSync1
}

// case plain_buffer_in_a_loop: ErrorSync1 found
KERNEL(plain_buffer_in_a_loop) {
    QUEUES(2);
    auto a = q.tmp.Get<float>();
    for (int i = 0; i < 4; ++i) {
        DataCopy(a, g.x[i * kTile], kTile);  // <- ErrorSync1
        Sync<HardEvent::MTE2_V>();
        auto o = q.out.AllocTensor<float>();
        Exp(o, a, kTile);
        q.Store(g.z[i * kTile], o);
    }
}

// case input_queue_stored_directly: ErrorSync1 found
KERNEL(input_queue_stored_directly) {
    QUEUES(1);
    for (int i = 0; i < 4; ++i) {
        auto a = q.in.AllocTensor<float>();
        DataCopy(a, g.x[i * kTile], kTile);  // <- ErrorSync1
        q.in.EnQue(a);
        a = q.in.DeQue<float>();
        StoreCopy(g.z[i * kTile], a);
        q.in.FreeTensor(a);
    }
}

// case copied_through_bound_queue: ErrorSync1 silent
KERNEL(copied_through_bound_queue) {
    TENSORS;
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> q;
    pipe.InitBuffer(q, 2, kTileBytes);
    for (int i = 0; i < 4; ++i) {
        auto a = q.AllocTensor<float>();
        DataCopy(a, g.x[i * kTile], kTile);
        q.EnQue(a);
        a = q.DeQue<float>();
        DataCopy(g.z[i * kTile], a, kTile);
        q.FreeTensor(a);
    }
}

// case computed_in_input_queue: ErrorSync2 found
KERNEL(computed_in_input_queue) {
    QUEUES(1);
    auto a = q.Load(g.x);
    Muls(a, a, 2.0f, kTile);
    DataCopy(g.z, a, kTile);  // <- ErrorSync2
    q.in.FreeTensor(a);
}

// case workspace_through_queues_without_wait: ErrorSync2 found
KERNEL(workspace_through_queues_without_wait) {
    QUEUES(1);
    auto o = q.Fill(1.0f);
    q.Store(g.ws, o);
    auto a = q.in.AllocTensor<float>();
    DataCopy(a, g.ws, kTile);  // <- ErrorSync2
    q.in.EnQue(a);
    a = q.in.DeQue<float>();
    o = q.out.AllocTensor<float>();
    Muls(o, a, 2.0f, kTile);
    q.in.FreeTensor(a);
    q.Store(g.z, o);
}

// case copied_value_read_by_scalar: ErrorSync2 found auto=off
KERNEL(copied_value_read_by_scalar) {
    TENSORS;
    Raw r;
    DataCopy(r.in, g.x, kTile);
    float v = r.in.GetValue(5);  // <- ErrorSync2
    Sync<HardEvent::S_V>();
    Duplicate(r.out, v, kTile);
    StoreResult(g.z, r.out);
}

// case copied_value_read_after_flag: ErrorSync2 silent auto=off
KERNEL(copied_value_read_after_flag) {
    TENSORS;
    Raw r;
    DataCopy(r.in, g.x, kTile);
    Sync<HardEvent::MTE2_S>();
    float v = r.in.GetValue(5);
    Sync<HardEvent::S_V>();
    Duplicate(r.out, v, kTile);
    StoreResult(g.z, r.out);
}

// case raw_tensor_misaligned: ErrorRead4 found
KERNEL(raw_tensor_misaligned) {
    TENSORS;
    Raw r;
    Load(r.in, g.x);
    Add(r.out, r.in, r.in[50], 100);  // <- ErrorRead4
    Sync<HardEvent::V_MTE3>();
    DataCopyPad(g.z, r.out, {1, 400, 0, 0, 0});
}

// case scalar_barrier: ErrorParam found
KERNEL(scalar_barrier) {
    TENSORS;
    Raw r;
    Duplicate(r.out, 1.0f, kTile);
    PipeBarrier<PIPE_S>();  // <- ErrorParam
    StoreResult(g.z, r.out);
}

// Tensors that outlive their TPipe, as kernels with own buffer management have them.
// case addresses_of_a_destroyed_pipe: ErrorRead1 silent
KERNEL(addresses_of_a_destroyed_pipe) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> whole;
    pipe.InitBuffer(whole, 32 * 1024);
    auto memory = whole.Get<float>();
    pipe.Destroy();
    Load(memory, g.x);
    Adds(memory[kTile], memory, 1.0f, kTile);
    StoreResult(g.z, memory[kTile]);
}

// case addresses_given_to_the_next_buffer: ErrorRead1 found
KERNEL(addresses_given_to_the_next_buffer) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> first, second;
    pipe.InitBuffer(first, kTileBytes);
    auto a = first.Get<float>();
    Load(a, g.x);
    pipe.Reset();
    pipe.InitBuffer(second, 2 * kTileBytes);
    auto b = second.Get<float>()[kTile];
    Adds(b, a, 1.0f, kTile);  // <- ErrorRead1
    StoreResult(g.z, b);
}

// case scalar_read_behind_plain_stores: ErrorRead2 found
KERNEL(scalar_read_behind_plain_stores) {
    BUFFERS;
    auto* const p = reinterpret_cast<__ubuf__ float*>(b.a.GetPhyAddr());
    for (int i = 0; i < 32; ++i) p[i] = 0.0f;
    float v = b.a.GetValue(32);  // <- ErrorRead2
    Duplicate(b.b, v, kTile);
    StoreResult(g.z, b.b);
}

// case plain_stores_to_the_tile_before: ErrorRead2 found
KERNEL(plain_stores_to_the_tile_before) {
    QUEUES(2);
    for (int tile = 0; tile < 4; ++tile) {
        auto t = q.out.AllocTensor<float>();
        auto* const p = reinterpret_cast<__ubuf__ float*>(t.GetPhyAddr());
        for (int i = 0; i < kTile && tile < 2; ++i) p[i] = 1.0f;
        q.out.EnQue(t);
        t = q.out.DeQue<float>();
        DataCopy(g.z[tile * kTile], t, kTile);  // <- ErrorRead2
        q.out.FreeTensor(t);
    }
}

// case plain_stores_then_read: ErrorRead2 silent
KERNEL(plain_stores_then_read) {
    BUFFERS;
    auto* const p = reinterpret_cast<__ubuf__ float*>(b.a.GetPhyAddr());
    for (int i = 0; i < kTile; ++i) p[i] = 0.0f;
    auto* const again = reinterpret_cast<__ubuf__ float*>(b.a.GetPhyAddr(32));
    again[0] = 1.0f;
    Sync<HardEvent::S_V>();
    Adds(b.b, b.a, b.a.GetValue(32), kTile);
    StoreResult(g.z, b.b);
}

// case plain_stores_to_every_tile: ErrorRead2 silent
KERNEL(plain_stores_to_every_tile) {
    QUEUES(2);
    for (int tile = 0; tile < 4; ++tile) {
        auto t = q.out.AllocTensor<float>();
        auto* const p = reinterpret_cast<__ubuf__ float*>(t.GetPhyAddr());
        for (int i = 0; i < kTile; ++i) p[i] = 1.0f;
        Sync<HardEvent::S_V>();
        Muls(t, t, 2.0f, kTile);
        q.Store(g.z[tile * kTile], t);
    }
}
