"""``opgen tune`` and ``opgen test --engine`` as a user calls them."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from msopgen_wrap.cli import app

SPEC = """# to be tuned
op: TuneSample
inputs:
  x: {dtype: float32}   # one dtype
outputs:
  y: like x
compute: torch.exp(x) * x
backward: none
"""
OPGEN = [sys.executable, "-m", "msopgen_wrap.cli"]


def opgen(*arguments):
    return subprocess.run([*OPGEN, *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "sample.yaml"
    path.write_text(SPEC)
    return path


def test_an_unknown_engine_is_refused_before_anything_runs(spec, capfd):
    assert app.run(["tune", str(spec), "--engine", "raj"]) == 1
    assert "OPG380" in capfd.readouterr().err
    assert spec.read_text() == SPEC


def test_a_missing_spec_is_named(tmp_path, capfd):
    assert app.run(["tune", str(tmp_path / "none.yaml")]) == 1
    assert "OPG001" in capfd.readouterr().err


@pytest.mark.slow
def test_bad_shapes_and_nothing_to_tune(spec, tmp_path):
    journal = tmp_path / "j"
    shapes = opgen("tune", spec, "--shapes", "z=3", "--shapes", "x=a", "--journal", journal)
    assert (shapes.returncode, shapes.stderr.count("OPG383")) == (1, 2)
    (tmp_path / "k.cpp").write_text('extern "C" void tune_sample() {}\n')
    spec.write_text(SPEC + "kernel: k.cpp\n")
    nothing = opgen("tune", spec, "--journal", journal)
    assert nothing.returncode == 1
    assert "OPG382" in nothing.stderr


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_a_killed_run_resumes_without_repeating(spec, tmp_path, engine):
    if engine == "ray" and importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    journal = tmp_path / "journal.jsonl"
    options = ["tune", str(spec), "--shapes", "x=512,1024", "--journal", str(journal), "--json"]
    options += ["--engine", engine, "-j", "2"]
    run = subprocess.Popen(
        [*OPGEN, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 500
    while time.monotonic() < deadline and run.poll() is None:
        if journal.exists() and journal.read_text().count("\n") >= 5:
            os.killpg(run.pid, signal.SIGKILL)
            break
        time.sleep(0.05)
    run.wait()
    kept = journal.read_text().count("\n")
    assert kept >= 5
    result = opgen(*options, "--resume")
    data = json.loads(result.stdout)
    assert data["ok"], result.stdout
    assert data["from_journal"] >= kept
    tasks = [json.loads(row)["task"] for row in journal.read_text().splitlines() if row]
    assert len(tasks) == len(set(tasks))
    (group,) = data["specs"][0]["groups"]
    assert group["best_us"][0] <= group["default_us"][0]
    assert len(group["tried"]) > 20
    assert (spec.read_text() == SPEC) == (not group["claimed"])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_specs_are_tested_in_an_engine(spec, tmp_path, engine):
    if engine == "ray" and importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    other = tmp_path / "other.yaml"
    other.write_text(SPEC.replace("TuneSample", "OtherSample"))
    result = opgen("test", spec, other, "--engine", engine, "-j", "2", "--json")
    data = json.loads(result.stdout)
    assert (result.returncode, data["passed"]) == (0, True)
    assert [op["op"] for op in data["ops"]] == ["TuneSample", "OtherSample"]
    assert all(op["cases"] for op in data["ops"])
