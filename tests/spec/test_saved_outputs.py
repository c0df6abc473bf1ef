"""``save:``: outputs that forward keeps, and that a kernel of the gradients reads."""

from __future__ import annotations

import pytest
import torch

from msopgen_wrap.families.gradients import gradient_source
from msopgen_wrap.families.planner import plan_op
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_ext.ops_render import render_op

NORM = """\
op: Norm
inputs:
  x: {dtype: float32, rank: [1, 8]}
  gamma: {dtype: x, shape: "[x[-1]]"}
outputs:
  y: like x
  rstd: {dtype: float32, shape: "[*x[:-1], 1]"}
compute: |
  mean = x.square().mean(-1, keepdim=True)
  rstd = torch.rsqrt(mean + 1e-6)
  y = x * rstd * gamma
backward: kernel
save: [rstd]
"""


def spec_of(text: str) -> OpSpec:
    result = parse_spec(text, "op.yaml")
    assert result.spec is not None, [str(d) for d in result.diagnostics]
    return result.spec


def reads(text: str) -> list[set[str]]:
    plan = plan_op(gradient_spec(spec_of(text)))
    return [{view.tensor for view in part.operands().values()} for part in plan.parts]


def test_kernels_read_what_is_saved_and_compute_it_no_more() -> None:
    norm = reads(NORM)
    assert all("saved_rstd" in names for names in norm if "grad_y" in names)
    assert not any(name.startswith("value") for names in norm for name in names)


def test_the_reference_takes_the_saved_value_and_the_gradient_goes_on() -> None:
    grad = gradient_spec(spec_of(NORM))
    x, gamma, weights = torch.randn(3, 8), torch.randn(8), torch.randn(3, 8)
    rstd = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
    of_rstd = torch.randn(3, 1)
    inputs = {"x": x, "gamma": gamma, "grad_y": weights, "grad_rstd": of_rstd}
    given = [v.clone().requires_grad_() for v in (x, gamma)]
    again = torch.rsqrt(given[0].square().mean(-1, keepdim=True) + 1e-6)
    results = [given[0] * again * given[1], again]
    wanted = torch.autograd.grad(results, given, [weights, of_rstd])
    found = compile_compute(grad)({**inputs, "saved_rstd": rstd}, {})
    torch.testing.assert_close(found["grad_x"], wanted[0])
    torch.testing.assert_close(found["grad_gamma"], wanted[1])
    doubled = compile_compute(grad)({**inputs, "saved_rstd": 2 * rstd}, {})
    torch.testing.assert_close(doubled["grad_gamma"], 2 * wanted[1])


def test_the_binding_saves_the_output() -> None:
    text = render_op(spec_of(NORM), "acme").text
    assert "_gradients.pack(ctx, [x, gamma, *_saved])" in text
    assert "x, gamma, rstd = _gradients.unpack(_ctx)" in text


def test_plan_says_what_is_saved_and_what_is_computed_again() -> None:
    why = gradient_source(spec_of(NORM))["why"]
    assert "saved: x, gamma, rstd; computed again where needed: mean, y" in why


@pytest.mark.parametrize(
    ("save", "code", "text"),
    [
        ("[rsdt]", "OPG085", "did you mean 'rstd'?"),
        ("[mean]", "OPG085", "add it to 'outputs'"),
        ("[x]", "OPG085", "remove it"),
    ],
)
def test_a_name_that_cannot_be_saved(save: str, code: str, text: str) -> None:
    result = parse_spec(NORM.replace("[rstd]", save, 1).replace("save: [rstd]", f"save: {save}"))
    assert result.spec is None
    (problem,) = [d for d in result.diagnostics if d.severity == "error"]
    assert (problem.code, problem.location.line) == (code, 13)
    assert text in problem.fix


@pytest.mark.parametrize("backward", ["reference", "none", "{kernel: true, x: grad_y}"])
def test_save_needs_a_derived_kernel(backward: str) -> None:
    result = parse_spec(NORM.replace("backward: kernel", f"backward: {backward}"))
    assert "OPG086" in [d.code for d in result.diagnostics]
