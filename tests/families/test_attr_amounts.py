"""Attrs as indices, shifts, counts and margins: the tiling function knows their values."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from harness import BuiltOp, check

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

COUNT = "{type: int, default: 2, min: 1}"
MARGIN = "{type: int, default: 2, min: 0}"


class Case(NamedTuple):
    """A formula of a matrix and attr ``n``, with values of ``n`` to run it at."""

    compute: str
    shape: str
    values: tuple[int, ...]
    attr: str = "1"


CASES = {
    "a column": Case("x[:, n] * 2", "[x[0]]", (0, 1, -1)),
    "a row of the end": Case("x[..., 1:][n - 1]", "[x[1] - 1]", (0, 1)),
    "new axes": Case("x[None, n, None, 2:].exp()", "[1, 1, x[1] - 2]", (0, -2)),
    "a shift": Case("x - x.roll(n, 1)", "like x", (0, 1, -3, 1000)),
    "a shift of all": Case("torch.roll(x, n)", "like x", (0, 5, -3)),
    "rows times shifted ones": Case("(x * x.roll(n, 1)).sum(-1)", "[x[0]]", (0, 1, -3)),
    "axes of one in the workspace": Case("x.sum(n, keepdim=True).var()", "[]", (0, 1, -1)),
    "axes of one beside whole ones": Case(
        "x * x.sum(n, keepdim=True).square().sum((0, 1), keepdim=True)", "like x", (0, 1, -2)
    ),
    "a count": Case("x.repeat(n, 1)", "[x[0] * n, x[1]]", (1, 2, 3), COUNT),
    "a count, then numbers": Case(
        "x.repeat_interleave(n, -1) * 2", "[x[0], x[1] * n]", (1, 2, 3), COUNT
    ),
    "a count, then rows": Case("x.repeat(n, 1).sum(0)", "[x[1]]", (1, 2, 3), COUNT),
    "a margin": Case("F.pad(x, (n, 1))", "[x[0], x[1] + n + 1]", (0, 2, 5), MARGIN),
    "a margin of rows": Case(
        "F.pad(x.softmax(-1), (n, n), value=1.0)", "[x[0], x[1] + n + n]", (0, 3), MARGIN
    ),
}


def spec_of(name: str, folder: Path) -> OpSpec:
    case = CASES[name]
    path = folder / "case.yaml"
    path.write_text(
        f"op: AmountCase{list(CASES).index(name)}\ninputs:\n  x: {{dtype: float32, rank: 2}}\n"
        f'outputs:\n  z: {{dtype: x, shape: "{case.shape}"}}\nattrs:\n  n: {case.attr}\n'
        f"compute: |\n  z = {case.compute}\nbackward: none\n",
        encoding="utf-8",
    )
    return load_spec(path)


@pytest.mark.parametrize("name", CASES)
def test_attrs_may_be_amounts(name, tmp_path):
    """A plan is proved at other values of the attrs."""
    assert plan_op(spec_of(name, tmp_path)).bodies


@pytest.mark.parametrize(
    "name",
    [n if n == "a shift" else pytest.param(n, marks=pytest.mark.slow) for n in CASES],
)
def test_results_at_other_values(name, tmp_path):
    built = BuiltOp(spec_of(name, tmp_path), tmp_path)
    for shape in ((5, 9), (4, 7), (130, 1000)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        for value in CASES[name].values:
            outputs, golden, result = built.run({"x": x}, {"n": value}, mode="check")
            check(outputs["z"], golden["z"], 4)
            assert [f for f in result.findings if f.severity == "error"] == []
