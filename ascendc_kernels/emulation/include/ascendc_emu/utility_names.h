// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Constants and integer helpers of the device library's utility headers that public kernels use.
// They are undocumented; only names that CANN 8.1 and 9 both have are here.
#ifndef ASCENDC_EMU_UTILITY_NAMES_H
#define ASCENDC_EMU_UTILITY_NAMES_H

#include "ascendc_emu/enums.h"

// The compiler's names for LoadData2DParams::addrMode: addresses go up or down.
enum addr_cal_mode_t { inc = 0, dec = 1 };

// Where L2 lies in the addresses of GM, which template libraries define for a launch; there is no
// L2 here.
struct OpSystemRunCfg {
    uint64_t l2Cacheoffset;
};

namespace AscendC {

constexpr int32_t HALF_FACTOR = 2;
constexpr int32_t DOUBLE_FACTOR = 2;
constexpr uint8_t ONE_FOURTH_DEFAULT_REPEAT_STRIDE = 2;
constexpr int32_t DEFAULT_BLOCK_SIZE = 256;
constexpr int32_t FULL_MASK_LEN = 128;
constexpr uint8_t B32_DATA_NUM_PER_BLOCK = 8;
constexpr uint8_t B16_DATA_NUM_PER_BLOCK = 16;
constexpr int32_t B32_DATA_NUM_PER_REPEAT = 64;
constexpr int32_t B16_DATA_NUM_PER_REPEAT = 128;
constexpr uint32_t FLOAT_REPEAT_SIZE = 64;
constexpr uint32_t HALF_REPEAT_SIZE = 128;
constexpr int32_t VREDUCE_PER_REP_OUTPUT = 2;
constexpr uint32_t F32_INF = 0x7f800000;
constexpr uint32_t F32_NEG_INF = 0xff800000;
constexpr uint32_t F32_NAN = 0x7fc00000;
constexpr int32_t MIN_BLOCK_COUNT = 1;
constexpr int32_t MAX_BLOCK_COUNT = 4095;
constexpr int32_t MIN_BLOCK_LEN = 1;
constexpr int32_t MAX_BLOCK_LEN = 65535;
constexpr int32_t MAX_16BITS_STRIDE = 65535;
constexpr uint32_t DROPOUT_MODE_BYTE_MISALIGN = 1;
constexpr uint32_t DROPOUT_MODE_BYTE_ALIGN = 2;
constexpr uint32_t DROPOUT_MODE_BIT_ALIGN = 3;
constexpr uint32_t DROPOUT_MODE_BIT_MISALIGN = 4;
constexpr uint16_t AIV_CORE_NUM = 50;
constexpr uint32_t SINGLE_MSG_SIZE = 64;
constexpr uint32_t CACHE_LINE_SIZE = 64;
constexpr int32_t TOTAL_VEC_LOCAL_SIZE = 184 * 1024;  // of UB, without what the library keeps
constexpr uint32_t TMP_UB_OFFSET = 184 * 1024;
// What the device libraries use at the start of a workspace.
#if defined(OPGEN_LIBRARY_WORKSPACE)
constexpr size_t RESERVED_WORKSPACE = OPGEN_LIBRARY_WORKSPACE;
#else
constexpr size_t RESERVED_WORKSPACE = 16 * 1024 * 1024;
#endif

__aicore__ constexpr inline uint32_t DivCeil(uint32_t a, uint32_t b) {
    return b == 0 ? a : (a + b - 1) / b;
}
__aicore__ constexpr inline uint32_t AlignUp(uint32_t a, uint32_t b) { return DivCeil(a, b) * b; }
__aicore__ constexpr inline uint32_t ConstCeil(uint32_t a, uint32_t b) { return DivCeil(a, b); }
__aicore__ inline uint32_t Ceil(uint32_t a, uint32_t b) { return DivCeil(a, b); }
__aicore__ inline constexpr uint32_t CeilNoLog(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

/** Whether T is one of the other types. */
template <typename T, typename... Types>
__aicore__ constexpr bool SupportType() {
    return (std::is_same<T, Types>::value || ...);
}

/** What the rows of a softmax are reduced with. */
struct ReduceLastND {
    uint32_t originalSrcM;
    uint32_t originalSrcK;
    uint32_t srcM;
    uint32_t srcK;
    uint32_t dstM;
    uint32_t dstK;
};

// Keeps the compiler from moving memory accesses across it; no instruction.
__aicore__ inline void Barrier() { __asm__ __volatile__("" ::: "memory"); }

// On the device it makes room for what DumpTensor and printf write; here they print at once.
__aicore__ inline void InitDump(bool, uint32_t) {}
__aicore__ inline void InitDump(bool, GM_ADDR, uint32_t) {}

}  // namespace AscendC
#endif  // ASCENDC_EMU_UTILITY_NAMES_H
