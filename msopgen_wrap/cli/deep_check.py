"""What ``opgen check --deep`` adds: all that ``opgen test`` does before it runs a kernel.

The first part runs ``compute`` on meta tensors (shapes and dtypes only, nothing is computed) for
several ranks, every dtype combination and every value of closed attrs, and compares what comes out
with what InferShape and InferDataType will say. The second does what ``opgen test`` does before its
first launch (``run.preparation``): plan, which traces the graph, lowers it and proves that it fits
in UB on every SoC of the spec; render; compile; InferShape and tiling of every case of the grid.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError, is_about_machine
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.shapes import ShapeError, evaluate

MAX_VARIANTS = 16
MAX_SHAPES = 24


def deep_findings(spec: OpSpec) -> list[Diagnostic]:
    """Return the problems that only show when compute runs, or the op is planned and compiled.

    Raises:
        OpgenError: this machine lacks something, so nothing is known about the spec.
    """
    from msopgen_wrap.run.preparation import refusals
    from msopgen_wrap.torch_import import quiet_torch

    with quiet_torch():
        findings = contradictions(spec) if spec.compute is not None else []
        if findings or spec.compute is None:
            return findings
        try:
            return refusals(spec)
        except OpgenError as error:
            if is_about_machine(error.diagnostics):
                raise
            return list(error.diagnostics)


def contradictions(spec: OpSpec) -> list[Diagnostic]:
    """Compare compute's shapes and dtypes with the rules (OPG065, OPG066, OPG071).

    One finding per output and kind of problem is enough: the first counterexample is shown.
    """
    from msopgen_wrap.spec.compute_runner import compile_compute

    run = compile_compute(spec)
    found: dict[tuple[str, str], Diagnostic] = {}
    tried = worked = 0
    failure: Diagnostic | None = None
    for shapes in itertools.islice(_shape_sets(spec), MAX_SHAPES):
        for attrs in itertools.islice(_attr_sets(spec), MAX_VARIANTS):
            for combo in range(spec.combos):
                tried += 1
                try:
                    results = run(_meta_inputs(spec, shapes, combo), attrs)
                except OpgenError as error:
                    failure = failure or error.diagnostics[0]
                    continue
                worked += 1
                for problem in _compare(spec, shapes, attrs, combo, results):
                    key = (problem.code, str(problem.location))
                    found.setdefault(key, problem)
    # Some shapes may not suit an op (axis 1 of a vector); failing on all of them is an error.
    if tried and not worked and failure is not None:
        return [failure]
    return list(found.values())


def _shape_sets(spec: OpSpec) -> Iterator[dict[str, Any]]:
    """Yield input shapes: those of the cases, then one set per rank that satisfies the rules."""
    for case in spec.cases:
        yield case.shapes
    for stretched in (False, True):
        for rank in (2, 3, 1, 4, 0):
            dims = (6, 4, 5, 7)[4 - rank :] if rank else ()
            shapes: dict[str, Any] = {}
            try:
                for i, param in enumerate(spec.inputs):
                    shape = _stretched(dims, i) if stretched else dims
                    shapes[param.name] = _shape_of(param, shape, shapes, spec)
            except ShapeError:
                continue
            yield shapes


def _stretched(dims: tuple[int, ...], index: int) -> tuple[int, ...]:
    """Return ``dims`` with ones at every other axis: neighbours then stretch each other.

    Inputs without a shape rule may have any shape that compute accepts, so what broadcasts must
    agree with the rules as well.
    """
    return tuple(1 if (axis + index) % 2 else dim for axis, dim in enumerate(dims))


def _shape_of(
    param: TensorParam, dims: tuple[int, ...], known: dict[str, Any], spec: OpSpec
) -> Any:
    if param.shape is not None:
        attrs = {a.name: a.default for a in spec.attrs if not a.required}
        try:
            return evaluate(param.shape, known, attrs)
        except KeyError:
            raise ShapeError("the rule needs a required attr") from None
    low, high = param.min_rank, param.max_rank
    shape = dims
    if len(dims) < low:
        shape = (3,) * (low - len(dims)) + dims
    elif len(dims) > high:
        shape = dims[len(dims) - high :]
    return [shape, shape[:1]] if param.kind is ParamKind.DYNAMIC else shape


def _attr_sets(spec: OpSpec) -> Iterator[dict[str, Any]]:
    """Yield attr values: the defaults, then every mix of closed attrs and booleans."""
    base: dict[str, Any] = {}
    choices: list[list[tuple[str, Any]]] = []
    for attr in spec.attrs:
        if attr.required:
            base[attr.name] = _sample(attr)
        values = attr.allowed or ((False, True) if attr.type == "bool" else None)
        if values:
            choices.append([(attr.name, value) for value in values])
    yield dict(base)
    for mix in itertools.product(*choices):
        if mix:
            yield {**base, **dict(mix)}


def _sample(attr: Any) -> Any:
    if attr.allowed:
        return attr.allowed[0]
    low = attr.minimum if attr.minimum is not None else None
    number = low if low is not None else min(1, attr.maximum) if attr.maximum is not None else 1
    return {
        "int": int(number),
        "float": float(number),
        "bool": False,
        "str": "",
        "list_int": (0,),
        "list_float": (1.0,),
        "dtype": "float32",
    }[attr.type]


def _meta_inputs(spec: OpSpec, shapes: dict[str, Any], combo: int) -> dict[str, Any]:
    from msopgen_wrap.torch_import import import_torch

    torch: Any = import_torch()
    inputs: dict[str, Any] = {}
    for param in spec.inputs:
        shape = shapes.get(param.name)
        dtype = getattr(torch, param.dtypes[combo])
        if shape is None:
            inputs[param.name] = None
        elif isinstance(shape, list):
            inputs[param.name] = [torch.empty(s, dtype=dtype, device="meta") for s in shape]
        else:
            inputs[param.name] = torch.empty(shape, dtype=dtype, device="meta")
    return inputs


def _compare(
    spec: OpSpec, shapes: dict[str, Any], attrs: dict[str, Any], combo: int, results: dict[str, Any]
) -> Iterator[Diagnostic]:
    values = {a.name: a.default for a in spec.attrs if not a.required} | attrs
    given = ", ".join(f"{n} {_text(s)}" for n, s in shapes.items() if s is not None)
    shown = ", ".join(f"{n}={v}" for n, v in attrs.items())
    given += f" ({shown})" if shown else ""
    for output in spec.outputs:
        if output.shape is None:
            continue
        value = results[output.name]
        is_list = isinstance(value, list)
        actual = [tuple(v.shape) for v in value] if is_list else tuple(value.shape)
        try:
            expected: Any = evaluate(output.shape, shapes, values)
        except ShapeError as error:
            expected = f"no shape: {error}"
        if expected != actual:
            yield Diagnostic(
                "OPG065",
                f"shape of '{output.name}' is {_text(actual)} by compute, "
                f"{_text(expected)} by its rule",
                _place(spec, output),
                f"rule: {output.shape_text}; inputs: {given}",
                "correct the rule or compute (the output's memory is allocated by the rule), or "
                "limit the inputs with 'shape:' or 'rank:'",
            )
        dtypes = {str(v.dtype).removeprefix("torch.") for v in (value if is_list else [value])}
        if dtypes - {output.dtypes[combo]}:
            names = ", ".join(f"{p.name} {p.dtypes[combo]}" for p in spec.inputs)
            yield Diagnostic(
                "OPG066",
                f"'{output.name}' is {', '.join(sorted(dtypes))} by compute, declared "
                f"{output.dtypes[combo]}",
                _place(spec, output),
                f"inputs: {names}",
                f"end with .to(...), or declare 'dtype: {sorted(dtypes)[0]}'",
            )


def _text(shape: Any) -> str:
    if isinstance(shape, str):
        return shape
    if isinstance(shape, list):
        return "[" + ", ".join(_text(s) for s in shape) + "]"
    return str(list(shape))


def _place(spec: OpSpec, output: TensorParam) -> Location:
    return output.location if output.location.line else Location(spec.path)
