// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// A state of a loop along the rows of boxes. Every step reads the state after the step before it,
// which is a row of the tile that the next states are written to; the first step of a box reads
// the carry, which keeps what the box before it ended with.
#ifndef OPGEN_LOOP_STATE_H
#define OPGEN_LOOP_STATE_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/tile.h"

namespace opgen {

// The first row of a box, as a box of its own.
__aicore__ inline Tile FirstRow(const Tile& box) {
    Tile row = box;
    row.rows = 1;
    row.count = box.pitch;
    return row;
}

// Backwards, the rows and the boxes come from the last to the first.
template <typename C, bool kBackwards>
class LoopState {
 public:
    // rowLength: elements of a row of a box, at most.
    __aicore__ inline void Init(AscendC::TPipe* pipe, uint32_t rowLength) {
        pipe->InitBuffer(carryBuf_, Bytes<C>(rowLength));
    }
    // Begin with a new item of so many boxes.
    __aicore__ inline void Start(uint64_t boxes) { boxes_ = boxes; }
    // start: a row of the states before the first step.
    __aicore__ inline void Begin(const LocalTensor<C>& start, const Tile& box) {
        VectorBarrier();
        AscendC::DataCopy(Carry(), start, box.pitch);
        VectorBarrier();
    }
    // The state before a step, as a row. next: the tile of the next states.
    __aicore__ inline LocalTensor<C> Before(const LocalTensor<C>& next, uint32_t step,
                                            const Tile& box) {
        return step == 0 ? Carry() : next[Row(step - 1, box)];
    }
    // Keep what the box ends with, unless it is the last one.
    __aicore__ inline void End(const LocalTensor<C>& next, const Tile& box) {
        VectorBarrier();
        if (--boxes_ > 0) {
            AscendC::DataCopy(Carry(), next[Row(box.rows - 1, box)], box.pitch);
            VectorBarrier();
        }
    }

 private:
    __aicore__ inline LocalTensor<C> Carry() { return carryBuf_.template Get<C>(); }
    __aicore__ inline static uint32_t Row(uint32_t step, const Tile& box) {
        return (kBackwards ? box.rows - 1 - step : step) * box.pitch;
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> carryBuf_;
    uint64_t boxes_ = 0;  // that are to come
};

}  // namespace opgen

#endif  // OPGEN_LOOP_STATE_H
