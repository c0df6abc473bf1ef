"""Bytes that are saved for backward, beside those of eager PyTorch."""

from __future__ import annotations

import pytest
import torch

from msopgen_wrap.families import plan_op
from msopgen_wrap.families.gradients import gradient_source, unread_inputs
from msopgen_wrap.run.saved_bytes import saved_bytes
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec

NORM = """
op: SavedNorm
doc: A norm.
inputs:
  x: {dtype: [float32, float16], rank: [1, 8]}
  gamma: {dtype: x, shape: "[x[-1]]"}
outputs:
  y: like x
  rstd: {dtype: float32, shape: "[*x[:-1], 1]"}
compute: |
  rstd = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6)
  y = (x.float() * rstd * gamma.float()).to(x.dtype)
backward: kernel
cases:
  - {x: [2, 8], gamma: [8]}
  - {x: [5, 16], gamma: [16]}
"""


def spec_of(text: str) -> OpSpec:
    spec = parse_spec(text).spec
    assert spec is not None
    return spec


def eager_bytes(x: torch.Tensor, gamma: torch.Tensor) -> int:
    """Count what PyTorch saves on the CPU."""
    kept = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        rstd = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6)
        _y = (x.float() * rstd * gamma.float()).to(x.dtype)
    return sum(storage.nbytes() for storage in kept.values())


def test_the_largest_case_is_counted() -> None:
    found = saved_bytes(spec_of(NORM))
    assert found is not None
    assert found.shapes == {"x": (5, 16), "gamma": (16,)} and found.dtype == "float32"
    assert found.kernel == (5 * 16 + 16) * 4
    given = [torch.rand(s, requires_grad=True) for s in ((5, 16), (16,))]
    assert found.eager == eager_bytes(*given)


def test_saved_outputs_count() -> None:
    found = saved_bytes(spec_of(NORM.replace("cases:", "save: [rstd]\ncases:")))
    assert found is not None and found.kernel == (5 * 16 + 16 + 5) * 4


def test_inputs_that_no_gradient_depends_on_are_not_kept() -> None:
    text = NORM.split("inputs:")[0] + (
        "inputs:\n  x: {dtype: float32, rank: 2}\n"
        'outputs:\n  y: "[x[0]]"\ncompute: x.sum(-1)\nbackward: kernel\n'
        "cases:\n  - {x: [3, 4]}\n"
    )
    spec = spec_of(text)
    unread = unread_inputs(spec, plan_op(gradient_spec(spec)))
    assert unread == ("x",)
    found = saved_bytes(spec, unread)
    assert found is not None and (found.kernel, found.eager) == (0, 0)
    assert found.text() == "0 bytes at x=3x4 in float32; eager PyTorch saves as many"
    why = gradient_source(spec, unread=unread)["why"]
    assert "saved: nothing; shapes saved: x" in why


@pytest.mark.parametrize(
    ("compute", "unread"),
    [
        ("x + 2 * y", ("x", "y")),
        ("x * y", ()),
        ("torch.where(x > 0, y, 2 * x)", ("y",)),
        ("torch.cumsum(x, -1) - y.sum(-1, keepdim=True)", ("x", "y")),
        ("torch.softmax(x, -1) + y.mean(-1, keepdim=True)", ("y",)),
        ("x.amax(-1, keepdim=True) + y", ("y",)),
        ("x.detach() * y", ("y",)),
    ],
)
def test_which_inputs_a_gradient_depends_on(compute: str, unread: tuple[str, ...]) -> None:
    spec = spec_of(
        "op: Some\ninputs:\n  x: {dtype: float32, rank: [1, 8]}\n  y: {dtype: x, shape: like x}\n"
        f"outputs:\n  z: like x\ncompute: {compute}\nbackward: kernel\n"
    )
    assert unread_inputs(spec, plan_op(gradient_spec(spec))) == unread


def test_formulas_of_the_spec_keep_all_inputs() -> None:
    spec = spec_of(
        "op: Some\ninputs:\n  x: float32\noutputs:\n  y: like x\ncompute: x * 2\n"
        "backward:\n  kernel: true\n  x: grad_y * 2\n"
    )
    assert unread_inputs(spec, plan_op(gradient_spec(spec))) == ()
