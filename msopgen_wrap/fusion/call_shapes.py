"""The shapes of a call of an op by the rules of its spec, without calling it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.shapes import ShapeError, evaluate
from msopgen_wrap.torch_import import torch


def result_shapes(
    spec: OpSpec, fakes: Mapping[str, Any], attrs: Mapping[str, Any]
) -> dict[str, tuple[int, ...]] | str:
    """Return output -> shape, or why the op does not take these inputs.

    Args:
        fakes: input -> fake tensor; absent optional inputs are left out.
        attrs: of the call.
    """
    shapes: dict[str, Any] = {p.name: None for p in spec.inputs}
    shapes.update({name: tuple(fake.shape) for name, fake in fakes.items()})
    found: dict[str, tuple[int, ...]] = {}
    try:
        for param in spec.inputs:
            if param.name in fakes and param.shape is not None:
                wanted: Any = evaluate(param.shape, shapes, attrs)
                if tuple(wanted) != shapes[param.name]:
                    return (
                        f"'{param.name}' would have shape {list(shapes[param.name])}; "
                        f"the op takes {list(wanted)}"
                    )
        for param in spec.outputs:
            assert param.shape is not None
            result: Any = evaluate(param.shape, shapes, attrs)
            found[param.name] = tuple(int(n) for n in result)
    except ShapeError as error:
        return f"the op does not take these shapes: {error}; widen the shape rules of its spec"
    return found


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
