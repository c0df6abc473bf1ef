"""Attrs that shape a graph: which they are for a part, and which other values to compare.

Attrs of the whole op may shape other parts than the one that is planned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.graph.sample import count_attrs
from msopgen_wrap.spec.model import Attr, OpSpec
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from msopgen_wrap.graph.tracing import TracedGraph


def other_values(attr: Attr, traced: TracedGraph) -> list[Any]:
    """Return other axes than the sample's, and values around what the code compares the attr with.

    A list may be axes, of any number, or numbers per axis, of which the code reads as many as the
    sample has.

    Args:
        attr: an int or list_int attr that shaped the graph.
        traced: the graph.
    """
    known = traced.structural[attr.name]
    inner = range(1, max((len(shape) for shape in traced.shapes.values()), default=0) - 1)
    if attr.type == "list_int":
        as_many = ([v + 1 for v in known], [1] * len(known))
        lists = [[0], [-1], [0, 1], *([axis] for axis in inner), *as_many]
        return [v for i, v in enumerate(lists) if v != list(known) and v not in lists[:i]]
    values = [0, -1, *inner]
    for number in sorted(traced.numbers.get(attr.name, ())):
        values += [int(number) - 1, int(number), int(number) + 1]
    return [
        v
        for v in dict.fromkeys(values)
        if v != known
        and (attr.minimum is None or v >= attr.minimum)
        and (attr.maximum is None or v <= attr.maximum)
    ]


def shaping_attrs(
    spec: OpSpec, part: TracedGraph, cut_with: Callable[[str, Any], TracedGraph]
) -> dict[str, Any]:
    """Return those of a part's structural attrs that change its graph, with their samples.

    Args:
        spec: the part.
        part: its graph, with the structural attrs of the whole op.
        cut_with: returns its graph for another value of an attr; raises OpgenError where there is
            none.
    """
    counts = count_attrs(spec)
    return {
        name: value
        for name, value in part.structural.items()
        if spec.attr(name).type not in ("int", "list_int")
        or name in counts
        or _shapes(spec.attr(name), part, cut_with)
    }


def _shapes(attr: Attr, part: TracedGraph, cut_with: Callable[[str, Any], TracedGraph]) -> bool:
    own = _form(part)
    compared = False
    for value in other_values(attr, part):
        try:
            other = cut_with(attr.name, value)
        except OpgenError as error:
            if any(d.code == "OPG201" for d in error.diagnostics):
                continue  # no axis of the sample
            return True
        if _form(other) != own or _row_values(part) - _row_values(other):
            return True
        compared = True
    return not compared


def _row_values(traced: TracedGraph) -> set[str]:
    """Return the inputs that hold one value per row of a reduction along axes that are numbers.

    The kernel loads them once per row. A temporary that another pass reduced along an attr is one
    for some values of the attr, and has elements along the row for others.
    """
    found: set[str] = set()
    for node in traced.graph.nodes:
        operand = node.args[0] if node.args else None
        if not _is_reduction(node) or not isinstance(operand, torch.fx.Node):
            continue
        axes = node.args[1] if len(node.args) > 1 else None
        axes = [axes] if isinstance(axes, int) else axes
        value = operand.meta.get("val")
        if not isinstance(value, torch.Tensor) or not isinstance(axes, (list, tuple)) or not axes:
            continue
        for given in traced.graph.nodes:
            if given.op == "placeholder" and _is_one_along(given, axes, value.ndim):
                found.add(given.name)
    return found


def _is_one_along(given: torch.fx.Node, axes: Sequence[int], rank: int) -> bool:
    """Whether an input has size 1 along axes of an operand.

    A squeeze may lie between inputs of other ranks and the operand: the axes then are those at the
    same place from the front or from the end.

    Args:
        given: the input.
        axes: of the operand.
        rank: of the operand.
    """
    shape = getattr(given.meta.get("val"), "shape", ())
    ends = [[axis % rank - rank for axis in axes]]
    if len(shape) != rank:
        ends.append([axis % rank for axis in axes])
    for places in ends:
        if all(-len(shape) <= place < len(shape) for place in places):
            # sizes that are symbols compare with numbers by a guard: types come first
            sizes = [shape[place] for place in places]
            if all(isinstance(size, int) and size == 1 for size in sizes):
                return True
    return False


def _is_reduction(node: torch.fx.Node) -> bool:
    # Older versions of torch have no such tag: graphs then differ by their calls alone.
    return getattr(torch.Tag, "reduction", None) in getattr(node.target, "tags", ())


def _kept_axes(node: torch.fx.Node) -> tuple[int, ...]:
    """Return which axes of size 1 the operand of a reduction has.

    A temporary that was made with ``keepdim`` has them where the attr says; a reduction over all
    axes of it then covers other axes of the operands beside it.
    """
    if not _is_reduction(node):
        return ()
    value = node.args[0].meta.get("val") if isinstance(node.args[0], torch.fx.Node) else None
    shape = value.shape if isinstance(value, torch.Tensor) else ()
    return tuple(axis for axis, size in enumerate(shape) if isinstance(size, int) and size == 1)


def _form(traced: TracedGraph) -> str:
    """Return a text that is equal for graphs of the same calls, whatever their nodes are called.

    Placeholders that no call reads are left out: a longer list has elements that nothing reads.
    """
    nodes = [n for n in traced.graph.nodes if n.op != "placeholder" or n.users]
    number = {node: i for i, node in enumerate(nodes)}

    def named(value: Any) -> Any:
        return f"%{number.get(value)}" if isinstance(value, torch.fx.Node) else value

    rows: list[Any] = []
    for node in nodes:
        given = torch.fx.node.map_aggregate((node.args, node.kwargs), named)
        # the tensor that a constant holds is not in its node
        target = id(node) if node.op == "get_attr" else node.target
        if node.op == "placeholder":
            target = traced.inputs.get(node.name) or traced.attrs.get(node.name) or target
        rows.append((node.op, str(target), given, _kept_axes(node)))
    outputs = {name: named(value) for name, value in traced.outputs.items()}
    return repr((rows, outputs))
