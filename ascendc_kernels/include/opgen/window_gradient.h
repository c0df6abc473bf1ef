// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Gradients of windows: what each element has of the windows that it is in. A tile has elements of
// the result; it adds up the gradients of the windows that hold them, rows to rows as
// opgen/window.h joins them, in an order that does not depend on the cores.
#ifndef OPGEN_WINDOW_GRADIENT_H
#define OPGEN_WINDOW_GRADIENT_H

#include "kernel_operator.h"
#include "opgen/tile.h"
#include "opgen/transposed_matrix.h"
#include "opgen/window.h"
#include "opgen/window_kinds.h"

namespace opgen {

// Calls join(window, its element, how many windows, elements from one to the next) for the windows
// of [from, to) whose element number `place` lies in [first, last). axis: of a gradient.
template <typename Join>
__aicore__ inline void ForPlace(const WindowAxis& axis, int64_t place, int64_t first, int64_t last,
                                int64_t from, int64_t to, const Join& join) {
    if (axis.adaptive) {
        const WindowAxis windows = axis.Windows();
        for (int64_t window = from; window < to; ++window) {
            const int64_t element = windows.Begin(window) + place;
            if (element >= first && element < last && element < windows.End(window)) {
                join(window, element, 1u, 1u);
            }
        }
        return;
    }
    // element of window w: w * step + shift
    const int64_t shift = place * axis.dilation - axis.before;
    const int64_t high = last - 1 - shift;
    if (high < 0) {
        return;
    }
    const int64_t low = first - shift;
    int64_t begin = low > 0 ? (low + axis.step - 1) / axis.step : 0;
    int64_t end = high / axis.step + 1;
    begin = begin > from ? begin : from;
    end = end < to ? end : to;
    if (begin < end) {
        join(begin, begin * axis.step + shift, static_cast<uint32_t>(end - begin),
             static_cast<uint32_t>(axis.step));
    }
}

// Whether any of these windows has its element number `place` in [first, last).
__aicore__ inline bool HasPlace(const WindowAxis& axis, int64_t place, int64_t first, int64_t last,
                                int64_t from, int64_t to) {
    bool found = false;
    ForPlace(axis, place, first, last, from, to,
             [&](int64_t, int64_t, uint32_t, uint32_t) { found = true; });
    return found;
}

// What the gradients of averages and of largest elements share: the sums of a tile.
class WindowSums {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, AscendC::TPipe* pipe) {
        pipe->InitBuffer(columnsBuf_, Bytes<float>(tiling.columnsLength));
        pipe->InitBuffer(joinedColumnsBuf_, Bytes<float>(tiling.joinedLength));
        pipe->InitBuffer(joinedRowsBuf_, Bytes<float>(tiling.joinedLength));
        pipe->InitBuffer(resultsBuf_, Bytes<float>(tiling.outputLength));
    }
    // Begin a tile whose rows are `pitch` elements apart.
    __aicore__ inline void Start(const WindowTiles& tiles, uint32_t pitch) {
        pitch_ = pitch;
        Clear(Values(), tiles.OutputRows() * pitch_);
    }
    // The gradients of a chunk as columns: one to a row, `lanes` apart.
    __aicore__ inline LocalTensor<float> Columns() { return columnsBuf_.template Get<float>(); }
    // Begin a sum along the width.
    __aicore__ inline void ClearColumns(const WindowTiles& tiles, uint32_t lanes) {
        Clear(joinedColumnsBuf_.template Get<float>(), tiles.outputs.Size(2) * lanes);
    }
    // Add columns, laid out as Columns(), to their element number `place` along the width.
    __aicore__ inline void AddColumns(const WindowTiles& tiles, const LocalTensor<float>& columns,
                                      int64_t place, uint32_t lanes) {
        const LocalTensor<float> joined = joinedColumnsBuf_.template Get<float>();
        ForPlace(tiles.axis[2], place, tiles.outputs.first[2], tiles.outputs.last[2],
                 tiles.inputs.first[2], tiles.inputs.last[2],
                 [&](int64_t window, int64_t element, uint32_t windows, uint32_t step) {
                     const uint32_t to = static_cast<uint32_t>(element - tiles.outputs.first[2]);
                     const uint32_t from = static_cast<uint32_t>(window - tiles.inputs.first[2]);
                     ForRows(joined[to * lanes], columns[from * lanes], lanes, windows,
                             step * lanes, lanes, AddRows());
                     VectorBarrier();
                 });
    }
    // Turn the sums along the width into rows again.
    __aicore__ inline void EndColumns(const WindowTiles& tiles, uint32_t lanes) {
        TransposeMatrix(joinedRowsBuf_.template Get<float>(),
                        joinedColumnsBuf_.template Get<float>(), tiles.outputs.Size(2), lanes,
                        pitch_);
        VectorBarrier();
    }
    // Add these rows to their elements number `deep` along the depth and `high` along the height.
    __aicore__ inline void AddPlanes(const WindowTiles& tiles, int64_t deep, int64_t high) {
        const WindowRange& outputs = tiles.outputs;
        const WindowRange& inputs = tiles.inputs;
        ForPlace(tiles.axis[0], deep, outputs.first[0], outputs.last[0], inputs.first[0],
                 inputs.last[0],
                 [&](int64_t window, int64_t element, uint32_t windows, uint32_t step) {
                     for (uint32_t i = 0; i < windows; ++i) {
                         const uint32_t to = static_cast<uint32_t>(element - outputs.first[0]);
                         const uint32_t from = static_cast<uint32_t>(window - inputs.first[0]);
                         AddHeights(tiles, high, (to + i * step) * outputs.Size(1),
                                    (from + i) * inputs.Size(1));
                     }
                 });
    }
    __aicore__ inline uint32_t Pitch() const { return pitch_; }
    __aicore__ inline LocalTensor<float> Values() { return resultsBuf_.template Get<float>(); }

 private:
    __aicore__ inline static void Clear(const LocalTensor<float>& sums, uint32_t count) {
        VectorBarrier();
        AscendC::Duplicate(sums, 0.0f, count);
        VectorBarrier();
    }
    // to, from: rows before those of a depth, in the results and in the chunk.
    __aicore__ inline void AddHeights(const WindowTiles& tiles, int64_t high, uint32_t to,
                                      uint32_t from) {
        const LocalTensor<float> joined = joinedRowsBuf_.template Get<float>();
        const LocalTensor<float> results = Values();
        const uint32_t length = tiles.planes * pitch_;  // a row of all planes
        ForPlace(tiles.axis[1], high, tiles.outputs.first[1], tiles.outputs.last[1],
                 tiles.inputs.first[1], tiles.inputs.last[1],
                 [&](int64_t window, int64_t element, uint32_t windows, uint32_t step) {
                     const uint32_t row =
                         to + static_cast<uint32_t>(element - tiles.outputs.first[1]);
                     const uint32_t source =
                         from + static_cast<uint32_t>(window - tiles.inputs.first[1]);
                     ForRows(results[row * length], joined[source * length], length, windows,
                             step * length, length, AddRows());
                     VectorBarrier();
                 });
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> columnsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> joinedColumnsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> joinedRowsBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> resultsBuf_;
    uint32_t pitch_ = 0;
};

// The gradient of averages: that of a window is shared by the elements that it counts.
class AverageGradient {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, AscendC::TPipe* pipe) {
        sums_.Init(tiling, pipe);
        share_ = tiling.share;
        countOutside_ = tiling.countOutside != 0;
        pipe->InitBuffer(sharesBuf_, Bytes<float>(tiling.sharesLength));
    }
    // Begin a tile.
    __aicore__ inline void Start(const WindowTiles& tiles) {
        sums_.Start(tiles, PitchOf(tiles.outputs.Size(2), kLanes));
    }
    // Add what a chunk gives; rows: its gradients, `pitch` apart, which are divided in place.
    __aicore__ inline void Join(const WindowTiles& tiles, const LocalTensor<float>& rows,
                                uint32_t pitch) {
        const uint32_t lanes = PitchOf(tiles.InputRows(), kLanes);
        if (share_ == 0.0f) {
            const WindowAxis axis[kWindowAxes] = {tiles.axis[0].Windows(), tiles.axis[1].Windows(),
                                                  tiles.axis[2].Windows()};
            ShareByCounts(rows, sharesBuf_.template Get<float>(), axis, tiles.inputs, tiles.planes,
                          pitch, countOutside_);
        }
        TransposeMatrix(sums_.Columns(), rows, tiles.InputRows(), pitch, lanes);
        sums_.ClearColumns(tiles, lanes);
        for (int64_t place = 0; place < tiles.axis[2].window; ++place) {
            sums_.AddColumns(tiles, sums_.Columns(), place, lanes);
        }
        sums_.EndColumns(tiles, lanes);
        for (int64_t deep = 0; deep < tiles.axis[0].window; ++deep) {
            for (int64_t high = 0; high < tiles.axis[1].window; ++high) {
                sums_.AddPlanes(tiles, deep, high);
            }
        }
    }
    // Divide the sums where all windows count alike.
    __aicore__ inline void Finish(const WindowTiles& tiles) {
        if (share_ != 0.0f) {
            AscendC::Muls(sums_.Values(), sums_.Values(), share_,
                          tiles.OutputRows() * sums_.Pitch());
            VectorBarrier();
        }
    }
    __aicore__ inline uint32_t Pitch() const { return sums_.Pitch(); }
    __aicore__ inline LocalTensor<float> Values() { return sums_.Values(); }

 private:
    static constexpr uint32_t kLanes = 16;

    AscendC::TBuf<AscendC::TPosition::VECCALC> sharesBuf_;
    WindowSums sums_;
    float share_ = 0.0f;
    bool countOutside_ = false;
};

// The gradient of largest elements: that of a window goes to the element at its position. Sums
// along height and depth are of one place in the windows at a time.
class MaxGradient {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, AscendC::TPipe* pipe) {
        sums_.Init(tiling, pipe);
        pipe->InitBuffer(placesBuf_, Bytes<int32_t>(tiling.columnsLength));
        pipe->InitBuffer(chosenBuf_, Bytes<float>(tiling.columnsLength));
        pipe->InitBuffer(maskBuf_, kMaskBytes);
    }
    // Begin a tile.
    __aicore__ inline void Start(const WindowTiles& tiles) {
        sums_.Start(tiles, PitchOf(tiles.outputs.Size(2), kLanes));
    }
    // Add what a chunk gives. rows: its gradients, `pitch` apart; positions: in their planes,
    // `positionPitch` apart, which become places in the windows.
    __aicore__ inline void Join(const WindowTiles& tiles, const LocalTensor<float>& rows,
                                uint32_t pitch, const LocalTensor<int32_t>& positions,
                                uint32_t positionPitch) {
        const uint32_t lanes = PitchOf(tiles.InputRows(), kLanes);
        TransposeMatrix(sums_.Columns(), rows, tiles.InputRows(), pitch, lanes);
        Place(tiles, positions, positionPitch, lanes);
        const WindowAxis* axis = tiles.axis;
        for (int64_t deep = 0; deep < axis[0].window; ++deep) {
            for (int64_t high = 0; high < axis[1].window; ++high) {
                if (!Reaches(tiles, 0, deep) || !Reaches(tiles, 1, high)) {
                    continue;
                }
                sums_.ClearColumns(tiles, lanes);
                const int64_t line =
                    (deep * axis[0].dilation * axis[1].outputs + high * axis[1].dilation) *
                    axis[2].outputs;
                for (int64_t place = 0; place < axis[2].window; ++place) {
                    if (!Reaches(tiles, 2, place)) {
                        continue;
                    }
                    Choose(line + place * axis[2].dilation, tiles.inputs.Size(2) * lanes);
                    sums_.AddColumns(tiles, chosenBuf_.template Get<float>(), place, lanes);
                }
                sums_.EndColumns(tiles, lanes);
                sums_.AddPlanes(tiles, deep, high);
            }
        }
    }
    __aicore__ inline void Finish(const WindowTiles&) {}
    __aicore__ inline uint32_t Pitch() const { return sums_.Pitch(); }
    __aicore__ inline LocalTensor<float> Values() { return sums_.Values(); }

 private:
    static constexpr uint32_t kLanes = 64;  // comparisons work on whole repeats
    static constexpr uint32_t kMaskBytes = 512;
    static constexpr uint32_t kMostCompared = kMaskBytes * 8;

    // Whether windows of the chunk have their element number `place` in the tile.
    __aicore__ inline static bool Reaches(const WindowTiles& tiles, uint32_t axis, int64_t place) {
        return HasPlace(tiles.axis[axis], place, tiles.outputs.first[axis],
                        tiles.outputs.last[axis], tiles.inputs.first[axis],
                        tiles.inputs.last[axis]);
    }
    // Turn positions in a plane into positions behind the beginning of their windows, as columns.
    __aicore__ inline void Place(const WindowTiles& tiles, const LocalTensor<int32_t>& positions,
                                 uint32_t pitch, uint32_t lanes) {
        const WindowAxis depths = tiles.axis[0].Windows();
        const WindowAxis heights = tiles.axis[1].Windows();
        const WindowAxis widths = tiles.axis[2].Windows();
        const WindowRange& inputs = tiles.inputs;
        const uint32_t length = tiles.planes * pitch;
        for (uint32_t row = 0; row < inputs.Size(0) * inputs.Size(1); ++row) {
            const int64_t depth = depths.Begin(inputs.first[0] + row / inputs.Size(1));
            const int64_t height = heights.Begin(inputs.first[1] + row % inputs.Size(1));
            const int64_t before = (depth * heights.inputs + height) * widths.inputs;
            AscendC::Adds(positions[row * length], positions[row * length],
                          static_cast<int32_t>(-before), length);
        }
        VectorBarrier();
        const LocalTensor<int32_t> places = placesBuf_.template Get<int32_t>();
        TransposeMatrix(places, positions, tiles.InputRows(), pitch, lanes);
        VectorBarrier();
        for (uint32_t i = 0; i < inputs.Size(2); ++i) {
            AscendC::Adds(places[i * lanes], places[i * lanes],
                          static_cast<int32_t>(-widths.Begin(inputs.first[2] + i)), lanes);
        }
        VectorBarrier();
    }
    // Keep the gradients of the windows whose position this is, 0 for others.
    __aicore__ inline void Choose(int64_t position, uint32_t count) {
        const LocalTensor<int32_t> places = placesBuf_.template Get<int32_t>();
        const LocalTensor<float> columns = sums_.Columns();
        const LocalTensor<float> chosen = chosenBuf_.template Get<float>();
        const LocalTensor<uint8_t> mask = maskBuf_.template Get<uint8_t>();
        for (uint32_t done = 0; done < count; done += kMostCompared) {
            const uint32_t left = count - done;
            const uint32_t part = left < kMostCompared ? left : kMostCompared;
            AscendC::CompareScalar(mask, places[done], static_cast<int32_t>(position), CMPMODE::EQ,
                                   part);
            VectorBarrier();
            AscendC::Select(chosen[done], mask, columns[done], 0.0f,
                            SELMODE::VSEL_TENSOR_SCALAR_MODE, part);
            VectorBarrier();
        }
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> placesBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> chosenBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> maskBuf_;
    WindowSums sums_;
};

}  // namespace opgen

#endif  // OPGEN_WINDOW_GRADIENT_H
