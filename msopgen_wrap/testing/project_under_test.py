"""The ops of a scaffolded project, compiled once, run case by case: what generated tests use."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msopgen_wrap.run.cases import case_grid
from msopgen_wrap.run.coverage import bounded_reason, gaps
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.run.results import CaseResult
from msopgen_wrap.run.worker import CHECK_LIMIT, elements
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.testing.outcomes import CheckResult

if TYPE_CHECKING:
    from msopgen_wrap.testing.subject import Subject


class ProjectUnderTest:
    """One op of a project.

    Args:
        root: folder that holds ``opgen.json``.
        name: snake_case op name.
        soc: SoC that tiling sees.
    """

    __test__ = False  # not a pytest class

    def __init__(self, root: Path, name: str, soc: str = "ascend910b3"):
        self.root = root
        self.name = name
        self.soc = soc

    @functools.cached_property
    def spec(self) -> OpSpec:
        """The op's spec, from the project's own copy."""
        from msopgen_wrap.spec.loader import load_specs

        specs = load_specs([self.root / "specs" / f"{self.name}.yaml"])
        return next(spec for spec in specs if spec.name == self.name)

    def cases(self) -> list[TestCase]:
        """Return the default grid plus the spec's own cases."""
        return case_grid(self.spec)

    def case_id(self, case: TestCase) -> str:
        """Return the name pytest shows for a case."""
        return case.label(self.spec).replace(" ", "-")

    @functools.cached_property
    def runtime(self) -> Any:
        """An ``OpRuntime`` with this op's host library and kernels."""
        from msopgen_wrap.run.preparation import load_op

        return load_op(self.spec, self.root, small=False)

    @functools.cached_property
    def _results(self) -> dict[str, CaseResult]:
        return {}

    def run(self, case: TestCase) -> CaseResult:
        """Run one case, with the sanitizer unless it is very large."""
        from msopgen_wrap.run.case_runner import run_case

        mode = "fast" if elements(case.shapes) > CHECK_LIMIT else "check"
        label = case.label(self.spec)
        if label not in self._results:
            self._results[label] = run_case(self.spec, case, self.runtime, soc=self.soc, mode=mode)
        return self._results[label]

    def check(self, name: str) -> CheckResult:
        """Run one check of ``check_op`` on the package's torch op."""
        from msopgen_wrap.testing.check import run_checks

        return run_checks(self._subject, [name])[name]

    @functools.cached_property
    def _subject(self) -> Subject:
        from msopgen_wrap.testing.check import make_subject

        return make_subject(self.root, name=self.name)

    def gaps(self) -> list[str]:
        """Return what no case of the grid had of what a proof needs: several tiles and cores."""
        return gaps([self.run(case) for case in self.cases()], bounded_reason(self.spec))

    def rejects_zero_output(self) -> bool:
        """Return whether some case of the grid would fail with an all-zero output."""
        return any(self.run(case).zero_rejected for case in self.cases())
