// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Rows that indices name: where the row of each item of a space lies, and rows by the tile.
#ifndef OPGEN_INDEXED_H
#define OPGEN_INDEXED_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/tile.h"

namespace opgen {

constexpr uint32_t kIndexBytes = 8192;  // of UB for the indices of one axis

// inside = inside and other, for the bits of `lanes` elements.
__aicore__ inline void BothMasks(const LocalTensor<uint8_t>& inside,
                                 const LocalTensor<uint8_t>& other, uint32_t lanes) {
    LocalTensor<uint16_t> bits = inside.template ReinterpretCast<uint16_t>();
    AscendC::And(bits, bits, other.template ReinterpretCast<uint16_t>(), lanes / 16);
    VectorBarrier();
}

// Indices as int32; what that does not hold is outside of all axes as well. Those of a tail are 0.
template <typename TIndex>
__aicore__ inline void NarrowIndices(const LocalTensor<int32_t>& dst,
                                     const LocalTensor<TIndex>& given, uint32_t count) {
    if constexpr (Same<TIndex, int64_t>::value) {
        AscendC::Cast(dst, given, RoundMode::CAST_NONE, count);
    } else {
        AscendC::Adds(dst, given, 0, count);
    }
    FillTail(dst, count, 0);
    VectorBarrier();
}

// nearest = the index of an axis of `size` elements that is next to each index, and the bits of
// `inside` say whether it is the same. kWrap: negative indices count from the end, and become those
// that they name.
template <bool kWrap>
__aicore__ inline void FindNearest(const LocalTensor<int32_t>& nearest,
                                   const LocalTensor<uint8_t>& inside,
                                   const LocalTensor<int32_t>& index, int32_t size,
                                   uint32_t lanes) {
    if constexpr (kWrap) {
        AscendC::ShiftRight(nearest, index, 31, lanes);  // -1 for negative ones
        VectorBarrier();
        AscendC::Muls(nearest, nearest, -size, lanes);
        VectorBarrier();
        AscendC::Add(index, index, nearest, lanes);
        VectorBarrier();
    }
    AscendC::Maxs(nearest, index, 0, lanes);
    VectorBarrier();
    AscendC::Mins(nearest, nearest, size - 1, lanes);
    VectorBarrier();
    AscendC::Compare(inside, nearest, index, AscendC::CMPMODE::EQ, lanes);
    VectorBarrier();
}

// Set the bits of `lanes` elements.
__aicore__ inline void SetMask(const LocalTensor<uint8_t>& mask, uint32_t lanes) {
    AscendC::Duplicate(mask.template ReinterpretCast<uint16_t>(), static_cast<uint16_t>(0xFFFF),
                       lanes / 16);
    VectorBarrier();
}

// Whether the bits of `lanes` elements are set, as the scalar unit sees them.
__aicore__ inline bool IsSet(const LocalTensor<uint8_t>& mask, uint32_t lanes) {
    Order<AscendC::HardEvent::V_S>();
    const LocalTensor<uint64_t> words = mask.template ReinterpretCast<uint64_t>();
    uint64_t set = ~uint64_t(0);
    for (uint32_t i = 0; i < lanes / 64; ++i) {
        set &= words.GetValue(i);
    }
    return set == ~uint64_t(0);
}

// What Select takes in place of a type of 2 or 4 bytes.
template <typename T>
using Selected = typename Choose<sizeof(T) == sizeof(half), half, float>::Type;

// Goes through the items of a space and tells where the row of each lies in the table. Indices come
// to UB in batches along the last axis of the space and are read by the scalar unit.
//
// kWrap: whether negative indices count from the end; TIndices: int32_t or int64_t, of the tensor
// of indices of each indexed axis of the table.
template <bool kWrap, typename... TIndices>
class IndexedRows {
 public:
    // tiling: itemDims, tableSteps, indexSteps, indexOffsets, axisSizes, axisSteps,
    // tableOffset; see opgen::IndexedSpace.
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling, AscendC::TPipe* pipe) {
        for (uint32_t i = 0; i < kMaxDims; ++i) {
            dims_[i] = static_cast<uint64_t>(tiling.itemDims[i]);
            tableSteps_[i] = tiling.tableSteps[i];
        }
        for (uint32_t k = 0; k < kIndices; ++k) {
            for (uint32_t i = 0; i < kMaxDims; ++i) {
                indexSteps_[k][i] = tiling.indexSteps[k * kMaxDims + i];
            }
            axisSizes_[k] = tiling.axisSizes[k];
            axisSteps_[k] = tiling.axisSteps[k];
            // neighbours in UB: one behind the other, or a block each where they lie apart in GM
            const int64_t step = indexSteps_[k][kMaxDims - 1];
            pitch_[k] = step == 0 ? 0 : (step == 1 ? 1 : kBlockBytes / kSizes[k]);
            const uint32_t fit = kIndexBytes / (pitch_[k] > 1 ? kBlockBytes : kSizes[k]);
            most_ = fit < most_ ? fit : most_;
            indexOffsets_[k] = tiling.indexOffsets[k];
            pipe->InitBuffer(batches_[k], kIndexBytes);
        }
        offset_ = tiling.tableOffset;
    }
    __aicore__ inline void SetIndices(uint32_t k, GM_ADDR indices) {
        indices_[k] = indices + indexOffsets_[k] * static_cast<int64_t>(kSizes[k]);
    }
    // The item that Next tells about; `rowLength` elements of rows count as one.
    __aicore__ inline void Seek(uint64_t item) {
        for (uint32_t i = kMaxDims; i > 0; --i) {
            at_[i - 1] = item % dims_[i - 1];
            item /= dims_[i - 1];
        }
        Enter();
    }
    // Where the row of the next item lies in the table; false: an index is outside its axis.
    __aicore__ inline bool Next(uint64_t& row) {
        if (inBatch_ == batch_) {
            LoadBatch();
        }
        int64_t at = base_ + static_cast<int64_t>(at_[kMaxDims - 1]) * tableSteps_[kMaxDims - 1];
        bool inside = true;
        for (uint32_t k = 0; k < kIndices; ++k) {
            const int64_t given = IndexAt(k, inBatch_ * pitch_[k]);
            int64_t index = given;
            if (kWrap && index < 0) {
                index += axisSizes_[k];
            }
            if (index < 0 || index >= axisSizes_[k]) {
                outside_ = given;
                outsideOf_ = axisSizes_[k];
                inside = false;
            }
            at += index * axisSteps_[k];
        }
        row = inside ? static_cast<uint64_t>(at) : 0;
        Advance();
        return inside;
    }
    // Whether the indices of a batch lie together, or are one each: NextBatch and PlacesOf need
    // that.
    __aicore__ inline bool LieTogether() const {
        for (uint32_t k = 0; k < kIndices; ++k) {
            if (pitch_[k] > 1) {
                return false;
            }
        }
        return true;
    }
    // Tell of at most `items` at a time.
    __aicore__ inline void LimitBatch(uint64_t items) { most_ = items < most_ ? items : most_; }
    // Load the indices of the next items, which Next or SkipBatch passes all; returns how many.
    __aicore__ inline uint32_t NextBatch() {
        Order<AscendC::HardEvent::V_MTE2>();  // the batch before has been read
        LoadBatch();
        Order<AscendC::HardEvent::MTE2_V>();
        return batch_;
    }
    __aicore__ inline void SkipBatch() {
        at_[kMaxDims - 1] += batch_ - 1;
        inBatch_ = batch_ - 1;
        Advance();
    }
    // dst[i] = where the row of item i of the batch lies in the table, less `first`, for tables
    // that int32 counts. Bit i of `inside` says whether its indices are inside their axes; the
    // place of others is that of the nearest ones. index, nearest, other: scratch of a batch.
    __aicore__ inline void PlacesOf(const LocalTensor<int32_t>& dst,
                                    const LocalTensor<uint8_t>& inside,
                                    const LocalTensor<int32_t>& index,
                                    const LocalTensor<int32_t>& nearest,
                                    const LocalTensor<uint8_t>& other, uint64_t first) {
        const uint32_t lanes = AlignLanes(batch_);
        const int64_t step = tableSteps_[kMaxDims - 1];
        const int64_t from = base_ + static_cast<int64_t>(at_[kMaxDims - 1]) * step;
        AscendC::CreateVecIndex(dst, 0, lanes);
        VectorBarrier();
        AscendC::Muls(dst, dst, static_cast<int32_t>(step), lanes);
        VectorBarrier();
        AscendC::Adds(dst, dst, static_cast<int32_t>(from - static_cast<int64_t>(first)), lanes);
        for (uint32_t k = 0; k < kIndices; ++k) {
            TakeIndices(index, k);
            FindNearest<kWrap>(nearest, k == 0 ? inside : other, index,
                               static_cast<int32_t>(axisSizes_[k]), lanes);
            if (k > 0) {
                BothMasks(inside, other, lanes);
            }
            AscendC::Muls(nearest, nearest, static_cast<int32_t>(axisSteps_[k]), lanes);
            VectorBarrier();
            AscendC::Add(dst, dst, nearest, lanes);
            VectorBarrier();
        }
    }
    // Where the value of an item lies: `offset` and its steps, which are `tiling.valueSteps`.
    template <typename Array>
    __aicore__ inline uint64_t ValueAt(uint64_t item, const Array& steps, int64_t offset) const {
        int64_t at = offset;
        for (uint32_t i = kMaxDims; i > 0; --i) {
            at += static_cast<int64_t>(item % dims_[i - 1]) * steps[i - 1];
            item /= dims_[i - 1];
        }
        return static_cast<uint64_t>(at);
    }
    // The last index that was outside its axis, and the size of the axis.
    __aicore__ inline int64_t Outside() const { return outside_; }
    __aicore__ inline int64_t OutsideOf() const { return outsideOf_; }

 private:
    static constexpr uint32_t kIndices = sizeof...(TIndices);
    static constexpr uint32_t kSizes[kIndices] = {sizeof(TIndices)...};

    // An index of the batch of an axis.
    __aicore__ inline int64_t IndexAt(uint32_t k, uint32_t at) {
        if (kSizes[k] == sizeof(int64_t)) {
            return batches_[k].template Get<int64_t>().GetValue(at);
        }
        return batches_[k].template Get<int32_t>().GetValue(at);
    }
    // The indices of a batch as int32.
    __aicore__ inline void TakeIndices(const LocalTensor<int32_t>& dst, uint32_t k) {
        if (pitch_[k] == 0) {
            const int64_t given = IndexAt(k, 0);
            const int64_t most = axisSizes_[k];
            const int64_t known = given > most ? most : given < -most - 1 ? -most - 1 : given;
            Order<AscendC::HardEvent::S_V>();
            AscendC::Duplicate(dst, static_cast<int32_t>(known), AlignLanes(batch_));
            VectorBarrier();
        } else if (kSizes[k] == sizeof(int64_t)) {
            NarrowIndices(dst, batches_[k].template Get<int64_t>(), batch_);
        } else {
            NarrowIndices(dst, batches_[k].template Get<int32_t>(), batch_);
        }
    }
    // Take the rows behind a new position along the axes before the last one.
    __aicore__ inline void Enter() {
        base_ = offset_;
        for (uint32_t i = 0; i + 1 < kMaxDims; ++i) {
            base_ += static_cast<int64_t>(at_[i]) * tableSteps_[i];
        }
        batch_ = inBatch_ = 0;
    }
    __aicore__ inline void Advance() {
        ++inBatch_;
        if (++at_[kMaxDims - 1] < dims_[kMaxDims - 1]) {
            return;
        }
        at_[kMaxDims - 1] = 0;
        for (uint32_t i = kMaxDims - 1; i > 0; --i) {
            if (++at_[i - 1] < dims_[i - 1]) {
                break;
            }
            at_[i - 1] = 0;
        }
        Enter();
    }
    __aicore__ inline void LoadBatch() {
        const uint64_t left = dims_[kMaxDims - 1] - at_[kMaxDims - 1];
        batch_ = static_cast<uint32_t>(left < most_ ? left : most_);
        inBatch_ = 0;
        int64_t from[kIndices];
        bool loaded = batch_ <= loadedCount_;
        for (uint32_t k = 0; k < kIndices; ++k) {
            from[k] = 0;
            for (uint32_t i = 0; i < kMaxDims; ++i) {
                from[k] += static_cast<int64_t>(at_[i]) * indexSteps_[k][i];
            }
            loaded = loaded && from[k] == loadedFrom_[k];
        }
        if (loaded) {
            return;  // the same indices for other rows of the table
        }
        Order<AscendC::HardEvent::S_MTE2>();
        for (uint32_t k = 0; k < kIndices; ++k) {
            LoadIndices(k, from[k]);
            loadedFrom_[k] = from[k];
        }
        loadedCount_ = batch_;
        Order<AscendC::HardEvent::MTE2_S>();
    }
    __aicore__ inline void LoadIndices(uint32_t k, int64_t from) {
        if (kSizes[k] == sizeof(int64_t)) {
            LoadIndicesOf<int64_t>(k, from);
        } else {
            LoadIndicesOf<int32_t>(k, from);
        }
    }
    template <typename TIndex>
    __aicore__ inline void LoadIndicesOf(uint32_t k, int64_t from) {
        LocalTensor<TIndex> batch = batches_[k].template Get<TIndex>();
        GlobalTensor<TIndex> indices;
        indices.SetGlobalBuffer(reinterpret_cast<__gm__ TIndex*>(indices_[k]) + from);
        if (pitch_[k] <= 1) {
            LoadRange(batch, indices, pitch_[k] == 0 ? 1 : batch_);
            return;
        }
        const int64_t step = indexSteps_[k][kMaxDims - 1];
        const AscendC::DataCopyExtParams apart{
            static_cast<uint16_t>(batch_), static_cast<uint32_t>(sizeof(TIndex)),
            static_cast<uint32_t>((step - 1) * static_cast<int64_t>(sizeof(TIndex))), 0, 0};
        const AscendC::DataCopyPadExtParams<TIndex> noPad{false, 0, 0, static_cast<TIndex>(0)};
        AscendC::DataCopyPad(batch, indices, apart, noPad);
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> batches_[kIndices];
    GM_ADDR indices_[kIndices] = {};
    uint64_t dims_[kMaxDims] = {};
    uint64_t at_[kMaxDims] = {};
    int64_t tableSteps_[kMaxDims] = {};
    int64_t indexSteps_[kIndices][kMaxDims] = {};
    int64_t axisSizes_[kIndices] = {};
    int64_t axisSteps_[kIndices] = {};
    int64_t indexOffsets_[kIndices] = {};
    uint32_t pitch_[kIndices] = {};
    uint64_t most_ = kIndexBytes / sizeof(int32_t);  // of a batch
    int64_t offset_ = 0;
    int64_t base_ = 0;
    uint32_t batch_ = 0;
    uint32_t inBatch_ = 0;
    int64_t loadedFrom_[kIndices] = {};
    uint32_t loadedCount_ = 0;
    int64_t outside_ = 0;
    int64_t outsideOf_ = 0;
};

// Write zeros to a row of a tile that MTE2 has not filled, before MTE3 stores it.
template <typename T>
__aicore__ inline void ClearRow(const LocalTensor<T>& row, uint32_t pitch) {
    LocalTensor<int16_t> words = row.template ReinterpretCast<int16_t>();
    Order<AscendC::HardEvent::MTE3_V>();
    AscendC::Duplicate(words, static_cast<int16_t>(0),
                       static_cast<uint32_t>(pitch * sizeof(T) / sizeof(int16_t)));
    Order<AscendC::HardEvent::V_MTE3>();
}

// Copy the rows of a tile, `pitch` elements apart, to GM, where they lie one behind the other.
template <typename T>
__aicore__ inline void StoreRows(const GlobalTensor<T>& gm, const LocalTensor<T>& tile,
                                 uint32_t rows, uint32_t length, uint32_t pitch) {
    AscendC::DataCopyExtParams blocks{static_cast<uint16_t>(rows),
                                      static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
    blocks.srcStride = (pitch * sizeof(T) - AlignBlock(length * sizeof(T))) / kBlockBytes;
    AscendC::DataCopyPad(gm, tile, blocks);
}

// Copy rows that lie `apart` elements from one another in GM to a tile, `pitch` elements apart; the
// gaps between them become 0. Rows that lie together on both sides are one range.
template <typename T>
__aicore__ inline void LoadRows(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                uint32_t rows, uint32_t length, uint32_t pitch, uint64_t apart) {
    if (length < pitch) {
        ClearForLoad(tile, rows * pitch);
    }
    if (rows == 1 || (length == pitch && length == apart)) {
        LoadRange(tile, gm, (rows - 1) * pitch + length);
        return;
    }
    AscendC::DataCopyExtParams blocks{static_cast<uint16_t>(rows),
                                      static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
    blocks.srcStride = static_cast<uint32_t>((apart - length) * sizeof(T));
    blocks.dstStride = (pitch * sizeof(T) - AlignBlock(length * sizeof(T))) / kBlockBytes;
    const AscendC::DataCopyPadExtParams<T> noPad{false, 0, 0, static_cast<T>(0)};
    AscendC::DataCopyPad(tile, gm, blocks, noPad);
}

// The same in the other direction.
template <typename T>
__aicore__ inline void StoreRowsApart(const GlobalTensor<T>& gm, const LocalTensor<T>& tile,
                                      uint32_t rows, uint32_t length, uint32_t pitch,
                                      uint64_t apart) {
    if (rows == 1 || (length == pitch && length == apart)) {
        StoreRange(gm, tile, (rows - 1) * pitch + length);
        return;
    }
    AscendC::DataCopyExtParams blocks{static_cast<uint16_t>(rows),
                                      static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
    blocks.srcStride = (pitch * sizeof(T) - AlignBlock(length * sizeof(T))) / kBlockBytes;
    blocks.dstStride = static_cast<uint32_t>((apart - length) * sizeof(T));
    AscendC::DataCopyPad(gm, tile, blocks);
}

// Copy a row to UB, and zeros up to the end of its last block.
template <typename T>
__aicore__ inline void LoadPadded(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                  uint32_t length) {
    const AscendC::DataCopyExtParams row{1, Bytes<T>(length), 0, 0, 0};
    const uint32_t missing = AlignElements<T>(length) - length;
    const AscendC::DataCopyPadExtParams<T> pad{missing > 0, 0, static_cast<uint8_t>(missing),
                                               static_cast<T>(0)};
    AscendC::DataCopyPad(tile, gm, row, pad);
}

// Copy a row within UB, in whole blocks.
template <typename T>
__aicore__ inline void CopyRow(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               uint32_t length) {
    const uint32_t bytes = AlignBlock(length * static_cast<uint32_t>(sizeof(T)));
    AscendC::DataCopy(dst, src, bytes / static_cast<uint32_t>(sizeof(T)));
}

// How two elements of 64 bits are joined; sums and products wrap.
struct LongAdd {
    __aicore__ static inline int64_t Of(int64_t a, int64_t b) {
        return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    }
};

struct LongMul {
    __aicore__ static inline int64_t Of(int64_t a, int64_t b) {
        return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    }
};

struct LongMax {
    __aicore__ static inline int64_t Of(int64_t a, int64_t b) { return a > b ? a : b; }
};

struct LongMin {
    __aicore__ static inline int64_t Of(int64_t a, int64_t b) { return a < b ? a : b; }
};

// Join a row of 64-bit elements to another one. The vector unit has no arithmetic of 64 bits: the
// scalar unit goes through them.
template <typename Join>
__aicore__ inline void JoinLongs(const LocalTensor<int64_t>& row, const LocalTensor<int64_t>& value,
                                 uint32_t length) {
    Order<AscendC::HardEvent::V_S>();
    for (uint32_t i = 0; i < length; ++i) {
        row.SetValue(i, Join::Of(row.GetValue(i), value.GetValue(i)));
    }
    Order<AscendC::HardEvent::S_V>();
}

// Give elements of 64 bits a value.
__aicore__ inline void FillLongs(const LocalTensor<int64_t>& row, int64_t value, uint32_t length) {
    Order<AscendC::HardEvent::V_S>();
    for (uint32_t i = 0; i < length; ++i) {
        row.SetValue(i, value);
    }
    Order<AscendC::HardEvent::S_V>();
}

}  // namespace opgen

#endif  // OPGEN_INDEXED_H
