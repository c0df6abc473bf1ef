"""Gradients of list inputs of which nothing is asked: torch wants a list of nothing for them."""

from __future__ import annotations

import pytest

from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.spec.loader import parse_spec, with_gradients

PAIRED = """\
op: Paired
inputs:
  xs: {dtype: float32, list: true}
  ys: {dtype: float32, list: true, shape: like xs}
outputs:
  zs: {dtype: float32, list: true, shape: like xs}
attrs:
  alpha: {type: float, default: 0.5}
compute: zs = [x * y * alpha for x, y in zip(xs, ys)]
"""
KERNEL = PAIRED + "backward: kernel\n"
WRITTEN = PAIRED + 'backward:\n  xs: "[g * y * alpha for g, y in zip(grad_zs, ys)]"\n'
WANTED = {
    "kernel": (
        KERNEL,
        "grad_xs if any(_needed[0]) else [None] * len(xs),"
        " grad_ys if any(_needed[1]) else [None] * len(ys)",
    ),
    "written": (WRITTEN, "(grad_xs or [None] * len(xs), [None] * len(ys), None)"),
}


@pytest.mark.parametrize("name", WANTED)
def test_a_list_gets_a_list(name: str) -> None:
    text, wanted = WANTED[name]
    spec = parse_spec(text).spec
    assert spec is not None
    options = ProjectOptions(parts=("torch_ext",))
    files = {f.path: f.text for f in render_project(with_gradients([spec]), options)}
    (module,) = (t for p, t in files.items() if p.endswith("/ops/paired.py"))
    assert wanted in " ".join(module.split())
