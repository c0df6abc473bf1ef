"""Attention in one pass: forms of it, masks, shared heads, tails, empty tensors, special values."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.families.attention.scores import (
    ADD,
    ADD_WHERE,
    FILL,
    FILL_ABOVE,
    SCALE,
)
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec

Shapes = tuple[tuple[int, ...], ...]

HEADS = ((2, 3, 20, 16), (2, 3, 33, 16), (2, 3, 33, 24))
GROUPED = ((2, 6, 20, 16), (2, 3, 33, 16), (2, 3, 33, 24))
PLAIN_MATRICES = ((20, 16), (33, 16), (33, 24))


class Case(NamedTuple):
    """A formula over q, k, v and a mask m, the dtype and shape rule of m, and shapes to try."""

    compute: str
    shapes: list[Shapes]
    steps: list[str]
    mask: tuple[str, str] | None = None  # dtype, shape rule
    safe: bool = False
    y: str = "[*q[:-1], v[-1]]"


TRIANGLE = "torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()"
FORMS = {
    "sdpa": Case("F.scaled_dot_product_attention(q, k, v)", [HEADS], [SCALE], safe=True),
    "sdpa with a scale": Case(
        "F.scaled_dot_product_attention(q, k, v, scale=0.3)", [HEADS], [SCALE], safe=True
    ),
    "causal sdpa": Case(
        "F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        [HEADS, ((1, 2, 300, 64), (1, 2, 150, 64), (1, 2, 150, 40))],
        [SCALE, FILL_ABOVE],
        safe=True,
    ),
    "sdpa with a bool mask": Case(
        "F.scaled_dot_product_attention(q, k, v, attn_mask=m)",
        [HEADS, ((1, 2, 1, 20), (1, 2, 1, 20), (1, 2, 1, 30)), ((2, 2, 70, 33),) * 3],
        [SCALE, ADD_WHERE],
        ("bool", "[q[0], 1, q[2], k[2]]"),
        safe=True,
    ),
    "sdpa with an added mask": Case(
        "F.scaled_dot_product_attention(q, k, v, attn_mask=m)",
        [HEADS],
        [SCALE, ADD],
        ("q", "[q[2], k[2]]"),
        safe=True,
    ),
    "sdpa of grouped heads": Case(
        "F.scaled_dot_product_attention(q, k, v, enable_gqa=True)", [GROUPED], [SCALE], safe=True
    ),
    "softmax by hand": Case(
        "torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v",
        [
            HEADS,
            ((1, 1, 7, 5), (1, 1, 1, 5), (1, 1, 1, 600)),
            ((2, 0, 7, 5), (2, 0, 4, 5), (2, 0, 4, 3)),
            ((1, 2, 5, 0), (1, 2, 700, 0), (1, 2, 700, 3)),
        ],
        [SCALE],
    ),
    "two matrices": Case("torch.softmax(q @ k.T * 0.5, -1) @ v", [PLAIN_MATRICES], [SCALE]),
    "einsum": Case(
        "torch.einsum('bhqk,bhkd->bhqd', torch.softmax(torch.einsum('bhqd,bhkd->bhqk', q, k) * 2, "
        "-1), v)",
        [HEADS],
        [SCALE],
    ),
    "positions before heads": Case(
        "(torch.softmax(q.transpose(1, 2) @ k.permute(0, 2, 3, 1) * 0.2, -1) @ v.transpose(1, 2))"
        ".transpose(1, 2)",
        [((2, 20, 3, 16), (2, 33, 3, 16), (2, 33, 3, 24))],
        [SCALE],
    ),
    "padding and triangle": Case(
        f"torch.softmax((q @ k.mT * 0.25).masked_fill(m, float('-inf')).masked_fill(~{TRIANGLE}, "
        "float('-inf')), -1) @ v",
        [HEADS],
        [SCALE, FILL, FILL_ABOVE],
        ("bool", "[q[0], 1, 1, k[2]]"),
    ),
    "a finite value behind the diagonal": Case(
        f"torch.softmax(torch.where({TRIANGLE}, q @ k.mT, -1e4) + m, -1) @ v",
        [HEADS],
        [FILL_ABOVE, ADD],
        ("q", "[q[1], q[2], 1]"),
    ),
    "keys repeated": Case(
        "torch.softmax(q @ k.repeat_interleave(2, 1).mT * 0.3, -1) @ v.repeat_interleave(2, 1)",
        [GROUPED],
        [SCALE],
    ),
    "queries in groups": Case(
        "(torch.softmax(q.reshape(q.shape[0], k.shape[1], q.shape[1] // k.shape[1], q.shape[2], "
        "q.shape[3]) @ k[:, :, None].mT * 0.1, -1) @ v[:, :, None]).reshape(q.shape[0], "
        "q.shape[1], q.shape[2], v.shape[3])",
        [GROUPED],
        [SCALE],
    ),
}


def spec_of(case: Case, dtypes: str = "[float16, float32]", name: str = "AttentionForm") -> OpSpec:
    names = {"q": case.shapes[0][0], "k": case.shapes[0][1], "v": case.shapes[0][2]}
    rows = [
        f"  {n}: {{dtype: {dtypes if n == 'q' else 'q'}, rank: {len(s)}}}" for n, s in names.items()
    ]
    given = ", ".join(f"{n}: {list(s)}" for n, s in names.items())
    if case.mask is not None:
        rows.append(f'  m: {{dtype: {case.mask[0]}, shape: "{case.mask[1]}"}}')
        given += f", m: {list(mask_shape(case, case.shapes[0]))}"
    text = "\n".join(
        [
            f"op: {name}",
            "inputs:",
            *rows,
            f'outputs:\n  y: {{dtype: q, shape: "{case.y}"}}',
            "compute: |",
            f"  y = {case.compute}",
            f"backward: none\ncases:\n  - {{{given}}}\n",
        ]
    )
    result = parse_spec(text, "case.yaml")
    assert result.spec is not None, result.diagnostics
    return result.spec


def mask_shape(case: Case, shapes: Shapes) -> tuple[int, ...]:
    assert case.mask is not None
    q, k, _ = shapes
    return tuple(eval(case.mask[1], {"q": q, "k": k}))


@pytest.mark.parametrize(
    "name", default_part(FORMS, ["softmax by hand", "causal sdpa", "queries in groups"])
)
def test_forms_of_attention_are_one_pass(name: str) -> None:
    case = FORMS[name]
    spec = spec_of(case)
    plan: Any = plan_op(spec)
    assert plan.family.name == "attention"
    (body,) = plan.bodies
    assert [step.kind for step in body.attention.steps] == case.steps
    assert body.attention.safe == case.safe


def test_both_products_share_the_memories_of_a_cube_core() -> None:
    plan: Any = plan_op(spec_of(FORMS["softmax by hand"], "[float16, bfloat16, float32]"))
    limits = {"L1": 524288, "L0A": 65536, "L0B": 65536, "L0C": 131072}
    for block in plan.bodies[0].blocks.values():
        assert all(used <= limits[name] for name, used in block.used().items())
        assert block.used()["L0C"] == limits["L0C"]


PARTS = {
    "softmax over queries": "torch.softmax(q @ k.mT, -2) @ v",
    "a function of the scores": "torch.softmax(torch.tanh(q @ k.mT), -1) @ v",
    "scores that are transposed": "torch.softmax((q @ k.mT).mT, -1).mT @ v",
}


@pytest.mark.parametrize(
    "name", default_part(PARTS, ["softmax over queries", "a function of the scores"])
)
def test_what_is_no_attention_is_cut_at_its_products(name: str) -> None:
    shapes = ((2, 3, 20, 16), (2, 3, 33, 16), (2, 3, 33, 24))
    plan = plan_op(spec_of(Case(PARTS[name], [shapes], [])))
    families = [part.family.name for part in plan.parts]
    assert families.count("contract") == 2 and "attention" not in families


def test_a_mask_that_is_computed_is_written_before_the_attention() -> None:
    shapes = ((2, 3, 20, 16), (2, 3, 33, 16), (2, 3, 33, 24))
    formula = "torch.softmax(q @ k.mT + torch.exp(m), -1) @ v"
    plan = plan_op(spec_of(Case(formula, [shapes], [], ("q", "[q[2], k[2]]"))))
    assert [part.family.name for part in plan.parts] == ["elementwise", "attention"]


def test_a_projection_before_an_attention_is_a_part_of_its_own() -> None:
    text = """
op: Projected
inputs:
  x: {dtype: float16, rank: 3}
  w: {dtype: x, rank: 2}
  k: {dtype: x, rank: 3}
outputs:
  y: like k
compute: |
  q = x @ w
  y = torch.softmax(q @ k.mT, -1) @ k
backward: none
cases:
  - {x: [2, 33, 20], w: [20, 16], k: [2, 33, 16]}
"""
    spec = parse_spec(text, "case.yaml").spec
    assert spec is not None
    assert [p.family.name for p in plan_op(spec).parts] == ["contract", "attention"]


def test_integers_have_no_attention() -> None:
    with pytest.raises(OpgenError):
        plan_op(spec_of(Case("torch.softmax(q @ k.mT, -1) @ v", [HEADS], []), "int32"))


def inputs_of(case: Case, shapes: Shapes, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(sum(map(sum, shapes)))
    inputs = {
        name: torch.randn(shape, generator=generator).to(dtype)
        for name, shape in zip("qkv", shapes, strict=True)
    }
    if case.mask is not None:
        mask = torch.randn(mask_shape(case, shapes), generator=generator)
        inputs["m"] = mask > 0.3 if case.mask[0] == "bool" else mask.to(dtype)
    return inputs


# Built together they reach every block and every kind of step.
BUILT = (
    "softmax by hand",
    "causal sdpa",
    "sdpa with a bool mask",
    "padding and triangle",
    "a finite value behind the diagonal",
    "queries in groups",
)


@pytest.fixture(scope="module", params=[pytest.param(n, marks=pytest.mark.slow) for n in BUILT])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    number = BUILT.index(request.param)
    dtype = ("float16", "float32")[number % 2]
    spec = spec_of(FORMS[request.param], f"[{dtype}]", f"AttentionCase{number}")
    style = "9.x" if number in (1, 4) else "8.1"
    op = BuiltOp(spec, tmp_path_factory.mktemp("attention"), style=style)
    return op, FORMS[request.param], getattr(torch, dtype)


def test_results_and_sanitizer(built: Any) -> None:
    op, case, dtype = built
    for shapes in case.shapes:
        inputs = inputs_of(case, shapes, dtype)
        for sync in (True, False):
            outputs, golden, result = op.run(inputs, mode="check", auto_sync=sync)
            got, want = outputs["y"].double(), golden["y"].double()
            assert got.shape == want.shape and result.findings == []
            assert torch.equal(got.isnan(), want.isnan())
            bound = 2.0**-8 if dtype is torch.float16 else 2.0**-16
            apart = (got - want).abs().nan_to_num(0)
            assert bool((apart <= bound * want.abs().nan_to_num(0).clamp(min=1)).all())


def test_numbers_that_are_not_finite_reach_their_rows(built: Any) -> None:
    op, case, dtype = built
    inputs = inputs_of(case, case.shapes[0], dtype)
    inputs["q"].view(-1)[5] = float("nan")
    inputs["k"].view(-1)[0] = float("inf")
    inputs["v"].view(-1)[1] = float("inf")
    outputs, golden, result = op.run(inputs, mode="check")
    assert result.findings == []
    assert torch.equal(outputs["y"].isnan(), golden["y"].isnan())
    assert torch.equal(outputs["y"].isinf(), golden["y"].isinf())


SCALED = """op: Scaled
inputs:
  q: {dtype: [float16], rank: 4}
outputs: {y: like q}
attrs: {scale: 0.3}
compute: y = F.scaled_dot_product_attention(q, q, q, is_causal=True, scale=scale)
backward: none
"""


def test_the_scale_may_be_an_attr(tmp_path: Path) -> None:
    spec = parse_spec(SCALED, "op.yaml").spec
    assert spec is not None and [p.family.name for p in plan_op(spec).parts] == ["attention"]
    op = BuiltOp(spec, tmp_path)
    for scale in (0.3, 0.9):
        inputs = {"q": torch.randn(1, 2, 20, 16).half()}
        outputs, golden, result = op.run(inputs, {"scale": scale}, mode="check")
        torch.testing.assert_close(outputs["y"].double(), golden["y"], rtol=0.01, atol=0.01)
        assert result.findings == []


def test_axes_that_are_put_in_order_and_back_stay(tmp_path) -> None:
    """PyTorch does so with four axes; other ranks have other numbers of them."""
    text = (
        "op: OpenRank\ninputs:\n  w: {dtype: [float16], rank: [1, 8]}\n"
        "outputs:\n  y: {dtype: w, shape: '[*w, 1]'}\nbackward: none\ncompute: |\n"
        "  q = w.unsqueeze(-1)\n  y = F.scaled_dot_product_attention(q, q, q, is_causal=True)\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for shape in [(7,), (3, 5), (2, 3, 40)]:
        outputs, golden, result = op.run({"w": torch.randn(shape).half()}, mode="check")
        torch.testing.assert_close(outputs["y"].double(), golden["y"], rtol=0.01, atol=0.01)
        assert result.findings == []


def test_a_choice_behind_an_attention_is_a_pass() -> None:
    text = (
        "op: Chosen\ninputs:\n  x: {dtype: [float16], rank: 2}\n"
        "  c: {dtype: [bool], shape: '[1, 1]'}\noutputs:\n  y: like x\nbackward: none\n"
        "compute: y = torch.where(c, F.scaled_dot_product_attention(x, x, x), 0)\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    families = [part.family.name for part in plan_op(spec).parts]
    assert families == ["attention", "elementwise"]
