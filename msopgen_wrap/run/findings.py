"""What the sanitizer of check mode found: as text like a compiler's, JSON and SARIF.

The emulation library reports findings as JSON (``opgen_findings_json``, described in
``ascendc_emu/sanitizer.h``); `parse` turns that into `Finding` objects. A launch is clean when it
has no finding of severity ``error``; warnings are suspicious but can be right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

#: check -> what it means. Names are npuchk's where it has one.
CHECKS: dict[str, str] = {
    "ErrorRead1": "read of memory that was never allocated or is already freed",
    "ErrorRead2": "data nobody wrote is used",
    "ErrorRead3": "read past the end of the tensor",
    "ErrorRead4": "read address not aligned",
    "ErrorWrite1": "write to memory that was never allocated or is already freed",
    "ErrorWrite2": "write past the end of the tensor",
    "ErrorWrite3": "write over data nobody has read (suspicious)",
    "ErrorWrite4": "write address not aligned",
    "ErrorSync1": "write hazard: missing barrier, SetFlag/WaitFlag or core synchronisation",
    "ErrorSync2": "read hazard: missing barrier, SetFlag/WaitFlag or core synchronisation",
    "ErrorSync3": "SetFlag and WaitFlag not paired",
    "ErrorSync4": "same event set twice without a wait",
    "ErrorLeak": "tensor allocated but not freed",
    "ErrorFree": "tensor freed twice",
    "ErrorBuffer0": "tensor of a queue or buffer without InitBuffer",
    "ErrorBuffer1": "tensor used with another queue than its own",
    "ErrorBuffer2": "illegal order of AllocTensor, EnQue, DeQue, FreeTensor",
    "ErrorBuffer3": "memory outside the buffer, or memory that the core does not have",
    "ErrorBuffer4": "TBufPool without InitBufPool",
    "InitBuffer": "buffers over the capacity, or an illegal number or size of them",
    "EventId": "event id out of range, or none left",
    "UnwrittenOutput": "bytes of an output that nobody has written",
    "AtomicMode": "atomic stores left switched on at the end of the kernel",
    "ErrorOverlap": "source and destination overlap partially",
    "ErrorParam": "parameter outside the documented range",
    "TensorScope": "operand in a buffer the API does not support",
    "GmOverlap": "two cores write the same global memory",
    "CrossCore": "core synchronisation that the hardware does not have",
    "DataCache": "global memory and a scalar data cache disagree",
    "Deadlock": "a wait that can never end",
    "NotOnSoc": "an API, data type or mode that the SoC's architecture does not have",
    "Trap": "the kernel stopped: an assertion, or an instruction the device does not have",
}

#: What only a program can do wrong with its device memory; a kernel has no part in it.
PROGRAM_CHECKS: dict[str, str] = {
    "DeviceLeak": "device memory still allocated when the program ends",
    "UnusedMemory": "device memory that nobody has ever written",
}


@dataclass(frozen=True)
class Operand:
    """The operand a finding is about; ``begin`` and ``end`` are bytes inside ``name``."""

    role: str = ""
    memory: str = ""
    name: str = ""
    dtype: str = ""
    begin: int = 0
    end: int = 0


@dataclass(frozen=True)
class Other:
    """The conflicting access."""

    op: str = ""
    file: str = ""
    line: int = 0
    pipe: str = ""
    core: str = ""
    access: str = ""


@dataclass(frozen=True)
class Finding:
    """One bug, however often it occurred (``count``)."""

    check: str
    severity: str = "error"
    what: str = ""
    why: str = ""
    fix: str = ""
    file: str = ""
    line: int = 0
    op: str = ""
    kernel: str = ""
    pipe: str = ""
    operand: Operand | None = None
    core: Mapping[str, Any] = field(default_factory=dict)
    other: Other | None = None
    count: int = 1

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Finding:
        """Build from one entry of the library's JSON; unknown keys are ignored."""
        known = {k: v for k, v in data.items() if k in cls.__dataclass_fields__}
        if known.get("operand") is not None:
            known["operand"] = _pick(Operand, known["operand"])
        if known.get("other") is not None:
            known["other"] = _pick(Other, known["other"])
        known.setdefault("check", "unknown")
        return cls(**known)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form; absent parts are left out."""
        data = asdict(self)
        return {k: v for k, v in data.items() if v is not None and v != {}}

    @property
    def is_error(self) -> bool:
        """Whether the launch cannot be called clean with this finding."""
        return self.severity == "error"


def _pick(kind: type[Any], data: Mapping[str, Any]) -> Any:
    return kind(**{k: v for k, v in data.items() if k in kind.__dataclass_fields__})


def parse(data: str | bytes | Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Read the library's JSON text, or the list it decodes to.

    Raises:
        ValueError: the text is not a JSON array.
    """
    if isinstance(data, (str, bytes)):
        data = json.loads(data)
    if not isinstance(data, Sequence) or isinstance(data, (str, bytes)):
        raise ValueError("sanitizer findings must be a JSON array")
    return [Finding.from_dict(item) for item in data]


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that make a launch unclean."""
    return [f for f in findings if f.is_error]


def summary(findings: Sequence[Finding]) -> str:
    """Return one line: ``clean`` or counts per check."""
    if not findings:
        return "clean"
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.check] = counts.get(finding.check, 0) + 1
    bad = len(errors(findings))
    head = f"{bad} error{'s' * (bad != 1)}, {len(findings) - bad} warning"
    head += "s" * (len(findings) - bad != 1)
    return head + ": " + ", ".join(f"{name} x{n}" for name, n in counts.items())


def render(findings: Sequence[Finding], *, relative_to: Path | None = None) -> str:
    """Format the findings like a compiler's output, each with its source lines and the cure.

    Args:
        relative_to: folder that file names are shortened against.
    """
    sources = _Sources()
    return "\n".join(_render_one(f, sources, relative_to) for f in findings)


class _Sources:
    """Lines of source files, read once."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def line(self, file: str, number: int) -> str | None:
        if file not in self._files:
            try:
                text = Path(file).read_text(encoding="utf-8", errors="replace")
            except OSError:
                text = ""
            self._files[file] = text.splitlines()
        rows = self._files[file]
        return rows[number - 1] if 0 < number <= len(rows) else None


def _render_one(finding: Finding, sources: _Sources, root: Path | None) -> str:
    text = sources.line(finding.file, finding.line)
    column, length = _column(text, finding.op)
    place = _short(finding.file, root) + (f":{finding.line}:{column}" if finding.line else "")
    lines = [f"{place}: {finding.severity}[{finding.check}]: {finding.what}"]
    if text is not None:
        lines.append(f"{finding.line:5d} | {text}")
        lines.append("      | " + " " * (column - 1) + "^" + "~" * (length - 1))
    operand = finding.operand
    if operand is not None and operand.role:
        name = argument(text or "", finding.op, operand.role)
        shown = f"{operand.role} `{name}`" if name else operand.role
        where = f"{operand.memory} {operand.name}".strip()
        kind = f", {operand.dtype}" if operand.dtype else ""
        lines.append(
            f"      operand: {shown}: {where} bytes [{operand.begin}, {operand.end}){kind}"
        )
    who = _core(finding.core)
    if who or finding.pipe:
        pipe = f"pipe {finding.pipe}" if finding.pipe else ""
        lines.append("      on: " + ", ".join(part for part in (who, pipe) if part))
    other = finding.other
    if other is not None and other.line:
        mate = f"{_short(other.file, root)}:{other.line}"
        who = ", ".join(part for part in (other.core, other.pipe and f"pipe {other.pipe}") if part)
        lines.append(
            f"      against: {other.op} at {mate} ({other.access}{', ' if who else ''}{who})"
        )
        mate_text = sources.line(other.file, other.line)
        if mate_text is not None and (other.file, other.line) != (finding.file, finding.line):
            lines.append(f"{other.line:5d} | {mate_text}")
    if finding.why:
        lines.append(f"      why: {finding.why}")
    if finding.fix:
        lines.append(f"      fix: {finding.fix}")
    if finding.count > 1:
        lines.append(f"      seen {finding.count} times")
    return "\n".join(lines)


def _core(core: Mapping[str, Any]) -> str:
    if not core:
        return ""
    return f"{core.get('kind', 'core')} of block {core.get('block', 0)}"


def _short(file: str, root: Path | None) -> str:
    if root is None or not file:
        return file or "<unknown>"
    try:
        return str(Path(file).resolve().relative_to(root.resolve()))
    except ValueError:
        return file


def _column(text: str | None, op: str) -> tuple[int, int]:
    if text is None:
        return 1, 1
    match = re.search(rf"\b{re.escape(op)}\b", text) if op else None
    if match:
        return match.start() + 1, len(op)
    return len(text) - len(text.lstrip()) + 1, 1


_ARGUMENT = {"dst": 0, "src": 1, "src0": 1, "src1": 2}


def argument(text: str, op: str, role: str) -> str:
    """Return the expression the kernel passed for `role`, as far as the line shows it.

    The runtime knows buffers, not variable names; the source line does. Empty when the call does
    not stand on one line or the role's place is not known.
    """
    index = _ARGUMENT.get(role)
    match = re.search(rf"\b{re.escape(op)}\s*(<[^;()]*>)?\s*\(", text) if op else None
    if index is None or match is None:
        return ""
    depth, start, found = 0, match.end(), []
    for position in range(match.end(), len(text)):
        char = text[position]
        if char in "([{":
            depth += 1
        elif char in ")]}" and depth:
            depth -= 1
        elif char == ")" or (char == "," and depth == 0):
            found.append(text[start:position].strip())
            start = position + 1
            if char == ")":
                break
    return found[index] if index < len(found) else ""


def to_json(findings: Sequence[Finding]) -> str:
    """Return the findings as a JSON array."""
    return json.dumps([f.as_dict() for f in findings], indent=2)


def to_sarif(findings: Sequence[Finding], *, version: str = "", root: Path | None = None) -> str:
    """Return a SARIF 2.1.0 log (code hosts show it next to the source lines)."""
    rules = sorted({f.check for f in findings})
    results = [_sarif_result(f, rules.index(f.check), root) for f in findings]
    driver: dict[str, Any] = {
        "name": "opgen sanitizer",
        "rules": [
            {"id": name, "shortDescription": {"text": {**CHECKS, **PROGRAM_CHECKS}.get(name, name)}}
            for name in rules
        ],
    }
    if version:
        driver["version"] = version
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, indent=2)


def _sarif_result(finding: Finding, rule: int, root: Path | None) -> dict[str, Any]:
    parts = [finding.what, f"Why: {finding.why}" if finding.why else ""]
    parts.append(f"Fix: {finding.fix}" if finding.fix else "")
    result: dict[str, Any] = {
        "ruleId": finding.check,
        "ruleIndex": rule,
        "level": finding.severity if finding.severity in ("error", "warning") else "note",
        "message": {"text": ". ".join(part for part in parts if part)},
        "occurrenceCount": max(1, finding.count),
        "properties": {
            k: v for k, v in finding.as_dict().items() if k in ("operand", "core", "pipe", "kernel")
        },
    }
    if finding.file:
        result["locations"] = [_sarif_location(finding.file, finding.line, root)]
    if finding.other is not None and finding.other.file:
        related = _sarif_location(finding.other.file, finding.other.line, root)
        related["message"] = {"text": f"{finding.other.op}: {finding.other.access}"}
        result["relatedLocations"] = [related]
    return result


def _sarif_location(file: str, line: int, root: Path | None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": Path(_short(file, root)).as_posix()}}
    if line > 0:
        physical["region"] = {"startLine": line}
    return {"physicalLocation": physical}
