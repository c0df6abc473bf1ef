"""Gradients in torch by kernels of several products, and by cores that add by atomics."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.package.layout import build_local_vendor
from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.spec.loader import parse_spec, with_gradients

from .packages import run_python

pytestmark = pytest.mark.slow

ATTEND = """
op: Attend
inputs:
  q: {dtype: float16, rank: 3}
  k: {dtype: q, rank: 3}
  v: {dtype: q, rank: 3}
outputs:
  y: {dtype: q, shape: "[q[0], q[1], v[2]]"}
compute: F.scaled_dot_product_attention(q, k, v)
backward: kernel
cases:
  - {q: [2, 5, 16], k: [2, 7, 16], v: [2, 7, 16]}
"""
SCALED = """
op: Scaled
inputs:
  x: {dtype: float32, rank: 2}
  w: {dtype: x, shape: "[x[-1]]"}
outputs:
  y: like x
compute: x.softmax(-1) * w
backward: kernel
deterministic: false
"""

HEAD = """
import torch
from torch.nn.functional import scaled_dot_product_attention as attention
import addv
torch.manual_seed(0)
def leaves(*shapes, dtype=torch.float32):
    return [torch.randn(s).to(dtype).requires_grad_() for s in shapes]
def golden(function, inputs, weights):
    own = [t.detach().double().requires_grad_() for t in inputs]
    return torch.autograd.grad((function(*own) * weights.double()).sum(), own)
def close(got, want, atol):
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape
        torch.testing.assert_close(g.double(), w, rtol=atol, atol=atol)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("addv")
    parsed = [parse_spec(text).spec for text in (ATTEND, SCALED)]
    specs = with_gradients([spec for spec in parsed if spec is not None])
    assert len(specs) == 4
    for file in render_project(specs, ProjectOptions(vendor="addv")):
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    build_local_vendor(root, specs, root / "local/addv")
    return root


def run(package: Path, code: str) -> None:
    run_python(package, HEAD + code, ASCEND_CUSTOM_OPP_PATH=str(package / "local/addv"))


def test_attention_with_kernels_in_compile_and_export(package: Path) -> None:
    run(
        package,
        """
op = torch.ops.addv.attend
compiled = torch.compile(op, backend="aot_eager", fullgraph=True, dynamic=True)
for q, k, v in (((2, 5, 16), (2, 7, 16), (2, 7, 24)), ((3, 40, 32), (3, 65, 32), (3, 65, 16))):
    inputs = leaves(q, k, v, dtype=torch.float16)
    weights = torch.randn(*q[:2], v[2]).half()
    want = golden(attention, inputs, weights)
    for call in (op, compiled):
        close(torch.autograd.grad((call(*inputs) * weights).sum(), inputs), want, 1e-2)
        (part,) = torch.autograd.grad((call(*inputs) * weights).sum(), inputs[1])
        close([part], [want[1]], 1e-2)
class Model(torch.nn.Module):
    def forward(self, q, k, v): return op(q, k, v) * 2
inputs = [t.detach() for t in inputs]
exported = torch.export.export(Model(), tuple(inputs))
assert "addv.attend.default" in exported.graph_module.code
want = attention(*(t.double() for t in inputs)) * 2
close([exported.module()(*inputs)], [want], 1e-2)
""",
    )


def test_cores_that_add_by_atomics(package: Path) -> None:
    text = (package / "op_kernel/scaled_grad.cpp").read_text(encoding="utf-8")
    assert "row_atomic_columns.h" in text
    run(
        package,
        """
op = torch.ops.addv.scaled
compiled = torch.compile(op, backend="aot_eager", fullgraph=True, dynamic=True)
def formula(x, w): return x.softmax(-1) * w
for shape in ((3, 5), (4000, 33), (700, 130), (2, 9000), (0, 7), (1, 1)):
    inputs = leaves(shape, shape[-1:])
    weights = torch.randn(shape)
    want = golden(formula, inputs, weights)
    for call in (op, compiled):
        for _ in range(2):  # nothing is left in the sums by the call before
            close(torch.autograd.grad((call(*inputs) * weights).sum(), inputs), want, 1e-4)
""",
    )
