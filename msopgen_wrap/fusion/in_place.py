"""Writes in place: taken out before ops are looked for, put in where they save memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msopgen_wrap.fusion.aliases import Aliases
from msopgen_wrap.fusion.conversion import packet_name
from msopgen_wrap.fusion.regions import storage_of, switches_mode
from msopgen_wrap.fusion.terms import names_in
from msopgen_wrap.graph.trace_rewrites import functional_form
from msopgen_wrap.graph.tracing import quiet_attempts
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node
OpOverload = torch._ops.OpOverload

_COMMUTATIVE = names_in("add mul")


@dataclass(frozen=True)
class TakenWrite:
    """An operator that wrote a temporary in place, and is a plain one now.

    Attributes:
        node: the plain operator.
        operand: what it wrote.
        target: the operator that writes.
    """

    node: Any
    operand: Any
    target: Any


def without_writes(graph: Any) -> list[TakenWrite]:
    """Make operators plain that write a temporary whose old value nobody reads any more.

    ``nn.ReLU(inplace=True)`` and ``scores += bias`` are the same computation then; formulas around
    them can be seen. Writes of inputs, parameters, buffers and parts of other values stay.

    Args:
        graph: ATen calls with fake values; changed in place.
    """
    if any(switches_mode(n) for n in graph.nodes):
        return []  # without gradients a write keeps the gradient of its operand, a copy has none
    found: list[TakenWrite] = []
    aliases = Aliases(graph)
    for node in list(graph.nodes):
        plain = functional_form(node)
        if plain is None or not _may_be_plain(node) or not isinstance(node.args[0], Node):
            continue
        written = node.args[0]
        if not aliases.is_private(written) or aliases.is_read_after(written, node, but=(written,)):
            continue
        value = _fake(plain, node.args, node.kwargs)
        if value is None or not _same_layout(value, node.meta["val"]):
            continue
        with graph.inserting_before(node):
            new = graph.call_function(plain, node.args, node.kwargs)
        new.meta = {**node.meta, "val": value}
        node.replace_all_uses_with(new)
        for user in [u for u in written.users if aliases.order.get(u, 0) > aliases.order[node]]:
            user.replace_input_with(written, new)
        graph.erase_node(node)
        found.append(TakenWrite(new, written, node.target))
        _renew_views(graph, new)
        aliases = Aliases(graph)
    return found


def put_back(graph: Any, taken: list[TakenWrite]) -> None:
    """Let operators write again that no op has replaced, nor what they wrote."""
    nodes = set(graph.nodes)
    for write in taken:
        if write.node in nodes and write.node.args[0] is write.operand:
            write.node.target = write.target
            write.node.meta["val"] = write.operand.meta["val"]
            _renew_views(graph, write.node)


def with_reuse(graph: Any) -> tuple[int, dict[int, int]]:
    """Let pointwise operators write the memory of an operand that nobody reads any more.

    Only for runs without gradients: autograd keeps operands for the backward pass.

    Args:
        graph: changed in place.

    Returns:
        How many operators write in place now, and storage -> the storage that it became.
    """
    if any(switches_mode(n) for n in graph.nodes):
        return 0, {}
    aliases = Aliases(graph)
    same: dict[int, int] = {}
    count = 0
    for node in list(graph.nodes):
        target = _writing_form(node)
        if target is None:
            continue
        for operand in _operands(node):
            if not aliases.is_private(operand) or aliases.is_read_after(operand, node):
                continue
            if not _same_memory(operand.meta["val"], node.meta["val"]):
                continue
            others = [a for a in node.args if isinstance(a, Node) and a is not operand]
            if any(o in aliases.members(operand) for o in others):
                continue  # it would read what it writes in another order
            given = (operand, *(a for a in node.args if a is not operand))
            if len(given) != len(node.args):
                continue  # x * x
            node.args = given
            node.target = target
            own, became = storage_of(node.meta["val"]), storage_of(operand.meta["val"])
            if own is not None and became is not None:
                same[own] = same.get(became, became)
            count += 1
            aliases = Aliases(graph)
            break
    return count, same


def _operands(node: Any) -> list[Any]:
    """Return the tensors that a pointwise operator could write: the first, or either."""
    found = [node.args[0]] if isinstance(node.args[0], Node) else []
    plain = len(node.args) == 2 and not node.kwargs
    if plain and packet_name(node.target) in _COMMUTATIVE and isinstance(node.args[1], Node):
        found.append(node.args[1])
    return found


def _writing_form(node: Any) -> Any:
    """Return the operator that writes its first operand, None where there is none."""
    target = node.target
    if node.op != "call_function" or not isinstance(target, OpOverload) or not node.args:
        return None
    if target.namespace != "aten" or torch.Tag.pointwise not in target.tags:
        return None
    if target._schema.is_mutable or not isinstance(node.meta.get("val"), torch.Tensor):
        return None
    packet = getattr(torch.ops.aten, f"{packet_name(target)}_", None)
    found = getattr(packet, target._overloadname, None)
    if found is None or functional_form_of(found) is not target:
        return None
    return found


def functional_form_of(target: Any) -> Any:
    """Return the operator without the underscore of one that writes in place."""
    packet = getattr(torch.ops.aten, packet_name(target).rstrip("_"), None)
    return getattr(packet, target._overloadname, None)


def _may_be_plain(node: Any) -> bool:
    tags = node.target.tags
    if torch.Tag.inplace_view in tags or not isinstance(node.meta.get("val"), torch.Tensor):
        return False
    random = torch.Tag.nondeterministic_seeded in tags
    idle = packet_name(node.target) == "dropout_" and len(node.args) > 2 and not node.args[2]
    return idle or not (random or packet_name(node.target) == "dropout_")


def _fake(target: Any, args: Any, kwargs: Any) -> Any:
    """Return the fake result of a call; None where it cannot be had."""
    try:
        values = torch.fx.node.map_arg((args, kwargs), lambda n: n.meta["val"])
        leaves = torch.utils._pytree.tree_leaves(values)
        mode = next(v.fake_mode for v in leaves if hasattr(v, "fake_mode"))
        with torch.no_grad(), mode, quiet_attempts():
            return target(*values[0], **values[1])
    except Exception:  # the operator stays as it is
        return None


def _same_memory(one: Any, other: Any) -> bool:
    """Whether one tensor fits where another lies, and fills it."""
    return (
        _same_layout(one, other)
        and one.untyped_storage().nbytes() == other.untyped_storage().nbytes()
    )


def _same_layout(one: Any, other: Any) -> bool:
    return (
        isinstance(one, torch.Tensor)
        and one.dtype == other.dtype
        and all(type(n) is int for n in (*one.shape, *other.shape))
        and tuple(one.shape) == tuple(other.shape)
        and tuple(one.stride()) == tuple(other.stride())
    )


def _renew_views(graph: Any, changed: Any) -> None:
    """Make fake views anew of a value whose memory is another now, and of views of these."""
    renewed = {changed}
    for node in graph.nodes:
        if node.op != "call_function" or not renewed.intersection(node.all_input_nodes):
            continue
        if node is changed or not isinstance(node.target, OpOverload):
            continue
        old = node.meta.get("val")
        value = _fake(node.target, node.args, node.kwargs)
        leaves = torch.utils._pytree.tree_leaves
        shared = {storage_of(v) for n in renewed for v in leaves(n.meta["val"])}
        if value is None or old is None or not shared & {storage_of(v) for v in leaves(value)}:
            continue
        node.meta["val"] = value
        renewed.add(node)
