"""The op runtime on a hand-written op_host source: layout, contexts, defaults, error texts."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from op_sources import HOST_CPP, TILING_H

from msopgen_wrap.build.kernel_tiling import kernel_tiling_text, registered_keys
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.combinations import combos
from msopgen_wrap.foreign.op_project import declaration_problems
from msopgen_wrap.run.op_abi import ShapeOnly
from msopgen_wrap.run.op_runtime import OpRuntimeError


@pytest.fixture(scope="module")
def runtime(load_ops):
    return load_ops({"host_op_tiling.h": TILING_H, "host_op.cpp": HOST_CPP})


def x(*shape, dtype="float32"):
    return ShapeOnly(dtype, shape)


def tile(runtime, inputs, attrs, soc=None, **more):
    return runtime.tile("HostOp", inputs, [inputs[0]], attrs, soc=soc, **more)


# CANN's layout: fields aligned to their own size, nested structs to 8, total to 8.
LAYOUT = "<B3xI3qB7x" + "H6xd" + "f4x"


def test_tiling_data_has_the_byte_layout_of_cann(runtime):
    info = tile(runtime, [x(3, 5), x(1, dtype="bool"), [x(2), x(2)]], {"n": -4, "axes": [7]})
    assert len(info.data) == struct.calcsize(LAYOUT)
    assert struct.unpack(LAYOUT, info.data) == (1, 15, 4, -4, 1, 7, 40, 196352.0, 0.5)
    assert (info.block_dim, info.key, info.workspace_size) == (40, 1, 4096)


@pytest.mark.parametrize(
    ("soc", "cores", "ub"),
    [("ascend910b3", 40, 196352), ("Ascend910B1", 48, 196352), ("ascend910b4", 40, 196352)],
)
def test_tiling_sees_the_chosen_soc(runtime, soc, cores, ub):
    info = tile(runtime, [x(3, 5), None, []], {"n": 1}, soc=soc)
    values = struct.unpack(LAYOUT, info.data)
    assert values[6:8] == (cores, float(ub))
    assert values[0] == 0 and values[2] == 1  # absent mask, empty list


def test_a_soc_may_have_its_own_dtypes(runtime):
    info = tile(runtime, [x(3, 5, dtype="float16"), None, []], {"n": 1}, soc="ascend310p3")
    assert struct.unpack(LAYOUT, info.data)[6:8] == (8, 262144.0)


def test_block_dim_overrides_the_cores_tiling_sees(runtime):
    assert tile(runtime, [x(2, 2), None, []], {"n": 1}, block_dim=3).block_dim == 3


def test_attributes_given_and_defaulted(runtime):
    data = tile(
        runtime, [x(2, 2), None, []], {"n": 1, "scale": 2, "fast": False, "axes": None}
    ).data
    values = struct.unpack(LAYOUT, data)
    assert values[4] == 2 and values[5] == 9 and values[8] == 2.0


@pytest.mark.parametrize(
    ("inputs", "attrs", "more", "words"),
    [
        ([x(3), None, []], {"n": 1}, {}, ["x must have rank 2, it has 1", "x=float32[3]"]),
        ([x(2, 2), None, []], {}, {}, ["attr n is required"]),
        ([x(2, 2), None, []], {"n": 1, "m": 2}, {}, ["no attr m"]),
        ([x(2, 2), None, []], {"n": "text"}, {}, ["attr n must be a int"]),
        ([x(2, 2, dtype="int32"), None, []], {"n": 1}, {}, ["not supported", "bfloat16"]),
        ([None, None, []], {"n": 1}, {}, ["input x is required"]),
        ([x(2, 2)], {"n": 1}, {}, ["1 inputs given, the OpDef has 3"]),
        ([x(2, 2), None, []], {"n": 1}, {"soc": "ascend910z"}, ["unknown SoC", "Ascend910B3"]),
        ([x(2, 2), None, []], {"n": 1}, {"soc": "ascend310b1"}, ['AddConfig("ascend310b")']),
    ],
)
def test_errors_name_the_cause(runtime, inputs, attrs, more, words):
    with pytest.raises(OpRuntimeError) as caught:
        tile(runtime, inputs, attrs, **more)
    assert "HostOp" in str(caught.value)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_outputs_are_compared_with_infer_shape(runtime):
    with pytest.raises(
        OpRuntimeError, match=r"output y is given as \[4\], InferShape says \[2,2\]"
    ):
        runtime.tile("HostOp", [x(2, 2), None, []], [x(4)], {"n": 1})
    assert runtime.tile("HostOp", [x(2, 2), None, []], [x(4)], {"n": 1}, skip_shape_check=True)


def test_an_unknown_op_lists_the_known_ones(runtime):
    with pytest.raises(OpRuntimeError, match=r"no loaded host library registers it.*HostOp"):
        runtime.tile("HostOops", [], [], {})


def test_a_missing_kernel_is_reported_with_its_dtypes(runtime):
    data = np.zeros((2, 2), np.float32)
    with pytest.raises(OpRuntimeError, match="no kernel for dtypes float32,"):
        runtime.run("HostOp", [data, None, []], [data.copy()], {"n": 1})


def test_infer_uses_the_registered_functions(runtime):
    result = runtime.infer("HostOp", [x(-1, 5, dtype="bfloat16"), None, []], {"n": 1})
    assert (result[0].shape, result[0].dtype) == ((-1, 5), "bfloat16")


def test_declaration_as_json(runtime):
    declared = runtime.op_defs()["HostOp"]
    assert [p["param_type"] for p in declared["inputs"]] == ["required", "optional", "dynamic"]
    assert [(a["name"], a["type"], a["required"], a["default"]) for a in declared["attrs"]] == [
        ("n", "int", True, None),
        ("scale", "float", False, 0.5),
        ("axes", "list_int", False, [1, 2]),
        ("fast", "bool", False, True),
        ("mode", "str", False, "none"),
    ]
    assert declared["has_tiling"] and declared["has_infer_shape"]
    assert [c.key for c in combos(declared, "ascend910b3")] == [
        "float32,bool,float32,float32",
        "bfloat16,bool,bfloat16,bfloat16",
    ]
    first = combos(declared, "ascend310p3")[0]
    assert first.dtypes[0] == "DT_FLOAT16" and "DTYPE_X=half" in first.defines
    with pytest.raises(OpgenError, match="not configured for ascend910a"):
        combos(declared, "ascend910a")


def test_kernel_tiling_header_repeats_the_layout(runtime):
    text = kernel_tiling_text("HostOp", runtime.tiling_defs())
    assert text.index("struct HostPart {") < text.index("struct HostOpTilingData {")
    assert "int64_t dims[3];" in text and "HostPart part;" in text
    assert "sizeof(HostOpTilingData) == 64" in text
    assert "using OpgenDefaultTiling [[maybe_unused]] = HostOpTilingData;" in text
    assert kernel_tiling_text("NoSuchOp", runtime.tiling_defs()) == ""
    assert registered_keys("A", [{"name": "A_12"}, {"name": "AB_3"}, {"name": "A"}]) == [12]


def test_what_opbuild_accepts_silently_is_found():
    config = {"soc": "ascend910c", "inputs": [], "outputs": [], "config": {}}
    parameter = {"name": "x", "dtypes": ["DT_FLOAT"], "param_type": "required"}
    declared = {
        "op": "Bad",
        "declared": True,
        "problems": ["OP_ADD(Bad) appears twice"],
        "socs": [config],
        "has_tiling": False,
        "has_infer_shape": False,
        "inputs": [parameter, parameter],
        "outputs": [],
    }
    codes = [d.code for d in declaration_problems(declared)]
    assert codes == ["OPG520", "OPG521", "OPG522", "OPG522", "OPG523"]
