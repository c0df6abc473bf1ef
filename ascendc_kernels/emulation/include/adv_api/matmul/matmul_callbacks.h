// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The user's functions of a Matmul object: those that copy blocks of A and B into L1, and the one
// that copies blocks of C out of L0C.
#ifndef ADV_API_MATMUL_MATMUL_CALLBACKS_H
#define ADV_API_MATMUL_MATMUL_CALLBACKS_H

#include "adv_api/matmul/matmul_operands.h"
#include "ascendc_emu/pipe.h"

namespace AscendC {
namespace matmul_detail {

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
    ascendc_emu::MatmulCompute(args, "Matmul", loc);
    const LocalTensor<int8_t> co1(TPosition::CO1, 0,
                                  height * Align(args.n, 16) * uint32_t(sizeof(Sum)));
    copy(c.data + at * sizeof(Dst), co1, &p, user.tiling, user.data);
}

}  // namespace matmul_detail
}  // namespace AscendC

#endif  // ADV_API_MATMUL_MATMUL_CALLBACKS_H
