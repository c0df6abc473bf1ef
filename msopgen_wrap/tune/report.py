"""What the tuner tried and found, as tables for people and as data for machines."""

from __future__ import annotations

import math
from typing import Any

from msopgen_wrap.profile.launch_profile import MODEL_ERROR
from msopgen_wrap.schedule.report import table_lines
from msopgen_wrap.tune.run import Tuned
from msopgen_wrap.tune.search import Trial, Tried
from msopgen_wrap.tune.spec_text import schedule_lines
from msopgen_wrap.tune.winners import Win

# Trials that are shown of each group, besides the default.
_SHOWN = 5


def tuned_lines(result: Tuned, *, every: bool = False) -> list[str]:
    """Return what was tried for a spec, the best first, and what became of it.

    Args:
        every: show all trials, not only the best ones.
    """
    subject = result.subject
    if subject is None or not result.wins:
        return []
    lines = [f"{subject.op}: {subject.family} on {subject.soc}; all times are modelled"]
    for win in result.wins:
        lines += ["", *_group_lines(win, every=every)]
    lines.append("")
    if result.schedule:
        lines += [f"  {line}" for line in schedule_lines(result.schedule)]
        lines.append(f"  written to {result.path}" if result.written else "  not written")
    elif result.has_own:
        lines.append(
            "  the spec keeps its schedule: no win over the tiling's own choice is claimed"
        )
    return lines


def _group_lines(win: Win, *, every: bool) -> list[str]:
    tried = win.tried
    calls = tried.group.calls
    names = "; ".join(call.label for call in calls)
    shown = tried.by_time() if every else tried.by_time()[:_SHOWN]
    rows = [tried.default, *(t for t in shown if t is not tried.default)]
    if win.trial not in rows:
        rows.append(win.trial)
    table = [["schedule", "cores", *(f"us {i}" for i in range(1, len(calls) + 1)), "gain"]]
    table += [_row(tried, trial) for trial in rows]
    distinct = len({t.mean_us for t in tried.trials})
    lines = [f"  {tried.group.elements} elements: {names}", *table_lines(table, "    ")]
    lines.append(f"    {len(tried.trials)} schedules tried, {distinct} different times")
    return [*lines, f"    {verdict(win)}"]


def _row(tried: Tried, trial: Trial) -> list[str]:
    times = ["failed" if t is None else f"{t:.2f}" for t in trial.times]
    own = ", ".join(f"{name} {value}" for name, value in trial.knobs.items()) or "(the tiling's)"
    ratio = tried.default.mean_us / trial.mean_us if math.isfinite(trial.mean_us) else 0.0
    return [own, str(trial.cores), *times, f"{ratio:.2f}x" if ratio else "-"]


def verdict(win: Win) -> str:
    """Return what the search says about a group, in a sentence."""
    if win.claimed:
        own = ", ".join(f"{name} {value}" for name, value in win.trial.knobs.items())
        return f"{win.gain:.2f}x: {own}"
    if not win.trial.knobs:
        return "nothing that was tried is faster than the tiling's own choice"
    if win.gain >= 1 + MODEL_ERROR:
        return "no claim: a schedule that is faster in the mean is slower for some dtype"
    return (
        f"no claim: the best is {win.gain:.2f}x, and the model's own error is "
        f"{100 * MODEL_ERROR:.0f}%"
    )


def tuned_dict(result: Tuned) -> dict[str, Any]:
    """Return the JSON form of what became of a spec."""
    subject = result.subject
    return {
        "spec": result.path,
        "op": subject.op if subject else None,
        "family": subject.family if subject else None,
        "soc": subject.soc if subject else None,
        "times": "modelled",
        "gain": result.gain,
        "groups": [_group_dict(win) for win in result.wins],
        "schedule": [{**entry.as_dict(), "remark": note} for entry, note in result.schedule],
        "written": result.written,
        "diagnostics": [d.as_dict() for d in result.problems],
    }


def _group_dict(win: Win) -> dict[str, Any]:
    tried = win.tried
    return {
        "elements": tried.group.elements,
        "calls": [call.label for call in tried.group.calls],
        "default_us": tried.default.times,
        "best": win.trial.knobs,
        "best_us": win.trial.times,
        "gain": win.gain,
        "claimed": win.claimed,
        "verdict": verdict(win),
        "tried": [
            {
                "knobs": t.knobs,
                "cores": t.cores,
                "time_us": t.times,
                **({"failure": t.failure} if t.failure else {}),
            }
            for t in tried.trials
        ],
    }
