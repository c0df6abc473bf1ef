"""Which gradients have kernels: reductions whose axes are an attr, sizes that are one."""

from __future__ import annotations

from typing import Any

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.planner import plan_op
from msopgen_wrap.graph import tracing
from msopgen_wrap.graph.scalars import evaluate
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import gradient_spec, load_spec, parse_spec
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
        pytest.param(
            "torch.std(x, dim, correction=0, keepdim=keepdim)", "row", marks=pytest.mark.slow
        ),
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


def _planned(text: str) -> list[str]:
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    plan = plan_op(gradient_spec(spec))
    return [" ".join(p.name for p in part.writes) for part in plan.parts]


@pytest.mark.slow
def test_statistics_are_stored_by_the_pass_that_has_them() -> None:
    """The sums over rows need what the pass for grad_x computes: nothing is read again for it."""
    text = (
        "op: Norm\ninputs:\n  x: {dtype: float32, rank: [1, 8]}\n"
        "  gamma: {dtype: x, shape: '[x[-1]]'}\noutputs: {y: like x}\n"
        "compute: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * gamma\n"
        "backward: kernel\n"
    )
    assert _planned(text)[:3] == ["grad_x grad_gamma", "grad_x value1", "grad_gamma"]
    # asked for alone
    assert _planned(text)[3:] == ["grad_x", "grad_gamma", "value2", "grad_gamma"]


@pytest.mark.slow
def test_the_gradient_of_a_mean_of_row_losses_is_a_number() -> None:
    spec = load_spec(data_dir("op_specs") / "loss/cosine_embedding_loss.yaml")
    plan = plan_op(gradient_spec(spec))
    written = [" ".join(p.name for p in part.spec.outputs) for part in plan.parts]
    assert written[:2] == ["sum1 sum2 sum3", "grad_x1 grad_x2"]


SEGMENTS = """\
op: Segments
inputs:
  x: {dtype: float32, rank: 1}
  ids: {dtype: int32, shape: "[x[0]]"}
outputs:
  y: {dtype: x, shape: "[count]"}
attrs:
  count: {type: int, default: 3, min: 1}
compute: torch.index_add(x.new_zeros([count]), 0, ids, x)
backward: kernel
cases:
  - {x: [50], ids: [50], count: 100}
"""
REPEATED = """\
op: Repeated
inputs:
  x: {dtype: float32, rank: 1}
outputs:
  y: {dtype: x, shape: "[count * x[0]]"}
attrs:
  count: {type: int, default: 3, min: 1}
compute: x.repeat(count) / count
backward: kernel
"""


def test_a_size_of_an_output_may_be_an_attr(monkeypatch: pytest.MonkeyPatch) -> None:
    """What arrives has another size where the trace is compared with one of another count."""
    made = []
    whole = tracing._trace_once

    def counted(*args: Any) -> Any:
        made.append(args)
        return whole(*args)

    monkeypatch.setattr(tracing, "_trace_once", counted)
    spec = parse_spec(SEGMENTS, "op.yaml").spec
    assert spec is not None
    plan_op(gradient_spec(spec))
    # no more than three for each graph: an attempt, one with the count and one with another
    assert 3 <= len(made) <= 9


def test_the_count_of_copies_reaches_the_kernel_of_the_gradient() -> None:
    spec = parse_spec(REPEATED, "op.yaml").spec
    assert spec is not None
    plan = plan_op(gradient_spec(spec))
    shapes = {"x": (5,), "grad_y": (20,)}
    assert [evaluate(s.expr, {"count": 4}, shapes) for s in plan.scalar_names] == [1 / 4]


def _inputs(text: str) -> OpSpec:
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    return gradient_spec(spec, choosing=False)


def test_a_row_for_several_others_is_written_before_it_is_read() -> None:
    """Heads of keys that serve several heads of the query: repeated, then joined with an axis."""
    plan = plan_op(
        _inputs(
            "op: Served\ninputs:\n  k: {dtype: float32, rank: 2}\n"
            "  q: {dtype: k, shape: '[k[0] * 3, k[1]]'}\noutputs: {y: like q}\ncompute: |\n"
            "  wide = k[:, None].expand(k.shape[0], 3, k.shape[1])\n"
            "  y = torch.tanh(q * wide.reshape(k.shape[0] * 3, k.shape[1]).flip(-1))\n"
            "backward: kernel\n"
        )
    )
    (shape,) = plan.parts[0].bodies[0].stored_shapes.values()
    sizes = {"q": (6, 5), "k": (2, 5), "grad_y": (6, 5)}
    assert [evaluate(size, {}, sizes) for size in shape.written] == [2, 3, 5]
    assert [evaluate(size, {}, sizes) for size in shape.own] == [6, 5]


@pytest.mark.slow
def test_the_sizes_of_what_is_scattered_may_be_a_list_of_an_attr() -> None:
    plan = plan_op(
        _inputs(
            "op: Listed\ninputs:\n  x: {dtype: float32, rank: 3}\n"
            "  i: {dtype: int32, rank: 1}\noutputs:\n"
            "  y: {dtype: x, shape: '[i[0], x[1], sizes[0]]'}\n"
            "attrs: {sizes: [4]}\ncompute: |\n"
            "  wide = F.interpolate(x, size=[sizes[0]], mode='nearest')\n"
            "  y = torch.index_select(wide, 0, i)\nbackward: kernel\n"
            "cases:\n  - {x: [2, 3, 5], i: [7]}\n"
        )
    )
    scatter = next(part for part in plan.parts if part.family.name == "index")
    sizes = {"x": (2, 3, 5), "i": (7,), "grad_y": (7, 3, 9)}
    assert [evaluate(s, {"sizes": (9,)}, sizes) for s in scatter.call.sizes.sizes] == [2, 3, 9]


def test_a_number_per_row_of_an_attr_is_none_of_another_axis() -> None:
    """What arrives at a sum along an attr has its own pass, beside a mean along the last axis."""
    plan = plan_op(
        _inputs(
            "op: Beside\ninputs: {x: {dtype: float32, rank: [1, 8]}}\n"
            "outputs:\n  y: reduce(x, dim, keepdim)\n  z: '[*x, 1]'\n"
            "attrs: {dim: -1, keepdim: false}\ncompute: |\n"
            "  y = x.sum(dim, keepdim=keepdim) ** 2\n  wide = x.unsqueeze(-1)\n"
            "  z = wide - wide.mean(-2, keepdim=True)\nbackward: kernel\n"
        )
    )
    families = {" ".join(p.name for p in part.spec.outputs): part.family for part in plan.parts}
    assert families["grad_x"].name == "elementwise"


@pytest.mark.parametrize(
    ("inputs", "outputs", "compute"),
    [
        (
            "x: {dtype: [float32], rank: 1}",
            "a: like x\n  b: {dtype: [float32], shape: '[min(most, x[0])]'}",
            "a = x.cumsum(-1)\n  b = x[..., :most]",
        ),
        (
            "x: {dtype: [float32], rank: [1, 8]}\n  w: {dtype: [float32], shape: '[*x[:-1], 1]'}",
            "a: like w\n  b: like x",
            "a = torch.cumprod(w.tanh(), -1)\n  b = x / (x.abs() + most)",
        ),
    ],
    ids=["of a slice alone", "of one element"],
)
def test_some_gradients_of_a_scan_scan_nothing(inputs: str, outputs: str, compute: str) -> None:
    """Which results have gradients is a variant of the op of the gradients."""
    spec = parse_spec(
        f"op: Scanned\ninputs:\n  {inputs}\noutputs:\n  {outputs}\n"
        f"attrs:\n  most: {{type: int, default: 2, min: 1}}\ncompute: |\n  {compute}\n"
        "backward: kernel\n",
        "op.yaml",
    ).spec
    assert spec is not None
    assert plan_op(gradient_spec(spec)).bodies
