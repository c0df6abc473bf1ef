"""List attrs that order the axes of a tensor: put back into the graph, or refused."""

from __future__ import annotations

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.attr_places import other_order
from msopgen_wrap.graph.scalars import AttrRef
from msopgen_wrap.schedule.views import Step
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec


def spec_of(compute: str, rank: str = "[1, 8]", shape: str = "permute(x, perm)") -> OpSpec:
    text = (
        f"op: Ordered\ninputs: {{x: {{dtype: float32, rank: {rank}}}}}\n"
        f'outputs: {{y: {{dtype: x, shape: "{shape}"}}}}\n'
        f"attrs: {{perm: [1, 0]}}\ncompute: {compute}\nbackward: none\n"
    )
    parsed = parse_spec(text, "test.yaml")
    assert parsed.spec is not None, [str(d) for d in parsed.diagnostics]
    return parsed.spec


@pytest.mark.parametrize("compute", ["x.permute(perm)", "torch.relu(x.permute(perm)) * 2"])
def test_the_host_orders_the_axes(compute: str) -> None:
    plan = plan_op(spec_of(compute))
    (view,) = plan.bodies[0].operands.values()
    assert view.steps == (Step("permute", start=AttrRef("perm", True)),)
    assert "perm" in {e.name for e in view.scalars() if isinstance(e, AttrRef)}


@pytest.mark.parametrize(
    ("compute", "shape", "codes"),
    [
        # which size that is follows from the attr
        ("x.permute(perm) / x.permute(perm).shape[0]", "permute(x, perm)", {"OPG202"}),
        ("x.permute(perm)[:, :2]", "[2, 2]", {"OPG202", "OPG334"}),
    ],
)
def test_sizes_of_ordered_axes_are_refused(compute: str, shape: str, codes: set[str]) -> None:
    with pytest.raises(OpgenError) as caught:
        plan_op(spec_of(compute, "2", shape))
    assert {d.code for d in caught.value.diagnostics} <= codes


@pytest.mark.parametrize(
    ("known", "other"),
    [((1, 0), [0, 1]), ((0, -1, 1), [2, 1, 0]), ((0,), None), ((0, 0), None), ((0, 2), None)],
)
def test_another_order_moves_every_axis(known: tuple[int, ...], other: list[int] | None) -> None:
    assert other_order(known) == other
