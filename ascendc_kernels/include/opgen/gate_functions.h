// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The functions of gates on float tiles, and the cells of recurrent layers that are made of them
// (conventions: float_tile.h).
#ifndef OPGEN_GATE_FUNCTIONS_H
#define OPGEN_GATE_FUNCTIONS_H

#include "kernel_operator.h"
#include "opgen/float_tile.h"
#include "opgen/hyperbolic.h"

namespace opgen {

// Scratch of gates: tiles of floats and a mask.
struct GateScratch {
    Tile32 tile[4];
    MaskTile mask;
};

// dst = 1 / (1 + e^-x), also in place; e^-x overflows to inf, which gives the right 0.
__aicore__ inline void SigmoidGate(const Tile32& dst, const Tile32& x, const Tile32& t0,
                                   uint32_t count) {
    AscendC::Muls(t0, x, -1.0f, count);
    VectorBarrier();
    AscendC::Exp(t0, t0, count);
    VectorBarrier();
    AscendC::Adds(t0, t0, 1.0f, count);
    AscendC::Duplicate(dst, 1.0f, count);
    VectorBarrier();
    AscendC::Div(dst, dst, t0, count);
    VectorBarrier();
}

// x = tanh(x); elements between `count` and whole mask lanes of x are set.
__aicore__ inline void TanhGate(const Tile32& x, const GateScratch& scratch, uint32_t count) {
    FillTail(x, count, 0.0f);
    const uint32_t lanes = AlignLanes(count);
    Tanh(scratch.tile[0], x, scratch.tile[1], scratch.tile[2], scratch.tile[3], scratch.mask,
         lanes);
    AscendC::Muls(x, scratch.tile[0], 1.0f, count);
    VectorBarrier();
}

// What a cell makes of the sums of its gates. given[g] is the part of gate g that the input gives,
// products[g] the part that the state gives, both with their biases; both are overwritten. `state`
// becomes the next state, `result` the hidden state that the next step multiplies.
//
// Biases of the gates below kJoined only count as a sum; those of the others stay apart, since the
// cell uses the two parts apart.

// r, z, n: h = (1 - z) tanh(n + r n') + z h, where the state gives n'.
struct GruCell {
    static constexpr uint32_t kGates = 3;
    static constexpr uint32_t kJoined = 2;
    static constexpr bool kHasCell = false;  // the state is the hidden state

    __aicore__ inline static void Step(const Tile32& state, const Tile32& result,
                                       const Tile32 (&given)[4], const Tile32 (&products)[4],
                                       const GateScratch& scratch, uint32_t count) {
        AscendC::Add(given[0], given[0], products[0], count);
        AscendC::Add(given[1], given[1], products[1], count);
        VectorBarrier();
        SigmoidGate(given[0], given[0], scratch.tile[0], count);
        SigmoidGate(given[1], given[1], scratch.tile[0], count);
        AscendC::Mul(products[2], products[2], given[0], count);
        VectorBarrier();
        AscendC::Add(given[2], given[2], products[2], count);
        VectorBarrier();
        TanhGate(given[2], scratch, count);
        AscendC::Sub(products[0], state, given[2], count);
        VectorBarrier();
        AscendC::Mul(products[0], products[0], given[1], count);
        VectorBarrier();
        AscendC::Add(state, given[2], products[0], count);
        VectorBarrier();
        AscendC::Muls(result, state, 1.0f, count);
        VectorBarrier();
    }
};

// i, f, g, o: c = f c + i tanh(g), h = o tanh(c).
struct LstmCell {
    static constexpr uint32_t kGates = 4;
    static constexpr uint32_t kJoined = 4;
    static constexpr bool kHasCell = true;

    __aicore__ inline static void Step(const Tile32& state, const Tile32& result,
                                       const Tile32 (&given)[4], const Tile32 (&products)[4],
                                       const GateScratch& scratch, uint32_t count) {
        for (uint32_t gate = 0; gate < kGates; ++gate) {
            AscendC::Add(given[gate], given[gate], products[gate], count);
        }
        VectorBarrier();
        SigmoidGate(given[0], given[0], scratch.tile[0], count);
        SigmoidGate(given[1], given[1], scratch.tile[0], count);
        SigmoidGate(given[3], given[3], scratch.tile[0], count);
        TanhGate(given[2], scratch, count);
        AscendC::Mul(state, state, given[1], count);
        AscendC::Mul(given[0], given[0], given[2], count);
        VectorBarrier();
        AscendC::Add(state, state, given[0], count);
        VectorBarrier();
        AscendC::Muls(given[2], state, 1.0f, count);
        VectorBarrier();
        TanhGate(given[2], scratch, count);
        AscendC::Mul(result, given[2], given[3], count);
        VectorBarrier();
    }
};

}  // namespace opgen

#endif  // OPGEN_GATE_FUNCTIONS_H
