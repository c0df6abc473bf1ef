"""Schemas, aclnn parameters and shape code, as tables."""

from __future__ import annotations

import pytest

from msopgen_wrap.spec.shapes import ShapeError, evaluate
from msopgen_wrap.torch_ext.shape_code import CppShapes, PythonShapes
from msopgen_wrap.torch_ext.signature import aclnn_params, torch_schema

from .fakes import spec

SIGNATURES = {
    "plain": (
        "op: MyAdd\ninputs: {x: float32, y_two: float32}\noutputs: {z: like x}\ncompute: x + y_two",
        "my_add(Tensor x, Tensor y_two) -> Tensor",
        ["const aclTensor* x", "const aclTensor* yTwo", "const aclTensor* out"],
    ),
    "attrs": (
        """
op: MyOp
inputs: {x: float32}
outputs: {z: like x, other: like x}
attrs:
  count: {type: int}
  rate: 0.5
  mode: {type: str, default: tanh, allowed: [none, tanh]}
  keep: {type: bool, default: true}
  dims: {type: list_int, default: [0, -1]}
  weights: {type: list_float, default: [0.5]}
compute: |
  z = x * rate
  other = x * count
""",
        'my_op(Tensor x, int count, float rate=0.5, str mode="tanh", bool keep=True, '
        "int[] dims=[0, -1], float[] weights=[0.5]) -> (Tensor, Tensor)",
        [
            "const aclTensor* x",
            "int64_t count",
            "double rate",
            "char* modeOptional",
            "bool keep",
            "const aclIntArray* dimsOptional",
            "const aclFloatArray* weightsOptional",
            "const aclTensor* zOut",
            "const aclTensor* otherOut",
        ],
    ),
    "optional": (
        """
op: MyOp
inputs: {x: float32, bias: {dtype: x, optional: true}}
outputs: {z: like x}
compute: x if bias is None else x + bias
""",
        "my_op(Tensor x, Tensor? bias=None) -> Tensor",
        ["const aclTensor* x", "const aclTensor* biasOptional", "const aclTensor* out"],
    ),
    "optional before required": (
        """
op: MyOp
inputs: {x: float32, bias: {dtype: x, optional: true}, y: {dtype: x}}
outputs: {z: like x}
compute: y if bias is None else y + bias
""",
        "my_op(Tensor x, Tensor? bias, Tensor y) -> Tensor",
        [
            "const aclTensor* x",
            "const aclTensor* biasOptional",
            "const aclTensor* y",
            "const aclTensor* out",
        ],
    ),
    "in place and fresh": (
        """
op: MyStep
inputs: {var: float32, grad: float32}
outputs: {var: {inplace: var}, size: like grad}
compute: |
  var = var - grad
  size = grad * 2
backward: none
""",
        "my_step(Tensor(a!) var, Tensor grad) -> Tensor",
        ["aclTensor* varRef", "const aclTensor* grad", "const aclTensor* sizeOut"],
    ),
    # As opbuild of CANN master writes them: the first letter small, Ref before Optional, and
    # Optional only on attrs that are pointers.
    "optional attrs and capitals": (
        """
op: MyOp
inputs: {X: float32, y_2: X}
outputs: {z: like X}
attrs:
  count: 1
  rate: 0.5
  keep: true
  kind: {type: dtype, default: float16}
  mode: tanh
  dims: [0, -1]
  weights: [0.5]
  need: {type: str}
compute: X * rate + y_2
""",
        "my_op(Tensor X, Tensor y_2, int count, float rate, bool keep, ScalarType kind, "
        "str mode, int[] dims, float[] weights, str need) -> Tensor",
        [
            "const aclTensor* x",
            "const aclTensor* y2",
            "int64_t count",
            "double rate",
            "bool keep",
            "int64_t kind",
            "char* modeOptional",
            "const aclIntArray* dimsOptional",
            "const aclFloatArray* weightsOptional",
            "char* need",
            "const aclTensor* out",
        ],
    ),
    "lists": (
        """
op: MyEach
inputs: {a: {dtype: float32, list: true}}
outputs: {b: {shape: like a, list: true}}
compute: "[x * 2 for x in a]"
""",
        "my_each(Tensor[] a) -> Tensor[]",
        ["const aclTensorList* a", "const aclTensorList* out"],
    ),
}


@pytest.mark.parametrize("case", SIGNATURES)
def test_signature(case: str) -> None:
    text, schema, params = SIGNATURES[case]
    op = spec(text)
    assert torch_schema(op) == schema
    assert [p.declaration for p in aclnn_params(op)] == params


RULES = {
    "like x": "Like(x)",
    "broadcast(x, y)": 'Broadcast("my_op", {Shape(x), Shape(y)})',
    "[*x[:-1], n]": "Concat({Slice(Shape(x), std::nullopt, -1), Sizes{n}})",
    "[]": "Sizes{}",
    "[x[0] * 2 + 1, numel(y), rank(x)]": (
        "Sizes{((Dim(Shape(x), 0) * 2) + 1), Numel(Shape(y)), Rank(Shape(x))}"
    ),
    "[(x[0] + n - 1) // n, x[1] % n, min(x[0], y[0]), max(x[0], dims[1])]": (
        "Sizes{FloorDiv(((Dim(Shape(x), 0) + n) - 1), n), FloorMod(Dim(Shape(x), 1), n), "
        "std::min<int64_t>(Dim(Shape(x), 0), Dim(Shape(y), 0)), "
        "std::max<int64_t>(Dim(Shape(x), 0), Dim(dims, 1))}"
    ),
    "reduce(x, dims, keep)": "Reduced(Shape(x), dims, keep)",
    "reduce(x, n)": "Reduced(Shape(x), {n}, false)",
    "reduce(x, [0, -1], True)": "Reduced(Shape(x), {0, -1}, true)",
    "[floor(x[0] * factors[1]), ceil(numel(y) * alpha)]": (
        "Sizes{ScaledDown(Dim(Shape(x), 0), Factor(factors, 1)), ScaledUp(Numel(Shape(y)), alpha)}"
    ),
    "permute(y, dims)": "Permuted(Shape(y), dims)",
}


@pytest.mark.parametrize("rule", RULES)
def test_shape_rules_as_code(rule: str) -> None:
    from types import SimpleNamespace

    op = spec(
        f"""
op: MyOp
inputs: {{x: float32, y: float32}}
outputs: {{z: {{dtype: float32, shape: "{rule}"}}}}
attrs:
  n: {{type: int, default: 1}}
  keep: {{type: bool, default: false}}
  dims: {{type: list_int, default: [0, 1]}}
  factors: [0.5, 0.7]
  alpha: 1.5
compute: x + y
backward: none
"""
    )
    shape = op.outputs[0].shape
    assert shape is not None
    assert CppShapes(op).rule(shape) == RULES[rule]
    # The Python form gives what the spec's own evaluation gives, on several shapes.
    import importlib.util
    import os

    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    import torch

    from msopgen_wrap.resources import data_dir

    path = data_dir("templates") / "torch_ext" / "runtime" / "checks.py"
    module = importlib.util.spec_from_file_location("opgen_checks", path)
    assert module is not None and module.loader is not None
    checks = importlib.util.module_from_spec(module)
    import sys

    sys.modules["opgen_checks"] = checks
    module.loader.exec_module(checks)
    code = PythonShapes(op).rule(shape)
    for x, y in [((4, 6), (4, 6)), ((5, 7), (5, 1)), ((3, 2), (2,)), ((2, 3, 4), (3, 1))]:
        attrs = {"n": 1, "keep": True, "dims": [0, 1], "factors": [0.5, 0.7], "alpha": 1.5}
        names = {name: SimpleNamespace(shape=torch.Size(s)) for name, s in (("x", x), ("y", y))}
        known = {"torch": torch, "_checks": checks, **names, **attrs}
        try:
            expected = evaluate(shape, {"x": x, "y": y}, attrs)
        except ShapeError:
            with pytest.raises(RuntimeError, match="no order of the axes"):
                eval(code, known)
            continue
        got = eval(code, known)
        assert tuple(got) == tuple(expected), (rule, x, y)
