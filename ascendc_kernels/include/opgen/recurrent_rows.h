// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The vector cores' part of recurrent layers: the gates of each step, the states and the results
// (recurrent_space.h says how cores share them). A vector core has half of the rows of an item. Its
// states stay in UB in float32 through all steps; the cube core multiplies them in parts of type T
// (kStateParts).
#ifndef OPGEN_RECURRENT_ROWS_H
#define OPGEN_RECURRENT_ROWS_H

#include "kernel_operator.h"
#include "kernel_operator_list_tensor_intf.h"  // CANN 8.1's kernel_operator.h leaves it out
#include "opgen/convert.h"
#include "opgen/gate_functions.h"
#include "opgen/recurrent_space.h"
#include "opgen/tile.h"
#include "opgen/window_kinds.h"

namespace opgen {

constexpr uint32_t kRecurrentTile = 1024;   // elements of a tile
constexpr uint32_t kRecurrentTiles = 8;     // of the states of a core
constexpr uint32_t kRecurrentWidth = 2048;  // the widest state

// T: of the tensors; Cell: of gate_functions.h.
template <typename T, typename Cell>
class RecurrentRows {
 public:
    __aicore__ inline RecurrentRows() {}

    // Absent states are given as nullptr; of a cell without one, c0 and cn are, too.
    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR inputBiases, GM_ADDR stateBiases, GM_ADDR h0, GM_ADDR c0,
                                GM_ADDR y, GM_ADDR hn, GM_ADDR cn, GM_ADDR workspace,
                                const Tiling& tiling, AscendC::TPipe* pipe) {
        space_.Init(tiling);
        workspace_.Init(workspace, tiling);
        biased_ = tiling.biased != 0;
        hiddenGiven_ = tiling.hiddenGiven != 0;
        cellGiven_ = tiling.cellGiven != 0;
        hiddenBoxes_.columns = space_.hidden;
        hiddenBoxes_.boxRows = widthBoxes_.boxRows = tiling.boxRows;
        hiddenBoxes_.boxColumns = tiling.boxColumns;
        widthBoxes_.columns = space_.width;
        widthBoxes_.boxColumns = tiling.widthColumns;
        if (biased_) {
            inputBiases_.Init(reinterpret_cast<__gm__ void*>(inputBiases));
            stateBiases_.Init(reinterpret_cast<__gm__ void*>(stateBiases));
        }
        h0Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(h0));
        c0Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(c0));
        yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y));
        hnGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(hn));
        cnGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(cn));
        // boxes have a pitch of whole blocks of half
        biasPitch_ = AlignElements<half>(space_.hidden);
        const uint32_t tile = Bytes<float>(kRecurrentTile);
        pipe->InitBuffer(givenQueue_, 2, Cell::kGates * tile);
        pipe->InitBuffer(productQueue_, 1, kStateParts<T> * Cell::kGates * tile);
        pipe->InitBuffer(narrowQueue_, 1, Bytes<T>(kRecurrentTile));
        pipe->InitBuffer(outQueue_, 2, Bytes<T>(kRecurrentTile));
        pipe->InitBuffer(stateBuf_, kRecurrentTiles * tile);
        pipe->InitBuffer(biasBuf_, kBiases * Bytes<float>(kRecurrentWidth));
        pipe->InitBuffer(scratchBuf_, 5 * tile);
        pipe->InitBuffer(maskBuf_, kRecurrentTile / 8);
    }

    __aicore__ inline void Process() {
        for (layer_ = 0; layer_ < space_.layers; ++layer_) {
            WaitForAllCores();
            const bool last = layer_ + 1 == space_.layers;
            results_ = last ? yGm_ : workspace_.results;
            for (uint64_t i = RecurrentSpace::Group(); i < space_.Items();
                 i += RecurrentSpace::Groups()) {
                RunItem(space_.Item(i));
            }
            if (!last) {
                WaitForAllCores();
            }
        }
    }

 private:
    static constexpr uint32_t kApart = Cell::kGates - Cell::kJoined;  // biases that stay apart
    static constexpr uint32_t kBiases = Cell::kGates + kApart + 1;    // the last is scratch

    __aicore__ inline void RunItem(const RecurrentItem& item) {
        item_ = item;
        const uint32_t half = (item.rows + 1) / 2;
        first_ = AscendC::GetSubBlockIdx() == 0 ? 0 : half;
        const uint32_t rows = first_ == 0 ? half : item.rows - half;
        hiddenBoxes_.rows = widthBoxes_.rows = rows;
        LoadBiases();
        StartStates();
        if (space_.steps == 0) {
            return;
        }
        AscendC::CrossCoreSetFlag<2, PIPE_MTE3>(kStateReady);
        for (uint32_t step = 0; step < space_.steps; ++step) {
            const uint32_t time = space_.Time(item, step);
            const bool last = step + 1 == space_.steps;
            RunStep(time, last);
            if (space_.projected) {
                AscendC::CrossCoreSetFlag<2, PIPE_MTE3>(kHiddenReady);
                AscendC::CrossCoreWaitFlag(kProjectedReady);
                StoreProjected(time, last);
            }
            if (!last) {
                AscendC::CrossCoreSetFlag<2, PIPE_MTE3>(kStateReady);
            }
        }
    }

    // ---- biases ----

    __aicore__ inline Tile32 Bias(uint32_t place) {
        return biasBuf_.template Get<float>()[place * biasPitch_];
    }
    __aicore__ inline void LoadBiases() {
        if (!biased_) {
            return;
        }
        const uint32_t tensor = layer_ * space_.directions + item_.direction;
        GlobalTensor<T> given, kept;
        given.SetGlobalBuffer(inputBiases_.template GetDataPtr<T>(tensor));
        kept.SetGlobalBuffer(stateBiases_.template GetDataPtr<T>(tensor));
        // Boxes read whole blocks of biases.
        AscendC::Duplicate(Bias(0), 0.0f, kBiases * biasPitch_);
        VectorBarrier();
        for (uint32_t gate = 0; gate < Cell::kGates; ++gate) {
            LoadBias(Bias(gate), given[gate * space_.hidden]);
            if (gate < Cell::kJoined) {
                LoadBias(Bias(kBiases - 1), kept[gate * space_.hidden]);
                AscendC::Add(Bias(gate), Bias(gate), Bias(kBiases - 1), space_.hidden);
                VectorBarrier();
            } else {
                LoadBias(Bias(gate + kApart), kept[gate * space_.hidden]);
            }
        }
    }
    __aicore__ inline void LoadBias(const Tile32& bias, const GlobalTensor<T>& gm) {
        for (uint32_t at = 0; at < space_.hidden; at += kRecurrentTile) {
            const uint32_t left = space_.hidden - at;
            const uint32_t count = left < kRecurrentTile ? left : kRecurrentTile;
            LocalTensor<T> tile = narrowQueue_.template AllocTensor<T>();
            LoadRange(tile, gm[at], count);
            narrowQueue_.EnQue(tile);
            tile = narrowQueue_.template DeQue<T>();
            WidenCopy(bias[at], tile, count);
            VectorBarrier();
            narrowQueue_.FreeTensor(tile);
        }
    }

    // ---- states ----

    __aicore__ inline Tile32 State(uint32_t box) {
        return stateBuf_.template Get<float>()[box * kRecurrentTile];
    }
    __aicore__ inline Tile32 Hidden() { return Scratch(4); }
    __aicore__ inline Tile32 Scratch(uint32_t number) {
        return scratchBuf_.template Get<float>()[number * kRecurrentTile];
    }
    // Rows of `width` elements that lie side by side, from a row of the item on.
    __aicore__ inline static Walk Rows(uint64_t row, uint64_t width) {
        Walk walk;
        walk.stride[kOuterDims] = static_cast<int64_t>(width);
        walk.stride[kOuterDims + 1] = 1;
        walk.offset = static_cast<int64_t>(row * width);
        return walk;
    }
    // The rows of this core among the states of all layers, directions and rows of the batch.
    __aicore__ inline Walk StateRows(uint64_t width) const {
        const uint64_t tensor = layer_ * space_.directions + item_.direction;
        return Rows(tensor * space_.batch + item_.row + first_, width);
    }
    // The rows of this core among those of the item.
    __aicore__ inline Walk ItemRows(uint64_t width) const { return Rows(first_, width); }
    // The columns of the direction in the results at a time.
    __aicore__ inline Walk ResultRows(uint32_t time) const {
        const uint64_t width = static_cast<uint64_t>(space_.directions) * space_.width;
        Walk walk = Rows(space_.RowAt(time, item_.row + first_), width);
        walk.stride[kOuterDims] *= static_cast<int64_t>(space_.RowStep());
        walk.offset += static_cast<int64_t>(item_.direction) * space_.width;
        return walk;
    }

    __aicore__ inline void StartStates() {
        const bool last = space_.steps == 0;
        for (uint32_t i = 0; i < widthBoxes_.Count(); ++i) {
            const Tile box = widthBoxes_.At(i);
            const Tile32 hidden = Hidden();
            LoadState(hidden, h0Gm_, hiddenGiven_, StateRows(space_.width), box);
            if constexpr (!Cell::kHasCell) {
                AscendC::Muls(State(i), hidden, 1.0f, box.count);
                VectorBarrier();
            }
            StoreParts(workspace_.state, hidden, space_.width, box);
            if (last) {
                Store(hnGm_, hidden, StateRows(space_.width), box);
            }
        }
        if constexpr (Cell::kHasCell) {
            for (uint32_t i = 0; i < hiddenBoxes_.Count(); ++i) {
                const Tile box = hiddenBoxes_.At(i);
                LoadState(State(i), c0Gm_, cellGiven_, StateRows(space_.hidden), box);
                if (last) {
                    Store(cnGm_, State(i), StateRows(space_.hidden), box);
                }
            }
        }
    }
    __aicore__ inline void LoadState(const Tile32& state, const GlobalTensor<T>& gm, bool given,
                                     const Walk& walk, const Tile& box) {
        if (!given) {
            AscendC::Duplicate(state, 0.0f, box.count);
            VectorBarrier();
            return;
        }
        LocalTensor<T> tile = narrowQueue_.template AllocTensor<T>();
        LoadBox(tile, gm, walk, box);
        narrowQueue_.EnQue(tile);
        tile = narrowQueue_.template DeQue<T>();
        WidenCopy(state, tile, box.count);
        VectorBarrier();
        narrowQueue_.FreeTensor(tile);
    }
    // A tile as it is stored, ready to be copied out; the caller frees it.
    __aicore__ inline LocalTensor<T> Narrowed(const Tile32& tile, const Tile& box) {
        LocalTensor<T> narrow = outQueue_.template AllocTensor<T>();
        NarrowCopy(narrow, tile, box.count);
        VectorBarrier();
        outQueue_.EnQue(narrow);
        return outQueue_.template DeQue<T>();
    }
    __aicore__ inline void Store(const GlobalTensor<T>& gm, const Tile32& tile, const Walk& rows,
                                 const Tile& box) {
        LocalTensor<T> narrow = Narrowed(tile, box);
        StoreBox(gm, narrow, rows, box);
        outQueue_.FreeTensor(narrow);
    }
    // What rounding took from a tile, ready to be copied out; the caller frees it.
    __aicore__ inline LocalTensor<T> Rest(const Tile32& tile, const LocalTensor<T>& narrow,
                                          const Tile& box) {
        const Tile32 rest = Scratch(0);
        const MaskTile mask = maskBuf_.template Get<uint8_t>();
        WidenCopy(rest, narrow, box.count);
        VectorBarrier();
        AscendC::Sub(rest, tile, rest, box.count);
        VectorBarrier();
        // Of an infinity nothing is left, not NaN.
        FillTail(rest, box.count, 0.0f);
        const uint32_t lanes = AlignLanes(box.count);
        AscendC::Compare(mask, rest, rest, CMPMODE::EQ, lanes);
        VectorBarrier();
        AscendC::Select(rest, mask, rest, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, lanes);
        VectorBarrier();
        return Narrowed(rest, box);
    }
    __aicore__ inline static Walk Below(const Walk& walk, uint64_t rows, uint64_t width) {
        Walk below = walk;
        below.offset += static_cast<int64_t>(rows * width);
        return below;
    }
    // Store the parts of a tile that the cube core multiplies.
    __aicore__ inline void StoreParts(const GlobalTensor<T>& gm, const Tile32& tile, uint64_t width,
                                      const Tile& box) {
        LocalTensor<T> narrow = Narrowed(tile, box);
        StoreBox(gm, narrow, ItemRows(width), box);
        if constexpr (kStateParts<T> > 1) {
            LocalTensor<T> rest = Rest(tile, narrow, box);
            StoreBox(gm, rest, Below(ItemRows(width), item_.rows, width), box);
            outQueue_.FreeTensor(rest);
        }
        outQueue_.FreeTensor(narrow);
    }
    // Store a box of the hidden state of a time: result, what the next step multiplies, last state.
    __aicore__ inline void StoreHidden(const Tile32& hidden, const Tile& box, uint32_t time,
                                       bool last) {
        const bool read = layer_ + 1 < space_.layers;  // by the next layer
        const Walk rows = ResultRows(time);
        LocalTensor<T> narrow = Narrowed(hidden, box);
        StoreBox(results_, narrow, rows, box);
        if (last) {
            StoreBox(hnGm_, narrow, StateRows(space_.width), box);
        }
        if constexpr (kStateParts<T> > 1) {
            if (read) {
                LocalTensor<T> rest = Rest(hidden, narrow, box);
                const uint64_t width = static_cast<uint64_t>(space_.directions) * space_.width;
                StoreBox(results_, rest, Below(rows, space_.Rows(), width), box);
                outQueue_.FreeTensor(rest);
            }
        }
        outQueue_.FreeTensor(narrow);
        if (!last) {
            StoreParts(workspace_.state, hidden, space_.width, box);
        }
    }

    // ---- steps ----

    // What the inputs gave is loaded while the cube core multiplies.
    __aicore__ inline void RunStep(uint32_t time, bool last) {
        const uint32_t count = hiddenBoxes_.Count();
        if (count > 0) {
            LoadGiven(time, hiddenBoxes_.At(0));
        }
        AscendC::CrossCoreWaitFlag(kProductReady);
        for (uint32_t i = 0; i < count; ++i) {
            const Tile box = hiddenBoxes_.At(i);
            LoadProducts(box);
            LocalTensor<float> given = givenQueue_.template DeQue<float>();
            if (i + 1 < count) {
                LoadGiven(time, hiddenBoxes_.At(i + 1));
            }
            RunBox(i, box, given);
            givenQueue_.FreeTensor(given);
            if (space_.projected) {
                StoreParts(workspace_.unprojected, Hidden(), space_.hidden, box);
            } else {
                StoreHidden(Hidden(), box, time, last);
            }
            if (Cell::kHasCell && last) {
                Store(cnGm_, State(i), StateRows(space_.hidden), box);
            }
        }
    }
    // Load a box of each gate, of rows of all gates side by side.
    __aicore__ inline void LoadGates(const LocalTensor<float>& tile, const GlobalTensor<float>& gm,
                                     const Walk& rows, const Tile& box) {
        Walk walk = rows;
        for (uint32_t gate = 0; gate < Cell::kGates; ++gate) {
            LoadBox(tile[gate * kRecurrentTile], gm, walk, box);
            walk.offset += space_.hidden;
        }
    }
    __aicore__ inline void LoadGiven(uint32_t time, const Tile& box) {
        const uint64_t columns = static_cast<uint64_t>(Cell::kGates) * space_.hidden;
        const uint64_t before = item_.direction * space_.Rows();
        Walk walk = Rows(before + space_.RowAt(time, item_.row + first_), columns);
        walk.stride[kOuterDims] *= static_cast<int64_t>(space_.RowStep());
        LocalTensor<float> tile = givenQueue_.template AllocTensor<float>();
        LoadGates(tile, workspace_.gates, walk, box);
        givenQueue_.EnQue(tile);
    }
    __aicore__ inline void LoadProducts(const Tile& box) {
        LocalTensor<float> tile = productQueue_.template AllocTensor<float>();
        const uint64_t columns = static_cast<uint64_t>(Cell::kGates) * space_.hidden;
        for (uint32_t part = 0; part < kStateParts<T>; ++part) {
            LoadGates(tile[part * Cell::kGates * kRecurrentTile], workspace_.products,
                      Below(ItemRows(columns), part * item_.rows, columns), box);
        }
        productQueue_.EnQue(tile);
    }
    // The next state of a box, and its hidden state in Hidden().
    __aicore__ inline void RunBox(uint32_t index, const Tile& box, const Tile32& givenTile) {
        LocalTensor<float> productTile = productQueue_.template DeQue<float>();
        Tile32 given[4], products[4];
        for (uint32_t gate = 0; gate < Cell::kGates; ++gate) {
            given[gate] = givenTile[gate * kRecurrentTile];
            products[gate] = productTile[gate * kRecurrentTile];
            AddPart(products[gate], productTile[(Cell::kGates + gate) * kRecurrentTile], box);
            if (biased_) {
                AddBias(given[gate], gate, box);
                if (gate >= Cell::kJoined) {
                    AddBias(products[gate], gate + kApart, box);
                }
            }
        }
        GateScratch scratch;
        for (uint32_t i = 0; i < 4; ++i) {
            scratch.tile[i] = Scratch(i);
        }
        scratch.mask = maskBuf_.template Get<uint8_t>();
        Cell::Step(State(index), Hidden(), given, products, scratch, box.count);
        productQueue_.FreeTensor(productTile);
    }
    // Add the product of the second part of a state, where there is one.
    __aicore__ inline void AddPart(const Tile32& product, const Tile32& second, const Tile& box) {
        if constexpr (kStateParts<T> > 1) {
            AscendC::Add(product, product, second, box.count);
            VectorBarrier();
        }
    }
    __aicore__ inline void AddBias(const Tile32& tile, uint32_t place, const Tile& box) {
        const Tile32 bias = Bias(place)[static_cast<uint32_t>(box.col)];
        ForRows(tile, bias, box.pitch, box.rows, box.pitch, 0, AddRows());
        VectorBarrier();
    }
    __aicore__ inline void StoreProjected(uint32_t time, bool last) {
        for (uint32_t i = 0; i < widthBoxes_.Count(); ++i) {
            const Tile box = widthBoxes_.At(i);
            LocalTensor<float> tile = productQueue_.template AllocTensor<float>();
            for (uint32_t part = 0; part < kStateParts<T>; ++part) {
                LoadBox(tile[part * kRecurrentTile], workspace_.projected,
                        Below(ItemRows(space_.width), part * item_.rows, space_.width), box);
            }
            productQueue_.EnQue(tile);
            tile = productQueue_.template DeQue<float>();
            AddPart(tile, tile[kRecurrentTile], box);
            StoreHidden(tile, box, time, last);
            productQueue_.FreeTensor(tile);
        }
    }

    RecurrentSpace space_;
    RecurrentWorkspace<T> workspace_;
    RecurrentItem item_;
    RecurrentBoxes hiddenBoxes_, widthBoxes_;
    AscendC::ListTensorDesc inputBiases_, stateBiases_;
    GlobalTensor<T> h0Gm_, c0Gm_, yGm_, hnGm_, cnGm_, results_;
    AscendC::TQue<AscendC::TPosition::VECIN, 1> givenQueue_, productQueue_, narrowQueue_;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> outQueue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> stateBuf_, biasBuf_, scratchBuf_, maskBuf_;
    uint32_t layer_ = 0;
    uint32_t first_ = 0;  // row of the item that this core begins with
    uint32_t biasPitch_ = 0;
    bool biased_ = false, hiddenGiven_ = false, cellGiven_ = false;
};

}  // namespace opgen

#endif  // OPGEN_RECURRENT_ROWS_H
