"""Slices that leave one element of the sample's axes, and others in other calls."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from harness import BuiltOp, check

from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.sample import base_shape
from msopgen_wrap.graph.single_elements import leaves_one
from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import variants
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec


def spec_of(compute: str, shape: str = "[x[1], x[2], x[3]]") -> OpSpec:
    spec = parse_spec(
        "op: SingleElements\ninputs:\n  x: {dtype: float32, rank: 4}\n"
        f'outputs:\n  y: {{dtype: x, shape: "{shape}"}}\nbackward: none\ncompute: |\n'
        + "".join(f"  {line}\n" for line in compute.splitlines()),
        "op.yaml",
    ).spec
    assert spec is not None
    return spec


FIRST = base_shape(4)[0]
BY_CHANCE = [
    f"x[{FIRST - 1}:]",
    f"x[:-{FIRST - 1}]",
    f"x[::{FIRST}]",
    f"x[{FIRST - 1}:{2 * FIRST}]",
]
LITERAL = ["x[2:3]", "x[:1]", "x[-1:]", "x[-3:-2]"]


@pytest.mark.parametrize("view", BY_CHANCE)
def test_the_sample_has_more_than_one(view: str) -> None:
    spec = spec_of(f"({view} * 2).sum(0)")
    assert not leaves_one(trace(spec, variants(spec)[0]).graph)


@pytest.mark.parametrize("view", LITERAL)
def test_one_that_the_formula_says_is_one(view: str) -> None:
    spec = spec_of(f"({view} * 2).sum(0)")
    traced = trace(spec, variants(spec)[0])
    assert not leaves_one(traced.graph)
    assert traced.shapes["x"] == base_shape(4)


def test_rows_behind_a_slice(tmp_path: Path) -> None:
    """A sum along an axis that had one element in the sample was none."""
    spec = spec_of(f"v = x[{FIRST - 1}:] * 2\ny = (v - v.mean(0)).abs().sum(0)")
    op = BuiltOp(spec, tmp_path)
    for shape in ((FIRST + 2, 3, 2, 5), (FIRST, 1, 2, 9)):
        outputs, golden, result = op.run({"x": torch.randn(shape)}, {}, mode="check")
        assert result.findings == []
        check(outputs["y"], golden["y"])


def test_products_of_windows_keep_their_batches(tmp_path: Path) -> None:
    """The number of windows was 1 in the sample, and so it was in the product."""
    spec = spec_of("v = x.unfold(0, 6, 1)\ny = v @ v.mT", "[x[0] - 5, x[1], x[2], x[3], x[3]]")
    plan = plan_op(spec)
    assert [part.family.name for part in plan.parts][-1] == "contract"
    op = BuiltOp(spec, tmp_path)
    outputs, golden, result = op.run({"x": torch.randn(8, 2, 3, 20)}, {}, mode="check")
    assert result.findings == []
    torch.testing.assert_close(outputs["y"].double(), golden["y"], rtol=1e-3, atol=1e-3)
