// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The tiling function of GroupedMatmul: blocks of the groups' results, and how the cube makes one.
#ifndef GROUPED_MATMUL_TILING_H
#define GROUPED_MATMUL_TILING_H

#include <algorithm>
#include <cstdint>

#include "../op_kernel/grouped_matmul_data.h"
#include "opgen_group_blocks.h"
#include "opgen_log.h"
#include "opgen_sizes.h"
#include "tiling/platform/platform_ascendc.h"
#include "tiling/tiling_api.h"

namespace optiling {
namespace grouped_matmul {
// Positions of inputs and attrs.
enum Input { kX, kWeight, kBias };
enum Attr { kGroupList, kSplitItem, kTransposeWeight };

}  // namespace grouped_matmul

static ge::graphStatus GroupedMatmulTiling(gert::TilingContext* context) {
    using namespace grouped_matmul;
    const gert::StorageShape* xStorage = context->GetRequiredInputShape(kX);
    const gert::StorageShape* weightStorage = context->GetRequiredInputShape(kWeight);
    const gert::RuntimeAttrs* attrs = context->GetAttrs();
    OPGEN_CHECK(context, xStorage != nullptr && weightStorage != nullptr && attrs != nullptr,
                "an input or the attributes are missing");
    const gert::Shape& x = xStorage->GetStorageShape();
    const gert::Shape& weight = weightStorage->GetStorageShape();
    const auto* ends = attrs->GetListInt(kGroupList);
    const bool* transposed = attrs->GetBool(kTransposeWeight);
    OPGEN_CHECK(context, ends != nullptr && transposed != nullptr, "an attribute is missing");
    OPGEN_CHECK(context, x.GetDimNum() == 2 && weight.GetDimNum() == 3,
                "x has %zu axes and weight %zu, not 2 and 3", x.GetDimNum(), weight.GetDimNum());
    const int64_t rows = x.GetDim(0);
    const int64_t depth = x.GetDim(1);
    const int64_t groups = weight.GetDim(0);
    const int64_t columns = weight.GetDim(*transposed ? 1 : 2);
    OPGEN_CHECK(context, weight.GetDim(*transposed ? 2 : 1) == depth && depth > 0,
                "rows of x have %ld elements, columns of a weight %ld", static_cast<long>(depth),
                static_cast<long>(weight.GetDim(*transposed ? 2 : 1)));
    OPGEN_CHECK(context, std::max({rows, depth, columns}) <= INT32_MAX,
                "an axis does not fit 32 bits");
    OPGEN_CHECK(
        context,
        groups > 0 && groups <= kMostGroups && ends->GetSize() == static_cast<size_t>(groups),
        "%ld weights for %zu groups; at most %ld groups are supported", static_cast<long>(groups),
        ends->GetSize(), static_cast<long>(kMostGroups));

    GroupedMatmulTilingData* tiling = context->GetTilingData<GroupedMatmulTilingData>();
    OPGEN_CHECK(context, tiling != nullptr, "the tiling buffer is smaller than its data");
    *tiling = GroupedMatmulTilingData();
    int64_t longest = 0;
    for (int64_t i = 0; i < groups; ++i) {
        const int64_t end = ends->GetData()[i];
        const int64_t start = i > 0 ? tiling->ends[i - 1] : 0;
        OPGEN_CHECK(context, start <= end && end <= rows && (i + 1 < groups || end == rows),
                    "group_list[%ld] is %ld: groups follow one another up to the %ld rows",
                    static_cast<long>(i), static_cast<long>(end), static_cast<long>(rows));
        tiling->ends[i] = end;
        longest = std::max(longest, end - start);
    }
    const ge::DataType type = context->GetRequiredInputDesc(kX)->GetDataType();
    const bool wide = type == ge::DT_FLOAT;
    const gert::StorageShape* bias = context->GetOptionalInputShape(kBias);
    OPGEN_CHECK(context,
                bias == nullptr || (bias->GetStorageShape().GetDimNum() == 2 &&
                                    bias->GetStorageShape().GetDim(0) == groups &&
                                    bias->GetStorageShape().GetDim(1) == columns),
                "bias has no row of %ld elements for each of %ld groups",
                static_cast<long>(columns), static_cast<long>(groups));
    tiling->groups = static_cast<uint32_t>(groups);
    tiling->depth = static_cast<uint32_t>(depth);
    tiling->columns = static_cast<uint32_t>(columns);
    tiling->transposed = *transposed ? 1 : 0;
    tiling->biased = bias != nullptr ? 1 : 0;

    platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
    const int64_t cores = static_cast<int64_t>(platform.GetCoreNumAic());
    OPGEN_CHECK(context, cores > 0, "the platform reports no cube cores");
    const int64_t blocks = opgen::ChooseGroupBlocks(*tiling, longest, cores);
    OPGEN_CHECK(context, blocks <= INT32_MAX, "%ld blocks are too many", static_cast<long>(blocks));
    tiling->blocks = static_cast<uint32_t>(blocks);
    if (blocks > 0) {
        const auto operand = static_cast<matmul_tiling::DataType>(type);
        const int32_t blockRows = static_cast<int32_t>(std::min<int64_t>(tiling->blockRows, rows));
        const int32_t blockColumns =
            static_cast<int32_t>(std::min<int64_t>(tiling->blockColumns, columns));
        matmul_tiling::MatmulApiTiling cube(platform);
        const auto gm = matmul_tiling::TPosition::GM;
        const auto plain = matmul_tiling::CubeFormat::ND;
        cube.SetAType(gm, plain, operand, false);
        cube.SetBType(gm, plain, operand, *transposed);
        cube.SetCType(gm, plain, operand);
        cube.SetBiasType(gm, plain,
                         type == ge::DT_FLOAT16 ? operand : matmul_tiling::DataType::DT_FLOAT);
        cube.SetShape(blockRows, blockColumns, static_cast<int32_t>(depth));
        cube.SetOrgShape(static_cast<int32_t>(rows), static_cast<int32_t>(columns),
                         static_cast<int32_t>(depth));
        cube.SetFixSplit(static_cast<int32_t>(tiling->blockRows),
                         static_cast<int32_t>(tiling->blockColumns), -1);
        cube.SetSplitRange(-1, -1, wide ? 32 : 64);
        cube.EnableBias(bias != nullptr);
        cube.SetBufferSpace(-1, -1, -1);
        OPGEN_CHECK(context, cube.GetTiling(tiling->cube) != -1,
                    "no base block of %d x %d elements fits L1 and L0", blockRows, blockColumns);
    }
    context->SetBlockDim(static_cast<uint32_t>(std::max<int64_t>(1, std::min(blocks, cores))));
    size_t* workspaces = context->GetWorkspaceSizes(1);
    OPGEN_CHECK(context, workspaces != nullptr, "no room for the workspace size");
    workspaces[0] = platform.GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

#endif  // GROUPED_MATMUL_TILING_H
