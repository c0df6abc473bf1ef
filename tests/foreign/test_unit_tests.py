"""Unit tests of repositories: op_host functions, and kernels with tiling structs of op_host."""

from __future__ import annotations

import pytest
from project_sources import FILES

from msopgen_wrap.cli.app import run as opgen
from msopgen_wrap.foreign import unit_tests

# --------------------------------------------------------------------------------------------------
# Unit tests of op_host functions: contexts from CANN's builders, functions from the registry.

HOST = """
#include "register/op_impl_registry.h"
#include "tiling/platform/platform_ascendc.h"
struct PadInfo { uint32_t cores; uint64_t ub; uint64_t more[3]; };
static ge::graphStatus Parse(gert::TilingParseContext* context) {
    auto* info = context->GetCompiledInfo<PadInfo>();
    platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
    info->cores = platform.GetCoreNum();
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, info->ub);
    return info->cores != 0 && platform.GetSocVersion() == platform_ascendc::SocVersion::ASCEND910B
               ? ge::GRAPH_SUCCESS : ge::GRAPH_FAILED;
}
static ge::graphStatus Tiling(gert::TilingContext* context) {
    const auto* info = context->GetCompileInfo<PadInfo>();
    const auto* pads = context->GetAttrs()->GetListInt(0);
    if (context->GetOptionalInputTensor(1) != nullptr || pads->GetSize() != 2) {
        return ge::GRAPH_FAILED;
    }
    context->SetTilingKey(context->GetInputDesc(0)->GetDataType() * 1000 + pads->GetData()[1]);
    context->SetBlockDim(info->cores);
    *context->GetTilingData<uint64_t>() = info->ub + context->GetDeterministic();
    const gert::Shape& last = context->GetDynamicInputShape(2, 1)->GetStorageShape();
    context->GetWorkspaceSizes(1)[0] = 32 * last[0];
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus Shape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    const auto* pads = context->GetAttrs()->GetListInt(0);
    const int64_t rows = context->GetInputShape(0)->GetDim(0);
    context->GetOutputShape(0)->SetDim(0, rows + pads->GetData()[0]);
    return context->GetOptionalInputShape(1) == nullptr ? ge::GRAPH_SUCCESS : ge::GRAPH_FAILED;
}
static ge::graphStatus Range(gert::InferShapeRangeContext* context) {
    *context->GetOutputShapeRange(0)->GetMin() = *context->GetInputShapeRange(0)->GetMin();
    *context->GetOutputShapeRange(0)->GetMax() = *context->GetInputShapeRange(0)->GetMax();
    context->GetOutputShapeRange(0)->GetMax()->SetDim(0, 99);
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus Type(gert::InferDataTypeContext* context) {
    return context->SetOutputDataType(0, context->GetDynamicInputDataType(2, 1));
}
IMPL_OP_OPTILING(PadList).Tiling(Tiling, 4321).TilingParse<PadInfo>(Parse);
IMPL_OP_INFERSHAPE(PadList).InferShape(Shape).InferShapeRange(Range).InferDataType(Type)
    .InputsDataDependency({1});
"""
HELPER_H = '#pragma once\n#include "op_tiling_context_builder.h"\nint Report(int bad);\n'
HELPER_CPP = '#include "list_helper.h"\nint Report(int bad) { return bad; }\n'
TEST = """
#include <cstdio>
#include <cstdint>
#include "base/registry/op_impl_space_registry_v2.h"
#include "op_infer_datatype_context_builder.h"
#include "op_infer_shape_context_builder.h"
#include "op_infer_shape_range_context_builder.h"
#include "op_kernel_run_context_builder.h"
#include "op_tiling_parse_context_builder.h"
#include "platform/platform_infos_def.h"
#include "list_helper.h"

struct PadInfo { uint32_t cores; uint64_t ub; uint64_t more[3]; };
static int bad = 0;
#define EXPECT(condition) \\
    if (!(condition)) { std::printf("line %%d: %%s\\n", __LINE__, #condition); ++bad; }

int main()
{
    auto registry = gert::DefaultOpImplSpaceRegistryV2::GetInstance().GetSpaceRegistry();
    EXPECT(registry->GetOpImpl("NoSuchOp") == nullptr);
    const auto* op = registry->GetOpImpl("PadList");
    EXPECT(op->max_tiling_data_size == 4321 && op->IsInputDataDependency(1));
    EXPECT(!op->IsInputDataDependency(0) && op->gen_simplifiedkey == nullptr);

    fe::PlatFormInfos platform;
    platform.Init();
    std::map<std::string, std::string> soc = {{"ai_core_cnt", "5"}, {"vector_core_cnt", "10"}};
    std::map<std::string, std::string> core = {{"ub_size", "123456"}};
    std::map<std::string, std::string> version = {{"Short_SoC_version", "Ascend910B"}};
    platform.SetPlatformRes("SoCInfo", soc);
    platform.SetPlatformRes("AICoreSpec", core);
    platform.SetPlatformRes("version", version);
    platform.SetCoreNumByCoreType("AICore");
    PadInfo info = {};
    auto parse = gert::OpTilingParseContextBuilder().OpType("PadList").OpName("PadList")
                     .IONum(1, 1).CompiledJson("{}").CompiledInfo(&info).PlatformInfo(&platform)
                     .Build();
    EXPECT(op->tiling_parse(reinterpret_cast<gert::KernelContext*>(parse.GetContext())) == 0);
    EXPECT(info.cores == %(cores)d && info.ub == 123456 - 256);

    gert::StorageFormat nd(ge::FORMAT_ND, ge::FORMAT_ND, {});
    gert::Tensor x({{4, 8}, {4, 8}}, nd, ge::DT_FLOAT16), a({{2}, {2}}, nd, ge::DT_INT8);
    gert::Tensor b({{3}, {3}}, nd, ge::DT_BF16), y({{5, 8}, {5, 8}}, nd, ge::DT_FLOAT16);
    auto sizes = gert::ContinuousVector::Create<size_t>(4);
    auto* workspace = reinterpret_cast<gert::ContinuousVector*>(sizes.get());
    auto tiling = gert::OpTilingContextBuilder().OpType("PadList").OpName("pad")
                      .IOInstanceNum({1, 0, 2}, {1}).AppendAttr(std::vector<int64_t>{1, 7})
                      .AppendAttr(true).InputTensors({&x, &a, &b}).OutputTensors({&y})
                      .CompileInfo(&info).PlatformInfo(&platform).Deterministic(1)
                      .TilingDataSize(64).Workspace(workspace).Build();
    EXPECT(op->tiling(tiling.GetContext()) == 0);
    gert::TilingContext& tiled = *tiling.GetContext();
    EXPECT(tiled.GetTilingKey() == ge::DT_FLOAT16 * 1000 + 7);
    EXPECT(tiled.GetBlockDim() == %(cores)d);
    EXPECT(tiled.GetWorkspaceNum() == 1 && tiled.GetWorkspaceSizes(1)[0] == 96);
    EXPECT(*static_cast<uint64_t*>(tiled.GetRawTilingData()->GetData()) == 123201);
    auto none = gert::OpTilingContextBuilder().OpType("PadList").OpName("p").Build();
    EXPECT(none.GetContext() == nullptr);

    auto shape = gert::OpInferShapeContextBuilder().OpType("PadList").OpName("pad")
                     .IOInstanceNum({1, 1, 2}, {1}).AppendAttr(std::vector<int64_t>{1, 7})
                     .InputTensors({&x, &x, &a, &b}).Build();
    auto* raw = reinterpret_cast<KernelRunContext*>(shape.GetContext());
    EXPECT(raw->input_size == 4);
    raw->values[1]->data.pointer = nullptr;
    EXPECT(op->infer_shape(shape.GetContext()) == 0);
    EXPECT(*shape.GetContext()->GetOutputShape(0) == gert::Shape({5, 8}));

    gert::Range<gert::Tensor> range(&x, &x);
    auto bounds = gert::OpInferShapeRangeContextBuilder().OpType("PadList").OpName("pad")
                      .IONum(1, 1).InputTensorsRange({&range}).Build();
    EXPECT(op->infer_shape_range(bounds.GetContext()) == 0);
    EXPECT(bounds.GetContext()->GetOutputShapeRange(0)->GetMax()->GetDim(0) == 99);
    EXPECT(bounds.GetContext()->GetOutputShapeRange(0)->GetMin()->GetDim(0) == 4);

    auto type = gert::OpInferDataTypeContextBuilder().OpType("PadList").OpName("pad")
                    .IOInstanceNum({1, 0, 2}, {1})
                    .InputTensorDesc(2, ge::DT_BF16, ge::FORMAT_ND, ge::FORMAT_ND).Build();
    EXPECT(op->infer_datatype(type.GetContext()) == 0);
    EXPECT(type.GetContext()->GetOutputDataType(0) == ge::DT_BF16);

    int64_t large[2] = {11, 22};
    auto values = gert::OpKernelContextBuilder().OpType("K").OpName("k").IONum(2, 1)
                      .Inputs({large, reinterpret_cast<void*>(5)}).Outputs({nullptr}).Build();
    struct Pair { int64_t a, b; };
    EXPECT(values.GetContext()->GetInputPointer<Pair>(0)->b == 22);
    EXPECT(values.GetContext()->GetInputValue<int64_t>(1) == 5);
    EXPECT(values.GetContext()->GetOutputNum() == 1);
    return Report(bad);
}
"""


@pytest.mark.parametrize(("cores", "code"), [(5, 0), (6, 1)])
def test_a_test_is_linked_with_its_op_and_its_helpers(tmp_path, capfd, cores, code):
    op = tmp_path / "index" / "pad_list"
    files = {
        tmp_path / "build.sh": "",
        tmp_path / "tests/ut/common/list_helper.h": HELPER_H,
        tmp_path / "tests/ut/common/list_helper.cpp": HELPER_CPP,
        op / "op_host/pad_list.cpp": HOST,
        op / "op_kernel/pad_list.cpp": "",
        op / "tests/ut/op_host/test_pad_list.cpp": TEST % {"cores": cores},
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert opgen(["run", str(op / "tests/ut/op_host/test_pad_list.cpp")]) == code
    said = capfd.readouterr()
    assert ("line" in said.out) == bool(code), said.out


@pytest.mark.parametrize(
    ("path", "op"),
    [
        ("a/op/tests/ut/op_host/test_op.cpp", "a/op"),
        ("a/op/tests/ut/op_host/arch22/test_op.cpp", "a/op"),
        ("a/op/op_host/op.cpp", None),
        ("a/op/tests/ut/op_kernel/test_op.cpp", None),
        ("a/bare/tests/ut/op_host/test_bare.cpp", None),
    ],
)
def test_which_op_a_source_tests(tmp_path, path, op):
    for folder in ("op_host", "op_kernel"):
        (tmp_path / "a/op" / folder).mkdir(parents=True)
    source = tmp_path / path
    source.parent.mkdir(parents=True, exist_ok=True)
    source.touch()
    assert unit_tests.tested_op(source) == (tmp_path / op if op else None)


KERNEL = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void pad_list(GM_ADDR x, GM_ADDR y, GM_ADDR w, GM_ADDR tiling) {
    auto* data = reinterpret_cast<__gm__ PadListData*>(tiling);
    reinterpret_cast<__gm__ DTYPE_X*>(y)[0] = reinterpret_cast<__gm__ DTYPE_X*>(x)[data->from];
}
"""
KERNEL_TEST = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "tikicpulib.h"
#include "../list_data.h"
#include "../../../op_kernel/pad_list_tiling.h"
extern "C" __global__ __aicore__ void pad_list(GM_ADDR x, GM_ADDR y, GM_ADDR w, GM_ADDR tiling);
int main()
{
    auto* x = (uint8_t*)AscendC::GmAlloc(64);
    auto* y = (uint8_t*)AscendC::GmAlloc(64);
    auto* tiling = (uint8_t*)AscendC::GmAlloc(sizeof(PadListData));
    FillData(x, 64);
    reinterpret_cast<PadListData*>(tiling)->from = 3;
    AscendC::SetKernelMode(KernelMode::AIV_MODE);
    ICPU_RUN_KF(pad_list, 1, x, y, nullptr, tiling);
    std::system("cp -r ../../../../index/pad_list/tests/ut/op_kernel/pad_list_data ./");
    FILE* file = std::fopen("pad_list_data/golden.txt", "r");
    int golden = 0;
    const bool read = file != nullptr && std::fscanf(file, "%d", &golden) == 1;
    return read && *(int16_t*)y == golden ? 0 : 1;
}
"""


# CANN's build gives the kernel this struct; the test declares it itself.
STRUCT = """
#include "register/tilingdata_base.h"
BEGIN_TILING_DATA_DEF(PadListData)
TILING_DATA_FIELD_DEF(int, from);
END_TILING_DATA_DEF;
"""


def test_a_test_of_a_kernel_gets_the_kernel_its_macros_and_a_build_folder(tmp_path, capfd):
    op = tmp_path / "index" / "pad_list"
    files = {
        tmp_path / "build.sh": "",
        tmp_path / "tests/ut/op_kernel/list_data.h": "void FillData(void* data, int bytes);\n",
        tmp_path / "tests/ut/op_kernel/list_data.cpp": '#include "list_data.h"\n'
        "void FillData(void* data, int bytes) {\n"
        "    for (int i = 0; i < bytes / 2; ++i) ((short*)data)[i] = 10 * i;\n}\n",
        tmp_path / "tests/ut/op_kernel/scripts/gen.sh": "",
        op / "op_host/pad_list.cpp": HOST + STRUCT,
        op / "op_kernel/pad_list.cpp": KERNEL,
        op / "op_kernel/pad_list_tiling.h": "#pragma once\nstruct PadListData { int from; };\n",
        op / "tests/ut/op_kernel/test_pad_list.cpp": KERNEL_TEST,
        op / "tests/ut/op_kernel/pad_list_data/golden.txt": "30",
        op / "tests/ut/op_kernel/CMakeLists.txt": "# AddOpTestCase(x)\n"
        'AddOpTestCase(pad_list "ascend910B1" "-DDTYPE_X=int16_t -DUT_CUSTOM_KEYS=1" "${files}")\n',
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert opgen(["run", str(op / "tests/ut/op_kernel/test_pad_list.cpp")]) == 0, capfd.readouterr()
    assert not (tmp_path / "build").exists()


# ---- Kernel unit tests whose tiling structs are registered in op_host (``--tiling-from``) --------

TILING_TEST = r"""
#include "tikicpulib.h"
extern "C" __global__ __aicore__ void scale_rows(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
int main()
{
    const int n = 64;
    float* x = (float*)AscendC::GmAlloc(n * sizeof(float));
    float* y = (float*)AscendC::GmAlloc(n * sizeof(float));
    auto* tiling = (ScaleRowsTilingData*)AscendC::GmAlloc(sizeof(ScaleRowsTilingData));
    tiling->length = n;
    tiling->factor = 3;
    for (int i = 0; i < n; ++i) x[i] = i;
    AscendC::SetKernelMode(KernelMode::AIV_MODE);
    ICPU_RUN_KF(scale_rows, 1, (uint8_t*)x, (uint8_t*)y, nullptr, (uint8_t*)tiling);
    int bad = 0;
    for (int i = 0; i < n; ++i) bad += y[i] != 3 * i;
    return bad;
}
"""


@pytest.mark.parametrize(
    ("op", "code", "text"), [("ScaleRows", 0, ""), ("PickTemplate", 1, "OPG907")]
)
def test_structs_come_from_op_host(tmp_path, capfd, op, code, text):
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    test = tmp_path / "test_scale_rows.cpp"
    test.write_text(TILING_TEST, encoding="utf-8")
    arguments = ["run", str(test), str(tmp_path / "op_kernel" / "scale_rows.cpp")]
    arguments += ["--tiling-from", str(tmp_path), "--op", op]
    arguments += [f"-D{n}_{p}={v}" for p in "XY" for n, v in _TYPES]
    assert opgen(arguments) == code
    assert text in capfd.readouterr().err


_TYPES = (("DTYPE", "float"), ("ORIG_DTYPE", "DT_FLOAT"))
