"""Graphs of the same formula with another value of an attr."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.diagnostics import OpgenError
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
