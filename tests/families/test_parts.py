"""Outputs that need several passes: one kernel runs a part per group of outputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp, check, make_spec

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.schedule.report import as_dict, as_text
from msopgen_wrap.spec.loader import gradient_spec, load_spec, parse_spec
from msopgen_wrap.spec.model import Attr, OpSpec


class Cut(NamedTuple):
    """A formula, the shapes of its outputs, and the parts it is expected to be cut into."""

    compute: str
    outputs: dict[str, str]
    parts: list[tuple[str, str]]  # family and outputs
    inputs: str = "x: {dtype: DTYPES, rank: 2}"
    attrs: str = ""


CUTS = {
    "reductions over different axes": Cut(
        "a = x.sum(-1)\nb = x.amax(0)",
        {"a": "[x[0]]", "b": "[x[1]]"},
        [("row", "a"), ("row", "b")],
    ),
    "a reduction joins the pointwise output of its pass": Cut(
        "a = x.sum(0)\nb = torch.softmax(x, -1)\nc = x.mean(-1)\nd = x.sum(0) * 2",
        {"a": "[x[1]]", "b": "like x", "c": "[x[0]]", "d": "[x[1]]"},
        [("row", "a d"), ("row", "b c")],
    ),
    "outputs of different shapes": Cut(
        "a = x[:, :3].exp()\nb = x[:, 3:] * 2\nc = x[:, 3:] + 1",
        {"a": "[x[0], 3]", "b": "[x[0], x[1] - 3]", "c": "[x[0], x[1] - 3]"},
        [("elementwise", "a"), ("elementwise", "b c")],
    ),
    "halves of an odd length": Cut(
        "n = x.shape[1] // 2\na = x[:, :n]\nb = x[:, n:]",
        {"a": "[x[0], x[1] // 2]", "b": "[x[0], x[1] - x[1] // 2]"},
        [("elementwise", "a"), ("elementwise", "b")],
    ),
    "another input": Cut(
        "a = (x * y).sum(0)\nb = (x - y).sum(1)",
        {"a": "[x[1]]", "b": "[x[0]]"},
        [("row", "b a"), ("row", "a"), ("row", "b")],
        inputs="x: {dtype: DTYPES, rank: 2}\n  y: {dtype: DTYPES, shape: like x}",
    ),
    "numbers of each part": Cut(
        "a = x.sum(0) * alpha\nb = x.sum(1) + alpha * x.shape[0]",
        {"a": "[x[1]]", "b": "[x[0]]"},
        [("row", "a"), ("row", "b")],
        attrs="attrs:\n  alpha: {type: float, default: 0.5}\n",
    ),
    "variants": Cut(
        "s = x.abs() if sign == 'off' else x\na = s.sum(0)\nb = s.sum(1)",
        {"a": "[x[1]]", "b": "[x[0]]"},
        # the first in place of the others where rows stay in UB
        [("row", "b a"), ("row", "a"), ("row", "b")],
        attrs="attrs:\n  sign: {type: str, default: 'on', allowed: ['on', 'off']}\n",
    ),
    "an attr that shapes one part only": Cut(
        "v = x.abs() + 1\na = v.sum(dim)\nb = x[:, ::2]\n"
        "c = v * v.mean(dim, keepdim=True) + v.sum(0, keepdim=True)",
        {"a": "reduce(x, dim, keepdim=False)", "b": "[x[0], (x[1] + 1) // 2]", "c": "like x"},
        # the mean that c needs is stored by the pass for a, which reads the same rows
        [("row", "a mean1"), ("elementwise", "b"), ("row", "c")],
        attrs="attrs:\n  dim: {type: int, default: -1}\n",
    ),
}
# Compiled and run by the default suite; the others are planned there and run in CI's slow part.
DEFAULT = ("variants",)
SHAPES = [(5, 9), (1, 7), (0, 7), (130, 1000), (3, 20000), (5000, 33)]


def spec_of(cut: Cut, folder: Path, dtypes: str = "[float32]", name: str = "PartsCase") -> OpSpec:
    outputs = "".join(
        f'  {n}: {{dtype: {dtypes}, shape: "{rule}"}}\n' for n, rule in cut.outputs.items()
    )
    compute = "\n".join(f"  {line}" for line in cut.compute.splitlines())
    text = (
        f"op: {name}\ninputs:\n  {cut.inputs.replace('DTYPES', dtypes)}\noutputs:\n{outputs}"
        f"{cut.attrs}compute: |\n{compute}\nbackward: none\n"
    )
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


@pytest.mark.parametrize("name", CUTS)
def test_outputs_are_cut_into_as_few_parts_as_the_search_finds(name, tmp_path):
    plan = plan_op(spec_of(CUTS[name], tmp_path))
    assert plan.family.name == "parts"
    found = [(p.family.name, " ".join(o.name for o in p.writes)) for p in plan.parts]
    assert found == CUTS[name].parts
    assert len({b.class_name for p in plan.parts for b in p.bodies}) == len(plan.bodies)


@pytest.fixture(
    scope="module",
    params=default_part(CUTS, DEFAULT),
)
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    number = list(CUTS).index(request.param)
    spec = spec_of(CUTS[request.param], folder, name=f"PartsCase{number}")
    # both styles are compiled over the table
    return BuiltOp(spec, folder, style="9.x" if number % 2 else "8.1")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_and_sanitizer(built, shape):
    if "amax" in built.spec.compute.text and shape[0] == 0:
        pytest.skip("torch has no maximum of no elements")
    generator = torch.Generator().manual_seed(0)
    inputs = {p.name: torch.randn(shape, generator=generator) for p in built.spec.inputs}
    attrs: list[dict[str, Any]] = [{}]
    if built.spec.attrs and built.spec.attrs[0].allowed:
        attrs = [{"sign": value} for value in built.spec.attrs[0].allowed]
    elif any(a.name == "dim" for a in built.spec.attrs):
        attrs = [{"dim": value} for value in (-1, 0, 1)]
    for values in attrs:
        outputs, golden, result = built.run(inputs, values, mode="check")
        for name in built.plan.spec.outputs:
            check(outputs[name.name], golden[name.name], 4)
        assert [f for f in result.findings if f.severity == "error"] == []


@pytest.mark.slow
def test_half_precision(tmp_path):
    spec = spec_of(
        CUTS["reductions over different axes"], tmp_path, "[float16, bfloat16]", "Halves"
    )
    op = BuiltOp(spec, tmp_path)
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.randn(70, 300, generator=torch.Generator().manual_seed(0)).to(dtype)
        outputs, golden, result = op.run({"x": x}, mode="check")
        for name in ("a", "b"):
            check(outputs[name], golden[name], 2)
        assert result.findings == []


def test_the_plan_says_which_outputs_take_a_pass_of_their_own(tmp_path):
    plan = plan_op(spec_of(CUTS["outputs of different shapes"], tmp_path))
    text = as_text(plan)
    assert "a: elementwise, in a pass of its own over the inputs" in text
    assert "b, c: elementwise, in a pass of its own over the inputs" in text
    assert [k["outputs"] for k in as_dict(plan)["kernels"]] == [["a"], ["b", "c"]]


PAIRS = Cut(
    "below = x < x.amax(-1, keepdim=True)\n"
    "hit = (x.unsqueeze(-1) >= x.unsqueeze(-2)) & below.unsqueeze(-1)\n"
    "a = torch.where(hit, x.unsqueeze(-2), 0.5)",
    {"a": "[x[0], x[1], x[1]]"},
    [("row", "max1"), ("elementwise", "a")],
)


def test_pairs_of_the_elements_of_a_row_are_no_step_of_its_pass(tmp_path):
    """The row pass has one axis for both of a pair and would read its diagonal."""
    plan = plan_op(spec_of(PAIRS, tmp_path))
    assert [(p.family.name, " ".join(o.name for o in p.writes)) for p in plan.parts] == PAIRS.parts


@pytest.mark.slow
def test_pairs_of_the_elements_of_a_row(tmp_path):
    op = BuiltOp(spec_of(PAIRS, tmp_path, name="PartsPairs"), tmp_path)
    x = torch.randn(5, 9, generator=torch.Generator().manual_seed(0))
    outputs, golden, result = op.run({"x": x}, mode="check")
    check(outputs["a"], golden["a"], 4)
    assert [f for f in result.findings if f.severity == "error"] == []


# The gradient of the mean is one number, which a pass of its own repeats for products to read.
REPEATED = """\
op: PartsRepeated
inputs:
  x: {dtype: [float32], rank: 2}
outputs:
  y: {dtype: x, shape: "[]"}
backward: kernel
compute: |
  s = x @ x.t()
  y = s.flip(0).mean()
"""


# The constant gives the result its sizes.
CONSTANT = REPEATED.replace('shape: "[]"', 'shape: "[3, 4]"').replace("PartsRepeated", "PartsOnes")
CONSTANT = CONSTANT[: CONSTANT.index("  s = ")] + "  y = torch.ones(3, 4) + x.sum()\n"


@pytest.mark.slow
def test_a_constant_may_be_larger_than_the_only_operand(tmp_path):
    path = tmp_path / "case.yaml"
    path.write_text(CONSTANT, encoding="utf-8")
    op = BuiltOp(load_spec(path), tmp_path)
    outputs, golden, result = op.run({"x": torch.full((5, 9), 0.5)}, mode="check")
    check(outputs["y"], golden["y"], 4)
    assert [f for f in result.findings if f.severity == "error"] == []


def repeated_spec(folder):
    path = folder / "case.yaml"
    path.write_text(REPEATED, encoding="utf-8")
    return gradient_spec(load_spec(path))


def test_a_temporary_has_the_sizes_that_a_number_is_repeated_to(tmp_path):
    parts = plan_op(repeated_spec(tmp_path)).parts
    (repeated,) = (p for p in parts if p.family.name == "elementwise" and p.spans())
    ((_, span),) = repeated.spans()
    assert list(repeated.operands()) == ["value1"]
    assert [str(size.tensor) for size in span.sizes] == ["x", "x"]


@pytest.mark.slow
def test_a_number_that_is_repeated_in_a_pass_of_its_own(tmp_path):
    op = BuiltOp(repeated_spec(tmp_path), tmp_path)
    generator = torch.Generator().manual_seed(0)
    inputs = {
        "x": torch.randn(70, 40, generator=generator),
        "grad_y": torch.randn([], generator=generator),
    }
    outputs, golden, result = op.run(inputs, mode="check")
    torch.testing.assert_close(
        outputs["grad_x"].double(), golden["grad_x"].double(), rtol=1e-4, atol=1e-4
    )
    assert [f for f in result.findings if f.severity == "error"] == []


def product_spec(sum_: str):
    """Return an op that writes a sum to the workspace and multiplies it by a matrix."""
    result = parse_spec(
        "op: RepeatedRow\ninputs:\n"
        '  x: {dtype: float32, shape: "[5, 2, 3]"}\n'
        '  b: {dtype: float32, shape: "[1, 1, 3]"}\n'
        '  w: {dtype: float32, shape: "[3, 4]"}\n'
        'outputs:\n  y: {dtype: float32, shape: "[5, 2, 4]"}\nbackward: none\n'
        f"compute: y = torch.matmul(x + {sum_}, w)\n",
        "case.yaml",
    )
    assert result.spec is not None
    return result.spec


def test_a_repeated_axis_of_one_element_adds_no_axes_to_a_temporary():
    """Its shape had six axes, and TilingFunc refused the call."""
    first = plan_op(product_spec("b.repeat(1, 2, 1)")).parts[0]
    assert [len(span.sizes) for _, span in first.spans()] in ([], [3])


def test_a_temporary_is_not_derived_from_axes_that_a_view_drops():
    """The copy between the expand and the view hid the view."""
    repeated = "b.unsqueeze(2).expand(1, 1, 2, 3).clone().view(1, 2, 3)"
    with pytest.raises(OpgenError) as caught:
        plan_op(product_spec(repeated))
    assert [d.code for d in caught.value.diagnostics] == ["OPG370"]


REFUSED = {
    # (compute, outputs, code): what parts cannot help keeps its own diagnostic
    "one output": ("(x.sum(0) * torch.special.airy_ai(x).sum()).sum(0)", "z", "OPG331"),
    "one of several": ("a = x.exp()\nb = torch.special.airy_ai(x)", "a b", "OPG331"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_formulas_keep_their_diagnostic(name):
    compute, outputs, code = REFUSED[name]
    spec = make_spec(compute, outputs=outputs)
    x = replace(spec.inputs[0], min_rank=2, max_rank=2)
    with pytest.raises(OpgenError) as caught:
        plan_op(replace(spec, inputs=(x,)))
    assert [d.code for d in caught.value.diagnostics] == [code], caught.value


IN_PLACE = {
    # other outputs come before, and all cores wait
    "other axes": ("s = x.sum(0)\nx = x + x.mean(-1, keepdim=True)", "[x[1]]", ["s", "x"]),
    "another shape": ("s = x[:, 1:] * 2\nx = x + 1", "[x[0], x[1] - 1]", ["s", "x"]),
}


@pytest.mark.parametrize(
    "name", ["other axes", pytest.param("another shape", marks=pytest.mark.slow)]
)
def test_what_is_in_place_is_written_when_all_others_have_read_it(name, tmp_path):
    compute, shape, parts = IN_PLACE[name]
    path = tmp_path / "case.yaml"
    path.write_text(
        f"op: InPlaceLast{list(IN_PLACE).index(name)}\ninputs:\n"
        "  x: {dtype: float32, rank: 2}\noutputs:\n  x: {dtype: x, inplace: x}\n"
        f'  s: {{dtype: x, shape: "{shape}"}}\nbackward: none\ncompute: |\n'
        + "".join(f"  {line}\n" for line in compute.splitlines()),
        encoding="utf-8",
    )
    op = BuiltOp(load_spec(path), tmp_path)
    plan = op.plan
    assert [p.name for part in plan.parts for p in part.spec.outputs] == parts
    assert plan.waits == [False, True]
    x = torch.randn(130, 1000, generator=torch.Generator().manual_seed(0))
    outputs, golden, result = op.run({"x": x}, mode="check")
    for output in ("x", "s"):
        check(outputs[output], golden[output], 4)
    assert [f for f in result.findings if f.severity == "error"] == []


def test_the_last_part_makes_what_is_in_place():
    spec = make_spec("a = x * x.sum(0)\nb = x.sum(1)", outputs="a b", inplace={"a": "x"})
    x = replace(spec.inputs[0], min_rank=2, max_rank=2)
    plan = plan_op(replace(spec, inputs=(x,), attrs=(Attr("n", "int", 1),)))
    assert [[o.name for o in p.spec.outputs] for p in plan.parts] == [["sum1"], ["a", "b"]]


@pytest.mark.slow
def test_an_attr_may_be_a_size(tmp_path):
    """Its value changes sizes and no operation: the same graph serves every value."""
    path = tmp_path / "size.yaml"
    path.write_text(
        "op: ExpandTo\ninputs:\n  x: {dtype: float32, rank: 1}\noutputs:\n"
        '  y: {dtype: x, shape: "[n, x[0]]"}\nattrs:\n  n: 4\nbackward: none\n'
        "compute: x.expand(n, x.shape[0])\n",
        encoding="utf-8",
    )
    op = BuiltOp(load_spec(path), tmp_path)
    for length, n in [(5, 7), (300, 1), (3, 0), (20011, 4)]:
        outputs, golden, result = op.run({"x": torch.randn(length)}, {"n": n}, mode="check")
        check(outputs["y"], golden["y"])
        assert result.findings == []
