"""What a spec asks of host tiling, as the C++ function that its TilingFunc calls."""

from __future__ import annotations

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.render.call_reading import dtype_expr
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.schedule_conditions import dtype_input
from msopgen_wrap.spec.schedule_entries import (
    LARGEST,
    RESIDENT_ROWS,
    Condition,
    DtypeTest,
    ScheduleEntry,
    SizeBound,
)

_FIELDS = {
    "tile": "tile",
    "buffers": "buffers",
    "cores": "cores",
    "elements_per_core": "elementsPerCore",
}


def schedule_function(spec: OpSpec) -> str:
    """Return the definition of ``AskedSchedule``, "" where the spec has no schedule.

    Args:
        spec: the op, or a part of one: conditions are about the call of the whole op.
    """
    if spec.open_schedule:
        body = [
            "opgen::Schedule asked = opgen::ScheduleFromEnvironment();",
            "asked.elements = opgen::LargestTensor(context);",
        ]
        return _function("The schedule that the tuner tries.", [*body, "return asked;"])
    if not spec.schedule:
        return ""
    body = ["opgen::Schedule asked;", "asked.elements = opgen::LargestTensor(context);"]
    for entry in spec.schedule:
        condition = " && ".join(_condition(c, spec) for c in entry.when)
        if not condition:
            body += _assignments(entry)
            break
        inside = [f"    {line}" for line in (*_assignments(entry), "return asked;")]
        body += [f"if ({condition}) {{", *inside, "}"]
    note = "The schedule of the spec: that of the first entry whose condition holds."
    return _function(note, [*body, "return asked;"])


def schedule_header(spec: OpSpec) -> str:
    """Return what has the functions that ``AskedSchedule`` calls."""
    return '"opgen_schedule_override.h"' if spec.open_schedule else '"opgen_schedule.h"'


def _function(note: str, body: list[str]) -> str:
    head = "opgen::Schedule AskedSchedule(gert::TilingContext* context) {"
    return "\n".join([f"// {note}", head, *(f"    {line}" for line in body), "}"])


def _assignments(entry: ScheduleEntry) -> list[str]:
    lines = [
        f"asked.{_FIELDS[name]} = {value};"
        for name, value in entry.knobs().items()
        if name in _FIELDS
    ]
    if entry.rows is not None:
        place = "kResident" if entry.rows == RESIDENT_ROWS else "kStreamed"
        lines.append(f"asked.rows = opgen::RowPlace::{place};")
    return lines


def _condition(condition: Condition, spec: OpSpec) -> str:
    whole = spec.whole or spec
    if isinstance(condition, DtypeTest):
        param = dtype_input(whole)
        assert param is not None
        own = dtype_expr(whole, param.name)
        tests = [f"{own} == {BY_NAME[name].ge_cpp}" for name in condition.dtypes]
        return tests[0] if len(tests) == 1 else f"({' || '.join(tests)})"
    size = _size(condition, whole)
    tests = [] if condition.low is None else [f"{size} >= {condition.low}"]
    tests += [] if condition.high is None else [f"{size} <= {condition.high}"]
    return " && ".join(tests)


def _size(bound: SizeBound, spec: OpSpec) -> str:
    if bound.size == LARGEST:
        return "asked.elements"
    position = [p.name for p in spec.inputs].index(bound.tensor)
    shape = f"context->GetRequiredInputShape({position})->GetStorageShape()"
    if bound.size == "numel":
        return f"{shape}.GetShapeSize()"
    return f"opgen::DimOf({shape}, {bound.axis})"
