"""Which gradients have kernels: reductions whose axes are an attr."""

from __future__ import annotations

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.planner import plan_op
from msopgen_wrap.graph.scalars import evaluate
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec

TEXT = """\
op: Reduced
inputs: {x: {dtype: float32, rank: [1, 8]}}
outputs: {y: "reduce(x, dim, keepdim)"}
attrs:
  dim: {type: list_int, default: [-1]}
  correction: {type: int, default: 1, min: 0, max: 1}
  keepdim: false
compute: COMPUTE
backward: kernel
"""


def gradient(compute: str) -> OpSpec:
    text = TEXT.replace("COMPUTE", compute)
    if "correction" not in compute:
        text = text.replace("  correction: {type: int, default: 1, min: 0, max: 1}\n", "")
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    return gradient_spec(spec)


@pytest.mark.parametrize(
    ("compute", "family"),
    [
        ("torch.sum(x, dim, keepdim)", "elementwise"),
        ("torch.mean(x, dim, keepdim)", "elementwise"),
        ("torch.amax(x, dim, keepdim)", "row"),
        ("torch.var(x, dim, correction=correction, keepdim=keepdim)", "row"),
        ("torch.std(x, dim, correction=0, keepdim=keepdim)", "row"),
    ],
)
def test_axes_may_be_an_attr(compute: str, family: str) -> None:
    assert plan_op(gradient(compute)).family.name == family


def test_the_count_of_a_mean_follows_the_axes() -> None:
    plan = plan_op(gradient("torch.mean(x, dim, keepdim)"))
    (number,) = plan.scalar_names
    shapes = {"x": (3, 4, 5), "grad_y": (1, 4, 1)}
    assert evaluate(number.expr, {}, shapes) == 1 / 15
    assert evaluate(number.expr, {}, {"x": (0, 4), "grad_y": (0, 1)}) != 0  # no division by 0


def test_another_use_of_the_axes_is_refused() -> None:
    with pytest.raises(OpgenError, match="OPG202"):
        plan_op(gradient("torch.sum(x * x.shape[-1], dim, keepdim)"))
