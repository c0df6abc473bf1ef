"""Reshapes of the last axes alone: one kernel serves every rank, as axes in front stay."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from harness import BuiltOp, check

from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec

# name -> compute, rule of the output, other lines of the spec, shapes
CASES: dict[str, tuple[str, str, str, list[tuple[int, ...]]]] = {
    # `unflatten` cuts the last axis in as many pieces as an attr says
    "Heads": (
        "h = x.unflatten(-1, (n, -1))\ny = (h - h.mean(-1, keepdim=True)).flatten(-2) * w",
        "like x",
        "attrs: {n: {default: 2, min: 1}}",
        [(12,), (3, 12), (2, 3, 24), (2, 1, 3, 12), (0, 12), (2, 0, 12)],
    ),
    "Swapped": (
        "y = (x * w).unflatten(-1, (n, -1)).transpose(-1, -2).flatten(-2)",
        "like x",
        "attrs: {n: {default: 2, min: 1}}",
        [(12,), (5, 12), (2, 3, 36)],
    ),
    # in groups of a size that is a number
    "Groups": (
        "y = torch.softmax((x * w).view(*x.shape[:-1], -1, 4), -1).view(x.shape)",
        "like x",
        "",
        [(8,), (7, 12), (2, 3, 300)],
    ),
    "Pairs": (
        "a, b = (x * w).unflatten(-1, (-1, 2)).unbind(-1)\ny = F.silu(a) * b",
        "[*x[:-1], x[-1] // 2]",
        "",
        [(2,), (5, 34), (2, 3, 4, 10)],
    ),
    # two axes that become one
    "Joined": (
        "y = torch.softmax((x * w).flatten(-2), -1)",
        "[*x[:-2], x[-2] * x[-1]]",
        "",
        [(3, 4), (2, 3, 17), (2, 2, 5, 1)],
    ),
}
RANKS = {"Joined": ", rank: [2, 8]"}


def spec_of(name: str, gradient: bool = False) -> OpSpec:
    compute, rule, lines, _ = CASES[name]
    text = "\n".join(
        [
            f"op: LastAxes{name}",
            "inputs:",
            f"  x: {{dtype: float32{RANKS.get(name, '')}}}",
            '  w: {dtype: float32, shape: "[x[-1]]"}',
            f'outputs: {{y: "{rule}"}}',
            lines,
            "compute: |",
            *(f"  {line}" for line in compute.splitlines()),
            "backward: kernel" if gradient else "",
        ]
    )
    spec = parse_spec(text, "last_axes.yaml").spec
    assert spec is not None
    return spec


USUAL = ("Heads", "Pairs", "Joined")


@pytest.mark.parametrize(
    "name", [n if n in USUAL else pytest.param(n, marks=pytest.mark.slow) for n in CASES]
)
def test_every_rank(tmp_path, name):
    op = BuiltOp(spec_of(name), tmp_path)
    for shape in CASES[name][3]:
        for count in (2, 3) if "n" in [a.name for a in op.spec.attrs] else (None,):
            attrs: dict[str, Any] = {} if count is None else {"n": count}
            given = {"x": torch.randn(shape), "w": torch.randn(shape[-1])}
            outputs, golden, result = op.run(given, attrs)
            assert result.findings == [], (shape, count)
            check(outputs["y"], golden["y"])


@pytest.mark.parametrize(
    "name",
    ["Heads", *(pytest.param(n, marks=pytest.mark.slow) for n in CASES if n != "Heads")],
)
def test_gradients_at_every_rank(tmp_path, name):
    spec = gradient_spec(spec_of(name, gradient=True))
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for shape in CASES[name][3]:
        given = {"x": torch.randn(shape, dtype=torch.float32), "w": torch.randn(shape[-1])}
        size = math.prod(shape)
        made = {"Pairs": (*shape[:-1], shape[-1] // 2), "Joined": (*shape[:-2], -1)}
        given["grad_y"] = torch.randn(size // 2 if name == "Pairs" else size).view(
            made.get(name, shape) if size else shape
        )
        attrs = {"n": 3} if "n" in [a.name for a in spec.attrs] else {}
        outputs, golden, result = op.run(given, attrs)
        assert result.findings == [], shape
        for output, value in outputs.items():
            check(value, golden[output])


def test_a_count_that_only_sizes_have(tmp_path):
    """The gradient of `unflatten` reads no number of pieces, and writes through their shape."""
    text = """
op: LastAxesCount
inputs: {x: {dtype: float32, rank: [2, 5]}}
attrs: {n: {default: 2, min: 1}}
outputs: {y: "[*x[:-2], n, x[-2], x[-1] // n]"}
compute: x.unflatten(-1, (n, -1)).transpose(-2, -3) * 2
backward: kernel
"""
    forward = parse_spec(text, "count.yaml").spec
    assert forward is not None
    spec = gradient_spec(forward)
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for shape, count in (((3, 12), 2), ((3, 12), 3), ((2, 3, 4, 12), 4), ((5, 7), 1)):
        split = (*shape[:-2], count, shape[-2], shape[-1] // count)
        given = {"x": torch.randn(shape), "grad_y": torch.randn(split)}
        outputs, golden, result = op.run(given, {"n": count})
        assert result.findings == [], (shape, count)
        check(outputs["grad_x"], golden["grad_x"])


def test_reshapes_one_behind_the_other(tmp_path):
    """The loss of each label leaves a row of one class, and gets the shape of the labels."""
    text = """
op: LastAxesLabels
inputs:
  x: {dtype: float32, rank: [2, 6]}
  t: {dtype: int64, shape: "[x[0], *x[2:]]"}
outputs: {y: like t}
compute: |
  rows = x.reshape(x.shape[0], x.shape[1], -1)
  y = F.cross_entropy(rows, t.reshape(t.shape[0], -1), reduction='none').reshape(t.shape)
"""
    spec = parse_spec(text, "labels.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for shape in ((5, 7), (5, 7, 3), (2, 3, 4, 5), (2, 3, 2, 2, 3)):
        labels = torch.randint(0, shape[1], (shape[0], *shape[2:]))
        outputs, golden, result = op.run({"x": torch.randn(shape), "t": labels}, {})
        assert result.findings == [], shape
        check(outputs["y"], golden["y"])
