"""Sizes of inputs that a case of the spec shows to differ.

Samples give equal sizes to axes that no rule relates, and what lines up in a sample is taken to
line up in every call. A case with other sizes says that it does not, as the widths of keys and
values of an attention.
"""

from __future__ import annotations

from typing import Any

import sympy

from msopgen_wrap.graph.scalars import DimRef
from msopgen_wrap.graph.sizes import size_symbols
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.spec.model import OpSpec


class CaseSizes:
    """What the cases of a spec say of sizes in a graph.

    Args:
        spec: an op or a part of it.
        traced: its graph.
    """

    def __init__(self, spec: OpSpec, traced: TracedGraph) -> None:
        self._cases = [case.shapes for case in spec.cases]
        self._places = size_symbols(traced.graph, traced.inputs) if self._cases else {}

    def differ(self, first: Any, second: Any) -> bool:
        """Whether a case has other numbers for two sizes, which broadcasting does not explain.

        Args:
            first, second: numbers or nodes of symbolic integers.
        """
        one, other = self._place(first), self._place(second)
        if one is None or other is None or one == other:
            return False
        pairs = ((_size_in(case, one), _size_in(case, other)) for case in self._cases)
        return any(a != b and min(a, b) > 1 for a, b in pairs)

    def _place(self, size: Any) -> DimRef | None:
        expr = getattr(size, "expr", None)
        return self._places.get(expr) if isinstance(expr, sympy.Symbol) else None


def _size_in(shapes: dict[str, Any], place: DimRef) -> int:
    """Return the size of an axis in a case, 0 where it has a list or other axes."""
    shape = shapes.get(place.tensor)
    known = shape is not None and len(shape) == place.rank
    size = shape[place.axis] if known and shape is not None else 0
    return size if isinstance(size, int) else 0
