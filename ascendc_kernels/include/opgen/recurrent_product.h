// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The cube core's part of recurrent layers: products of inputs, states and hidden states with the
// transposed weights of a layer (recurrent_space.h says how cores share them).
#ifndef OPGEN_RECURRENT_PRODUCT_H
#define OPGEN_RECURRENT_PRODUCT_H

#include "kernel_operator.h"
#include "kernel_operator_list_tensor_intf.h"  // CANN 8.1's kernel_operator.h leaves it out
#include "lib/matmul_intf.h"
#include "opgen/recurrent_space.h"

namespace opgen {

// rows x weights^T in float32, T: float, half or bfloat16_t; weights [columns, depth].
template <typename T>
class WeightProduct {
 public:
    // cube: tiling of the product; resultPitch: elements from row to row of the result.
    template <typename Cube>
    __aicore__ inline void Init(const Cube& cube, uint32_t resultPitch, AscendC::TPipe* pipe) {
        product_.SetSubBlockIdx(0);
        product_.Init(&cube, pipe);
        product_.SetOrgShape(cube.M, cube.N, cube.Ka, cube.Kb, static_cast<int>(resultPitch));
    }
    // add: whether the product is added to the result instead of overwriting it.
    __aicore__ inline void Multiply(const GlobalTensor<float>& result, const GlobalTensor<T>& left,
                                    const GlobalTensor<T>& weights, uint32_t rows, uint32_t columns,
                                    bool add = false) {
        product_.SetTail(static_cast<int>(rows), static_cast<int>(columns));
        product_.SetTensorA(left);
        product_.SetTensorB(weights, true);
        product_.IterateAll(result, add ? 1 : 0);
    }
    __aicore__ inline void End() { product_.End(); }

 private:
    using Left = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, T>;
    using Weights = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, T, true>;
    using Result = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, float>;
    matmul::MatmulImpl<Left, Weights, Result> product_;
};

// T: of the tensors; kGates: blocks of rows that the weights have.
template <typename T, uint32_t kGates>
class RecurrentProducts {
 public:
    __aicore__ inline RecurrentProducts() {}

    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR inputWeights, GM_ADDR stateWeights,
                                GM_ADDR projections, GM_ADDR workspace, const Tiling& tiling,
                                AscendC::TPipe* pipe) {
        pipe_ = pipe;
        space_.Init(tiling);
        workspace_.Init(workspace, tiling);
        xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x));
        inputWeights_.Init(reinterpret_cast<__gm__ void*>(inputWeights));
        stateWeights_.Init(reinterpret_cast<__gm__ void*>(stateWeights));
        if (space_.projected) {
            projections_.Init(reinterpret_cast<__gm__ void*>(projections));
        }
    }
    // Tilings of the products of the first layer's input, the other layers' inputs, states, hidden
    // states (any where these are not projected).
    template <typename Cube>
    __aicore__ inline void Process(const Cube& input, const Cube& result, const Cube& state,
                                   const Cube& projection) {
        for (uint32_t layer = 0; layer < space_.layers; ++layer) {
            MakeInputs(layer, layer == 0 ? input : result);
            WaitForAllCores();
            pipe_->Reset();
            MakeSteps(layer, state, projection);
            if (layer + 1 < space_.layers) {
                WaitForAllCores();
                pipe_->Reset();
            }
        }
    }

 private:
    __aicore__ inline GlobalTensor<T> Weights(AscendC::ListTensorDesc& list, uint32_t layer,
                                              uint32_t direction) {
        GlobalTensor<T> tensor;
        tensor.SetGlobalBuffer(list.template GetDataPtr<T>(layer * space_.directions + direction));
        return tensor;
    }
    // The product of the inputs of all times: blocks of all directions, in turn.
    template <typename Cube>
    __aicore__ inline void MakeInputs(uint32_t layer, const Cube& cube) {
        const uint32_t columns = kGates * space_.hidden;
        const uint64_t rows = space_.Rows();
        const uint64_t down = (rows + space_.blockRows - 1) / space_.blockRows;
        const uint64_t across = (columns + space_.blockColumns - 1) / space_.blockColumns;
        const uint64_t blocks = down * across * space_.directions;
        if (RecurrentSpace::Group() >= blocks) {
            return;
        }
        const GlobalTensor<T> below = layer == 0 ? xGm_ : workspace_.results;
        const uint32_t depth = space_.Depth(layer);
        WeightProduct<T> product;
        product.Init(cube, columns, pipe_);
        for (uint64_t i = RecurrentSpace::Group(); i < blocks; i += RecurrentSpace::Groups()) {
            const uint64_t row = i / across % down * space_.blockRows;
            const uint32_t column = static_cast<uint32_t>(i % across) * space_.blockColumns;
            const uint32_t direction = static_cast<uint32_t>(i / across / down);
            const GlobalTensor<T> weights = Weights(inputWeights_, layer, direction);
            const uint32_t blockRows = Least(rows - row, space_.blockRows);
            const uint32_t blockColumns = Least(columns - column, space_.blockColumns);
            // x has one part.
            for (uint32_t part = 0; part < (layer == 0 ? 1 : kStateParts<T>); ++part) {
                product.Multiply(workspace_.gates[(direction * rows + row) * columns + column],
                                 below[(part * rows + row) * depth],
                                 weights[static_cast<uint64_t>(column) * depth], blockRows,
                                 blockColumns, part > 0);
            }
        }
        product.End();
    }
    template <typename Cube>
    __aicore__ inline void MakeSteps(uint32_t layer, const Cube& stateCube,
                                     const Cube& projectionCube) {
        if (RecurrentSpace::Group() >= space_.Items() || space_.steps == 0) {
            return;
        }
        const uint32_t columns = kGates * space_.hidden;
        WeightProduct<T> product, projection;
        product.Init(stateCube, columns, pipe_);
        if (space_.projected) {
            projection.Init(projectionCube, space_.width, pipe_);
        }
        for (uint64_t i = RecurrentSpace::Group(); i < space_.Items();
             i += RecurrentSpace::Groups()) {
            const RecurrentItem item = space_.Item(i);
            const uint32_t rows = kStateParts<T> * item.rows;
            const GlobalTensor<T> weights = Weights(stateWeights_, layer, item.direction);
            for (uint32_t step = 0; step < space_.steps; ++step) {
                AscendC::CrossCoreWaitFlag(kStateReady);
                product.Multiply(workspace_.products, workspace_.state, weights, rows, columns);
                AscendC::CrossCoreSetFlag<2, PIPE_FIX>(kProductReady);
                if (space_.projected) {
                    const GlobalTensor<T> down = Weights(projections_, layer, item.direction);
                    AscendC::CrossCoreWaitFlag(kHiddenReady);
                    projection.Multiply(workspace_.projected, workspace_.unprojected, down, rows,
                                        space_.width);
                    AscendC::CrossCoreSetFlag<2, PIPE_FIX>(kProjectedReady);
                }
            }
        }
        product.End();
        if (space_.projected) {
            projection.End();
        }
    }
    __aicore__ inline static uint32_t Least(uint64_t a, uint32_t b) {
        return a < b ? static_cast<uint32_t>(a) : b;
    }

    AscendC::TPipe* pipe_ = nullptr;
    RecurrentSpace space_;
    RecurrentWorkspace<T> workspace_;
    GlobalTensor<T> xGm_;
    AscendC::ListTensorDesc inputWeights_, stateWeights_, projections_;
};

}  // namespace opgen

#endif  // OPGEN_RECURRENT_PRODUCT_H
