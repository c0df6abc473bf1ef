// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolutions on the vector cores: every channel has filters of its own, so there is no
// product of matrices for the cube. Eight planes, a channel of an image each, lie side by side in
// UB: a block holds one position of all of them. So positions are blocks, which an instruction
// reads any number of blocks apart, and an element of the filters is one block that is the same for
// all positions. Positions whose element lies outside a plane are left out, but where a zero times
// that element of the filters would be NaN.
//
// The gradient by the input goes the other way: its planes are those of the gradient that arrives,
// and sums are as far apart as the steps of the convolution. All filters of a channel are summed
// up.
#ifndef OPGEN_DEPTHWISE_H
#define OPGEN_DEPTHWISE_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/tile.h"
#include "opgen/transposed_matrix.h"

namespace opgen {

constexpr uint32_t kDepthwiseAxes = 3;  // depth, height, width
constexpr uint32_t kLanePlanes = kBlockBytes / sizeof(float);

// Places in the list of steps of a tensor of planes.
constexpr uint32_t kImageStep = 0, kChannelStep = 1, kDepthStep = 2, kLineStep = 3;
constexpr uint32_t kOffset = 4, kFilterStep = 5, kSteps = 6;

// A range of each plane of a tile, and how its rows lie in UB.
struct PlaneBox {
    int64_t first[kDepthwiseAxes] = {};
    uint32_t size[kDepthwiseAxes] = {};
    bool joined = false;  // rows follow one another, as in memory
    uint32_t row = 0;     // elements from a row to the next
    uint32_t depth = 0;   // from a depth to the next
    uint32_t pitch = 0;   // from a plane to the next

    __aicore__ inline bool Empty() const { return size[0] == 0 || size[1] == 0 || size[2] == 0; }
    // whole: whether the rows in memory have no elements between them; unit: elements that what is
    // copied begins at a multiple of.
    __aicore__ inline void Place(bool whole, uint32_t unit) {
        joined = whole;
        row = whole ? size[2] : Up(size[2], unit);
        depth = Up(size[1] * row, unit);
        pitch = size[0] * depth;
    }

 private:
    __aicore__ inline static uint32_t Up(uint32_t count, uint32_t unit) {
        return (count + unit - 1) / unit * unit;
    }
};

// Some positions of a tile along an axis, and what the first of them reads.
struct AxisPart {
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t element = 0;

    __aicore__ inline bool Has(uint32_t position) const {
        return position >= first && position - first < count;
    }
};

// The planes of a call, its tiles, and the elements of the filters that a tile goes through at
// once.
template <bool kGradient>
class DepthwiseTiles {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, uint32_t inputUnit,
                                uint32_t resultUnit = kResultUnit) {
        for (uint32_t i = 0; i < kDepthwiseAxes; ++i) {
            inputSizes[i] = tiling.inputSizes[i];
            outputSizes[i] = tiling.outputSizes[i];
            window[i] = tiling.windowSizes[i];
            stride[i] = tiling.strides[i];
            dilation[i] = tiling.dilations[i];
            padding_[i] = tiling.paddings[i];
            tileOutputs_[i] = tiling.tileOutputs[i];
            tileTaps_[i] = tiling.tileTaps[i];
            tilesOf_[i] = (outputSizes[i] + tileOutputs_[i] - 1) / tileOutputs_[i];
            chunksOf_[i] = (window[i] + tileTaps_[i] - 1) / tileTaps_[i];
        }
        for (uint32_t i = 0; i < kSteps; ++i) {
            steps[i] = tiling.inputSteps[i];
        }
        channels = tiling.channels;
        filters = tiling.filters;
        allPlanes_ = tiling.planes;
        inputUnit_ = inputUnit;
        resultUnit_ = resultUnit;
    }
    // Tiles of eight planes.
    __aicore__ inline uint64_t TilesOfPlanes() const {
        return static_cast<uint64_t>(tilesOf_[0]) * tilesOf_[1] * tilesOf_[2];
    }
    __aicore__ inline uint64_t Count() const {
        return (allPlanes_ + kLanePlanes - 1) / kLanePlanes * TilesOfPlanes();
    }
    // Go to a tile: planes that follow one another, and positions of theirs.
    __aicore__ inline void Seek(uint64_t tile) {
        SeekOutputs(tile);
        plane = tile / TilesOfPlanes() * kLanePlanes;
        const uint64_t left = allPlanes_ - plane;
        planes = static_cast<uint32_t>(left < kLanePlanes ? left : kLanePlanes);
    }
    // Go to a tile of a group of channels of one image.
    __aicore__ inline void SeekIn(uint64_t image, uint32_t group, uint64_t tile) {
        SeekOutputs(tile);
        plane = image * channels + group * kLanePlanes;
        const uint32_t left = channels - group * kLanePlanes;
        planes = left < kLanePlanes ? left : kLanePlanes;
    }
    __aicore__ inline uint32_t Chunks() const { return chunksOf_[0] * chunksOf_[1] * chunksOf_[2]; }
    // Go to a part of the filters' elements, and to the elements of the planes that they meet.
    __aicore__ inline void SeekTaps(uint32_t chunk) {
        uint32_t index = chunk;
        outside = false;
        for (uint32_t i = kDepthwiseAxes; i > 0; --i) {
            const uint32_t a = i - 1;
            const uint32_t first = index % chunksOf_[a] * tileTaps_[a];
            index /= chunksOf_[a];
            const uint32_t left = window[a] - first;
            firstTap[a] = first;
            taps[a] = left < tileTaps_[a] ? left : tileTaps_[a];
            SeekInputs(a);
        }
        inputs.Place(inputs.size[2] == inputSizes[2] && steps[kLineStep] == inputSizes[2],
                     inputUnit_);
    }
    // The first element of the filters of this part, and how many there are.
    __aicore__ inline uint32_t FirstTap() const {
        return (firstTap[0] * window[1] + firstTap[1]) * window[2] + firstTap[2];
    }
    __aicore__ inline uint32_t Taps() const { return taps[0] * taps[1] * taps[2]; }
    __aicore__ inline uint32_t AllTaps() const { return window[0] * window[1] * window[2]; }
    // Whether other elements of filters are needed than those that were taken before, which tiles
    // of the same planes share; notes that they are.
    __aicore__ inline bool OtherFilters(uint32_t filter) {
        const uint64_t of = (plane * filters + filter) * AllTaps() + FirstTap();
        const bool other = of != taken_;
        taken_ = of;
        return other;
    }
    // Calls part(first lane, lanes, image, channel) for planes of the tile that one image has.
    template <typename Part>
    __aicore__ inline void ForImages(const Part& part) const {
        for (uint32_t lane = 0; lane < planes;) {
            const uint64_t image = (plane + lane) / channels;
            const uint32_t channel = static_cast<uint32_t>((plane + lane) % channels);
            const uint32_t left = planes - lane;
            const uint32_t lanes = channels - channel < left ? channels - channel : left;
            part(lane, lanes, image, channel);
            lane += lanes;
        }
    }
    // The positions of the tile along an axis whose element number `tap` of the filters lies in the
    // planes in UB, counted from the tile's first; and the element of the first one, from theirs.
    __aicore__ inline AxisPart PartOf(uint32_t axis, uint32_t tap) const {
        const int64_t shift =
            static_cast<int64_t>(firstTap[axis] + tap) * dilation[axis] - padding_[axis];
        const PlaneBox& stepped = kGradient ? inputs : outputs;
        const PlaneBox& dense = kGradient ? outputs : inputs;
        // Position p of the one meets p * step + shift of the other.
        const int64_t step = stride[axis];
        const int64_t begin = stepped.first[axis];
        const int64_t low = RoundUp(dense.first[axis] - shift, step);
        const int64_t high = RoundUp(dense.first[axis] + dense.size[axis] - shift, step);
        const int64_t first = low > begin ? low : begin;
        const int64_t last = high < begin + stepped.size[axis] ? high : begin + stepped.size[axis];
        const uint32_t position = static_cast<uint32_t>(first - begin);
        const uint32_t met = static_cast<uint32_t>(first * step + shift - dense.first[axis]);
        AxisPart part;
        part.first = kGradient ? met : position;
        part.count = last > first ? static_cast<uint32_t>(last - first) : 0;
        part.element = kGradient ? position : met;
        return part;
    }
    // Positions from a sum of such a part to the next, and elements from what one reads to what the
    // next does.
    __aicore__ inline uint32_t SumStep(uint32_t axis) const { return kGradient ? stride[axis] : 1; }
    __aicore__ inline uint32_t ElementStep(uint32_t axis) const {
        return kGradient ? 1 : stride[axis];
    }

    uint32_t inputSizes[kDepthwiseAxes] = {};
    uint32_t outputSizes[kDepthwiseAxes] = {};
    uint32_t window[kDepthwiseAxes] = {};
    uint32_t stride[kDepthwiseAxes] = {};
    uint32_t dilation[kDepthwiseAxes] = {};
    int64_t steps[kSteps] = {};  // of the input
    uint32_t channels = 1;
    uint32_t filters = 1;                    // of a channel
    uint64_t plane = 0;                      // the first one of the tile
    uint32_t planes = 0;                     // of the tile
    PlaneBox outputs;                        // of the tile
    PlaneBox inputs;                         // what there is of what they read
    bool outside = false;                    // whether they read more than that
    uint32_t firstTap[kDepthwiseAxes] = {};  // elements of the filters
    uint32_t taps[kDepthwiseAxes] = {};

 private:
    // Rows of a transposition.
    static constexpr uint32_t kResultUnit = 16;

    __aicore__ inline void SeekOutputs(uint64_t tile) {
        uint64_t index = tile;
        for (uint32_t i = kDepthwiseAxes; i > 0; --i) {
            const uint32_t a = i - 1;
            const uint32_t first = static_cast<uint32_t>(index % tilesOf_[a]) * tileOutputs_[a];
            index /= tilesOf_[a];
            const uint32_t left = outputSizes[a] - first;
            outputs.first[a] = first;
            outputs.size[a] = left < tileOutputs_[a] ? left : tileOutputs_[a];
        }
        outputs.Place(outputs.size[2] == outputSizes[2], resultUnit_);
    }
    // A quotient that is rounded up; below 0 it counts as 0.
    __aicore__ inline static int64_t RoundUp(int64_t count, int64_t step) {
        return count > 0 ? (count + step - 1) / step : 0;
    }
    // The elements along an axis that the positions of the tile meet by this part of the filters.
    __aicore__ inline void SeekInputs(uint32_t axis) {
        const int64_t first = outputs.first[axis];
        const int64_t last = first + outputs.size[axis] - 1;
        const int64_t low = static_cast<int64_t>(firstTap[axis]) * dilation[axis] - padding_[axis];
        const int64_t high = low + static_cast<int64_t>(taps[axis] - 1) * dilation[axis];
        const int64_t step = stride[axis];
        const int64_t begin = kGradient ? RoundUp(first - high, step) : first * step + low;
        const int64_t end = kGradient ? RoundUp(last - low + 1, step) : last * step + high + 1;
        const int64_t from = begin > 0 ? begin : 0;
        const int64_t to = end < inputSizes[axis] ? end : inputSizes[axis];
        inputs.first[axis] = from;
        inputs.size[axis] = to > from ? static_cast<uint32_t>(to - from) : 0;
        outside = outside || from > begin || to < end;
    }

    int64_t padding_[kDepthwiseAxes] = {};
    uint32_t tileOutputs_[kDepthwiseAxes] = {};
    uint32_t tileTaps_[kDepthwiseAxes] = {};
    uint32_t tilesOf_[kDepthwiseAxes] = {};
    uint32_t chunksOf_[kDepthwiseAxes] = {};
    uint64_t allPlanes_ = 0;
    uint64_t taken_ = 0xFFFFFFFFFFFFFFFF;
    uint32_t inputUnit_ = 1;
    uint32_t resultUnit_ = 1;
};

// Copy runs of `length` elements to UB, `step` apart in memory and `pitch`, whole blocks, in UB.
template <typename T>
__aicore__ inline void LoadRuns(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                uint32_t count, uint32_t length, int64_t step, uint32_t pitch) {
    constexpr int64_t kMostBytes = 0xFFFFFFFF;
    const uint32_t wide = AlignElements<T>(length);
    const AscendC::DataCopyPadExtParams<T> pad{wide > length, 0,
                                               static_cast<uint8_t>(wide - length), T(0)};
    const int64_t gap = (step - length) * static_cast<int64_t>(sizeof(T));
    AscendC::DataCopyExtParams runs{1, Bytes<T>(length), 0, 0, 0};
    if (count == 1 || gap < 0 || gap > kMostBytes) {
        for (uint32_t i = 0; i < count; ++i) {
            AscendC::DataCopyPad(tile[i * pitch], gm[static_cast<uint64_t>(i * step)], runs, pad);
        }
        return;
    }
    runs.blockCount = static_cast<uint16_t>(count);
    runs.srcStride = static_cast<uint32_t>(gap);
    runs.dstStride = Bytes<T>(pitch - wide) / kBlockBytes;
    AscendC::DataCopyPad(tile, gm, runs, pad);
}

// Copy a box of the planes of a tile to UB. steps: elements between images, channels, depths and
// lines, the first element, and elements between the planes of one channel, of which this is number
// `filter`.
template <typename T, typename Tiles>
__aicore__ inline void LoadPlaneBox(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                    const Tiles& tiles, const PlaneBox& box, const int64_t* steps,
                                    uint32_t filter) {
    tiles.ForImages([&](uint32_t lane, uint32_t lanes, uint64_t image, uint32_t channel) {
        const int64_t first = steps[kOffset] + filter * steps[kFilterStep] +
                              static_cast<int64_t>(image) * steps[kImageStep] +
                              channel * steps[kChannelStep] + box.first[1] * steps[kLineStep] +
                              box.first[2];
        for (uint32_t depth = 0; depth < box.size[0]; ++depth) {
            const int64_t from = first + (box.first[0] + depth) * steps[kDepthStep];
            const LocalTensor<T> to = tile[lane * box.pitch + depth * box.depth];
            if (box.joined) {
                LoadRuns(to, gm[static_cast<uint64_t>(from)], lanes, box.size[1] * box.size[2],
                         steps[kChannelStep], box.pitch);
                continue;
            }
            for (uint32_t i = 0; i < lanes; ++i) {
                const int64_t line = from + i * steps[kChannelStep];
                LoadRuns(to[i * box.pitch], gm[static_cast<uint64_t>(line)], box.size[1],
                         box.size[2], steps[kLineStep], box.row);
            }
        }
    });
}

// Copy what there is of the planes to UB; filter: number of the filter of a channel, of which a
// gradient has a plane each.
template <typename T, typename Tiles>
__aicore__ inline void LoadPlanes(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                  const Tiles& tiles, uint32_t filter) {
    LoadPlaneBox(tile, gm, tiles, tiles.inputs, tiles.steps, filter);
}

// Copy the gradients of the positions of a tile to UB, which arrive for the filters number `filter`
// of the channels.
template <typename T, typename Tiles>
__aicore__ inline void LoadGradients(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                     const Tiles& tiles, uint32_t filter) {
    const uint32_t* sizes = tiles.outputSizes;
    const int64_t line = sizes[2];
    const int64_t depth = line * sizes[1];
    const int64_t plane = depth * sizes[0];
    const int64_t channel = plane * tiles.filters;
    const int64_t steps[] = {channel * tiles.channels, channel, depth, line, 0, plane};
    LoadPlaneBox(tile, gm, tiles, tiles.outputs, steps, filter);
}

// Copy `count` numbers per filter to UB, `all` of which lie together, from the number `first` on:
// of the filters number `filter` of the channels of a tile.
template <typename T, typename Tiles>
__aicore__ inline void LoadFilters(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                   const Tiles& tiles, uint32_t filter, uint32_t first,
                                   uint32_t count, uint32_t all) {
    const uint32_t pitch = AlignElements<T>(count);
    const int64_t step = static_cast<int64_t>(tiles.filters) * all;
    tiles.ForImages([&](uint32_t lane, uint32_t lanes, uint64_t, uint32_t channel) {
        const int64_t from = channel * step + static_cast<int64_t>(filter) * all + first;
        LoadRuns(tile[lane * pitch], gm[static_cast<uint64_t>(from)], lanes, count, step, pitch);
    });
}

// Copy the results number `number` of the channels of a tile, each of which has `results`, to GM.
template <typename T, typename Tiles>
__aicore__ inline void StorePlanes(const GlobalTensor<T>& gm, const LocalTensor<T>& tile,
                                   const Tiles& tiles, uint32_t number, uint32_t results) {
    const PlaneBox& box = tiles.outputs;
    const uint32_t* sizes = tiles.outputSizes;
    const int64_t planeSize = static_cast<int64_t>(sizes[0]) * sizes[1] * sizes[2];
    for (uint32_t lane = 0; lane < tiles.planes; ++lane) {
        const int64_t plane = static_cast<int64_t>(tiles.plane + lane) * results + number;
        for (uint32_t depth = 0; depth < box.size[0]; ++depth) {
            const int64_t line = (box.first[0] + depth) * sizes[1] + box.first[1];
            const int64_t to = plane * planeSize + line * sizes[2] + box.first[2];
            AscendC::DataCopyExtParams rows{1, Bytes<T>(box.size[1] * box.size[2]), 0, 0, 0};
            if (!box.joined) {
                rows.blockCount = static_cast<uint16_t>(box.size[1]);
                rows.blockLen = Bytes<T>(box.size[2]);
                rows.srcStride = Bytes<T>(box.row - AlignElements<T>(box.size[2])) / kBlockBytes;
                rows.dstStride = Bytes<T>(sizes[2] - box.size[2]);
            }
            AscendC::DataCopyPad(gm[static_cast<uint64_t>(to)],
                                 tile[lane * box.pitch + depth * box.depth], rows);
        }
    }
}

// Bring planes side by side: element i of plane p, at p * pitch + i of src, is written at
// i * kLanePlanes + p of dst. pitch: a multiple of a block; dst has room for twice as many. Lanes
// behind the last plane repeat it.
__aicore__ inline void SideBySide(const LocalTensor<float>& dst, const LocalTensor<float>& src,
                                  uint32_t planes, uint32_t pitch) {
    constexpr uint32_t kBlock = kLanePlanes;
    constexpr uint32_t kRows = 2 * kBlock;  // of an instruction: two blocks of each plane
    constexpr uint32_t kMaxRepeat = 255;
    for (uint32_t first = 0; first < pitch;) {
        const uint32_t pairs = (pitch - first) / kRows;
        const uint32_t repeat = pairs > kMaxRepeat ? kMaxRepeat : (pairs > 0 ? pairs : 1);
        const uint32_t second = pairs > 0 ? kBlock : 0;  // the last block stands for two
        uint64_t from[kRows];
        uint64_t to[kRows];
        for (uint32_t i = 0; i < kBlock; ++i) {
            const uint32_t plane = i < planes ? i : planes - 1;
            const LocalTensor<float> row = src[plane * pitch + first];
            from[i] = reinterpret_cast<uint64_t>(row.GetPhyAddr());
            from[kBlock + i] = reinterpret_cast<uint64_t>(row[second].GetPhyAddr());
            const LocalTensor<float> column = dst[(first + i) * kLanePlanes];
            to[2 * i] = reinterpret_cast<uint64_t>(column.GetPhyAddr());
            to[2 * i + 1] = reinterpret_cast<uint64_t>(column[kBlock * kLanePlanes].GetPhyAddr());
        }
        const AscendC::TransDataTo5HDParams repeats(false, false, static_cast<uint8_t>(repeat),
                                                    repeat > 1 ? kRows : 0,
                                                    repeat > 1 ? kRows / kBlock : 0);
        AscendC::TransDataTo5HD<float>(to, from, repeats);
        first += repeat * kRows;
    }
}

// The same for planes of any type, in float. rows: room for them where they are no floats.
template <typename T>
__aicore__ inline void TurnPlanes(const LocalTensor<float>& dst, const LocalTensor<T>& src,
                                  const LocalTensor<float>& rows, uint32_t planes, uint32_t pitch) {
    if constexpr (Same<T, float>::value) {
        SideBySide(dst, src, planes, pitch);
    } else {
        Widen(rows, src, planes * pitch);
        VectorBarrier();
        SideBySide(dst, rows, planes, pitch);
    }
    VectorBarrier();
}

// The sums of a tile in UB, and what they are made of, positions of all planes side by side.
template <bool kGradient>
class DepthwiseSums {
 public:
    using Tiles = DepthwiseTiles<kGradient>;

    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, AscendC::TPipe* pipe) {
        pipe->InitBuffer(rowsBuf_, Bytes<float>(tiling.rowsLength));
        pipe->InitBuffer(planesBuf_, Bytes<float>(tiling.loadLength));
        pipe->InitBuffer(sumsBuf_, Bytes<float>(tiling.storeLength));
        pipe->InitBuffer(tapsBuf_, Bytes<float>(tiling.tapsLength));
        pipe->InitBuffer(biasBuf_, Bytes<float>(kBiasLength));
    }
    // Take the filters of the planes, `count` numbers each.
    template <typename T>
    __aicore__ inline void TakeTaps(const LocalTensor<T>& numbers, uint32_t planes,
                                    uint32_t count) {
        constexpr uint32_t kLanes = kRepeatBytes / sizeof(float);
        const LocalTensor<float> taps = tapsBuf_.template Get<float>();
        TurnPlanes(taps, numbers, rowsBuf_.template Get<float>(), planes, AlignElements<T>(count));
        // A zero times an infinity or NaN is NaN, which the sum of all such products shows.
        const uint32_t length = count * kLanePlanes;
        const LocalTensor<float> zeros = rowsBuf_.template Get<float>();
        const LocalTensor<float> sum = zeros[length > kLanes ? length : kLanes];
        AscendC::Muls(zeros, taps, 0.0f, length);
        VectorBarrier();
        AscendC::ReduceSum(sum, zeros, sum[kLanes], static_cast<int32_t>(length));
        VectorBarrier();
        finite_ = FirstElement(sum) == 0.0f;
    }
    // Take a number per plane, which sums start with.
    template <typename T>
    __aicore__ inline void TakeBias(const LocalTensor<T>& numbers, uint32_t planes) {
        TurnPlanes(biasBuf_.template Get<float>(), numbers, rowsBuf_.template Get<float>(), planes,
                   AlignElements<T>(1));
    }
    // Begin the sums of a tile: with the bias, or with 0.
    __aicore__ inline void Start(const Tiles& tiles, bool biased) {
        const uint32_t count = tiles.outputs.pitch;
        const LocalTensor<float> sums = sumsBuf_.template Get<float>();
        if (!biased) {
            AscendC::Duplicate(sums, 0.0f, count * kLanePlanes);
        } else {
            const LocalTensor<float> bias = biasBuf_.template Get<float>();
            ForRepeats(count, [&](uint32_t at, uint64_t mask, uint8_t repeat) {
                AscendC::Muls(sums[at * kLanePlanes], bias, 1.0f, mask, repeat, {1, 0, kAtOnce, 0});
            });
        }
        VectorBarrier();
    }
    // Take what there is of the planes.
    template <typename T>
    __aicore__ inline void TakePlanes(const LocalTensor<T>& planes, const Tiles& tiles) {
        TurnPlanes(planesBuf_.template Get<float>(), planes, rowsBuf_.template Get<float>(),
                   tiles.planes, tiles.inputs.pitch);
    }
    // Add the products of the planes and these elements of the filters to the sums, in the order
    // of the elements.
    __aicore__ inline void Multiply(const Tiles& tiles) {
        const LocalTensor<float> taps = tapsBuf_.template Get<float>();
        uint32_t tap = 0;
        for (uint32_t d = 0; d < tiles.taps[0]; ++d) {
            const AxisPart depths = tiles.PartOf(0, d);
            for (uint32_t h = 0; h < tiles.taps[1]; ++h) {
                const AxisPart rows = tiles.PartOf(1, h);
                for (uint32_t w = 0; w < tiles.taps[2]; ++w, ++tap) {
                    const AxisPart columns = tiles.PartOf(2, w);
                    const LocalTensor<float> block = taps[tap * kLanePlanes];
                    if (!kGradient && !finite_) {
                        AddOutside(tiles, depths, rows, columns, block);
                    }
                    if (rows.count == 0 || columns.count == 0) {
                        continue;
                    }
                    for (uint32_t i = 0; i < depths.count; ++i) {
                        AddProducts(tiles, depths.first + i * tiles.SumStep(0),
                                    depths.element + i * tiles.ElementStep(0), rows, columns,
                                    block);
                    }
                    VectorBarrier();
                }
            }
        }
    }
    // Write the sums of a tile as planes.
    template <typename T>
    __aicore__ inline void Finish(const LocalTensor<T>& results, const Tiles& tiles) {
        const uint32_t pitch = tiles.outputs.pitch;
        const LocalTensor<float> sums = sumsBuf_.template Get<float>();
        if constexpr (Same<T, float>::value) {
            TransposeMatrix(results, sums, pitch, kLanePlanes, pitch);
        } else {
            const LocalTensor<float> rows = rowsBuf_.template Get<float>();
            TransposeMatrix(rows, sums, pitch, kLanePlanes, pitch);
            VectorBarrier();
            NarrowCopy(results, rows, kLanePlanes * pitch);
        }
        VectorBarrier();  // the next tile overwrites sums and rows
    }

 private:
    static constexpr uint32_t kAtOnce = kRepeatBytes / kBlockBytes;  // positions of a repeat
    static constexpr uint32_t kMaxRepeat = 255;
    // A transposition writes two blocks of positions.
    static constexpr uint32_t kBiasLength = (2 * kAtOnce + 1) * kLanePlanes;

    // Calls run(first position, lanes of a repeat, repeats) for `count` positions that lie
    // together.
    template <typename Run>
    __aicore__ inline static void ForRepeats(uint32_t count, const Run& run) {
        const uint32_t whole = count / kAtOnce;
        for (uint32_t done = 0; done < whole; done += kMaxRepeat) {
            const uint32_t left = whole - done;
            run(done * kAtOnce, static_cast<uint64_t>(kAtOnce * kLanePlanes),
                static_cast<uint8_t>(left < kMaxRepeat ? left : kMaxRepeat));
        }
        if (count > whole * kAtOnce) {
            run(whole * kAtOnce, static_cast<uint64_t>((count - whole * kAtOnce) * kLanePlanes), 1);
        }
    }
    // Add the products of an element of the filters and some positions of one depth. An instruction
    // goes along a row, or along the same positions of all rows, whichever there are more of.
    __aicore__ inline void AddProducts(const Tiles& tiles, uint32_t depth, uint32_t from,
                                       const AxisPart& rows, const AxisPart& columns,
                                       const LocalTensor<float>& tap) {
        const uint32_t pitch = tiles.SumStep(1) * tiles.outputs.row;    // to the next sum's row
        const uint32_t next = tiles.ElementStep(1) * tiles.inputs.row;  // to the next one read
        const uint32_t sumStep = tiles.SumStep(2);
        const uint32_t step = tiles.ElementStep(2);
        const uint32_t to =
            depth * tiles.outputs.depth + rows.first * tiles.outputs.row + columns.first;
        const uint32_t first =
            from * tiles.inputs.depth + rows.element * tiles.inputs.row + columns.element;
        const LocalTensor<float> sums = sumsBuf_.template Get<float>()[to * kLanePlanes];
        const LocalTensor<float> planes = planesBuf_.template Get<float>()[first * kLanePlanes];
        // Positions of a repeat: those that are too far apart are taken one by one.
        const uint32_t longest = sumStep > step ? sumStep : step;
        const uint32_t group = longest * kAtOnce <= kMaxRepeat ? kAtOnce : 1;
        const uint8_t sumBlocks = static_cast<uint8_t>(group > 1 ? sumStep : 1);
        const uint8_t blocks = static_cast<uint8_t>(group > 1 ? step : 1);
        const uint32_t groups = (columns.count + group - 1) / group;
        const bool apart = next <= kMaxRepeat && pitch <= kMaxRepeat;
        if (group > 1 && (!apart || groups > rows.count)) {
            const uint8_t nextSum = static_cast<uint8_t>(kAtOnce * sumStep);
            const uint8_t nextElement = static_cast<uint8_t>(kAtOnce * step);
            for (uint32_t row = 0; row < rows.count; ++row) {
                const LocalTensor<float> sum = sums[row * pitch * kLanePlanes];
                const LocalTensor<float> line = planes[row * next * kLanePlanes];
                ForRepeats(columns.count, [&](uint32_t at, uint64_t mask, uint8_t many) {
                    AscendC::MulAddDst(sum[at * sumStep * kLanePlanes],
                                       line[at * step * kLanePlanes], tap, mask, many,
                                       {sumBlocks, blocks, 0, nextSum, nextElement, 0});
                });
            }
            return;
        }
        const uint32_t most = apart ? kMaxRepeat : 1;  // rows of an instruction
        const uint8_t nextSum = static_cast<uint8_t>(apart ? pitch : 0);
        const uint8_t nextElement = static_cast<uint8_t>(apart ? next : 0);
        for (uint32_t column = 0; column < columns.count; column += group) {
            const uint32_t left = columns.count - column;
            const uint64_t mask = (left < group ? left : group) * kLanePlanes;
            for (uint32_t row = 0; row < rows.count; row += most) {
                const uint32_t many = rows.count - row < most ? rows.count - row : most;
                AscendC::MulAddDst(sums[(row * pitch + column * sumStep) * kLanePlanes],
                                   planes[(row * next + column * step) * kLanePlanes], tap, mask,
                                   static_cast<uint8_t>(many),
                                   {sumBlocks, blocks, 0, nextSum, nextElement, 0});
            }
        }
    }

    // Add the products of an element of the filters and zeros to the sums whose element of the
    // planes lies outside.
    __aicore__ inline void AddOutside(const Tiles& tiles, const AxisPart& depths,
                                      const AxisPart& rows, const AxisPart& columns,
                                      const LocalTensor<float>& tap) {
        const PlaneBox& box = tiles.outputs;
        const LocalTensor<float> zero = biasBuf_.template Get<float>()[kBiasLength - kLanePlanes];
        AscendC::Muls(zero, tap, 0.0f, kLanePlanes);
        VectorBarrier();
        for (uint32_t depth = 0; depth < box.size[0]; ++depth) {
            for (uint32_t row = 0; row < box.size[1]; ++row) {
                const LocalTensor<float> sums = sumsBuf_.template Get<float>();
                const LocalTensor<float> line =
                    sums[(depth * box.depth + row * box.row) * kLanePlanes];
                const bool inside = depths.Has(depth) && rows.Has(row) && columns.count > 0;
                const uint32_t before = inside ? columns.first : box.size[2];
                const uint32_t behind = inside ? columns.first + columns.count : box.size[2];
                AddBlock(line, zero, before);
                AddBlock(line[behind * kLanePlanes], zero, box.size[2] - behind);
            }
        }
        VectorBarrier();
    }
    // Add a block to `count` positions that lie together.
    __aicore__ inline static void AddBlock(const LocalTensor<float>& sums,
                                           const LocalTensor<float>& block, uint32_t count) {
        ForRepeats(count, [&](uint32_t at, uint64_t mask, uint8_t many) {
            const LocalTensor<float> part = sums[at * kLanePlanes];
            AscendC::Add(part, part, block, mask, many, {1, 1, 0, kAtOnce, kAtOnce, 0});
        });
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> rowsBuf_;    // planes one after another, widened
    AscendC::TBuf<AscendC::TPosition::VECCALC> planesBuf_;  // side by side
    AscendC::TBuf<AscendC::TPosition::VECCALC> sumsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> tapsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> biasBuf_;
    bool finite_ = true;  // the elements of the filters
};

}  // namespace opgen

#endif  // OPGEN_DEPTHWISE_H
