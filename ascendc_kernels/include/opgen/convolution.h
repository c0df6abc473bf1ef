// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Convolution as a product of matrices: the filters of a group, one to a row, times the columns of
// a tile of output positions. A column holds the elements of the input that a position reads.
// Vector cores gather the columns of one tile into the workspace while the cube core of their group
// multiplies those of the tile before. A transposed convolution is one of the input spread out,
// with zeros between its elements, which are not read from anywhere.
#ifndef OPGEN_CONVOLUTION_H
#define OPGEN_CONVOLUTION_H

#include "kernel_operator.h"
#include "opgen/tile.h"

namespace opgen {

constexpr uint32_t kDepth = 0, kHeight = 1, kWidth = 2;
constexpr uint32_t kSpatialDims = 3;
// Tiles whose columns the workspace holds at a time.
constexpr uint32_t kColumnSlots = 2;
// Flags between the cube core and the vector cores of a group.
constexpr uint16_t kColumnsReady = 4;
constexpr uint16_t kColumnsFree = 5;

// Output positions of one image that follow one another: whole lines, or a part of one. Lines are
// counted over depth and height.
struct ConvolutionTile {
    uint64_t image = 0;
    uint32_t group = 0;
    uint32_t line = 0;
    uint32_t lines = 0;
    uint32_t column = 0;
    uint32_t columns = 0;
    uint32_t filter = 0;  // of the group
    uint32_t filters = 0;
    uint32_t slot = 0;  // of the workspace

    __aicore__ inline uint32_t Positions() const { return lines * columns; }
};

// The tiles of a cube core and its vector cores.
class ConvolutionTiles {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling) {
        outputLines_ = tiling.outputSizes[kDepth] * tiling.outputSizes[kHeight];
        outputColumns_ = tiling.outputSizes[kWidth];
        tileLines_ = tiling.tileLines;
        tileColumns_ = tiling.tileColumns;
        tileFilters_ = tiling.tileFilters;
        groups_ = tiling.groups;
        filters_ = tiling.filters;
        filterTiles_ = (filters_ + tileFilters_ - 1) / tileFilters_;
        columnTiles_ = (outputColumns_ + tileColumns_ - 1) / tileColumns_;
        lineTiles_ = (outputLines_ + tileLines_ - 1) / tileLines_;
        total_ = tiling.tiles;
    }
    // The group of cores that this one belongs to.
    __aicore__ inline static uint64_t Group() {
        const uint64_t core = static_cast<uint64_t>(AscendC::GetBlockIdx());
        if ASCEND_IS_AIV {
            return core / static_cast<uint64_t>(AscendC::GetTaskRation());
        }
        return core;
    }
    // How many tiles this group of cores makes.
    __aicore__ inline uint64_t Count() const {
        const uint64_t groups = static_cast<uint64_t>(AscendC::GetBlockNum());
        return Group() < total_ ? (total_ - Group() + groups - 1) / groups : 0;
    }
    // Tile `number` of this group of cores; groups take tiles in turn.
    __aicore__ inline ConvolutionTile At(uint64_t number) const {
        uint64_t index = Group() + number * static_cast<uint64_t>(AscendC::GetBlockNum());
        ConvolutionTile tile;
        tile.slot = static_cast<uint32_t>(number % kColumnSlots);
        tile.filter = static_cast<uint32_t>(index % filterTiles_) * tileFilters_;
        index /= filterTiles_;
        tile.column = static_cast<uint32_t>(index % columnTiles_) * tileColumns_;
        index /= columnTiles_;
        tile.line = static_cast<uint32_t>(index % lineTiles_) * tileLines_;
        index /= lineTiles_;
        tile.group = static_cast<uint32_t>(index % groups_);
        tile.image = index / groups_;
        tile.filters = Least(filters_ - tile.filter, tileFilters_);
        tile.columns = Least(outputColumns_ - tile.column, tileColumns_);
        tile.lines = Least(outputLines_ - tile.line, tileLines_);
        return tile;
    }

 private:
    __aicore__ inline static uint32_t Least(uint32_t a, uint32_t b) { return a < b ? a : b; }

    uint32_t outputLines_ = 0, outputColumns_ = 0;
    uint32_t tileLines_ = 1, tileColumns_ = 1, tileFilters_ = 1;
    uint32_t groups_ = 1, filters_ = 0;
    uint32_t filterTiles_ = 1, columnTiles_ = 1, lineTiles_ = 1;
    uint64_t total_ = 0;
};

// An element as the bits that are moved.
template <uint32_t kBytes>
struct Bits {
    using Type = uint16_t;
};
template <>
struct Bits<4> {
    using Type = uint32_t;
};

// A part of the window in several channels: a line of it, or some columns of a long one.
struct WindowStep {
    uint32_t line = 0;  // counted over depth and height
    uint32_t column = 0;
    uint32_t columns = 0;
    uint32_t channel = 0;
    uint32_t channels = 0;
};

// Vector cores: gather the columns of all tiles of their group of cores, step by step: the lines of
// the input that it meets come to UB, zeros around them, and each column of the window is one
// Gather from there.
template <typename T>
class ConvolutionColumns {
 public:
    // columns: the workspace, a number of slots for each group of cores.
    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR columns, const Tiling& tiling,
                                AscendC::TPipe* pipe) {
        xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ Word*>(x));
        tiles_.Init(tiling);
        idle_ = tiling.inPlace != 0 || tiling.tiles == 0;
        if (idle_) {
            return;
        }
        for (uint32_t i = 0; i < kSpatialDims; ++i) {
            inputSizes_[i] = static_cast<int32_t>(tiling.inputSizes[i]);
            outputSizes_[i] = tiling.outputSizes[i];
            windowSizes_[i] = tiling.windowSizes[i];
            strides_[i] = static_cast<int32_t>(tiling.strides[i]);
            paddings_[i] = tiling.paddings[i];
            dilations_[i] = static_cast<int32_t>(tiling.dilations[i]);
            spreads_[i] = static_cast<int32_t>(tiling.spreads[i]);
            dense_ = dense_ && paddings_[i] == 0 && spreads_[i] == 1;
        }
        imageStep_ = tiling.inputSteps[0];
        channelStep_ = tiling.inputSteps[1];
        depthStep_ = tiling.inputSteps[2];
        lineStep_ = tiling.inputSteps[3];
        offset_ = tiling.inputSteps[4];
        groupStep_ = tiling.inputSteps[5];
        channels_ = tiling.channels;
        stepChannels_ = tiling.stepChannels;
        stepColumns_ = tiling.stepColumns;
        tileLines_ = tiling.tileLines;
        tileColumns_ = tiling.tileColumns;
        linePitch_ = tiling.linePitch;
        columnPitch_ = tiling.columnPitch;
        const uint64_t slot = static_cast<uint64_t>(tiling.slotLength);
        const uint64_t first = ConvolutionTiles::Group() * kColumnSlots * slot;
        columnsGm_.SetGlobalBuffer(reinterpret_cast<__gm__ Word*>(columns) + first);
        slotLength_ = slot;
        boxLength_ = tileLines_ * linePitch_;
        pipe->InitBuffer(lineQueue_, 2, Bytes<Word>(stepChannels_ * boxLength_));
        pipe->InitBuffer(columnQueue_, 2, Bytes<Word>(stepChannels_ * stepColumns_ * columnPitch_));
        const uint32_t tables = static_cast<uint32_t>(spreads_[kWidth]);
        pipe->InitBuffer(offsetBuf_, Bytes<uint32_t>(tables * columnPitch_));
        if (tables > 1) {
            pipe->InitBuffer(keptBuf_, Bytes<Word>(tables * columnPitch_));
        }
    }

    __aicore__ inline void Process() {
        if (idle_) {
            return;
        }
        FillOffsets();
        const uint64_t count = tiles_.Count();
        for (uint64_t i = 0; i < count; ++i) {
            if (i >= kColumnSlots) {
                AscendC::CrossCoreWaitFlag(kColumnsFree);
            }
            GatherTile(tiles_.At(i));
            AscendC::CrossCoreSetFlag<2, PIPE_MTE3>(kColumnsReady);
        }
    }

 private:
    using Word = typename Bits<sizeof(T)>::Type;
    static constexpr uint32_t kUnitElements = kBlockBytes / sizeof(T);

    // Where the elements of a tile lie in a box of lines, in bytes; those past the tile are its
    // first. Of a line that is spread out only some positions meet an element: there is a table for
    // each distance to the first of them, beside the bits that are kept of what is gathered.
    __aicore__ inline void FillOffsets() {
        offsets_ = offsetBuf_.template Get<uint32_t>();
        const uint32_t spread = static_cast<uint32_t>(spreads_[kWidth]);
        if (spread > 1) {
            kept_ = keptBuf_.template Get<Word>();
        }
        const uint32_t positions = tileLines_ * tileColumns_;
        for (uint32_t i = 0; i < spread * columnPitch_; ++i) {
            const uint32_t first = i / columnPitch_;
            const uint32_t line = i % columnPitch_ / tileColumns_;
            const uint32_t column = i % columnPitch_ % tileColumns_;
            const bool meets =
                i % columnPitch_ < positions && column >= first && (column - first) % spread == 0;
            const uint32_t at = line * linePitch_ +
                                (column - first) / spread * static_cast<uint32_t>(strides_[kWidth]);
            offsets_.SetValue(i, meets ? Bytes<Word>(at) : 0);
            if (spread > 1) {
                kept_.SetValue(i, meets ? static_cast<Word>(~Word(0)) : Word(0));
            }
        }
        Order<AscendC::HardEvent::S_V>();
    }

    __aicore__ inline void GatherTile(const ConvolutionTile& tile) {
        const uint32_t width = windowSizes_[kWidth];
        const uint32_t pieces = (width + stepColumns_ - 1) / stepColumns_;
        const uint32_t windowLines = windowSizes_[kDepth] * windowSizes_[kHeight];
        const uint32_t parts = (channels_ + stepChannels_ - 1) / stepChannels_;
        const uint32_t cores = static_cast<uint32_t>(AscendC::GetTaskRation());
        const uint32_t core = static_cast<uint32_t>(AscendC::GetBlockIdx()) % cores;
        const GlobalTensor<Word> slot = columnsGm_[tile.slot * slotLength_];
        for (uint32_t index = core; index < parts * windowLines * pieces; index += cores) {
            WindowStep step;
            step.column = index % pieces * stepColumns_;
            step.columns = Least(width - step.column, stepColumns_);
            step.line = index / pieces % windowLines;
            step.channel = index / pieces / windowLines * stepChannels_;
            step.channels = Least(channels_ - step.channel, stepChannels_);
            const int32_t begin = static_cast<int32_t>(tile.column) * strides_[kWidth] -
                                  paddings_[kWidth] +
                                  static_cast<int32_t>(step.column) * dilations_[kWidth];
            const uint32_t start = LoadLines(tile, step, begin);
            GatherColumns(start, step, begin);
            const uint64_t line = static_cast<uint64_t>(step.channel) * windowLines + step.line;
            StoreColumns(slot[(line * width + step.column) * columnPitch_], step,
                         windowLines * width);
        }
    }

    // Bring the lines that a step meets to UB, from a place of the spread input on; returns where
    // the first one begins.
    __aicore__ inline uint32_t LoadLines(const ConvolutionTile& tile, const WindowStep& step,
                                         int32_t begin) {
        LocalTensor<Word> lines = lineQueue_.template AllocTensor<Word>();
        const bool whole = tile.lines == tileLines_ && tile.columns == tileColumns_;
        if (!whole || !dense_) {
            ClearForLoad(lines, step.channels * boxLength_);
        }
        const int32_t behind = begin + static_cast<int32_t>(tile.columns - 1) * strides_[kWidth] +
                               static_cast<int32_t>(step.columns - 1) * dilations_[kWidth] + 1;
        // Elements of the input from the first place on, and up to the last.
        const int32_t first = CeilDiv(begin, spreads_[kWidth]);
        const int32_t end = CeilDiv(behind, spreads_[kWidth]);
        const int32_t from = first > 0 ? first : 0;
        const int32_t to = end < inputSizes_[kWidth] ? end : inputSizes_[kWidth];
        // Zeros before the input: at most the line.
        const uint32_t before = static_cast<uint32_t>((from < end ? from : end) - first);
        // Elements of the input begin at a block of UB.
        const uint32_t lead = AlignElements<Word>(before);
        if (from < to) {
            const uint32_t length = static_cast<uint32_t>(to - from);
            for (uint32_t i = 0; i < step.channels; ++i) {
                const int64_t plane = offset_ + static_cast<int64_t>(tile.image) * imageStep_ +
                                      static_cast<int64_t>(tile.group) * groupStep_ +
                                      static_cast<int64_t>(step.channel + i) * channelStep_ + from;
                LoadChannel(lines[i * boxLength_ + lead], plane, tile, step.line, length);
            }
        }
        lineQueue_.EnQue(lines);
        return lead - before;
    }

    // Bring the lines of one channel that exist, `length` elements of each.
    __aicore__ inline void LoadChannel(const LocalTensor<Word>& lines, int64_t plane,
                                       const ConvolutionTile& tile, uint32_t windowLine,
                                       uint32_t length) {
        const int32_t deep = static_cast<int32_t>(windowLine / windowSizes_[kHeight]);
        const int32_t high = static_cast<int32_t>(windowLine % windowSizes_[kHeight]);
        const uint32_t height = outputSizes_[kHeight];
        for (uint32_t done = 0; done < tile.lines;) {
            const uint32_t depth = (tile.line + done) / height;
            const uint32_t line = (tile.line + done) % height;
            const uint32_t left = tile.lines - done;
            // Lines of one depth are equally far apart, where the input is not spread out.
            const int32_t run = static_cast<int32_t>(height - line < left ? height - line : left);
            const int32_t z = static_cast<int32_t>(depth) * strides_[kDepth] - paddings_[kDepth] +
                              deep * dilations_[kDepth];
            const int32_t y = static_cast<int32_t>(line) * strides_[kHeight] - paddings_[kHeight] +
                              high * dilations_[kHeight];
            // One of them is 1: lines of the input from one to the next, and of the tile.
            const int32_t step = strides_[kHeight];
            const int32_t spread = spreads_[kHeight];
            const int32_t source = y < 0 ? (y + CeilDiv(-y, step) * step) : y;
            const int32_t input = CeilDiv(source, spread);
            const int32_t first = (input * spread - y) / step;
            const int32_t exist = CeilDiv(inputSizes_[kHeight] - input, step);
            const int32_t fit = CeilDiv(run - first, spread);
            const int32_t count = exist < fit ? exist : fit;
            const int32_t deeper = z / spreads_[kDepth];
            if (z >= 0 && z % spreads_[kDepth] == 0 && deeper < inputSizes_[kDepth] && count > 0) {
                const int64_t at = plane + deeper * depthStep_ + input * lineStep_;
                LoadRun(lines[(done + static_cast<uint32_t>(first)) * linePitch_], at,
                        static_cast<uint32_t>(count), length);
            }
            done += static_cast<uint32_t>(run);
        }
    }

    __aicore__ inline void LoadRun(const LocalTensor<Word>& lines, int64_t at, uint32_t count,
                                   uint32_t length) {
        const uint32_t filled = AlignBlock(Bytes<Word>(length));
        AscendC::DataCopyExtParams blocks{static_cast<uint16_t>(count), Bytes<Word>(length), 0, 0,
                                          0};
        const uint32_t spread = static_cast<uint32_t>(spreads_[kHeight]);
        blocks.dstStride = (Bytes<Word>(spread * linePitch_) - filled) / kBlockBytes;
        if (count > 1) {
            blocks.srcStride = static_cast<uint32_t>(
                (strides_[kHeight] * lineStep_ - static_cast<int64_t>(length)) * sizeof(Word));
        }
        const uint8_t missing = static_cast<uint8_t>(filled / sizeof(Word) - length);
        const AscendC::DataCopyPadExtParams<Word> pad{true, 0, missing, 0};
        AscendC::DataCopyPad(lines, xGm_[static_cast<uint64_t>(at)], blocks, pad);
    }

    // Gather the columns of a step from lines whose first element is at `start`.
    __aicore__ inline void GatherColumns(uint32_t start, const WindowStep& step, int32_t begin) {
        LocalTensor<Word> lines = lineQueue_.template DeQue<Word>();
        LocalTensor<Word> columns = columnQueue_.template AllocTensor<Word>();
        const int32_t spread = spreads_[kWidth];
        const int32_t first = CeilDiv(begin, spread);
        for (uint32_t j = 0; j < step.columns; ++j) {
            const int32_t place = begin + static_cast<int32_t>(j) * dilations_[kWidth];
            const int32_t element = CeilDiv(place, spread);
            const uint32_t at = start + static_cast<uint32_t>(element - first);
            const uint32_t table = static_cast<uint32_t>(element * spread - place) * columnPitch_;
            for (uint32_t i = 0; i < step.channels; ++i) {
                const LocalTensor<Word> row = columns[(i * step.columns + j) * columnPitch_];
                AscendC::Gather(row, lines[i * boxLength_], offsets_[table], Bytes<Word>(at),
                                columnPitch_);
                if (spread > 1) {
                    KeepBits(row, kept_[table]);
                }
            }
        }
        lineQueue_.FreeTensor(lines);
        columnQueue_.EnQue(columns);
    }

    // Make what no element was gathered for zero.
    __aicore__ inline void KeepBits(const LocalTensor<Word>& row, const LocalTensor<Word>& kept) {
        const LocalTensor<uint16_t> bits = row.template ReinterpretCast<uint16_t>();
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::And(bits, bits, kept.template ReinterpretCast<uint16_t>(),
                     static_cast<int32_t>(Bytes<Word>(columnPitch_) / sizeof(uint16_t)));
    }

    // Store the rows of a step; a channel has so many rows.
    __aicore__ inline void StoreColumns(const GlobalTensor<Word>& to, const WindowStep& step,
                                        uint32_t rows) {
        LocalTensor<Word> columns = columnQueue_.template DeQue<Word>();
        const AscendC::DataCopyExtParams blocks{
            static_cast<uint16_t>(step.channels), Bytes<Word>(step.columns * columnPitch_), 0,
            Bytes<Word>((rows - step.columns) * columnPitch_), 0};
        AscendC::DataCopyPad(to, columns, blocks);
        columnQueue_.FreeTensor(columns);
    }

    __aicore__ inline static uint32_t Least(uint32_t a, uint32_t b) { return a < b ? a : b; }
    // Divided by a positive number, towards infinity.
    __aicore__ inline static int32_t CeilDiv(int32_t a, int32_t b) {
        return a > 0 ? (a + b - 1) / b : -(-a / b);
    }

    ConvolutionTiles tiles_;
    AscendC::TQue<AscendC::TPosition::VECIN, 1> lineQueue_;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> columnQueue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> offsetBuf_, keptBuf_;
    LocalTensor<uint32_t> offsets_;
    LocalTensor<Word> kept_;
    GlobalTensor<Word> xGm_, columnsGm_;
    int32_t inputSizes_[kSpatialDims] = {};
    uint32_t outputSizes_[kSpatialDims] = {};
    uint32_t windowSizes_[kSpatialDims] = {};
    int32_t strides_[kSpatialDims] = {};
    int32_t paddings_[kSpatialDims] = {};
    int32_t dilations_[kSpatialDims] = {};
    int32_t spreads_[kSpatialDims] = {};
    int64_t imageStep_ = 0, groupStep_ = 0, channelStep_ = 0, depthStep_ = 0, lineStep_ = 0,
            offset_ = 0;
    uint64_t slotLength_ = 0;
    uint32_t channels_ = 0, stepChannels_ = 1, stepColumns_ = 1;
    uint32_t tileLines_ = 1, tileColumns_ = 1;
    uint32_t linePitch_ = 0, columnPitch_ = 0, boxLength_ = 0;
    bool dense_ = true;  // all lines of a whole tile have all their elements
    bool idle_ = false;  // nothing to gather
};

}  // namespace opgen

#endif  // OPGEN_CONVOLUTION_H
