"""The times a user waits for: a second ``opgen test``, the quickstart, the first backward.

    scripts/bench_waits.py             whole quickstart, with a virtual environment of its own
    scripts/bench_waits.py --no-pip    the quickstart's steps after the environment

Also part of ``scripts/bench_generate.py``. Each row has seconds of wall time and of CPU (user and
system, all processes), the target, and the ratio of CPU to a peer measured in the same run
where there is one: on a busy machine the ratio and the CPU time tell more than the wall time.
The build cache is empty at the start; pip's is what the machine has.
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
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "op_specs" / "elementwise" / "fused_add_relu.yaml"
REPEATS = 3

BACKWARD = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
import torch, quickstart
x = torch.randn(8, 64, requires_grad=True)
y = torch.ops.quickstart.fused_add_relu(x, x)
before, cpu = time.perf_counter(), time.process_time()
y.sum().backward()
print(json.dumps([time.perf_counter() - before, time.process_time() - cpu]))
"""


@dataclass
class Row:
    """One wait.

    Attributes:
        seconds, cpu: wall time, and user and system time of all processes.
        target: seconds of wall time on a quiet machine; 0 for a peer.
        peer: what it is held against; ``peer_cpu`` the CPU time of that.
    """

    name: str
    seconds: float
    cpu: float
    target: float = 0.0
    peer: str = ""
    peer_cpu: float = 0.0

    def text(self) -> str:
        """Return the row as a line of the table."""
        ratio = f"{self.cpu / self.peer_cpu:.1f} x {self.peer}" if self.peer else ""
        target = f"{self.target:g}" if self.target else "-"
        return f"{self.name:32}{self.seconds:>9.2f}{self.cpu:>9.2f}{target:>9}  {ratio}".rstrip()


def timed(command: list[str], environment: dict[str, str]) -> tuple[float, float, str]:
    """Run a command; return its wall time, the CPU time of it and its children, its output.

    Raises:
        SystemExit: it failed.
    """
    before, used = time.perf_counter(), _children()
    done = subprocess.run(command, env=environment, cwd=ROOT, text=True, capture_output=True)
    seconds, cpu = time.perf_counter() - before, _children() - used
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        raise SystemExit(f"failed: {' '.join(command)} (exit code {done.returncode})")
    return seconds, cpu, done.stdout


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def best(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the least wall time and the least CPU time of several runs."""
    runs = [timed(command, environment) for _ in range(REPEATS)]
    return min(run[0] for run in runs), min(run[1] for run in runs)


def import_torch(environment: dict[str, str]) -> Row:
    """What every process that uses torch waits for: the peer of other rows."""
    seconds, cpu = best([sys.executable, "-c", "import torch"], environment)
    return Row("import torch", seconds, cpu)


def second_test(environment: dict[str, str], peer: Row) -> list[Row]:
    """``opgen test SPEC`` once everything is built."""
    command = [sys.executable, "-m", "msopgen_wrap.cli", "test", str(SPEC)]
    timed(command, environment)
    return [Row("second opgen test SPEC", *best(command, environment), 3, peer.name, peer.cpu)]


def quickstart(folder: Path, environment: dict[str, str], pip: bool) -> list[Row]:
    """The quickstart and its package stage."""
    work, numbers = folder / "work", folder / "stages.json"
    tail = [str(work), "--stages", str(numbers)]
    if pip:
        command = ["bash", "scripts/quickstart.sh", *tail]
        environment = {**environment, "OPGEN_VENV": str(folder / "venv")}
    else:
        command = [sys.executable, "scripts/quickstart.py", *tail]
    seconds, cpu, _ = timed(command, environment)
    stages = json.loads(numbers.read_text(encoding="utf-8"))
    name = "quickstart" if pip else "quickstart without pip"
    return [Row(name, seconds, cpu, 75), Row("  its package stage", *stages["package"], 10)]


def first_backward(folder: Path, environment: dict[str, str], peer: Row) -> list[Row]:
    """The first backward of a process through an op; its import and forward are not in it."""
    project = folder / "work" / "project" / "torch_ext"
    opp = folder / "work" / "opp" / "vendors" / "quickstart"
    environment = {**environment, "ASCEND_CUSTOM_OPP_PATH": str(opp)}
    command = [sys.executable, "-c", BACKWARD, str(project)]
    runs = [json.loads(timed(command, environment)[2]) for _ in range(REPEATS)]
    best_of = (min(run[0] for run in runs), min(run[1] for run in runs))
    return [Row("first backward in a process", *best_of, 1, peer.name, peer.cpu)]


def waits(pip: bool) -> list[Row]:
    """Measure every row, printing each as it is known."""
    print(f"\nwaits: seconds{'':18}{'wall':>9}{'CPU':>9}{'target':>9}  CPU against a peer")
    rows: list[Row] = []

    def take(found: list[Row]) -> None:
        rows.extend(found)
        for row in found:
            print(row.text(), flush=True)

    with tempfile.TemporaryDirectory(prefix="opgen-waits-") as name:
        folder = Path(name)
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        }
        environment["OPGEN_CACHE_DIR"] = str(folder / "cache")
        # As an installed kit has it: its modules are compiled once.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        take(quickstart(folder, environment, pip))
        peer = import_torch(environment)
        take([peer, *first_backward(folder, environment, peer)])
        take(second_test(environment, peer))
    return rows


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-pip", action="store_true", help="leave the environment out")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    rows = waits(pip=not options.no_pip)
    if options.json:
        text = json.dumps([asdict(row) for row in rows], indent=1) + "\n"
        options.json.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
