"""Gradients that arrive with the sizes of the result that they belong to.

A size of a result may be made of attrs, as ``(x.shape[-1] + 2 * pad - size) // step + 1`` of a
pool. The gradient of the result is an input with sizes of its own, and PyTorch asks whether both
are equal, which nobody knows of symbols. ``opgen::given_shape(x, sizes)`` says that they are: the
shape rules of a spec do, and the tiling function checks them.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
_SIZE = torch.ops.aten.sym_size.int

_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
_LIBRARY.define("given_shape(Tensor x, SymInt[] sizes) -> Tensor")
_LIBRARY.impl("given_shape", lambda x, sizes: x.new_empty(sizes), "Meta")
_LIBRARY.impl("given_shape", lambda x, sizes: x.clone(), "CPU")


def use_given_shapes(graph: Graph) -> None:
    """Take the calls out of a traced graph; what they are given has the sizes from then on.

    Sizes of a computed result become those of the gradient, for which nothing is computed.
    """
    target: Any = torch.ops.opgen.given_shape.default
    for node in list(graph.nodes):
        if node.target is not target:
            continue
        source: Any = node.args[0]
        source.meta["val"] = _of_shape(source.meta["val"], node.meta["val"])
        # Below it is the input, or conversions of it.
        while source.op == "call_function":
            source = source.args[0]
            source.meta["val"] = _of_shape(source.meta["val"], node.meta["val"])
        sizes: Any = node.args[1]
        node.replace_all_uses_with(node.args[0])
        graph.erase_node(node)
        for axis, size in enumerate(sizes):
            _take_size(graph, source, axis, size)


def _take_size(graph: Graph, source: Any, axis: int, size: Any) -> None:
    """Let the users of a size of a computed tensor read that of an input instead."""
    target: Any = getattr(size, "target", None)
    if target is not _SIZE or size.args[0].op == "placeholder":
        return
    first = next(n for n in graph.nodes if n.op != "placeholder")
    with graph.inserting_before(first):
        known = graph.call_function(_SIZE, (source, axis))
    known.meta = dict(size.meta)
    size.replace_all_uses_with(known)


def _of_shape(value: Any, shaped: Any) -> Any:
    """Return a tensor without data: the dtype of ``value``, the sizes of ``shaped``."""
    with value.fake_mode:
        return torch.empty_like(shaped, dtype=value.dtype)
