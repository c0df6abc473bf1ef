"""Pointwise formulas of tensor lists and tensors that hold one number each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from harness import BuiltOp, make_spec
from test_fuzz import close

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.model import DimConst, OpSpec, ParamKind, ShapeLike, ShapeList

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
