"""Shapes that a user gives for a call: checked against the spec, and written as text."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.spec.shapes import ShapeError, evaluate


class RefusedShapes(ValueError):
    """The op takes no tensors of these shapes; the text says why."""


def frozen_shapes(shapes: dict[str, Any]) -> dict[str, Any]:
    """Return shapes as tuples: per input a shape, a tuple of shapes of a list, or None."""
    return {name: _freeze(shape) for name, shape in shapes.items()}


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
            expected = _freeze(evaluate(param.shape, shapes, attrs))
        except (ShapeError, KeyError) as error:
            raise RefusedShapes(f"shape of '{param.name}': {error}") from error
        shape = shapes.get(param.name)
        if param in spec.inputs and shape is not None and shape != expected:
            raise RefusedShapes(
                f"{param.name}={shape_text(shape)} should be {shape_text(expected)}: "
                f"{param.shape_text}"
            )


def shape_text(shape: Any) -> str:
    """Return a shape as ``3x4``, shapes of a list as ``3x4;5``."""
    if shape is None:
        return "none"
    if any(isinstance(d, tuple) for d in shape):
        return ";".join(shape_text(d) for d in shape)
    return "x".join(map(str, shape)) or "scalar"


def _freeze(shape: Any) -> Any:
    if shape is None:
        return None
    return tuple(_freeze(d) if isinstance(d, (list, tuple)) else d for d in shape)
