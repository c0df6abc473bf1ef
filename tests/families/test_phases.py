"""Outputs that no single pass makes: passes that exchange values through the workspace."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "kernel"))

from harness import BuiltOp, check

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

TWO = "x: {dtype: DTYPES, rank: 2}"
PAIR = f"{TWO}\n  w: {{dtype: x, shape: like x}}"
TRIPLE = f"{PAIR}\n  t: {{dtype: x, shape: like x}}"
LABELLED = f"{PAIR}\n  t: {{dtype: x, shape: '[x[0]]'}}"
F = "torch.nn.functional"


class Case(NamedTuple):
    """A formula, and the phases it is expected to be cut into."""

    compute: str
    shape: str  # of the output
    phases: list[tuple[str, str]]  # family, and how many values go to the workspace or "z"
    inputs: str = TWO
    attrs: str = ""


CASES = {
    "norms of rows, then their mean": Case(
        "z = x.norm(dim=-1).mean()", "[]", [("row", "value1"), ("row", "z")], "x: {dtype: DTYPES}"
    ),
    "weighted softmax, then columns": Case(
        "z = (x.softmax(-1) * w).sum(0)", "[x[1]]", [("row", "max1 sum1"), ("row", "z")], PAIR
    ),
    "columns and rows to one": Case(
        "z = x / x.sum(0, keepdim=True) / x.sum(1, keepdim=True)",
        "like x",
        [("row", "sum1"), ("row", "z")],
    ),
    "part of a softmax": Case(
        "z = x.softmax(-1)[:, 1:]",
        "[x[0], x[1] - 1]",
        [("row", "max1 sum1"), ("elementwise", "z")],
    ),
    "softmax in another order": Case(
        "z = x.softmax(-1).t()", "[x[1], x[0]]", [("row", "max1 sum1"), ("elementwise", "z")]
    ),
    "groups of a softmax": Case(
        "z = x.softmax(-1).view(x.shape[0], 3, -1).sum(-1)",
        "[x[0], 3]",
        [("row", "max1 sum1"), ("elementwise", "value1"), ("row", "z")],
    ),
    "cross entropy": Case(
        "z = -(w * x.log_softmax(-1)).sum(-1).mean()",
        "[]",
        [("row", "sum1"), ("row", "z")],
        "x: {dtype: DTYPES}\n  w: {dtype: x, shape: like x}",
    ),
    "cosine embedding loss": Case(
        f"z = {F}.cosine_embedding_loss(x, w, t, margin)",
        "[]",
        [("row", "value1 value2"), ("row", "z")],
        LABELLED,
        "attrs:\n  margin: {type: float, default: 0.1}\n",
    ),
    "triplet margin loss": Case(
        f"z = {F}.triplet_margin_loss(x, w, t)",
        "[]",
        [("row", "value1"), ("row", "z")],
        TRIPLE,
    ),
    "normalised rows, then columns": Case(
        f"z = {F}.layer_norm(x, [x.shape[-1]]).mean(0)",
        "[x[1]]",
        [("row", "mean1 value1"), ("row", "z")],
    ),
    "any row with only positive numbers": Case(
        "z = (x > 0).all(-1).any()", "[]", [("row", "value1"), ("row", "z")]
    ),
}
# Compiled and run by the default suite; the others are planned there and run in CI's slow part.
DEFAULT = ("weighted softmax, then columns",)
SHAPES = [(5, 9), (1, 7), (130, 999), (3, 20001), (5000, 33)]


def spec_of(case: Case, folder: Path, dtypes: str = "[float32]", name: str = "PhaseCase") -> OpSpec:
    out = "bool" if "any(" in case.compute else dtypes
    compute = "\n".join(f"  {line}" for line in case.compute.splitlines())
    text = (
        f"op: {name}\ninputs:\n  {case.inputs.replace('DTYPES', dtypes)}\n"
        f'outputs:\n  z: {{dtype: {out}, shape: "{case.shape}"}}\n'
        f"{case.attrs}compute: |\n{compute}\nbackward: none\n"
    )
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


def made(spec: OpSpec) -> list[tuple[str, str]]:
    plan = plan_op(spec)
    return [(p.family.name, " ".join(o.name for o in p.spec.outputs)) for p in plan.parts]


@pytest.mark.parametrize("name", CASES)
def test_formulas_are_cut_into_phases(name, tmp_path):
    assert made(spec_of(CASES[name], tmp_path)) == CASES[name].phases


@pytest.fixture(
    scope="module",
    params=[n if n in DEFAULT else pytest.param(n, marks=pytest.mark.slow) for n in CASES],
)
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("phases")
    number = list(CASES).index(request.param)
    spec = spec_of(CASES[request.param], folder, name=f"PhaseCase{number}")
    # both styles are compiled over the table
    return BuiltOp(spec, folder, style="9.x" if number % 2 else "8.1")


def inputs_of(spec: OpSpec, shape: tuple[int, ...], dtype: Any = torch.float32) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    low = 0.1 if "x.sum(0" in spec.compute.text else -1.0
    values = {
        p.name: (torch.rand(shape, generator=generator) * 2 + low).to(dtype) for p in spec.inputs
    }
    if "cosine" in spec.compute.text:
        values["t"] = (values["t"][:, 0] > 0).to(dtype) * 2 - 1
    return values


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_and_sanitizer(built, shape):
    if ".view(" in built.spec.compute.text:
        shape = (shape[0], shape[1] * 3)
    outputs, golden, result = built.run(inputs_of(built.spec, shape), mode="check")
    check(outputs["z"], golden["z"], 4)
    assert [f for f in result.findings if f.severity == "error"] == []
