"""Bytes that are saved for backward, beside those of eager PyTorch."""

from __future__ import annotations

import torch

from msopgen_wrap.run.saved_bytes import saved_bytes
from msopgen_wrap.spec.loader import parse_spec
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


def test_a_sum_keeps_more_than_eager() -> None:
    text = NORM.split("inputs:")[0] + (
        "inputs:\n  x: {dtype: float32, rank: 2}\n"
        'outputs:\n  y: "[x[0]]"\ncompute: x.sum(-1)\nbackward: kernel\n'
        "cases:\n  - {x: [3, 4]}\n"
    )
    found = saved_bytes(spec_of(text))
    assert found is not None and (found.kernel, found.eager) == (48, 0)
    assert found.text() == "48 bytes at x=3x4 in float32; eager PyTorch saves 0"
