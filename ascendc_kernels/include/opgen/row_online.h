// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Row statistics that need another one of the same rows, gathered in one pass over rows that stream
// through in chunks: the sum of exp(x - largest), and the sum of squared distances from the mean.
// Each chunk gives its own pair of numbers, and pairs are merged: of chunks, then of cores.
//
// `spare` is scratch of several row tiles, `rowLength` numbers apart; `tile` is scratch of a box
// and `blocks` of one block per row.
#ifndef OPGEN_ROW_ONLINE_H
#define OPGEN_ROW_ONLINE_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/float_tile.h"
#include "opgen/row.h"
#include "opgen/row_cores.h"
#include "opgen/row_operands.h"
#include "opgen/tile.h"

namespace opgen {

// sum *= exp(from - to): a sum of exp(x - from) becomes one of exp(x - to). `from` is taken within
// the finite numbers, as AddExpSum has done.
__aicore__ inline void MoveExpSum(const Tile32& sum, const Tile32& from, const Tile32& to,
                                  const Tile32& scratch, uint32_t count) {
    Finite(scratch, from, count);
    AscendC::Sub(scratch, scratch, to, count);
    VectorBarrier();
    AscendC::Exp(scratch, scratch, count);
    VectorBarrier();
    AscendC::Mul(sum, sum, scratch, count);
    VectorBarrier();
}

// Merge the pair at the start of `spare` into (largest, sum).
__aicore__ inline void MergeExpSums(const Tile32& largest, const Tile32& sum, const Tile32& spare,
                                    uint32_t rowLength, uint32_t count) {
    const Tile32 otherLargest = spare;
    const Tile32 otherSum = spare[rowLength];
    const Tile32 common = spare[2 * rowLength];
    const Tile32 scratch = spare[3 * rowLength];
    AscendC::Max(scratch, largest, otherLargest, count);
    VectorBarrier();
    Finite(common, scratch, count);
    MoveExpSum(sum, largest, common, scratch, count);
    MoveExpSum(otherSum, otherLargest, common, scratch, count);
    AscendC::Add(sum, sum, otherSum, count);
    AscendC::Max(largest, largest, otherLargest, count);
    VectorBarrier();
}

// Add a box to `largest` and to `sum`, the sum of exp(x - largest). At the start they are -inf and
// 0.
__aicore__ inline void AddExpSum(const Tile32& largest, const Tile32& sum, const Tile32& x,
                                 const Tile32& tile, const Tile32& spare, uint32_t rowLength,
                                 const Tile32& blocks, const Tile& box) {
    const uint32_t count = RowBlocks(box);
    Reduce<kMax>(spare, x, tile, box);
    Finite(spare[2 * rowLength], spare, count);
    ApplyRow<kSub>(tile, x, spare[2 * rowLength], blocks, box);
    AscendC::Exp(tile, tile, box.count);
    VectorBarrier();
    ReduceInPlace<kSum>(spare[rowLength], tile, box);
    MergeExpSums(largest, sum, spare, rowLength, count);
}

// Merge what another core has gathered, the sum, the squared distances and the number of elements
// at the start of `spare`, into (sum, squares, elements): the distances of either from the common
// mean follow from the means.
__aicore__ inline void MergeVariances(const Tile32& sum, const Tile32& squares,
                                      const Tile32& elements, const Tile32& spare,
                                      uint32_t rowLength, uint32_t count) {
    const Tile32 otherSum = spare;
    const Tile32 otherSquares = spare[rowLength];
    const Tile32 otherElements = spare[2 * rowLength];
    const Tile32 distance = spare[3 * rowLength];
    const Tile32 weight = spare[4 * rowLength];
    // a core without chunks has no elements: then its mean is 0 and its weight, too
    AscendC::Maxs(distance, otherElements, 1.0f, count);
    AscendC::Maxs(weight, elements, 1.0f, count);
    VectorBarrier();
    AscendC::Div(distance, otherSum, distance, count);
    AscendC::Div(weight, sum, weight, count);
    VectorBarrier();
    AscendC::Sub(distance, distance, weight, count);
    VectorBarrier();
    AscendC::Mul(distance, distance, distance, count);
    AscendC::Mul(weight, elements, otherElements, count);
    AscendC::Add(squares, squares, otherSquares, count);
    AscendC::Add(sum, sum, otherSum, count);
    VectorBarrier();
    AscendC::Add(elements, elements, otherElements, count);
    VectorBarrier();
    AscendC::Maxs(otherElements, elements, 1.0f, count);
    VectorBarrier();
    AscendC::Div(weight, weight, otherElements, count);
    VectorBarrier();
    AscendC::Mul(distance, distance, weight, count);
    VectorBarrier();
    AscendC::Add(squares, squares, distance, count);
    VectorBarrier();
}

// Elements of a reduction that a box has.
__aicore__ inline uint32_t ReducedElements(const Tile& box) {
    return box.joined ? box.rows * box.cols : (box.lanes ? box.cols : box.rows);
}

// Add a box to `sum`, to `squares`, the squared distances from the mean, and to the number of
// elements. `before` counts the elements of the boxes before it, so that the weights of the means
// are numbers of the scalar unit; the first box starts the statistics.
__aicore__ inline void AddVariance(const Tile32& sum, const Tile32& squares, const Tile32& elements,
                                   const Tile32& x, const Tile32& tile, const Tile32& spare,
                                   uint32_t rowLength, const Tile32& blocks, const Tile& box,
                                   int64_t before) {
    const bool first = before == 0;
    const uint32_t count = RowBlocks(box);
    const float boxElements = static_cast<float>(ReducedElements(box));
    const float others = static_cast<float>(before);
    const Tile32 boxSum = first ? sum : spare;
    const Tile32 boxSquares = first ? squares : spare[rowLength];
    const Tile32 mean = spare[2 * rowLength];
    AscendC::Duplicate(elements, others + boxElements, count);
    Reduce<kSum>(boxSum, x, tile, box);
    AscendC::Muls(mean, boxSum, 1.0f / boxElements, count);
    VectorBarrier();
    ApplyRow<kSub>(tile, x, mean, blocks, box);
    AscendC::Mul(tile, tile, tile, box.count);
    if (first) {
        VectorBarrier();
        ReduceInPlace<kSum>(boxSquares, tile, box);
        return;
    }
    // The distance between the two means adds to the squares; its steps go beside those of the box.
    AscendC::Axpy(mean, sum, -1.0f / others, count);
    VectorBarrier();
    AscendC::Mul(mean, mean, mean, count);
    AscendC::Add(sum, sum, boxSum, count);
    ReduceInPlace<kSum>(boxSquares, tile, box);
    AscendC::Axpy(squares, mean, others / (others + boxElements) * boxElements, count);
    VectorBarrier();
    AscendC::Add(squares, squares, boxSquares, count);
    VectorBarrier();
}

// Merge what all cores have published, beginning with `slot`.
__aicore__ inline void JoinExpSums(const Exchange& exchange, uint32_t slot, const Tile32& largest,
                                   const Tile32& sum, const Tile32& spare, uint32_t rowLength,
                                   uint32_t count) {
    exchange.Read(largest, 0, slot, count);
    exchange.Read(sum, 0, slot + 1, count);
    for (uint32_t core = 1; core < exchange.Cores(); ++core) {
        exchange.Read(spare, core, slot, count);
        exchange.Read(spare[rowLength], core, slot + 1, count);
        MergeExpSums(largest, sum, spare, rowLength, count);
    }
}

__aicore__ inline void JoinVariances(const Exchange& exchange, uint32_t slot, const Tile32& sum,
                                     const Tile32& squares, const Tile32& elements,
                                     const Tile32& spare, uint32_t rowLength, uint32_t count) {
    exchange.Read(sum, 0, slot, count);
    exchange.Read(squares, 0, slot + 1, count);
    exchange.Read(elements, 0, slot + 2, count);
    for (uint32_t core = 1; core < exchange.Cores(); ++core) {
        exchange.Read(spare, core, slot, count);
        exchange.Read(spare[rowLength], core, slot + 1, count);
        exchange.Read(spare[2 * rowLength], core, slot + 2, count);
        MergeVariances(sum, squares, elements, spare, rowLength, count);
    }
}

}  // namespace opgen

#endif  // OPGEN_ROW_ONLINE_H
