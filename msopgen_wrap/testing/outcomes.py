"""What ``check_op`` found: a table of checks, and each failure with what is needed to repeat it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

PASSED = "passed"
FAILED = "failed"
NOT_APPLICABLE = "not applicable"

# Failures of one check after these are counted only.
_SHOWN = 5


class OpCheckError(AssertionError):
    """An op did not pass; the text is the report."""


@dataclass(frozen=True)
class Failure:
    """One thing that is wrong with one case.

    Attributes:
        case: dtype, shapes and attrs.
        what: what is wrong, in one line.
        index: where the worst element lies, None where it is not about an element.
        inputs: what the inputs hold there, one text each.
        got, expected: the values at the index.
        differing, total: how many elements are wrong, of how many.
        paste: a line of Python that runs this check on this case again.
    """

    case: str
    what: str
    index: tuple[int, ...] | None = None
    inputs: tuple[str, ...] = ()
    got: Any = None
    expected: Any = None
    differing: int = 0
    total: int = 0
    paste: str = ""

    def __str__(self) -> str:
        lines = [f"{self.case}: {self.what}"]
        if self.index is not None:
            lines.append(
                f"  index {self.index}: got {self.got!r}, expected {self.expected!r}; "
                f"{self.differing} of {self.total} elements differ"
            )
        if self.inputs:
            lines.append(f"  inputs: {', '.join(self.inputs)}")
        if self.paste:
            lines.append(f"  again: {self.paste}")
        return "\n".join(lines)


@dataclass
class CheckResult:
    """One check over all its cases.

    Attributes:
        name: of the check.
        cases: how many runs were compared.
        reason: why it does not apply, where it does not.
        notes: what passed by an allowance, what was left out.
    """

    name: str
    cases: int = 0
    failures: list[Failure] = field(default_factory=list)
    reason: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def status(self) -> str:
        """``passed``, ``failed`` or ``not applicable``; what compared nothing has not passed."""
        if self.failures:
            return FAILED
        return PASSED if self.cases and not self.reason else NOT_APPLICABLE

    @property
    def detail(self) -> str:
        """A line for the table."""
        if self.failures:
            first = self.failures[0]
            return f"{len(self.failures)} failures; first: {first.case}: {first.what}"
        if self.status == NOT_APPLICABLE:
            return self.reason or "no case could be compared"
        return "; ".join(dict.fromkeys(self.notes))


@dataclass
class OpReport:
    """All checks of one op. ``str()`` shows the table and the failures."""

    op: str
    device: str = "cpu"
    checks: list[CheckResult] = field(default_factory=list)

    def __getitem__(self, name: str) -> CheckResult:
        """Return a check by its name; raises KeyError."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    @property
    def failed(self) -> list[str]:
        """Names of the checks that failed."""
        return [c.name for c in self.checks if c.status == FAILED]

    @property
    def passed(self) -> bool:
        """Whether no check failed and at least one passed."""
        return not self.failed and any(c.status == PASSED for c in self.checks)

    def raise_if_failed(self) -> OpReport:
        """Return the report; raise ``OpCheckError`` with its text unless the op passed."""
        if not self.passed:
            raise OpCheckError(str(self))
        return self

    def as_dict(self) -> dict[str, Any]:
        """Return the report as data."""
        return {
            "op": self.op,
            "device": self.device,
            "passed": self.passed,
            "checks": [{**asdict(c), "status": c.status} for c in self.checks],
        }

    def __str__(self) -> str:
        verdict = PASSED if self.passed else FAILED
        if not self.failed and not self.passed:
            verdict = "failed, because no check applied"
        width = max((len(c.name) for c in self.checks), default=0)
        lines = [f"{self.op} on {self.device}: {verdict}"]
        for check in self.checks:
            row = (
                f"  {check.name:{width}}  {check.status:14}  {check.cases:3} cases  {check.detail}"
            )
            lines.append(row.rstrip())
        for check in self.checks:
            for failure in check.failures[:_SHOWN]:
                lines += ["", f"{check.name}: {failure}"]
            if len(check.failures) > _SHOWN:
                lines += ["", f"{check.name}: {len(check.failures) - _SHOWN} further failures"]
        return "\n".join(lines)
