"""What the outputs of an op with reductions may span, and what is made in several passes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from harness import BuiltOp, check

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

X, VECTOR, NUMBER = "rank: 2", 'shape: "[x[1]]"', 'shape: "[1]"'
PARTS = "parts"
# (compute, what the rules say about w, shapes of the outputs, family)
CASES = {
    "a vector beside a sum of all": (
        "a = x.sum()\nb = w * 2",
        VECTOR,
        {"a": "[]", "b": "[x[1]]"},
        PARTS,
    ),
    "a vector of rows beside rows": (
        "a = x.sum(1)\nb = w * 2",
        'shape: "[x[0]]"',
        {"a": "[x[0]]", "b": "[x[0]]"},
        PARTS,
    ),
    "more axes than the reduction has": (
        "a = x.sum(1)\nb = x.unsqueeze(1) * 2",
        VECTOR,
        {"a": "[x[0]]", "b": "[x[0], 1, x[1]]"},
        PARTS,
    ),
    "a sum of more axes than the first has": (
        "a = w.amax()\nb = x.sum()",
        VECTOR,
        {"a": "[]", "b": "[]"},
        PARTS,
    ),
    "an input in another shape": (
        "a = torch.softmax(w, 0)\nb = x.flatten()",
        VECTOR,
        {"a": "[x[1]]", "b": "[x[0] * x[1]]"},
        PARTS,
    ),
    "axes in another order": (
        "a = x - x.mean(0, keepdim=True)\nb = (x * w).transpose(0, 1)",
        VECTOR,
        {"a": "like x", "b": "[x[1], x[0]]"},
        PARTS,
    ),
    "a size of what lines up with nothing yet": (
        "a = x.sum(1)\nv = w * 2\nb = v / v.shape[0]",
        VECTOR,
        {"a": "[x[0]]", "b": "[x[1]]"},
        PARTS,
    ),
    "a vector with a sum of all": ("a = x.sum() + w", VECTOR, {"a": "[x[1]]"}, PARTS),
    "a number with a sum of all": ("a = x.sum() + w", NUMBER, {"a": "[1]"}, "row"),
    "stored in another shape, without an axis": (
        "a = F.group_norm(x.unsqueeze(1), 1, None, None, 1e-5).squeeze(1) * 2\n",
        NUMBER,
        {"a": "like x"},
        "row",
    ),
    "rows stored in as many axes as there were": (
        "a = torch.matmul(x.unsqueeze(0), w)",
        VECTOR,
        {"a": "[1, x[0]]"},
        "row",
    ),
    "a slice of a number": ("a = x.amax() + w[::2]", NUMBER, {"a": "[1]"}, "row"),
}


def spec_of(name: str, folder: Path) -> OpSpec:
    compute, rule, outputs, _ = CASES[name]
    rows = [f"op: RowOutputs{list(CASES).index(name)}", "inputs:"]
    rows += [f"  x: {{dtype: float32, {X}}}", f"  w: {{dtype: float32, {rule}}}", "outputs:"]
    rows += [f'  {n}: {{dtype: float32, shape: "{s}"}}' for n, s in outputs.items()]
    rows += ["backward: none", "compute: |", *(f"  {line}" for line in compute.splitlines())]
    path = folder / "case.yaml"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return load_spec(path)


@pytest.mark.parametrize("name", CASES)
def test_outputs_span_the_pass_or_are_made_in_another(name, tmp_path):
    assert plan_op(spec_of(name, tmp_path)).family.name == CASES[name][3]


def test_a_sum_of_one_element_is_no_sum_of_a_row(tmp_path, monkeypatch):
    """It was read as many times as the row has elements."""
    compute = "a = x.sum(1, keepdim=True) + w.sum(1, keepdim=True)"
    case = (compute, 'shape: "[x[0], 1]"', {"a": "[x[0], 1]"}, "")
    monkeypatch.setitem(CASES, "ones", case)
    plan = plan_op(spec_of("ones", tmp_path))
    assert all(len(part.operands()) == 1 for part in plan.parts[:-1]) and len(plan.parts) > 1


RUN = {"a number with a sum of all": 1, "a vector with a sum of all": None}


@pytest.mark.parametrize(
    "name", [n if n in list(RUN)[:1] else pytest.param(n, marks=pytest.mark.slow) for n in RUN]
)
def test_results(name, tmp_path):
    op = BuiltOp(spec_of(name, tmp_path), tmp_path)
    for shape in [(5, 7), (0, 3), (3, 20011)]:
        inputs = {"x": torch.rand(shape), "w": torch.rand(RUN[name] or shape[1])}
        outputs, golden, result = op.run(inputs, mode="check")
        check(outputs["a"], golden["a"])
        assert result.findings == []


def test_values_and_positions_keep_the_axes_that_are_not_reduced(tmp_path: Path) -> None:
    """What a call gives several of stands on the axes of the call."""
    path = tmp_path / "maxima.yaml"
    path.write_text(
        "op: RowMaxima\ninputs:\n  x: {dtype: float32, rank: 3}\noutputs:\n"
        '  a: {dtype: float32, shape: "[x[0], x[2]]"}\n  b: {dtype: int64, shape: "[x[0], x[2]]"}\n'
        "backward: none\ncompute: torch.max(x, 1)\n",
        encoding="utf-8",
    )
    op = BuiltOp(load_spec(path), tmp_path)
    assert op.plan.family.name == "row"
    for shape in ((5, 5, 5), (3, 70, 9)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        outputs, golden, result = op.run({"x": x}, mode="check")
        for name in ("a", "b"):
            check(outputs[name], golden[name])
        assert result.findings == []
