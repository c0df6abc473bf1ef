"""A torch C++ extension, compiled and called: values, gradients, dtypes, strides, torch.compile."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import extension_specs as specs
import pytest
import torch

from msopgen_wrap.build.toolchain import find_toolchain
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_specs, parse_spec
from msopgen_wrap.torch_cpp.extension import render_extension, with_extension_gradients

pytestmark = pytest.mark.slow

LIBRARY = data_dir("op_specs")
OWN = (
    specs.CUSTOM_ADD,
    specs.CUSTOM_MATMUL,
    specs.LINEAR,
    specs.OPTIONAL,
    specs.STATISTICS,
    specs.ROW_ENERGY,
)
FROM_LIBRARY = ("activation/custom_gelu", "norm/softmax", "norm/rms_norm", "norm/custom_layer_norm")
STRICT = ("-Wall", "-Wextra", "-Werror")


def includes() -> list[str]:
    root = Path(torch.__file__).parent / "include"
    folders = (root, root / "torch" / "csrc" / "api" / "include", sysconfig.get_paths()["include"])
    return [part for folder in folders for part in ("-isystem", str(folder))]


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    """The folder of a built extension: all sources as one unit, which is what setup.py links."""
    own = [parse_spec(text, "op.yaml").spec for text in OWN]
    chosen, _ = with_extension_gradients(
        [*own, *load_specs([LIBRARY / f"{op}.yaml" for op in FROM_LIBRARY])]
    )
    root = tmp_path_factory.mktemp("extension")
    for file in render_extension(chosen, "acme_cpp"):
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    unit = root / "unit.cpp"
    unit.write_text(
        "".join(f'#include "{p}"\n' for p in sorted((root / "csrc").glob("*.cpp"))), "utf-8"
    )
    torch_libraries = Path(torch.__file__).parent / "lib"
    command = [find_toolchain().cxx, "-std=c++20", "-O1", "-fopenmp", "-fPIC", "-shared", *STRICT]
    command += [*includes(), str(unit), "-o", str(root / "acme_cpp" / "_C.so")]
    command += [f"-L{torch_libraries}", "-ltorch_cpu", "-lc10", "-ltorch"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return root


def python(root: Path, *arguments: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def test_clang_takes_the_sources_without_a_warning(extension):
    command = ["clang++", "-std=c++20", "-fsyntax-only", *STRICT, *includes(), "unit.cpp"]
    done = subprocess.run(command, cwd=extension, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_tests_of_the_project_pass(extension):
    assert " failed" not in python(
        extension, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"
    )


CALLS = """
import math, torch, acme_cpp
from torch.testing import assert_close
ops = torch.ops.acme_cpp
torch.manual_seed(0)
x, y = torch.randn(3, 1, 5), torch.randn(4, 1)
assert_close(ops.custom_add(x, y), x + y)                                  # broadcast
assert ops.custom_add(torch.randn(0, 3), torch.randn(3)).shape == (0, 3)   # empty
assert_close(ops.custom_add(torch.tensor(1.0), torch.tensor(2.0)), torch.tensor(3.0))
t = torch.randn(6, 8).t()[::2]
assert_close(ops.custom_add(t, t), t + t)                                  # strided
i = torch.tensor([2**31 - 1, -5], dtype=torch.int32)
assert_close(ops.custom_add(i, -i), i - i)
a, b = torch.randn(7, 33), torch.randn(12, 33).t()
assert_close(ops.custom_matmul(a, b), a @ b)
assert ops.custom_matmul(torch.randn(2, 0), torch.randn(0, 3)).tolist() == [[0.0] * 3] * 2
for dim in (0, 1, 2, -1, -2):                                              # every axis
    z = torch.randn(3, 4, 5)
    assert_close(ops.softmax(z, dim), torch.softmax(z, dim))
    v = z.permute(2, 0, 1)
    assert_close(ops.softmax(v, dim), torch.softmax(v, dim))
for shape in ((5,), (3, 5), (2, 3, 5), (2, 1, 3, 5)):                      # every rank
    z = torch.randn(shape, requires_grad=True)
    g, c = torch.randn(5, requires_grad=True), torch.randn(5, requires_grad=True)
    mine = ops.custom_layer_norm(z, g, c, 1e-5)
    right = torch.nn.functional.layer_norm(z.double(), [5], g.double(), c.double())
    assert_close(mine.double(), right, rtol=1e-5, atol=1e-5)
    w = torch.randn(shape)
    found = torch.autograd.grad((mine * w).sum(), (z, g, c))
    for got, wanted in zip(found, torch.autograd.grad((right * w).sum(), (z, g, c))):
        assert_close(got, wanted, rtol=1e-4, atol=1e-5)
    w = torch.randn(shape[:-1])
    (found,) = torch.autograd.grad((ops.row_energy(z) * w).sum(), z)
    assert_close(found, torch.autograd.grad((z.square().mean(-1) * w).sum(), z)[0])
n = torch.tensor([[1.0, math.nan, 3.0], [-math.inf, 2.0, 2.0]])
largest, place, power = ops.row_statistics(n)
assert_close(largest, n.amax(-1), equal_nan=True)
assert place.tolist() == torch.argmax(n, -1).tolist()
h = torch.randn(4, 1000, dtype=torch.float16)
assert_close(ops.softmax(h, -1), torch.softmax(h.float(), -1).half())
for how in ("plain", "squared"):
    for shift in (None, torch.randn(3, 4)):
        z = torch.randn(3, 4)
        s = z * torch.sigmoid(2.0 * z)
        s = s * s if how == "squared" else s
        assert_close(ops.shifted_swish(z, shift, 2.0, how), s if shift is None else s + shift)
for wrong in (
    lambda: ops.custom_add(torch.zeros(2), torch.zeros(2, dtype=torch.int32)),
    lambda: ops.custom_add(torch.zeros(2), torch.zeros(3)),
    lambda: ops.custom_matmul(torch.zeros(2, 3), torch.zeros(4, 5)),
    lambda: ops.custom_layer_norm(torch.zeros(2, 3), torch.zeros(4), torch.zeros(3), 1e-5),
    lambda: ops.shifted_swish(torch.zeros(2), None, 1.0, "cubed"),
):
    try:
        wrong()
    except RuntimeError as error:
        assert "custom_" in str(error) or "swish" in str(error) or "size" in str(error), error
    else:
        raise AssertionError("accepted")


@torch.compile(fullgraph=True, backend="aot_eager", dynamic=True)
def compiled(z, g):
    return acme_cpp.softmax(ops.custom_add(z, g), -1).square().sum()


z, g = torch.randn(3, 5, requires_grad=True), torch.randn(5, requires_grad=True)
found = torch.autograd.grad(compiled(z, g), (z, g))
wanted = torch.autograd.grad(torch.softmax(z + g, -1).square().sum(), (z, g))
for got, right in zip(found, wanted):
    assert_close(got, right)
print("done")
"""


def test_calls(extension):
    assert python(extension, "-c", CALLS).endswith("done\n")
