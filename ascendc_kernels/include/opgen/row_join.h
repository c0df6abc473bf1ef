// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What reductions join numbers with. C is the type that a tile is computed in, float or int32_t.
#ifndef OPGEN_ROW_JOIN_H
#define OPGEN_ROW_JOIN_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/float_tile.h"

namespace opgen {

// What a reduction joins numbers with, and what joins a box with an operand of fewer elements.
enum Operation : int32_t { kSum, kMax, kMin, kSub, kMul, kDiv, kAdd = kSum, kProd = kMul };

constexpr uint32_t kFloatLanes = kRepeatBytes / sizeof(float);
constexpr uint32_t kFloatBlock = kBlockBytes / sizeof(float);

// What leaves every number as it is.
template <int32_t kKind, typename C = float>
__aicore__ inline constexpr C Identity() {
    if constexpr (kKind == kSum || kKind == kProd) {
        return static_cast<C>(kKind == kProd ? 1 : 0);
    } else if constexpr (Same<C, float>::value) {
        return kKind == kMax ? -kInf : kInf;
    } else {
        return kKind == kMax ? -2147483647 - 1 : 2147483647;
    }
}

// dst = a op b, count elements.
template <int32_t kKind, typename C>
__aicore__ inline void Join(const LocalTensor<C>& dst, const LocalTensor<C>& a,
                            const LocalTensor<C>& b, uint32_t count) {
    if constexpr (kKind == kSum) {
        AscendC::Add(dst, a, b, count);
    } else if constexpr (kKind == kProd) {
        AscendC::Mul(dst, a, b, count);
    } else if constexpr (kKind == kMax) {
        AscendC::Max(dst, a, b, count);
    } else {
        AscendC::Min(dst, a, b, count);
    }
}

// The same on `mask` lanes of `repeat` repeats.
template <int32_t kKind, typename C>
__aicore__ inline void JoinRepeats(const LocalTensor<C>& dst, const LocalTensor<C>& a,
                                   const LocalTensor<C>& b, uint64_t mask, uint8_t repeat,
                                   const AscendC::BinaryRepeatParams& params) {
    if constexpr (kKind == kSum) {
        AscendC::Add(dst, a, b, mask, repeat, params);
    } else if constexpr (kKind == kProd) {
        AscendC::Mul(dst, a, b, mask, repeat, params);
    } else if constexpr (kKind == kMax) {
        AscendC::Max(dst, a, b, mask, repeat, params);
    } else {
        AscendC::Min(dst, a, b, mask, repeat, params);
    }
}

}  // namespace opgen

#endif  // OPGEN_ROW_JOIN_H
