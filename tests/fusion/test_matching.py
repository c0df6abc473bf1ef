"""Which formulas are an op however they are written, and which are not."""

from __future__ import annotations

import math
from typing import Any

import pytest

from msopgen_wrap.fusion.finder import Finder
from msopgen_wrap.fusion.model_trace import traced_model
from msopgen_wrap.torch_import import torch
from tests.fusion.models import Lambda
from tests.fusion.reference_ops import fused, library, spec_of

F = torch.nn.functional
ADD_RELU, MUL_SIGMOID, MY_ADD = library(
    "elementwise/fused_add_relu", "elementwise/fused_mul_sigmoid", "elementwise/my_add"
)
GELU, SWISH, SWI_GLU = library("activation/custom_gelu", "activation/swish", "activation/swi_glu")
RMS, LAYER, SOFTMAX, ADD_RMS, GROUP = library(
    "norm/rms_norm",
    "norm/custom_layer_norm",
    "norm/softmax",
    "norm/add_rms_norm",
    "norm/group_norm",
)
BIAS = library("elementwise/bias_scale_residual")[0]
X, Y, ROW = torch.randn(3, 4, 8), torch.randn(3, 4, 8), torch.randn(8)


def tanh_gelu(x: Any) -> Any:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def rms(x: Any, w: Any) -> Any:
    return w * (x / torch.sqrt(torch.mean(x * x, dim=-1, keepdim=True) + 3e-5))


def layer_norm(x: Any, w: Any, b: Any) -> Any:
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / (var + 1e-3).sqrt() * w + b


# formula, inputs, op, attrs that are recovered
SAME = [
    (lambda x, y: torch.relu(y + x), (X, Y), ADD_RELU, {}),
    (lambda x, y: (x + y).clamp(min=0), (X, ROW), ADD_RELU, {}),
    (lambda x, y: torch.maximum(x + y, torch.zeros(())), (X, Y), ADD_RELU, {}),
    (lambda x, y: F.relu(x.add(y[:, None])), (X, torch.randn(3, 8)), ADD_RELU, {}),
    (lambda x: torch.relu(x + x), (X,), ADD_RELU, {}),
    (lambda x: torch.relu(2 * x), (X,), ADD_RELU, {}),
    (lambda x: x * x * torch.sigmoid(x), (X,), MUL_SIGMOID, {}),
    (lambda x, y: x * y / (1 + torch.exp(-y)), (X, Y), MUL_SIGMOID, {}),
    (lambda x, y: y.sigmoid() * (y * x), (X, Y), MUL_SIGMOID, {}),
    (lambda x, y: F.silu(y) * x, (X, Y), MUL_SIGMOID, {}),
    (lambda x, y: y + 2 * x, (X, Y), MY_ADD, {}),
    (lambda x, y: torch.add(y, x, alpha=2), (X, Y), MY_ADD, {}),
    (lambda x, y: y - 3 * x, (X, Y), MY_ADD, {"alpha": -3}),
    (tanh_gelu, (X,), GELU, {"approximate": "tanh"}),
    (
        lambda x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))),
        (X,),
        GELU,
        {"approximate": "none"},
    ),
    (lambda x: x * torch.sigmoid(1.702 * x), (X,), SWISH, {"beta": 1.702}),
    (lambda x: F.silu(x), (X,), SWISH, {"beta": 1.0}),
    (lambda x: (lambda a, b: F.silu(a) * b)(*x.chunk(2, -1)), (X,), SWI_GLU, {}),
    (rms, (X, ROW), RMS, {"epsilon": 3e-5}),
    (lambda x, w: F.rms_norm(x, [8], w, 1e-4), (X, ROW), RMS, {"epsilon": 1e-4}),
    (layer_norm, (X, ROW, ROW + 1), LAYER, {"epsilon": 1e-3}),
    (lambda x, w, b: F.layer_norm(x, [8], w, b, 1e-4), (X, ROW, ROW), LAYER, {"epsilon": 1e-4}),
    (lambda x: torch.softmax(x, 1), (X,), SOFTMAX, {"dim": 1}),
    (
        lambda x: (lambda e: e / e.sum(-1, keepdim=True))((x - x.amax(-1, keepdim=True)).exp()),
        (X,),
        SOFTMAX,
        {"dim": -1},
    ),
    (lambda x, r, b: (x + b) * 3 + r, (X, Y, ROW), BIAS, {"scale": 3.0}),
    (lambda x, r: x / 8 + r, (X, Y), BIAS, {"scale": 0.125}),
]


@pytest.mark.parametrize(("formula", "inputs", "spec", "attrs"), SAME)
def test_a_formula_is_the_op_however_it_is_written(
    formula: Any, inputs: Any, spec: Any, attrs: dict[str, Any]
) -> None:
    report = fused(Lambda(formula), inputs, spec).report
    assert len(report.fused) == 1, str(report)
    found = report.fused[0].attrs
    assert {k: found[k] for k in attrs} == pytest.approx(attrs)


def test_a_norm_of_torch_in_compute_is_found() -> None:
    spec = spec_of(
        "op: TanhNorm\ninputs:\n  x: {dtype: [float32]}\n"
        '  w: {dtype: x, shape: "[x[-1]]"}\n'
        "outputs:\n  y: like x\nattrs: {eps: 1.0e-5}\n"
        "compute: F.rms_norm(torch.tanh(x), [x.shape[-1]], w, eps)\n"
    )
    model = Lambda(lambda x, w: F.rms_norm(torch.tanh(x), [8], w, 3e-4))
    (call,) = fused(model, (X, ROW), spec).report.fused
    assert call.attrs == pytest.approx({"eps": 3e-4})


def test_a_number_minus_a_tensor_is_found() -> None:
    spec = spec_of(
        "op: Blend\ninputs:\n  g: {dtype: [float32]}\n  a: {dtype: g}\n  b: {dtype: g}\n"
        'outputs:\n  y: {dtype: g, shape: "broadcast(g, a, b)"}\n'
        "compute: y = g * a + (1 - g) * b\n"
    )
    for formula in (
        lambda g, a, b: g * a + (1 - g) * b,
        lambda g, a, b: b * torch.sub(1, g) + a * g,
    ):
        report = fused(Lambda(formula), (X, Y, ROW), spec).report
        assert [c.inputs for c in report.fused] == [
            {"g": "inputs_0", "a": "inputs_1", "b": "inputs_2"}
        ], str(report)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_casts_on_the_way_belong_to_the_op(dtype: Any) -> None:
    def norm(x: Any, w: Any) -> Any:
        h = x.float()
        return w * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)

    model = fused(Lambda(norm), (X.to(dtype), ROW.to(dtype)), RMS)
    (call,) = model.report.fused
    assert call.inputs == {"x": "inputs_0", "gamma": "inputs_1"}
    assert model(X.to(dtype), ROW.to(dtype)).dtype is dtype


def once(x: Any, y: Any) -> Any:
    z = x + y
    return torch.relu(z) * z


def written(x: Any, y: Any) -> Any:
    z = torch.relu(x + y)
    part = z[0]
    z.mul_(2)
    return part


# formula, inputs, op, what the report says
OTHER = [
    (once, (X, Y), ADD_RELU, "used elsewhere"),
    (written, (X, Y), ADD_RELU, "written in place"),
    (lambda x, y: torch.relu(x + y), (X.double(), Y.double()), ADD_RELU, "no dtypes"),
    (lambda x, y: torch.relu(F.dropout(x + y)), (X, Y), ADD_RELU, ""),
    (lambda x, y: torch.relu((x + y).detach()), (X, Y), ADD_RELU, ""),
    (lambda x, y: torch.relu(x - y), (X, Y), ADD_RELU, "with factors 1, -1"),
    (lambda x: torch.relu(x + 1), (X,), ADD_RELU, "a sum of 1 value and 1"),
    (lambda x: 3 * x, (X,), MY_ADD, "save no GM bytes"),
    (lambda x, r: x * 2 + r, (X[:, :1], Y), BIAS, "the op takes [3, 1, 8]"),
    (lambda x, y: F.leaky_relu(x + y), (X, Y), ADD_RELU, ""),
    (lambda x, y: torch.relu((x + y).half().float()), (X, Y), ADD_RELU, "rounds to float16"),
    (lambda x, w: rms(x.transpose(0, 2), w[:3]), (X, ROW), RMS, ""),
    (lambda x: torch.softmax(x, 1) + torch.relu(x), (X,), GELU, ""),
    (lambda x, w: w * x * torch.rsqrt(x.pow(2).mean(0, keepdim=True)), (X, ROW), RMS, ""),
    (lambda x: 0.5 * x * (1 + torch.tanh(0.8 * (x + 0.05 * x**3))), (X,), GELU, ""),
    (lambda x: F.silu(x.chunk(2, -1)[1]) * x.chunk(2, -1)[0], (X,), SWI_GLU, "constants or axes"),
]


@pytest.mark.parametrize(("formula", "inputs", "spec", "reason"), OTHER)
def test_another_formula_stays_and_the_report_says_why(
    formula: Any, inputs: Any, spec: Any, reason: str
) -> None:
    model = fused(Lambda(formula), inputs, spec)
    assert model.report.fused == []
    assert reason in str(model.report)
    torch.manual_seed(0)
    wanted = formula(*inputs)
    torch.manual_seed(0)
    torch.testing.assert_close(model(*inputs), wanted)


def test_several_outputs_are_taken_where_the_model_uses_them() -> None:
    def both(x: Any, residual: Any, w: Any) -> Any:
        total = x + residual
        return total, w * (total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1e-6))

    model = fused(Lambda(both), (X, Y, ROW), ADD_RMS)
    (call,) = model.report.fused
    assert len(call.outputs) == 2, call
    assert call.bytes_after < call.bytes_before


def test_an_op_of_more_steps_is_preferred_to_its_parts() -> None:
    def both(x: Any, residual: Any, w: Any) -> Any:
        return F.rms_norm(x + residual, [8], w, 1e-6)

    report = fused(Lambda(both), (X, Y, ROW), RMS, ADD_RMS).report
    assert [c.op for c in report.fused] == ["CustomAddRmsNorm"]


def test_axes_that_are_no_attr_are_proved_by_numbers() -> None:
    spec = spec_of(
        "op: FirstAxis\ninputs:\n  x: {dtype: [float32], rank: 2}\n"
        "outputs:\n  y: like x\ncompute: x - x.mean(0, keepdim=True)\n"
    )
    square = torch.randn(5, 5)
    assert fused(Lambda(lambda x: x - x.mean(0)), (square,), spec).report.fused
    assert not fused(Lambda(lambda x: x - x.mean(1)), (square,), spec).report.fused


def test_an_op_that_saves_nothing_keeps_no_other_away() -> None:
    torch.manual_seed(0)
    model = Lambda(lambda x, y, z: torch.relu(x * y + z.repeat(1, 2)))
    inputs = (torch.randn(4, 8), torch.randn(4, 8), torch.randn(4, 4))
    graph = traced_model(model, inputs, {}).graph
    specs = [BIAS, *library("activation/custom_relu"), ADD_RELU]
    finder = Finder(graph)
    sites = finder.sites(specs, saving=True)
    assert [site.spec.op for site in sites] == ["FusedAddRelu"]
    assert {"BiasScaleResidual", "CustomRelu"} >= {miss.op.split()[0] for miss in finder.misses}
    assert any("save no GM bytes" in miss.reason for miss in finder.misses)
