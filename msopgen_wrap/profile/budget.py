"""Modelled times that CI holds a kernel to: a file of cases, each with its time."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msopgen_wrap import __version__
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.profile.launches import ProfiledRun
from msopgen_wrap.profile.written_files import written_file

FORMAT = 1
#: Growth that a budget allows where its file does not say.
GROWTH_PERCENT = 5.0


@dataclass(frozen=True)
class BudgetResult:
    """A run beside its budget; times are modelled microseconds, ``growth`` is in percent.

    Attributes:
        made_by: version of opgen that the entry is of.
    """

    key: str
    budget_us: float
    time_us: float
    allowed_percent: float
    made_by: str = ""

    @property
    def growth(self) -> float:
        """How much the time has grown, percent; negative where it has shrunk."""
        return 100 * (self.time_us / self.budget_us - 1)

    @property
    def kept(self) -> bool:
        """Whether the time has not grown by more than is allowed."""
        return self.growth <= self.allowed_percent

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "key": self.key,
            "budget_us": self.budget_us,
            "time_us": self.time_us,
            "growth_percent": self.growth,
            "allowed_percent": self.allowed_percent,
            "kept": self.kept,
        }

    def text(self) -> str:
        """Return one sentence for people."""
        return (
            f"modelled {self.time_us:.2f} us, budget {self.budget_us:.2f} us: {self.growth:+.1f}% "
            f"({self.allowed_percent:g}% allowed)"
        )


def budget_key(run: ProfiledRun) -> str:
    """Return how a budget file knows a run: SoC, state of L2 and case."""
    first = run.profiles[0]
    return f"{first.soc.lower()} {first.l2} {run.case}"


def read_budget(path: Path) -> dict[str, Any]:
    """Return what a budget file holds.

    Raises:
        OpgenError: OPG595, the file cannot be read; every problem of it at once.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise OpgenError(_unreadable(path, str(reason))) from error
    problems = _problems(data)
    if problems:
        raise OpgenError([_unreadable(path, text) for text in problems])
    return dict(data)


def _unreadable(path: Path, why: str) -> Diagnostic:
    return Diagnostic(
        "OPG595",
        "the budget cannot be read",
        Location(str(path)),
        why=why,
        fix="opgen profile TARGET --write-budget FILE writes one",
    )


def _problems(data: Any) -> list[str]:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return [f'it is no object with "format": {FORMAT}']
    found = []
    if not _is_number(data.get("growth_percent", GROWTH_PERCENT)):
        found.append("growth_percent is no number of at least 0")
    entries = data.get("entries")
    if not isinstance(entries, dict):
        return [*found, "entries is no object"]
    for key, entry in entries.items():
        time = entry.get("time_us") if isinstance(entry, dict) else None
        if not _is_number(time) or not time:
            found.append(f"{key!r}: time_us is no number above 0")
    return found


def _is_number(value: Any) -> bool:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return plain and math.isfinite(value) and value >= 0


def check_budget(path: Path, run: ProfiledRun, percent: float | None = None) -> BudgetResult:
    """Compare a run with its entry in a budget file.

    Args:
        percent: growth that is allowed; None takes the file's.

    Raises:
        OpgenError: OPG595, the file cannot be read or has no entry for the run.
    """
    data, key = read_budget(path), budget_key(run)
    entry = data["entries"].get(key)
    if entry is None:
        known = ", ".join(map(repr, data["entries"])) or "none"
        raise OpgenError(
            Diagnostic(
                "OPG595",
                f"the budget has no entry {key!r}",
                Location(str(path)),
                why=f"its entries: {known}; a case without one would pass whatever it takes",
                fix=f"add it: the same command with --write-budget {path}",
            )
        )
    allowed = float(data.get("growth_percent", GROWTH_PERCENT)) if percent is None else percent
    made_by = entry.get("opgen", "")
    return BudgetResult(key, float(entry["time_us"]), run.time_us, allowed, made_by)


def exceeded(result: BudgetResult, path: Path) -> Diagnostic:
    """Return OPG594 for a run that takes more than its budget."""
    made = result.made_by
    changed = (
        f"; the entry is of opgen {made}, this is {__version__}" if made != __version__ else ""
    )
    return Diagnostic(
        "OPG594",
        f"the modelled time is over its budget: {result.text()}",
        Location(str(path)),
        why=f"entry {result.key!r}{changed}",
        fix="opgen profile --compare KERNEL@COMMIT KERNEL shows what has changed; where the growth "
        "is wanted, write a new budget with --write-budget",
    )


def write_budget(path: Path, run: ProfiledRun, percent: float | None = None) -> str:
    """Set the entry of a run in a budget file, which is made where there is none; return its key.

    Raises:
        OpgenError: OPG592 (not written), OPG595 (what is there is no budget).
    """
    data: dict[str, Any] = {"format": FORMAT, "growth_percent": GROWTH_PERCENT, "entries": {}}
    if path.exists():
        data = read_budget(path)
    if percent is not None:
        data["growth_percent"] = percent
    key = budget_key(run)
    kernel = sum(p.kernel_us for p in run.profiles)
    data["entries"][key] = {
        "time_us": round(run.time_us, 4),
        "kernel_us": round(kernel, 4),
        "opgen": __version__,
    }
    data["entries"] = dict(sorted(data["entries"].items()))
    with written_file(path, "--write-budget") as stream:
        stream.write(json.dumps(data, indent=2) + "\n")
    return key
