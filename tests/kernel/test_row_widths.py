"""Reductions of rows of many lengths: tails of blocks, of repeats, and of halves."""

from __future__ import annotations

import pytest
import torch
from harness import BuiltOp, check, make_spec

from msopgen_wrap.spec.model import DimConst, DimSlice, ShapeLike, ShapeList

EDGES = (8, 16, 64, 128, 192, 256, 320, 384, 512, 576, 640, 768, 1024, 1152, 2048, 4096)
WIDTHS = sorted(
    {width for edge in EDGES for width in (edge - 1, edge, edge + 1)} | {1, 2, 100, 333}
)
NUMBER = ShapeList((DimSlice("x", None, -1), DimConst(1)))


@pytest.fixture(scope="module")
def statistics(tmp_path_factory):
    """Sums and maxima of data that is read again, and sums of what is not."""
    spec = make_spec(
        "top = x.amax(-1, keepdim=True)\n"
        "least = x.amin(-1, keepdim=True)\n"
        "total = torch.exp(x).sum(-1, keepdim=True)\n"
        "y = x * x.sum(-1, keepdim=True)",
        outputs="top least total y",
        shapes={"top": NUMBER, "least": NUMBER, "total": NUMBER, "y": ShapeLike("x")},
    )
    return BuiltOp(spec, tmp_path_factory.mktemp("widths"))


@pytest.mark.parametrize("rows", [1, 3, 13, 70])
def test_every_element_counts_once(statistics, rows):
    for width in WIDTHS:
        x = torch.rand((rows, width), generator=torch.Generator().manual_seed(width)) + 0.5
        outputs, golden, result = statistics.run({"x": x}, block_dim=1)
        assert result.findings == []
        for name in ("top", "least", "total", "y"):
            check(outputs[name], golden[name])


def test_the_first_and_last_elements_are_found(statistics):
    """An extreme at each end, and in the middle, where halves meet."""
    for width in WIDTHS:
        x = torch.zeros(3, width)
        for row, place in enumerate((0, width // 2, width - 1)):
            x[row, place] = 5
        outputs, golden, _ = statistics.run({"x": x}, block_dim=1)
        for name in ("top", "total", "y"):
            check(outputs[name], golden[name])
