"""Tests for ops: ``check_op`` for anybody's op, ``ProjectUnderTest`` for scaffolded projects."""

from msopgen_wrap.testing.check import CHECKS, check_op
from msopgen_wrap.testing.outcomes import CheckResult, Failure, OpCheckError, OpReport
from msopgen_wrap.testing.project_under_test import ProjectUnderTest
from msopgen_wrap.testing.samples import Input

__all__ = [
    "CHECKS",
    "CheckResult",
    "Failure",
    "Input",
    "OpCheckError",
    "OpReport",
    "ProjectUnderTest",
    "check_op",
]
