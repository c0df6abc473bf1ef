"""Outputs that are joined of pieces: passes write each piece to its place."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp, check

from msopgen_wrap.families import plan_op
from msopgen_wrap.families.parts.plan import PartsPlan
from msopgen_wrap.schedule.report import as_text
from msopgen_wrap.spec.loader import gradient_spec, parse_spec


class Case(NamedTuple):
    """A formula of ``x`` and, as far as it names them, ``y`` and ``w``."""

    compute: str
    shape: str  # of the output
    passes: int
    slabs: tuple[str, ...]
    rank: str = "3"
    gradient: bool = False
    temporaries: int = 0


FIRST, SECOND, THIRD = "z_part1", "z_part2", "z_part3"
ROTATED = (
    "h = x.shape[-1] // 2\n"
    "  r = torch.cat([-x[..., h:], x[..., :h]], -1)\n"
    "  z = x * w + r * torch.tanh(w)"
)
NORMED = (
    "a, b, c = x.chunk(3, -1)\n"
    "  a = a * torch.rsqrt((a * a).mean(-1, keepdim=True) + 1e-6)\n"
    "  b = b * torch.rsqrt((b * b).mean(-1, keepdim=True) + 1e-6)\n"
    "  z = torch.cat([a, b, c], -1)"
)
GATED = "h = x.shape[-1] // 2\n  z = F.silu(x[..., :h]) * x[..., h : 2 * h]"
CASES = {
    "two tensors": Case(
        "z = torch.cat([x, y], -1)", "[x[0], x[1], x[2] + y[2]]", 2, (FIRST, SECOND)
    ),
    "two tensors along another axis": Case(
        "z = torch.cat([F.gelu(x), y], 1)", "[x[0], x[1] + y[1], x[2]]", 2, (FIRST, SECOND)
    ),
    "work after the join": Case(
        "z = torch.relu(torch.cat([x, y], -1) + 1) * 2",
        "[x[0], x[1], x[2] + y[2]]",
        2,
        (FIRST, SECOND),
    ),
    "halves in turn": Case(ROTATED, "like x", 2, (FIRST, SECOND), "[1, 8]"),
    "norms of thirds": Case(NORMED, "like x", 2, (FIRST, SECOND, THIRD), "[1, 8]"),
    "a sum behind its row": Case(
        "z = torch.cat([x, x.sum(-1, keepdim=True)], -1)",
        "[x[0], x[1], x[2] + 1]",
        2,
        (FIRST, SECOND),
        temporaries=1,
    ),
    "a shifted tensor": Case("z = x - torch.roll(x, 1, 0) * 2", "like x", 2, (FIRST, SECOND)),
    "a scan before a tensor": Case(
        "z = torch.cat([x.cumsum(-1), y.flip(-1)], 0)",
        "[x[0] + y[0], x[1], x[2]]",
        2,
        (FIRST, SECOND),
    ),
    "gradient of halves": Case(
        GATED,
        "[*x[:-1], x[-1] // 2]",
        2,
        ("grad_x_part1", "grad_x_part2", "grad_x_part3"),
        "[1, 8]",
        gradient=True,
    ),
    "gradient of thirds": Case(
        NORMED,
        "like x",
        2,
        ("grad_x_part1", "grad_x_part2", "grad_x_part3"),
        "[1, 8]",
        gradient=True,
    ),
}
# Compiled and run by the default suite; the others are planned there and run in CI's slow part.
DEFAULT = ("halves in turn", "norms of thirds", "a sum behind its row", "gradient of halves")


def spec_of(name: str):
    case = CASES[name]
    given = [n for n in "yw" if f"{n}" in case.compute.replace("keepdim", "")]
    rules = {"y": "rank: 3", "w": "shape: like x"}
    text = (
        f"op: SlabCase{list(CASES).index(name)}\n"
        f"inputs:\n  x: {{dtype: [float16, float32], rank: {case.rank}}}\n"
        + "".join(f"  {n}: {{dtype: x, {rules[n]}}}\n" for n in given)
        + f'outputs:\n  z: {{dtype: x, shape: "{case.shape}"}}\n'
        + f"compute: |\n  {case.compute}\nbackward: {'kernel' if case.gradient else 'none'}\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    return gradient_spec(spec) if case.gradient else spec


@pytest.mark.parametrize("name", CASES)
def test_passes_write_pieces_to_their_places(name):
    case = CASES[name]
    plan = plan_op(spec_of(name))
    assert isinstance(plan, PartsPlan)
    assert tuple(p.name for p in plan.slabs) == case.slabs
    assert len(plan.parts) == case.passes
    assert len(plan.temporaries) == case.temporaries


def test_pieces_of_one_size_are_made_by_one_pass():
    plan = plan_op(spec_of("gradient of halves"))
    together = [p.name for p in plan.parts[0].spec.outputs]
    assert together == ["grad_x_part1", "grad_x_part2"]


@pytest.mark.parametrize(
    "compute, shape",
    [
        ("z = F.pad(F.gelu(x), (2, 3))", "[x[0], x[1], x[2] + 5]"),  # margins of a few numbers
        ("z = x.flip(-1)", "like x"),  # not joined
        ("z = F.pad(x[..., :k], (0, 1)) + F.pad(x[..., 1:], (1, 0))", "like x"),  # overlaps
    ],
)
def test_other_formulas_stay_one_pass(compute, shape):
    attrs = "attrs:\n  k: {type: int, default: 2}\n" if "k]" in compute else ""
    text = (
        "op: Plain\ninputs:\n  x: {dtype: float32, rank: 3}\n"
        f'outputs:\n  z: {{dtype: x, shape: "{shape}"}}\n{attrs}'
        f"compute: {compute}\nbackward: none\n"
    )
    if "k]" in compute:
        text = text.replace("x[..., :k]", "x[..., :-1]").replace(attrs, "")
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    assert plan_op(spec).family.name == "elementwise"


@pytest.fixture(scope="module", params=default_part(CASES, DEFAULT))
def built(request, tmp_path_factory):
    number = list(CASES).index(request.param)
    folder = tmp_path_factory.mktemp("slabs")
    return BuiltOp(spec_of(request.param), folder, style="9.x" if number % 2 else "8.1")


CLOSE = {"float16": {"rtol": 2e-3, "atol": 2e-3}, "float32": {"rtol": 1e-4, "atol": 1e-5}}
SHAPES = ((5, 7, 12), (3, 4, 32), (2, 9, 513))


@pytest.mark.parametrize("auto_sync", [True, False], ids=["compiler's sync", "own sync"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_results(built, dtype, auto_sync):
    names = [p.name for p in built.spec.inputs]
    for shape in SHAPES:
        # whole numbers, of which sums are exact
        inputs = {n: torch.randint(-3, 4, shape).to(getattr(torch, dtype)) for n in names}
        if "SlabCase" + str(list(CASES).index("gradient of halves")) in built.spec.op:
            inputs["grad_z"] = inputs["grad_z"][..., : shape[-1] // 2].contiguous()
        outputs, golden, result = built.run(inputs, mode="check", auto_sync=auto_sync)
        for name, want in golden.items():
            if built.spec.differentiated:  # differences of nearly equal numbers
                torch.testing.assert_close(outputs[name].double(), want, **CLOSE[dtype])
            else:
                check(outputs[name], want)
        assert [f for f in result.findings if f["severity"] != "warning"] == []


def test_outputs_of_other_sizes_in_a_case_are_apart():
    text = (
        "op: Joined\ninputs:\n  x: {dtype: float32, rank: 2}\n  y: {dtype: float32, rank: 2}\n"
        'outputs:\n  z: {dtype: x, shape: "[x[0], x[1] + y[1]]"}\n'
        "compute: z = torch.cat([F.gelu(x), torch.tanh(y)], -1)\nbackward: kernel\n"
        "cases:\n  - {x: [5, 16], y: [5, 8]}\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    written = [[p.name for p in part.spec.outputs] for part in plan_op(gradient_spec(spec)).parts]
    assert ["grad_x", "grad_y"] not in written


def test_an_output_without_elements_has_none_in_its_slabs(tmp_path):
    spec = parse_spec(
        "op: Shifted\ninputs:\n  x: {dtype: float32, rank: 3}\noutputs:\n  z: like x\n"
        "compute: z = x - torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)\nbackward: none\n",
        "op.yaml",
    ).spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for shape in ((2, 0, 3), (0, 4, 3), (2, 1, 3), (2, 5, 0)):
        x = torch.randn(shape)
        outputs, golden, result = op.run({"x": x}, mode="check")
        assert torch.equal(outputs["z"].double(), golden["z"])
        assert result.findings == []


def test_names_of_slabs_give_way():
    text = (
        "op: Clash\ninputs:\n  x: {dtype: float32, rank: 3}\n"
        "  y_part1: {dtype: float32, rank: 3}\n"
        'outputs:\n  y: {dtype: x, shape: "[x[0], x[1], x[2] + y_part1[2]]"}\n'
        "  y_part2: like x\n"
        "compute: |\n  y = torch.cat([x * 2, y_part1.exp()], -1)\n  y_part2 = x + 1\n"
        "backward: none\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    plan = plan_op(spec)
    assert isinstance(plan, PartsPlan)
    assert [p.name for p in plan.slabs] == ["y_part1x", "y_part2x"]


def test_the_plan_names_the_pieces_of_an_output():
    text = as_text(plan_op(spec_of("halves in turn")))
    assert "z in pieces, each to its place: z_part1, z_part2" in text


def test_pieces_whose_places_attrs_give_are_chosen(tmp_path):
    spec = parse_spec(
        "op: Chosen\ninputs:\n  x: {dtype: [float32], rank: 2}\n"
        "outputs:\n  z: {dtype: x, shape: '[x[0], 2 * min(most, 2 * min(most, x[1]))]'}\n"
        "attrs:\n  most: {type: int, default: 2, min: 1}\nbackward: none\ncompute: |\n"
        "  a = x[..., :most]\n  b = torch.cat([a, a], -1)[..., :most]\n"
        "  z = torch.cat([b, b], -1)\n"
    ).spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    x = torch.randn(3, 9)
    outputs, golden, _ = op.run({"x": x}, {"most": 2}, mode="check")
    check(outputs["z"], golden["z"])
