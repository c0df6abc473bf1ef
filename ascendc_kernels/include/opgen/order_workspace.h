// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Rows in order by way of the workspace: rows along any axis, of any length. All elements come to
// the workspace as rows of elements of 4 bytes, integers of 64 bits as two planes of them, these
// are sorted, and results go where they belong.
#ifndef OPGEN_ORDER_WORKSPACE_H
#define OPGEN_ORDER_WORKSPACE_H

#include "kernel_operator.h"
#include "opgen/core_wait.h"
#include "opgen/order.h"
#include "opgen/order_runs.h"
#include "opgen/order_turn.h"

namespace opgen {

// Sorts rows of a workspace that UB holds, a tile of them at a time.
template <typename T, typename Value, bool kDescending, OrderPick kPick>
class TileOrder {
 public:
    template <typename Tiling>
    __aicore__ inline void Run(const RunSpace& space, const GlobalTensor<Value>& elements,
                               const GlobalTensor<Value>& values, const Tiling& tiling,
                               AscendC::TPipe* pipe) {
        OrderTiles tiles;
        tiles.Init(tiling);
        order_.Init(tiling, pipe);
        pipe->InitBuffer(elementsQueue_, 1, Bytes<Value>(tiling.tileLength));
        pipe->InitBuffer(valuesQueue_, 1, Bytes<Value>(tiling.resultLength));
        pipe->InitBuffer(positionsQueue_, 1, Bytes<int32_t>(tiling.resultLength));
        Share share;
        share.Init(tiles.Count());
        for (uint64_t tile = share.first; tile < share.last; ++tile) {
            tiles.Seek(tile);
            for (uint32_t plane = 0; plane < kPlanes; ++plane) {
                LocalTensor<Value> loaded = elementsQueue_.template AllocTensor<Value>();
                LoadOrderTile(loaded, elements[plane * space.ElementWords()], tiles);
                elementsQueue_.EnQue(loaded);
                loaded = elementsQueue_.template DeQue<Value>();
                if constexpr (kDigits > 0) {
                    order_.HoldPlane(tiles, loaded, plane);
                } else {
                    order_.Sort(tiles, loaded);
                }
                elementsQueue_.FreeTensor(loaded);
            }
            if constexpr (kDigits > 0) {
                order_.SortPlanes(tiles);
            }
            for (uint32_t plane = 0; plane < kPlanes; ++plane) {
                LocalTensor<Value> made = valuesQueue_.template AllocTensor<Value>();
                if constexpr (kDigits > 0) {
                    order_.PlaneValues(made, plane, tiles);
                } else {
                    order_.Values(made, tiles);
                }
                valuesQueue_.EnQue(made);
                made = valuesQueue_.template DeQue<Value>();
                StoreOrderTile(values[plane * space.ValueWords()], made, tiles);
                valuesQueue_.FreeTensor(made);
            }
            LocalTensor<int32_t> places = positionsQueue_.template AllocTensor<int32_t>();
            order_.Positions(places, tiles);
            positionsQueue_.EnQue(places);
            places = positionsQueue_.template DeQue<int32_t>();
            StoreOrderTile(space.positions, places, tiles);
            positionsQueue_.FreeTensor(places);
        }
    }

 private:
    static constexpr uint32_t kDigits = kDigitsOf<T>;
    static constexpr uint32_t kPlanes = kPlanesOf<kDigits>;
    // Other elements have become floats.
    using Sorted = typename Choose<(kDigits > 0), T, float>::Type;

    RowOrder<Sorted, kDescending, kPick> order_;
    AscendC::TQue<AscendC::TPosition::VECIN, 1> elementsQueue_;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> valuesQueue_;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> positionsQueue_;
};

// Where the results of a row begin among those that are kept of it.
template <OrderPick kPick, bool kNans>
class RowPlace {
 public:
    // `counted`: rows were merged of runs, and all of them is kept.
    __aicore__ inline void Init(const RunSpace& space, bool counted, uint32_t first,
                                AscendC::TPipe* pipe) {
        counted_ = counted && kPick != OrderPick::kFirst;
        length_ = space.length;
        first_ = first;
        if (counted_ && kNans) {
            nans_.Init(space, pipe);
        }
    }
    __aicore__ inline uint32_t Of(uint64_t row) {
        if (!counted_) {
            return 0;
        }
        uint32_t numbers = length_;
        if constexpr (kNans) {
            numbers -= nans_.Of(row);
        }
        return PlaceOf<kPick>(numbers, length_, first_);
    }

 private:
    RowNans nans_;
    uint32_t length_ = 0;
    uint32_t first_ = 0;
    bool counted_ = false;
};

template <typename T, bool kDescending, OrderPick kPick>
class WorkspaceOrder {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR workspace, const Tiling& tiling, AscendC::TPipe* pipe) {
        pipe_ = pipe;
        first_ = tiling.first;
        space_.Init(workspace, tiling);
        SetGm(elements_, workspace);
        SetGm(values_, workspace + tiling.valuesAt);
        turned_.outer = tiling.outer;
        turned_.inner = tiling.inner;
        turned_.length = tiling.length;
        count_ = tiling.count;
        long_ = tiling.runLength > 0;
    }
    // Sort all elements of a tensor.
    template <typename Tiling>
    __aicore__ inline void Sort(const GlobalTensor<T>& gm, const Tiling& tiling) {
        TurnIn<T, Value> in;
        in.Run(elements_, gm, turned_, pipe_);
        Wait();
        if (!long_) {
            TileOrder<T, Value, kDescending, kPick> tiles;
            tiles.Run(space_, elements_, values_, tiling, pipe_);
        } else {
            RunOrder<kDescending, kDigits> runs;
            runs.Init(space_, tiling, kPick == OrderPick::kFirst ? count_ : space_.keep, pipe_);
            runs.Run();
        }
        Wait();
        turned_.length = count_;
    }
    // Write the values that were found, or where they were.
    template <typename TOut>
    __aicore__ inline void StoreValues(const GlobalTensor<TOut>& gm) {
        Store<kPlanes>(gm, values_);
    }
    template <typename TOut>
    __aicore__ inline void StorePositions(const GlobalTensor<TOut>& gm) {
        Store<1>(gm, space_.positions);
    }

 private:
    static constexpr uint32_t kDigits = kDigitsOf<T>;
    static constexpr uint32_t kPlanes = kPlanesOf<kDigits>;
    // What the workspace has of an element: a key, or the words of an integer.
    using Value = typename Choose<(kDigits > 0), int32_t, float>::Type;

    __aicore__ static inline void SetGm(GlobalTensor<Value>& gm, GM_ADDR at) {
        gm.SetGlobalBuffer(reinterpret_cast<__gm__ Value*>(at));
    }
    // All cores have written what the next step reads; its tiles lie where this one's were.
    __aicore__ inline void Wait() {
        WaitForCores();
        pipe_->Reset();
    }
    template <uint32_t kParts, typename TOut, typename From>
    __aicore__ inline void Store(const GlobalTensor<TOut>& gm, const GlobalTensor<From>& rows) {
        RowPlace<kPick, kDigits == 0> place;
        place.Init(space_, long_, first_, pipe_);
        TurnOut<TOut, From, kParts> out;
        out.Run(gm, rows, turned_, space_.keep, place, pipe_);
        AscendC::PipeBarrier<PIPE_ALL>();
        pipe_->Reset();
    }

    AscendC::TPipe* pipe_ = nullptr;
    RunSpace space_;
    TurnSpace turned_;
    GlobalTensor<Value> elements_;
    GlobalTensor<Value> values_;
    uint64_t count_ = 0;
    uint32_t first_ = 0;
    bool long_ = false;
};

}  // namespace opgen

#endif  // OPGEN_ORDER_WORKSPACE_H
