// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Reads a call of recurrent layers (ops gru and lstm) and tiles its products. Inputs in order: x,
// the weights of inputs and of states, their biases, [the projections,] h0[, c0]. Attrs in order:
// inputSize, hiddenSize, numLayers, bias, batchFirst, dropout, bidirectional[, projSize].
#ifndef OPGEN_HOST_RECURRENT_CALL_H
#define OPGEN_HOST_RECURRENT_CALL_H

#include <algorithm>
#include <cstdint>
#include <string>

#include "recurrent_sizes.h"
#include "tiling/platform/platform_ascendc.h"
#include "tiling/tiling_api.h"

namespace opgen {

struct RecurrentCall {
    RecurrentSizes sizes;
    bool biased = false, batchFirst = false, hiddenGiven = false, cellGiven = false;
};

template <typename Shape>
bool HasDims(const Shape* shape, int64_t first, int64_t second, int64_t third = -1) {
    if (shape == nullptr) {
        return false;
    }
    const auto& dims = shape->GetStorageShape();
    const int64_t wanted[] = {first, second, third};
    const size_t rank = third >= 0 ? 3 : second >= 0 ? 2 : 1;
    if (dims.GetDimNum() != rank) {
        return false;
    }
    for (size_t i = 0; i < rank; ++i) {
        if (dims.GetDim(i) != wanted[i]) {
            return false;
        }
    }
    return true;
}

// Why a list is not one tensor per layer and direction of the shape [rows, columns] (rank 1 where
// columns is -1), "" where it is. The tensors of layer 0 have `firstColumns`.
template <typename Context>
std::string CheckWeights(Context* context, size_t index, const char* name,
                         const RecurrentSizes& sizes, int64_t rows, int64_t firstColumns,
                         int64_t columns) {
    const auto* list = context->GetIrInputInstanceInfo(index);
    const int64_t found = list == nullptr ? 0 : static_cast<int64_t>(list->GetInstanceNum());
    const int64_t wanted = sizes.layers * sizes.directions;
    if (found != wanted) {
        return std::string(name) + " has " + std::to_string(found) + " tensors, " +
               std::to_string(wanted) + " are needed: one per layer and direction";
    }
    for (int64_t i = 0; i < wanted; ++i) {
        const int64_t own = i < sizes.directions ? firstColumns : columns;
        if (!HasDims(context->GetDynamicInputShape(index, static_cast<size_t>(i)), rows, own)) {
            return std::string(name) + "[" + std::to_string(i) + "] has not the shape [" +
                   std::to_string(rows) + (own >= 0 ? ", " + std::to_string(own) : "") + "]";
        }
    }
    return "";
}

// Whether an input that may be absent is given; `problem` says where its shape is wrong.
template <typename Context>
bool StateGiven(Context* context, size_t index, const char* name, const RecurrentSizes& sizes,
                int64_t width, std::string& problem) {
    const auto* shape = context->GetOptionalInputShape(index);
    if (shape != nullptr && problem.empty() &&
        !HasDims(shape, sizes.layers * sizes.directions, sizes.batch, width)) {
        problem = std::string(name) + " has not the shape [" +
                  std::to_string(sizes.layers * sizes.directions) + ", " +
                  std::to_string(sizes.batch) + ", " + std::to_string(width) + "]";
    }
    return shape != nullptr;
}

// Reads a call. gates: of the cell; hasCell: whether it is an LSTM's. Returns why it is refused.
template <typename Context>
std::string ReadRecurrentCall(Context* context, int64_t gates, bool hasCell, RecurrentCall& call) {
    RecurrentSizes& sizes = call.sizes;
    const auto* attrs = context->GetAttrs();
    const auto* x = context->GetRequiredInputShape(0);
    if (attrs == nullptr || x == nullptr || x->GetStorageShape().GetDimNum() != 3) {
        return "x has not three axes";
    }
    const int64_t* numbers[] = {attrs->GetInt(0), attrs->GetInt(1), attrs->GetInt(2)};
    const bool* flags[] = {attrs->GetBool(3), attrs->GetBool(4), attrs->GetBool(6)};
    const int64_t* projection = hasCell ? attrs->GetInt(7) : nullptr;
    for (const void* found :
         {static_cast<const void*>(numbers[0]), static_cast<const void*>(numbers[1]),
          static_cast<const void*>(numbers[2]), static_cast<const void*>(flags[0]),
          static_cast<const void*>(flags[1]), static_cast<const void*>(flags[2])}) {
        if (found == nullptr) {
            return "an attr is missing";
        }
    }
    call.biased = *flags[0];
    call.batchFirst = *flags[1];
    sizes.gates = gates;
    sizes.inputs = *numbers[0];
    sizes.hidden = *numbers[1];
    sizes.layers = *numbers[2];
    sizes.directions = *flags[2] ? 2 : 1;
    const bool projected = projection != nullptr && *projection > 0;
    sizes.width = projected ? *projection : sizes.hidden;
    sizes.steps = x->GetStorageShape().GetDim(call.batchFirst ? 1 : 0);
    sizes.batch = x->GetStorageShape().GetDim(call.batchFirst ? 0 : 1);
    if (sizes.layers < 1 || sizes.hidden < 1) {
        return "numLayers and hiddenSize are 1 at least";
    }
    if (x->GetStorageShape().GetDim(2) != sizes.inputs) {
        return "x has " + std::to_string(x->GetStorageShape().GetDim(2)) +
               " columns, inputSize is " + std::to_string(sizes.inputs);
    }
    if (projected && sizes.width >= sizes.hidden) {
        return "projSize is less than hiddenSize";
    }
    const int64_t rows = sizes.Columns();
    const int64_t deep = sizes.width * sizes.directions;
    std::string problem = CheckWeights(context, 1, "weight_ih", sizes, rows, sizes.inputs, deep);
    if (problem.empty()) {
        problem = CheckWeights(context, 2, "weight_hh", sizes, rows, sizes.width, sizes.width);
    }
    if (problem.empty() && call.biased) {
        problem = CheckWeights(context, 3, "bias_ih", sizes, rows, -1, -1);
    }
    if (problem.empty() && call.biased) {
        problem = CheckWeights(context, 4, "bias_hh", sizes, rows, -1, -1);
    }
    if (problem.empty() && projected) {
        problem =
            CheckWeights(context, 5, "weight_hr", sizes, sizes.width, sizes.hidden, sizes.hidden);
    }
    const size_t states = hasCell ? 6 : 5;
    call.hiddenGiven = StateGiven(context, states, "h0", sizes, sizes.width, problem);
    call.cellGiven = hasCell && StateGiven(context, states + 1, "c0", sizes, sizes.hidden, problem);
    return problem;
}

// Tiles a product of [rows, depth] and the transposed [columns, depth], of which a core makes
// blocks of blockRows x blockColumns. parts: objects that share L1 and L0C. False: nothing fits.
template <typename Cube>
bool TileProduct(const platform_ascendc::PlatformAscendC& platform, Cube& cube, int dtype,
                 int64_t bytes, int64_t rows, int64_t columns, int64_t depth, int64_t blockRows,
                 int64_t blockColumns, int64_t parts) {
    uint64_t l1 = 0, l0c = 0;
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::L1, l1);
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::L0_C, l0c);
    const auto type = static_cast<matmul_tiling::DataType>(dtype);
    const int32_t m = static_cast<int32_t>(rows), n = static_cast<int32_t>(columns);
    const int32_t k = static_cast<int32_t>(depth);
    matmul_tiling::MatmulApiTiling product(platform);
    product.SetAType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, type, false);
    product.SetBType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, type, true);
    product.SetCType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND,
                     matmul_tiling::DataType::DT_FLOAT);
    product.SetShape(static_cast<int32_t>(std::min(rows, blockRows)),
                     static_cast<int32_t>(std::min(columns, blockColumns)), k);
    product.SetOrgShape(m, n, k);
    // Base blocks of 128 x 128 sums fill half of L0C; 256 bytes of each row half of L0A and L0B.
    constexpr int64_t kBase = 128;
    product.SetFixSplit(
        static_cast<int32_t>(std::min(kBase, AlignUp(std::min(rows, blockRows), 16))),
        static_cast<int32_t>(std::min(kBase, AlignUp(std::min(columns, blockColumns), 16))), -1);
    product.SetSplitRange(-1, -1, static_cast<int32_t>(2 * kBase / bytes));
    product.EnableBias(false);
    product.SetBufferSpace(static_cast<int32_t>(static_cast<int64_t>(l1) / parts),
                           static_cast<int32_t>(static_cast<int64_t>(l0c) / parts), -1);
    return product.GetTiling(cube) != -1;
}

// Tiles the products of all recurrent layers: of the first layer's input, of the other layers'
// inputs, and of the states. objects: that multiply states. False: one fits nowhere.
template <typename Cube>
bool TileStepProducts(const platform_ascendc::PlatformAscendC& platform,
                      const RecurrentSizes& sizes, int dtype, Cube& input, Cube& result,
                      Cube& state, int64_t objects) {
    const int64_t rows = sizes.Rows(), columns = sizes.Columns(), width = sizes.width;
    const int64_t stateRows = sizes.ProductRows();
    return TileProduct(platform, input, dtype, sizes.bytes, rows, columns, sizes.inputs,
                       sizes.blockRows, sizes.blockColumns, 1) &&
           TileProduct(platform, result, dtype, sizes.bytes, rows, columns,
                       width * sizes.directions, sizes.blockRows, sizes.blockColumns, 1) &&
           TileProduct(platform, state, dtype, sizes.bytes, stateRows, columns, width, stateRows,
                       columns, objects);
}

}  // namespace opgen

// Sets the fields that the tiling data of all recurrent layers have. SET(name, value): sets one;
// the projects of the two styles do it in different ways.
#define OPGEN_SET_RECURRENT(SET, call)                                   \
    SET(steps, static_cast<uint32_t>((call).sizes.steps));               \
    SET(batch, static_cast<uint32_t>((call).sizes.batch));               \
    SET(inputs, static_cast<uint32_t>((call).sizes.inputs));             \
    SET(hidden, static_cast<uint32_t>((call).sizes.hidden));             \
    SET(width, static_cast<uint32_t>((call).sizes.width));               \
    SET(layers, static_cast<uint32_t>((call).sizes.layers));             \
    SET(directions, static_cast<uint32_t>((call).sizes.directions));     \
    SET(itemRows, static_cast<uint32_t>((call).sizes.itemRows));         \
    SET(blockRows, static_cast<uint32_t>((call).sizes.blockRows));       \
    SET(blockColumns, static_cast<uint32_t>((call).sizes.blockColumns)); \
    SET(boxRows, static_cast<uint32_t>((call).sizes.boxRows));           \
    SET(boxColumns, static_cast<uint32_t>((call).sizes.boxColumns));     \
    SET(widthColumns, static_cast<uint32_t>((call).sizes.widthColumns)); \
    SET(batchFirst, (call).batchFirst ? 1 : 0);                          \
    SET(biased, (call).biased ? 1 : 0);                                  \
    SET(hiddenGiven, (call).hiddenGiven ? 1 : 0);                        \
    SET(cellGiven, (call).cellGiven ? 1 : 0);                            \
    SET(projected, (call).sizes.Projected() ? 1 : 0);                    \
    SET(resultsAt, static_cast<uint64_t>((call).sizes.resultsAt));       \
    SET(groupsAt, static_cast<uint64_t>((call).sizes.groupsAt));         \
    SET(groupBytes, static_cast<uint64_t>((call).sizes.groupBytes));     \
    SET(projectedAt, static_cast<uint64_t>((call).sizes.projectedAt));   \
    SET(stateAt, static_cast<uint64_t>((call).sizes.stateAt));           \
    SET(unprojectedAt, static_cast<uint64_t>((call).sizes.unprojectedAt))

#endif  // OPGEN_HOST_RECURRENT_CALL_H
