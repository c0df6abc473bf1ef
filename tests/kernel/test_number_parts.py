"""Bits of floats taken apart and moved, compiled and run in the emulation, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import torch
from harness import BuiltOp, make_spec

COMPUTE = """\
following = torch.nextafter(x, y)
mantissa, exponent = torch.frexp(x)
"""
TINY = (1e-45, -1e-45, 1e-40, 2.0**-126)
INF = float("inf")
EDGES = torch.tensor(
    [0.0, -0.0, 1.0, -1.5, 7.0, -1000.25, 3.4028234663852886e38, INF, -INF, float("nan"), *TINY]
)


def test_parts_of_floats(tmp_path):
    spec = make_spec(COMPUTE, "x y", "following mantissa exponent")
    outputs = (*spec.outputs[:2], replace(spec.outputs[2], dtypes=("int32",)))
    op = BuiltOp(replace(spec, outputs=outputs), tmp_path)
    x, y = torch.cartesian_prod(EDGES, EDGES).unbind(1)
    got = [torch.full(x.shape, 77, dtype=d) for d in (torch.float32, torch.float32, torch.int32)]
    op.runtime.run(spec.op, [x.contiguous(), y.contiguous()], got, {})
    expected = (torch.nextafter(x, y), *torch.frexp(x))
    for have, want in zip(got, expected, strict=True):
        unordered = torch.isnan(want)
        assert torch.equal(torch.isnan(have), unordered)
        same = have.view(torch.int32) == want.contiguous().view(torch.int32)
        assert bool((same | unordered).all())
