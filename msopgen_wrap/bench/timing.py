"""Sizes, arguments and times of calls."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError

if TYPE_CHECKING:
    from msopgen_wrap.spec.model import OpSpec

_UNITS = {"ki": 2**10, "mi": 2**20, "k": 10**3, "m": 10**6}
_COLUMNS = 1024
_SECONDS = 0.1


def parse_sizes(text: str) -> list[int]:
    """Return the numbers of elements of ``1Ki,1M,300``, ascending.

    Raises:
        OpgenError: OPG575, a size that is no number.
    """
    found = []
    for part in (p.strip().lower() for p in text.split(",")):
        unit = next((u for u in _UNITS if part.endswith(u)), "")
        digits = part.removesuffix(unit)
        if not digits.isdecimal() or int(digits) == 0 or int(digits) * _UNITS.get(unit, 1) > 2**31:
            raise OpgenError(
                Diagnostic(
                    "OPG575",
                    f"'{part}' is no size",
                    why="a size is a number of elements from 1 to 2Gi",
                    fix="--sizes 1Ki,64Ki,1Mi, or plain numbers",
                )
            )
        found.append(int(digits) * _UNITS.get(unit, 1))
    return sorted(set(found))


def arguments(spec: OpSpec, count: int) -> tuple[list[Any], dict[str, Any]]:
    """Return inputs of about ``count`` elements in the spec's first dtypes, and attrs.

    Inputs that index name as many elements as the others have rows, and only those there are.

    Raises:
        OpgenError: OPG576, an input is a list, or a shape rule gives no shape.
    """
    from msopgen_wrap.graph.index_ranges import index_uses
    from msopgen_wrap.graph.sample import sample_attrs
    from msopgen_wrap.run.op_case import TestCase
    from msopgen_wrap.torch_import import torch

    attrs = sample_attrs(spec)
    shapes = _shapes(spec, count, attrs, ())
    indices = tuple(index_uses(spec, TestCase(0, shapes, attrs)))
    if indices:
        shapes = _shapes(spec, count, attrs, indices)
    uses = index_uses(spec, TestCase(0, shapes, attrs)) if indices else {}
    tensors = []
    generator = torch.Generator().manual_seed(0)
    for param in spec.inputs:
        shape, dtype = shapes[param.name], getattr(torch, param.dtypes[0])
        if param.name in uses:
            tensors.append(uses[param.name].draw(shape, generator).to(dtype))
            continue
        values = torch.rand(shape, generator=generator)
        low, high = param.low or 0.0, 1.0 if param.high is None else param.high
        values = values * (high - low) + low if dtype.is_floating_point else values * 8
        tensors.append(values.to(dtype))
    return tensors, attrs


def _shapes(
    spec: OpSpec, count: int, attrs: dict[str, Any], indices: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the inputs: of ``count`` elements, those of ``indices`` of its rows.

    Raises:
        OpgenError: OPG576, an input is a list, or a shape rule gives no shape.
    """
    from msopgen_wrap.spec.model import ParamKind
    from msopgen_wrap.spec.shapes import ShapeError, evaluate

    columns = min(count, _COLUMNS)
    rows = math.ceil(count / columns)
    shapes: dict[str, Any] = {}
    for param in spec.inputs:
        rank = min(max(param.min_rank, 2), param.max_rank)
        shape: Any = [1] * (rank - 2) + [rows, columns]
        shape = shape if rank > 1 else [count] * rank
        if param.name in indices:
            shape = [*[1] * (rank - 1), rows][:rank]
        try:
            if param.kind is ParamKind.DYNAMIC:
                raise ShapeError("it is a list")
            if param.shape is not None:
                shape = evaluate(param.shape, shapes, attrs)
        except ShapeError as error:
            raise OpgenError(
                Diagnostic(
                    "OPG576",
                    f"no input '{param.name}' of {count} elements can be made: {error}",
                    param.location,
                    fix="time the op with a program of your own",
                )
            ) from error
        shapes[param.name] = tuple(shape)
    return shapes


def median_seconds(call: Callable[[], Any]) -> float:
    """Return the median time of a call, after one that is not counted."""
    call()
    times: list[float] = []
    while len(times) < 3 or (sum(times) < _SECONDS and len(times) < 1000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def crossover(rows: Sequence[dict[str, Any]], peer: str) -> int | None:
    """Return the size from which on the op is faster than a peer at every size, None for none."""
    found = None
    for row in reversed(rows):
        if row["op"] >= row[peer]:
            break
        found = int(row["elements"])
    return found
