"""Kernels of many operands: queues and building blocks share eight event ids a pair of pipes.

More operands, or outputs, than event ids share the buffers of one queue.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from harness import BuiltOp, make_spec
from test_fuzz import close

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.model import DimConst, DimOf, ShapeLike, ShapeList

NAMES = "abcdefghijlm"
# Rows of five floats lie 32 elements apart, for the bool operand: what lies between is cleared
# before each load, with an event id of its own. One core has several tiles.
SHAPE = (1000, 5)


def operand(name: str) -> torch.Tensor:
    """Return a whole tensor, a row, a column, in turn."""
    generator = torch.Generator().manual_seed(ord(name))
    shape = {0: SHAPE, 1: SHAPE[1:], 2: (SHAPE[0], 1)}[NAMES.index(name) % 3]
    return torch.rand(shape, generator=generator)


@pytest.mark.parametrize(
    "count", [pytest.param(n, marks=() if n == 4 else pytest.mark.slow) for n in range(2, 8)]
)
def test_points_of_many_operands(count: int, tmp_path: Path) -> None:
    """``count`` floats and a condition; two outputs."""
    names = list(NAMES[:count])
    total = " + ".join(f"{n} * {i}.5" for i, n in enumerate(names))
    compute = f"y = torch.where(k, {total}, a)\nz = torch.relu({total})"
    spec = make_spec(compute, " ".join([*names, "k"]), "y z", input_dtypes={"k": ("bool",)})
    op = BuiltOp(spec, tmp_path)
    inputs = {n: operand(n) for n in names}
    inputs["k"] = torch.rand(SHAPE, generator=torch.Generator().manual_seed(0)) > 0.5
    for auto_sync in (True, False):
        outputs, golden, result = op.run(inputs, {}, mode="check", block_dim=1, auto_sync=auto_sync)
        assert result.findings == [], (auto_sync, result.findings[0])
        assert all(close(outputs[n], golden[n]) for n in "yz"), auto_sync


def test_points_of_more_operands_than_event_ids(tmp_path: Path) -> None:
    """Thirteen inputs of two dtypes and bool and nine outputs: both share a queue each."""
    names = list(NAMES)
    total = " + ".join(f"{n} * {i}.5" for i, n in enumerate(names))
    outputs = [f"y{i}" for i in range(9)]
    compute = f"t = torch.where(k, {total}, a)\n"
    compute += "\n".join(f"{y} = t + {i}" for i, y in enumerate(outputs))
    dtypes = {"k": ("bool",), "b": ("float16",)}
    spec = make_spec(compute, " ".join([*names, "k"]), " ".join(outputs), input_dtypes=dtypes)
    assert [p.family.name for p in plan_op(spec).parts] == ["elementwise"]
    op = BuiltOp(spec, tmp_path)
    whole = {n: torch.rand(7, 613) for n in names}
    for shaped in (whole, {n: operand(n) for n in names}):
        inputs = dict(shaped)
        inputs["b"] = inputs["b"].half()
        inputs["k"] = torch.rand(inputs["a"].shape) > 0.5
        for auto_sync in (True, False):
            made, golden, result = op.run(inputs, {}, mode="check", auto_sync=auto_sync)
            assert result.findings == [], (auto_sync, result.findings[0])
            assert all(close(made[n], golden[n]) for n in outputs), auto_sync


def row_spec(count: int):
    """A softmax of the sum of ``count`` operands, whole ones, rows and columns in turn."""
    names = list(NAMES[:count])
    total = " + ".join(f"{n} * {i}.5" for i, n in enumerate(names))
    rules = (
        ShapeLike("a"),
        ShapeList((DimOf("a", 1),)),
        ShapeList((DimOf("a", 0), DimConst(1))),
    )
    return make_spec(
        f"torch.softmax({total}, -1)",
        " ".join(names),
        shapes={"z": ShapeLike("a")},
        input_shapes={n: rules[i % 3] for i, n in enumerate(names) if i},
    )


@pytest.mark.parametrize(
    "count", [pytest.param(n, marks=() if n == 7 else pytest.mark.slow) for n in range(3, 9)]
)
def test_rows_of_many_operands(count: int, tmp_path: Path) -> None:
    op = BuiltOp(row_spec(count), tmp_path)
    # resident, streamed, shared by all cores
    for shape in ((300, 37), (9, 20011), (1, 70001)):
        inputs = {}
        for index, name in enumerate(NAMES[:count]):
            own = {0: shape, 1: shape[1:], 2: (shape[0], 1)}[index % 3]
            inputs[name] = torch.rand(own, generator=torch.Generator().manual_seed(index))
        for auto_sync in (True, False):
            outputs, golden, result = op.run(inputs, {}, mode="check", auto_sync=auto_sync)
            assert result.findings == [], (shape, auto_sync, result.findings[0])
            assert close(outputs["z"], golden["z"]), (shape, auto_sync)


def test_a_row_kernel_of_eight_queues_is_cut() -> None:
    """Operands that many boxes share have none."""
    assert len(plan_op(row_spec(8)).parts) == 1
    spec = row_spec(8)
    whole = tuple(replace(p, shape=p.shape and ShapeLike("a")) for p in spec.inputs)
    plan = plan_op(replace(spec, inputs=whole))
    assert [p.family.name for p in plan.parts] == ["elementwise", "row"]


def test_rows_of_more_outputs_than_event_ids_are_cut() -> None:
    """The first seven results of a row are made by one pass, the others by another."""
    outputs = [f"y{i}" for i in range(9)]
    compute = "\n".join(f"{y} = torch.softmax(a, -1) * {i}.5" for i, y in enumerate(outputs))
    spec = make_spec(compute, "a", " ".join(outputs), shapes=dict.fromkeys(outputs, ShapeLike("a")))
    plan = plan_op(spec)
    assert [len(p.spec.outputs) for p in plan.parts] == [7, 2]


def test_lists_of_more_tensors_than_event_ids(tmp_path: Path) -> None:
    """Nine lists, walked together, share a queue."""
    names = list(NAMES[:9])
    compute = f"[{' + '.join(names)} for {', '.join(names)} in zip({', '.join(names)})]"
    spec = make_spec(compute, " ".join(names), shapes={"z": ShapeLike("a")}, lists=True)
    op = BuiltOp(spec, tmp_path)
    inputs = {n: [torch.rand(s) for s in ((3, 50), (0,), (700,))] for n in names}
    made, golden, result = op.run(inputs, {}, mode="check", auto_sync=False)
    assert result.findings == []
    assert all(close(a, g) for a, g in zip(made["z"], golden["z"], strict=True))
