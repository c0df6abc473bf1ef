"""What an op is called with: attrs by text and by position, and formats of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.launcher_attrs import arranged_attrs, launcher_attrs
from msopgen_wrap.foreign.project_runner import ProjectRunner
from msopgen_wrap.foreign.run_inputs import AttrText, attr_value, read_run_inputs
from msopgen_wrap.run.storage import from_memory, to_memory
from msopgen_wrap.run.tensors import Tensor, TensorSpec

# ---- What a text behind ``--attr NAME=`` means for attrs of each type ----------------------------

VALUES = [
    ("none", "str", "none"),
    ("None", "str", "None"),
    ("true", "str", "true"),
    ("1", "str", "1"),
    ("[1,2]", "str", "[1,2]"),
    ("'none'", "str", "none"),
    ('"1.5"', "str", "1.5"),
    ("", "str", ""),
    ("none", "char", "none"),
    ("none", "int", None),
    ("none", "", "none"),
    ("None", "", None),
    ("tanh", "", "tanh"),
    ("True", "bool", True),
    ("false", "bool", False),
    ("0", "bool", 0),
    ("3", "int", 3),
    ("1e-5", "float", 1e-5),
    ("[1, 2]", "list_int", [1, 2]),
    ("[[1],[2]]", "list_list_int", [[1], [2]]),
]


@pytest.mark.parametrize(("text", "kind", "value"), VALUES)
def test_texts(text: str, kind: str, value: Any) -> None:
    assert attr_value(AttrText(text), kind) == value
    assert type(attr_value(AttrText(text), kind)) is type(value)


def test_values_of_a_case_file_stay() -> None:
    assert attr_value("none", "int") == "none" and attr_value(None, "str") is None


# ---- Attributes that an OpDef leaves out come from the op's aclnn layer, by position -------------

SHIFT_API = """
#include "opdev/op_dfx.h"
namespace l0op {
const aclTensor* Shift(const aclTensor* x, double byOptional, const char* mode, int64_t times,
                       bool up, aclOpExecutor* executor) {
    // ADD_TO_LAUNCHER_LIST_AICORE(Shift, OP_INPUT(x), OP_OUTPUT(y), OP_ATTR(nothing));
    auto y = executor->AllocTensor(x->GetDataType());
    INFER_SHAPE(ShiftOther, OP_INPUT(x), OP_OUTPUT(y), OP_ATTR(times));
    ADD_TO_LAUNCHER_LIST_AICORE(Shift, OP_INPUT(x), OP_OUTPUT(y),
                                OP_ATTR(static_cast<float>(byOptional), mode, times, up));
    return y;
}
}
"""

SHIFT_HOST = """
#include "register/op_def_registry.h"
#include "log/log.h"
namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const auto* attrs = context->GetAttrs();
    const float by = *attrs->GetAttrPointer<float>(0);
    const char* mode = attrs->GetAttrPointer<char>(1);
    const int64_t times = *attrs->GetAttrPointer<int64_t>(2);
    const bool up = *attrs->GetAttrPointer<bool>(3);
    OP_LOGE(context->GetNodeName(), "%.2f %s %ld %d of %zu", by, mode, times, up,
            attrs->GetAttrNum());
    return ge::GRAPH_FAILED;
}
}
namespace ops {
class Shift : public OpDef {
public:
    explicit Shift(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b");
    }
};
OP_ADD(Shift);
}
"""

DECLARED = {"op": "Shift", "attrs": []}
GIVEN = {"mode": "wrap", "times": 3.0, "by": 2, "up": 1}


@pytest.fixture
def project(tmp_path):
    for name, text in (("op_host/shift.cpp", SHIFT_HOST), ("op_host/op_api/shift.cpp", SHIFT_API)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "op_kernel").mkdir()
    return tmp_path


def test_names_types_and_order_are_those_of_the_launch(project):
    found = [(a.name, a.type) for a in launcher_attrs(project, "Shift")]
    assert found == [
        ("byOptional", "float"),
        ("mode", "char"),
        ("times", "int64_t"),
        ("up", "bool"),
    ]
    assert launcher_attrs(project, "Shifted") == []


def test_attributes_are_put_in_order_with_their_types(project):
    values = arranged_attrs(project, DECLARED, GIVEN, reads_attrs=True)
    assert values == {0: 2.0, 1: "wrap", 2: 3, 3: True}
    assert [type(v) for v in values.values()] == [float, str, int, bool]


@pytest.mark.parametrize(
    "declared, attrs, reads, expected",
    [
        ({"op": "Shift", "attrs": [{"name": "by"}]}, {"by": 2}, True, {"by": 2}),
        (DECLARED, {"by": 2}, False, {"by": 2}),
        ({"op": "NoLayer", "attrs": []}, {"b": 2, "a": 1}, True, {0: 2, 1: 1}),
    ],
)
def test_what_needs_no_order_stays(project, declared, attrs, reads, expected):
    assert arranged_attrs(project, declared, attrs, reads_attrs=reads) == expected


@pytest.mark.parametrize(
    "attrs, words",
    [
        ({**GIVEN, "down": 1}, "has no attr down"),
        ({}, "needs the attr by, and 3 more"),
        ({k: v for k, v in GIVEN.items() if k != "times"}, "needs the attr times$"),
    ],
)
def test_unknown_and_missing_ones_are_named(project, attrs, words):
    with pytest.raises(OpgenError, match=words) as error:
        arranged_attrs(project, DECLARED, attrs, reads_attrs=True)
    assert "by, mode, times, up" in error.value.diagnostics[0].why


def test_the_functions_of_the_op_read_them(project):
    runner = ProjectRunner(project)
    x = Tensor("float32", np.zeros(8, np.float32))
    with pytest.raises(OpgenError, match=r"2\.00 wrap 3 1 of 4"):
        runner.run("Shift", {"x": x}, GIVEN, {"y": TensorSpec("float32", (8,))})


def test_an_output_that_infer_shape_left_alone_is_named(project):
    from msopgen_wrap.run.call_failure import call_failure

    declared = {"outputs": [{"name": "y"}, {"name": "z"}]}
    values = [Tensor.empty(TensorSpec("float32", (8,))), Tensor.empty(TensorSpec("float32", ()))]
    first = call_failure(project, declared, {}, values, RuntimeError("no")).diagnostics[0]
    assert "InferShape gave no shape to z" in first.why
    given = {"z": TensorSpec("float32", ())}
    first = call_failure(project, declared, given, values, RuntimeError("no")).diagnostics[0]
    assert first.why == ""


# ---- Formats of tensors reach tiling, the choice of the kernel and the kernel's memory -----------

KEEP_WEIGHT_HOST = """
#include "register/op_def_registry.h"
#include "log/log.h"
namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const auto* w = context->GetInputShape(0);
    const auto& stored = w->GetStorageShape();
    const auto* desc = context->GetInputDesc(0);
    if (w->GetOriginShape().GetDim(0) == 1) {
        OP_LOGE(context->GetNodeName(), "origin %zu stored %zu,%ld format %d of %d",
                w->GetOriginShape().GetDimNum(), stored.GetDimNum(), stored.GetDim(0),
                static_cast<int>(desc->GetStorageFormat()),
                static_cast<int>(desc->GetOriginFormat()));
        return ge::GRAPH_FAILED;
    }
    const auto type = desc->GetDataType();
    const uint32_t bits = type == ge::DT_INT4 ? 4 : type == ge::DT_FLOAT ? 32 : 16;
    *context->GetTilingData<uint32_t>() = stored.GetShapeSize() * bits / 8;
    context->SetBlockDim(1);
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return ge::GRAPH_SUCCESS;
}
}
namespace ops {
class KeepWeight : public OpDef {
public:
    explicit KeepWeight(const char* name) : OpDef(name) {
        this->Input("w").ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_INT4, ge::DT_BF16,
                       ge::DT_FLOAT, ge::DT_FLOAT})
            .Format({ge::FORMAT_FRACTAL_NZ, ge::FORMAT_ND, ge::FORMAT_FRACTAL_NZ, ge::FORMAT_NCHW,
                     ge::FORMAT_NDC1HWC0, ge::FORMAT_FRACTAL_Z_3D});
        this->Output("y").ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_INT4, ge::DT_BF16,
                       ge::DT_FLOAT, ge::DT_FLOAT})
            .Format({ge::FORMAT_FRACTAL_NZ, ge::FORMAT_ND, ge::FORMAT_FRACTAL_NZ, ge::FORMAT_NCHW,
                     ge::FORMAT_NDC1HWC0, ge::FORMAT_FRACTAL_Z_3D});
        this->SetInferShape(optiling::InferShape);
        this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b");
    }
};
OP_ADD(KeepWeight);
}
"""

KEEP_WEIGHT_KERNEL = """
#include "kernel_operator.h"
using namespace AscendC;
#define FORMAT_FRACTAL_NZ 29
#define FORMAT_ND 2
#define FORMAT_NCHW 0
// As in CANN, the entry needs no C linkage.
__global__ __aicore__ void keep_weight(GM_ADDR w, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    const uint32_t bytes = *(__gm__ uint32_t*)tiling;
    GlobalTensor<uint8_t> in, out;
    in.SetGlobalBuffer((__gm__ uint8_t*)w, bytes);
    out.SetGlobalBuffer((__gm__ uint8_t*)y, bytes);
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, (bytes + 31) / 32 * 32);
    auto t = buf.Get<uint8_t>();
    DataCopyPad(t, in, DataCopyExtParams(1, bytes, 0, 0, 0), DataCopyPadExtParams<uint8_t>());
    SetFlag<HardEvent::MTE2_S>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_S>(EVENT_ID0);
    // What this kernel was compiled for stands in the first byte.
    t.SetValue(0, FORMAT_W);
    SetFlag<HardEvent::S_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::S_MTE3>(EVENT_ID0);
    DataCopyPad(out, t, DataCopyExtParams(1, bytes, 0, 0, 0));
}
"""


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    root = tmp_path_factory.mktemp("formats")
    for name, text in (
        ("op_host/keep_weight.cpp", KEEP_WEIGHT_HOST),
        ("op_kernel/keep_weight.cpp", KEEP_WEIGHT_KERNEL),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return ProjectRunner(root)


@pytest.mark.parametrize(
    "text, layout, compiled_for",
    [
        ("float16[20,30]", "ND", 2),
        ("float16[20,30]@FRACTAL_NZ", "FRACTAL_NZ", 29),
        ("float16[40,50]", "ND", 2),
        ("int4[20,30]", "FRACTAL_NZ", 29),
        ("bfloat16[2,3,4,5]", "NCHW", 0),
        ("float32[2,20,3,4,5]", "NDC1HWC0", 32),
        ("float32[20,3,2,3,4]@FRACTAL_Z_3D", "FRACTAL_Z_3D", 33),
    ],
)
def test_a_tensor_reaches_the_kernel_in_its_format(runner, text, layout, compiled_for):
    given = read_run_inputs(None, [f"w={text}"], (), (), None, 0).inputs
    done = runner.run("KeepWeight", given)
    w, y = given["w"], done.outputs["y"]
    assert (w.layout, y.layout) == (layout, layout)
    assert y.memory.reshape(-1).view(np.uint8)[0] == compiled_for
    np.testing.assert_array_equal(y.data.reshape(-1)[2:], w.data.reshape(-1)[2:])
    assert done.result.findings == []


@pytest.mark.parametrize(
    "dtype, layout, words",
    [
        ("float16", "FRACTAL_NZ", "origin 2 stored 4,3 format 29 of 2"),
        ("float16", "", "origin 2 stored 2,1 format 2 of 2"),
        ("int4", "", "origin 2 stored 4,1 format 29 of 2"),
    ],
)
def test_tiling_sees_both_shapes_and_formats(runner, dtype, layout, words):
    values = np.zeros((1, 40), np.int8 if dtype == "int4" else np.float16)
    with pytest.raises(OpgenError, match=words):
        runner.run("KeepWeight", {"w": Tensor(dtype, values, layout)})


@pytest.mark.parametrize(
    "layout, shape, stored, place",
    [
        ("NC1HWC0", (3, 20, 4, 5), (3, 2, 4, 5, 16), lambda n, c, h, w: (n, c // 16, h, w, c % 16)),
        (
            "FRACTAL_Z",
            (20, 20, 2, 3),
            (12, 2, 16, 16),
            lambda n, c, h, w: ((c // 16 * 2 + h) * 3 + w, n // 16, n % 16, c % 16),
        ),
        (
            "NDC1HWC0",
            (2, 20, 3, 4, 5),
            (2, 3, 2, 4, 5, 16),
            lambda n, c, d, h, w: (n, d, c // 16, h, w, c % 16),
        ),
        (
            "FRACTAL_Z_3D",
            (20, 20, 2, 2, 3),
            (24, 2, 16, 16),
            lambda n, c, d, h, w: (((d * 2 + c // 16) * 2 + h) * 3 + w, n // 16, n % 16, c % 16),
        ),
    ],
)
def test_blocks_of_channels(layout, shape, stored, place):
    values = np.arange(np.prod(shape)).reshape(shape).astype(np.int16)
    memory = to_memory(values, "int16", layout)
    assert memory.shape == stored
    assert all(memory[place(*at)] == value for at, value in np.ndenumerate(values))
    assert np.count_nonzero(memory) == values.size - 1
    np.testing.assert_array_equal(from_memory(memory, shape, "int16", layout), values)
