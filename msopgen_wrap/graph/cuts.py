"""Cut the graph of an op where a value goes through the workspace.

A part of an op (``families.parts``) may read values that an earlier part has made, and write values
that later parts read. Each is a node of the graph of the whole op; the graph of the part has a
placeholder in place of what it reads, and an output for what it writes. A node is found again in
the graphs of other variants, ranks and attr values by its operator and its number among the calls
of that operator.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.output_slabs import add_slab, slabs_of
from msopgen_wrap.graph.size_order import SizeOrder
from msopgen_wrap.graph.symbols import StructureError
from msopgen_wrap.graph.views import PRODUCTS, RESHAPES, move_views_to_inputs
from msopgen_wrap.spec.model import OpSpec, Site, TensorParam
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from msopgen_wrap.graph.tracing import TracedGraph

Graph = torch.fx.Graph
Node = torch.fx.Node

# What the placeholder of a temporary holds in its meta data: the node that it stands for in the
# graph of the whole op.
MADE_BY = "made_by"

# PyTorch multiplies two matrices by ``mm``, and lists of them by ``bmm`` with views around it that
# join the batches to one axis and take them apart again: the same values at different ranks.
_PRODUCT, _PRODUCT_APART = "product", "view of product"


def has_batches_apart(site: Site) -> bool:
    """Whether a temporary is a product with its batches apart, at ranks that have any."""
    return site.call == _PRODUCT_APART


def sites(graph: Graph) -> dict[Node, Site]:
    """Return where every call of a graph stands."""
    counts: dict[str, int] = {}
    found: dict[Node, Site] = {}
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        source: Any = node.args[0] if node.target in RESHAPES else None
        product = found.get(source)
        if product is not None and product.call == _PRODUCT:
            apart = Site(_PRODUCT_APART, product.ordinal)
            if apart not in found.values():
                found[node] = apart
                continue
        call = _PRODUCT if node.target in PRODUCTS else _call_name(node)
        found[node] = Site(call, counts.get(call, 0))
        counts[call] = counts.get(call, 0) + 1
    return found


def _call_name(node: Node) -> str:
    """Return the name that calls are counted under.

    Conversions are counted by the kind of their result: ``i.long()`` is none where indices have 64
    bits, which is no reason to count those to floats otherwise.
    """
    target = node.target
    if target is torch.ops.aten._to_copy.default:
        dtype = node.meta["val"].dtype
        kind = "floats" if dtype.is_floating_point else str(dtype).removeprefix("torch.")
        return f"{target} to {kind}"
    overload = isinstance(target, torch._ops.OpOverload)
    return str(target) if overload else getattr(target, "__name__", str(target))


def cut(spec: OpSpec, whole: TracedGraph, combo: int, *, keep_views: bool = False) -> TracedGraph:
    """Return the graph of a part.

    Args:
        spec: the part.
        whole: the graph of ``spec.whole``; it stays as it is.
        combo: the dtype combination that it was traced for.
        keep_views: leave views of computed tensors where the formula has them, so that every call
            has its ``site``.

    Returns:
        The graph with ``site`` in the meta data of its calls; temporaries are inputs with shapes of
        the sample.

    Raises:
        OpgenError: OPG335 where the graph lacks a node that is to go through the workspace.
    """
    site_of = sites(whole.graph)
    by_site = {site: node for node, site in site_of.items()}
    results = {p.name: whole.outputs[p.tensor] for p in spec.outputs if p.site is None}
    wanted = {name: node for name, node in results.items() if isinstance(node, Node)}
    wanted |= {p.name: _found(spec, by_site, p, combo) for p in spec.outputs if p.site is not None}
    given = [(param, _found(spec, by_site, param, combo)) for param in spec.inputs if param.site]
    needed = _needed(wanted.values(), {node for _, node in given})

    graph = Graph()
    copies: dict[Node, Node] = {}
    inputs, shapes, dtypes = dict(whole.inputs), dict(whole.shapes), dict(whole.dtypes)

    def copy(node: Node) -> None:
        copies[node] = graph.node_copy(node, copies.__getitem__)
        if node in site_of:
            copies[node].meta["site"] = site_of[node]

    placeholders = [n for n in whole.graph.nodes if n.op == "placeholder"]
    for node in placeholders[: len(whole.inputs)]:
        copy(node)
    for param, node in given:
        copies[node] = read = graph.placeholder(f"temporary_{param.name}")
        read.meta = {**node.meta, "site": param.site, MADE_BY: node}
        value = read.meta["val"]
        inputs[read.name] = param.name
        shapes[param.name] = tuple(_hint(size) for size in value.shape)
        dtypes[param.name] = str(value.dtype).removeprefix("torch.")
    for node in placeholders[len(whole.inputs) :]:
        copy(node)
    for node in whole.graph.nodes:
        if node in needed and node not in copies:
            copy(node)
    ends = {name: copies[node] for name, node in wanted.items()}
    if any(p.slab is not None for p in spec.outputs):
        order = SizeOrder(spec.whole or spec, whole.variant, graph, inputs, whole.demands)
        made = _with_slabs(spec, graph, ends, order)
    else:
        made = end_with(graph, ends, keep_views=keep_views)
    return replace(
        whole,
        graph=graph,
        inputs=inputs,
        outputs={p.name: made.get(p.name, results.get(p.name)) for p in spec.outputs},
        shapes=shapes,
        dtypes=dtypes,
    )


def _with_slabs(
    spec: OpSpec, graph: Graph, ends: dict[str, Node], order: SizeOrder
) -> dict[str, Any]:
    """End a graph as ``end_with`` does, where some results are slabs of those given.

    Raises:
        OpgenError: OPG335 where a result is not joined of such slabs.
    """
    found = dict(ends)
    try:
        for param in spec.outputs:
            if param.slab is None:
                continue
            result, slab = ends[param.name], param.slab
            slabs = slabs_of(result, order)
            made = None
            if slabs is not None and len(slabs.items) == slab.count:
                made = add_slab(graph, result, slabs, slab.number, order)
            if made is None:
                raise OpgenError(_other_pieces(spec, slab.output))
            found[param.name] = made
        return end_with(graph, found)
    except StructureError:  # an attr of any sign says where a slice begins
        raise OpgenError(_other_pieces(spec, ", ".join(ends))) from None


def _other_pieces(spec: OpSpec, output: str) -> Diagnostic:
    return Diagnostic(
        "OPG335",
        f"{output} of {spec.op} is joined of other pieces for other attr values, dtypes or ranks",
        spec.compute.location if spec.compute else spec.outputs[0].location,
        "a pass of its own writes each of the pieces",
        "join the same pieces in every branch",
    )


def _needed(wanted: Collection[Node], given: set[Node]) -> set[Node]:
    """Return what some nodes take when others are given."""
    pending, found = list(wanted), set(wanted)
    while pending:
        node = pending.pop()
        above = [] if node in given else [n for n in node.all_input_nodes if n not in found]
        pending += above
        found.update(above)
    return found


def end_with(graph: Graph, results: dict[str, Node], *, keep_views: bool = False) -> dict[str, Any]:
    """Give a graph its output and drop what no result needs, in place.

    Args:
        results: nodes of the graph by the name of the output.
        keep_views: leave views of computed tensors where they are.

    Returns:
        The results: views may have moved, so that other nodes give them.
    """
    graph.output(tuple(results.values()))
    graph.eliminate_dead_code()
    if not keep_views:
        move_views_to_inputs(graph)
        graph.eliminate_dead_code()
    output = next(n for n in graph.nodes if n.op == "output")
    return dict(zip(results, output.args[0], strict=True))


def _hint(size: Any) -> int:
    """Return a size in the sample; 2 where an attr decides it, of which the trace has no value."""
    known = size.node.hint if isinstance(size, torch.SymInt) else size
    return 2 if known is None else int(known)


def _found(spec: OpSpec, by_site: dict[Site, Node], param: TensorParam, combo: int) -> Node:
    assert param.site is not None
    node = by_site.get(param.site)
    if node is None and has_batches_apart(param.site):  # matrices have no batches to take apart
        node = by_site.get(Site(_PRODUCT, param.site.ordinal))
    if node is None or not _holds(node, param.dtypes[combo]):
        raise OpgenError(
            Diagnostic(
                "OPG335",
                f"compute of {spec.op} needs other phases for other attr values, dtypes or ranks",
                spec.compute.location if spec.compute else spec.outputs[0].location,
                f"the value of {param.site.call} that goes through the workspace is not computed "
                "by all of them",
                "fix the rank or the attr, or split the op",
            )
        )
    return node


def _holds(node: Node, dtype: str) -> bool:
    """Whether a node gives floats where a temporary holds floats, and other elements elsewhere.

    A graph of other dtypes may lack a conversion (``x.float()`` of floats): the conversions behind
    it then have other numbers.

    Args:
        dtype: of the temporary, in the dtype combination of the graph.
    """
    value = node.meta["val"]
    is_float = getattr(torch, dtype).is_floating_point
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point == is_float
