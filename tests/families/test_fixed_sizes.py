"""Formulas whose sizes are numbers: indices made by counting alone, axes without elements."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.scalars import evaluate
from msopgen_wrap.spec.loader import load_spec, parse_spec


class Case(NamedTuple):
    """A formula of float32 tensors, and the families of its passes where that is the question."""

    compute: str
    shapes: list[str]
    output: str
    passes: list[str]


CASES = {
    "an image of a fixed size": Case(
        "F.interpolate(x0, (3, 5), mode='nearest')",
        ["2, 3, 4, 4"],
        "2, 3, 3, 5",
        ["resize"],
    ),
    "rows of no elements multiplied": Case(
        "torch.linalg.multi_dot([x0, x1])", ["0, 2", "2, 2"], "0, 2", []
    ),
    "nothing repeated": Case("torch.tile(x0, (2, 3))", ["0"], "2, 0", []),
    "columns of no images": Case(
        "F.unfold(x0, (2, 3), (1, 2), 1, 2)", ["0, 1, 5, 5"], "0, 6, 6", []
    ),
    "columns of padded windows": Case(
        "F.unfold(x0, (2, 3), (1, 2), 1, 2)", ["1, 2, 5, 5"], "1, 12, 6", []
    ),
    "rows that broadcast in a product": Case(
        "torch.linalg.cross(x0, x1)", ["1, 3", "5, 3"], "5, 3", ["elementwise"]
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_formulas_of_fixed_sizes_are_planned(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = tmp_path / "fixed.yaml"
    rows = ["op: Fixed", "inputs:"]
    rows += [f'  x{i}: {{dtype: float32, shape: "[{s}]"}}' for i, s in enumerate(case.shapes)]
    rows += ["outputs:", f'  y: {{dtype: float32, shape: "[{case.output}]"}}']
    rows += ["backward: none", "compute: |", f"  {case.compute}"]
    path.write_text("\n".join(rows) + "\n")
    plan = plan_op(load_spec(path))
    found = [part.family.name for part in getattr(plan, "parts", [])] or [plan.family.name]
    assert not case.passes or found == case.passes


def test_a_reshape_of_a_repeated_input_has_the_sizes_it_is_repeated_to() -> None:
    text = (
        "op: Repeated\ninputs:\n  w: {dtype: float32, rank: 2}\n"
        "  x: {dtype: float32, shape: '[w[0], 1]'}\n"
        "outputs:\n  y: {dtype: x, shape: '[w[0] * w[1]]'}\n"
        "compute: x.expand(w.shape[0], w.shape[1]).reshape(-1)\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    (body,) = plan_op(spec).bodies
    (step,) = body.output_views["y"].steps
    shapes = {"w": (3, 4), "x": (3, 1)}
    assert [evaluate(size, {}, shapes) for size in step.shape] == [3, 4]
