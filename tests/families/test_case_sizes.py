"""Axes that line up in the sample only: a case of the spec tells them apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from harness import BuiltOp, check

from msopgen_wrap.families import plan_op
from msopgen_wrap.families.parts.plan import PartsPlan
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec

Shapes = dict[str, list[int]]
UNRELATED: Shapes = {"q": [6, 16], "k": [6, 16], "v": [6, 24]}


TEXT = """\
op: ScoredRowsOf{count}
doc: rows scaled by products of other rows
inputs: {{q: {{dtype: [float32], rank: 2}}, k: {{dtype: q, rank: 2}}, v: {{dtype: q, rank: 2}}}}
outputs: {{z: "[v[0], v[1]]"}}
compute: v / (1 + (q * k).sum(-1, keepdim=True).abs())
cases: {cases}
"""


def scores(*cases: Shapes) -> OpSpec:
    """Return a spec that scales rows of ``v`` by products of rows of ``q`` and ``k``."""
    spec = parse_spec(TEXT.format(count=len(cases), cases=json.dumps(cases)), "spec.yaml").spec
    assert spec is not None
    return spec


@pytest.mark.parametrize(
    ("cases", "parts"),
    [
        ((), False),
        (({"q": [6, 16], "k": [6, 16], "v": [6, 16]},), False),
        (({"q": [6, 16], "k": [6, 16], "v": [6, 1]},), False),  # may be broadcast
        (({"q": [6, 16], "k": [6, 16], "v": [6, 0]},), False),
        ((UNRELATED,), True),
    ],
    ids=["no case", "equal sizes", "a size of one", "nothing", "other sizes"],
)
def test_a_case_with_other_sizes_cuts_a_pass(cases: tuple[Shapes, ...], parts: bool) -> None:
    assert isinstance(plan_op(scores(*cases)), PartsPlan) is parts


def test_rows_of_other_lengths_run(tmp_path: Path) -> None:
    op = BuiltOp(scores(UNRELATED), tmp_path)
    for width, other in ((16, 24), (5, 200)):
        inputs = {name: torch.randn(7, width) for name in "qk"} | {"v": torch.randn(7, other)}
        outputs, golden, result = op.run(inputs, {}, mode="check")
        assert not result.findings
        check(outputs["z"], golden["z"])
