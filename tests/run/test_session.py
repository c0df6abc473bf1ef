"""The test worker: what a parent finds in the cache for it, how it ends, and what does not end."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from msopgen_wrap.build import cache, operators
from msopgen_wrap.build.operators import BuiltOperators
from msopgen_wrap.cli.app import run as opgen
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.run import session
from msopgen_wrap.run.cached_specs import accepted_shapes, rendered_spec
from msopgen_wrap.run.known_builds import KnownBuild, known_build
from msopgen_wrap.run.results import CRASHED
from msopgen_wrap.run.worker import Job
from msopgen_wrap.spec.loader import load_specs

# ---- The test worker's end: what it runs may end it, and that is no success ----------------------

# Ends in its first op unless that is to be skipped.
WORKER = """
import json, os, signal, sys
job = json.loads(sys.stdin.read())
def emit(**event):
    print(json.dumps(event), flush=True)
for op in ("First", "Second"):
    if op in job["skip"]:
        continue
    emit(event="op", op=op, spec=op + ".yaml")
    emit(event="case_start", op=op, label="case 1")
    if op == "First":
        {end}
emit(event="end")
"""
ENDS = {
    "os._exit(0)": "was ended with exit code 0",
    "sys.exit(0)": "was ended with exit code 0",
    "os._exit(3)": "was ended with exit code 3",
    "os.kill(os.getpid(), signal.SIGKILL)": "died with SIGKILL",
    "os.kill(os.getpid(), signal.SIGSTOP)": "it stopped itself (SIGSTOP)",
    "os.abort()": "died with SIGABRT",
}
JOB = Job(("a.yaml",), None, "ascend910b3", "opgen", "auto", False, "")


def worker(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(session, "WORKER", [sys.executable, "-c", text])


@pytest.mark.parametrize("end", ENDS)
def test_an_op_that_ends_the_worker_has_crashed(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    worker(monkeypatch, WORKER.replace("{end}", end))
    report = session.run_tests(JOB)
    first, second = report.ops
    (case,) = first.cases
    assert (case.status, case.label) == (CRASHED, "case 1") and ENDS[end] in case.reason
    assert not report.passed and second.op == "Second"  # which ran in another worker


def test_a_worker_that_ends_before_its_first_op_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker(monkeypatch, "import sys; sys.stdin.read()")
    with pytest.raises(OpgenError, match="exit code 0"):
        session.run_tests(JOB)


def test_a_worker_that_was_started_before_the_job_takes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker(monkeypatch, WORKER.replace("{end}", "pass"))
    with session.WorkerProcess() as started:
        monkeypatch.setattr(session, "WORKER", ["false"])
        report = session.run_tests(JOB, worker=started)
    assert [op.op for op in report.ops] == ["First", "Second"] and not started.is_free


def test_a_worker_without_a_job_is_ended_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    worker(monkeypatch, deaf)
    begin = time.perf_counter()
    with session.WorkerProcess():
        pass
    assert time.perf_counter() - begin < session._END_SECONDS


# ---- An op whose handwritten kernel does not end: ``opgen test`` stops it and names its line -----

SPEC = """\
op: EndlessAdd
doc: x + 1, by a loop that forgets to go on.
inputs:
  x: {dtype: [float32], rank: [1, 2]}
outputs:
  y: {dtype: x, shape: like x}
kernel: endless_add.cpp
compute: x + 1
"""
KERNEL = """\
#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/project.h"
#include "opgen/tile.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void endless_add(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                  GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> xGm;
    xGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 256);
    LocalTensor<float> tile = buffer.Get<float>();
    for (uint32_t at = 0; at < 8;) opgen::LoadRange(tile, xGm, 1);  // endless
}
"""


def test_an_endless_kernel_of_a_spec(tmp_path, capsys):
    (tmp_path / "endless.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "endless_add.cpp").write_text(KERNEL, encoding="utf-8")
    assert opgen(["test", str(tmp_path / "endless.yaml"), "--timeout", "1", "-k", "x="]) == 1
    said = "".join(capsys.readouterr())
    rows = KERNEL.split("\n")
    line = next(i for i, row in enumerate(rows, 1) if row.endswith("// endless"))
    assert f"op_kernel/endless_add.cpp:{line}:" in said
    assert "error[OPG533]: op EndlessAdd" in said and "did not end within 1 s" in said
    assert "calls void opgen::LoadRange<float>" in said  # the block, behind the kernel's own line
    assert "cases of EndlessAdd did not run" in said


# ---- What a parent of the test worker finds in the cache: all of a job's first op, or nothing ----

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
