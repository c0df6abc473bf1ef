"""Which dimension is that of the rows of boxes, and operands that run backwards."""

from __future__ import annotations

from pathlib import Path

import torch
from harness import BuiltOp, check, make_spec


def test_rows_run_forwards_where_another_dimension_allows_it(tmp_path: Path) -> None:
    """Rows that run backwards are copied one by one: a box then had the two of one flip."""
    op = BuiltOp(make_spec("x * 2 + x.flip(-2)"), tmp_path)
    # with outer rows, without them, and with columns that are too few
    for shape, tiles in (((40, 2, 64), 4), ((3, 40, 2, 64), 6), ((7, 64), 7), ((40, 2, 5), None)):
        x = torch.rand(shape, generator=torch.Generator().manual_seed(0)) + 1
        outputs, golden, result = op.run({"x": x}, {}, mode="check", block_dim=1)
        check(outputs["z"], golden["z"])
        assert result.findings == []
        assert tiles is None or result.tiles <= tiles, (shape, result.tiles)


def tiles_of(formula: str, shapes: dict[str, tuple[int, ...]], folder: Path) -> int:
    """Check a formula of x and y on one core, and return its tiles."""
    op = BuiltOp(make_spec(formula, " ".join(shapes)), folder)
    generator = torch.Generator().manual_seed(0)
    inputs = {name: torch.rand(shape, generator=generator) + 1 for name, shape in shapes.items()}
    outputs, golden, result = op.run(inputs, {}, mode="check", block_dim=1)
    check(outputs["z"], golden["z"])
    assert result.findings == []
    assert result.tiles is not None
    return result.tiles


def test_columns_that_run_backwards_are_read_together(tmp_path: Path) -> None:
    """Each element was a copy of its own."""
    assert tiles_of("x.flip(-1) * 2", {"x": (30, 100)}, tmp_path) <= 2


def test_rows_are_those_of_the_dimension_that_fills_tiles(tmp_path: Path) -> None:
    """The three rows before the columns were a box, however large UB is."""
    shapes = {"x": (40, 50, 3, 16), "y": (50, 1, 16)}
    assert tiles_of("x * y", shapes, tmp_path) <= 40 * 50 * 3 // 50
