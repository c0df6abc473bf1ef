"""Lowerings of numbers that follow from the index: ``arange`` and what is made of it."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.graph.scalars import fold
from msopgen_wrap.graph.sizes import size_of
from msopgen_wrap.schedule import intervals
from msopgen_wrap.schedule.lowering import Lowerer, lowers
from msopgen_wrap.schedule.views import Counted, View
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node


def _counted(low: Lowerer, node: Node, start: Any, step: Any) -> View:
    length = size_of(node, 0, low.size_symbols())
    if length is None:
        raise OpgenError(low.unsupported(node, "a length that does not follow from sizes"))
    first, difference = low.scalar_expr(start), low.scalar_expr(step)
    floating = bool(node.meta["val"].dtype.is_floating_point)
    if not floating:
        first, difference = fold("int", first), fold("int", difference)
        low.check_bounds(node, intervals.counted(length, first, difference))
    return View("", 1, counted=Counted(length, first, difference, floating))


@lowers("aten.arange.default", "aten.arange.start", "aten.arange.start_step")
def _arange(low: Lowerer, node: Node) -> Any:
    values: list[Any] = list(node.args)
    start = values[0] if len(values) > 1 else 0
    step = values[2] if len(values) > 2 else 1
    return _counted(low, node, start, step)


@lowers("prims.iota.default")
def _iota(low: Lowerer, node: Node) -> Any:
    return _counted(low, node, node.kwargs.get("start", 0), node.kwargs.get("step", 1))
