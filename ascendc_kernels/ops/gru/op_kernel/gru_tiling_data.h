// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiling data of gru, as the kernel of a CANN 9 project includes it; op_host/gru_tiling.h has the
// same for CANN 8.
#ifndef GRU_TILING_DATA_H
#define GRU_TILING_DATA_H

#include <cstdint>

#include "kernel_tiling/kernel_tiling.h"

struct GruTilingData {
    uint32_t steps;
    uint32_t batch;
    uint32_t inputs;  // columns of x
    uint32_t hidden;  // columns of a gate
    uint32_t width;   // columns of the state that a step multiplies
    uint32_t layers;
    uint32_t directions;
    uint32_t itemRows;   // rows of the batch that a group takes together
    uint32_t blockRows;  // blocks of the product of the inputs
    uint32_t blockColumns;
    uint32_t boxRows;       // boxes of a vector core
    uint32_t boxColumns;    // of `hidden` columns
    uint32_t widthColumns;  // of `width` columns
    uint32_t batchFirst;    // flags
    uint32_t biased;
    uint32_t hiddenGiven;
    uint32_t cellGiven;
    uint32_t projected;
    uint64_t resultsAt;  // parts of the workspace, in bytes
    uint64_t groupsAt;
    uint64_t groupBytes;
    uint64_t projectedAt;  // of the part of a group
    uint64_t stateAt;
    uint64_t unprojectedAt;
    TCubeTiling inputCube;   // of the first layer's input
    TCubeTiling resultCube;  // of the other layers' inputs
    TCubeTiling stateCube;   // of the states
};

#endif  // GRU_TILING_DATA_H
