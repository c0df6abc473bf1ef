// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Tiling of gru: sizes, how groups of cores share the batch, and the tilings of its products.
#ifndef GRU_TILING_H
#define GRU_TILING_H

#include "../op_kernel/opgen/project.h"
#include "opgen_log.h"
#include "opgen_recurrent_call.h"
#include "opgen_tiling_buffer.h"
#include "register/op_def_registry.h"
#if OPGEN_PLAIN_TILING
#include "../op_kernel/gru_tiling_data.h"
#define GRU_SET(name, value) tiling->name = (value)
#define GRU_CUBE(name) tiling->name
#else
#include "register/tilingdata_base.h"
#define GRU_SET(name, value) tiling.set_##name(value)
#define GRU_CUBE(name) tiling.name
#endif

namespace optiling {
#if !OPGEN_PLAIN_TILING
BEGIN_TILING_DATA_DEF(GruTilingData)
TILING_DATA_FIELD_DEF(uint32_t, steps);
TILING_DATA_FIELD_DEF(uint32_t, batch);
TILING_DATA_FIELD_DEF(uint32_t, inputs);
TILING_DATA_FIELD_DEF(uint32_t, hidden);
TILING_DATA_FIELD_DEF(uint32_t, width);
TILING_DATA_FIELD_DEF(uint32_t, layers);
TILING_DATA_FIELD_DEF(uint32_t, directions);
TILING_DATA_FIELD_DEF(uint32_t, itemRows);
TILING_DATA_FIELD_DEF(uint32_t, blockRows);
TILING_DATA_FIELD_DEF(uint32_t, blockColumns);
TILING_DATA_FIELD_DEF(uint32_t, boxRows);
TILING_DATA_FIELD_DEF(uint32_t, boxColumns);
TILING_DATA_FIELD_DEF(uint32_t, widthColumns);
TILING_DATA_FIELD_DEF(uint32_t, batchFirst);
TILING_DATA_FIELD_DEF(uint32_t, biased);
TILING_DATA_FIELD_DEF(uint32_t, hiddenGiven);
TILING_DATA_FIELD_DEF(uint32_t, cellGiven);
TILING_DATA_FIELD_DEF(uint32_t, projected);
TILING_DATA_FIELD_DEF(uint64_t, resultsAt);
TILING_DATA_FIELD_DEF(uint64_t, groupsAt);
TILING_DATA_FIELD_DEF(uint64_t, groupBytes);
TILING_DATA_FIELD_DEF(uint64_t, projectedAt);
TILING_DATA_FIELD_DEF(uint64_t, stateAt);
TILING_DATA_FIELD_DEF(uint64_t, unprojectedAt);
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, inputCube);
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, resultCube);
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, stateCube);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(Gru, GruTilingData)
#endif

static ge::graphStatus GruTiling(gert::TilingContext* context) {
    platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
    opgen::RecurrentCall call;
    std::string problem = opgen::ReadRecurrentCall(context, 3, false, call);
    OPGEN_CHECK(context, problem.empty(), "%s", problem.c_str());
    const auto* x = context->GetInputDesc(0);
    OPGEN_CHECK(context, x != nullptr, "x is missing");
    const int dtype = static_cast<int>(x->GetDataType());
    opgen::RecurrentSizes& sizes = call.sizes;
    sizes.bytes = x->GetDataType() == ge::DT_FLOAT ? 4 : 2;
    problem = sizes.Share(static_cast<int64_t>(platform.GetCoreNumAic()));
    OPGEN_CHECK(context, problem.empty(), "%s", problem.c_str());

#if OPGEN_PLAIN_TILING
    GruTilingData* tiling = context->GetTilingData<GruTilingData>();
    OPGEN_CHECK(context, tiling != nullptr, "the tiling buffer is smaller than GruTilingData");
    *tiling = GruTilingData();
#else
    GruTilingData tiling;
#endif
    OPGEN_SET_RECURRENT(GRU_SET, call);
    const bool fits =
        sizes.Rows() == 0 || opgen::TileStepProducts(platform, sizes, dtype, GRU_CUBE(inputCube),
                                                     GRU_CUBE(resultCube), GRU_CUBE(stateCube), 1);
    OPGEN_CHECK(context, fits, "no base block of the products fits L1 and L0");
#if !OPGEN_PLAIN_TILING
    OPGEN_CHECK(context, opgen::SaveTiling(context, tiling),
                "the tiling buffer is smaller than GruTilingData");
#endif
    // A launch counts cube cores, each with two vector cores; SyncAll needs all of them at once.
    context->SetBlockDim(static_cast<uint32_t>(sizes.groups));
    context->SetScheduleMode(1);
    size_t* workspaces = context->GetWorkspaceSizes(1);
    OPGEN_CHECK(context, workspaces != nullptr, "no room for the workspace size");
    workspaces[0] = static_cast<size_t>(sizes.WorkspaceBytes()) + platform.GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

#undef GRU_SET
#undef GRU_CUBE
#endif  // GRU_TILING_H
