// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// How cores share recurrent layers whose steps multiply the state by a matrix. Layer by layer:
//
//   1. The cube cores multiply the input of the layer at all times by its weights; they take blocks
//      of the result in turn. All cores wait.
//   2. A group of a cube core and its vector cores takes items: a direction and some rows of the
//      batch. No group waits for another in the time loop:
//
//        vector   state(0)            gates(0), state(1)            gates(1), state(2) ...
//        cube               product(0)                   product(1) ...
//
//      Where the hidden state is projected, a second product follows the gates of each step.
//      All cores wait: the next layer reads the results.
#ifndef OPGEN_RECURRENT_SPACE_H
#define OPGEN_RECURRENT_SPACE_H

#include "kernel_operator.h"
#include "opgen/tile.h"

namespace opgen {

// What the cube core multiplies of a float32 number: one that T cannot hold is the sum of two, the
// rounded number and the rounded rest, so that states keep more than twice the digits of T. The
// parts of some rows lie one below the other, and so do their products, which are added up.
template <typename T>
constexpr uint32_t kStateParts = sizeof(T) == sizeof(float) ? 1 : 2;

// Flags between the cube core and the vector cores of a group.
constexpr uint16_t kStateReady = 4;      // the cube core may multiply the state
constexpr uint16_t kProductReady = 5;    // the vector cores may read the product
constexpr uint16_t kHiddenReady = 6;     // the cube core may project the hidden state
constexpr uint16_t kProjectedReady = 7;  // the vector cores may read the projected state

// A direction and some rows of the batch, of one layer.
struct RecurrentItem {
    uint32_t direction = 0;
    uint32_t row = 0;
    uint32_t rows = 0;
};

// Sizes of a call, and where the parts of the workspace begin.
struct RecurrentSpace {
    uint32_t steps = 0, batch = 0;
    uint32_t inputs = 0, hidden = 0, width = 0;  // width: of a state that is multiplied
    uint32_t layers = 1, directions = 1;
    uint32_t itemRows = 1;
    uint32_t blockRows = 1, blockColumns = 1;  // of the product of the inputs
    bool batchFirst = false;
    bool projected = false;
    uint64_t itemsPerDirection = 0;

    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling) {
        steps = tiling.steps;
        batch = tiling.batch;
        inputs = tiling.inputs;
        hidden = tiling.hidden;
        width = tiling.width;
        layers = tiling.layers;
        directions = tiling.directions;
        itemRows = tiling.itemRows;
        blockRows = tiling.blockRows;
        blockColumns = tiling.blockColumns;
        batchFirst = tiling.batchFirst != 0;
        projected = tiling.projected != 0;
        itemsPerDirection = (batch + itemRows - 1) / itemRows;
    }
    __aicore__ inline uint64_t Rows() const { return static_cast<uint64_t>(steps) * batch; }
    __aicore__ inline uint64_t Items() const { return itemsPerDirection * directions; }
    __aicore__ inline RecurrentItem Item(uint64_t index) const {
        RecurrentItem item;
        item.direction = static_cast<uint32_t>(index / itemsPerDirection);
        item.row = static_cast<uint32_t>(index % itemsPerDirection) * itemRows;
        const uint32_t left = batch - item.row;
        item.rows = left < itemRows ? left : itemRows;
        return item;
    }
    // The place in time that a direction works on at a step.
    __aicore__ inline uint32_t Time(const RecurrentItem& item, uint32_t step) const {
        return item.direction == 0 ? step : steps - 1 - step;
    }
    // Where a row of the batch lies at a time among the rows of inputs and results.
    __aicore__ inline uint64_t RowAt(uint32_t time, uint32_t row) const {
        return batchFirst ? static_cast<uint64_t>(row) * steps + time
                          : static_cast<uint64_t>(time) * batch + row;
    }
    // Rows from one of the batch to the next.
    __aicore__ inline uint64_t RowStep() const { return batchFirst ? steps : 1; }
    // Columns of the input of a layer.
    __aicore__ inline uint32_t Depth(uint32_t layer) const {
        return layer == 0 ? inputs : width * directions;
    }
    // The group of cores that this one belongs to.
    __aicore__ inline static uint64_t Group() {
        const uint64_t core = static_cast<uint64_t>(AscendC::GetBlockIdx());
        if ASCEND_IS_AIV {
            return core / static_cast<uint64_t>(AscendC::GetTaskRation());
        }
        return core;
    }
    __aicore__ inline static uint64_t Groups() {
        return static_cast<uint64_t>(AscendC::GetBlockNum());
    }
};

// Places in the workspace. Those of a group serve one item at a time. `parts` is kStateParts.
template <typename T>
struct RecurrentWorkspace {
    GlobalTensor<float> gates;      // [directions, rows, gates x hidden] that the inputs give
    GlobalTensor<T> results;        // [parts, rows, directions x width] of the layer below
    GlobalTensor<T> state;          // [parts, rows of the item, width] of a group
    GlobalTensor<float> products;   // [parts, rows of the item, gates x hidden]
    GlobalTensor<T> unprojected;    // [parts, rows of the item, hidden]
    GlobalTensor<float> projected;  // [parts, rows of the item, width]

    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR workspace, const Tiling& tiling) {
        __gm__ uint8_t* start = reinterpret_cast<__gm__ uint8_t*>(workspace);
        gates.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(start));
        results.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(start + tiling.resultsAt));
        start += tiling.groupsAt + RecurrentSpace::Group() * tiling.groupBytes;
        products.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(start));
        projected.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(start + tiling.projectedAt));
        state.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(start + tiling.stateAt));
        unprojected.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(start + tiling.unprojectedAt));
    }
};

// Rows and columns of a vector core, cut into boxes.
struct RecurrentBoxes {
    uint32_t rows = 0, columns = 0;
    uint32_t boxRows = 1, boxColumns = 1;

    __aicore__ inline uint32_t Across() const { return (columns + boxColumns - 1) / boxColumns; }
    __aicore__ inline uint32_t Count() const { return (rows + boxRows - 1) / boxRows * Across(); }
    __aicore__ inline Tile At(uint32_t index) const {
        constexpr uint32_t kPitchUnit = 16;  // whole blocks of half
        Tile box;
        box.row = index / Across() * boxRows;
        box.col = index % Across() * boxColumns;
        const uint32_t rowsLeft = rows - static_cast<uint32_t>(box.row);
        const uint32_t columnsLeft = columns - static_cast<uint32_t>(box.col);
        box.rows = rowsLeft < boxRows ? rowsLeft : boxRows;
        box.cols = columnsLeft < boxColumns ? columnsLeft : boxColumns;
        box.pitch = (box.cols + kPitchUnit - 1) / kPitchUnit * kPitchUnit;
        box.count = box.rows * box.pitch;
        return box;
    }
};

// Let all cores of the launch wait for one another.
__aicore__ inline void WaitForAllCores() {
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::SyncAll<false>();
}

}  // namespace opgen

#endif  // OPGEN_RECURRENT_SPACE_H
