"""Views in pointwise formulas: moved to inputs or outputs, or read in columns and transposed."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from harness import BuiltOp, check

from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import variants
from msopgen_wrap.schedule.report import as_text
from msopgen_wrap.spec.loader import load_spec, load_specs
from msopgen_wrap.spec.model import OpSpec

# ---- Views in pointwise formulas: moved to the inputs, or to the shape an output is written in ---

_COUNTER = itertools.count()  # the runtime's registry is global


def spec_of(folder: Path, compute: str, rank: int, outputs: dict[str, str], y: str = "") -> OpSpec:
    rows = [f"op: ViewCase{next(_COUNTER)}", "inputs:", f"  x: {{dtype: [float32], rank: {rank}}}"]
    rows += [f'  y: {{dtype: [float32], shape: "{y}"}}'] if y else []
    rows += ["outputs:", *(f'  {n}: {{dtype: x, shape: "{s}"}}' for n, s in outputs.items())]
    rows += ["backward: none", "compute: |", *(f"  {line}" for line in compute.split("\n"))]
    path = folder / "view_case.yaml"
    path.write_text("\n".join(rows) + "\n")
    return load_specs((path,))[0]


# compute, rule of y, rule of the output
CASES = {
    "transpose": ("torch.relu(x + y).mT", "[x[1]]", "[x[1], x[0]]"),
    "permute of a row": ("(x * y).permute(1, 0) * 2", "[x[0], 1]", "[x[1], x[0]]"),
    "slice": ("torch.exp(x * y)[:, 1:]", "[x[1]]", "[x[0], x[1] - 1]"),
    "slice of what is stretched": ("torch.exp(x * y)[:, 1:]", "[x[0], 1]", "[x[0], x[1] - 1]"),
    "squeeze of nothing": ("torch.exp(x * y).squeeze(1)", "[x[0], 1]", "like x"),
    "squeeze": ("torch.exp(x * y)[:, :1].squeeze(1)", "[x[0], 1]", "[x[0]]"),
    "select": ("torch.exp(x * y).select(-1, 2)", "[x[1]]", "[x[0]]"),
    "unsqueeze": ("torch.exp(x + y).unsqueeze(1)", "[x[1]]", "[x[0], 1, x[1]]"),
    "flatten": ("torch.exp(x + y).flatten()", "[x[1]]", "[x[0] * x[1]]"),
    "transposed, then flat": ("torch.exp(x + y).mT.flatten()", "[x[1]]", "[x[0] * x[1]]"),
    "expand": ("(x * 2).unsqueeze(1).expand(-1, 3, -1) + y", "[1]", "[x[0], 3, x[1]]"),
    "every second": ("torch.exp(x * y)[:, ::2] - x[:, 1::2]", "[x[1]]", "[x[0], x[1] // 2]"),
    "every third row": ("(x * y)[1::3]", "[x[1]]", "[(x[0] + 1) // 3, x[1]]"),
    "diagonal": ("x.diagonal() * y", "[1]", "[min(x[0], x[1])]"),
    "another diagonal": ("x.diagonal(-1).exp() * y", "[1]", "[min(x[0] - 1, x[1])]"),
    "sum of a diagonal": ("x.diagonal().sum(-1, keepdim=True) * y", "[1]", "[1]"),
    "windows": ("x.unfold(1, 3, 2) * y", "[1]", "[x[0], (x[1] - 1) // 2, 3]"),
    "windows with gaps": ("x.unfold(1, 3, 1)[..., ::2] * y", "[1]", "[x[0], x[1] - 2, 2]"),
    "repeat": ("(x * y).repeat(2, 3)", "[1]", "[2 * x[0], 3 * x[1]]"),
    "elements of a repetition": ("x + y.expand(x.shape).numel()", "[x[1]]", "like x"),
    "scan of a repetition": (
        "torch.cumsum(y.expand(x.shape).flatten(), 0).view(x.shape) * x",
        "[x[1]]",
        "like x",
    ),
    "pairs": ("torch.exp(x).view(x.shape[0], -1, 2).mT + y", "[1]", "[x[0], 2, x[1] // 2]"),
}


# Compiled and run by the default suite: one of each sort. CI's slow part has every case.
DEFAULT = (
    "transpose",
    "slice of what is stretched",
    "flatten",
    "every second",
    "windows",
    "repeat",
)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in DEFAULT else pytest.mark.slow) for n in CASES]
)
@pytest.mark.parametrize("mode", ["check", "fast"])
def test_views_give_what_torch_gives(built: Any, name: str, mode: str) -> None:
    op = built(name)
    for shape in ((5, 6), (64, 40), (3, 1000), (700, 4)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        sizes = [1] if CASES[name][1] == "[1]" else [shape[0], 1]
        # The same numbers in every run: a difference may cancel by chance.
        seeded = torch.Generator().manual_seed(1)
        y = torch.randn([shape[1]] if CASES[name][1] == "[x[1]]" else sizes, generator=seeded)
        outputs, golden, result = op.run({"x": x, "y": y}, mode=mode)
        check(outputs["z"], golden["z"], 2)
        assert result.findings == []


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    known: dict[str, BuiltOp] = {}

    def build(name: str) -> BuiltOp:
        if name not in known:
            folder = tmp_path_factory.mktemp("views")
            compute, y, z = CASES[name]
            known[name] = BuiltOp(spec_of(folder, compute, 2, {"z": z}, y), folder)
        return known[name]

    return build


def test_a_repetition_has_the_elements_that_it_makes(tmp_path: Path) -> None:
    compute, y, z = CASES["elements of a repetition"]
    report = as_text(plan_op(spec_of(tmp_path, compute, 2, {"z": z}, y)))
    assert "x.numel()" in report and "y.numel()" not in report


def test_only_inputs_are_viewed(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "torch.relu(x + y).mT", 2, {"z": "[x[1], x[0]]"}, "[x[1]]")
    graph = trace(spec, variants(spec)[0]).graph
    calls = [n for n in graph.nodes if n.op == "call_function"]
    last = str(calls[-1].target)
    assert last == "aten.relu.default"
    views = [n for n in calls if "permute" in str(n.target) or "transpose" in str(n.target)]
    assert len(views) == 2


def test_in_place_operators_of_torch_are_functional(tmp_path: Path) -> None:
    compute = "F.rms_norm(x, [x.shape[-1]], eps=0.5)"
    spec = spec_of(tmp_path, compute, 2, {"z": "like x"})
    graph = trace(spec, variants(spec)[0]).graph
    assert [n for n in graph.nodes if str(n.target).split(".")[1:2] and "_." in str(n.target)] == []
    op = BuiltOp(spec, tmp_path)
    x = torch.randn(33, 70, generator=torch.Generator().manual_seed(0))
    outputs, golden, _ = op.run({"x": x}, mode="check")
    check(outputs["z"], golden["z"], 2)


# Views of what is computed before a reduction, moved to the inputs.
BEFORE_REDUCTIONS = {
    "(x * 2).mT.sum(0)": "[x[0]]",
    "(x * 2).mT.sum(-1)": "[x[1]]",
    "(x * 2)[:, 1:].sum(-1)": "[x[0]]",
    "x.int().float()[:, 1:].sum(-1)": "[x[0]]",
    "x.exp().reshape(-1).sum(0, keepdim=True)": "[1]",
    "(x - x.mean(-1, keepdim=True)).reshape(-1) * 2": "[x[0] * x[1]]",
}


@pytest.mark.parametrize("compute", BEFORE_REDUCTIONS)
def test_views_before_a_reduction(compute: str, tmp_path: Path) -> None:
    op = BuiltOp(spec_of(tmp_path, compute, 2, {"z": BEFORE_REDUCTIONS[compute]}), tmp_path)
    for shape in ((3, 5), (33, 70)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        outputs, golden, result = op.run({"x": x}, mode="check")
        check(outputs["z"], golden["z"], 4)
        assert result.findings == []


def test_a_view_of_a_conversion_takes_no_pass(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "x.int().float()[:, 1:].sum(-1)", 2, {"z": "[x[0]]"})
    assert plan_op(spec).family.name == "row"


@pytest.mark.parametrize(
    "compute, shape",
    [
        ("torch.softmax(x, -1)[:, 1:]", "[x[0], x[1] - 1]"),
        ("torch.softmax(x, -1).mT", "[x[1], x[0]]"),
        ("torch.softmax(x, -1).mT + 1", "[x[1], x[0]]"),
        ("(x - x.mean(-1, keepdim=True)).select(1, 0)", "[x[0]]"),
    ],
)
def test_views_behind_a_reduction_are_taken_in_a_pass_of_their_own(
    compute: str, shape: str, tmp_path: Path
) -> None:
    plan = plan_op(spec_of(tmp_path, compute, 2, {"z": shape}))
    assert [p.family.name for p in plan.parts] == ["row", "elementwise"]


@pytest.mark.slow
def test_an_empty_tensor_repeated(tmp_path: Path) -> None:
    """The size that a reshape leaves open has no value there."""
    op = BuiltOp(spec_of(tmp_path, "x.repeat(1, 2)", 2, {"z": "[x[0], 2 * x[1]]"}), tmp_path)
    outputs, golden, result = op.run({"x": torch.ones(0, 3)}, mode="check")
    check(outputs["z"], golden["z"])
    assert result.findings == []


@pytest.mark.slow
def test_every_second_element_of_an_empty_tensor(tmp_path: Path) -> None:
    compute = "torch.cat([x[0::2, 1::2], x[1::2, 0::2]], -1)"
    op = BuiltOp(spec_of(tmp_path, compute, 2, {"z": "[x[0] // 2, x[1] // 2 * 2]"}), tmp_path)
    for shape in [(4, 0), (0, 4), (4, 6)]:
        outputs, golden, result = op.run({"x": torch.rand(shape)}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == []


# --------------------------------------------------------------------------------------------------
# Operands that are contiguous along the rows of a box: read in columns and transposed in UB.


class Transposed(NamedTuple):
    """A formula of x (and y), and the shapes of its tensors."""

    compute: str
    rank: int
    z: str
    shapes: list[tuple[int, ...]]
    y: str = ""
    dtype: str = "float32"


MATRICES = [(5, 6), (16, 32), (33, 70), (1, 7), (1000, 3), (3, 1000), (517, 529), (0, 4)]
TRANSPOSED = {
    "float": Transposed("x.mT * 2", 2, "[x[1], x[0]]", MATRICES),
    "half": Transposed("x.mT + y", 2, "[x[1], x[0]]", MATRICES, "[x[1], x[0]]", "float16"),
    "int": Transposed("x.mT + 1", 2, "[x[1], x[0]]", MATRICES, dtype="int32"),
    "bfloat with a row": Transposed("x.mT * y", 2, "[x[1], x[0]]", MATRICES, "[x[0]]", "bfloat16"),
    "channels to the front": Transposed(
        "x.permute(0, 3, 1, 2) * y",
        4,
        "[x[0], x[3], x[1], x[2]]",
        [(2, 5, 7, 3), (1, 40, 40, 16), (3, 1, 9, 65)],
        "[x[3], 1, 1]",
        "float16",
    ),
    "channels to the back": Transposed(
        "x.permute(0, 2, 3, 1).exp()",
        4,
        "[x[0], x[2], x[3], x[1]]",
        [(2, 3, 5, 7), (1, 16, 40, 40), (3, 65, 1, 9)],
    ),
    "one as it is, one transposed": Transposed(
        "(x + y.mT) / 2", 2, "like x", [(7, 5), (64, 64), (301, 210)], "[x[1], x[0]]"
    ),
    "axes of three": Transposed(
        "x.permute(2, 1, 0) - y", 3, "[x[2], x[1], x[0]]", [(4, 5, 6), (70, 3, 33)], "[x[0]]"
    ),
    "two ways at once": Transposed(
        "x.permute(2, 0, 1) + y.permute(1, 2, 0)",
        3,
        "[x[2], x[0], x[1]]",
        [(4, 5, 6), (17, 18, 19)],
        "[x[1], x[2], x[0]]",
    ),
    "every second column": Transposed(
        "x.mT[:, ::2] * 3", 2, "[x[1], (x[0] + 1) // 2]", [(5, 6), (80, 64)]
    ),
    "a diagonal of matrices": Transposed(
        "x.diagonal(dim1=0, dim2=1) + 1", 3, "[x[2], x[0]]", [(5, 5, 6), (40, 40, 70)]
    ),
    "reduced along the columns": Transposed("x.mT.sum(-1)", 2, "[x[1]]", MATRICES),
    "reduced along the rows": Transposed("x.mT.amax(0)", 2, "[x[0]]", MATRICES[:-1]),
    "the outer axes reduced": Transposed(
        "x.permute(1, 0, 2).sum((0, 1))", 3, "[x[2]]", [(4, 5, 6), (3, 70, 33)]
    ),
    "normalised": Transposed("torch.softmax(x.mT, -1)", 2, "[x[1], x[0]]", MATRICES[:5]),
    "one byte": Transposed("x.mT | y", 2, "[x[1], x[0]]", [(5, 6), (64, 70)], "[x[0]]", "int8"),
    # Columns that lie a few elements apart: read with what lies between.
    "every second element": Transposed(
        "x[:, ::2] * 3 - x[:, 1::2]",
        2,
        "[x[0], x[1] // 2]",
        [(5, 40), (33, 142), (1, 20002), (64, 64), (3, 8000), (2, 2), (0, 8)],
    ),
    "every third half, with a row": Transposed(
        "x[:, 2::3] + y[:, ::3]",
        2,
        "[x[0], x[1] // 3]",
        [(5, 60), (33, 213), (1, 20001), (64, 96), (3, 9000)],
        "[1, x[1]]",
        "float16",
    ),
    "every fourth integer": Transposed(
        "x[:, ::4] + 1", 2, "[x[0], x[1] // 4]", [(5, 40), (700, 64), (1, 40000)], dtype="int32"
    ),
    "sixteen apart": Transposed(
        "x[:, 15::16] * 2",
        2,
        "[x[0], x[1] // 16]",
        [(5, 160), (33, 1120), (1, 40000)],
        dtype="bfloat16",
    ),
    "seventeen apart": Transposed("x[:, ::17] * 2", 2, "[x[0], x[1] // 17]", [(5, 170), (3, 1700)]),
    "channels of a picture": Transposed(
        "x[..., 0] * 0.3 + x[..., 1] * 0.6 + x[..., 2] * 0.1",
        3,
        "[x[0], x[1]]",
        [(5, 7, 3), (40, 50, 3), (1, 9000, 3), (300, 11, 3)],
    ),
    # Two or four elements at the end of a shape: columns together with the axis before them.
    "pairs of two inputs": Transposed(
        "torch.stack((x, y * 2), -1).flatten(-2)",
        2,
        "[x[0], 2 * x[1]]",
        [(5, 7), (33, 70), (1, 9000), (3, 8), (1000, 9), (0, 8)],
        "like x",
    ),
    "rotated pairs": Transposed(
        "torch.stack((x[..., ::2] * y - x[..., 1::2], x[..., 1::2] * y), -1).flatten(-2)",
        3,
        "like x",
        [(2, 3, 16), (5, 70, 64), (1, 2, 9000), (40, 1, 18)],
        "[x[2] // 2]",
        "float16",
    ),
    "four of a box": Transposed(
        "torch.stack((x[..., 0] - x[..., 2], x[..., 1], x[..., 2] * y[:, 0], x[..., 3]), -1)",
        3,
        "like x",
        [(2, 9, 4), (3, 1000, 4), (40, 7, 4), (1, 8, 4)],
        "[x[1], 4]",
    ),
    "pairs of integers with a weight": Transposed(
        "torch.stack((x + 1, x - 1), -1) * y",
        2,
        "[x[0], x[1], 2]",
        [(5, 9), (33, 70), (1, 5000)],
        "[2]",
        "int32",
    ),
    "pairs with every second weight": Transposed(
        "torch.stack((x * 2, x - 1), -1) * y[1::2]",
        2,
        "[x[0], x[1], 2]",
        [(5, 9), (33, 70), (2, 9000)],
        "[4]",
        "float16",
    ),
    "backwards": Transposed(
        "x.flip(0)[:, ::2] + x.flip(1)[:, ::2]", 2, "[x[0], x[1] // 2]", [(5, 40), (33, 142)]
    ),
    "mirrored half, with a row": Transposed(
        "x.flip(1) * y + x",
        2,
        "like x",
        [(5, 40), (33, 71), (1, 9000), (300, 9), (7, 5), (0, 8)],
        "[x[1]]",
        "float16",
    ),
    "a mirrored row for all": Transposed(
        "x + y.flip(0)", 2, "like x", [(5, 40), (33, 71), (2, 9000), (300, 9)], "[x[1]]"
    ),
    "mirrored along both axes of a part": Transposed(
        "x[1:, 2:-1].flip(0).flip(1) * 2",
        2,
        "[x[0] - 1, x[1] - 3]",
        [(6, 40), (33, 74), (2, 9000), (300, 12)],
    ),
    "every third of a mirrored integer": Transposed(
        "x.flip(1)[:, ::3] + 1",
        2,
        "[x[0], (x[1] + 2) // 3]",
        [(5, 40), (33, 71), (1, 9000)],
        dtype="int32",
    ),
    "mirrored 64 bits": Transposed(
        "x.flip(1) + x", 2, "like x", [(5, 40), (33, 71), (1, 5000)], dtype="int64"
    ),
    "swapped pairs": Transposed(
        "x.unflatten(-1, (x.shape[-1] // 2, 2)).flip(-1).flatten(-2) * y",
        3,
        "like x",
        [(2, 3, 16), (5, 70, 64), (1, 2, 9000), (40, 1, 18)],
        "[x[2]]",
        "float16",
    ),
    "three side by side": Transposed(
        "torch.stack((x, y * 2, x - y), -1)",
        2,
        "[x[0], x[1], 3]",
        [(5, 9), (33, 70), (1, 5000), (300, 8), (2, 9000)],
        "like x",
    ),
    "mirrored sevens": Transposed(
        "x.flip(-1) + x", 3, "like x", [(2, 9, 7), (3, 1000, 7), (40, 6, 7)], dtype="float16"
    ),
    "windows that overlap": Transposed(
        "x.unfold(-1, 4, 2) * 2",
        2,
        "[x[0], (x[1] - 2) // 2, 4]",
        [(5, 40), (33, 142), (1, 9000), (300, 24), (4, 3000)],
    ),
    "windows of fifteen": Transposed(
        "x.unfold(-1, 15, 1) + 1", 2, "[x[0], x[1] - 14, 15]", [(5, 40), (33, 142), (2, 3000)]
    ),
    "shuffled pixels": Transposed(
        "F.pixel_shuffle(x, 2) * 2",
        4,
        "[x[0], x[1] // 4, 2 * x[2], 2 * x[3]]",
        [(2, 4, 3, 9), (1, 8, 30, 40), (3, 4, 2, 700)],
    ),
    "shuffled half pixels": Transposed(
        "F.pixel_shuffle(x, 4) + 1",
        4,
        "[x[0], x[1] // 16, 4 * x[2], 4 * x[3]]",
        [(2, 16, 3, 9), (1, 32, 20, 40)],
        dtype="float16",
    ),
    "mirrored channels to the end": Transposed(
        "x.flip(1, 2).permute(0, 2, 1) * y",
        3,
        "[x[0], x[2], x[1]]",
        [(2, 3, 50), (3, 4, 900), (1, 3, 5000), (2, 7, 60)],
        "[x[1]]",
        "float16",
    ),
    "mirrored windows of twenty": Transposed(
        "x.unfold(-1, 20, 1).flip(-1) * 2",
        2,
        "[x[0], x[1] - 19, 20]",
        [(5, 40), (33, 50), (1, 2000)],
    ),
    "windows of a mirrored half": Transposed(
        "x.flip(-1).unfold(-1, 5, 3) * 2",
        2,
        "[x[0], (x[1] - 2) // 3, 5]",
        [(5, 40), (33, 142), (2, 9000)],
        dtype="float16",
    ),
    "mirrored fours of mirrored rows": Transposed(
        "x.flip(1).flip(2) - x", 3, "like x", [(2, 9, 4), (3, 1000, 4), (40, 7, 4), (1, 8, 4)]
    ),
}
# Compiled and run by the default suite; CI's slow part has every case.
DEFAULT_TRANSPOSED = (
    "float",
    "half",
    "channels to the front",
    "reduced along the columns",
    "every second element",
    "every third half, with a row",
    "rotated pairs",
    "mirrored half, with a row",
    "swapped pairs",
    "windows that overlap",
    "shuffled pixels",
    "mirrored windows of twenty",
)


def transposed_op(case: Transposed, folder: Path) -> BuiltOp:
    rows = [f"op: TurnedCase{next(_COUNTER)}", "inputs:"]
    rows += [f"  x: {{dtype: [{case.dtype}], rank: {case.rank}}}"]
    rows += [f'  y: {{dtype: x, shape: "{case.y}"}}'] if case.y else []
    rows += ["outputs:", f'  z: {{dtype: x, shape: "{case.z}"}}', "backward: none"]
    path = folder / "transposed.yaml"
    path.write_text("\n".join([*rows, f"compute: {case.compute}"]) + "\n", encoding="utf-8")
    return BuiltOp(load_spec(path), folder)


def sample(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(len(shape))
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(-100, 100, shape, generator=generator, dtype=dtype)


def y_shape(case: Transposed, shape: tuple[int, ...]) -> tuple[int, ...]:
    if case.y == "like x":
        return shape
    return tuple(eval(case.y, {"x": shape}))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=() if n in DEFAULT_TRANSPOSED else pytest.mark.slow)
        for n in TRANSPOSED
    ],
)
def test_transposed_operands(name: str, tmp_path: Path) -> None:
    case = TRANSPOSED[name]
    op = transposed_op(case, tmp_path)
    dtype = getattr(torch, case.dtype)
    for shape, mode in itertools.product(case.shapes, ("check", "fast")):
        inputs = {"x": sample(shape, dtype)}
        if case.y:
            inputs["y"] = sample(y_shape(case, shape), dtype)
        outputs, golden, result = op.run(inputs, mode=mode)
        check(outputs["z"], golden["z"], 4)
        assert result.findings == []


@pytest.mark.parametrize("name", ["every second element", "pairs of two inputs"])
def test_elements_a_few_apart_are_not_copied_one_by_one(name: str, tmp_path: Path) -> None:
    op = transposed_op(TRANSPOSED[name], tmp_path)
    inputs = {p.name: sample((64, 2000), torch.float32) for p in op.spec.inputs}
    _, _, result = op.run(inputs, mode="fast")
    assert result.cores * result.tiles < 120  # 146 and more where each one is a row of a box


STEPPED = """
op: SteppedSlice
inputs: {x: {dtype: [float32, int64], rank: 2}}
outputs: {z: {dtype: x, shape: "[x[0], (x[1] + step - 1) // step]"}}
attrs: {step: {type: int, default: 2, min: 1}}
compute: x[:, ::step] + 1
backward: none
"""


@pytest.mark.slow
def test_the_step_of_a_slice_may_be_an_attr(tmp_path: Path) -> None:
    path = tmp_path / "stepped.yaml"
    path.write_text(STEPPED)
    op = BuiltOp(load_specs((path,))[0], tmp_path)
    for shape, step in (((5, 7), 1), ((5, 7), 3), ((64, 4001), 2), ((3, 2), 9)):
        for dtype in (torch.float32, torch.int64):
            x = torch.arange(shape[0] * shape[1]).reshape(shape).to(dtype)
            outputs, _, result = op.run({"x": x}, {"step": step}, mode="check")
            assert result.findings == [], (shape, step)
            assert torch.equal(outputs["z"], x[:, ::step] + 1), (shape, step)
