"""Attributes that an OpDef leaves out come from the op's aclnn layer, by position."""

import numpy as np
import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.launcher_attrs import arranged_attrs, launcher_attrs
from msopgen_wrap.foreign.project_runner import ProjectRunner
from msopgen_wrap.run.tensors import Tensor, TensorSpec

API = """
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

HOST = """
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
ALL = {"mode": "wrap", "times": 3.0, "by": 2, "up": 1}


@pytest.fixture
def project(tmp_path):
    for name, text in (("op_host/shift.cpp", HOST), ("op_host/op_api/shift.cpp", API)):
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
    values = arranged_attrs(project, DECLARED, ALL, reads_attrs=True)
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
        ({**ALL, "down": 1}, "has no attr down"),
        ({}, "needs the attr by, and 3 more"),
        ({k: v for k, v in ALL.items() if k != "times"}, "needs the attr times$"),
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
        runner.run("Shift", {"x": x}, ALL, {"y": TensorSpec("float32", (8,))})


def test_an_output_that_infer_shape_left_alone_is_named(project):
    from msopgen_wrap.run.call_failure import call_failure

    declared = {"outputs": [{"name": "y"}, {"name": "z"}]}
    values = [Tensor.empty(TensorSpec("float32", (8,))), Tensor.empty(TensorSpec("float32", ()))]
    first = call_failure(project, declared, {}, values, RuntimeError("no")).diagnostics[0]
    assert "InferShape gave no shape to z" in first.why
    given = {"z": TensorSpec("float32", ())}
    first = call_failure(project, declared, given, values, RuntimeError("no")).diagnostics[0]
    assert first.why == ""
