"""Which integer outputs compute rounded from floats, and which outputs are constants."""

from __future__ import annotations

import pytest
import torch

from msopgen_wrap.run.reference_modes import Provenance

CALCULATED = {
    "round": lambda x, n: (x * 3).round().to(torch.int8),
    "truncate": lambda x, n: (x / 3).to(torch.int32),
    "clamp before": lambda x, n: (x * 3).round().clamp(-128, 127).to(torch.int8),
    "clamp after": lambda x, n: (x * 3).to(torch.int32).clamp(-8, 7).to(torch.int8),
    "zero point": lambda x, n: ((x * 3).round().to(torch.int32) + 5).to(torch.int8),
    "rounded by the output": lambda x, n: torch.exp(x),
    "from integers": lambda x, n: (n * 0.1).to(torch.int8),
    "division of integers": lambda x, n: (n / 3).to(torch.int8),
    "sum of a row": lambda x, n: x.sum(-1).to(torch.int32),
    "reshaped": lambda x, n: (x * 3).to(torch.int8).reshape(-1).flip(0),
}
EXACT = {
    "conversion of an input": lambda x, n: x.to(torch.int32),
    "floor of an input": lambda x, n: x.floor().to(torch.int32),
    "clamp of an input": lambda x, n: x.clamp(-2, 2).to(torch.int8),
    "widened": lambda x, n: x.half().float().to(torch.int8),
    "largest of a row": lambda x, n: x.amax(-1).to(torch.int32),
    "index": lambda x, n: torch.argmax(torch.exp(x), -1),
    "integers": lambda x, n: n * 3 + 1,
    "comparison": lambda x, n: (torch.exp(x) > 1).to(torch.int8),
    "product after rounding": lambda x, n: (x * 3).to(torch.int32) * 100,
    "two rounded": lambda x, n: (x * 3).to(torch.int32) + (x * 5).to(torch.int32),
    "bool": lambda x, n: torch.exp(x) > 1,
}


@pytest.mark.parametrize("name", [*CALCULATED, *EXACT])
def test_what_is_rounded(name: str) -> None:
    x, n = torch.randn(4, 5, dtype=torch.float64), torch.arange(20).reshape(4, 5)
    with Provenance() as origins:
        result = (CALCULATED | EXACT)[name](x, n)
    dtype = torch.bool if name == "bool" else torch.int8
    assert origins.quantised(result, dtype) is (name in CALCULATED)
    assert not origins.quantised(result, torch.float32)


CONSTANT = {
    "zeros": lambda x, e: torch.zeros_like(x),
    "arithmetic of constants": lambda x, e: x.new_ones(3).neg() + torch.full((3,), 2.0),
    "filled": lambda x, e: x.clone().zero_(),
    "a sum of no elements": lambda x, e: torch.linalg.norm(e),
}
VARIABLE = {
    "an input": lambda x, e: x,
    "a view": lambda x, e: x[0],
    "zeros by value": lambda x, e: x * 0,
    "a comparison": lambda x, e: x > 100,
    "a constant and an input": lambda x, e: torch.zeros_like(x) + x,
    "a written constant": lambda x, e: torch.zeros_like(x).copy_(x),
}


@pytest.mark.parametrize("name", [*CONSTANT, *VARIABLE])
def test_what_is_constant(name: str) -> None:
    x, empty = torch.randn(4, 5, dtype=torch.float64), torch.zeros(0)
    with Provenance() as origins:
        result = (CONSTANT | VARIABLE)[name](x, empty)
    assert origins.constant(result) is (name in CONSTANT)
