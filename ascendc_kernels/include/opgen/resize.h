// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Planes resampled along their last axes, of which there are up to three. A row of the result is a
// sum of rows of a plane, of which each is loaded once for all results that follow one another; then
// elements of that sum are gathered for the columns. Where they lie, and their weights, are computed
// for many results at once.
#ifndef OPGEN_RESIZE_H
#define OPGEN_RESIZE_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/tile.h"

namespace opgen {

enum class ResizeMode : uint32_t { kNearest, kNearestExact, kLinear, kCubic };

constexpr uint32_t kResizeAxes = 3;      // depth, height, width
constexpr uint32_t kResizeLanes = 256;  // results whose places along an axis are known at once
constexpr float kCubicCoefficient = -0.75f;

// Elements of an axis that a result is made of.
constexpr uint32_t TapsOf(ResizeMode mode) {
    return mode == ResizeMode::kCubic ? 4 : mode == ResizeMode::kLinear ? 2 : 1;
}

constexpr uint32_t PowerOf(uint32_t base, uint32_t exponent) {
    return exponent == 0 ? 1 : base * PowerOf(base, exponent - 1);
}

// An axis of the planes and of the results.
struct ResizeAxis {
    int64_t inputs = 1;
    int64_t outputs = 1;
    float ratio = 1;  // elements of a plane under one of the result

    // The first elements that `count` results are made of, from result `first` on, before they are
    // brought into the plane, and how far behind each the result lies. The arithmetic is PyTorch's.
    template <ResizeMode kMode>
    __aicore__ inline void Find(const LocalTensor<int32_t>& low, const LocalTensor<float>& share,
                                int64_t first, uint32_t count, bool corners) const {
        AscendC::CreateVecIndex(low, static_cast<int32_t>(first), count);
        VectorBarrier();
        AscendC::Cast(share, low, RoundMode::CAST_NONE, count);
        VectorBarrier();
        constexpr bool kMiddle = kMode != ResizeMode::kNearest;
        constexpr bool kNear = TapsOf(kMode) == 1;
        if (kMiddle && !corners) {
            AscendC::Adds(share, share, 0.5f, count);
            VectorBarrier();
        }
        AscendC::Muls(share, share, ratio, count);
        VectorBarrier();
        if (!kNear && !corners) {
            AscendC::Adds(share, share, -0.5f, count);
            VectorBarrier();
        }
        const int32_t last = static_cast<int32_t>(inputs - 1);
        if constexpr (kMode == ResizeMode::kCubic) {
            AscendC::Cast(low, share, RoundMode::CAST_FLOOR, count);
            VectorBarrier();
        } else {
            AscendC::Maxs(share, share, 0.0f, count);
            VectorBarrier();
            AscendC::Cast(low, share, RoundMode::CAST_TRUNC, count);
            VectorBarrier();
            AscendC::Mins(low, low, last, count);
            VectorBarrier();
        }
    }
};

// Where rows of results along depth or height lie, for kResizeLanes of them.
template <ResizeMode kMode>
class ResizeRows {
 public:
    static constexpr uint32_t kTaps = TapsOf(kMode);

    __aicore__ inline void Init(AscendC::TPipe* pipe) {
        pipe->InitBuffer(low_, kResizeLanes * sizeof(int32_t));
        pipe->InitBuffer(share_, kResizeLanes * sizeof(float));
        pipe->InitBuffer(whole_, kResizeLanes * sizeof(float));
    }
    // Go to a result of the axis.
    __aicore__ inline void Seek(const ResizeAxis& axis, int64_t output, bool corners) {
        const int64_t first = output / kResizeLanes * kResizeLanes;
        if (first != first_) {
            first_ = first;
            Order<AscendC::HardEvent::S_V>();
            const LocalTensor<int32_t> low = low_.template Get<int32_t>();
            const LocalTensor<float> share = share_.template Get<float>();
            const LocalTensor<float> whole = whole_.template Get<float>();
            axis.template Find<kMode>(low, share, first, kResizeLanes, corners);
            AscendC::Cast(whole, low, RoundMode::CAST_NONE, kResizeLanes);
            VectorBarrier();
            AscendC::Sub(share, share, whole, kResizeLanes);
            VectorBarrier();
            AscendC::Maxs(share, share, 0.0f, kResizeLanes);
            VectorBarrier();
            AscendC::Mins(share, share, 1.0f, kResizeLanes);
            Order<AscendC::HardEvent::V_S>();
        }
        const uint32_t lane = static_cast<uint32_t>(output - first);
        const int64_t low = low_.template Get<int32_t>().GetValue(lane);
        const float t = share_.template Get<float>().GetValue(lane);
        for (uint32_t k = 0; k < kTaps; ++k) {
            const int64_t at = low + k - (kTaps == 4 ? 1 : 0);
            taps[k] = at < 0 ? 0 : at < axis.inputs ? at : axis.inputs - 1;
        }
        if constexpr (kMode == ResizeMode::kLinear) {
            weights[0] = 1.0f - t;
            weights[1] = t;
        } else if constexpr (kMode == ResizeMode::kCubic) {
            weights[0] = Far(t + 1.0f);
            weights[1] = Near(t);
            weights[2] = Near(1.0f - t);
            weights[3] = Far(2.0f - t);
        }
    }

    int64_t taps[kTaps] = {};
    float weights[kTaps] = {1.0f};

 private:
    static __aicore__ inline float Near(float d) {
        return ((kCubicCoefficient + 2.0f) * d - (kCubicCoefficient + 3.0f)) * d * d + 1.0f;
    }
    static __aicore__ inline float Far(float d) {
        return ((kCubicCoefficient * d - 5.0f * kCubicCoefficient) * d + 8.0f * kCubicCoefficient) *
                   d -
               4.0f * kCubicCoefficient;
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> low_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> share_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> whole_;
    int64_t first_ = -1;
};

// Where the columns of a tile lie in its rows, in bytes, and their weights.
template <ResizeMode kMode>
class ResizeColumns {
 public:
    static constexpr uint32_t kTaps = TapsOf(kMode);

    // pitch: columns of a tile, a whole number of blocks; rowPitch: elements from one of the rows that
    // columns are taken of to the next; batch: how many of them are taken at once.
    __aicore__ inline void Init(AscendC::TPipe* pipe, uint32_t pitch, uint32_t rowPitch,
                                uint32_t batch) {
        pitch_ = pitch;
        rowPitch_ = rowPitch;
        batch_ = batch;
        pipe->InitBuffer(places_, kTaps * Bytes<int32_t>(batch * pitch));
        if constexpr (kTaps > 1) {
            pipe->InitBuffer(weights_, kTaps * Bytes<float>(batch * pitch));
        }
        pipe->InitBuffer(share_, Bytes<float>(pitch));
        pipe->InitBuffer(spare_, Bytes<float>(batch * pitch));
    }
    // Go to `columns` columns of the results from `first` on; sets what they need of a row.
    __aicore__ inline void Seek(const ResizeAxis& axis, int64_t first, uint32_t columns,
                                bool corners) {
        Order<AscendC::HardEvent::S_V>();
        const uint32_t count = pitch_;
        const LocalTensor<int32_t> low = Place(0);
        const LocalTensor<float> share = share_.template Get<float>();
        const LocalTensor<float> spare = spare_.template Get<float>();
        axis.template Find<kMode>(low, share, first, count, corners);
        if constexpr (kTaps > 1) {
            AscendC::Cast(spare, low, RoundMode::CAST_NONE, count);
            VectorBarrier();
            AscendC::Sub(share, share, spare, count);
            VectorBarrier();
            AscendC::Maxs(share, share, 0.0f, count);
            VectorBarrier();
            AscendC::Mins(share, share, 1.0f, count);
            VectorBarrier();
            Weigh(share, spare, count);
        }
        const int32_t last = static_cast<int32_t>(axis.inputs - 1);
        for (uint32_t i = kTaps; i > 0; --i) {  // the first ones last: the others are made of them
            const uint32_t k = i - 1;
            const int32_t behind = static_cast<int32_t>(k) - (kTaps == 4 ? 1 : 0);
            if (k > 0 || behind != 0) {
                AscendC::Adds(Place(k), low, behind, count);
                VectorBarrier();
            }
            AscendC::Maxs(Place(k), Place(k), static_cast<int32_t>(0), count);
            VectorBarrier();
            AscendC::Mins(Place(k), Place(k), last, count);
            VectorBarrier();
        }
        Order<AscendC::HardEvent::V_S>();
        begin = Place(0).GetValue(0);
        width = static_cast<uint32_t>(Place(kTaps - 1).GetValue(columns - 1) + 1 - begin);
        Order<AscendC::HardEvent::S_V>();
        for (uint32_t k = 0; k < kTaps; ++k) {
            AscendC::Adds(Place(k), Place(k), static_cast<int32_t>(-begin), count);
            VectorBarrier();
            // lanes behind the last column
            AscendC::Mins(Place(k), Place(k), static_cast<int32_t>(width - 1), count);
            VectorBarrier();
            AscendC::Muls(Place(k), Place(k), static_cast<int32_t>(sizeof(float)), count);
            VectorBarrier();
            for (uint32_t row = 1; row < batch_; ++row) {
                const int32_t apart = static_cast<int32_t>(Bytes<float>(row * rowPitch_));
                AscendC::Adds(Place(k)[row * pitch_], Place(k), apart, count);
                if constexpr (kTaps > 1) {
                    AscendC::Adds(Weight(k)[row * pitch_], Weight(k), 0.0f, count);
                }
            }
            VectorBarrier();
        }
    }
    // The columns of rows, which have what they need; up to a batch of them.
    __aicore__ inline void Take(const LocalTensor<float>& dst, const LocalTensor<float>& from,
                                uint32_t rows) {
        const uint32_t count = rows * pitch_;
        const LocalTensor<float> spare = spare_.template Get<float>();
        for (uint32_t k = 0; k < kTaps; ++k) {
            const LocalTensor<uint32_t> places = Place(k).template ReinterpretCast<uint32_t>();
            const LocalTensor<float>& to = k == 0 ? dst : spare;
            AscendC::Gather(to, from, places, static_cast<uint32_t>(0), count);
            VectorBarrier();
            if constexpr (kTaps > 1) {
                AscendC::Mul(to, to, Weight(k), count);
                VectorBarrier();
                if (k > 0) {
                    AscendC::Add(dst, dst, spare, count);
                    VectorBarrier();
                }
            }
        }
    }

    int64_t begin = 0;   // the first element of a row that the columns need
    uint32_t width = 0;  // and how many of them

 private:
    __aicore__ inline LocalTensor<int32_t> Place(uint32_t k) {
        return places_.template Get<int32_t>()[k * batch_ * pitch_];
    }
    __aicore__ inline LocalTensor<float> Weight(uint32_t k) {
        return weights_.template Get<float>()[k * batch_ * pitch_];
    }
    __aicore__ inline void Weigh(const LocalTensor<float>& share, const LocalTensor<float>& spare,
                                 uint32_t count) {
        if constexpr (kMode == ResizeMode::kLinear) {
            AscendC::Muls(Weight(0), share, -1.0f, count);
            AscendC::Adds(Weight(1), share, 0.0f, count);
            VectorBarrier();
            AscendC::Adds(Weight(0), Weight(0), 1.0f, count);
        } else {
            constexpr float a = kCubicCoefficient;
            for (uint32_t k = 0; k < kTaps; ++k) {
                // the distance to the element: t + 1, t, 1 - t, 2 - t
                const LocalTensor<float> weight = Weight(k);
                const bool near = k == 1 || k == 2;
                AscendC::Muls(spare, share, k < 2 ? 1.0f : -1.0f, count);
                VectorBarrier();
                AscendC::Adds(spare, spare, k == 0 ? 1.0f : static_cast<float>(k) - 1.0f, count);
                VectorBarrier();
                AscendC::Muls(weight, spare, near ? a + 2.0f : a, count);
                VectorBarrier();
                AscendC::Adds(weight, weight, near ? -(a + 3.0f) : -5.0f * a, count);
                VectorBarrier();
                AscendC::Mul(weight, weight, spare, count);
                VectorBarrier();
                if (!near) {
                    AscendC::Adds(weight, weight, 8.0f * a, count);
                    VectorBarrier();
                }
                AscendC::Mul(weight, weight, spare, count);
                VectorBarrier();
                AscendC::Adds(weight, weight, near ? 1.0f : -4.0f * a, count);
                VectorBarrier();
            }
        }
        VectorBarrier();
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> places_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> weights_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> share_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> spare_;
    uint32_t pitch_ = 0;
    uint32_t rowPitch_ = 0;
    uint32_t batch_ = 1;
};

// Rows of results, one after another. kAxes: how many axes are resampled; T: of the planes.
template <ResizeMode kMode, uint32_t kAxes, typename T>
class Resizer {
 public:
    // tiling: see opgen::ResizeSpace.
    template <typename Tiling>
    __aicore__ inline void Init(const GlobalTensor<T>& planes, const Tiling& tiling, bool corners,
                                AscendC::TPipe* pipe) {
        planes_ = planes;
        for (uint32_t i = 0; i < kResizeAxes; ++i) {
            axis_[i].inputs = tiling.inputSizes[i];
            axis_[i].outputs = tiling.outputSizes[i];
            axis_[i].ratio = tiling.ratios[i];
        }
        corners_ = corners;
        inputPitch_ = tiling.inputPitch;
        outputPitch_ = tiling.outputPitch;
        batch_ = tiling.batch;
        columnsFirst_ = tiling.columnsFirst != 0;
        heldPitch_ = columnsFirst_ ? outputPitch_ : inputPitch_;
        pipe->InitBuffer(queue_, 2 * kHeld, Bytes<T>(inputPitch_));
        pipe->InitBuffer(held_, kHeld * Bytes<float>(heldPitch_));
        pipe->InitBuffer(sums_, batch_ * Bytes<float>(inputPitch_));
        columns_.Init(pipe, outputPitch_, inputPitch_, batch_);
        for (uint32_t i = 0; i < kRowAxes; ++i) {
            rows_[i].Init(pipe);
        }
    }
    // Go to `count` columns from `first` on.
    __aicore__ inline void SeekColumns(int64_t first, uint32_t count) {
        columns_.Seek(axis_[kResizeAxes - 1], first, count, corners_);
        for (uint32_t i = 0; i < kHeld; ++i) {
            wanted_[i] = -1;
        }
    }
    // Compute `count` rows of the results from `row` on, each `outputPitch` elements behind the last.
    __aicore__ inline void Compute(const LocalTensor<float>& dst, int64_t row, uint32_t count) {
        const LocalTensor<float> sums = sums_.template Get<float>();
        Load(row);
        for (uint32_t first = 0; first < count; first += batch_) {
            const uint32_t rows = count - first < batch_ ? count - first : batch_;
            for (uint32_t i = first; i < first + rows; ++i) {
                const Sum now = next_;
                next_.loadCount = 0;
                if (i + 1 < count) {
                    Load(row + i + 1);
                }
                Hold(now);
                if (columnsFirst_) {
                    Add(dst[i * outputPitch_], now, outputPitch_);
                } else {
                    Add(sums[(i - first) * inputPitch_], now, columns_.width);
                }
            }
            if (!columnsFirst_) {
                columns_.Take(dst[first * outputPitch_], sums, rows);
            }
        }
    }

 private:
    static constexpr uint32_t kTaps = TapsOf(kMode);
    static constexpr uint32_t kRowAxes = kAxes - 1;
    static constexpr uint32_t kHeld = PowerOf(kTaps, kRowAxes);

    // The rows of planes that a row of the results is the sum of, and those that it waits for.
    struct Sum {
        uint32_t places[kHeld] = {};
        float weights[kHeld] = {};
        uint32_t loads[kHeld] = {};
        uint32_t loadCount = 0;
    };

    // Load what a row of the results needs and UB does not hold; the row is the next one to compute.
    __aicore__ inline void Load(int64_t row) {
        Seek(row);
        for (uint32_t i = 0; i < kHeld; ++i) {
            const int64_t from = Source(i);
            const uint32_t place = PlaceOf(i);
            next_.places[i] = place;
            next_.weights[i] = WeightOf(i);
            if (wanted_[place] != from) {
                wanted_[place] = from;
                LocalTensor<T> tile = queue_.template AllocTensor<T>();
                LoadRange(tile, planes_[from * axis_[kResizeAxes - 1].inputs + columns_.begin],
                          columns_.width);
                queue_.EnQue(tile);
                next_.loads[next_.loadCount++] = place;
            }
        }
    }
    // Bring rows that were loaded to their places, or the columns of them.
    __aicore__ inline void Hold(const Sum& now) {
        const LocalTensor<float> wide = sums_.template Get<float>();
        for (uint32_t i = 0; i < now.loadCount; ++i) {
            LocalTensor<T> tile = queue_.template DeQue<T>();
            const LocalTensor<float> row = Row(now.loads[i]);
            WidenCopy(columnsFirst_ ? wide : row, tile, columns_.width);
            VectorBarrier();
            queue_.FreeTensor(tile);
            if (columnsFirst_) {
                columns_.Take(row, wide, 1);
            }
        }
    }
    // Add up the rows of a sum.
    __aicore__ inline void Add(const LocalTensor<float>& dst, const Sum& now, uint32_t count) {
        AscendC::Muls(dst, Row(now.places[0]), kHeld == 1 ? 1.0f : now.weights[0], count);
        VectorBarrier();
        for (uint32_t i = 1; i < kHeld; ++i) {
            AscendC::Axpy(dst, Row(now.places[i]), now.weights[i], count);
            VectorBarrier();
        }
    }
    // Find where a row of the results lies.
    __aicore__ inline void Seek(int64_t row) {
        const int64_t height = row % axis_[1].outputs;
        const int64_t depth = row / axis_[1].outputs % axis_[0].outputs;
        plane_ = row / axis_[1].outputs / axis_[0].outputs;
        if constexpr (kRowAxes > 0) {
            rows_[kRowAxes - 1].Seek(axis_[1], height, corners_);
        }
        if constexpr (kRowAxes > 1) {
            rows_[0].Seek(axis_[0], depth, corners_);
        }
    }
    // The row of a plane that is the i-th one of a sum, among the rows of all planes.
    __aicore__ inline int64_t Source(uint32_t i) const {
        int64_t from = plane_;
        if constexpr (kRowAxes > 1) {
            from = from * axis_[0].inputs + rows_[0].taps[i / kTaps];
        }
        if constexpr (kRowAxes > 0) {
            from = from * axis_[1].inputs + rows_[kRowAxes - 1].taps[i % kTaps];
        }
        return from;
    }
    // Where UB holds it: rows that are neighbours never share a place.
    __aicore__ inline uint32_t PlaceOf(uint32_t i) const {
        uint32_t place = 0;
        if constexpr (kRowAxes > 1) {
            place = static_cast<uint32_t>(rows_[0].taps[i / kTaps] % kTaps) * kTaps;
        }
        if constexpr (kRowAxes > 0) {
            place += static_cast<uint32_t>(rows_[kRowAxes - 1].taps[i % kTaps] % kTaps);
        }
        return place;
    }
    __aicore__ inline float WeightOf(uint32_t i) const {
        float weight = 1.0f;
        if constexpr (kRowAxes > 1) {
            weight = rows_[0].weights[i / kTaps];
        }
        if constexpr (kRowAxes > 0) {
            weight *= rows_[kRowAxes - 1].weights[i % kTaps];
        }
        return weight;
    }
    __aicore__ inline LocalTensor<float> Row(uint32_t place) {
        return held_.template Get<float>()[place * heldPitch_];
    }

    AscendC::TQue<AscendC::TPosition::VECIN, 2 * kHeld> queue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> held_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> sums_;
    GlobalTensor<T> planes_;
    ResizeAxis axis_[kResizeAxes];
    ResizeRows<kMode> rows_[kRowAxes > 0 ? kRowAxes : 1];
    ResizeColumns<kMode> columns_;
    int64_t plane_ = 0;
    int64_t wanted_[kHeld] = {};
    Sum next_;
    uint32_t inputPitch_ = 0;
    uint32_t outputPitch_ = 0;
    uint32_t heldPitch_ = 0;
    uint32_t batch_ = 1;
    bool columnsFirst_ = false;
    bool corners_ = false;
};

// The rows and columns of results that a tile has.
class ResizeTiles {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling) {
        width_ = tiling.outputSizes[kResizeAxes - 1];
        allRows_ = tiling.rows;
        tileRows_ = tiling.tileRows;
        tileColumns_ = tiling.tileColumns;
        pitch = tiling.outputPitch;
        rowTiles_ = (allRows_ + tileRows_ - 1) / tileRows_;
    }
    __aicore__ inline uint64_t Count() const {
        return static_cast<uint64_t>((width_ + tileColumns_ - 1) / tileColumns_ * rowTiles_);
    }
    // Elements of a tile in UB.
    __aicore__ inline uint32_t Length() const { return static_cast<uint32_t>(tileRows_) * pitch; }
    // Go to a tile; true: its columns are others than those of the tile before. first: there is none.
    __aicore__ inline bool Seek(uint64_t tile, bool first) {
        const int64_t part = static_cast<int64_t>(tile) / rowTiles_;
        row = static_cast<int64_t>(tile) % rowTiles_ * tileRows_;
        rows = static_cast<uint32_t>(allRows_ - row < tileRows_ ? allRows_ - row : tileRows_);
        const int64_t before = column;
        column = part * tileColumns_;
        const int64_t left = width_ - column;
        columns = static_cast<uint32_t>(left < tileColumns_ ? left : tileColumns_);
        return first || column != before;
    }
    __aicore__ inline int64_t Width() const { return width_; }

    int64_t row = 0;       // the first one
    int64_t column = 0;    // likewise
    uint32_t rows = 0;     // of the tile
    uint32_t columns = 0;  // likewise
    uint32_t pitch = 0;    // elements from one row to the next in UB

 private:
    int64_t width_ = 0;
    int64_t allRows_ = 0;
    int64_t tileRows_ = 1;
    int64_t tileColumns_ = 1;
    int64_t rowTiles_ = 0;
};

// Copy the rows of a tile to GM.
template <typename T>
__aicore__ inline void StoreResized(const GlobalTensor<T>& gm, const LocalTensor<T>& tile,
                                 const ResizeTiles& tiles) {
    const uint32_t bytes = Bytes<T>(tiles.columns);
    AscendC::DataCopyExtParams blocks{static_cast<uint16_t>(tiles.rows), bytes, 0, 0, 0};
    blocks.srcStride = (Bytes<T>(tiles.pitch) - AlignBlock(bytes)) / kBlockBytes;
    if (tiles.rows > 1) {
        blocks.dstStride = static_cast<uint32_t>((tiles.Width() - tiles.columns) * sizeof(T));
    }
    AscendC::DataCopyPad(gm[tiles.row * tiles.Width() + tiles.column], tile, blocks);
}

}  // namespace opgen

#endif  // OPGEN_RESIZE_H
