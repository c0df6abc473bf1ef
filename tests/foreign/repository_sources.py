"""A repository of ops in CANN 9's layout: shared headers, base library, kernels that share code."""

DEF = """
#include "register/op_def_registry.h"
namespace ops {
class ShiftRows : public OpDef {
public:
    explicit ShiftRows(const char* name) : OpDef(name) {
        // All parameters in the configuration, as in ops that have others on other SoCs.
        OpAICoreConfig config;
        config.Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        config.Input("bias").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        config.Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        config.DynamicCompileStaticFlag(true).ExtendCfgInfo("opFile.value", "shift_rows");
        this->AICore().AddConfig("ascend910b", config);
    }
};
OP_ADD(ShiftRows);
class KeepReduced : public OpDef {
public:
    explicit KeepReduced(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Input("axes").ParamType(REQUIRED).DataType({ge::DT_INT64}).Format({ge::FORMAT_ND})
            .ValueDepend(OPTIONAL);
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Attr("keep_dims").AttrType(OPTIONAL).Bool(false);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(KeepReduced);
class FillShape : public OpDef {
public:
    explicit FillShape(const char* name) : OpDef(name) {
        this->Input("dims").ParamType(REQUIRED).DataType({ge::DT_INT32}).Format({ge::FORMAT_ND})
            .ValueDepend(OPTIONAL);
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_INT32}).Format({ge::FORMAT_ND});
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(FillShape);
class LikeFirst : public OpDef {
public:
    explicit LikeFirst(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(LikeFirst);
class LeftAsMade : public OpDef {
public:
    explicit LeftAsMade(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(LeftAsMade);
class NoTiling : public OpDef {
public:
    explicit NoTiling(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(NoTiling);
}
"""

INFER = """
#include "register/op_impl_registry.h"
#include "infershape_broadcast_util.h"
#include "op_host/infershape_elewise_util.h"
#include "op_common/op_host/infershape_reduce_util.h"
#include "op_host/util/const_util.h"
#include "log/log.h"
namespace ops {
static ge::graphStatus InferShift(gert::InferShapeContext* context) {
    OP_LOGI("a text without an op");
    return Ops::Base::InferShape4Broadcast(context);
}
IMPL_OP_INFERSHAPE(ShiftRows).InferShape(InferShift);
IMPL_OP_INFERSHAPE(ShiftRowsV2).InferShape(InferShift);
IMPL_OP_INFERSHAPE(KeepReduced).InferShape(Ops::Base::InferShape4Reduce)
    .InputsDataDependency({1});
static ge::graphStatus LeaveShape(gert::InferShapeContext*) { return ge::GRAPH_SUCCESS; }
static ge::graphStatus LeaveType(gert::InferDataTypeContext*) { return ge::GRAPH_SUCCESS; }
IMPL_OP_INFERSHAPE(LeftAsMade).InferShape(LeaveShape).InferDataType(LeaveType);
IMPL_OP_INFERSHAPE(LikeFirst).InferShape(Ops::Base::InferShape4Elewise);
static ge::graphStatus InferFill(gert::InferShapeContext* context) {
    if (!Ops::Base::GetConstIntToShape(context, 0, *context->GetOutputShape(0))) {
        Ops::Base::SetUnknownRank(*context->GetOutputShape(0));
    }
    int64_t first = 0;
    OP_CHECK_IF(Ops::Base::GetConstInt(context, 0, first) && first < 0,
                OP_LOGE_FOR_INVALID_VALUE_WITH_REASON(context->GetNodeName(), "dims",
                                                      std::to_string(first), "it is negative"),
                return ge::GRAPH_FAILED);
    return ge::GRAPH_SUCCESS;
}
IMPL_OP_INFERSHAPE(FillShape).InferShape(InferFill).InputsDataDependency({0});
}
"""

TILING = """
#include "op_host/tiling_base_class.h"
#include "op_common/op_host/util/math_util.h"
#include "op_host/util/platform_util.h"
#include "util/fp16.h"
#include "platform/platform_ascendc.h"
#include "register/op_impl_registry.h"
#include "tiling/tiling_api.h"
#include "ascendc_emu/types.h"
#include "norm/shift_common/op_host/rows.h"
#include "shared_limits.h"
#include "tiling_util.h"
#include "rows/last.h"
#include "../op_kernel/shift_rows_tiling_data.h"
#include "../op_kernel/shift_rows_regbase.h"
namespace optiling {
struct ShiftCompileInfo : Ops::Base::CompileInfoCommon {};

// The first one is registered before the other and says that it cannot do the call.
class Unable : public Ops::Base::TilingBaseClass {
public:
    using TilingBaseClass::TilingBaseClass;
protected:
    bool IsCapable() override { return false; }
    ge::graphStatus GetPlatformInfo() override {
        aicoreParams_.ubSize = Ops::Base::GetUbSize(context_);
        return ge::GRAPH_SUCCESS;
    }
    ge::graphStatus GetShapeAttrsInfo() override { return ge::GRAPH_SUCCESS; }
    ge::graphStatus DoOpTiling() override { return ge::GRAPH_FAILED; }
    ge::graphStatus DoLibApiTiling() override { return ge::GRAPH_SUCCESS; }
    uint64_t GetTilingKey() const override { return 7; }
    ge::graphStatus GetWorkspaceSize() override { return ge::GRAPH_SUCCESS; }
    ge::graphStatus PostTiling() override { return ge::GRAPH_SUCCESS; }
};
[[maybe_unused]] static Shift::Room g_room;
// As in CANN, one call tiles once: what functions keep between calls must not add up faster.
static uint64_t g_tiled = 0;
class Rows : public Unable {
public:
    using Unable::Unable;
protected:
    bool IsCapable() override { return aicoreParams_.ubSize > 100000; }
    ge::graphStatus DoOpTiling() override {
        auto* data = context_->GetTilingData<ShiftRowsTilingData>();
        OP_CHECK_NULL_WITH_CONTEXT(context_, data);
        const auto& shape = context_->GetInputShape(0)->GetStorageShape();
        data->rows = RowsOf(shape);
        data->columns = Rows_::Last(shape);
        data->aligned = Ops::Base::CeilAlign(data->columns * 4,
                                             Ops::Base::GetUbBlockSize(context_)) / 4;
        data->limit = static_cast<float>(Ops::Base::fp16_t(SHARED_LIMIT));
        blockDim_ = 1;
        ++g_tiled;
        return ge::GRAPH_SUCCESS;
    }
    ge::graphStatus GetWorkspaceSize() override {
        context_->GetWorkspaceSizes(1)[0] = 0;
        return ge::GRAPH_SUCCESS;
    }
    uint64_t GetTilingKey() const override { return 100 + g_tiled; }
    ge::graphStatus PostTiling() override {
        return context_->SetAicpuBlockDim(1) == ge::GRAPH_SUCCESS ? context_->SetBlockDim(blockDim_)
                                                                  : ge::GRAPH_FAILED;
    }
};
ge::graphStatus TilingArch35(gert::TilingContext* context);
static ge::graphStatus Tiling(gert::TilingContext* context) {
    if (Ops::Base::IsRegbaseSocVersion(context) || 
        context->GetInputShape(0)->GetStorageShape().GetShapeSize() == 1) {
        return TilingArch35(context);
    }
    Unable first(context);
    const auto status = first.DoTiling();
    return status == ge::GRAPH_PARAM_INVALID ? Rows(context).DoTiling() : status;
}
static ge::graphStatus Parse([[maybe_unused]] gert::TilingParseContext* context) {
    return ge::GRAPH_SUCCESS;
}
IMPL_OP_OPTILING(ShiftRows).Tiling(Tiling).TilingParse<ShiftCompileInfo>(Parse);
IMPL_OP_OPTILING(ShiftRowsV2).Tiling(Tiling).TilingParse<ShiftCompileInfo>(Parse);
IMPL_OP_OPTILING(KeepReduced).Tiling(Tiling);
IMPL_OP_OPTILING(FillShape).Tiling(Tiling);
IMPL_OP_OPTILING(LikeFirst).Tiling(Tiling);
IMPL_OP_OPTILING(NoTilingCustom).Tiling(Tiling);
IMPL_OP_OPTILING(LeftAsMade).Tiling(Tiling);
}
"""

TILING_DATA = """
#ifndef SHIFT_ROWS_TILING_DATA_H
#define SHIFT_ROWS_TILING_DATA_H
struct ShiftRowsTilingData { int64_t rows, columns, aligned; float limit; };
#endif
"""

ROWS = """
#pragma once
#include "exe_graph/runtime/shape.h"
int64_t RowsOf(const gert::Shape& s);
"""

# Compiled into every op's library by the repository's build files.
ROWS_SOURCE = """
#include "rows.h"
int64_t RowsOf(const gert::Shape& s) {
    return s.GetShapeSize() / s.GetDim(s.GetDimNum() - 1);
}
"""

# In CANN 9's layout what is shared by all ops lies in common/include and common/src.
LAST = """
#pragma once
#include "exe_graph/runtime/shape.h"
namespace Rows_ { int64_t Last(const gert::Shape& s); }
"""
LAST_SOURCE = """
#include "rows/last.h"
#include "rows/dim.h"
int64_t Rows_::Last(const gert::Shape& s) { return Rows_::Dim(s, s.GetDimNum() - 1); }
"""
DIM = """
#pragma once
#include "exe_graph/runtime/shape.h"
namespace Rows_ { int64_t Dim(const gert::Shape& s, size_t i); }
"""
DIM_SOURCE = """
#include "rows/dim.h"
int64_t Rows_::Dim(const gert::Shape& s, size_t i) { return s.GetDim(i); }
"""

# For an architecture that is not emulated, with headers that are not there.
ARCH35 = """
#include "atvoss/elewise/elewise_tiling.h"
namespace optiling {
ge::graphStatus TilingArch35(gert::TilingContext* context) { return Ops::Base::DoAll(context); }
}
"""

# A header for it that sources of all architectures include, and that cannot be compiled here.
DAG = """
/* The
 * license. */
#ifndef SHIFT_ROWS_REGBASE_H
#define SHIFT_ROWS_REGBASE_H
#include "atvoss/util/dag.h"
namespace optiling { using ShiftDag = Ops::Base::DAGSch<Ops::Base::Elems<>>; }
#endif
"""

# A source that needs what the header would declare is for that architecture, too.
DAG_TILING = """
#include "../op_kernel/shift_rows_regbase.h"
#include "register/op_impl_registry.h"
static const ge::graphStatus tiled = optiling::ShiftDag().Tile();
"""

KERNEL = """
#include "kernel_operator.h"
#include "../shift_common/row_copy.h"
#include "shift_rows_tiling_data.h"

extern "C" __global__ __aicore__ void shift_rows(GM_ADDR x, GM_ADDR bias, GM_ADDR y,
                                                 GM_ADDR workspace, GM_ADDR tiling) {
    REGISTER_TILING_DEFAULT(ShiftRowsTilingData);
    GET_TILING_DATA_WITH_STRUCT(ShiftRowsTilingData, data, tiling);
    ShiftCommon::Shift(x, bias, y, data.rows, data.columns, data.aligned, data.limit);
}
"""

ROW_COPY = """
#pragma once
#include "kernel_operator.h"
#include "../inc/block.h"
#include "op_kernel/platform_util.h"
#include "op_kernel/math_util.h"
namespace ShiftCommon {
using namespace AscendC;
__aicore__ inline void Shift(GM_ADDR x, GM_ADDR bias, GM_ADDR y, int64_t rows, int64_t columns,
                             int64_t aligned, float limit) {
    GlobalTensor<float> in, add, out;
    in.SetGlobalBuffer((__gm__ float*)x, rows * columns);
    add.SetGlobalBuffer((__gm__ float*)bias, columns);
    out.SetGlobalBuffer((__gm__ float*)y, rows * columns);
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    const uint32_t bytes = Ops::Base::CeilAlign<uint32_t>(columns * BLOCK_ELEMENT,
                                                          Ops::Base::GetUbBlockSize());
    pipe.InitBuffer(inQueue, 2, bytes);
    pipe.InitBuffer(outQueue, 1, bytes);
    const DataCopyExtParams params{1, static_cast<uint32_t>(columns * 4), 0, 0, 0};
    // Helpers of the device library that public kernels call.
    set_mov_pad_val(GetScalarBitcodeValue(limit));
    limit = GetScalarBitcodeValue<uint32_t, float>(
        static_cast<uint32_t>(GetScalarBitcodeValue(limit)));
    for (int64_t i = 0; i < rows; ++i) {
        LocalTensor<float> a = inQueue.AllocTensor<float>();
        DataCopyPad(a, in[i * columns], params, {false, 0, 0, 0});
        inQueue.EnQue(a);
        LocalTensor<float> b = inQueue.AllocTensor<float>();
        DataCopyPad(b, add, params, {false, 0, 0, 0});
        inQueue.EnQue(b);
        a = inQueue.DeQue<float>();
        b = inQueue.DeQue<float>();
        LocalTensor<float> o = outQueue.AllocTensor<float>();
        Add(o, a, b, aligned);
        Mins(o, o, limit, aligned);
        outQueue.EnQue(o);
        inQueue.FreeTensor(a);
        inQueue.FreeTensor(b);
        o = outQueue.DeQue<float>();
        DataCopyPad(out[i * columns], o, params);
        outQueue.FreeTensor(o);
    }
}
}
"""

# A second version whose functions the first one's sources register. They use the log macros without
# their header and name a member like a type, which CANN's compilers take.
DEF_V2 = """
#include "register/op_def_registry.h"
namespace ops {
static void Complain(const char* text) { OP_LOGE("ShiftRowsV2", "%s", text); }
class ShiftRowsV2 : public OpDef {
public:
    explicit ShiftRowsV2(const char* name) : OpDef(name) {
        if (name == nullptr) Complain("no name");
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Input("bias").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ShiftRowsV2);
}
"""
KERNEL_V2 = """
#include "kernel_operator.h"
#include "../shift_rows/shift_rows_tiling_data.h"
#include "../shift_common/row_copy.h"
enum class STEP { ONE, TWO };
struct First { static constexpr STEP step = STEP::ONE; };
template <typename K> struct Plan { static constexpr bool STEP = K::step == STEP::ONE; };

extern "C" __global__ __aicore__ void shift_rows_v2(GM_ADDR x, GM_ADDR bias, GM_ADDR y,
                                                    GM_ADDR workspace, GM_ADDR tiling) {
    REGISTER_TILING_DEFAULT(ShiftRowsTilingData);
    GET_TILING_DATA(data, tiling);
    if (!Plan<First>::STEP) return;
    ShiftCommon::Shift(x, bias, y, data.rows, data.columns, data.aligned, data.limit);
}
"""

PROJECT = "norm/shift_rows"
SECOND = "norm/shift_rows_v2"
FILES = {
    "build.sh": "",
    "common/inc/shared_limits.h": "#pragma once\n#define SHARED_LIMIT 3.25f\n",
    # Has a namesake in the emulation.
    "common/inc/op_host/tiling_util.h": "#pragma once\nnamespace Shift { struct Room {}; }\n",
    "common/include/rows/last.h": LAST,
    "common/src/last.cpp": LAST_SOURCE,
    "common/include/rows/dim.h": DIM,
    "common/src/rows/dim.cpp": DIM_SOURCE,
    # Never needed, and it would not compile.
    "common/src/rows/other.cpp": "#error not for this op",
    "common/inc/op_kernel/block.h": "#pragma once\n#define BLOCK_ELEMENT 4\n",
    "norm/shift_common/op_host/rows.h": ROWS,
    "norm/shift_common/op_host/rows.cpp": ROWS_SOURCE,
    "norm/shift_common/op_kernel/row_copy.h": ROW_COPY,
    f"{SECOND}/op_host/shift_rows_v2_def.cpp": DEF_V2,
    f"{SECOND}/op_kernel/shift_rows_v2.cpp": KERNEL_V2,
    f"{PROJECT}/op_host/shift_rows_def.cpp": DEF,
    f"{PROJECT}/op_host/shift_rows_infershape.cpp": INFER,
    f"{PROJECT}/op_host/shift_rows_tiling.cpp": TILING,
    f"{PROJECT}/op_host/arch35/shift_rows_tiling_arch35.cpp": ARCH35,
    f"{PROJECT}/op_kernel/shift_rows_regbase.h": DAG,
    f"{PROJECT}/op_host/shift_rows_graph_tiling.cpp": DAG_TILING,
    f"{PROJECT}/op_kernel/shift_rows.cpp": KERNEL,
    f"{PROJECT}/op_kernel/arch35/shift_rows.cpp": KERNEL + "#error for another architecture\n",
    f"{PROJECT}/op_kernel/shift_rows_tiling_data.h": TILING_DATA,
}
