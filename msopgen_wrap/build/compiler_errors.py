"""What a C++ compiler or linker complained about, as diagnostics at the user's own lines."""

from __future__ import annotations

import re
from pathlib import Path

from ..diagnostics import Diagnostic, Location

# A broken header gives hundreds of followers; the first ones say what is wrong.
MOST_ERRORS = 20

# "file:line:col: error: text" of g++ and clang; linker errors have no column.
_ERROR = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::(?P<col>\d+))?: (?:fatal )?error: (?P<text>.*)$",
    re.MULTILINE,
)
_LINK_ERROR = re.compile(
    r"^.*(undefined reference to .*|cannot find .*|multiple definition of .*)$", re.MULTILINE
)
# As g++ and clang++ say it, behind what was being compiled.
_MISSING_HEADER = re.compile(
    r"(?:.*: )?(?:(?P<gcc>\S+): No such file or directory|'(?P<clang>[^']+)' file not found)"
)
_MISSING_API = re.compile(r"^['‘](\w+)['’] is not a member of ['‘](AscendC[\w:]*)['’]")


# What g++ writes when it crashes; it is no error of the source.
_BROKEN = re.compile(
    r"^(?P<file>[^\s:]+):(?P<line>\d+):\d+: internal compiler error: (?P<text>.*)$", re.MULTILINE
)


def compiler_diagnostics(
    stderr: str, source: Path | None, *, code: str, what: str, compiler: str
) -> list[Diagnostic]:
    """Return one diagnostic per error, in the compiler's order, at most :data:`MOST_ERRORS`.

    Args:
        stderr: what the compiler (or linker) wrote, in the C locale.
        source: the user's file; an error inside a header is reported at the line of this file
            that led there when the compiler names it ("required from here").
        code: diagnostic code of all of them.
        what: text put before each message.
        compiler: identity of the compiler, for the reason.
    """
    matches = list(_ERROR.finditer(stderr))
    lead = what + ": " if what else ""
    if not matches and (broken := _BROKEN.search(stderr)) is not None:
        return [
            Diagnostic(
                code,
                lead + "the compiler itself failed: internal compiler error: " + broken["text"],
                Location(broken["file"], int(broken["line"])),
                why=f"{compiler} has a bug that this source meets",
                fix="take another compiler: OPGEN_CXX=clang++, or another version of g++",
            )
        ]
    if not matches:
        return [_link_diagnostic(stderr, source, code, what)]
    found: dict[tuple[str, int, str], Diagnostic] = {}
    for i, match in enumerate(matches):
        before = stderr[matches[i - 1].end() if i else 0 : match.start()]
        after = stderr[match.start() : matches[i + 1].start() if i + 1 < len(matches) else None]
        file, line, column, text = _place(match, before, after, source)
        found.setdefault(
            (file, line, text),
            Diagnostic(
                code,
                lead + text,
                Location(file, line, column),
                why=f"{compiler} refused the source",
                fix=_cure(match["text"]),
            ),
        )
    return list(found.values())[:MOST_ERRORS]


def _place(
    match: re.Match[str], before: str, after: str, source: Path | None
) -> tuple[str, int, int, str]:
    """Return file, line, column and text of an error, in the user's file if it can be."""
    text = match["text"]
    file, line, column = match["file"], int(match["line"]), int(match["col"] or 1)
    if source is None or Path(file).name == source.name:
        return file, line, column, text
    name = re.escape(source.name)
    used = re.findall(rf"^(\S*{name}):(\d+):(?:(\d+):)?\s+required from", before, re.MULTILINE)
    used = used or re.findall(
        rf"^(\S*{name}):(\d+):(?:(\d+):)? note: in instantiation", after, re.MULTILINE
    )
    if not used:
        return file, line, column, text
    text = f"{text} (reported in {Path(file).name}:{line})"
    return used[-1][0], int(used[-1][1]), int(used[-1][2] or 1), text


def missing_header(text: str) -> str:
    """Return the header that a compiler's message says is not there, "" for other messages."""
    match = _MISSING_HEADER.match(text)
    return (match["gcc"] or match["clang"]) if match else ""


def _cure(text: str) -> str:
    """Return what to do about the errors that users of the emulation meet most."""
    if header := missing_header(text):
        return f"give the folder of {header} with -I"
    name = _MISSING_API.match(text)
    if name:
        return (
            f"check the spelling; if CANN has {name[2]}::{name[1]}, the emulation lacks it "
            "(ascendc_kernels/emulation/API.md lists what is there)"
        )
    return ""


def _link_diagnostic(stderr: str, source: Path | None, code: str, what: str) -> Diagnostic:
    missing = list(dict.fromkeys(_LINK_ERROR.findall(stderr)))
    text = missing[0] if missing else (stderr.strip().splitlines() or ["the compiler failed"])[-1]
    fix = ""
    if missing and missing[0].startswith("undefined reference"):
        fix = "name the source that defines it as well, or its library"
    why = stderr.strip()[:4000]
    # All that is missing, once each, behind the linker's own words.
    why += "".join(f"\n{m}" for m in missing if m not in why)[:8000]
    return Diagnostic(code, what or text, Location(str(source or "")), why=why, fix=fix)
