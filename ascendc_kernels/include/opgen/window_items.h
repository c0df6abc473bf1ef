// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Which items of a batch name an element, or a row, of a window that is scattered to. A window
// holds thousands of them, so that few of the items of a batch are in it; the vector unit finds
// these, and the scalar unit goes through them only.
#ifndef OPGEN_WINDOW_ITEMS_H
#define OPGEN_WINDOW_ITEMS_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/indexed.h"
#include "opgen/tile.h"

namespace opgen {

// Items of a batch. opgen::WindowTiling leaves room in UB for what a batch takes.
constexpr uint32_t kBatchItems = kIndexBytes / sizeof(int64_t);
// So few items are sooner gone through one by one.
constexpr uint64_t kFewItems = 16;
// Elements of a tensor whose places int32 counts.
constexpr uint64_t kMostPlaces = 0x7FFFFFFF;

// kNumbered: whether items have values of their own, so that their numbers are asked for.
template <bool kNumbered>
class WindowItems {
 public:
    __aicore__ inline void Init(AscendC::TPipe* pipe) { pipe->InitBuffer(buffer_, kBytes); }
    // Load a batch of items and find those of a window of `count` elements, the first of which is
    // element `first` of the tensor; returns how many. The scalar unit may read them, until the
    // next batch.
    template <typename Rows>
    __aicore__ inline uint32_t Find(Rows& items, uint64_t first, uint32_t count) {
        Order<AscendC::HardEvent::S_V>();  // the items before have been read
        batch_ = items.NextBatch();
        const LocalTensor<int32_t> places = Words(kPlaces);
        const LocalTensor<int32_t> index = Words(kIndex);
        const LocalTensor<int32_t> nearest = Words(kNearest);
        const LocalTensor<uint8_t> mask = Mask(0);
        const LocalTensor<uint8_t> other = Mask(1);
        items.PlacesOf(places, mask, index, nearest, other, first);
        if constexpr (kNumbered) {
            AscendC::CreateVecIndex(index, 0, batch_);
            VectorBarrier();
            TakeMarked(Words(kNumbers), index, mask, batch_);
        }
        inside_ = TakeMarked(Words(kRows), places, mask, batch_);
        VectorBarrier();
        uint32_t found = 0;
        if (inside_ > 0) {
            found = TakeBetween(static_cast<int32_t>(count) - 1);
        }
        Order<AscendC::HardEvent::V_S>();
        return found;
    }
    // How many items the batch has, and whether an index of one is outside its axis.
    __aicore__ inline uint32_t Count() const { return batch_; }
    __aicore__ inline bool HasOutside() const { return inside_ < batch_; }
    // The element of the window, and the number in the batch, of an item that was found.
    __aicore__ inline uint32_t Row(uint32_t found) {
        return static_cast<uint32_t>(Words(kPlaces).GetValue(found));
    }
    __aicore__ inline uint32_t Number(uint32_t found) {
        return static_cast<uint32_t>(Words(kIndex).GetValue(found));
    }

 private:
    // Of the items inside the axes, keep those whose place is from 0 to `last`.
    __aicore__ inline uint32_t TakeBetween(int32_t last) {
        const LocalTensor<int32_t> rows = Words(kRows);
        const LocalTensor<int32_t> nearest = Words(kNearest);
        const uint32_t lanes = AlignLanes(inside_);
        FillTail(rows, inside_, -1);
        VectorBarrier();
        AscendC::Maxs(nearest, rows, 0, lanes);
        VectorBarrier();
        AscendC::Mins(nearest, nearest, last, lanes);
        VectorBarrier();
        AscendC::Compare(Mask(0), nearest, rows, AscendC::CMPMODE::EQ, lanes);
        VectorBarrier();
        const uint32_t found = TakeMarked(Words(kPlaces), rows, Mask(0), inside_);
        if constexpr (kNumbered) {
            TakeMarked(Words(kIndex), Words(kNumbers), Mask(0), inside_);
        }
        return found;
    }
    enum Tile : uint32_t { kPlaces, kIndex, kNearest, kRows, kNumbers, kTiles };
    static constexpr uint32_t kTileBytes = kBatchItems * sizeof(int32_t);
    static constexpr uint32_t kMaskBytes = kBatchItems / 8;
    static constexpr uint32_t kBytes = kTiles * kTileBytes + 2 * kMaskBytes;

    __aicore__ inline LocalTensor<int32_t> Words(uint32_t tile) {
        return buffer_.template GetWithOffset<int32_t>(kBatchItems, tile * kTileBytes);
    }
    __aicore__ inline LocalTensor<uint8_t> Mask(uint32_t mask) {
        return buffer_.template GetWithOffset<uint8_t>(kMaskBytes,
                                                       kTiles * kTileBytes + mask * kMaskBytes);
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer_;
    uint32_t batch_ = 0;
    uint32_t inside_ = 0;
};

// How an element that is scattered joins the one that is there; sums and products of integers wrap.
struct ElementCopy {
    template <typename T>
    __aicore__ static inline T Of(T, T b) {
        return b;
    }
};

struct ElementAdd {
    __aicore__ static inline float Of(float a, float b) { return a + b; }
    __aicore__ static inline int32_t Of(int32_t a, int32_t b) {
        return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
    }
    __aicore__ static inline int64_t Of(int64_t a, int64_t b) { return LongAdd::Of(a, b); }
};

struct ElementMul {
    __aicore__ static inline float Of(float a, float b) { return a * b; }
    __aicore__ static inline int32_t Of(int32_t a, int32_t b) {
        return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
    }
    __aicore__ static inline int64_t Of(int64_t a, int64_t b) { return LongMul::Of(a, b); }
};

}  // namespace opgen

#endif  // OPGEN_WINDOW_ITEMS_H
