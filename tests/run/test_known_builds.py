"""What a parent of the test worker finds in the cache: all of a job's first op, or nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from msopgen_wrap.build import cache, operators
from msopgen_wrap.build.operators import BuiltOperators
from msopgen_wrap.run.cached_specs import accepted_shapes, rendered_spec
from msopgen_wrap.run.known_builds import KnownBuild, known_build
from msopgen_wrap.run.worker import Job
from msopgen_wrap.spec.loader import load_specs

TEXT = """op: Demo
inputs: {x: {dtype: float32, rank: 1}}
outputs: {y: {dtype: x, shape: x}}
compute: torch.relu(x)
"""


def compiled(specs: object, project: Path, **_: object) -> BuiltOperators:
    """Stands for the compiler: the objects are texts in the cache."""

    def build(folder: Path) -> list[Path]:
        (folder / "out.so").write_text("code", encoding="utf-8")
        return sorted((project / "op_kernel").glob("*.cpp"))

    folder, _ = cache.cached("shared", "object", "label", build)
    return BuiltOperators(folder / "out.so", {"Demo": {"float32,float32": folder / "out.so"}})


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job whose op has been rendered, compiled and searched for shapes."""
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(operators, "build_operators", compiled)
    path = tmp_path / "demo.yaml"
    path.write_text(TEXT, encoding="utf-8")
    (spec,) = load_specs([path])
    compiled([spec], rendered_spec(spec, "opgen"))
    accepted_shapes(spec)
    return Job((str(path),), None, "ascend910b3", "opgen", "auto", False, "")


def test_everything_is_found_and_survives_the_way_to_the_worker(job: Job) -> None:
    found = known_build(job)
    assert found is not None and found.op == "Demo" and found.answers
    assert (Path(found.project) / "op_host" / "demo.cpp").is_file()
    assert Path(found.host).read_text() == "code" and list(found.kernels) == ["float32,float32"]
    sent = Job.from_json(json.dumps(asdict(replace(job, known=found))))
    assert sent.known == found
    assert found.built() == compiled(None, Path(found.project))


def edit_spec(job: Job, found: KnownBuild) -> None:
    Path(job.specs[0]).write_text(TEXT.replace("relu", "abs"), encoding="utf-8")


def break_spec(job: Job, found: KnownBuild) -> None:
    Path(job.specs[0]).write_text("op: [", encoding="utf-8")


def alter_object(job: Job, found: KnownBuild) -> None:
    Path(found.host).write_text("other code", encoding="utf-8")


def alter_source(job: Job, found: KnownBuild) -> None:
    (Path(found.project) / "op_kernel" / "demo.cpp").write_text("// edited", encoding="utf-8")


def remove_grid(job: Job, found: KnownBuild) -> None:
    shutil.rmtree(cache.cache_dir() / "grid")


@pytest.mark.parametrize("change", [edit_spec, break_spec, alter_object, alter_source, remove_grid])
def test_what_is_missing_is_left_to_the_worker(
    job: Job, change: Callable[[Job, KnownBuild], None]
) -> None:
    found = known_build(job)
    assert found is not None
    change(job, found)
    entries = {entry.path for entry in cache.entries()}
    assert known_build(job) is None
    assert {entry.path for entry in cache.entries()} <= entries  # nothing was built


def test_an_op_that_is_skipped_is_not_looked_up(job: Job) -> None:
    assert known_build(replace(job, skip=("Demo",))) is None


def test_a_lookup_does_without_torch(job: Job) -> None:
    """The worker imports it meanwhile; twice at once would take longer than the lookup saves."""
    code = """
import sys
from msopgen_wrap.run.known_builds import known_build
from msopgen_wrap.run.worker import Job
known_build(Job.from_json(sys.argv[1]))
print("torch" in sys.modules)
"""
    command = [sys.executable, "-c", code, json.dumps(asdict(job))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
