// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Single elements that indices name, taken by the vector unit from a part of the table that UB
// holds.
#ifndef OPGEN_GATHERED_ELEMENTS_H
#define OPGEN_GATHERED_ELEMENTS_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/indexed.h"
#include "opgen/tile.h"

namespace opgen {

constexpr uint32_t kBatchLanes = 1024;  // elements that are taken at once, gaps included

// Elements that are taken at once: rows of them, `pitch` elements apart in UB and `apart` in the
// result, where the first one lies at `offset`.
struct ElementBox {
    uint64_t offset = 0;
    uint64_t apart = 0;
    uint32_t rows = 0;
    uint32_t cols = 0;
    uint32_t pitch = 0;
};

// Goes through the items of a space window by window. A window is what the items of several batches
// can name: lines of the table, each with all that indices reach, or some columns of it. Where an
// element lies in a window is a pattern, the same for all batches, and its indices times steps.
//
// kWrap: whether negative indices count from the end; T: of the table, of 2 or 4 bytes; TIndices:
// int32_t or int64_t, of the tensor of indices of each indexed axis.
template <bool kWrap, typename T, typename... TIndices>
class GatheredElements {
 public:
    // tiling: see opgen::TableTiling, and opgen::IndexedSpace for what all kernels by index read.
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, AscendC::TPipe* pipe) {
        uint64_t apart = 1;
        for (uint32_t i = kMaxDims; i > 0; --i) {
            dims_[i - 1] = static_cast<uint64_t>(tiling.itemDims[i - 1]);
            tableSteps_[i - 1] = tiling.tableSteps[i - 1];
            resultSteps_[i - 1] = apart;
            apart *= dims_[i - 1];
        }
        for (uint32_t k = 0; k < kIndices; ++k) {
            for (uint32_t i = 0; i < kMaxDims; ++i) {
                indexSteps_[k][i] = tiling.indexSteps[k * kMaxDims + i];
            }
            axisSizes_[k] = tiling.axisSizes[k];
            windowSteps_[k] = static_cast<int32_t>(tiling.windowSteps[k]);
            indexOffsets_[k] = tiling.indexOffsets[k];
            pipe->InitBuffer(queues_[k], 2, kBatchLanes * sizeof(int64_t));
        }
        tableOffset_ = tiling.tableOffset;
        rowDim_ = tiling.rowDim;
        byColumns_ = tiling.byColumns != 0;
        shared_ = tiling.sharedIndex != 0;
        batchRows_ = tiling.batchRows;
        batchCols_ = tiling.batchCols;
        pitch_ = tiling.batchPitch;
        windowRows_ = tiling.windowRows;
        windowCols_ = tiling.windowCols;
        windowPitch_ = tiling.windowPitch;
        windowStep_ = static_cast<uint64_t>(tiling.windowStep);
        pipe->InitBuffer(window_, tiling.windowCopies, Bytes<T>(tiling.windowLength));
        pipe->InitBuffer(buffer_, kTiles * kTileBytes + kMasks * kMaskBytes);
        rowBlocks_ = (dims_[rowDim_] + batchRows_ - 1) / batchRows_;
        colBlocks_ = (dims_[kMaxDims - 1] + batchCols_ - 1) / batchCols_;
        MakePattern();
        Start();
    }
    __aicore__ inline void SetTable(const GlobalTensor<T>& table) { table_ = table; }
    __aicore__ inline void SetIndices(uint32_t k, GM_ADDR indices) {
        indices_[k] = indices + indexOffsets_[k] * static_cast<int64_t>(kSizes[k]);
    }
    // The next batch, with its window in UB; false: there is none.
    __aicore__ inline bool Next(ElementBox& box) {
        if (!Advance(box)) {
            if (entered_) {
                window_.FreeTensor(held_);
                entered_ = false;
            }
            return false;
        }
        if (newWindow_) {
            LoadWindow(box);
        }
        return true;
    }
    // Take the elements of a batch; those whose index is outside its axis are 0.
    __aicore__ inline void Take(const LocalTensor<T>& dst, const ElementBox& box) {
        const uint32_t rows = shared_ ? 1 : box.rows;
        const uint32_t count = rows * pitch_;
        FindPlaces(box, rows, count);
        const LocalTensor<uint32_t> places = Words(kPlaces).template ReinterpretCast<uint32_t>();
        const LocalTensor<Word> from = held_.template ReinterpretCast<Word>();
        const LocalTensor<Word> to = dst.template ReinterpretCast<Word>();
        const LocalTensor<Number> numbers = dst.template ReinterpretCast<Number>();
        for (uint32_t i = 0; i < (shared_ ? box.rows : 1); ++i) {
            AscendC::Gather(to[i * pitch_], from, places, Bytes<T>(i * windowPitch_), count);
        }
        VectorBarrier();
        for (uint32_t i = 0; i < (shared_ ? box.rows : 1); ++i) {
            AscendC::Select(numbers[i * pitch_], Mask(kInside), numbers[i * pitch_],
                            static_cast<Number>(0), AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE,
                            count);
        }
        VectorBarrier();
    }
    // Whether an index was outside its axis, once all batches were taken. Goes through the indices
    // again where one was, for the first one.
    __aicore__ inline bool FindOutside() {
        if (IsSet(Mask(kAll), kBatchLanes)) {
            return false;
        }
        Start();
        ElementBox box;
        bool found = false;
        while (!found && Advance(box)) {
            const uint32_t rows = shared_ ? 1 : box.rows;
            for (uint32_t k = 0; k < kIndices && !found; ++k) {
                found = kSizes[k] == sizeof(int64_t) ? NoteOutside<int64_t>(k, box, rows)
                                                     : NoteOutside<int32_t>(k, box, rows);
            }
        }
        return true;
    }
    // The index that FindOutside found, and the size of its axis.
    __aicore__ inline int64_t Outside() const { return outside_; }
    __aicore__ inline int64_t OutsideOf() const { return outsideOf_; }

 private:
    static constexpr uint32_t kIndices = sizeof...(TIndices);
    static constexpr uint32_t kSizes[kIndices] = {sizeof(TIndices)...};
    using Word = typename Choose<sizeof(T) == sizeof(uint16_t), uint16_t, uint32_t>::Type;
    using Number = Selected<T>;
    enum Tile : uint32_t { kPattern, kPlaces, kIndex, kNearest, kTiles };
    enum Bits : uint32_t { kInside, kOther, kAll, kMasks };
    static constexpr uint32_t kTileBytes = kBatchLanes * sizeof(int32_t);
    static constexpr uint32_t kMaskBytes = kBatchLanes / 8;
    static constexpr uint32_t kMostRows = 4095;  // of a copy

    __aicore__ inline LocalTensor<int32_t> Words(uint32_t tile) {
        return buffer_.template GetWithOffset<int32_t>(kBatchLanes, tile * kTileBytes);
    }
    __aicore__ inline LocalTensor<uint8_t> Mask(uint32_t mask) {
        return buffer_.template GetWithOffset<uint8_t>(kMaskBytes,
                                                       kTiles * kTileBytes + mask * kMaskBytes);
    }
    // Begin with the first batch of this core.
    __aicore__ inline void Start() {
        uint64_t units = byColumns_ ? colBlocks_ : rowBlocks_;
        for (uint32_t i = 0; i + 1 < kMaxDims; ++i) {
            units *= i == rowDim_ ? 1 : dims_[i];
        }
        steps_ = byColumns_ ? rowBlocks_ : colBlocks_;
        Share share;
        share.Init(units * steps_);
        left_ = share.last - share.first;
        unit_ = share.first / steps_;
        step_ = share.first % steps_;
        newUnit_ = true;
    }
    // The next batch; newWindow_: its window is another one than that of the batch before.
    __aicore__ inline bool Advance(ElementBox& box) {
        if (left_ == 0) {
            return false;
        }
        --left_;
        newWindow_ = newUnit_;
        if (newUnit_) {
            Enter();
        }
        newUnit_ = false;
        row_ = (byColumns_ ? step_ : block_) * batchRows_;
        col_ = (byColumns_ ? block_ : step_) * batchCols_;
        const uint64_t rows = dims_[rowDim_] - row_;
        const uint64_t cols = dims_[kMaxDims - 1] - col_;
        box.rows = rows < batchRows_ ? static_cast<uint32_t>(rows) : batchRows_;
        box.cols = cols < batchCols_ ? static_cast<uint32_t>(cols) : batchCols_;
        box.pitch = pitch_;
        box.apart = resultSteps_[rowDim_];
        box.offset = resultBase_ + row_ * resultSteps_[rowDim_] + col_;
        if (++step_ == steps_) {
            step_ = 0;
            ++unit_;
            newUnit_ = true;
        }
        return true;
    }
    // Take the position of a unit along the axes that are neither rows nor columns of a batch.
    __aicore__ inline void Enter() {
        const uint64_t blocks = byColumns_ ? colBlocks_ : rowBlocks_;
        uint64_t outer = unit_ / blocks;
        block_ = unit_ % blocks;
        tableBase_ = tableOffset_;
        resultBase_ = 0;
        for (uint32_t k = 0; k < kIndices; ++k) {
            indexBase_[k] = 0;
        }
        for (uint32_t i = kMaxDims - 1; i > 0; --i) {
            if (i - 1 == rowDim_ || outer == 0) {
                continue;
            }
            const uint64_t at = outer % dims_[i - 1];
            outer /= dims_[i - 1];
            tableBase_ += static_cast<int64_t>(at) * tableSteps_[i - 1];
            resultBase_ += at * resultSteps_[i - 1];
            for (uint32_t k = 0; k < kIndices; ++k) {
                indexBase_[k] += static_cast<int64_t>(at) * indexSteps_[k][i - 1];
            }
        }
    }
    __aicore__ inline void LoadWindow(const ElementBox& box) {
        if (entered_) {
            window_.FreeTensor(held_);
        }
        entered_ = true;
        LocalTensor<T> window = window_.template AllocTensor<T>();
        if (byColumns_) {
            const GlobalTensor<T> from = table_[static_cast<uint64_t>(tableBase_) + col_];
            for (uint32_t row = 0; row < windowRows_; row += kMostRows) {
                const uint32_t left = windowRows_ - row;
                LoadRows(window[row * windowPitch_], from[row * windowStep_],
                         left < kMostRows ? left : kMostRows, box.cols, windowPitch_, windowStep_);
            }
        } else {
            const int64_t at = tableBase_ + static_cast<int64_t>(row_) * tableSteps_[rowDim_];
            const bool one = windowPitch_ == 0;
            LoadRows(window, table_[static_cast<uint64_t>(at)], one ? 1 : box.rows, windowCols_,
                     one ? AlignElements<T>(windowCols_) : windowPitch_, windowStep_);
        }
        window_.EnQue(window);
        held_ = window_.template DeQue<T>();
    }
    // Where the elements of lanes lie in a window, in bytes, for an index of 0.
    __aicore__ inline void MakePattern() {
        const LocalTensor<int32_t> pattern = Words(kPattern);
        const int32_t rowStep = byColumns_ ? 0 : static_cast<int32_t>(Bytes<T>(windowPitch_));
        const uint32_t lanes = shared_ ? pitch_ : batchRows_ * pitch_;
        if (byColumns_) {
            AscendC::CreateVecIndex(pattern, 0, pitch_);
            VectorBarrier();
            AscendC::Muls(pattern, pattern, static_cast<int32_t>(sizeof(T)), pitch_);
        } else {
            AscendC::Duplicate(pattern, 0, pitch_);
        }
        VectorBarrier();
        // the rows so far, once more behind them
        for (uint32_t rows = 1; rows * pitch_ < lanes; rows *= 2) {
            const uint32_t done = rows * pitch_;
            const uint32_t more = lanes - done < done ? lanes - done : done;
            AscendC::Adds(pattern[done], pattern, static_cast<int32_t>(rows) * rowStep, more);
            VectorBarrier();
        }
        SetMask(Mask(kAll), kBatchLanes);
    }
    // Places = the pattern and what the indices of a batch add to it; kInside: whether all are
    // inside their axes.
    __aicore__ inline void FindPlaces(const ElementBox& box, uint32_t rows, uint32_t count) {
        const uint32_t lanes = AlignLanes(count);
        const LocalTensor<int32_t> places = Words(kPlaces);
        const LocalTensor<int32_t> index = Words(kIndex);
        const LocalTensor<int32_t> nearest = Words(kNearest);
        const LocalTensor<uint8_t> inside = Mask(kInside);
        for (uint32_t k = 0; k < kIndices; ++k) {
            if (kSizes[k] == sizeof(int64_t)) {
                TakeIndices<int64_t>(k, box, rows, count);
            } else {
                TakeIndices<int32_t>(k, box, rows, count);
            }
            FindNearest<kWrap>(nearest, k == 0 ? inside : Mask(kOther), index,
                               static_cast<int32_t>(axisSizes_[k]), lanes);
            AscendC::Muls(nearest, nearest, windowSteps_[k], count);
            VectorBarrier();
            if (k > 0) {
                BothMasks(inside, Mask(kOther), lanes);
            }
            AscendC::Add(places, k == 0 ? Words(kPattern) : places, nearest, count);
            VectorBarrier();
        }
        BothMasks(Mask(kAll), inside, lanes);
    }
    // The indices of a batch as int32.
    template <typename TIndex>
    __aicore__ inline void TakeIndices(uint32_t k, const ElementBox& box, uint32_t rows,
                                       uint32_t count) {
        LocalTensor<TIndex> given = LoadIndices<TIndex>(k, box, rows);
        NarrowIndices(Words(kIndex), given, count);
        queues_[k].FreeTensor(given);
    }
    // Load the indices of a batch for the vector unit; gaps become 0.
    template <typename TIndex>
    __aicore__ inline LocalTensor<TIndex> LoadIndices(uint32_t k, const ElementBox& box,
                                                      uint32_t rows) {
        LocalTensor<TIndex> given = queues_[k].template AllocTensor<TIndex>();
        const int64_t apart = indexSteps_[k][rowDim_];
        const int64_t at =
            indexBase_[k] + static_cast<int64_t>(row_) * apart + static_cast<int64_t>(col_);
        GlobalTensor<TIndex> indices;
        indices.SetGlobalBuffer(reinterpret_cast<__gm__ TIndex*>(indices_[k]) + at);
        LoadRows(given, indices, rows, box.cols, pitch_, static_cast<uint64_t>(apart));
        queues_[k].EnQue(given);
        return queues_[k].template DeQue<TIndex>();
    }
    // Note the first index of a batch that is outside its axis; false: all are inside.
    template <typename TIndex>
    __aicore__ inline bool NoteOutside(uint32_t k, const ElementBox& box, uint32_t rows) {
        LocalTensor<TIndex> given = LoadIndices<TIndex>(k, box, rows);
        Order<AscendC::HardEvent::MTE2_S>();
        bool found = false;
        for (uint32_t row = 0; row < rows && !found; ++row) {
            for (uint32_t col = 0; col < box.cols && !found; ++col) {
                const int64_t index = given.GetValue(row * pitch_ + col);
                const int64_t from = kWrap && index < 0 ? index + axisSizes_[k] : index;
                found = from < 0 || from >= axisSizes_[k];
                outside_ = found ? index : outside_;
                outsideOf_ = axisSizes_[k];
            }
        }
        queues_[k].FreeTensor(given);
        return found;
    }

    AscendC::TQue<AscendC::TPosition::VECIN, 1> queues_[kIndices];
    AscendC::TQue<AscendC::TPosition::VECIN, 1> window_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer_;
    AscendC::LocalTensor<T> held_;  // the window of the batch
    AscendC::GlobalTensor<T> table_;
    GM_ADDR indices_[kIndices] = {};
    uint64_t dims_[kMaxDims] = {};
    uint64_t resultSteps_[kMaxDims] = {};
    int64_t tableSteps_[kMaxDims] = {};
    int64_t indexSteps_[kIndices][kMaxDims] = {};
    int64_t axisSizes_[kIndices] = {};
    int64_t indexOffsets_[kIndices] = {};
    int64_t indexBase_[kIndices] = {};
    int32_t windowSteps_[kIndices] = {};  // bytes
    int64_t tableOffset_ = 0;
    int64_t tableBase_ = 0;
    uint64_t resultBase_ = 0;
    uint32_t rowDim_ = 0;
    bool byColumns_ = false;
    bool shared_ = false;  // all rows of a batch have the same indices
    uint32_t batchRows_ = 1;
    uint32_t batchCols_ = 1;
    uint32_t pitch_ = 1;
    uint32_t windowRows_ = 1;
    uint32_t windowCols_ = 1;
    uint32_t windowPitch_ = 0;  // 0: one line for all rows of a batch
    uint64_t windowStep_ = 0;
    uint64_t rowBlocks_ = 1;
    uint64_t colBlocks_ = 1;
    uint64_t unit_ = 0;  // a window
    uint64_t block_ = 0;
    uint64_t step_ = 0;  // a batch of it
    uint64_t steps_ = 1;
    uint64_t left_ = 0;
    uint64_t row_ = 0;
    uint64_t col_ = 0;
    bool newUnit_ = true;
    bool newWindow_ = true;
    bool entered_ = false;
    int64_t outside_ = 0;
    int64_t outsideOf_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_GATHERED_ELEMENTS_H
