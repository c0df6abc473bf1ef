// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How the cores share the work of a row kernel: the boxes that each goes through, and what they
// exchange when they share the rows themselves.
#ifndef OPGEN_ROW_CORES_H
#define OPGEN_ROW_CORES_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/core_wait.h"
#include "opgen/row_join.h"
#include "opgen/tile.h"

namespace opgen {

// The work of a row kernel: items are boxes of kept elements, chunks the boxes of reduced elements
// that each item goes through.
class RowTiles {
 public:
    // tiling: lanes (2: the rows are reduced, too), outerDims (kept ones first, keptOuter of them),
    // rowCount, colCount, boxRows, boxCols, pitchUnit, split.
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling) {
        split = tiling.split != 0;
        lanes_ = tiling.lanes != 0;
        joined_ = tiling.lanes == 2;
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
        keptBoxes_ = joined_ ? 1 : (lanes_ ? rowBoxes : colBoxes);
        reducedBoxes_ = lanes_ ? colBoxes : rowBoxes;
        rowBoxes_ = joined_ ? rowBoxes : 1;
        const uint64_t items = keptOuter * keptBoxes_;
        const uint64_t chunks = reducedOuter * rowBoxes_ * reducedBoxes_;
        const uint64_t cores = VectorCores();
        teamSize = static_cast<uint32_t>(cores);
        Share share;
        if (split) {
            // As many items for each team: all cores wait for one another equally often.
            const uint64_t teams = tiling.split;
            const uint64_t core = static_cast<uint64_t>(AscendC::GetBlockIdx());
            const uint64_t team = ((core + 1) * teams - 1) / cores;
            teamFirst = static_cast<uint32_t>(team * cores / teams);
            teamSize = static_cast<uint32_t>((team + 1) * cores / teams - teamFirst);
            leads = core == teamFirst;
            share.Init(chunks, teamSize, core - teamFirst);
            firstItem = team * items / teams;
            lastItem = (team + 1) * items / teams;
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
            box.row = joined_ ? 0 : at * boxRows_;
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
        Decode(joined_ ? outer / rowBoxes_ : outer, kept_, kOuterDims, box);
        if (lanes_) {
            box.col = at * boxCols_;
            box.cols = Part(cols_, box.col, boxCols_);
            box.offset = outer * cols_ + box.col;
            if (joined_) {
                box.row = outer % rowBoxes_ * boxRows_;
                box.rows = Part(rows_, box.row, boxRows_);
                box.offset = (outer / rowBoxes_ * rows_ + box.row) * cols_ + box.col;
            }
        } else {
            box.row = at * boxRows_;
            box.rows = Part(rows_, box.row, boxRows_);
            box.offset = outer * rows_ + box.row;
        }
        Finish(box);
    }

    bool split = false;      // the cores of a team share the chunks of its items
    bool leads = true;       // the first core of its team
    uint32_t teamFirst = 0;  // the first core of the team
    uint32_t teamSize = 1;
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
        box.joined = joined_;
    }
    __aicore__ inline void Decode(uint64_t index, uint32_t first, uint32_t last, Tile& box) const {
        for (uint32_t i = last; i > first; --i) {
            box.outer[i - 1] = index % outerDims_[i - 1];
            index /= outerDims_[i - 1];
        }
    }

    uint64_t outerDims_[kOuterDims] = {};
    bool lanes_ = true;
    bool joined_ = false;  // the rows are reduced, too: every item is one row of results
    uint32_t kept_ = 0;
    uint64_t rows_ = 0;
    uint64_t cols_ = 0;
    uint64_t boxRows_ = 1;
    uint64_t boxCols_ = 1;
    uint64_t keptBoxes_ = 1;
    uint64_t reducedBoxes_ = 1;
    uint64_t rowBoxes_ = 1;  // that a reduction goes through
    uint32_t pitchUnit_ = 32;
};

// Joins the accumulators of a team's cores through the workspace: each core writes its own, waits
// for all, and reads those of its team in the same order, so that they get the same bits. Two sets
// of slots alternate: a core cannot write a set again before all cores have read it, because the
// other set's synchronisation lies between.
class Exchange {
 public:
    // slots: accumulators joined at once; lanes: numbers per slot; tiles: whose teams they are.
    __aicore__ inline void Init(GM_ADDR workspace, uint32_t slots, uint32_t lanes,
                                const RowTiles& tiles) {
        cores_ = VectorCores();
        first_ = tiles.teamFirst;
        team_ = tiles.teamSize;
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
    __aicore__ inline void Wait() { WaitForCores(); }
    // Cores of the team; Read counts them from 0.
    __aicore__ inline uint32_t Cores() const { return team_; }
    __aicore__ inline void Read(const Tile32& to, uint32_t core, uint32_t slot,
                                uint32_t count) const {
        Order<AscendC::HardEvent::V_MTE2>();
        AscendC::DataCopy(to, gm_[At(first_ + core, slot)], count);
        Order<AscendC::HardEvent::MTE2_V>();
    }
    template <int32_t kKind, typename C>
    __aicore__ inline void JoinAll(const LocalTensor<C>& acc, const Tile32& partial, uint32_t slot,
                                   uint32_t count) const {
        const LocalTensor<C> own = partial.template ReinterpretCast<C>();
        Read(acc.template ReinterpretCast<float>(), 0, slot, count);
        for (uint32_t core = 1; core < team_; ++core) {
            Read(partial, core, slot, count);
            opgen::Join<kKind>(acc, acc, own, count);
            VectorBarrier();
        }
    }
    // The next exchange uses the other set of slots.
    __aicore__ inline void Flip() { set_ = 1 - set_; }

 private:
    __aicore__ inline uint32_t At(uint32_t core, uint32_t slot) const {
        return ((set_ * slots_ + slot) * cores_ + core) * lanes_;
    }

    GlobalTensor<float> gm_;
    uint32_t cores_ = 1;
    uint32_t first_ = 0;
    uint32_t team_ = 1;
    uint32_t slots_ = 1;
    uint32_t lanes_ = 0;
    uint32_t set_ = 0;
};

}  // namespace opgen

#endif  // OPGEN_ROW_CORES_H
