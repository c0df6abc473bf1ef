// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiling function of GroupedMatmulSwigluQuant: blocks of the groups' products, how the cube
// makes one, and the pieces of the rows that cube and vector cores work on at the same time.
#ifndef GROUPED_MATMUL_SWIGLU_QUANT_TILING_H
#define GROUPED_MATMUL_SWIGLU_QUANT_TILING_H

#include <algorithm>
#include <cstdint>

#include "../op_kernel/grouped_matmul_swiglu_quant_data.h"
#include "opgen_group_blocks.h"
#include "opgen_log.h"
#include "opgen_sizes.h"
#include "tiling/platform/platform_ascendc.h"
#include "tiling/tiling_api.h"

namespace optiling {
namespace grouped_matmul_swiglu_quant {
using TilingData = GroupedMatmulSwigluQuantTilingData;

// Positions of inputs and attrs.
enum Input { kX, kWeight, kWeightScale, kXScale };
enum Attr { kGroupList };

// So many products of -128 and -128 are the most that an int32 sum holds.
constexpr int64_t kMostDepth = 131071;

struct Sizes {
    int64_t rows = 0, depth = 0, groups = 0, columns = 0;
};

// Whether an input has these sizes.
inline bool HasSizes(gert::TilingContext* context, size_t input,
                     std::initializer_list<int64_t> dims) {
    const gert::StorageShape* storage = context->GetRequiredInputShape(input);
    if (storage == nullptr || storage->GetStorageShape().GetDimNum() != dims.size()) {
        return false;
    }
    size_t axis = 0;
    return std::all_of(dims.begin(), dims.end(), [&](int64_t size) {
        return storage->GetStorageShape().GetDim(axis++) == size;
    });
}

static ge::graphStatus ReadSizes(gert::TilingContext* context, Sizes& sizes) {
    const gert::StorageShape* xStorage = context->GetRequiredInputShape(kX);
    const gert::StorageShape* weightStorage = context->GetRequiredInputShape(kWeight);
    OPGEN_CHECK(context, xStorage != nullptr && weightStorage != nullptr, "an input is missing");
    const gert::Shape& x = xStorage->GetStorageShape();
    const gert::Shape& weight = weightStorage->GetStorageShape();
    OPGEN_CHECK(context, x.GetDimNum() == 2 && weight.GetDimNum() == 3,
                "x has %zu axes and weight %zu, not 2 and 3", x.GetDimNum(), weight.GetDimNum());
    sizes.rows = x.GetDim(0);
    sizes.depth = x.GetDim(1);
    sizes.groups = weight.GetDim(0);
    sizes.columns = weight.GetDim(2);
    OPGEN_CHECK(context, weight.GetDim(1) == sizes.depth,
                "rows of x have %ld elements, columns of a weight %ld",
                static_cast<long>(sizes.depth), static_cast<long>(weight.GetDim(1)));
    OPGEN_CHECK(context, sizes.depth > 0 && sizes.depth <= kMostDepth,
                "rows of x have %ld elements; 1 to %ld are supported",
                static_cast<long>(sizes.depth), static_cast<long>(kMostDepth));
    OPGEN_CHECK(context, sizes.columns > 0 && sizes.columns % 2 == 0,
                "a weight has %ld columns, which are no two halves",
                static_cast<long>(sizes.columns));
    OPGEN_CHECK(context, std::max(sizes.rows, sizes.columns) <= INT32_MAX,
                "an axis does not fit 32 bits");
    OPGEN_CHECK(context, HasSizes(context, kWeightScale, {sizes.groups, sizes.columns}),
                "weight_scale has no row of %ld elements for each of %ld groups",
                static_cast<long>(sizes.columns), static_cast<long>(sizes.groups));
    OPGEN_CHECK(context, HasSizes(context, kXScale, {sizes.rows}),
                "x_scale has not an element for each of %ld rows", static_cast<long>(sizes.rows));
    return ge::GRAPH_SUCCESS;
}

// Where the groups end; longest: rows of the longest one.
static ge::graphStatus ReadEnds(gert::TilingContext* context, const Sizes& sizes,
                                TilingData& tiling, int64_t& longest) {
    const gert::RuntimeAttrs* attrs = context->GetAttrs();
    const auto* ends = attrs == nullptr ? nullptr : attrs->GetListInt(kGroupList);
    OPGEN_CHECK(context, ends != nullptr, "group_list is missing");
    OPGEN_CHECK(context,
                sizes.groups > 0 && sizes.groups <= kMostGroups &&
                    ends->GetSize() == static_cast<size_t>(sizes.groups),
                "%ld weights for %zu groups; at most %ld groups are supported",
                static_cast<long>(sizes.groups), ends->GetSize(), static_cast<long>(kMostGroups));
    for (int64_t i = 0; i < sizes.groups; ++i) {
        const int64_t end = ends->GetData()[i];
        const int64_t start = i > 0 ? tiling.ends[i - 1] : 0;
        OPGEN_CHECK(context, start <= end && end <= sizes.rows,
                    "group_list[%ld] is %ld: groups follow one another inside the %ld rows",
                    static_cast<long>(i), static_cast<long>(end), static_cast<long>(sizes.rows));
        tiling.ends[i] = end;
        longest = std::max(longest, end - start);
    }
    return ge::GRAPH_SUCCESS;
}

// Cuts the rows into pieces between blocks. Each has two blocks for a cube core at least, so that
// waiting for the slowest one costs little; the last one has what is left.
inline void CutPieces(TilingData& tiling, int64_t blocks, int64_t cores) {
    const int64_t across = opgen::CeilDiv(tiling.columns, tiling.blockColumns);
    const int64_t least = std::max(2 * cores, opgen::CeilDiv(blocks, kMostPieces));
    int64_t made = 0;
    int64_t before = 0;
    int64_t row = 0;
    for (uint32_t i = 0; i < tiling.groups; ++i) {
        while (row < tiling.ends[i]) {
            row = std::min<int64_t>(row + tiling.blockRows, tiling.ends[i]);
            made += across;
            if (made - before >= least || made == blocks) {
                tiling.pieceRows[tiling.pieces] = static_cast<uint64_t>(row);
                tiling.pieceBlocks[tiling.pieces] = static_cast<uint32_t>(made);
                ++tiling.pieces;
                before = made;
            }
        }
    }
}

// How the Matmul object makes a block; false: no base block fits L1 and L0.
inline bool TileCube(const platform_ascendc::PlatformAscendC& platform, const Sizes& sizes,
                     TilingData& tiling) {
    const int32_t rows = static_cast<int32_t>(sizes.rows);
    const int32_t columns = static_cast<int32_t>(sizes.columns);
    const int32_t depth = static_cast<int32_t>(sizes.depth);
    const int32_t blockRows = static_cast<int32_t>(tiling.blockRows);
    const int32_t blockColumns = static_cast<int32_t>(tiling.blockColumns);
    const auto gm = matmul_tiling::TPosition::GM;
    const auto plain = matmul_tiling::CubeFormat::ND;
    matmul_tiling::MatmulApiTiling cube(platform);
    cube.SetAType(gm, plain, matmul_tiling::DataType::DT_INT8, false);
    cube.SetBType(gm, plain, matmul_tiling::DataType::DT_INT8, false);
    cube.SetCType(gm, plain, matmul_tiling::DataType::DT_INT32);
    cube.SetShape(std::min(blockRows, rows), std::min(blockColumns, columns), depth);
    cube.SetOrgShape(rows, columns, depth);
    cube.SetFixSplit(blockRows, blockColumns, -1);
    // 256 columns of as many bytes fill half of L0B.
    cube.SetSplitRange(-1, -1, 128);
    cube.EnableBias(false);
    cube.SetBufferSpace(-1, -1, -1);
    return cube.GetTiling(tiling.cube) != -1;
}
}  // namespace grouped_matmul_swiglu_quant

static ge::graphStatus GroupedMatmulSwigluQuantTiling(gert::TilingContext* context) {
    using namespace grouped_matmul_swiglu_quant;
    TilingData* tiling = context->GetTilingData<TilingData>();
    OPGEN_CHECK(context, tiling != nullptr, "the tiling buffer is smaller than its data");
    *tiling = TilingData();
    Sizes sizes;
    int64_t longest = 0;
    if (ReadSizes(context, sizes) != ge::GRAPH_SUCCESS ||
        ReadEnds(context, sizes, *tiling, longest) != ge::GRAPH_SUCCESS) {
        return ge::GRAPH_FAILED;
    }
    platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
    const int64_t cores = static_cast<int64_t>(platform.GetCoreNumAic());
    OPGEN_CHECK(context, cores > 0, "the platform reports no cube cores");
    tiling->groups = static_cast<uint32_t>(sizes.groups);
    tiling->depth = static_cast<uint32_t>(sizes.depth);
    tiling->columns = static_cast<uint32_t>(sizes.columns);
    tiling->rows = static_cast<uint64_t>(sizes.rows);
    const int64_t blocks = opgen::ChooseGroupBlocks(*tiling, longest, cores);
    OPGEN_CHECK(context, blocks <= INT32_MAX, "%ld blocks are too many", static_cast<long>(blocks));
    CutPieces(*tiling, blocks, cores);
    OPGEN_CHECK(context, blocks == 0 || TileCube(platform, sizes, *tiling),
                "no base block of %u x %u elements fits L1 and L0", tiling->blockRows,
                tiling->blockColumns);
    // A launch counts cube cores, each with two vector cores; SyncAll needs all of them at once.
    const int64_t wanted = std::max(blocks, opgen::CeilDiv(sizes.rows, 2));
    context->SetBlockDim(static_cast<uint32_t>(std::max<int64_t>(1, std::min(wanted, cores))));
    context->SetScheduleMode(1);
    size_t* workspaces = context->GetWorkspaceSizes(1);
    OPGEN_CHECK(context, workspaces != nullptr, "no room for the workspace size");
    const int64_t end = tiling->ends[sizes.groups - 1];
    workspaces[0] =
        static_cast<size_t>(end) * static_cast<size_t>(sizes.columns) * sizeof(int32_t) +
        platform.GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

#endif  // GROUPED_MATMUL_SWIGLU_QUANT_TILING_H
