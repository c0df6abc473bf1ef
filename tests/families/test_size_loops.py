"""Loops of Python over the axis of a tensor, as a user of PyTorch writes them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.loader import gradient_spec, load_spec
from msopgen_wrap.spec.model import OpSpec


class Case(NamedTuple):
    """A formula of x (batch, time, channels) and w (channels), and the families of its passes."""

    compute: str
    passes: list[str]
    output: str = "like x"


CASES = {
    "states in a list": Case(
        "h = torch.zeros_like(x[:, 0])\nrows = []\nfor t in range(x.shape[1]):\n"
        "  h = w * h + x[:, t]\n  rows.append(h)\ny = torch.stack(rows, 1)",
        ["scan", "elementwise"],
    ),
    "from the last step": Case(
        "h = 0.0\nrows = []\nfor t in range(x.size(1) - 1, -1, -1):\n"
        "  h = torch.tanh(w * h) + x[..., t, :]\n  rows = [*rows, h.exp()]\n"
        "y = torch.stack(rows[::-1], dim=1)",
        ["scan", "elementwise"],
    ),
    "from the last step, in the order of steps": Case(
        "h = torch.zeros_like(x[:, 0])\nrows = [h]\nfor t in range(x.shape[1] - 2, -1, -1):\n"
        "  h = w * h + x[:, t]\n  rows.append(h)\ny = torch.stack(rows, 1)",
        ["scan", "elementwise"],
    ),
    "from the second step": Case(
        "h = x[:, 0]\nrows = [h]\nfor t in range(1, x.shape[1]):\n"
        "  h = torch.maximum(w * h, x[:, t]) - 0.1 * x[:, t - 1]\n  rows.append(h)\n"
        "y = torch.stack(rows, 1)",
        ["scan", "elementwise"],
    ),
    "the last state": Case(
        "B, T, C = x.shape\nh = torch.zeros_like(x[:, 0])\nfor t in range(T):\n"
        "  h = torch.tanh(0.5 * h + x[:, t])\ny = h",
        ["scan", "elementwise"],
        '{dtype: x, shape: "[x[0], x[2]]"}',
    ),
    "slices of one element": Case(
        "h = torch.zeros_like(x[:, :1])\nrows = []\nfor t in range(x.shape[1]):\n"
        "  h = 0.8 * h + x[:, t:t + 1]\n  rows.append(h)\ny = torch.cat(rows, 1)",
        ["scan", "elementwise"],
    ),
    "sums read out of states": Case(
        "h = torch.zeros_like(x[:, 0])\nrows = []\nfor t in range(x.shape[1]):\n"
        "  h = 0.5 * h + x[:, t]\n  rows.append((h * w).sum(-1))\ny = torch.stack(rows, 1)",
        ["scan", "row", "elementwise"],
        '{dtype: x, shape: "[x[0], x[1]]"}',
    ),
    "a value of the last step": Case(
        "h = torch.zeros_like(x[:, 0])\nfor t in range(x.shape[1]):\n"
        "  d = x[:, t] - h\n  y = h + d\n  h = h + 0.5 * d\ny = y + d",
        ["scan", "elementwise"],
        '{dtype: x, shape: "[x[0], x[2]]"}',
    ),
    "an output of the last step": Case(
        "h = torch.zeros_like(x[:, 0])\nfor t in range(x.shape[1]):\n"
        "  h = h * 0.5 + x[:, t]\n  y = h.exp()",
        ["scan", "elementwise"],
        '{dtype: x, shape: "[x[0], x[2]]"}',
    ),
    "no state": Case(
        "rows = []\nfor t in range(x.shape[1]):\n  rows.append(x[:, t].exp() * w)\n"
        "y = torch.stack(rows, 1)",
        ["elementwise"],
    ),
}
REFUSED = {
    "a number": "  h = h + x[:, t] / (t + 1)\n",
    "a condition": "  if t > 0:\n    h = h + x[:, t]\n",
    "a slice of a state": "  h = h + x[:, t] + h[:, t : t + 1]\n",
    "several elements": "  h = h + x[:, t:t + 2].sum(1)\n",
    "a text": "  h = h + x[:, t]\n  k = k + 1\n",
}


def spec_of(compute: str, folder: Path, output: str = "like x", backward: str = "none") -> OpSpec:
    lines = "".join(f"  {line}\n" for line in compute.split("\n"))
    path = folder / "op.yaml"
    path.write_text(
        "op: SizeLoop\ninputs:\n  x: {dtype: float32, rank: 3}\n"
        '  w: {dtype: x, shape: "[x[2]]"}\n'
        f"outputs:\n  y: {output}\nbackward: {backward}\ncompute: |\n{lines}"
    )
    return load_spec(path)


@pytest.mark.parametrize("name", CASES)
def test_a_loop_is_one_pass_of_steps(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    plan = plan_op(spec_of(case.compute, tmp_path, case.output))
    found = [part.family.name for part in plan.parts] or [plan.family.name]
    assert sorted(set(found)) == sorted(set(case.passes))
    assert found.count("scan") == case.passes.count("scan")


@pytest.mark.parametrize("name", default_part(CASES, ["states in a list", "from the last step"]))
def test_results_and_sanitizer(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    op = BuiltOp(spec_of(case.compute, tmp_path, case.output), tmp_path)
    for shape in ((2, 7, 5), (1, 1, 40), (3, 300, 9), (4, 2, 700)):
        inputs = {"x": torch.randn(shape), "w": torch.rand(shape[-1])}
        outputs, golden, result = op.run(inputs)
        torch.testing.assert_close(outputs["y"].double(), golden["y"], rtol=1e-4, atol=1e-4)
        assert result.findings == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_steps_cannot_do_is_refused(name: str, tmp_path: Path) -> None:
    compute = (
        f"h = torch.zeros_like(x[:, 0])\nk = 0\nrows = []\nfor t in range(x.shape[1]):\n"
        f"{REFUSED[name]}  rows.append(h)\ny = torch.stack(rows, 1)"
    )
    with pytest.raises(OpgenError) as caught:
        plan_op(spec_of(compute, tmp_path))
    assert [d.code for d in caught.value.diagnostics] == ["OPG203"]
    assert "a loop over the size of an axis" in caught.value.diagnostics[0].why


def test_a_list_of_a_loop_has_no_length_and_no_items(tmp_path: Path) -> None:
    loop = "rows = []\nfor t in range(x.shape[1]):\n  rows.append(x[:, t])\n"
    for use in ("y = torch.stack(rows + [x[:, 0]], 1)[:, 1:]", "y = torch.stack([rows[1]] * 1, 1)"):
        with pytest.raises(OpgenError):
            plan_op(spec_of(loop + use, tmp_path))


def test_compute_runs_the_loop_of_python(tmp_path: Path) -> None:
    """Also for more steps than a loop that is written out may have."""
    spec = spec_of(CASES["states in a list"].compute, tmp_path)
    x, w = torch.randn(1, 700, 2), torch.rand(2)
    state, rows = torch.zeros(1, 2), []
    for t in range(700):
        state = w * state + x[:, t]
        rows.append(state)
    assert torch.equal(compile_compute(spec)({"x": x, "w": w}, {})["y"], torch.stack(rows, 1))


GRADIENTS = {
    "the step of opgen.loop": "def step(h, x):\n    return h * 0.5 + x * w\n"
    "y = opgen.loop(step, x[:, 0] * w, x.transpose(0, 1)).transpose(0, 1)",
    "from the last step, of a list": CASES["from the last step"].compute,
    "the last state alone": "h = torch.zeros_like(x)[:, 0]\nfor t in range(x.shape[1]):\n"
    "  h = torch.tanh(w * h + x[:, t])\ny = x * h.unsqueeze(1)",
}


@pytest.mark.parametrize("name", default_part(GRADIENTS, ("the step of opgen.loop",)))
def test_gradients(name: str, tmp_path: Path) -> None:
    """The loop of a gradient goes the other way, in a pass of all its steps."""
    spec = gradient_spec(spec_of(GRADIENTS[name], tmp_path, backward="kernel"))
    op = BuiltOp(spec, tmp_path / "op")
    assert "scan" in [part.family.name for part in op.plan.parts]
    for shape in ((2, 6, 9), (1, 1, 300)):
        inputs = {"x": torch.randn(shape), "w": torch.rand(shape[-1]), "grad_y": torch.ones(shape)}
        outputs, golden, result = op.run(inputs)
        for output, want in golden.items():
            torch.testing.assert_close(outputs[output].double(), want, rtol=1e-4, atol=1e-4)
        assert result.findings == []
