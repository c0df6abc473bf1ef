// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Operands in the wrong buffer, parameters out of range, kernels that stop themselves.
#include "skeleton.h"

// case add_from_l1: TensorScope found
KERNEL(add_from_l1) {
    BUFFERS;
    TBuf<TPosition::A1> l1;
    b.pipe.InitBuffer(l1, kTileBytes);
    auto a = l1.Get<float>();
    Adds(b.b, a, 1.0f, kTile);  // <- TensorScope
}

// case fill_l0c: TensorScope found
KERNEL(fill_l0c) {
    BUFFERS;
    TBuf<TPosition::CO1> l0c;
    b.pipe.InitBuffer(l0c, kTileBytes);
    auto a = l0c.Get<float>();
    Duplicate(a, 1.0f, kTile);  // <- TensorScope
}

// case add_between_positions: TensorScope silent
KERNEL(add_between_positions) {
    QUEUES(1);
    auto a = q.Load(g.x);
    auto t = q.tmp.Get<float>();
    Adds(t, a, 1.0f, kTile);
    auto o = q.out.AllocTensor<float>();
    Add(o, t, a, kTile);
    q.in.FreeTensor(a);
    q.Store(g.z, o);
}

// case l1_only_declared: TensorScope silent
KERNEL(l1_only_declared) {
    BUFFERS;
    TBuf<TPosition::A1> l1;
    b.pipe.InitBuffer(l1, kTileBytes);
    Duplicate(b.a, 1.0f, kTile);
    StoreResult(g.z, b.a);
}

// case scalar_fills_ub: TensorScope silent
KERNEL(scalar_fills_ub) {
    QUEUES(1);
    auto a = q.in.AllocTensor<float>();
    for (uint32_t i = 0; i < 8; ++i) a.SetValue(i, static_cast<float>(i));
    auto o = q.out.AllocTensor<float>();
    Adds(o, a, a.GetValue(3), 8);
    q.in.FreeTensor(a);
    q.Store(g.z, o, 8);
}

// case length_not_in_blocks: ErrorParam found
KERNEL(length_not_in_blocks) {
    BUFFERS;
    DataCopy(b.a, g.x, 13);  // <- ErrorParam
    Sync<HardEvent::MTE2_MTE3>();
    DataCopyPad(g.z, b.a, {1, 8 * sizeof(float), 0, 0});
}

// case padding_too_wide: ErrorParam found
KERNEL(padding_too_wide) {
    BUFFERS;
    DataCopyPad(b.a, g.x, {1, 8 * sizeof(float), 0, 0}, {true, 0, 16, 0});  // <- ErrorParam
    Sync<HardEvent::MTE2_MTE3>();
    DataCopyPad(g.z, b.a, {1, 8 * sizeof(float), 0, 0});
}

// case length_in_bytes: ErrorParam silent
KERNEL(length_in_bytes) {
    BUFFERS;
    DataCopyPad(b.a, g.x, {1, 13 * sizeof(float), 0, 0}, {false, 0, 0, 0});
    Sync<HardEvent::MTE2_MTE3>();
    DataCopyPad(g.z, b.a, {1, 13 * sizeof(float), 0, 0});
}

// case padding_in_one_block: ErrorParam silent
KERNEL(padding_in_one_block) {
    BUFFERS;
    DataCopyPad(b.a, g.x, {4, 13 * sizeof(float), 0, 0}, {true, 0, 3, 0});
    StoreCopy(g.z, b.a, 64);
}

// case sync_of_too_many_blocks: CrossCore found blocks=64
KERNEL(sync_of_too_many_blocks) {
    SyncAll();  // <- CrossCore
}

// case flag_raised_too_often: Deadlock found blocks=2 kind=aiv_mix
KERNEL(flag_raised_too_often) {
    for (int i = 0; i < 20; ++i) {
        CrossCoreSetFlag<0, PIPE_MTE3>(3);  // <- Deadlock
    }
}

// case sync_of_all_cores: CrossCore silent blocks=40
KERNEL(sync_of_all_cores) { SyncAll(); }

// case flag_taken_in_turn: CrossCore silent blocks=2 kind=aiv_mix
KERNEL(flag_taken_in_turn) {
    for (int i = 0; i < 20; ++i) {
        CrossCoreSetFlag<0, PIPE_MTE3>(3);
        CrossCoreWaitFlag(3);
    }
}

// case assertion_fails: Trap found blocks=2
KERNEL(assertion_fails) {
    ASSERT(GetBlockNum() == 1);  // <- Trap
}

// case assertion_with_text_fails: Trap found
KERNEL(assertion_with_text_fails) {
    int tiles = static_cast<int>(GetBlockNum()) + 2;
    ASSERT(tiles == 2 && "one tile per block");  // <- Trap
}

// case assertion_holds: Trap silent blocks=2
KERNEL(assertion_holds) { ASSERT(GetBlockNum() == 2); }

// case early_return: Trap silent blocks=4
KERNEL(early_return) {
    if (GetBlockIdx() > 0) return;
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    StoreResult(g.z, b.a);
}

// case wide_padding_is_not_zero: ErrorParam found
KERNEL(wide_padding_is_not_zero) {
    Buffers b;
    GlobalTensor<int64_t> from, to;
    from.SetGlobalBuffer((__gm__ int64_t*)x, kCount / 2);
    to.SetGlobalBuffer((__gm__ int64_t*)z, kCount / 2);
    auto a = b.a.ReinterpretCast<int64_t>();
    const DataCopyPadExtParams<int64_t> pad{true, 0, 1, 7};
    DataCopyPad(a, from, {1, 24, 0, 0, 0}, pad);  // <- ErrorParam
    StoreCopy(to, a, 4);
}

// case slices_of_different_bursts: ErrorParam found
KERNEL(slices_of_different_bursts) {
    BUFFERS;
    SliceInfo from[] = {{0, 63, 0, 8, 64}};
    SliceInfo to[] = {{0, 31, 0, 4, 32}};
    DataCopy(b.a, g.x, to, from, 1);  // <- ErrorParam
    StoreCopy(g.z, b.a, 32);
}

// case slices_of_equal_bursts: ErrorParam silent
KERNEL(slices_of_equal_bursts) {
    BUFFERS;
    SliceInfo from[] = {{16, 31, 0, 2, 64}, {0, 3, 0, 1, 4}};
    SliceInfo to[] = {{0, 15, 0, 2, 16}, {0, 3, 0, 1, 4}};
    DataCopy(b.a, g.x, to, from, 2);
    StoreCopy(g.z, b.a, 64);
}

// case slice_past_buffer: ErrorWrite2 found
KERNEL(slice_past_buffer) {
    BUFFERS;
    SliceInfo from[] = {{0, 63, 0, 8, 64}, {0, 4, 0, 1, 8}};
    SliceInfo to[] = {{0, 63, 0, 8, 64}, {0, 4, 0, 1, 8}};
    DataCopy(b.a, g.x, to, from, 2);  // <- ErrorWrite2
    StoreCopy(g.z, b.a);
}

// case rows_given_by_pitch: ErrorWrite2 found
// The gap between rows was given where the padding of a row belongs.
KERNEL(rows_given_by_pitch) {
    BUFFERS;
    DataCopyExtParams rows{16, 20 * sizeof(float), 20 * sizeof(float), 1, 0};
    DataCopyPad(b.a, g.x, rows, {true, 0, 4, 0.0f});  // <- ErrorWrite2
    StoreCopy(g.z, b.a);
}

// case too_many_blocks: ErrorParam found
KERNEL(too_many_blocks) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 140 * 1024);
    auto a = buf.Get<float>();
    Duplicate(a, 1.0f, 4096);
    DataCopy(a[64], a, DataCopyParams(4096, 1, 0, 0));  // <- ErrorParam
    StoreResult(g.z, a);
}
