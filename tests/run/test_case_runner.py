"""What a case that fails says."""

from __future__ import annotations

from msopgen_wrap.run.case_runner import contradicted_rules
from msopgen_wrap.run.golden import make_inputs, reference
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.spec.loader import parse_spec

HALVES = """\
op: Halves
inputs:
  x: {dtype: float32, rank: 2}
outputs:
  y: "[x[0], x[1] // 2]"
backward: none
compute: |
  a, b = x.chunk(2, -1)
  y = a * b
"""


def test_a_shape_rule_that_compute_contradicts_is_named() -> None:
    """Pieces of two and of one element are broadcast: the rule does not know it."""
    spec = parse_spec(HALVES, "op.yaml").spec
    assert spec is not None

    def texts(size: int) -> list[str]:
        case = TestCase(0, {"x": (5, size)})
        return contradicted_rules(spec, case, reference(spec, case, make_inputs(spec, case)))

    assert texts(4) == []
    (text,) = texts(3)
    assert "y has shape [5, 2] by compute and [5, 1] by its rule (OPG065)" in text
