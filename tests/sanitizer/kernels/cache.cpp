// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The scalar unit's data cache: lines of 64 bytes, written back whole, coherent with nothing.
#include "skeleton.h"

namespace {

__aicore__ inline void Clean(const GlobalTensor<float>& line) {
    DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(line);
}

}  // namespace

// case copy_into_dirty_line: DataCache found
KERNEL(copy_into_dirty_line) {
    BUFFERS;
    Duplicate(b.a, 1.0f, 8);
    g.z.SetValue(0, 5.0f);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.z[8], b.a, 8);  // <- DataCache
    PipeBarrier<PIPE_ALL>();
    Clean(g.z);
}

// case other_core_copies_into_dirty_line: DataCache found blocks=2
KERNEL(other_core_copies_into_dirty_line) {
    BUFFERS;
    Duplicate(b.a, 1.0f, 8);
    Sync<HardEvent::V_MTE3>();
    if (GetBlockIdx() == 0) g.z.SetValue(0, 5.0f);
    SyncAll();
    if (GetBlockIdx() == 1) DataCopy(g.z[8], b.a, 8);  // <- DataCache
}

// case copy_after_clean: DataCache silent
KERNEL(copy_after_clean) {
    BUFFERS;
    Duplicate(b.a, 1.0f, 8);
    g.z.SetValue(0, 5.0f);
    Clean(g.z);
    StoreResult(g.z[8], b.a, 8);
}

// case copy_into_next_line: DataCache silent
KERNEL(copy_into_next_line) {
    BUFFERS;
    Duplicate(b.a, 1.0f, 16);
    g.z.SetValue(0, 5.0f);
    StoreResult(g.z[16], b.a, 16);
}

// case scalar_write_into_line_loaded_before_copy: DataCache found
KERNEL(scalar_write_into_line_loaded_before_copy) {
    BUFFERS;
    float old = g.x.GetValue(0);
    Duplicate(b.a, old, 8);
    StoreResult(g.x[8], b.a, 8);
    Sync<HardEvent::MTE3_S>();
    g.x.SetValue(0, 5.0f);  // <- DataCache
    Clean(g.x);
}

// case scalar_write_into_line_loaded_after_copy: DataCache silent
KERNEL(scalar_write_into_line_loaded_after_copy) {
    BUFFERS;
    Duplicate(b.a, 1.0f, 8);
    StoreResult(g.x[8], b.a, 8);
    Sync<HardEvent::MTE3_S>();
    g.x.SetValue(0, 5.0f);
    Clean(g.x);
}

// case cores_share_line_one_after_other: DataCache found blocks=2
KERNEL(cores_share_line_one_after_other) {
    TENSORS;
    if (GetBlockIdx() == 0) g.z.SetValue(0, 1.0f);
    SyncAll();
    if (GetBlockIdx() == 1) g.z.SetValue(1, 1.0f);  // <- DataCache
}

// case cores_share_line_at_once: DataCache found blocks=2
KERNEL(cores_share_line_at_once) {
    TENSORS;
    g.z.SetValue(GetBlockIdx() * 9, 1.0f);  // <- DataCache
    Clean(g.z);
}

// case cores_share_line_cleaned_in_between: DataCache silent blocks=2
KERNEL(cores_share_line_cleaned_in_between) {
    TENSORS;
    if (GetBlockIdx() == 0) {
        g.z.SetValue(0, 1.0f);
        Clean(g.z);
    }
    SyncAll();
    if (GetBlockIdx() == 1) {
        g.z.SetValue(1, 1.0f);
        Clean(g.z);
    }
}

// case two_lines_one_clean: DataCache found
KERNEL(two_lines_one_clean) {
    BUFFERS;
    for (int i = 0; i < 32; ++i) g.ws.SetValue(i, 1.0f);
    Clean(g.ws);
    Sync<HardEvent::S_MTE2>();
    DataCopy(b.a, g.ws, 32);  // <- DataCache
    StoreCopy(g.z, b.a, 32);
}

// case scalar_result_read_by_other_core: DataCache found blocks=2
KERNEL(scalar_result_read_by_other_core) {
    TENSORS;
    if (GetBlockIdx() == 0) g.ws.SetValue(0, 3.0f);
    SyncAll();
    if (GetBlockIdx() == 1) {
        float v = g.ws.GetValue(0);  // <- DataCache
        g.z.SetValue(0, v);
    }
}

// case scalar_result_cleaned_for_other_core: DataCache silent blocks=2
KERNEL(scalar_result_cleaned_for_other_core) {
    TENSORS;
    if (GetBlockIdx() == 0) {
        g.ws.SetValue(0, 3.0f);
        Clean(g.ws);
    }
    SyncAll();
    if (GetBlockIdx() == 1) {
        float v = g.ws.GetValue(0);
        g.z.SetValue(0, v);
    }
}

// ---- notes of a core for itself ----------------------------------------------------------------------

// case cores_keep_notes_in_one_line: DataCache silent blocks=2
// Nobody else reads them, and each core has its own copy of the line.
KERNEL(cores_keep_notes_in_one_line) {
    TENSORS;
    g.ws.SetValue(GetBlockIdx(), 2.0f);
    float mine = g.ws.GetValue(GetBlockIdx());
    Buffers b;
    Duplicate(b.a, mine, 64);
    StoreResult(g.z[GetBlockIdx() * 64], b.a, 64);
}

// case notes_read_by_other_core: DataCache found blocks=2
KERNEL(notes_read_by_other_core) {
    TENSORS;
    g.ws.SetValue(GetBlockIdx(), 2.0f);  // <- DataCache
    SyncAll();
    DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g.ws);
    SyncAll();
    Buffers b;
    DataCopyPad(b.a, g.ws, {1, 8, 0, 0, 0}, {false, 0, 0, 0});
    Sync<HardEvent::MTE2_MTE3>();
    DataCopyPad(g.z[GetBlockIdx() * 8], b.a, {1, 8, 0, 0, 0});
}

// case cores_note_the_same_table: DataCache silent blocks=2
// Every core writes all of it and reads its own copy, whoever wrote to memory last.
KERNEL(cores_note_the_same_table) {
    TENSORS;
    for (int i = 0; i < 8; ++i) g.ws.SetValue(i, 2.0f * i);
    SyncAll();
    Buffers b;
    Duplicate(b.a, g.ws.GetValue(GetBlockIdx()) + g.ws.GetValue(7), 64);
    StoreResult(g.z[GetBlockIdx() * 64], b.a, 64);
}

// case cores_count_alike: DataCache silent blocks=2
// A table that is read while it is made, as prefix sums are.
KERNEL(cores_count_alike) {
    TENSORS;
    g.ws.SetValue(0, 1.0f);
    SyncAll();
    for (int i = 1; i < 8; ++i) g.ws.SetValue(i, g.ws.GetValue(i - 1) + 1.0f);
    SyncAll();
    Buffers b;
    Duplicate(b.a, g.ws.GetValue(7), 64);
    StoreResult(g.z[GetBlockIdx() * 64], b.a, 64);
}

// case cores_note_other_values: DataCache found blocks=2
// A core that looks for what the other has written finds its own value.
KERNEL(cores_note_other_values) {
    TENSORS;
    g.ws.SetValue(0, 1.0f + GetBlockIdx());
    SyncAll();
    const float last = g.ws.GetValue(0);  // <- DataCache
    Buffers b;
    Duplicate(b.a, last, 64);
    StoreResult(g.z[GetBlockIdx() * 64], b.a, 64);
}

// case own_note_overwritten_by_other_core: DataCache found blocks=2
KERNEL(own_note_overwritten_by_other_core) {
    BUFFERS;
    if (GetBlockIdx() == 0) g.ws.SetValue(0, 1.0f);
    SyncAll();
    if (GetBlockIdx() == 1) {
        g.ws.SetValue(0, 2.0f);
        Clean(g.ws);
    }
    SyncAll();
    if (GetBlockIdx() == 0) {
        Duplicate(b.a, g.ws.GetValue(0), 64);  // <- DataCache
        StoreResult(g.z, b.a, 64);
    }
}
