// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Where the elements of a Matmul object's matrices lie, and what of them is memory of the launch.
#ifndef SRC_CUBE_MATRIX_SPAN_H
#define SRC_CUBE_MATRIX_SPAN_H

#include <stdint.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ascendc_emu/matmul_ops.h"
#include "cube/cube_state.h"

namespace ascendc_emu {

// Elements in a row of a fractal.
inline uint32_t RowOf(const MatrixRef& m) {
    return m.nzWidth ? m.nzWidth : kBlock * 8 / DTypeBits(m.type);
}

// Position of (row, column) in elements.
inline uint64_t IndexOf(const MatrixRef& m, uint32_t row, uint32_t column) {
    if (m.transposed) std::swap(row, column);
    if (m.format == MatrixFormat::kNd) return static_cast<uint64_t>(row) * m.stride + column;
    const uint32_t c0 = RowOf(m);
    return static_cast<uint64_t>(column / c0) * m.stride * c0 + static_cast<uint64_t>(row) * c0 +
           column % c0;
}

// A block of a matrix, rows x columns at (row, column); `role` is its name in messages.
struct MatrixBlock {
    const char* role;
    uint32_t row, rows, column, columns;
};

// Whether all of a block is memory of the launch. Ends the launch where a block on the chip does
// not fit its memory.
bool IsInside(Core& core, const MatrixRef& m, const MatrixBlock& block, const char* op, Loc loc);

// A matrix to read a block of: itself, or a copy where part of the block is outside global memory,
// with zeros there. Too much outside ends the launch, as for a copy.
class ReadableMatrix {
 public:
    ReadableMatrix(Core& core, const MatrixRef& m, const MatrixBlock& block, const char* op,
                   Loc loc);
    const MatrixRef& operator*() const { return matrix_; }

 private:
    MatrixRef matrix_;
    std::vector<uint8_t> copy_;
};

}  // namespace ascendc_emu
#endif  // SRC_CUBE_MATRIX_SPAN_H
