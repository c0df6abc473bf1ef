"""The part of a model's graph that an op call would replace, and what speaks against it."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.fusion.conversion import packet_name
from msopgen_wrap.fusion.terms import names_in
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node
OpOverload = torch._ops.OpOverload

# Results of these are views: nothing is read from or written to global memory.
_NO_WORK = names_in(
    "view unsqueeze squeeze expand expand_as permute transpose t slice select split chunk "
    "split_with_sizes unbind alias detach view_as narrow flatten unflatten getitem "
    "_to_copy_same numpy_T mT movedim swapaxes diagonal unfold as_strided real imag "
    "contiguous reshape to"
)


@dataclass(frozen=True)
class Region:
    """Nodes of a model's graph between some values and others.

    Attributes:
        nodes: in the order of the graph.
        inputs: the values that are read, distinct.
        outputs: the values that are used afterwards.
        constants: further steps before the nodes, which read no tensor and stay where they are.
    """

    nodes: tuple[Any, ...]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    constants: tuple[Any, ...] = ()


def storage_of(value: Any) -> int | None:
    """Return what identifies the memory of a (fake) tensor."""
    if not isinstance(value, torch.Tensor):
        return None
    return int(value.untyped_storage()._cdata)


def written_storages(graph: Any) -> set[int]:
    """Return the memories that some node of a graph writes in place."""
    found: set[int] = set()
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if not isinstance(node.target, OpOverload):
            if node.target is not operator.getitem and _may_write(node.target):
                found.update(_storages(node.all_input_nodes))
            continue
        written = list(_written_arguments(node))
        found.update(_storages(written))
    return found


def _may_write(target: Any) -> bool:
    """Whether a call that is no ATen operator may write its operands: a subgraph, for example."""
    return getattr(target, "__module__", "") not in ("_operator", "operator", "math")


def _written_arguments(node: Any) -> Iterable[Any]:
    schema = node.target._schema
    if packet_name(node.target) == "detach_":  # forgets where a tensor comes from, writes nothing
        return
    training = packet_name(node.target) == "batch_norm"
    for i, argument in enumerate(schema.arguments):
        value = node.args[i] if i < len(node.args) else node.kwargs.get(argument.name)
        writes = argument.alias_info is not None and argument.alias_info.is_write
        # batch_norm updates its statistics, and its schema does not say so
        writes = writes or (training and argument.name in ("running_mean", "running_var"))
        if writes:
            yield from [value] if isinstance(value, Node) else value or []


def _storages(nodes: Iterable[Any]) -> set[int]:
    found = set()
    for node in nodes:
        if isinstance(node, Node):
            for value in torch.utils._pytree.tree_leaves(node.meta.get("val")):
                storage = storage_of(value)
                if storage is not None:
                    found.add(storage)
    return found


def region_between(outputs: Sequence[Any], inputs: Sequence[Any]) -> Region | str:
    """Return the nodes that make ``outputs`` from ``inputs``, or why there is no such region.

    Tensors without inputs (``torch.full``) belong to the region.
    """
    stops = set(inputs)
    nodes: set[Any] = set()
    queue = [n for n in outputs if n not in stops]
    while queue:
        node = queue.pop()
        if node in nodes:
            continue
        if node.op != "call_function":
            return f"it also depends on {node.name}; give that to the op as an input"
        nodes.add(node)
        queue += [n for n in node.all_input_nodes if n not in stops]
    if not nodes:
        return "nothing is computed between inputs and outputs; there is nothing to replace"
    graph = next(iter(nodes)).graph
    constants = _taken_constants(graph, nodes)
    if not nodes:
        return "it reads no tensor of the model; an op needs one, so compute constants outside"
    ordered = tuple(n for n in graph.nodes if n in nodes)
    used = dict.fromkeys(i for n in ordered for i in n.all_input_nodes if i in stops)
    # The call stands where all inputs are known, so nothing before that may read a result.
    order = {n: i for i, n in enumerate(graph.nodes)}
    known = max((order[n] for n in used), default=-1)
    for node in nodes:
        for user in node.users:
            if user not in nodes and order[user] <= known:
                return (
                    f"{place_of(user)} reads a result before all inputs are known; compute the "
                    "inputs before it"
                )
    return Region(ordered, tuple(used), tuple(dict.fromkeys(outputs)), constants)


def _taken_constants(graph: Any, nodes: set[Any]) -> tuple[Any, ...]:
    """Take out and return steps that read no tensor of the model and are used elsewhere, too."""
    constant: set[Any] = set()
    for node in graph.nodes:
        if node in nodes and all(source in constant for source in node.all_input_nodes):
            constant.add(node)
    taken = []
    for node in reversed(graph.nodes):
        if node in constant and any(user not in nodes for user in node.users):
            nodes.discard(node)
            taken.append(node)
    return tuple(reversed(taken))


def switches_mode(node: Any) -> bool:
    """Whether a node switches gradients or autocast on or off for what follows."""
    name = getattr(node.target, "__name__", "")
    return node.op == "call_function" and ("grad_enabled" in name or "autocast" in name)


def _mode_change(region: Region) -> str:
    """Return why a region and the place where its op would be called are in different modes."""
    segments: dict[Any, int] = {}
    last, segment = 0, 0
    for node in region.nodes[0].graph.nodes:
        segment += switches_mode(node)
        segments[node] = segment
        if node in region.inputs:
            last = segment  # the call stands behind the last input
    if all(segments[node] == last for node in region.nodes):
        return ""
    return (
        "gradients or autocast are switched between its inputs and its steps; switch them outside "
        "of the formula"
    )


def objection(region: Region, written: set[int]) -> str:
    """Return why a region cannot be replaced, empty when it can."""
    nodes = set(region.nodes)
    outputs = set(region.outputs)
    for node in region.nodes:
        outside = [u for u in node.users if u not in nodes]
        if outside and node not in outputs:
            return (
                f"{place_of(node)} is used elsewhere, too ({place_of(outside[0])}); make it an "
                "output of the op, or compute it again there"
            )
        if node.target is operator.getitem:
            continue
        if not isinstance(node.target, OpOverload):
            return (
                f"{place_of(node)} is a call into a subgraph; fuse the model that it calls, or "
                "write the step without it"
            )
        if node.target._schema.is_mutable:
            return f"{place_of(node)} works in place; use the operator without underscore"
        if packet_name(node.target) in ("detach", "detach_"):
            return f"{place_of(node)} stops the gradient; move it before or behind the formula"
        random = torch.Tag.nondeterministic_seeded in node.target.tags
        if random and not is_idle_dropout(node):
            return (
                f"{place_of(node)} draws random numbers; use model.eval() if it is a dropout, or "
                "draw them before and pass them in"
            )
    for node in (*region.inputs, *region.nodes):
        if _storages([node]) & written:
            return (
                f"the memory of {place_of(node)} is written in place, or by a call with a graph of "
                "its own; write a copy"
            )
    changed = _mode_change(region)
    if changed:
        return changed
    taken = _storages(region.inputs)
    for node in region.outputs:
        if _storages([node]) & taken:
            return f"{place_of(node)} is a view of an input; leave the view out of the op"
    memories = [s for n in region.outputs for s in _storages([n])]
    if len(set(memories)) < len(memories):
        return "two of the results are views of the same memory; give one, and view it outside"
    return ""


def is_idle_dropout(node: Any) -> bool:
    """Whether a node is a dropout in evaluation."""
    return packet_name(node.target) == "dropout" and (len(node.args) > 2 and not node.args[2])


def place_of(node: Any) -> str:
    """Return a node with the module and the line of the model that it comes from."""
    where = ", ".join(part for part in (module_of(node), line_of(node)) if part)
    return f"{node.name} ({where})" if where else str(node.name)


def module_of(node: Any) -> str:
    """Return the path of the module of the model that a node belongs to."""
    stack = node.meta.get("nn_module_stack") or {}
    paths = [path for path, _ in stack.values()]
    path = str(paths[-1]) if paths else ""
    return path.removeprefix("L['self'].").removeprefix("L['self']")


def line_of(node: Any) -> str:
    """Return ``file:line`` of the user's code that made a node, empty where it is not known."""
    frames = [
        row.strip()
        for row in (node.meta.get("stack_trace") or "").splitlines()
        if row.strip().startswith("File ")
    ]
    for row in reversed(frames):
        name, _, rest = row.removeprefix('File "').partition('", line ')
        if "/torch/" not in name and "/msopgen_wrap/" not in name:
            return f"{name.rsplit('/', 1)[-1]}:{rest.split(',')[0]}"
    return ""


def bytes_of(value: Any) -> int:
    """Return the bytes of a fake tensor, or of several; sizes that depend on values count as 0."""
    found = 0
    for tensor in torch.utils._pytree.tree_leaves(value):
        if isinstance(tensor, torch.Tensor) and all(type(n) is int for n in tensor.shape):
            found += tensor.numel() * tensor.element_size()
    return found


def moved_bytes(nodes: Iterable[Any]) -> int:
    """Return the GM bytes of nodes run one by one: each reads its inputs and writes its outputs.

    Views move nothing; a copy that a layout needs is counted.
    """
    found = 0
    for node in nodes:
        if node.op != "call_function" or is_view(node):
            continue
        found += bytes_of([n.meta.get("val") for n in node.all_input_nodes])
        found += bytes_of(node.meta.get("val"))
    return found


def is_view(node: Any) -> bool:
    """Whether a node gives the memory of its operand, and computes nothing."""
    if node.target is operator.getitem:
        return True
    if not isinstance(node.target, OpOverload):
        return False
    if packet_name(node.target) == "dropout":
        return is_idle_dropout(node)
    if packet_name(node.target) not in _NO_WORK:
        return False
    own = _storages([node])
    return bool(own) and own <= _storages(node.all_input_nodes)
