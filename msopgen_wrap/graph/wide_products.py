"""Keep products in float32 that the formula makes in float32 of tensors in half precision.

Half-precision tensors are traced as float32, so a trace does not tell ``p @ v.float()`` from
``p.to(v.dtype) @ v``. The first is a product of floats: the cube cannot take ``v`` as it lies in
memory, beside a computed ``p`` that has more digits. Another trace, in the dtypes of a call, tells
which products are made in float32. Their operands in half precision are then read through a
conversion, ``aten.to.dtype``, which no trace has otherwise: a pass before the product writes it.

A float32 copy is chosen over two halves of ``p`` (high and low digits, two products): it keeps the
exponents of float32, which the low half of a float16 lacks for small probabilities, and leaves the
cube one product. It costs 4 more bytes written and read per element of ``v``.

Products of two tensors that are exact in half precision stay as they are: inputs, and integers of 8
bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from msopgen_wrap.graph.moved_values import moved_from
from msopgen_wrap.graph.views import PRODUCTS, is_view
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

HALVES = ("float16", "bfloat16")
_aten = torch.ops.aten
_WIDENING = _aten.to.dtype
CONVERSIONS = (torch.ops.prims.convert_element_type.default, _aten._to_copy.default)
_EXACT = (torch.int8, torch.uint8, torch.bool)
# Where a formula names no dtype, its products have those of the inputs.
_NAMES_DTYPES = re.compile(r"float|double|half|dtype|type_as|\bto\(")
_NUMBER = "product"
_IN_INPUT_DTYPES = "product_in_input_dtypes"

# Dtypes by input -> the graph of the formula in these dtypes.
TraceIn = Callable[[dict[str, str]], Graph]
# Product -> what its operands are views of.
Roots = dict[Node, list[Node]]


def number_products(graph: Graph) -> None:
    """Note in the meta data of every product its number and how many there are."""
    products = [node for node in graph.nodes if node.target in PRODUCTS]
    for number, node in enumerate(products):
        node.meta[_NUMBER] = (number, len(products))


def is_widening(node: Node) -> bool:
    """Whether a call is the conversion of an input that ``widen`` has put into a graph."""
    return node.target is _WIDENING


def has_input_dtypes(root: Node) -> bool:
    """Whether all products multiply a value in the dtypes of the inputs, and none in float32."""
    return bool(root.meta.get(_IN_INPUT_DTYPES, False))


def widen(spec: OpSpec, graph: Graph, inputs: dict[str, str], trace_in: TraceIn) -> None:
    """Let products that the formula makes in float32 read float32 copies of inputs, in place.

    Notes in the meta data of every other operand that is no input that its products are made in
    the dtypes of the inputs (``has_input_dtypes``).

    Args:
        inputs: placeholder of the graph -> input of the spec.
        trace_in: traces the formula once more; called where the dtypes of products matter.
    """
    assert spec.compute is not None
    halves = {p.name for p in spec.inputs if any(d in HALVES for d in p.dtypes)}
    given = {n for n in graph.nodes if n.op == "placeholder" and inputs.get(n.name) in halves}
    products = [node for node in graph.nodes if node.target in PRODUCTS]
    roots = {node: [_root(operand) for operand in node.args[:2]] for node in products}
    if not given or all(n in given for operands in roots.values() for n in operands):
        return
    named = sorted(inputs.values())
    calls = {
        tuple(spec.param(name).dtypes[combo] for name in named) for combo in range(spec.combos)
    }
    wide: set[Node] = set()
    for call in sorted(calls) if _floats(roots, set(products), given) else ():
        floats = {d for d in call if "float" in d}
        mixed = len(floats) > 1 or _NAMES_DTYPES.search(spec.compute.text) is not None
        if not mixed or not floats & {*HALVES}:
            continue
        try:
            real = trace_in(dict(zip(named, call, strict=True)))
        except Exception:  # PyTorch lacks a function in half precision: nothing says what rounds
            wide |= {*products}
            continue
        wide |= _in_float32(products, real)
    in_float32 = _floats(roots, wide, given)
    for operand in {n for operands in roots.values() for n in operands} - in_float32 - given:
        operand.meta[_IN_INPUT_DTYPES] = True
    _convert(graph, _changes(roots, in_float32, given))


def _in_float32(products: Iterable[Node], real: Graph) -> set[Node]:
    """Return the products that are of float32 in a graph in the dtypes of a call."""
    dtypes = {n.meta[_NUMBER]: n.meta["val"].dtype for n in real.nodes if _NUMBER in n.meta}
    return {n for n in products if dtypes.get(n.meta.get(_NUMBER)) == torch.float32}


def _root(node: Any) -> Node:
    while is_view(node):
        source: Any = node.args[0]
        node = source
    return node


def _is_exact(root: Node) -> bool:
    """Whether a computed value has no more digits than half precision."""
    source: Any = root.args[0] if root.target in CONVERSIONS else None
    return isinstance(source, Node) and source.meta["val"].dtype in _EXACT


def _floats(roots: Roots, wide: set[Node], given: set[Node]) -> set[Node]:
    """Return the values that lie in the workspace in float32, of those that products read.

    A value lies there once: where one product needs its float32, all that read it do. Products of
    two values without more digits than the inputs have are exact in any case.

    Args:
        wide: products in float32.
        given: inputs in half precision.
    """
    stored = {
        node: {n for n in operands if n not in given and not _is_exact(n)}
        for node, operands in roots.items()
    }
    floats: set[Node] = set()
    for node in wide:
        if any(not (moved_from(n) or {n}) <= given for n in stored[node]):
            floats |= stored[node]
    while True:
        known = len(floats)
        for operands in stored.values():
            if operands & floats:
                floats |= operands
        if len(floats) == known:
            return floats


def _changes(roots: Roots, floats: set[Node], given: set[Node]) -> list[tuple[Node, int]]:
    """Return the inputs that are to be converted, as products and places."""
    return [
        (node, place)
        for node, operands in roots.items()
        for place in (0, 1)
        if operands[place] in given and operands[1 - place] in floats
    ]


def _convert(graph: Graph, changes: list[tuple[Node, int]]) -> None:
    """Read operands of products through conversions; views of them become views of these."""
    first = next((n for n in graph.nodes if n.op != "placeholder"), None)
    converted: dict[Node, Node] = {}

    def of(node: Node) -> Node:
        if node in converted:
            return converted[node]
        if node.op == "placeholder":
            assert first is not None
            with graph.inserting_before(first):
                copy = graph.call_function(_WIDENING, (node, torch.float32))
        else:
            source: Any = node.args[0]
            inner = of(source)
            with graph.inserting_before(node):
                copy = graph.node_copy(node, lambda n: inner if n is source else n)
        copy.meta = dict(node.meta)
        converted[node] = copy
        return copy

    for node, place in changes:
        operand: Any = node.args[place]
        node.update_arg(place, of(operand))
