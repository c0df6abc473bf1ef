"""Values that forward has saved, in the graph of a gradient: they need not be computed again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msopgen_wrap.spec.saved_outputs import SAVED
from msopgen_wrap.torch_import import torch

_ALIASES = ("detach", "alias", "clone")


def use_saved_values(graph: Any, names: Sequence[str]) -> None:
    """Replace ``computed + (saved - computed)`` by ``saved``, as ``saved_value`` has written it.

    Args:
        graph: of ATen operators.
        names: of the first placeholders; those called ``saved_...`` are the saved values, and
            sums with others of this form stay.
    """
    aten = torch.ops.aten
    starts = [n for n in graph.nodes if n.op == "placeholder"]
    saved = {n for n, name in zip(starts, names, strict=False) if name.startswith(SAVED)}
    for node in list(graph.nodes):
        if node.target is not aten.add.Tensor or node.kwargs or len(node.args) != 2:
            continue
        computed, difference = node.args
        difference = _source(difference)
        if getattr(difference, "target", None) is not aten.sub.Tensor or difference.kwargs:
            continue
        value, same = difference.args
        if _source(value) in saved and _source(same) is _source(computed):
            node.replace_all_uses_with(_source(value))


def _source(node: Any) -> Any:
    while getattr(node, "op", "") == "call_function" and _name(node) in _ALIASES:
        node = node.args[0]
    return node


def _name(node: Any) -> str:
    return str(getattr(node.target, "__name__", "")).split(".")[0]
