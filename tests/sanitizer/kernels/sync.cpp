// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Races between the pipes of one core, and flags. All of these give the right numbers on a CPU that
// runs in program order.
#include "skeleton.h"

// case copy_over_tile_in_use: ErrorSync1 found
KERNEL(copy_over_tile_in_use) {
    BUFFERS;
    Load(b.a, g.x);
    Exp(b.b, b.a, kTile);
    DataCopy(b.a, g.y, kTile);  // <- ErrorSync1
    Sync<HardEvent::MTE2_V>();
    Add(b.b, b.b, b.a, kTile);
    StoreResult(g.z, b.b);
}

// case result_over_tile_in_store: ErrorSync1 found
KERNEL(result_over_tile_in_store) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    StoreResult(g.z, b.a);
    Duplicate(b.a, 2.0f, kTile);  // <- ErrorSync1
    StoreResult(g.z[kTile], b.a);
}

// case copies_overlap_in_ub: ErrorSync1 found
KERNEL(copies_overlap_in_ub) {
    BUFFERS;
    DataCopy(b.a, g.x, kTile);
    DataCopy(b.a[kTile / 2], g.y, kTile / 2);  // <- ErrorSync1
    StoreCopy(g.z, b.a);
}

// The tile read is the last one, or half of it: nobody knows.
// case last_of_two_copies_read: ErrorSync1 found
KERNEL(last_of_two_copies_read) {
    BUFFERS;
    for (int i = 0; i < 3; ++i) DataCopy(b.a, g.x[i * kTile], kTile);  // <- ErrorSync1
    Sync<HardEvent::MTE2_V>();
    Adds(b.b, b.a, 1.0f, kTile);
    StoreResult(g.z, b.b);
}

// Measures how fast copies are.
// case copies_nobody_reads: ErrorSync1 warning
KERNEL(copies_nobody_reads) {
    BUFFERS;
    for (int i = 0; i < 4; ++i) {
        DataCopy(b.a, g.x[i * kTile], kTile);  // <- ErrorSync1
    }
}

// case stores_overlap_in_gm: ErrorSync1 found
KERNEL(stores_overlap_in_gm) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Duplicate(b.b, 2.0f, kTile);
    StoreResult(g.z, b.a);
    DataCopy(g.z[kTile / 2], b.b, kTile);  // <- ErrorSync1
}

// case tile_reused_after_wait: ErrorSync1 silent
KERNEL(tile_reused_after_wait) {
    BUFFERS;
    Load(b.a, g.x);
    Exp(b.b, b.a, kTile);
    Sync<HardEvent::V_MTE2>();
    Load(b.a, g.y);
    Add(b.b, b.b, b.a, kTile);
    StoreResult(g.z, b.b);
}

// case copies_with_barrier: ErrorSync1 silent
KERNEL(copies_with_barrier) {
    BUFFERS;
    Duplicate(b.b, 2.0f, kTile);
    DataCopy(b.a, g.x, kTile);
    PipeBarrier<PIPE_MTE2>();
    DataCopy(b.a[kTile / 2], g.y, kTile / 2);
    Sync<HardEvent::MTE2_MTE3>();
    StoreResult(g.z, b.a);
    PipeBarrier<PIPE_MTE3>();
    DataCopy(g.z[kTile / 2], b.b, kTile);
}

// case other_half_of_buffer: ErrorSync1 silent
KERNEL(other_half_of_buffer) {
    BUFFERS;
    Load(b.a, g.x, kTile / 2);
    Exp(b.b, b.a, kTile / 2);
    Load(b.a[kTile / 2], g.y, kTile / 2);
    Exp(b.b[kTile / 2], b.a[kTile / 2], kTile / 2);
    StoreResult(g.z, b.b);
}

// case last_tile_starts_earlier: ErrorSync1 silent
KERNEL(last_tile_starts_earlier) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    StoreResult(g.z, b.a);
    PipeBarrier<PIPE_MTE3>();
    DataCopy(g.z[kTile - 24], b.a, kTile);
}

// case compute_before_copy_arrived: ErrorSync2 found
KERNEL(compute_before_copy_arrived) {
    BUFFERS;
    DataCopy(b.a, g.x, kTile);
    Exp(b.b, b.a, kTile);  // <- ErrorSync2
    StoreResult(g.z, b.b);
}

// case store_before_result: ErrorSync2 found
KERNEL(store_before_result) {
    BUFFERS;
    Load(b.a, g.x);
    Exp(b.b, b.a, kTile);
    DataCopy(g.z, b.b, kTile);  // <- ErrorSync2
}

// case wait_on_other_event: ErrorSync2 found
KERNEL(wait_on_other_event) {
    BUFFERS;
    SetFlag<HardEvent::MTE2_V>(EVENT_ID1);
    DataCopy(b.a, g.x, kTile);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID1);
    Exp(b.b, b.a, kTile);  // <- ErrorSync2
    StoreResult(g.z, b.b);
}

// case queue_without_enqueue: ErrorSync2 found
KERNEL(queue_without_enqueue) {
    QUEUES(1);
    auto a = q.in.AllocTensor<float>();
    DataCopy(a, g.x, kTile);
    auto o = q.out.AllocTensor<float>();
    Exp(o, a, kTile);  // <- ErrorSync2
    q.in.FreeTensor(a);
    q.Store(g.z, o);
}

// case reload_before_store: ErrorSync2 found
KERNEL(reload_before_store) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    StoreResult(g.ws, b.a);
    DataCopy(b.b, g.ws, kTile);  // <- ErrorSync2
    StoreCopy(g.z, b.b);
}

// case dependent_vector_without_barrier: ErrorSync2 found auto=off
KERNEL(dependent_vector_without_barrier) {
    BUFFERS;
    Load(b.a, g.x);
    Exp(b.b, b.a, kTile);
    Muls(b.b, b.b, 2.0f, kTile);  // <- ErrorSync2
    StoreResult(g.z, b.b);
}

// case scalar_read_before_reduce: ErrorSync2 found auto=off
KERNEL(scalar_read_before_reduce) {
    BUFFERS;
    Load(b.a, g.x);
    WholeReduceMax(b.b, b.a, 64, 1, 1, 1, 8);
    float v = b.b.GetValue(0);  // <- ErrorSync2
    Sync<HardEvent::S_V>();
    Duplicate(b.a, v, kTile);
    StoreResult(g.z, b.a);
}

// case flags_between_pipes: ErrorSync2 silent
KERNEL(flags_between_pipes) {
    BUFFERS;
    Load(b.a, g.x);
    Exp(b.b, b.a, kTile);
    StoreResult(g.z, b.b);
}

// case barrier_all: ErrorSync2 silent
KERNEL(barrier_all) {
    BUFFERS;
    DataCopy(b.a, g.x, kTile);
    PipeBarrier<PIPE_ALL>();
    Exp(b.b, b.a, kTile);
    PipeBarrier<PIPE_ALL>();
    DataCopy(g.z, b.b, kTile);
    PipeBarrier<PIPE_ALL>();
}

// case wait_through_third_pipe: ErrorSync2 silent
KERNEL(wait_through_third_pipe) {
    BUFFERS;
    DataCopy(b.a, g.x, kTile);
    Duplicate(b.b, 1.0f, 64);
    Sync<HardEvent::MTE2_V>();
    StoreResult(g.z, b.a);
}

// case queues_double_buffered: ErrorSync2 silent
KERNEL(queues_double_buffered) {
    QUEUES(2);
    for (int i = 0; i < 4; ++i) {
        auto a = q.Load(g.x[i * kTile]);
        auto o = q.out.AllocTensor<float>();
        Exp(o, a, kTile);
        q.in.FreeTensor(a);
        q.Store(g.z[i * kTile], o);
    }
}

// case vector_with_barriers: ErrorSync2 silent auto=off
KERNEL(vector_with_barriers) {
    BUFFERS;
    Load(b.a, g.x);
    Exp(b.b, b.a, kTile);
    PipeBarrier<PIPE_V>();
    Muls(b.b, b.b, 2.0f, kTile);
    PipeBarrier<PIPE_V>();
    WholeReduceMax(b.a, b.b, 64, 1, 1, 1, 8);
    Sync<HardEvent::V_S>();
    float v = b.a.GetValue(0);
    Sync<HardEvent::S_V>();
    Duplicate(b.b, v, kTile);
    StoreResult(g.z, b.b);
}

// case scalar_synchronised_by_compiler: ErrorSync2 silent
KERNEL(scalar_synchronised_by_compiler) {
    BUFFERS;
    Load(b.a, g.x);
    WholeReduceMax(b.b, b.a, 64, 1, 1, 1, 8);
    float v = b.b.GetValue(0);
    Duplicate(b.a, v, kTile);
    StoreResult(g.z, b.a);
}

// case flag_left_set: ErrorSync3 found
KERNEL(flag_left_set) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    StoreResult(g.z, b.a);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID2);  // <- ErrorSync3
}

// case flag_set_on_one_path: ErrorSync3 found
KERNEL(flag_set_on_one_path) {
    BUFFERS;
    for (int i = 0; i < 3; ++i) {
        Duplicate(b.a, 1.0f, kTile);
        StoreResult(g.z[i * kTile], b.a);
        SetFlag<HardEvent::MTE3_V>(EVENT_ID1);  // <- ErrorSync3
        if (i < 2) WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
    }
}

// case wait_nobody_sets: ErrorSync3 found
KERNEL(wait_nobody_sets) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID3);  // <- ErrorSync3
    DataCopy(g.z, b.a, kTile);
}

// case primed_and_drained: ErrorSync3 silent
KERNEL(primed_and_drained) {
    BUFFERS;
    SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    for (int i = 0; i < 4; ++i) {
        WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
        Duplicate(b.a, 1.0f, kTile);
        StoreResult(g.z[i * kTile], b.a);
        SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
    }
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

// case allocated_event: ErrorSync3 silent
KERNEL(allocated_event) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    event_t id = static_cast<event_t>(b.pipe.AllocEventID<HardEvent::V_MTE3>());
    SetFlag<HardEvent::V_MTE3>(id);
    WaitFlag<HardEvent::V_MTE3>(id);
    b.pipe.ReleaseEventID<HardEvent::V_MTE3>(id);
    DataCopy(g.z, b.a, kTile);
}

// case flag_set_twice: ErrorSync4 found
KERNEL(flag_set_twice) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    Duplicate(b.b, 2.0f, kTile);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);  // <- ErrorSync4
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(g.z, b.a, kTile);
}

// case flag_set_in_loop: ErrorSync4 found
KERNEL(flag_set_in_loop) {
    BUFFERS;
    for (int i = 0; i < 2; ++i) {
        Duplicate(b.a[i * 128], 1.0f, 128);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID0);  // <- ErrorSync4
    }
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(g.z, b.a, kTile);
}

// case two_event_ids: ErrorSync4 silent
KERNEL(two_event_ids) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    Duplicate(b.b, 2.0f, kTile);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(g.z, b.a, kTile);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
    DataCopy(g.z[kTile], b.b, kTile);
}

// case same_id_other_pipes: ErrorSync4 silent
KERNEL(same_id_other_pipes) {
    BUFFERS;
    DataCopy(b.a, g.x, kTile);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Exp(b.b, b.a, kTile);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    DataCopy(g.z, b.a, kTile);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(g.z[kTile], b.b, kTile);
}

// case ninth_event_id: EventId found
KERNEL(ninth_event_id) {
    Buffers b;
    for (int i = 0; i < 9; ++i) {
        b.pipe.AllocEventID<HardEvent::V_MTE3>();  // <- EventId
    }
}

// case event_id_out_of_range: EventId found
KERNEL(event_id_out_of_range) {
    Buffers b;
    SetFlag<HardEvent::V_MTE3>(8);  // <- EventId
    WaitFlag<HardEvent::V_MTE3>(8);
}

// case event_ids_released: EventId silent
KERNEL(event_ids_released) {
    Buffers b;
    for (int i = 0; i < 20; ++i) {
        auto id = b.pipe.AllocEventID<HardEvent::V_MTE3>();
        SetFlag<HardEvent::V_MTE3>(id);
        WaitFlag<HardEvent::V_MTE3>(id);
        b.pipe.ReleaseEventID<HardEvent::V_MTE3>(id);
    }
}

// case event_ids_fetched: EventId silent
KERNEL(event_ids_fetched) {
    Buffers b;
    for (int i = 0; i < 20; ++i) {
        auto id = b.pipe.FetchEventID<HardEvent::V_MTE3>();
        SetFlag<HardEvent::V_MTE3>(id);
        WaitFlag<HardEvent::V_MTE3>(id);
    }
}

// The same id fetched twice: set twice, then waited for twice. Only the second set is wrong.
// case id_fetched_twice: ErrorSync4 found
KERNEL(id_fetched_twice) {
    TENSORS;
    Buffers t;
    DataCopy(t.a, g.x, kTile);
    const event_t first = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::MTE2_V));
    SetFlag<HardEvent::MTE2_V>(first);
    DataCopy(t.b, g.y, kTile / 2);
    const event_t second = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::MTE2_V));
    SetFlag<HardEvent::MTE2_V>(second);  // <- ErrorSync4
    WaitFlag<HardEvent::MTE2_V>(first);
    WaitFlag<HardEvent::MTE2_V>(second);
    Add(t.a, t.a, t.b, kTile / 2);
    StoreResult(g.z, t.a, kTile / 2);
}

// case third_wait_after_two_sets: ErrorSync3 found
KERNEL(third_wait_after_two_sets) {
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);  // <- ErrorSync3
}

// case store_of_sum: ErrorSync2 silent
KERNEL(store_of_sum) {
    BUFFERS;
    Load(b.a, g.x);
    ReduceSum(b.b, b.a, b.a, kTile);
    DataCopyPad(g.z, b.b, {1, sizeof(float), 0, 0});
    ReduceMax(b.b[8], b.a, b.a, kTile);
    DataCopyPad(g.z[1], b.b[8], {1, sizeof(float), 0, 0});
}

// case store_of_maximum_with_index: ErrorSync2 found
KERNEL(store_of_maximum_with_index) {
    BUFFERS;
    Load(b.a, g.x, 64);
    ReduceMax(b.b, b.a, b.a, 64, true);
    DataCopyPad(g.z, b.b, {1, 2 * sizeof(float), 0, 0});  // <- ErrorSync2
}
