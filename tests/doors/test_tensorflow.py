"""The ops in TensorFlow and TensorFlow Lite: libraries are built, ``*_cases.py`` use them.

TensorFlow and LiteRT live in an environment of their own: OPGEN_TF_PYTHON names its Python. Nothing
of them is imported here.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from msopgen_wrap.build.toolchain import warnings_as_errors
from msopgen_wrap.doors.tensorflow_build import chosen_node_types, write_sources
from msopgen_wrap.doors.tensorflow_install import find_tensorflow
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_specs

CASES = {name: Path(__file__).with_name(f"{name}_cases.py") for name in ("tensorflow", "tflite")}
NAMES = [
    (file, name)
    for file, path in CASES.items()
    for name in re.findall(r"^def (case_\w+)", path.read_text(encoding="utf-8"), re.M)
]

SPECS = {
    "custom_add": """
op: CustomAdd
inputs: {x: [float16, bfloat16, float32], y: {dtype: x}}
outputs: {z: {dtype: x, shape: "broadcast(x, y)"}}
compute: x + y
backward: kernel
""",
    "softmax": """
op: Softmax
inputs: {x: {dtype: float32, rank: [1, 8]}}
outputs: {y: like x}
attrs: {dim: {type: int, default: -1, min: -8, max: 7}}
compute: torch.softmax(x, dim)
backward: kernel
""",
    "bias_scale": """
op: BiasScale
inputs: {x: float32, bias: {dtype: x, optional: true, shape: "[x[-1]]"}}
outputs: {y: like x}
attrs: {scale: 1.0}
compute: |
  if bias is None:
      y = x * scale
  else:
      y = (x + bias) * scale
backward: kernel
""",
    "add_rows": """
op: AddRows
inputs: {x: float32, y: {dtype: x, optional: true}}
outputs: {z: {dtype: x, shape: "broadcast(x, y)"}}
compute: |
  if y is None:
      z = x * 2
  else:
      z = x * 2 + y
backward: kernel
""",
    "pick_mean": """
op: PickMean
inputs: {x: {dtype: float32, rank: [1, 4]}}
outputs: {y: {dtype: x, shape: "reduce(x, dims, keep)"}}
attrs: {dims: {type: list_int, default: [-1]}, keep: {type: bool, default: false}}
compute: x.mean(dim=dims, keepdim=keep)
backward: kernel
""",
    "foreach_norm": """
op: ForeachNorm
inputs: {x: {dtype: float32, list: true}}
outputs: {y: {dtype: x, shape: "[]", list: true}}
compute: "[torch.linalg.vector_norm(t) for t in x]"
""",
    "step": """
op: Step
inputs: {var: float32, grad: {dtype: var, shape: like var}}
outputs: {var: {inplace: var}}
attrs: {lr: {type: float}}
compute: var - lr * grad
""",
    "arg_max_row": """
op: ArgMaxRow
inputs: {x: {dtype: float32, rank: [1, 8]}}
outputs: {index: {dtype: int64, shape: "[*x[:-1]]"}}
compute: torch.argmax(x, -1)
backward: none
""",
    "promote": """
op: Promote
inputs: {x: [float16, float16, float32], y: [float16, float32, float16]}
outputs: {z: {dtype: [float16, float32, float32], shape: "broadcast(x, y)"}}
compute: x * y
backward: none
""",
}


def interpreter() -> str:
    """The Python with TensorFlow; without one the test is skipped."""
    python = os.environ.get("OPGEN_TF_PYTHON")
    if not python or not Path(python).exists():
        pytest.skip("no Python with TensorFlow (a venv with opgen[tensorflow]; OPGEN_TF_PYTHON)")
    return python


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The folder that ``opgen build --target tensorflow`` fills, and what it printed."""
    from msopgen_wrap.cli.app import run as opgen

    python = interpreter()
    root = tmp_path_factory.mktemp("tensorflow")
    for name, text in SPECS.items():
        (root / f"{name}.yaml").write_text(text)
    specs = [str(root / f"{name}.yaml") for name in SPECS]
    project = root / "project"
    assert opgen(["new", *specs, "-o", str(project), "--vendor", "acme"]) == 0
    out = root / "out"
    command = ["build", str(project), "-o", str(out), "--target"]
    assert opgen([*command, "tensorflow", "--tensorflow", python]) == 0
    assert opgen([*command, "tflite"]) == 0
    return out


@pytest.fixture(scope="module")
def results(library):
    """What the cases of a file gave, as a function: file -> {name: traceback}."""

    @functools.cache
    def run(file: str) -> dict[str, str]:
        done = subprocess.run(
            [interpreter(), str(CASES[file]), str(library)],
            capture_output=True,
            text=True,
            env={k: v for k, v in os.environ.items() if not k.startswith("ASCEND_")},
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        return json.loads(done.stdout.strip().splitlines()[-1])

    return run


@pytest.mark.slow
@pytest.mark.parametrize(("file", "name"), NAMES)
def test_case(results, file, name):
    assert results(file)[name] == ""


@pytest.mark.slow
def test_the_folder_holds_libraries_modules_and_the_package(library):
    assert sorted(p.name for p in library.iterdir() if p.name not in ("saved", "__pycache__")) == [
        "acme_tf.py",
        "acme_tflite.py",
        "libacme_tf.so",
        "libacme_tflite.so",
        "vendors",
    ]


@pytest.mark.slow
def test_another_tensorflow_is_refused(library, tmp_path):
    text = (library / "acme_tf.py").read_text()
    text = re.sub(r'_BUILT_FOR = ".*"', '_BUILT_FOR = "1.15.0"', text)
    (tmp_path / "acme_tf.py").write_text(text)
    done = subprocess.run(
        [interpreter(), "-c", "import acme_tf"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "ImportError: OPG552: acme_tf was built for TensorFlow 1.15.0, this is" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_library_of_ops_compiles_without_a_warning(compiler, tmp_path):
    path = shutil.which(compiler)
    if path is None:
        pytest.skip(f"no {compiler} on this machine")
    specs = load_specs([data_dir("op_specs")])
    found = find_tensorflow(Path(interpreter()), [spec.op for spec in specs])
    assert {"Softmax", "Asinh"} <= found.taken
    source = write_sources(specs, "acme", chosen_node_types(specs, "acme", found), tmp_path)
    flags = warnings_as_errors("clang" if "clang" in compiler else "gcc")
    command = [path, *flags, *found.compile_flags, "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
