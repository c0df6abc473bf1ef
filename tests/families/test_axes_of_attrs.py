"""Reductions along an attr beside some along a fixed axis: right for every value, or refused."""

from __future__ import annotations

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.planner import plan_op
from msopgen_wrap.spec.loader import parse_spec

SPEC = """
op: AnOp
inputs: {{x: {{dtype: float32, rank: [1, 8]}}}}
outputs: {{y: {{dtype: float32, shape: {shape}}}}}
attrs: {{dim: -1}}
compute: |
  v = torch.softmax(x, -1)
  w = v * v.amax(dim, keepdim=True)
  y = {result}
"""


@pytest.mark.parametrize(
    ("shape", "result"), [("like x", "w"), pytest.param("'[]'", "w.sum()", marks=pytest.mark.slow)]
)
def test_what_reads_the_temporary_of_an_attr_is_planned(shape: str, result: str) -> None:
    spec = parse_spec(SPEC.format(shape=shape, result=result)).spec
    assert spec is not None
    assert plan_op(spec).parts


def test_a_temporary_is_one_value_per_row_for_every_value_of_the_attr_or_refused() -> None:
    text = SPEC.format(shape="like x", result="w - w.sum(-1, keepdim=True)")
    spec = parse_spec(text).spec
    assert spec is not None
    with pytest.raises(OpgenError) as caught:
        plan_op(spec)
    assert [d.code for d in caught.value.diagnostics] == ["OPG202"]
