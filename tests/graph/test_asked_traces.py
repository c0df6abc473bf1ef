"""Graphs of fewer gradients: parts of the graph of all of them, equal to traces of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from msopgen_wrap.graph.asked_traces import asked_part, fuller_variant
from msopgen_wrap.graph.tracing import TracedGraph, fresh_trace, trace
from msopgen_wrap.graph.variants import Variant, variants
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec

LIBRARY = Path(__file__).parents[2] / "op_specs"
OWN_NAMES = {"x", "gamma", "beta"}  # what the formula of a norm uses


def gradient(name: str) -> OpSpec:
    """Return the op of the gradients of an op of the library."""
    text = (LIBRARY / f"{name}.yaml").read_text(encoding="utf-8")
    text = re.sub(r"^backward: \w+\n", "", text, flags=re.M) + "\nbackward: kernel\n"
    spec = parse_spec(text, name).spec
    assert spec is not None
    return gradient_spec(spec)


def calls(traced: TracedGraph) -> tuple[list[Any], dict[str, Any]]:
    """Return the calls of a graph, which number their arguments, and the outputs' numbers."""
    number = {node: i for i, node in enumerate(traced.graph.nodes)}

    def known(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [known(v) for v in value]
        return number.get(value, value) if not isinstance(value, dict) else sorted(value.items())

    nodes = [
        (n.op, str(n.target) if n.op != "placeholder" else "", known(n.args), known(n.kwargs))
        for n in traced.graph.nodes
        if n.op != "output"
    ]
    return nodes, {name: number[node] for name, node in traced.outputs.items()}


def asks(spec: OpSpec, value: str) -> Variant:
    return next(v for v in variants(spec) if dict(v.attrs)["asked"] == value)


@pytest.mark.parametrize("value", ["x", "gamma", "beta", "gamma+beta"])
def test_part_is_what_a_trace_of_its_own_is(value: str) -> None:
    spec = gradient("norm/custom_layer_norm")
    variant = asks(spec, value)
    fuller = fuller_variant(spec, variant, OWN_NAMES)
    assert fuller == asks(spec, "all")
    part = asked_part(spec, variant, fresh_trace(spec, fuller))
    assert part is not None
    assert part.variant == variant
    assert calls(part) == calls(fresh_trace(spec, variant))
    assert calls(trace(spec, variant)) == calls(part)


@pytest.mark.parametrize(
    ("name", "value"),
    [("norm/custom_layer_norm", "all"), ("norm/rms_norm", "all from y")],
)
def test_variants_that_are_no_part_of_another(name: str, value: str) -> None:
    spec = gradient(name)
    assert fuller_variant(spec, asks(spec, value), OWN_NAMES) is None


def test_a_graph_with_a_call_that_is_told_its_results_gives_no_part() -> None:
    spec = gradient("norm/custom_layer_norm")
    whole = fresh_trace(spec, asks(spec, "all"))
    assert asked_part(spec, asks(spec, "x"), whole) is not None
    last = next(n for n in whole.graph.nodes if n.op == "output")
    with whole.graph.inserting_before(last):
        whole.graph.call_function(torch.ops.aten.convolution_backward.default, (1, 2, 3))
    assert asked_part(spec, asks(spec, "x"), whole) is None
