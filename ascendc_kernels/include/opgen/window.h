// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Windows over planes of up to three axes. A vector instruction joins a row with another one, so
// windows are joined by rows, one axis after the other: what UB holds of the planes is transposed,
// and the windows along the width become rows; after they are joined, it is transposed back, and
// the windows along height and depth are rows. Elements outside a plane are left out, not padded.
#ifndef OPGEN_WINDOW_H
#define OPGEN_WINDOW_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/tile.h"
#include "opgen/transposed_matrix.h"
#include "opgen/window_kinds.h"

namespace opgen {

constexpr uint32_t kWindowAxes = 3;  // depth, height, width

// The windows along one axis. Of a gradient, which goes the other way, the windows are its inputs
// and the elements that they were taken of its outputs.
struct WindowAxis {
    int64_t inputs = 1;
    int64_t outputs = 1;
    int64_t window = 1;
    int64_t step = 1;
    int64_t before = 0;
    int64_t dilation = 1;
    bool adaptive = false;  // the windows share the axis evenly
    bool reversed = false;  // of a gradient

    // The first element of a window, and the one behind its last; they may lie outside. Of a
    // gradient the first window that may hold an element, and the one behind the last.
    __aicore__ inline int64_t Begin(int64_t output) const {
        if (reversed && !adaptive) {
            const int64_t reach = output + before - (window - 1) * dilation;
            return reach > 0 ? (reach + step - 1) / step : 0;
        }
        return adaptive ? output * inputs / outputs : output * step - before;
    }
    __aicore__ inline int64_t End(int64_t output) const {
        if (reversed && !adaptive) {
            return (output + before) / step + 1;
        }
        return adaptive ? ((output + 1) * inputs + outputs - 1) / outputs
                        : Begin(output) + (window - 1) * dilation + 1;
    }
    // The windows that a gradient is of.
    __aicore__ inline WindowAxis Windows() const {
        WindowAxis windows = *this;
        windows.inputs = outputs;
        windows.outputs = inputs;
        windows.reversed = false;
        return windows;
    }
    // How many elements an average counts along the axis.
    __aicore__ inline int64_t Count(int64_t output, bool outside) const {
        const int64_t begin = Begin(output);
        int64_t end = End(output);
        if (outside) {
            end = end < inputs + before ? end : inputs + before;
            return end - begin;
        }
        end = end < inputs ? end : inputs;
        return end - (begin > 0 ? begin : 0);
    }
};

// A range along each axis.
struct WindowRange {
    int64_t first[kWindowAxes] = {};
    int64_t last[kWindowAxes] = {};  // the one behind

    __aicore__ inline uint32_t Size(uint32_t axis) const {
        return static_cast<uint32_t>(last[axis] - first[axis]);
    }
};

// Calls join(first output, its element, how many outputs, elements from one to the next, place in
// the window) for all elements of [from, to) that windows [first, last) have. Each window comes to
// its last element first.
template <typename Join>
__aicore__ inline void ForWindows(const WindowAxis& axis, int64_t first, int64_t last, int64_t from,
                                  int64_t to, const Join& join) {
    if (axis.adaptive) {
        for (int64_t output = first; output < last; ++output) {
            const int64_t begin = axis.Begin(output) > from ? axis.Begin(output) : from;
            const int64_t end = axis.End(output) < to ? axis.End(output) : to;
            for (int64_t i = end; i > begin; --i) {
                join(output, i - 1, 1u, 1u, i - 1 - axis.Begin(output));
            }
        }
        return;
    }
    for (int64_t place = axis.window; place > 0; --place) {
        // element of output o: o * step + shift
        const int64_t shift = (place - 1) * axis.dilation - axis.before;
        const int64_t low = from - shift;
        const int64_t high = to - 1 - shift;
        if (high < 0) {
            continue;
        }
        int64_t begin = low > 0 ? (low + axis.step - 1) / axis.step : 0;
        int64_t end = high / axis.step + 1;
        begin = begin > first ? begin : first;
        end = end < last ? end : last;
        if (begin < end) {
            join(begin, begin * axis.step + shift, static_cast<uint32_t>(end - begin),
                 static_cast<uint32_t>(axis.step), place - 1);
        }
    }
}

// What the only window of a tile along an axis has of a chunk, where its elements are neighbours:
// they can be joined by halves.
struct WindowRun {
    bool alone = false;  // there is such a window
    int64_t begin = 0;
    uint32_t count = 0;
};

// The planes of a call, its tiles, and the part of a tile that UB holds at once.
class WindowTiles {
 public:
    // reversed: whether these are the tiles of a gradient.
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, bool reversed = false) {
        for (uint32_t i = 0; i < kWindowAxes; ++i) {
            axis[i].reversed = reversed;
            axis[i].inputs = tiling.inputSizes[i];
            axis[i].outputs = tiling.outputSizes[i];
            axis[i].window = tiling.windowSizes[i];
            axis[i].step = tiling.steps[i];
            axis[i].before = tiling.before[i];
            axis[i].dilation = tiling.dilations[i];
            axis[i].adaptive = tiling.adaptive[i] != 0;
            tileOutputs_[i] = tiling.tileOutputs[i];
            chunkInputs_[i] = tiling.chunkInputs[i];
            tilesOf_[i] = (axis[i].outputs + tileOutputs_[i] - 1) / tileOutputs_[i];
        }
        allPlanes_ = tiling.planes;
        tilePlanes_ = tiling.tilePlanes;
    }
    __aicore__ inline uint64_t Count() const {
        const int64_t groups = (allPlanes_ + tilePlanes_ - 1) / tilePlanes_;
        return static_cast<uint64_t>(groups * tilesOf_[0] * tilesOf_[1] * tilesOf_[2]);
    }
    // Go to a tile, and behind its last chunk.
    __aicore__ inline void Seek(uint64_t tile) {
        int64_t index = static_cast<int64_t>(tile);
        for (uint32_t i = kWindowAxes; i > 0; --i) {
            const uint32_t a = i - 1;
            outputs.first[a] = index % tilesOf_[a] * tileOutputs_[a];
            const int64_t end = outputs.first[a] + tileOutputs_[a];
            outputs.last[a] = end < axis[a].outputs ? end : axis[a].outputs;
            index /= tilesOf_[a];
            const int64_t begin = axis[a].Begin(outputs.first[a]);
            const int64_t behind = axis[a].End(outputs.last[a] - 1);
            needed_.first[a] = begin > 0 ? begin : 0;
            needed_.last[a] = behind < axis[a].inputs ? behind : axis[a].inputs;
            chunksOf_[a] =
                (needed_.last[a] - needed_.first[a] + chunkInputs_[a] - 1) / chunkInputs_[a];
            chunksOf_[a] = chunksOf_[a] > 0 ? chunksOf_[a] : 0;
        }
        plane = index * tilePlanes_;
        const int64_t left = allPlanes_ - plane;
        planes = static_cast<uint32_t>(left < tilePlanes_ ? left : tilePlanes_);
        chunk_ = chunksOf_[0] * chunksOf_[1] * chunksOf_[2];
    }
    // Go to the chunk before; false: there is none.
    __aicore__ inline bool Previous() {
        if (chunk_ == 0) {
            return false;
        }
        int64_t index = --chunk_;
        for (uint32_t i = kWindowAxes; i > 0; --i) {
            const uint32_t a = i - 1;
            const int64_t part = index % chunksOf_[a];
            index /= chunksOf_[a];
            inputs.first[a] = needed_.first[a] + part * chunkInputs_[a];
            const int64_t end = inputs.first[a] + chunkInputs_[a];
            inputs.last[a] = end < needed_.last[a] ? end : needed_.last[a];
        }
        return true;
    }
    // Whether the chunk has the last, or the first, elements of its rows.
    __aicore__ inline bool BeginsRows() const { return inputs.last[2] == needed_.last[2]; }
    __aicore__ inline bool EndsRows() const { return inputs.first[2] == needed_.first[2]; }
    __aicore__ inline uint32_t InputRows() const {
        return planes * inputs.Size(0) * inputs.Size(1);
    }
    __aicore__ inline uint32_t OutputRows() const {
        return planes * outputs.Size(0) * outputs.Size(1);
    }

    WindowAxis axis[kWindowAxes];
    int64_t plane = 0;    // the first one of the tile
    uint32_t planes = 0;  // of the tile
    WindowRange outputs;  // of the tile
    WindowRange inputs;   // of the chunk

 private:
    int64_t allPlanes_ = 0;
    int64_t tilePlanes_ = 1;
    int64_t tileOutputs_[kWindowAxes] = {};
    int64_t chunkInputs_[kWindowAxes] = {};
    int64_t tilesOf_[kWindowAxes] = {};
    int64_t chunksOf_[kWindowAxes] = {};
    WindowRange needed_;
    int64_t chunk_ = 0;
};

// The elements of a row in UB, up to a multiple of `unit`.
__aicore__ inline uint32_t PitchOf(uint32_t count, uint32_t unit) {
    return (count + unit - 1) / unit * unit;
}

// Copy a chunk to UB: for each depth and height the rows of all planes, `pitch` elements apart, a
// whole number of blocks.
template <typename T>
__aicore__ inline void LoadChunk(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                 const WindowTiles& tiles, uint32_t pitch) {
    const WindowAxis* axis = tiles.axis;
    const WindowRange& part = tiles.inputs;
    const uint32_t wide = part.Size(2);
    const int64_t width = axis[2].inputs;
    const int64_t planeSize = axis[0].inputs * axis[1].inputs * width;
    const AscendC::DataCopyPadExtParams<T> pad{pitch > wide, 0, static_cast<uint8_t>(pitch - wide),
                                               T(0)};
    const bool byPlane = tiles.planes <= part.Size(1);
    const uint32_t loops = byPlane ? tiles.planes : part.Size(1);
    AscendC::DataCopyExtParams rows{0, Bytes<T>(wide), 0, 0, 0};
    rows.blockCount = static_cast<uint16_t>(byPlane ? part.Size(1) : tiles.planes);
    if (rows.blockCount > 1) {
        const int64_t next = byPlane ? width : planeSize;
        rows.srcStride = static_cast<uint32_t>((next - wide) * static_cast<int64_t>(sizeof(T)));
        rows.dstStride = byPlane ? (tiles.planes - 1) * Bytes<T>(pitch) / kBlockBytes : 0;
    }
    for (uint32_t depth = 0; depth < part.Size(0); ++depth) {
        for (uint32_t i = 0; i < loops; ++i) {
            const uint32_t row = byPlane ? 0 : i;
            const uint32_t plane = byPlane ? i : 0;
            const int64_t from =
                (tiles.plane + plane) * planeSize +
                ((part.first[0] + depth) * axis[1].inputs + part.first[1] + row) * width +
                part.first[2];
            const uint32_t to = ((depth * part.Size(1) + row) * tiles.planes + plane) * pitch;
            AscendC::DataCopyPad(tile[to], gm[static_cast<uint64_t>(from)], rows, pad);
        }
    }
}

// Copy the results of a tile to GM; they lie in UB as those of LoadChunk do.
template <typename T>
__aicore__ inline void StoreResults(const GlobalTensor<T>& gm, const LocalTensor<T>& tile,
                                    const WindowTiles& tiles, uint32_t pitch) {
    const WindowAxis* axis = tiles.axis;
    const WindowRange& part = tiles.outputs;
    const uint32_t wide = part.Size(2);
    const int64_t width = axis[2].outputs;
    const int64_t planeSize = axis[0].outputs * axis[1].outputs * width;
    const bool byPlane = tiles.planes <= part.Size(1);
    const uint32_t loops = byPlane ? tiles.planes : part.Size(1);
    AscendC::DataCopyExtParams rows{0, Bytes<T>(wide), 0, 0, 0};
    rows.blockCount = static_cast<uint16_t>(byPlane ? part.Size(1) : tiles.planes);
    if (rows.blockCount > 1) {
        const uint32_t apart = (byPlane ? tiles.planes : 1) * Bytes<T>(pitch);
        const int64_t next = byPlane ? width : planeSize;
        rows.srcStride = (apart - AlignBlock(Bytes<T>(wide))) / kBlockBytes;
        rows.dstStride = static_cast<uint32_t>((next - wide) * static_cast<int64_t>(sizeof(T)));
    }
    for (uint32_t depth = 0; depth < part.Size(0); ++depth) {
        for (uint32_t i = 0; i < loops; ++i) {
            const uint32_t row = byPlane ? 0 : i;
            const uint32_t plane = byPlane ? i : 0;
            const int64_t to =
                (tiles.plane + plane) * planeSize +
                ((part.first[0] + depth) * axis[1].outputs + part.first[1] + row) * width +
                part.first[2];
            const uint32_t from = ((depth * part.Size(1) + row) * tiles.planes + plane) * pitch;
            AscendC::DataCopyPad(gm[static_cast<uint64_t>(to)], tile[from], rows);
        }
    }
}

// Joins the windows of a tile, chunk after chunk. Kind says how (opgen/window_kinds.h).
template <typename Kind>
class Windows {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, AscendC::TPipe* pipe) {
        pipe->InitBuffer(columnsBuf_, Bytes<float>(tiling.columnsLength));
        joinedLength_ = tiling.joinedLength;
        outputLength_ = tiling.outputLength;
        pipe->InitBuffer(joinedColumnsBuf_, Kind::kStates * Bytes<float>(joinedLength_));
        pipe->InitBuffer(joinedRowsBuf_, Kind::kStates * Bytes<float>(joinedLength_));
        pipe->InitBuffer(resultsBuf_, Kind::kStates * Bytes<float>(outputLength_));
        kind_.Init(tiling, pipe);
    }
    // Begin a tile.
    __aicore__ inline void Start(const WindowTiles& tiles) {
        pitch_ = PitchOf(tiles.outputs.Size(2), Kind::kLanes);
        const WindowState<Kind::kStates> results = State(resultsBuf_, outputLength_);
        Clear(results, tiles.OutputRows() * pitch_);
    }
    // Join what a chunk has of the windows; rows: of its elements, `pitch` apart.
    __aicore__ inline void Join(const WindowTiles& tiles, const LocalTensor<float>& rows,
                                uint32_t pitch) {
        const LocalTensor<float> columns = columnsBuf_.template Get<float>();
        const uint32_t lanes = PitchOf(tiles.InputRows(), Kind::kLanes);
        const uint32_t count = tiles.outputs.Size(2);
        const WindowState<Kind::kStates> joined = State(joinedColumnsBuf_, joinedLength_);
        TransposeMatrix(columns, rows, tiles.InputRows(), pitch, lanes);
        if (tiles.BeginsRows()) {
            Clear(joined, count * lanes);
        }
        VectorBarrier();
        const WindowRun run = RunOf(tiles, 2);
        FoldRun(columns, run, tiles.inputs.first[2], lanes);
        EachWindow(
            tiles, 2, run,
            [&](int64_t output, int64_t input, uint32_t outputs, uint32_t step, int64_t place) {
                const uint32_t to = static_cast<uint32_t>(output - tiles.outputs.first[2]);
                const uint32_t from = static_cast<uint32_t>(input - tiles.inputs.first[2]);
                kind_.JoinColumns(joined.At(to * lanes), columns[from * lanes],
                                  static_cast<int32_t>(place), lanes, outputs, step);
            });
        if (!tiles.EndsRows()) {
            return;
        }
        kind_.FinishColumns(joined, tiles.axis[2], tiles.outputs.first[2], count, lanes);
        const WindowState<Kind::kStates> back = State(joinedRowsBuf_, joinedLength_);
        for (uint32_t i = 0; i < Kind::kStates; ++i) {
            TransposeMatrix(back.of[i], joined.of[i], count, lanes, pitch_);
        }
        VectorBarrier();
        JoinRowsOf(tiles, back);
    }
    // Divide averages by what they count.
    __aicore__ inline void Finish(const WindowTiles& tiles) {
        kind_.Finish(State(resultsBuf_, outputLength_).of[0], tiles.axis, tiles.outputs,
                     tiles.planes, pitch_);
    }
    // The results, in rows that are this many elements apart.
    __aicore__ inline uint32_t Pitch() const { return pitch_; }
    __aicore__ inline LocalTensor<float> Values() {
        return resultsBuf_.template GetWithOffset<float>(outputLength_, 0);
    }
    // Where they lie in their planes.
    __aicore__ inline LocalTensor<int32_t> Positions() {
        return resultsBuf_.template GetWithOffset<int32_t>(outputLength_,
                                                           Bytes<float>(outputLength_));
    }

 private:
    __aicore__ inline WindowState<Kind::kStates> State(
        AscendC::TBuf<AscendC::TPosition::VECCALC>& buffer, uint32_t length) {
        WindowState<Kind::kStates> state;
        for (uint32_t i = 0; i < Kind::kStates; ++i) {
            state.of[i] = buffer.template GetWithOffset<float>(length, i * Bytes<float>(length));
        }
        return state;
    }
    __aicore__ inline static void Clear(const WindowState<Kind::kStates>& state, uint32_t count) {
        VectorBarrier();
        AscendC::Duplicate(state.of[0], Kind::kIdentity, count);
        if constexpr (Kind::kStates > 1) {
            AscendC::Duplicate(state.of[1], 0.0f, count);
        }
        VectorBarrier();
    }
    __aicore__ inline static WindowRun RunOf(const WindowTiles& tiles, uint32_t axis) {
        WindowRun run;
        if constexpr (Kind::kFolds) {
            const WindowAxis& windows = tiles.axis[axis];
            const int64_t output = tiles.outputs.first[axis];
            const int64_t first = tiles.inputs.first[axis];
            const int64_t last = tiles.inputs.last[axis];
            run.alone =
                tiles.outputs.Size(axis) == 1 && (windows.adaptive || windows.dilation == 1);
            run.begin = windows.Begin(output) > first ? windows.Begin(output) : first;
            const int64_t end = windows.End(output) < last ? windows.End(output) : last;
            run.count = end > run.begin ? static_cast<uint32_t>(end - run.begin) : 0;
        }
        return run;
    }
    // Join the rows of a run into its first. first: the element that the rows begin with; `length`
    // elements from one to the next.
    __aicore__ inline static void FoldRun(const LocalTensor<float>& rows, const WindowRun& run,
                                          int64_t first, uint32_t length) {
        if constexpr (Kind::kFolds) {
            if (run.alone && run.count > 1) {
                const uint32_t from = static_cast<uint32_t>(run.begin - first);
                Kind::Fold(rows[from * length], run.count, length);
            }
        }
    }
    // Calls join as ForWindows does, for the windows of the tile along an axis and what the chunk
    // has of them. The elements of a run are one.
    template <typename Join>
    __aicore__ inline static void EachWindow(const WindowTiles& tiles, uint32_t axis,
                                             const WindowRun& run, const Join& join) {
        const WindowRange& outputs = tiles.outputs;
        const WindowRange& inputs = tiles.inputs;
        if (!run.alone) {
            ForWindows(tiles.axis[axis], outputs.first[axis], outputs.last[axis],
                       inputs.first[axis], inputs.last[axis], join);
        } else if (run.count > 0) {
            join(outputs.first[axis], run.begin, 1u, 1u, 0);
        }
    }
    // Join the windows along depth and height; a row is that of all planes of the tile.
    __aicore__ inline void JoinRowsOf(const WindowTiles& tiles,
                                      const WindowState<Kind::kStates>& joined) {
        const WindowState<Kind::kStates> results = State(resultsBuf_, outputLength_);
        const uint32_t length = tiles.planes * pitch_;
        const WindowRange& outputs = tiles.outputs;
        const WindowRange& inputs = tiles.inputs;
        kind_.PlaceRows(joined, tiles.axis, inputs, length);
        const uint32_t slice = inputs.Size(1) * length;
        const WindowRun depth = RunOf(tiles, 0);
        const WindowRun height = RunOf(tiles, 1);
        FoldRun(joined.of[0], depth, inputs.first[0], slice);
        // once for each slice: windows along the depth may have it in common
        const int64_t firstSlice = depth.alone ? depth.begin : inputs.first[0];
        const int64_t lastSlice = depth.alone ? depth.begin + 1 : inputs.last[0];
        for (int64_t at = firstSlice; at < lastSlice; ++at) {
            FoldRun(joined.of[0][static_cast<uint32_t>(at - inputs.first[0]) * slice], height,
                    inputs.first[1], length);
        }
        EachWindow(tiles, 0, depth,
                   [&](int64_t firstDepth, int64_t from, uint32_t depths, uint32_t apart, int64_t) {
                       for (uint32_t i = 0; i < depths; ++i) {
                           const uint32_t to =
                               static_cast<uint32_t>(firstDepth + i - outputs.first[0]) *
                               outputs.Size(1);
                           const uint32_t place =
                               static_cast<uint32_t>(from + i * apart - inputs.first[0]);
                           JoinHeights(tiles, height, results.At(to * length),
                                       joined.At(place * slice), length);
                       }
                   });
    }
    __aicore__ inline void JoinHeights(const WindowTiles& tiles, const WindowRun& run,
                                       const WindowState<Kind::kStates>& results,
                                       const WindowState<Kind::kStates>& joined, uint32_t length) {
        EachWindow(tiles, 1, run,
                   [&](int64_t output, int64_t input, uint32_t outputs, uint32_t step, int64_t) {
                       const uint32_t to = static_cast<uint32_t>(output - tiles.outputs.first[1]);
                       const uint32_t from = static_cast<uint32_t>(input - tiles.inputs.first[1]);
                       kind_.JoinRows(results.At(to * length), joined.At(from * length), length,
                                      outputs, step);
                   });
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> columnsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> joinedColumnsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> joinedRowsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> resultsBuf_;
    Kind kind_;
    uint32_t joinedLength_ = 0;
    uint32_t outputLength_ = 0;
    uint32_t pitch_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_WINDOW_H
