// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiling data of GroupedMatmul, which its tiling function writes and its kernel reads.
#ifndef GROUPED_MATMUL_DATA_H
#define GROUPED_MATMUL_DATA_H

#include <cstdint>

#include "kernel_tiling/kernel_tiling.h"

constexpr int64_t kMostGroups = 128;

struct GroupedMatmulTilingData {
    uint32_t groups;
    uint32_t blockRows;     // of a block of the result, inside one group
    uint32_t blockColumns;  // of a block of the result
    uint32_t blocks;        // of the results of all groups
    uint32_t depth;         // elements of a sum
    uint32_t columns;       // of the result
    uint32_t transposed;    // whether a weight has a row for each column of the result
    uint32_t biased;
    int64_t ends[kMostGroups];  // where the rows of each group end
    TCubeTiling cube;           // how the Matmul object makes a block
};

#endif  // GROUPED_MATMUL_DATA_H
