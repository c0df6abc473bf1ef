"""The modelled profile of one launch, as the emulation writes it (``ascendc_emu/profile.h``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError

FORMAT = 1
#: The mean error of the model on kernels that it was not fitted to; a smaller gain may be none.
MODEL_ERROR = 0.10
# The order of tracks and tables; a pipe that is not named here comes last.
PIPES = ("S", "MTE2", "MTE1", "M", "FIX", "V", "MTE3")
# Lines that are shown of those that cost something.
MOST_LINES = 8
# How a reader knows the limits of the roofline.
LIMITS = {
    "gm_us": "GM bandwidth",
    "l2_us": "L2 bandwidth",
    "vector_us": "vector unit",
    "scalar_us": "scalar unit",
    "cube_us": "cube unit",
    "mte2_us": "MTE2 of the cores",
    "mte3_us": "MTE3 of the cores",
    "launch_us": "launch",
}


@dataclass(frozen=True)
class Wait:
    """Why a pipe stood still: what it waited for, at which line, for how many microseconds."""

    reason: str
    file: str
    line: int
    us: float


@dataclass(frozen=True)
class PipeUse:
    """What a pipe of a core did; times in microseconds."""

    name: str
    busy_us: float
    stalled_us: float
    instructions: int
    waits: tuple[Wait, ...]


@dataclass(frozen=True)
class CoreUse:
    """What a core did; ``kind`` is AIC or AIV, times are microseconds from the launch."""

    number: int
    kind: str
    start_us: float
    end_us: float
    pipes: tuple[PipeUse, ...]

    @property
    def us(self) -> float:
        """How long the core worked."""
        return self.end_us - self.start_us


@dataclass(frozen=True)
class BufferTraffic:
    """Bytes that moved between a buffer in global memory and the cores.

    The distinct ones count once, however often they moved: what every kernel has to move.
    """

    name: str
    read: int
    written: int
    distinct_read: int
    distinct_written: int


@dataclass(frozen=True)
class LineCost:
    """What the instructions of a source line cost on one pipe, summed over the cores."""

    file: str
    line: int
    pipe: str
    busy_us: float
    stalled_us: float
    instructions: int
    bytes: int

    @property
    def us(self) -> float:
        """Busy and stalled microseconds."""
        return self.busy_us + self.stalled_us


@dataclass(frozen=True)
class Ablation:
    """The modelled time if one cost were nothing; ``estimated``: by a formula, not by a replay."""

    what: str
    time_us: float
    saved_us: float
    estimated: bool = False


@dataclass(frozen=True)
class LaunchProfile:
    """One launch.

    Attributes:
        not_validated: parts of the model that nobody has compared with a device.
        sampled: None, or how many records there were (``of``), how many were ``kept``, in how many
            ``windows``, and the ``error`` of the time that this may cause, a fraction.
        incomplete: why the profile ends before the kernel does, "" for one that ended.
        lost_events: how many events were not kept; the sums count them.
        memory: bytes by ``gm_read``, ``gm_written``, ``l2_hit``, ``ub_read``, ``ub_written``.
        limits: microseconds by the keys of ``LIMITS``.
        data: the JSON that all of this was read from.
    """

    soc: str
    kernel: str
    l2: str
    validated: bool
    not_validated: tuple[str, ...]
    time_us: float
    time_low_us: float
    time_high_us: float
    launch_us: float
    kernel_us: float
    sampled: Mapping[str, Any] | None
    incomplete: str
    lost_events: int
    cores: tuple[CoreUse, ...]
    memory: Mapping[str, int]
    buffers: tuple[BufferTraffic, ...]
    lines: tuple[LineCost, ...]
    limits: Mapping[str, float]
    ablation: tuple[Ablation, ...]
    files: tuple[str, ...]
    apis: tuple[str, ...]
    operands: tuple[str, ...]
    data: Mapping[str, Any]

    @property
    def slowest(self) -> CoreUse | None:
        """The core that ends last."""
        return max(self.cores, key=lambda c: c.end_us, default=None)

    @property
    def has_range(self) -> bool:
        """Whether the launch was modelled several times, for its range and the ablation."""
        return bool(self.ablation) or self.time_low_us < self.time_high_us

    @property
    def compulsory(self) -> tuple[int, int]:
        """Bytes of global memory that every kernel has to read, and to write."""
        return (
            sum(b.distinct_read for b in self.buffers),
            sum(b.distinct_written for b in self.buffers),
        )

    def limit_rows(self) -> list[tuple[str, float]]:
        """Return the limits of the roofline by name, with microseconds, the highest first."""
        rows = [(LIMITS.get(k, k), us) for k, us in self.limits.items() if us > 0]
        return sorted(rows, key=lambda row: -row[1])

    def costliest_lines(self) -> list[LineCost]:
        """Return the lines that cost most, the costliest first."""
        rows = sorted(self.lines, key=lambda row: -row.us)[:MOST_LINES]
        return [row for row in rows if row.us > 0]

    def pipe_means(self) -> list[tuple[str, float, float, int]]:
        """Return per pipe the mean busy and stalled microseconds of its cores, and instructions."""
        found: dict[str, list[PipeUse]] = {}
        for core in self.cores:
            for pipe in core.pipes:
                found.setdefault(pipe.name, []).append(pipe)
        return [
            (
                name,
                sum(p.busy_us for p in found[name]) / len(found[name]),
                sum(p.stalled_us for p in found[name]) / len(found[name]),
                sum(p.instructions for p in found[name]),
            )
            for name in sorted(found, key=pipe_order)
            if any(p.instructions or p.stalled_us for p in found[name])
        ]

    def reasons(self) -> dict[str, list[Wait]]:
        """Return per pipe why it stalled, summed over the cores, the longest first."""
        sums: dict[str, dict[tuple[str, str, int], float]] = {}
        for core in self.cores:
            for pipe in core.pipes:
                own = sums.setdefault(pipe.name, {})
                for wait in pipe.waits:
                    key = (wait.reason, wait.file, wait.line)
                    own[key] = own.get(key, 0.0) + wait.us
        return {
            name: sorted((Wait(*key, us) for key, us in own.items()), key=lambda w: -w.us)
            for name, own in sums.items()
        }


def pipe_order(name: str) -> tuple[int, str]:
    """Return what pipes are sorted by."""
    return (PIPES.index(name) if name in PIPES else len(PIPES), name)


def launch_profile(data: Any, place: str = "") -> LaunchProfile:
    """Read the JSON of one launch.

    Args:
        place: the file that it comes from, for messages.

    Raises:
        OpgenError: OPG598, it is no profile, or one of another format; or what kept the model
            from making one, with its own code.
    """
    if isinstance(data, Mapping) and isinstance(data.get("error"), Mapping):
        error = {k: str(data["error"].get(k, "")) for k in ("code", "what", "why", "fix")}
        raise OpgenError(Diagnostic(location=Location(place), **error))
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, Mapping) else None
        raise _unreadable(
            place,
            "it is no profile of a launch" if found is None else f"its format is {found!r}",
        )
    files = [str(f) for f in data.get("files", ())]
    try:
        return _launch_profile(data, files)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise _unreadable(place, f"{type(error).__name__}: {error}") from error


def _unreadable(place: str, why: str) -> OpgenError:
    return OpgenError(
        Diagnostic(
            "OPG598",
            "a profile cannot be read",
            Location(place),
            why=f"{why}; this opgen reads format {FORMAT}",
            fix="write it again with the same version of opgen: OPGEN_EMULATION=profile "
            "OPGEN_PROFILE=FILE",
        )
    )


def _launch_profile(data: Mapping[str, Any], files: Sequence[str]) -> LaunchProfile:
    def name(value: Any) -> str:
        # Some rows hold the name of the file, some its index.
        return files[value] if isinstance(value, int) else str(value or "")

    memory = data.get("memory") or {}
    return LaunchProfile(
        soc=data["soc"],
        kernel=data["kernel"],
        l2=data["l2"],
        validated=bool(data["validated"]),
        not_validated=tuple(data.get("not_validated", ())),
        time_us=float(data["time_us"]),
        time_low_us=float(data["time_low_us"]),
        time_high_us=float(data["time_high_us"]),
        launch_us=float(data["launch_us"]),
        kernel_us=float(data["kernel_us"]),
        sampled=data.get("sampled"),
        incomplete="" if data.get("complete", True) else "the kernel did not end",
        lost_events=int(data.get("lost_events", 0)),
        cores=tuple(_core(core, name) for core in data["cores"]),
        memory={k: int(v) for k, v in memory.items() if k != "buffers"},
        buffers=tuple(
            BufferTraffic(
                str(b["name"]),
                *(int(b[k]) for k in ("read", "written", "distinct_read", "distinct_written")),
            )
            for b in memory.get("buffers", ())
        ),
        lines=tuple(
            LineCost(
                name(row["file"]),
                int(row["line"]),
                str(row["pipe"]),
                float(row["busy_us"]),
                float(row["stalled_us"]),
                int(row["instructions"]),
                int(row["bytes"]),
            )
            for row in data.get("lines", ())
        ),
        limits={k: float(v) for k, v in data.get("limits", {}).items()},
        ablation=tuple(
            Ablation(
                str(a["what"]),
                float(a["time_us"]),
                float(a["saved_us"]),
                bool(a.get("estimated", False)),
            )
            for a in data.get("ablation", ())
        ),
        files=tuple(files),
        apis=tuple(str(a) for a in data.get("apis", ())),
        operands=tuple(str(a) for a in data.get("operands", ())),
        data=data,
    )


def _core(data: Mapping[str, Any], name: Any) -> CoreUse:
    return CoreUse(
        int(data["core"]),
        str(data["kind"]),
        float(data["start_us"]),
        float(data["end_us"]),
        tuple(
            PipeUse(
                pipe,
                float(use["busy_us"]),
                float(use["stalled_us"]),
                int(use["instructions"]),
                tuple(
                    Wait(str(w["for"]), name(w.get("file")), int(w.get("line", 0)), float(w["us"]))
                    for w in use.get("waits", ())
                ),
            )
            for pipe, use in sorted(data["pipes"].items(), key=lambda row: pipe_order(row[0]))
        ),
    )
