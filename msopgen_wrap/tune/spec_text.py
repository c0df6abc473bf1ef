"""Write a schedule into the text of a spec: all other lines stay as they are."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.schedule_entries import ScheduleEntry
from msopgen_wrap.spec.yaml_nodes import Mapping, parse_yaml
from msopgen_wrap.whole_files import whole_file

Rows = Sequence[tuple[ScheduleEntry, str]]
_KEY = "schedule"


def schedule_lines(entries: Rows) -> list[str]:
    """Return the key ``schedule`` as lines of YAML.

    Args:
        entries: each with a remark, "" for none.
    """
    lines = [f"{_KEY}:"]
    for entry, remark in entries:
        lines += [f"  # {remark}"] if remark else []
        own = [f"when: {entry.when_text()}"] if entry.when else []
        own += [f"{name}: {value}" for name, value in entry.knobs().items()]
        lines += [f"  {'-' if number == 0 else ' '} {row}" for number, row in enumerate(own)]
    return lines


def with_schedule(text: str, entries: Rows, path: str) -> str:
    """Return the text of a spec with a schedule, in place of the one that it has.

    Raises:
        OpgenError: OPG384, the text has a form that cannot be changed line by line, or would not
            mean the same op.
    """
    root = parse_yaml(text, path, Findings())
    ending = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(ending)
    if not isinstance(root, Mapping) or text.lstrip().startswith("{"):
        raise _unwritable(path, "the spec is not written as one key a line", entries)
    own = root.key(_KEY)
    new = schedule_lines(entries) if entries else []
    if own is None:
        end = len(lines)
        while end and not lines[end - 1].strip():
            end -= 1
        changed = [*lines[:end], *([""] if new and _spaced(lines) else []), *new, *lines[end:]]
        if not text.endswith(ending):
            changed.append("")
    else:
        start = own.location.line - 1
        later = [k.location.line - 1 for k, _ in root.entries if k.location.line - 1 > start]
        stop = min(later, default=len(lines))
        # what stands before the next key belongs to that
        while stop > start + 1 and _is_remark(lines[stop - 1]):
            stop -= 1
        changed = [*lines[:start], *new, *lines[stop:]]
    result = ending.join(changed)
    before, after = parse_spec(text, path).spec, parse_spec(result, path).spec
    same = (
        before is not None
        and after is not None
        and replace(before, schedule=()) == replace(after, schedule=())
        and after.schedule == tuple(entry for entry, _ in entries)
    )
    if not same:
        raise _unwritable(path, "the changed text would not mean the same op", entries)
    return result


def _is_remark(line: str) -> bool:
    """Whether a line is empty, or a remark at the margin."""
    return not line.strip() or line.startswith("#")


def _spaced(lines: list[str]) -> bool:
    """Whether the keys of a spec stand in paragraphs."""
    return any(not line.strip() and after.strip() for line, after in itertools.pairwise(lines))


def write_schedule(path: Path, entries: Rows, expected: str) -> None:
    """Write a schedule into a spec file, whole or not at all.

    Args:
        expected: the text that was tuned.

    Raises:
        OpgenError: OPG384, the file cannot be written, is another one than was tuned, or has a
            form that cannot be changed.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unwritable(str(path), str(error), entries) from error
    if text != expected:
        raise _unwritable(str(path), "the spec was changed while it was tuned", entries)
    changed = with_schedule(text, entries, str(path))
    if changed == text:
        return
    target = Path(os.path.realpath(path))
    try:
        with whole_file(target, target.stat().st_mode & 0o777) as file:
            file.write(changed)
    except OSError as error:
        raise _unwritable(str(path), error.strerror or str(error), entries) from error


def _unwritable(path: str, why: str, entries: Rows) -> OpgenError:
    shown = "\n".join(schedule_lines(entries))
    return OpgenError(
        Diagnostic(
            "OPG384",
            "the schedule cannot be written into the spec",
            Location(path),
            why,
            f"write it yourself:\n{shown}" if entries else "remove the key yourself",
        )
    )
