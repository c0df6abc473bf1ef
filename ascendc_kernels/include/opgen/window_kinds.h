// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What the windows of opgen/window.h give: the largest element, where it lies, or the average. All
// are computed in float.
#ifndef OPGEN_WINDOW_KINDS_H
#define OPGEN_WINDOW_KINDS_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/float_tile.h"
#include "opgen/tile.h"

namespace opgen {

// Of each window a value, and for some kinds a position as the bits of an integer.
template <uint32_t kCount>
struct WindowState {
    LocalTensor<float> of[kCount];

    __aicore__ inline WindowState At(uint32_t offset) const {
        WindowState moved;
        for (uint32_t i = 0; i < kCount; ++i) {
            moved.of[i] = of[i][offset];
        }
        return moved;
    }
};

// The instruction of `count` rows of `length` elements, multiples of a block: dst = op(first,
// second). Rows of dst and first are `next` elements apart, those of second `nextSecond`.
template <typename Op>
__aicore__ inline void ForRows(const LocalTensor<float>& dst, const LocalTensor<float>& second,
                               uint32_t length, uint32_t count, uint32_t next, uint32_t nextSecond,
                               const Op& op) {
    constexpr uint32_t kLanes = kRepeatBytes / sizeof(float);
    constexpr uint32_t kBlock = kBlockBytes / sizeof(float);
    constexpr uint32_t kMaxRepeat = 255;  // repeats, and blocks from one to the next
    if (next == length && nextSecond == length) {
        op.Flat(dst, second, length * count);
        return;
    }
    const bool strided = next <= kMaxRepeat * kBlock && nextSecond <= kMaxRepeat * kBlock;
    if (!strided || (length + kLanes - 1) / kLanes > count) {
        for (uint32_t i = 0; i < count; ++i) {
            op.Flat(dst[i * next], second[i * nextSecond], length);
        }
        return;
    }
    const uint8_t apart = static_cast<uint8_t>(next / kBlock);
    const uint8_t apartSecond = static_cast<uint8_t>(nextSecond / kBlock);
    for (uint32_t lane = 0; lane < length; lane += kLanes) {
        const uint64_t mask = length - lane < kLanes ? length - lane : kLanes;
        for (uint32_t done = 0; done < count; done += kMaxRepeat) {
            const uint32_t left = count - done;
            const uint8_t repeat = static_cast<uint8_t>(left < kMaxRepeat ? left : kMaxRepeat);
            op.Repeats(dst[done * next + lane], second[done * nextSecond + lane], mask, repeat,
                       {1, 1, 1, apart, apart, apartSecond});
        }
    }
}

struct MaxRows {
    __aicore__ inline void Flat(const LocalTensor<float>& dst, const LocalTensor<float>& src,
                                uint32_t count) const {
        AscendC::Max(dst, dst, src, count);
    }
    __aicore__ inline void Repeats(const LocalTensor<float>& dst, const LocalTensor<float>& src,
                                   uint64_t mask, uint8_t repeat,
                                   const AscendC::BinaryRepeatParams& strides) const {
        AscendC::Max(dst, dst, src, mask, repeat, strides);
    }
};

struct AddRows {
    __aicore__ inline void Flat(const LocalTensor<float>& dst, const LocalTensor<float>& src,
                                uint32_t count) const {
        AscendC::Add(dst, dst, src, count);
    }
    __aicore__ inline void Repeats(const LocalTensor<float>& dst, const LocalTensor<float>& src,
                                   uint64_t mask, uint8_t repeat,
                                   const AscendC::BinaryRepeatParams& strides) const {
        AscendC::Add(dst, dst, src, mask, repeat, strides);
    }
};

struct MultiplyRows {
    __aicore__ inline void Flat(const LocalTensor<float>& dst, const LocalTensor<float>& src,
                                uint32_t count) const {
        AscendC::Mul(dst, dst, src, count);
    }
    __aicore__ inline void Repeats(const LocalTensor<float>& dst, const LocalTensor<float>& src,
                                   uint64_t mask, uint8_t repeat,
                                   const AscendC::BinaryRepeatParams& strides) const {
        AscendC::Mul(dst, dst, src, mask, repeat, strides);
    }
};

// Divide a value per window by how many elements the window counts. values: for each depth and
// height of `windows` the rows of all planes, `pitch` apart; shares: room for such a row.
template <typename Axis, typename Range>
__aicore__ inline void ShareByCounts(const LocalTensor<float>& values,
                                     const LocalTensor<float>& shares, const Axis* axis,
                                     const Range& windows, uint32_t planes, uint32_t pitch,
                                     bool outside) {
    const uint32_t rows = planes * windows.Size(0) * windows.Size(1);
    Order<AscendC::HardEvent::V_S>();
    for (uint32_t i = 0; i < pitch; ++i) {
        const int64_t window = windows.first[2] + i;
        const int64_t count = window < windows.last[2] ? axis[2].Count(window, outside) : 1;
        shares.SetValue(i, 1.0f / static_cast<float>(count));
    }
    Order<AscendC::HardEvent::S_V>();
    ForRows(values, shares, pitch, rows, pitch, 0, MultiplyRows());
    VectorBarrier();
    const uint32_t length = planes * pitch;
    for (uint32_t row = 0; row < windows.Size(0) * windows.Size(1); ++row) {
        const int64_t depth = windows.first[0] + row / windows.Size(1);
        const int64_t height = windows.first[1] + row % windows.Size(1);
        const int64_t count = axis[0].Count(depth, outside) * axis[1].Count(height, outside);
        const LocalTensor<float> at = values[row * length];
        AscendC::Muls(at, at, 1.0f / static_cast<float>(count), length);
    }
    VectorBarrier();
}

// What kinds of one value per window share.
template <typename Op>
struct ValueWindow {
    static constexpr uint32_t kStates = 1;
    static constexpr uint32_t kLanes = 16;  // rows come in whole groups of so many elements
    static constexpr bool kFolds = true;    // elements may be joined in any order

    template <typename Tiling>
    __aicore__ inline void Init(const Tiling&, AscendC::TPipe*) {}
    // Join `count` rows of `length` elements into the first of them, by halves.
    __aicore__ inline static void Fold(const LocalTensor<float>& rows, uint32_t count,
                                       uint32_t length) {
        while (count > 1) {
            const uint32_t half = (count + 1) / 2;
            Op().Flat(rows, rows[half * length], (count - half) * length);
            VectorBarrier();
            count = half;
        }
    }
    // Join `count` rows of columns, of which every `step`-th is taken, to those of dst.
    __aicore__ inline void JoinColumns(const WindowState<1>& dst, const LocalTensor<float>& columns,
                                       int32_t, uint32_t length, uint32_t count, uint32_t step) {
        ForRows(dst.of[0], columns, length, count, length, step * length, Op());
        VectorBarrier();
    }
    template <typename Axis>
    __aicore__ inline void FinishColumns(const WindowState<1>&, const Axis&, int64_t, uint32_t,
                                         uint32_t) {}
    template <typename Axis, typename Range>
    __aicore__ inline void PlaceRows(const WindowState<1>&, const Axis*, const Range&, uint32_t) {}
    __aicore__ inline void JoinRows(const WindowState<1>& dst, const WindowState<1>& rows,
                                    uint32_t length, uint32_t count, uint32_t step) {
        ForRows(dst.of[0], rows.of[0], length, count, length, step * length, Op());
        VectorBarrier();
    }
    template <typename Axis, typename Range>
    __aicore__ inline void Finish(const LocalTensor<float>&, const Axis*, const Range&, uint32_t,
                                  uint32_t) {}
};

// The largest element; NaN where there is one.
struct MaxWindow : ValueWindow<MaxRows> {
    static constexpr float kIdentity = -kInf;
};

// The sum, divided by how many elements a window counts.
struct AverageWindow : ValueWindow<AddRows> {
    static constexpr float kIdentity = 0.0f;

    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, AscendC::TPipe* pipe) {
        share_ = tiling.share;
        countOutside_ = tiling.countOutside != 0;
        pipe->InitBuffer(sharesBuf_, Bytes<float>(tiling.sharesLength));
    }
    template <typename Axis, typename Range>
    __aicore__ inline void Finish(const LocalTensor<float>& sums, const Axis* axis,
                                  const Range& outputs, uint32_t planes, uint32_t pitch) {
        if (share_ != 0.0f) {
            const uint32_t rows = planes * outputs.Size(0) * outputs.Size(1);
            AscendC::Muls(sums, sums, share_, rows * pitch);
            VectorBarrier();
            return;
        }
        ShareByCounts(sums, sharesBuf_.template Get<float>(), axis, outputs, planes, pitch,
                      countOutside_);
    }

 private:
    AscendC::TBuf<AscendC::TPosition::VECCALC> sharesBuf_;
    float share_ = 0.0f;
    bool countOutside_ = false;
};

// The largest element and where it lies in its plane: the first of equal ones, the last NaN.
// Elements come from the last to the first.
struct MaxPosition {
    static constexpr uint32_t kStates = 2;
    static constexpr uint32_t kLanes = 64;  // comparisons work on whole repeats
    static constexpr bool kFolds = false;   // the first of equal elements counts
    static constexpr float kIdentity = -kInf;

    template <typename Tiling>
    __aicore__ inline void Init(const Tiling&, AscendC::TPipe* pipe) {
        pipe->InitBuffer(masksBuf_, kMasks * kMaskBytes);
    }
    // place: of these elements in their windows.
    __aicore__ inline void JoinColumns(const WindowState<2>& dst, const LocalTensor<float>& columns,
                                       int32_t place, uint32_t length, uint32_t count,
                                       uint32_t step) {
        ForParts(length, count, step, [&](uint32_t to, uint32_t from, uint32_t part) {
            const WindowState<2> at = dst.At(to);
            const LocalTensor<uint8_t> keeps = Keeps(at.of[0], columns[from], part);
            AscendC::Select(at.of[0], keeps, at.of[0], columns[from],
                            SELMODE::VSEL_TENSOR_TENSOR_MODE, part);
            AscendC::Select(at.of[1], keeps, at.of[1], static_cast<float>(place),
                            SELMODE::VSEL_TENSOR_SCALAR_MODE, part);
            VectorBarrier();
        });
    }
    // Turn places in windows into columns of the plane.
    template <typename Axis>
    __aicore__ inline void FinishColumns(const WindowState<2>& joined, const Axis& axis,
                                         int64_t first, uint32_t count, uint32_t lanes) {
        const LocalTensor<int32_t> places = joined.of[1].template ReinterpretCast<int32_t>();
        AscendC::Cast(places, joined.of[1], RoundMode::CAST_RINT, count * lanes);
        VectorBarrier();
        if (!axis.adaptive && axis.dilation > 1) {
            AscendC::Muls(places, places, static_cast<int32_t>(axis.dilation), count * lanes);
            VectorBarrier();
        }
        for (uint32_t i = 0; i < count; ++i) {
            AscendC::Adds(places[i * lanes], places[i * lanes],
                          static_cast<int32_t>(axis.Begin(first + i)), lanes);
        }
        VectorBarrier();
    }
    // Turn columns into positions in the plane.
    template <typename Axis, typename Range>
    __aicore__ inline void PlaceRows(const WindowState<2>& joined, const Axis* axis,
                                     const Range& inputs, uint32_t length) {
        const LocalTensor<int32_t> places = joined.of[1].template ReinterpretCast<int32_t>();
        for (uint32_t row = 0; row < inputs.Size(0) * inputs.Size(1); ++row) {
            const int64_t depth = inputs.first[0] + row / inputs.Size(1);
            const int64_t height = inputs.first[1] + row % inputs.Size(1);
            const int64_t before = (depth * axis[1].inputs + height) * axis[2].inputs;
            AscendC::Adds(places[row * length], places[row * length], static_cast<int32_t>(before),
                          length);
        }
        VectorBarrier();
    }
    __aicore__ inline void JoinRows(const WindowState<2>& dst, const WindowState<2>& rows,
                                    uint32_t length, uint32_t count, uint32_t step) {
        ForParts(length, count, step, [&](uint32_t to, uint32_t from, uint32_t part) {
            const WindowState<2> at = dst.At(to);
            const WindowState<2> row = rows.At(from);
            const LocalTensor<uint8_t> keeps = Keeps(at.of[0], row.of[0], part);
            for (uint32_t i = 0; i < kStates; ++i) {
                AscendC::Select(at.of[i], keeps, at.of[i], row.of[i],
                                SELMODE::VSEL_TENSOR_TENSOR_MODE, part);
            }
            VectorBarrier();
        });
    }
    template <typename Axis, typename Range>
    __aicore__ inline void Finish(const LocalTensor<float>&, const Axis*, const Range&, uint32_t,
                                  uint32_t) {}

 private:
    static constexpr uint32_t kMasks = 2;
    static constexpr uint32_t kMaskBytes = 512;
    static constexpr uint32_t kMostCompared = kMaskBytes * 8;

    // Calls join(offset in dst, offset in the rows, elements) for what masks hold of rows.
    template <typename Part>
    __aicore__ inline static void ForParts(uint32_t length, uint32_t count, uint32_t step,
                                           const Part& join) {
        const bool together = step == 1;
        const uint32_t rows = together ? 1 : count;
        const uint32_t run = together ? length * count : length;
        for (uint32_t row = 0; row < rows; ++row) {
            for (uint32_t done = 0; done < run; done += kMostCompared) {
                const uint32_t left = run - done;
                join(row * length + done, row * step * length + done,
                     left < kMostCompared ? left : kMostCompared);
            }
        }
    }
    // Where a value stays: it is larger than the element that comes, or NaN.
    __aicore__ inline LocalTensor<uint8_t> Keeps(const LocalTensor<float>& value,
                                                 const LocalTensor<float>& element,
                                                 uint32_t count) {
        const LocalTensor<uint8_t> larger =
            masksBuf_.template GetWithOffset<uint8_t>(kMaskBytes, 0);
        const LocalTensor<uint8_t> number =
            masksBuf_.template GetWithOffset<uint8_t>(kMaskBytes, kMaskBytes);
        const LocalTensor<uint16_t> largerBits = larger.template ReinterpretCast<uint16_t>();
        const LocalTensor<uint16_t> numberBits = number.template ReinterpretCast<uint16_t>();
        AscendC::Compare(larger, value, element, CMPMODE::GT, count);
        AscendC::Compare(number, value, value, CMPMODE::EQ, count);
        VectorBarrier();
        AscendC::Not(numberBits, numberBits, count / 16);
        VectorBarrier();
        AscendC::Or(largerBits, largerBits, numberBits, count / 16);
        VectorBarrier();
        return larger;
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> masksBuf_;
};

}  // namespace opgen

#endif  // OPGEN_WINDOW_KINDS_H
