"""Whether the shape rule of an output says what ``compute`` gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msopgen_wrap.spec.model import TensorParam
from msopgen_wrap.spec.shapes import ShapeError, evaluate


def contradicted_shape(
    param: TensorParam, result: Any, shapes: Mapping[str, Any], attrs: Mapping[str, Any]
) -> tuple[Any, Any] | None:
    """Return the shape of an output by ``compute`` and by its rule, None where they agree.

    Args:
        param: the output.
        result: what ``compute`` gives for it, a list for a list.
        shapes: of the inputs, by name.
        attrs: the values of all attrs.

    Returns:
        A shape or a list of shapes each; a text where the rule gives none.
    """
    if param.shape is None:
        return None
    is_list = isinstance(result, list)
    actual: Any = [tuple(v.shape) for v in result] if is_list else tuple(result.shape)
    try:
        expected: Any = evaluate(param.shape, shapes, attrs)
    except ShapeError as error:
        expected = f"no shape: {error}"
    return None if expected == actual else (actual, expected)
