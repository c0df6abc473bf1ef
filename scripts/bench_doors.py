"""Measure what an op costs through the doors that its spec opens: gradients, other frameworks.

    scripts/bench_doors.py [--elements N] [--onnxruntime] [--tensorflow PYTHON] [--json FILE]

The library's formulas with ``backward: kernel`` against eager PyTorch, float32, in one process: the
time of a backward pass in `fast` mode (best of several runs), and the bytes that the forward pass
saves for it. With ``--onnxruntime`` or ``--tensorflow``, also a call of a kernel at 1M elements
there, against the same call from torch. Times are those of the CPU's emulation, not of a device.
"""

from __future__ import annotations

import argparse
import json
import os
import re
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
from door_calls import tensorflow_call  # noqa: E402
from ort_call import onnxruntime_call  # noqa: E402

from msopgen_wrap.package.layout import build_local_vendor  # noqa: E402
from msopgen_wrap.project.tree import ProjectOptions, render_project  # noqa: E402
from msopgen_wrap.spec.loader import parse_spec, with_gradients  # noqa: E402
from msopgen_wrap.spec.model import OpSpec  # noqa: E402

VENDOR = "doorbench"
COLUMNS = 4096
REPEATS = 5
CALL_ELEMENTS = 1 << 20
Eager = Callable[..., Any]


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


def kernel_specs(name: str) -> list[OpSpec]:
    """Return an op of the library and the op of its gradients."""
    text = (ROOT / "op_specs" / f"{name}.yaml").read_text(encoding="utf-8")
    if not re.search(r"^backward:", text, re.M):
        text += "\nbackward: kernel\n"
    spec = parse_spec(text, name).spec
    assert spec is not None
    return with_gradients([spec])


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


def saved_bytes(run: Callable[[], Any]) -> int:
    """Return the bytes of the tensors that a forward pass saves, each storage once."""
    storages: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = run()
    del result
    return sum(storages.values())


def measured(forward: Eager, inputs: list[Any]) -> tuple[float, int, tuple[Any, ...]]:
    """Return seconds of a backward pass, bytes saved for it, and the gradients."""

    def first() -> Any:
        result = forward(*inputs)
        return result[0] if isinstance(result, tuple) else result

    saved = saved_bytes(first)
    y = first()
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
    print(f"backward of {elements} elements, float32, {torch.get_num_threads()} threads")
    print(f"{'op':<16} {'eager ms':>9} {'kernel ms':>9} {'ratio':>6} {'saved':>6} {'error':>8}")
    for r in rows:
        saved = r.kernel_saved / max(1, r.eager_saved)
        print(
            f"{r.op:<16} {r.eager_s * 1e3:>9.1f} {r.kernel_s * 1e3:>9.1f} "
            f"{r.kernel_s / r.eager_s:>6.2f} {saved:>6.2f} {r.max_abs_error:>8.1e}"
        )


def print_call(framework: str, torch_s: float, other_s: float) -> None:
    """Print the ratio of one call through a framework to the same call from torch."""
    print(
        f"custom_gelu of {CALL_ELEMENTS} elements, float32: torch {torch_s * 1e3:.2f} ms, "
        f"{framework} {other_s * 1e3:.2f} ms, ratio {other_s / torch_s:.2f}"
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--elements", type=int, default=1 << 24)
    parser.add_argument("--onnxruntime", action="store_true", help="also time calls through it")
    parser.add_argument("--tensorflow", type=Path, help="a Python with TensorFlow")
    parser.add_argument("--json", type=Path, help="also write the rows to a file")
    options = parser.parse_args()
    specs = {name: kernel_specs(name) for name in OPS}
    with tempfile.TemporaryDirectory() as folder:
        build_package(Path(folder), [s for both in specs.values() for s in both])
        rows = [measure(specs[name], eager, options.elements) for name, eager in OPS.items()]
        gelu = specs["activation/custom_gelu"]
        if options.onnxruntime:
            seconds = onnxruntime_call(Path(folder), VENDOR, gelu, CALL_ELEMENTS)
            print_call("ONNX Runtime", seconds["torch"], seconds["onnxruntime"])
        if options.tensorflow is not None:
            call = getattr(torch.ops, VENDOR).custom_gelu
            x = torch.randn(CALL_ELEMENTS)
            seconds = tensorflow_call(
                Path(folder), VENDOR, gelu, options.tensorflow, CALL_ELEMENTS, lambda: call(x)
            )
            print_call("TensorFlow", seconds["torch"], seconds["tensorflow"])
    print_rows(rows, options.elements)
    if options.json:
        options.json.write_text(json.dumps([asdict(r) for r in rows], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
