// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// GroupedMatmulSwigluQuant: int8 rows of x in groups, each times an int8 matrix of its own; the
// products are dequantised by row and column, the right half of a row is gated with swish of the
// left one, and each row is quantised to int8 with a scale of its own. Handwritten: an attr says
// where the groups end, and blocks of the products lie inside one group.
//
// Cube and vector cores work at the same time, on different pieces of the rows:
//
//   cube     products(0)   products(1)   products(2)
//   vector                 rows(0)       rows(1)       rows(2)
//
// Cube cores take the blocks of all groups in turn and write int32 sums to the workspace. Each
// tells its vector cores when it has made its blocks of a piece; the vector cores wait for one
// another, so that those of all cube cores are there, and share the rows (grouped_swiglu_rows.h).
// Cube cores wait for nobody: the workspace holds the products of all rows. The tiling is
// op_host/grouped_matmul_swiglu_quant_tiling.h.
#include "kernel_operator.h"
#define ASCENDC_CUBE_ONLY  // Matmul objects live on the cube cores
#include "grouped_matmul_swiglu_quant_data.h"
#include "grouped_swiglu_rows.h"
#include "lib/matmul_intf.h"
#include "opgen/group_blocks.h"

namespace grouped_matmul_swiglu_quant_kernel {

// The cube core's part.
class Products {
 public:
    __aicore__ inline Products() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR weight, GM_ADDR sums,
                                const GroupedMatmulSwigluQuantTilingData* data, TPipe* pipe) {
        tiling = data;
        xGm.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(x));
        weightGm.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(weight));
        sumGm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(sums));
        blocks.Init(data);
        product.SetSubBlockIdx(0);
        product.Init(&data->cube, pipe);
    }

    __aicore__ inline void Process() {
        const uint64_t depth = tiling->depth;
        const uint64_t columns = tiling->columns;
        opgen::GroupBlock block;
        for (uint32_t piece = 0; piece < tiling->pieces; ++piece) {
            while (blocks.Next(tiling->pieceBlocks[piece], block)) {
                product.SetTail(static_cast<int>(block.rows), static_cast<int>(block.columns));
                product.SetTensorA(xGm[block.row * depth]);
                product.SetTensorB(weightGm[block.group * depth * columns + block.column]);
                product.IterateAll(sumGm[block.row * columns + block.column]);
            }
            CrossCoreSetFlag<2, PIPE_FIX>(kPieceReady);
        }
        product.End();
    }

 private:
    using Matrix = matmul::MatmulType<TPosition::GM, CubeFormat::ND, int8_t>;
    using Result = matmul::MatmulType<TPosition::GM, CubeFormat::ND, int32_t>;

    matmul::MatmulImpl<Matrix, Matrix, Result> product;
    opgen::GroupBlocks<GroupedMatmulSwigluQuantTilingData> blocks;
    GlobalTensor<int8_t> xGm;
    GlobalTensor<int8_t> weightGm;
    GlobalTensor<int32_t> sumGm;
    const GroupedMatmulSwigluQuantTilingData* tiling = nullptr;
};
}  // namespace grouped_matmul_swiglu_quant_kernel

extern "C" __global__ __aicore__ void grouped_matmul_swiglu_quant(
    GM_ADDR x, GM_ADDR weight, GM_ADDR weight_scale, GM_ADDR x_scale, GM_ADDR y, GM_ADDR y_scale,
    GM_ADDR workspace, GM_ADDR tiling) {
    // Every cube core (AIC) with its two vector cores (AIV).
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    REGISTER_TILING_DEFAULT(GroupedMatmulSwigluQuantTilingData);
    GET_TILING_DATA_WITH_STRUCT(GroupedMatmulSwigluQuantTilingData, tilingData, tiling);
    GM_ADDR sums = AscendC::GetUserWorkspace(workspace);
    AscendC::TPipe pipe;
    if ASCEND_IS_AIC {
        if (tilingData.pieces > 0) {
            grouped_matmul_swiglu_quant_kernel::Products kernel;
            kernel.Init(x, weight, sums, &tilingData, &pipe);
            kernel.Process();
        }
    }
    if ASCEND_IS_AIV {
        grouped_matmul_swiglu_quant_kernel::Rows kernel;
        kernel.Init(weight_scale, x_scale, y, y_scale, sums, &tilingData, &pipe);
        kernel.Process();
    }
}
