"""Time one kernel called through TensorFlow against the same kernel called from torch.

Part of ``bench_doors.py``. The half that runs in TensorFlow's Python is a program of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msopgen_wrap.doors.tensorflow_build import build_tensorflow
from msopgen_wrap.manifest import ProjectTree
from msopgen_wrap.spec.model import OpSpec

ROUNDS = 3
CALLS = 30

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


def best_call(call: Callable[[], Any]) -> float:
    """Return the seconds of the fastest of some calls."""
    best = float("inf")
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def tensorflow_call(
    project: Path,
    vendor: str,
    specs: Sequence[OpSpec],
    python: Path,
    elements: int,
    torch_call: Callable[[], Any],
) -> dict[str, float]:
    """Return the seconds of a call of the first op, float32, from torch and from TensorFlow.

    The two take turns, so that both see the machine as it is.

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
    for _ in range(ROUNDS):
        seconds["torch"] = min(seconds["torch"], best_call(torch_call))
        done = subprocess.run(
            [*command, str(elements), str(CALLS)],
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
