"""Rows and elements moved by index: gathers and scatters, alone and beside other work."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp, check

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import gradient_spec, load_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec

TABLE = "x: {dtype: [float32], rank: [1, 4]}"
ROWS = f"{TABLE}\n  i: {{dtype: [int64], rank: 1}}"
ELEMENTS = "x: {dtype: [float32], rank: [1, 3]}\n  i: {dtype: [int64], rank: [1, 3]}"
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
        ELEMENTS,
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
    "rows added": Case(
        "z = torch.index_add(x, 0, i, s)",
        "like x",
        f"{ROWS.replace('[1, 4]', '2')}\n  s: {{dtype: x, shape: '[i[0], x[1]]'}}",
        [
            ((9, 33), (50,), (50, 33)),
            ((9, 33), (0,), (0, 33)),
            ((700, 5), (90,), (90, 5)),
            ((3, 60001), (4,), (4, 60001)),
        ],
    ),
    "elements added": Case(
        "z = torch.scatter_add(x, -1, i, s)",
        "like x",
        f"{ELEMENTS}\n  s: {{dtype: x, shape: like i}}",
        [((9, 33), (7, 50), (7, 50)), ((40,), (700,), (700,)), ((3, 0), (3, 0), (3, 0))],
    ),
    "a number for some columns": Case(
        "z = torch.index_fill(x, -1, i, 2.5)",
        "like x",
        ROWS,
        [((9, 33), (5,)), ((40, 3, 7), (700,))],
    ),
    "the largest of elements": Case(
        "z = torch.scatter_reduce(x, -1, i, s, 'amax')",
        "like x",
        f"{ELEMENTS}\n  s: {{dtype: x, shape: like i}}",
        [((9, 33), (7, 50), (7, 50)), ((40,), (700,), (700,))],
    ),
    "means of rows": Case(
        "z = torch.index_reduce(x, 0, i, s, 'mean', include_self=False)",
        "like x",
        f"{ROWS.replace('[1, 4]', '2')}\n  s: {{dtype: x, shape: '[i[0], x[1]]'}}",
        [((9, 33), (50,), (50, 33)), ((9, 33), (0,), (0, 33))],
        ("index", "index", "index", "elementwise"),
    ),
    "means of rows and what was there": Case(
        "z = torch.index_reduce(x, 0, i, s, 'mean')",
        "like x",
        f"{ROWS.replace('[1, 4]', '2')}\n  s: {{dtype: x, shape: '[i[0], x[1]]'}}",
        [((9, 33), (50,), (50, 33))],
        ("index", "index", "elementwise"),
    ),
    "sums that another pass reads": Case(
        "z = torch.scatter_add(x, -1, i, s).relu()",
        "like x",
        f"{ELEMENTS}\n  s: {{dtype: x, shape: like i}}",
        [((9, 33), (7, 50), (7, 50))],
        ("index", "elementwise"),
    ),
    "elements in another shape": Case(
        "z = x.put(i, s, accumulate=True)",
        "like x",
        f"{ROWS.replace('[1, 4]', '3')}\n  s: {{dtype: x, shape: like i}}",
        [((9, 5, 33), (50,), (50,))],
    ),
    "rows added by an expanded index": Case(
        "z = torch.scatter_add(x, 0, i[:, None].expand(s.shape), s)",
        "like x",
        f"{TABLE.replace('[1, 4]', '2')}\n  i: {{dtype: [int64], rank: 1}}\n"
        "  s: {dtype: x, shape: '[i[0], x[1]]'}",
        [((9, 33), (50,), (50, 33)), ((7, 0), (3,), (3, 0)), ((3, 9001), (4,), (4, 9001))],
    ),
    "an element of each row": Case(
        "z = x[torch.arange(x.shape[0]), i]",
        "[x[0]]",
        f"{TABLE.replace('[1, 4]', '2')}\n  i: {{dtype: [int64], shape: '[x[0]]'}}",
        [((9, 33), (9,)), ((3000, 5), (3000,)), ((0, 5), (0,))],
        ("elementwise", "index"),
    ),
    "one value for an expanded index": Case(
        "n = [i.shape[0], x.shape[1]]\n  z = x.scatter_add(0, i[:, None].expand(n), s.expand(n))",
        "like x",
        f"{TABLE.replace('[1, 4]', '2')}\n  i: {{dtype: [int64], rank: 1}}\n"
        "  s: {dtype: x, shape: '[1, 1]'}",
        [((9, 33), (50,), (1, 1)), ((7, 0), (3,), (1, 1))],
    ),
    "single elements added": Case(
        "z = torch.scatter_add(x, 0, i, s)",
        "like x",
        f"{TABLE.replace('[1, 4]', '1')}\n  i: {{dtype: [int64], rank: 1}}\n"
        "  s: {dtype: x, shape: like i}",
        [
            ((5000,), (3000,), (3000,)),
            ((100000,), (700,), (700,)),
            ((1,), (9,), (9,)),
            ((9,), (0,), (0,)),
        ],
    ),
    "single elements, by two indices": Case(
        "z = x.index_put((i, j), s)",
        "like x",
        f"{ROWS.replace('[1, 4]', '2')}\n  j: {{dtype: [int64], shape: like i}}\n"
        "  s: {dtype: x, shape: '[1]'}",
        [((70, 33), (20,), (20,), (1,)), ((300, 500), (3,), (3,), (1,))],
    ),
    "rows added to their own tensor": Case(
        "z = torch.index_add(x, 0, i, x)",
        "like x",
        "x: {dtype: [float32], rank: 2}\n  i: {dtype: [int64], shape: '[x[0]]'}",
        [((9, 33), (9,)), ((700, 5), (700,))],
    ),
    "elements of their own tensor": Case(
        "z = x.scatter_reduce(-1, i, x, 'amax')",
        "like x",
        "x: {dtype: [float32], rank: [1, 3]}\n  i: {dtype: [int64], shape: like x}",
        [((9, 33), (9, 33)), ((2, 3, 5), (2, 3, 5))],
    ),
    "rows over nothing": Case(
        "z = torch.zeros_like(x).index_put((i, j), x[0, 0], accumulate=True)",
        "like x",
        f"{ROWS.replace('[1, 4]', '3')}\n  j: {{dtype: [int64], shape: like i}}",
        [((9, 5, 33), (50,), (50,))],
    ),
}
# Compiled and run by the default suite; the others are planned there and run in CI's slow part.
DEFAULT = (
    "rows",
    "rows added",
    "single elements added",
    "rows added by an expanded index",
    "an element of each row",
    "rows added to their own tensor",
)


def spec_of(case: Case, folder: Path, name: str = "IndexCase", backward: str = "none") -> OpSpec:
    text = (
        f"op: {name}\ninputs:\n  {case.inputs}\n"
        f'outputs:\n  z: {{dtype: x, shape: "{case.shape}"}}\n'
        f"{case.attrs}compute: |\n  {case.compute}\nbackward: {backward}\n"
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
    params=default_part(CASES, DEFAULT),
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


def compare(got: torch.Tensor, golden: torch.Tensor, case: Case) -> None:
    if "add" in case.compute or "put" in case.compute:  # sums cancel
        torch.testing.assert_close(got.double(), golden, rtol=1e-5, atol=1e-4)
    else:
        check(got, golden)


@pytest.mark.parametrize("auto_sync", [True, False], ids=["compiler's sync", "own sync"])
def test_results_and_sanitizer(built, auto_sync):
    op, case = built
    for shapes in case.shapes:
        inputs = inputs_of(op.spec, shapes)
        outputs, golden, result = op.run(inputs, mode="check", auto_sync=auto_sync)
        compare(outputs["z"], golden["z"], case)
        # what is filled from end to end was read for nothing
        lost = "fill" in case.compute or "include_self" in case.compute
        assert [f for f in result.findings if not lost or f["severity"] != "warning"] == []


def test_an_index_out_of_range_is_reported_and_never_read(built, capfd):
    op, case = built
    if case.passes != ("index",) or any(
        w in case.inputs + case.compute for w in ("s: ", "put", "i, x")
    ):
        pytest.skip("a gather alone has zeros in place of the row")
    if "fill" in case.compute:
        pytest.skip("nothing is read")
    inputs = inputs_of(op.spec, case.shapes[0])
    flat = inputs["i"].view(-1)
    want = op.golden(inputs, {})["z"]
    flat[len(flat) // 2] = 1 << 40
    wraps = "]" in case.compute and "gather" not in case.compute
    op.golden = lambda inputs, attrs: {"z": want}
    outputs, _, result = op.run(inputs, mode="check")
    assert result.findings == []
    changed = outputs["z"] != want
    assert bool(changed.any()) and bool((outputs["z"][changed] == 0).all())
    assert "index 1099511627776 is outside" in capfd.readouterr().out
    flat[len(flat) // 2] = -1
    outputs, _, result = op.run(inputs, mode="check")
    assert result.findings == []
    assert ("is outside" in capfd.readouterr().out) is not wraps


def test_a_row_for_an_index_out_of_range_is_left_out(built, capfd):
    op, case = built
    if "index_add" not in case.compute or "i, x" in case.compute:
        pytest.skip("of sums of other tensors alone it is known what is left")
    inputs = inputs_of(op.spec, case.shapes[0])
    rest = {**inputs, "i": inputs["i"][1:], "s": inputs["s"][1:]}
    want = op.golden(rest, {})["z"]
    inputs["i"][0] = 9
    op.golden = lambda inputs, attrs: {"z": want}
    outputs, _, result = op.run(inputs, mode="check")
    assert result.findings == []
    compare(outputs["z"], want, case)
    assert "index 9 is outside an axis of 9 elements" in capfd.readouterr().out


def test_sums_do_not_depend_on_the_number_of_cores(built):
    op, case = built
    if "add" not in case.compute:
        pytest.skip("there are no sums")
    inputs = inputs_of(op.spec, case.shapes[0])
    one, _, _ = op.run(inputs, mode="fast", block_dim=1)
    all_cores, _, _ = op.run(inputs, mode="fast")
    assert torch.equal(one["z"], all_cores["z"])


def test_an_index_that_is_computed_in_64_bits_is_stored_so(tmp_path):
    """The bound is an attr, which may need 64 bits, so that the clamp is one of 64 bits."""
    path = tmp_path / "bins.yaml"
    path.write_text(
        "op: Bins\ninputs: {x: {dtype: float32, rank: 1}}\n"
        "outputs: {y: {dtype: float32, shape: '[n]'}}\n"
        "attrs: {n: {type: int, default: 10, min: 1}}\nbackward: none\ncompute: |\n"
        "  b = (x.clamp(0, 1) * n).to(torch.int64).clamp(max=n - 1)\n"
        "  y = torch.zeros(n, dtype=x.dtype).index_add(0, b, torch.ones_like(x))\n"
    )
    op = BuiltOp(load_spec(path), tmp_path)
    assert op.plan.temporaries[0].dtypes == ("int64",)
    for bins in (10, 3):
        outputs, golden, result = op.run({"x": torch.rand(700) * 1.2}, {"n": bins})
        check(outputs["y"], golden["y"])
        assert result.findings == []


def test_zeros_that_are_scattered_over_stay_a_number(tmp_path):
    compute = "z = torch.zeros_like(x).scatter(-1, i, s.relu())"
    case = Case(compute, "like x", f"{ELEMENTS}\n  s: {{dtype: x, shape: like i}}", [])
    parts = plan_op(spec_of(case, tmp_path)).parts
    assert [part.family.name for part in parts] == ["elementwise", "index"]
    assert parts[1].call.table == "" and parts[1].call.numbers[0] is not None


@pytest.mark.parametrize(
    "compute",
    ["F.embedding(i, x)", "torch.index_select(x, 0, i)", "x[i]", "x.gather(0, i[:, None])"],
)
def test_gradients_are_scatters(compute, tmp_path):
    inputs = "x: {dtype: [float32], rank: 2}\n  i: {dtype: [int64], rank: 1}"
    shape = "[i[0], 1]" if "gather" in compute else "[i[0], x[1]]"
    case = Case(f"z = {compute}", shape, inputs, [])
    spec = spec_of(case, tmp_path, backward="kernel")
    plan = plan_op(gradient_spec(spec))
    assert [part.family.name for part in plan.parts] == ["index"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compute", "index", "source", "given"),
    [
        ("torch.scatter_add(x, -1, i, s)", "rank: 2", "like i", ((40, 64), (40, 30), (40, 30))),
        ("torch.index_add(x, 0, i, s)", "rank: 1", "[i[0], x[1]]", ((9, 64), (30,), (30, 64))),
    ],
)
def test_gradients_of_sums_by_index_are_gathers(compute, index, source, given, tmp_path):
    inputs = f"x: {{dtype: [float32], rank: 2}}\n  i: {{dtype: [int64], {index}}}"
    inputs += f"\n  s: {{dtype: x, shape: '{source}'}}"
    spec = spec_of(Case(f"z = {compute}", "like x", inputs, []), tmp_path, backward="kernel")
    gradient = gradient_spec(spec)
    axis = 0 if "index_add" in compute else 1
    x, s, z = (torch.randn(shape) for shape in (given[0], given[2], given[0]))
    i = torch.randint(given[0][axis], given[1])
    values = {"x": x, "i": i, "s": s, "grad_z": z}
    results, _, _ = BuiltOp(gradient, tmp_path / "op").run(values, mode="check")
    assert torch.equal(results["grad_x"], z)
    wanted = z[i] if axis == 0 else z.gather(1, i)
    assert torch.equal(results["grad_s"], wanted)


def test_a_mask_is_refused(tmp_path):
    inputs = "x: {dtype: [float32], rank: 1}\n  i: {dtype: [bool], shape: like x}"
    with pytest.raises(OpgenError) as caught:
        plan_op(spec_of(Case("z = x[i]", "like x", inputs, []), tmp_path))
    assert caught.value.diagnostics[0].code in ("OPG201", "OPG331")


SUMS = Case(
    "z = torch.index_add(x.new_zeros([n, *x.shape[1:]]), 0, i, x)",
    "[n, *x[1:]]",
    'x: {dtype: [float32], rank: [1, 3]}\n  i: {dtype: [int64], shape: "[x[0]]"}',
    [],
    attrs="attrs:\n  n: {type: int, default: 8, min: 1}\n",
)
JOINED = """\
op: Joined
inputs:
  x: {dtype: [float32, int64], rank: 2}
  i: {dtype: int64, rank: 2}
  s: {dtype: x, shape: like i}
outputs:
  z: like x
attrs:
  way: {type: str, default: put, allowed: [put, add, multiply, largest]}
compute: |
  if way == 'put':
    z = torch.scatter(x, 0, i, s)
  elif way == 'add':
    z = torch.scatter_add(x, 0, i, s)
  elif way == 'multiply':
    z = torch.scatter_reduce(x, 0, i, s, 'prod')
  else:
    z = torch.scatter_reduce(x, 0, i, s, 'amax')
backward: none
"""


def test_a_size_of_the_result_may_be_an_attr(tmp_path):
    plan = plan_op(spec_of(SUMS, tmp_path))
    assert [part.family.name for part in plan.parts] == ["index"]
    assert plan.tiling_attrs() == set()  # no axis


def test_an_attr_that_is_more_than_a_size_is_refused(tmp_path):
    compute = "z = torch.index_select(x, n % 2, i)"
    inputs = "x: {dtype: [float32], rank: 3}\n  i: {dtype: [int64], rank: 1}"
    shape = "[i[0], x[1], x[2]]"
    case = Case(compute, shape, inputs, [], attrs=SUMS.attrs.replace("min: 1", "min: 0"))
    with pytest.raises(OpgenError) as caught:
        plan_op(spec_of(case, tmp_path))
    assert caught.value.diagnostics[0].code == "OPG202"


def test_variants_may_join_values_in_different_ways(tmp_path):
    path = tmp_path / "joined.yaml"
    path.write_text(JOINED, encoding="utf-8")
    plan = plan_op(load_spec(path))
    assert [part.family.name for part in plan.parts] == ["index"]
    ways = {(body.combine, body.compute) for body in plan.bodies}
    assert ways == {
        ("copy", ""),
        *((way, kind) for way in ("add", "multiply", "largest") for kind in ("float", "int64_t")),
    }


@pytest.mark.slow
def test_long_integers_are_joined_without_loss(tmp_path):
    path = tmp_path / "joined.yaml"
    path.write_text(JOINED.replace("[float32, int64]", "int64"), encoding="utf-8")
    op = BuiltOp(load_spec(path), tmp_path / "op")
    generator = torch.Generator().manual_seed(0)
    i = torch.stack([torch.randperm(40, generator=generator)[:30] for _ in range(9)], 1)
    values = torch.randint(-(1 << 62), 1 << 62, (2, 40, 9), generator=generator)
    x, s = values[0], values[1, :30].contiguous()
    ways = {
        "put": x.scatter(0, i, s),
        "add": x.scatter_add(0, i, s),
        "multiply": x.scatter_reduce(0, i, s, "prod"),
        "largest": x.scatter_reduce(0, i, s, "amax"),
    }
    for way, wanted in ways.items():
        given = {"x": x, "i": i.contiguous(), "s": s}
        outputs, _, result = op.run(given, {"way": way}, mode="check")
        assert result.findings == []
        assert torch.equal(outputs["z"], wanted)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_sums_of_small_integers_on_the_way_wrap(tmp_path, dtype):
    """int32 holds them in the workspace; what reads them sees the numbers of their dtype."""
    text = (
        "op: WrappedSums\ninputs:\n  x: {dtype: float32, rank: 2}\n"
        "  i: {dtype: int64, shape: like x}\n"
        f"outputs:\n  z: {{dtype: {dtype}, shape: like x}}\n"
        "compute: |\n"
        f"  v = x.to(torch.int32).to(torch.{dtype})\n"
        "  z = torch.zeros_like(v).scatter_add(1, i, v) + 1\nbackward: none\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    x = torch.randint(-100, 100, (5, 40)).float()
    i = torch.randint(0, 3, (5, 40))
    outputs, golden, result = op.run({"x": x, "i": i}, mode="check")
    assert torch.equal(outputs["z"], golden["z"])
    assert result.findings == []
