// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Operands whose columns lie apart. They are contiguous along the rows of a box, as a transposed
// tensor is: read column by column, transposed in UB. Or they are every second element of a row,
// say, or its elements from the last to the first: read with what lies between, taken from it in
// UB. Elements of 2 and 4 bytes; the host (BoxShape) makes boxes of which whole blocks of the
// transposition, or all that is read, fit in a tile.
#ifndef OPGEN_TRANSPOSED_H
#define OPGEN_TRANSPOSED_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/index.h"
#include "opgen/operand.h"
#include "opgen/tile.h"

namespace opgen {

// Addresses that TransDataTo5HD takes, and so the columns of a block that it transposes.
constexpr uint32_t kTransposeBlock = 16;

// Elements from one column, or group of columns, to the next of a box in UB.
template <typename T>
__aicore__ inline uint32_t ColumnPitch(const Walk& walk, const Tile& box) {
    return AlignElements<T>(box.rows * walk.group);
}

// Where the columns of a box lie, in elements from the first one: in [first, last]; of far members
// the first columns of all groups. `first` is below 0 where they run backwards.
struct ColumnSpan {
    int32_t first = 0;
    int32_t last = 0;

    __aicore__ inline ColumnSpan(const Walk& walk, uint32_t cols) {
        Add(static_cast<int32_t>(cols / walk.group - 1) * walk.groupStep);
        Add(walk.farMembers ? 0 : static_cast<int32_t>(walk.group - 1) * walk.within);
    }
    __aicore__ inline uint32_t Elements() const { return static_cast<uint32_t>(last - first) + 1; }

 private:
    __aicore__ inline void Add(int32_t reach) { (reach < 0 ? first : last) += reach; }
};

// Elements that a group of columns has in common with the next one.
__aicore__ inline uint32_t Overlap(const Walk& walk) {
    const int32_t last = static_cast<int32_t>(walk.group - 1) * walk.within;
    const int32_t beyond =
        (last < 0 ? -last : last) + 1 - (walk.groupStep < 0 ? -walk.groupStep : walk.groupStep);
    const bool overlaps = walk.groupStep != 0 && !walk.farMembers && beyond > 0;
    return overlaps ? static_cast<uint32_t>(beyond) : 0;
}

// Elements from one row to the next of what LoadApart brings to UB: whole blocks, also once they
// are widened.
__aicore__ inline uint32_t ApartPitch(const Walk& walk, const Tile& box) {
    const int32_t step = walk.groupStep;
    const uint32_t apart = box.pitch / walk.group * static_cast<uint32_t>(step < 0 ? -step : step);
    return apart + AlignElements<half>(Overlap(walk));
}

// Rows that LoadApart brings to UB: of far members those of each member, one after the other.
__aicore__ inline uint32_t ApartRows(const Walk& walk, const Tile& box) {
    return (walk.ByRow() ? box.rows : 1) * (walk.farMembers ? walk.group : 1);
}

// Copy the rows of a box with what lies between their columns.
template <typename T>
__aicore__ inline void LoadApart(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                 const Walk& walk, const Tile& box) {
    const uint32_t rows = walk.ByRow() ? box.rows : 1;
    const uint32_t pitch = ApartPitch(walk, box);
    const ColumnSpan span(walk, box.cols);
    const uint32_t run = span.Elements();
    AscendC::DataCopyExtParams blocks{static_cast<uint16_t>(rows), Bytes<T>(run), 0, 0, 0};
    if (rows > 1) {
        blocks.srcStride = static_cast<uint32_t>((walk.RowStride() - run) * sizeof(T));
        blocks.dstStride = (Bytes<T>(pitch) - AlignBlock(Bytes<T>(run))) / kBlockBytes;
    }
    if (box.pitch > box.cols && pitch > 0) {
        ClearForLoad(tile, ApartRows(walk, box) * pitch);
    }
    const AscendC::DataCopyPadExtParams<T> noPad{false, 0, 0, static_cast<T>(0)};
    const int64_t from = walk.At(box) + span.first;
    for (uint32_t member = 0; member < (walk.farMembers ? walk.group : 1); ++member) {
        const int64_t at = from + static_cast<int64_t>(member) * walk.within;
        AscendC::DataCopyPad(tile[member * rows * pitch], gm[static_cast<uint64_t>(at)], blocks,
                             noPad);
    }
}

// Copy an operand's part of a tile to UB; the columns of a transposed operand one after another,
// and zeros up to the pitch of the box.
template <bool kBroadcast, typename T>
__aicore__ inline void LoadTransposable(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                        const Walk& walk, const Tile& part) {
    if constexpr (kBroadcast) {
        if (walk.Transposed() || walk.TransposedGroups()) {
            const bool grouped = walk.Grouped();
            const uint32_t run = part.rows * walk.group;
            const uint32_t pitch = ColumnPitch<T>(walk, part);
            const uint32_t count = part.cols / walk.group;
            const int64_t next = grouped ? walk.groupStep : walk.stride[kOuterDims + 1];
            const uint64_t gap = static_cast<uint64_t>(next - run) * sizeof(T);
            const AscendC::DataCopyExtParams columns{static_cast<uint16_t>(count), Bytes<T>(run),
                                                     static_cast<uint32_t>(gap), 0, 0};
            const AscendC::DataCopyPadExtParams<T> pad{
                pitch > run, 0, static_cast<uint8_t>(pitch - run), static_cast<T>(0)};
            if (part.pitch > part.cols) {
                ClearForLoad(tile[count * pitch], (part.pitch / walk.group - count) * pitch);
            }
            AscendC::DataCopyPad(tile, gm[static_cast<uint64_t>(walk.At(part))], columns, pad);
            return;
        }
        if (walk.Apart()) {
            LoadApart(tile, gm, walk, part);
            return;
        }
    }
    Load<kBroadcast>(tile, gm, walk, part);
}

// Transpose the columns that LoadTransposable brought: row r of the box is written at r * pitch.
template <typename T>
__aicore__ inline void TransposeColumns(const LocalTensor<T>& dst, const LocalTensor<T>& columns,
                                        const Walk& walk, const Tile& box) {
    using Word = typename Choose<sizeof(T) == 2, uint16_t, uint32_t>::Type;
    constexpr uint32_t kRows = kBlockBytes / sizeof(T);   // that a block of 16 columns has
    constexpr uint32_t kParts = kTransposeBlock / kRows;  // 32-byte parts of a row of 16 elements
    const uint32_t next = ColumnPitch<T>(walk, box);
    const uint32_t repeat = box.pitch / kTransposeBlock;
    const AscendC::TransDataTo5HDParams blocks(
        false, false, static_cast<uint8_t>(repeat), static_cast<uint16_t>(repeat > 1 ? kParts : 0),
        static_cast<uint16_t>(repeat > 1 ? kTransposeBlock * next / kRows : 0));
    for (uint32_t row = 0; row < box.rows; row += kRows) {
        uint64_t from[kTransposeBlock];
        uint64_t to[kTransposeBlock];
        for (uint32_t i = 0; i < kTransposeBlock; ++i) {
            const uint32_t at = (row + i / kParts) * box.pitch + i % kParts * kRows;
            from[i] = reinterpret_cast<uint64_t>(columns[i * next + row].GetPhyAddr());
            to[i] = reinterpret_cast<uint64_t>(dst[at].GetPhyAddr());
        }
        AscendC::TransDataTo5HD<Word>(to, from, blocks);
    }
}

// Transpose the groups of columns that LoadTransposable brought, with `pitch` elements from one to
// the next. What lies behind the box in `dst` is scratch.
template <typename C>
__aicore__ inline void TransposeGroups(const LocalTensor<C>& dst, const LocalTensor<C>& columns,
                                       const Walk& walk, const Tile& box, uint32_t pitch) {
    static_assert(sizeof(C) == sizeof(int32_t), "places lie in a tile of results");
    const LocalTensor<int32_t> places =
        dst[box.rows * box.pitch].template ReinterpretCast<int32_t>();
    Walk loaded = walk;
    loaded.groupStep = static_cast<int32_t>(pitch);
    GroupPlaces(places, dst.template ReinterpretCast<int32_t>(), loaded,
                static_cast<int32_t>(sizeof(C)), box.pitch);
    for (uint32_t row = 0; row < box.rows; ++row) {
        AscendC::Gather(dst[row * box.pitch], columns, places.template ReinterpretCast<uint32_t>(),
                        Bytes<C>(row * walk.group), box.pitch);
    }
}

// places[r * pitch + c] = where column c of row r lies in what LoadApart brought, in units of
// `unit`. `scratch` has as many elements.
__aicore__ inline void ApartPlaces(const LocalTensor<int32_t>& places,
                                   const LocalTensor<int32_t>& scratch, const Walk& walk,
                                   const Tile& box, int32_t unit) {
    const uint32_t rows = walk.ByRow() ? box.rows : 1;
    // whether the places of a row do not follow from those of the one before by the same steps
    const bool byRow = walk.groupStep < 0 || Overlap(walk) > 0;
    const uint32_t counted = (byRow ? 1 : rows) * box.pitch;
    const uint32_t pitch = ApartPitch(walk, box);
    if (walk.Grouped()) {
        Walk loaded = walk;
        if (walk.farMembers) {
            loaded.within = static_cast<int32_t>(rows * pitch);
        }
        GroupPlaces(places, scratch, loaded, unit, counted);
    } else {
        AscendC::CreateVecIndex(places, static_cast<int32_t>(0), counted);
        VectorBarrier();
        AscendC::Muls(places, places, walk.groupStep * unit, counted);
        VectorBarrier();
    }
    const ColumnSpan span(walk, box.cols);
    if (span.first < 0) {
        AscendC::Adds(places, places, -span.first * unit, counted);
        VectorBarrier();
    }
    if (!byRow) {
        return;
    }
    if (walk.groupStep < 0 && box.pitch > box.cols) {
        // what lies behind the last column reads the first element
        AscendC::Maxs(places, places, static_cast<int32_t>(0), box.pitch);
        VectorBarrier();
    }
    CountRows(places, rows, box.pitch, static_cast<int32_t>(pitch) * unit);
}

// Take the columns of a box from what LoadApart brought. What lies behind the box in `dst` is
// scratch: as many elements again, but where every second or fourth column is taken.
template <typename C>
__aicore__ inline void TakeColumns(const LocalTensor<C>& dst, const LocalTensor<C>& src,
                                   const Walk& walk, const Tile& box) {
    static_assert(sizeof(C) == sizeof(int32_t), "places lie in a tile of results");
    constexpr uint8_t kEverySecond = 1;  // patterns of GatherMask, which is faster than Gather
    constexpr uint8_t kEveryFourth = 3;
    const uint32_t count = (walk.ByRow() ? box.rows : 1) * box.pitch;
    const int32_t step = walk.groupStep;
    if (!walk.Grouped() && (step == 2 || step == 4)) {
        uint64_t taken = 0;
        AscendC::GatherMask(dst, src, step == 2 ? kEverySecond : kEveryFourth, true,
                            static_cast<uint32_t>(step) * count, {1, 1, 0, 0}, taken);
    } else {
        const LocalTensor<int32_t> places =
            dst[box.rows * box.pitch].template ReinterpretCast<int32_t>();
        ApartPlaces(places, dst.template ReinterpretCast<int32_t>(), walk, box,
                    static_cast<int32_t>(sizeof(C)));
        AscendC::Gather(dst, src, places.template ReinterpretCast<uint32_t>(), 0, count);
    }
    if (!walk.ByRow() && box.rows > 1) {
        VectorBarrier();
        Tile others = box;
        --others.rows;
        BroadcastRows(dst[count], dst, others, 0, 1);
    }
}

// WidenOperand for operands that may be transposed or lie apart.
template <bool kBroadcast, typename C, typename T>
__aicore__ inline void WidenTransposable(const LocalTensor<C>& dst, const LocalTensor<T>& tile,
                                         const Walk& walk, const Tile& part,
                                         const LocalTensor<C>& stage = LocalTensor<C>(),
                                         const LocalTensor<half>& bytes = LocalTensor<half>()) {
    if constexpr (kBroadcast && (sizeof(T) == 2 || sizeof(T) == 4)) {
        if (walk.TransposedGroups()) {
            const uint32_t pitch = ColumnPitch<T>(walk, part);
            if constexpr (Same<C, T>::value) {
                TransposeGroups(dst, tile, walk, part, pitch);
            } else {
                Widen(stage, tile, bytes, part.pitch / walk.group * pitch);
                VectorBarrier();
                TransposeGroups(dst, stage, walk, part, pitch);
            }
            VectorBarrier();
            return;
        }
        if (walk.Transposed()) {
            if constexpr (Same<C, T>::value) {
                TransposeColumns(dst, tile, walk, part);
            } else {
                const LocalTensor<T> rows = stage.template ReinterpretCast<T>();
                TransposeColumns(rows, tile, walk, part);
                VectorBarrier();
                Widen(dst, rows, bytes, part.rows * part.pitch);
            }
            VectorBarrier();
            return;
        }
        if (walk.Apart()) {
            if constexpr (Same<C, T>::value) {
                TakeColumns(dst, tile, walk, part);
            } else {
                const uint32_t pitch = ApartPitch(walk, part);
                // of columns that are the same for all groups one group
                const uint32_t loaded = pitch > 0 ? ApartRows(walk, part) * pitch
                                                  : ColumnSpan(walk, part.cols).Elements();
                Widen(stage, tile, bytes, loaded);
                VectorBarrier();
                TakeColumns(dst, stage, walk, part);
            }
            VectorBarrier();
            return;
        }
    }
    WidenOperand<kBroadcast>(dst, tile, walk, part, stage, bytes);
}

}  // namespace opgen

#endif  // OPGEN_TRANSPOSED_H
