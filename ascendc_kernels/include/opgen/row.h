// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Reductions over boxes. box.lanes: a box has one row per kept element and is reduced along its columns;
// otherwise one row per reduced element and is reduced along its rows. The result is a row tile:
// `rows` numbers (lanes) or `pitch` numbers.
#ifndef OPGEN_ROW_H
#define OPGEN_ROW_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/row_join.h"
#include "opgen/tile.h"

namespace opgen {

// dst = 1 / sqrt(x), which the instruction Rsqrt only approximates. dst may be x.
__aicore__ inline void InverseSqrt(const Tile32& dst, const Tile32& x, const Tile32& ones,
                                   uint32_t count) {
    AscendC::Sqrt(dst, x, count);
    AscendC::Duplicate(ones, 1.0f, count);
    VectorBarrier();
    AscendC::Div(dst, ones, dst, count);
    VectorBarrier();
}

// One number per repeat: `lanes` (up to 64) lanes of repeats `blocks` blocks apart.
template <int32_t kKind>
__aicore__ inline void ReduceRepeats(const Tile32& dst, const Tile32& src, uint32_t lanes,
                                     uint32_t repeats, uint32_t blocks) {
    constexpr uint32_t kMaxRepeat = 248;  // a multiple of 8, so that results start aligned
    for (uint32_t done = 0; done < repeats; done += kMaxRepeat) {
        const int32_t now =
            static_cast<int32_t>(repeats - done < kMaxRepeat ? repeats - done : kMaxRepeat);
        const Tile32 from = src[done * blocks * kFloatBlock];
        const Tile32 to = dst[done];
        const int32_t mask = static_cast<int32_t>(lanes);
        const int32_t stride = static_cast<int32_t>(blocks);
        if constexpr (kKind == kSum) {
            AscendC::WholeReduceSum(to, from, mask, now, 1, 1, stride);
        } else if constexpr (kKind == kMax) {
            AscendC::WholeReduceMax(to, from, mask, now, 1, 1, stride,
                                    AscendC::ReduceOrder::ORDER_ONLY_VALUE);
        } else {
            AscendC::WholeReduceMin(to, from, mask, now, 1, 1, stride,
                                    AscendC::ReduceOrder::ORDER_ONLY_VALUE);
        }
    }
    VectorBarrier();
}

// The first 64 lanes of each row of tmp = all 64-lane chunks of the row joined; rows of more than one
// repeat, `tmpPitch` elements apart in tmp. tmp may be src, with the pitch of the box.
template <int32_t kKind, bool kInPlace, typename C>
__aicore__ inline void FoldRows(const LocalTensor<C>& tmp, uint32_t tmpPitch,
                                const LocalTensor<C>& src, const Tile& box) {
    constexpr uint32_t kMaxRepeat = 255;
    const uint32_t rowBlocks = box.pitch / kFloatBlock;
    const uint32_t whole = box.cols / kFloatLanes;
    const uint32_t tail = box.cols % kFloatLanes;
    for (uint32_t row = 0; row < box.rows; row += kMaxRepeat) {
        const uint8_t repeat = static_cast<uint8_t>(
            box.rows - row < kMaxRepeat ? box.rows - row : kMaxRepeat);
        const LocalTensor<C> to = tmp[row * tmpPitch];
        const uint32_t from = row * box.pitch;
        const uint8_t step = static_cast<uint8_t>(rowBlocks);
        const uint8_t toStep = static_cast<uint8_t>(tmpPitch / kFloatBlock);
        if constexpr (!kInPlace) {
            AscendC::Copy(to, src[from], kFloatLanes, repeat,
                          {1, 1, toStep, static_cast<uint16_t>(rowBlocks)});
            VectorBarrier();
        }
        for (uint32_t chunk = 1; chunk < whole; ++chunk) {
            JoinRepeats<kKind>(to, to, src[from + chunk * kFloatLanes], kFloatLanes, repeat,
                               {1, 1, 1, toStep, toStep, step});
            VectorBarrier();
        }
        if (tail > 0) {
            JoinRepeats<kKind>(to, to, src[from + whole * kFloatLanes], tail, repeat,
                               {1, 1, 1, toStep, toStep, step});
            VectorBarrier();
        }
    }
}

// One long row: fold in halves until one repeat is left; a tree, so rounding errors grow with the
// logarithm of the length. tmp may be src.
template <int32_t kKind, bool kInPlace, typename C>
__aicore__ inline void FoldLongRow(const LocalTensor<C>& tmp, const LocalTensor<C>& src,
                                   uint32_t cols) {
    const uint32_t whole = cols / kFloatLanes * kFloatLanes;
    uint32_t length = AlignBlock(whole / 2 * sizeof(float)) / sizeof(float);
    length = (length + kFloatLanes - 1) / kFloatLanes * kFloatLanes;
    // [0, length) joined with [length, whole)
    Join<kKind>(tmp, src, src[length], whole - length);
    if constexpr (!kInPlace) {
        const uint32_t lone = whole - length;
        if (lone < length) {
            AscendC::Muls(tmp[lone], src[lone], static_cast<C>(1), length - lone);
        }
    }
    VectorBarrier();
    if (cols > whole) {
        Join<kKind>(tmp, tmp, src[whole], cols - whole);
        VectorBarrier();
    }
    while (length > kFloatLanes) {
        const uint32_t half = (length / 2 + kFloatLanes - 1) / kFloatLanes * kFloatLanes;
        Join<kKind>(tmp, tmp, tmp[half], length - half);
        VectorBarrier();
        length = half;
    }
}

// The first 64 lanes of each row of tmp = the row of the box joined, for rows of more than one repeat.
// tmp holds a tile, or is src. Returns how far apart the rows of tmp are.
template <int32_t kKind, bool kInPlace, typename C>
__aicore__ inline uint32_t FoldLanes(const LocalTensor<C>& tmp, const LocalTensor<C>& src,
                                     const Tile& box) {
    constexpr uint32_t kMaxStride = 255 * kFloatBlock;
    // Few long rows: a tree along each row is fewer and longer instructions than one chunk of all
    // rows at a time.
    constexpr uint32_t kChunksPerRow = 8;
    if (box.pitch <= kMaxStride && box.cols / kFloatLanes < kChunksPerRow * box.rows) {
        const uint32_t pitch = kInPlace ? box.pitch : kFloatLanes;
        FoldRows<kKind, kInPlace>(tmp, pitch, src, box);
        return pitch;
    }
    for (uint32_t row = 0; row < box.rows; ++row) {
        FoldLongRow<kKind, kInPlace>(tmp[row * box.pitch], src[row * box.pitch], box.cols);
    }
    return box.pitch;
}

// dst[r] = row r of the box joined. tmp holds a tile, or is src.
template <int32_t kKind, bool kInPlace>
__aicore__ inline void ReduceLanes(const Tile32& dst, const Tile32& src, const Tile32& tmp,
                                   const Tile& box) {
    if (box.cols <= kFloatLanes) {
        ReduceRepeats<kKind>(dst, src, box.cols, box.rows, box.pitch / kFloatBlock);
        return;
    }
    const uint32_t pitch = FoldLanes<kKind, kInPlace>(tmp, src, box);
    ReduceRepeats<kKind>(dst, tmp, kFloatLanes, box.rows, pitch / kFloatBlock);
}

// dst[c] = column c of the box joined, as a tree over the rows. tmp holds a tile, or is src.
template <int32_t kKind, typename C>
__aicore__ inline void ReduceColumns(const LocalTensor<C>& dst, const LocalTensor<C>& src,
                                     const LocalTensor<C>& tmp, const Tile& box) {
    uint32_t rows = box.rows;
    if (rows == 1) {
        AscendC::Muls(dst, src, static_cast<C>(1), box.pitch);
        VectorBarrier();
        return;
    }
    uint32_t half = rows / 2;
    const LocalTensor<C>& first = half == 1 ? dst : tmp;
    Join<kKind>(first, src, src[half * box.pitch], half * box.pitch);
    VectorBarrier();
    if (rows % 2 == 1) {
        Join<kKind>(first, first, src[(rows - 1) * box.pitch], box.pitch);
        VectorBarrier();
    }
    rows = half;
    while (rows > 1) {
        half = rows / 2;
        if (rows % 2 == 1) {
            Join<kKind>(tmp, tmp, tmp[(rows - 1) * box.pitch], box.pitch);
            VectorBarrier();
        }
        const LocalTensor<C>& to = half == 1 ? dst : tmp;
        Join<kKind>(to, tmp, tmp[half * box.pitch], half * box.pitch);
        VectorBarrier();
        rows = half;
    }
}

// dst = the rows of the box joined; tmp holds a tile.
template <int32_t kKind>
__aicore__ inline void Reduce(const Tile32& dst, const Tile32& src, const Tile32& tmp,
                              const Tile& box) {
    if (box.lanes) {
        ReduceLanes<kKind, false>(dst, src, tmp, box);
    } else {
        ReduceColumns<kKind>(dst, src, tmp, box);
    }
}

// Reduce that uses src itself as scratch.
template <int32_t kKind>
__aicore__ inline void ReduceInPlace(const Tile32& dst, const Tile32& src, const Tile& box) {
    if (box.lanes) {
        ReduceLanes<kKind, true>(dst, src, src, box);
    } else {
        ReduceColumns<kKind>(dst, src, src, box);
    }
}

// How many numbers a row tile of this box has.
__aicore__ inline uint32_t RowCount(const Tile& box) {
    return box.lanes ? box.rows : box.pitch;
}

// The same in whole blocks of floats.
__aicore__ inline uint32_t RowBlocks(const Tile& box) {
    return AlignBlock(RowCount(box) * sizeof(float)) / sizeof(float);
}

// acc = acc op reduce(src), for boxes that stream through.
template <int32_t kKind>
__aicore__ inline void Accumulate(const Tile32& acc, const Tile32& partial, const Tile32& src,
                                  const Tile32& tmp, const Tile& box) {
    Reduce<kKind>(partial, src, tmp, box);
    Join<kKind>(acc, acc, partial, RowCount(box));
    VectorBarrier();
}

// Accumulate that uses src itself as scratch.
template <int32_t kKind>
__aicore__ inline void AccumulateInPlace(const Tile32& acc, const Tile32& partial,
                                         const Tile32& src, const Tile& box) {
    ReduceInPlace<kKind>(partial, src, box);
    Join<kKind>(acc, acc, partial, RowCount(box));
    VectorBarrier();
}

// Position of every element along the reduced axes, as a float (box.offset is that of the first).
__aicore__ inline void Position(const Tile32& dst, const Tile& box) {
    const float first = static_cast<float>(static_cast<int64_t>(box.offset));
    if (box.lanes) {
        AscendC::CreateVecIndex(dst, first, box.pitch);
        VectorBarrier();
        for (uint32_t row = 1; row < box.rows; ++row) {
            AscendC::Muls(dst[row * box.pitch], dst, 1.0f, box.pitch);
        }
    } else {
        for (uint32_t row = 0; row < box.rows; ++row) {
            AscendC::Duplicate(dst[row * box.pitch], first + static_cast<float>(row), box.pitch);
        }
    }
    VectorBarrier();
}

// The work of a row kernel: items are boxes of kept elements, chunks the boxes of reduced elements
// that each item goes through.
class RowTiles {
public:
    // tiling: lanes, outerDims (kept ones first, keptOuter of them), rowCount, colCount, boxRows,
    // boxCols, pitchUnit, split.
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling) {
        split = tiling.split != 0;
        lanes_ = tiling.lanes != 0;
        kept_ = tiling.keptOuter;
        uint64_t keptOuter = 1;
        uint64_t reducedOuter = 1;
        for (uint32_t i = 0; i < kOuterDims; ++i) {
            outerDims_[i] = static_cast<uint64_t>(tiling.outerDims[i]);
            (i < kept_ ? keptOuter : reducedOuter) *= outerDims_[i];
        }
        rows_ = tiling.rowCount;
        cols_ = tiling.colCount;
        boxRows_ = tiling.boxRows;
        boxCols_ = tiling.boxCols;
        pitchUnit_ = tiling.pitchUnit;
        const uint64_t rowBoxes = (rows_ + boxRows_ - 1) / boxRows_;
        const uint64_t colBoxes = (cols_ + boxCols_ - 1) / boxCols_;
        keptBoxes_ = lanes_ ? rowBoxes : colBoxes;
        reducedBoxes_ = lanes_ ? colBoxes : rowBoxes;
        const uint64_t items = keptOuter * keptBoxes_;
        const uint64_t chunks = reducedOuter * reducedBoxes_;
        Share share;
        if (split) {
            share.Init(chunks);
            firstItem = 0;
            lastItem = items;
            firstChunk = share.first;
            lastChunk = share.last;
        } else {
            share.Init(items);
            firstItem = share.first;
            lastItem = share.last;
            firstChunk = 0;
            lastChunk = chunks;
        }
    }
    __aicore__ inline void SetItem(uint64_t item, Tile& box) const {
        const uint64_t at = item % keptBoxes_;
        Decode(item / keptBoxes_, 0, kept_, box);
        box.row = box.col = 0;
        if (lanes_) {
            box.row = at * boxRows_;
            box.rows = Part(rows_, box.row, boxRows_);
            box.cols = Part(cols_, 0, boxCols_);
        } else {
            box.col = at * boxCols_;
            box.cols = Part(cols_, box.col, boxCols_);
            box.rows = Part(rows_, 0, boxRows_);
        }
        Finish(box);
    }
    __aicore__ inline void SetChunk(uint64_t chunk, Tile& box) const {
        const uint64_t at = chunk % reducedBoxes_;
        const uint64_t outer = chunk / reducedBoxes_;
        Decode(outer, kept_, kOuterDims, box);
        if (lanes_) {
            box.col = at * boxCols_;
            box.cols = Part(cols_, box.col, boxCols_);
            box.offset = outer * cols_ + box.col;
        } else {
            box.row = at * boxRows_;
            box.rows = Part(rows_, box.row, boxRows_);
            box.offset = outer * rows_ + box.row;
        }
        Finish(box);
    }

    bool split = false;  // all cores share the chunks of every item
    uint64_t firstItem = 0;
    uint64_t lastItem = 0;
    uint64_t firstChunk = 0;
    uint64_t lastChunk = 0;

private:
    __aicore__ inline static uint32_t Part(uint64_t size, uint64_t first, uint64_t most) {
        return static_cast<uint32_t>(size - first < most ? size - first : most);
    }
    __aicore__ inline void Finish(Tile& box) const {
        box.pitch = (box.cols + pitchUnit_ - 1) / pitchUnit_ * pitchUnit_;
        box.count = box.rows * box.pitch;
        box.lanes = lanes_;
    }
    __aicore__ inline void Decode(uint64_t index, uint32_t first, uint32_t last, Tile& box) const {
        for (uint32_t i = last; i > first; --i) {
            box.outer[i - 1] = index % outerDims_[i - 1];
            index /= outerDims_[i - 1];
        }
    }

    uint64_t outerDims_[kOuterDims] = {};
    bool lanes_ = true;
    uint32_t kept_ = 0;
    uint64_t rows_ = 0;
    uint64_t cols_ = 0;
    uint64_t boxRows_ = 1;
    uint64_t boxCols_ = 1;
    uint64_t keptBoxes_ = 1;
    uint64_t reducedBoxes_ = 1;
    uint32_t pitchUnit_ = 32;
};

// Joins the accumulators of all cores through the workspace: each core writes its own, waits for
// all, and reads everyone's in the same order, so that all cores get the same bits. Two sets of
// slots alternate: a core cannot write a set again before all cores have read it, because the other
// set's synchronisation lies between.
class Exchange {
public:
    // slots: accumulators joined at once; lanes: numbers per slot.
    __aicore__ inline void Init(GM_ADDR workspace, uint32_t slots, uint32_t lanes) {
        cores_ = static_cast<uint32_t>(AscendC::GetBlockNum());
        slots_ = slots;
        lanes_ = lanes;
        gm_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    }
    // Write the first `count` numbers of accumulator `slot`, whole blocks of them; call for all
    // slots, then Wait once, then join all.
    template <typename C>
    __aicore__ inline void Publish(const LocalTensor<C>& acc, uint32_t slot, uint32_t count) {
        Order<AscendC::HardEvent::V_MTE3>();
        AscendC::DataCopy(gm_[At(static_cast<uint32_t>(AscendC::GetBlockIdx()), slot)],
                          acc.template ReinterpretCast<float>(), count);
        Order<AscendC::HardEvent::MTE3_V>();
    }
    __aicore__ inline void Wait() {
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::SyncAll();
    }
    __aicore__ inline uint32_t Cores() const {
        return cores_;
    }
    __aicore__ inline void Read(const Tile32& to, uint32_t core, uint32_t slot,
                                uint32_t count) const {
        Order<AscendC::HardEvent::V_MTE2>();
        AscendC::DataCopy(to, gm_[At(core, slot)], count);
        Order<AscendC::HardEvent::MTE2_V>();
    }
    template <int32_t kKind, typename C>
    __aicore__ inline void JoinAll(const LocalTensor<C>& acc, const Tile32& partial, uint32_t slot,
                                   uint32_t count) const {
        const LocalTensor<C> own = partial.template ReinterpretCast<C>();
        Read(acc.template ReinterpretCast<float>(), 0, slot, count);
        for (uint32_t core = 1; core < cores_; ++core) {
            Read(partial, core, slot, count);
            opgen::Join<kKind>(acc, acc, own, count);
            VectorBarrier();
        }
    }
    // The next exchange uses the other set of slots.
    __aicore__ inline void Flip() {
        set_ = 1 - set_;
    }

private:
    __aicore__ inline uint32_t At(uint32_t core, uint32_t slot) const {
        return ((set_ * slots_ + slot) * cores_ + core) * lanes_;
    }

    GlobalTensor<float> gm_;
    uint32_t cores_ = 1;
    uint32_t slots_ = 1;
    uint32_t lanes_ = 0;
    uint32_t set_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_ROW_H
