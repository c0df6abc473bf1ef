#!/usr/bin/env python3
"""Measure what one call costs: a custom op on emulated npu tensors against the CPU routes.

    python scripts/bench_npu_call.py [--elements 16] [--calls 300] [--json FILE]

Builds and installs a package with one op (relu(x + y), float32) in a temporary folder, then times
tiny calls: the op on npu tensors, the op through the CPU key (the same emulated kernel), a plain
torch C++ extension that computes the same, and eager PyTorch on both devices. The time is the
median of rounds of ``--calls`` calls each, with one synchronisation per round.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

SPEC = """\
op: BenchAddRelu
doc: relu(x + y)
inputs: {x: [float32], y: x}
outputs: {z: "broadcast(x, y)"}
compute: torch.relu(x + y)
"""

EXTENSION = """\
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>
static at::Tensor add_relu(const at::Tensor& x, const at::Tensor& y) {
    at::Tensor z = at::empty_like(x);
    const float* a = x.const_data_ptr<float>();
    const float* b = y.const_data_ptr<float>();
    float* c = z.mutable_data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) c[i] = a[i] + b[i] > 0 ? a[i] + b[i] : 0;
    return z;
}
TORCH_LIBRARY(bench_plain, m) { m.def("add_relu(Tensor x, Tensor y) -> Tensor"); }
TORCH_LIBRARY_IMPL(bench_plain, CPU, m) { m.impl("add_relu", &add_relu); }
"""


def opgen(*arguments: str) -> None:
    """Run an opgen command, showing its output only when it fails."""
    env = dict(
        os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    )
    command = [sys.executable, "-m", "msopgen_wrap.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode:
        sys.exit(f"opgen {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")


def install_op(work: Path) -> Path:
    """Build and install the op; return the folder of its torch package."""
    (work / "spec.yaml").write_text(SPEC, encoding="utf-8")
    project, out = work / "project", work / "out"
    opgen("new", str(work / "spec.yaml"), "-o", str(project), "--vendor", "bench")
    opgen("build", str(project), "--target", "cpu", "-o", str(out))
    (archive,) = out.glob("*.run")
    target = work / "opp"
    subprocess.run(["sh", str(archive), "--quiet", f"--install-path={target}"], check=True)
    os.environ["ASCEND_CUSTOM_OPP_PATH"] = str(target / "vendors" / "bench")
    return project / "torch_ext"


def load_extension(work: Path) -> None:
    """Compile and load the plain C++ extension."""
    import torch

    from msopgen_wrap.build.toolchain import common_flags, find_toolchain, run_compiler

    source, library = work / "plain.cpp", work / "libplain.so"
    source.write_text(EXTENSION, encoding="utf-8")
    tool, root = find_toolchain(), Path(torch.__file__).parent
    include = root / "include"
    command = [tool.cxx, "-shared", *common_flags(tool), "-O2", f"-isystem{include}"]
    command += [f"-isystem{include / 'torch' / 'csrc' / 'api' / 'include'}", str(source)]
    command += ["-o", str(library), f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"]
    run_compiler(command, source)
    torch.ops.load_library(str(library))


def microseconds(call: Callable[[], object], finish: Callable[[], None], calls: int) -> float:
    """Median over rounds of the time per call."""
    for _ in range(20):
        call()
    finish()
    rounds = []
    for _ in range(7):
        started = time.perf_counter()
        for _ in range(calls):
            call()
        finish()
        rounds.append((time.perf_counter() - started) / calls * 1e6)
    return statistics.median(rounds)


def main() -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=16)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()

    import msopgen_wrap.npu  # isort: skip  (before torch)
    import torch
    import torch_npu  # noqa: F401

    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        sys.path.insert(0, str(install_op(work)))
        importlib.import_module("bench")
        load_extension(work)
        x, y = torch.randn(arguments.elements), torch.randn(arguments.elements)
        a, b = x.to("npu"), y.to("npu")
        custom, plain = torch.ops.bench.bench_add_relu, torch.ops.bench_plain.add_relu
        sync = torch.npu.synchronize

        def nothing() -> None:
            """CPU calls are complete when they return."""

        rows = {
            "custom op, npu tensors (emulated kernel)": (lambda: custom(a, b), sync),
            "custom op, CPU key (emulated kernel)": (lambda: custom(x, y), nothing),
            "plain C++ extension, CPU": (lambda: plain(x, y), nothing),
            "eager relu(x + y), npu tensors": (lambda: torch.relu(a + b), sync),
            "eager relu(x + y), CPU": (lambda: torch.relu(x + y), nothing),
        }
        assert torch.equal(custom(a, b).cpu(), plain(x, y))
        result = {
            name: round(microseconds(call, finish, arguments.calls), 1)
            for name, (call, finish) in rows.items()
        }
    runtime = msopgen_wrap.npu.choice()
    print(f"runtime: {runtime.kind} ({runtime.reason}); {arguments.elements} elements")
    for name, value in result.items():
        print(f"{value:10.1f} us  {name}")
    if arguments.json:
        text = json.dumps({"runtime": runtime.kind, "us": result}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
