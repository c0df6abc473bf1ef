// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Operands and values of a row kernel that have fewer elements than a box: one per row, or one box
// part that many boxes share. They are joined with a box by the strides of the instruction; where
// no instruction can, they are expanded to every element.
//
// A row tile holds one number per row of results: box.rows numbers (box.lanes) or box.pitch
// numbers.
#ifndef OPGEN_ROW_OPERANDS_H
#define OPGEN_ROW_OPERANDS_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/operand.h"
#include "opgen/row.h"
#include "opgen/tile.h"

namespace opgen {

// How the elements of an operand lie in UB: row r starts `rowBlocks` blocks after row r - 1 (0: one
// row for all), and its blocks are read `blockStride` blocks apart (0: one block for all columns).
struct BoxLayout {
    uint32_t rowBlocks = 0;
    uint32_t blockStride = 1;
};

// dst = a op b on `mask` lanes of `repeat` repeats.
template <int32_t kOp>
__aicore__ inline void ApplyRepeats(const Tile32& dst, const Tile32& a, const Tile32& b,
                                    uint64_t mask, uint8_t repeat,
                                    const AscendC::BinaryRepeatParams& params) {
    if constexpr (kOp == kSub) {
        AscendC::Sub(dst, a, b, mask, repeat, params);
    } else if constexpr (kOp == kDiv) {
        AscendC::Div(dst, a, b, mask, repeat, params);
    } else {
        JoinRepeats<kOp>(dst, a, b, mask, repeat, params);
    }
}

// The same with the whole operand first or second; the other one has the strides of `layout`.
template <int32_t kOp, bool kWholeFirst>
__aicore__ inline void ApplyLayout(const Tile32& dst, const Tile32& whole, const Tile32& other,
                                   uint64_t mask, uint32_t repeat, uint32_t blockStride,
                                   uint32_t step, uint32_t otherStep) {
    const uint8_t block = static_cast<uint8_t>(blockStride);
    const uint8_t next = static_cast<uint8_t>(step);
    const uint8_t otherNext = static_cast<uint8_t>(otherStep);
    if constexpr (kWholeFirst) {
        ApplyRepeats<kOp>(dst, whole, other, mask, static_cast<uint8_t>(repeat),
                          {1, 1, block, next, next, otherNext});
    } else {
        ApplyRepeats<kOp>(dst, other, whole, mask, static_cast<uint8_t>(repeat),
                          {1, block, 1, next, otherNext, next});
    }
}

// dst = whole op other (or other op whole) for every element of a box. dst may be `whole`.
template <int32_t kOp, bool kWholeFirst>
__aicore__ inline void ApplyToBox(const Tile32& dst, const Tile32& whole, const Tile32& other,
                                  const BoxLayout& layout, const Tile& box) {
    constexpr uint32_t kMaxRepeat = 255;
    constexpr uint32_t kRepeatBlocks = kRepeatBytes / kBlockBytes;
    const uint32_t repeats = box.pitch / kFloatLanes;
    const uint32_t pitchBlocks = box.pitch / kFloatBlock;
    if (box.rows <= repeats) {
        // Few long rows: the repeats of an instruction go along the row.
        for (uint32_t row = 0; row < box.rows; ++row) {
            const uint32_t start = row * box.pitch;
            const uint32_t from = row * layout.rowBlocks * kFloatBlock;
            for (uint32_t done = 0; done < repeats; done += kMaxRepeat) {
                const uint32_t now = repeats - done < kMaxRepeat ? repeats - done : kMaxRepeat;
                const uint32_t at = start + done * kFloatLanes;
                ApplyLayout<kOp, kWholeFirst>(dst[at], whole[at],
                                              other[from + layout.blockStride * done * kFloatLanes],
                                              kFloatLanes, now, layout.blockStride, kRepeatBlocks,
                                              layout.blockStride * kRepeatBlocks);
            }
            const uint32_t tail = repeats * kFloatLanes;
            if (tail < box.pitch) {
                ApplyLayout<kOp, kWholeFirst>(dst[start + tail], whole[start + tail],
                                              other[from + layout.blockStride * tail],
                                              box.pitch - tail, 1, layout.blockStride, 0, 0);
            }
        }
    } else {
        for (uint32_t col = 0; col < box.pitch; col += kFloatLanes) {
            const uint64_t mask = box.pitch - col < kFloatLanes ? box.pitch - col : kFloatLanes;
            for (uint32_t row = 0; row < box.rows; row += kMaxRepeat) {
                const uint32_t now = box.rows - row < kMaxRepeat ? box.rows - row : kMaxRepeat;
                const uint32_t at = row * box.pitch + col;
                ApplyLayout<kOp, kWholeFirst>(
                    dst[at], whole[at],
                    other[row * layout.rowBlocks * kFloatBlock + layout.blockStride * col], mask,
                    now, layout.blockStride, pitchBlocks, layout.rowBlocks);
            }
        }
    }
}

// blocks[r] = a block filled with number r of a row tile, for the rows of a box and up to 7 more.
template <typename C>
__aicore__ inline void FillBlocks(const LocalTensor<C>& blocks, const LocalTensor<C>& row,
                                  const Tile& box) {
    constexpr uint32_t kMaxGroups = 255;
    const uint32_t groups = ((box.joined ? 1 : box.rows) + 7) / 8;
    for (uint32_t done = 0; done < groups; done += kMaxGroups) {
        const uint32_t now = groups - done < kMaxGroups ? groups - done : kMaxGroups;
        AscendC::Brcb(blocks[done * 8 * kFloatBlock], row[done * 8], static_cast<uint8_t>(now),
                      {1, 8});
    }
    VectorBarrier();
}

// dst = whole op row (or row op whole), `row` with one number per row of the box. `blocks` is
// scratch of one block per row.
template <int32_t kOp, bool kWholeFirst = true>
__aicore__ inline void ApplyRow(const Tile32& dst, const Tile32& whole, const Tile32& row,
                                const Tile32& blocks, const Tile& box) {
    if (box.joined) {
        // one number for all rows: the box is one long row, gaps included
        Tile line = box;
        line.rows = 1;
        line.pitch = box.count;
        FillBlocks(blocks, row, box);
        ApplyToBox<kOp, kWholeFirst>(dst, whole, blocks, {0, 0}, line);
    } else if (box.lanes) {
        FillBlocks(blocks, row, box);
        ApplyToBox<kOp, kWholeFirst>(dst, whole, blocks, {1, 0}, box);
    } else {
        ApplyToBox<kOp, kWholeFirst>(dst, whole, row, {0, 1}, box);
    }
    VectorBarrier();
}

// Every element of the box gets its row's number. `blocks` is scratch of one block per row.
template <typename C>
__aicore__ inline void ExpandRow(const LocalTensor<C>& dst, const LocalTensor<C>& row,
                                 const Tile32& scratch, const Tile& box) {
    if (box.lanes) {
        const LocalTensor<C> blocks = scratch.template ReinterpretCast<C>();
        FillBlocks(blocks, row, box);
        BroadcastRows(dst, blocks, box, box.joined ? 0 : 1, 0);
    } else {
        BroadcastRows(dst, row, box, 0, 1);
    }
    VectorBarrier();
}

// How many numbers of a row tile belong to the box.
__aicore__ inline uint32_t RowElements(const Tile& box) {
    return box.joined ? 1 : (box.lanes ? box.rows : box.cols);
}

// Whether an operand has a number of its own for every row; if not, one serves all of them.
__aicore__ inline bool EachRow(const Walk& walk, const Tile& box) {
    return box.lanes ? walk.ByRow() : walk.ByCol();
}

// Whether the numbers of the rows lie apart in GM.
__aicore__ inline bool RowsApart(const Walk& walk, const Tile& box) {
    return box.lanes && box.rows > 1 && walk.ByRow() && walk.RowStride() != 1;
}

// Copy what a box needs of an operand that does not span the reduced axes to UB: a range, one
// number, or numbers that lie apart (one 32-byte block each, filled with it).
template <typename T>
__aicore__ inline void LoadRow(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                               const Walk& walk, const Tile& box) {
    if (RowsApart(walk, box)) {
        LoadBox(tile, gm, walk, box);
    } else {
        LoadRange(tile, gm[static_cast<uint64_t>(walk.At(box))],
                  EachRow(walk, box) ? RowElements(box) : 1);
        if constexpr (sizeof(T) > sizeof(float)) {
            if (!EachRow(walk, box)) {
                // the other half of what is one block once it is narrowed
                LoadRange(tile[kBlockBytes / sizeof(T)], gm[static_cast<uint64_t>(walk.At(box))],
                          1);
            }
        }
    }
}

// The numbers that a walk counts for the rows of a box.
__aicore__ inline void CountRow(const LocalTensor<int32_t>& dst, const Walk& walk,
                                const Tile& box) {
    const uint32_t count = RowCount(box);
    const int64_t step = walk.stride[box.lanes ? kOuterDims : kOuterDims + 1];
    AscendC::CreateVecIndex(dst, static_cast<int32_t>(0), count);
    VectorBarrier();
    AscendC::Muls(dst, dst, static_cast<int32_t>(step), count);
    VectorBarrier();
    AscendC::Adds(dst, dst, static_cast<int32_t>(walk.At(box)), count);
    VectorBarrier();
}

// Copy a row tile of an output to GM.
template <typename T>
__aicore__ inline void StoreRow(const GlobalTensor<T>& gm, const LocalTensor<T>& tile,
                                const Walk& walk, const Tile& box) {
    StoreRange(gm[static_cast<uint64_t>(walk.At(box))], tile, RowElements(box));
}

// Fill `count` elements, rounded up to whole repeats, with the number that fills the first block.
template <typename C>
__aicore__ inline void FillFromBlock(const LocalTensor<C>& dst, const LocalTensor<C>& block,
                                     uint32_t count) {
    Tile line;
    line.pitch = AlignLanes(count);
    BroadcastRows(dst, block, line, 0, 0);
}

// dst[r] = the first number of block r of a tile.
template <typename T>
__aicore__ inline void TakeFromBlocks(const LocalTensor<T>& dst, const LocalTensor<T>& blocks,
                                      const Tile32& scratch, uint32_t rows) {
    const LocalTensor<int32_t> offsets = scratch.template ReinterpretCast<int32_t>();
    AscendC::CreateVecIndex(offsets, static_cast<int32_t>(0), rows);
    VectorBarrier();
    AscendC::Muls(offsets, offsets, static_cast<int32_t>(kBlockBytes), rows);
    VectorBarrier();
    AscendC::Gather(dst, blocks, offsets.template ReinterpretCast<uint32_t>(), 0, rows);
}

// Widen what LoadRow copied into a row slot. `scratch` has 64 bytes per row of the box. Numbers
// that lie apart must be of a floating-point type or int32 (the tiling function checks it).
template <typename C, typename T>
__aicore__ inline void WidenRow(const LocalTensor<C>& dst, const LocalTensor<T>& tile,
                                const Tile32& scratch, const LocalTensor<half>& bytes,
                                const Walk& walk, const Tile& box) {
    constexpr uint32_t kPerBlock = kSpreadLanes<T>;
    const LocalTensor<C> stage = scratch.template ReinterpretCast<C>();
    if (!EachRow(walk, box)) {
        Widen(stage, tile, bytes, kPerBlock);
        VectorBarrier();
        if constexpr (Same<C, T>::value) {
            FillFromBlock(dst, tile, RowElements(box));
        } else {
            FillFromBlock(dst, stage, RowElements(box));
        }
    } else if (RowsApart(walk, box)) {
        if constexpr (Same<C, float>::value) {
            Widen(stage, tile, bytes, box.rows * kPerBlock);
            VectorBarrier();
            // the sum over the one lane of each row that counts
            if constexpr (Same<C, T>::value) {
                ReduceRepeats<kSum>(dst, tile, 1, box.rows, 1);
            } else {
                ReduceRepeats<kSum>(dst, stage, 1, box.rows, kPerBlock / kFloatBlock);
            }
        } else if constexpr (Same<C, T>::value && sizeof(T) == sizeof(float)) {
            TakeFromBlocks(dst, tile, scratch, box.rows);
        }
    } else if constexpr (Same<C, T>::value) {
        AscendC::Muls(dst, tile, static_cast<C>(1), RowElements(box));
    } else {
        Widen(dst, tile, bytes, RowElements(box));
    }
    VectorBarrier();
}

// WidenRow for bool tensors: the result is a bit mask. `bytes` holds a tile.
__aicore__ inline void WidenRowMask(const LocalTensor<uint8_t>& mask,
                                    const LocalTensor<uint8_t>& tile, const Tile32& scratch,
                                    const LocalTensor<half>& bytes, const Walk& walk,
                                    const Tile& box) {
    const LocalTensor<half> stage = scratch.template ReinterpretCast<half>();
    if (EachRow(walk, box)) {
        WidenMask(mask, tile, bytes, RowElements(box));
    } else {
        AscendC::Cast(stage, tile, RoundMode::CAST_NONE, kBlockBytes);
        VectorBarrier();
        FillFromBlock(bytes, stage, RowElements(box));
        VectorBarrier();
        MaskFromHalf(mask, bytes, RowElements(box));
    }
    VectorBarrier();
}

// How what LoadBox has brought of an operand of type T lies once it is held as C.
template <typename C, typename T>
__aicore__ inline BoxLayout LayoutOf(const Walk& walk, const Tile& box) {
    constexpr uint32_t kNarrowBlocks = sizeof(C) / sizeof(T);
    const uint32_t row = walk.ByCol() ? box.pitch / kFloatBlock : kNarrowBlocks;
    return {walk.ByRow() ? row : 0, walk.ByCol() ? 1u : 0u};
}

// An operand whose part of a box stays the same from box to box, such as the scale of a
// normalisation: it is loaded and widened again only when another part is asked for. C is the type
// it is held in: T itself, or float.
template <typename C, typename T>
class Kept {
 public:
    // length: elements of a box.
    __aicore__ inline void Init(AscendC::TPipe* pipe, uint32_t length) {
        pipe->InitBuffer(buffer_, length * static_cast<uint32_t>(sizeof(C)));
    }
    // scratch: of as many elements, for what is widened.
    __aicore__ inline void Load(AscendC::TBuf<AscendC::TPosition::VECCALC>& scratch,
                                const GlobalTensor<T>& gm, const Walk& walk, const Tile& box) {
        const int64_t at = walk.At(box);
        const uint32_t rows = walk.ByRow() ? box.rows : 1;
        const uint32_t cols = walk.ByCol() ? box.cols : 1;
        if (held_ && at == at_ && rows == rows_ && cols == cols_) {
            return;
        }
        tile_ = buffer_.template Get<C>();
        held_ = true;
        at_ = at;
        rows_ = rows;
        cols_ = cols;
        Order<AscendC::HardEvent::V_MTE2>();
        if constexpr (Same<C, T>::value) {
            LoadBox(tile_, gm, walk, box);
            Order<AscendC::HardEvent::MTE2_V>();
        } else {
            const LocalTensor<T> narrow = scratch.template Get<T>();
            LoadBox(narrow, gm, walk, box);
            Order<AscendC::HardEvent::MTE2_V>();
            const uint32_t each = walk.ByCol() ? box.pitch : kBlockBytes / sizeof(T);
            AscendC::Cast(tile_, narrow, RoundMode::CAST_NONE, rows * each);
            VectorBarrier();
        }
    }
    __aicore__ inline LocalTensor<C> Get() const { return tile_; }
    __aicore__ inline BoxLayout Layout(const Walk& walk, const Tile& box) const {
        return LayoutOf<C, T>(walk, box);
    }

 private:
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer_;
    LocalTensor<C> tile_;
    int64_t at_ = 0;
    uint32_t rows_ = 0;
    uint32_t cols_ = 0;
    bool held_ = false;
};

// An operand that lacks a dimension of the box, such as the scale of a channel, and whose part
// changes from box to box: it comes through a queue, and is read by stride. C is the type it is
// held in: T itself, or float.
template <typename C, typename T>
class Spread {
 public:
    // copies: of the queue; rows, length: of the largest box, in rows and in elements.
    __aicore__ inline void Init(AscendC::TPipe* pipe, uint32_t copies, const Walk& walk,
                                uint32_t rows, uint32_t length) {
        const uint32_t held = walk.ByCol() ? length : rows * kSpreadLanes<T>;
        pipe->InitBuffer(queue_, copies, Bytes<T>(held));
        if constexpr (!Same<C, T>::value) {
            pipe->InitBuffer(wide_, Bytes<C>(held));
        }
    }
    __aicore__ inline void Load(const GlobalTensor<T>& gm, const Walk& walk, const Tile& box) {
        const LocalTensor<T> tile = queue_.template AllocTensor<T>();
        LoadBox(tile, gm, walk, box);
        queue_.EnQue(tile);
    }
    // Take what Load has brought from the queue; Free gives its tile back.
    __aicore__ inline void Take(const Walk& walk, const Tile& box) {
        narrow_ = queue_.template DeQue<T>();
        if constexpr (Same<C, T>::value) {
            tile_ = narrow_;
        } else {
            tile_ = wide_.template Get<C>();
            const uint32_t rows = walk.ByRow() ? box.rows : 1;
            const uint32_t each = walk.ByCol() ? box.pitch : kSpreadLanes<T>;
            AscendC::Cast(tile_, narrow_, RoundMode::CAST_NONE, rows * each);
            VectorBarrier();
        }
    }
    __aicore__ inline void Free() { queue_.FreeTensor(narrow_); }
    __aicore__ inline LocalTensor<C> Get() const { return tile_; }
    __aicore__ inline BoxLayout Layout(const Walk& walk, const Tile& box) const {
        return LayoutOf<C, T>(walk, box);
    }

 private:
    AscendC::TQue<AscendC::TPosition::VECIN, 1> queue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> wide_;
    LocalTensor<T> narrow_;
    LocalTensor<C> tile_;
};

// dst = whole op kept (or kept op whole) for every element of a box; `Operand` is Kept or Spread.
template <int32_t kOp, bool kWholeFirst = true, typename Operand>
__aicore__ inline void ApplyKept(const Tile32& dst, const Tile32& whole, const Operand& kept,
                                 const Walk& walk, const Tile& box) {
    ApplyToBox<kOp, kWholeFirst>(dst, whole, kept.Get(), kept.Layout(walk, box), box);
    VectorBarrier();
}

// Every element of the box gets its element of the operand.
template <typename Operand>
__aicore__ inline void ExpandKept(const Tile32& dst, const Operand& kept, const Walk& walk,
                                  const Tile& box) {
    const BoxLayout layout = kept.Layout(walk, box);
    BroadcastRows(dst, kept.Get(), box, layout.rowBlocks, layout.blockStride);
    VectorBarrier();
}

}  // namespace opgen

#endif  // OPGEN_ROW_OPERANDS_H
