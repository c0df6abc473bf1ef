"""What a verify run did: single checks, compiles that are still to run, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msopgen_wrap.cann_discovery import CannTree
from msopgen_wrap.diagnostics import Diagnostic

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True)
class Check:
    """One compile or msopgen run.

    Attributes:
        kind: ``op_host``, ``kernel``, ``onnx_plugin``, ``tf_plugin``, ``op_proto``, ``msopgen``
            (compiled or run with CANN's), ``opdef``, ``device``, ``build`` (need no CANN), or
            ``render`` for a spec that gave no sources.
        subject: file or op.
        variant: library macro, or SoC and dtypes.
        status: ``passed``, ``failed`` or ``skipped``.
        seconds: wall time.
        error: the first true error of a failed one.
        note: why it was skipped, or a warning.
        against: the part of CANN it was held against (see ``discovery.PARTS``), "" for a check
            that needs no CANN.
    """

    kind: str
    subject: str
    variant: str = ""
    status: str = PASSED
    seconds: float = 0.0
    error: Diagnostic | None = None
    note: str = ""
    against: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "kind": self.kind,
            "subject": self.subject,
            "variant": self.variant,
            "status": self.status,
            "seconds": round(self.seconds, 3),
            "error": self.error.as_dict() if self.error else None,
            "note": self.note,
            "against": self.against,
        }


@dataclass
class VerifyReport:
    """All checks of one run against one CANN tree."""

    tree: CannTree
    checks: list[Check] = field(default_factory=list)

    def count(self, status: str) -> int:
        """Return how many checks ended so."""
        return sum(c.status == status for c in self.checks)

    @property
    def ok(self) -> bool:
        """Nothing failed and something was really checked against CANN."""
        return self.count(FAILED) == 0 and self.compared > 0

    @property
    def compared(self) -> int:
        """How many checks CANN's headers or tools passed or failed."""
        return sum(bool(c.against) and c.status != SKIPPED for c in self.checks)

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "cann": str(self.tree.root),
            "version": self.tree.version,
            "style": self.tree.style,
            "trees": self.tree.origins_as_dict(),
            "missing": self.tree.missing,
            "passed": self.count(PASSED),
            "failed": self.count(FAILED),
            "skipped": self.count(SKIPPED),
            "checks": [c.as_dict() for c in self.checks],
        }


@dataclass(frozen=True)
class Compile:
    """A compile to run: its labels and its command without compiler and source.

    ``header_flags`` are those a precompiled device header depends on; empty: use none.
    """

    kind: str
    source: Path
    subject: str
    variant: str
    flags: tuple[str, ...]
    header_flags: tuple[str, ...] = ()


def found_checks(
    kind: str, subject: str, problems: Sequence[Diagnostic], variant: str = ""
) -> list[Check]:
    """Return one failed check per finding, or the passed one."""
    if not problems:
        return [Check(kind, subject, variant)]
    return [Check(kind, subject, variant, FAILED, error=problem) for problem in problems]
