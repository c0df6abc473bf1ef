// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Scatters along an axis of few rows: UB holds some columns of all rows, and each row of items is
// joined to each row of the tensor, at the columns whose index names that row.
#ifndef OPGEN_SCATTERED_COLUMNS_H
#define OPGEN_SCATTERED_COLUMNS_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/indexed.h"
#include "opgen/tile.h"

namespace opgen {

// Some columns of a part of the tensor, which lie behind one another in each row.
struct ColumnBox {
    uint64_t part = 0;
    uint64_t col = 0;
    uint32_t cols = 0;
};

// Goes through the columns of a tensor, and for each box of them through the rows of its items.
//
// TIndex: int32_t or int64_t.
template <typename TIndex>
class ScatteredColumns {
 public:
    // tiling: see opgen::ColumnTiling.
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, AscendC::TPipe* pipe) {
        rows_ = static_cast<int32_t>(tiling.axisSizes[0]);
        itemRows_ = tiling.itemRows;
        columns_ = tiling.columns;
        boxCols_ = tiling.boxCols;
        parts_ = tiling.parts;
        blocks_ = (columns_ + boxCols_ - 1) / boxCols_;
        pipe->InitBuffer(queue_, 2, Bytes<TIndex>(boxCols_));
        pipe->InitBuffer(buffer_, 2 * Bytes<int32_t>(boxCols_) + kMasks * MaskBytes());
        SetMask(Mask(kAll), boxCols_);
        Start();
    }
    __aicore__ inline void SetIndices(GM_ADDR indices) {
        indices_.SetGlobalBuffer(reinterpret_cast<__gm__ TIndex*>(indices));
    }
    // The next box of this core; false: there is none.
    __aicore__ inline bool Next(ColumnBox& box) {
        if (unit_ == last_) {
            return false;
        }
        box.part = unit_ / blocks_;
        box.col = unit_ % blocks_ * boxCols_;
        const uint64_t left = columns_ - box.col;
        box.cols = left < boxCols_ ? static_cast<uint32_t>(left) : boxCols_;
        ++unit_;
        return true;
    }
    // Where a row of items begins, in a tensor of the shape of the indices.
    __aicore__ inline uint64_t ItemAt(const ColumnBox& box, uint64_t row) const {
        return (box.part * itemRows_ + row) * columns_ + box.col;
    }
    __aicore__ inline uint64_t ItemRows() const { return itemRows_; }
    // Take the indices of a row of items; those of a tail name no row.
    __aicore__ inline void TakeRow(const ColumnBox& box, uint64_t row) {
        const uint32_t lanes = AlignLanes(box.cols);
        const LocalTensor<int32_t> index = Words(0);
        const LocalTensor<int32_t> nearest = Words(1);
        LocalTensor<TIndex> given = Load(box, row);
        NarrowIndices(index, given, box.cols);
        queue_.FreeTensor(given);
        FindNearest<false>(nearest, Mask(kInside), index, rows_, lanes);
        BothMasks(Mask(kAll), Mask(kInside), lanes);
        // an index outside names the row in front of the first one or behind the last one
        AscendC::Maxs(index, index, -1, lanes);
        VectorBarrier();
        AscendC::Mins(index, index, rows_, lanes);
        VectorBarrier();
        AscendC::Cast(Numbers(), index, RoundMode::CAST_NONE, lanes);
        VectorBarrier();
    }
    // The columns of the row of items whose index is `row`; as many masks as two may be in use.
    __aicore__ inline LocalTensor<uint8_t> NamedBy(int32_t row, uint32_t cols) {
        const LocalTensor<uint8_t> mask = Mask(row % 2 == 0 ? kEven : kOdd);
        AscendC::CompareScalar(mask, Numbers(), static_cast<float>(row), AscendC::CMPMODE::EQ,
                               AlignLanes(cols));
        return mask;
    }
    // Whether an index was outside the axis, once all boxes are done; goes through the indices
    // again where one was, for the first one.
    __aicore__ inline bool FindOutside() {
        if (IsSet(Mask(kAll), boxCols_)) {
            return false;
        }
        Start();
        ColumnBox box;
        bool found = false;
        while (!found && Next(box)) {
            for (uint64_t row = 0; row < itemRows_ && !found; ++row) {
                found = HasOutside(box, row);
            }
        }
        return found;
    }
    // The index that FindOutside found, and the size of its axis.
    __aicore__ inline int64_t Outside() const { return outside_; }
    __aicore__ inline int64_t OutsideOf() const { return rows_; }

 private:
    enum Bits : uint32_t { kInside, kEven, kOdd, kAll, kMasks };

    __aicore__ inline uint32_t MaskBytes() const { return boxCols_ / 8; }
    __aicore__ inline LocalTensor<int32_t> Words(uint32_t tile) {
        return buffer_.template GetWithOffset<int32_t>(boxCols_, tile * Bytes<int32_t>(boxCols_));
    }
    // The indices of a row of items as numbers.
    __aicore__ inline LocalTensor<float> Numbers() {
        return Words(1).template ReinterpretCast<float>();
    }
    __aicore__ inline LocalTensor<uint8_t> Mask(uint32_t mask) {
        return buffer_.template GetWithOffset<uint8_t>(
            MaskBytes(), 2 * Bytes<int32_t>(boxCols_) + mask * MaskBytes());
    }
    __aicore__ inline void Start() {
        Share share;
        share.Init(parts_ * blocks_);
        unit_ = share.first;
        last_ = share.last;
    }
    __aicore__ inline LocalTensor<TIndex> Load(const ColumnBox& box, uint64_t row) {
        LocalTensor<TIndex> given = queue_.template AllocTensor<TIndex>();
        LoadRange(given, indices_[ItemAt(box, row)], box.cols);
        queue_.EnQue(given);
        return queue_.template DeQue<TIndex>();
    }
    __aicore__ inline bool HasOutside(const ColumnBox& box, uint64_t row) {
        LocalTensor<TIndex> given = Load(box, row);
        Order<AscendC::HardEvent::MTE2_S>();
        bool found = false;
        for (uint32_t col = 0; col < box.cols && !found; ++col) {
            outside_ = given.GetValue(col);
            found = outside_ < 0 || outside_ >= rows_;
        }
        queue_.FreeTensor(given);
        return found;
    }

    AscendC::TQue<AscendC::TPosition::VECIN, 1> queue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer_;
    AscendC::GlobalTensor<TIndex> indices_;
    int32_t rows_ = 0;
    uint64_t itemRows_ = 0;
    uint64_t columns_ = 0;  // of a part
    uint64_t parts_ = 0;
    uint64_t blocks_ = 1;  // boxes of a part
    uint32_t boxCols_ = 0;
    uint64_t unit_ = 0;
    uint64_t last_ = 0;
    int64_t outside_ = 0;
};

// Where a mask says so, an element of `to` becomes that of `from`; of 2 or 4 bytes.
template <typename C>
__aicore__ inline void TakeWhere(const LocalTensor<C>& to, const LocalTensor<uint8_t>& mask,
                                 const LocalTensor<C>& from, uint32_t count) {
    const LocalTensor<Selected<C>> kept = to.template ReinterpretCast<Selected<C>>();
    AscendC::Select(kept, mask, from.template ReinterpretCast<Selected<C>>(), kept,
                    AscendC::SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
}

}  // namespace opgen

#endif  // OPGEN_SCATTERED_COLUMNS_H
