"""Generate, compile and run one op in the emulation, against float64 PyTorch."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

import torch

from msopgen_wrap.build.emulation import compile_kernel, compile_shared
from msopgen_wrap.build.kernel_tiling import kernel_tiling_header
from msopgen_wrap.build.operators import HOST_HEADERS, dtype_key, kernel_defines
from msopgen_wrap.diagnostics import Location
from msopgen_wrap.families import plan_op
from msopgen_wrap.render.files import host_blocks
from msopgen_wrap.render.op_host import render_op_host
from msopgen_wrap.resources import data_dir
from msopgen_wrap.run.op_runtime import OpRuntime
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import Attr, Code, OpSpec, ParamKind, ShapeBroadcast, TensorParam

THRESHOLD = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-13}
_COUNTER = itertools.count()
_REGISTERING = threading.Lock()  # the registry is global


def make_spec(
    compute: str,
    inputs: str = "x",
    outputs: str = "z",
    dtypes: Any = ("float32",),
    out_dtypes: Any = None,
    attrs: tuple[Attr, ...] = (),
    optional: tuple[str, ...] = (),
    shapes: dict[str, Any] | None = None,
    lists: bool = False,
    inplace: dict[str, str] | None = None,
    input_dtypes: dict[str, Any] | None = None,
    input_shapes: dict[str, Any] | None = None,
) -> OpSpec:
    """Build a spec without YAML; each gets its own name, as the runtime's registry is global."""
    names = inputs.split()
    number = next(_COUNTER)

    def kind(name: str) -> ParamKind:
        if lists:
            return ParamKind.DYNAMIC
        return ParamKind.OPTIONAL if name in optional else ParamKind.REQUIRED

    return OpSpec(
        f"GeneratedCase{number}",
        f"generated_case{number}",
        "",
        tuple(
            TensorParam(
                n,
                tuple((input_dtypes or {}).get(n, dtypes)),
                kind(n),
                shape=(input_shapes or {}).get(n),
            )
            for n in names
        ),
        tuple(
            TensorParam(
                n,
                tuple(out_dtypes or dtypes),
                ParamKind.DYNAMIC if lists else ParamKind.REQUIRED,
                shape=(shapes or {}).get(n, ShapeBroadcast(tuple(names))),
                inplace=(inplace or {}).get(n),
            )
            for n in outputs.split()
        ),
        attrs,
        Code(compute, Location("case.yaml", 1, 1)),
        None,
        None,
        "none",
        (),
        {},
        ("ascend910b",),
        "case.yaml",
        compute,
    )


class BuiltOp:
    """A generated op, compiled and registered.

    Args:
        spec: the op.
        folder: where its sources are written.
        style: of the sources.
        combos: the dtype combinations to compile; default all.
        compiled: False to call ``compile`` later, which several threads may do at once for
            different ops; tracing, which is done here, may not.
    """

    def __init__(
        self,
        spec: OpSpec,
        folder: Path,
        style: str = "8.1",
        combos: Any = None,
        compiled: bool = True,
    ):
        self.spec = spec
        self.plan = plan_op(spec)
        self._folder, self._style = folder, style
        self._combos = range(spec.combos) if combos is None else combos
        kernel = self.plan.family.render(self.plan, style)
        sources = [*kernel.files, *render_op_host(spec, kernel.tiling, style)]
        for file in [*sources, *host_blocks(sources)]:
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")
        self.runtime = OpRuntime()
        if compiled:
            self.compile()

    def compile(self) -> BuiltOp:
        """Compile host code and kernels, and register them; returns the op."""
        spec, folder = self.spec, self._folder
        include = [
            folder / "op_host",
            folder / "op_kernel",
            data_dir("ascendc_kernels") / "include",
        ]
        host = folder / "op_host" / f"{spec.name}.cpp"
        shared = compile_shared(
            [host], include_dirs=include, own=[host], opt="-O1", begin=HOST_HEADERS
        )
        header = None
        with _REGISTERING:
            self.runtime.load_host(shared)
            if self._style == "8.1":
                header = kernel_tiling_header(spec.op, self.runtime.tiling_defs())
        source = folder / "op_kernel" / f"{spec.name}.cpp"
        for combo in self._combos:
            library = compile_kernel(
                source,
                defines=kernel_defines(spec, combo),
                include_dirs=include,
                flags=["-include", str(header)] if header else [],
                opt="-Os",  # as `opgen test` in check mode
                own=True,
            )
            with _REGISTERING:
                self.runtime.register_kernel(
                    spec.op, "", dtype_key(spec, combo), library, spec.name
                )
        return self

    def run(self, inputs: dict[str, Any], attrs: dict[str, Any] | None = None, **options: Any):
        """Run on torch tensors; returns the outputs by name and the RunResult."""
        spec = self.spec
        values = dict(attrs or {})
        golden = self.golden(inputs, values)
        combo = self._combo(inputs)
        outputs: dict[str, Any] = {}
        for param in spec.outputs:
            dtype = getattr(torch, param.dtypes[combo])
            if param.inplace:
                outputs[param.name] = inputs[param.inplace].clone()
            elif isinstance(golden[param.name], list):
                outputs[param.name] = [poison(g.shape, dtype) for g in golden[param.name]]
            else:
                outputs[param.name] = poison(golden[param.name].shape, dtype)
        given = [
            outputs[next(o.name for o in spec.outputs if o.inplace == p.name)]
            if any(o.inplace == p.name for o in spec.outputs)
            else inputs.get(p.name)
            for p in spec.inputs
        ]
        before = [x.clone() if isinstance(x, torch.Tensor) else x for x in given]
        result = self.runtime.run(
            spec.op, given, [outputs[p.name] for p in spec.outputs], values, **options
        )
        for param, old, new in zip(spec.inputs, before, given, strict=True):
            if isinstance(old, torch.Tensor) and not any(
                o.inplace == param.name for o in spec.outputs
            ):
                assert same_bits(old, new), f"input {param.name} was changed"
        return outputs, golden, result

    def golden(self, inputs: dict[str, Any], attrs: dict[str, Any]) -> dict[str, Any]:
        """Run compute in float64 (integers and bools as they are)."""
        for attr in self.spec.attrs:
            attrs.setdefault(attr.name, attr.default)

        def widen(value: Any) -> Any:
            if isinstance(value, list):
                return [widen(v) for v in value]
            return value.double() if value is not None and value.is_floating_point() else value

        function = compile_compute(self.spec)
        return function({k: widen(v) for k, v in inputs.items()}, attrs)

    def _combo(self, inputs: dict[str, Any]) -> int:
        def name(value: Any) -> str:
            value = value[0] if isinstance(value, list) else value
            return str(value.dtype).removeprefix("torch.")

        for combo in range(self.spec.combos):
            if all(
                inputs.get(p.name) is None or name(inputs[p.name]) == p.dtypes[combo]
                for p in self.spec.inputs
            ):
                return combo
        raise AssertionError("no such dtype combination")


def built(text: str, folder: Path) -> BuiltOp:
    """Return the op of a spec that is given as text."""
    spec = parse_spec(text).spec
    assert spec is not None
    return BuiltOp(spec, folder)


def poison(shape: Any, dtype: torch.dtype) -> torch.Tensor:
    """Return a tensor of a value no test expects."""
    if dtype == torch.bool:
        return torch.ones(shape, dtype=torch.uint8).view(torch.bool)
    return torch.full(shape, 77, dtype=dtype)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Compare contents, NaN equal to NaN."""
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def check(actual: torch.Tensor, golden: torch.Tensor, factor: float = 1.0) -> None:
    """Apply the accuracy rule: mean and maximum relative error, exact for integers."""
    assert actual.shape == golden.shape
    dtype = str(actual.dtype).removeprefix("torch.")
    if dtype not in THRESHOLD:
        assert torch.equal(actual, golden.to(actual.dtype)), _difference(actual, golden)
        return
    expected = golden.double()
    limit = torch.finfo(actual.dtype).max
    rounded = golden.to(actual.dtype).double()
    got = actual.double()
    special = ~torch.isfinite(rounded)
    ok = (got == rounded) | (torch.isnan(got) & torch.isnan(rounded))
    assert bool(ok[special].all()), _difference(actual, golden)
    assert bool(torch.isfinite(got[~special]).all()), _difference(actual, golden)
    if bool((~special).any()):
        # below the smallest normal number a dtype has fewer bits than the rule asks for
        floor = torch.finfo(actual.dtype).tiny
        error = (got - expected).abs() / expected.abs().clamp(min=floor).add(1e-7)
        error = error[~special & (expected.abs() < limit)]
        bound = THRESHOLD[dtype] * factor
        assert float(error.mean()) < bound, (float(error.mean()), _difference(actual, golden))
        assert float(error.max()) < 10 * bound, (float(error.max()), _difference(actual, golden))


def _difference(actual: torch.Tensor, golden: torch.Tensor) -> str:
    a, g = actual.double().flatten(), golden.double().flatten()
    error = ((a - g).abs() / (g.abs() + 1e-7)).nan_to_num(1e30, posinf=1e30)
    worst = error.argsort(descending=True)[:5]
    rows = [f"[{int(i)}] got {float(a[i])!r}, expected {float(g[i])!r}" for i in worst]
    return "; ".join(rows)
