"""Temporaries of ops that take floats and integers: each combination keeps its own dtype."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp, check

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

MIXED = ("float32", "float16", "int8", "uint8", "int32", "int64")
INTEGERS = ("int8", "uint8", "int16", "int64")
FIRST = 1 << 40  # of int64: more than int32 holds


class Case(NamedTuple):
    """A formula of ``x`` of two axes, and of ``i``, rows by number."""

    compute: str
    shape: str  # of the output
    moved: tuple[str, ...]  # temporaries that have the dtypes of x
    dtypes: tuple[str, ...] = MIXED
    output: str = "x"


CASES = {
    "elements in order, neighbours compared": Case(
        "s = x.reshape(-1).sort(stable=True).values\n"
        "  z = (s == s.roll(1, 0)).sum(dtype=torch.int32)",
        "[]",
        ("value1",),
        output="int32",
    ),
    "rows by number beside others": Case(
        "z = torch.maximum(x.index_select(0, i), x[:1])", "[i[0], x[1]]", ("index_select1",)
    ),
    "rows by number, joined": Case(
        "z = torch.where(i.unsqueeze(-1) > 1, x.index_select(0, i), 0).flip(0)",
        "[i[0], x[1]]",
        ("index_select1",),
        INTEGERS,
    ),
    "elements beside a sum": Case(
        "n = (x > 1).sum(dtype=torch.int32)\n"
        "  z = torch.where(torch.arange(x.shape[1], device=x.device) < n, x, torch.zeros_like(x))",
        "like x",
        (),
        INTEGERS,
    ),
    "extremes of columns and rows": Case(
        "m = x.amax(0, keepdim=True)\n  n = x.amin(1, keepdim=True)\n"
        "  z = torch.where(x >= m, x, torch.maximum(n, x))",
        "like x",
        (),
        ("float32", "float16", "int8", "int32"),
    ),
    "elements and the one before": Case(
        "z = (x == x.roll(1, -1)) | (x < F.pad(x[:, :-2], [2, 0]))", "like x", (), output="bool"
    ),
    "rows and one element of each before": Case(
        "z = F.pad(x, [2, 3, 1, 2], value=7) > F.pad(x[:, :1], [0, 0, 1, 2])",
        "[x[0] + 3, x[1] + 5]",
        (),
        ("int64",),
        "bool",
    ),
}
# Compiled and run by the default suite; the others are planned there and run in CI's slow part.
DEFAULT = (
    "rows by number beside others",
    "extremes of columns and rows",
    "rows and one element of each before",
)


def spec_of(name: str, folder: Path) -> OpSpec:
    case = CASES[name]
    text = (
        f"op: TemporaryCase{list(CASES).index(name)}\n"
        f"inputs:\n  x: {{dtype: [{', '.join(case.dtypes)}], rank: 2}}\n"
        + ("  i: {dtype: int64, rank: 1}\n" if "(0, i)" in case.compute else "")
        + f'outputs:\n  z: {{dtype: {case.output}, shape: "{case.shape}"}}\n'
        f"compute: |\n  {case.compute}\nbackward: none\n"
    )
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


@pytest.mark.parametrize("name", CASES)
def test_moved_values_have_the_dtypes_of_the_input(name, tmp_path):
    spec = spec_of(name, tmp_path)
    plan = plan_op(spec)
    temporaries = [p for part in plan.parts for p in part.spec.outputs if p.site is not None]
    moved = {p.name for p in temporaries if p.dtypes == spec.inputs[0].dtypes}
    assert moved.issuperset(CASES[name].moved)


def test_what_is_computed_of_integers_is_int32(tmp_path):
    spec = spec_of("extremes of columns and rows", tmp_path)
    parts = plan_op(spec).parts
    temporaries = [p for part in parts for p in part.spec.outputs if p.site is not None]
    assert {p.dtypes for p in temporaries} == {("float32", "float32", "int32", "int32")}


@pytest.mark.parametrize("formula", ["x.amax(-1, keepdim=True) + x", "(x + 1).amax(-1)"])
def test_numbers_of_64_bits_are_not_narrowed_on_the_way(tmp_path, formula):
    shape = "like x" if "+ x" in formula else "[x[0]]"
    path = tmp_path / "case.yaml"
    path.write_text(
        "op: Narrowed\ninputs:\n  x: {dtype: int64, rank: 2}\n"
        f'outputs:\n  z: {{dtype: int64, shape: "{shape}"}}\n'
        f"compute: z = {formula}\nbackward: none\n",
        encoding="utf-8",
    )
    with pytest.raises(OpgenError) as error:
        plan_op(load_spec(path))
    assert [d.code for d in error.value.diagnostics] == ["OPG332"]


@pytest.fixture(scope="module", params=default_part(CASES, DEFAULT))
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("temporaries")
    number = list(CASES).index(request.param)
    return BuiltOp(spec_of(request.param, folder), folder, style="9.x" if number % 2 else "8.1")


def elements(dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    """Draw whole numbers, many of them equal; those of 64 bits differ in both words."""
    drawn = torch.randint(0, 5, shape, generator=torch.Generator().manual_seed(0))
    if dtype == torch.int64:
        return drawn * FIRST + drawn % 2
    return (drawn if dtype == torch.uint8 else drawn - 2).to(dtype)


@pytest.mark.parametrize("auto_sync", [True, False], ids=["compiler's sync", "own sync"])
def test_results_of_every_dtype(built, auto_sync):
    for dtype in built.spec.inputs[0].dtypes:
        for shape in ((5, 7), (33, 300), (2, 4001), (1, 2)):
            inputs = {"x": elements(getattr(torch, dtype), shape)}
            if len(built.spec.inputs) > 1:
                inputs["i"] = torch.arange(70) * 7 % shape[0]
            outputs, golden, result = built.run(inputs, mode="check", auto_sync=auto_sync)
            check(outputs["z"], golden["z"])
            # positions of a sort that nobody asked for
            assert [f for f in result.findings if f["severity"] != "warning"] == []
