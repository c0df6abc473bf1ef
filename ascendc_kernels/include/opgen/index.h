// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiles that follow from the index: numbers counted along axes, and tensors that lie inside a
// larger iteration space.
#ifndef OPGEN_INDEX_H
#define OPGEN_INDEX_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/tile.h"

namespace opgen {

// places[i] = `unit` times where column i lies from the first one, of a walk with groups of
// columns. `scratch` has `count` elements, too.
__aicore__ inline void GroupPlaces(const LocalTensor<int32_t>& places,
                                   const LocalTensor<int32_t>& scratch, const Walk& walk,
                                   int32_t unit, uint32_t count) {
    const int32_t within = walk.within;
    const int32_t beside = walk.groupStep - static_cast<int32_t>(walk.group) * within;
    AscendC::CreateVecIndex(places, static_cast<int32_t>(0), count);
    VectorBarrier();
    if (walk.group == 2 || walk.group == 4) {
        AscendC::ShiftRight(scratch, places, static_cast<int32_t>(walk.group / 2),
                            static_cast<int32_t>(count));
        VectorBarrier();
    } else {
        // exact for the numbers of a tile: a quotient is no closer to a whole number than 1 / group
        const LocalTensor<float> quotient = scratch.template ReinterpretCast<float>();
        AscendC::Cast(quotient, places, RoundMode::CAST_RINT, count);
        VectorBarrier();
        AscendC::Adds(quotient, quotient, 0.5f, count);
        VectorBarrier();
        AscendC::Muls(quotient, quotient, 1.0f / static_cast<float>(walk.group), count);
        VectorBarrier();
        AscendC::Cast(scratch, quotient, RoundMode::CAST_TRUNC, count);
        VectorBarrier();
    }
    if (within == 0) {
        AscendC::Muls(places, scratch, beside * unit, count);
        VectorBarrier();
        return;
    }
    AscendC::Muls(places, places, within * unit, count);
    VectorBarrier();
    AscendC::Muls(scratch, scratch, beside * unit, count);
    VectorBarrier();
    AscendC::Add(places, places, scratch, count);
    VectorBarrier();
}

// Rows of `pitch` numbers, each `next` more than the one before: the first row is there, the others
// are copies with a sum, twice as many with each instruction.
__aicore__ inline void CountRows(const LocalTensor<int32_t>& numbers, uint32_t rows, uint32_t pitch,
                                 int32_t next) {
    for (uint32_t done = 1; done < rows; done *= 2) {
        const uint32_t now = rows - done < done ? rows - done : done;
        AscendC::Adds(numbers[done * pitch], numbers, static_cast<int32_t>(done) * next,
                      now * pitch);
        VectorBarrier();
    }
}

// Every element is the address that the walk gives it: offset + the sum of index * stride.
template <bool kBroadcast>
__aicore__ inline void CountIndex(const LocalTensor<int32_t>& dst, const Walk& walk,
                                  const Tile& part) {
    if constexpr (kBroadcast) {
        const int32_t first = static_cast<int32_t>(walk.At(part));
        const int32_t step = walk.groupStep;
        const int32_t next = static_cast<int32_t>(walk.RowStride());
        if (walk.Grouped()) {
            GroupPlaces(dst, dst[part.count], walk, 1, part.pitch);
            AscendC::Adds(dst, dst, first, part.pitch);
        } else if (step == 1) {
            AscendC::CreateVecIndex(dst, first, part.pitch);
        } else if (step == 0) {
            AscendC::Duplicate(dst, first, part.pitch);
        } else {
            AscendC::CreateVecIndex(dst, static_cast<int32_t>(0), part.pitch);
            VectorBarrier();
            AscendC::Muls(dst, dst, step, part.pitch);
            VectorBarrier();
            AscendC::Adds(dst, dst, first, part.pitch);
        }
        VectorBarrier();
        CountRows(dst, part.rows, part.pitch, next);
    } else {
        AscendC::CreateVecIndex(dst, static_cast<int32_t>(part.offset), part.count);
        VectorBarrier();
    }
}

// Where the elements of a tensor begin and end along every dimension of the iteration space.
struct Bounds {
    uint64_t from[kMaxDims] = {};
    uint64_t to[kMaxDims] = {};

    template <typename Array>
    __aicore__ inline void Init(const Array& packed) {
        for (uint32_t i = 0; i < kMaxDims; ++i) {
            from[i] = static_cast<uint64_t>(packed[i]);
            to[i] = static_cast<uint64_t>(packed[kMaxDims + i]);
        }
    }
    // Cut a box to the tensor's elements; false: it has none of them.
    __aicore__ inline bool Cut(const Tile& box, Tile& own) const {
        own = box;
        for (uint32_t i = 0; i < kOuterDims; ++i) {
            if (box.outer[i] < from[i] || box.outer[i] >= to[i]) {
                return false;
            }
        }
        return Cut(kOuterDims, own.row, own.rows) && Cut(kOuterDims + 1, own.col, own.cols);
    }

 private:
    __aicore__ inline bool Cut(uint32_t axis, uint64_t& first, uint32_t& count) const {
        const uint64_t end = first + count < to[axis] ? first + count : to[axis];
        first = first < from[axis] ? from[axis] : first;
        count = first < end ? static_cast<uint32_t>(end - first) : 0;
        return count > 0;
    }
};

// Load for a tensor inside the iteration space: elements outside are 0 and nothing is read for
// them.
template <bool kBroadcast, typename T>
__aicore__ inline void LoadPlaced(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                  const Walk& walk, const Bounds& bounds, const Tile& box) {
    if constexpr (!kBroadcast) {
        LoadRange(tile, gm[box.offset], box.count);  // there is nothing around it
        return;
    }
    constexpr uint32_t kPerBlock = kBlockBytes / sizeof(T);
    Tile own;
    const bool any = bounds.Cut(box, own);
    if (any && own.rows == box.rows && own.cols == box.cols) {
        LoadBox(tile, gm, walk, box);
        return;
    }
    const uint32_t pitch = walk.ByCol() ? box.pitch : kSpreadLanes<T>;
    const uint32_t rows = walk.ByRow() ? box.rows : 1;
    ClearForLoad(tile, rows * pitch);
    if (!any) {
        return;
    }
    const uint32_t row = walk.ByRow() ? static_cast<uint32_t>(own.row - box.row) : 0;
    const uint32_t col = walk.ByCol() ? static_cast<uint32_t>(own.col - box.col) : 0;
    const uint32_t cols = walk.ByCol() ? own.cols : 1;
    // Copies begin at whole blocks: zeros go before the first element, and behind the last. A block
    // of an operand that is broadcast along the columns is filled with its element.
    const uint32_t lead = col % kPerBlock;
    const uint32_t tail = !walk.ByCol() ? 0 : (kPerBlock - (lead + cols) % kPerBlock) % kPerBlock;
    const AscendC::DataCopyPadExtParams<T> pad{walk.ByCol(), static_cast<uint8_t>(lead),
                                               static_cast<uint8_t>(tail), static_cast<T>(0)};
    AscendC::DataCopyExtParams blocks{1, static_cast<uint32_t>(cols * sizeof(T)), 0, 0, 0};
    uint32_t copies = walk.ByRow() ? own.rows : 1;
    if (walk.RowStride() >= 0) {
        blocks.blockCount = static_cast<uint16_t>(copies);
        blocks.dstStride = (pitch - lead - cols - tail) / kPerBlock;
        if (copies > 1) {
            blocks.srcStride = static_cast<uint32_t>((walk.RowStride() - cols) * sizeof(T));
        }
        copies = 1;
    }
    for (uint32_t i = 0; i < copies; ++i) {
        const GlobalTensor<T> from = gm[static_cast<uint64_t>(walk.At(own))];
        const uint32_t at = (row + i) * pitch + col - lead;
        AscendC::DataCopyPad(tile[at], from, blocks, pad);
        if constexpr (kSpreadLanes<T> > kPerBlock) {
            if (!walk.ByCol()) {  // of two blocks, as narrowing makes one of them
                AscendC::DataCopyPad(tile[at + kPerBlock], from, blocks, pad);
            }
        }
        ++own.row;
    }
}

}  // namespace opgen

#endif  // OPGEN_INDEX_H
