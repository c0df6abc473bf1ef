"""Shapes of a call that a user gives for some inputs, as text."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.shapes import MAX_RANK, ShapeError, evaluate


class MissingShape(ValueError):
    """An input without a shape has a rule that does not give one.

    Attributes:
        name: of the input.
    """

    def __init__(self, name: str, why: Exception) -> None:
        super().__init__(str(why))
        self.name = name


def given_shape(param: TensorParam, text: str) -> Any:
    """Return the shape of an input, a list of shapes for a list: ``4,1024;4,2``.

    Raises:
        ValueError: the text is no shape; its words say why.
    """
    rows = [_dims(part) for part in text.split(";")]
    return rows if param.kind is ParamKind.DYNAMIC else rows[0]


def _dims(text: str) -> tuple[int, ...]:
    parts = text.strip().strip("[]").split(",")
    try:
        dims = tuple(int(p) for p in parts if p.strip())
    except ValueError:
        raise ValueError("dimensions are integers, e.g. x=4,1024") from None
    if any(d < 0 for d in dims) or len(dims) > MAX_RANK:
        raise ValueError(f"at most {MAX_RANK} dimensions, none negative")
    return dims


def completed_shapes(spec: OpSpec, shapes: dict[str, Any]) -> dict[str, Any]:
    """Return shapes of all inputs: those left out take that of their rule, or of the first one.

    Args:
        shapes: of one input at least.

    Raises:
        MissingShape: the rule of an input needs another shape.
    """
    found = dict(shapes)
    first = next(iter(found.values()))
    attrs = spec.default_attrs
    for param in spec.inputs:
        if param.name in found:
            continue
        if param.kind is ParamKind.OPTIONAL:
            found[param.name] = None
            continue
        try:
            found[param.name] = evaluate(param.shape, found, attrs) if param.shape else first
        except (ShapeError, KeyError) as error:
            raise MissingShape(param.name, error) from error
    return found
