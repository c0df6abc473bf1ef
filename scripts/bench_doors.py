"""Measure what an op costs through the doors that its spec opens, as ratios with goals.

    scripts/bench_doors.py [ENTRY...] [--elements N] [--tensorflow PYTHON] [--json FILE]

Entries, each measured against what it stands beside, in one run; without any, all:

backward    a backward pass of the library's formulas in `fast` mode, float32, against eager
            PyTorch, and the bytes that the forward pass saves for it
generating  `opgen new` of a spec with a gradient against that without one, whole processes
fuse        `msopgen_wrap.fuse` of a transformer block against `torch.export` of it
ort, tf     a call of a kernel at 1M elements through ONNX Runtime and TensorFlow, against the same
            call from torch (tf: --tensorflow names the Python that has it)

Times are those of the CPU's emulation, not of a device. What a call of a small op costs is measured
by bench_npu_call.py.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]
os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from bench_fusion import fusion_seconds  # noqa: E402
from door_calls import onnxruntime_call, tensorflow_call  # noqa: E402

from msopgen_wrap.families.gradients import with_chosen_saving  # noqa: E402
from msopgen_wrap.package.layout import build_local_vendor  # noqa: E402
from msopgen_wrap.project.tree import ProjectOptions, render_project  # noqa: E402
from msopgen_wrap.run.saved_bytes import kept_bytes  # noqa: E402
from msopgen_wrap.spec.loader import parse_spec, with_gradients  # noqa: E402
from msopgen_wrap.spec.model import OpSpec  # noqa: E402

VENDOR = "doorbench"
COLUMNS = 4096
REPEATS = 5
CALL_ELEMENTS = 1 << 20
GENERATIONS = 3
Eager = Callable[..., Any]

#: Entry -> the largest ratio that is good enough.
GOALS = {"backward": 1.5, "generating": 2.0, "fuse": 3.0, "ort": 1.5, "tf": 1.5}


def _rms_norm(x: Any, gamma: Any) -> Any:
    return F.rms_norm(x, [x.shape[-1]], gamma, 1e-6)


def _layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
    return F.layer_norm(x, [x.shape[-1]], gamma, beta, 1e-5)


# spec in the library -> eager PyTorch of its first output
OPS: dict[str, Eager] = {
    "activation/custom_gelu": lambda x: F.gelu(x, approximate="tanh"),
    "norm/softmax": lambda x: torch.softmax(x, -1),
    "norm/custom_layer_norm": _layer_norm,
    "norm/rms_norm": _rms_norm,
}


@dataclass
class Row:
    """One op; seconds and bytes."""

    op: str
    eager_s: float
    kernel_s: float
    eager_saved: int
    kernel_saved: int
    max_abs_error: float


@dataclass
class Figure:
    """One ratio of two times, in seconds."""

    entry: str
    what: str
    other_s: float
    own_s: float

    def __str__(self) -> str:
        ratio, goal = self.own_s / self.other_s, GOALS[self.entry]
        times = f"{self.own_s * 1e3:.2f} / {self.other_s * 1e3:.2f} ms"
        state = "met" if ratio <= goal else "missed"
        return f"{self.entry:<10} {self.what}: {times}, ratio {ratio:.2f} (goal {goal:g}: {state})"


def spec_text(name: str, backward: str) -> str:
    """Return the text of a spec of the library with a line ``backward:`` of its own."""
    text = (ROOT / "op_specs" / f"{name}.yaml").read_text(encoding="utf-8")
    return re.sub(r"^backward: \w+\n", "", text, flags=re.M) + f"\nbackward: {backward}\n"


def kernel_specs(name: str) -> list[OpSpec]:
    """Return an op of the library and the op of its gradients."""
    spec = parse_spec(spec_text(name, "kernel"), name).spec
    assert spec is not None
    return with_chosen_saving(with_gradients([spec]))


def build_package(folder: Path, specs: list[OpSpec]) -> None:
    """Write and compile a package of the ops, and make it importable."""
    for file in render_project(specs, ProjectOptions(vendor=VENDOR)):
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    build_local_vendor(folder, specs, folder / "local" / VENDOR)
    os.environ["ASCEND_CUSTOM_OPP_PATH"] = str(folder / "local" / VENDOR)
    os.environ["OPGEN_EMULATION"] = "fast"
    sys.path.insert(0, str(folder / "torch_ext"))
    __import__(VENDOR)


def measured(forward: Eager, inputs: list[Any]) -> tuple[float, int, tuple[Any, ...]]:
    """Return seconds of a backward pass, bytes saved for it, and the gradients."""

    def first() -> Any:
        result = forward(*inputs)
        return result[0] if isinstance(result, tuple) else result

    y, saved = kept_bytes(first)
    weights = torch.linspace(-1, 1, y.numel()).reshape(y.shape)
    best, grads = float("inf"), ()
    for _ in range(REPEATS):
        start = time.perf_counter()
        grads = torch.autograd.grad(y, inputs, weights, retain_graph=True)
        best = min(best, time.perf_counter() - start)
    return best, saved, grads


def measure(specs: list[OpSpec], eager: Eager, elements: int) -> Row:
    """Measure one op against eager PyTorch."""
    spec = specs[0]
    torch.manual_seed(0)
    rows = max(1, elements // COLUMNS)
    shapes = [(rows, COLUMNS) if p.shape is None else (COLUMNS,) for p in spec.inputs]
    inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]
    op = getattr(getattr(torch.ops, VENDOR), spec.name)
    eager_s, eager_saved, expected = measured(eager, inputs)
    kernel_s, kernel_saved, got = measured(op, inputs)
    error = max(float((g - e).abs().max()) for g, e in zip(got, expected, strict=True))
    return Row(spec.op, eager_s, kernel_s, eager_saved, kernel_saved, error)


def print_rows(rows: list[Row], elements: int) -> None:
    """Print the table of ratios."""
    threads, goal = torch.get_num_threads(), GOALS["backward"]
    print(f"backward of {elements} elements, float32, {threads} threads; goals {goal}, saved 1.0")
    print(f"{'op':<16} {'eager ms':>9} {'kernel ms':>9} {'ratio':>6} {'saved':>6} {'error':>8}")
    for r in rows:
        saved = r.kernel_saved / max(1, r.eager_saved)
        print(
            f"{r.op:<16} {r.eager_s * 1e3:>9.1f} {r.kernel_s * 1e3:>9.1f} "
            f"{r.kernel_s / r.eager_s:>6.2f} {saved:>6.2f} {r.max_abs_error:>8.1e}"
        )


def generation_seconds(name: str) -> tuple[float, float]:
    """Return what `opgen new` of a spec takes without a gradient and with one, by turns."""
    best = {"none": float("inf"), "kernel": float("inf")}
    with tempfile.TemporaryDirectory() as folder:
        for run in range(GENERATIONS):
            for backward, known in best.items():
                spec = Path(folder) / f"{backward}.yaml"
                spec.write_text(spec_text(name, backward), encoding="utf-8")
                project = Path(folder) / f"{backward}_{run}"
                command = [sys.executable, "-m", "msopgen_wrap.cli", "new", str(spec)]
                start = time.perf_counter()
                subprocess.run(
                    [*command, "-o", str(project)],
                    env=os.environ | {"PYTHONPATH": str(ROOT)},
                    stdout=subprocess.DEVNULL,
                    check=True,
                )
                best[backward] = min(known, time.perf_counter() - start)
    return best["none"], best["kernel"]


def call_figures(
    folder: Path, specs: list[OpSpec], entries: list[str], python: Path
) -> list[Figure]:
    """Measure calls of the first op through other frameworks."""
    what = f"{specs[0].name} of {CALL_ELEMENTS} elements, float32"
    figures = []
    if "ort" in entries:
        found = onnxruntime_call(folder, VENDOR, specs, CALL_ELEMENTS)
        figures.append(
            Figure("ort", f"{what}, against torch", found["torch"], found["onnxruntime"])
        )
    if "tf" in entries:
        op, x = getattr(getattr(torch.ops, VENDOR), specs[0].name), torch.randn(CALL_ELEMENTS)
        found = tensorflow_call(folder, VENDOR, specs, python, CALL_ELEMENTS, lambda: op(x))
        figures.append(Figure("tf", f"{what}, against torch", found["torch"], found["tensorflow"]))
    return figures


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("entries", nargs="*", metavar="ENTRY", help=", ".join(GOALS))
    parser.add_argument("--elements", type=int, default=1 << 24, help="of backward")
    parser.add_argument("--tensorflow", type=Path, help="a Python with TensorFlow")
    parser.add_argument("--json", type=Path, help="also write the numbers to a file")
    options = parser.parse_args()
    entries = options.entries or [e for e in GOALS if e != "tf" or options.tensorflow]
    if unknown := sorted({*entries} - {*GOALS}):
        parser.error(f"no entry {', '.join(unknown)}; there are {', '.join(GOALS)}")
    if "tf" in entries and options.tensorflow is None:
        parser.error("tf needs --tensorflow PYTHON")
    rows: list[Row] = []
    figures: list[Figure] = []
    if "generating" in entries:
        figures += [Figure("generating", n, *generation_seconds(n)) for n in OPS]
    if "fuse" in entries:
        exported, fused = fusion_seconds(REPEATS)
        figures += [
            Figure("fuse", "transformer block, first", exported[0], fused[0]),
            Figure("fuse", "transformer block, later", exported[1], fused[1]),
        ]
    if {"backward", "ort", "tf"} & {*entries}:
        names = OPS if "backward" in entries else ["activation/custom_gelu"]
        specs = {name: kernel_specs(name) for name in names}
        with tempfile.TemporaryDirectory() as folder:
            build_package(Path(folder), [s for both in specs.values() for s in both])
            if "backward" in entries:
                rows = [measure(specs[n], eager, options.elements) for n, eager in OPS.items()]
            gelu = specs["activation/custom_gelu"]
            figures += call_figures(Path(folder), gelu, entries, options.tensorflow)
    if rows:
        print_rows(rows, options.elements)
    for figure in figures:
        print(figure)
    if options.json:
        found = {"backward": [asdict(r) for r in rows], "figures": [asdict(f) for f in figures]}
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
