"""What outputs may span and overwrite, and in how many passes row kernels make them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from default_part import default_part
from harness import BuiltOp, check, make_spec

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.resources import data_dir
from msopgen_wrap.run.measurement import measure_op
from msopgen_wrap.schedule.plan import DOUBLE, RESIDENT
from msopgen_wrap.spec.loader import load_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec, ShapeLike

# ---- What the outputs of an op with reductions may span, and what is made in several passes ------

X, VECTOR, NUMBER = "rank: 2", 'shape: "[x[1]]"', 'shape: "[1]"'
PARTS = "parts"
# (compute, what the rules say about w, shapes of the outputs, family)
CASES = {
    "a vector beside a sum of all": (
        "a = x.sum()\nb = w * 2",
        VECTOR,
        {"a": "[]", "b": "[x[1]]"},
        PARTS,
    ),
    "a vector of rows beside rows": (
        "a = x.sum(1)\nb = w * 2",
        'shape: "[x[0]]"',
        {"a": "[x[0]]", "b": "[x[0]]"},
        PARTS,
    ),
    "more axes than the reduction has": (
        "a = x.sum(1)\nb = x.unsqueeze(1) * 2",
        VECTOR,
        {"a": "[x[0]]", "b": "[x[0], 1, x[1]]"},
        PARTS,
    ),
    "a sum of more axes than the first has": (
        "a = w.amax()\nb = x.sum()",
        VECTOR,
        {"a": "[]", "b": "[]"},
        PARTS,
    ),
    "an input in another shape": (
        "a = torch.softmax(w, 0)\nb = x.flatten()",
        VECTOR,
        {"a": "[x[1]]", "b": "[x[0] * x[1]]"},
        PARTS,
    ),
    "axes in another order": (
        "a = x - x.mean(0, keepdim=True)\nb = (x * w).transpose(0, 1)",
        VECTOR,
        {"a": "like x", "b": "[x[1], x[0]]"},
        PARTS,
    ),
    "a size of what lines up with nothing yet": (
        "a = x.sum(1)\nv = w * 2\nb = v / v.shape[0]",
        VECTOR,
        {"a": "[x[0]]", "b": "[x[1]]"},
        PARTS,
    ),
    "a view along an axis that nothing computed has": (
        "a = w * w.amax()\nb = x[0].flip(-1)",
        'shape: "[x[0], 1]"',
        {"a": "[x[0], 1]", "b": "[x[1]]"},
        PARTS,
    ),
    "a vector with a sum of all": ("a = x.sum() + w", VECTOR, {"a": "[x[1]]"}, PARTS),
    "a number with a sum of all": ("a = x.sum() + w", NUMBER, {"a": "[1]"}, "row"),
    "stored in another shape, without an axis": (
        "a = F.group_norm(x.unsqueeze(1), 1, None, None, 1e-5).squeeze(1) * 2\n",
        NUMBER,
        {"a": "like x"},
        "row",
    ),
    "rows stored in as many axes as there were": (
        "a = torch.matmul(x.unsqueeze(0), w)",
        VECTOR,
        {"a": "[1, x[0]]"},
        "row",
    ),
    "copies of elements in front of a sum": (
        "a = (x * 2).expand(3, -1, -1)\nb = x.sum(0)",
        VECTOR,
        {"a": "[3, x[0], x[1]]", "b": "[x[1]]"},
        PARTS,
    ),
    "a slice of a number that is stored": (
        "a = (x * x).sum()\nb = w[::2]",
        NUMBER,
        {"a": "[]", "b": "[1]"},
        "row",
    ),
    "a slice of a number": ("a = x.amax() + w[::2]", NUMBER, {"a": "[1]"}, "row"),
}


def spec_of(name: str, folder: Path) -> OpSpec:
    compute, rule, outputs, _ = CASES[name]
    rows = [f"op: RowOutputs{list(CASES).index(name)}", "inputs:"]
    rows += [f"  x: {{dtype: float32, {X}}}", f"  w: {{dtype: float32, {rule}}}", "outputs:"]
    rows += [f'  {n}: {{dtype: float32, shape: "{s}"}}' for n, s in outputs.items()]
    rows += ["backward: none", "compute: |", *(f"  {line}" for line in compute.splitlines())]
    return loaded("\n".join(rows) + "\n", folder)


def loaded(text: str, folder: Path) -> OpSpec:
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


@pytest.mark.parametrize("name", CASES)
def test_outputs_span_the_pass_or_are_made_in_another(name, tmp_path):
    assert plan_op(spec_of(name, tmp_path)).family.name == CASES[name][3]


def test_a_sum_of_one_element_is_no_sum_of_a_row(tmp_path, monkeypatch):
    """It was read as many times as the row has elements."""
    compute = "a = x.sum(1, keepdim=True) + w.sum(1, keepdim=True)"
    case = (compute, 'shape: "[x[0], 1]"', {"a": "[x[0], 1]"}, "")
    monkeypatch.setitem(CASES, "ones", case)
    plan = plan_op(spec_of("ones", tmp_path))
    assert all(len(part.operands()) == 1 for part in plan.parts[:-1]) and len(plan.parts) > 1


BEHIND = """op: AxisBehind
inputs:
  x: {dtype: float32, rank: 3}
  s: {dtype: float32, shape: "[x[0], x[1]]"}
outputs:
  y: {dtype: float32, shape: "[x[0], x[2]]"}
backward: none
compute: (x * torch.tanh(s).unsqueeze(-1)).sum(1)
"""


def test_an_axis_behind_those_of_an_operand_is_one_of_its_view(tmp_path: Path) -> None:
    """It was lined up with the last axes of x: tiling refused, or mixed up equal sizes."""
    plan = plan_op(loaded(BEHIND, tmp_path))
    steps = plan.operands()["s"].steps
    assert [(step.op, step.axis) for step in steps] == [("unsqueeze", -1)]


@pytest.mark.slow
def test_results_with_an_axis_behind_those_of_an_operand(tmp_path: Path) -> None:
    op = BuiltOp(loaded(BEHIND, tmp_path), tmp_path)
    for shape in ((3, 5, 7), (6, 6, 6), (40, 33, 129)):
        inputs = {"x": torch.randn(shape), "s": torch.randn(shape[:2])}
        outputs, golden, result = op.run(inputs, mode="check")
        torch.testing.assert_close(outputs["y"], golden["y"].float(), rtol=1e-4, atol=1e-4)
        assert result.findings == []


CENTRED = """op: CentredRows
inputs:
  x: {dtype: float32, rank: 1}
  w: {dtype: float32, shape: like x}
outputs:
  y: {dtype: float32, shape: "[]"}
backward: none
compute: |
  n = w.sum()
  r = x.reshape(1, -1)
  c = r - (r * w).sum(1, keepdim=True) / n
  y = (c * c * w).sum(1).squeeze(0)
"""


def test_axes_in_front_of_the_first_reduction_leave_rows_rows(tmp_path: Path) -> None:
    """The row minus its mean was read as one number: a wrong result."""
    plan = plan_op(loaded(CENTRED, tmp_path))
    assert plan.family.name == "row"
    assert {view.extent for body in plan.bodies for view in body.operands.values()} == {"full"}


@pytest.mark.slow
def test_results_of_rows_with_an_axis_in_front(tmp_path: Path) -> None:
    op = BuiltOp(loaded(CENTRED, tmp_path), tmp_path)
    for length in (2, 7, 20011):
        inputs = {"x": torch.rand(length), "w": torch.rand(length) + 0.5}
        outputs, golden, result = op.run(inputs, mode="check")
        check(outputs["y"], golden["y"])
        assert result.findings == []


SLOPE = """op: SlopeOfRows
inputs:
  x: {dtype: float32, rank: 2}
  w: {dtype: float32, shape: "[1, x[1]]"}
outputs:
  y: {dtype: float32, shape: "[1, x[1]]"}
backward: none
compute: |
  t = torch.tanh(w)
  y = (x * t).sum(0, keepdim=True) * (1 - t * t)
"""


def test_an_operand_of_calls_that_are_matched_together_spans_its_axes(tmp_path: Path) -> None:
    """1 - tanh ** 2 reads w itself: it counted as one of all rows, and tiling refused y."""
    (body, *_) = plan_op(loaded(SLOPE, tmp_path)).bodies
    extents = {(view.tensor, view.extent) for view in body.operands.values()}
    assert extents == {("x", "full"), ("w", "row")}


RUN = {
    "a number with a sum of all": 1,
    "a slice of a number that is stored": 1,
    "a vector with a sum of all": None,
}


@pytest.mark.parametrize("name", default_part(RUN, list(RUN)[:2]))
def test_results(name, tmp_path):
    op = BuiltOp(spec_of(name, tmp_path), tmp_path)
    for shape in [(5, 7), (0, 3), (3, 20011)]:
        inputs = {"x": torch.rand(shape), "w": torch.rand(RUN[name] or shape[1])}
        outputs, golden, result = op.run(inputs, mode="check")
        for output in outputs:
            check(outputs[output], golden[output])
        assert result.findings == []


def test_counted_numbers_give_an_axis_that_no_operand_has(tmp_path: Path) -> None:
    """Both axes of five are counted: the shape of the result follows once both are known."""
    text = (
        "op: Counted\ninputs:\n  x: {dtype: int32, rank: [1, 3], range: [0, 4]}\n"
        "outputs:\n  z: {dtype: float32, shape: '[*x, 5, 5]'}\nbackward: none\ncompute: |\n"
        "  h = (x.unsqueeze(-1) == torch.arange(5)).to(torch.int32)\n"
        "  v = (h.unsqueeze(-1) == torch.arange(5)).to(torch.float32)\n"
        "  z = v - v.mean(-1, keepdim=True)\n"
    )
    op = BuiltOp(loaded(text, tmp_path), tmp_path)
    for shape in [(7,), (13, 5), (2, 3, 700)]:
        outputs, golden, result = op.run({"x": torch.randint(0, 5, shape).int()}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == []


def test_scratch_of_a_row_value_is_apart_from_the_value(tmp_path: Path) -> None:
    """1 / sqrt of a row fills scratch while its result is live; both need a slot of their own."""
    path = tmp_path / "statistics.yaml"
    path.write_text(
        "op: RowStatistics\ninputs:\n  x: {dtype: float32, rank: 2}\n"
        '  w: {dtype: float32, shape: "[x[0]]"}\noutputs:\n  a: like w\n  b: like w\n'
        "backward: none\ncompute: |\n  a = w + (x * x).mean(-1)\n  b = torch.rsqrt(a)\n",
        encoding="utf-8",
    )
    op = BuiltOp(load_spec(path), tmp_path)
    for shape in ((5, 7), (3, 20011)):
        inputs = {"x": torch.rand(shape), "w": torch.rand(shape[0])}
        outputs, golden, result = op.run(inputs, mode="check")
        for name in ("a", "b"):
            check(outputs[name], golden[name])
        assert result.findings == []


@pytest.mark.slow
def test_values_and_positions_keep_the_axes_that_are_not_reduced(tmp_path: Path) -> None:
    """What a call gives several of stands on the axes of the call."""
    path = tmp_path / "maxima.yaml"
    path.write_text(
        "op: RowMaxima\ninputs:\n  x: {dtype: float32, rank: 3}\noutputs:\n"
        '  a: {dtype: float32, shape: "[x[0], x[2]]"}\n  b: {dtype: int64, shape: "[x[0], x[2]]"}\n'
        "backward: none\ncompute: torch.max(x, 1)\n",
        encoding="utf-8",
    )
    op = BuiltOp(load_spec(path), tmp_path)
    assert op.plan.family.name == "row"
    for shape in ((5, 5, 5), (3, 70, 9)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        outputs, golden, result = op.run({"x": x}, mode="check")
        for name in ("a", "b"):
            check(outputs[name], golden[name])
        assert result.findings == []


# ---- Outputs in place that are made of other elements than those they overwrite are refused ------

MOVED = (
    "x.flip(0)",
    "torch.roll(x, 1, 1)",
    "x + x[:, :1]",
    "torch.softmax(x, -1) * x[:1]",
    "torch.cat([x[1:], x[:1]], 0)",
)
IN_ORDER = (
    "x * 2 + x.abs()",
    "torch.softmax(x, 0)",
    "(x.reshape(-1) * 3).reshape(x.shape)",
    "x - x.mean(0, keepdim=True) - x.mean(1, keepdim=True)",
)


def planned(compute: str) -> str:
    """Return the code of the refusal, or the family."""
    spec = make_spec(
        f"x = {compute}", outputs="x", inplace={"x": "x"}, shapes={"x": ShapeLike("x")}
    )
    x = replace(spec.inputs[0], min_rank=2, max_rank=2)
    try:
        return plan_op(replace(spec, inputs=(x,))).family.name
    except OpgenError as error:
        return error.diagnostics[0].code


@pytest.mark.parametrize("compute", MOVED)
def test_moved_elements_are_refused(compute):
    assert planned(compute) == "OPG339"


@pytest.mark.parametrize("compute", IN_ORDER)
def test_elements_at_their_place_are_not(compute):
    assert not planned(compute).startswith("OPG")


# ---- How often a row kernel reads its rows, and how long they may be to stay in UB ---------------

MEAN = "x.mean(-1, keepdim=True)"
# A formula, and per pass of reductions over rows that stream through what it gathers.
PASSES = [
    ("torch.softmax(x, -1)", [["AddExpSum"]]),
    ("torch.log_softmax(x, -1)", [["AddExpSum"]]),
    ("x - torch.logsumexp(x, -1, keepdim=True)", [["AddExpSum"]]),
    ("F.layer_norm(x, [x.shape[-1]], None, None, 1e-5)", [["AddVariance"]]),
    ("x / x.var(-1, keepdim=True)", [["AddVariance"]]),
    (f"x - {MEAN} + x.amax(-1, keepdim=True)", [["Reduce", "Reduce"]]),
    # exp(x - max) is of another value than the maximum
    ("torch.exp(x - x.abs().amax(-1, keepdim=True)).sum(-1, keepdim=True) + x",
     [["Reduce"], ["Reduce"]]),
    # no rule for distances without squares, and none for squared distances from a maximum
    (f"(x - {MEAN}).abs().sum(-1, keepdim=True) + x", [["Reduce"], ["Reduce"]]),
    ("(x - x.amax(-1, keepdim=True)).square().sum(-1, keepdim=True) + x",
     [["Reduce"], ["Reduce"]]),
    # the second sum needs the first pair
    ("torch.softmax(F.layer_norm(x, [x.shape[-1]], None, None, 1e-5), -1)",
     [["AddVariance"], ["AddExpSum"]]),
]  # fmt: skip


@pytest.mark.parametrize(("compute", "passes"), PASSES)
def test_passes_of_reductions(compute: str, passes: list[list[str]]) -> None:
    (body,) = plan_op(make_spec(compute, shapes={"z": ShapeLike("x")})).bodies
    gathers = ("Reduce", "AddExpSum", "AddVariance")
    found = [[i.op for i in piece.program.insts if i.op in gathers] for piece in body.pieces[:-1]]
    assert found == passes
    # the pass for the outputs begins with what is in UB
    assert body.holds == (len(passes) == 1)


# Op, dtype, longest row that stays in UB of ascend910b, and with two copies of each queue.
ROWS = [
    ("norm/custom_layer_norm", "float32", 6144, 6144),
    ("norm/custom_layer_norm", "float16", 8192, 6144),
    ("norm/rms_norm", "float32", 8192, 6144),
    ("norm/rms_norm", "float16", 8192, 8192),
    ("norm/softmax", "float32", 8192, 8192),
    ("norm/softmax", "float16", 8192, 8192),
    ("norm/add_rms_norm", "float32", 6144, 4096),
    ("norm/add_rms_norm", "float16", 8192, 6144),
]


@pytest.mark.parametrize(("op", "dtype", "single", "double"), ROWS)
def test_rows_that_stay_in_ub(op: str, dtype: str, single: int, double: int) -> None:
    plan = plan_op(load_spec(data_dir("op_specs") / f"{op}.yaml"))
    combo = plan.spec.inputs[0].dtypes.index(dtype)
    ub = plan.socs["ascend910b"]
    for mode, least in ((RESIDENT, single), (DOUBLE, double)):
        assert plan.body(0, combo).budgets[combo, mode].tile_length(ub) >= least, mode


# ---- How many bytes of global memory row kernels read, counted by running them -------------------

# Op, shape, dtype, most bytes read for each that has to be. Scale and shift are read by every core
# that has rows: with few rows they are much of what there is to read.
READS = [
    pytest.param("softmax", (64, 8192), "float16", 1.0, id="softmax, rows stay"),
    pytest.param("softmax", (8, 65536), "float16", 2.0, marks=pytest.mark.slow),
    pytest.param("custom_layer_norm", (1600, 8192), "float16", 1.05, marks=pytest.mark.slow),
    pytest.param("custom_layer_norm", (1600, 6144), "float32", 1.05, marks=pytest.mark.slow),
    pytest.param("custom_layer_norm", (8, 65536), "float32", 2.0, marks=pytest.mark.slow),
    pytest.param("add_rms_norm", (800, 8192), "float16", 1.05, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("op", "shape", "dtype", "most"), READS)
def test_bytes_read(op: str, shape: tuple[int, int], dtype: str, most: float) -> None:
    spec = load_spec(data_dir("op_specs") / f"norm/{op}.yaml")
    wide = {p.name: shape[1:] if p.name in ("gamma", "beta") else shape for p in spec.inputs}
    counts = {m.dtypes.split(",")[0]: m for m in measure_op(spec, wide)}
    assert counts[dtype].read_ratio <= most
    assert counts[dtype].written_ratio < 1.01


CONSTANTS = """op: RowConstants
inputs:
  x: {dtype: float32, rank: 2}
outputs:
  y: {dtype: x, shape: "[x[0]]"}
  z: like x
  w: {dtype: x, shape: "[x[0]]"}
attrs: {q: 0.3}
compute: |
  t = torch.full((), q)
  chosen = (t > 0) & (t.sqrt() < 1)
  y = torch.where(chosen, x.sum(-1), -1.0)
  z = torch.where(chosen, x - x.mean(-1, keepdim=True), x)
  w = torch.quantile(x, q, -1)
backward: none
"""


def test_what_is_computed_of_constants_spans_what_it_is_read_with(tmp_path):
    """Beside numbers of rows it is one, else a result has the shape of all elements."""
    spec = parse_spec(CONSTANTS, "op.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for shape, q in (((5, 9), 0.3), ((3, 1), 0.9), ((40, 300), 0.0)):
        outputs, golden, result = op.run({"x": torch.randn(shape)}, {"q": q}, mode="check")
        assert result.findings == []
        for name, value in outputs.items():
            torch.testing.assert_close(value.double(), golden[name], rtol=1e-4, atol=1e-4)


def test_rows_are_stacked_along_an_axis_of_their_own(tmp_path: Path) -> None:
    """Each piece of the output is one of its columns: tiling took it for no shape of the rows."""
    spec = parse_spec(
        "op: StackedRows\ninputs:\n  x: {dtype: float32, rank: [1, 3]}\n"
        'outputs:\n  y: {dtype: x, shape: "[*x, 2]"}\n  z: {dtype: x, shape: "[*x[:-1], 2]"}\n'
        "backward: none\ncompute: |\n  v = x / x.abs().amax(-1, keepdim=True)\n"
        "  y = torch.stack([v, v * 2], -1)\n  z = torch.stack([x.amax(-1), x.amin(-1)], -1)\n",
        "op.yaml",
    ).spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for shape in ((7,), (1,), (3, 40), (2, 1, 5), (4, 3, 17)):
        outputs, golden, result = op.run({"x": torch.randn(shape)}, {}, mode="check")
        assert result.findings == []
        for name, value in outputs.items():
            check(value, golden[name])
