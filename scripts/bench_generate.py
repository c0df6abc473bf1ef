"""Time and peak memory of each stage from a spec to a tested kernel, cold and warm.

    scripts/bench_generate.py                        the whole op library
    scripts/bench_generate.py op_specs/norm/softmax.yaml
    scripts/bench_generate.py --waits                only what a user waits for

Stages: check (parse and validate), trace (compute to an ATen graph), schedule (lowering, buffers,
UB proof), render (all files of a project), compile (host library and every kernel object), run (the
case grid in the emulation, sanitizer on). Cold starts with an empty build cache, so the first
compile includes the emulation library; warm repeats it all. Every spec runs in a process of its
own; peak memory is that process's (and, for compile, its largest compiler's) high-water mark in
MiB, which includes torch from the trace stage on.

Without specs the waits of scripts/bench_waits.py follow: a second `opgen test`, the quickstart with
its package stage, the first backward of a process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import bench_waits

ROOT = Path(__file__).resolve().parent.parent
STAGES = ("check", "trace", "schedule", "render", "compile", "run")


def main() -> int:
    """Print one table per temperature; exit code 1 when an op fails a stage."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("specs", nargs="*", type=Path)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--waits", action="store_true", help="measure only the waits")
    parser.add_argument("--no-pip", action="store_true", help="the quickstart without environment")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(options.worker)))
        return 0
    results: dict[str, dict[str, Any]] = {}
    if not options.waits:
        results = stages(options.specs or sorted((ROOT / "op_specs").rglob("*.yaml")))
    failed = any("error" in r for rows in results.values() for r in rows.values())
    if not options.specs:
        rows = bench_waits.waits(pip=not options.no_pip)
        results["waits"] = {row.name.strip(): asdict(row) for row in rows}
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


def stages(specs: list[Path]) -> dict[str, dict[str, Any]]:
    """Measure every stage of the specs, cold and warm, printing a table of each."""
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="opgen-bench-") as cache:
        environment = {
            **os.environ,
            "OPGEN_CACHE_DIR": cache,
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        }
        for temperature in ("cold", "warm"):
            print(f"\n{temperature}: seconds (peak MiB)")
            print(f"{'op':28}" + "".join(f"{stage:>16}" for stage in STAGES))
            rows = results.setdefault(temperature, {})
            for spec in specs:
                rows[spec.stem] = run_worker(spec, environment)
                print(row(spec.stem, rows[spec.stem]), flush=True)
            print(row("all", total(list(rows.values()))))
    return results


def run_worker(spec: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Measure one spec in a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, "--worker", str(spec)],
        env=environment,
        text=True,
        capture_output=True,
    )
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def measure(path: Path) -> dict[str, Any]:
    """Run every stage of one spec and return ``{stage: [seconds, peak MiB]}``."""
    from msopgen_wrap.spec.loader import load_spec

    out: dict[str, Any] = {}

    def stage(name: str, action: Callable[[], Any], own: float | None = None) -> Any:
        started = time.perf_counter()
        value = action()
        seconds = time.perf_counter() - started
        out[name] = [round(seconds if own is None else own, 3), peak_mib()]
        return value

    spec = stage("check", lambda: load_spec(path))
    from msopgen_wrap.families import plan_op
    from msopgen_wrap.graph.tracing import trace
    from msopgen_wrap.graph.variants import variants
    from msopgen_wrap.project import tree as renderer

    if spec.kernel is None:
        stage("trace", lambda: [trace(spec, variant) for variant in variants(spec)])
    else:
        out["trace"] = [0.0, peak_mib()]
    # Planning traces again; its own share is what the trace stage does not account for.
    started = time.perf_counter()
    stage("schedule", lambda: plan_op(spec))
    out["schedule"][0] = round(max(0.0, time.perf_counter() - started - out["trace"][0]), 3)
    files = stage("render", lambda: renderer.render_project([spec], renderer.ProjectOptions()))
    out["render"][0] = round(max(0.0, out["render"][0] - out["trace"][0] - out["schedule"][0]), 3)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        for file in files:
            target = project / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file.text, encoding="utf-8")
        runtime = stage("compile", lambda: compile_project(spec, project))
        stage("run", lambda: run_cases(spec, runtime))
    return out


def compile_project(spec: Any, project: Path) -> Any:
    """Compile host and kernels and register them."""
    from msopgen_wrap.build.operators import build_operators
    from msopgen_wrap.run.op_runtime import OpRuntime

    built = build_operators([spec], project, small=True)
    runtime = OpRuntime()
    runtime.load_host(built.host)
    for key, path in built.kernels[spec.op].items():
        runtime.register_kernel(spec.op, "", key, path, spec.name)
    return runtime


def run_cases(spec: Any, runtime: Any) -> None:
    """Run the default grid; a failing case fails the benchmark."""
    from msopgen_wrap.run.case_runner import run_case
    from msopgen_wrap.run.cases import case_grid

    for case in case_grid(spec):
        result = run_case(spec, case, runtime, soc="ascend910b3", mode="check")
        if result.status == "failed":
            raise SystemExit(f"{result.label}: {result.reason}")


def peak_mib() -> int:
    """High-water mark of this process and its largest child."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return max(own, child) // 1024


def total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Sum the times and take the largest peak of each stage."""
    good = [r for r in rows if "error" not in r]
    if not good:
        return {"error": "every op failed"}
    return {
        stage: [sum(r[stage][0] for r in good), max(r[stage][1] for r in good)] for stage in STAGES
    }


def row(name: str, result: dict[str, Any]) -> str:
    """Format one line of the table."""
    if "error" in result:
        return f"{name:28} failed: {result['error']}"
    cells = "".join(f"{f'{s:.2f} ({m})':>16}" for s, m in (result[stage] for stage in STAGES))
    return f"{name:28}{cells}"


if __name__ == "__main__":
    sys.exit(main())
