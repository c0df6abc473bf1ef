"""Passes that serve several variants of a gradient: what they may share, and ranks they refuse."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from msopgen_wrap.families.planner import plan_op
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.render.call_reading import operand_condition
from msopgen_wrap.schedule.views import View
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec

WINDOWS = """\
op: Windows
inputs:
  x: {dtype: float16, rank: [1, 8]}
outputs:
  v6: {dtype: float16, shape: like x}
  v7: {dtype: float16, shape: "[*x[:-1], x[-1] - 2, 3]"}
backward: kernel
compute: |
  v6 = F.leaky_relu(torch.atan2(x, F.elu(torch.tanh(x)).abs() + 1), 0.2)
  v7 = F.gelu(x.unfold(-1, 3, 1)) ** 2
"""

STACKED = """\
op: Stacked
inputs:
  x: {dtype: float32, rank: RANK}
outputs:
  v7: {dtype: float32, shape: "[*x[:-1], x[-1] - 2, 3, 2]"}
  v8: {dtype: float32, shape: "[*x[:-1], x[-1] - 2, (3) * 2, 1]"}
backward: kernel
compute: |
  v2 = x.unfold(-1, 3, 1)
  v7 = F.elu(torch.stack([v2, v2], -1))
  v8 = v2.unsqueeze(-1).repeat_interleave(2, -2)
"""

MASKED = """\
op: Masked
inputs:
  q: {dtype: float16, rank: 4}
  k: {dtype: q, rank: 4}
  mask: {dtype: bool, shape: "[q[0], 1, q[2], k[2]]", optional: true}
outputs:
  y: like q
backward: kernel
compute: |
  if mask is None:
    y = F.scaled_dot_product_attention(q, k, k)
  else:
    y = F.scaled_dot_product_attention(q, k, k, attn_mask=mask)
cases:
  - {q: [2, 3, 5, 16], k: [2, 3, 7, 16]}
"""


CAUSAL = MASKED.replace(
    "backward: kernel\n", "attrs:\n  causal: false\nbackward: kernel\n"
).replace("attention(q, k, k)", "attention(q, k, k, is_causal=causal)")


def gradient(text: str, *, choosing: bool = True) -> OpSpec:
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    found = gradient_spec(spec, choosing=choosing)
    assert found is not None
    return found


def test_variants_share_no_temporary_of_other_sizes() -> None:
    # The third product of one graph is one of windows, that of the other one of elements.
    plan = plan_op(gradient(WINDOWS))
    assert sorted({part.spec.served for part in plan.parts}) == [(0,), (1,), (2,)]


def test_an_optional_mask_costs_no_pass() -> None:
    # With a mask the weights are chosen once more, by a call that the graph without one lacks.
    plan = plan_op(gradient(CAUSAL, choosing=False))
    for variant in range(len(plan.variants)):
        made = [[p.name for p in x.spec.outputs] for x in plan.parts if variant in x.served]
        # scores, products with k, what these give; grad_q, grad_k as keys and as values, their sum
        assert len(made) == 7, made
        # One pass makes the gradients of the scores and the weights.
        assert [names for names in made if len(names) == 2] == [made[2]], made


def test_elements_taken_of_a_longer_tensor_have_axes_of_their_own() -> None:
    for rank in ("2", "[1, 8]"):
        assert plan_op(gradient(STACKED.replace("RANK", rank))).parts


@pytest.mark.parametrize(
    ("tensor", "reading", "condition"),
    [
        ("q", (0, 1), ""),
        ("q", (0,), "variant == 0"),
        ("mask", (0,), "maskStorage != nullptr"),
        ("mask", (), "maskStorage != nullptr"),
    ],
)
def test_operands_are_viewed_where_they_are_read(
    tensor: str, reading: tuple[int, ...], condition: str
) -> None:
    """A pass that serves calls with and without a mask may have views with the mask's sizes."""
    spec = parse_spec(MASKED, "op.yaml").spec
    assert spec is not None
    view = View(tensor, 4)
    bodies = [SimpleNamespace(variant=i, operands={"a": view}) for i in reading]
    variants = [Variant((), ("mask",)), Variant((), ())]
    plan: Any = SimpleNamespace(spec=spec, served=(0, 1), variants=variants, bodies=bodies)
    assert operand_condition(plan, "a", view) == condition
