"""Reshapes of rows that pointwise work or another pass reads, and the attrs they count by."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.planner import plan_op
from msopgen_wrap.spec.loader import load_specs, parse_spec
from msopgen_wrap.spec.model import OpSpec
from tests.kernel.harness import BuiltOp, check

GROUPS = "groups: {type: int, default: 2, min: 1}"


def text(compute: str, attr: str = GROUPS, more: str = "", output: str = "like x") -> str:
    lines = [f"  {line}\n" for line in compute.split("\n")]
    return (
        "op: ReshapedRows\ninputs:\n  x: {dtype: float32, rank: 4}\n"
        f"{more}outputs: {{y: {output}}}\nattrs: {{{attr}}}\nbackward: none\n"
        f"compute: |\n{''.join(lines)}"
        "cases:\n  - {x: [2, 4, 3, 5], " + ("s: [2, 4], r: [2, 4, 3, 5], " if more else "") + "}\n"
    ).replace(", }", "}")


def spec_of(source: str) -> OpSpec:
    spec = parse_spec(source, "op.yaml").spec
    assert spec is not None
    return spec


SCALES = '  s: {dtype: float32, shape: "[x[0], x[1]]"}\n  r: {dtype: float32, shape: like x}\n'
ONE_PASS = {
    "activation": ("y = F.silu(F.group_norm(x, groups))", ""),
    "scale and residual": (
        "n = F.group_norm(x, groups)\ny = r + F.silu(n * (1 + s[:, :, None, None]))",
        SCALES,
    ),
    "two outcomes": ("n = F.group_norm(x, groups)\ny = torch.where(n > r, n, r * n)", SCALES),
}


@pytest.mark.parametrize("name", ONE_PASS)
def test_pointwise_work_behind_a_reshape_is_in_the_pass(name: str) -> None:
    compute, more = ONE_PASS[name]
    assert plan_op(spec_of(text(compute, more=more))).family.name == "row"


SEVERAL_PASSES = {
    "beside other rows": ("y = F.group_norm(x, groups) * r.amax((0, 1))", SCALES),
    "rows of the other shape": ("y = F.group_norm(x, groups).softmax(-1)", ""),
    "shuffled groups": ("y = F.channel_shuffle(x, groups).softmax(-1)", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scale and residual", *SEVERAL_PASSES])
def test_kernels_of_reshaped_rows(name: str, tmp_path: Path) -> None:
    compute, more = {**ONE_PASS, **SEVERAL_PASSES}[name]
    path = tmp_path / "reshaped_rows.yaml"
    path.write_text(text(compute, more=more))
    op = BuiltOp(load_specs((path,))[0], tmp_path)
    for shape, groups in (((2, 4, 3, 5), 2), ((1, 6, 7, 9), 3), ((3, 8, 1, 33), 8)):
        inputs = {"x": torch.randn(shape)}
        if more:
            inputs |= {"s": torch.randn(shape[:2]), "r": torch.randn(shape)}
        outputs, golden, result = op.run(inputs, {"groups": groups})
        check(outputs["y"], golden["y"])
        assert result.findings == []


COUNTED = [
    "y = F.group_norm(x, groups)",
    "y = F.silu(F.group_norm(x, groups))",
]


@pytest.mark.parametrize("compute", COUNTED)
def test_an_attr_that_nothing_proves_is_refused(compute: str) -> None:
    """Without ``min: 1`` nothing but the default was tried, which the kernel would have for all."""
    with pytest.raises(OpgenError) as caught:
        plan_op(spec_of(text(compute, attr="groups: 2")))
    assert {d.code for d in caught.value.diagnostics} == {"OPG202"}
    assert all("min: 1" in d.fix for d in caught.value.diagnostics)


def test_a_batch_of_one_in_all_cases_is_no_number() -> None:
    source = text("y = F.group_norm(x, groups)").replace("[2, 4, 3, 5]", "[1, 4, 3, 5]")
    plan = plan_op(spec_of(source))
    sizes = [s.shape for v in plan.operands().values() for s in v.steps if s.op == "reshape"]
    assert sizes
    assert all(str(shape[0]) != "Const(value=1)" for shape in sizes)
