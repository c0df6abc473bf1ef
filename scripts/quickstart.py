"""The steps of quickstart.sh after the environment stands; prints a summary at the end."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "op_specs" / "elementwise" / "fused_add_relu.yaml"
VENDOR = "quickstart"

MODEL = '''
"""A torch.nn.Module that calls the custom op; run by quickstart.py in a process of its own."""
import sys
import torch

sys.path.insert(0, sys.argv[1])
import quickstart as package


class Residual(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 64)

    def forward(self, x):
        return torch.ops.quickstart.fused_add_relu(self.linear(x), x)


torch.manual_seed(0)
model = Residual()
x = torch.randn(8, 64)
y = model(x)
if package.last_backend() != "emulated":
    sys.exit(f"the op ran {package.last_backend()!r}, not the emulated kernel")
want = torch.relu(model.linear(x) + x)
torch.testing.assert_close(y, want)
y.sum().backward()
print(f"output {tuple(y.shape)}, equal to torch.relu(a + b); gradient norm "
      f"{model.linear.weight.grad.norm():.3f}; kernel: {package.last_backend()}")
'''


def main() -> int:
    """Run every step; stop at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="?", type=Path, default=ROOT / "build" / "quickstart")
    parser.add_argument("--setup-seconds", type=float, default=0.0)
    parser.add_argument(
        "--stages", type=Path, help="write {stage: [seconds, seconds of CPU]} to this file"
    )
    options = parser.parse_args()
    work = options.work.resolve()
    if work.exists():
        shutil.rmtree(work)
    work.mkdir(parents=True)
    project, opp = work / "project", work / "opp"
    times = {"environment": options.setup_seconds}
    cpu = {"environment": 0.0}
    steps = 5

    def step(number: int, title: str, *arguments: str | Path) -> str:
        print(f"[{number}/{steps}] {title}", flush=True)
        started, used = time.perf_counter(), children_cpu()
        output = run_opgen(*map(str, arguments))
        times[title] = time.perf_counter() - started
        cpu[title] = children_cpu() - used
        return output

    step(1, "scaffold", "new", SPEC, "-o", project, "--vendor", VENDOR)
    report = json.loads(step(2, "compile and test", "test", project, "--json"))
    build = json.loads(
        step(3, "package", "build", project, "--target", "cpu", "-o", work / "dist", "--json")
    )
    package = Path(build["run"])
    print(f"[4/{steps}] install", flush=True)
    started = time.perf_counter()
    subprocess.run(["sh", package, "--quiet", f"--install-path={opp}"], check=True)
    times["install"] = time.perf_counter() - started
    print(f"[5/{steps}] torch module", flush=True)
    started = time.perf_counter()
    model = work / "model.py"
    model.write_text(MODEL, encoding="utf-8")
    environment = {
        **os.environ,
        "ASCEND_CUSTOM_OPP_PATH": str(opp / "vendors" / VENDOR),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }
    ran = subprocess.run(
        [sys.executable, model, project / "torch_ext"],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
    )
    if ran.returncode:
        sys.exit(f"the torch module failed with exit code {ran.returncode}")
    times["torch module"] = time.perf_counter() - started
    summarise(report, package, opp, ran.stdout.strip(), times)
    if options.stages:
        stages = {name: [times[name], cpu[name]] for name in cpu}
        options.stages.write_text(json.dumps(stages, indent=1) + "\n", encoding="utf-8")
    return 0


def children_cpu() -> float:
    """Return the user and system time of all child processes so far, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_opgen(*arguments: str) -> str:
    """Run one opgen command; its errors go to the terminal as they are."""
    command = [sys.executable, "-m", "msopgen_wrap.cli", *arguments]
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE)
    if result.returncode:
        print(result.stdout)
        sys.exit(f"failed: opgen {' '.join(arguments)} (exit code {result.returncode})")
    return result.stdout


def summarise(report: dict, package: Path, opp: Path, module: str, times: dict[str, float]) -> None:
    """Print what was proved, where things are and how long each stage took."""
    (op,) = report["ops"]
    cases = [c for c in op["cases"] if c["status"] == "passed"]
    findings = sum(len(c["findings"]) for c in op["cases"])
    checked = sum(c["mode"] == "check" for c in cases)
    worst = max(c["maximum"] for c in cases)
    print()
    print(f"op          {op['op']}: {len(cases)} of {len(op['cases'])} cases passed")
    print(f"accuracy    max relative error {worst:.3g} against the float64 reference")
    print(f"sanitizer   {findings} findings in {checked} checked cases")
    print(f"package     {package}")
    print(f"installed   {opp}")
    print(f"torch       {module}")
    stages = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in times.items())
    print(f"time        {stages}; total {sum(times.values()):.1f} s")


if __name__ == "__main__":
    sys.exit(main())
