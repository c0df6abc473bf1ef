// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The C interface on arch 2201, continued: bit operations of the scalar unit, atomic stores,
// caches, synchronisation between cores. Source: asc-devkit docs, SIMD-API / C-API: scalar_compute,
// simd_atomic, cache_ctrl, sync, sys_var.
#ifndef ASCENDC_EMU_C_API_CONTROL_H
#define ASCENDC_EMU_C_API_CONTROL_H

#include "ascendc_emu/c_api.h"
#include "ascendc_emu/control_api.h"

#define OPGEN_C_LOC ascendc_emu::Loc loc = ascendc_emu::Loc::Here()

// --- scalar unit -------------------------------------------------------------------------------

__aicore__ inline int64_t asc_clz(uint64_t value) { return AscendC::CountLeadingZero(value); }
__aicore__ inline int64_t asc_sflbits(int64_t value) {
    return AscendC::CountBitsCntSameAsSignBit(value);
}
// The first 0 or 1 from the low end; -1 without one.
__aicore__ inline int64_t asc_ffz(uint64_t value) { return AscendC::GetSFFValue<0>(value); }
__aicore__ inline int64_t asc_ffs(uint64_t value) { return AscendC::GetSFFValue<1>(value); }
__aicore__ inline int64_t asc_popc(uint64_t value) { return AscendC::GetBitCount<1>(value); }
__aicore__ inline int64_t asc_zero_bits_cnt(uint64_t value) {
    return AscendC::GetBitCount<0>(value);
}
__aicore__ inline uint64_t asc_set_nthbit(uint64_t bits, int64_t index) {
    return bits | 1ull << index;
}
__aicore__ inline uint64_t asc_clear_nthbit(uint64_t bits, int64_t index) {
    return bits & ~(1ull << index);
}

// --- atomic stores: what the copies from UB, L0C and L1 to GM do to their destination
// -------------

#define OPGEN_C_ATOMIC(SUFFIX, TYPE)                                                        \
    __aicore__ inline void asc_set_atomic_add_##SUFFIX() { AscendC::SetAtomicAdd<TYPE>(); } \
    __aicore__ inline void asc_set_atomic_max_##SUFFIX(OPGEN_C_LOC) {                       \
        AscendC::SetAtomicMax<TYPE>(loc);                                                   \
    }                                                                                       \
    __aicore__ inline void asc_set_atomic_min_##SUFFIX(OPGEN_C_LOC) {                       \
        AscendC::SetAtomicMin<TYPE>(loc);                                                   \
    }
OPGEN_C_ATOMIC(float, float)
OPGEN_C_ATOMIC(float16, half)
OPGEN_C_ATOMIC(bfloat, bfloat16_t)
OPGEN_C_ATOMIC(int, int32_t)
OPGEN_C_ATOMIC(int8, int8_t)
OPGEN_C_ATOMIC(int16, int16_t)
#undef OPGEN_C_ATOMIC
__aicore__ inline void asc_set_atomic_none() { AscendC::SetAtomicNone(); }

union asc_store_atomic_config {
    uint64_t config = 0;
    struct {
        uint64_t atomic_type : 3;
        uint64_t atomic_op : 2;
        uint64_t reserved1 : 59;
    };
};
__aicore__ inline void asc_get_store_atomic_config(asc_store_atomic_config& config) {
    uint16_t type = 0, op = 0;
    AscendC::GetStoreAtomicConfig(type, op);
    config.atomic_type = type;
    config.atomic_op = op;
}
// type: 0 off, 1 float, 2 half, 3 int16, 4 int32, 5 int8, 6 bfloat16; op: 0, the sum.
__aicore__ inline void asc_set_store_atomic_config_v1(uint16_t type, uint16_t op, OPGEN_C_LOC) {
    using ascendc_emu::DType;
    constexpr DType types[] = {DType::kNone, DType::kF32, DType::kF16, DType::kI16,
                               DType::kI32,  DType::kI8,  DType::kBf16};
    if (type > 6 || op != 0) {
        ascendc_emu::Trap(ascendc_emu::Current(), loc, "asc_set_store_atomic_config_v1",
                          "types 0 to 6 with op 0 exist on this arch");
    }
    ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    r.atomicType = types[type];
    r.atomicOp = type == 0 ? 0 : 1;
}

// --- caches ------------------------------------------------------------------------------------

__aicore__ inline void asc_dcci_single(__gm__ void* dst, OPGEN_C_LOC) {
    ascendc_emu::CacheClean(dst, 64, loc);
}
__aicore__ inline void asc_dcci_entire_all(OPGEN_C_LOC) {
    ascendc_emu::CacheClean(nullptr, 0, loc);
}
__aicore__ inline void asc_dcci_entire_out(OPGEN_C_LOC) {
    ascendc_emu::CacheClean(nullptr, 0, loc);
}
__aicore__ inline void asc_dcci_entire_atomic(OPGEN_C_LOC) {
    ascendc_emu::CacheClean(nullptr, 0, loc);
}
// UB is not behind the data cache here.
__aicore__ inline void asc_dcci_entire_ub() {}
// Hints.
__aicore__ inline void asc_datacache_preload(__gm__ uint64_t*, int64_t) {}
__aicore__ inline void asc_icache_preload(const void*, int64_t) {}
__aicore__ inline int64_t asc_get_icache_preload_status() {
    return AscendC::GetICachePreloadStatus();
}

// --- between cores: block = AIC with its AIVs, inter = cores of a kind, subblock = AIVs of a block
// ---

#define OPGEN_C_CROSS(NAME, MODE)                                                                \
    __aicore__ inline void asc_sync_##NAME##_arrive(pipe_t pipe, int64_t flag_id, OPGEN_C_LOC) { \
        ascendc_emu::CrossSet(MODE, static_cast<ascendc_emu::Pipe>(pipe),                        \
                              static_cast<int>(flag_id), loc);                                   \
    }                                                                                            \
    __aicore__ inline void asc_sync_##NAME##_wait(pipe_t pipe, int64_t flag_id, OPGEN_C_LOC) {   \
        ascendc_emu::CrossWait(MODE, static_cast<ascendc_emu::Pipe>(pipe),                       \
                               static_cast<int>(flag_id), loc);                                  \
    }
// Where the flags between cores are: they need no address here, it is only given back.
__aicore__ inline void asc_set_ffts_base_addr(uint64_t config) {
    ascendc_emu::Current().regs.fftsBase = config;
}
__aicore__ inline int64_t asc_get_ffts_base_addr() {
    return static_cast<int64_t>(ascendc_emu::Current().regs.fftsBase);
}
OPGEN_C_CROSS(block, 2)
OPGEN_C_CROSS(inter, 0)
OPGEN_C_CROSS(subblock, 1)
#undef OPGEN_C_CROSS

// The kinds of memory differ in what the device waits for; here everything is waited for.
enum mem_dsb_t { DSB_ALL = 0, DSB_DDR, DSB_UB, DSB_SEQ };
__aicore__ inline void asc_sync_data_barrier(mem_dsb_t, OPGEN_C_LOC) {
    ascendc_emu::Barrier(ascendc_emu::Pipe::kAll, loc);
}
// The address of a byte of UB, for pointers that are made by hand.
__aicore__ inline uint64_t asc_get_phy_buf_addr(uint64_t offset) {
    return reinterpret_cast<uint64_t>(ascendc_emu::UbPointer<uint8_t*>(offset));
}
__aicore__ inline int64_t asc_get_program_counter() { return AscendC::GetProgramCounter(); }
#undef OPGEN_C_LOC

#endif  // ASCENDC_EMU_C_API_CONTROL_H
