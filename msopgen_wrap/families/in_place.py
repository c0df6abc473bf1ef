"""Outputs in place: every element that they overwrite has been read, and is read nowhere else."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.schedule.plan import OpPlan


def check_in_place(plan: OpPlan[Any]) -> None:
    """Refuse a pass that overwrites an input of which it reads moved elements.

    Raises:
        OpgenError: OPG339.
    """
    for output in plan.spec.outputs:
        for body in plan.bodies if output.inplace else ():
            moved = [v for v in body.operands.values() if v.tensor == output.inplace]
            if any(view.rearranged for view in moved):
                raise OpgenError(
                    Diagnostic(
                        "OPG339",
                        f"output {output.name!r} is in place and made of other elements of "
                        f"{output.inplace!r} than those it overwrites",
                        output.location,
                        "tiles and cores run in any order: an element would be overwritten before "
                        "another tile reads it",
                        "give the op an output of its own instead of `inplace:`",
                    )
                )
