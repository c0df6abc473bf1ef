// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The gradient of a depthwise convolution by its filters: for each element of a filter the sum of
// products of a plane and the gradient that arrives, a distance apart. Both lie side by side as in
// opgen/depthwise.h, eight planes in a block. Products are added to some slots of eight positions
// for each element of the filters, over all tiles of the images of a part; at its end slots and
// positions are added up.
#ifndef OPGEN_DEPTHWISE_FILTERS_H
#define OPGEN_DEPTHWISE_FILTERS_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/depthwise.h"
#include "opgen/tile.h"
#include "opgen/transposed_matrix.h"

namespace opgen {

// Elements of a filter along an axis that a tile takes at once, at most.
constexpr uint32_t kMostTaps = 64;

// The work of a core: for some filters of eight channels the images of a part.
struct FilterUnit {
    uint32_t filter = 0;  // of each channel
    uint32_t group = 0;   // of channels
    uint64_t part = 0;

    __aicore__ inline FilterUnit(uint64_t index, uint32_t filters, uint32_t groups) {
        filter = static_cast<uint32_t>(index % filters);
        group = static_cast<uint32_t>(index / filters % groups);
        part = index / filters / groups;
    }
};

// The sums of the filters of a unit in UB, and what they are made of.
class DepthwiseFilterSums {
 public:
    using Tiles = DepthwiseTiles<false>;

    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, AscendC::TPipe* pipe) {
        slots_ = tiling.slots;
        pipe->InitBuffer(rowsBuf_, Bytes<float>(tiling.rowsLength));
        pipe->InitBuffer(planesBuf_, Bytes<float>(tiling.loadLength));
        pipe->InitBuffer(gradientsBuf_, Bytes<float>(tiling.storeLength));
        pipe->InitBuffer(sumsBuf_, Bytes<float>(tiling.sumsLength));
        pipe->InitBuffer(resultsBuf_, Bytes<float>(tiling.tapsLength));
        pipe->InitBuffer(zerosBuf_, Bytes<float>(kSlot));
    }
    // Begin the sums of so many elements of the filters; careful: with the products of gradients
    // and the zeros around the planes, which are NaN for an infinity or NaN.
    __aicore__ inline void Start(uint32_t taps, bool careful) {
        careful_ = careful;
        AscendC::Duplicate(Sums(), 0.0f, taps * slots_ * kSlot);
        AscendC::Duplicate(zerosBuf_.template Get<float>(), 0.0f, kSlot);
        VectorBarrier();
    }
    template <typename T>
    __aicore__ inline void TakePlanes(const LocalTensor<T>& planes, const Tiles& tiles) {
        TurnPlanes(planesBuf_.template Get<float>(), planes, rowsBuf_.template Get<float>(),
                   tiles.planes, tiles.inputs.pitch);
    }
    template <typename T>
    __aicore__ inline void TakeGradients(const LocalTensor<T>& gradients, const Tiles& tiles) {
        const LocalTensor<float> turned = gradientsBuf_.template Get<float>();
        const LocalTensor<float> rows = rowsBuf_.template Get<float>();
        TurnPlanes(turned, gradients, rows, tiles.planes, tiles.outputs.pitch);
        if (tiles.outside && !careful_) {
            NoteInfinite(turned, rows, tiles.outputs.pitch * kLanePlanes);
        }
    }
    // Whether all gradients were finite numbers of tiles whose positions read beyond the planes; if
    // not, the sums have to be made again with care.
    __aicore__ inline bool IsFinite() {
        const LocalTensor<float> sum = resultsBuf_.template Get<float>();
        AscendC::ReduceSum(sum, zerosBuf_.template Get<float>(), sum[kSlot],
                           static_cast<int32_t>(kSlot));
        VectorBarrier();
        return FirstElement(sum) == 0.0f;
    }
    // Add the products of a tile for these elements of the filters.
    __aicore__ inline void Multiply(const Tiles& tiles) {
        for (uint32_t axis = 0; axis < kDepthwiseAxes; ++axis) {
            for (uint32_t tap = 0; tap < tiles.taps[axis]; ++tap) {
                parts_[axis][tap] = tiles.PartOf(axis, tap);
            }
        }
        if (careful_ && tiles.outside) {
            AddOutside(tiles);
        }
        const uint32_t rows = tiles.outputs.size[1];
        const uint32_t columns = tiles.outputs.size[2];
        const uint32_t step = tiles.stride[2];
        const uint32_t next = tiles.stride[1] * tiles.inputs.row;
        // Positions of a slot: those that are too far apart are taken one by one.
        group_ = step * kAtOnce <= kMaxRepeat ? kAtOnce : 1;
        const uint32_t groups = (columns + group_ - 1) / group_;
        const bool apart = next <= kMaxRepeat && tiles.outputs.row <= kMaxRepeat;
        for (uint32_t depth = 0; depth < tiles.outputs.size[0]; ++depth) {
            if (apart && (rows >= groups || group_ == 1)) {
                for (uint32_t row = 0; row < rows; row += slots_) {
                    for (uint32_t i = 0; i < groups; ++i) {
                        AddDown(tiles, depth, row, i * group_);
                    }
                }
            } else {
                const uint32_t most = group_ > 1 || step <= kMaxRepeat ? slots_ : 1;
                for (uint32_t row = 0; row < rows; ++row) {
                    for (uint32_t i = 0; i < groups; i += most) {
                        AddAlong(tiles, depth, row, i * group_, most);
                    }
                }
            }
        }
    }
    // Write the sums, one filter after another.
    __aicore__ inline void Finish(const LocalTensor<float>& results, uint32_t taps) {
        const LocalTensor<float> sums = Sums();
        for (uint32_t left = slots_; left > 1;) {
            const uint32_t half = left / 2;
            left -= half;
            AddTo(taps, left * kSlot, half * kSlot);
        }
        for (uint32_t lanes = kSlot; lanes > kLanePlanes; lanes /= 2) {
            AddTo(taps, lanes / 2, lanes / 2);
        }
        const uint32_t pitch = FilterPitch(taps);
        const LocalTensor<float> dense = resultsBuf_.template Get<float>();
        if (pitch > taps) {
            AscendC::Duplicate(dense, 0.0f, pitch * kLanePlanes);
            VectorBarrier();
        }
        AscendC::DataCopyParams blocks;
        blocks.blockCount = static_cast<uint16_t>(taps);
        blocks.blockLen = 1;
        blocks.srcStride = static_cast<uint16_t>(slots_ * kSlot / kLanePlanes - 1);
        AscendC::DataCopy(dense, sums, blocks);
        VectorBarrier();
        TransposeMatrix(results, dense, pitch, kLanePlanes, pitch);
        VectorBarrier();  // the next unit overwrites sums
    }
    // Elements from a filter in UB to the next.
    __aicore__ inline static uint32_t FilterPitch(uint32_t taps) {
        constexpr uint32_t kRows = 16;  // of a transposition
        return (taps + kRows - 1) / kRows * kRows;
    }

 private:
    static constexpr uint32_t kAtOnce = kRepeatBytes / kBlockBytes;  // positions of a slot
    static constexpr uint32_t kSlot = kAtOnce * kLanePlanes;
    static constexpr uint32_t kMaxRepeat = 255;

    __aicore__ inline LocalTensor<float> Sums() { return sumsBuf_.template Get<float>(); }

    // Add what lies `from` behind the beginning of the sums of each element of the filters to
    // these.
    __aicore__ inline void AddTo(uint32_t taps, uint32_t from, uint32_t count) {
        for (uint32_t tap = 0; tap < taps; ++tap) {
            const LocalTensor<float> sums = Sums()[tap * slots_ * kSlot];
            AscendC::Add(sums, sums, sums[from], count);
        }
        VectorBarrier();
    }
    // Calls add(element of the filters, its rows, its columns, first element of its depth) for all
    // elements that meet a depth of the tile.
    template <typename Add>
    __aicore__ inline void ForTaps(const Tiles& tiles, uint32_t depth, const Add& add) {
        uint32_t tap = 0;
        for (uint32_t d = 0; d < tiles.taps[0]; ++d) {
            const AxisPart& depths = parts_[0][d];
            if (!depths.Has(depth)) {
                tap += tiles.taps[1] * tiles.taps[2];
                continue;
            }
            const uint32_t at = depths.element + (depth - depths.first) * tiles.stride[0];
            for (uint32_t h = 0; h < tiles.taps[1]; ++h) {
                for (uint32_t w = 0; w < tiles.taps[2]; ++w, ++tap) {
                    add(tap, parts_[1][h], parts_[2][w], at * tiles.inputs.depth);
                }
            }
        }
        VectorBarrier();
    }
    // Add the products of the same columns of rows that follow one another, a row to a slot.
    __aicore__ inline void AddDown(const Tiles& tiles, uint32_t depth, uint32_t first,
                                   uint32_t column) {
        const uint32_t behind = first + slots_;
        const uint8_t blocks = static_cast<uint8_t>(group_ > 1 ? tiles.stride[2] : 1);
        const uint8_t next = static_cast<uint8_t>(tiles.stride[1] * tiles.inputs.row);
        const uint8_t pitch = static_cast<uint8_t>(tiles.outputs.row);
        ForTaps(tiles, depth,
                [&](uint32_t tap, const AxisPart& rows, const AxisPart& columns, uint32_t element) {
                    const uint32_t low = rows.first > first ? rows.first : first;
                    const uint32_t end = rows.first + rows.count;
                    const uint32_t high = end < behind ? end : behind;
                    if (low >= high || column >= columns.count) {
                        return;
                    }
                    const uint32_t left = columns.count - column;
                    const uint32_t met = rows.element + (low - rows.first) * tiles.stride[1];
                    const uint32_t from = element + met * tiles.inputs.row + columns.element +
                                          column * tiles.stride[2];
                    const uint32_t of = depth * tiles.outputs.depth + low * tiles.outputs.row +
                                        columns.first + column;
                    AddProducts(tap, low - first, from, of, left < group_ ? left : group_,
                                high - low, {1, blocks, 1, kAtOnce, next, pitch});
                });
    }
    // Add the products of columns of a row that follow one another, some of them to a slot.
    __aicore__ inline void AddAlong(const Tiles& tiles, uint32_t depth, uint32_t row,
                                    uint32_t column, uint32_t slots) {
        const uint32_t step = tiles.stride[2];
        const uint8_t blocks = static_cast<uint8_t>(group_ > 1 ? step : 1);
        const uint8_t next = static_cast<uint8_t>(slots > 1 ? group_ * step : 0);
        ForTaps(tiles, depth,
                [&](uint32_t tap, const AxisPart& rows, const AxisPart& columns, uint32_t element) {
                    if (!rows.Has(row) || column >= columns.count) {
                        return;
                    }
                    const uint32_t met = rows.element + (row - rows.first) * tiles.stride[1];
                    const uint32_t from =
                        element + met * tiles.inputs.row + columns.element + column * step;
                    const uint32_t of = depth * tiles.outputs.depth + row * tiles.outputs.row +
                                        columns.first + column;
                    const uint32_t left = columns.count - column;
                    const uint32_t whole = left / group_ < slots ? left / group_ : slots;
                    const uint8_t nextOf = static_cast<uint8_t>(group_);
                    if (whole > 0) {
                        AddProducts(tap, 0, from, of, group_, whole,
                                    {1, blocks, 1, kAtOnce, next, nextOf});
                    }
                    if (whole < slots && left > whole * group_) {
                        AddProducts(tap, whole, from + whole * group_ * step, of + whole * group_,
                                    left - whole * group_, 1,
                                    {1, blocks, 1, kAtOnce, next, nextOf});
                    }
                });
    }
    // Add zeros times `count` gradients to sums of such products, which show an infinity or NaN.
    __aicore__ inline void NoteInfinite(const LocalTensor<float>& gradients,
                                        const LocalTensor<float>& rows, uint32_t count) {
        AscendC::Muls(rows, gradients, 0.0f, count);
        VectorBarrier();
        uint32_t left = count;
        while (left > kSlot) {
            const uint32_t half = left / 2 / kLanePlanes * kLanePlanes;
            left -= half;
            AscendC::Add(rows, rows, rows[left], half);
            VectorBarrier();
        }
        const LocalTensor<float> zeros = zerosBuf_.template Get<float>();
        AscendC::Add(zeros, zeros, rows, left);
        VectorBarrier();
    }
    // Add the products of zeros and the gradients whose element of the planes lies outside.
    __aicore__ inline void AddOutside(const Tiles& tiles) {
        const PlaneBox& box = tiles.outputs;
        uint32_t tap = 0;
        for (uint32_t d = 0; d < tiles.taps[0]; ++d) {
            for (uint32_t h = 0; h < tiles.taps[1]; ++h) {
                for (uint32_t w = 0; w < tiles.taps[2]; ++w, ++tap) {
                    const AxisPart& columns = parts_[2][w];
                    for (uint32_t i = 0; i < box.size[0] * box.size[1]; ++i) {
                        const uint32_t depth = i / box.size[1];
                        const uint32_t row = i % box.size[1];
                        const bool inside =
                            parts_[0][d].Has(depth) && parts_[1][h].Has(row) && columns.count > 0;
                        const uint32_t before = inside ? columns.first : box.size[2];
                        const uint32_t behind = inside ? columns.first + columns.count : before;
                        const uint32_t at = depth * box.depth + row * box.row;
                        AddZeros(tap, at, before);
                        AddZeros(tap, at + behind, box.size[2] - behind);
                    }
                }
            }
        }
    }
    // Add the products of zeros and the gradients of `count` positions that lie together.
    __aicore__ inline void AddZeros(uint32_t tap, uint32_t at, uint32_t count) {
        const LocalTensor<float> gradients = gradientsBuf_.template Get<float>();
        const LocalTensor<float> sums = Sums()[tap * slots_ * kSlot];
        const LocalTensor<float> zeros = resultsBuf_.template Get<float>();
        for (uint32_t done = 0; done < count; done += kAtOnce) {
            const uint32_t left = count - done;
            const uint32_t lanes = (left < kAtOnce ? left : kAtOnce) * kLanePlanes;
            AscendC::Muls(zeros, gradients[(at + done) * kLanePlanes], 0.0f, lanes);
            VectorBarrier();
            AscendC::Add(sums, sums, zeros, lanes);
            VectorBarrier();
        }
    }
    // One instruction: `count` positions to each of `repeat` slots.
    __aicore__ inline void AddProducts(uint32_t tap, uint32_t slot, uint32_t element, uint32_t of,
                                       uint32_t count, uint32_t repeat,
                                       const AscendC::BinaryRepeatParams& strides) {
        AscendC::MulAddDst(Sums()[(tap * slots_ + slot) * kSlot],
                           planesBuf_.template Get<float>()[element * kLanePlanes],
                           gradientsBuf_.template Get<float>()[of * kLanePlanes],
                           static_cast<uint64_t>(count * kLanePlanes), static_cast<uint8_t>(repeat),
                           strides);
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> rowsBuf_;       // planes or filters, one by one
    AscendC::TBuf<AscendC::TPosition::VECCALC> planesBuf_;     // side by side
    AscendC::TBuf<AscendC::TPosition::VECCALC> gradientsBuf_;  // side by side
    AscendC::TBuf<AscendC::TPosition::VECCALC> sumsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> resultsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> zerosBuf_;  // sums of zeros times the gradients
    AxisPart parts_[kDepthwiseAxes][kMostTaps];
    uint32_t slots_ = 1;
    uint32_t group_ = 1;
    bool careful_ = false;
};

// Copy the filters of a unit to GM: `count` elements of each, from `first` on.
__aicore__ inline void StoreFilters(const GlobalTensor<float>& gm, const LocalTensor<float>& tile,
                                    const DepthwiseTiles<false>& tiles, const FilterUnit& unit) {
    const uint32_t count = tiles.Taps();
    const uint32_t all = tiles.AllTaps();
    const uint64_t channel = unit.part * tiles.channels + unit.group * kLanePlanes;
    const uint64_t to = (channel * tiles.filters + unit.filter) * all + tiles.FirstTap();
    AscendC::DataCopyExtParams runs{static_cast<uint16_t>(tiles.planes), Bytes<float>(count), 0, 0,
                                    0};
    const uint32_t pitch = DepthwiseFilterSums::FilterPitch(count);
    runs.srcStride = Bytes<float>(pitch - AlignElements<float>(count)) / kBlockBytes;
    runs.dstStride = Bytes<float>(tiles.filters * all - count);
    AscendC::DataCopyPad(gm[to], tile, runs);
}

}  // namespace opgen

#endif  // OPGEN_DEPTHWISE_FILTERS_H
