"""Two profiled runs side by side: two kernels, or two commits of one."""

from __future__ import annotations

import contextlib
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from msopgen_wrap.byte_counts import size_text
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.profile.launch_profile import MODEL_ERROR, LaunchProfile, pipe_order
from msopgen_wrap.profile.launches import ProfiledRun
from msopgen_wrap.profile.text_view import microseconds, table_lines


@dataclass(frozen=True)
class ComparedFigure:
    """A figure of both runs; ``unit`` is us, bytes or "" for a count."""

    name: str
    unit: str
    first: float
    second: float

    @property
    def change_percent(self) -> float | None:
        """How much the second is more, percent; None where the first is 0."""
        return 100 * (self.second / self.first - 1) if self.first else None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "name": self.name,
            "unit": self.unit,
            "first": self.first,
            "second": self.second,
            "change_percent": self.change_percent,
        }

    def row(self) -> list[str]:
        """Return the cells of a table."""
        show = {"us": microseconds, "bytes": size_text}.get(self.unit, "{:.0f}".format)
        change = "-" if self.change_percent is None else f"{self.change_percent:+.1f}%"
        return [self.name, show(self.first), show(self.second), change]


def compared_figures(first: ProfiledRun, second: ProfiledRun) -> list[ComparedFigure]:
    """Return the figures of both runs, summed over their launches."""
    columns = [_figures(run.profiles) for run in (first, second)]
    names = list(dict.fromkeys([*columns[0], *columns[1]]))
    return [
        ComparedFigure(name, unit, columns[0].get((name, unit), 0), columns[1].get((name, unit), 0))
        for name, unit in names
    ]


def _figures(profiles: Sequence[LaunchProfile]) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {
        ("modelled time", "us"): sum(p.time_us for p in profiles),
        ("without launch", "us"): sum(p.kernel_us for p in profiles),
    }
    pipes: dict[str, list[float]] = {}
    for profile in profiles:
        for name, busy, stalled, calls in profile.pipe_means():
            own = pipes.setdefault(name, [0.0, 0.0, 0.0])
            for index, value in enumerate((busy, stalled, calls)):
                own[index] += value
    for name in sorted(pipes, key=pipe_order):
        keys = ((f"{name} busy", "us"), (f"{name} stalled", "us"), (f"{name} calls", ""))
        found.update(zip(keys, pipes[name], strict=True))
    for label, key in (
        ("GM read", "gm_read"),
        ("GM written", "gm_written"),
        ("UB read", "ub_read"),
        ("UB written", "ub_written"),
    ):
        found[label, "bytes"] = 1.0 * sum(p.memory.get(key, 0) for p in profiles)
    found["cores", ""] = max((len(p.cores) for p in profiles), default=0)
    return found


def verdict(first: ProfiledRun, second: ProfiledRun) -> str:
    """Return in a sentence which run is faster on the model, and whether that can be claimed."""
    if not first.time_us or not second.time_us:
        return "one of the runs has no modelled time"
    change = 100 * (second.time_us / first.time_us - 1)
    if abs(change) < 100 * MODEL_ERROR:
        return (
            f"the second takes {change:+.1f}% modelled time: less than the model's own error of "
            f"{100 * MODEL_ERROR:g}%, so neither can be called faster"
        )
    word = "faster" if change < 0 else "slower"
    ratio = max(first.time_us, second.time_us) / min(first.time_us, second.time_us)
    return f"the second is modelled {ratio:.2f} times {word} ({change:+.1f}% time)"


def comparison_lines(first: ProfiledRun, second: ProfiledRun, names: Sequence[str]) -> list[str]:
    """Return the comparison as text."""
    table = [["figure", "first", "second", "change"]]
    table += [figure.row() for figure in compared_figures(first, second)]
    lines = [f"first:  {names[0]} ({first.case})", f"second: {names[1]} ({second.case})", ""]
    lines += [*table_lines(table), ""]
    lines += ["all times are modelled; pipes: mean of the cores", verdict(first, second)]
    return lines


@contextlib.contextmanager
def target_at(text: str) -> Iterator[Path]:
    """Give the path that ``PATH`` or ``PATH@COMMIT`` names; a commit is unpacked for the while.

    The repository stays as it is: nothing is checked out.

    Raises:
        OpgenError: OPG596, there is no repository, no such commit, or no such path in it.
    """
    path, mark, commit = text.rpartition("@")
    if not mark or not path or not commit or Path(text).exists():
        yield Path(text)
        return
    root, inside = _repository(Path(path), text)
    checked = _git(
        root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}"
    )
    if checked.returncode:
        raise _no_commit(text, f"there is no commit {commit!r} in {root}")
    revision = checked.stdout.decode().strip()
    # FILE.py:NAME names a function in a file.
    name = inside if ".py:" not in inside else inside.rpartition(":")[0]
    if _git(root, "cat-file", "-e", f"{revision}:{name}").returncode:
        raise _no_commit(text, f"commit {commit} has no {name}")
    with tempfile.TemporaryDirectory(prefix="opgen-commit-") as scratch:
        with tempfile.TemporaryFile() as archive:
            done = subprocess.run(
                ["git", "-C", str(root), "archive", "--format=tar", revision],
                stdout=archive,
                stderr=subprocess.PIPE,
                check=False,
            )
            if done.returncode:
                raise _no_commit(text, done.stderr.decode(errors="replace").strip())
            archive.seek(0)
            _unpack(archive, Path(scratch))
        yield Path(scratch) / inside


def _unpack(archive: IO[bytes], folder: Path) -> None:
    with tarfile.open(fileobj=archive, mode="r:") as tar:
        tar.extractall(folder, filter="data")


def _repository(path: Path, text: str) -> tuple[Path, str]:
    """Return the root of the repository that holds a path, and the path in it."""
    full = path.absolute()
    folder = next((p for p in full.parents if p.is_dir()), Path("/"))
    try:
        found = _git(folder, "rev-parse", "--show-toplevel")
    except FileNotFoundError as error:
        raise _no_commit(text, "there is no git on this machine") from error
    if found.returncode:
        raise _no_commit(text, f"{folder} is in no git repository")
    root = Path(found.stdout.decode().strip())
    try:
        return root, str(full.relative_to(root))
    except ValueError:
        return root, str((folder.resolve() / full.relative_to(folder)).relative_to(root))


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)


def _no_commit(text: str, why: str) -> OpgenError:
    return OpgenError(
        Diagnostic(
            "OPG596",
            f"{text} cannot be profiled",
            Location(text),
            why=why,
            fix="PATH@COMMIT is a path in a git repository and a commit of it, such as "
            "kernels/add.asc@HEAD~1; without @ it is the file as it is now",
        )
    )
