"""Operands of row kernels: of every extent, and numbers counted along axes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from harness import BuiltOp, check, make_spec
from test_fuzz import close

from msopgen_wrap.families import plan_op
from msopgen_wrap.run.op_runtime import OpRuntimeError
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import (
    DimConst,
    DimOf,
    DimSlice,
    OpSpec,
    ShapeLike,
    ShapeList,
    ShapeReduce,
)
from msopgen_wrap.spec.shapes import evaluate

# ---- Operands of every extent in row kernels, resident, streamed and split -----------------------
# A table of formulas x extents x modes: each op is compiled, and its numbers and the sanitizer's
# findings are checked in all modes.

# What `s` is: the rule of its shape and how a formula reads it.
EXTENTS = {
    "full": (ShapeLike("x"), "s"),
    "row": (ShapeList((DimSlice("x", None, -1), DimConst(1))), "s"),
    "row, unsqueezed": (ShapeList((DimSlice("x", None, -1),)), "s.unsqueeze(-1)"),
    "row, apart in memory": (ShapeLike("x"), "s[..., :1]"),
    "row of the outer axis": (ShapeList((DimOf("x", 0), DimConst(1), DimConst(1))), "s"),
    "row of the inner axis": (ShapeList((DimOf("x", 1), DimConst(1))), "s"),
    "column": (ShapeList((DimOf("x", -1),)), "s"),
    "one number": (ShapeList((DimConst(1),)), "s"),
    "scalar": (ShapeList(()), "s"),
}
FORMULAS = {
    "centre": "x * {s} - (x * {s}).mean({dim}, keepdim=True)",
    "softmax": "torch.softmax(x * {s}, {dim})",
    "normalise": "x * torch.rsqrt((x * x).mean({dim}, keepdim=True) + 1.0) * {s} + {s}",
    "after": "x.sum({dim}, keepdim=True) * {s}",
    "before": "(x.abs() + {s}).amax({dim}, keepdim=True)",
}
# Operands that line up with a result without keepdim.
SQUEEZED = {
    "row": ShapeList((DimSlice("x", None, -1),)),
    "inner": ShapeList((DimOf("x", 1),)),
    "one number": ShapeList((DimConst(1),)),
    "scalar": ShapeList(()),
}
# Rows that fit a tile, that stream through, and whose chunks all cores share.
MODES = {"resident": (3, 7, 70), "streamed": (9, 7, 9001), "split": (2, 1, 40003)}

TABLE = [
    (formula, extent, dim)
    for formula in FORMULAS
    for extent in EXTENTS
    # the other axes, where the columns are kept
    for dim in ((-1, 0, 1) if formula in ("centre", "after") else (-1,))
]
# A cheap part for the default suite: the two ways rows reach UB and both directions.
CHEAP = {("centre", "row", -1), ("softmax", "row, apart in memory", -1), ("after", "row", -1)}


def sizes(rule: object, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes a shape rule gives for the shape of x."""
    return tuple(evaluate(rule, {"x": shape}, {}))


def build(compute: str, rule: object, folder: Path, dtype: str = "float32") -> BuiltOp:
    """Compile an op of x and s; the shape of z follows from what torch gives for a small x."""
    small = (2, 3, 5)
    names = {"x": torch.ones(small), "s": torch.ones(sizes(rule, small)), "torch": torch}
    given = eval(compute, names).shape
    axes = [DimConst(1) if n == 1 else DimOf("x", small.index(n)) for n in given]
    spec = make_spec(
        compute,
        "x s",
        dtypes=(dtype,),
        shapes={"z": ShapeList(tuple(axes))},
        input_shapes={"s": rule},
    )
    return BuiltOp(of_rank(3, spec), folder)


def of_rank(rank: int, spec: OpSpec) -> OpSpec:
    """Fix the rank of x: axes of the formulas count from the front."""
    x = replace(spec.inputs[0], min_rank=rank, max_rank=rank)
    return replace(spec, inputs=(x, *spec.inputs[1:]))


def run(op: BuiltOp, rule: object, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """Run an op of x and s in check mode."""
    generator = torch.Generator().manual_seed(0)
    inputs = {
        "x": torch.randn(shape, generator=generator).to(dtype),
        "s": (torch.rand(sizes(rule, shape), generator=generator) + 0.5).to(dtype),
    }
    outputs, golden, result = op.run(inputs, {}, mode="check")
    assert result.findings == [], (shape, result.findings[0])
    assert close(outputs["z"], golden["z"]), (shape, (outputs["z"] - golden["z"]).abs().max())


def shapes_of(dim: int) -> list[tuple[int, ...]]:
    """Return the shapes of all modes with the reduced axis at ``dim``."""
    result = []
    for shape in MODES.values():
        order = list(shape)
        order.insert(dim % 3, order.pop())
        result.append(tuple(order))
    return result


@pytest.mark.parametrize(
    ("formula", "extent", "dim"),
    [pytest.param(*row, marks=() if row in CHEAP else pytest.mark.slow) for row in TABLE],
)
def test_extents(formula: str, extent: str, dim: int, tmp_path: Path) -> None:
    rule, text = EXTENTS[extent]
    compute = FORMULAS[formula].format(s=text, dim=dim)
    dtype = "float16" if extent.startswith("row") else "float32"
    op = build(compute, rule, tmp_path, dtype)
    for shape in shapes_of(dim):
        run(op, rule, getattr(torch, dtype), shape)


# Operands with fewer dimensions than x, and how often every core of a resident kernel reads one of
# its elements at most. A matrix is worked on in the tile that it is loaded to.
KEPT = {
    "column": ("s", ShapeList((DimOf("x", -1),)), 1),
    "matrix": ("s", ShapeList((DimOf("x", 1), DimOf("x", -1))), 4),
    "matrix of the outer axis": (
        "s.unsqueeze(1)",
        ShapeList((DimOf("x", 0), DimOf("x", -1))),
        1,
    ),
    "scalar": ("s", ShapeList(()), 1),
}


@pytest.mark.parametrize(
    "extent",
    [pytest.param(e, marks=() if e in ("column", "matrix") else pytest.mark.slow) for e in KEPT],
)
def test_operands_stay_for_as_many_rows_as_they_serve(extent: str, tmp_path: Path) -> None:
    text, rule, reads = KEPT[extent]
    # what follows from s alone is computed where s lies
    compute = f"(x - x.mean(-1, keepdim=True)) * torch.sqrt(torch.exp({text}))"
    op = build(compute, rule, tmp_path)
    shape = (130, 3, 40)
    for sizes_of_x in (shape, (3, 700, 24), *MODES.values()):
        run(op, rule, torch.float32, sizes_of_x)
    inputs = {"x": torch.ones(shape), "s": torch.ones(sizes(rule, shape))}
    counts = op.run(inputs, {}, mode="profile")[2].counts
    again = sum(c["gm_read"] for c in counts) - 4 * inputs["x"].numel()
    assert 0 < again <= 4 * inputs["s"].numel() * reads * len(counts)


def test_slice_of_an_empty_operand(tmp_path: Path) -> None:
    """``s[..., :1]`` has no number per row where s is empty; the sums of no elements are stored."""
    spec = make_spec(
        "z = x * s[..., :1] - x.mean(-1, keepdim=True)\nm = x.sum(-1)",
        "x s",
        "z m",
        shapes={"z": ShapeLike("x"), "m": SQUEEZED["row"]},
        input_shapes={"s": ShapeLike("x")},
    )
    op = BuiltOp(of_rank(3, spec), tmp_path)
    for columns in (0, 1, 5):
        inputs = {"x": torch.rand(2, 3, columns), "s": torch.rand(2, 3, columns)}
        outputs, golden, result = op.run(inputs, {}, mode="check")
        assert result.findings == [], columns
        assert close(outputs["z"], golden["z"]) and close(outputs["m"], golden["m"]), columns


@pytest.mark.parametrize("compute", ["x.sum(-1) * s", "x.mean(-1) + torch.relu(s * 2.0)"])
@pytest.mark.parametrize(
    "extent",
    [pytest.param(e, marks=() if e == "inner" else pytest.mark.slow) for e in SQUEEZED],
)
def test_operands_of_reduced_results(extent: str, compute: str, tmp_path: Path) -> None:
    op = build(compute, SQUEEZED[extent], tmp_path)
    for shape in MODES.values():
        run(op, SQUEEZED[extent], torch.float32, shape)


PLANNED = [
    # RMSNorm backward, batch normalisation in training, and trees of inputs that line up with rows
    ("g = y * w\nz = (g - x * s * (g * x * s).mean(-1, keepdim=True)) * s", "x y s w",
     {"s": "row", "w": "column"}, {"s": "row"}),
    ("F.batch_norm(x, None, None, s, w, True, 0.1, 1e-5)", "x s w",
     {"s": "channel", "w": "channel"}, {"s": "row", "w": "row"}),
    ("x.sum(-1) * (s * w)", "x s w",
     {"s": "rows", "w": "rows"}, {"s": "squeezed", "w": "squeezed"}),
    ("torch.exp(s * w).unsqueeze(-1) * x - x.mean(-1, keepdim=True)", "x s w",
     {"s": "rows", "w": "rows"}, {"s": "squeezed", "w": "squeezed"}),
    ("(x * s).sum(-1) + s.squeeze(-1)", "x s", {"s": "row"}, {"s": "row", "s1": "squeezed"}),
    ("x.sum(0) * s", "x s", {"s": "column"}, {"s": "row"}),
]  # fmt: skip
RULES = {
    "row": EXTENTS["row"][0],
    "column": EXTENTS["column"][0],
    "rows": SQUEEZED["row"],
    "channel": SQUEEZED["inner"],
}


@pytest.mark.parametrize(("compute", "names", "rules", "extents"), PLANNED)
def test_extents_are_recognised(compute, names, rules, extents):
    shapes = {name: RULES[rule] for name, rule in rules.items()}
    plan = plan_op(of_rank(3, make_spec(compute, names, input_shapes=shapes)))
    found = {name: view.extent for name, view in plan.operands().items()}
    assert {name: e for name, e in found.items() if e != "full"} == extents


@pytest.mark.slow
@pytest.mark.parametrize(("compute", "names", "rules", "extents"), PLANNED)
def test_whole_formulas(compute, names, rules, extents, tmp_path):
    # batch normalisation counts the dimensions behind the channels: its rank is fixed
    rank = 4 if "batch_norm" in compute else 3
    spec = make_spec(
        compute, names, input_shapes={name: RULES[rule] for name, rule in rules.items()}
    )
    x = replace(spec.inputs[0], min_rank=rank, max_rank=rank)
    small = tuple(range(2, 2 + rank))
    given = {
        n: torch.ones(sizes(RULES[rules[n]], small) if n in rules else small) for n in names.split()
    }
    golden = compile_compute(replace(spec, inputs=(x, *spec.inputs[1:])))(given, {})["z"]
    axes = tuple(DimConst(1) if n == 1 else DimOf("x", small.index(n)) for n in golden.shape)
    z = replace(spec.outputs[0], shape=ShapeList(axes))
    op = BuiltOp(replace(spec, inputs=(x, *spec.inputs[1:]), outputs=(z,)), tmp_path)
    for mode in MODES.values():
        shape = (2, *mode) if rank == 4 else mode
        inputs = {}
        for number, name in enumerate(names.split()):
            own = sizes(RULES[rules[name]], shape) if name in rules else shape
            generator = torch.Generator().manual_seed(number)
            inputs[name] = torch.rand(own, generator=generator)
        outputs, expected, result = op.run(inputs, {}, mode="check")
        assert result.findings == [], (shape, result.findings[0])
        assert close(outputs["z"], expected["z"]), shape


# ---- Numbers counted along axes beside reductions: masks, positions and weights of rows ----------

CAUSAL = (
    "seen = torch.ones(x.shape[-2], x.shape[-1], dtype=torch.bool).tril()\n"
    "z = torch.softmax(x.masked_fill(~seen, -math.inf), -1)"
)
POSITIONS = (
    "angle = torch.arange(x.shape[-2]).unsqueeze(-1) * 0.01\n"
    "z = F.rms_norm(x + torch.sin(angle) + torch.arange(x.shape[-1]) * 0.25, [x.shape[-1]])"
)
# compute, rule of the output, more shapes
CASES: dict[str, tuple[str, Any, list[tuple[int, ...]]]] = {
    "causal softmax": (CAUSAL, ShapeLike("x"), [(1, 1), (2, 3, 33, 33), (70, 9001), (3, 40003)]),
    "positions": (POSITIONS, ShapeLike("x"), [(70, 9001), (3, 40003)]),
    "rows": (
        "x.sum(-1) * torch.arange(x.shape[-2])",
        ShapeReduce("x", (-1,), False),
        [(3, 40003), (70, 20001), (2, 300, 8)],
    ),
    "columns": (
        "x.sum(-2, keepdim=True) * torch.arange(x.shape[-1]) * 0.01",
        ShapeReduce("x", (-2,), True),
        [(9001, 7), (40003, 3)],
    ),
    "distances from the largest": (
        "x * ((torch.arange(x.shape[-1]) - x.argmax(-1, keepdim=True)).abs() % 5)",
        ShapeLike("x"),
        [(5, 9000)],
    ),
    "steps": (
        "x * torch.arange(3, 3 + 2 * x.shape[-1], 2) / x.sum(-1, keepdim=True)",
        ShapeLike("x"),
        [(5, 9000)],
    ),
}
SHAPES: list[tuple[int, ...]] = [(3, 5), (0, 4), (200, 70), (4, 50, 50)]


def spec_of(name: str, dtype: str) -> OpSpec:
    compute, rule, _ = CASES[name]
    spec = make_spec(compute, dtypes=(dtype,), shapes={"z": rule})
    return replace(spec, inputs=(replace(spec.inputs[0], min_rank=2),))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("causal softmax", "float32"),
        *(
            pytest.param(n, d, marks=pytest.mark.slow)
            for n in CASES
            for d in ("float16", "float32")
            if (n, d) != ("causal softmax", "float32")
        ),
    ],
)
def test_counted_numbers(name, dtype, tmp_path):
    op = BuiltOp(spec_of(name, dtype), tmp_path)
    for shape in SHAPES + CASES[name][2]:
        generator = torch.Generator().manual_seed(len(shape))
        x = (torch.rand(shape, generator=generator) + 0.5).to(getattr(torch, dtype))
        outputs, golden, result = op.run({"x": x}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == [], shape


def test_operands_stay_whole_beside_counted_numbers():
    """Numbers along the axes of x make the space no larger: x is worked on where it lies."""
    (body,) = plan_op(spec_of("causal softmax", "float32")).bodies
    assert body.covering == {"x"} and list(body.indices) == ["index", "index1"]


@pytest.mark.slow
def test_counted_numbers_may_make_the_space_larger(tmp_path):
    spec = make_spec(
        "(x * torch.arange(4).unsqueeze(-1)).sum(-1)", shapes={"z": ShapeList((DimConst(4),))}
    )
    spec = replace(spec, inputs=(replace(spec.inputs[0], min_rank=1, max_rank=1),))
    op = BuiltOp(spec, tmp_path)
    assert op.plan.bodies[0].covering == frozenset()
    for length in (1, 70, 50001):
        outputs, golden, result = op.run({"x": torch.rand(length)}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == [], length


# ---- Operands without the reduced axes that have more of the others ------------------------------

# No operand with the reduced axes has all of the axes that are kept.
DEEP = {
    "counted": "(torch.relu(x).unsqueeze(-1) * torch.arange(5)).sum(-1)",
    "an input": "(torch.relu(x).unsqueeze(-1) - s).square().amin(-1)",
    "two axes": "((x + 1).unsqueeze(-1).unsqueeze(-1) * torch.ones(4, 5).tril()).sum([-2, -1])",
    "a front axis": "(torch.relu(x).unsqueeze(-2) * torch.arange(4).unsqueeze(-1)).sum(-2)",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n != "an input" else ()) for n in DEEP],
)
def test_operands_may_have_more_axes_than_what_is_reduced(name, tmp_path):
    names = "x s" if "- s" in DEEP[name] else "x"
    spec = make_spec(
        DEEP[name],
        names,
        shapes={"z": ShapeLike("x")},
        input_shapes={"s": ShapeList((DimConst(6),))} if "s" in names else {},
    )
    op = BuiltOp(spec, tmp_path)
    assert "squeezed" in {view.extent for view in op.plan.operands().values()}
    for shape in ((5,), (7, 40), (2, 3, 33), (2, 0, 3), (2, 300, 5, 4)):
        x = torch.rand(shape, generator=torch.Generator().manual_seed(1)) - 0.3
        given = {"x": x, "s": torch.linspace(-1, 1, 6)}
        outputs, golden, result = op.run({n: given[n] for n in names.split()}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == [], shape


# ---- Rows that run backwards ---------------------------------------------------------------------

FLIPPED = """\
op: FlippedRows
inputs:
  x: {dtype: float32, rank: 2}
  y: {dtype: DTYPE, shape: "[1, x[1]]"}
outputs:
  z: like x
backward: none
compute: |
  a = (x + y).softmax(-2).flip(-1)
  z = a.softmax(-2).flip(-1)
"""


def flipped(dtype: str, folder: Path) -> BuiltOp:
    spec = parse_spec(FLIPPED.replace("DTYPE", dtype), "op.yaml").spec
    assert spec is not None
    return BuiltOp(spec, folder)


@pytest.mark.parametrize("dtype", ["int32", pytest.param("float16", marks=pytest.mark.slow)])
def test_numbers_of_rows_are_read_backwards(dtype: str, tmp_path: Path) -> None:
    op = flipped(dtype, tmp_path)
    for shape in ((5, 7), (43, 129)):
        y = torch.arange(shape[1]).reshape(1, -1).to(getattr(torch, dtype))
        outputs, golden, result = op.run({"x": torch.rand(shape), "y": y}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == []


@pytest.mark.slow
def test_integers_that_cannot_be_read_backwards_are_refused(tmp_path: Path) -> None:
    """They were taken as they lie, from what was in UB before."""
    op = flipped("int16", tmp_path)
    y = torch.ones((1, 7), dtype=torch.int16)
    with pytest.raises(OpRuntimeError, match="not contiguous along the rows"):
        op.run({"x": torch.rand(5, 7), "y": y}, mode="check")
