"""Replace in-place operators of a traced graph by their functional forms.

PyTorch's own composite operators write temporaries in place (``rms_norm``: ``mean(...).add_(eps)``)
and tracing records that. Where the written tensor is a temporary of the graph that nothing else
sees, the operator and its functional form are the same computation.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node


def without_mutations(graph: Graph) -> None:
    """Rewrite ``add_`` and the like, in place; what may be seen under another name is left."""
    for node in list(graph.nodes):
        functional = _functional_form(node)
        if functional is None or not _is_private(node.args[0], node):
            continue
        written = node.args[0]
        with graph.inserting_before(node):
            new = graph.call_function(functional, node.args, node.kwargs)
        new.meta = dict(node.meta)
        node.replace_all_uses_with(new)
        # What reads the tensor from here on reads the new value.
        for user in _later(written, node):
            user.replace_input_with(written, new)
        graph.erase_node(node)


def _functional_form(node: Node) -> Any:
    """Return the overload without the underscore, None where there is none."""
    target = node.target
    if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
        return None
    name = target._schema.name.removeprefix("aten::")
    if not name.endswith("_") or name.startswith("__") or not target._schema.is_mutable:
        return None
    packet = getattr(torch.ops.aten, name.rstrip("_"), None)
    return getattr(packet, target._overloadname, None)


def _is_private(written: Any, at: Node) -> bool:
    """Whether only the node itself names the memory that it writes."""
    if not isinstance(written, Node) or written.op != "call_function" or _is_alias(written):
        return False
    return not any(_is_alias(user) for user in written.users if user is not at)


def _is_alias(node: Node) -> bool:
    """Whether the result shares memory with an argument."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return node.op == "call_function" and getattr(target, "__name__", "") == "getitem"
    return any(
        a.alias_info is not None and not a.alias_info.is_write for a in target._schema.arguments
    )


def _later(value: Node, place: Node) -> list[Node]:
    """Users of a value that come after a node."""
    found, node = [], place.next
    while node.op != "root":
        if value in node.all_input_nodes:
            found.append(node)
        node = node.next
    return found
