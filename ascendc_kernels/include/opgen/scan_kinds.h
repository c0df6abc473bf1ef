// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What scans join (opgen/scan.h): how an element joins what is before it. A kind is associative, so
// that parts of a row can be joined by themselves. Its numbers are one or two per element; scratch
// is as long as the longest row, `apart` elements, for each of kScratch.
#ifndef OPGEN_SCAN_KINDS_H
#define OPGEN_SCAN_KINDS_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/float_tile.h"
#include "opgen/tile.h"

namespace opgen {

// The numbers of elements, each in a tile of its own.
template <typename C, uint32_t kCount>
struct ScanState {
    LocalTensor<C> of[kCount];

    __aicore__ inline ScanState At(uint32_t offset) const {
        ScanState moved;
        for (uint32_t i = 0; i < kCount; ++i) {
            moved.of[i] = of[i][offset];
        }
        return moved;
    }
};

struct SumScan {
    static constexpr uint32_t kStates = 1;
    static constexpr uint32_t kScratch = 0;
    static constexpr bool kRepeats = true;  // JoinRepeats joins several rows
    static constexpr uint32_t kGroup = 16;  // rows that instructions take at once

    template <typename C>
    __aicore__ inline static C Identity(uint32_t) {
        return static_cast<C>(0);
    }
    template <typename C>
    __aicore__ inline static void Join(const ScanState<C, 1>& dst, const ScanState<C, 1>& before,
                                       const ScanState<C, 1>& element, const LocalTensor<C>&,
                                       uint32_t, uint32_t count) {
        AscendC::Add(dst.of[0], before.of[0], element.of[0], count);
    }
    template <typename C>
    __aicore__ inline static void JoinRepeats(const LocalTensor<C>& dst,
                                              const LocalTensor<C>& before,
                                              const LocalTensor<C>& element, uint64_t mask,
                                              uint8_t repeat,
                                              const AscendC::BinaryRepeatParams& strides) {
        AscendC::Add(dst, before, element, mask, repeat, strides);
    }
};

struct ProductScan {
    static constexpr uint32_t kStates = 1;
    static constexpr uint32_t kScratch = 0;
    static constexpr bool kRepeats = true;
    static constexpr uint32_t kGroup = 16;

    template <typename C>
    __aicore__ inline static C Identity(uint32_t) {
        return static_cast<C>(1);
    }
    template <typename C>
    __aicore__ inline static void Join(const ScanState<C, 1>& dst, const ScanState<C, 1>& before,
                                       const ScanState<C, 1>& element, const LocalTensor<C>&,
                                       uint32_t, uint32_t count) {
        AscendC::Mul(dst.of[0], before.of[0], element.of[0], count);
    }
    template <typename C>
    __aicore__ inline static void JoinRepeats(const LocalTensor<C>& dst,
                                              const LocalTensor<C>& before,
                                              const LocalTensor<C>& element, uint64_t mask,
                                              uint8_t repeat,
                                              const AscendC::BinaryRepeatParams& strides) {
        AscendC::Mul(dst, before, element, mask, repeat, strides);
    }
};

// The largest element, or the smallest, up to each one; NaN from the first NaN on. Elements are
// float or int32_t.
template <bool kMaximum>
struct ExtremeScan {
    static constexpr uint32_t kStates = 1;
    static constexpr uint32_t kScratch = 2;
    static constexpr bool kRepeats = false;
    static constexpr uint32_t kGroup = 64;  // comparisons work on whole repeats

    template <typename C>
    __aicore__ inline static C Identity(uint32_t) {
        if constexpr (Same<C, int32_t>::value) {
            return kMaximum ? INT32_MIN : INT32_MAX;
        } else {
            return kMaximum ? -kInf : kInf;
        }
    }
    // Where an element takes the place of what is before it: also one that is equal, or NaN.
    __aicore__ inline static LocalTensor<uint8_t> Replaces(const Tile32& before,
                                                           const Tile32& element,
                                                           const Tile32& scratch, uint32_t apart,
                                                           uint32_t count) {
        const LocalTensor<uint8_t> better = scratch.template ReinterpretCast<uint8_t>();
        const LocalTensor<uint8_t> number = scratch[apart].template ReinterpretCast<uint8_t>();
        const LocalTensor<uint16_t> betterBits = better.template ReinterpretCast<uint16_t>();
        const LocalTensor<uint16_t> numberBits = number.template ReinterpretCast<uint16_t>();
        AscendC::Compare(better, element, before, kMaximum ? CMPMODE::GE : CMPMODE::LE, count);
        AscendC::Compare(number, element, element, CMPMODE::EQ, count);
        VectorBarrier();
        AscendC::Not(numberBits, numberBits, count / 16);
        VectorBarrier();
        AscendC::Or(betterBits, betterBits, numberBits, count / 16);
        VectorBarrier();
        return better;
    }
    // Integers are compared for equality only: an element that is the extreme of both replaces.
    __aicore__ inline static LocalTensor<uint8_t> Replaces(const LocalTensor<int32_t>& before,
                                                           const LocalTensor<int32_t>& element,
                                                           const LocalTensor<int32_t>& scratch,
                                                           uint32_t apart, uint32_t count) {
        const LocalTensor<uint8_t> better = scratch.template ReinterpretCast<uint8_t>();
        const LocalTensor<int32_t> extreme = scratch[apart];
        Extreme(extreme, before, element, count);
        VectorBarrier();
        AscendC::Compare(better, extreme, element, CMPMODE::EQ, count);
        VectorBarrier();
        return better;
    }
    __aicore__ inline static void Extreme(const LocalTensor<int32_t>& dst,
                                          const LocalTensor<int32_t>& before,
                                          const LocalTensor<int32_t>& element, uint32_t count) {
        if constexpr (kMaximum) {
            AscendC::Max(dst, before, element, count);
        } else {
            AscendC::Min(dst, before, element, count);
        }
    }
    __aicore__ inline static void Join(const ScanState<float, 1>& dst,
                                       const ScanState<float, 1>& before,
                                       const ScanState<float, 1>& element, const Tile32& scratch,
                                       uint32_t apart, uint32_t count) {
        const LocalTensor<uint8_t> replaces =
            Replaces(before.of[0], element.of[0], scratch, apart, count);
        AscendC::Select(dst.of[0], replaces, element.of[0], before.of[0],
                        SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    }
    __aicore__ inline static void Join(const ScanState<int32_t, 1>& dst,
                                       const ScanState<int32_t, 1>& before,
                                       const ScanState<int32_t, 1>& element,
                                       const LocalTensor<int32_t>&, uint32_t, uint32_t count) {
        Extreme(dst.of[0], before.of[0], element.of[0], count);
    }
};

using MaxScan = ExtremeScan<true>;
using MinScan = ExtremeScan<false>;

// Where along the axis that element is, the last of equal ones: the element, and its position as
// an integer, or as the bits of one beside a float.
template <bool kMaximum>
struct PositionScan {
    static constexpr uint32_t kStates = 2;
    static constexpr uint32_t kScratch = 2;
    static constexpr bool kRepeats = false;
    static constexpr uint32_t kGroup = 64;

    template <typename C>
    __aicore__ inline static C Identity(uint32_t state) {
        return state == 1 ? static_cast<C>(0) : ExtremeScan<kMaximum>::template Identity<C>(0);
    }
    template <typename C>
    __aicore__ inline static void Begin(const LocalTensor<C>& value, const LocalTensor<C>& position,
                                        const LocalTensor<C>& src, const Tile& box) {
        const LocalTensor<int32_t> index = position.template ReinterpretCast<int32_t>();
        const int32_t first = static_cast<int32_t>(box.offset);
        AscendC::DataCopy(value, src, box.count);
        if (!box.lanes) {
            for (uint32_t row = 0; row < box.rows; ++row) {
                AscendC::Duplicate(index[row * box.pitch], first + static_cast<int32_t>(row),
                                   box.pitch);
            }
            VectorBarrier();
            return;
        }
        AscendC::CreateVecIndex(index, first, box.pitch);
        VectorBarrier();
        for (uint32_t row = 1; row < box.rows; ++row) {
            AscendC::DataCopy(index[row * box.pitch], index, box.pitch);
        }
        VectorBarrier();
    }
    template <typename C>
    __aicore__ inline static void Join(const ScanState<C, 2>& dst, const ScanState<C, 2>& before,
                                       const ScanState<C, 2>& element,
                                       const LocalTensor<C>& scratch, uint32_t apart,
                                       uint32_t count) {
        const LocalTensor<uint8_t> replaces =
            ExtremeScan<kMaximum>::Replaces(before.of[0], element.of[0], scratch, apart, count);
        for (uint32_t i = 0; i < kStates; ++i) {
            // selects bits, whatever they are
            const Tile32 to = dst.of[i].template ReinterpretCast<float>();
            AscendC::Select(to, replaces, element.of[i].template ReinterpretCast<float>(),
                            before.of[i].template ReinterpretCast<float>(),
                            SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
        }
    }
    template <typename C>
    __aicore__ inline static void Finish(const LocalTensor<int32_t>& dst, const LocalTensor<C>&,
                                         const LocalTensor<C>& position, uint32_t count) {
        AscendC::DataCopy(dst, position.template ReinterpretCast<int32_t>(), count);
    }
};

using MaxPositionScan = PositionScan<true>;
using MinPositionScan = PositionScan<false>;

// log(sum(exp)): the largest element m, as far as it is finite, and the sum of exp(x - m). Of an
// infinite element that is 0 or infinity.
struct LogSumExpScan {
    static constexpr uint32_t kStates = 2;
    static constexpr uint32_t kScratch = 2;
    static constexpr bool kRepeats = false;
    static constexpr uint32_t kGroup = 16;

    template <typename C>
    __aicore__ inline static C Identity(uint32_t state) {
        return state == 0 ? -kLargest : 0.0f;
    }
    __aicore__ inline static void Begin(const Tile32& largest, const Tile32& sum, const Tile32& src,
                                        const Tile& box) {
        AscendC::Mins(largest, src, kLargest, box.count);
        VectorBarrier();
        AscendC::Maxs(largest, largest, -kLargest, box.count);
        VectorBarrier();
        AscendC::Sub(sum, src, largest, box.count);
        VectorBarrier();
        AscendC::Exp(sum, sum, box.count);
        VectorBarrier();
    }
    __aicore__ inline static void Join(const ScanState<float, 2>& dst,
                                       const ScanState<float, 2>& before,
                                       const ScanState<float, 2>& element, const Tile32& scratch,
                                       uint32_t apart, uint32_t count) {
        const Tile32 largest = scratch;
        const Tile32 share = scratch[apart];
        AscendC::Max(largest, before.of[0], element.of[0], count);
        VectorBarrier();
        AscendC::Sub(share, before.of[0], largest, count);
        AscendC::Sub(dst.of[0], element.of[0], largest, count);
        VectorBarrier();
        AscendC::Exp(share, share, count);
        AscendC::Exp(dst.of[0], dst.of[0], count);
        VectorBarrier();
        AscendC::Mul(share, share, before.of[1], count);
        AscendC::Mul(dst.of[1], dst.of[0], element.of[1], count);
        VectorBarrier();
        AscendC::Add(dst.of[1], dst.of[1], share, count);
        AscendC::DataCopy(dst.of[0], largest, count);
    }
    __aicore__ inline static void Finish(const Tile32& dst, const Tile32& largest,
                                         const Tile32& sum, uint32_t count) {
        AscendC::Ln(dst, sum, count);
        VectorBarrier();
        AscendC::Add(dst, dst, largest, count);
    }
};

}  // namespace opgen

#endif  // OPGEN_SCAN_KINDS_H
