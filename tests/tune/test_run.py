"""A whole run on times that are known: the winner is confirmed, and written into the spec."""

from __future__ import annotations

import pytest

from msopgen_wrap.engines import Engine, Outcome
from msopgen_wrap.spec.loader import read_spec
from msopgen_wrap.tune.journal import Journal
from msopgen_wrap.tune.report import tuned_dict, tuned_lines
from msopgen_wrap.tune.run import TuneOptions, tune
from msopgen_wrap.tune.search import CONFIRM, SUBJECT, Measurements
from msopgen_wrap.tune.subject import Call, Group, Subject

SPEC = """op: Sample   # kept
inputs: {x: {dtype: [float32]}}
outputs: {y: like x}
compute: torch.exp(x)
"""


class Known(Engine):
    """Answers as a worker; 16 cores are fastest, ``confirmed`` is the time of the written spec."""

    def __init__(self, subject, confirmed):
        self.subject, self.confirmed = subject, confirmed

    def run(self, tasks):
        for index, task in enumerate(tasks):
            if task.function == SUBJECT:
                yield Outcome(index, self.subject.as_dict())
            elif task.function == CONFIRM:
                yield Outcome(index, {"time_us": self.confirmed, "cores": 16})
            else:
                cores = task.arguments["knobs"].get("cores", 40)
                yield Outcome(index, {"time_us": 5 + abs(cores - 16) / 4, "cores": cores})

    def close(self):
        pass


def run(tmp_path, confirmed, **options):
    path = tmp_path / "sample.yaml"
    path.write_text(SPEC)
    groups = [Group(4096, 4096, [Call(0, {"x": (4096,)}, {}, "float32 x=4096")])]
    one = Subject(str(path), "Sample", "some", "soc", ["cores"], 0, 40, [], "x", [], groups)
    journal = Journal(tmp_path / "j.jsonl", resume=False)
    measured = Measurements(Known(one, confirmed), journal, {str(path): SPEC}, "kit")
    (result,) = tune([str(path)], TuneOptions(**options), measured, tmp_path / "winners")
    journal.close()
    return result, path


def test_the_winner_is_written(tmp_path):
    result, path = run(tmp_path, confirmed=5.25)
    assert result.written and not result.problems, result.problems
    assert path.read_text().startswith(SPEC + "schedule:\n  # opgen tune, modelled on soc: ")
    spec = read_spec(path).spec
    assert spec is not None
    assert spec.schedule[0].cores == result.wins[0].trial.knobs["cores"]
    assert tuned_dict(result)["written"] is True
    assert "all times are modelled" in tuned_lines(result)[0]


@pytest.mark.parametrize("options", [{"write": False}])
def test_a_dry_run_leaves_the_spec(tmp_path, options):
    result, path = run(tmp_path, confirmed=5.25, **options)
    assert result.schedule and not result.written and not result.problems
    assert path.read_text() == SPEC


def test_a_winner_that_is_not_confirmed_is_not_written(tmp_path):
    result, path = run(tmp_path, confirmed=9.0)
    assert [d.code for d in result.problems] == ["OPG387"]
    assert path.read_text() == SPEC
