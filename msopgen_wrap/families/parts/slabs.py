"""Outputs that are joined of pieces: which slabs of them passes of their own can write."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.graph.output_slabs import slabs_of
from msopgen_wrap.graph.size_order import SizeOrder
from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.calls import target_name
from msopgen_wrap.spec.model import OpSpec, ParamKind, Slab, TensorParam
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

# Slabs of an output; each has a class and a tiling of its own in the kernel.
_MOST_SLABS = 8


@dataclass(frozen=True)
class OutputSlab:
    """A slab of an output.

    Attributes:
        param: what a part writes.
        size: the elements of the slab along its axis, over sizes of inputs; equal for slabs that
            have equal sizes in every call.
        filled: whether all elements are one number, as around what is padded.
    """

    param: TensorParam
    size: Any
    filled: bool


def joined_slabs(
    part: OpSpec, variant: Variant, output: TensorParam, taken: Container[str]
) -> list[OutputSlab]:
    """Return the slabs of an output that parts can write; none where it is not joined of several.

    Args:
        part: of an op; its outputs are not read.
        variant: of which the graph is looked at. Graphs of others are compared where they are cut.
        output: of the op.
        taken: names that slabs must not have, besides those of the part.
    """
    plain = output.kind is ParamKind.REQUIRED and output.site is None and not output.inplace
    if not plain or output.pieces is not None or output.length is not None:
        return []
    try:
        traced = trace(replace(part, outputs=(output,)), variant)
        result = traced.outputs[output.name]
        if not isinstance(result, Node):
            return []
        order = SizeOrder(part.whole or part, variant, traced.graph, traced.inputs, traced.demands)
        slabs = slabs_of(result, order)
        if slabs is None or len(slabs.items) > _MOST_SLABS:
            return []
        return [
            _slab(part, variant, output, Slab(output.name, number, len(slabs.items)), order, taken)
            for number in range(len(slabs.items))
        ]
    except OpgenError:  # no slab by itself, or no value that goes through the workspace
        return []


def _slab(
    part: OpSpec,
    variant: Variant,
    output: TensorParam,
    slab: Slab,
    order: SizeOrder,
    taken: Container[str],
) -> OutputSlab:
    name = f"{output.name}_part{slab.number + 1}"
    while name in taken or name in {p.name for p in part.inputs}:
        name += "x"  # an underscore would be lost in names of classes
    param = replace(output, name=name, slab=slab)
    node = trace(replace(part, outputs=(param,)), variant).outputs[name]
    value = node.args[0]
    filled = not isinstance(value, Node) or target_name(value) == "aten.scalar_tensor.default"
    return OutputSlab(param, order.known(node.meta["val"].shape[node.args[1]]), filled)
