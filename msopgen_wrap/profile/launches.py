"""What a target did when it ran in profile mode: its launches, one after another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.profile.event_table import Events
from msopgen_wrap.profile.launch_profile import LaunchProfile, launch_profile


@dataclass(frozen=True)
class Launch:
    """One launch; ``events`` is empty where nobody asked for them."""

    profile: LaunchProfile
    events: Events


@dataclass
class ProfiledRun:
    """All launches of a target.

    Attributes:
        case: what was run, as budgets know it: op, dtypes and shapes, or program and arguments.
        about: lines for the reader on how it was run.
        problems: of a run that failed; what was profiled until then is in ``launches``.
    """

    case: str
    launches: list[Launch] = field(default_factory=list)
    about: list[str] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    @property
    def profiles(self) -> list[LaunchProfile]:
        """The profiles alone."""
        return [launch.profile for launch in self.launches]

    @property
    def time_us(self) -> float:
        """The modelled time of all launches one after another."""
        return sum(p.time_us for p in self.profiles)

    @property
    def range_us(self) -> tuple[float, float]:
        """The lowest and the highest modelled time of all launches."""
        return (
            sum(p.time_low_us for p in self.profiles),
            sum(p.time_high_us for p in self.profiles),
        )


@dataclass(frozen=True)
class KernelShare:
    """All launches of one kernel: how many, their modelled time, and its part of the whole."""

    kernel: str
    calls: int
    time_us: float
    share: float


def kernel_shares(profiles: Sequence[LaunchProfile]) -> list[KernelShare]:
    """Return the launches by kernel, the costliest first."""
    sums: dict[str, list[float]] = {}
    for profile in profiles:
        sums.setdefault(profile.kernel, []).append(profile.time_us)
    total = sum(map(sum, sums.values()))
    shares = [
        KernelShare(kernel, len(times), sum(times), sum(times) / total if total else 0.0)
        for kernel, times in sums.items()
    ]
    return sorted(shares, key=lambda s: -s.time_us)


def read_launches(path: Path) -> list[LaunchProfile]:
    """Read a file that ``OPGEN_PROFILE`` named: one JSON object per launch and line.

    A last line that is cut off, of a process that was killed while it wrote, is left out.

    Raises:
        OpgenError: OPG598, the file cannot be read, or a line of it is no profile.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise OpgenError(
            Diagnostic(
                "OPG598",
                "a file of profiles cannot be read",
                Location(str(path)),
                why=error.strerror or str(error),
                fix="OPGEN_EMULATION=profile OPGEN_PROFILE=FILE PROGRAM writes one",
            )
        ) from error
    rows = [row for row in text.split("\n") if row.strip()]
    found = []
    for number, row in enumerate(rows, 1):
        try:
            data = json.loads(row)
        except ValueError as error:
            if number == len(rows) and not text.endswith("\n"):
                break
            raise OpgenError(
                Diagnostic(
                    "OPG598",
                    f"launch {number} of a file of profiles cannot be read",
                    Location(str(path), number, 1),
                    why=f"it is no JSON: {error}",
                    fix="OPGEN_EMULATION=profile OPGEN_PROFILE=FILE PROGRAM writes one",
                )
            ) from error
        found.append(launch_profile(data, str(path)))
    return found
