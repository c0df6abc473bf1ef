"""Attentions in larger formulas: one pass each, whatever computes their operands or reads them."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec

HALF = ("float16", "float32")
FLOAT = ("float32", "float32")


class Case(NamedTuple):
    """Lines of a formula of z over q, k, v and t, its passes, and what lies in the workspace."""

    compute: str
    passes: list[str]
    stored: dict[str, tuple[str, ...]]


FORMS = {
    "sum with a residual": Case(
        "z = F.scaled_dot_product_attention(q, k, v) + t",
        ["attention", "elementwise"],
        {"bmm1": FLOAT},
    ),
    "norm and gate of the result": Case(
        "z = F.rms_norm(torch.softmax(q @ k.mT, -1) @ v, (q.shape[3],)) * torch.sigmoid(t)",
        ["attention", "row"],
        {"bmm1": FLOAT},
    ),
    "projection of the result": Case(
        "z = (torch.softmax(q @ k.mT / 4, -1) @ v) @ t.mT @ t",
        ["attention", "contract", "contract"],
        {"bmm1": HALF, "bmm2": HALF},
    ),
    "rotated queries and keys": Case(
        "h = q.shape[3] // 2\n"
        "a = q * t + torch.cat([-q[..., h:], q[..., :h]], -1)\n"
        "b = k + torch.cat([-k[..., h:], k[..., :h]], -1)\n"
        "z = F.scaled_dot_product_attention(a, b, v)",
        ["elementwise", "elementwise", "attention"],
        {"value1": HALF, "value2": HALF},
    ),
    "keys and values joined to earlier ones": Case(
        "z = F.scaled_dot_product_attention(q, torch.cat([t, k], 2), torch.cat([t, v], 2))",
        ["elementwise", "elementwise", "attention"],
        {"value1": HALF, "value2": HALF},
    ),
    "normalised queries and keys": Case(
        "z = torch.softmax(F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT, -1) @ v",
        ["row", "row", "attention"],
        {"value1": HALF, "value2": HALF},
    ),
    "values that are scaled": Case(
        "z = torch.softmax(q * 2 @ k.mT, -1) @ (v * 2)",
        ["elementwise", "attention"],
        {"value1": HALF},
    ),
    "a band of keys": Case(
        "i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])\n"
        "z = F.scaled_dot_product_attention(q, k, v, attn_mask=(j <= i) & (j > i - 4))",
        ["elementwise", "attention"],
        {"value1": ("bool", "bool")},
    ),
    "a bias of positions": Case(
        "i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])\n"
        "z = torch.softmax(q @ k.mT + torch.exp(-0.25 * torch.abs(i - j)), -1) @ v",
        ["elementwise", "attention"],
        {"value1": FLOAT},
    ),
    "an attention of an attention": Case(
        "a = torch.softmax(q @ k.mT, -1) @ v\nz = torch.softmax(a @ k.mT, -1) @ v",
        ["attention", "attention"],
        {"bmm1": HALF},
    ),
}
DEFAULT = ("sum with a residual",)
SHAPES = [
    {"q": (2, 3, 20, 16), "k": (2, 3, 33, 16), "v": (2, 3, 33, 16), "t": (2, 3, 20, 16)},
    {"q": (1, 1, 1, 8), "k": (1, 1, 130, 8), "v": (1, 1, 130, 8), "t": (1, 1, 1, 8)},
    {"q": (0, 2, 5, 8), "k": (0, 2, 7, 8), "v": (0, 2, 7, 8), "t": (0, 2, 5, 8)},
]


def spec_of(compute: str, name: str = "AttentionPart") -> OpSpec:
    lines = "\n  ".join(compute.splitlines())
    case = ", ".join(f"{n}: {list(shape)}" for n, shape in SHAPES[0].items())
    result = parse_spec(
        f"op: {name}\ninputs:\n  q: {{dtype: [float16, float32], rank: 4}}\n"
        "  k: {dtype: q, rank: 4}\n  v: {dtype: q, shape: like k}\n  t: {dtype: q, shape: like q}\n"
        f"outputs:\n  z: {{dtype: q, shape: like q}}\ncompute: |\n  {lines}\nbackward: none\n"
        f"cases:\n  - {{{case}}}\n",
        "case.yaml",
    )
    assert result.spec is not None, result.diagnostics
    return result.spec


@pytest.mark.parametrize("name", FORMS)
def test_an_attention_is_one_pass_of_a_formula(name: str) -> None:
    case = FORMS[name]
    plan = plan_op(spec_of(case.compute))
    assert [p.family.name for p in plan.parts] == case.passes
    assert {p.name: p.dtypes for p in plan.temporaries} == case.stored


def test_operands_that_the_formula_keeps_in_float32_are_stored_so() -> None:
    compute = (
        "a = torch.softmax(torch.tanh(q.float()) @ torch.tanh(k.float()).mT, -1)\n"
        "z = (a @ torch.tanh(v.float())).to(q.dtype)"
    )
    plan = plan_op(spec_of(compute))
    assert {p.dtypes for p in plan.temporaries} == {FLOAT}


def test_a_value_that_is_only_moved_keeps_the_dtype_of_its_inputs() -> None:
    plan = plan_op(spec_of("z = F.max_pool2d(torch.cat([q, t], 2), 3, 1, 1)[:, :, :q.shape[2]]"))
    assert {p.name: p.dtypes for p in plan.temporaries} == {"value1": HALF, "window1": FLOAT}


@pytest.mark.parametrize("name", default_part(FORMS, DEFAULT))
def test_results_and_sanitizer(name: str, tmp_path) -> None:
    number = list(FORMS).index(name)
    spec = spec_of(FORMS[name].compute, f"AttentionPart{number}")
    op = BuiltOp(spec, tmp_path, style="9.x" if number % 2 else "8.1")
    for dtype in (torch.float16, torch.float32):
        for shapes in SHAPES:
            generator = torch.Generator().manual_seed(number)
            inputs = {n: torch.randn(s, generator=generator).to(dtype) for n, s in shapes.items()}
            for sync in (True, False):
                outputs, golden, result = op.run(inputs, mode="check", auto_sync=sync)
                got, want = outputs["z"].double(), golden["z"].double()
                assert got.shape == want.shape and result.findings == []
                bound = 2.0**-7 if dtype is torch.float16 else 2.0**-15
                assert bool(((got - want).abs() <= bound * want.abs().clamp(min=1)).all())


SHARED_MASK = """
op: SharedMask
inputs:
  q: {dtype: [float16, float32], rank: 4}
  k: {dtype: q, rank: 4}
  v: {dtype: q, shape: like k}
  m: {dtype: q, shape: "[k[0], k[1], q[2], k[2]]"}
outputs: {y: like q}
compute: |
  b, h, s, d = q.shape
  heads, keys, n = k.shape[1], k.shape[2], h // k.shape[1]
  m = m[:, :, None].expand(b, heads, n, s, keys).reshape(b, heads * n, s, keys)
  k = k[:, :, None].expand(b, heads, n, keys, d).reshape(b, heads * n, keys, d)
  w = v[:, :, None].expand(b, heads, n, keys, d).reshape(b, heads * n, keys, d)
  y = torch.softmax(q @ k.mT + m, -1) @ w
backward: none
cases:
  - {q: [2, 4, 7, 32], k: [2, 2, 20, 32], v: [2, 2, 20, 32], m: [2, 2, 7, 20]}
"""


def test_heads_that_share_a_mask(tmp_path) -> None:
    """The mask of each head of keys is written once per head of the query; the rest is one pass."""
    spec = parse_spec(SHARED_MASK, "shared.yaml").spec
    assert spec is not None
    plan = plan_op(spec)
    assert [p.family.name for p in plan.parts] == ["elementwise", "attention"]
    op = BuiltOp(spec, tmp_path)
    for heads, shared in ((2, 2), (1, 5), (3, 1)):
        q, m = torch.randn(2, heads * shared, 9, 16), torch.randn(2, heads, 9, 21)
        k, v = torch.randn(2, heads, 21, 16), torch.randn(2, heads, 21, 16)
        given = {"q": q, "k": k, "v": v, "m": m}
        outputs, golden, result = op.run(given, mode="check")
        assert result.findings == []
        torch.testing.assert_close(outputs["y"].double(), golden["y"], rtol=1e-3, atol=1e-4)
