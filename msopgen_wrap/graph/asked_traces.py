"""Take the graph of fewer gradients out of that of all of them.

The variants of an op of gradients differ in what a call asks for (``spec.asked_gradients``). Their
graphs are parts of one: PyTorch need not differentiate the formula for each of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from msopgen_wrap.graph.cuts import end_with
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.spec.asked_gradients import asked_outputs, asking_attr, source_outputs
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from msopgen_wrap.graph.tracing import TracedGraph

Node = torch.fx.Node


def fuller_variant(spec: OpSpec, variant: Variant, used: set[str]) -> Variant | None:
    """Return the variant that computes all that one does, and more; None where there is none.

    Args:
        spec: an op of gradients that are derived.
        used: the names that its formula uses.
    """
    asking = asking_attr(spec, used)
    attrs = dict(variant.attrs)
    if asking is None or asking.name not in attrs:
        return None
    own = attrs[asking.name]
    wanted = asked_outputs(spec, attrs)
    for value in asking.allowed or ():
        same = source_outputs(value) == source_outputs(own)
        if same and asked_outputs(spec, attrs | {asking.name: value}) > wanted:
            chosen = ((n, value if n == asking.name else v) for n, v in variant.attrs)
            return replace(variant, attrs=tuple(chosen))
    return None


def asked_part(spec: OpSpec, variant: Variant, whole: TracedGraph) -> TracedGraph | None:
    """Return the graph of a variant, None where a trace of its own may be another one.

    Calls with several results are told which of them are computed (``output_mask``).

    Args:
        whole: the graph of ``fuller_variant``; it stays as it is.
    """
    if any(_has_mask(node) or node.op == "get_attr" for node in whole.graph.nodes):
        return None
    graph = torch.fx.Graph()
    copies: dict[Node, Node] = {}
    graph.graph_copy(whole.graph, copies)
    wanted = asked_outputs(spec, dict(variant.attrs))
    results: dict[str, Node] = {}
    for name, value in whole.outputs.items():
        if not isinstance(value, Node):
            return None
        results[name] = copies[value] if name in wanted else _nothing(graph, value)
    return replace(whole, graph=graph, outputs=end_with(graph, results), variant=variant)


def _has_mask(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return any(argument.name == "output_mask" for argument in getattr(schema, "arguments", ()))


def _nothing(graph: torch.fx.Graph, like: Node) -> Node:
    """Return a call that gives a tensor without elements, as a gradient that is not asked for."""
    known = like.meta["val"]
    kwargs = {
        "dtype": known.dtype,
        "layout": torch.strided,
        "device": known.device,
        "pin_memory": False,
    }
    node = graph.call_function(torch.ops.aten.full.default, ([0], 0), kwargs)
    with known.fake_mode:
        node.meta["val"] = torch.ops.aten.full.default([0], 0, **kwargs)
    return node
