"""What ``compute`` asserts of sizes and attrs is refused by the tiling function."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from harness import BuiltOp, check

from msopgen_wrap.cli.check_command import contradictions
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.run.op_abi import ShapeOnly
from msopgen_wrap.run.op_runtime import OpRuntimeError
from msopgen_wrap.schedule.demands import Demand
from msopgen_wrap.spec.loader import gradient_spec, load_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec

HALVES = """
op: {op}
inputs:
  x: {{dtype: float32{more}}}
attrs: {{p: 0.5, n: {{default: 2, min: 1}}, mode: {{default: a, allowed: [a, b]}}}}
outputs:
  y: "{rule}"
compute: |
{compute}
"""


def spec_of(op: str, compute: str, rule: str = "[*x[:-1], x[-1] // 2]", more: str = "") -> OpSpec:
    lines = "\n".join(f"  {line}" for line in compute.splitlines())
    result = parse_spec(HALVES.format(op=op, compute=lines, rule=rule, more=more), "demands.yaml")
    assert result.spec is not None, [d.what for d in result.diagnostics]
    return result.spec


def demands(spec: OpSpec) -> dict[int, list[str]]:
    known: dict[int, list[Demand]] = plan_op(spec).parts[0].demands
    return {index: [d.text for d in found] for index, found in known.items() if found}


GLU = "a, b = x.chunk(2, -1)\ny = a * torch.sigmoid(b)"
EVEN = f'assert x.shape[-1] % 2 == 0, "two halves"\n{GLU}'


@pytest.mark.parametrize(
    ("name", "compute"),
    [("Chunked", EVEN), ("Glu", "y = F.glu(x, -1)")],
)
def test_an_odd_size_is_refused(tmp_path, name, compute):
    """Asserted in compute, or by the function of PyTorch that it calls; at every rank."""
    spec = spec_of(f"Demand{name}", compute)
    assert contradictions(spec) == []
    op = BuiltOp(spec, tmp_path)
    for shape in ((6,), (3, 10), (2, 3, 4, 34)):
        outputs, golden, result = op.run({"x": torch.randn(shape)})
        assert result.findings == []
        check(outputs["y"], golden["y"])
    for shape in ((7,), (3, 11), (2, 3, 4, 35)):
        with pytest.raises(OpRuntimeError, match=r"needs .*x\.shape\[-1\] % 2 == 0"):
            op.runtime.tile(
                spec.op,
                [ShapeOnly("float32", shape)],
                [ShapeOnly("float32", (*shape[:-1], shape[-1] // 2))],
                spec.default_attrs,
            )


def test_what_compute_asserts_is_in_the_plan():
    asserted = "assert 0 <= p < 1 and x.shape[-1] % n == 0\nassert mode in ('a', 'b')\n"
    spec = spec_of("DemandCount", f"{asserted}y = x * p * n", "like x", ", rank: [1, 4]")
    assert demands(spec) == {i: ["0 <= p", "p < 1", "x.shape[-1] % n == 0"] for i in (0, 1)}


def test_a_count_that_cuts_an_axis_is_the_attr_of_the_call():
    """Not the number that it has in the trace."""
    cut = "assert x.shape[-1] % n == 0\ny = x.unflatten(-1, (n, -1)).sum(-1)"
    plan = plan_op(spec_of("DemandCut", cut, "[x[0], x[1], n]", ", rank: 3"))
    (demand,) = {d for d in plan.parts[0].demands[0] if d.text.startswith("x.shape")}
    assert "AttrRef" in repr(demand.left)


def test_an_assert_of_one_mode_is_checked_in_that_mode_only():
    either = f"if mode == 'a':\n    assert x.shape[-1] % 4 == 0\n{GLU}"
    assert demands(spec_of("DemandMode", EVEN.replace(GLU, either))) == {
        0: ["x.shape[-1] % 2 == 0 (two halves)", "x.shape[-1] % 4 == 0"],
        1: ["x.shape[-1] % 2 == 0 (two halves)"],
    }


def test_an_assert_of_axes_counted_from_both_ends_is_refused():
    with pytest.raises(OpgenError) as caught:
        plan_op(spec_of("DemandEnds", "assert x.shape[0] == x.shape[-1]\ny = x * 2", "like x"))
    assert caught.value.diagnostics[0].code in ("OPG201", "OPG205")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("assert x.sum() > 0", "OPG047"),
        ("assert x.shape[-1] in (2, 4)", "OPG042"),
        ("assert x.shape[-1] > 2, f'{n}'", "OPG042"),
        ("assert x.shape[-1] > 2, n", "OPG042"),
    ],
)
def test_asserts_that_are_no_limits_are_refused(line, code):
    text = HALVES.format(op="Bad", compute=f"  {line}\n  y = x", rule="like x", more="")
    assert code in {d.code for d in parse_spec(text, "bad.yaml").diagnostics}


def test_the_reference_says_what_it_needs(tmp_path):
    from msopgen_wrap.spec.compute_runner import compile_compute

    run: Any = compile_compute(spec_of("DemandReference", EVEN))
    with pytest.raises(OpgenError) as caught:
        run({"x": torch.ones(3)}, {})
    (found,) = caught.value.diagnostics
    assert found.code == "OPG071"
    assert "compute needs x.shape[-1] % 2 == 0 (two halves)" in found.what


def test_the_gradient_asks_the_same(tmp_path):
    path = tmp_path / "g.yaml"
    path.write_text(
        HALVES.format(
            op="DemandGrad",
            compute="  " + EVEN.replace("\n", "\n  "),
            rule="[*x[:-1], x[-1] // 2]",
            more="",
        )
        + "backward: kernel\n"
    )
    gradient = gradient_spec(load_spec(path))
    assert gradient is not None
    assert demands(gradient)[0] == ["x.shape[-1] % 2 == 0 (two halves)"]


PAIR = "x: {dtype: float32, rank: [2, 4]}, y: {dtype: float32, shape: like x}"
SETS = "x: {dtype: float32, rank: 3}, y: {dtype: float32, rank: 3}"
RANKS = "x: {dtype: float32, rank: [2, 3]}, w: {dtype: float32, rank: 2}"


@pytest.mark.parametrize(
    ("inputs", "compute", "shape", "case"),
    [
        (  # at every rank that a case can be brought to
            PAIR,
            "assert x.shape[-1] == 2; r = x[..., 0] * y[..., 0]; z = torch.stack((r, -r), -1)",
            "like x",
            "{x: [30, 40, 2], y: [30, 40, 2]}",
        ),
        (  # what arrives has an axis of the same size
            SETS,
            "assert x.shape[0] == y.shape[0] and x.shape[2] == y.shape[2]; "
            "z = (x.unsqueeze(2) - y.unsqueeze(1)).square().sum(-1).amin(2)",
            "[x[0], x[1]]",
            "{x: [2, 30, 3], y: [2, 20, 3]}",
        ),
        (  # the shape of what arrives follows the rank
            RANKS,
            "assert w.shape == (6, x.shape[-1]); z = F.linear(x, w)",
            "[*x[:-1], w[0]]",
            "{x: [30, 32], w: [6, 32]}",
        ),
    ],
    ids=["pairs", "sets", "ranks"],
)
def test_the_gradient_asks_at_every_rank(inputs, compute, shape, case):
    text = (
        f"op: Asserted\ninputs: {{{inputs}}}\noutputs: {{z: {{dtype: x, shape: '{shape}'}}}}\n"
        f"compute: '{compute}'\nbackward: kernel\ncases: [{case}]\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    known = plan_op(gradient_spec(spec)).parts[0].demands
    asserted = {d.text for found in known.values() for d in found if d.asserted}
    wanted = {d.text for found in plan_op(spec).parts[0].demands.values() for d in found}
    assert asserted and asserted == wanted


def test_numbers_of_an_op_over_lists():
    """Attrs are checked; a size of a list has no meaning for all of its tensors."""
    lists = "op: DemandList\ninputs:\n  x: {dtype: float32, list: true}\nattrs: {p: 0.5}\n"
    lists += (
        "outputs:\n  y: {shape: like x, list: true}\ncompute: |\n  %s\n  y = [a * p for a in x]\n"
    )
    spec = parse_spec(lists % "assert p < 1", "l.yaml").spec
    assert spec is not None
    assert demands(spec) == {0: ["p < 1"]}
    spec = parse_spec(lists % "assert x[0].shape[-1] > 1", "l.yaml").spec
    assert spec is not None
    with pytest.raises(OpgenError) as caught:
        plan_op(spec)
    assert caught.value.diagnostics[0].code == "OPG205"


def test_a_tensor_without_elements_may_have_any_size(tmp_path):
    """PyTorch reshapes it to pieces of any size; an assert holds for it as for others."""
    op = BuiltOp(
        spec_of("DemandEmpty", "y = x.view(*x.shape[:-1], 2, x.shape[-1] // 2)[..., 0, :]"),
        tmp_path,
    )
    empty = [ShapeOnly("float32", (0, 3))], [ShapeOnly("float32", (0, 1))]
    op.runtime.tile("DemandEmpty", *empty, op.spec.default_attrs)
    with pytest.raises(OpRuntimeError, match="needs"):
        odd = [ShapeOnly("float32", (2, 3))], [ShapeOnly("float32", (2, 1))]
        op.runtime.tile("DemandEmpty", *odd, op.spec.default_attrs)
