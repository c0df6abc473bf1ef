"""Specs to torch packages: every op of the library, and real parts without a stand-in."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from msopgen_wrap.package.layout import build_local_vendor
from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_specs
from msopgen_wrap.spec.model import Case, OpSpec, ParamKind
from msopgen_wrap.torch_ext.render import render_torch_ext
from msopgen_wrap.torch_ext.signature import is_functional

from .fakes import spec
from .packages import run_python, write_package

# ---- Every op of the library as a torch package: schema, fake, gradient, against its reference ---

VENDOR = "libraryv"
SPECS = load_specs([data_dir("op_specs")])


def _elements(case: Case) -> int:
    """Return the elements of all inputs of a case; an absent one has None, a list its shapes."""
    given = [s for s in case.shapes.values() if s is not None]
    shapes = (s if s and not isinstance(s[0], int) else [s] for s in given)
    return sum(math.prod(one) for many in shapes for one in many)


def example(spec: OpSpec) -> dict[str, object]:
    """Return the shapes of the op's smallest case, and its float32 row of dtypes.

    Sizes are not cut further: inputs may depend on one another, as a half axis does.
    """
    rows = [
        i
        for i in range(spec.combos)
        if all(p.dtypes[i] not in ("float16", "bfloat16") for p in spec.inputs)
    ]
    case = min(spec.cases, key=_elements)
    dtypes = [p.dtypes[rows[0] if rows else 0] for p in spec.inputs]
    inputs = []
    for param, dtype in zip(spec.inputs, dtypes, strict=True):
        shapes = case.shapes.get(param.name)
        if shapes is None and param.kind is not ParamKind.OPTIONAL:
            shapes = next(iter(case.shapes.values()))
        low = 0.1 if param.low is None else max(param.low, 0.0)
        high = 1.0 if param.high is None else min(param.high, 4.0)
        inputs.append([dtype, param.kind is ParamKind.DYNAMIC, shapes, low, high])
    return {
        "name": spec.name,
        "inputs": inputs,
        "attrs": {a.name: case.attrs[a.name] for a in spec.attrs if a.name in case.attrs},
        "functional": is_functional(spec),
        "gradient": spec.backward != "none",
    }


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_package(tmp_path_factory.mktemp("library"), SPECS, VENDOR)


@pytest.mark.slow
def test_every_op_passes_opcheck_and_has_the_gradient_of_its_reference(package: Path) -> None:
    out = run_python(
        package,
        f"""
import json, torch, {VENDOR} as package
from torch.library import opcheck
torch.manual_seed(0)

def tensor(dtype, shape, low, high, grad):
    dtype = getattr(torch, dtype)
    t = torch.rand(shape) * (high - low) + low
    if dtype.is_floating_point:
        return t.to(dtype).requires_grad_(grad)
    return t.round().to(dtype)

def leaves(value):
    return [x for v in value for x in leaves(v)] if isinstance(value, (list, tuple)) else [value]

for op in json.loads({json.dumps(json.dumps([example(s) for s in SPECS if not s.differentiated]))}):
    grad = op["functional"] and op["gradient"]
    inputs = []
    for dtype, is_list, shapes, low, high in op["inputs"]:
        if shapes is None:
            inputs.append(None)
        elif is_list:
            inputs.append([tensor(dtype, s, low, high, grad) for s in shapes])
        else:
            inputs.append(tensor(dtype, shapes, low, high, grad))
    overload = getattr(torch.ops.{VENDOR}, op["name"]).default
    names = [a.name for a in overload._schema.arguments[len(inputs):]]
    defaults = {{
        a.name: a.default_value for a in overload._schema.arguments if a.has_default_value()
    }}
    attrs = [op["attrs"].get(n, defaults.get(n)) for n in names]
    try:
        results = opcheck(overload, (*inputs, *attrs))
        assert set(results.values()) == {{"SUCCESS"}}, results
        if grad:
            wanted = [t for t in leaves(inputs) if t is not None and t.requires_grad]
            def gradients(outputs):
                total = sum((o.float() * o.float().cos().detach()).sum()
                            for o in leaves(outputs) if o.is_floating_point())
                return torch.autograd.grad(total, wanted, allow_unused=True)
            reference = getattr(package.reference, op["name"])
            call = dict(zip(names, attrs))
            call = {{k: (package._runtime.checks.as_dtype(v) if k == "dtype" else v)
                    for k, v in call.items()}}
            expected = gradients(reference(*inputs, **call))
            for got, want in zip(gradients(overload(*inputs, *attrs)), expected, strict=True):
                want = torch.zeros_like(got) if want is None and got is not None else want
                torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    except Exception as error:
        raise SystemExit(f"{{op['name']}}: {{error}}")
    print(op["name"], "gradient" if grad else "")
""",
        OPGEN_CPU_KERNEL="reference",
    )
    assert [line.split()[0] for line in out.splitlines()] == [
        s.name for s in SPECS if not s.differentiated
    ]
    assert sum("gradient" in line for line in out.splitlines()) >= 15


def test_generated_text_is_stable_compiles_and_names_its_source() -> None:
    first = render_torch_ext(SPECS, VENDOR)
    assert first == render_torch_ext(SPECS, VENDOR)
    assert len({f.path for f in first}) == len(first)
    for file in first:
        assert "generated by opgen from" in file.text.splitlines()[0], file.path
        assert file.text.endswith("\n") and not file.text.endswith("\n\n"), file.path
        if file.path.endswith(".py"):
            compile(file.text, file.path, "exec")


# --------------------------------------------------------------------------------------------------
# Specs to torch on real parts: generated host code and kernels in the emulation, no stand-in.

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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
