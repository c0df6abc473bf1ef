"""What kernels are measured by rounds as they do, and overflows where PyTorch does on its way."""

from __future__ import annotations

import torch

from msopgen_wrap.run.golden import reference
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.run.reference_modes import RoundedProducts
from msopgen_wrap.spec.loader import parse_spec


def drawn() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(10_000, generator=generator) for _ in range(3)]


def test_products_are_rounded_before_they_are_added() -> None:
    x, a, b = drawn()
    share = torch.rand(10_000, generator=torch.Generator().manual_seed(1)) * 0.49
    with RoundedProducts():
        found = [
            torch.addcmul(x, a, b),
            torch.addcmul(x, a, b, value=0.3),
            torch._foreach_addcmul([x], [a], [b])[0],
            torch.add(x, a, alpha=0.3),
            torch.sub(x, a, alpha=0.3),
            torch.lerp(x, a, share),
            torch.lerp(x, a, 0.7),
            torch.add(x, a),
        ]
    wanted = [
        x + a * b,
        x + a * b * 0.3,
        x + a * b,
        x + a * 0.3,
        x - a * 0.3,
        x + (a - x) * share,
        a - (a - x) * (1 - 0.7),
        x + a,
    ]
    for one, other in zip(found, wanted, strict=True):
        assert torch.equal(one, other)
    assert not torch.equal(torch.addcmul(x, a, b), x + a * b)  # PyTorch's own


def test_a_product_that_overflows_on_its_way_is_not_judged() -> None:
    text = "op: Running\ninputs: {x: {dtype: [float32], rank: 1}}\noutputs: {y: like x}\n"
    spec = parse_spec(text + "backward: none\ncompute: y = x.cumprod(0)\n").spec
    assert spec is not None
    x = torch.tensor([1e30, 1e30, 1e-30, 2.0])
    case = TestCase(0, {"x": (4,)}, {})
    steps = reference(spec, case, {"x": x}).steps
    assert torch.isnan(steps["y"]).tolist() == [False, True, True, True]
    assert not reference(spec, case, {"x": x.clamp(max=1e5)}).steps
