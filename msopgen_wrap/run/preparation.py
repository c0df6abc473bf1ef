"""What ``opgen test`` does with an op before its first launch; ``opgen check --deep`` stops there.

Render, compile, load, and for every case of the grid InferShape and tiling.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msopgen_wrap.build.operators import build_operators
from msopgen_wrap.diagnostics import Diagnostic, Location
from msopgen_wrap.run.cases import TestCase, case_grid
from msopgen_wrap.run.op_abi import ShapeOnly
from msopgen_wrap.run.op_runtime import OpRuntime, OpRuntimeError
from msopgen_wrap.run.rendered_specs import rendered_spec
from msopgen_wrap.spec.model import OpSpec, ParamKind

# Further cases with the same kind of problem are only counted.
MAX_FINDINGS = 3


def load_op(
    spec: OpSpec, project: Path, progress: Callable[[str], None] = lambda _: None
) -> OpRuntime:
    """Compile the op of a project and return a runtime that has its host library and kernels.

    Raises:
        OpgenError: a source does not compile, or there is no compiler.
    """
    built = build_operators([spec], project, progress=progress)
    runtime = OpRuntime()
    runtime.load_host(built.host)
    for key, path in built.kernels[spec.op].items():
        runtime.register_kernel(spec.op, "", key, path, spec.name)
    return runtime


def refusals(spec: OpSpec) -> list[Diagnostic]:
    """Return what ``opgen test`` would refuse before it runs a case (OPG073).

    Raises:
        OpgenError: the op cannot be planned, a source does not compile, or there is no compiler.
    """
    with quiet_torch():
        runtime = load_op(spec, rendered_spec(spec, "opgen"))
        problems = [
            (case, text)
            for case in case_grid(spec)
            if (text := _refusal(spec, case, runtime)) is not None
        ]
    findings = []
    for case, text in problems[:MAX_FINDINGS]:
        findings.append(
            Diagnostic(
                "OPG073",
                f"the generated host code refuses the case {case.label(spec)}",
                _place(spec),
                why=text.strip(),
                fix="limit the inputs with 'shape:' or 'rank:', or correct the shape rule",
            )
        )
    if len(problems) > MAX_FINDINGS:
        findings[-1] = Diagnostic(
            "OPG073",
            f"the generated host code refuses {len(problems)} cases, the last shown is "
            f"{problems[MAX_FINDINGS - 1][0].label(spec)}",
            _place(spec),
            why=findings[-1].why,
            fix=findings[-1].fix,
        )
    return findings


def _refusal(spec: OpSpec, case: TestCase, runtime: OpRuntime) -> str | None:
    """Run InferShape and tiling of a case; return what they refuse, None for a case that runs."""
    outputs = _output_shapes(spec, case)
    if outputs is None:
        return None
    try:
        runtime.tile(
            spec.op,
            [_shapes(case.shapes.get(p.name), p.dtypes[case.combo], p.kind) for p in spec.inputs],
            outputs,
            {a.name: case.attrs.get(a.name) for a in spec.attrs},
            soc=spec.soc[0],
            block_dim=case.block_dim,
        )
    except OpRuntimeError as error:
        return str(error)
    return None


def _shapes(shape: Any, dtype: str, kind: ParamKind) -> Any:
    if shape is None:
        return None
    if kind is ParamKind.DYNAMIC:
        return [ShapeOnly(dtype, tuple(s)) for s in shape]
    return ShapeOnly(dtype, tuple(shape))


def _output_shapes(spec: OpSpec, case: TestCase) -> list[Any] | None:
    """Return the outputs of ``compute`` without their data; None when it refuses the case."""
    results = _on_meta(spec, case)
    if results is None:
        # Refused, or needs values: the reference of the test decides.
        from msopgen_wrap.run.golden import NotApplicable, make_inputs, reference

        try:
            results = reference(spec, case, make_inputs(spec, case)).native
        except NotApplicable:
            return None
    outputs: list[Any] = []
    for param in spec.outputs:
        value, dtype = results[param.name], param.dtypes[case.combo]
        if isinstance(value, (list, tuple)):
            outputs.append([ShapeOnly(dtype, tuple(v.shape)) for v in value])
        else:
            outputs.append(ShapeOnly(dtype, tuple(value.shape)))
    return outputs


def _on_meta(spec: OpSpec, case: TestCase) -> dict[str, Any] | None:
    from msopgen_wrap.spec.compute_guard import compile_compute
    from msopgen_wrap.torch_ext.torch_import import torch

    inputs: dict[str, Any] = {}
    for param in spec.inputs:
        shape = case.shapes.get(param.name)
        dtype = getattr(torch, param.dtypes[case.combo])
        if shape is None:
            inputs[param.name] = None
        elif param.kind is ParamKind.DYNAMIC:
            inputs[param.name] = [torch.empty(s, dtype=dtype, device="meta") for s in shape]
        else:
            inputs[param.name] = torch.empty(shape, dtype=dtype, device="meta")
    try:
        with torch.no_grad():
            return compile_compute(spec, wrap_errors=False)(inputs, dict(case.attrs))
    except (RuntimeError, IndexError, ValueError, TypeError):
        return None


def _place(spec: OpSpec) -> Location:
    for output in spec.outputs:
        if output.location.line:
            return output.location
    return Location(spec.path)


@contextlib.contextmanager
def quiet_torch() -> Iterator[None]:
    """Keep torch's loggers and warnings still: tracing tries things out, and logs each failure."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
