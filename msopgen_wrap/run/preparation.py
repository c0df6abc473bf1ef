"""What ``opgen test`` does with an op before its first launch; ``opgen check --deep`` stops there.

Render, compile, load, and for every case of the grid InferShape and tiling.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msopgen_wrap.build.operators import BuiltOperators, build_operators
from msopgen_wrap.diagnostics import Diagnostic, Location
from msopgen_wrap.run.cached_specs import rendered_spec
from msopgen_wrap.run.cases import case_grid
from msopgen_wrap.run.op_abi import ShapeOnly
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.run.op_runtime import OpRuntime, OpRuntimeError
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.torch_import import quiet_torch

# Further cases with the same kind of problem are only counted.
MAX_FINDINGS = 3


def load_op(
    spec: OpSpec,
    project: Path,
    progress: Callable[[str], None] = lambda _: None,
    built: BuiltOperators | None = None,
    small: bool = True,
) -> OpRuntime:
    """Compile the op of a project and return a runtime that has its host library and kernels.

    Args:
        progress: called with a short text as each object starts.
        built: the objects, where they are known.
        small: see :func:`build_operators`; False where the kernels' own time matters.

    Raises:
        OpgenError: a source does not compile, or there is no compiler.
    """
    if built is None:
        built = build_operators([spec], project, progress=progress, small=small)
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
                fix="limit the inputs with 'shape:', 'rank:' or an assert in compute, or correct "
                "the shape rule",
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
            input_tensors(spec, case),
            outputs,
            {a.name: case.attrs.get(a.name) for a in spec.attrs},
            soc=spec.soc[0],
            block_dim=case.block_dim,
        )
    except OpRuntimeError as error:
        return str(error)
    return None


def input_tensors(spec: OpSpec, case: TestCase) -> list[Any]:
    """Return the inputs of a case without their data, as :meth:`OpRuntime.tile` takes them."""
    return [
        None
        if (shape := case.shapes.get(p.name)) is None
        else _without_data(shape, p.dtypes[case.combo], p.kind is ParamKind.DYNAMIC)
        for p in spec.inputs
    ]


def output_tensors(spec: OpSpec, case: TestCase, results: dict[str, Any]) -> list[Any]:
    """Return the outputs of ``compute`` without their data, in the dtypes of the spec."""
    tensors = []
    for param in spec.outputs:
        value = results[param.name]
        is_list = isinstance(value, (list, tuple))
        shape = [v.shape for v in value] if is_list else value.shape
        tensors.append(_without_data(shape, param.dtypes[case.combo], is_list))
    return tensors


def _without_data(shape: Any, dtype: str, is_list: bool) -> Any:
    if is_list:
        return [ShapeOnly(dtype, tuple(one)) for one in shape]
    return ShapeOnly(dtype, tuple(shape))


def _output_shapes(spec: OpSpec, case: TestCase) -> list[Any] | None:
    """Return the outputs of ``compute`` without their data; None when it refuses the case."""
    from msopgen_wrap.run.golden import NotApplicable, make_inputs, meta_results, reference

    try:
        results = meta_results(spec, case)
        if results is None:
            results = reference(spec, case, make_inputs(spec, case)).native
    except NotApplicable:
        return None
    return output_tensors(spec, case, results)


def _place(spec: OpSpec) -> Location:
    for output in spec.outputs:
        if output.location.line:
            return output.location
    return Location(spec.path)
