"""Outputs that no single pass makes: passes that exchange values through the workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp, check

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.schedule.report import as_dict, as_text
from msopgen_wrap.spec.loader import gradient_spec, load_spec
from msopgen_wrap.spec.model import OpSpec

TWO = "x: {dtype: DTYPES, rank: 2}"
PAIR = f"{TWO}\n  w: {{dtype: x, shape: like x}}"
TRIPLE = f"{PAIR}\n  t: {{dtype: x, shape: like x}}"
LABELLED = f"{PAIR}\n  t: {{dtype: x, shape: '[x[0]]'}}"
F = "torch.nn.functional"


class Case(NamedTuple):
    """A formula, and the phases it is expected to be cut into."""

    compute: str
    shape: str  # of the output
    phases: list[tuple[str, str]]  # family, and how many values go to the workspace or "z"
    inputs: str = TWO
    attrs: str = ""


CASES = {
    "norms of rows, then their mean": Case(
        "z = x.norm(dim=-1).mean()", "[]", [("row", "value1"), ("row", "z")], "x: {dtype: DTYPES}"
    ),
    "weighted softmax, then columns": Case(
        "z = (x.softmax(-1) * w).sum(0)",
        "[x[1]]",
        [("row", "z"), ("row", "max1 sum1"), ("row", "z")],  # the first where rows stay in UB
        PAIR,
    ),
    "columns and rows to one": Case(
        "z = x / x.sum(0, keepdim=True) / x.sum(1, keepdim=True)",
        "like x",
        [("row", "sum1"), ("row", "z")],
    ),
    "part of a softmax": Case(
        "z = x.softmax(-1)[:, 1:]",
        "[x[0], x[1] - 1]",
        [("row", "max1 sum1"), ("elementwise", "z")],
    ),
    "softmax in another order": Case(
        "z = x.softmax(-1).t()", "[x[1], x[0]]", [("row", "max1 sum1"), ("elementwise", "z")]
    ),
    "softmax from the last to the first": Case(
        "z = x.softmax(-1).flip(-1)", "like x", [("row", "max1 sum1"), ("elementwise", "z")]
    ),
    "repeated rows": Case(
        "z = x.repeat(3, 1).softmax(-1)",
        "[x[0] * 3, x[1]]",
        [("elementwise", "value1"), ("row", "z")],
    ),
    "repeated rows, then numbers": Case(
        "z = x.repeat(3, 1) * 2",
        "[x[0] * 3, x[1]]",
        [("elementwise", "value1"), ("elementwise", "z")],
    ),
    "a number of all, then rows": Case(
        "z = (x * x.var()).mean(-1)",
        "[*x[:-1]]",
        [("row", "value1"), ("row", "z")],
        "x: {dtype: DTYPES, rank: [1, 8]}",
    ),
    "groups of a softmax": Case(
        "z = x.softmax(-1).view(x.shape[0], 3, -1).sum(-1)",
        "[x[0], 3]",
        [("row", "max1 sum1"), ("elementwise", "value1"), ("row", "z")],
    ),
    "cross entropy": Case(
        "z = -(w * x.log_softmax(-1)).sum(-1).mean()",
        "[]",
        [("row", "sum1"), ("row", "z")],
        "x: {dtype: DTYPES}\n  w: {dtype: x, shape: like x}",
    ),
    "cosine embedding loss": Case(
        f"z = {F}.cosine_embedding_loss(x, w, t, margin)",
        "[]",
        [("row", "value1"), ("row", "z")],
        LABELLED,
        "attrs:\n  margin: {type: float, default: 0.1}\n",
    ),
    "triplet margin loss": Case(
        f"z = {F}.triplet_margin_loss(x, w, t)",
        "[]",
        [("row", "value1"), ("row", "z")],
        TRIPLE,
    ),
    "normalised rows, then columns": Case(
        f"z = {F}.layer_norm(x, [x.shape[-1]]).mean(0)",
        "[x[1]]",
        [("row", "mean1 value1"), ("row", "z")],
    ),
    "any row with only positive numbers": Case(
        "z = (x > 0).all(-1).any()", "[]", [("row", "value1"), ("row", "z")]
    ),
    "a slice over the sum of the whole": Case(
        "z = x[:, 1:] / x.exp().sum(-1, keepdim=True)",
        "[x[0], x[1] - 1]",
        [("row", "sum1"), ("elementwise", "z")],
    ),
    "sums of a slice and of the whole": Case(
        "z = x[:, 1:].exp().sum(-1) / x.exp().sum(-1)",
        "[x[0]]",
        [("row", "sum1"), ("row", "z")],
    ),
    "logarithms of sums, by columns and rows": Case(
        "s = x - torch.logsumexp(x, 0, keepdim=True)\nz = torch.softmax(s, 1)",
        "like x",
        [("row", "value1"), ("row", "z")],
    ),
    "ten tensors": Case(
        f"z = {' * '.join(f'x{i}' for i in range(10))} + x0.sum(-1, keepdim=True)",
        "like x0",
        [("row", "sum1"), ("elementwise", "z")],
        "x0: {dtype: DTYPES, rank: 2}\n  "
        + "\n  ".join(f"x{i}: {{dtype: x0, shape: like x0}}" for i in range(1, 10)),
    ),
}
# Compiled and run by the default suite; the others are planned there and run in CI's slow part.
DEFAULT = ("weighted softmax, then columns",)
SHAPES = [(5, 9), (1, 7), (0, 7), (130, 999), (3, 20001), (5000, 33)]


def spec_of(case: Case, folder: Path, dtypes: str = "[float32]", name: str = "PhaseCase") -> OpSpec:
    out = "bool" if "any(" in case.compute else dtypes
    compute = "\n".join(f"  {line}" for line in case.compute.splitlines())
    text = (
        f"op: {name}\ninputs:\n  {case.inputs.replace('DTYPES', dtypes)}\n"
        f'outputs:\n  z: {{dtype: {out}, shape: "{case.shape}"}}\n'
        f"{case.attrs}compute: |\n{compute}\nbackward: none\n"
    )
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


def made(spec: OpSpec) -> list[tuple[str, str]]:
    plan = plan_op(spec)
    return [(p.family.name, " ".join(o.name for o in p.writes)) for p in plan.parts]


@pytest.mark.parametrize("name", CASES)
def test_formulas_are_cut_into_phases(name, tmp_path):
    assert made(spec_of(CASES[name], tmp_path)) == CASES[name].phases


SHARED = Case(
    "p = torch.softmax(x, -1)\nz = (p * w) @ p.mT",
    "[x[0], x[0]]",
    [("row", "value1 value2"), ("contract", "z")],
    PAIR,
)
GATED = """\
op: GatedCase
inputs:
  x: {dtype: float32, rank: 2}
outputs:
  y: "[x[0], x[1] // 2]"
compute: |
  n = x.shape[1] // 2
  y = torch.sigmoid(x[:, :n]) * x[:, n:2 * n]
backward: kernel
"""


def test_a_pass_writes_what_another_value_is_made_of(tmp_path):
    assert made(spec_of(SHARED, tmp_path)) == SHARED.phases


def test_a_value_that_others_may_broadcast_has_a_pass_of_its_own(tmp_path):
    # One pass has one shape: that of x and w, which may be more than that of x.
    case = SHARED._replace(inputs=f"{TWO}\n  w: {{dtype: x, rank: 2}}")
    assert len(made(spec_of(case, tmp_path))) > len(SHARED.phases)


def test_halves_of_a_gradient_are_written_by_one_pass(tmp_path):
    path = tmp_path / "gated.yaml"
    path.write_text(GATED, encoding="utf-8")
    spec = gradient_spec(load_spec(path))
    assert made(spec) == [("elementwise", "value1 value2"), ("elementwise", "grad_x")]
    op = BuiltOp(spec, tmp_path)
    for rows, columns in ((5, 9), (3, 0), (70, 66)):
        inputs = {"x": torch.randn(rows, columns), "grad_y": torch.randn(rows, columns // 2)}
        outputs, golden, result = op.run(inputs, mode="check")
        assert torch.allclose(outputs["grad_x"].double(), golden["grad_x"].double(), atol=1e-4)
        assert result.findings == []


@pytest.fixture(
    scope="module",
    params=default_part(CASES, DEFAULT),
)
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("phases")
    number = list(CASES).index(request.param)
    spec = spec_of(CASES[request.param], folder, name=f"PhaseCase{number}")
    # both styles are compiled over the table
    return BuiltOp(spec, folder, style="9.x" if number % 2 else "8.1")


def inputs_of(spec: OpSpec, shape: tuple[int, ...], dtype: Any = torch.float32) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    low = 0.1 if "x.sum(0" in spec.compute.text else -1.0
    values = {
        p.name: (torch.rand(shape, generator=generator) * 2 + low).to(dtype) for p in spec.inputs
    }
    if "cosine" in spec.compute.text:
        values["t"] = (values["t"][:, 0] > 0).to(dtype) * 2 - 1
    return values


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_and_sanitizer(built, shape):
    if ".view(" in built.spec.compute.text:
        if shape[0] == 0:
            pytest.skip("torch has no -1 in a shape of no elements")
        shape = (shape[0], shape[1] * 3)
    inputs = inputs_of(built.spec, shape)
    outputs, golden, result = built.run(inputs, mode="check")
    check(outputs["z"], golden["z"], 4)
    assert result.findings == []


def test_without_the_synchronisation_of_the_compiler(built):
    shape = (130, 999)
    outputs, golden, result = built.run(inputs_of(built.spec, shape), mode="check", auto_sync=False)
    check(outputs["z"], golden["z"], 4)
    assert result.findings == []


@pytest.mark.slow
def test_half_precision_at_other_ranks(tmp_path):
    case = CASES["cross entropy"]
    op = BuiltOp(spec_of(case, tmp_path, "[float16, bfloat16]", "HalfPhases"), tmp_path)
    for dtype, shape in ((torch.float16, (3, 7, 300)), (torch.bfloat16, (50,))):
        inputs = inputs_of(op.spec, shape, dtype)
        outputs, golden, result = op.run(inputs, mode="check")
        check(outputs["z"], golden["z"], 2)
        assert result.findings == []


def test_the_plan_names_what_goes_through_the_workspace(tmp_path):
    plan = plan_op(spec_of(CASES["part of a softmax"], tmp_path))
    text = as_text(plan)
    assert "max1, sum1: row, in a pass of its own, to the workspace" in text
    assert "z: elementwise, in a pass that reads max1, sum1 from the workspace" in text
    kernels = as_dict(plan)["kernels"]
    assert [k["to_workspace"] for k in kernels] == [["max1", "sum1"], []]
    assert [k["from_workspace"] for k in kernels] == [[], ["max1", "sum1"]]


def test_statistics_of_rows_are_read_by_stride_where_columns_are_summed(tmp_path):
    text = as_text(plan_op(spec_of(CASES["weighted softmax, then columns"], tmp_path)))
    for name in ("max1", "sum1"):
        assert f"{name} (kept)" in text
        assert f"{name} (working copy)" not in text
    assert "x (working copy)" not in text


# What phases cannot help keeps a diagnostic of its own.
REFUSED = {
    "an operator without lowering": (
        Case("z = (x.sum(1, keepdim=True) * torch.special.airy_ai(x)).sum(0)", "[x[1]]", []),
        "OPG331",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_formulas_are_refused(name, tmp_path):
    case, code = REFUSED[name]
    with pytest.raises(OpgenError) as caught:
        plan_op(spec_of(case, tmp_path))
    assert [d.code for d in caught.value.diagnostics] == [code], caught.value


def test_sizes_that_an_attr_decides_may_be_those_of_the_workspace(tmp_path):
    """A trace has no value for them."""
    text = (
        "op: CutAttr\ninputs:\n  x: {dtype: float32, rank: [1, 8]}\noutputs:\n"
        '  z: {dtype: float32, shape: "[*x[:-1], x[-1] - start - 2, 3]"}\n'
        "attrs:\n  start: {type: int, default: 1, min: 0}\nbackward: none\n"
        "compute: F.gelu(x[..., start:]).unfold(-1, 3, 1)\n"
    )
    path = tmp_path / "cut_attr.yaml"
    path.write_text(text, encoding="utf-8")
    assert plan_op(load_spec(path)).family.name in ("parts", "elementwise")


def test_a_pass_takes_only_the_temporaries_that_it_reads(tmp_path):
    """Whether positions are finite does not depend on them, and nothing else writes one."""
    path = tmp_path / "finite.yaml"
    path.write_text(
        "op: FinitePositions\ninputs:\n  x: {dtype: float32, rank: 2}\noutputs:\n"
        '  z: {dtype: bool, shape: "[x[0]]"}\nbackward: none\n'
        "compute: torch.isfinite(x.argmax(1))\n",
        encoding="utf-8",
    )
    plan = plan_op(load_spec(path))
    tiling = plan.family.render(plan, "8.1").tiling
    assert tiling is not None and "Temporaries" not in tiling.functions


@pytest.mark.slow
def test_a_pass_on_the_way_to_a_temporary_has_names_of_its_own(tmp_path):
    """The gradient of a softmax of a sum: two temporaries were both called ``sum5``."""
    from msopgen_wrap.spec.loader import gradient_spec

    path = tmp_path / "names.yaml"
    path.write_text(
        "op: SameNames\ninputs:\n  x: {dtype: float16, rank: [1, 8]}\n"
        '  y: {dtype: float16, shape: "[x[-1]]"}\noutputs:\n  z: like x\n'
        "backward: kernel\ncompute: |\n  a = x * torch.rsqrt(x.square().mean(-1, keepdim=True))\n"
        "  b = torch.softmax(a, -1) - y.amin(-1)\n  c = F.softmin(b, -1)\n"
        "  z = torch.lerp(F.layer_norm(c, [c.shape[-1]]), b, 0.25)\n",
        encoding="utf-8",
    )
    plan = plan_op(gradient_spec(load_spec(path)))
    names = [p.name for p in plan.temporaries]
    assert len(names) > 8 and len(set(names)) == len(names)


def test_a_value_is_not_written_on_the_way_to_itself(tmp_path):
    """What one variant makes by itself is no cut for the variants together."""
    path = tmp_path / "loss.yaml"
    path.write_text(
        "op: BesideLoss\ninputs:\n  x: {dtype: float32, rank: 2}\n"
        '  w: {dtype: float32, shape: "[x[0], 1]"}\noutputs:\n'
        '  a: {dtype: float32, shape: "[x[0], 2]"}\n'
        "  b: {dtype: float32, shape: \"[x[0], x[1]] if how == 'none' else []\"}\n"
        "attrs:\n  how: {type: str, default: mean, allowed: [none, mean, sum]}\nbackward: none\n"
        "compute: |\n  a = w.repeat(1, 2)\n  b = F.l1_loss(x, x, reduction=how)\n",
        encoding="utf-8",
    )
    assert plan_op(load_spec(path)).family.name == "parts"


LAID_OUT = """\
op: LaidOutProduct
inputs:
  x: {dtype: float32, rank: 3}
  w: {dtype: x, rank: 3}
  v: {dtype: x, rank: 3}
outputs:
  z: {dtype: x, shape: "[x[0], x[1], v[2]]"}
attrs:
  swap: {type: bool, default: false}
compute: |
  a = torch.cat([x, w], -1)
  if swap:
    a = a.transpose(0, 1)
  z = torch.softmax(a, -1) @ v
  if swap:
    z = z.transpose(0, 1)
backward: none
cases:
  - {x: [2, 3, 4], w: [2, 3, 5], v: [2, 9, 7]}
  - {x: [3, 2, 4], w: [3, 2, 5], v: [2, 9, 7], swap: true}
"""


@pytest.mark.slow
def test_only_operands_of_the_variant_decide_the_shape_of_a_temporary(tmp_path):
    """Both variants share a pass that writes a temporary, and read its operands in other views."""
    path = tmp_path / "laid_out.yaml"
    path.write_text(LAID_OUT, encoding="utf-8")
    plan = plan_op(load_spec(path))
    assert [part.served for part in plan.parts] == [range(2)] * len(plan.parts)
    tiling = plan.family.render(plan, "8.1").tiling
    assert tiling is not None
    for variant, operands in ((0, ("x", "w")), (1, ("x1", "w1"))):
        for name in operands:
            guarded = f"!(variant == {variant}) || opgen::BroadcastDims(dims, {name}View.dim)"
            assert guarded in tiling.functions


def test_a_formula_may_take_many_passes(tmp_path):
    """Layers of a network: each reduction along another axis than the one before is a pass."""
    steps = "".join(f"  v = v - v.amax({i % 2}, keepdim=True)\n" for i in range(36))
    path = tmp_path / "many.yaml"
    path.write_text(
        "op: ManyPasses\ninputs:\n  x: {dtype: float32, rank: 2}\noutputs:\n"
        f"  v: {{dtype: x, shape: like x}}\nbackward: none\ncompute: |\n  v = x\n{steps}",
        encoding="utf-8",
    )
    assert len(plan_op(load_spec(path)).parts) > 32
