// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What a kernel borrows and has to give back: the atomic mode, event ids beside those of queues,
// the order of a queue, the scheduler of core synchronisation.
#include "skeleton.h"

// ---- atomic mode -----------------------------------------------------------------------------------

// case atomic_add_left_on: AtomicMode warning
KERNEL(atomic_add_left_on) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    SetAtomicAdd<float>();  // <- AtomicMode
    DataCopy(g.x, b.a, kTile);
}

// case atomic_max_left_on_one_path: AtomicMode warning
KERNEL(atomic_max_left_on_one_path) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    SetAtomicMax<float>();  // <- AtomicMode
    DataCopy(g.x, b.a, kTile);
    if (GetBlockIdx() > 0) SetAtomicNone();
}

// case atomic_switched_off: AtomicMode silent blocks=2
KERNEL(atomic_switched_off) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    SetAtomicAdd<float>();
    DataCopy(g.x, b.a, kTile);
    SetAtomicNone();
}

// case atomic_switched_off_by_new_name: AtomicMode silent
KERNEL(atomic_switched_off_by_new_name) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    SetAtomicMin<float>();
    DataCopy(g.x, b.a, kTile);
    DisableDmaAtomic();
}

// ---- event ids of queues ---------------------------------------------------------------------------

// EnQue has set the lowest id of MTE2_V.
// case own_id_while_tensor_in_queue: ErrorSync4 found
KERNEL(own_id_while_tensor_in_queue) {
    QUEUES(1);
    auto a = q.in.AllocTensor<float>();
    DataCopy(a, g.x, kTile);
    q.in.EnQue(a);
    auto t = q.tmp.Get<float>();
    DataCopy(t, g.x[kTile], kTile);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);  // <- ErrorSync4
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    a = q.in.DeQue<float>();
    auto o = q.out.AllocTensor<float>();
    Add(o, a, t, kTile);
    q.in.FreeTensor(a);
    q.Store(g.z, o);
}

// case own_id_while_result_in_queue: ErrorSync4 found
KERNEL(own_id_while_result_in_queue) {
    QUEUES(1);
    auto o = q.Fill(1.0f);
    q.out.EnQue(o);
    auto t = q.tmp.Get<float>();
    Duplicate(t, 2.0f, kTile);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);  // <- ErrorSync4
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(g.z[kTile], t, kTile);
    o = q.out.DeQue<float>();
    DataCopy(g.z, o, kTile);
    q.out.FreeTensor(o);
}

// case id_allocated_beside_queue: ErrorSync4 silent
KERNEL(id_allocated_beside_queue) {
    QUEUES(1);
    auto a = q.in.AllocTensor<float>();
    DataCopy(a, g.x, kTile);
    q.in.EnQue(a);
    auto t = q.tmp.Get<float>();
    DataCopy(t, g.x[kTile], kTile);
    const auto id = q.pipe.AllocEventID<HardEvent::MTE2_V>();
    SetFlag<HardEvent::MTE2_V>(id);
    WaitFlag<HardEvent::MTE2_V>(id);
    q.pipe.ReleaseEventID<HardEvent::MTE2_V>(id);
    a = q.in.DeQue<float>();
    auto o = q.out.AllocTensor<float>();
    Add(o, a, t, kTile);
    q.in.FreeTensor(a);
    q.Store(g.z, o);
}

// case own_id_after_dequeue: ErrorSync4 silent
KERNEL(own_id_after_dequeue) {
    QUEUES(1);
    for (uint32_t i = 0; i < 2; ++i) {
        auto o = q.Fill(1.0f);
        q.out.EnQue(o);
        o = q.out.DeQue<float>();
        const auto id = q.pipe.FetchEventID(HardEvent::V_MTE3);
        SetFlag<HardEvent::V_MTE3>(id);
        WaitFlag<HardEvent::V_MTE3>(id);
        DataCopy(g.z[i * kTile], o, kTile);
        q.out.FreeTensor(o);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    }
}

// ---- queues that are left out ----------------------------------------------------------------------

// Add waits for the copy to y, and so by chance for the one to x before it.
// case ordered_by_another_queue: ErrorBuffer2 found
KERNEL(ordered_by_another_queue) {
    QUEUES(1);
    TQue<TPosition::VECIN, 1> other;
    q.pipe.InitBuffer(other, 1, kTileBytes);
    auto a = q.in.AllocTensor<float>();
    auto b = other.AllocTensor<float>();
    DataCopy(a, g.x, kTile);
    DataCopy(b, g.x[kTile], kTile);
    other.EnQue(b);
    b = other.DeQue<float>();
    auto o = q.out.AllocTensor<float>();
    Add(o, a, b, kTile);  // <- ErrorBuffer2
    q.in.FreeTensor(a);
    other.FreeTensor(b);
    q.Store(g.z, o);
}

// case stored_behind_another_result: ErrorBuffer2 found
KERNEL(stored_behind_another_result) {
    QUEUES(2);
    auto o = q.out.AllocTensor<float>();
    auto p = q.out.AllocTensor<float>();
    Duplicate(o, 1.0f, kTile);
    Duplicate(p, 2.0f, kTile);
    q.out.EnQue(p);
    p = q.out.DeQue<float>();
    DataCopy(g.z, o, kTile);  // <- ErrorBuffer2
    DataCopy(g.z[kTile], p, kTile);
    q.out.FreeTensor(o);
    q.out.FreeTensor(p);
}

// case flags_instead_of_queue: ErrorBuffer2 silent
KERNEL(flags_instead_of_queue) {
    QUEUES(1);
    auto a = q.in.AllocTensor<float>();
    Load(a, g.x);
    auto o = q.out.AllocTensor<float>();
    Exp(o, a, kTile);
    q.in.FreeTensor(a);
    PipeBarrier<PIPE_ALL>();
    DataCopy(g.z, o, kTile);
    q.out.FreeTensor(o);
}

// case scratch_of_output_queue: ErrorBuffer2 silent
KERNEL(scratch_of_output_queue) {
    QUEUES(2);
    auto a = q.Load(g.x);
    auto scratch = q.out.AllocTensor<float>();
    Exp(scratch, a, kTile);
    auto o = q.out.AllocTensor<float>();
    Add(o, scratch, a, kTile);
    q.out.FreeTensor(scratch);
    q.in.FreeTensor(a);
    q.Store(g.z, o);
}

// ---- core synchronisation without its scheduler ------------------------------------------------------

// case flags_in_vector_only_kernel: CrossCore found blocks=2
KERNEL(flags_in_vector_only_kernel) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    CrossCoreSetFlag<0, PIPE_MTE3>(3);  // <- CrossCore
    CrossCoreWaitFlag(3);
}

// case flags_in_cube_only_launch: CrossCore found blocks=2 kind=aic
KERNEL(flags_in_cube_only_launch) {
    CrossCoreSetFlag<0, PIPE_FIX>(3);  // <- CrossCore
    CrossCoreWaitFlag(3);
}

// case flags_in_mixed_type_vector_kernel: CrossCore silent blocks=2
KERNEL(flags_in_mixed_type_vector_kernel) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
    CrossCoreSetFlag<0, PIPE_MTE3>(3);
    CrossCoreWaitFlag(3);
}

// case flags_in_undeclared_kernel: CrossCore silent blocks=2
KERNEL(flags_in_undeclared_kernel) {
    CrossCoreSetFlag<0, PIPE_MTE3>(3);
    CrossCoreWaitFlag(3);
}

// case syncall_in_vector_only_kernel: CrossCore found blocks=2
KERNEL(syncall_in_vector_only_kernel) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    SyncAll();  // <- CrossCore
}

// case syncall_in_key_of_vector_only: CrossCore found blocks=2
KERNEL(syncall_in_key_of_vector_only) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
    KERNEL_TASK_TYPE(0, KERNEL_TYPE_AIV_ONLY);
    SyncAll();  // <- CrossCore
}

// case syncall_in_vector_launch: CrossCore warning blocks=2 kind=aiv
KERNEL(syncall_in_vector_launch) {
    SyncAll();  // <- CrossCore
}

// case flags_in_vector_launch: CrossCore found blocks=2 kind=aiv
KERNEL(flags_in_vector_launch) {
    CrossCoreSetFlag<0, PIPE_MTE3>(3);  // <- CrossCore
    CrossCoreWaitFlag(3);
}

// case syncall_in_mixed_type_vector_kernel: CrossCore silent blocks=2
KERNEL(syncall_in_mixed_type_vector_kernel) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
    SyncAll();
}

// case syncall_in_undeclared_kernel: CrossCore silent blocks=2
KERNEL(syncall_in_undeclared_kernel) { SyncAll(); }

// It goes through global memory and needs no scheduler.
// case soft_syncall_in_vector_only_kernel: CrossCore silent blocks=2
KERNEL(soft_syncall_in_vector_only_kernel) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Buffers b;
    GlobalTensor<int32_t> flags;
    flags.SetGlobalBuffer((__gm__ int32_t*)x, 16);
    SyncAll(flags, b.a.ReinterpretCast<int32_t>());
}

// ---- scratch ----------------------------------------------------------------------------------------

// case scratch_never_freed: ErrorLeak warning
KERNEL(scratch_never_freed) {
    QUEUES(2);
    auto a = q.Load(g.x);
    auto scratch = q.out.AllocTensor<float>();  // <- ErrorLeak
    Exp(scratch, a, kTile);
    auto o = q.out.AllocTensor<float>();
    Add(o, scratch, a, kTile);
    q.in.FreeTensor(a);
    q.Store(g.z, o);
}
