"""Results of a test run, as data: what the worker sends and every report reads."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from msopgen_wrap.run import coverage

PASSED = "passed"
FAILED = "failed"
CRASHED = "crashed"
NOT_APPLICABLE = "not applicable"
INCOMPLETE = "incomplete"


@dataclass
class CaseResult:
    """One case of one op.

    Attributes:
        status: ``passed``, ``failed``, ``crashed`` or ``not applicable`` (the PyTorch reference
            itself refuses the case; never counted as passed).
        mean, maximum: worst relative errors over the outputs.
        findings: sanitizer findings, as dicts.
        mode: ``fast`` or ``check``.
        rules: per output the accuracy rule that judged it; ``note``: what that rule let pass.
        blocks: block dim that tiling chose; ``key`` the tiling key.
        worst: the worst element and those around it, see ``run.worst_elements``.
        late: where a case was that the time limit ended (see `crashes`).
        cores: cores that had work; ``tiles``: of the core with most.
        traits: what the case tries, see ``run.coverage.traits``.
        zero_rejected: an all-zero output would have failed (None: there was nothing to compare);
            ``controls`` the same by output and rule.
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
    rules: dict[str, str] = field(default_factory=dict)
    note: str = ""
    cores: int = 0
    tiles: int = 0
    traits: dict[str, Any] = field(default_factory=dict)
    controls: dict[str, bool] = field(default_factory=dict)
    late: dict[str, Any] | None = None
    worst: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


@dataclass
class OpResult:
    """All cases of one op, and how long each stage before them took (seconds).

    Attributes:
        bounded: why the op can never have several tiles or cores, "" when it can.
        partial: only some cases of the grid were asked for, so that what they cover says nothing.
    """

    op: str
    spec: str
    cases: list[CaseResult] = field(default_factory=list)
    stages: dict[str, float] = field(default_factory=dict)
    diagnostics: list[dict[str, Any]] = field(default_factory=list)
    bounded: str = ""
    partial: bool = False

    def count(self, status: str) -> int:
        """Return how many cases ended with ``status``."""
        return sum(case.status == status for case in self.cases)

    @property
    def problems(self) -> list[str]:
        """Reasons why the op as a whole is not proved, beyond single cases."""
        found = [d["what"] for d in self.diagnostics if d.get("severity", "error") == "error"]
        if not found and not self.count(PASSED):
            found.append("no case of the grid could be compared with the reference")
        controls: dict[str, bool] = {}
        for case in self.cases:
            for output, rejected in case.controls.items():
                controls[output] = controls.get(output, False) or rejected
        for output, rejected in controls.items():
            if not rejected:
                found.append(f"control failed: an all-zero {output} would pass every case")
        return found

    @property
    def gaps(self) -> list[str]:
        """What the cases never tried that they must have to prove the op."""
        return [] if self.partial else coverage.gaps(self.cases, self.bounded)

    @property
    def verdict(self) -> str:
        """``passed``, ``failed``, or ``incomplete``: nothing failed, but too little was tried."""
        if self.problems or self.count(FAILED) or self.count(CRASHED):
            return FAILED
        return INCOMPLETE if self.gaps else PASSED

    @property
    def passed(self) -> bool:
        """Whether every applicable case passed and nothing is missing."""
        return self.verdict == PASSED

    @property
    def covered(self) -> dict[str, Any]:
        """What the cases that passed have tried, see ``run.coverage.summary``."""
        return coverage.summary(self.cases)

    @property
    def coverage_text(self) -> str:
        """The same as a line of text."""
        return coverage.text(self.covered)

    @property
    def largest_noted(self) -> float:
        """The largest relative error that passed although it is over the plain bounds."""
        noted = [c.maximum for c in self.cases if c.note and c.status == PASSED]
        return max(noted, default=0.0)

    @property
    def rules(self) -> dict[str, list[str]]:
        """Per output the accuracy rules that judged it."""
        found: dict[str, list[str]] = {}
        for case in self.cases:
            for output, rule in case.rules.items():
                if rule not in found.setdefault(output, []):
                    found[output].append(rule)
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "op": self.op,
            "spec": self.spec,
            "passed": self.passed,
            "verdict": self.verdict,
            "problems": self.problems,
            "gaps": self.gaps,
            "bounded": self.bounded,
            "rules": self.rules,
            "coverage": self.covered,
            "stages": self.stages,
            "diagnostics": self.diagnostics,
            "cases": [case.as_dict() for case in self.cases],
        }


@dataclass
class TestReport:
    """The results of one ``opgen test``."""

    __test__ = False  # not a pytest class

    ops: list[OpResult] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """``passed``, ``failed`` or ``incomplete``, the worst of the ops; failed without any."""
        verdicts = {op.verdict for op in self.ops} or {FAILED}
        return next(v for v in (FAILED, INCOMPLETE, PASSED) if v in verdicts)

    @property
    def passed(self) -> bool:
        """Whether there was at least one op and all of them passed."""
        return bool(self.ops) and all(op.passed for op in self.ops)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "passed": self.passed,
            "verdict": self.verdict,
            "environment": self.environment,
            "ops": [op.as_dict() for op in self.ops],
        }
