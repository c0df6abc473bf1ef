"""What a spec asks of its tiling is checked against the plan; what it asks for is obeyed in UB."""

from __future__ import annotations

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.schedule.report import as_dict, as_text
from msopgen_wrap.spec.loader import parse_spec

EXP = """
op: Sample
inputs:
  x: {dtype: [float16, float32], rank: 2}
outputs:
  y: like x
compute: torch.exp(x)
backward: none
"""
SOFTMAX = EXP.replace("torch.exp(x)", "torch.softmax(x, -1)")


def plan(text, schedule):
    spec = parse_spec(f"{text}schedule: {schedule}\n", "sample.yaml").spec
    assert spec is not None
    return plan_op(spec)


@pytest.mark.parametrize(
    ("text", "schedule", "codes"),
    [
        (EXP, "{rows: streamed}", ["OPG315"]),
        (EXP, "{tile: 1048576}", ["OPG316"]),
        (SOFTMAX, "{tile: 1048576}", ["OPG316"]),
        (EXP, "[{when: elements < 9, buffers: 1}, {buffers: 2}]", ["OPG317", "OPG317"]),
        (EXP, "[{when: elements < 9, buffers: 1}, {cores: 2}]", ["OPG317"]),
        (EXP, "[{when: elements < 9, tile: 1048576}, {rows: resident}]", ["OPG316", "OPG315"]),
    ],
)
def test_what_the_plan_cannot_obey(text, schedule, codes):
    with pytest.raises(OpgenError) as caught:
        plan(text, schedule)
    found = caught.value.diagnostics
    assert [d.code for d in found] == codes
    assert all(d.location.file == "sample.yaml" and d.location.line for d in found)


def test_one_buffer_leaves_more_room_for_tiles():
    made = plan(EXP, "{buffers: 1}")
    (budget, *_) = made.bodies[0].budgets.values()
    assert {b.copies for b in budget.buffers} == {1}
    assert budget.used(budget.tile_length(196352)) <= 196352


def test_plans_show_the_schedule():
    made = plan(EXP, "[{when: elements < 9, tile: 512}, {cores: 3}]")
    assert "  schedule:\n    elements <= 8: tile 512\n    cores 3" in as_text(made)
    data = as_dict(made)
    assert data["schedule"] == [{"when": ["elements <= 8"], "tile": 512}, {"when": [], "cores": 3}]
    assert data["knobs"] == ["tile", "buffers", "cores", "elements_per_core"]


def test_plans_without_a_schedule_say_nothing_of_it():
    spec = parse_spec(EXP).spec
    assert spec is not None
    assert "schedule" not in as_text(plan_op(spec))
