// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Queues, buffers and pools.
#include "skeleton.h"

// case never_freed: ErrorLeak found
KERNEL(never_freed) {
    QUEUES(1);
    auto o = q.out.AllocTensor<float>();  // <- ErrorLeak
    Duplicate(o, 1.0f, kTile);
    q.out.EnQue(o);
    o = q.out.DeQue<float>();
    DataCopy(g.z, o, kTile);
}

// case taken_once_for_the_kernel: ErrorLeak warning
KERNEL(taken_once_for_the_kernel) {
    QUEUES(1);
    auto o = q.out.AllocTensor<float>();  // <- ErrorLeak
    for (int i = 0; i < 4; ++i) {
        Duplicate(o, 1.0f * i, kTile);
        StoreResult(g.z[i * kTile], o);
        Sync<HardEvent::MTE3_V>();
    }
}

// case left_in_queue: ErrorLeak found
KERNEL(left_in_queue) {
    QUEUES(2);
    auto o = q.Fill(1.0f);
    q.Store(g.z, o);
    auto lost = q.in.AllocTensor<float>();
    DataCopy(lost, g.x, kTile);
    q.in.EnQue(lost);  // <- ErrorLeak
}

// case freed_on_every_path: ErrorLeak silent blocks=2
KERNEL(freed_on_every_path) {
    QUEUES(1);
    auto o = q.Fill(1.0f);
    q.out.EnQue(o);
    o = q.out.DeQue<float>();
    if (GetBlockIdx() == 0) DataCopy(g.z, o, kTile);
    q.out.FreeTensor(o);
}

// case buffer_needs_no_free: ErrorLeak silent
KERNEL(buffer_needs_no_free) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    StoreResult(g.z, b.a);
}

// case freed_twice: ErrorFree found
KERNEL(freed_twice) {
    QUEUES(1);
    auto o = q.Fill(1.0f);
    q.Store(g.z, o);
    q.out.FreeTensor(o);  // <- ErrorFree
}

// case freed_again_in_branch: ErrorFree found
KERNEL(freed_again_in_branch) {
    QUEUES(2);
    for (int i = 0; i < 2; ++i) {
        auto a = q.Load(g.x);
        Exp(q.tmp.Get<float>(), a, kTile);
        q.in.FreeTensor(a);
        if (i == 1) q.in.FreeTensor(a);  // <- ErrorFree
    }
    StoreResult(g.z, q.tmp.Get<float>());
}

// case freed_once_per_alloc: ErrorFree silent
KERNEL(freed_once_per_alloc) {
    QUEUES(2);
    for (int i = 0; i < 4; ++i) {
        auto o = q.Fill(1.0f);
        q.Store(g.z[i * kTile], o);
    }
}

// case two_tensors_freed: ErrorFree silent
KERNEL(two_tensors_freed) {
    QUEUES(2);
    auto a = q.out.AllocTensor<float>();
    auto b = q.out.AllocTensor<float>();
    Duplicate(a, 1.0f, kTile);
    Duplicate(b, 2.0f, kTile);
    q.out.EnQue(a);
    q.out.EnQue(b);
    a = q.out.DeQue<float>();
    DataCopy(g.z, a, kTile);
    b = q.out.DeQue<float>();
    DataCopy(g.z[kTile], b, kTile);
    q.out.FreeTensor(a);
    q.out.FreeTensor(b);
}

// case queue_never_initialised: ErrorBuffer0 found
KERNEL(queue_never_initialised) {
    TENSORS;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    auto a = in.AllocTensor<float>();  // <- ErrorBuffer0
    DataCopy(a, g.x, kTile);
}

// case buffer_never_initialised: ErrorBuffer0 found
KERNEL(buffer_never_initialised) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    auto a = buf.Get<float>();  // <- ErrorBuffer0
    Duplicate(a, 1.0f, 64);
}

// case buffer_never_initialised_nor_used: ErrorBuffer0 warning
KERNEL(buffer_never_initialised_nor_used) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> scratch, used;
    pipe.InitBuffer(used, 256);
    auto forOtherTypes = scratch.Get<float>();  // <- ErrorBuffer0
    auto a = used.Get<float>();
    Duplicate(a, 1.0f, 64);
}

// case copy_into_tensor_of_nothing: ErrorBuffer0 found
KERNEL(copy_into_tensor_of_nothing) {
    TENSORS;
    TPipe pipe;
    LocalTensor<float> a;
    DataCopy(a, g.x, kTile);  // <- ErrorBuffer0
}

// case all_initialised: ErrorBuffer0 silent
KERNEL(all_initialised) {
    QUEUES(1);
    auto o = q.Fill(1.0f);
    q.Store(g.z, o);
}

// case initialised_again_after_reset: ErrorBuffer0 silent
KERNEL(initialised_again_after_reset) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> first;
    pipe.InitBuffer(first, kTileBytes);
    auto a = first.Get<float>();
    Duplicate(a, 1.0f, kTile);
    StoreResult(g.z, a);
    pipe.Reset();
    TBuf<TPosition::VECCALC> second;
    pipe.InitBuffer(second, kTileBytes);
    auto b = second.Get<float>();
    Duplicate(b, 2.0f, kTile);
    StoreResult(g.z[kTile], b);
}

// case enqueued_to_other_queue: ErrorBuffer1 found
KERNEL(enqueued_to_other_queue) {
    QUEUES(1);
    auto a = q.in.AllocTensor<float>();
    DataCopy(a, g.x, kTile);
    q.out.EnQue(a);  // <- ErrorBuffer1
}

// case freed_by_other_queue: ErrorBuffer1 found
KERNEL(freed_by_other_queue) {
    QUEUES(1);
    auto a = q.Load(g.x);
    q.out.FreeTensor(a);  // <- ErrorBuffer1
}

// case freed_by_queue_alike: ErrorBuffer1 warning
KERNEL(freed_by_queue_alike) {
    TENSORS;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> first, second;
    pipe.InitBuffer(first, 1, kTileBytes);
    pipe.InitBuffer(second, 1, kTileBytes);
    for (int i = 0; i < 2; ++i) {
        auto a = first.AllocTensor<float>();
        auto b = second.AllocTensor<float>();
        DataCopy(a, g.x, kTile);
        DataCopy(b, g.x, kTile);
        first.EnQue(a);
        second.EnQue(b);
        a = first.DeQue<float>();
        b = second.DeQue<float>();
        Add(a, a, b, kTile);
        first.FreeTensor(a);
        (i == 0 ? first : second).FreeTensor(b);  // <- ErrorBuffer1
    }
}

// case each_to_its_queue: ErrorBuffer1 silent
KERNEL(each_to_its_queue) {
    QUEUES(1);
    auto a = q.Load(g.x);
    auto o = q.out.AllocTensor<float>();
    Exp(o, a, kTile);
    q.in.FreeTensor(a);
    q.Store(g.z, o);
}

// case bound_queue: ErrorBuffer1 silent
KERNEL(bound_queue) {
    TENSORS;
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 2> through;
    pipe.InitBuffer(through, 2, kTileBytes);
    for (int i = 0; i < 4; ++i) {
        auto a = through.AllocTensor<float>();
        DataCopy(a, g.x[i * kTile], kTile);
        through.EnQue(a);
        a = through.DeQue<float>();
        DataCopy(g.z[i * kTile], a, kTile);
        through.FreeTensor(a);
    }
}

// case dequeue_of_empty_queue: ErrorBuffer2 found
KERNEL(dequeue_of_empty_queue) {
    QUEUES(1);
    auto a = q.in.AllocTensor<float>();
    DataCopy(a, g.x, kTile);
    a = q.in.DeQue<float>();  // <- ErrorBuffer2
    q.in.FreeTensor(a);
}

// case dequeued_again: ErrorBuffer2 found
KERNEL(dequeued_again) {
    TENSORS;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    pipe.InitBuffer(in, 1, kTileBytes);
    auto a = in.AllocTensor<float>();
    DataCopy(a, g.x, kTile);
    in.EnQue(a);
    a = in.DeQue<float>();
    Adds(a, a, 1.0f, kTile);
    // The queue remembers the tensor, so the kernel goes on.
    a = in.DeQue<float>();  // <- ErrorBuffer2
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(g.z, a, kTile);
    in.FreeTensor(a);
}

// case enqueued_twice: ErrorBuffer2 found
KERNEL(enqueued_twice) {
    QUEUES(1);
    auto o = q.Fill(1.0f);
    q.out.EnQue(o);
    q.out.EnQue(o);  // <- ErrorBuffer2
    o = q.out.DeQue<float>();
    DataCopy(g.z, o, kTile);
    q.out.FreeTensor(o);
}

// The device forgets the tensor before, and computes what is meant as long as it has event ids.
// case never_dequeued: ErrorBuffer2 found
KERNEL(never_dequeued) {
    QUEUES(1);
    for (int i = 0; i < 4; ++i) {
        auto a = q.in.AllocTensor<float>();
        DataCopy(a, g.x[i * kTile], kTile);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID7);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID7);
        q.in.EnQue(a);  // <- ErrorBuffer2
        auto o = q.out.AllocTensor<float>();
        Exp(o, a, kTile);    // <- ErrorBuffer2
        q.in.FreeTensor(a);  // <- ErrorBuffer2
        q.Store(g.z[i * kTile], o);
    }
}

// case never_dequeued_nine_times: EventId found
KERNEL(never_dequeued_nine_times) {
    QUEUES(1);
    for (int i = 0; i < 9; ++i) {
        auto a = q.in.AllocTensor<float>();
        DataCopy(a, g.x, kTile);
        q.in.EnQue(a);  // <- EventId
        q.in.FreeTensor(a);
    }
}

// case stored_while_in_queue: ErrorBuffer2 found
KERNEL(stored_while_in_queue) {
    QUEUES(1);
    auto o = q.Fill(1.0f);
    q.out.EnQue(o);
    DataCopy(g.z, o, kTile);  // <- ErrorBuffer2
    o = q.out.DeQue<float>();
    q.out.FreeTensor(o);
}

// case order_kept: ErrorBuffer2 silent
KERNEL(order_kept) {
    QUEUES(2);
    auto a = q.in.AllocTensor<float>();
    DataCopy(a, g.x, kTile);
    q.in.EnQue(a);
    auto b = q.in.AllocTensor<float>();
    DataCopy(b, g.y, kTile);
    q.in.EnQue(b);
    a = q.in.DeQue<float>();
    b = q.in.DeQue<float>();
    auto o = q.out.AllocTensor<float>();
    Add(o, a, b, kTile);
    q.in.FreeTensor(a);
    q.in.FreeTensor(b);
    q.Store(g.z, o);
}

// case enqueued_again_after_dequeue: ErrorBuffer2 silent
KERNEL(enqueued_again_after_dequeue) {
    QUEUES(1);
    auto o = q.Fill(1.0f);
    q.out.EnQue(o);
    o = q.out.DeQue<float>();
    q.Store(g.z, o);
}

// case buffers_over_capacity: InitBuffer found
KERNEL(buffers_over_capacity) {
    TENSORS;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 2, 64 * 1024);
    pipe.InitBuffer(out, 2, 64 * 1024);  // <- InitBuffer
    auto o = out.AllocTensor<float>();
    Duplicate(o, 1.0f, kTile);
    out.FreeTensor(o);
}

// case fourth_buffer_over_capacity: InitBuffer found
KERNEL(fourth_buffer_over_capacity) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> a, b, c, d;
    pipe.InitBuffer(a, 60 * 1024);
    pipe.InitBuffer(b, 60 * 1024);
    pipe.InitBuffer(c, 60 * 1024);
    pipe.InitBuffer(d, 16 * 1024);  // <- InitBuffer
    Duplicate(d.Get<float>(), 1.0f, 64);
}

// case unused_buffer_over_capacity: InitBuffer warning
KERNEL(unused_buffer_over_capacity) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> used, forOtherTypes;
    pipe.InitBuffer(used, 160 * 1024);
    pipe.InitBuffer(forOtherTypes, 80 * 1024);  // <- InitBuffer
    Duplicate(used.Get<float>(), 1.0f, 64);
}

// case never_given_memory: ErrorBuffer0 found
KERNEL(never_given_memory) {
    BUFFERS;
    LocalTensor<uint8_t> mask;
    Duplicate(b.a, 1.0f, kTile);
    Compare(mask, b.a, b.a, CMPMODE::EQ, kTile);  // <- ErrorBuffer0
}

// case buffer_of_nothing: InitBuffer warning
KERNEL(buffer_of_nothing) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> unused;
    TBuf<TPosition::VECCALC> used;
    pipe.InitBuffer(unused, 0);  // <- InitBuffer
    pipe.InitBuffer(used, kTile * sizeof(float));
    LocalTensor<float> o = used.Get<float>();
    Duplicate(o, 1.0f, kTile);
    StoreResult(g.z, o);
}

// case buffers_fill_ub: InitBuffer silent
KERNEL(buffers_fill_ub) {
    TENSORS;
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in;
    TQue<TPosition::VECOUT, 2> out;
    pipe.InitBuffer(in, 2, 48 * 1024);
    pipe.InitBuffer(out, 2, 48 * 1024);
    auto o = out.AllocTensor<float>();
    Duplicate(o, 1.0f, kTile);
    out.EnQue(o);
    o = out.DeQue<float>();
    DataCopy(g.z, o, kTile);
    out.FreeTensor(o);
}

// case buffers_again_after_reset: InitBuffer silent
KERNEL(buffers_again_after_reset) {
    TENSORS;
    TPipe pipe;
    for (int i = 0; i < 2; ++i) {
        TBuf<TPosition::VECCALC> big;
        pipe.InitBuffer(big, 150 * 1024);
        auto a = big.Get<float>();
        Duplicate(a, 1.0f, kTile);
        StoreResult(g.z[i * kTile], a);
        pipe.Reset();
    }
}

// case pool_never_initialised: ErrorBuffer4 found
KERNEL(pool_never_initialised) {
    TENSORS;
    TPipe pipe;
    TBufPool<TPosition::VECCALC> pool;
    TBuf<TPosition::VECCALC> buf;
    pool.InitBuffer(buf, kTileBytes);  // <- ErrorBuffer4
}

// case pool_queue_never_initialised: ErrorBuffer4 found
KERNEL(pool_queue_never_initialised) {
    TENSORS;
    TPipe pipe;
    TBufPool<TPosition::VECCALC> pool;
    TQue<TPosition::VECIN, 1> in;
    pool.InitBuffer(in, 1, kTileBytes);  // <- ErrorBuffer4
}

// case pool_initialised: ErrorBuffer4 silent
KERNEL(pool_initialised) {
    TENSORS;
    TPipe pipe;
    TBufPool<TPosition::VECCALC> pool;
    pipe.InitBufPool(pool, 4 * kTileBytes);
    TBuf<TPosition::VECCALC> buf;
    pool.InitBuffer(buf, kTileBytes);
    auto a = buf.Get<float>();
    Duplicate(a, 1.0f, kTile);
    StoreResult(g.z, a);
}

// case two_pools: ErrorBuffer4 silent
KERNEL(two_pools) {
    TENSORS;
    TPipe pipe;
    TBufPool<TPosition::VECCALC> first, second;
    pipe.InitBufPool(first, 2 * kTileBytes);
    pipe.InitBufPool(second, 2 * kTileBytes);
    TBuf<TPosition::VECCALC> a, b;
    first.InitBuffer(a, kTileBytes);
    second.InitBuffer(b, kTileBytes);
    auto ta = a.Get<float>();
    auto tb = b.Get<float>();
    Duplicate(ta, 1.0f, kTile);
    Duplicate(tb, 2.0f, kTile);
    StoreResult(g.z, ta);
    DataCopy(g.z[kTile], tb, kTile);
}

// case get_more_than_buffer: ErrorBuffer3 warning
KERNEL(get_more_than_buffer) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 64 * sizeof(float));
    auto a = buf.Get<float>(96);  // <- ErrorBuffer3
    Duplicate(a, 1.0f, 64);
    StoreResult(g.z, a, 64);
}

// case past_end_of_ub: ErrorBuffer3 found
KERNEL(past_end_of_ub) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 190 * 1024);
    auto a = buf.Get<float>();
    Duplicate(a[47 * 1024], 1.0f, 3 * 1024);  // <- ErrorBuffer3
}

// case get_whole_buffer: ErrorBuffer3 silent
KERNEL(get_whole_buffer) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 64 * sizeof(float));
    auto a = buf.Get<float>(64);
    Duplicate(a, 1.0f, 64);
    StoreResult(g.z, a, 64);
}

// case to_the_end_of_ub: ErrorBuffer3 silent
KERNEL(to_the_end_of_ub) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 192 * 1024);
    auto a = buf.Get<float>();
    Duplicate(a[47 * 1024], 1.0f, 1024);
    StoreResult(g.z, a[47 * 1024], 1024);
}

// case nine_tensors_of_one_position: EventId found
KERNEL(nine_tensors_of_one_position) {
    TENSORS;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> q[9];
    LocalTensor<float> t[9];
    for (int i = 0; i < 9; ++i) pipe.InitBuffer(q[i], 1, kTileBytes);
    for (int i = 0; i < 9; ++i) {
        t[i] = q[i].AllocTensor<float>();  // <- EventId
        DataCopy(t[i], g.x, kTile);
        q[i].EnQue(t[i]);
    }
    for (int i = 0; i < 9; ++i) {
        t[i] = q[i].DeQue<float>();
        q[i].FreeTensor(t[i]);
    }
}

// case eight_tensors_of_one_position: EventId silent
KERNEL(eight_tensors_of_one_position) {
    TENSORS;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> q[9];
    LocalTensor<float> t[9];
    for (int i = 0; i < 9; ++i) pipe.InitBuffer(q[i], 1, kTileBytes);
    for (int i = 0; i < 9; ++i) {
        if (i == 8) q[0].FreeTensor(t[0]);
        t[i] = q[i].AllocTensor<float>();
        DataCopy(t[i], g.x, kTile);
        q[i].EnQue(t[i]);
        t[i] = q[i].DeQue<float>();
    }
    for (int i = 1; i < 9; ++i) q[i].FreeTensor(t[i]);
}

// case two_tensors_in_queue_of_depth_one: ErrorBuffer2 found
KERNEL(two_tensors_in_queue_of_depth_one) {
    TENSORS;
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> q;
    pipe.InitBuffer(q, 2, kTileBytes);
    for (int i = 0; i < 2; ++i) {
        auto a = q.AllocTensor<float>();
        DataCopy(a, g.x[i * kTile], kTile);
        q.EnQue(a);  // <- ErrorBuffer2
    }
    for (int i = 0; i < 2; ++i) {
        auto a = q.DeQue<float>();
        DataCopy(g.z[i * kTile], a, kTile);
        q.FreeTensor(a);
    }
}

// case two_tensors_in_queue_of_depth_two: ErrorBuffer2 silent
KERNEL(two_tensors_in_queue_of_depth_two) {
    TENSORS;
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 2> q;
    pipe.InitBuffer(q, 2, kTileBytes);
    for (int i = 0; i < 2; ++i) {
        auto a = q.AllocTensor<float>();
        DataCopy(a, g.x[i * kTile], kTile);
        q.EnQue(a);
    }
    for (int i = 0; i < 2; ++i) {
        auto a = q.DeQue<float>();
        DataCopy(g.z[i * kTile], a, kTile);
        q.FreeTensor(a);
    }
}

// case one_enqueue_forgotten: ErrorBuffer2 found
KERNEL(one_enqueue_forgotten) {
    QUEUES(1);
    for (int i = 0; i < 2; ++i) {
        auto a = q.in.AllocTensor<float>();
        DataCopy(a, g.x[i * kTile], kTile);
        auto o = q.out.AllocTensor<float>();
        a = q.in.DeQue<float>();  // <- ErrorBuffer2
        Exp(o, a, kTile);
        q.in.FreeTensor(a);
        q.out.FreeTensor(o);
    }
}

// case one_dequeue_forgotten: ErrorBuffer2 found
KERNEL(one_dequeue_forgotten) {
    QUEUES(2);
    auto a = q.in.AllocTensor<float>();
    DataCopy(a, g.x, kTile);
    q.in.EnQue(a);
    auto o = q.out.AllocTensor<float>();
    Exp(o, a, kTile);    // <- ErrorBuffer2
    q.in.FreeTensor(a);  // <- ErrorBuffer2
    q.Store(g.z, o);
}

// case skipped_by_continue: ErrorLeak found
KERNEL(skipped_by_continue) {
    QUEUES(2);
    for (int i = 0; i < 2; ++i) {
        auto a = q.in.AllocTensor<float>();  // <- ErrorLeak
        DataCopy(a, g.x[i * kTile], kTile);
        q.in.EnQue(a);
        a = q.in.DeQue<float>();
        if (i == 1) continue;
        auto o = q.out.AllocTensor<float>();
        Exp(o, a, kTile);
        q.in.FreeTensor(a);
        q.Store(g.z, o);
    }
}

// case sixty_five_buffers: InitBuffer found
KERNEL(sixty_five_buffers) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf[65];
    for (int i = 0; i < 65; ++i) {
        pipe.InitBuffer(buf[i], 32);  // <- InitBuffer
    }
}

// case sixty_four_buffers: InitBuffer silent
KERNEL(sixty_four_buffers) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf[64];
    for (int i = 0; i < 64; ++i) pipe.InitBuffer(buf[i], 32);
}

// case bound_queue_by_positions: ErrorSync2 silent
KERNEL(bound_queue_by_positions) {
    TENSORS;
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> q;
    pipe.InitBuffer(q, 1, kTile * sizeof(float));
    LocalTensor<float> t = q.AllocTensor<float>();
    DataCopy(t, g.x, kTile);
    q.EnQue<TPosition::GM, TPosition::VECIN, float>(t);
    t = q.DeQue<TPosition::GM, TPosition::VECIN, float>();
    Adds(t, t, 1.0f, kTile);
    q.EnQue<TPosition::VECOUT, TPosition::GM, float>(t);
    t = q.DeQue<TPosition::VECOUT, TPosition::GM, float>();
    DataCopy(g.z, t, kTile);
    q.FreeTensor(t);
}

// case bound_queue_by_wrong_positions: ErrorSync2 found
KERNEL(bound_queue_by_wrong_positions) {
    TENSORS;
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> q;
    pipe.InitBuffer(q, 1, kTile * sizeof(float));
    LocalTensor<float> t = q.AllocTensor<float>();
    DataCopy(t, g.x, kTile);
    q.EnQue<TPosition::GM, TPosition::VECIN, float>(t);
    t = q.DeQue<TPosition::GM, TPosition::VECIN, float>();
    Adds(t, t, 1.0f, kTile);
    q.EnQue<TPosition::GM, TPosition::VECIN, float>(t);
    t = q.DeQue<TPosition::GM, TPosition::VECIN, float>();
    DataCopy(g.z, t, kTile);  // <- ErrorSync2
    q.FreeTensor(t);
}
