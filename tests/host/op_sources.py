"""A hand-written op_host source in the style of msopgen samples, for the runtime's tests."""

TILING_H = """
#include "register/tilingdata_base.h"
namespace optiling {
BEGIN_TILING_DATA_DEF(HostPart)
TILING_DATA_FIELD_DEF(uint16_t, a);
TILING_DATA_FIELD_DEF(double, b);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(HostPartOp, HostPart)

BEGIN_TILING_DATA_DEF(HostOpTilingData)
TILING_DATA_FIELD_DEF(uint8_t, flag);
TILING_DATA_FIELD_DEF(uint32_t, length);
TILING_DATA_FIELD_DEF_ARR(int64_t, 3, dims);
TILING_DATA_FIELD_DEF(uint8_t, tail);
TILING_DATA_FIELD_DEF_STRUCT(HostPart, part);
TILING_DATA_FIELD_DEF(float, scale);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(HostOp, HostOpTilingData)
}
"""

HOST_CPP = """
#include "host_op_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"
#include "log/log.h"

namespace optiling {
struct HostOpCompileInfo { uint32_t cores = 0; uint64_t ub = 0; };

static ge::graphStatus Prepare(gert::TilingParseContext* context) {
    auto* info = context->GetCompiledInfo<HostOpCompileInfo>();
    platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
    info->cores = platform.GetCoreNumAiv();
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, info->ub);
    return ge::GRAPH_SUCCESS;
}

static ge::graphStatus Tiling(gert::TilingContext* context) {
    const auto* info = context->GetCompileInfo<HostOpCompileInfo>();
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    if (x.GetDimNum() != 2) {
        OP_LOGE(context, "x must have rank 2, it has %zu", x.GetDimNum());
        return ge::GRAPH_FAILED;
    }
    // Public tiling functions ask the manager, too: it must be the SoC of the call.
    auto* manager = platform_ascendc::PlatformAscendCManager::GetInstance();
    if (manager->GetCoreNumAiv() != info->cores) {
        OP_LOGE(context, "the manager has %u cores", manager->GetCoreNumAiv());
        return ge::GRAPH_FAILED;
    }
    const auto* attrs = context->GetAttrs();
    HostOpTilingData tiling;
    tiling.set_flag(context->GetOptionalInputShape(1) != nullptr);
    tiling.set_length(static_cast<uint32_t>(x.GetShapeSize()));
    int64_t dims[3] = {static_cast<int64_t>(context->GetComputeNodeInputNum()),
                       *attrs->GetInt(0),
                       static_cast<int64_t>(attrs->GetListInt(2)->GetSize())};
    tiling.set_dims(dims);
    tiling.set_tail(*attrs->GetBool(3) ? 7 : 9);
    tiling.part.set_a(static_cast<uint16_t>(info->cores));
    tiling.part.set_b(static_cast<double>(info->ub));
    tiling.set_scale(*attrs->GetAttrPointer<float>(1));
    HostOpTilingData copy = tiling;
    copy.SaveToBuffer(context->GetRawTilingData()->GetData(),
                      context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(copy.GetDataSize());
    context->SetBlockDim(info->cores);
    context->SetTilingKey(context->GetInputDesc(0)->GetDataType() == ge::DT_BF16 ? 27 : 1);
    context->GetWorkspaceSizes(1)[0] = 4096;
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ops {
class HostOp : public OpDef {
public:
    explicit HostOp(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Input("mask").ParamType(OPTIONAL).DataType({ge::DT_BOOL, ge::DT_BOOL})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Input("list").ParamType(DYNAMIC).DataType({ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("n").AttrType(REQUIRED).Int();
        this->Attr("scale").AttrType(OPTIONAL).Float(0.5);
        this->Attr("axes").AttrType(OPTIONAL).ListInt({1, 2});
        this->Attr("fast").AttrType(OPTIONAL).Bool(true);
        this->Attr("mode").AttrType(OPTIONAL).String("none");
        this->AICore().SetTiling(optiling::Tiling).AddConfig("ascend910b");
        OpAICoreConfig config;
        config.DynamicCompileStaticFlag(true).ExtendCfgInfo("opFile.value", "host_op_apt");
        config.Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        config.Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->AICore().AddConfig("ascend310p", config);
    }
};
OP_ADD(HostOp);
}  // namespace ops

static ge::graphStatus InferShapeOfHostOp(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return ge::GRAPH_SUCCESS;
}
IMPL_OP_INFERSHAPE(HostOp).InferShape(InferShapeOfHostOp).InferOutDataTypeSameWithFirstInput();
IMPL_OP_OPTILING(HostOp).TilingParse<optiling::HostOpCompileInfo>(optiling::Prepare);
"""
