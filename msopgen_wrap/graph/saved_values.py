"""Values that forward has saved, in the graph of a gradient: they need not be computed again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msopgen_wrap.spec.saved_outputs import SAVED
from msopgen_wrap.torch_import import torch

_SAME_MEMORY = ("detach", "alias")
_ALIASES = (*_SAME_MEMORY, "clone")


def use_saved_values(graph: Any, names: Sequence[str], outputs: int) -> None:
    """Replace what is computed again by what forward has saved.

    ``saved_value`` has written ``computed + (saved - computed)`` where the formula uses it. The
    derivatives of many functions are formulas of their own results, which PyTorch keeps: these
    results follow the outputs of the graph, each with the saved value.

    So is an input beside its share of 1 (``differentiated``).

    Args:
        graph: of ATen operators.
        names: of the first placeholders; those called ``saved_...`` are the saved values, and
            sums with others of this form stay.
        outputs: how many of the graph's outputs are those of the op.
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
        known = _source(value) in saved or _is_share(_source(computed), _source(value))
        if known and _source(same) is _source(computed):
            node.replace_all_uses_with(_source(value))
    end = next(n for n in graph.nodes if n.op == "output")
    pairs = end.args[0][outputs:]
    end.args = (list(end.args[0][:outputs]),)
    for computed, value in zip(pairs[::2], pairs[1::2], strict=True):
        result, value = _source(computed, _SAME_MEMORY), _source(value)
        if result.op == "call_function" and value in saved and _alike(result, value):
            result.replace_all_uses_with(value)


def _is_share(computed: Any, value: Any) -> bool:
    """Whether something is ``value`` times ``n / n``, which is 1, or NaN where there are none."""
    aten = torch.ops.aten
    if getattr(computed, "target", None) is not aten.mul.Tensor:
        return False
    given, share = computed.args
    if _source(given) is not value or getattr(share, "target", None) is not aten.div.Tensor:
        return False
    above, below = share.args
    return above is below and getattr(above, "target", None) is aten.full.default


def _alike(one: Any, other: Any) -> bool:
    """Whether two nodes have one dtype and as many axes: a result is not widened on the way."""
    first, second = one.meta["val"], other.meta["val"]
    return bool(first.dtype == second.dtype and first.dim() == second.dim())


def _source(node: Any, through: Sequence[str] = _ALIASES) -> Any:
    while getattr(node, "op", "") == "call_function" and _name(node) in through:
        node = node.args[0]
    return node


def _name(node: Any) -> str:
    return str(getattr(node.target, "__name__", "")).split(".")[0]
