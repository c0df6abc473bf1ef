"""Building blocks order their instructions themselves: the tour of them without auto-sync."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.build.emulation_library import load_emulation_library
from msopgen_wrap.run.cached_specs import rendered_spec
from msopgen_wrap.run.case_runner import run_case
from msopgen_wrap.run.cases import case_grid
from msopgen_wrap.run.preparation import load_op
from msopgen_wrap.run.worker import elements
from msopgen_wrap.spec.loader import load_specs

TOUR = sorted((Path(__file__).parent / "block_tour").glob("*.yaml"))
LARGEST = 1 << 17


@pytest.mark.slow
@pytest.mark.parametrize("path", TOUR, ids=lambda p: p.stem)
def test_no_instruction_overwrites_what_another_may_still_read(path: Path) -> None:
    (spec,) = load_specs([path])
    runtime = load_op(spec, rendered_spec(spec, "opgen"))
    library = load_emulation_library()
    cases = [c for c in case_grid(spec) if elements(c.shapes) <= LARGEST]
    assert cases
    assert library.opgen_sanitizer_option(b"auto-sync=off") == 0
    try:
        for case in cases:
            result = run_case(spec, case, runtime, soc="ascend910b3", mode="check")
            errors = [f for f in result.findings if f["severity"] == "error"]
            assert errors == [], case.label(spec)
    finally:
        library.opgen_sanitizer_option(b"auto-sync=on")
