"""What the tests of the ONNX Runtime door run in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# `run` makes a model of one node, loads it with the library and runs it.
PRELUDE = """
import ctypes, logging, sys, warnings
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
import numpy as np, onnx, onnxruntime
from onnx import helper

onnxruntime.set_default_logger_severity(4)
calls = ctypes.CDLL(LIBRARY).opgen_door_calls
calls.argtypes, calls.restype = [ctypes.c_char_p], ctypes.c_uint64
NUMBERS = {"float32": 1, "uint8": 2, "int8": 3, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
           "float16": 10, "float64": 11, "bfloat16": 16}

def session(model, options=None):
    options = options or onnxruntime.SessionOptions()
    options.register_custom_ops_library(LIBRARY)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )

def model(op, arrays, outputs, through=None, known=True, **attrs):
    # through: a dtype between two casts, for dtypes that numpy lacks
    nodes, names, values = [], [], []
    for i, array in enumerate(arrays):
        names.append("" if array is None else f"x{i}")
        if array is not None:
            values.append(helper.make_tensor_value_info(
                f"x{i}", NUMBERS[array.dtype.name], [f"d{i}_{k}" for k in range(array.ndim)]))
    results = [f"y{i}" for i in range(len(outputs))]
    if through:
        casts = [helper.make_node("Cast", [n], [n + "c"], to=NUMBERS[through]) for n in names if n]
        node = helper.make_node(
            op, [n and n + "c" for n in names], [r + "c" for r in results], domain=VENDOR, **attrs)
        back = [helper.make_node("Cast", [r + "c"], [r], to=NUMBERS[o])
                for r, o in zip(results, outputs)]
        nodes = [*casts, node, *back]
    else:
        nodes = [helper.make_node(op, names, results, domain=VENDOR, **attrs)]
    graph = helper.make_graph(nodes, "test", values, [
        helper.make_tensor_value_info(r, NUMBERS[o], None) for r, o in zip(results, outputs)])
    return helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 18), helper.make_opsetid(VENDOR, 1)])

def run(op, arrays, outputs, **kwargs):
    made = session(model(op, arrays, outputs, **kwargs))
    return made.run(None, {f"x{i}": a for i, a in enumerate(arrays) if a is not None})

def error(*args, **kwargs):
    try:
        run(*args, **kwargs)
    except Exception as e:
        return str(e)
    raise SystemExit(f"no error: {args} {kwargs}")

def normal(*shape, dtype="float32"):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)
"""


def run_program(library: Path, vendor: str, code: str, **environment: str) -> str:
    """Run ``code`` after the prelude in a new process; return what it printed."""
    head = f"LIBRARY, VENDOR = {str(library)!r}, {vendor!r}\n"
    env = {k: v for k, v in os.environ.items() if not k.startswith("ASCEND_")}
    done = subprocess.run(
        [sys.executable, "-c", head + PRELUDE + code],
        env=env | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
