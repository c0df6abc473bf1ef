"""The shapes of a call of an op by the rules of its spec, without calling it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.shapes import ShapeError, evaluate, rule_attrs
from msopgen_wrap.torch_import import torch


def result_shapes(
    spec: OpSpec, fakes: Mapping[str, Any], attrs: Mapping[str, Any]
) -> dict[str, tuple[int, ...]] | str:
    """Return output -> shape, or why the op does not take these inputs.

    Args:
        fakes: input -> fake tensor; absent optional inputs are left out.
        attrs: of the call.
    """
    reason = input_objection(spec, fakes, attrs)
    if reason:
        return reason
    shapes = _shapes(spec, fakes)
    found: dict[str, tuple[int, ...]] = {}
    try:
        for param in spec.outputs:
            assert param.shape is not None
            result: Any = evaluate(param.shape, shapes, attrs)
            found[param.name] = tuple(int(n) for n in result)
    except ShapeError as error:
        return _refusal(error)
    return found


def input_objection(
    spec: OpSpec, fakes: Mapping[str, Any], attrs: Mapping[str, Any] | None = None
) -> str:
    """Return why an op does not take inputs of these shapes, empty when it does.

    Args:
        fakes: input -> fake tensor; absent optional inputs are left out.
        attrs: of the call; None: not known, rules that need them are not asked.
    """
    shapes = _shapes(spec, fakes)
    for param in spec.inputs:
        fake = fakes.get(param.name)
        if fake is None:
            continue
        if not param.min_rank <= fake.dim() <= param.max_rank:
            ranks = f"{param.min_rank} to {param.max_rank}"
            return f"'{param.name}' has rank {fake.dim()}; the op takes ranks {ranks}"
        if param.shape is None or (attrs is None and rule_attrs(param.shape)):
            continue
        try:
            wanted: Any = evaluate(param.shape, shapes, attrs or {})
        except ShapeError as error:
            return _refusal(error)
        if tuple(wanted) != shapes[param.name]:
            return (
                f"'{param.name}' would have shape {list(shapes[param.name])}; "
                f"the op takes {list(wanted)}"
            )
    return ""


def _shapes(spec: OpSpec, fakes: Mapping[str, Any]) -> dict[str, Any]:
    return {p.name: tuple(fakes[p.name].shape) if p.name in fakes else None for p in spec.inputs}


def _refusal(error: ShapeError) -> str:
    return f"the op does not take these shapes: {error}; widen the shape rules of its spec"


def output_bytes(
    spec: OpSpec, fakes: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> int:
    """Return the bytes of all results of a call.

    Args:
        fakes: input -> fake tensor, of dtypes that the spec has.
        shapes: output -> shape.
    """
    dtypes = {n: str(f.dtype).removeprefix("torch.") for n, f in fakes.items()}
    combo = next(
        i
        for i in range(spec.combos)
        if all(spec.param(n).dtypes[i] == d for n, d in dtypes.items())
    )
    return sum(
        math.prod(shapes[p.name]) * getattr(torch, p.dtypes[combo]).itemsize for p in spec.outputs
    )
