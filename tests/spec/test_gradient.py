"""The spec of an op's gradient, derived from that of the op."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from msopgen_wrap.diagnostics import Location, OpgenError
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.function_source import function_source
from msopgen_wrap.spec.gradient import gradient_text
from msopgen_wrap.spec.index_arguments import is_index_only
from msopgen_wrap.spec.loader import gradient_spec, load_specs, parse_spec, with_gradients
from msopgen_wrap.spec.model import Code, OpSpec

NORM = """\
op: Norm
inputs:
  x: {dtype: [float16, float32], rank: [1, 8]}
  gamma: {dtype: x, shape: "[x[-1]]"}
outputs:
  y: like x
  rstd: {dtype: float32, shape: "[*x[:-1], 1]"}
attrs:
  epsilon: {type: float, default: 1e-6, min: 0}
compute: |
  x32 = x.float()
  rstd = torch.rsqrt(x32.square().mean(-1, keepdim=True) + epsilon)
  y = (x32 * rstd * gamma.float()).to(x.dtype)
backward: kernel
cases:
  - {x: [3, 5], gamma: [5]}
"""
NORM_GRAD = """\
# The gradient of Norm, derived from its spec by opgen; a formula of your own may
# take its place: `compute:` over the same inputs and outputs.
op: NormGrad
doc: Gradients of Norm.
inputs:
  x: {dtype: [float16, float32], rank: [1, 8]}
  gamma: {dtype: [float16, float32], shape: '[x[-1]]'}
  grad_y: {dtype: [float16, float32], shape: like x}
  grad_rstd: {dtype: [float32, float32], shape: '[*x[:-1], 1]'}
outputs:
  grad_x: {dtype: [float16, float32], shape: 'like x if asked in ("all", "x"EACH) else [0]'}
  grad_gamma: {dtype: [float16, float32], shape: 'like gamma if asked in ("all", GAMMA) else [0]'}
attrs:
  epsilon: {type: float, default: 1.0e-06, min: 0.0}
  asked: {type: str, default: all, allowed: [all, x, gamma, all from y, all from rstd]}
gradient_of: |
  x32 = x.float()
  rstd = torch.rsqrt(x32.square().mean(-1, keepdim=True) + epsilon)
  y = (x32 * rstd * gamma.float()).to(x.dtype)
backward: none
soc: [ascend910b, ascend910_93]
tolerance: {grad_x: mixed, grad_gamma: mixed}
cases:
  - {x: [3, 5], gamma: [5], grad_y: [3, 5], grad_rstd: [3, 1]}
""".replace("EACH", ', "all from y", "all from rstd"').replace(
    "GAMMA", '"gamma", "all from y", "all from rstd"'
)


def spec_of(text: str) -> OpSpec:
    result = parse_spec(text, "op.yaml")
    assert result.spec is not None, [str(d) for d in result.diagnostics]
    return result.spec


def op(inputs: str, outputs: str, compute: str, more: str = "") -> OpSpec:
    return spec_of(
        f"op: AnOp\ninputs: {inputs}\noutputs: {outputs}\ncompute: {compute}\n{more}"
        "backward: kernel\n"
    )


def test_the_derived_spec_is_one_a_reader_could_have_written() -> None:
    assert gradient_text(spec_of(NORM)) == NORM_GRAD


def test_an_expression_becomes_an_assignment() -> None:
    text = gradient_text(op("{x: float32}", "{y: like x}", "torch.sin(x) * 2"))
    assert "gradient_of: |\n  y = torch.sin(x) * 2\n" in text
    two = op("{x: float32}", "{y: like x, z: like x}", "'x.sin(), x.cos()'")
    assert "  y, z = x.sin(), x.cos()\n" in gradient_text(two)


@pytest.mark.parametrize(
    ("compute", "formula"),
    [
        ("assert x.dim() > 0\n  torch.sin(x)", "assert x.dim() > 0\n  y = torch.sin(x)\n"),
        ("é = x * 2; torch.sin(é)", "é = x * 2; y = torch.sin(é)\n"),
        (
            "z = x * 2\n  (torch.sin(z)\n   * z)",
            "z = x * 2\n  y = (\n  (torch.sin(z)\n   * z)\n  )\n",
        ),
    ],
)
def test_the_expression_at_the_end_of_statements_is_assigned(compute: str, formula: str) -> None:
    text = f"op: AnOp\ninputs: {{x: float32}}\noutputs: {{y: like x}}\ncompute: |\n  {compute}\n"
    assert f"gradient_of: |\n  {formula}" in gradient_text(spec_of(text))


def test_broadcast_inputs_have_one_shape() -> None:
    text = gradient_text(
        op(
            "{a: float32, b: a}",
            "{y: 'broadcast(a, b)'}",
            "a * b",
            "cases: [{a: [4, 1], b: [3]}]\n",
        )
    )
    assert "  b: {dtype: [float32], shape: like a}\n" in text
    assert "  grad_y: {dtype: [float32], shape: like a}\n" in text
    assert "  - {a: [4, 3], b: [4, 3], grad_y: [4, 3]}\n" in text


def test_combinations_without_floats_are_left_out() -> None:
    spec = op(
        "{a: [float16, int32], b: a}",
        "{y: 'broadcast(a, b)'}",
        "torch.maximum(a, b)",
        "cases: [{a: [4], b: [4], dtype: int32}]\n",
    )
    grad = gradient_spec(spec)
    assert [p.dtypes for p in grad.inputs] == [("float16",)] * 3
    assert not grad.cases


def test_integer_inputs_have_no_gradient() -> None:
    grad = gradient_spec(
        op("{x: float32, keep: {dtype: int32, shape: like x}}", "{y: like x}", "x * keep")
    )
    assert [p.name for p in grad.inputs] == ["x", "keep", "grad_y"]
    assert [p.name for p in grad.outputs] == ["grad_x"]


def _autograd(spec: OpSpec, inputs: dict[str, Any], grads: dict[str, Any]) -> Any:
    forward = compile_compute(spec)
    leaves = {n: t.clone().requires_grad_() for n, t in inputs.items()}
    outputs = forward(leaves, {})
    return torch.autograd.grad(list(outputs.values()), list(leaves.values()), list(grads.values()))


def test_the_reference_of_a_gradient_is_that_of_autograd() -> None:
    spec = spec_of(NORM)
    inputs = {"x": torch.randn(3, 5).double(), "gamma": torch.randn(5).double()}
    grads = {"y": torch.randn(3, 5).double(), "rstd": torch.randn(3, 1).double()}
    expected = _autograd(spec, inputs, grads)
    given = {**inputs, **{f"grad_{n}": g for n, g in grads.items()}}
    got = compile_compute(gradient_spec(spec))(given, {})
    assert list(got) == ["grad_x", "grad_gamma"]
    for value, want in zip(got.values(), expected, strict=True):
        torch.testing.assert_close(value, want, rtol=1e-6, atol=1e-6)
    # ... also as the generated function
    namespace: dict[str, Any] = {"torch": torch}
    runtime: dict[str, Any] = {}
    source = (data_dir("templates") / "torch_ext/runtime/gradients.py").read_text("utf-8")
    exec(source, runtime)
    namespace["_vjp"] = runtime["vjp"]
    exec(function_source(gradient_spec(spec), "norm_grad"), namespace)
    again = namespace["norm_grad"](**given)
    for value, want in zip(again, expected, strict=True):
        torch.testing.assert_close(value, want, rtol=1e-6, atol=1e-6)


def test_lists_have_lists_of_gradients() -> None:
    spec = op(
        "{x: {dtype: float32, list: true}}",
        "{y: {shape: like x, list: true}}",
        '"[t * t for t in x]"',
    )
    xs = [torch.randn(3), torch.randn(2, 2)]
    grads = [torch.ones_like(x) for x in xs]
    got = compile_compute(gradient_spec(spec))({"x": xs, "grad_y": grads}, {})["grad_x"]
    for value, x in zip(got, xs, strict=True):
        torch.testing.assert_close(value, 2 * x)


def test_a_gradient_follows_its_op_unless_a_file_has_it(tmp_path: Any) -> None:
    (tmp_path / "norm.yaml").write_text(NORM)
    specs = load_specs([tmp_path / "norm.yaml"])
    assert [s.op for s in specs] == ["Norm", "NormGrad"]
    own = NORM_GRAD.replace("doc: Gradients of Norm.", "doc: mine")
    (tmp_path / "norm_grad.yaml").write_text(own)
    specs = load_specs([tmp_path])
    assert [(s.op, s.doc) for s in specs] == [("Norm", ""), ("NormGrad", "mine")]
    own = own.split("gradient_of:")[0].replace("epsilon", "eps")
    own += "compute: grad_x, grad_gamma = grad_y * eps * grad_rstd, gamma\nbackward: none\n"
    (tmp_path / "norm_grad.yaml").write_text(own)
    with pytest.raises(OpgenError, match="does not have the parameters"):
        load_specs([tmp_path])


@pytest.mark.parametrize(
    ("inputs", "outputs", "compute", "why"),
    [
        (
            "{b: {dtype: float32, optional: true}, x: float32}",
            "{y: 'broadcast(b, x)'}",
            "x if b is None else x + b",
            "is optional",
        ),
        ("{x: float32, w: float32}", "{y: like x}", "x * w", "any shape"),
        ("{x: int32}", "{y: like x}", "x * 2", "floating point"),
        ("{x: float32}", "{y: {inplace: x}}", "x * 2", "in-place"),
    ],
)
def test_what_has_no_kernel_says_why(inputs: str, outputs: str, compute: str, why: str) -> None:
    text = f"op: AnOp\ninputs: {inputs}\noutputs: {outputs}\ncompute: {compute}\n"
    result = parse_spec(text.replace("{inplace: x}", "{inplace: x}") + "backward: kernel\n", "a")
    if "inplace" in outputs:
        result = parse_spec(text.replace("y: {", "x: {") + "backward: kernel\n", "a")
    errors = [d for d in result.diagnostics if d.severity == "error"]
    assert [d.code for d in errors] == ["OPG050"]
    assert errors[0].location.line == 5
    assert why in errors[0].why


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("grad_gamma: {", "grad_beta: {", "no gradient of an input"),
        ("  grad_y: {", "  given_y: {", ""),
        ("gradient_of: |", "compute: x\ngradient_of: |", "both given"),
    ],
)
def test_a_wrong_gradient_is_refused(old: str, new: str, what: str) -> None:
    text = NORM_GRAD.replace("tolerance: {grad_x: mixed, grad_gamma: mixed}\n", "")
    result = parse_spec(text.split("cases:")[0].replace(old, new), "a.yaml")
    assert result.spec is None or what == ""
    if what:
        assert any(d.code == "OPG050" and what in d.what for d in result.diagnostics)


def test_nothing_arrives() -> None:
    empty = parse_spec("op: AnOp\ninputs: {x: float32}\noutputs: {y: x}\ngradient_of:\n", "a")
    assert empty.spec is None and "OPG040" in {d.code for d in empty.diagnostics}
    text = "op: AnOp\ninputs: {x: float32}\noutputs: {grad_x: like x}\ngradient_of: y = x * 2\n"
    result = parse_spec(text + "backward: none\n", "a.yaml")
    assert any("no gradient to start from" in d.what for d in result.diagnostics)


def test_ops_without_the_word_stay_alone() -> None:
    spec = spec_of(NORM.replace("backward: kernel\n", ""))
    assert with_gradients([spec]) == [spec]


def test_an_arriving_gradient_may_have_a_shape_with_a_condition() -> None:
    spec = op(
        "{x: {dtype: float32, rank: [1, 8]}}",
        "{y: \"like x if how == 'none' else []\"}",
        "x * 2 if how == 'none' else x.sum()",
        "attrs: {how: {type: str, default: none, allowed: [none, sum]}}\n",
    )
    assert gradient_spec(spec).param("grad_y").shape_text == "like x if how == 'none' else []"


def test_auto_is_a_kernel_where_a_file_has_it(tmp_path: Any) -> None:
    auto = NORM.replace("backward: kernel", "backward: auto")
    (tmp_path / "norm.yaml").write_text(auto)
    (alone,) = load_specs([tmp_path])
    assert alone.backward == "auto"
    (tmp_path / "norm_grad.yaml").write_text(NORM_GRAD)
    assert [s.backward for s in load_specs([tmp_path])] == ["kernel", "none"]
    other = "op: NormGrad\ninputs: {x: float32}\noutputs: {y: like x}\ncompute: x * 2\n"
    (tmp_path / "norm_grad.yaml").write_text(other)
    assert [s.backward for s in load_specs([tmp_path])] == ["auto", "reference"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("+ epsilon)", "+ 2 * epsilon)"), ("default: 1e-6", "default: 1e-5"), ("float16, ", "")],
)
def test_a_derived_gradient_follows_its_op(tmp_path: Any, old: str, new: str) -> None:
    text = NORM.replace(old, new)
    assert text != NORM
    (tmp_path / "norm.yaml").write_text(text)
    (tmp_path / "norm_grad.yaml").write_text(NORM_GRAD)
    spec, grad = load_specs([tmp_path])
    assert grad.source == gradient_text(spec) != NORM_GRAD


def test_a_derived_gradient_of_a_float_keeps_its_own_tolerance(tmp_path: Any) -> None:
    (tmp_path / "norm.yaml").write_text(NORM)
    edited = NORM_GRAD.replace("grad_x: mixed", "grad_x: 0.01")
    (tmp_path / "norm_grad.yaml").write_text(edited)
    assert load_specs([tmp_path])[1].source == edited


def test_an_absent_input_has_the_gradient_zero() -> None:
    spec = op(
        "{x: float32, b: {dtype: x, optional: true, shape: '[x[-1]]'}}",
        "{y: like x}",
        "x * 3 if b is None else x * b",
        "cases: [{x: [2, 3]}]\n",
    )
    grad = gradient_spec(spec)
    assert "  grad_b: {dtype: [float32], shape: 'broadcast(b) if asked in (" in grad.source
    assert grad.cases[0].shapes == {"x": (2, 3), "b": None, "grad_y": (2, 3)}
    x, b, weights = torch.randn(2, 3), torch.randn(3), torch.randn(2, 3)
    run = compile_compute(grad)
    for given, wanted in ((b, (weights * x).sum(0)), (None, torch.zeros(()))):
        inputs = {"x": x, "b": given, "grad_y": weights}
        torch.testing.assert_close(run(inputs, {})["grad_b"], wanted)
        namespace: dict[str, Any] = {"torch": torch}
        runtime: dict[str, Any] = {}
        path = data_dir("templates") / "torch_ext/runtime/gradients.py"
        exec(path.read_text("utf-8"), runtime)
        namespace["_vjp"] = runtime["vjp"]
        exec(function_source(grad, "an_op_grad"), namespace)
        torch.testing.assert_close(namespace["an_op_grad"](**inputs)[1], wanted)


REDUCED = """\
op: Total
inputs: {x: {dtype: float32, rank: [1, 8]}}
outputs: {y: "reduce(x, dim, keepdim)"}
attrs: {dim: {type: list_int, default: [-1]}, keepdim: false}
compute: COMPUTE
backward: kernel
cases: [{x: [3, 4, 5], dim: [0, 2], keepdim: true}, {x: [3, 4]}]
"""


@pytest.mark.parametrize(
    ("compute", "formula"),
    [
        ("torch.sum(x, dim, keepdim)", "y = torch.sum(x, dim, True)"),
        ("x.mean(dim, keepdim=keepdim) * 2", "y = x.mean(dim, keepdim=True) * 2"),
    ],
)
def test_the_gradient_of_a_reduction_keeps_its_axes(compute: str, formula: str) -> None:
    grad = gradient_spec(spec_of(REDUCED.replace("COMPUTE", compute)))
    assert formula in grad.source
    assert "grad_y: {dtype: [float32], shape: 'reduce(x, dim, true)'}" in grad.source
    assert [a.name for a in grad.attrs] == ["dim"]
    assert [c.shapes["grad_y"] for c in grad.cases] == [(1, 4, 1), (3, 1)]


def test_an_attr_that_says_more_than_keepdim_stays() -> None:
    text = REDUCED.replace("COMPUTE", "torch.sum(x * 2 if keepdim else x, dim, keepdim)")
    grad = gradient_spec(spec_of(text))
    assert [a.name for a in grad.attrs] == ["dim", "keepdim"]
    assert "shape: 'reduce(x, dim, keepdim)'" in grad.source


@pytest.mark.parametrize(
    ("compute", "indices"),
    [
        ("torch.gather(x, dim, i)", True),
        ("x.gather(-1, index=i.long())", True),
        ("F.embedding(i, x) + i.shape[0]", True),
        ("x.index_select(0, i.reshape(-1).to(torch.int64))", True),
        ("x[i]", True),
        ("x[..., i[:, None]]", True),
        ("x[i] * i", False),
        ("x * i", False),
        ("torch.gather(i, 0, x)", False),
        ("x.scatter_add(0, x, i)", False),
        ("torch.take_along_dim(x, i, 0)", False),
        ("x * i.sum()", False),
        ("j = i + 1\nx[j]", False),
        ("x + 1", False),
        ("x[(i", False),  # no Python: reported elsewhere
    ],
)
def test_which_inputs_are_indices(compute: str, indices: bool) -> None:
    assert is_index_only(Code(compute, Location("")), "i") == indices


@pytest.mark.parametrize(
    ("compute", "shape", "planned"),
    [
        ("torch.gather(x, -1, i)", "like i", True),
        ("x * i", "like x", True),
        ("x * i", "like i", False),  # x may be broadcast: its gradient is a sum
        ("(x * i).sum()", "[]", False),
    ],
)
def test_integers_of_any_shape_that_cannot_broadcast_what_has_a_gradient(
    compute: str, shape: str, planned: bool
) -> None:
    result = parse_spec(
        "op: Some\ninputs:\n  x: {dtype: float32, rank: 2}\n  i: {dtype: int32, rank: 2}\n"
        f'outputs:\n  y: {{dtype: x, shape: "{shape}"}}\ncompute: {compute}\nbackward: kernel\n'
    )
    errors = [d.code for d in result.diagnostics if d.severity == "error"]
    assert errors == ([] if planned else ["OPG050"])
