"""Boxes of operands that run backwards along the dimension before the last one."""

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
