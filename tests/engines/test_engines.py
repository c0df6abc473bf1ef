"""Every task ends once, whatever happens to workers: local processes, and a local Ray cluster."""

from __future__ import annotations

import importlib.util
import os
import signal

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.engines import Task, open_engine
from msopgen_wrap.engines.engine import RETRIES, execute
from msopgen_wrap.engines.local_engine import LocalEngine

TRIAL = "msopgen_wrap.engines.trial_tasks"


def doubled(numbers, **more):
    function = "die_first" if more else "double"
    return [Task(f"{TRIAL}:{function}", {"number": n, **more}) for n in numbers]


def check_all_end_once(engine, tmp_path):
    outcomes = list(engine.run(doubled(range(5))))
    assert sorted((o.index, o.value, o.failure) for o in outcomes) == [
        (n, 2 * n, "") for n in range(5)
    ]
    mixed = [
        *doubled([7], folder=str(tmp_path), times=1),
        *doubled([8]),
        *doubled([9], folder=str(tmp_path), times=RETRIES + 1),
    ]
    ended = {o.index: o for o in engine.run(mixed)}
    assert (ended[0].value, ended[1].value) == (14, 16)
    assert f"{RETRIES + 1} times" in ended[2].failure
    assert (tmp_path / "7").read_text() == "xx"
    assert (tmp_path / "9").read_text() == "x" * (RETRIES + 1)


def test_local_workers_that_die_lose_no_result(tmp_path):
    with open_engine("local", 2) as engine:
        check_all_end_once(engine, tmp_path)


def test_a_worker_that_dies_while_idle_is_replaced():
    engine = LocalEngine(1)
    with engine:
        assert next(engine.run(doubled([1]))).value == 2
        os.kill(engine.pids()[0], signal.SIGKILL)
        assert [o.value for o in engine.run(doubled([2]))] == [4]


@pytest.mark.slow
def test_ray_workers_that_die_lose_no_result(tmp_path):
    pytest.importorskip("ray")
    with open_engine("ray", 2) as engine:
        check_all_end_once(engine, tmp_path)


def test_errors_of_a_task_are_its_outcome():
    with open_engine("local", 1) as engine:
        (failed,) = engine.run([Task(f"{TRIAL}:double", {})])
    assert "number" in failed.failure


def test_a_task_calls_nothing_outside_the_kit():
    assert "no function of the kit" in execute("os:getcwd", {})["failure"]


def test_unknown_engine():
    with pytest.raises(OpgenError) as caught:
        open_engine("lokal")
    assert caught.value.diagnostics[0].code == "OPG380"
    assert "local" in caught.value.diagnostics[0].fix


def test_ray_is_missing(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(OpgenError) as caught:
        open_engine("ray")
    assert caught.value.diagnostics[0].code == "OPG381"
    assert "opgen[ray]" in caught.value.diagnostics[0].fix
