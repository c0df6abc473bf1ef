// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// GroupedMatmul: rows of x in groups, each times a matrix of its own, plus a bias. Handwritten: an
// attr says where the groups end, and blocks of the result lie inside one group.
//
// Cube cores take the blocks of all groups in turn, those of one group after those of another. A
// Matmul object brings rows and columns through L1 to L0, starts the sums with the bias and writes
// the block. The tiling is op_host/grouped_matmul_tiling.h.
#include "kernel_operator.h"
#define ASCENDC_CUBE_ONLY  // Matmul objects live on the cube cores
#include "grouped_matmul_data.h"
#include "lib/matmul_intf.h"
#include "opgen/convert.h"
#include "opgen/group_blocks.h"

namespace grouped_matmul_kernel {
using namespace AscendC;

// T: matrices, B: bias.
template <typename T, typename B>
class Kernel {
 public:
    __aicore__ inline Kernel() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR weight, GM_ADDR bias, GM_ADDR y,
                                const GroupedMatmulTilingData* data, TPipe* pipe) {
        tiling = data;
        xGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x));
        weightGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(weight));
        biasGm.SetGlobalBuffer(reinterpret_cast<__gm__ B*>(bias));
        yGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y));
        blocks.Init(data);
        product.SetSubBlockIdx(0);
        product.Init(&data->cube, pipe);
    }

    __aicore__ inline void Process() {
        const bool transposed = tiling->transposed != 0;
        const uint64_t depth = tiling->depth;
        const uint64_t columns = tiling->columns;
        opgen::GroupBlock block;
        while (blocks.Next(tiling->blocks, block)) {
            const uint64_t matrix = block.group * depth * columns;
            const uint64_t column = transposed ? block.column * depth : block.column;
            product.SetTail(static_cast<int>(block.rows), static_cast<int>(block.columns));
            product.SetTensorA(xGm[block.row * depth], false);
            product.SetTensorB(weightGm[matrix + column], transposed);
            if (tiling->biased != 0) {
                product.SetBias(biasGm[block.group * columns + block.column]);
            }
            product.IterateAll(yGm[block.row * columns + block.column]);
        }
        product.End();
    }

 private:
    using Left = matmul::MatmulType<TPosition::GM, CubeFormat::ND, T, false>;
    // Whether a weight is transposed on its way to L0 is decided call by call.
    using Right = matmul::MatmulType<TPosition::GM, CubeFormat::ND, T, true>;
    using Result = matmul::MatmulType<TPosition::GM, CubeFormat::ND, T>;
    using Bias = matmul::MatmulType<TPosition::GM, CubeFormat::ND, B>;

    matmul::MatmulImpl<Left, Right, Result, Bias> product;
    opgen::GroupBlocks<GroupedMatmulTilingData> blocks;
    GlobalTensor<T> xGm;
    GlobalTensor<T> weightGm;
    GlobalTensor<B> biasGm;
    GlobalTensor<T> yGm;
    const GroupedMatmulTilingData* tiling = nullptr;
};
}  // namespace grouped_matmul_kernel

extern "C" __global__ __aicore__ void grouped_matmul(GM_ADDR x, GM_ADDR weight, GM_ADDR bias,
                                                     GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    REGISTER_TILING_DEFAULT(GroupedMatmulTilingData);
    GET_TILING_DATA_WITH_STRUCT(GroupedMatmulTilingData, tilingData, tiling);
    if (tilingData.blocks == 0) {
        return;
    }
    AscendC::TPipe pipe;
    // The cube adds a bias of halves to products of halves, and one of floats to all others.
    // Without a bias there is no DTYPE_BIAS.
    using Bias = typename opgen::Choose<opgen::Same<DTYPE_X, half>::value, half, float>::Type;
    grouped_matmul_kernel::Kernel<DTYPE_X, Bias> kernel;
    kernel.Init(x, weight, bias, y, &tilingData, &pipe);
    kernel.Process();
}
