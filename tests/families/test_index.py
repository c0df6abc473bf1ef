"""Rows and elements moved by index: gathers along any axis, alone and beside other work."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from harness import BuiltOp, check

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

TABLE = "x: {dtype: [float32], rank: [1, 4]}"
ROWS = f"{TABLE}\n  i: {{dtype: [int64], rank: 1}}"
CUBE = (
    "x: {dtype: [float32], rank: 3}\n  i: {dtype: [int64], rank: 1}\n  j: {dtype: [int64], rank: 1}"
)


class Case(NamedTuple):
    """A formula, the shapes of its inputs, and the families of the passes that make it."""

    compute: str
    shape: str
    inputs: str
    shapes: list[tuple[tuple[int, ...], ...]]
    passes: tuple[str, ...] = ("index",)
    attrs: str = ""


CASES = {
    "rows": Case(
        "z = torch.index_select(x, 0, i)",
        "[i[0], *x[1:]]",
        ROWS,
        [((9, 33), (50,)), ((4, 3, 5), (0,)), ((7, 0), (3,)), ((3, 90001), (4,)), ((5,), (3000,))],
    ),
    "columns": Case(
        "z = torch.index_select(x, -1, i)",
        "[*x[:-1], i[0]]",
        ROWS,
        [((9, 33), (50,)), ((2, 3, 4, 5), (7,)), ((700, 5), (3,)), ((0, 5), (3,))],
    ),
    "the middle of an attr": Case(
        "z = torch.index_select(x, dim, i)",
        "[x[0], i[0], x[2]]",
        "x: {dtype: [float32], rank: 3}\n  i: {dtype: [int64], rank: 1}",
        [((9, 5, 33), (50,)), ((2, 300, 1), (7,))],
        attrs="attrs:\n  dim: {type: int, default: 1, allowed: [1]}\n",
    ),
    "embedding": Case(
        "z = F.embedding(i, x)",
        "[*i, x[1]]",
        "x: {dtype: [float32], rank: 2}\n  i: {dtype: [int64], rank: [0, 3]}",
        [((9, 33), ()), ((9, 1), (2, 3, 50)), ((9, 64), (2, 300))],
    ),
    "brackets": Case("z = x[..., i]", "[*x[:-1], *i]", ROWS, [((9, 33), (50,)), ((2, 3, 5), (7,))]),
    "pairs of indices": Case(
        "z = x[i[:, None], j]", "[i[0], j[0], x[2]]", CUBE, [((9, 5, 33), (50,), (7,))]
    ),
    "elements": Case(
        "z = torch.gather(x, -1, i)",
        "like i",
        "x: {dtype: [float32], rank: [1, 3]}\n  i: {dtype: [int64], rank: [1, 3]}",
        [((9, 33), (7, 50)), ((5,), (2,)), ((3, 4, 5), (2, 3, 0)), ((40, 700), (40, 900))],
    ),
    "elements of the first axis": Case(
        "z = torch.gather(x, 0, i)",
        "like i",
        "x: {dtype: [float32], rank: 3}\n  i: {dtype: [int64], rank: 3}",
        [((9, 33, 4), (50, 30, 2))],
    ),
    "an index for each row": Case(
        "z = torch.gather(x, 1, i.unsqueeze(-1).expand(x.shape[0], x.shape[1], x.shape[2]))",
        "like x",
        "x: {dtype: [float32], rank: 3}\n  i: {dtype: [int64], shape: '[x[0], x[1]]'}",
        [((9, 33, 40), (9, 33))],
    ),
    "views": Case(
        "z = x[:, 1:].permute(2, 0, 1)[i.t()]",
        "[i[1], i[0], x[0], x[1] - 1]",
        "x: {dtype: [float32], rank: 3}\n  i: {dtype: [int64], rank: 2}",
        [((4, 5, 6), (7, 8))],
    ),
    "rows, then their sums": Case(
        "z = (x[i] * x[0].sigmoid()).sum(-1)",
        "[i[0]]",
        "x: {dtype: [float32], rank: 2}\n  i: {dtype: [int64], rank: 1}",
        [((9, 33), (50,)), ((7, 700), (300,))],
        ("index", "row"),
    ),
}
# Compiled and run by the default suite; the others are planned there and run in CI's slow part.
DEFAULT = ("rows",)


def spec_of(case: Case, folder: Path, name: str = "IndexCase") -> OpSpec:
    text = (
        f"op: {name}\ninputs:\n  {case.inputs}\n"
        f'outputs:\n  z: {{dtype: x, shape: "{case.shape}"}}\n'
        f"{case.attrs}compute: {case.compute}\nbackward: none\n"
    )
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


@pytest.mark.parametrize("name", CASES)
def test_formulas_are_made_in_passes(name, tmp_path):
    plan = plan_op(spec_of(CASES[name], tmp_path))
    assert tuple(part.family.name for part in plan.parts) == CASES[name].passes


@pytest.fixture(
    scope="module",
    params=[n if n in DEFAULT else pytest.param(n, marks=pytest.mark.slow) for n in CASES],
)
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    number = list(CASES).index(request.param)
    spec = spec_of(CASES[request.param], folder, name=f"IndexCase{number}")
    op = BuiltOp(spec, folder, style="9.x" if number % 2 else "8.1")
    return op, CASES[request.param]


def inputs_of(spec: OpSpec, shapes: tuple[tuple[int, ...], ...]) -> dict[str, torch.Tensor]:
    """Draw tensors; indices are in range of every axis of the first one that is not empty."""
    generator = torch.Generator().manual_seed(0)
    most = min([n for n in shapes[0] if n], default=1)
    inputs = {}
    for param, shape in zip(spec.inputs, shapes, strict=True):
        if param.dtypes[0] == "int64":
            inputs[param.name] = torch.randint(0, most, shape, generator=generator)
        else:
            inputs[param.name] = torch.randn(shape, generator=generator)
    return inputs


@pytest.mark.parametrize("auto_sync", [True, False], ids=["compiler's sync", "own sync"])
def test_results_and_sanitizer(built, auto_sync):
    op, case = built
    for shapes in case.shapes:
        inputs = inputs_of(op.spec, shapes)
        outputs, golden, result = op.run(inputs, mode="check", auto_sync=auto_sync)
        check(outputs["z"], golden["z"])
        assert result.findings == []


def test_an_index_out_of_range_is_reported_and_never_read(built, capfd):
    op, case = built
    inputs = inputs_of(op.spec, case.shapes[0])
    flat = inputs["i"].view(-1)
    want = op.golden(inputs, {})["z"]
    flat[len(flat) // 2] = 1 << 40
    negative = "]" in case.compute.split("=")[1] and "gather" not in case.compute
    op.golden = lambda inputs, attrs: {"z": want}
    outputs, _, result = op.run(inputs, mode="check")
    assert result.findings == []
    changed = outputs["z"] != want
    assert bool(changed.any()) and bool((outputs["z"][changed] == 0).all())
    assert "index 1099511627776 is outside" in capfd.readouterr().out
    flat[len(flat) // 2] = -1
    outputs, _, result = op.run(inputs, mode="check")
    assert result.findings == []
    assert ("is outside" in capfd.readouterr().out) is not negative


def test_a_mask_is_refused(tmp_path):
    inputs = "x: {dtype: [float32], rank: 1}\n  i: {dtype: [bool], shape: like x}"
    with pytest.raises(OpgenError) as caught:
        plan_op(spec_of(Case("z = x[i]", "like x", inputs, []), tmp_path))
    assert caught.value.diagnostics[0].code in ("OPG201", "OPG331")
