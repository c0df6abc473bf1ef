// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiles and how they reach UB. A flat tile is a contiguous range of elements. A box is a tile of
// rows x cols elements of a broadcast iteration space: rows lie `pitch` elements apart in UB, and
// an operand that is broadcast along rows, columns or both is read once and expanded in UB
// (opgen/operand.h), never in GM. The host collapses every iteration space to at most kMaxDims
// dimensions (op_host tiling).
#ifndef OPGEN_TILE_H
#define OPGEN_TILE_H

#include "kernel_operator.h"
#include "opgen/convert.h"

namespace opgen {

using AscendC::GlobalTensor;

constexpr uint32_t kMaxDims = 8;
constexpr uint32_t kOuterDims = kMaxDims - 2;
constexpr uint32_t kUnit = 256;  // core boundaries of flat tiles are multiples of this

// From this number on the stride of the columns says how groups of them lie: this, plus the columns
// of a group times 2^52, the step from group to group in the 32 bits from 2^20 on, and the step
// within one in the 20 bits below, both signed; with kFarMembers the other way round. The host
// (iteration_space.h) packs them.
constexpr int64_t kGroupedColumns = static_cast<int64_t>(1) << 62;
constexpr int64_t kFarMembers = static_cast<int64_t>(1) << 56;

// A part of the iteration space. Flat: `offset` and `count` elements. Box: `row`, `col` are the
// first row and column, `outer` the indices of the dimensions before them.
struct Tile {
    uint64_t offset = 0;
    uint32_t count = 0;  // elements in UB: of a box rows * pitch
    uint32_t rows = 1;
    uint32_t cols = 0;
    uint32_t pitch = 0;
    uint64_t row = 0;
    uint64_t col = 0;
    uint64_t outer[kOuterDims] = {};
    bool lanes = true;    // row kernels: reduced along the columns
    bool joined = false;  // row kernels: with lanes, the rows are reduced, too
};

// Where an operand's element of an iteration point lies: strides per dimension (0: broadcast) and
// the offset of the first element, all in elements.
//
// Where the last dimension has few elements, such as the two of a pair, it and the one before it
// are the columns together. An operand that is not contiguous along both has `group` columns for
// each index of the latter, which lie `within` elements apart, and groups lie `groupStep` apart.
// Where `farMembers`, what lies between the columns of a group is not read with them.
struct Walk {
    int64_t stride[kMaxDims] = {};
    int64_t offset = 0;
    uint32_t group = 1;  // 2 to 15 of such operands
    int32_t groupStep = 0;
    int32_t within = 0;
    bool farMembers = false;

    template <typename Array>
    __aicore__ inline void Init(const Array& packed) {
        for (uint32_t i = 0; i < kMaxDims; ++i) {
            stride[i] = packed[i];
        }
        offset = packed[kMaxDims];
        const int64_t columns = stride[kOuterDims + 1];
        groupStep = static_cast<int32_t>(columns);
        if (columns >= kGroupedColumns) {
            group = static_cast<uint32_t>((columns >> 52) & 0xf);
            farMembers = (columns & kFarMembers) != 0;
            const int32_t large = static_cast<int32_t>((columns >> 20) & 0xffffffff);
            const int32_t small = static_cast<int32_t>((columns & 0xfffff) << 12) >> 12;
            groupStep = farMembers ? small : large;
            within = farMembers ? large : small;
        }
    }
    __aicore__ inline int64_t At(const Tile& tile) const {
        int64_t at = offset + static_cast<int64_t>(tile.row) * stride[kOuterDims];
        at += Grouped() ? static_cast<int64_t>(tile.col / group) * groupStep
                        : static_cast<int64_t>(tile.col) * stride[kOuterDims + 1];
        for (uint32_t i = 0; i < kOuterDims; ++i) {
            at += static_cast<int64_t>(tile.outer[i]) * stride[i];
        }
        return at;
    }
    __aicore__ inline int64_t RowStride() const { return stride[kOuterDims]; }
    __aicore__ inline bool ByRow() const { return stride[kOuterDims] != 0; }
    __aicore__ inline bool ByCol() const { return stride[kOuterDims + 1] != 0; }
    // Contiguous along the rows instead of the columns: the host has seen to that.
    __aicore__ inline bool Transposed() const {
        return stride[kOuterDims + 1] > 1 && !Grouped() && RowStride() == 1;
    }
    // The same of groups of columns, whose elements lie together.
    __aicore__ inline bool TransposedGroups() const {
        return Grouped() && within == 1 && RowStride() == static_cast<int64_t>(group);
    }
    // The columns lie some elements apart, run backwards, or are the same for a group of them.
    __aicore__ inline bool Apart() const {
        return stride[kOuterDims + 1] != 0 && stride[kOuterDims + 1] != 1;
    }
    __aicore__ inline bool Grouped() const { return group > 1; }
};

// Vector cores of the launch; GetBlockNum counts the groups of a kernel that has cube cores, too.
__aicore__ inline uint32_t VectorCores() {
    return static_cast<uint32_t>(AscendC::GetBlockNum() * AscendC::GetTaskRation());
}

// Balanced split of `total` items over cores: the first `total % cores` cores get one more.
struct Share {
    uint64_t first = 0;
    uint64_t last = 0;

    __aicore__ inline void Init(uint64_t total) {
        Init(total, VectorCores(), static_cast<uint64_t>(AscendC::GetBlockIdx()));
    }
    __aicore__ inline void Init(uint64_t total, uint64_t cores, uint64_t core) {
        const uint64_t each = total / cores;
        const uint64_t extra = total % cores;
        first = core * each + (core < extra ? core : extra);
        last = first + each + (core < extra ? 1 : 0);
    }
};

// Let what one pipe does next wait for what another has done so far.
template <AscendC::HardEvent kEvent>
__aicore__ inline void Order() {
    const event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(kEvent));
    AscendC::SetFlag<kEvent>(id);
    AscendC::WaitFlag<kEvent>(id);
}

// The first element of a tile, which vector instructions wrote, on the scalar unit; later ones may
// overwrite it.
template <typename T>
__aicore__ inline T FirstElement(const LocalTensor<T>& tile) {
    Order<AscendC::HardEvent::V_S>();
    const T number = tile.GetValue(0);
    Order<AscendC::HardEvent::S_V>();
    return number;
}

// Bytes of `count` elements.
template <typename T>
__aicore__ inline constexpr uint32_t Bytes(uint32_t count) {
    return count * static_cast<uint32_t>(sizeof(T));
}

// Copy a contiguous range to UB; any byte count.
template <typename T>
__aicore__ inline void LoadRange(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                 uint32_t count) {
    const AscendC::DataCopyExtParams range{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    const AscendC::DataCopyPadExtParams<T> noPad{false, 0, 0, static_cast<T>(0)};
    AscendC::DataCopyPad(tile, gm, range, noPad);
}

// Fill a tile with the first element of a tensor.
template <typename T>
__aicore__ inline void FillFrom(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                uint32_t count) {
    const T number = gm.GetValue(0);
    Order<AscendC::HardEvent::S_V>();
    AscendC::Duplicate(tile, number, count);
    VectorBarrier();
}

// Copy a contiguous range from UB; any byte count.
template <typename T>
__aicore__ inline void StoreRange(const GlobalTensor<T>& gm, const LocalTensor<T>& tile,
                                  uint32_t count) {
    const AscendC::DataCopyExtParams range{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    AscendC::DataCopyPad(gm, tile, range);
}

__aicore__ inline uint32_t AlignBlock(uint32_t bytes) {
    return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

// A number of elements rounded up to whole blocks.
template <typename T>
__aicore__ inline uint32_t AlignElements(uint32_t count) {
    return AlignBlock(Bytes<T>(count)) / static_cast<uint32_t>(sizeof(T));
}

// Write zeros to a tile that MTE2 fills next, for the gaps between its rows.
template <typename T>
__aicore__ inline void ClearForLoad(const LocalTensor<T>& tile, uint32_t count) {
    LocalTensor<int16_t> words = tile.template ReinterpretCast<int16_t>();
    AscendC::Duplicate(words, static_cast<int16_t>(0),
                       static_cast<uint32_t>(count * sizeof(T) / sizeof(int16_t)));
    Order<AscendC::HardEvent::V_MTE2>();
}

// How many times LoadBox brings an element that all columns share: one block of it, once narrowed.
template <typename T>
constexpr uint32_t kSpreadLanes =
    kBlockBytes / (sizeof(T) > sizeof(float) ? sizeof(float) : sizeof(T));

// Words of `src` whose bit is set, one behind the other; returns how many.
template <typename T>
__aicore__ inline uint32_t TakeMarked(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                      const LocalTensor<uint8_t>& mask, uint32_t count) {
    uint64_t taken = 0;
    const AscendC::GatherMaskParams once{1, 1, 0, 0};
    AscendC::GatherMask(dst, src, mask.template ReinterpretCast<uint32_t>(), true, count, once,
                        taken);
    return static_cast<uint32_t>(taken);
}

// Copy what a box whose rows run forwards needs of an operand; see LoadBox.
template <typename T>
__aicore__ inline void LoadForwards(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                    const Walk& walk, const Tile& box) {
    const GlobalTensor<T> from = gm[static_cast<uint64_t>(walk.At(box))];
    const uint32_t rows = walk.ByRow() ? box.rows : 1;
    AscendC::DataCopyExtParams blocks{static_cast<uint16_t>(rows), 0, 0, 0, 0};
    AscendC::DataCopyPadExtParams<T> pad{false, 0, 0, static_cast<T>(0)};
    if (!walk.ByCol()) {
        blocks.blockLen = sizeof(T);
        if (rows > 1) {
            blocks.srcStride = static_cast<uint32_t>((walk.RowStride() - 1) * sizeof(T));
        }
        if constexpr (sizeof(T) > sizeof(float)) {
            // of two blocks, as narrowing makes one of them
            blocks.dstStride = 1;
            AscendC::DataCopyPad(tile[kBlockBytes / sizeof(T)], from, blocks, pad);
        }
        AscendC::DataCopyPad(tile, from, blocks, pad);
        return;
    }
    blocks.blockLen = box.cols * sizeof(T);
    const uint32_t gap = box.pitch * sizeof(T) - AlignBlock(box.cols * sizeof(T));
    if (gap > kBlockBytes) {
        ClearForLoad(tile, rows * box.pitch);
        blocks.dstStride = gap / kBlockBytes;
    } else if (gap > 0) {
        // The pitch of a wider type reaches into one more block: pad it so that it is defined.
        const uint32_t missing = box.pitch - box.cols;
        const uint32_t most = kBlockBytes / sizeof(T);
        pad = {true, 0, static_cast<uint8_t>(missing < most ? missing : most), static_cast<T>(0)};
    }
    if (rows > 1) {
        blocks.srcStride = static_cast<uint32_t>((walk.RowStride() - box.cols) * sizeof(T));
    }
    AscendC::DataCopyPad(tile, from, blocks, pad);
}

// Copy what a box needs of an operand to UB: all rows (pitch elements apart), one row, the first
// element of every row (one 32-byte block each, filled with it), or one element (one block).
template <typename T>
__aicore__ inline void LoadBox(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                               const Walk& walk, const Tile& box) {
    if (box.rows == 1 || walk.RowStride() >= 0) {
        LoadForwards(tile, gm, walk, box);
        return;
    }
    // rows that run backwards, each by itself
    const uint32_t apart = walk.ByCol() ? box.pitch : kSpreadLanes<T>;
    Tile row = box;
    row.rows = 1;
    for (uint32_t i = 0; i < box.rows; ++i) {
        row.row = box.row + i;
        LoadForwards(tile[i * apart], gm, walk, row);
    }
}

// Copy the rows of a box to GM; `walk` addresses the output.
template <typename T>
__aicore__ inline void StoreBox(const GlobalTensor<T>& gm, const LocalTensor<T>& tile,
                                const Walk& walk, const Tile& box) {
    AscendC::DataCopyExtParams blocks{static_cast<uint16_t>(box.rows),
                                      static_cast<uint32_t>(box.cols * sizeof(T)), 0, 0, 0};
    blocks.srcStride = (box.pitch * sizeof(T) - AlignBlock(box.cols * sizeof(T))) / kBlockBytes;
    if (box.rows > 1) {
        blocks.dstStride = static_cast<uint32_t>((walk.RowStride() - box.cols) * sizeof(T));
    }
    AscendC::DataCopyPad(gm[static_cast<uint64_t>(walk.At(box))], tile, blocks);
}

// Copy an operand's part of a tile to UB.
template <bool kBroadcast, typename T>
__aicore__ inline void Load(const LocalTensor<T>& tile, const GlobalTensor<T>& gm, const Walk& walk,
                            const Tile& part) {
    if constexpr (kBroadcast) {
        LoadBox(tile, gm, walk, part);
    } else {
        LoadRange(tile, gm[part.offset], part.count);
    }
}

// Copy an output's part of a tile to GM.
template <bool kBroadcast, typename T>
__aicore__ inline void Store(const GlobalTensor<T>& gm, const LocalTensor<T>& tile,
                             const Walk& walk, const Tile& part) {
    if constexpr (kBroadcast) {
        StoreBox(gm, tile, walk, part);
    } else {
        StoreRange(gm[part.offset], tile, part.count);
    }
}

// The tiles of one core. Flat: a range of elements whose ends are multiples of kUnit. Box: a range
// of the boxes that cover outer x rows x cols.
class Tiles {
 public:
    // total: elements; tileLength: elements per tile; edge: of the first and the last tile of a
    // core, of which one copy overlaps with nothing; 0: they are as long as the others.
    __aicore__ inline void InitFlat(uint64_t total, uint32_t tileLength, uint32_t edge = 0) {
        Share share;
        share.Init((total + kUnit - 1) / kUnit);
        next_ = share.first * kUnit;
        last_ = share.last * kUnit < total ? share.last * kUnit : total;
        step_ = tileLength;
        edge_ = edge;
        now_ = edge > 0 ? edge : tileLength;
    }
    // Units [firstUnit, lastUnit) of a tensor of `total` elements, as far as it has them.
    __aicore__ inline void InitRange(uint64_t total, uint64_t firstUnit, uint64_t lastUnit,
                                     uint32_t tileLength) {
        next_ = firstUnit * kUnit;
        last_ = lastUnit * kUnit < total ? lastUnit * kUnit : total;
        step_ = tileLength;
        edge_ = 0;
        now_ = tileLength;
    }
    // outerDims: sizes before the row dimension; boxRows x boxCols: the largest box.
    template <typename Array>
    __aicore__ inline void InitBoxes(const Array& outerDims, uint64_t rows, uint64_t cols,
                                     uint32_t boxRows, uint32_t boxCols, uint32_t pitchUnit) {
        uint64_t outer = 1;
        for (uint32_t i = 0; i < kOuterDims; ++i) {
            outerDims_[i] = static_cast<uint64_t>(outerDims[i]);
            outer *= outerDims_[i];
        }
        rows_ = rows;
        cols_ = cols;
        boxRows_ = boxRows;
        boxCols_ = boxCols;
        pitchUnit_ = pitchUnit;
        rowTiles_ = (rows + boxRows - 1) / boxRows;
        colTiles_ = (cols + boxCols - 1) / boxCols;
        Share share;
        share.Init(outer * rowTiles_ * colTiles_);
        next_ = share.first;
        last_ = share.last;
    }
    __aicore__ inline bool NextFlat(Tile& tile) {
        if (next_ >= last_) {
            return false;
        }
        tile.offset = next_;
        const uint64_t left = last_ - next_;
        // the tile before the last one leaves an edge to it
        const uint64_t before = left > edge_ ? left - edge_ : left;
        tile.count = static_cast<uint32_t>(before < now_ ? before : now_);
        next_ += tile.count;
        now_ = step_;
        return true;
    }
    __aicore__ inline bool NextBox(Tile& tile) {
        if (next_ >= last_) {
            return false;
        }
        uint64_t index = next_++;
        tile.col = index % colTiles_ * boxCols_;
        index /= colTiles_;
        tile.row = index % rowTiles_ * boxRows_;
        index /= rowTiles_;
        for (uint32_t i = kOuterDims; i > 0; --i) {
            tile.outer[i - 1] = index % outerDims_[i - 1];
            index /= outerDims_[i - 1];
        }
        const uint64_t rows = rows_ - tile.row;
        const uint64_t cols = cols_ - tile.col;
        tile.rows = static_cast<uint32_t>(rows < boxRows_ ? rows : boxRows_);
        tile.cols = static_cast<uint32_t>(cols < boxCols_ ? cols : boxCols_);
        tile.pitch = (tile.cols + pitchUnit_ - 1) / pitchUnit_ * pitchUnit_;
        tile.count = tile.rows * tile.pitch;
        return true;
    }

 private:
    uint64_t next_ = 0;
    uint64_t last_ = 0;
    uint64_t step_ = 0;
    uint64_t edge_ = 0;
    uint64_t now_ = 0;  // elements of the next tile at most
    uint64_t outerDims_[kOuterDims] = {};
    uint64_t rows_ = 0;
    uint64_t cols_ = 0;
    uint64_t boxRows_ = 1;
    uint64_t boxCols_ = 1;
    uint64_t rowTiles_ = 1;
    uint64_t colTiles_ = 1;
    uint32_t pitchUnit_ = 32;
};

}  // namespace opgen

#endif  // OPGEN_TILE_H
