// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Reads and writes at the wrong place or the wrong time.
#include "skeleton.h"

// case read_freed_tensor: ErrorRead1 found
KERNEL(read_freed_tensor) {
    QUEUES(1);
    for (int i = 0; i < 4; ++i) {
        auto a = q.Load(g.x[i * kTile]);
        auto o = q.out.AllocTensor<float>();
        q.in.FreeTensor(a);
        Adds(o, a, 1.0f, kTile);  // <- ErrorRead1
        q.Store(g.z[i * kTile], o);
    }
}

// case read_of_last_freed_tensor: ErrorRead1 warning
// case read_of_last_freed_tensor_strictly: ErrorRead1 found freed=error
KERNEL(read_of_last_freed_tensor) {
    QUEUES(1);
    auto a = q.Load(g.x);
    auto o = q.out.AllocTensor<float>();
    q.in.FreeTensor(a);
    Adds(o, a, 1.0f, kTile);  // <- ErrorRead1
    q.Store(g.z, o);
}

// case read_freed_tensor_before_barrier: ErrorRead1 warning
KERNEL(read_freed_tensor_before_barrier) {
    QUEUES(1);
    for (int i = 0; i < 4; ++i) {
        auto o = q.out.AllocTensor<float>();
        auto a = q.Load(g.x[i * kTile]);
        q.in.FreeTensor(a);
        Adds(o, a, 1.0f, kTile);  // <- ErrorRead1
        q.Store(g.z[i * kTile], o);
        PipeBarrier<PIPE_ALL>();
    }
}

// case read_foreign_gm: ErrorRead1 found
KERNEL(read_foreign_gm) {
    BUFFERS;
    DataCopy(b.a, g.x[1 << 20], kTile);  // <- ErrorRead1
    StoreCopy(g.z, b.a);
}

// case read_before_free: ErrorRead1 silent
KERNEL(read_before_free) {
    QUEUES(1);
    auto a = q.Load(g.x);
    auto o = q.out.AllocTensor<float>();
    Adds(o, a, 1.0f, kTile);
    q.in.FreeTensor(a);
    q.Store(g.z, o);
}

// case read_last_tile: ErrorRead1 silent
KERNEL(read_last_tile) {
    BUFFERS;
    DataCopy(b.a, g.x[kCount - kTile], kTile);
    StoreCopy(g.z, b.a);
}

// A table of the kernel's own lies in global memory like its tensors.
const __gm__ float kTable[8] = {0, 1, 2, 3, 4, 5, 6, 7};

// case read_table_of_the_kernel: ErrorRead1 silent
KERNEL(read_table_of_the_kernel) {
    BUFFERS;
    GlobalTensor<float> table;
    table.SetGlobalBuffer((__gm__ float*)kTable, 8);
    DataCopy(b.a, table, 8);
    StoreCopy(g.z, b.a, 8);
}

// case scalar_read_of_unwritten: ErrorRead2 found
KERNEL(scalar_read_of_unwritten) {
    BUFFERS;
    float v = b.a.GetValue(3);  // <- ErrorRead2
    Duplicate(b.b, v, kTile);
    StoreResult(g.z, b.b);
}

// case output_from_unwritten: ErrorRead2 found
KERNEL(output_from_unwritten) {
    BUFFERS;
    Adds(b.b, b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z, b.b, kTile);  // <- ErrorRead2
}

// case output_from_short_copy: ErrorRead2 found
KERNEL(output_from_short_copy) {
    BUFFERS;
    Load(b.a, g.x, kTile / 2);
    Exp(b.b, b.a, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z, b.b, kTile);  // <- ErrorRead2
}

// case workspace_never_written: ErrorRead2 found
KERNEL(workspace_never_written) {
    BUFFERS;
    DataCopy(b.a, g.ws, kTile);
    Sync<HardEvent::MTE2_MTE3>();
    DataCopy(g.z, b.a, kTile);  // <- ErrorRead2
}

// case written_by_reference: ErrorRead2 silent
// Nobody sees what is done with the reference that tensor(i) gives.
KERNEL(written_by_reference) {
    TENSORS;
    for (int i = 0; i < 16; ++i) g.ws(i) = g.x(i) + 1.0f;
    DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(g.ws);
    Buffers b;
    DataCopy(b.a, g.ws, 16);
    StoreCopy(g.z, b.a, 16);
}

// case written_by_reference_in_part: ErrorRead2 found
KERNEL(written_by_reference_in_part) {
    TENSORS;
    for (int i = 0; i < 16; ++i) g.ws(i) = g.x(i) + 1.0f;
    DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(g.ws);
    Buffers b;
    DataCopy(b.a, g.ws, 32);
    Sync<HardEvent::MTE2_MTE3>();
    DataCopy(g.z, b.a, 32);  // <- ErrorRead2
}

// case garbage_tail_not_stored: ErrorRead2 silent
KERNEL(garbage_tail_not_stored) {
    BUFFERS;
    DataCopyPad(b.a, g.x, {1, 100 * sizeof(float), 0, 0}, {false, 0, 0, 0});
    Sync<HardEvent::MTE2_V>();
    Exp(b.b, b.a, 128);
    Muls(b.b, b.b, 2.0f, 128);
    Sync<HardEvent::V_MTE3>();
    DataCopyPad(g.z, b.b, {1, 100 * sizeof(float), 0, 0});
}

// case workspace_round_trip: ErrorRead2 silent
KERNEL(workspace_round_trip) {
    BUFFERS;
    DataCopy(b.a, g.x, kTile);
    StoreCopy(g.ws, b.a);
    Sync<HardEvent::MTE3_MTE2>();
    DataCopy(b.b, g.ws, kTile);
    StoreCopy(g.z, b.b);
}

// case filled_before_scalar_read: ErrorRead2 silent
KERNEL(filled_before_scalar_read) {
    BUFFERS;
    Duplicate(b.a, 2.0f, kTile);
    Sync<HardEvent::V_S>();
    float v = b.a.GetValue(3);
    Sync<HardEvent::S_V>();
    Duplicate(b.b, v, kTile);
    StoreResult(g.z, b.b);
}

// case source_past_tensor: ErrorRead3 found
KERNEL(source_past_tensor) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> small, large;
    pipe.InitBuffer(small, 64 * sizeof(float));
    pipe.InitBuffer(large, kTileBytes);
    auto s = small.Get<float>();
    auto d = large.Get<float>();
    Duplicate(s, 1.0f, 64);
    Adds(d, s, 1.0f, 72);  // <- ErrorRead3
    StoreResult(g.z, d, 64);
}

// case gm_read_past_end: ErrorRead3 found
KERNEL(gm_read_past_end) {
    BUFFERS;
    DataCopy(b.a, g.x[kCount - kTile + 64], kTile);  // <- ErrorRead3
    StoreCopy(g.z, b.a);
}

// case repeat_past_tensor: ErrorRead3 found
KERNEL(repeat_past_tensor) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    auto half_a = b.a[kTile / 2];
    UnaryRepeatParams stride(1, 1, 8, 8);
    Adds(b.b, half_a, 1.0f, 64, 3, stride);  // <- ErrorRead3
    StoreResult(g.z, b.b, 128);
}

// case repeat_inside_tensor: ErrorRead3 silent
KERNEL(repeat_inside_tensor) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    UnaryRepeatParams stride(1, 1, 8, 8);
    Adds(b.b, b.a[kTile / 2], 1.0f, 64, 2, stride);
    StoreResult(g.z, b.b, 128);
}

// case exact_tail: ErrorRead3 silent
KERNEL(exact_tail) {
    BUFFERS;
    DataCopyPad(b.a, g.x[kCount - 13], {1, 13 * sizeof(float), 0, 0}, {false, 0, 0, 0});
    Sync<HardEvent::MTE2_MTE3>();
    DataCopyPad(g.z[kCount - 13], b.a, {1, 13 * sizeof(float), 0, 0});
}

// case source_at_odd_element: ErrorRead4 found
KERNEL(source_at_odd_element) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Adds(b.b, b.a[1], 1.0f, 64);  // <- ErrorRead4
    StoreResult(g.z, b.b, 64);
}

// case store_from_odd_element: ErrorRead4 found
KERNEL(store_from_odd_element) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z, b.a[4], 64);  // <- ErrorRead4
}

// case source_at_block: ErrorRead4 silent
KERNEL(source_at_block) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Adds(b.b, b.a[8], 1.0f, 64);
    StoreResult(g.z, b.b, 64);
}

// case gm_at_odd_element: ErrorRead4 silent
KERNEL(gm_at_odd_element) {
    BUFFERS;
    DataCopyPad(b.a, g.x[3], {1, 29 * sizeof(float), 0, 0}, {false, 0, 0, 0});
    Sync<HardEvent::MTE2_MTE3>();
    DataCopyPad(g.z[5], b.a, {1, 29 * sizeof(float), 0, 0});
}

// case write_freed_tensor: ErrorWrite1 found
KERNEL(write_freed_tensor) {
    QUEUES(1);
    auto o = q.Fill(1.0f);
    q.Store(g.z, o);
    Duplicate(o, 2.0f, kTile);  // <- ErrorWrite1
}

// case write_freed_input: ErrorWrite1 found
KERNEL(write_freed_input) {
    QUEUES(1);
    for (int i = 0; i < 4; ++i) {
        auto a = q.Load(g.x[i * kTile]);
        auto o = q.out.AllocTensor<float>();
        Adds(o, a, 1.0f, kTile);
        q.in.FreeTensor(a);
        Duplicate(a, 0.0f, kTile);  // <- ErrorWrite1
        q.Store(g.z[i * kTile], o);
    }
}

// case write_foreign_gm: ErrorWrite1 found
KERNEL(write_foreign_gm) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z[1 << 20], b.a, kTile);  // <- ErrorWrite1
}

// case write_again_after_alloc: ErrorWrite1 silent
KERNEL(write_again_after_alloc) {
    QUEUES(1);
    for (int i = 0; i < 4; ++i) {
        auto o = q.Fill(1.0f);
        q.Store(g.z[i * kTile], o);
    }
}

// The queue has one buffer, so what was freed comes back as it was.
// case tile_kept_in_the_only_buffer: ErrorRead2 silent
KERNEL(tile_kept_in_the_only_buffer) {
    QUEUES(1);
    auto o = q.Fill(1.0f);
    q.Store(g.z, o);
    o = q.out.AllocTensor<float>();
    Adds(o, o, 1.0f, kTile);
    q.Store(g.z[kTile], o);
}

// case tile_lost_to_the_other_buffer: ErrorRead2 found
KERNEL(tile_lost_to_the_other_buffer) {
    QUEUES(2);
    for (int i = 0; i < 3; ++i) {
        auto o = q.out.AllocTensor<float>();
        if (i < 2) Duplicate(o, 1.0f, kTile);
        Adds(o, o, 1.0f, kTile);
        q.out.EnQue(o);
        o = q.out.DeQue<float>();
        DataCopy(g.z[i * kTile], o, kTile);  // <- ErrorRead2
        q.out.FreeTensor(o);
    }
}

// case unfilled_only_buffer: ErrorRead2 found
KERNEL(unfilled_only_buffer) {
    QUEUES(1);
    auto o = q.out.AllocTensor<float>();
    Adds(o, o, 1.0f, kTile);
    q.out.EnQue(o);
    o = q.out.DeQue<float>();
    DataCopy(g.z, o, kTile);  // <- ErrorRead2
    q.out.FreeTensor(o);
}

// case write_whole_output: ErrorWrite1 silent
KERNEL(write_whole_output) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, kBytes);
    auto t = buf.Get<float>();
    Duplicate(t, 1.0f, kCount);
    StoreResult(g.z, t, kCount);
}

// case destination_past_tensor: ErrorWrite2 found
KERNEL(destination_past_tensor) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> large, small;
    pipe.InitBuffer(large, kTileBytes);
    pipe.InitBuffer(small, 64 * sizeof(float));
    auto s = large.Get<float>();
    auto d = small.Get<float>();
    Duplicate(s, 1.0f, kTile);
    Adds(d, s, 1.0f, 128);  // <- ErrorWrite2
    StoreResult(g.z, d, 64);
}

// case gm_write_past_end: ErrorWrite2 found
KERNEL(gm_write_past_end) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z[kCount - 60], b.a, 64);  // <- ErrorWrite2
}

// case destination_fits: ErrorWrite2 silent
KERNEL(destination_fits) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> large, small;
    pipe.InitBuffer(large, kTileBytes);
    pipe.InitBuffer(small, 64 * sizeof(float));
    auto s = large.Get<float>();
    auto d = small.Get<float>();
    Duplicate(s, 1.0f, kTile);
    Adds(d, s, 1.0f, 64);
    StoreResult(g.z, d, 64);
}

// case gm_write_to_the_end: ErrorWrite2 silent
KERNEL(gm_write_to_the_end) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopyPad(g.z[kCount - 61], b.a, {1, 61 * sizeof(float), 0, 0});
}

// case copy_over_unread_copy: ErrorWrite3 warning
KERNEL(copy_over_unread_copy) {
    BUFFERS;
    DataCopy(b.a, g.x, kTile);
    PipeBarrier<PIPE_MTE2>();
    DataCopy(b.a, g.y, kTile);  // <- ErrorWrite3
    StoreCopy(g.z, b.a);
}

// case result_over_unread_result: ErrorWrite3 warning
KERNEL(result_over_unread_result) {
    BUFFERS;
    Load(b.a, g.x);
    Exp(b.b, b.a, kTile);
    Abs(b.b, b.a, kTile);  // <- ErrorWrite3
    StoreResult(g.z, b.b);
}

// The same API twice: its further results need not be wanted.
#define SOFTMAX_ONCE                                              \
    TENSORS;                                                      \
    TPipe pipe;                                                   \
    TBuf<TPosition::VECCALC> buf;                                 \
    pipe.InitBuffer(buf, 4 * kTileBytes);                         \
    auto from = buf.GetWithOffset<float>(kTile, 0);               \
    auto to = buf.GetWithOffset<float>(kTile, kTileBytes);        \
    auto other = buf.GetWithOffset<float>(kTile, 2 * kTileBytes); \
    auto sum = buf.GetWithOffset<float>(8, 3 * kTileBytes);       \
    auto max = buf.GetWithOffset<float>(8, 3 * kTileBytes + 32);  \
    DataCopy(from, g.x, kTile);                                   \
    Sync<HardEvent::MTE2_V>();                                    \
    const SoftMaxShapeInfo shape{1, kTile, 1, kTile};             \
    SoftMax<float>(to, sum, max, from, SoftMaxTiling{}, shape);   \
    PipeBarrier<PIPE_V>()

// case first_result_of_softmax_lost: ErrorWrite3 warning
KERNEL(first_result_of_softmax_lost) {
    SOFTMAX_ONCE;
    Muls(to, from, 2.0f, kTile);  // <- ErrorWrite3
    PipeBarrier<PIPE_V>();
    Mul(to, to, sum, 8);
    StoreResult(g.z, to);
}

// case further_result_of_softmax_overwritten: ErrorWrite3 silent
KERNEL(further_result_of_softmax_overwritten) {
    SOFTMAX_ONCE;
    Muls(sum, to, 2.0f, 8);
    StoreResult(g.z, to);
    DataCopy(g.z[kTile], sum, 8);
}

// case further_results_of_softmax_unread: ErrorWrite3 silent
KERNEL(further_results_of_softmax_unread) {
    SOFTMAX_ONCE;
    SoftMax<float>(other, sum, max, to, SoftMaxTiling{}, shape);
    StoreResult(g.z, other);
}

// case one_further_result_of_softmax_read: ErrorWrite3 silent
KERNEL(one_further_result_of_softmax_read) {
    SOFTMAX_ONCE;
    Adds(to, sum, 1.0f, 8);
    PipeBarrier<PIPE_V>();
    SoftMax<float>(other, sum, max, to, SoftMaxTiling{}, shape);
    StoreResult(g.z, other);
}

// case fill_then_copy_part: ErrorWrite3 silent
KERNEL(fill_then_copy_part) {
    BUFFERS;
    Duplicate(b.a, 0.0f, kTile);
    Sync<HardEvent::V_MTE2>();
    DataCopy(b.a, g.x, kTile / 2);
    StoreCopy(g.z, b.a);
}

// case in_place_chain: ErrorWrite3 silent
KERNEL(in_place_chain) {
    BUFFERS;
    Load(b.a, g.x);
    Exp(b.a, b.a, kTile);
    Adds(b.a, b.a, 1.0f, kTile);
    Reciprocal(b.a, b.a, kTile);
    StoreResult(g.z, b.a);
}

// case destination_at_odd_element: ErrorWrite4 found
KERNEL(destination_at_odd_element) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Adds(b.b[3], b.a, 1.0f, 64);  // <- ErrorWrite4
    StoreResult(g.z, b.a, 64);
}

// case copy_to_odd_element: ErrorWrite4 found
KERNEL(copy_to_odd_element) {
    BUFFERS;
    DataCopy(b.a[2], g.x, 64);  // <- ErrorWrite4
    Sync<HardEvent::MTE2_MTE3>();
    DataCopyPad(g.z[8], b.a[8], {1, 32, 0, 0});
}

// case destination_at_block: ErrorWrite4 silent
KERNEL(destination_at_block) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Adds(b.b[16], b.a, 1.0f, 64);
    StoreResult(g.z, b.b[16], 64);
}

// case reduce_to_odd_element: ErrorWrite4 silent
KERNEL(reduce_to_odd_element) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Duplicate(b.b, 0.0f, 64);
    WholeReduceSum(b.b[1], b.a, 64, 2, 1, 1, 8);
    StoreResult(g.z, b.b, 64);
}

// case sequence_at_odd_element: ErrorWrite4 found
KERNEL(sequence_at_odd_element) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    ArithProgression(b.a[3], 0.0f, 1.0f, 9);  // <- ErrorWrite4
    StoreResult(g.z, b.a, 64);
}

// The scalar unit writes what fits a data block.
// case short_sequence_at_odd_element: ErrorWrite4 silent
KERNEL(short_sequence_at_odd_element) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    ArithProgression(b.a[3], 0.0f, 1.0f, 8);
    StoreResult(g.z, b.a, 64);
}

// The size that GetSize tells of a tensor set without one.
// case buffer_of_unknown_size: ErrorRead3 silent
KERNEL(buffer_of_unknown_size) {
    BUFFERS;
    GlobalTensor<float> whole, same;
    whole.SetGlobalBuffer((__gm__ float*)x);
    same.SetGlobalBuffer(whole.GetPhyAddr(), whole.GetSize());
    DataCopy(b.a, same[kTile], kTile);
    StoreCopy(g.z, b.a);
}

// case tail_block_over_read: ErrorRead3 warning
KERNEL(tail_block_over_read) {
    BUFFERS;
    DataCopy(b.a, g.y[kCount - 16], 16);  // <- ErrorRead3
    Sync<HardEvent::MTE2_MTE3>();
    DataCopyPad(g.z[kCount - 13], b.a, {1, 13 * sizeof(float), 0, 0});
}

// Every allocation has 32 bytes behind its last whole block; y ends at kCount - 3.
// case read_of_allocation_padding: ErrorRead3 warning
KERNEL(read_of_allocation_padding) {
    BUFFERS;
    DataCopy(b.a, g.y[kCount - 16], 24);  // <- ErrorRead3
    Sync<HardEvent::MTE2_MTE3>();
    DataCopyPad(g.z[kCount - 13], b.a, {1, 13 * sizeof(float), 0, 0});
}

// case read_past_allocation_padding: ErrorRead3 found
KERNEL(read_past_allocation_padding) {
    BUFFERS;
    DataCopy(b.a, g.y[kCount - 16], 32);  // <- ErrorRead3
    Sync<HardEvent::MTE2_MTE3>();
    DataCopyPad(g.z[kCount - 13], b.a, {1, 13 * sizeof(float), 0, 0});
}

// What DataCopy cuts off does not end the launch: the second bug is found as well.
// case gm_tail_and_more: ErrorWrite2 found
KERNEL(gm_tail_and_more) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z[kCount - 60], b.a, 64);  // <- ErrorWrite2
    DataCopy(g.x[kCount - 20], b.a, 24);  // <- ErrorWrite2
}

// case buffer_larger_than_the_rest: InitBuffer found
KERNEL(buffer_larger_than_the_rest) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> most, rest;
    pipe.InitBuffer(most, GetUBSizeInBytes() - kTileBytes);
    pipe.InitBuffer(rest, 2 * kTileBytes);  // <- InitBuffer
    auto a = rest.Get<float>();
    Duplicate(a, 1.0f, kTile);
    StoreResult(g.z, a);
}

// case rest_of_used_result_overwritten: ErrorWrite3 silent
// Half of the sum is overwritten and used; that the padding behind it is not, is no bug.
KERNEL(rest_of_used_result_overwritten) {
    BUFFERS;
    Load(b.a, g.x);
    Add(b.b, b.a, b.a, kTile);
    Adds(b.a, b.b, 1.0f, 64);
    Abs(b.b, b.a, 64);
    Exp(b.b[64], b.a[64], kTile - 64);
    StoreResult(g.z, b.b);
}

// case scratch_reused: ErrorWrite3 silent
KERNEL(scratch_reused) {
    BUFFERS;
    TBuf<TPosition::VECCALC> buf;
    b.pipe.InitBuffer(buf, kTileBytes);
    auto work = buf.Get<float>();
    Load(b.a, g.x);
    ReduceMax<float>(b.b, b.a, work, kTile);
    ReduceSum<float>(b.b[8], b.a, work, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopyPad(g.z, b.b, {1, sizeof(float), 0, 0});
    DataCopyPad(g.z[8], b.b[8], {1, sizeof(float), 0, 0});
}

// The indices of padding go to the end with it, and nobody looks at them there.
// case unwritten_index_of_padding: ErrorRead2 silent
KERNEL(unwritten_index_of_padding) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> bufs[3];
    for (auto& buf : bufs) pipe.InitBuffer(buf, kTileBytes);
    auto values = bufs[0].Get<float>(), sorted = bufs[1].Get<float>(), index = bufs[2].Get<float>();
    DataCopy(values, g.x, 32);
    Load(index, g.y, 24);
    uint64_t padding[2] = {0xff000000, 0};
    Duplicate(values, -1.0e30f, padding, 1, 1, 8);
    PipeBarrier<PIPE_V>();
    Sort32(sorted, values, index.ReinterpretCast<uint32_t>(), 1);
    StoreResult(g.z, sorted, 48);
}

// An offset that quantisation adds decides about no data.
// case unwritten_tail_of_a_quantisation_offset: ErrorRead2 silent
KERNEL(unwritten_tail_of_a_quantisation_offset) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> bufs[5];
    for (auto& buf : bufs) pipe.InitBuffer(buf, kTileBytes);
    auto src = bufs[0].Get<int8_t>(128);
    auto dst = bufs[1].Get<half>(), scale = bufs[2].Get<half>(), offset = bufs[3].Get<half>();
    DataCopy(src.ReinterpretCast<float>(), g.x, 32);
    DataCopy(scale.ReinterpretCast<float>(), g.y, 32);
    DataCopy(offset.ReinterpretCast<float>(), g.y, 16);
    Sync<HardEvent::MTE2_V>();
    AscendAntiQuant<int8_t, half, false>(dst, src, offset, scale, bufs[4].Get<uint8_t>(), 2,
                                         AntiQuantShapeInfo{1, 64, 1, 64});
    StoreResult(g.z, dst.ReinterpretCast<float>(), 16);
}

// case output_from_cleared_garbage: ErrorRead2 silent
KERNEL(output_from_cleared_garbage) {
    BUFFERS;
    auto garbage = b.a.ReinterpretCast<int16_t>(), mask = b.b.ReinterpretCast<int16_t>();
    DataCopy(b.a, g.x, 64);
    Duplicate(mask, int16_t(0), 2 * kTile);
    Duplicate(mask, int16_t(-1), 128);
    Sync<HardEvent::MTE2_V>();
    And(garbage, garbage, mask, 2 * kTile);
    Or(garbage, garbage, mask, 2 * kTile);
    StoreResult(g.z, b.a);
}

// case output_from_masked_garbage: ErrorRead2 found
KERNEL(output_from_masked_garbage) {
    BUFFERS;
    auto garbage = b.a.ReinterpretCast<int16_t>(), mask = b.b.ReinterpretCast<int16_t>();
    DataCopy(b.a, g.x, 64);
    Duplicate(mask, int16_t(1), 2 * kTile);
    Sync<HardEvent::MTE2_V>();
    And(garbage, garbage, mask, 2 * kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z, b.a, kTile);  // <- ErrorRead2
}

// 60 of 64 elements are there; bits of a mask clear the others.
// case compare_of_a_tail_masked_out: ErrorRead2 silent
KERNEL(compare_of_a_tail_masked_out) {
    BUFFERS;
    DataCopyPad(b.a, g.x, {1, 240, 0, 0, 0}, {false, 0, 0, 0.0f});
    LocalTensor<uint8_t> less = b.b.ReinterpretCast<uint8_t>();
    LocalTensor<uint8_t> inside = less[64];
    Sync<HardEvent::MTE2_V>();
    CompareScalar(less, b.a, 0.5f, CMPMODE::LT, 64);
    Duplicate(inside.ReinterpretCast<uint16_t>(), static_cast<uint16_t>(0xffff), 16);
    inside.SetValue(7, 0x0f);
    And(inside.ReinterpretCast<uint16_t>(), inside.ReinterpretCast<uint16_t>(),
        less.ReinterpretCast<uint16_t>(), 4);
    float bits = inside.ReinterpretCast<uint16_t>().GetValue(3);
    Duplicate(b.a, bits, kTile);
    StoreResult(g.z, b.a);
}

// case compare_of_a_tail_masked_too_late: ErrorRead2 found
KERNEL(compare_of_a_tail_masked_too_late) {
    BUFFERS;
    DataCopyPad(b.a, g.x, {1, 208, 0, 0, 0}, {false, 0, 0, 0.0f});  // 52
    LocalTensor<uint8_t> less = b.b.ReinterpretCast<uint8_t>();
    LocalTensor<uint8_t> inside = less[64];
    Sync<HardEvent::MTE2_V>();
    CompareScalar(less, b.a, 0.5f, CMPMODE::LT, 64);
    Duplicate(inside.ReinterpretCast<uint16_t>(), static_cast<uint16_t>(0xffff), 16);
    inside.SetValue(7, 0x1f);
    And(inside.ReinterpretCast<uint16_t>(), inside.ReinterpretCast<uint16_t>(),
        less.ReinterpretCast<uint16_t>(), 4);
    float bits = inside.ReinterpretCast<uint16_t>().GetValue(3);  // <- ErrorRead2
    Duplicate(b.a, bits, kTile);
    StoreResult(g.z, b.a);
}

// case compare_of_two_tails_masked_out: ErrorRead2 silent
KERNEL(compare_of_two_tails_masked_out) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> bits, first, second;
    pipe.InitBuffer(bits, 3 * 256);
    pipe.InitBuffer(first, 8192);
    pipe.InitBuffer(second, 8192);
    auto a = first.Get<float>();
    auto b = second.Get<float>();
    auto inside = bits.Get<uint8_t>(256);
    auto less = bits.GetWithOffset<uint8_t>(256, 256);
    Adds(a, a, 0.0f, 0);
    Duplicate(a, 1.0f, 5);
    DataCopyPad(b, g.x, {1, 20, 0, 0, 0}, {false, 0, 0, 0.0f});
    Sync<HardEvent::MTE2_V>();
    Duplicate(inside.ReinterpretCast<uint16_t>(), static_cast<uint16_t>(0), 128);
    inside.SetValue(0, 0x1f);
    Compare(less, a, b, CMPMODE::LT, 2048);
    auto mask = less.ReinterpretCast<uint16_t>();
    And(mask, inside.ReinterpretCast<uint16_t>(), mask, 128);
    Sync<HardEvent::V_S>();
    uint64_t set = 0;
    for (uint32_t i = 0; i < 128; ++i) set |= mask.GetValue(i);
    Duplicate(a, static_cast<float>(set & 1), 8);
    StoreResult(g.z, a, 8);
    for (uint32_t i = 1; i < 128; ++i) DataCopy(g.z[8 * i], a, 8);
}
