"""Results of a test run, as data: what the worker sends and every report reads."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

PASSED = "passed"
FAILED = "failed"
CRASHED = "crashed"
NOT_APPLICABLE = "not applicable"


@dataclass
class CaseResult:
    """One case of one op.

    Attributes:
        status: ``passed``, ``failed``, ``crashed`` or ``not applicable`` (the PyTorch reference
            itself refuses the case; never counted as passed).
        mean, maximum: worst relative errors over the outputs.
        findings: sanitizer findings, as dicts.
        mode: ``fast`` or ``check``.
        blocks: block dim that tiling chose; ``key`` the tiling key.
        zero_rejected: an all-zero output would have failed (None: there was nothing to compare).
    """

    op: str
    label: str
    dtype: str
    status: str
    reason: str = ""
    mean: float = 0.0
    maximum: float = 0.0
    findings: list[dict[str, Any]] = field(default_factory=list)
    mode: str = "fast"
    blocks: int = 0
    key: int = 0
    seconds: float = 0.0
    zero_rejected: bool | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


@dataclass
class OpResult:
    """All cases of one op, and how long each stage before them took (seconds)."""

    op: str
    spec: str
    cases: list[CaseResult] = field(default_factory=list)
    stages: dict[str, float] = field(default_factory=dict)
    diagnostics: list[dict[str, Any]] = field(default_factory=list)

    def count(self, status: str) -> int:
        """Return how many cases ended with ``status``."""
        return sum(case.status == status for case in self.cases)

    @property
    def problems(self) -> list[str]:
        """Reasons why the op as a whole is not proved, beyond single cases."""
        found = [d["what"] for d in self.diagnostics if d.get("severity", "error") == "error"]
        if not found and not self.count(PASSED):
            found.append("no case of the grid could be compared with the reference")
        controls = [c.zero_rejected for c in self.cases if c.zero_rejected is not None]
        if controls and not any(controls):
            found.append("control failed: an all-zero output would pass every case")
        return found

    @property
    def passed(self) -> bool:
        """Whether every applicable case passed and the op has no other problem."""
        return not self.problems and not self.count(FAILED) and not self.count(CRASHED)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "op": self.op,
            "spec": self.spec,
            "passed": self.passed,
            "problems": self.problems,
            "stages": self.stages,
            "diagnostics": self.diagnostics,
            "cases": [case.as_dict() for case in self.cases],
        }


@dataclass
class TestReport:
    """The results of one ``opgen test``."""

    __test__ = False  # not a pytest class

    ops: list[OpResult] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether there was at least one op and all of them passed."""
        return bool(self.ops) and all(op.passed for op in self.ops)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"passed": self.passed, "ops": [op.as_dict() for op in self.ops]}
