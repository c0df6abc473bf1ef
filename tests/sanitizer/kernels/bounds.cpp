// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The last block of an output, and tensors that are only a part of their memory.
#include "skeleton.h"

// Aligned copies round the tail up: what lies behind belongs to nobody if z is an allocation.
// case tail_rounded_up: ErrorWrite2 warning z=1021
// case tail_rounded_up_strictly: ErrorWrite2 found z=1021 tail=error
// case tail_of_slice_rounded_up: ErrorWrite2 found z=1021 place=slice
// case tail_rounded_up_into_neighbour: ErrorWrite2 found z=1021 place=near
KERNEL(tail_rounded_up) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z[kCount - 16], b.a, 16);  // <- ErrorWrite2
}

// case two_elements_in_one_block: ErrorWrite2 warning z=2
KERNEL(two_elements_in_one_block) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z, b.a, 8);  // <- ErrorWrite2
}

// case block_behind_the_tail: ErrorWrite2 found z=1021
KERNEL(block_behind_the_tail) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z[kCount - 16], b.a, 24);  // <- ErrorWrite2
}

// case tail_cut_to_size: ErrorWrite2 silent z=1021
// case tail_of_slice_cut_to_size: ErrorWrite2 silent z=1021 place=near
KERNEL(tail_cut_to_size) {
    BUFFERS;
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopyPad(g.z[kCount - 16], b.a, {1, 13 * sizeof(float), 0, 0});
}

// ---- tensors shorter than their buffer ------------------------------------------------------------

// case result_past_part_of_buffer: ErrorWrite2 warning
KERNEL(result_past_part_of_buffer) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 2 * kTileBytes);
    auto low = buf.Get<float>(kTile);
    auto high = buf.GetWithOffset<float>(kTile, kTileBytes);
    Duplicate(high, 2.0f, kTile);
    Duplicate(low, 1.0f, kTile + 64);  // <- ErrorWrite2
    StoreResult(g.z, low, 2 * kTile - 256);
    DataCopy(g.z[kTile], high, kTile);
}

// case source_past_part_of_buffer: ErrorRead3 warning
KERNEL(source_past_part_of_buffer) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 2 * kTileBytes);
    auto all = buf.Get<float>();
    auto half = buf.Get<float>(kTile);
    Duplicate(all, 1.0f, 2 * kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z, half[64], kTile);  // <- ErrorRead3
}

// An operator works on as many elements as its result has, and is found at the kernel's line.
// case operator_past_its_source: ErrorRead3 warning
KERNEL(operator_past_its_source) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 3 * kTileBytes);
    auto all = buf.Get<float>();
    auto low = buf.Get<float>(kTile), wide = buf.GetWithOffset<float>(2 * kTile, kTileBytes);
    Duplicate(all, 1.0f, 3 * kTile);
    PipeBarrier<PIPE_V>();
    // clang-format off
    wide = wide +
           low;  // <- ErrorRead3
    // clang-format on
    StoreResult(g.z, wide, 2 * kTile);
}

// case operator_on_longer_sources: ErrorWrite2 silent
KERNEL(operator_on_longer_sources) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 3 * kTileBytes);
    auto low = buf.Get<float>(kTile), wide = buf.GetWithOffset<float>(2 * kTile, kTileBytes);
    Duplicate(low, 1.0f, kTile);
    Duplicate(wide, 2.0f, 2 * kTile);
    PipeBarrier<PIPE_V>();
    low = wide - low;
    StoreResult(g.z, low);
}

// case parts_of_buffer: ErrorWrite2 silent
KERNEL(parts_of_buffer) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 2 * kTileBytes);
    auto low = buf.Get<float>(kTile);
    auto high = buf.GetWithOffset<float>(kTile, kTileBytes);
    Duplicate(low, 1.0f, kTile);
    Adds(high, low, 1.0f, kTile);
    StoreResult(g.z, high[64], kTile - 64);
}

// case part_made_longer: ErrorRead3 silent
KERNEL(part_made_longer) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 2 * kTileBytes);
    auto part = buf.Get<float>(kTile);
    part.SetSize(2 * kTile);
    Duplicate(part, 1.0f, 2 * kTile);
    StoreResult(g.z, part, 2 * kTile);
}

// ---- global tensors shorter than their memory -----------------------------------------------------

// case read_past_global_tensor: ErrorRead3 warning
KERNEL(read_past_global_tensor) {
    BUFFERS;
    GlobalTensor<float> part;
    part.SetGlobalBuffer((__gm__ float*)x, 64);
    DataCopy(b.a, part[32], kTile);  // <- ErrorRead3
    StoreCopy(g.z, b.a);
}

// case write_past_global_tensor: ErrorWrite2 warning blocks=2
KERNEL(write_past_global_tensor) {
    BUFFERS;
    GlobalTensor<float> mine;
    mine.SetGlobalBuffer((__gm__ float*)z + GetBlockIdx() * 512, 64);
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(mine, b.a, 128);  // <- ErrorWrite2
}

// case last_block_of_global_tensor: ErrorRead3 silent
KERNEL(last_block_of_global_tensor) {
    BUFFERS;
    GlobalTensor<float> part;
    part.SetGlobalBuffer((__gm__ float*)x, 61);
    DataCopy(b.a, part, 64);
    Sync<HardEvent::MTE2_MTE3>();
    DataCopyPad(g.z, b.a, {1, 61 * sizeof(float), 0, 0});
}

// case global_tensor_without_size: ErrorWrite2 silent blocks=2
KERNEL(global_tensor_without_size) {
    BUFFERS;
    GlobalTensor<float> mine;
    mine.SetGlobalBuffer((__gm__ float*)z + GetBlockIdx() * 512);
    Duplicate(b.a, 1.0f, kTile);
    StoreResult(mine[128], b.a, 128);
}

// The same line first leaves its GlobalTensor (a warning), then the allocation.
// case warning_becomes_error: ErrorRead3 found
KERNEL(warning_becomes_error) {
    BUFFERS;
    GlobalTensor<float> part;
    part.SetGlobalBuffer((__gm__ float*)x, 64);
    for (uint32_t i = 0; i < 3; ++i) {
        DataCopy(b.a, part[i * 416], kTile);  // <- ErrorRead3
        Sync<HardEvent::MTE2_MTE3>();
        DataCopyPad(g.z[i * 250], b.a, {1, 16 * sizeof(float), 0, 0});
        Sync<HardEvent::MTE3_MTE2>();
    }
}

// case last_block_of_part_filled: ErrorWrite2 silent
KERNEL(last_block_of_part_filled) {
    TENSORS;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 2 * kTileBytes);
    auto part = buf.Get<float>(13);
    DataCopyPad(part, g.x, {1, 13 * sizeof(float), 0, 0, 0}, {false, 0, 0, 0});
    Sync<HardEvent::MTE2_MTE3>();
    DataCopyPad(g.z, part, {1, 13 * sizeof(float), 0, 0, 0});
}
