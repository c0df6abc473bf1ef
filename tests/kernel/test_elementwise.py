"""Generated elementwise kernels in the emulation: values, sanitizer, shapes; against float64."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from harness import BuiltOp, check, make_spec
from test_fuzz import close

from msopgen_wrap.families import plan_op
from msopgen_wrap.run.measurement import measure_op
from msopgen_wrap.schedule.soc import PASSES, vector_cycles, vector_passes
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import Attr, DimConst, DimOf, ShapeLike, ShapeList

PAIRS = [
    ((0,), (0,)),
    ((), ()),
    ((1,), (1,)),
    ((7,), (7,)),
    ((1000,), (1000,)),
    ((100003,), (100003,)),
    ((7, 300), (300,)),
    ((7, 300), (7, 1)),
    ((3000, 3), (3,)),
    ((3000, 1), (1, 3)),
    ((5, 1, 3), (1, 4, 1)),
    ((2, 3, 4, 5), (3, 1, 5)),
    ((4, 30000), (30000,)),
    ((50000,), (1,)),
    ((2, 1, 3, 1, 2, 1, 3, 1), (1, 2, 1, 3, 1, 2, 1, 3)),
]


@pytest.fixture(scope="module")
def fused(tmp_path_factory):
    spec = make_spec(
        "torch.where(x > alpha, x * y, torch.relu(x + y))",
        "x y",
        attrs=(Attr("alpha", "float", 0.25),),
        dtypes=("float32", "float16"),
    )
    return BuiltOp(spec, tmp_path_factory.mktemp("fused"))


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_broadcast_grid(fused, shapes, dtype, mode):
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(s, generator=generator).to(dtype) for s in shapes)
    outputs, golden, result = fused.run({"x": x, "y": y}, {"alpha": 0.25}, mode=mode)
    check(outputs["z"], golden["z"], 2)
    assert result.findings == []


@pytest.mark.parametrize("cores", [1, 2, 7, 40])
def test_core_counts(fused, cores):
    x = torch.randn(12345)
    outputs, golden, result = fused.run({"x": x, "y": x + 1}, {}, block_dim=cores, mode="check")
    check(outputs["z"], golden["z"], 2)
    assert result.block_dim <= cores
    assert result.cores == result.block_dim
    assert result.findings == []


@pytest.mark.parametrize(
    ("count", "cores", "working", "tiles"), [(0, 0, 0, 0), (1, 0, 1, 1), (12345, 3, 3, 2)]
)
def test_work_of_a_launch_is_counted(fused, count, cores, working, tiles):
    x = torch.randn(count)
    _, _, result = fused.run({"x": x, "y": x}, {}, block_dim=cores)
    assert (result.cores, result.tiles) == (working, tiles)


@pytest.mark.slow
@pytest.mark.parametrize(
    "compute, dtypes, out_dtypes",
    [
        ("x * y + x", ("int32", "int8", "uint8", "int16"), None),
        ("torch.where(x > y, x // torch.where(y == 0, 1, y), -y)", ("int32", "int8"), None),
        ("(x > y) | (x == 0)", ("float32", "int32", "bool", "uint8"), ("bool",) * 4),
        ("torch.remainder(x, y)", ("float32", "float16"), None),
        ("torch.pow(x.abs() + 0.1, y)", ("float32",), None),
        ("torch.atan2(x, y)", ("float32",), None),
        ("F.gelu(x) * torch.erf(y)", ("float32", "bfloat16"), None),
    ],
)
def test_kernels(compute, dtypes, out_dtypes, tmp_path):
    op = BuiltOp(make_spec(compute, "x y", dtypes=dtypes, out_dtypes=out_dtypes), tmp_path)
    generator = torch.Generator().manual_seed(4)
    for dtype in dtypes:
        kind = getattr(torch, dtype)
        for shapes in [((1000,), (1000,)), ((7, 33), (33,)), ((5, 1), (1, 70))]:
            draw = [torch.randn(s, generator=generator) * 3 for s in shapes]
            if not kind.is_floating_point:
                draw = [d.round() for d in draw]
            if dtype == "uint8":
                draw = [d.abs() for d in draw]
            x, y = (d.to(kind) for d in draw)
            for mode in ("fast", "check"):
                outputs, golden, result = op.run({"x": x, "y": y}, {}, mode=mode)
                check(outputs["z"], golden["z"], 2)
                assert result.findings == [], (dtype, shapes)


@pytest.mark.parametrize("first", ["row", "matrix"])
def test_outputs_that_differ_by_a_leading_one(first, tmp_path):
    """The space has the dimensions of the first output; the other may have more or fewer."""
    shapes = {
        "row": ShapeList((DimOf("x", 1),)),
        "matrix": ShapeList((DimConst(1), DimOf("x", 1))),
    }
    names = [first, *(shapes.keys() - {first})]
    code = "matrix = F.leaky_relu(w, 0.2)\nrow = w.select(0, -1)"
    rule = {"w": shapes["matrix"]}
    spec = make_spec(code, "x w", " ".join(names), shapes=shapes, input_shapes=rule)
    x, w = spec.inputs
    op = BuiltOp(replace(spec, inputs=(replace(x, min_rank=2, max_rank=2), w)), tmp_path)
    for length in (1, 7, 100003):
        given = {"x": torch.randn(2, length), "w": torch.randn(1, length)}
        outputs, golden, result = op.run(given, mode="check")
        for name in names:
            check(outputs[name], golden[name])
        assert result.findings == [], length


@pytest.mark.slow
def test_every_function_at_the_extremes(tmp_path_factory):
    groups = [
        "expm1 log1p tanh sinh",
        "cosh erf erfc sin",
        "cos tan atan asin",
        "acos asinh acosh atanh",
    ]
    special = [0.0, -0.0, 1e-6, -1e-6, 1e-30, 88.0, 89.0, -88.0, -100.0, 1e10, -1e10, 3e38]
    x = torch.cat(
        [
            torch.linspace(-12, 12, 4001),
            torch.tensor([*special, float("inf"), float("-inf"), float("nan")]),
            torch.rand(1000) * 2 - 1,
        ]
    )
    for names in groups:
        listed = names.split()
        outputs = " ".join(f"z{i}" for i in range(len(listed)))
        code = "\n".join(f"z{i} = torch.{n}(x)" for i, n in enumerate(listed))
        op = BuiltOp(make_spec(code, "x", outputs), tmp_path_factory.mktemp("math"))
        # sines reduce their argument exactly up to about 1e5
        data = torch.where(x.abs() > 1e5, torch.zeros(()), x) if "sin" in names else x
        data = torch.where(data.isnan(), data, data) if "cos" not in listed else data
        results, golden, run = op.run({"x": data}, {}, mode="check")
        for i in range(len(listed)):
            check(results[f"z{i}"], golden[f"z{i}"])
        assert run.findings == []


# --------------------------------------------------------------------------------------------------
# The work that tiling assumes of an element against the instructions that the emulation counts.

SPEC = (
    "op: {op}\ninputs:\n  x: {{dtype: {dtype}, rank: 2, range: [1, 7]}}\n"
    "  y: {{dtype: x, shape: like x, range: [1, 7]}}\noutputs:\n  z: like x\ncompute: {compute}\n"
)
# formula, dtype: one of each sort; the slow test has every block
FORMULAS = {
    "simple": ("x * y + 2 * x", "float32"),
    "converted": ("x * y", "float16"),
    "function": ("torch.tanh(x) + y", "float32"),
    "polynomial": ("F.gelu(x) + y", "float32"),
}
SLOW = {
    **{
        name: (f"torch.{name}(x) + y", "float32")
        for name in (
            *("expm1", "log1p", "sinh", "cosh", "erf", "erfc", "sin", "cos", "tan", "atan"),
            *("asin", "acos", "asinh", "acosh", "atanh"),
        )
    },
    "atan2": ("torch.atan2(x, y)", "float32"),
    "pow": ("torch.pow(x, y)", "float32"),
    "pow_of_number": ("torch.pow(x, x.shape[0] / 32) + y", "float32"),
    "fmod": ("torch.fmod(x, y)", "float32"),
    "remainder": ("torch.remainder(x, y)", "float32"),
    "floor_divide": ("torch.floor_divide(x, y)", "float32"),
    "int_floor": ("torch.div(x, y, rounding_mode='floor')", "int32"),
    "int_trunc": ("torch.div(x, y, rounding_mode='trunc')", "int32"),
    "round_to": ("x.to(torch.float16).to(torch.float32) + y", "float32"),
}


def compare(tmp_path: Path, name: str, compute: str, dtype: str) -> None:
    path = tmp_path / "work.yaml"
    op = f"Work{name.title().replace('_', '')}"
    path.write_text(SPEC.format(op=op, dtype=dtype, compute=compute))
    spec = load_spec(path)
    (body,) = plan_op(spec).bodies
    passes = vector_passes(body.program, [dtype] * 3, keeps_coefficients=True)
    (measured,) = measure_op(spec, {"x": (64, 1024), "y": (64, 1024)})
    counted = measured.instructions_per_element
    assert 0.85 * counted <= passes <= 1.15 * counted, (passes, counted)


@pytest.mark.parametrize("name", FORMULAS)
def test_passes_are_the_instructions_of_an_element(tmp_path, name):
    compare(tmp_path, name, *FORMULAS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_passes_of_every_block(tmp_path, name):
    compare(tmp_path, name, *SLOW[name])


def test_every_block_is_compared():
    # tanh is not slow; what a recurrence or a divisor takes depends on the data
    assert len(PASSES) == len(SLOW) + 3


def test_cycles_are_those_of_the_slowest_chip():
    assert vector_cycles(32, ["ascend910b", "ascend910_93"]) == 1.0


# --------------------------------------------------------------------------------------------------
# Kernels of many operands: queues and building blocks share eight event ids a pair of pipes.
# More operands, or outputs, than event ids share the buffers of one queue.

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
    # copies overlap computing, whatever the number of operands
    assert all(body.buffers_in_flight() == 2 for part in op.plan.parts for body in part.bodies)
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
