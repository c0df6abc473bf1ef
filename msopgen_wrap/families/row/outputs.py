"""Outputs of a row kernel have all axes of its iteration space, or all that are not reduced."""

from __future__ import annotations

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.row.axes import GraphAxes
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.schedule.calls import RESHAPES, Node, target_name
from msopgen_wrap.schedule.reductions import reduction_kind
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import torch


def check_outputs(spec: OpSpec, traced: TracedGraph, space: GraphAxes) -> None:
    """Refuse outputs that are neither elements of the iteration space nor its row values.

    Raises:
        OpgenError: OPG338 for the first such output. Several outputs may be made in parts.
    """
    spanned = set(space.reduced)
    for node in traced.graph.nodes:
        if node.op == "call_function" and target_name(node) not in RESHAPES:
            spanned |= _axes(space, node)
    for param in spec.outputs:
        node = traced.outputs[param.name]
        if not isinstance(node, Node):
            continue
        axes = _axes(space, _before_reshape(node))
        missing = spanned - axes
        if not axes & space.reduced:
            missing -= space.reduced
        if missing:
            raise OpgenError(
                Diagnostic(
                    "OPG338",
                    f"output {param.name!r} lacks an axis of what the reductions work on",
                    param.location,
                    "a pass with reductions works through the axes of their data and writes "
                    "elements with all of them, or numbers with all that are not reduced",
                    "make an op of the output, or write the kernel with `kernel:`",
                )
            )


def _before_reshape(node: Node) -> Node:
    """Return what is stored in another shape, before the reshape; ``node`` itself without one."""
    found = below = node
    while below.op == "call_function" and not reduction_kind(below):
        tensors = [n for n in below.all_input_nodes if isinstance(n.meta.get("val"), torch.Tensor)]
        if len(tensors) != 1:
            break
        if target_name(below) in RESHAPES:
            found = tensors[0]
        below = tensors[0]
    return found


def _axes(space: GraphAxes, node: Node) -> set[int]:
    return {a for a in space.of.get(node, ()) if a is not None}
