"""Steps of loops as they are when a loop runs: the gradient runs them once more, later.

A step reads tensors by names of the formula, which may stand for others behind the loop.
"""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any

from msopgen_wrap.spec.compute_runner import FILE


def frozen(step: Any) -> Any:
    """Return a function of a formula that keeps the values which its names have now."""
    if not isinstance(step, FunctionType) or step.__code__.co_filename != FILE:
        return step
    names = dict(step.__globals__)
    for name, value in step.__globals__.items():
        if isinstance(value, FunctionType) and value.__globals__ is step.__globals__:
            names[name] = _with(value, names)
    return _with(step, names)


def _with(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    cells = tuple(CellType(cell.cell_contents) for cell in function.__closure__ or ())
    defaults = function.__defaults__
    return FunctionType(function.__code__, names, function.__name__, defaults, cells)
