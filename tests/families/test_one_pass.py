"""Sums of columns that the pass over the rows makes beside its own outputs."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from harness import BuiltOp, check

from msopgen_wrap.families import plan_op
from msopgen_wrap.schedule.report import as_text
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec


class Case(NamedTuple):
    """A formula of x and w, and what its passes make; the first may run in place of two others."""

    compute: str
    passes: list[str]
    rank: str = "2"
    w: str = "like x"
    total: str = "[x[-1]]"


CASES = {
    "rows and their sum": Case(
        "y = x.softmax(-1)\ntotal = (y * w).sum(0)",
        ["y total", "y max1 sum1", "total"],
    ),
    "two kept axes": Case(
        "y = x * x.mean(-1, keepdim=True)\ntotal = (y * w).sum((0, 1))",
        ["y total", "y mean1", "total"],
        rank="3",
    ),
    "rows along the first axis": Case(
        "y = x.softmax(0)\ntotal = (y * w).sum(1)",
        ["y max1 sum1", "total"],
        total="[x[0]]",
    ),
    "work behind the sum": Case(
        "y = x.softmax(-1)\ntotal = (y * w).sum(0).exp()",
        ["y max1 sum1", "total"],
    ),
    "an operand that may have fewer rows": Case(
        "y = x.softmax(-1)\ntotal = w.sum(0)",
        ["y", "total"],
        w="'[1, x[-1]]'",
    ),
}


def spec_of(name: str, dtypes: str = "[float32]", deterministic: bool = True) -> OpSpec:
    case = CASES[name]
    lines = "".join(f"  {line}\n" for line in case.compute.splitlines())
    text = (
        f"op: OnePass{list(CASES).index(name)}\ninputs:\n"
        f"  x: {{dtype: {dtypes}, rank: {case.rank}}}\n  w: {{dtype: x, shape: {case.w}}}\n"
        f"outputs:\n  y: like x\n  total: {{dtype: x, shape: '{case.total}'}}\n"
        f"compute: |\n{lines}backward: none\n"
    )
    text += "" if deterministic else "deterministic: false\n"
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    return spec


@pytest.mark.parametrize("name", CASES)
def test_passes(name: str) -> None:
    plan = plan_op(spec_of(name))
    assert [" ".join(p.name for p in part.writes) for part in plan.parts] == CASES[name].passes


def test_the_plan_says_what_the_pass_replaces() -> None:
    text = as_text(plan_op(spec_of("rows and their sum")))
    assert (
        "y, total: row, in one pass, where whole rows stay in UB, "
        "in place of those for y, max1, sum1 and total"
    ) in text
    assert "total (sums of columns)" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows and their sum", "two kept axes"])
def test_results(name: str, tmp_path) -> None:
    """One pass, and two: rows that are few for the cores, none, or too long for UB."""
    op = BuiltOp(spec_of(name, "[float32, float16]"), tmp_path)
    shapes = [(260, 300), (700, 67), (3, 9), (1, 1), (0, 7), (7, 0), (3000, 2), (4, 30001)]
    for dtype in (torch.float32, torch.float16):
        for shape in shapes:
            shape = (2, *shape) if CASES[name].rank == "3" else shape
            generator = torch.Generator().manual_seed(0)
            values = {n: torch.rand(shape, generator=generator).to(dtype) for n in ("x", "w")}
            for auto_sync in (True, False):
                outputs, golden, result = op.run(values, {}, mode="check", auto_sync=auto_sync)
                assert result.findings == [], (shape, auto_sync, result.findings[0])
                for n in ("y", "total"):
                    check(outputs[n], golden[n], 4)
            again, _, _ = op.run(values, {}, mode="check")
            assert all(torch.equal(again[n], outputs[n]) for n in outputs), "not the same bits"


def test_the_plan_says_what_atomics_change() -> None:
    text = as_text(plan_op(spec_of("rows and their sum", deterministic=False)))
    assert "deterministic: false; sums of columns may differ in their last bits" in text
    assert "in place of those for y, max1, sum1 and total; cores add to sums of columns by" in text
    text = as_text(plan_op(spec_of("work behind the sum", deterministic=False)))
    assert "deterministic: false changes nothing" in text


@pytest.mark.slow
def test_cores_add_by_atomics(tmp_path) -> None:
    """In float32 to the output itself, in float16 by way of the workspace; or in two passes."""
    op = BuiltOp(spec_of("rows and their sum", "[float32, float16]", False), tmp_path)
    kernel = next(tmp_path.rglob("op_kernel/*.cpp")).read_text()
    assert "opgen::AtomicColumnSums columnSums" in kernel
    for dtype in (torch.float32, torch.float16):
        for shape in ((260, 300), (700, 67), (900, 1), (3, 9), (0, 7), (4, 30001), (400, 5000)):
            generator = torch.Generator().manual_seed(0)
            values = {n: torch.rand(shape, generator=generator).to(dtype) for n in ("x", "w")}
            for auto_sync in (True, False):
                outputs, golden, result = op.run(values, {}, mode="check", auto_sync=auto_sync)
                assert result.findings == [], (shape, auto_sync, result.findings[0])
                for n in ("y", "total"):
                    check(outputs[n], golden[n], 4)
