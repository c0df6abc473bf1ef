"""Outputs of a row kernel have all axes of its iteration space, or all that are not reduced."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.row.axes import GraphAxes, result_shape
from msopgen_wrap.graph.sizes import same_size
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.schedule.calls import (
    RESHAPES,
    Node,
    reduction_kind,
    target_name,
    tensor_arguments,
)
from msopgen_wrap.spec.model import OpSpec


def check_outputs(spec: OpSpec, traced: TracedGraph, space: GraphAxes) -> None:
    """Refuse outputs that are neither elements of the iteration space nor its row values.

    Raises:
        OpgenError: OPG338 for the first such output. Several outputs may be made in parts.
    """
    made = [n for n in traced.outputs.values() if isinstance(n, Node)]
    reshaped = {n for node in made for n in _reshaped(space, node)}
    sizes = _sizes([n for n in traced.graph.nodes if n not in reshaped], space)
    spanned = set(sizes)
    for param in spec.outputs:
        node = traced.outputs[param.name]
        if not isinstance(node, Node):
            continue
        own = _sizes_of(space, before_reshapes(space, node))
        missing = spanned - set(own)
        if not space.reduced & set(own):
            missing -= space.reduced
        if missing or not all(same_size(size, sizes.get(axis, size)) for axis, size in own.items()):
            raise OpgenError(
                Diagnostic(
                    "OPG338",
                    f"output {param.name!r} has other axes than what the reductions work on",
                    param.location,
                    "a pass with reductions works through the axes of their data and writes "
                    "elements with all of them, or numbers with all that are not reduced",
                    "make an op of the output, or write the kernel with `kernel:`",
                )
            )


def before_reshapes(space: GraphAxes, node: Node) -> Node:
    """Return the value of which a result is, in another shape: its axes are those of the space."""
    behind = _reshaped(space, node)
    return tensor_arguments(behind[-1])[0] if behind else node


def _reshaped(space: GraphAxes, node: Node) -> list[Node]:
    """Return the calls that give a result another shape to be stored in, the last one first."""
    found: list[Node] = []
    chain: list[Node] = []
    below = node
    while not space.is_view(below) and not reduction_kind(below):
        tensors = tensor_arguments(below)
        if len(tensors) != 1:
            break
        chain.append(below)
        if target_name(below) in RESHAPES:
            found = list(chain)
        below = tensors[0]
    return found


def _sizes(nodes: list[Node], space: GraphAxes) -> dict[int, Any]:
    """Return the sizes of the axes of the space that are not 1, of what is reduced first of all."""
    calls = [n for n in nodes if n.op == "call_function"]
    reduced: list[Any] = [n.args[0] for n in calls if reduction_kind(n)]
    computed = [n for n in calls if target_name(n) not in RESHAPES and not space.is_view(n)]
    sizes: dict[int, Any] = {}
    for node in (*reduced, *computed):
        sizes = {**_sizes_of(space, node), **sizes}
    return sizes


def _sizes_of(space: GraphAxes, node: Node) -> dict[int, Any]:
    """Return the sizes of a node by the axes of the space."""
    pairs = zip(space.of.get(node, ()), result_shape(node), strict=False)
    return {a: getattr(n, "node", n) for a, n in pairs if a is not None}
