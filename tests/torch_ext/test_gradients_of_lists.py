"""Gradients of list inputs of which nothing is asked: torch wants a list of nothing for them."""

from __future__ import annotations

from msopgen_wrap.spec.loader import parse_spec, with_gradients
from msopgen_wrap.torch_ext.gradient_render import explicit_results, kernel_lines

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


def test_a_kernel_gives_a_list_for_a_list() -> None:
    spec = parse_spec(KERNEL).spec
    assert spec is not None
    _, gradient = with_gradients([spec])
    assert kernel_lines(spec, "acme", gradient)[-1] == (
        "_grads = (grad_xs if any(_needed[0]) else [None] * len(xs),"
        " grad_ys if any(_needed[1]) else [None] * len(ys))"
    )


def test_written_gradients_give_a_list_for_a_list() -> None:
    spec = parse_spec(WRITTEN).spec
    assert spec is not None
    assert explicit_results(spec) == ["grad_xs or [None] * len(xs)", "[None] * len(ys)"]
