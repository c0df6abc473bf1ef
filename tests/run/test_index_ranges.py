"""Test data of indices that elements are written over by: different ones, from the spec's range."""

from __future__ import annotations

import pytest
import torch

from msopgen_wrap.graph.index_ranges import IndexUse
from msopgen_wrap.run.golden import make_inputs
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.spec.loader import load_specs

SPEC = """
op: RowsWritten
inputs:
  x: {{dtype: [float32], rank: 2}}
  rows: {{dtype: [int64], rank: 1{range}}}
  values: {{dtype: x, rank: 2}}
outputs:
  y: {{dtype: x, shape: like x}}
backward: none
compute: {compute}
"""
WRITES = ["torch.index_put(x, (rows,), values)", "x.index_copy(0, rows, values)"]


def rows_of(path, compute: str, low_high: str) -> torch.Tensor:
    path.write_text(SPEC.format(compute=compute, range=low_high))
    (spec,) = load_specs((path,))
    shapes = {"x": (9, 4), "rows": (6,), "values": (6, 4)}
    return make_inputs(spec, TestCase(0, shapes))["rows"]


@pytest.mark.parametrize("compute", WRITES)
@pytest.mark.parametrize(
    ("low_high", "low", "high"), [("", 0, 8), (", range: [0, 8]", 0, 8), (", range: [2, 7]", 2, 7)]
)
def test_rows_that_are_written_differ(tmp_path, compute, low_high, low, high):
    rows = rows_of(tmp_path / "spec.yaml", compute, low_high)
    assert len(set(rows.tolist())) == 6
    assert low <= rows.min() and rows.max() <= high


def test_rows_that_are_added_come_from_the_range_as_they_do(tmp_path):
    rows = rows_of(tmp_path / "spec.yaml", "x.index_add(0, rows, values)", ", range: [2, 3]")
    assert set(rows.tolist()) <= {2, 3}


def test_indices_that_count_from_the_end_name_different_elements():
    generator = torch.Generator().manual_seed(0)
    drawn = IndexUse(40, 0, -40, 39).draw((40,), generator)
    assert sorted((drawn % 40).tolist()) == list(range(40))
    assert drawn.min() < 0 <= drawn.max()


def test_a_range_beyond_the_elements_is_cut():
    drawn = IndexUse(4, 0, 1, 1 << 40).draw((3,), torch.Generator().manual_seed(0))
    assert sorted(drawn.tolist()) == [1, 2, 3]


@pytest.mark.parametrize("compute", ["x + values[:, rows].sum()", "x + x[..., rows].sum()"])
def test_indices_behind_other_axes_in_brackets_are_inside(tmp_path, compute):
    rows = rows_of(tmp_path / "spec.yaml", compute, "")
    assert int(rows.min()) >= -4 and int(rows.max()) < 4
