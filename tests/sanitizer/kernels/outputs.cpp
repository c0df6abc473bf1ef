// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Outputs of which a part is never written: "output=whole" makes z one that must be. A report
// stands at the store before the gap, or at the kernel when there is none.
#include "skeleton.h"

namespace {

// Fills elements [at, at + n) of z, n at most kTile.
__aicore__ inline void Store(GlobalTensor<float>& z, Buffers& b, uint32_t at, uint32_t n,
                             Loc loc = Loc::Here()) {
    Sync<HardEvent::MTE3_V>();
    Duplicate(b.a, 1.0f, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopyExtParams params{1, n * static_cast<uint32_t>(sizeof(float)), 0, 0, 0};
    DataCopyPad(z[at], b.a, params, loc);
    Sync<HardEvent::MTE3_S>();
}

}  // namespace

// case nothing_done: UnwrittenOutput found output=whole
KERNEL(nothing_done) {}  // <- UnwrittenOutput

// case early_return_of_all: UnwrittenOutput found blocks=4 output=whole
KERNEL(early_return_of_all) {  // <- UnwrittenOutput
    if (GetBlockNum() > 1) return;
    BUFFERS;
    Store(g.z, b, 0, kTile);
}

// case tail_left_out: UnwrittenOutput found blocks=2 output=whole z=1000
KERNEL(tail_left_out) {
    BUFFERS;
    const uint32_t share = 1000 / GetBlockNum();
    for (uint32_t i = 0; i < share / kTile; ++i) {
        Store(g.z, b, GetBlockIdx() * share + i * kTile, kTile);  // <- UnwrittenOutput
    }
}

// case one_core_idle: UnwrittenOutput found blocks=4 output=whole
KERNEL(one_core_idle) {
    BUFFERS;
    if (GetBlockIdx() == 2) return;
    Store(g.z, b, GetBlockIdx() * kTile, kTile);  // <- UnwrittenOutput
}

// case last_core_idle: UnwrittenOutput found blocks=4 output=whole
KERNEL(last_core_idle) {
    BUFFERS;
    if (GetBlockIdx() == 3) return;
    Store(g.z, b, GetBlockIdx() * kTile, kTile);  // <- UnwrittenOutput
}

// case tile_in_turn_left_out: UnwrittenOutput found blocks=2 output=whole
KERNEL(tile_in_turn_left_out) {
    BUFFERS;
    for (uint32_t tile = GetBlockIdx(); tile < 15; tile += GetBlockNum()) {
        Store(g.z, b, tile * 64, 64);  // <- UnwrittenOutput
    }
}

// case one_element_short: UnwrittenOutput found output=whole z=101
KERNEL(one_element_short) {
    BUFFERS;
    Store(g.z, b, 0, 100);  // <- UnwrittenOutput
}

// case every_other_row: UnwrittenOutput found output=whole
KERNEL(every_other_row) {
    BUFFERS;
    for (uint32_t row = 0; row < 8; row += 2) Store(g.z, b, row * 128, 128);  // <- UnwrittenOutput
}

// case pointer_stores_half: UnwrittenOutput found output=whole
KERNEL(pointer_stores_half) {  // <- UnwrittenOutput
    auto* const out = reinterpret_cast<__gm__ float*>(z);
    for (uint32_t i = 0; i < kCount / 2; ++i) out[i] = 0.0f;
}

// case input_written_instead: UnwrittenOutput warning output=whole
KERNEL(input_written_instead) {  // <- UnwrittenOutput
    GlobalTensor<float> out;
    out.SetGlobalBuffer((__gm__ float*)y, kTile);
    Buffers b;
    Store(out, b, 0, kTile);
}

// case all_written: UnwrittenOutput silent blocks=4 output=whole
KERNEL(all_written) {
    BUFFERS;
    Store(g.z, b, GetBlockIdx() * kTile, kTile);
}

// case tail_written: UnwrittenOutput silent blocks=2 output=whole z=1000
KERNEL(tail_written) {
    BUFFERS;
    const uint32_t share = 1000 / GetBlockNum();
    for (uint32_t at = 0; at < share; at += kTile) {
        Store(g.z, b, GetBlockIdx() * share + at, share - at < kTile ? share - at : kTile);
    }
}

// case result_of_unwritten_size: UnwrittenOutput silent
KERNEL(result_of_unwritten_size) {
    BUFFERS;
    Store(g.z, b, 0, 10);
}

// case added_to_cleared_output: UnwrittenOutput silent blocks=2 output=cleared
KERNEL(added_to_cleared_output) {
    BUFFERS;
    SetAtomicAdd<float>();
    Store(g.z, b, 100, 64);
    SetAtomicNone();
}

// case elements_set_by_scalar: UnwrittenOutput silent output=whole z=16
KERNEL(elements_set_by_scalar) {
    TENSORS;
    for (uint32_t i = 0; i < 16; ++i) g.z.SetValue(i, 0.0f);
    DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE>(g.z);
}

// case pointer_stores_all: UnwrittenOutput silent output=whole
KERNEL(pointer_stores_all) {
    auto* const out = reinterpret_cast<__gm__ float*>(z);
    for (uint32_t i = 0; i < kCount; ++i) out[i] = static_cast<float>(i) * 1.1f;
}

// case overlapping_tiles: UnwrittenOutput silent output=whole z=300
KERNEL(overlapping_tiles) {
    BUFFERS;
    Store(g.z, b, 0, kTile);
    PipeBarrier<PIPE_ALL>();
    Store(g.z, b, 300 - kTile, kTile);
}

// case output_of_no_element: UnwrittenOutput silent output=whole z=0
KERNEL(output_of_no_element) {}
