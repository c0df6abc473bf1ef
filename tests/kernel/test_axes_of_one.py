"""Computed tensors that lose axes of one element before a reduction, and what they leave behind."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from harness import built, check


class Case(NamedTuple):
    """A formula of `x` and `c`, the rank of `x`, the shape of `c`, and shapes of both."""

    compute: str
    rank: int
    rule: str
    x: tuple[int, ...]
    c: tuple[int, ...]
    dims: tuple[int, ...] = (-1,)


CASES = {
    "leading axes": Case(
        "y = (x * (c * 2).squeeze(0).squeeze(0)).softmax(dim)", 1, "[1, 1, x[0]]", (70,), (1, 1, 70)
    ),
    "all axes of one": Case(
        "y = (x * (c * 2).squeeze()).softmax(dim)", 1, "[1, 1, x[0]]", (7,), (1, 1, 7), (0, -1)
    ),
    "a middle axis": Case(
        "y = (c * 2).squeeze(1).softmax(-1) + x.amax(dim, keepdim=True)",
        2,
        "[x[0], 1, x[1]]",
        (5, 33),
        (5, 1, 33),
    ),
    "the last axis": Case(
        "y = (x + c.exp().squeeze(-1)).softmax(dim)", 2, "[x[0], 1, 1]", (5, 33), (5, 1, 1), (-1, 0)
    ),
    "an axis that is added and reduced": Case(
        "y = (c * 2).unsqueeze(0).mean(0).softmax(dim) + x",
        2,
        "like x",
        (5, 33),
        (5, 33),
    ),
    "axes that are added and reduced": Case(
        "y = x - (c * 2)[None, None].sum((0, 1, 3)).unsqueeze(dim)",
        2,
        "like x",
        (5, 33),
        (5, 33),
    ),
    # the count of the variance is that of another tensor than this pass reduces
    "a variance of all of another tensor": Case(
        "s = c.var() * 2\n  v = x * s\n  y = v / v.abs().amax(dim, True)",
        1,
        "[2, 5, x[0]]",
        (7,),
        (2, 5, 7),
        (0, -1),
    ),
    "variances of another tensor": Case(
        "s = c.var(0)\n  y = (x * s) / s.sum(dim, keepdim=True)",
        2,
        "[9, x[0], x[1]]",
        (6, 7),
        (9, 6, 7),
        (0, 1),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_results_and_sanitizer(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    text = (
        f"op: AxesOfOne{list(CASES).index(name)}\ninputs:\n"
        f"  x: {{dtype: [float32], rank: {case.rank}}}\n  c: {{dtype: x, shape: '{case.rule}'}}\n"
        "attrs: {dim: -1}\noutputs: {y: like x}\nbackward: none\n"
        f"compute: |\n  {case.compute}\n"
    )
    op = built(text, tmp_path)
    generator = torch.Generator().manual_seed(0)
    x, c = (torch.randn(shape, generator=generator) for shape in (case.x, case.c))
    for dim in case.dims:
        outputs, golden, result = op.run({"x": x, "c": c}, {"dim": dim}, mode="check")
        check(outputs["y"], golden["y"], 4)
        assert [f for f in result.findings if f.severity == "error"] == []
