"""Scatters along an axis of few elements, joined column by column under masks."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from harness import BuiltOp

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import parse_spec

# The last digit of the tiling key.
ROWS, COLUMNS = 0, 1


class Op(NamedTuple):
    """A formula over `x`, the indices `i` and the values `s`, and the dtypes of both."""

    compute: str
    dtype: str = "float32"
    index: str = "int32"
    values: bool = True


OPS = {
    "copied": Op("z = torch.scatter(x, 1, i, s)", "float16", "int64"),
    "added": Op("z = torch.scatter_add(x, 1, i, s)", "bfloat16"),
    "multiplied": Op("z = torch.scatter_reduce(x, 1, i, s, 'prod')", index="int64"),
    "the largest": Op("z = torch.scatter_reduce(x, 1, i, s, 'amax')", "int32"),
    "added to a number": Op("z = torch.full_like(x, 2.0).scatter_add(1, i, s)"),
    "a number": Op("z = torch.scatter(x, 1, i, 2.5)", values=False),
}
# Parts, rows, columns, and rows of items; the mode.
SHAPES = [
    ((3, 5, 300, 4), COLUMNS),
    ((1, 7, 5000, 3), COLUMNS),  # several boxes of columns for a core
    ((2, 2, 64, 6), COLUMNS),
    ((1, 20, 9000, 8), COLUMNS),
    ((2, 9, 20, 4), ROWS),  # too few columns
    ((1, 2000, 70, 5), ROWS),  # too many rows
]


@pytest.fixture(scope="module", params=OPS)
def built(request, tmp_path_factory):
    op = OPS[request.param]
    number = list(OPS).index(request.param)
    values = f"\n  s: {{dtype: [{op.dtype}], shape: like i}}" if op.values else ""
    text = (
        f"op: Columns{number}\ninputs:\n  x: {{dtype: [{op.dtype}], rank: 3}}\n"
        f"  i: {{dtype: [{op.index}], rank: 3}}{values}\n"
        f"outputs:\n  z: like x\nbackward: none\ncompute: {op.compute}\n"
    )
    style = "9.x" if number % 2 else "8.1"
    return BuiltOp(parse_spec(text).spec, tmp_path_factory.mktemp("columns"), style=style), op


def inputs_of(
    op: BuiltOp, sizes: tuple[int, int, int, int], exact: bool
) -> dict[str, torch.Tensor]:
    """Draw inputs; where values are copied, no two have the same place."""
    parts, rows, columns, item_rows = sizes
    generator = torch.Generator().manual_seed(0)
    if exact:
        order = torch.rand(parts, rows, columns, generator=generator).argsort(1)
        index = order[:, : min(rows, item_rows)].contiguous()
    else:
        index = torch.randint(0, rows, (parts, item_rows, columns), generator=generator)
    shapes = {"x": (parts, rows, columns), "s": tuple(index.shape)}
    found = {}
    for param in op.spec.inputs:
        dtype = getattr(torch, param.dtypes[0])
        drawn = torch.randint(-4, 5, shapes.get(param.name, ()), generator=generator)
        found[param.name] = (index if param.name == "i" else drawn).to(dtype)
    return found


@pytest.mark.parametrize("auto_sync", [True, False])
def test_results_and_modes(built, auto_sync):
    op, given = built
    for sizes, mode in SHAPES:
        inputs = inputs_of(op, sizes, "scatter(" in given.compute and given.values)
        outputs, golden, result = op.run(inputs, mode="check", auto_sync=auto_sync)
        want = golden["z"].to(outputs["z"].dtype)
        assert torch.equal(outputs["z"], want), sizes
        assert result.tiling_key % 10 == mode, sizes
        # what is filled from end to end was read for nothing
        assert [f for f in result.findings if f["severity"] != "warning"] == []


def test_an_index_outside_is_left_out_and_named(built, capfd):
    op, _ = built
    inputs = inputs_of(op, (2, 5, 300, 4), exact=True)
    index = inputs["i"]
    values = inputs.get("s")
    kept = index.clone()
    index[1, 2, 77], index[0, 3, 299] = 5, -1
    own = op.golden

    def left_out(inputs, attrs):
        """Scatter to a tensor with two rows more, which take what is outside."""
        wide = torch.cat([inputs["x"], inputs["x"][:, :2]], 1)
        wider = {**inputs, "x": wide, "i": torch.where((index < 0) | (index > 4), 6, kept)}
        return {"z": own(wider, attrs)["z"][:, :5]}

    op.golden = left_out
    outputs, golden, result = op.run(inputs, mode="check")
    op.golden = own
    assert values is None or values.shape == index.shape
    assert torch.equal(outputs["z"], golden["z"].to(outputs["z"].dtype))
    assert result.tiling_key % 10 == COLUMNS
    assert "is outside an axis of 5 elements" in capfd.readouterr().out


def test_signs_of_zeros_and_nan_stay(tmp_path):
    """Columns that no index names keep their bits, whatever is joined beside them."""
    text = (
        "op: Bits\ninputs:\n  x: {dtype: [float32], rank: 2}\n  i: {dtype: [int32], rank: 2}\n"
        "  s: {dtype: x, shape: like i}\noutputs:\n  z: like x\nbackward: none\n"
        "compute: z = torch.scatter_add(x, 0, i, s)\n"
    )
    op = BuiltOp(parse_spec(text).spec, tmp_path)
    x = torch.full((3, 256), -0.0)
    x[2] = torch.nan
    i = torch.ones(2, 256, dtype=torch.int32)
    s = torch.full((2, 256), torch.inf)
    op.golden = lambda inputs, attrs: {"z": torch.empty(3, 256)}
    outputs, _, result = op.run({"x": x, "i": i, "s": s}, mode="check")
    assert result.tiling_key % 10 == COLUMNS
    assert bool(torch.signbit(outputs["z"][0]).all()) and bool(outputs["z"][2].isnan().all())
    assert bool((outputs["z"][1] == torch.inf).all())


def test_scatters_of_rows_have_rows_only():
    text = (
        "op: Rows\ninputs:\n  x: {dtype: [float32], rank: 2}\n  i: {dtype: [int64], rank: 1}\n"
        "  s: {dtype: x, shape: '[i[0], x[1]]'}\noutputs:\n  z: like x\nbackward: none\n"
        "compute: z = torch.index_add(x, 0, i, s)\n"
    )
    assert set(plan_op(parse_spec(text).spec).modes) == {"rows"}
