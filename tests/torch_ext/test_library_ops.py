"""Every op of the library as a torch package: schema, fake, gradient, against its reference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import find_specs, load_spec
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.torch_ext.render import render_torch_ext
from msopgen_wrap.torch_ext.signature import is_functional

from .packages import run_python, write_package

VENDOR = "libraryv"
SPECS = [load_spec(path) for path in find_specs([data_dir("op_specs")])]


def example(spec: OpSpec) -> dict[str, object]:
    """Return the shapes of the op's first case, and its float32 row of dtypes."""
    rows = [
        i
        for i in range(spec.combos)
        if all(p.dtypes[i] not in ("float16", "bfloat16") for p in spec.inputs)
    ]
    case = spec.cases[0]
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
    # No size above 16: gradients by finite differences are not the point here.
    shape = [min(s, 16) for s in shape]
    t = torch.rand(shape) * (high - low) + low
    if dtype.is_floating_point:
        return t.to(dtype).requires_grad_(grad)
    return t.round().to(dtype)

def leaves(value):
    return [x for v in value for x in leaves(v)] if isinstance(value, (list, tuple)) else [value]

for op in json.loads({json.dumps(json.dumps([example(s) for s in SPECS]))}):
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
    assert [line.split()[0] for line in out.splitlines()] == [s.name for s in SPECS]
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
