"""Specs to torch on real parts: generated host code and kernels in the emulation, no stand-in."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.package.layout import build_local_vendor
from msopgen_wrap.project.tree import ProjectOptions, render_project

from .fakes import spec
from .packages import run_python

pytestmark = pytest.mark.slow

TWIN = """
op: TwinOp
inputs: {{x: float32, y: float32}}
outputs: {{z: {{dtype: float32, shape: "broadcast(x, y)"}}}}
attrs: {{alpha: 2.0}}
compute: {compute}
"""
STEP = """
op: StepAndNorm
inputs: {var: float32, grad: float32}
outputs: {var: {inplace: var}, size: {dtype: float32, shape: like grad}}
attrs: {lr: 0.5}
compute: |
  var = var - lr * grad
  size = torch.abs(grad)
backward: none
"""


def build(root: Path, vendor: str, texts: list[str]) -> Path:
    """Scaffold and compile a project; return its root."""
    specs = [spec(text) for text in texts]
    for file in render_project(specs, ProjectOptions(vendor=vendor)):
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    build_local_vendor(root, specs, root / "local" / vendor)
    return root


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [TWIN.format(compute="torch.relu(x + alpha * y)"), STEP]
    return build(tmp_path_factory.mktemp("first"), "firstv", texts)


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("second"), "secondv", [TWIN.format(compute="x * y - alpha")]
    )


LAUNCHES = """
import ctypes, torch
def launches(package, op):
    count = ctypes.CDLL(package.library_path(op)).opgen_launch_count
    count.restype = ctypes.c_uint64
    return count()
"""


def test_the_emulated_kernel_runs(first: Path) -> None:
    run_python(
        first,
        LAUNCHES
        + """
import firstv
op = torch.ops.firstv.twin_op
def want(x, y, alpha=2.0):
    return torch.relu(x + alpha * y)
x, y = torch.randn(6, 8), torch.randn(6, 8)
op(x, y)
before = launches(firstv, "twin_op")
cases = [(x, y), (x, y[0]), (x[:, :1], y[:1]), (x.t(), y.t()), (x[::2, 1:], y[::2, 1:]),
         (x[0, 0], y[1, 1]), (torch.randn(1, 2, 3, 1, 5), torch.randn(3, 4, 1)),
         (torch.randn(40000), torch.randn(40000))]
for a, b in cases:
    torch.testing.assert_close(op(a, b, -0.5), want(a, b, -0.5))
assert launches(firstv, "twin_op") == before + len(cases)
assert op(x[:0], y[:0]).shape == (0, 8)
var, grad = torch.randn(4, 6), torch.randn(4, 3)
expected = var.clone()
expected[:, ::2] -= 0.25 * grad
size = torch.ops.firstv.step_and_norm(var[:, ::2], grad, 0.25)
torch.testing.assert_close(var, expected)
torch.testing.assert_close(size, grad.abs())
assert firstv.last_backend() == "emulated"
""",
        ASCEND_CUSTOM_OPP_PATH=str(first / "local" / "firstv"),
    )


def test_opcheck_gradients_and_compile(first: Path) -> None:
    run_python(
        first,
        """
import torch, firstv
from torch.library import opcheck
op = torch.ops.firstv.twin_op
x = torch.randn(3, 4, requires_grad=True)
y = torch.randn(4, requires_grad=True)
for call, arguments in [(op.default, (x, y)), (op.default, (x, y, 0.5)),
                        (torch.ops.firstv.step_and_norm.default, (x.detach(), x.detach() + 1))]:
    results = opcheck(call, arguments)
    assert len(results) == 4 and set(results.values()) == {"SUCCESS"}
def model(a, b):
    return (op(a, b) * a).sum()
torch.compile(model, fullgraph=True, dynamic=True)(x, y).backward()
got = x.grad, y.grad
x.grad = y.grad = None
(torch.relu(x + 2 * y) * x).sum().backward()
torch.testing.assert_close(got, (x.grad, y.grad))
""",
        ASCEND_CUSTOM_OPP_PATH=str(first / "local" / "firstv"),
    )


def test_the_sanitizer_watches_calls_from_torch(first: Path) -> None:
    run_python(
        first,
        """
import io, contextlib, torch, firstv
x = torch.randn(3, 5)
torch.ops.firstv.twin_op(x, x)
assert firstv.findings() == [] and firstv.call_count() == 1
from firstv._runtime import library
with contextlib.redirect_stderr(io.StringIO()) as text:
    library._report()
assert text.getvalue() == "opgen sanitizer: firstv: clean, 1 calls\\n", text.getvalue()
""",
        OPGEN_EMULATION="check",
        ASCEND_CUSTOM_OPP_PATH=str(first / "local" / "firstv"),
    )


@pytest.mark.parametrize("order", ["firstv:secondv", "secondv:firstv"])
def test_two_vendors_with_an_op_of_one_type(first: Path, second: Path, order: str) -> None:
    folders = {"firstv": first / "local" / "firstv", "secondv": second / "local" / "secondv"}
    run_python(
        first,
        f"""
import sys
sys.path.append({str(second / "torch_ext")!r})
import torch, firstv, secondv
x, y = torch.randn(5, 7), torch.randn(5, 7)
for _ in range(2):
    torch.testing.assert_close(torch.ops.firstv.twin_op(x, y), torch.relu(x + 2 * y))
    torch.testing.assert_close(torch.ops.secondv.twin_op(x, y), x * y - 2)
assert firstv.call_count() == secondv.call_count() == 2
""",
        ASCEND_CUSTOM_OPP_PATH=":".join(str(folders[v]) for v in order.split(":")),
    )
