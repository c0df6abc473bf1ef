"""Every name of the allow-list is planned and rendered, or refused with a code and a reason.

An exception that is no ``OpgenError`` reaches the user as OPG099, an internal error.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from allowed_calls import METHODS, WITHOUT_SAMPLE, calls, every_name, spec_of
from harness import BuiltOp

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.model import OpSpec

# Methods named like a function trace to the same graph: the default suite takes one of the two.
TWINS = {f".{n}" for n in METHODS} & {f".{n.rsplit('.')[-1]}" for n in every_name() if n[0] != "."}
NAMES = [n for n in every_name() if n.rsplit(".")[-1] not in WITHOUT_SAMPLE]
# The default suite takes a third of the rest; which one does not depend on the order of names.
SOME = [n for n in NAMES if n not in TWINS and zlib.crc32(n.encode()) % 3 == 0]


def planned(spec: OpSpec) -> bool:
    """Plan and render an op; whether it was not refused."""
    try:
        plan = plan_op(spec)
        plan.family.render(plan, "8.1")
    except OpgenError as error:
        for found in error.diagnostics:
            assert found.code.startswith("OPG") and found.code != "OPG099", found
            assert found.what and (found.why or found.fix), found
        return False
    return True


def specs_of(name: str) -> list[OpSpec]:
    return [s for s in map(spec_of, calls(name)) if s is not None]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SOME)
def test_a_call_is_planned_or_refused(name: str) -> None:
    first = next((s for s in map(spec_of, calls(name)) if s is not None), None)
    assert first is not None, "no sample arguments fit"
    planned(first)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_every_call_is_planned_or_refused(name: str) -> None:
    specs = specs_of(name)
    assert specs, "no sample arguments fit"
    for spec in specs:
        planned(spec)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_planned_compiles(name: str, tmp_path: Path) -> None:
    spec = next((s for s in specs_of(name) if planned(s)), None)
    if spec is None:
        pytest.skip("every call is refused with a code")
    op = BuiltOp(spec, tmp_path)
    assert op.plan.bodies
