"""Specs tested as tasks of an engine: what happens to one leaves the results of the others."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import pytest
from rich.console import Console

from msopgen_wrap.cli.test_output import print_report
from msopgen_wrap.diagnostics import Diagnostic, Location
from msopgen_wrap.engines import Engine, Outcome, Task
from msopgen_wrap.run.results import OpResult
from msopgen_wrap.run.spec_task import run_in_engine
from msopgen_wrap.run.worker import Job

REFUSED = Diagnostic("OPG202", "no kernel", Location("b.yaml", 3, 1), "a reason", "a cure")
VALUE = [
    {
        "op": "A",
        "spec": "a.yaml",
        "cases": [{"op": "A", "dtype": "float32", "label": "1", "status": "passed"}],
    }
]


class Scripted(Engine):
    """An engine whose tasks end as given, the last one first."""

    def __init__(self, *ends: dict[str, object]) -> None:
        self.ends = ends

    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        assert len(tasks) == len(self.ends)
        for index in reversed(range(len(tasks))):
            yield Outcome(index, **self.ends[index])

    def close(self) -> None:
        pass


@pytest.fixture
def job():
    return Job(("a.yaml", "b.yaml"), None, "ascend910b3", "opgen", "auto", large=False, match="")


@pytest.mark.parametrize(
    ("end", "code", "what"),
    [
        (
            {"failure": "worker died", "diagnostics": []},
            "OPG900",
            "the tests of b.yaml did not end",
        ),
        ({"failure": "no kernel", "diagnostics": [REFUSED.as_dict()]}, "OPG202", "no kernel"),
    ],
)
def test_a_spec_that_fails_leaves_the_others_their_results(job, end, code, what):
    counts = []
    report = run_in_engine(
        iter([job]), Scripted({"value": VALUE}, end), lambda *count: counts.append(count)
    )
    assert counts == [(1, 2), (2, 2)]
    first, second = report.ops
    assert (first.op, first.cases[0].status, first.problems) == ("A", "passed", [])
    assert (second.op, second.problems) == ("b", [what])
    assert isinstance(second, OpResult) and not report.passed
    text = io.StringIO()
    print_report(Console(file=text, width=200), report, False, 1.0)
    assert code in text.getvalue() and what in text.getvalue()
    assert text.getvalue().rstrip().endswith("FAIL")
