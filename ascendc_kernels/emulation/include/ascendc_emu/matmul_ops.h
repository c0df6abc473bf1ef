// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Body of the Matmul object in the prebuilt library.
#ifndef ASCENDC_EMU_MATMUL_OPS_H
#define ASCENDC_EMU_MATMUL_OPS_H

#include "ascendc_emu/cube_ops.h"

namespace ascendc_emu {

enum class MatrixFormat : uint8_t { kNd, kNz, kScalar };

// A matrix in GM or on the chip. Element (row, column) of an ND matrix is data[row * stride + column],
// with rows and columns exchanged when `transposed`; NZ: fractal columns of `stride` rows each.
struct MatrixRef {
    uint8_t* data = nullptr;
    DType type = DType::kNone;
    MatrixFormat format = MatrixFormat::kNd;
    bool transposed = false;
    uint64_t stride = 0;  // elements; NZ: rows of a fractal column, a multiple of 16
    bool onChip = false;
    GmRef gm;         // for records
    TensorRef local;  // for records
    double scalar = 0;
};

struct MatmulArgs {
    MatrixRef a, b, c, bias;
    bool hasBias = false;
    uint32_t m0 = 0, m = 0;  // rows of C to compute: [m0, m0 + m)
    uint32_t n0 = 0, n = 0;
    uint32_t k = 0;
    uint32_t cRow = 0, cColumn = 0;  // where (m0, n0) goes in C
    bool partial = false;            // add to what C holds
    uint8_t atomic = 0;              // 0: as the registers say; 1 add, 2 max, 3 min
    bool hf32 = false;
    bool relu = false;
    int32_t quant = 0;  // QuantMode_t
    uint64_t quantScalar = 0;
    const uint64_t* quantVector = nullptr;  // per column, counted from column 0
};

// C = A * B (+ bias) in fp32 (int32 for integers), products added in K order. The call waits for
// everything the core has issued before it and is complete when it returns.
void MatmulCompute(const MatmulArgs& args, const char* op, Loc loc);

// True on a core that only serves Matmul requests of the vector cores: an AIC of a mixed kernel whose
// Matmul objects live on the AIVs.
bool IsMatmulServer(Loc loc);

}  // namespace ascendc_emu
#endif  // ASCENDC_EMU_MATMUL_OPS_H
