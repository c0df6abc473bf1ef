"""Tensors filled with one number: no pass writes them to the workspace."""

from __future__ import annotations

import pytest

from msopgen_wrap.families import plan_op
from msopgen_wrap.families.parts.plan import PartsPlan
from msopgen_wrap.spec.loader import gradient_spec, parse_spec

# The gradients of the slices are put into zeros of the sizes of all pairs.
OVERLAPS = """\
op: OverlapsOfBoxes
doc: areas that boxes share
inputs: {a: {dtype: [float32], rank: 2}, b: {dtype: a, rank: 2}}
outputs: {y: {dtype: a, shape: "[a[0], b[0]]"}}
compute: |
  ends = torch.minimum(a[:, None, 2:], b[:, 2:])
  sides = (ends - torch.maximum(a[:, None, :2], b[:, :2])).clamp(min=0)
  y = sides[:, :, 0] * sides[:, :, 1]
backward: kernel
cases:
  - {a: [33, 4], b: [17, 4]}
"""


@pytest.mark.slow
def test_views_of_filled_tensors_are_not_written() -> None:
    spec = parse_spec(OVERLAPS, "spec.yaml").spec
    assert spec is not None
    plan = plan_op(gradient_spec(spec))
    assert isinstance(plan, PartsPlan)
    written = [p.site.call for part in plan.parts for p in part.spec.outputs if p.site]
    assert written
    assert not [call for call in written if "full" in call]
