// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Planes resampled along their last axes, of which there are up to three. A row of the result is a
// sum of rows of a plane. Where the results have fewer rows than the planes, rows are added up, and
// the columns of the sums are taken; else the columns of rows are taken, and added up.
#ifndef OPGEN_RESIZE_H
#define OPGEN_RESIZE_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/resize_places.h"
#include "opgen/tile.h"

namespace opgen {

// What a kernel that resizes knows of its planes, and of a row of the results.
template <ResizeMode kMode, uint32_t kAxes>
class ResizePlanes {
 public:
    static constexpr uint32_t kTaps = TapsOf(kMode);
    static constexpr uint32_t kRowAxes = kAxes - 1;
    // Planes of a volume, and rows of each of them, that a row of the results is a sum of.
    static constexpr uint32_t kDepths = kRowAxes > 1 ? kTaps : 1;
    static constexpr uint32_t kHeights = kRowAxes > 0 ? kTaps : 1;

    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, AscendC::TPipe* pipe) {
        for (uint32_t i = 0; i < kResizeAxes; ++i) {
            axis[i].inputs = tiling.inputSizes[i];
            axis[i].outputs = tiling.outputSizes[i];
            axis[i].ratio = tiling.ratios[i];
        }
        corners_ = tiling.corners != 0;
        for (uint32_t i = 0; i < kRowAxes; ++i) {
            rows_[i].Init(pipe);
        }
    }
    // Find where a row of the results lies, among the rows of all planes.
    __aicore__ inline void Seek(int64_t row) {
        height = row % axis[1].outputs;
        const int64_t depth = row / axis[1].outputs % axis[0].outputs;
        const int64_t plane = row / axis[1].outputs / axis[0].outputs;
        if constexpr (kRowAxes > 1) {
            rows_[0].Seek(axis[0], depth, corners_);
        }
        for (uint32_t i = 0; i < kDepths; ++i) {
            planes[i] = plane * axis[0].inputs + (kRowAxes > 1 ? rows_[0].taps[i] : depth);
            depthWeights[i] = kRowAxes > 1 ? rows_[0].weights[i] : 1.0f;
        }
        SeekHeight(height);
    }
    // Find where a row of the same planes lies.
    __aicore__ inline void SeekHeight(int64_t output) {
        if constexpr (kRowAxes > 0) {
            rows_[kRowAxes - 1].Seek(axis[1], output, corners_);
        }
        for (uint32_t i = 0; i < kHeights; ++i) {
            heights[i] = kRowAxes > 0 ? rows_[kRowAxes - 1].taps[i] : output;
            heightWeights[i] = kRowAxes > 0 ? rows_[kRowAxes - 1].weights[i] : 1.0f;
        }
    }
    __aicore__ inline const ResizeAxis& Columns() const { return axis[kResizeAxes - 1]; }
    __aicore__ inline bool Corners() const { return corners_; }

    ResizeAxis axis[kResizeAxes];
    int64_t height = 0;            // of the row in its plane of results
    int64_t planes[kDepths] = {};  // among all planes of the input
    float depthWeights[kDepths] = {};
    int64_t heights[kHeights] = {};  // rows of these planes
    float heightWeights[kHeights] = {};

 private:
    ResizeRows<kMode> rows_[kRowAxes > 0 ? kRowAxes : 1];
    bool corners_ = false;
};

// Sums of rows, of which columns are taken: each row is loaded by itself, once for all results that
// follow one another.
template <ResizeMode kMode, uint32_t kAxes, typename T>
class ResizeSums {
 public:
    using Planes = ResizePlanes<kMode, kAxes>;
    using Columns = ResizeColumns<kMode>;

    template <typename Tiling>
    __aicore__ inline void Init(const GlobalTensor<T>& gm, const Tiling& tiling,
                                AscendC::TPipe* pipe) {
        gm_ = gm;
        inputPitch_ = tiling.inputPitch;
        outputPitch_ = tiling.outputPitch;
        batch_ = tiling.batch;
        pipe->InitBuffer(queue_, 2 * kHeld, Bytes<T>(inputPitch_));
        pipe->InitBuffer(held_, kHeld * Bytes<float>(inputPitch_));
        pipe->InitBuffer(sums_, batch_ * Bytes<float>(inputPitch_));
    }
    // Forget the rows that UB holds: others of their elements are needed.
    __aicore__ inline void Clear() {
        for (uint32_t i = 0; i < kHeld; ++i) {
            wanted_[i] = -1;
        }
    }
    // Compute `count` rows of the results from `row` on, each `outputPitch` elements behind the
    // last.
    __aicore__ inline void Compute(const LocalTensor<float>& dst, Planes& planes, Columns& columns,
                                   int64_t row, uint32_t count) {
        const LocalTensor<float> sums = sums_.template Get<float>();
        Load(planes, columns, row);
        for (uint32_t first = 0; first < count; first += batch_) {
            const uint32_t rows = count - first < batch_ ? count - first : batch_;
            for (uint32_t i = first; i < first + rows; ++i) {
                const Sum now = next_;
                next_.loadCount = 0;
                if (i + 1 < count) {
                    Load(planes, columns, row + i + 1);
                }
                Hold(now, columns.width);
                Add(sums[(i - first) * columns.rowPitch], now, columns.width);
            }
            columns.Take(dst[first * outputPitch_], sums, rows);
        }
    }

 private:
    static constexpr uint32_t kHeights = Planes::kHeights;
    static constexpr uint32_t kHeld = Planes::kDepths * kHeights;

    // The rows of planes that a row of the results is the sum of, and those that it waits for.
    struct Sum {
        uint32_t places[kHeld] = {};
        float weights[kHeld] = {};
        uint32_t loads[kHeld] = {};
        uint32_t loadCount = 0;
    };

    // Load what a row of the results needs and UB does not hold; the row is the next one to
    // compute.
    __aicore__ inline void Load(Planes& planes, const Columns& columns, int64_t row) {
        planes.Seek(row);
        for (uint32_t i = 0; i < kHeld; ++i) {
            const int64_t plane = planes.planes[i / kHeights];
            const int64_t height = planes.heights[i % kHeights];
            const int64_t from = plane * planes.axis[1].inputs + height;
            // rows that are neighbours never share a place
            const uint32_t place = static_cast<uint32_t>(plane % Planes::kDepths) * kHeights +
                                   static_cast<uint32_t>(height % kHeights);
            next_.places[i] = place;
            next_.weights[i] =
                planes.depthWeights[i / kHeights] * planes.heightWeights[i % kHeights];
            if (wanted_[place] != from) {
                wanted_[place] = from;
                LocalTensor<T> tile = queue_.template AllocTensor<T>();
                LoadRange(tile, gm_[from * planes.Columns().inputs + columns.begin], columns.width);
                queue_.EnQue(tile);
                next_.loads[next_.loadCount++] = place;
            }
        }
    }
    // Bring rows that were loaded to their places.
    __aicore__ inline void Hold(const Sum& now, uint32_t width) {
        for (uint32_t i = 0; i < now.loadCount; ++i) {
            LocalTensor<T> tile = queue_.template DeQue<T>();
            WidenCopy(Row(now.loads[i]), tile, width);
            VectorBarrier();
            queue_.FreeTensor(tile);
        }
    }
    __aicore__ inline void Add(const LocalTensor<float>& dst, const Sum& now, uint32_t width) {
        AscendC::Muls(dst, Row(now.places[0]), now.weights[0], width);
        VectorBarrier();
        for (uint32_t i = 1; i < kHeld; ++i) {
            AscendC::Axpy(dst, Row(now.places[i]), now.weights[i], width);
            VectorBarrier();
        }
    }
    __aicore__ inline LocalTensor<float> Row(uint32_t place) {
        return held_.template Get<float>()[place * inputPitch_];
    }

    AscendC::TQue<AscendC::TPosition::VECIN, 2 * kHeld> queue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> held_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> sums_;
    GlobalTensor<T> gm_;
    int64_t wanted_[kHeld] = {};
    Sum next_;
    uint32_t inputPitch_ = 0;
    uint32_t outputPitch_ = 0;
    uint32_t batch_ = 1;
};

// Columns of rows, which are added up: rows of a plane that follow one another are loaded at once.
template <ResizeMode kMode, uint32_t kAxes, typename T>
class ResizeBlocks {
 public:
    using Planes = ResizePlanes<kMode, kAxes>;
    using Columns = ResizeColumns<kMode>;

    template <typename Tiling>
    __aicore__ inline void Init(const GlobalTensor<T>& gm, const Tiling& tiling,
                                AscendC::TPipe* pipe) {
        gm_ = gm;
        outputPitch_ = tiling.outputPitch;
        blockRows_ = tiling.blockRows;
        const uint32_t length = blockRows_ * tiling.inputPitch;
        pipe->InitBuffer(queue_, 2, Bytes<T>(length));
        pipe->InitBuffer(wide_, Bytes<float>(length));
        pipe->InitBuffer(held_, Planes::kDepths * blockRows_ * Bytes<float>(outputPitch_));
    }
    // Compute `count` rows of the results from `row` on, each `outputPitch` elements behind the
    // last.
    __aicore__ inline void Compute(const LocalTensor<float>& dst, Planes& planes, Columns& columns,
                                   int64_t row, uint32_t count) {
        uint32_t done = 0;
        while (done < count) {
            done +=
                ComputeBlock(dst[done * outputPitch_], planes, columns, row + done, count - done);
        }
    }

 private:
    // Compute the first rows of some, of one plane, for which UB holds what they need; returns how
    // many.
    __aicore__ inline uint32_t ComputeBlock(const LocalTensor<float>& dst, Planes& planes,
                                            Columns& columns, int64_t row, uint32_t count) {
        planes.Seek(row);
        const int64_t output = planes.height;
        const int64_t begin = planes.heights[0];
        const int64_t left = planes.axis[1].outputs - output;
        const uint32_t most = static_cast<uint32_t>(left < count ? left : count);
        planes.SeekHeight(output + most - 1);
        const int64_t needed = planes.heights[Planes::kHeights - 1] + 1;
        const int64_t end = needed < begin + blockRows_ ? needed : begin + blockRows_;
        planes.SeekHeight(output);
        const uint32_t loaded = static_cast<uint32_t>(end - begin);
        for (uint32_t i = 0; i < Planes::kDepths; ++i) {
            Load(planes, columns, planes.planes[i], begin, loaded);
            if (i > 0) {
                Hold(columns, i - 1, loaded);
            }
        }
        Hold(columns, Planes::kDepths - 1, loaded);
        uint32_t rows = 0;
        do {
            Add(dst[rows * outputPitch_], planes, begin);
            ++rows;
            if (rows < most) {
                planes.SeekHeight(output + rows);
            }
        } while (rows < most && planes.heights[Planes::kHeights - 1] < end);
        return rows;
    }
    __aicore__ inline void Load(const Planes& planes, const Columns& columns, int64_t plane,
                                int64_t begin, uint32_t rows) {
        const int64_t width = planes.Columns().inputs;
        LocalTensor<T> tile = queue_.template AllocTensor<T>();
        const uint32_t gap = columns.rowPitch - columns.width;
        const AscendC::DataCopyExtParams blocks{
            static_cast<uint16_t>(rows), Bytes<T>(columns.width),
            static_cast<uint32_t>((width - columns.width) * sizeof(T)), 0, 0};
        const AscendC::DataCopyPadExtParams<T> pad{gap > 0, 0, static_cast<uint8_t>(gap),
                                                   static_cast<T>(0)};
        AscendC::DataCopyPad(tile,
                             gm_[(plane * planes.axis[1].inputs + begin) * width + columns.begin],
                             blocks, pad);
        queue_.EnQue(tile);
    }
    // Take the columns of the rows that were loaded.
    __aicore__ inline void Hold(Columns& columns, uint32_t depth, uint32_t rows) {
        const LocalTensor<float> wide = wide_.template Get<float>();
        LocalTensor<T> tile = queue_.template DeQue<T>();
        WidenCopy(wide, tile, rows * columns.rowPitch);
        VectorBarrier();
        queue_.FreeTensor(tile);
        columns.Take(Row(depth, 0), wide, rows);
    }
    __aicore__ inline void Add(const LocalTensor<float>& dst, const Planes& planes, int64_t begin) {
        for (uint32_t i = 0; i < Planes::kDepths * Planes::kHeights; ++i) {
            const uint32_t depth = i / Planes::kHeights;
            const uint32_t height = i % Planes::kHeights;
            const LocalTensor<float> row =
                Row(depth, static_cast<uint32_t>(planes.heights[height] - begin));
            const float weight = planes.depthWeights[depth] * planes.heightWeights[height];
            if (i == 0) {
                AscendC::Muls(dst, row, weight, outputPitch_);
            } else {
                AscendC::Axpy(dst, row, weight, outputPitch_);
            }
            VectorBarrier();
        }
    }
    __aicore__ inline LocalTensor<float> Row(uint32_t depth, uint32_t row) {
        return held_.template Get<float>()[(depth * blockRows_ + row) * outputPitch_];
    }

    AscendC::TQue<AscendC::TPosition::VECIN, 2> queue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> wide_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> held_;
    GlobalTensor<T> gm_;
    uint32_t outputPitch_ = 0;
    uint32_t blockRows_ = 1;
};

// Rows of results, one after another. kAxes: how many axes are resampled; T: of the planes.
template <ResizeMode kMode, uint32_t kAxes, typename T>
class Resizer {
 public:
    // tiling: see opgen::ResizeSpace.
    template <typename Tiling>
    __aicore__ inline void Init(const GlobalTensor<T>& gm, const Tiling& tiling,
                                AscendC::TPipe* pipe) {
        planes_.Init(tiling, pipe);
        columns_.Init(pipe, tiling.outputPitch, kBlockBytes / sizeof(T), tiling.batch);
        byBlocks_ = tiling.blockRows > 0;
        if (byBlocks_) {
            blocks_.Init(gm, tiling, pipe);
        } else {
            sums_.Init(gm, tiling, pipe);
        }
    }
    // Go to `count` columns from `first` on.
    __aicore__ inline void SeekColumns(int64_t first, uint32_t count) {
        columns_.Seek(planes_.Columns(), first, count, planes_.Corners());
        sums_.Clear();
    }
    // Compute `count` rows of the results from `row` on, each `outputPitch` elements behind the
    // last.
    __aicore__ inline void Compute(const LocalTensor<float>& dst, int64_t row, uint32_t count) {
        if (byBlocks_) {
            blocks_.Compute(dst, planes_, columns_, row, count);
        } else {
            sums_.Compute(dst, planes_, columns_, row, count);
        }
    }

 private:
    ResizePlanes<kMode, kAxes> planes_;
    ResizeColumns<kMode> columns_;
    ResizeSums<kMode, kAxes, T> sums_;
    ResizeBlocks<kMode, kAxes, T> blocks_;
    bool byBlocks_ = false;
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
    // Go to a tile; true: its columns are others than those of the tile before. first: there is
    // none.
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
