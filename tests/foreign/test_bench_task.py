"""Benchmark tasks: what the compiled extension would do with a case, told from the declaration."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from kernel_bench import task as bench_task
from kernel_bench.binding import (
    bind_arguments,
    fixed_attrs,
    launched_inputs,
    order_tensors,
    read_binding,
)
from kernel_bench.extension import Extension, UnsupportedCase
from kernel_bench.task import find_tasks, read_cases, run_task, size_of_case
from project_sources import KEEP_HOST, KEEP_KERNEL, SCALE_HOST, SCALE_KERNEL, SCALE_TILING_H

from msopgen_wrap.run import op_abi

MODULE = """
import torch
import kernel_gen_ops

class Model(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor

class ModelNew(Model):
    def forward(self, x):
        return kernel_gen_ops.scale_rows(x, self.factor)
"""
PREPARE = """
import torch

def get_init_inputs(row, device):
    return [row["factor"]]

def get_inputs(row, device):
    return [torch.ones(row["length"], dtype=getattr(torch, row["dtype"]), device=device)]
"""
SCALE = {
    "op_host/scale_rows_tiling.h": SCALE_TILING_H,
    "op_host/scale_rows.cpp": SCALE_HOST,
    "op_kernel/scale_rows.cpp": SCALE_KERNEL,
}
RIGHT_SHAPE = "*context->GetOutputShape(0) = *context->GetInputShape(0);"


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def scale_task(root, rows, host=SCALE_HOST, module=MODULE):
    project = {**SCALE, "op_host/scale_rows.cpp": host}
    return write(
        root / "tasks" / "Scale",
        {
            **{f"answer/0/{name}": text for name, text in project.items()},
            "validation/module.py": module,
            "validation/prepare_inputs.py": PREPARE,
            "validation/test_cases.csv": "case_id;length;dtype;factor\n" + "\n".join(rows) + "\n",
        },
    )


def test_a_task_runs_its_cases(tmp_path):
    task = scale_task(tmp_path, ["0;64;float32;3.0", "1;32;float16;0.5"])
    assert find_tasks(tmp_path) == [task]
    done = run_task(task)
    assert (done.cases, done.matches, done.clean, done.detail) == ("2/2", True, True, "")
    assert run_task(task, cases=1).cases == "1/1"


def test_a_wrong_reference_is_seen(tmp_path):
    wrong = MODULE.replace("x * self.factor", "x * self.factor + 1")
    done = run_task(scale_task(tmp_path, ["7;64;float32;3.0"], module=wrong))
    assert done.runs and done.matches is False and done.cases == "0/1"
    assert done.detail.startswith("case 7: max error 1")


def test_a_case_that_fails_does_not_end_the_others(tmp_path):
    done = run_task(scale_task(tmp_path, ["0;7;float32;3.0", "1;32;float32;3.0"]))
    assert (done.cases, done.runs) == ("1/2", False)
    assert "length 7 is not a multiple of 16" in done.detail


def test_a_case_of_undeclared_dtypes_is_noted(tmp_path):
    task = scale_task(tmp_path, ["0;16;int32;3.0", "1;32;float32;3.0"])
    done = run_task(task, cases=1)
    assert done.cases == "1/1" and done.matches
    assert done.notes == ("case 0: op ScaleRows does not declare inputs of int32",)
    only = run_task(scale_task(tmp_path / "only", ["0;16;int32;3.0"]))
    assert only.runs is False and only.detail == "the op takes the inputs of no case"


@pytest.mark.parametrize(
    ("body", "note"),
    [
        ("return GRAPH_FAILED;", "InferShape failed"),
        ("*context->GetOutputShape(0) = gert::Shape({3});", "InferShape gives y [3]"),
    ],
)
def test_an_infershape_that_aclnn_never_asks_is_noted(tmp_path, body, note):
    host = SCALE_HOST.replace(RIGHT_SHAPE, body)
    assert host != SCALE_HOST
    done = run_task(scale_task(tmp_path, ["0;64;float32;3.0"], host=host))
    assert done.matches and note in done.notes[0]


def test_a_wrong_inferred_dtype_is_noted(tmp_path):
    host = SCALE_HOST.replace(
        "namespace ops {",
        "static ge::graphStatus InferType(gert::InferDataTypeContext* context) {\n"
        "    context->SetOutputDataType(0, ge::DT_INT8);\n    return ge::GRAPH_SUCCESS;\n}\n"
        "namespace ops {",
    ).replace(
        "SetInferShape(ge::InferShape)", "SetInferShape(ge::InferShape).SetInferDataType(InferType)"
    )
    done = run_task(scale_task(tmp_path, ["0;64;float32;3.0"], host=host))
    assert done.matches and done.notes == ("InferDataType gives y int8, not float32",)


def test_an_output_of_computed_shape_gets_room(tmp_path):
    files = {"op_host/keep.cpp": KEEP_HOST, "op_kernel/keep_positive.cpp": KEEP_KERNEL}
    files["op_host/keep.cpp"] = re.sub(r"OP_ADD\((?!KeepPositive)\w+\);", "", KEEP_HOST).replace(
        "IMPL_OP_INFERSHAPE(KeepPositive).InferShapeRange(KeepRange);", ""
    )
    extension = Extension(write(tmp_path, files), "check", "ascend910b3")
    extension.open()
    x = torch.tensor([1.0, -1.0, 4.0])
    golden = [torch.tensor([5.0]), torch.tensor([1.0, 4.0])]
    total, kept = extension.call_as(golden, extension.run, [x])
    assert total.item() == 5 and kept.tolist() == [[1, 4]]
    assert extension.alarms == []


def test_outputs_that_the_reference_lacks_get_room(tmp_path):
    files = {"op_host/keep.cpp": KEEP_HOST, "op_kernel/keep_positive.cpp": KEEP_KERNEL}
    files["op_host/keep.cpp"] = (
        re.sub(r"OP_ADD\((?!KeepPositive)\w+\);", "", KEEP_HOST)
        .replace("IMPL_OP_INFERSHAPE(KeepPositive).InferShapeRange(KeepRange);", "")
        .replace("this->SetInferShape(KeepShape);", "")
    )
    extension = Extension(write(tmp_path, files), "check", "ascend910b3")
    extension.open()
    x = torch.tensor([1.0, -1.0, 4.0])
    total = extension.call_as(torch.tensor([5.0]), extension.run, [x])
    assert total.tolist() == [5] and extension.alarms == []
    assert extension.notes == ["nothing tells the shape of y: it has room 3"]


def test_columns_are_typed_as_pandas_does(tmp_path):
    write(tmp_path, {"validation/test_cases.csv": "a;b;c;d\n1;true;x;0.5\n2;False;y;1\n"})
    assert read_cases(tmp_path) == [
        {"a": 1, "b": True, "c": "x", "d": 0.5},
        {"a": 2, "b": False, "c": "y", "d": 1.0},
    ]


@pytest.mark.parametrize(
    ("row", "size"),
    [
        ({"case_id": 9, "shape": "[[2, 3], [4]]", "dtype": "float16"}, (10, 1)),
        ({"case_id": 9, "shape": "[5, 7]", "scales": "[0.5, 2.0]"}, (35, 1)),
        ({"case_id": 9, "shape": "(8, 0)", "n": 3, "flag": True}, (8, 3)),
        ({"case_id": 9, "m": 4, "n": 6, "axis": -1, "x": "[1, y]"}, (0, 24)),
    ],
)
def test_cases_are_ordered_by_their_shapes(row, size):
    assert size_of_case(row) == size


def declared(inputs, attrs=()):
    return {
        "op": "Any",
        "inputs": [
            {"name": n, "param_type": kind, "dtypes": dtypes, "dtype_list": []}
            for n, kind, dtypes in inputs
        ],
        "attrs": [{"name": n, "type": kind} for n, kind in attrs],
    }


X = torch.ones(2)


@pytest.mark.parametrize(
    ("op", "args", "inputs", "attrs"),
    [
        (declared([("x", "required", [])], [("n", "int")]), (X, 3), ["x"], {"n": 3}),
        (declared([("x", "required", [])], [("f", "float")]), (X, 3), ["x"], {"f": 3.0}),
        (declared([("x", "required", [])], [("b", "bool")]), (X, 1), ["x"], {"b": True}),
        (
            declared([("x", "required", []), ("m", "optional", [])], [("b", "bool")]),
            (X, None, False),
            ["x", "m"],
            {"b": False},
        ),
        (
            declared([("x", "required", []), ("s", "required", ["DT_INT64"])]),
            (X, (2, 3)),
            ["x", "s"],
            {},
        ),
        (
            declared([("x", "required", [])], [("v", "float")]),
            (X, torch.tensor(2.0)),
            ["x"],
            {"v": 2.0},
        ),
    ],
)
def test_arguments_get_names(op, args, inputs, attrs):
    got, values = bind_arguments(op, args)
    assert list(got) == inputs and values == attrs
    assert [type(values[n]) for n in values] == [type(attrs[n]) for n in attrs]


BINDING = """
#include "helper.hpp"
at::Tensor shape_of(at::Tensor a) {{ return a; }}
std::vector<at::Tensor> api(at::Tensor &x, c10::optional<at::Tensor> mask, IntArrayRef size,
                            float eps = 1e-5f)
{{
    at::Tensor mask_npu = mask.has_value() ? mask.value() : at::Tensor();
    c10::Scalar scalar(eps);  // EXEC_NPU_CMD(aclnnWrong, eps);
    at::Tensor out = torch::empty_like(x);
    at::Tensor more = torch::empty_like(x);
    EXEC_NPU_CMD(aclnnApi, {});
    std::vector<at::Tensor> result = {{more, out}};
    if (!mask.has_value()) {{
        result = {{out}};
    }}
    return result;
}}
"""


@pytest.mark.parametrize(
    ("call", "order"),
    [
        ("x, mask, size, eps, out, more", [0, 1, 2, 3]),
        ("mask_npu, x, size, scalar, out, more", [1, 0, 2, 3]),
        ("eps, size, mask, x, out, more", [3, 2, 1, 0]),
        ("x, size, eps, out", None),
        ("x, mask, size, other, out", None),
    ],
)
def test_the_binding_tells_the_order_of_arguments(tmp_path, call, order):
    path = tmp_path / "pybind.cpp"
    path.write_text(BINDING.format(call))
    assert read_binding(tmp_path / "none.cpp") is None
    binding = read_binding(path)
    if order is None:
        assert binding is None
        return
    assert list(binding.order) == order
    assert binding.results == ((1, 0), (0,))


APPENDING = """
std::vector<at::Tensor> api(at::Tensor x, at::Tensor flag, std::string mode, bool more)
{
    at::TensorList every = at::TensorList(x);
    at::Tensor y = torch::empty_like(x);
    at::Tensor sum = torch::zeros({2}, x.options());
    at::Tensor extra = at::empty({2}, x.options());
    extra.fill_(0.0f);
    int64_t number;
    if (mode == "mean") {
        number = 1;
    }
    EXEC_NPU_CMD(aclnnApi, x, flag, number, more, y, sum, extra);
    std::vector<at::Tensor> result = {y};
    if (more) {
        result.push_back(sum);
        result.emplace_back(extra);
    }
    for (const auto& one : every) result.emplace_back(one);
    result.push_back(flag);
    return result;
}
"""


FIXED = """
std::vector<at::Tensor> api(at::Tensor x, double rate)
{
    int64_t dim = -1;
    const bool activate_left{true};
    float eps = 1e-6f;
    int64_t size = x.numel();
    at::Tensor y = torch::empty_like(x);
    at::Tensor gelu = torch::empty_like(y);
    EXEC_NPU_CMD(aclnnApi, x, dim, rate, activate_left, eps, y, gelu);
    std::vector<at::Tensor> result;
    result.push_back(y);
    result.push_back(gelu);
    return result;
}
"""


def test_constants_of_the_binding_are_attrs(tmp_path):
    path = tmp_path / "pybind.cpp"
    path.write_text(FIXED)
    binding = read_binding(path)
    assert binding.order == (0, 1)
    assert binding.appended == (("", 0), ("", 1))
    assert binding.fixed == (("dim", -1), ("activate_left", True), ("eps", 1e-6))
    op = declared([], [("rate", "float"), ("dim", "int"), ("activateLeft", "bool")])
    assert fixed_attrs(op, binding.fixed) == {"dim": -1, "activateLeft": True}


def test_the_binding_tells_what_is_returned_and_cleared(tmp_path):
    path = tmp_path / "pybind.cpp"
    path.write_text(APPENDING)
    binding = read_binding(path)
    assert binding.order == (0, 1, 2, 3)  # a number made of the only parameter left
    assert binding.results == ((0,),)
    assert binding.appended == (("more", 1), ("more", 2))
    assert binding.cleared == (1, 2)
    assert binding.kept == ("x", "flag")


@pytest.mark.parametrize(
    ("launched", "want"),
    [
        (["self", "target", "grad_output"], ["x", "y", "dy", 3]),
        (["gradOutput", "self", "target"], ["dy", "x", "y", 3]),
        (["self", "target"], ["dy", "x", "y", 3]),
        (["self", "target", "other"], ["dy", "x", "y", 3]),
        ([], ["dy", "x", "y", 3]),
    ],
)
def test_tensors_go_where_the_op_is_launched_with_them(tmp_path, launched, want):
    names = ["gradOutput", "self_input", "target_input"]
    tensors = dict(zip(["dy", "x", "y"], (torch.full((2,), i) for i in range(3)), strict=True))
    (tmp_path / "api.cpp").write_text(
        f"ADD_TO_LAUNCHER_LIST_AICORE(Other, OP_INPUT(x));\n"
        f"ADD_TO_LAUNCHER_LIST_AICORE(MyOp, OP_INPUT({', '.join(launched)}), OP_OUTPUT(y));\n"
    )
    assert launched_inputs(tmp_path, "MyOp") == (launched or [""])
    args, labels = order_tensors([*tensors.values(), 3], [*names, "reduction"], launched)
    of = {id(t): name for name, t in tensors.items()}
    assert [of.get(id(a), a) for a in args] == want and len(labels) == 4


@pytest.mark.parametrize(
    ("labels", "attrs"),
    [
        (
            ("x", "training", "momentum", "eps"),
            {"is_training": True, "momentum": 2.0, "epsilon": 3.0},
        ),
        (("x", "a", "momentum", "eps"), {"epsilon": 1.0, "momentum": 2.0, "is_training": True}),
        ((), {"epsilon": 1.0, "momentum": 2.0, "is_training": True}),
    ],
)
def test_attrs_follow_the_names_of_arguments(labels, attrs):
    op = declared(
        [("x", "required", [])],
        [("epsilon", "float"), ("momentum", "float"), ("is_training", "bool")],
    )
    assert bind_arguments(op, (X, True, 2.0, 3.0), labels)[1] == attrs


class Declared:
    """The part of a ProjectRunner that knows dtypes."""

    class platform:
        name = "ascend910b3"


@pytest.mark.parametrize(
    ("given", "size", "wanted"),
    [
        ((torch.float16, torch.float16), 4, torch.float32),
        ((torch.float32, torch.float64), 4, torch.float32),
        ((torch.float32, torch.float64), 1, torch.float32),
        ((torch.int32, torch.float32), 4, None),
    ],
)
def test_a_scalar_becomes_the_declared_dtype(given, size, wanted):
    params = [("x", "required", ["DT_FLOAT16", "DT_FLOAT"])]
    params += [("value", "required", ["DT_FLOAT", "DT_FLOAT"])]
    op = declared(params)
    for param in op["inputs"]:
        param |= {"follow": "", "formats": []}
    op |= {"outputs": [], "socs": [{"soc": "ascend910b", "inputs": [], "outputs": []}]}
    extension = Extension(Path("."), "fast", "ascend910b3")
    extension._op, extension._runner = op, Declared()
    inputs = {"x": torch.ones(size, dtype=given[0]), "value": torch.ones(1, dtype=given[1])}
    if wanted is None:
        with pytest.raises(UnsupportedCase, match="int32, float32"):
            extension._take_scalars(inputs)
        return
    extension._take_scalars(inputs)
    assert inputs["value"].dtype == wanted and inputs["x"].dtype == given[0]
    np.testing.assert_array_equal(inputs["value"].numpy(), [1])


@pytest.mark.parametrize("value", [torch.ones(2, 3), np.ones((2, 3), np.float32)])
def test_tensors_of_any_library_are_passed_in_their_plain_format(value):
    """torch's ``layout`` tells strides, not a format."""
    described = op_abi._tensor(value, [])
    assert (described.format, described.rank) == (op_abi.FORMATS["ND"], 2)


def test_results_may_be_lists_of_tensors():
    want = [torch.zeros(2), torch.ones(3)]
    assert bench_task._check_precision(want, (tuple(want),))[0] == 1
    assert bench_task._check_precision(want, (want[::-1],))[0] == 0


def test_results_are_compared_in_parts(monkeypatch):
    monkeypatch.setattr(bench_task, "_COMPARED", 4)
    want = torch.arange(10.0).reshape(2, 5)
    assert bench_task._check_precision(want, want.clone())[0] == 1
    got = want.clone()
    got[1, 4] += 1
    passed, absolute, relative = bench_task._check_precision([want], [got])
    assert not passed and absolute.tolist() == [0.0] * 9 + [1.0]
    assert relative.numel() == 10
