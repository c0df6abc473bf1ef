"""Inputs of any rank, each by itself: what one kernel serves, and what it refuses."""

from __future__ import annotations

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec

BROADCAST = "broadcast(x, y)"


def spec_of(compute: str, inputs: str = "x: {dtype: [float32]}, y: {dtype: x}") -> OpSpec:
    text = (
        f"op: Mixed\ninputs: {{{inputs}}}\noutputs: {{z: {{dtype: x, shape: '{BROADCAST}'}}}}\n"
        f"backward: none\ncompute: {compute}\n"
    )
    spec = parse_spec(text).spec
    assert spec is not None
    return spec


@pytest.mark.parametrize(
    "compute",
    ["z = x.flip(0) + y", "z = x.flip(0) * y.flip(-1)", "z = (x + y).flip(-1)", "z = x.tril() + y"],
)
def test_views_of_single_inputs_keep_their_axes(compute: str) -> None:
    assert plan_op(spec_of(compute)).family.name == "elementwise"


@pytest.mark.parametrize(
    ("compute", "family"),
    [
        ("z = (x + y).softmax(0)", "row"),
        ("z = x.softmax(0) * y", "row"),
        ("z = x.cumsum(0) + y", "scan"),
    ],
)
def test_the_tiling_function_sees_to_the_axes_of_a_pass(compute: str, family: str) -> None:
    assert plan_op(spec_of(compute)).family.name == family


@pytest.mark.parametrize("behind", ["", ".softmax(-1)", ".cumsum(-1)"])
def test_a_view_of_a_broadcast_result_asks_for_a_rank(behind: str) -> None:
    with pytest.raises(OpgenError) as caught:
        plan_op(spec_of(f"z = (x + y).flip(0){behind}"))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "OPG204"
    assert "x 4, y 3" in diagnostic.what
    assert "like x" in diagnostic.fix
    related = "x: {dtype: [float32]}, y: {dtype: x, shape: like x}"
    assert plan_op(spec_of(f"z = (x + y).flip(0){behind}", related)) is not None


def test_an_indexed_axis_counts_from_the_end_beside_an_index_of_one_axis() -> None:
    spec = parse_spec(
        "op: Filled\ninputs: {x: {dtype: [float32]}, i: {dtype: int64, range: [0, 0]}}\n"
        "outputs: {y: like x}\nbackward: none\ncompute: y = torch.index_fill(x, -1, i, 2.0)\n"
    ).spec
    assert spec is not None
    assert plan_op(spec).axis == -1
