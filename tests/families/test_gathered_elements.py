"""Single elements that indices name, taken by the batch from a part of the table in UB."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from harness import BuiltOp

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import parse_spec

# The last digit of the tiling key.
ROWS, ELEMENTS = 0, 1


class Case(NamedTuple):
    """Shapes of the table and of the indices, and the mode of the kernel."""

    shapes: tuple[tuple[int, ...], ...]
    mode: int = ELEMENTS


class Op(NamedTuple):
    """A formula of tables `x` and indices `i`, `j`, and its calls."""

    compute: str
    inputs: str
    shape: str
    cases: list[Case]


ALONG = "x: {dtype: [DTYPES], rank: [1, 4]}\n  i: {dtype: [INDICES], rank: [1, 4]}"
PAIRS = (
    "x: {dtype: [DTYPES], rank: 4}\n  i: {dtype: [INDICES], rank: 3}\n"
    "  j: {dtype: [INDICES], shape: like i}"
)
OPS = {
    "along the last axis": Op(
        "z = torch.gather(x, -1, i)",
        ALONG,
        "like i",
        [
            Case(((50, 64), (50, 200))),  # lines of several rows
            Case(((50, 64), (40, 7))),
            Case(((3, 4001), (3, 3000))),  # several batches of a line
            Case(((5, 6, 70), (4, 6, 33))),
            Case(((700,), (5000,))),
            Case(((90000,), (500,)), ROWS),  # longer than UB
            Case(((4, 30000), (4, 3)), ROWS),  # sooner copied one by one
        ],
    ),
    "along the first axis": Op(
        "z = torch.gather(x, 0, i)",
        ALONG,
        "like i",
        [
            Case(((50, 64), (200, 64))),
            Case(((500, 40), (300, 37))),  # columns that no block ends with
            Case(((9, 5, 33), (40, 5, 30))),
            Case(((4500, 40), (2000, 40))),  # rows enough for one block of columns
            Case(((30000, 40), (60, 40)), ROWS),  # longer than UB
        ],
    ),
    "along the middle axis": Op(
        "z = torch.gather(x, 1, i)", ALONG, "like i", [Case(((3, 50, 64), (3, 70, 60)))]
    ),
    "one index for all rows": Op(
        "z = x[..., i]",
        "x: {dtype: [DTYPES], rank: [1, 4]}\n  i: {dtype: [INDICES], rank: 1}",
        "[*x[:-1], i[0]]",
        [Case(((60, 300), (90,))), Case(((2, 3, 77), (2000,)))],
    ),
    "two axes": Op(
        "z = x[:, :, i[0], j[0]]",
        PAIRS,
        "[x[0], x[1], i[1], i[2]]",
        [Case(((2, 9, 20, 31), (1, 25, 40), (1, 25, 40)))],
    ),
}


@pytest.fixture(scope="module", params=[(name, k) for name in OPS for k in range(2)], ids=str)
def built(request, tmp_path_factory):
    name, kind = request.param
    op = OPS[name]
    dtype, index = (("float16", "int32"), ("int32", "int64"))[kind]
    inputs = op.inputs.replace("DTYPES", dtype).replace("INDICES", index)
    text = (
        f"op: Elements{list(OPS).index(name)}\ninputs:\n  {inputs}\n"
        f"outputs:\n  z: {{dtype: x, shape: '{op.shape}'}}\nbackward: none\n"
        f"compute: {op.compute}\n"
    )
    style = "9.x" if kind else "8.1"
    folder = tmp_path_factory.mktemp("elements")
    return BuiltOp(parse_spec(text).spec, folder, style=style), op


def inputs_of(op: BuiltOp, case: Case, wraps: bool) -> dict[str, torch.Tensor]:
    """Return drawn inputs; indices that count from the end where the call takes these."""
    generator = torch.Generator().manual_seed(0)
    found = {}
    for param, shape in zip(op.spec.inputs, case.shapes, strict=True):
        dtype = getattr(torch, param.dtypes[0])
        size = {"i": -2, "j": -1}.get(param.name)
        if size is None:
            found[param.name] = torch.randint(-999, 999, shape, generator=generator).to(dtype)
            continue
        axes = case.shapes[0]
        axis = size if len(case.shapes) > 2 else axis_of(op)
        low = -axes[axis] if wraps else 0
        found[param.name] = torch.randint(low, axes[axis], shape, generator=generator).to(dtype)
    return found


def axis_of(op: BuiltOp) -> int:
    text = op.spec.compute.text
    return next((n for n in (0, 1) if f"(x, {n}" in text), -1)


@pytest.mark.parametrize("auto_sync", [True, False])
def test_results_and_modes(built, auto_sync):
    op, given = built
    for case in given.cases:
        inputs = inputs_of(op, case, "gather" not in given.compute)
        outputs, golden, result = op.run(inputs, mode="check", auto_sync=auto_sync)
        assert torch.equal(outputs["z"], golden["z"].to(outputs["z"].dtype)), case
        assert result.tiling_key % 10 == case.mode, case
        assert result.findings == []


def test_an_index_outside_gives_zero_and_is_named(built, capfd):
    op, given = built
    case = given.cases[0]
    inputs = inputs_of(op, case, wraps=False)
    axis = axis_of(op) if len(case.shapes) == 2 else -2
    size = case.shapes[0][axis]
    flat = inputs["i"].view(-1)
    right = op.run(inputs, mode="check")[0]["z"]
    flat[3] = size
    flat[-2] = -size - 1
    place = torch.zeros_like(inputs["i"], dtype=torch.bool).view(-1)
    place[3] = place[-2] = True
    outside = place.view(inputs["i"].shape)[0 if len(case.shapes) == 3 else ...]
    expected = torch.where(outside, torch.zeros_like(right), right)
    own, op.golden = op.golden, lambda inputs, attrs: {"z": expected}
    outputs, _, result = op.run(inputs, mode="check")
    op.golden = own
    assert torch.equal(outputs["z"], expected)
    assert result.tiling_key % 10 == ELEMENTS
    assert result.findings == []
    assert f"index {size} is outside an axis of {size} elements" in capfd.readouterr().out


CONVERTED = """
op: Converted
inputs:
  x: {dtype: [float16], rank: 2}
  i: {dtype: [int32], shape: "[x[0], 2 * x[1]]"}
outputs:
  y: {dtype: [float16], shape: like i}
  z: {dtype: [float32], shape: like i}
backward: none
compute: |
  y = torch.gather(x.abs().sqrt(), -1, i)
  z = torch.gather(x.to(torch.float32), -1, i) * 2
"""


@pytest.mark.parametrize("shape", [(50, 7), (5, 700)])
def test_elements_are_converted_on_their_way(shape, tmp_path):
    """A result is narrower than the temporary that it is taken from, whose rows have less room."""
    op = BuiltOp(parse_spec(CONVERTED).spec, tmp_path)
    x = torch.randn(shape).half()
    i = torch.randint(0, shape[1], (shape[0], 2 * shape[1]), dtype=torch.int32)
    outputs, golden, result = op.run({"x": x, "i": i}, mode="check")
    assert torch.equal(outputs["z"], golden["z"].float())
    torch.testing.assert_close(outputs["y"].double(), golden["y"], rtol=1e-3, atol=1e-3)
    assert result.findings == []


def test_a_table_that_repeats_elements_is_written_out_first(tmp_path):
    text = (
        "op: Repeated\ninputs:\n  x: {dtype: [float32], rank: 2}\n"
        "  i: {dtype: [int32], rank: 2}\noutputs:\n  z: {dtype: x, shape: like i}\n"
        "backward: none\ncompute: z = torch.gather(x.expand(i.shape[0], -1), 1, i)\n"
    )
    spec = parse_spec(text).spec
    assert [part.family.name for part in plan_op(spec).parts] == ["elementwise", "index"]
    op = BuiltOp(spec, tmp_path)
    inputs = {"x": torch.randn(1, 9), "i": torch.randint(0, 9, (5, 30), dtype=torch.int32)}
    outputs, golden, _ = op.run(inputs, mode="check")
    assert torch.equal(outputs["z"], golden["z"].float())


def test_tables_of_long_rows_have_rows_only():
    text = (
        "op: Rows\ninputs:\n  x: {dtype: [float32], rank: 2}\n  i: {dtype: [int64], rank: 1}\n"
        "outputs:\n  z: {dtype: x, shape: '[i[0], x[1]]'}\nbackward: none\ncompute: z = x[i]\n"
    )
    assert set(plan_op(parse_spec(text).spec).modes) == {"rows"}
