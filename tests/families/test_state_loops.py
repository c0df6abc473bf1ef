"""Loops over the first axis: steps of the formula itself, alone and beside other work."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

LIBRARY = Path(__file__).parents[2] / "op_specs" / "recurrence"
STEP = "def step(h, a, b):\n    "


class Case(NamedTuple):
    """A formula of h0, a and b, and the families of the passes that it is made in."""

    compute: str
    passes: list[str]
    attrs: str = ""


CASES = {
    "a linear recurrence": Case(
        f"{STEP}return a * h + b\nz = opgen.loop(step, h0, (a, b))", ["scan"]
    ),
    "from the last step, with work around": Case(
        f"{STEP}return torch.tanh(a * h + b.exp())\n"
        "z = opgen.loop(step, h0 * 2, (a, b - 1), reverse=True) * scale + a",
        ["scan"],
        "attrs:\n  scale: {type: float, default: 0.5}\n",
    ),
    "two states that change places": Case(
        "def step(first, second, a, b):\n"
        "    return second, torch.where(a > 0.1, first * a + b, second * 0.5)\n"
        "p, q = opgen.loop(step, (h0, h0 + 1), (a, b))\nz = p * q",
        ["scan"],
    ),
    "a result that is the state before": Case(
        f"{STEP}following = torch.maximum(a * h, b)\n    return following, h\n"
        "after, z = opgen.loop(step, h0, (a, b))",
        ["scan"],
    ),
    "a state that forgets": Case(
        f"{STEP}return a + b, h * 0.5 + a\nafter, z = opgen.loop(step, h0, (a, b))", ["scan"]
    ),
    "a mask of the inputs": Case(
        f"{STEP}return torch.where((a > 0) & (b < 1), h * 0.9, b)\n"
        "z = opgen.loop(step, h0, (a, b))",
        ["scan"],
    ),
    "normalised afterwards": Case(
        f"{STEP}return a * h + b\nz = opgen.loop(step, h0, (a, b)).softmax(-1)", ["scan", "row"]
    ),
    "of two layers": Case(
        f"{STEP}return a * h + b\nz = opgen.loop(step, h0, (a, opgen.loop(step, h0, (a, b))))",
        ["scan", "scan"],
    ),
    "of a sum": Case(
        f"{STEP}return a * h + b\nz = opgen.loop(step, h0, (a - a.mean(-1, keepdim=True), b))",
        ["row", "scan"],
    ),
}
DEFAULT = ("two states that change places",)
SHAPES = [(5, 9), (1, 300), (0, 7), (3, 0), (130, 999), (2, 20001), (300, 3)]


def spec_of(
    compute: str, folder: Path, name: str = "LoopCase", attrs: str = "", dtype: str = "[float32]"
) -> OpSpec:
    indented = compute.replace("\n", "\n  ")
    path = folder / "case.yaml"
    path.write_text(
        f"op: {name}\ninputs:\n  a: {{dtype: {dtype}, rank: 2, range: [-0.9, 0.9]}}\n"
        '  b: {dtype: a, shape: like a}\n  h0: {dtype: a, shape: "[a[1]]"}\n'
        f"outputs:\n  z: {{dtype: a, shape: like a}}\n{attrs}compute: |\n  {indented}\n"
        "backward: none\n",
        encoding="utf-8",
    )
    return load_spec(path)


def inputs_of(shape: tuple[int, int]) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    a = torch.rand(shape, generator=generator) * 1.8 - 0.9
    b = torch.randn(shape, generator=generator)
    return {"a": a, "b": b, "h0": torch.randn(shape[1:], generator=generator)}


@pytest.mark.parametrize(
    "name", [n if n in DEFAULT else pytest.param(n, marks=pytest.mark.slow) for n in CASES]
)
def test_formulas_are_made_in_passes(name, tmp_path):
    case = CASES[name]
    plan = plan_op(spec_of(case.compute, tmp_path, attrs=case.attrs))
    assert [part.family.name for part in plan.parts] == case.passes


@pytest.fixture(scope="module", params=default_part(CASES, ()))
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("loop")
    number = list(CASES).index(request.param)
    case = CASES[request.param]
    spec = spec_of(case.compute, folder, f"LoopCase{number}", case.attrs)
    return BuiltOp(spec, folder, style="9.x" if number % 2 else "8.1")


def test_results_and_sanitizer(built):
    for shape in SHAPES:
        outputs, golden, result = built.run(inputs_of(shape), mode="check")
        torch.testing.assert_close(outputs["z"].double(), golden["z"], rtol=1e-5, atol=2e-5)
        assert result.findings == [], shape


def test_without_the_synchronisation_of_the_compiler(built):
    outputs, golden, result = built.run(inputs_of((130, 999)), mode="check", auto_sync=False)
    torch.testing.assert_close(outputs["z"].double(), golden["z"], rtol=1e-5, atol=2e-5)
    assert result.findings == []


REFUSED = {
    "a state of another dtype": (f"{STEP}return (a * h + b) > 0", "OPG201"),
    "a state of another shape": (f"{STEP}return (a * h + b)[:1]", "OPG201"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_loop_cannot_hold_is_named(name, tmp_path):
    step, code = REFUSED[name]
    with pytest.raises(OpgenError) as refused:
        plan_op(spec_of(f"{step}\nz = opgen.loop(step, h0, (a, b))", tmp_path))
    assert {d.code for d in refused.value.diagnostics} == {code}
    assert "loop" in str(refused.value)


def test_sections_of_a_step() -> None:
    """Only what needs the state runs row by row."""
    plan = plan_op(load_spec(LIBRARY / "lstm_cells.yaml"))
    ops = [i.op for i in plan.bodies[0].program.insts]
    first, last = ops.index("LoopBefore"), ops.index("LoopAfter")
    assert ops[:first].count("opgen::Tanh") == 1  # of the gate of the cell
    assert "opgen::Tanh" not in ops[first:last]
    assert ops[last:].count("opgen::Tanh") == 1  # of the hidden state
