"""Time one kernel called through ONNX Runtime against the same kernel called from torch.

    scripts/ort_call.py [--elements N] [--op NAME]

Both run in this process, by turns, on one package. ``bench_doors.py --onnxruntime`` prints it, too.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]
os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from msopgen_wrap.doors.onnxruntime import build_onnxruntime  # noqa: E402
from msopgen_wrap.manifest import ProjectTree  # noqa: E402
from msopgen_wrap.spec.model import OpSpec  # noqa: E402

ROUNDS = 20
CALLS = 10


def best_call(call: Callable[[], Any]) -> float:
    """Return the seconds of the fastest of some calls."""
    best = float("inf")
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def session_call(library: Path, vendor: str, spec: OpSpec, inputs: Sequence[Any]) -> Any:
    """Return a call of one node on numpy arrays, float32: ``session.run``, outputs and all."""
    import onnxruntime
    from onnx import helper

    names = [f"x{i}" for i in range(len(inputs))]
    outputs = [o.name for o in spec.outputs]
    graph = helper.make_graph(
        [helper.make_node(spec.op, names, outputs, domain=vendor)],
        "call",
        [
            helper.make_tensor_value_info(n, 1, list(x.shape))
            for n, x in zip(names, inputs, strict=True)
        ],
        [helper.make_tensor_value_info(name, 1, None) for name in outputs],
    )
    imports = [helper.make_opsetid("", 18), helper.make_opsetid(vendor, 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(library))
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    fed = dict(zip(names, inputs, strict=True))
    return lambda: session.run(None, fed)


def onnxruntime_call(
    project: Path, vendor: str, specs: Sequence[OpSpec], elements: int
) -> dict[str, float]:
    """Return the seconds of a call of the first op, float32, from torch and from ONNX Runtime.

    Args:
        project: root of the generated project, whose torch package can be imported.
        vendor: its vendor.
        specs: its ops.
        elements: size of each input.

    Raises:
        RuntimeError: the two do not agree.
    """
    import torch

    tree = ProjectTree(project, vendor, "8.1", (), tuple(specs))
    library = build_onnxruntime(tree, project / "onnxruntime").library
    torch.manual_seed(0)
    inputs = [torch.randn(elements) for _ in specs[0].inputs]
    op = getattr(getattr(torch.ops, vendor), specs[0].name)
    run = session_call(library, vendor, specs[0], [x.numpy() for x in inputs])
    if not torch.equal(op(*inputs), torch.from_numpy(run()[0])):
        raise RuntimeError(f"{specs[0].op} gives other values in ONNX Runtime than in torch")
    seconds = {"torch": float("inf"), "onnxruntime": float("inf")}
    for _ in range(ROUNDS):
        seconds["torch"] = min(seconds["torch"], best_call(lambda: op(*inputs)))
        seconds["onnxruntime"] = min(seconds["onnxruntime"], best_call(run))
    return seconds


def main() -> int:
    """Measure and print."""
    from bench_doors import VENDOR, build_package

    from msopgen_wrap.spec.loader import load_spec

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--elements", type=int, default=1 << 20)
    parser.add_argument("--op", default="elementwise/my_add", help="in op_specs")
    options = parser.parse_args()
    spec = load_spec(ROOT / "op_specs" / f"{options.op}.yaml")
    with tempfile.TemporaryDirectory() as folder:
        build_package(Path(folder), [spec])
        seconds = onnxruntime_call(Path(folder), VENDOR, [spec], options.elements)
    print(
        f"{spec.op} of {options.elements} elements, float32: "
        + ", ".join(f"{name} {s * 1e3:.3f} ms" for name, s in seconds.items())
        + f", ratio {seconds['onnxruntime'] / seconds['torch']:.2f}"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
