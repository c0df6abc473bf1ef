"""Calls that ask no gradient pass the Python kernel of autograd by; others take it as before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from msopgen_wrap.torch_ext.build import build_binding, package_dir

from .fakes import VENDOR, fake_specs
from .packages import run_python, write_package

PRELUDE = f"""
import sys, torch
import {VENDOR} as package
from {VENDOR}._runtime import autograd_entry
ops = torch.ops.{VENDOR}
x, y = torch.randn(6, 8), torch.randn(6, 8)
g, h = x.clone().requires_grad_(), y.clone().requires_grad_()

def kernel_runs(function):
    # Whether the Python kernel that register_autograd makes runs in the call.
    seen = []
    def watch(frame, event, argument):
        if event == "call" and frame.f_code.co_name == "autograd_impl":
            seen.append(frame)
    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(None)
    return bool(seen)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_package(tmp_path_factory.mktemp("entry"), fake_specs(), VENDOR)


@pytest.fixture
def vendor(fake_vendor: Path) -> dict[str, str | None]:
    return {"ASCEND_CUSTOM_OPP_PATH": str(fake_vendor), "ASCEND_OPP_PATH": None}


def test_the_python_kernel_runs_only_where_a_gradient_is_asked(project: Path, vendor: dict) -> None:
    run_python(
        project,
        PRELUDE
        + f"""
assert autograd_entry.is_installed("{VENDOR}::fake_add")
assert not autograd_entry.is_installed("{VENDOR}::fake_step")  # in place
calls = [
    (lambda: ops.fake_add(x, y), False),
    (lambda: ops.fake_add(x), False),  # an optional input that is absent
    (lambda: ops.fake_add.default(g.detach(), y=y), False),
    (lambda: ops.fake_add(g, y), True),
    (lambda: ops.fake_add(x, h), True),
    (lambda: ops.fake_each([x, y], [y, x]), False),
    (lambda: ops.fake_each([x, y], [y, g]), True),  # an element of a list
    (lambda: ops.fake_fail(x, "none", [3]), False),
    (lambda: ops.fake_fail(g, "none", [3]), True),
]
for index, (call, asks) in enumerate(calls):
    assert kernel_runs(call) is asks, index
    with torch.no_grad():
        assert not kernel_runs(call), index
    with torch.inference_mode():
        assert not kernel_runs(call), index
    assert call()[0].requires_grad is asks, index

z = ops.fake_add(x, y)
assert z.grad_fn is None and z.is_leaf and not z.requires_grad
first, = torch.autograd.grad(ops.fake_add(g, h).square().sum(), g, create_graph=True)
second, = torch.autograd.grad(first.sum(), g)
torch.testing.assert_close(second, 2.0 * (x + y > 0))

with torch.autograd.forward_ad.dual_level():
    dual = torch.autograd.forward_ad.make_dual(x, y)
    assert kernel_runs(lambda: ops.fake_add(dual, y))  # as ever; torch.library has no jvp
""",
        **vendor,
    )


def test_transforms_subclasses_and_modes_see_the_op(project: Path, vendor: dict) -> None:
    run_python(
        project,
        PRELUDE
        + """
from torch.utils._python_dispatch import TorchDispatchMode
from torch.fx.experimental.proxy_tensor import make_fx

class Calls(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))

with Calls() as calls:
    ops.fake_add(x, y)
assert calls.names == ["fakevendor.fake_add.default"], calls.names

for options in ({}, {"pre_dispatch": True}, {"tracing_mode": "symbolic", "pre_dispatch": True}):
    graph = make_fx(lambda a, b: ops.fake_add(a, b), **options)(x, y)
    assert [str(n.target) for n in graph.graph.nodes if n.op == "call_function"] == calls.names

# A view with lazy bits: the dispatcher resolves them below autograd.
z = torch.complex(x, y).conj().imag
assert z.is_neg()
torch.testing.assert_close(ops.fake_add(z), torch.relu(z.resolve_neg()))

meta = ops.fake_add(x.to("meta"), y.to("meta"))
assert meta.device.type == "meta" and meta.shape == x.shape
""",
        **vendor,
    )


def test_without_the_entry_calls_take_the_python_kernel(project: Path, vendor: dict) -> None:
    code = """
assert not autograd_entry.is_installed("fakevendor::fake_add")
assert kernel_runs(lambda: ops.fake_add(x, y))
torch.testing.assert_close(ops.fake_add(x, y), torch.relu(x + y))
"""
    run_python(project, PRELUDE + code, OPGEN_AUTOGRAD_ENTRY="0", **vendor)


@pytest.mark.slow
def test_headers_that_do_not_fit_are_said_and_not_tried_again(tmp_path: Path, vendor: dict) -> None:
    project = write_package(tmp_path, fake_specs(), VENDOR)
    csrc = package_dir(project, VENDOR) / "csrc"
    # Built ahead, so that only the entry is compiled at import.
    build_binding(project, VENDOR, into_package=True)
    (package_dir(project, VENDOR) / "_opgen_autograd.so").unlink()
    code = """
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import fakevendor
from fakevendor._runtime import autograd_entry, build
assert not autograd_entry.is_installed("fakevendor::fake_add")
print(*(w.message for w in said))
"""
    source = csrc / "autograd_entry.cpp"
    source.write_text('#error "another dispatcher"\n')
    record = package_dir(project, VENDOR) / "_opgen_binding.json"
    fitting = json.loads(record.read_text())
    from msopgen_wrap.torch_ext.build import _runtime

    record.write_text(json.dumps({**fitting, "sources": _runtime()._sources_hash(csrc)}))
    cache = {"OPGEN_CACHE_DIR": str(tmp_path / "cache")}
    said = run_python(project, code, **vendor, **cache)
    assert "calls of fakevendor take some microseconds more" in said
    assert "another dispatcher" in said
    again = run_python(project, code, OPGEN_CXX="false", **vendor, **cache)
    assert again == said
    none = run_python(
        project, code, OPGEN_CXX="no-such-compiler", OPGEN_CACHE_DIR=str(tmp_path / "b"), **vendor
    )
    assert none == "\n"
