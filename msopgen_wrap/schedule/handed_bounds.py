"""Bounds of integers that another pass has made, read off the graph of the whole op."""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.graph.cuts import MADE_BY
from msopgen_wrap.graph.scalars import Const, DimRef, ScalarExpr, fold, with_numel
from msopgen_wrap.graph.sizes import number_of, size_of
from msopgen_wrap.schedule.calls import reduced_dims, reduction_kind, target_name
from msopgen_wrap.schedule.intervals import Interval, Intervals
from msopgen_wrap.schedule.views import Counted
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

_COUNTS = ("aten.arange.default", "aten.arange.start", "aten.arange.start_step")
_SCANS = ("aten.cumsum.default", "opgen.reversed_cumsum.default")


@dataclass(frozen=True)
class HandedBounds:
    """Bounds of temporaries.

    Attributes:
        symbols: which size of which input, or which attr, every symbol of the graph is.
        fixed: inputs of one rank only, whose axes mean the same in every call.
        by_attr: whether an attr may choose the axes that are joined.
    """

    symbols: dict[Any, ScalarExpr]
    fixed: Collection[str]
    by_attr: bool

    def of(self, placeholder: Node) -> Interval | None:
        """Return the bounds of a temporary; None for inputs, and where nothing is known."""
        made = placeholder.meta.get(MADE_BY)
        if made is None:
            return None
        return Intervals(self._number, self._counted, self._elements).of(made)

    def _number(self, node: Node) -> ScalarExpr | None:
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            return number_of(value.node.expr, self.symbols)
        return Const(value) if isinstance(value, int) else None

    def _counted(self, node: Node) -> Counted | None:
        if target_name(node) not in _COUNTS:
            return None
        first = node.args[0] if len(node.args) > 1 else 0
        step = node.args[2] if len(node.args) > 2 else 1
        length = size_of(node, 0, self.symbols)
        if length is None or type(first) is not int or type(step) is not int:
            return None
        floating = node.meta["val"].dtype.is_floating_point
        return Counted(length, Const(first), Const(step), floating)

    def _elements(self, node: Node) -> ScalarExpr | None:
        """Return how many elements a reduction or a scan joins, or more.

        Where the rank of an input is open, or an attr chooses the axis, which of its axes is meant
        depends on the call: all of its elements are more.
        """
        source: Any = node.args[0]
        sizes = [size_of(source, axis, self.symbols) for axis in range(source.meta["val"].dim())]
        if reduction_kind(node):
            joined = [sizes[axis] for axis in reduced_dims(node, len(sizes))]
        elif target_name(node) in _SCANS and isinstance(node.args[1], int) and sizes:
            joined = [sizes[node.args[1]]]
        else:
            return None
        for counted in (sizes,) if self.by_attr else (joined, sizes):
            known = [size for size in counted if size is not None]
            one: ScalarExpr = Const(1)
            count = with_numel(functools.reduce(functools.partial(fold, "*"), known, one))
            if len(known) == len(counted) and self._holds_at_every_rank(count):
                return count
        return None

    def _holds_at_every_rank(self, expr: ScalarExpr) -> bool:
        if isinstance(expr, DimRef):
            return expr.tensor in self.fixed
        parts = [getattr(expr, name, None) for name in ("arg", "left", "right")]
        return all(self._holds_at_every_rank(part) for part in parts if part is not None)
