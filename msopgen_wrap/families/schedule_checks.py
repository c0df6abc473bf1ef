"""Check what a spec asks of host tiling against the plan of its kernels."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.schedule.plan import UNIT, OpPlan
from msopgen_wrap.schedule.report import dtypes_text
from msopgen_wrap.spec.findings import listed
from msopgen_wrap.spec.schedule_entries import ScheduleEntry


def check_schedule(plan: OpPlan[Any]) -> None:
    """Refuse what the tiling of a plan cannot obey.

    Raises:
        OpgenError: every problem at once: OPG315 a knob that the family does not have, OPG316 a
            tile that UB does not hold, OPG317 buffers that the kernel does not have.
    """
    problems: list[Diagnostic] = []
    known = plan.family.knobs_of(plan)
    for entry in plan.spec.schedule:
        problems += [
            _unknown(plan, entry, knob, known) for knob in entry.knobs() if knob not in known
        ]
        if entry.tile is not None and "tile" in known:
            problems += _tile(plan, entry)
        if entry.buffers is not None and "buffers" in known:
            problems += _buffers(plan, entry)
    if problems:
        raise OpgenError(problems)


def _unknown(
    plan: OpPlan[Any], entry: ScheduleEntry, knob: str, known: tuple[str, ...]
) -> Diagnostic:
    return Diagnostic(
        "OPG315",
        f"the tiling of {plan.spec.op} has no knob '{knob}'",
        entry.location,
        f"its kernel is of the family {plan.family.name}, which can be asked for: {listed(known)}",
        f"remove '{knob}' from the schedule",
    )


def longest_tile(plan: OpPlan[Any]) -> int:
    """Return the longest tile that any kernel of a plan can have on any SoC, 0: not known."""
    return max((tile for _, tile, _ in _tiles(plan)), default=0)


def _tiles(plan: OpPlan[Any]) -> list[tuple[str, int, int]]:
    """Return, for all kernels of parts that obey ``tile``: what it is of, its longest tile, UB."""
    found = []
    for part in plan.parts:
        if "tile" not in part.family.knobs:
            continue
        modes = part.family.modes(part)
        for body in part.bodies:
            for (combo, mode), budget in body.budgets.items():
                for soc, ub in part.socs.items() if mode in modes else ():
                    name = f"{dtypes_text(part.spec, combo)}, {mode}, {soc}"
                    found.append((name, budget.tile_length(ub), ub))
    return found


def _tile(plan: OpPlan[Any], entry: ScheduleEntry) -> list[Diagnostic]:
    tiles = _tiles(plan)
    longest = max((tile for _, tile, _ in tiles), default=0)
    assert entry.tile is not None
    if not tiles or entry.tile <= longest:
        return []
    where, _, ub = next(row for row in tiles if row[1] == longest)
    return [
        Diagnostic(
            "OPG316",
            f"a tile of {entry.tile} elements does not fit in UB",
            entry.location,
            f"the {ub} bytes of UB hold at most {longest} elements ({where}); see `opgen plan`",
            f"e.g. tile: {max(UNIT, longest)}",
        )
    ]


def _buffers(plan: OpPlan[Any], entry: ScheduleEntry) -> list[Diagnostic]:
    parts = [p for p in plan.parts if "buffers" in p.family.knobs]
    if any(p.family.constant_buffers for p in parts):
        values = {other.buffers for other in plan.spec.schedule}
        if len(values) > 1:
            return [
                Diagnostic(
                    "OPG317",
                    "the entries of the schedule ask for different buffers",
                    entry.location,
                    "how many buffers a queue has is a constant of this kernel, the same for all "
                    "calls",
                    f"write 'buffers: {entry.buffers}' in every entry, or in none",
                )
            ]
    bodies = [body for part in parts for body in part.bodies]
    most = max((body.most_buffers() for body in bodies), default=2)
    if entry.buffers is None or entry.buffers <= most:
        return []
    return [
        Diagnostic(
            "OPG317",
            f"the queues of {plan.spec.op} have {most} buffer each, not {entry.buffers}",
            entry.location,
            "each buffer of a queue takes one of the 8 event ids between two pipes, and the kernel "
            "reads or writes too many tensors for two",
            "remove 'buffers' from the schedule",
        )
    ]
