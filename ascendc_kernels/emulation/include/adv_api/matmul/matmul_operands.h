// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Operands of the Matmul object: matrices from tensors, parts of them, where the matrices of a
// batch lie, a sparse B in full, and blocks that the user's functions copy in and out.
#ifndef ADV_API_MATMUL_MATMUL_OPERANDS_H
#define ADV_API_MATMUL_MATMUL_OPERANDS_H

#include "adv_api/matmul/matmul_config.h"
#include "ascendc_emu/matmul_ops.h"
#include "ascendc_emu/pipe.h"

namespace AscendC {
namespace matmul_detail {

constexpr ascendc_emu::MatrixFormat FormatOf(CubeFormat f) {
    return f == CubeFormat::NZ       ? ascendc_emu::MatrixFormat::kNz
           : f == CubeFormat::SCALAR ? ascendc_emu::MatrixFormat::kScalar
                                     : ascendc_emu::MatrixFormat::kNd;
}
inline uint32_t Align(uint32_t v, uint32_t to) { return (v + to - 1) / to * to; }
template <typename T>
constexpr uint32_t BlockElements() {
    return uint32_t(ascendc_emu::ElementsIn<T>(32));
}

// --- matrices from tensors
// ------------------------------------------------------------------------

template <typename T>
__aicore__ inline ascendc_emu::MatrixRef Stored(uint8_t* data, ascendc_emu::MatrixFormat format,
                                                bool transposed) {
    ascendc_emu::MatrixRef m;
    m.data = data;
    m.type = ascendc_emu::kDTypeOf<T>;
    m.format = format;
    m.transposed = transposed;
    return m;
}
template <typename T>
__aicore__ inline ascendc_emu::MatrixRef MatrixOf(const GlobalTensor<T>& gm,
                                                  ascendc_emu::MatrixFormat format,
                                                  bool transposed = false) {
    ascendc_emu::MatrixRef m = Stored<T>(gm.ptr, format, transposed);
    m.gm = gm;
    return m;
}
template <typename T>
__aicore__ inline ascendc_emu::MatrixRef MatrixOf(const LocalTensor<T>& local,
                                                  ascendc_emu::MatrixFormat format,
                                                  bool transposed = false) {
    ascendc_emu::MatrixRef m = Stored<T>(local.ptr, format, transposed);
    m.local = local;
    m.onChip = true;
    return m;
}
// The same value everywhere.
template <typename T>
__aicore__ inline ascendc_emu::MatrixRef MatrixOf(T value) {
    ascendc_emu::MatrixRef m;
    m.format = ascendc_emu::MatrixFormat::kScalar;
    m.type = ascendc_emu::kDTypeOf<T>;
    m.scalar = double(float(value));
    return m;
}

// --- parts of matrices
// ------------------------------------------------------------------------------

__aicore__ inline ascendc_emu::MatrixRef Shifted(ascendc_emu::MatrixRef m, uint64_t bytes) {
    m.data += bytes;
    m.gm.ptr += m.onChip ? 0 : bytes;
    m.local.addr += m.onChip ? uint32_t(bytes) : 0;
    return m;
}
// Without the first k0 rows (`rows`) or columns of the stored matrix.
__aicore__ inline void SkipK(ascendc_emu::MatrixRef& x, bool rows, uint32_t k0) {
    const uint32_t bits = ascendc_emu::DTypeBits(x.type);
    const uint64_t c0 = x.nzWidth != 0 ? x.nzWidth : 256 / bits;
    uint64_t elements = rows ? k0 * x.stride : k0;
    if (x.format == ascendc_emu::MatrixFormat::kNz) {
        elements = rows ? k0 * c0 : k0 / c0 * x.stride * c0 + k0 % c0;
    }
    if (x.format != ascendc_emu::MatrixFormat::kScalar) x = Shifted(x, elements * bits / 8);
}
// rows x columns as stored; on the chip a matrix has the single-core shape.
__aicore__ inline uint64_t StrideOf(const ascendc_emu::MatrixRef& m, uint32_t rows,
                                    uint32_t columns, bool local, uint32_t singleRows,
                                    uint32_t singleColumns) {
    if (m.format == ascendc_emu::MatrixFormat::kNz) {
        const uint32_t r = local ? (m.transposed ? singleColumns : singleRows) : rows;
        return Align(r, 16);
    }
    return columns;
}

// --- matrices of a batch
// ----------------------------------------------------------------------------

constexpr bool IsInterleaved(LayoutMode mode) {
    return mode == LayoutMode::BSNGD || mode == LayoutMode::SBNGD;
}
// Elements before matrix `index`. BSNGD and SBNGD keep the heads of one row next to each other;
// SBNGD the batches, too.
__aicore__ inline uint64_t BatchOffset(LayoutMode mode, uint32_t index, int32_t heads, int32_t rows,
                                       int32_t columns, uint64_t matrix) {
    if (mode == LayoutMode::BSNGD) {
        const uint32_t h = heads > 0 ? uint32_t(heads) : 1;
        return (uint64_t(index / h) * uint32_t(rows) * h + index % h) * uint32_t(columns);
    }
    return index * (mode == LayoutMode::SBNGD ? uint64_t(uint32_t(columns)) : matrix);
}
// Elements from row to row of an interleaved layout.
__aicore__ inline uint32_t BatchRow(LayoutMode mode, int32_t b, int32_t heads, int32_t columns) {
    return uint32_t((mode == LayoutMode::SBNGD ? b : 1) * heads * columns);
}

// --- a sparse B
// ---------------------------------------------------------------------------------------

// B as [n][k] in `memory`, from its stored form [N][storedK / 2] and the index matrix of orgN rows:
// see UnpackSparseB in mmad.cpp.
__aicore__ inline ascendc_emu::MatrixRef Decompressed(const ascendc_emu::MatrixRef& from,
                                                      const uint8_t* index, uint8_t* memory,
                                                      uint32_t n, uint32_t k, uint32_t orgN,
                                                      uint32_t storedK) {
    ascendc_emu::MatrixRef to;
    to.type = from.type;
    to.transposed = true;
    to.hidden = true;
    to.stride = k;
    to.data = memory;
    memset(to.data, 0, uint64_t(n) * k);
    const uint64_t fractalRows = Align(orgN, 16);
    for (uint32_t row = 0; row < n; ++row) {
        const uint8_t* values = from.data + uint64_t(row) * (storedK / 2);
        for (uint32_t group = 0; group * 4 < k; ++group) {
            const uint64_t byte = group / 2;
            const uint32_t bits =
                index[(byte / 8 * fractalRows + row) * 8 + byte % 8] >> (group % 2 * 4);
            const uint32_t first = bits & 3, second = 1 + ((bits >> 2) & 3);
            uint8_t* out = to.data + uint64_t(row) * k + group * 4;
            out[first] = uint8_t(out[first] + values[group * 2]);
            const uint32_t other = second > first ? second & 3 : first;
            out[other] = uint8_t(out[other] + values[group * 2 + 1]);
        }
    }
    return to;
}

// The user's functions of a Matmul object: those that copy blocks of A and B into L1, and the one
// that copies blocks of C out of L0C.

// What SetUserDefInfo and SetSelfDefineData gave.
struct UserData {
    uint64_t tiling = 0;
    uint64_t data = 0;
};

// The whole of A or B, rows x columns, as the user's function copies it block by block (stepR x
// stepC); kept in `memory`. copy(L1 block, source, row, column, rows, columns, tiling, data)
template <typename T, typename Copy>
__aicore__ inline ascendc_emu::MatrixRef CopiedIn(const ascendc_emu::MatrixRef& from,
                                                  uint8_t* memory, uint32_t rows, uint32_t columns,
                                                  uint32_t stepR, uint32_t stepC,
                                                  const UserData& user, Copy copy) {
    ascendc_emu::MatrixRef to;
    to.type = from.type;
    to.format = ascendc_emu::MatrixFormat::kNd;
    to.hidden = true;
    to.stride = columns;
    to.data = memory;
    T* out = reinterpret_cast<T*>(to.data);
    constexpr uint32_t c0 = BlockElements<T>();
    ascendc_emu::CubeRole role;
    LocalTensor<int8_t> block(TPosition::A1, 0,
                              Align(stepR, 32) * Align(stepC, 32) * uint32_t(sizeof(T)));
    const T* in = reinterpret_cast<const T*>(role.L1());
    for (uint32_t r = 0; r < rows; r += stepR) {
        for (uint32_t c = 0; c < columns; c += stepC) {
            const uint32_t useR = r + stepR > rows ? rows - r : stepR;
            const uint32_t useC = c + stepC > columns ? columns - c : stepC;
            copy(block, from.data, int(r / stepR), int(c / stepC), int(useR), int(useC),
                 user.tiling, user.data);
            const uint32_t height = Align(from.transposed ? useC : useR, 16);
            for (uint32_t i = 0; i < useR; ++i) {
                for (uint32_t j = 0; j < useC; ++j) {
                    const uint32_t y = from.transposed ? j : i, x = from.transposed ? i : j;
                    out[uint64_t(r + i) * columns + c + j] =
                        in[(x / c0 * height + y) * c0 + x % c0];
                }
            }
        }
    }
    return to;
}

// Computes a block as L0C holds it (type Sum) and hands it to the user's function with the address
// of its place in C. copy(place in C, L0C block, parameters, tiling, data)
template <typename Sum, typename Dst, typename Copy>
__aicore__ inline void CopyOut(ascendc_emu::MatmulArgs& args, const UserData& user, Copy copy,
                               ascendc_emu::Loc loc) {
    const ascendc_emu::MatrixRef c = args.c;
    const bool nd = c.format == ascendc_emu::MatrixFormat::kNd;
    const uint32_t height = Align(args.m, 16);
    ascendc_emu::MatrixRef sums;
    sums.type = ascendc_emu::kDTypeOf<Sum>;
    sums.format = ascendc_emu::MatrixFormat::kNz;
    sums.nzWidth = 16;
    sums.hidden = true;
    sums.stride = height;
    ascendc_emu::CubeRole role;
    sums.data = role.L0c();
    DataCopyOutParams p;
    p.cBurstNum = uint16_t((args.n + 15) / 16);
    p.burstLen = uint16_t(args.m * 16 * sizeof(Sum) / 32);
    p.srcStride = uint16_t((height - args.m) * 16 * sizeof(Sum) / 32);
    p.dstStride = uint32_t(c.stride);
    p.oriNSize = uint16_t(args.n);
    p.enableNZ2ND = nd;
    p.quantScalar = args.quantScalar;
    const uint64_t at =
        nd ? args.cRow * c.stride + args.cColumn : (args.cColumn / 16 * c.stride + args.cRow) * 16;
    args.c = sums;
    args.cRow = args.cColumn = 0;
    args.quant = 0;
    args.relu = false;
    args.atomic = ascendc_emu::kPlainStore;
    ascendc_emu::MatmulCompute(args, ascendc_emu::Api::kMatmul, loc);
    const LocalTensor<int8_t> co1(TPosition::CO1, 0,
                                  height * Align(args.n, 16) * uint32_t(sizeof(Sum)));
    copy(c.data + at * sizeof(Dst), co1, &p, user.tiling, user.data);
}

}  // namespace matmul_detail
}  // namespace AscendC

#endif  // ADV_API_MATMUL_MATMUL_OPERANDS_H
