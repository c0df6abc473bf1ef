"""What a formula says twice is computed once."""

from __future__ import annotations

from collections import Counter

import pytest

from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import variants
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec


def spec_of(compute: str, shape: str) -> OpSpec:
    spec = parse_spec(
        "op: RepeatedWork\ninputs:\n  x: {dtype: float32, rank: 2}\n  w: {dtype: x, rank: 2}\n"
        f'outputs:\n  y: {{dtype: x, shape: "{shape}"}}\nbackward: none\ncompute: {compute}\n'
        "cases:\n  - {x: [20, 33], w: [33, 50]}\n",
        "op.yaml",
    ).spec
    assert spec is not None
    return spec


def test_one_product_in_two_places_is_one_pass() -> None:
    spec = spec_of("torch.cat([x @ w, F.relu(x @ w)], 1)", "[x[0], 2 * w[1]]")
    families = [part.family.name for part in plan_op(spec).parts]
    assert families.count("contract") == 1


@pytest.mark.parametrize(
    ("compute", "counts"),
    [
        ("(x @ w) * (x @ w).sum(-1, keepdim=True)", {"mm": 1, "sum": 1}),
        ("(x @ w) * (x @ (w + 1))", {"mm": 2}),
        ("(x @ w).sum(0, True) + (x @ w).sum(1, True)", {"mm": 1, "sum": 2}),
        # equal numbers of different types give different dtypes
        ("((x @ w) > 0) * 1.0 + ((x @ w) > 0) * 1 + ((x @ w) > 0) * 1.0", {"mm": 1, "mul": 2}),
        # each draws numbers of its own
        (
            "opgen.dropout(x @ w, 0.5, 1, 0) + opgen.dropout(x @ w, 0.5, 2, 0)",
            {"mm": 1, "philox": 2},
        ),
    ],
)
def test_how_often_operators_are_computed(compute: str, counts: dict[str, int]) -> None:
    spec = spec_of(compute, "[x[0], w[1]]")
    graph = trace(spec, variants(spec)[0]).graph
    found = Counter(
        node.target.__name__.split(".")[0] for node in graph.nodes if node.op == "call_function"
    )
    assert {name: found[name] for name in counts} == counts
