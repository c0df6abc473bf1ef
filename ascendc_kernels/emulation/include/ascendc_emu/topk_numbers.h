// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Numbers that the device library's header of TopK leaves in the global scope, where some kernels
// use them. Which releases include that header differs, so only sources that use a name get this
// file (msopgen_wrap/build/rewriting/kernel_sources.py), with OPGEN_OWN_<name> for those that they
// define themselves.
#ifndef ASCENDC_EMU_TOPK_NUMBERS_H
#define ASCENDC_EMU_TOPK_NUMBERS_H

#include <stdint.h>

namespace {
#ifndef OPGEN_OWN_TWO
constexpr uint32_t TWO = 2;
#endif
#ifndef OPGEN_OWN_THREE
constexpr uint32_t THREE = 3;
#endif
#ifndef OPGEN_OWN_FOUR
constexpr uint32_t FOUR = 4;
#endif
#ifndef OPGEN_OWN_FIVE
constexpr uint32_t FIVE = 5;
#endif
#ifndef OPGEN_OWN_SIX
constexpr uint32_t SIX = 6;
#endif
#ifndef OPGEN_OWN_SEVEN
constexpr uint32_t SEVEN = 7;
#endif
#ifndef OPGEN_OWN_EIGHT
constexpr uint32_t EIGHT = 8;
#endif
#ifndef OPGEN_OWN_NINE
constexpr uint32_t NINE = 9;
#endif
#ifndef OPGEN_OWN_TWELVE
constexpr uint32_t TWELVE = 12;
#endif
#ifndef OPGEN_OWN_SIXTEEN
constexpr uint32_t SIXTEEN = 16;
#endif
#ifndef OPGEN_OWN_THIRTY_TWO
constexpr uint32_t THIRTY_TWO = 32;
#endif
#ifndef OPGEN_OWN_FORTYEIGHT
constexpr uint32_t FORTYEIGHT = 48;
#endif
#ifndef OPGEN_OWN_MIN_SORT32_SIZE
constexpr uint16_t MIN_SORT32_SIZE = 32;
#endif
#ifndef OPGEN_OWN_MIN_RPSORT16_SIZE
constexpr uint16_t MIN_RPSORT16_SIZE = 16;
#endif
#ifndef OPGEN_OWN_BUF_LIST_SIZE
constexpr uint32_t BUF_LIST_SIZE = 2;
#endif
#ifndef OPGEN_OWN_MRG_MAX_ARRAY_SIZE
constexpr uint32_t MRG_MAX_ARRAY_SIZE = 15;
#endif
#ifndef OPGEN_OWN_MRGSORT_VALID_QUEUE
constexpr uint32_t MRGSORT_VALID_QUEUE = 4;
#endif
#ifndef OPGEN_OWN_MRGSORT_VALID_TWO
constexpr uint32_t MRGSORT_VALID_TWO = 2;
#endif
#ifndef OPGEN_OWN_MRGSORT_VALID_TWO_OFFSET
constexpr uint32_t MRGSORT_VALID_TWO_OFFSET = 769;
#endif
#ifndef OPGEN_OWN_VREDUCEV2_HALF_MASK
constexpr uint32_t VREDUCEV2_HALF_MASK = 128;
#endif
#ifndef OPGEN_OWN_VREDUCEV2_FOUR_BYTE_MASK
constexpr uint32_t VREDUCEV2_FOUR_BYTE_MASK = 64;
#endif
#ifndef OPGEN_OWN_TOPK_INNER_ALIGN_LEN
constexpr uint32_t TOPK_INNER_ALIGN_LEN = 32;
#endif
#ifndef OPGEN_OWN_TOPK_NSMALL_INNER_LEN
constexpr uint32_t TOPK_NSMALL_INNER_LEN = 32;
#endif
#ifndef OPGEN_OWN_TOPK_NORMAL_INNER_MAX_HALF_LEN
constexpr uint32_t TOPK_NORMAL_INNER_MAX_HALF_LEN = 2048;
#endif
#ifndef OPGEN_OWN_TOPK_NORMAL_INNER_MAX_LEN
constexpr uint32_t TOPK_NORMAL_INNER_MAX_LEN = 4096;
#endif
}  // namespace

#endif  // ASCENDC_EMU_TOPK_NUMBERS_H
