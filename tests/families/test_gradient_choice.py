"""``backward: auto``: a kernel computes the gradients where one can be planned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from msopgen_wrap.cli import app
from msopgen_wrap.families import gradients
from msopgen_wrap.families.gradients import gradient_choice, with_chosen_gradients
from msopgen_wrap.run.cached_specs import with_known_gradients
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec

GATE = """\
op: Gate
inputs:
  a: float32
  b: a
outputs:
  y: broadcast(a, b)
compute: a * torch.sigmoid(b)
backward: auto
"""
# No rule relates the shapes of the inputs.
LOOSE = (
    GATE.replace("op: Gate", "op: Loose")
    .replace("broadcast(a, b)", "like a")
    .replace("torch.sigmoid(b)", "b.sum()")
)
# A call may broadcast x to y: the shapes of the case do not tell them apart.
COLUMN_BY_ROW = """\
op: ColumnByRow
inputs:
  x: {dtype: float32, rank: 2}
  y: {dtype: x, rank: 2}
outputs:
  z: {dtype: x, shape: "[x[0], y[1]]"}
compute: x * y
backward: auto
cases:
  - {x: [3, 1], y: [1, 5]}
"""
# The gradients of a product of matrices are products, too; a case tells that nothing is broadcast.
MATRICES = COLUMN_BY_ROW.replace("ColumnByRow", "Matrices").replace("x * y", "x @ y")
MATRICES = MATRICES.replace("[3, 1], y: [1, 5]", "[3, 4], y: [4, 5]")
PRODUCT = """\
op: Product
inputs:
  a: {dtype: float32, rank: 2}
outputs:
  y: {dtype: a, shape: "[a[0], a[0]]"}
compute: a @ a.T
backward: auto
"""
# An inverse has no family.
INVERSE = """\
op: Inverse
inputs:
  a: {dtype: float32, rank: 2}
outputs:
  y: {dtype: a, shape: "[a[0], a[0]]"}
compute: torch.linalg.inv(a @ a.T + 1)
backward: auto
"""


def spec_of(text: str) -> OpSpec:
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    return spec


@pytest.mark.parametrize(
    ("text", "op"),
    [
        (GATE, "Gate"),
        (PRODUCT, "Product"),
        pytest.param(MATRICES, "Matrices", marks=pytest.mark.slow),
    ],
)
def test_auto_takes_a_kernel_where_one_can_be_planned(text: str, op: str) -> None:
    specs, refused = with_chosen_gradients([spec_of(text)])
    assert [(s.op, s.backward) for s in specs] == [(op, "kernel"), (f"{op}Grad", "none")]
    assert not refused


@pytest.mark.parametrize(
    ("text", "code"), [(LOOSE, "OPG050"), (COLUMN_BY_ROW, "OPG050"), (INVERSE, "OPG")]
)
def test_auto_says_why_there_is_no_kernel(text: str, code: str) -> None:
    specs, refused = with_chosen_gradients([spec_of(text)])
    (spec,) = specs
    assert spec.backward == "reference"
    assert refused[spec.name].startswith(code), refused


def test_a_missing_key_plans_nothing() -> None:
    def never(spec: OpSpec) -> Any:
        raise AssertionError(spec.op)

    spec = spec_of(GATE.replace("backward: auto\n", ""))
    assert with_chosen_gradients([spec], never) == ([spec], {})


def _plan(capfd: Any, path: Path) -> dict[str, dict[str, str]]:
    assert app.run(["plan", str(path), "--json"]) == 0
    return {p["op"]: p["gradient"] for p in json.loads(capfd.readouterr().out)["plans"]}


@pytest.mark.slow
def test_plan_says_what_gives_the_gradients(tmp_path: Path, capfd: Any) -> None:
    path = tmp_path / "op.yaml"
    path.write_text(GATE)
    found = _plan(capfd, path)
    assert {op: row["by"] for op, row in found.items()} == {"Gate": "kernel", "GateGrad": "none"}
    assert app.run(["plan", str(path)]) == 0
    assert "gradients by kernel: GateGrad" in capfd.readouterr().out
    path.write_text(LOOSE)
    assert "OPG050" in _plan(capfd, path)["Loose"]["why"]
    path.write_text(GATE.replace("backward: auto", "backward: {a: grad_y, b: grad_y * a}"))
    assert _plan(capfd, path)["Gate"]["by"] == "formulas"
    path.write_text(GATE.replace("backward: auto\n", ""))
    assert "backward: auto makes" in _plan(capfd, path)["Gate"]["why"]


def test_a_project_keeps_what_was_chosen(tmp_path: Path, capfd: Any) -> None:
    path, root = tmp_path / "op.yaml", tmp_path / "project"

    def ops() -> set[str]:
        return {p.stem for p in (root / "op_kernel").glob("*.cpp")}

    path.write_text(GATE)
    assert app.run(["new", str(path), "-o", str(root)]) == 0
    assert ops() == {"gate", "gate_grad"}
    files = {p: p.read_text() for p in root.rglob("*") if p.is_file()}
    assert app.run(["new", "-o", str(root)]) == 0
    assert files == {p: p.read_text() for p in root.rglob("*") if p.is_file()}
    assert "torch.ops.opgen.gate_grad" in (root / "torch_ext/opgen/ops/gate.py").read_text()
    path.write_text(LOOSE.replace("op: Loose", "op: Gate"))
    capfd.readouterr()
    assert app.run(["new", str(path), "-o", str(root)]) == 0
    assert "gradients of gate by PyTorch: OPG050" in capfd.readouterr().out
    assert ops() == {"gate"}


def test_the_library_choice_names_the_refusal() -> None:
    assert gradient_choice(spec_of(GATE)).kernel is not None
    assert gradient_choice(spec_of(GATE)).why == ""


def test_opgen_test_plans_a_gradient_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path))
    specs = [spec_of(GATE), spec_of(LOOSE)]
    names = [("Gate", "kernel"), ("GateGrad", "none"), ("Loose", "reference")]
    assert [(s.op, s.backward) for s in with_known_gradients(specs)] == names
    monkeypatch.setattr(gradients, "gradient_choice", None)  # would fail
    assert [(s.op, s.backward) for s in with_known_gradients(specs)] == names
