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

namespace grouped_matmul_kernel {
using namespace AscendC;

// A block of the result: its group, rows of all groups, and columns.
struct Block {
    uint32_t group = 0;
    uint64_t row = 0;
    uint32_t rows = 0;
    uint32_t column = 0;
    uint32_t columns = 0;
};

// The blocks that a core makes.
class Blocks {
 public:
    __aicore__ inline void Init(const GroupedMatmulTilingData* data) {
        tiling = data;
        across = (tiling->columns + tiling->blockColumns - 1) / tiling->blockColumns;
        next = static_cast<uint32_t>(GetBlockIdx());
    }
    // The next block of this core; false: there is none.
    __aicore__ inline bool Next(Block& block) {
        if (next >= tiling->blocks) {
            return false;
        }
        while (next >= behind + Count()) {
            behind += Count();
            ++group;
        }
        const uint32_t place = next - behind;
        const uint64_t inside = static_cast<uint64_t>(place / across) * tiling->blockRows;
        const uint64_t left = Rows() - inside;
        block.group = group;
        block.row = Start() + inside;
        block.rows = static_cast<uint32_t>(left < tiling->blockRows ? left : tiling->blockRows);
        block.column = place % across * tiling->blockColumns;
        const uint32_t rest = tiling->columns - block.column;
        block.columns = rest < tiling->blockColumns ? rest : tiling->blockColumns;
        next += static_cast<uint32_t>(GetBlockNum());
        return true;
    }

 private:
    __aicore__ inline uint64_t Start() const {
        return group > 0 ? static_cast<uint64_t>(tiling->ends[group - 1]) : 0;
    }
    __aicore__ inline uint64_t Rows() const {
        return static_cast<uint64_t>(tiling->ends[group]) - Start();
    }
    // Blocks of the group.
    __aicore__ inline uint32_t Count() const {
        const uint64_t down = (Rows() + tiling->blockRows - 1) / tiling->blockRows;
        return static_cast<uint32_t>(down) * across;
    }

    const GroupedMatmulTilingData* tiling = nullptr;
    uint32_t across = 1;
    uint32_t next = 0;
    uint32_t group = 0;
    uint32_t behind = 0;  // blocks of the groups before
};

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
        Block block;
        while (blocks.Next(block)) {
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
    Blocks blocks;
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
