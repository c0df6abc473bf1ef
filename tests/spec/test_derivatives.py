"""Formulas that have no derivative are told from their text, and no other is called one."""

from __future__ import annotations

import pytest

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec.derivatives import steps_without_derivative
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import Code

# formula, the operations that it is named by
FORMULAS = [
    ("torch.argmax(x, -1)", ("torch.argmax",)),
    ("torch.argmax(x, -1).float()", ("torch.argmax",)),
    ("(x > 0).to(x.dtype)", ("x > 0",)),
    ("torch.where(x > w, 1.0, 0.0)", ("x > w",)),
    ("x.long().float() * 2", ("x.long",)),
    ("x.to(torch.int32).float()", ("x.to",)),
    ("t = x.argmin(-1)\nu = x.isnan()\ny = t.float() + u.float()", ("x.argmin", "x.isnan")),
    ("y = x.detach()\nfor i in range(2):\n  y = y * 2", ("x.detach",)),
    ("x * (x > 0)", ()),
    ("torch.where(x > 0, x, 0.0)", ()),
    ("torch.round(x)", ()),
    ("torch.max(x, -1)[0]", ()),
    ("x.to(torch.float16)", ()),
    ("torch.gather(x, -1, torch.argsort(x, -1))", ()),
    ("y = 0\nfor i in range(2):\n  t = y\n  y = t + x", ()),
    ("a, y = x.max(-1), x.sum(-1)", ()),
    ("y = torch.argmax(x, -1).float()\ny += x.sum(-1)", ()),
    ("not python (", ()),
]


@pytest.mark.parametrize(("formula", "steps"), FORMULAS)
def test_steps_without_derivative(formula: str, steps: tuple[str, ...]) -> None:
    code = Code(formula, Location())
    assert steps_without_derivative(code, ["x", "w"], ["y"]) == steps


@pytest.mark.parametrize(("dtype", "cast"), [("int64", ""), ("float32", ".float()")])
def test_the_refusal_names_the_operation(dtype: str, cast: str) -> None:
    text = (
        "op: Demo\ninputs:\n  x: float32\noutputs:\n"
        f'  y: {{dtype: {dtype}, shape: "[*x[:-1]]"}}\n'
        f"compute: torch.argmax(x, -1){cast}\nbackward: kernel\n"
    )
    (problem,) = parse_spec(text).diagnostics
    assert problem.code == "OPG050" and "torch.argmax" in problem.why
