"""Shapes that compute refuses, in whatever way PyTorch says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.graph.index_ranges import _uses
from msopgen_wrap.run.golden import NotApplicable, acceptance, meta_results
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

SAMPLES = """
op: Samples
inputs:
  x: {dtype: float32, rank: 4}
  grid: {dtype: x, rank: 4}
outputs:
  y: {dtype: x, shape: "[x[0], x[1], grid[1], grid[2]]"}
compute: F.grid_sample(x, grid, align_corners=False)
"""
X = (2, 3, 4, 5)
GOOD, BAD = {"x": X, "grid": (2, 6, 7, 2)}, {"x": X, "grid": (2, 6, 7, 1)}


@pytest.fixture
def samples(tmp_path: Path) -> OpSpec:
    path = tmp_path / "samples.yaml"
    path.write_text(SAMPLES, encoding="utf-8")
    return load_spec(path)


def test_a_failed_assertion_in_pytorch_is_a_refusal(samples: OpSpec) -> None:
    accepts = acceptance(samples)
    assert accepts(GOOD, {})
    assert not accepts(BAD, {})
    with pytest.raises(NotApplicable, match="grid last dimension must be 2"):
        meta_results(samples, TestCase(0, BAD, {}))


def test_what_was_seen_before_it_counts(samples: OpSpec) -> None:
    assert _uses(samples, TestCase(0, BAD, {}), ["grid"]) is not None
