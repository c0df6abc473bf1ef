"""A small msopgen-layout project: an 8.x tiling struct, a template kernel, computed shapes."""

SCALE_TILING_H = """
#include "register/tilingdata_base.h"
namespace optiling {
BEGIN_TILING_DATA_DEF(ScaleRowsTilingData)
TILING_DATA_FIELD_DEF(uint32_t, length);
TILING_DATA_FIELD_DEF(float, factor);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(ScaleRows, ScaleRowsTilingData)
}
"""

SCALE_HOST = """
#include <cstdio>
#include "scale_rows_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const uint32_t length = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    if (length % 16 != 0) {
        std::printf("length %u is not a multiple of 16\\n", length);
        return ge::GRAPH_FAILED;
    }
    const gert::Stride* const stride = context->GetInputStride(0);
    if (context->InputIsView(0) || stride == nullptr || stride->GetDimNum() != 0 ||
        context->GetInputOffset(0) != 0 || context->GetInputStride(1) != nullptr) {
        return ge::GRAPH_FAILED;
    }
    ScaleRowsTilingData tiling;
    tiling.set_length(length);
    tiling.set_factor(*context->GetAttrs()->GetFloat(0));
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(),
                        context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(1);
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}
}
namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
    if (context->GetComputeNodeInputNum() != 1 || context->GetComputeNodeOutputNum() != 1) {
        return GRAPH_FAILED;
    }
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return GRAPH_SUCCESS;
}
}
namespace ops {
class ScaleRows : public OpDef {
public:
    explicit ScaleRows(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("factor").AttrType(OPTIONAL).Float(2.0);
        this->SetInferShape(ge::InferShape);
        this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b");
    }
};
OP_ADD(ScaleRows);
}
"""

SCALE_KERNEL = """
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void scale_rows(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                 GM_ADDR tiling) {
    GET_TILING_DATA(data, tiling);
    GlobalTensor<DTYPE_X> in, out;
    in.SetGlobalBuffer((__gm__ DTYPE_X*)x, data.length);
    out.SetGlobalBuffer((__gm__ DTYPE_Y*)y, data.length);
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(inQueue, 1, data.length * sizeof(DTYPE_X));
    pipe.InitBuffer(outQueue, 1, data.length * sizeof(DTYPE_Y));
    LocalTensor<DTYPE_X> a = inQueue.AllocTensor<DTYPE_X>();
    DataCopy(a, in, data.length);
    inQueue.EnQue(a);
    a = inQueue.DeQue<DTYPE_X>();
    LocalTensor<DTYPE_Y> b = outQueue.AllocTensor<DTYPE_Y>();
#if ORIG_DTYPE_X == DT_FLOAT16
    Muls(b, a, (half)data.factor, data.length);
#else
    Muls(b, a, data.factor, data.length);
#endif
    outQueue.EnQue(b);
    inQueue.FreeTensor(a);
    b = outQueue.DeQue<DTYPE_Y>();
    DataCopy(out, b, data.length);
    outQueue.FreeTensor(b);
}
"""

TEMPLATE_KEY_H = """
#ifndef PICK_TEMPLATE_KEY_H
#define PICK_TEMPLATE_KEY_H
#include "ascendc/host_api/tiling/template_argument.h"
ASCENDC_TPL_ARGS_DECL(PickTemplate,
    ASCENDC_TPL_DATATYPE_DECL(D_T, C_DT_FLOAT16, C_DT_FLOAT),
    ASCENDC_TPL_UINT_DECL(STEP, ASCENDC_TPL_8_BW, ASCENDC_TPL_UI_MIX, 1, 3, 5, 100, 70),
    ASCENDC_TPL_BOOL_DECL(NEGATE, 0, 1), );
ASCENDC_TPL_SEL(
    ASCENDC_TPL_ARGS_SEL(
        ASCENDC_TPL_DATATYPE_SEL(D_T, C_DT_FLOAT),
        ASCENDC_TPL_UINT_SEL(STEP, ASCENDC_TPL_UI_LIST, 5),
        ASCENDC_TPL_BOOL_SEL(NEGATE, 0, 1), )
    ASCENDC_TPL_ARGS_SEL(
        ASCENDC_TPL_DATATYPE_SEL(D_T, C_DT_FLOAT),
        ASCENDC_TPL_UINT_SEL(STEP, ASCENDC_TPL_UI_LIST, 100),
        ASCENDC_TPL_BOOL_SEL(NEGATE, 0, 1), ), );
struct PickTilingData { uint32_t length; };
#endif
"""

TEMPLATE_HOST = """
#include "../op_kernel/pick_template_key.h"
#include "platform/platform_infos_def.h"
#include "register/op_def_registry.h"

static ge::graphStatus PickTiling(gert::TilingContext* context) {
    auto* tiling = context->GetTilingData<PickTilingData>();
    tiling->length = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    const uint32_t type = context->GetInputDesc(0)->GetDataType();
    const uint32_t step = *context->GetAttrs()->GetInt(0);
    const uint32_t negate = *context->GetAttrs()->GetBool(1);
    const uint64_t key = GET_TPL_TILING_KEY(type, step, negate, );
    // How cube ops tell split cores from unified ones.
    std::string fixpipe, through_ub;
    auto* platform = context->GetPlatformInfo();
    const char* const map = "AICoreintrinsicDtypeMap";
    if (!platform->GetPlatformRes(map, "Intrinsic_fix_pipe_l0c2out", fixpipe) ||
        fixpipe != "f32,s32,f16" ||
        platform->GetPlatformRes(map, "Intrinsic_data_move_l0c2ub", through_ub)) {
        return ge::GRAPH_FAILED;
    }
    if (key == ~uint64_t{0}) {
        return ge::GRAPH_FAILED;
    }
    context->SetTilingKey(key);
    context->SetBlockDim(1);
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}
namespace ops {
class PickTemplate : public OpDef {
public:
    explicit PickTemplate(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataTypeList({ge::DT_FLOAT16, ge::DT_FLOAT});
        this->Output("y").ParamType(REQUIRED).Follow("x");
        this->Attr("step").AttrType(REQUIRED).Int();
        this->Attr("negate").AttrType(OPTIONAL).Bool(false);
        this->AICore().SetTiling(PickTiling).AddConfig("ascend910b");
    }
};
OP_ADD(PickTemplate);
}
"""

TEMPLATE_KERNEL = """
#include "kernel_operator.h"
#include "pick_template_key.h"

template <typename D_T, int STEP, int NEGATE>
__global__ __aicore__ void pick_template(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    REGISTER_TILING_DEFAULT(PickTilingData);
    GET_TILING_DATA(data, tiling);
    AscendC::GlobalTensor<D_T> in, out;
    in.SetGlobalBuffer((__gm__ D_T*)x, data.length);
    out.SetGlobalBuffer((__gm__ D_T*)y, data.length);
    for (uint32_t i = 0; i < data.length; ++i) {
        const D_T value = in.GetValue(i);
        out.SetValue(i, NEGATE ? -(value + STEP) : value + STEP);
    }
    AscendC::DataCacheCleanAndInvalid<D_T, AscendC::CacheLine::ENTIRE_DATA_CACHE,
                                      AscendC::DcciDst::CACHELINE_OUT>(out);
}
"""

# The shape of y is known by the kernel alone: y holds the positive elements of x. z is an ordinary
# output, `told` what the kernel writes as shape: 0 the truth, 1 nothing, 2 rank 9, 3 too many.
KEEP_HOST = """
#include "register/op_def_registry.h"
#include "register/op_impl_registry.h"
#include "aclnn/opdev/op_log.h"
#include "aclnn/opdev/platform.h"
#include "op_common/op_host/util/shape_util.h"

struct KeepTilingData { uint32_t length; uint32_t told; };
static ge::graphStatus KeepTiling(gert::TilingContext* context) {
    auto* tiling = context->GetTilingData<KeepTilingData>();
    const gert::StorageShape* shape = context->GetInputShape(0);
    const std::vector<const gert::Shape*> both = {&shape->GetShape(), &shape->GetStorageShape()};
    const std::vector<ge::DataType> types = {ge::DT_INT8};
    if (Ops::Base::ToString(both) != "[" + Ops::Base::ToString(both[0]) + ", " +
                                         Ops::Base::ToString(shape->GetShape()) + "]" ||
        Ops::Base::ToString(types) != "[" + Ops::Base::ToString(ge::DT_INT8) + "]" ||
        op::GetCurrentPlatformInfo().GetSocVersion() != op::SocVersion::ASCEND910B) {
        return ge::GRAPH_FAILED;
    }
    tiling->length = shape->GetStorageShape().GetShapeSize();
    tiling->told = *context->GetAttrs()->GetInt(0);
    context->SetBlockDim(1);
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus KeepShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = gert::Shape({1});
    *context->GetOutputShape(1) = gert::Shape({2, -1});
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus KeepRange(gert::InferShapeRangeContext* context) {
    const int64_t most = context->GetInputShapeRange(0)->GetMax()->GetShapeSize();
    *context->GetOutputShapeRange(0)->GetMax() = gert::Shape({1});
    *context->GetOutputShapeRange(1)->GetMax() = gert::Shape({2, most});
    return ge::GRAPH_SUCCESS;
}
namespace ops {
class KeepPositive : public OpDef {
public:
    explicit KeepPositive(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT});
        this->Output("z").ParamType(REQUIRED).DataType({ge::DT_FLOAT});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).OutputShapeDependOnCompute();
        this->Attr("told").AttrType(OPTIONAL).Int(0);
        this->SetInferShape(KeepShape);
        this->AICore().SetTiling(KeepTiling).AddConfig("ascend910b");
    }
};
OP_ADD(KeepPositive);
IMPL_OP_INFERSHAPE(KeepPositive).InferShapeRange(KeepRange);
static ge::graphStatus ListShape(gert::InferShapeContext* context) {
    const size_t count = context->GetComputeNodeInputNum();
    for (size_t i = 0; i < count; ++i) *context->GetOutputShape(i) = *context->GetInputShape(i);
    *context->GetOutputShape(count) = gert::Shape({static_cast<int64_t>(count)});
    return ge::GRAPH_SUCCESS;
}
class ListLike : public OpDef {
public:
    explicit ListLike(const char* name) : OpDef(name) {
        this->Input("x").ParamType(DYNAMIC).DataType({ge::DT_FLOAT16});
        this->Output("y").ParamType(DYNAMIC).DataType({ge::DT_FLOAT});
        this->Output("sizes").ParamType(REQUIRED).DataType({ge::DT_INT64});
        this->SetInferShape(ListShape);
        this->AICore().SetTiling(KeepTiling).AddConfig("ascend910b");
    }
};
OP_ADD(ListLike);
static ge::graphStatus TwoListsShape(gert::InferShapeContext* context) {
    const size_t count = context->GetComputeNodeInputNum();
    for (size_t i = 0; i < count; ++i) {
        *context->GetOutputShape(i) = *context->GetInputShape(i);
        *context->GetOutputShape(count + i) = gert::Shape({static_cast<int64_t>(i) + 1});
    }
    return ge::GRAPH_SUCCESS;
}
class ListTwice : public OpDef {
public:
    explicit ListTwice(const char* name) : OpDef(name) {
        this->Input("x").ParamType(DYNAMIC).DataType({ge::DT_FLOAT16});
        this->Output("x").ParamType(DYNAMIC).DataType({ge::DT_FLOAT16});
        this->Output("y").ParamType(DYNAMIC).DataType({ge::DT_FLOAT});
        this->SetInferShape(TwoListsShape);
        this->AICore().SetTiling(KeepTiling).AddConfig("ascend910b");
    }
};
OP_ADD(ListTwice);
class KeepOpen : public KeepPositive {  // without bounds
public:
    explicit KeepOpen(const char* name) : KeepPositive(name) {}
};
OP_ADD(KeepOpen);
}
"""

# The op's parameters in its kernel for another architecture: keys are not made of these.
OTHER_KEY = """
#include "ascendc/host_api/tiling/template_argument.h"
ASCENDC_TPL_ARGS_DECL(PickTemplate,
    ASCENDC_TPL_UINT_DECL(WIDE, ASCENDC_TPL_8_BW, ASCENDC_TPL_UI_RANGE, 1, 0, 255), );
ASCENDC_TPL_SEL(ASCENDC_TPL_ARGS_SEL(
    ASCENDC_TPL_UINT_SEL(WIDE, ASCENDC_TPL_UI_RANGE, 1, 0, 255), ), );
"""

KEEP_KERNEL = """
#include "kernel_operator.h"
struct KeepTilingData { uint32_t length; uint32_t told; };

extern "C" __global__ __aicore__ void keep_positive(GM_ADDR x, GM_ADDR z, GM_ADDR y, GM_ADDR shapes,
                                                    GM_ADDR workspace, GM_ADDR tiling) {
    REGISTER_TILING_DEFAULT(KeepTilingData);
    GET_TILING_DATA(data, tiling);
    AscendC::GlobalTensor<float> in, sum, out;
    in.SetGlobalBuffer((__gm__ float*)x, data.length);
    sum.SetGlobalBuffer((__gm__ float*)z, 1);
    out.SetGlobalBuffer((__gm__ float*)y, 2 * data.length);
    uint32_t kept = 0;
    float total = 0;
    for (uint32_t i = 0; i < data.length; ++i) {
        if (in.GetValue(i) > 0) {
            out.SetValue(kept++, in.GetValue(i));
            total += in.GetValue(i);
        }
    }
    sum.SetValue(0, total);
    AscendC::GlobalTensor<uint64_t> shape;
    shape.SetGlobalBuffer((__gm__ uint64_t*)shapes, 9);
    if (data.told != 1) {
        shape.SetValue(0, data.told == 2 ? 9 : 0x80000000UL | 2);
        shape.SetValue(1, 1);
        shape.SetValue(2, data.told == 3 ? 2 * data.length + 1 : kept);
    }
    AscendC::DataCacheCleanAndInvalid<float, AscendC::CacheLine::ENTIRE_DATA_CACHE,
                                      AscendC::DcciDst::CACHELINE_OUT>(out);
}
"""

FILES = {
    "op_host/scale_rows_tiling.h": SCALE_TILING_H,
    "op_host/scale_rows.cpp": SCALE_HOST,
    "op_host/pick_template.cpp": TEMPLATE_HOST,
    "op_host/aclnn_scale_rows.cpp": '#include "opdev/op_executor.h"\n',
    "op_host/fallback_scale_rows.cpp": '#include "fallback/fallback_comm.h"\n',
    "op_kernel/scale_rows.cpp": SCALE_KERNEL,
    "op_kernel/pick_template.cpp": TEMPLATE_KERNEL,
    "op_host/keep_positive.cpp": KEEP_HOST,
    "op_kernel/keep_positive.cpp": KEEP_KERNEL,
    "op_kernel/pick_template_key.h": TEMPLATE_KEY_H,
    "op_host/z_pick_template_wide.cpp": OTHER_KEY,
}
