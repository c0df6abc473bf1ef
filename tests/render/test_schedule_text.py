"""The function of TilingFunc that says what the spec asks for."""

from __future__ import annotations

from dataclasses import replace

from msopgen_wrap.render.schedule_text import schedule_function, schedule_header
from msopgen_wrap.spec.loader import parse_spec

SPEC = """
op: Sample
inputs:
  a: {dtype: float32, optional: true}
  x: {dtype: [float16, float32]}
outputs:
  y: like x
compute: torch.exp(x)
"""

SCHEDULE = """schedule:
  - when: 8 <= elements <= 99 and x[-1] >= 4 and numel(x) <= 7 and dtype == float16
    tile: 512
    cores: 3
  - when: dtype in (float16, float32) and elements > 1000
    rows: streamed
  - buffers: 1
    elements_per_core: 64
"""


def test_no_schedule_no_function():
    assert schedule_function(parse_spec(SPEC).spec) == ""


def test_entries_in_their_order():
    shape = "context->GetRequiredInputShape(1)->GetStorageShape()"
    dtype = "context->GetRequiredInputDesc(1)->GetDataType()"
    assert schedule_function(parse_spec(SPEC + SCHEDULE).spec).split("\n")[1:] == [
        "opgen::Schedule AskedSchedule(gert::TilingContext* context) {",
        "    opgen::Schedule asked;",
        "    asked.elements = opgen::LargestTensor(context);",
        "    if (asked.elements >= 8 && asked.elements <= 99 && "
        f"opgen::DimOf({shape}, -1) >= 4 && {shape}.GetShapeSize() <= 7 && "
        f"{dtype} == ge::DT_FLOAT16) {{",
        "        asked.tile = 512;",
        "        asked.cores = 3;",
        "        return asked;",
        "    }",
        f"    if (({dtype} == ge::DT_FLOAT16 || {dtype} == ge::DT_FLOAT) && "
        "asked.elements >= 1001) {",
        "        asked.rows = opgen::RowPlace::kStreamed;",
        "        return asked;",
        "    }",
        "    asked.buffers = 1;",
        "    asked.elementsPerCore = 64;",
        "    return asked;",
        "}",
    ]


def test_a_build_of_the_tuner_reads_the_environment():
    spec = replace(parse_spec(SPEC).spec, open_schedule=True)
    assert "ScheduleFromEnvironment" in schedule_function(spec)
    assert schedule_header(spec) == '"opgen_schedule_override.h"'
