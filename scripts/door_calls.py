"""Time one kernel called through another framework against the same kernel called from torch.

Part of ``bench_doors.py``. ONNX Runtime runs in this process; the half that runs in TensorFlow's
Python is a program of its own. The calls take turns, so that both see the machine as it is.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msopgen_wrap.doors.onnxruntime import build_onnxruntime
from msopgen_wrap.doors.tensorflow_build import build_tensorflow
from msopgen_wrap.manifest import ProjectTree
from msopgen_wrap.spec.model import OpSpec

CALLS = 10
ROUNDS = 20
# TensorFlow starts anew in each, which takes seconds.
PROCESSES = 3
CALLS_IN_PROCESS = 30

_PROGRAM = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import importlib
import tensorflow as tf
op = getattr(importlib.import_module(sys.argv[2]), sys.argv[3])
x = tf.random.normal([int(sys.argv[4])])
best = float("inf")
for _ in range(int(sys.argv[5])):
    start = time.perf_counter()
    op(x)
    best = min(best, time.perf_counter() - start)
print(json.dumps(best))
"""


def best_call(call: Callable[[], Any], calls: int = CALLS) -> float:
    """Return the seconds of the fastest of some calls."""
    best = float("inf")
    for _ in range(calls):
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


def tensorflow_call(
    project: Path,
    vendor: str,
    specs: Sequence[OpSpec],
    python: Path,
    elements: int,
    torch_call: Callable[[], Any],
) -> dict[str, float]:
    """Return the seconds of a call of the first op, float32, from torch and from TensorFlow.

    Args:
        project: root of the generated project.
        vendor: its vendor.
        specs: the ops to build for TensorFlow; the first takes one tensor.
        python: the interpreter with TensorFlow.
        elements: size of the tensor.
        torch_call: the same op called from torch on a tensor of this size.
    """
    out = project / "tensorflow"
    build_tensorflow(ProjectTree(project, vendor, "8.1", (), tuple(specs)), out, python=python)
    command = [str(python), "-c", _PROGRAM, str(out), f"{vendor}_tf", specs[0].name]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASCEND_")}
    seconds = {"torch": float("inf"), "tensorflow": float("inf")}
    for _ in range(PROCESSES):
        seconds["torch"] = min(seconds["torch"], best_call(torch_call, CALLS_IN_PROCESS))
        done = subprocess.run(
            [*command, str(elements), str(CALLS_IN_PROCESS)],
            env=environment | {"TF_CPP_MIN_LOG_LEVEL": "3"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2000:])
        measured = float(json.loads(done.stdout.strip().splitlines()[-1]))
        seconds["tensorflow"] = min(seconds["tensorflow"], measured)
    return seconds
