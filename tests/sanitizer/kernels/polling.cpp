// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Flags in global memory that one core stores and another one polls.
#include "skeleton.h"

namespace {

// Flags of 32 bytes per core in the second half of ws, cleared; tiles of data in the first half.
struct Flags {
    __aicore__ inline Flags(const Tensors& g, Buffers& b) : ints(b.b.ReinterpretCast<int32_t>()) {
        ws.SetGlobalBuffer((__gm__ int32_t*)g.ws[512].GetPhyAddr(), 512);
        Duplicate(ints, 0, 8);
        Sync<HardEvent::V_MTE3>();
        DataCopy(ws[GetBlockIdx() * 8], ints, 8);
        SyncAll();
    }
    __aicore__ inline void Raise(int32_t value) {
        ints.SetValue(0, value);
        Sync<HardEvent::S_MTE3>();
        DataCopyPad(ws[GetBlockIdx() * 8], ints, {1, 4, 0, 0, 0});
        Sync<HardEvent::MTE3_S>();
    }
    __aicore__ inline void Look(uint32_t core) {
        Sync<HardEvent::S_MTE2>();
        DataCopy(ints, ws[core * 8], 8);
        Sync<HardEvent::MTE2_S>();
    }
    __aicore__ inline void Poll(uint32_t core, int32_t value) {
        do {
            Look(core);
        } while (ints.GetValue(0) != value);
    }
    GlobalTensor<int32_t> ws;
    LocalTensor<int32_t> ints;
};

__aicore__ inline void Publish(const Tensors& g, Buffers& b, float value) {
    Duplicate(b.a, value, kTile);
    Sync<HardEvent::V_MTE3>();
    DataCopy(g.ws[GetBlockIdx() * kTile], b.a, kTile);
}

// 64 elements per core, then its flag.
__aicore__ inline void PublishShare(const Tensors& g, Buffers& b, Flags& flags) {
    Duplicate(b.a, 2.0f, 64);
    StoreResult(g.ws[GetBlockIdx() * 64], b.a, 64);
    Sync<HardEvent::MTE3_S>();
    flags.Raise(1);
}

__aicore__ inline void Fetch(const Tensors& g, Buffers& b) {
    DataCopy(b.a, g.ws, kTile);
    Sync<HardEvent::MTE2_MTE3>();
    DataCopy(g.z, b.a, kTile);
}

}  // namespace

// case flag_polled_by_copy: ErrorSync2 silent blocks=2
KERNEL(flag_polled_by_copy) {
    BUFFERS;
    Flags flags(g, b);
    if (GetBlockIdx() == 0) {
        Publish(g, b, 3.0f);
        PipeBarrier<PIPE_MTE3>();
        flags.Raise(1);
    } else {
        flags.Poll(0, 1);
        Fetch(g, b);
    }
}

// The first core runs first: only the other direction really spins here.
// case flag_of_a_later_core_polled: ErrorSync2 silent blocks=2
KERNEL(flag_of_a_later_core_polled) {
    BUFFERS;
    Flags flags(g, b);
    if (GetBlockIdx() == 1) {
        DataCopy(b.a, g.x, kTile);
        StoreCopy(g.ws, b.a);
        Sync<HardEvent::MTE3_S>();
        flags.Raise(7);
    } else {
        flags.Poll(1, 7);
        Fetch(g, b);
    }
}

// case flags_of_all_cores_in_one_copy: ErrorSync1 silent blocks=4
KERNEL(flags_of_all_cores_in_one_copy) {
    BUFFERS;
    Flags flags(g, b);
    PublishShare(g, b, flags);
    for (bool all = false; !all;) {
        DataCopy(flags.ints, flags.ws, 8 * GetBlockNum());
        Sync<HardEvent::MTE2_S>();
        all = true;
        for (int32_t i = 0; i < GetBlockNum(); ++i) all = all && flags.ints.GetValue(8 * i) == 1;
        Sync<HardEvent::S_MTE2>();
    }
    DataCopy(b.a, g.ws, kTile);
    StoreCopy(g.z[GetBlockIdx() * 64], b.a[GetBlockIdx() * 64], 64);
}

// The scalar unit reads the flags as plain C++ does.
// case flags_polled_through_a_pointer: ErrorSync2 silent blocks=4
KERNEL(flags_polled_through_a_pointer) {
    BUFFERS;
    Flags flags(g, b);
    PublishShare(g, b, flags);
    auto* const values = reinterpret_cast<__ubuf__ int32_t*>(flags.ints.GetPhyAddr());
    for (bool all = false; !all;) {
        DataCopy(flags.ints, flags.ws, 8 * GetBlockNum());
        Sync<HardEvent::MTE2_S>();
        all = true;
        for (int32_t i = 0; i < GetBlockNum(); ++i) all = all && values[8 * i] == 1;
        Sync<HardEvent::S_MTE2>();
    }
    DataCopy(b.a, g.ws, kTile);
    StoreCopy(g.z[GetBlockIdx() * 64], b.a[GetBlockIdx() * 64], 64);
}

// case flags_looked_at_once_through_a_pointer: ErrorSync2 found blocks=4
KERNEL(flags_looked_at_once_through_a_pointer) {
    BUFFERS;
    Flags flags(g, b);
    PublishShare(g, b, flags);
    DataCopy(flags.ints, flags.ws, 8 * GetBlockNum());
    Sync<HardEvent::MTE2_S>();
    const int32_t value = *reinterpret_cast<__ubuf__ int32_t*>(flags.ints.GetPhyAddr());
    Sync<HardEvent::S_MTE2>();
    DataCopy(b.a, g.ws, kTile + 8 * (value > 1));  // <- ErrorSync2
    StoreCopy(g.z[GetBlockIdx() * 64], b.a[GetBlockIdx() * 64], 64);
}

// case two_flags_polled_in_turn: ErrorSync2 silent blocks=3
KERNEL(two_flags_polled_in_turn) {
    BUFFERS;
    Flags flags(g, b);
    if (GetBlockIdx() != 0) {
        PublishShare(g, b, flags);
        return;
    }
    int32_t up = 0;
    while (up != 3) {
        flags.Look(1);
        up |= flags.ints.GetValue(0);
        flags.Look(2);
        up |= flags.ints.GetValue(0) << 1;
    }
    DataCopy(b.a, g.ws[64], 128);
    StoreCopy(g.z, b.a, 128);
}

// case counter_polled: ErrorSync2 silent blocks=4
KERNEL(counter_polled) {
    BUFFERS;
    Flags flags(g, b);
    Duplicate(b.a, 2.0f, 64);
    StoreResult(g.ws[GetBlockIdx() * 64], b.a, 64);
    Sync<HardEvent::MTE3_S>();
    flags.ints.SetValue(0, 1);
    Sync<HardEvent::S_MTE3>();
    SetAtomicAdd<int32_t>();
    DataCopyPad(flags.ws, flags.ints, {1, 4, 0, 0, 0});
    SetAtomicNone();
    Sync<HardEvent::MTE3_S>();
    if (GetBlockIdx() != 1) return;
    flags.Poll(0, 4);
    Fetch(g, b);
}

// case flag_polled_by_scalar: ErrorSync2 silent blocks=2
KERNEL(flag_polled_by_scalar) {
    BUFFERS;
    Flags flags(g, b);
    if (GetBlockIdx() == 0) {
        Publish(g, b, 3.0f);
        Sync<HardEvent::MTE3_S>();
        flags.Raise(1);
    } else {
        do {
            DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE>(flags.ws);
        } while (flags.ws.GetValue(0) != 1);
        Fetch(g, b);
    }
}

// case flags_counted_by_vector_unit: ErrorSync2 silent blocks=2
KERNEL(flags_counted_by_vector_unit) {
    BUFFERS;
    Flags flags(g, b);
    if (GetBlockIdx() == 0) {
        Publish(g, b, 3.0f);
        Sync<HardEvent::MTE3_S>();
        flags.Raise(1);
        return;
    }
    LocalTensor<int32_t> sum = flags.ints[64];
    do {
        flags.Look(0);
        Sync<HardEvent::S_V>();
        Add(sum, flags.ints, flags.ints, 8);
        Sync<HardEvent::V_S>();
    } while (sum.GetValue(0) != 2);
    Fetch(g, b);
}

// case flag_polled_in_two_rounds: ErrorSync1 silent blocks=2
KERNEL(flag_polled_in_two_rounds) {
    BUFFERS;
    Flags flags(g, b);
    for (int32_t round = 1; round <= 2; ++round) {
        if (GetBlockIdx() == 0) {
            Publish(g, b, static_cast<float>(round));
            Sync<HardEvent::MTE3_S>();
            flags.Raise(round);
            flags.Poll(1, round);
        } else {
            flags.Poll(0, round);
            Fetch(g, b);
            Sync<HardEvent::MTE3_S>();
            flags.Raise(round);
        }
    }
}

// case flag_raised_before_its_data: ErrorSync2 found blocks=2
KERNEL(flag_raised_before_its_data) {
    BUFFERS;
    Flags flags(g, b);
    if (GetBlockIdx() == 0) {
        Publish(g, b, 3.0f);
        flags.Raise(1);
    } else {
        flags.Poll(0, 1);
        DataCopy(b.a, g.ws, kTile);  // <- ErrorSync2
        StoreCopy(g.z, b.a);
    }
}

// The last core goes on first after SyncAll: this one reads what is there, and too late in other
// runs.
// case flag_looked_at_once: ErrorSync2 found blocks=2
KERNEL(flag_looked_at_once) {
    BUFFERS;
    Flags flags(g, b);
    if (GetBlockIdx() == 1) {
        flags.Raise(5);
        return;
    }
    Sync<HardEvent::S_MTE2>();
    DataCopy(flags.ints, flags.ws[8], 8);  // <- ErrorSync2
    Sync<HardEvent::MTE2_S>();
    Duplicate(b.a, static_cast<float>(flags.ints.GetValue(0)), kTile);
    StoreResult(g.z, b.a);
}

// case polled_flag_of_another_core: ErrorSync2 found blocks=3
KERNEL(polled_flag_of_another_core) {
    BUFFERS;
    Flags flags(g, b);
    if (GetBlockIdx() != 2) {
        PublishShare(g, b, flags);
        return;
    }
    flags.Poll(0, 1);
    DataCopy(b.a, g.ws, 128);  // <- ErrorSync2
    StoreCopy(g.z, b.a, 128);
}

// case flag_block_stored_as_data: ErrorSync2 found blocks=2
KERNEL(flag_block_stored_as_data) {
    BUFFERS;
    Flags flags(g, b);
    if (GetBlockIdx() == 1) {
        flags.Raise(5);
        return;
    }
    Sync<HardEvent::S_MTE2>();
    DataCopy(b.a.ReinterpretCast<int32_t>(), flags.ws[8], 8);  // <- ErrorSync2
    StoreCopy(g.z, b.a, 8);
    Duplicate(b.b, 0.0f, kTile);
    StoreResult(g.z[8], b.b);
}

// case small_result_of_another_core_added: ErrorSync2 found blocks=2
KERNEL(small_result_of_another_core_added) {
    BUFFERS;
    Flags flags(g, b);
    if (GetBlockIdx() == 1) {
        flags.Raise(5);
        return;
    }
    Sync<HardEvent::S_MTE2>();
    DataCopy(flags.ints, flags.ws[8], 8);  // <- ErrorSync2
    Sync<HardEvent::MTE2_V>();
    auto sum = b.a.ReinterpretCast<int32_t>();
    Add(sum, flags.ints, flags.ints, 8);
    Duplicate(sum[8], 1, 8);
    Add(sum, sum, sum[8], 8);
    StoreResult(g.z, b.a, 8);
}

// case tile_overwritten_before_it_was_taken: ErrorSync1 found blocks=2
KERNEL(tile_overwritten_before_it_was_taken) {
    BUFFERS;
    Flags flags(g, b);
    for (int32_t round = 1; round <= 2; ++round) {
        if (GetBlockIdx() == 0) {
            Duplicate(b.a, static_cast<float>(round), kTile);
            Sync<HardEvent::V_MTE3>();
            PipeBarrier<PIPE_MTE3>();
            DataCopy(g.ws, b.a, kTile);  // <- ErrorSync1
            Sync<HardEvent::MTE3_S>();
            flags.Raise(round);
            Sync<HardEvent::MTE3_V>();
            if (round == 1) flags.Poll(1, 1);
        } else {
            flags.Poll(0, round);
            if (round == 1) flags.Raise(1);
            DataCopy(b.a, g.ws, kTile);
            StoreCopy(g.z[round * kTile], b.a);
            Sync<HardEvent::MTE3_MTE2>();
        }
    }
}

// Looks at all flags once, then waits for those that are down, one after the other.
// case flags_looked_at_then_polled: ErrorSync2 silent blocks=3
KERNEL(flags_looked_at_then_polled) {
    BUFFERS;
    Flags flags(g, b);
    if (GetBlockIdx() != 0) {
        PublishShare(g, b, flags);
        return;
    }
    LocalTensor<int32_t> all = flags.ints[64];
    DataCopy(all, flags.ws, 24);
    Sync<HardEvent::MTE2_S>();
    for (int32_t i = 1; i < 3; ++i) {
        if (all.GetValue(8 * i) != 1) flags.Poll(i, 1);
    }
    DataCopy(b.a, g.ws[64], 128);
    StoreCopy(g.z, b.a, 128);
}

// The value read is out of date when it is read again, but a tile was stored in between.
// case counter_read_once_per_tile: ErrorSync2 found blocks=2
KERNEL(counter_read_once_per_tile) {
    BUFFERS;
    Flags flags(g, b);
    if (GetBlockIdx() == 1) {
        flags.Raise(5);
        return;
    }
    for (int i = 0; i < 3; ++i) {
        Sync<HardEvent::S_MTE2>();
        DataCopy(flags.ints, flags.ws[8], 8);  // <- ErrorSync2
        Sync<HardEvent::MTE2_S>();
        Duplicate(b.a, static_cast<float>(flags.ints.GetValue(0)), kTile);
        StoreResult(g.z[i * kTile], b.a);
        Sync<HardEvent::MTE3_V>();
    }
}

// Core 0 fills, core 1 waits past the data cache and adds.
#define FILL_THEN_ADD(after)                                         \
    TENSORS;                                                         \
    Buffers b;                                                       \
    __gm__ int32_t* flag = (__gm__ int32_t*)ws;                      \
    WriteGmByPassDCache<int32_t>(flag + 64 + 32 * GetBlockIdx(), 0); \
    SyncAll();                                                       \
    Duplicate(b.a, 1.0f, kTile);                                     \
    Sync<HardEvent::V_MTE3>();                                       \
    if (GetBlockIdx() == 0) {                                        \
        DataCopy(g.z, b.a, kTile);                                   \
        after;                                                       \
        WriteGmByPassDCache<int32_t>(flag + 64, 1);                  \
        return;                                                      \
    }                                                                \
    while (ReadGmByPassDCache<int32_t>(flag + 64) != 1) {            \
    }                                                                \
    SetAtomicAdd<float>()

// case flag_past_the_cache: GmOverlap silent blocks=2
KERNEL(flag_past_the_cache) {
    FILL_THEN_ADD(Sync<HardEvent::MTE3_S>());
    DataCopy(g.z, b.a, kTile);
    SetAtomicNone();
}

// case flag_past_the_cache_too_early: GmOverlap found blocks=2
KERNEL(flag_past_the_cache_too_early) {
    FILL_THEN_ADD();
    DataCopy(g.z, b.a, kTile);  // <- GmOverlap
    SetAtomicNone();
}
