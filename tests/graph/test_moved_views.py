"""Views of computed tensors: what moving them to the inputs leaves of a graph."""

from __future__ import annotations

import pytest

from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import variants
from msopgen_wrap.spec.loader import load_spec

# Every step reads the one before it twice, so that the last one has 2^24 paths to the input.
SHARED = """
op: SharedViews
inputs:
  x: {dtype: float32, rank: 2}
outputs:
  y: {dtype: x, shape: "[x[0]]"}
compute: |
  for i in range(24):
    x = x * torch.tanh(x)
  y = x[:, 0] + x[:, 1]
"""


def test_a_view_of_a_shared_value_is_made_once(tmp_path):
    path = tmp_path / "shared.yaml"
    path.write_text(SHARED, encoding="utf-8")
    spec = load_spec(path)
    graph = trace(spec, variants(spec)[0]).graph
    selected = [n for n in graph.nodes if "select" in str(n.target)]
    assert len(selected) == 2
    assert len(graph.nodes) < 120
    graph.lint()


@pytest.mark.parametrize(
    ("compute", "rule"),
    [
        ("F.normalize(x, dim=-1)[..., 1:]", "x[0], x[1] - 1"),
        ("F.normalize(x * 2, dim=-2)[::2]", "(x[0] + 1) // 2, x[1]"),
        ("(x / x.sum(-1, keepdim=True).expand(x.shape)).select(0, 1)", "x[1]"),
    ],
)
def test_parts_of_normalised_values_are_planned(compute, rule, tmp_path):
    """What is spread over a row is not cut where another operand has the whole row."""
    path = tmp_path / "part.yaml"
    path.write_text(
        "op: PartOfNormalised\ninputs: {x: {dtype: float32, rank: 2}}\n"
        f"outputs: {{y: {{dtype: x, shape: '[{rule}]'}}}}\ncompute: {compute}\n"
    )
    plan_op(load_spec(path))


EDGES = """
op: Edges
inputs: {x: {dtype: float32, rank: 4}}
outputs: {y: like x}
compute: |
  p = F.pad(x, (1, 1, 1, 1), mode="replicate")
  y = p[:, :, 1:-1, 2:] - p[:, :, :-2, 1:-1]
"""


def test_a_repeat_that_repeats_nothing_leaves_no_size(tmp_path):
    """The sizes of an expand in front of a slice are not those of what the kernel walks."""
    path = tmp_path / "edges.yaml"
    path.write_text(EDGES, encoding="utf-8")
    assert all(not part.spans() for part in plan_op(load_spec(path)).parts)


# What is repeated along the axis that is cut has one element for all places; else it is written.
PLACED = {
    "along another axis": ("F.pad(x[:1].expand(4, -1), (1, 2))[1:3]", "2, x[1] + 3", 2),
    "along the axis itself": ("F.pad(x, (2, 2), mode='replicate')[:, 1:]", "x[0], x[1] + 3", 1),
}


@pytest.mark.parametrize("name", PLACED)
def test_a_slice_behind_a_placed_repeat_is_planned(name, tmp_path):
    compute, rule, passes = PLACED[name]
    path = tmp_path / "placed.yaml"
    path.write_text(
        "op: Placed\ninputs: {x: {dtype: float32, rank: 2}}\n"
        f"outputs: {{y: {{dtype: x, shape: '[{rule}]'}}}}\ncompute: {compute}\n"
    )
    assert max(1, len(plan_op(load_spec(path)).parts)) == passes
