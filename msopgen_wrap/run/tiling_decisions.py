"""What TilingFunc decides for given shapes: the generated host code is compiled and asked.

Neither a kernel nor data is needed, so the tensors may be of any size.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from msopgen_wrap.build.emulation_library import emulation_library
from msopgen_wrap.build.operators import build_host
from msopgen_wrap.diagnostics import Location
from msopgen_wrap.graph.kept_tensors import frozen_shapes, shape_text
from msopgen_wrap.graph.sample import sample_attrs
from msopgen_wrap.run.cached_specs import rendered_spec
from msopgen_wrap.run.call_failure import op_failure
from msopgen_wrap.run.golden import NotApplicable, meta_results
from msopgen_wrap.run.op_abi import ShapeOnly
from msopgen_wrap.run.op_case import TestCase, combined_attrs
from msopgen_wrap.run.op_runtime import OpRuntime, OpRuntimeError
from msopgen_wrap.run.preparation import input_tensors, output_tensors
from msopgen_wrap.schedule.report import TilingDecision, dtypes_text
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.spec.shapes import ShapeError, evaluate
from msopgen_wrap.torch_import import quiet_torch


class RefusedShapes(ValueError):
    """The op takes no tensors of these shapes; the text says why."""


def check_shapes(spec: OpSpec, shapes: dict[str, Any], attrs: dict[str, Any]) -> None:
    """Refuse shapes that the ranks and rules of the spec's parameters exclude.

    Args:
        shapes: of every input, as :func:`frozen_shapes` gives them.

    Raises:
        RefusedShapes: a rank or a rule excludes them.
    """
    for param in spec.inputs:
        shape = shapes.get(param.name)
        if shape is None:
            continue
        for one in shape if param.kind is ParamKind.DYNAMIC else [shape]:
            if not param.min_rank <= len(one) <= param.max_rank:
                limits = f"{param.min_rank}..{param.max_rank}"
                raise RefusedShapes(
                    f"{param.name}={shape_text(one)}: its rank is limited to {limits}"
                )
    for param in (*spec.inputs, *spec.outputs):
        if param.shape is None:
            continue
        try:
            expected = tuple(evaluate(param.shape, shapes, attrs))
        except (ShapeError, KeyError) as error:
            raise RefusedShapes(f"shape of '{param.name}': {error}") from error
        shape = shapes.get(param.name)
        if param in spec.inputs and shape is not None and shape != expected:
            raise RefusedShapes(
                f"{param.name}={shape_text(shape)} should be {shape_text(expected)}: "
                f"{param.shape_text}"
            )


# C types of tiling fields in the notation of ``struct``.
_CODES = {
    "uint8_t": "B",
    "int8_t": "b",
    "uint16_t": "H",
    "int16_t": "h",
    "uint32_t": "I",
    "int32_t": "i",
    "uint64_t": "Q",
    "int64_t": "q",
    "float": "f",
    "double": "d",
    "bool": "?",
}


def tiling_decisions(
    spec: OpSpec, shapes: dict[str, Any], progress: Callable[[str], None] = lambda _: None
) -> list[TilingDecision]:
    """Ask TilingFunc once per dtype combination and SoC of the spec.

    Attrs have their defaults, or the values that ``opgen plan`` takes where there is none.

    Args:
        shapes: per input a shape, a sequence of shapes for a dynamic input, or None when absent.
        progress: called with a short text per step that takes its time.

    Raises:
        RefusedShapes: the rules of the spec or its ``compute`` exclude the shapes.
        OpgenError: the op cannot be planned, its host code does not compile, there is no compiler,
            or InferShape or TilingFunc failed.
    """
    shapes, attrs = frozen_shapes(shapes), sample_attrs(spec)
    check_shapes(spec, shapes, attrs)
    with quiet_torch():
        project = rendered_spec(spec, "opgen")
        emulation_library(progress=progress)
        progress("compiling op_host")
        host = build_host([spec], project)
        runtime = OpRuntime()
        runtime.load_host(host)
        fields = tiling_fields(runtime, spec.op)
        cases = [
            TestCase(combo, shapes, combined_attrs(spec, combo, attrs))
            for combo in range(spec.combos)
        ]
        return [_decision(spec, case, soc, runtime, fields) for case in cases for soc in spec.soc]


def tiling_fields(runtime: OpRuntime, op_type: str) -> list[dict[str, Any]]:
    """Return the fields of the op's tiling struct, [] when it is not registered by name.

    A field that is a struct itself has its own fields under ``fields``.
    """
    defs = runtime.tiling_defs()
    classes = {row["class"]: row["fields"] for row in defs}

    def nested(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {**field, "fields": nested(classes[field["type"]])}
            if field["struct"] and field["type"] in classes
            else field
            for field in fields
        ]

    return nested(next((row["fields"] for row in defs if row["name"] == op_type), []))


def decode(data: bytes, fields: list[dict[str, Any]], start: int = 0) -> dict[str, Any]:
    """Return tiling data by field name: numbers, lists of them for arrays, and dicts for structs.

    Args:
        data: of the call.
        fields: as :func:`tiling_fields` gives them; those of unknown types are left out.
        start: where the struct begins, bytes.
    """
    values: dict[str, Any] = {}
    for field in fields:
        if "fields" in field:
            values[field["name"]] = decode(data, field["fields"], start + field["offset"])
            continue
        if field["type"] not in _CODES:
            continue
        code = f"<{field['count'] or 1}{_CODES[field['type']]}"
        numbers = struct.unpack_from(code, data, start + field["offset"])
        values[field["name"]] = list(numbers) if field["count"] else numbers[0]
    return values


def _decision(
    spec: OpSpec,
    case: TestCase,
    soc: str,
    runtime: OpRuntime,
    fields: list[dict[str, Any]],
) -> TilingDecision:
    inputs = input_tensors(spec, case)
    attrs = {a.name: case.attrs.get(a.name) for a in spec.attrs}
    try:
        info = runtime.tile(
            spec.op, inputs, _outputs(spec, case, runtime, inputs, attrs), attrs, soc=soc
        )
    except OpRuntimeError as error:
        raise op_failure(error, Location(spec.path)) from error
    return TilingDecision(
        dtypes=dtypes_text(spec, case.combo),
        soc=soc,
        key=info.key,
        cores=info.block_dim,
        workspace_bytes=info.workspace_size,
        fields=decode(info.data, fields),
    )


def _outputs(
    spec: OpSpec, case: TestCase, runtime: OpRuntime, inputs: list[Any], attrs: dict[str, Any]
) -> list[Any]:
    """Return the outputs without data: as compute has them, or InferShape where that needs data."""
    try:
        results = meta_results(spec, case)
    except NotApplicable as refusal:
        raise RefusedShapes(str(refusal)) from refusal
    if results is not None:
        return output_tensors(spec, case, results)
    inferred = runtime.infer_shapes(spec.op, inputs, attrs)
    dtypes = [p.dtypes[case.combo] for p in spec.outputs]
    return [ShapeOnly(d, shape) for d, shape in zip(dtypes, inferred, strict=True)]
