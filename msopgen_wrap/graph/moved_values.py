"""Values whose elements are those of inputs as they are: joined, padded, selected, never
computed.

In the workspace such a value needs no more digits than the inputs have.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.views import is_view
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node
_aten = torch.ops.aten

_FILLS = (_aten.scalar_tensor.default, _aten.full.default, _aten.full_like.default)
_ZEROS = (_aten.zeros.default, _aten.zeros_like.default)
# Their elements are those of the first argument.
_GATHERS = (
    *(_aten.embedding.default, _aten.gather.default, _aten.index.Tensor),
    *(_aten.index_select.default, _aten._unsafe_index.Tensor),
)
# Whole numbers up to this one are exact in every floating dtype.
_MOST_EXACT = 256.0


def moved_from(node: Any) -> set[Node] | None:
    """Return the placeholders that a tensor has its elements of.

    Returns:
        None where an element is computed, or is a number that not every floating dtype holds.
    """
    sources = _sources(node)
    return sources or None


def _sources(node: Any) -> set[Node] | None:
    """Return the placeholders of ``moved_from``; a set of none for numbers alone."""
    if not isinstance(node, Node):
        return set() if _is_exact(node) else None
    if node.op == "placeholder":
        return {node}
    if is_view(node) or node.target in _GATHERS:
        return _sources(node.args[0])
    if node.target in _ZEROS:
        return set()
    if node.target in _FILLS:
        number = node.args[0] if node.target is _FILLS[0] else node.args[1]
        return _sources(number) if not isinstance(number, Node) else None
    if node.target is _aten.where.self:
        found = [_sources(choice) for choice in node.args[1:3]]
        return None if None in found else set().union(*(s for s in found if s))
    return None


def _is_exact(number: Any) -> bool:
    if not isinstance(number, (int, float)):
        return False
    infinite = number in (float("inf"), float("-inf"))
    return infinite or (float(number).is_integer() and abs(number) <= _MOST_EXACT)
