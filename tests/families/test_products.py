"""Matrix products on the cube: views of operands and results, sizes, special values, refusals."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp
from operand_specs import operands_spec

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.families.contract.plan import MODES
from msopgen_wrap.run.hf32_products import to_hf32
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec

Shapes = list[tuple[int, ...]]


class Case(NamedTuple):
    """A formula over inputs x and y, their ranks, the shape of z, and shapes to try."""

    compute: str
    ranks: tuple[Any, Any]
    z: str
    shapes: list[tuple[tuple[int, ...], tuple[int, ...]]]


# Tails, one row, one column, no rows, no depth; K in pieces last.
PLAIN = [
    ((33, 70), (70, 50)),
    ((1, 300), (300, 1)),
    ((17, 1), (1, 19)),
    ((0, 5), (5, 3)),
    ((5, 0), (0, 3)),
    ((200, 513), (513, 300)),
    ((17, 20001), (20001, 33)),
]
CASES = {
    "two matrices": Case("x @ y", (2, 2), "[x[0], y[1]]", PLAIN),
    "transposed right": Case(
        "x @ y.T", (2, 2), "[x[0], y[0]]", [(x, (y[1], y[0])) for x, y in PLAIN]
    ),
    "transposed left": Case(
        "x.T @ y", (2, 2), "[x[1], y[1]]", [((x[1], x[0]), y) for x, y in PLAIN]
    ),
    "both transposed": Case(
        "x.T @ y.T", (2, 2), "[x[1], y[0]]", [((x[1], x[0]), (y[1], y[0])) for x, y in PLAIN]
    ),
    "transposed result": Case("(x @ y).T", (2, 2), "[y[1], x[0]]", PLAIN),
    "vector or matrices": Case(
        "torch.matmul(x, y)",
        ([1, 4], 2),
        "[*x[:-1], y[1]]",
        [((70,), (70, 50)), ((0,), (0, 3)), ((3, 20, 33), (33, 5)), ((9000,), (9000, 40))],
    ),
    "linear": Case(
        "F.linear(x, y)",
        ([2, 8], 2),
        "[*x[:-1], y[0]]",
        [
            ((20, 33), (50, 33)),
            ((3, 20, 33), (50, 33)),
            ((2, 3, 7, 130), (60, 130)),
            ((0, 3, 5), (2, 5)),
            ((2, 3, 0), (4, 0)),
        ],
    ),
    "batches": Case(
        "torch.bmm(x, y)",
        (3, 3),
        "[x[0], x[1], y[2]]",
        [
            ((3, 20, 33), (3, 33, 40)),
            ((50, 3, 4), (50, 4, 5)),
            ((0, 3, 4), (0, 4, 5)),
            ((3, 5, 9001), (3, 9001, 7)),
        ],
    ),
    "batches inside rows": Case(
        "torch.bmm(x, y).transpose(0, 1)",
        (3, 3),
        "[x[1], x[0], y[2]]",
        [((3, 20, 33), (3, 33, 40)), ((3, 5, 9001), (3, 9001, 7))],
    ),
    "batches that one side repeats": Case(
        "x @ y",
        (4, 3),
        "[x[0], x[1], x[2], y[2]]",
        [
            ((2, 3, 20, 33), (3, 33, 40)),
            ((5, 1, 7, 3), (1, 3, 2)),
            ((2, 1, 5, 7000), (1, 7000, 130)),
        ],
    ),
    "batches apart from rows": Case(
        "torch.einsum('bshd,bthd->bhst', x, y)",
        (4, 4),
        "[x[0], x[2], x[1], y[1]]",
        [
            ((2, 10, 3, 24), (2, 17, 3, 24)),
            ((1, 1, 1, 16), (1, 5, 1, 16)),
            ((1, 10, 2, 33000), (1, 17, 2, 33000)),
        ],
    ),
    "part of a matrix": Case(
        "x[:, 2:-1] @ y[:, 3:]", (2, 2), "[x[0], y[1] - 3]", [((20, 33), (30, 50))]
    ),
    "one of the batches": Case(
        "x[1] @ y", (3, 2), "[x[1], y[1]]", [((3, 20, 33), (33, 40)), ((2, 0, 3), (3, 4))]
    ),
    "a piece of a split": Case(
        "F.linear(x, y.chunk(2, 0)[0])",
        (2, 2),
        "[x[0], (y[0] + 1) // 2]",
        [((20, 33), (51, 33)), ((7, 16), (8, 16)), ((1, 5), (1, 5))],
    ),
    "inner": Case("torch.inner(x, y)", (3, 2), "[x[0], x[1], y[0]]", [((2, 7, 33), (40, 33))]),
}
# A result of which each half is a pass, rows of which lie further apart than they are long.
HALVES = Case("p = x @ y; z = torch.cat([p, p + 1], 1)", (2, 2), "[x[0], 2 * y[1]]", PLAIN)
DEFAULT = ("transposed right",)
REFUSED = {
    "integers": ("x @ y", "int32", "int32", "OPG371"),
    "int8 with a result of int8": ("x @ y", "int8", "int8", "OPG371"),
}


def spec_of(case: Case, dtypes: str = "[float16, float32]", name: str = "ProductCase") -> OpSpec:
    ranks = dict(zip("xy", case.ranks, strict=True))
    return operands_spec(name, case.compute, ranks, case.shapes[0], case.z, (dtypes, dtypes))


@pytest.mark.parametrize("name", CASES)
def test_views_around_a_product_are_read_and_written_in_place(name):
    plan = plan_op(spec_of(CASES[name]))
    assert plan.family.name == "contract"
    assert [b.class_name for b in plan.bodies] == ["Kernel"]


def test_the_blocks_fit_the_memories_of_a_cube_core():
    plan = plan_op(spec_of(CASES["two matrices"], "[float16, bfloat16, float32]"))
    for block in plan.bodies[0].blocks.values():
        assert all(used <= plan.memories[name] for name, used in block.used().items())
        assert block.used()["L0C"] == plan.memories["L0C"]


@pytest.fixture(
    scope="module",
    params=default_part(CASES, DEFAULT),
)
def built(request, tmp_path_factory):
    number = list(CASES).index(request.param)
    spec = spec_of(CASES[request.param], name=f"ProductCase{number}")
    folder = tmp_path_factory.mktemp("product")
    op = BuiltOp(spec, folder, style="9.x" if number % 2 else "8.1")
    return op, CASES[request.param]


def close(got: torch.Tensor, golden: torch.Tensor, depth: int) -> None:
    """Compare sums of ``depth`` products of numbers around 1."""
    assert got.shape == golden.shape
    unit = 2.0**-10 if got.dtype is torch.float16 else 2.0**-22
    bound = unit * golden.abs() + 2.0**-20 * max(1, depth)
    assert bool(((got.double() - golden).abs() <= bound).all())


def inputs_of(shapes: tuple[tuple[int, ...], tuple[int, ...]], dtype: Any) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(math.prod(shapes[0]))
    return {
        name: torch.randn(shape, generator=generator).to(dtype)
        for name, shape in zip("xy", shapes, strict=True)
    }


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_results_and_sanitizer(built, dtype):
    op, case = built
    for shapes in case.shapes:
        for sync in (True, False):
            outputs, golden, result = op.run(inputs_of(shapes, dtype), mode="check", auto_sync=sync)
            close(outputs["z"], golden["z"], max(shapes[0], default=1))
            assert result.findings == []


def test_a_long_sum_is_cut_into_pieces(built):
    op, case = built
    for shapes in case.shapes:
        *_, result = op.run(inputs_of(shapes, torch.float16))
        depth = shapes[0][-2 if case.compute.startswith("x.T") else -1]
        assert (result.tiling_key % 10 == MODES["pieces"]) == (depth > 5000), shapes


def test_infinities_and_nan_reach_their_rows_and_columns(built):
    op, case = built
    inputs = inputs_of(case.shapes[0], torch.float32)
    inputs["x"].view(-1)[5] = float("inf")
    inputs["y"].view(-1)[7] = float("nan")
    outputs, golden, _ = op.run(inputs, mode="check")
    assert torch.equal(outputs["z"].isnan(), golden["z"].isnan())
    assert torch.equal(outputs["z"].isinf(), golden["z"].isinf())


# Formulas of several passes: what each makes, and shapes of x and y to try.
PASSES = {
    "pointwise work on a product": (
        Case("F.gelu(x @ y) * 2", (2, 2), "[x[0], y[1]]", PLAIN),
        [("contract", "mm1"), ("elementwise", "z")],
    ),
    "pointwise work before a product": (
        Case("(x * 2 + 1).T @ y", (2, 2), "[x[1], y[1]]", [((70, 33), (70, 50)), ((0, 3), (0, 4))]),
        [("elementwise", "value1"), ("contract", "z")],
    ),
    "softmax of a product": (
        Case("torch.softmax(x @ y, -1)", (2, 2), "[x[0], y[1]]", PLAIN[:3]),
        [("contract", "mm1"), ("row", "z")],
    ),
    "a product beside work on it": (
        HALVES,
        [("contract", "mm1"), ("elementwise", "z_part1")],
    ),
    "matrices or lists of them": (
        Case(
            "torch.softmax(x @ y + x.mean(-1, keepdim=True), -1)",
            ([2, 5], [2, 5]),
            "[*x[:-1], y[-1]]",
            [((3, 20, 33), (3, 33, 50)), ((20, 33), (33, 50)), ((2, 3, 7, 30), (2, 3, 30, 9))],
        ),
        [("contract", "bmm1"), ("row", "mean1"), ("row", "z")],
    ),
    "two products": (
        Case("x @ torch.relu(x.mT @ y)", (2, 2), "like y", [((33, 20), (33, 50))]),
        [("contract", "mm1"), ("elementwise", "value1"), ("contract", "z")],
    ),
    "linear with work behind it": (
        Case(
            "F.gelu(F.linear(x, y) + 1)",
            ([2, 8], 2),
            "[*x[:-1], y[0]]",
            [((20, 33), (50, 33)), ((3, 20, 33), (50, 33)), ((2, 3, 7, 30), (60, 30))],
        ),
        [("contract", "mm1"), ("elementwise", "z")],
    ),
    "product of a product, added to what it is made of": (
        Case(
            "F.linear(F.linear(x, y), y.t()) * 0.5 + x",
            ([2, 8], 2),
            "like x",
            [((20, 33), (7, 33)), ((3, 20, 33), (7, 33)), ((2, 3, 7, 30), (60, 30))],
        ),
        [("contract", "mm1"), ("contract", "mm2"), ("elementwise", "z")],
    ),
    "products with moved axes between them": (
        Case(
            "torch.einsum('bhc,ht->btc', F.gelu(torch.einsum('btc,ht->bhc', x, y)), y)",
            (3, 2),
            "[x[0], x[1], x[2]]",
            [((2, 20, 33), (50, 20)), ((3, 1, 7), (1, 1))],
        ),
        [
            ("elementwise", "value1"),
            ("contract", "bmm1"),
            ("elementwise", "value2"),
            ("elementwise", "value3"),
            ("contract", "bmm2"),
            ("elementwise", "z"),
        ],
    ),
    "pieces of one product multiplied by one another": (
        Case(
            "a, b = (F.linear(x, y) + 1).split(8, -1); z = a @ b.mT",
            (3, 2),
            "[x[0], x[1], x[1]]",
            [((2, 20, 33), (16, 33)), ((1, 1, 8), (16, 8))],
        ),
        [("contract", "mm1"), ("elementwise", "value1"), ("contract", "z")],
    ),
    "pieces of a product of open rank": (
        Case(
            "a, b = (F.linear(x, y) + 1).split(y.shape[0] // 2, -1); z = a * b",
            ([2, 3], 2),
            "[*x[:-1], y[0] // 2]",
            [((20, 33), (16, 33)), ((2, 3, 8), (50, 8))],
        ),
        [("contract", "mm1"), ("elementwise", "z")],
    ),
    "attention with a function of its scores": (
        Case(
            "torch.softmax(torch.tanh(x @ y.mT), -1) @ y",
            (4, 4),
            "like x",
            [((2, 3, 20, 16), (2, 3, 33, 16)), ((1, 1, 1, 8), (1, 1, 130, 8))],
        ),
        [("contract", "bmm1"), ("row", "value1"), ("contract", "z")],
    ),
}


@pytest.mark.parametrize("name", PASSES)
def test_a_product_is_a_pass_of_its_own(name):
    case, passes = PASSES[name]
    plan = plan_op(spec_of(case))
    assert [(p.family.name, p.spec.outputs[0].name) for p in plan.parts] == passes


def test_an_operand_in_the_workspace_has_the_dtype_of_the_other_one():
    plan = plan_op(spec_of(PASSES["attention with a function of its scores"][0]))
    stored = {p.name: p.dtypes for p in plan.temporaries}
    assert stored == {"bmm1": ("float32", "float32"), "value1": ("float16", "float32")}


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSES)
def test_cube_and_vector_cores_in_one_launch(name, tmp_path):
    case, _ = PASSES[name]
    number = list(PASSES).index(name)
    spec = spec_of(case, name=f"MixedCase{number}")
    op = BuiltOp(spec, tmp_path, style="9.x" if number % 2 else "8.1")
    for dtype in (torch.float16, torch.float32):
        for shapes in case.shapes:
            inputs = inputs_of(shapes, dtype)
            for sync in (True, False):
                outputs, golden, result = op.run(inputs, mode="check", auto_sync=sync)
                got, want = outputs["z"].double(), golden["z"].double()
                bound = 4 * (2.0**-10 if dtype is torch.float16 else 2.0**-18)
                scale = float(want.abs().max()) if want.numel() else 1.0
                assert bool(((got - want).abs() <= bound * max(scale, 1.0)).all())
                assert result.findings == []


@pytest.mark.parametrize(
    ("compute", "made"),
    [
        ("x @ y", [("contract", "grad_x"), ("contract", "grad_y")]),
        (
            "torch.relu(x @ y)",
            [("contract", "mm1"), ("elementwise", "value1"), ("contract", "grad_x")],
        ),
    ],
)
def test_gradients_of_a_product_are_products(compute, made):
    spec = spec_of(Case(compute, (2, 2), "[x[0], y[1]]", PLAIN))
    plan = plan_op(gradient_spec(replace(spec, backward="kernel")))
    passes = [(p.family.name, p.spec.outputs[0].name) for p in plan.parts]
    assert passes[: len(made)] == made


@pytest.mark.slow
def test_int8_is_exact(tmp_path):
    text = (
        "op: Int8Product\ninputs:\n  x: {dtype: int8, rank: 2}\n  y: {dtype: int8, rank: 2}\n"
        'outputs:\n  z: {dtype: int32, shape: "[x[0], y[1]]"}\nbackward: none\n'
        "compute: x.to(torch.int32) @ y.to(torch.int32)\ncases:\n  - {x: [3, 4], y: [4, 5]}\n"
    )
    spec = parse_spec(text, "case.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for m, k, n in ((33, 70, 50), (1, 1000, 1), (3, 0, 2), (20, 30001, 33)):
        inputs = {
            "x": torch.randint(-128, 128, (m, k), dtype=torch.int8),
            "y": torch.randint(-128, 128, (k, n), dtype=torch.int8),
        }
        outputs, golden, result = op.run(inputs, mode="check")
        assert torch.equal(outputs["z"], golden["z"]) and result.findings == []


@pytest.mark.slow
def test_hf32_rounds_the_operands(tmp_path):
    """Products of rounded operands are exact to float32, those of a long K in pieces as well."""
    spec = replace(spec_of(CASES["transposed right"], name="Hf32Product"), hf32=True)
    op = BuiltOp(spec, tmp_path)
    for shapes in (((33, 70), (50, 70)), ((17, 20001), (33, 20001))):
        inputs = inputs_of(shapes, torch.float32)
        outputs, golden, result = op.run(inputs, mode="check")
        x, y = (to_hf32(inputs[name]).double() for name in "xy")
        close(outputs["z"], x @ y.T, shapes[0][1])
        assert float((outputs["z"] - golden["z"]).abs().max()) > 1e-4
        assert result.findings == []


@pytest.mark.parametrize("name", REFUSED)
def test_dtypes_that_the_cube_does_not_multiply(name):
    compute, given, _, code = REFUSED[name]
    spec = spec_of(Case(compute, (2, 2), "[x[0], y[1]]", [((3, 4), (4, 5))]), given)
    with pytest.raises(OpgenError) as caught:
        plan_op(spec)
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_sizes_of_a_mask_keep_no_pass_from_its_product() -> None:
    # the second product takes sizes of the softmax, which PyTorch reads of the mask's numbers
    text = """
op: Causal
inputs:
  q: {dtype: [float32], rank: 3}
  k: {dtype: q, rank: 3}
outputs:
  z: like q
compute: |
  ahead = torch.arange(k.shape[1]) > torch.arange(q.shape[1])[:, None]
  scores = torch.tanh(q @ k.mT).masked_fill(ahead, float('-inf'))
  z = torch.softmax(scores, -1) @ k
cases:
  - {q: [2, 20, 16], k: [2, 33, 16]}
"""
    spec = parse_spec(text, "causal.yaml").spec
    assert spec is not None
    plan = plan_op(spec)
    assert [p.family.name for p in plan.parts] == ["contract", "row", "contract"]


def test_matrices_of_one_column_may_be_empty(tmp_path: Any) -> None:
    """How many rows there are is said: of no elements it does not follow from the columns."""
    text = (
        "op: Columns\ninputs:\n  x: {dtype: [float32], rank: [1, 4]}\n"
        "  w: {dtype: [float32], shape: '[1, 4]'}\n"
        "outputs:\n  y: {dtype: x, shape: '[*x, 1, 4]'}\nbackward: none\n"
        "compute: y = x.unsqueeze(-1).unsqueeze(-1) @ w\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for shape in [(5,), (0, 3), (4, 0, 3), (2, 3)]:
        inputs = {"x": torch.randn(shape), "w": torch.randn(1, 4)}
        outputs, golden, _ = op.run(inputs, mode="check")
        torch.testing.assert_close(outputs["y"].double(), golden["y"], rtol=1e-5, atol=1e-5)
