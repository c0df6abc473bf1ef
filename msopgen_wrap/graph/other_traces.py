"""Graphs of the same formula with another value of an attr."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.sample import count_attrs
from msopgen_wrap.graph.structural import other_values
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.spec.model import OpSpec


def trace_with(spec: OpSpec, traced: TracedGraph, name: str, value: Any) -> TracedGraph | None:
    """Trace the variant of a graph again with another value of an attr.

    Args:
        spec: the op.
        traced: a graph of it.
        name: of the attr.
        value: of the attr.

    Returns:
        The graph of the first dtype combination; None where no sample's shapes have such a value,
        as an axis that they lack (OPG201).

    Raises:
        OpgenError: as :func:`trace`, but for OPG201.
    """
    try:
        return trace(spec, traced.variant, 0, {name: value})
    except OpgenError as error:
        if any(d.code == "OPG201" for d in error.diagnostics):
            return None
        raise


def traces_with_others(
    spec: OpSpec, traced: TracedGraph, name: str
) -> list[tuple[Any, TracedGraph]]:
    """Trace the variant of a graph with other values of an attr that shaped it.

    Args:
        spec: the op.
        traced: a graph of it.
        name: of an int or list_int attr.

    Returns:
        The values that the sample's shapes have, with their graphs. There is one at least, among
        small counts for an attr that is no axis; none may be for one that :func:`trace` has put
        back into the graph as a count.

    Raises:
        OpgenError: OPG202 where the sample has no other value, so that nothing is proved; else as
            :func:`trace_with`.
    """
    attr = spec.attr(name)
    values = other_values(attr, traced)
    proved = name in count_attrs(spec)
    counts = [v for v in (1, 2, 3, 4) if v not in (*values, traced.structural[name])]
    for tried in (values, [] if proved or attr.type != "int" else counts):
        graphs = [(value, trace_with(spec, traced, name, value)) for value in tried]
        found = [(value, graph) for value, graph in graphs if graph is not None]
        if found or proved:
            return found
    raise OpgenError(
        Diagnostic(
            "OPG202",
            f"the value of attr {name!r} decides which operations compute runs",
            attr.location,
            "no other value was accepted by the shapes that compute was traced with, and the "
            "kernel must serve every value",
            "give it `min: 1` where it counts something, or `allowed:` values",
        )
    )
