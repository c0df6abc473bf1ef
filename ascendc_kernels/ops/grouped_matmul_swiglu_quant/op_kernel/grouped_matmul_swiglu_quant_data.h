// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiling data of GroupedMatmulSwigluQuant, which its tiling function writes and its kernel reads.
#ifndef GROUPED_MATMUL_SWIGLU_QUANT_DATA_H
#define GROUPED_MATMUL_SWIGLU_QUANT_DATA_H

#include <cstdint>

#include "kernel_tiling/kernel_tiling.h"

constexpr int64_t kMostGroups = 128;
// A flag between cores counts to 15; the cube core sets one per piece and waits for nobody.
constexpr int64_t kMostPieces = 8;

struct GroupedMatmulSwigluQuantTilingData {
    uint32_t groups;
    uint32_t blockRows;               // of a block of the products, inside one group
    uint32_t blockColumns;            // of a block of the products
    uint32_t pieces;                  // of the rows, one behind the other; 0: no row is in a group
    uint32_t depth;                   // elements of a sum
    uint32_t columns;                 // of the products: two halves
    uint64_t rows;                    // of x; those behind the last group give zeros
    int64_t ends[kMostGroups];        // where the rows of each group end
    uint64_t pieceRows[kMostPieces];  // where the rows of each piece end
    uint32_t pieceBlocks[kMostPieces];  // how many blocks there are up to the end of a piece
    TCubeTiling cube;                   // how the Matmul object makes a block
};

#endif  // GROUPED_MATMUL_SWIGLU_QUANT_DATA_H
