"""Floats that kernels store as small integers: ties, limits and what lies beyond them."""

from __future__ import annotations

import json

import pytest
import torch
from harness import BuiltOp

from msopgen_wrap.spec.loader import parse_spec

# output -> dtype and what it is made of; the last is clamped to less than its type holds
FORMULAS = {
    "a": ("int8", "torch.clamp(torch.round(x), -128, 127)"),
    "b": ("uint8", "torch.clamp(torch.round(x), 0, 255)"),
    "c": ("int16", "torch.clamp(torch.floor(x), -32768, 32767)"),
    "d": ("int8", "torch.clamp(x, -128, 127)"),
    "e": ("int8", "torch.clamp(torch.round(x), -100, 100)"),
}
LIMITS = (0, 100, 127, 128, 255, 256, 32767, 32768, 2**31, 1e20, float("inf"))
OFFSETS = (-1.5, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 1.5)


@pytest.fixture(scope="module")
def op(tmp_path_factory) -> BuiltOp:
    text = {
        "op": "SmallIntegers",
        "inputs": {"x": "float32"},
        "outputs": {n: {"dtype": d, "shape": "x"} for n, (d, _) in FORMULAS.items()},
        "compute": "\n".join(f"{n} = ({f}).to(torch.{d})" for n, (d, f) in FORMULAS.items()),
    }
    spec = parse_spec(json.dumps(text), "small.yaml").spec
    assert spec is not None
    return BuiltOp(spec, tmp_path_factory.mktemp("small"))


@pytest.mark.parametrize("mode", ["fast", "check"])
def test_every_limit_and_tie(op: BuiltOp, mode: str) -> None:
    values = [s * (limit + offset) for limit in LIMITS for offset in OFFSETS for s in (1, -1)]
    x = torch.tensor([*values, float("nan")], dtype=torch.float32)
    outputs, _, result = op.run({"x": x}, mode=mode, auto_sync=False)
    assert result.findings == []
    for name, (dtype, formula) in FORMULAS.items():
        # PyTorch leaves open which integer nan becomes; ours is 0
        want = eval(formula, {"torch": torch, "x": x.nan_to_num(nan=0.0)})
        wrong = outputs[name] != want.to(getattr(torch, dtype))
        assert not wrong.any(), (name, x[wrong], outputs[name][wrong])
