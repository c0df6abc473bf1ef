"""Lists of tensors: pointwise formulas with one number per tensor, and reductions to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from harness import BuiltOp, make_spec
from test_fuzz import close

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.model import (
    Attr,
    DimConst,
    DimSlice,
    OpSpec,
    ParamKind,
    ShapeLike,
    ShapeList,
)

# ---- Pointwise formulas of tensor lists and tensors that hold one number each --------------------

SHAPES = ((0,), (257,), (70001,), (1,), (12, 20), (3, 0), (130, 300))


def with_numbers(compute: str, inputs: str, numbers: str, **options: object) -> OpSpec:
    """Return a spec whose inputs are lists but for some that have one element."""
    spec = make_spec(compute, inputs, lists=True, **options)  # type: ignore[arg-type]
    single = {
        n: replace(spec.param(n), kind=ParamKind.REQUIRED, shape=ShapeList(()))
        for n in numbers.split()
    }
    return replace(spec, inputs=tuple(single.get(p.name, p) for p in spec.inputs))


@pytest.mark.parametrize(
    ("compute", "dtype"),
    [
        # the numbers are read again and again, first and last
        ("[torch.relu(t + a) * b + a for t in x]", torch.float32),
        # comparisons read past the end of a tile
        ("[torch.where(t > a, t, b) for t in x]", torch.float32),
        pytest.param("[a - t * b for t in x]", torch.float16, marks=pytest.mark.slow),
        pytest.param("[torch.where(t > a, b, t) for t in x]", torch.int16, marks=pytest.mark.slow),
    ],
)
def test_one_number_serves_all_tensors(compute, dtype, tmp_path: Path) -> None:
    name = str(dtype).removeprefix("torch.")
    shapes = {"z": ShapeLike("x")}
    spec = with_numbers(compute, "a x b", "a b", dtypes=(name,), shapes=shapes)
    op = BuiltOp(spec, tmp_path)
    generator = torch.Generator().manual_seed(0)
    inputs = {
        "x": [(torch.rand(s, generator=generator) * 9 - 4).to(dtype) for s in SHAPES],
        "a": torch.tensor(-1.5).to(dtype),
        "b": torch.tensor(2.25).to(dtype),
    }
    for cores in (None, 5):
        for auto_sync in (True, False):
            given = {"block_dim": cores} if cores else {}
            made, golden, result = op.run(inputs, {}, mode="check", auto_sync=auto_sync, **given)
            assert result.findings == [], (cores, auto_sync, result.findings[0])
            pairs = zip(made["z"], golden["z"], strict=True)
            assert all(close(a, g) for a, g in pairs), (cores, auto_sync)


def test_more_lists_than_event_ids_and_a_number(tmp_path: Path) -> None:
    """The lists share a queue; the number has a tile of its own."""
    names = list("abcdefghi")
    total = " + ".join(names)
    compute = f"[({total}) * s for {', '.join(names)} in zip({', '.join(names)})]"
    shapes = {"z": ShapeLike("a")}
    op = BuiltOp(with_numbers(compute, "s " + " ".join(names), "s", shapes=shapes), tmp_path)
    inputs = {n: [torch.rand(7, 40), torch.rand(900)] for n in names}
    made, golden, result = op.run({**inputs, "s": torch.tensor(0.5)}, {}, mode="check")
    assert result.findings == []
    assert all(close(a, g) for a, g in zip(made["z"], golden["z"], strict=True))


@pytest.mark.parametrize(
    ("compute", "rule", "dtype"),
    [
        ("[t * a for t in x]", ShapeList((DimConst(3),)), "float32"),
        ("[t * a for t in x]", None, "float32"),
        ("[t * a for t in x]", ShapeList(()), "int8"),
        ("[(t * a).sum() for t in x]", ShapeList(()), "float32"),
    ],
)
def test_other_tensors_beside_lists_are_refused(compute, rule, dtype) -> None:
    spec = make_spec(compute, "x a", dtypes=(dtype,), shapes={"z": ShapeLike("x")}, lists=True)
    single = replace(spec.param("a"), kind=ParamKind.REQUIRED, shape=rule)
    with pytest.raises(OpgenError) as error:
        plan_op(replace(spec, inputs=(spec.inputs[0], single)))
    assert [d.code for d in error.value.diagnostics] == ["OPG313"]


def with_number_lists(compute: str, inputs: str, numbers: str, **options: object) -> OpSpec:
    """Return a spec whose inputs are lists, some of which hold one number per tensor."""
    spec = make_spec(compute, inputs, lists=True, **options)  # type: ignore[arg-type]
    listed = {n: replace(spec.param(n), shape=ShapeList(())) for n in numbers.split()}
    return replace(spec, inputs=tuple(listed.get(p.name, p) for p in spec.inputs))


@pytest.mark.parametrize(
    ("compute", "dtype"),
    [
        # the number of a tensor is read again and again, and those of small ones follow closely
        ("[b - t * a for t, a, b in zip(x, a, b)]", torch.float32),
        pytest.param(
            "[torch.where(t > a, t * a, b - a) for t, a, b in zip(x, a, b)]",
            torch.bfloat16,
            marks=pytest.mark.slow,
        ),
        # what arrives at the gradient of a sum: no element of x is read
        pytest.param(
            "[a.expand(t.shape) * 2 for t, a in zip(x, a)]", torch.half, marks=pytest.mark.slow
        ),
    ],
)
def test_each_tensor_has_a_number(compute, dtype, tmp_path: Path) -> None:
    name = str(dtype).removeprefix("torch.")
    names = "a x b" if "b" in compute.split("zip")[1] else "a x"
    numbers = names.replace("x", "")
    shapes = {"z": ShapeLike("x")}
    spec = with_number_lists(compute, names, numbers, dtypes=(name,), shapes=shapes)
    op = BuiltOp(spec, tmp_path)
    generator = torch.Generator().manual_seed(0)

    def drawn(shape: tuple[int, ...]) -> torch.Tensor:
        return (torch.rand(shape, generator=generator) * 9 - 4).to(dtype)

    inputs = {"x": [drawn(s) for s in SHAPES]}
    inputs |= {n: [drawn(()) for _ in SHAPES] for n in numbers.split()}
    for cores in (None, 5):
        for auto_sync in (True, False):
            given = {"block_dim": cores} if cores else {}
            made, golden, result = op.run(inputs, {}, mode="check", auto_sync=auto_sync, **given)
            assert result.findings == [], (cores, auto_sync, result.findings[0])
            pairs = zip(made["z"], golden["z"], strict=True)
            assert all(close(a, g) for a, g in pairs), (cores, auto_sync)


@pytest.mark.parametrize(
    ("compute", "result", "dtype", "code"),
    [
        # a reduction reads the elements of the tensors only
        ("[(t * a).sum() for t, a in zip(x, a)]", "[]", "float32", "OPG313"),
        ("[t * a for t, a in zip(x, a)]", "like x", "int8", "OPG313"),
        # a walk over the elements would write more than one number
        ("[a * 2 for t, a in zip(x, a)]", "[]", "float32", "OPG314"),
    ],
)
def test_numbers_that_no_pass_reads_or_makes_are_refused(compute, result, dtype, code) -> None:
    shapes = {"z": ShapeLike("x") if result == "like x" else ShapeList((DimSlice("x", 0, 0),))}
    spec = with_number_lists(compute, "x a", "a", dtypes=(dtype,), shapes=shapes)
    with pytest.raises(OpgenError) as error:
        plan_op(spec)
    assert [d.code for d in error.value.diagnostics] == [code]


# ---- Reductions of every tensor of a list: one number per tensor, shared by all cores ------------

SCALARS = ShapeList((DimSlice("x", 0, 0),))
# Tensors of several cores, several tensors of a core, empty ones first, between and last.
REDUCED_SHAPES = ((0,), (257,), (), (3, 0), (70001,), (1,), (12, 20), (130, 300), (2, 5, 3), (0, 4))


class Formula(NamedTuple):
    """What is computed of lists ``x`` and ``y``; outputs in the order of their names."""

    compute: str
    inputs: str = "x"
    outputs: str = "z"
    dtype: torch.dtype = torch.float32
    result: str = ""  # dtype of the outputs; that of the inputs


FORMULAS = {
    "norm": Formula("[torch.linalg.vector_norm(t) for t in x]"),
    "half": Formula("[torch.linalg.vector_norm(t) for t in x]", dtype=torch.float16),
    "sum of bytes": Formula(
        "[t.sum(dtype=torch.int32) for t in x]", dtype=torch.int8, result="int32"
    ),
    "product": Formula("[(t * 0.001 + 1).prod() for t in x]"),
    "two lists, two numbers": Formula(
        "z = [(a * b).sum() * alpha for a, b in zip(x, y)]\n"
        "w = [torch.sqrt(a.square().sum()) + b.abs().sum() for a, b in zip(x, y)]",
        "x y",
        "z w",
    ),
    "condition": Formula("[torch.where(t > 0.5, t, 1.0).sum() for t in x]"),
    "not finite": Formula("[torch.isnan(t).any() for t in x]", result="bool"),
}
SLOW = {"product", "condition", "half", "not finite"}


def spec_of(formula: Formula):
    dtypes = (str(formula.dtype).removeprefix("torch."),)
    names = formula.outputs.split()
    alpha = (Attr("alpha", "float", 0.5),) if "alpha" in formula.compute else ()
    return make_spec(
        formula.compute,
        formula.inputs,
        formula.outputs,
        dtypes=dtypes,
        out_dtypes=(formula.result,) if formula.result else None,
        attrs=alpha,
        shapes=dict.fromkeys(names, SCALARS),
        input_shapes={"y": ShapeLike("x")} if "y" in formula.inputs.split() else None,
        lists=True,
    )


def numbers(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    values = torch.rand(shape, generator=generator)
    return (values * 200 - 100).to(dtype) if dtype == torch.int8 else values.to(dtype)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in FORMULAS]
)
def test_numbers_of_lists(name: str, tmp_path: Path) -> None:
    formula = FORMULAS[name]
    op = BuiltOp(spec_of(formula), tmp_path)
    inputs = {
        n: [numbers(s, formula.dtype, i) for i, s in enumerate(REDUCED_SHAPES)]
        for n in formula.inputs.split()
    }
    attrs = {"alpha": 0.25} if "alpha" in formula.compute else {}
    for cores in (None, 1, 7):
        for auto_sync in (True, False):
            given = {"block_dim": cores} if cores else {}
            made, golden, result = op.run(inputs, attrs, mode="check", auto_sync=auto_sync, **given)
            assert result.findings == [], (cores, auto_sync, result.findings[0])
            for output in formula.outputs.split():
                pairs = zip(made[output], golden[output], strict=True)
                assert all(close(a.reshape(()), g.reshape(())) for a, g in pairs), cores


def test_extremes_of_lists(tmp_path: Path) -> None:
    """The largest element, whose sign and rank the tensors do not share; none of them is empty."""
    op = BuiltOp(spec_of(Formula("[t.max() for t in x]", dtype=torch.float16)), tmp_path)
    given = [
        numbers(s, torch.float16, i) * (-1) ** i for i, s in enumerate(REDUCED_SHAPES) if 0 not in s
    ]
    made, golden, result = op.run({"x": given}, {}, mode="check", auto_sync=False)
    assert result.findings == []
    assert [float(a) for a in made["z"]] == [float(g) for g in golden["z"]]


@pytest.mark.parametrize(
    ("compute", "what"),
    [
        ("[t.mean() for t in x]", "sizes"),
        ("[t.var() for t in x]", "sizes"),
        ("[(t - t.max()).exp().sum() for t in x]", "another reduction"),
        ("[t - t.max() for t in x]", "more than one number"),
        ("[t.sum(-1).max() for t in x]", "OPG335"),
        ("[t.argmax() for t in x]", "OPG3"),
        ("[t.flip(-1) for t in x]", "moves elements"),
        ("[t + t.shape[0] for t in x]", "sizes"),
        ("[torch.arange(t.numel()).reshape(t.shape) + t for t in x]", "reads positions or sizes"),
    ],
)
def test_what_lists_do_not_have(compute: str, what: str) -> None:
    """More of a tensor than its elements is refused."""
    shapes = {"z": SCALARS if "sum()" in compute or "mean" in compute else ShapeLike("x")}
    spec = make_spec(compute, "x", shapes=shapes, lists=True)
    with pytest.raises(OpgenError) as error:
        plan_op(spec)
    (diagnostic,) = error.value.diagnostics
    assert what in diagnostic.what or diagnostic.code.startswith(what), diagnostic
