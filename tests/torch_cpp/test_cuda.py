"""The CUDA kernels of `--backend torch-cuda`: their text, and that nvcc takes them. No GPU here."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

import extension_specs as specs
import pytest
import torch
from test_extension import includes

from msopgen_wrap.cli.app import run
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_specs, parse_spec
from msopgen_wrap.torch_cpp.cuda_source import cuda_functions
from msopgen_wrap.torch_cpp.extension import render_extension, with_extension_gradients

LIBRARY = data_dir("op_specs")
FROM_LIBRARY = ("activation/custom_gelu", "norm/softmax", "norm/custom_layer_norm")

# Functions that std:: has on the device too, integers, and every kind of reduction.
FUNCTIONS = """\
op: ManyFunctions
doc: what a formula may call for one element
inputs:
  x: {dtype: [float16, bfloat16, float32], rank: [1, 8]}
  n: {dtype: int32, rank: [1, 8]}
outputs:
  y: {dtype: x, shape: "broadcast(x, n)"}
  m: {dtype: int32, shape: like n}
attrs:
  slope: 0.5
compute: |
  a = torch.erf(x) + torch.asinh(x) + torch.expm1(x) * torch.log1p(x.abs()) + torch.lgamma(x.abs())
  b = torch.atan2(a, x) + torch.hypot(a, x) + torch.pow(x.abs(), slope) + torch.fmod(x, 3.0)
  y = torch.where(torch.isnan(b) | (x > n), b.round(), torch.sign(x) * slope) + F.gelu(x)
  m = torch.remainder(n, 7) + n // 3 + (n & 5)
backward: none
"""
REDUCTIONS = """\
op: ManyReductions
doc: every kind of reduction of a row
inputs:
  x: {dtype: [float32, bfloat16, float16], rank: [1, 8]}
  n: {dtype: [int32, uint8, int64], shape: like x}
outputs:
  least: {dtype: x, shape: "[*x[:-1]]"}
  place: {dtype: int64, shape: "[*x[:-1]]"}
  total: {dtype: int64, shape: "[*x[:-1]]"}
  product: {dtype: float32, shape: "[*x[:-1]]"}
  some: {dtype: bool, shape: "[*x[:-1]]"}
  every: {dtype: bool, shape: "[*x[:-1]]"}
  y: like x
compute: |
  least, place = torch.min(x, -1)
  total = n.sum(-1)
  product = x.float().prod(-1)
  some = (n > 3).any(-1)
  every = (n > 3).all(-1)
  y = (x - x.mean(-1, keepdim=True)) * n.amax(-1, keepdim=True)
backward: none
"""


def spec_of(text: str):
    result = parse_spec(text, "op.yaml")
    assert result.spec is not None, result.diagnostics
    return result.spec


@functools.lru_cache(maxsize=1)
def generated() -> dict[str, str]:
    own = [spec_of(t) for t in (specs.CUSTOM_ADD, specs.OPTIONAL, specs.STATISTICS)]
    own += [spec_of(FUNCTIONS), spec_of(REDUCTIONS)]
    library = load_specs([LIBRARY / f"{op}.yaml" for op in FROM_LIBRARY])
    chosen, _ = with_extension_gradients([*own, *library], "torch-cuda")
    return {f.path: f.text for f in render_extension(chosen, "acme", "torch-cuda")}


def test_how_the_extension_is_built(golden):
    own = {p: t for p, t in generated().items() if p in ("setup.py", "pyproject.toml")}
    golden(Path(__file__).resolve().parent / "golden" / "cuda_setup.golden", own)


@pytest.mark.parametrize("op", ["custom_add", "softmax"])
def test_sources(op, golden):
    """One op of elements and one of rows: the kernels and their gradients."""
    own = {p: t for p, t in generated().items() if p.startswith(f"csrc/cuda/{op}")}
    assert {f"csrc/cuda/{op}.cu", f"csrc/cuda/{op}_grad.cu"} <= set(own)
    golden(Path(__file__).resolve().parent / "golden" / f"cuda_{op}.golden", own)


def test_kernels_are_free_of_torch():
    files = generated()
    kernels = {p: t for p, t in files.items() if p.endswith((".cu", ".cuh", "_kernels.h"))}
    assert {"csrc/cuda/softmax.cu", "csrc/cuda/custom_add_grad.cu"} <= set(kernels)
    for path, text in {**kernels, "": files["csrc/cuda/kernel_layouts.h"]}.items():
        for word in ("torch/", "ATen", "c10", "at::"):
            assert word not in text, (path, word)
    assert "TORCH_LIBRARY_IMPL(acme, CUDA, m)" in files["csrc/cuda/softmax_cuda.cpp"]


def test_elements_and_rows():
    add = generated()["csrc/cuda/custom_add.cu"]
    assert "int64_t{gridDim.x} * blockDim.x" in add and "BlockReduce" not in add
    softmax = generated()["csrc/cuda/softmax.cu"]
    assert "row < call.layout.rows.count; row += gridDim.x" in softmax
    assert "gpu::BlockReduce(amax_part, gpu::Larger())" in softmax
    assert "float sum_part = 0;" in softmax and "double" not in softmax
    swish = generated()["csrc/cuda/shifted_swish.cu"]
    assert "call.beta" in swish  # an attr of the host is a member of the kernel's argument


def test_the_cpu_half_is_that_of_torch_cpp():
    specs_ = load_specs([LIBRARY / "norm" / "softmax.yaml"])
    chosen, _ = with_extension_gradients(specs_, "torch-cuda")
    with_cuda = {f.path: f.text for f in render_extension(chosen, "acme", "torch-cuda")}
    without = {f.path: f.text for f in render_extension(chosen, "acme")}
    for path in ("csrc/softmax.cpp", "csrc/library.cpp", "acme/ops/softmax.py"):
        assert with_cuda[path] == without[path]
    assert set(without) < set(with_cuda)
    compile(with_cuda["setup.py"], "setup.py", "exec")
    assert "def test_cuda" in with_cuda["tests/test_softmax.py"]
    assert "def test_cuda" not in without["tests/test_softmax.py"]


def test_products_are_refused(tmp_path, capfd):
    with pytest.raises(OpgenError) as caught:
        cuda_functions(spec_of(specs.CUSTOM_MATMUL))
    assert caught.value.diagnostics[0].code == "OPG580"
    spec = tmp_path / "op.yaml"
    spec.write_text(specs.CUSTOM_MATMUL, encoding="utf-8")
    root = tmp_path / "project"
    assert run(["new", str(spec), "--backend", "torch-cuda", "-o", str(root)]) == 1
    assert "OPG580" in capfd.readouterr().err and not root.exists()


def test_new_keeps_the_backend_of_a_project(tmp_path, capfd):
    spec = tmp_path / "custom_add.yaml"
    spec.write_text(specs.CUSTOM_ADD, encoding="utf-8")
    root = tmp_path / "project"
    assert run(["new", str(spec), "--backend", "torch-cuda", "-o", str(root)]) == 0
    assert (root / "csrc/cuda/custom_add.cu").is_file()
    assert run(["new", "-o", str(root)]) == 0
    assert "unchanged" in capfd.readouterr().out
    assert run(["new", "-o", str(root), "--backend", "torch-cpp"]) == 1
    assert "OPG573" in capfd.readouterr().err


@pytest.mark.parametrize(
    "path",
    [
        "custom_add.cu",
        "softmax.cu",
        "softmax_cuda.cpp",
        "softmax_kernels.h",
        "row_statistics.cu",
        "kernel_functions.cuh",
        "kernel_layouts.h",
        "device_arguments.h",
    ],
)
def test_sources_are_formatted(path):
    specs.assert_formatted(path, generated()[f"csrc/cuda/{path}"])


# ---- compilers -----------------------------------------------------------------------------------


def nvcc() -> Path:
    found = os.environ.get("OPGEN_NVCC") or shutil.which("nvcc")
    if not found:
        pytest.skip("no nvcc: neither OPGEN_NVCC nor one in PATH")
    return Path(found)


@pytest.fixture
def project(tmp_path):
    for path, text in generated().items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for ending, unit in ((".cu", "unit.cu"), ("_cuda.cpp", "unit.cpp")):
        own = sorted(p for p in (tmp_path / "csrc/cuda").iterdir() if p.name.endswith(ending))
        lines = "".join(f'#include "{p}"\n' for p in own)
        (tmp_path / unit).write_text(lines, encoding="utf-8")
    return tmp_path


def compiled(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


# What torch.utils.cpp_extension passes; the implicit conversions of half precision are off.
NVCC_FLAGS = ["-std=c++17", "--expt-relaxed-constexpr", "-D__CUDA_NO_HALF_OPERATORS__"]
NVCC_FLAGS += ["-D__CUDA_NO_HALF_CONVERSIONS__", "-D__CUDA_NO_BFLOAT16_CONVERSIONS__"]
NVCC_FLAGS += ["-D__CUDA_NO_HALF2_OPERATORS__", "-Xcompiler", "-Wall,-Wextra,-Werror"]


@pytest.mark.slow
def test_nvcc_compiles_the_kernels_without_a_warning(project):
    command = [str(nvcc()), *NVCC_FLAGS, "-Werror", "all-warnings", "-arch=sm_80"]
    compiled([*command, "-c", "unit.cu", "-o", "unit.o"], project)
    assert (project / "unit.o").stat().st_size > 100_000
    broken = project / "csrc/cuda/softmax.cu"
    broken.write_text(broken.read_text().replace("gpu::Larger()", "gpu::Missing()"), "utf-8")
    with pytest.raises(AssertionError, match="Missing"):
        compiled([*command, "-c", "unit.cu", "-o", "unit.o"], project)


def cuda_headers(tool: Path) -> Path:
    """The folder of cuda_runtime_api.h, as nvcc itself finds it."""
    done = subprocess.run(
        [str(tool), "-M", "-x", "cu", "-"],
        input="#include <cuda_runtime_api.h>\n",
        capture_output=True,
        text=True,
        timeout=100,
    )
    words = done.stdout.replace("\\", " ").split()
    return next(Path(w).parent for w in words if w.endswith("/cuda_runtime_api.h"))


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_dispatch_compiles_without_a_warning(project, compiler):
    headers = cuda_headers(nvcc())
    if not (Path(torch.__file__).parent / "include/c10/cuda/CUDAGuard.h").is_file():
        pytest.skip("this torch has no headers for CUDA")
    # A CPU build of torch has all headers but the one that CMake writes for CUDA builds.
    macros = project / "stub/c10/cuda/impl/cuda_cmake_macros.h"
    macros.parent.mkdir(parents=True)
    macros.write_text("#pragma once\n", encoding="utf-8")
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *includes()]
    compiled([*command, "-isystem", str(headers), "-isystem", "stub", "unit.cpp"], project)
