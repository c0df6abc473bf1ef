// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Ascend310P (arch 2002): what the documentation of an API does not list for it.
#include "skeleton.h"

// case pad_copy_on_310p: NotOnSoc found soc=ascend310p3
KERNEL(pad_copy_on_310p) {
    BUFFERS;
    DataCopyPad(b.a, g.x, {1, 400, 0, 0, 0}, {false, 0, 0, 0});  // <- NotOnSoc
    StoreCopy(g.z, b.a, 96);
}

// case float_to_int32_on_310p: NotOnSoc found soc=ascend310p3
KERNEL(float_to_int32_on_310p) {
    BUFFERS;
    Load(b.a, g.x);
    Cast(b.b.ReinterpretCast<int32_t>(), b.a, RoundMode::CAST_RINT, kTile);  // <- NotOnSoc
    StoreResult(g.z, b.b);
}

// case half_to_int16_by_floor_on_310p: NotOnSoc found soc=ascend310p3
KERNEL(half_to_int16_by_floor_on_310p) {
    BUFFERS;
    auto h = b.a.ReinterpretCast<half>();
    Load(b.a, g.x);
    Cast(b.b.ReinterpretCast<int16_t>(), h, RoundMode::CAST_FLOOR, kTile);  // <- NotOnSoc
    StoreResult(g.z, b.b, kTile / 2);
}

// case bfloat16_on_310p: NotOnSoc found soc=ascend310p3
KERNEL(bfloat16_on_310p) {
    BUFFERS;
    Load(b.a, g.x);
    Cast(b.b, b.a.ReinterpretCast<bfloat16_t>(), RoundMode::CAST_NONE, kTile);  // <- NotOnSoc
    StoreResult(g.z, b.b);
}

// case compare_of_int32_on_310p: NotOnSoc found soc=ascend310p3
KERNEL(compare_of_int32_on_310p) {
    BUFFERS;
    auto i = b.a.ReinterpretCast<int32_t>();
    Load(b.a, g.x);
    Compare(b.b.ReinterpretCast<uint8_t>(), i, i, CMPMODE::EQ, kTile);  // <- NotOnSoc
    StoreResult(g.z, b.b, 8);
}

// case shift_on_310p: NotOnSoc found soc=ascend310p3
KERNEL(shift_on_310p) {
    BUFFERS;
    auto i = b.a.ReinterpretCast<int32_t>();
    Load(b.a, g.x);
    ShiftLeft(i, i, 1, kTile);  // <- NotOnSoc
    StoreResult(g.z, b.a);
}

// case atomic_max_on_310p: NotOnSoc found soc=ascend310p3
KERNEL(atomic_max_on_310p) {
    BUFFERS;
    DataCopy(b.a, g.x, kTile);
    Sync<HardEvent::MTE2_MTE3>();
    SetAtomicMax<float>();  // <- NotOnSoc
    DataCopy(g.x, b.a, kTile);
    SetAtomicNone();
}

// case atomic_add_of_int32_on_310p: NotOnSoc found soc=ascend310p3
KERNEL(atomic_add_of_int32_on_310p) {
    Buffers b;
    GlobalTensor<int32_t> t;
    t.SetGlobalBuffer((__gm__ int32_t*)x, kCount);
    auto i = b.a.ReinterpretCast<int32_t>();
    DataCopy(i, t, kTile);
    Sync<HardEvent::MTE2_MTE3>();
    SetAtomicAdd<int32_t>();
    DataCopy(t, i, kTile);  // <- NotOnSoc
    SetAtomicNone();
}

// case hard_syncall_on_310p: NotOnSoc found soc=ascend310p3 blocks=2
KERNEL(hard_syncall_on_310p) {
    SyncAll();  // <- NotOnSoc
}

// case copy_compute_store_on_310p: NotOnSoc silent soc=ascend310p3 blocks=2
KERNEL(copy_compute_store_on_310p) {
    QUEUES(2);
    auto a = q.Load(g.x[GetBlockIdx() * kTile]);
    auto o = q.out.AllocTensor<float>();
    Exp(o, a, kTile);
    Cast(q.tmp.Get<half>(), o, RoundMode::CAST_NONE, kTile);
    Cast(o, q.tmp.Get<half>(), RoundMode::CAST_NONE, kTile);
    q.in.FreeTensor(a);
    q.Store(g.z[GetBlockIdx() * kTile], o);
}

// case soft_syncall_on_310p: NotOnSoc silent soc=ascend310p3 blocks=2
KERNEL(soft_syncall_on_310p) {
    Buffers b;
    GlobalTensor<int32_t> flags;
    flags.SetGlobalBuffer((__gm__ int32_t*)x, 128);
    TBuf<TPosition::VECCALC> buf;
    b.pipe.InitBuffer(buf, 64);
    SyncAll(flags, buf.Get<int32_t>());
}

// case half_compare_on_310p: NotOnSoc silent soc=ascend310p3
KERNEL(half_compare_on_310p) {
    BUFFERS;
    auto h = b.a.ReinterpretCast<half>();
    Load(b.a, g.x);
    Compare(b.b.ReinterpretCast<uint8_t>(), h, h, CMPMODE::LT, 2 * kTile);
    StoreResult(g.z, b.b, 16);
}

// case reduce_sum_work_too_small_on_310p: ErrorWrite2 found soc=ascend310p3
// The count form needs its work buffer here, other than on arch 2201.
KERNEL(reduce_sum_work_too_small_on_310p) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> in, work, out;
    pipe.InitBuffer(in, kBytes);
    pipe.InitBuffer(work, 32);
    pipe.InitBuffer(out, 32);
    auto a = in.Get<float>();
    Load(a, g.x, kCount);
    ReduceSum(out.Get<float>(), a, work.Get<float>(), kCount);  // <- ErrorWrite2
    StoreResult(g.z, out.Get<float>(), 8);
}

// case zero_mask_on_310p: ErrorParam found soc=ascend310p3
// case zero_mask: ErrorParam silent
KERNEL(zero_mask_on_310p) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    uint64_t mask[2] = {0, 0};
    Adds(b.a, b.a, 1.0f, mask, 1, {1, 1, 8, 8});  // <- ErrorParam
    StoreResult(g.z, b.a);
}
