// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Several cores and global memory; the scalar unit's data cache; operands and parameters.
#include "skeleton.h"

// case cores_write_same_range: GmOverlap found blocks=2
KERNEL(cores_write_same_range) {
    BUFFERS;
    Duplicate(b.a, static_cast<float>(GetBlockIdx()), kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z, b.a, kTile);  // <- GmOverlap
}

// case split_off_by_one_block: GmOverlap found blocks=4
KERNEL(split_off_by_one_block) {
    BUFFERS;
    Duplicate(b.a, static_cast<float>(GetBlockIdx()), kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z[GetBlockIdx() * (kTile - 8)], b.a, kTile);  // <- GmOverlap
}

// case cores_accumulate: GmOverlap silent blocks=4
KERNEL(cores_accumulate) {
    BUFFERS;
    if (GetBlockIdx() == 0) {
        Duplicate(b.b, 0.0f, kTile);
        StoreResult(g.z, b.b);
    }
    SyncAll();
    Duplicate(b.a, static_cast<float>(GetBlockIdx()), kTile);
    Sync<HardEvent::V_MTE3>();
    SetAtomicAdd<float>();
    DataCopy(g.z, b.a, kTile);
    SetAtomicNone();
}

// case disjoint_unaligned_split: GmOverlap silent blocks=4
KERNEL(disjoint_unaligned_split) {
    BUFFERS;
    Duplicate(b.a, static_cast<float>(GetBlockIdx()), kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopyPad(g.z[GetBlockIdx() * 53], b.a, {1, 53 * sizeof(float), 0, 0});
}

// case same_range_one_after_other: GmOverlap silent blocks=2
KERNEL(same_range_one_after_other) {
    BUFFERS;
    Duplicate(b.a, static_cast<float>(GetBlockIdx()), kTile);
    Sync<HardEvent::V_MTE3>();
    if (GetBlockIdx() == 0) DataCopy(g.z, b.a, kTile);
    SyncAll();
    if (GetBlockIdx() == 1) DataCopy(g.z, b.a, kTile);
}

// case partial_sums_without_sync: ErrorSync2 found blocks=2
KERNEL(partial_sums_without_sync) {
    BUFFERS;
    Duplicate(b.a, 1.0f, 64);
    StoreResult(g.ws[GetBlockIdx() * 64], b.a, 64);
    if (GetBlockIdx() != 1) return;
    Sync<HardEvent::MTE3_MTE2>();
    DataCopy(b.b, g.ws, 128);  // <- ErrorSync2
    StoreCopy(g.z, b.b, 128);
}

// case neighbour_halo_in_place: ErrorSync1 found blocks=2
KERNEL(neighbour_halo_in_place) {
    BUFFERS;
    int32_t me = GetBlockIdx();
    Load(b.a, g.x[me * 128]);
    Exp(b.b, b.a, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.x[me * 128], b.b, 128);  // <- ErrorSync1
}

// case partial_sums_after_syncall: ErrorSync2 silent blocks=2
KERNEL(partial_sums_after_syncall) {
    BUFFERS;
    Duplicate(b.a, 1.0f, 64);
    StoreResult(g.ws[GetBlockIdx() * 64], b.a, 64);
    SyncAll();
    if (GetBlockIdx() != 1) return;
    DataCopy(b.b, g.ws, 128);
    StoreCopy(g.z, b.b, 128);
}

// case partial_sums_after_cross_flag: ErrorSync2 silent blocks=2 kind=aiv_mix
KERNEL(partial_sums_after_cross_flag) {
    BUFFERS;
    Duplicate(b.a, 1.0f, 64);
    StoreResult(g.ws[GetBlockIdx() * 64], b.a, 64);
    CrossCoreSetFlag<0, PIPE_MTE3>(3);
    CrossCoreWaitFlag(3);
    if (GetBlockIdx() != 1) return;
    DataCopy(b.b, g.ws, 128);
    StoreCopy(g.z, b.b, 128);
}

// case cross_flag_on_wrong_pipe: ErrorSync2 found blocks=2 kind=aiv_mix
KERNEL(cross_flag_on_wrong_pipe) {
    BUFFERS;
    Duplicate(b.a, 1.0f, 64);
    StoreResult(g.ws[GetBlockIdx() * 64], b.a, 64);
    CrossCoreSetFlag<0, PIPE_V>(3);
    CrossCoreWaitFlag(3);
    if (GetBlockIdx() != 1) return;
    DataCopy(b.b, g.ws, 64);  // <- ErrorSync2
    StoreCopy(g.z, b.b, 64);
}

// case cross_flag_never_waited: ErrorSync3 found blocks=2 kind=aiv_mix
KERNEL(cross_flag_never_waited) {
    BUFFERS;
    Duplicate(b.a, 1.0f, 64);
    StoreResult(g.z[GetBlockIdx() * 64], b.a, 64);
    CrossCoreSetFlag<0, PIPE_MTE3>(3);  // <- ErrorSync3
}

// case one_core_skips_syncall: Deadlock found blocks=2
KERNEL(one_core_skips_syncall) {
    BUFFERS;
    Duplicate(b.a, 1.0f, 64);
    StoreResult(g.z[GetBlockIdx() * 64], b.a, 64);
    if (GetBlockIdx() == 0) return;
    SyncAll();  // <- Deadlock
}

// case cross_flag_nobody_sets: Deadlock found blocks=2 kind=aiv_mix
KERNEL(cross_flag_nobody_sets) {
    BUFFERS;
    Duplicate(b.a, 1.0f, 64);
    StoreResult(g.z[GetBlockIdx() * 64], b.a, 64);
    CrossCoreWaitFlag(3);  // <- Deadlock
}

// case syncall_in_loop: Deadlock silent blocks=3
KERNEL(syncall_in_loop) {
    BUFFERS;
    for (int i = 0; i < 3; ++i) {
        Duplicate(b.a, static_cast<float>(i), 64);
        Sync<HardEvent::V_MTE3>();
        uint32_t slot = (GetBlockIdx() + i) % 3;
        DataCopy(g.z[slot * 64], b.a, 64);
        SyncAll();
    }
}

// case cross_flags_in_turn: Deadlock silent blocks=2 kind=aiv_mix
KERNEL(cross_flags_in_turn) {
    BUFFERS;
    for (int i = 0; i < 20; ++i) {
        Duplicate(b.a, static_cast<float>(i), 64);
        StoreResult(g.z[GetBlockIdx() * 64], b.a, 64);
        CrossCoreSetFlag<0, PIPE_MTE3>(3);
        CrossCoreWaitFlag(3);
    }
}

// case set_value_then_copy: DataCache found
KERNEL(set_value_then_copy) {
    BUFFERS;
    for (int i = 0; i < 8; ++i) g.ws.SetValue(i, 1.0f);
    Sync<HardEvent::S_MTE2>();
    DataCopy(b.a, g.ws, 8);  // <- DataCache
    StoreCopy(g.z, b.a, 8);
}

// case get_value_before_and_after: DataCache found
KERNEL(get_value_before_and_after) {
    BUFFERS;
    float before = g.x.GetValue(0);
    Duplicate(b.a, before, 64);
    StoreResult(g.x, b.a, 64);
    Sync<HardEvent::MTE3_S>();
    float after = g.x.GetValue(0);  // <- DataCache
    Duplicate(b.b, after, 64);
    StoreResult(g.z, b.b, 64);
}

// case cores_share_cache_line: DataCache found blocks=2
KERNEL(cores_share_cache_line) {
    TENSORS;
    g.z.SetValue(GetBlockIdx(), 1.0f);  // <- DataCache
}

// case set_value_cleaned: DataCache silent
KERNEL(set_value_cleaned) {
    BUFFERS;
    for (int i = 0; i < 8; ++i) g.ws.SetValue(i, 1.0f);
    DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(g.ws);
    Sync<HardEvent::S_MTE2>();
    DataCopy(b.a, g.ws, 8);
    StoreCopy(g.z, b.a, 8);
}

// case cache_cleaned_between_reads: DataCache silent
KERNEL(cache_cleaned_between_reads) {
    BUFFERS;
    float before = g.x.GetValue(0);
    Duplicate(b.a, before, 64);
    StoreResult(g.x, b.a, 64);
    Sync<HardEvent::MTE3_S>();
    DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g.x);
    float after = g.x.GetValue(0);
    Duplicate(b.b, after, 64);
    StoreResult(g.z, b.b, 64);
}

// case own_cache_line_per_core: DataCache silent blocks=2
KERNEL(own_cache_line_per_core) {
    TENSORS;
    g.z.SetValue(GetBlockIdx() * 16, 1.0f);
}

// case masked_rows_before_destination: ErrorOverlap silent
KERNEL(masked_rows_before_destination) {
    BUFFERS;
    Load(b.a, g.x);
    // The lanes that the mask leaves of the last repeat end where the destination begins.
    Adds(b.a[112], b.a[16], 1.0f, static_cast<uint64_t>(32), 2, {1, 1, 8, 8});
    StoreResult(g.z, b.a);
}

// case masked_rows_reach_destination: ErrorOverlap found
KERNEL(masked_rows_reach_destination) {
    BUFFERS;
    Load(b.a, g.x);
    Adds(b.a[104], b.a[16], 1.0f, static_cast<uint64_t>(32), 2, {1, 1, 8, 8});  // <- ErrorOverlap
    StoreResult(g.z, b.a);
}

// case shifted_in_place: ErrorOverlap found
KERNEL(shifted_in_place) {
    BUFFERS;
    Load(b.a, g.x);
    Adds(b.a[8], b.a, 1.0f, kTile - 8);  // <- ErrorOverlap
    StoreResult(g.z, b.a);
}

// case running_sum_by_shift: ErrorOverlap found
KERNEL(running_sum_by_shift) {
    BUFFERS;
    Load(b.a, g.x);
    Add(b.a[64], b.a, b.a[64], kTile - 64);  // <- ErrorOverlap
    StoreResult(g.z, b.a);
}

// case fold_in_half: ErrorOverlap silent
KERNEL(fold_in_half) {
    BUFFERS;
    Load(b.a, g.x);
    for (uint32_t n = kTile / 2; n >= 8; n /= 2) {
        Add(b.a, b.a, b.a[n], n);
    }
    StoreResult(g.z, b.a);
}

// case accumulate_repeats: ErrorOverlap silent
KERNEL(accumulate_repeats) {
    BUFFERS;
    Load(b.a, g.x);
    BinaryRepeatParams params(1, 1, 1, 0, 8, 0);
    Duplicate(b.b, 0.0f, 64);
    Add(b.b, b.a, b.b, 64, 4, params);
    StoreResult(g.z, b.b, 64);
}

// case last_core_starts_earlier: GmOverlap warning blocks=2
KERNEL(last_core_starts_earlier) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z[GetBlockIdx() * (kTile - 16)], b.a, kTile);  // <- GmOverlap
}

// case handed_over_by_ibset: ErrorSync2 silent blocks=2
KERNEL(handed_over_by_ibset) {
    BUFFERS;
    GlobalTensor<int32_t> flags;
    flags.SetGlobalBuffer((__gm__ int32_t*)x + 512, 128);
    TBuf<TPosition::VECCALC> buf;
    b.pipe.InitBuffer(buf, 64);
    auto scratch = buf.Get<int32_t>();
    if (GetBlockIdx() == 0) {
        Duplicate(b.a, 1.0f, kTile);
        StoreResult(g.ws, b.a);
        IBSet(flags, scratch, 0, 0);
    } else {
        IBWait(flags, scratch, 0, 0);
        DataCopy(b.b, g.ws, kTile);
        StoreCopy(g.z, b.b);
    }
}

// case tail_split_writes_full_tiles: GmOverlap found blocks=4
KERNEL(tail_split_writes_full_tiles) {
    QUEUES(1);
    uint32_t from = GetBlockIdx() * 250;
    auto a = q.in.AllocTensor<float>();
    DataCopyPad(a, g.x[from], {1, 1000, 0, 0, 0}, {false, 0, 0, 0});
    q.in.EnQue(a);
    a = q.in.DeQue<float>();
    auto o = q.out.AllocTensor<float>();
    Muls(o, a, 2.0f, kTile);
    q.in.FreeTensor(a);
    q.out.EnQue(o);
    o = q.out.DeQue<float>();
    DataCopy(g.z[from], o, kTile);  // <- GmOverlap
    q.out.FreeTensor(o);
}

// case clear_while_others_accumulate: GmOverlap found blocks=2
KERNEL(clear_while_others_accumulate) {
    BUFFERS;
    Duplicate(b.b, 0.0f, kTile);
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    if (GetBlockIdx() == 0) DataCopy(g.z, b.b, kTile);
    PipeBarrier<PIPE_MTE3>();
    SetAtomicAdd<float>();
    DataCopy(g.z, b.a, kTile);  // <- GmOverlap
    SetAtomicNone();
}

// case accumulate_without_clearing: ErrorRead2 found blocks=4
KERNEL(accumulate_without_clearing) {
    BUFFERS;
    DataCopy(b.a, g.x[GetBlockIdx() * kTile], kTile);
    Sync<HardEvent::MTE2_MTE3>();
    SetAtomicAdd<float>();
    DataCopy(g.z, b.a, kTile);  // <- ErrorRead2
    SetAtomicNone();
}

// case first_core_gathers_too_early: ErrorSync1 found blocks=4
// The first core reads before the others write.
KERNEL(first_core_gathers_too_early) {
    BUFFERS;
    Duplicate(b.a, 1.0f, 64);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.x[GetBlockIdx() * 64], b.a, 64);  // <- ErrorSync1
    if (GetBlockIdx() != 0) return;
    PipeBarrier<PIPE_ALL>();
    DataCopy(b.b, g.x, kTile);
    StoreCopy(g.z, b.b);
}

// case soft_syncall_skipped: Deadlock found blocks=4
KERNEL(soft_syncall_skipped) {
    Buffers b;
    GlobalTensor<int32_t> flags;
    flags.SetGlobalBuffer((__gm__ int32_t*)x, 128);
    TBuf<TPosition::VECCALC> buf;
    b.pipe.InitBuffer(buf, 4 * 32);
    if (GetBlockIdx() == 3) return;
    SyncAll(flags, buf.Get<int32_t>());  // <- Deadlock
}

// ---- workspaces of synchronisation through global memory --------------------------------------------

// case soft_syncall_in_memory_nobody_cleared: ErrorRead2 found blocks=2
KERNEL(soft_syncall_in_memory_nobody_cleared) {
    Buffers b;
    GlobalTensor<int32_t> flags;
    flags.SetGlobalBuffer((__gm__ int32_t*)ws, 16);
    SyncAll(flags, b.a.ReinterpretCast<int32_t>());  // <- ErrorRead2
}

// case ibset_in_memory_nobody_cleared: ErrorRead2 found blocks=2
KERNEL(ibset_in_memory_nobody_cleared) {
    Buffers b;
    GlobalTensor<int32_t> flags;
    flags.SetGlobalBuffer((__gm__ int32_t*)ws, 128);
    auto scratch = b.a.ReinterpretCast<int32_t>();
    if (GetBlockIdx() == 0) IBSet(flags, scratch, 0, 1);  // <- ErrorRead2
    if (GetBlockIdx() == 1) IBWait(flags, scratch, 0, 1);
}

// case soft_syncall_in_cleared_memory: ErrorRead2 silent blocks=2
KERNEL(soft_syncall_in_cleared_memory) {
    Buffers b;
    GlobalTensor<int32_t> flags;
    flags.SetGlobalBuffer((__gm__ int32_t*)x, 16);
    SyncAll(flags, b.a.ReinterpretCast<int32_t>());
}

// case soft_syncall_needs_a_block_per_core: ErrorParam found blocks=4
KERNEL(soft_syncall_needs_a_block_per_core) {
    Buffers b;
    GlobalTensor<int32_t> flags;
    flags.SetGlobalBuffer((__gm__ int32_t*)x, 32);
    TBuf<TPosition::VECCALC> buf;
    b.pipe.InitBuffer(buf, 64);
    SyncAll(flags, buf.Get<int32_t>());  // <- ErrorParam
}

// case soft_syncall_past_workspace: ErrorParam found blocks=4
KERNEL(soft_syncall_past_workspace) {
    Buffers b;
    GlobalTensor<int32_t> flags;
    flags.SetGlobalBuffer((__gm__ int32_t*)x + kCount - 24);
    SyncAll(flags, b.a.ReinterpretCast<int32_t>());  // <- ErrorParam
}

// case soft_syncall_of_some_cores: ErrorParam silent blocks=4
KERNEL(soft_syncall_of_some_cores) {
    Buffers b;
    GlobalTensor<int32_t> flags;
    flags.SetGlobalBuffer((__gm__ int32_t*)x, 16);
    TBuf<TPosition::VECCALC> buf;
    b.pipe.InitBuffer(buf, 64);
    if (GetBlockIdx() < 2) SyncAll(flags, buf.Get<int32_t>(), 2);
}
