"""Row kernels whose boxes hold several rows of one reduction, and cores that share one in teams."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import torch
from harness import BuiltOp, check

from msopgen_wrap.spec.loader import load_spec

# Two reduced axes with a kept one between them; w has a number per result, v one per row.
GROUPS = """op: JoinedGroups
inputs:
  x: {dtype: float32, rank: 3}
  w: {dtype: float32, shape: "[x[1]]"}
  v: {dtype: float32, shape: "[x[0]]"}
outputs:
  y: {dtype: float32, shape: like x}
  m: {dtype: float32, shape: "[x[1]]"}
backward: none
compute: |
  t = x * w[:, None] + v[:, None, None]
  n = torch.var(t, (0, 2), correction=0)
  y = t / torch.sqrt(n[:, None] + 1)
  m = n
"""
# Two reduced axes that w keeps apart.
POSITIONS = """op: JoinedPositions
inputs:
  x: {dtype: float32, rank: 2}
  w: {dtype: float32, shape: "[x[0]]"}
outputs:
  y: {dtype: int32, shape: "[]"}
backward: none
compute: torch.argmax(x * w[:, None]).int()
"""


def built(text: str, folder: Path) -> BuiltOp:
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return BuiltOp(load_spec(path), folder)


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> BuiltOp:
    return built(GROUPS, tmp_path_factory.mktemp("joined"))


def joined(op: BuiltOp, tiling: bytes) -> bool:
    """Whether boxes hold several rows of a reduction: `lanes` behind sizes, walks and keptOuter."""
    walks = len(op.plan.operands()) + len(op.spec.outputs)
    (lanes,) = struct.unpack_from("<I", tiling, 8 * (6 + 2 + 9 * walks) + 4)
    assert lanes in (0, 1, 2)
    return bool(lanes == 2)


# shape of x, cores, whether rows stay in UB
CASES = {
    "one box": ((4, 50, 2048), 48, True),
    "rows with gaps": ((9, 50, 1021), 48, True),
    "several boxes": ((33, 50, 1021), 48, False),
    "a row is longer than a box": ((3, 50, 9001), 3, False),
    "teams of as many cores": ((40, 3, 3072), 48, False),
    "teams of several sizes": ((64, 5, 3001), 23, False),
    "more cores than rows": ((16, 2, 9001), 48, False),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_of_one_reduction_share_boxes(name: str, groups: BuiltOp) -> None:
    shape, cores, resident = CASES[name]
    generator = torch.Generator().manual_seed(len(name))
    inputs = {
        "x": torch.randn(shape, generator=generator) + 3,
        "w": torch.rand(shape[1], generator=generator) + 0.5,
        "v": torch.randn(shape[0], generator=generator),
    }
    outputs, golden, result = groups.run(inputs, mode="check", block_dim=cores)
    # values near 0 are rests of cancellations
    assert torch.allclose(outputs["y"].double(), golden["y"], rtol=2**-18, atol=2**-18)
    check(outputs["m"], golden["m"])
    assert result.findings == []
    assert result.tiling_key % 10 == (0 if resident else 1)
    assert joined(groups, result.tiling_bytes)
    if name.startswith(("teams", "more")):
        assert result.cores > shape[1], "no cores shared a reduction"


def test_short_rows_go_through_several_at_a_time(groups: BuiltOp) -> None:
    shape = (4, 300, 64)
    inputs = {"x": torch.randn(shape), "w": torch.ones(300), "v": torch.zeros(4)}
    outputs, golden, result = groups.run(inputs, mode="check")
    assert torch.allclose(outputs["y"].double(), golden["y"], rtol=2**-18, atol=2**-18)
    assert result.findings == [] and not joined(groups, result.tiling_bytes)


def test_positions_count_all_rows_of_a_box(tmp_path: Path) -> None:
    op = built(POSITIONS, tmp_path)
    for rows, cols in ((9, 1021), (40, 640), (70, 1021)):
        inputs = {"x": torch.rand(rows, cols), "w": torch.ones(rows)}
        inputs["x"][-2, -7] = 9.0
        outputs, golden, result = op.run(inputs, mode="check")
        check(outputs["y"], golden["y"])
        assert result.findings == [] and joined(op, result.tiling_bytes)
