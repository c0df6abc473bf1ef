"""Graphs of gradients: what stands for functions of PyTorch, and which views they are without."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.placement import begin_of_slice
from msopgen_wrap.graph.trace_rewrites import Composites
from msopgen_wrap.graph.tracing import TracedGraph, fresh_trace, trace
from msopgen_wrap.graph.variants import variants
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec

# Functions of x, y [2, 6, 3, 5] and of w, b [6]; signs of y are labels.
CALLS = {
    "hinge": lambda x, y, w, b: F.hinge_embedding_loss(x, y.sign(), 0.3),
    "hinge, other labels": lambda x, y, w, b: F.hinge_embedding_loss(x, y, reduction="none"),
    "ranking": lambda x, y, w, b: F.margin_ranking_loss(x, y, x * y, 0.1, reduction="sum"),
    "cosine": lambda x, y, w, b: F.cosine_similarity(x, y),
    "cosine of short vectors": lambda x, y, w, b: F.cosine_similarity(x * 1e-3, y, -1, 1e-2),
    "cosine loss": lambda x, y, w, b: F.cosine_embedding_loss(
        x[0, 0], y[0, 0], y[0, 1, :, 0].sign()
    ),
    "groups": lambda x, y, w, b: F.group_norm(x, 3, w, b),
    "groups of rows": lambda x, y, w, b: F.group_norm(x[..., 0, 0], 2, w, b, 1e-2),
    "batch": lambda x, y, w, b: F.batch_norm(x, None, None, w, b, True),
    "instance": lambda x, y, w, b: F.instance_norm(x, weight=w, bias=b),
    "slopes": lambda x, y, w, b: F.prelu(x, w),
    "a slope": lambda x, y, w, b: F.prelu(x, w[:1]),
    "largest": lambda x, y, w, b: x.max(1)[0],
    "smallest": lambda x, y, w, b: torch.min(x, -1, keepdim=True).values,
    "variances below eps": lambda x, y, w, b: F.gaussian_nll_loss(x, y, y.relu(), True, 0.5),
    "a variance per row": lambda x, y, w, b: F.gaussian_nll_loss(x, y, x[..., 0].exp()),
    "responses": lambda x, y, w, b: F.local_response_norm(x, 3),
    "responses of an even size": lambda x, y, w, b: F.local_response_norm(x[0], 4, 0.5, 0.6, 2.0),
    "product": lambda x, y, w, b: x.prod(-1),
    "product with zeros": lambda x, y, w, b: (x * (y[..., :1] > 0.5)).relu().prod(1, keepdim=True),
    "product of all": lambda x, y, w, b: x.prod(),
    "running product": lambda x, y, w, b: x.cumprod(2),
    "running product with zeros": lambda x, y, w, b: torch.cumprod(x * (y > -0.5), -1),
    "distances": lambda x, y, w, b: torch.cdist(x, y),
    "distances from itself": lambda x, y, w, b: torch.cdist(x, x, p=1.0) * y[..., :3],
    "classes": lambda x, y, w, b: x * F.one_hot((y > 0).long().sum(-1), 6)[..., :5],
    "edges": lambda x, y, w, b: F.pad(x, (1, 2, 3, 0), mode="replicate") ** 2,
    "classes of several margins": lambda x, y, w, b: F.multi_margin_loss(
        x[..., 0, 0], (y[:, 0, 0, 0] > 0).long(), 2, 0.7, w.detach()
    ),
    "a class": lambda x, y, w, b: F.multi_margin_loss(x[0, :, 0, 0], torch.tensor(3)),
    "heads that share keys": lambda x, y, w, b: F.scaled_dot_product_attention(
        x, y[:, :3], y[:, 3:].tanh(), enable_gqa=True
    ),
    "an element of each row": lambda x, y, w, b: x.gather(1, (y[:, :1] > 0).long()),
    "elements of some rows": lambda x, y, w, b: x.gather(1, (y[:1, :1] > 0).long()),
    "deviation": lambda x, y, w, b: x.std((1, 2), correction=0, keepdim=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_replacement_has_the_same_values_and_gradients(name: str) -> None:
    generator = torch.Generator().manual_seed(1)
    shapes = [(2, 6, 3, 5)] * 2 + [(6,)] * 2
    given = [torch.randn(s, dtype=torch.float64, generator=generator) for s in shapes]
    given = [tensor.requires_grad_() for tensor in given]

    def both() -> tuple[torch.Tensor, Any]:
        result = CALLS[name](*given)
        weights = torch.linspace(1, 2, result.numel(), dtype=torch.float64).view(result.shape)
        found = torch.autograd.grad(result, given, weights, allow_unused=True)
        return result, [g for g in found if g is not None]

    with Composites(differentiated=True):
        replaced = both()
    torch.testing.assert_close(replaced, both())


def test_a_slope_has_no_part_in_an_infinity() -> None:
    def gradients() -> Any:
        given = [torch.tensor([[torch.inf, -2.0]]), torch.tensor([0.5, 0.25])]
        given = [tensor.requires_grad_() for tensor in given]
        return torch.autograd.grad(F.prelu(*given).sum(), given)

    with Composites(differentiated=True):
        replaced = gradients()
    torch.testing.assert_close(replaced, gradients())


@pytest.mark.parametrize("shape", [(2, 6, 0), (0, 6, 3), (0, 6)])
def test_means_of_no_elements_have_the_gradients_of_pytorch(shape: tuple[int, ...]) -> None:
    def gradients() -> Any:
        given = [torch.ones(s, requires_grad=True) for s in (shape, (6,), (6,))]
        result = F.group_norm(given[0], 3, *given[1:])
        return torch.autograd.grad(result, given, torch.ones(shape))

    with Composites(differentiated=True):
        replaced = gradients()
    torch.testing.assert_close(replaced, gradients(), equal_nan=True)


def gradient(compute: str, shape: str, inputs: str = "", rank: str = "[1, 8]") -> OpSpec:
    text = (
        f"op: Sample\ninputs:\n  x: {{dtype: float32, rank: {rank}}}\n{inputs}"
        f"outputs:\n  y: {{dtype: x, shape: '{shape}'}}\n"
        f"compute: {compute}\nbackward: kernel\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    return gradient_spec(spec)


def traced(spec: OpSpec) -> TracedGraph:
    return trace(spec, variants(spec)[0])


def calls(spec: OpSpec) -> set[str]:
    return {str(n.target) for n in traced(spec).graph.nodes if n.op == "call_function"}


def test_a_graph_is_traced_once_and_a_fresh_one_can_be_changed() -> None:
    spec = gradient("x.square().sum(-1)", "[*x[:-1]]")
    variant = variants(spec)[0]
    kept = trace(spec, variant)
    assert trace(spec, variant) is kept
    other = fresh_trace(spec, variant)
    assert other.graph is not kept.graph
    assert [str(n.target) for n in other.graph.nodes] == [str(n.target) for n in kept.graph.nodes]


def test_a_number_that_is_repeated_is_not_flipped() -> None:
    spec = gradient("x.flip(-1).mean()", "[]")
    assert "aten.flip.default" not in calls(spec)
    assert plan_op(spec).family.name == "elementwise"


def test_slices_that_take_all_leave_no_trace() -> None:
    spec = gradient("torch.exp(x[:, :, 1:])", "[*x[:-1], x[-1] - 1]", rank="3")
    places = [n for n in traced(spec).graph.nodes if "place" in str(n.target)]
    assert {n.args[1] for n in places} == {2}


PICKED = """
z = torch.log_softmax(x, -1).gather(-1, t[..., None])[..., 0]
y = torch.exp(z.mean(-1))"""


def test_one_element_of_each_row_has_a_derivative_without_a_scatter() -> None:
    inputs = "  t: {dtype: int64, shape: '[*x[:-1]]'}\n"
    spec = gradient("|" + PICKED.replace("\n", "\n  "), "[x[0]]", inputs, rank="3")
    assert not any("scatter" in call for call in calls(spec))
    assert plan_op(spec)


def test_axes_that_a_reduction_dropped_come_back_by_name_at_every_rank() -> None:
    spec = gradient("x.amax(-1)", "[*x[:-1]]")
    assert "aten.unsqueeze.default" in calls(spec)
    assert "aten.view.default" not in calls(spec)
    assert plan_op(spec).family.name == "row"


LABELS = "  t: {dtype: int64, shape: '[x[0], *x[2:]]'}\n"
ROWS_AND_LABELS = "x.reshape(x.shape[0], x.shape[1], -1), t.reshape(t.shape[0], -1)"


def test_sizes_that_a_rule_gives_are_one_symbol_and_passing_axes_are_gone() -> None:
    shape = "[x[0], *x[2:]]"
    loss = f"F.cross_entropy({ROWS_AND_LABELS}, reduction='none').reshape(t.shape)"
    spec = gradient(loss, shape, LABELS, "[3, 4]")
    graph = trace(spec, variants(spec)[0], rank=4).graph
    given = [n for n in graph.nodes if n.op == "placeholder"]
    x, t = (node.meta["val"].shape for node in given[:2])
    assert [x[0].node.expr, *(s.node.expr for s in x[2:])] == [s.node.expr for s in t]
    ranks = {
        n.meta["val"].dim()
        for n in graph.nodes
        if n.op == "call_function" and torch.Tag.pointwise in getattr(n.target, "tags", ())
    }
    assert max(ranks) == 3  # PyTorch compares classes with one axis more
    reads = [n.args[0].op for n in graph.nodes if "sym_size" in str(n.target)]
    assert set(reads) == {"placeholder"}


def test_what_passes_through_the_workspace_is_the_same_at_every_rank() -> None:
    weight = "  w: {dtype: x, rank: 2}\n"
    text = (
        "op: Sample\ninputs:\n  x: {dtype: float32, rank: [2, 3]}\n"
        f"{weight}outputs:\n  y: {{dtype: x, shape: '[*x[:-1], w[0]]'}}\n"
        "compute: F.relu(F.linear(x, w))\nbackward: kernel\n"
        "cases:\n  - {x: [5, 7], w: [3, 7]}\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    found = gradient_spec(spec)
    forms = [
        [str(n.target) for n in trace(found, variants(found)[0], rank=rank).graph.nodes]
        for rank in (2, 3)
    ]
    views = [[call for call in form if "view" in call or "mm" in call] for form in forms]
    assert views[0] == views[1]


@pytest.mark.parametrize(
    ("compute", "shape", "inputs", "rank"),
    [
        ("F.softshrink(x, 0.3)", "like x", "", "[1, 8]"),
        ("F.hardshrink(x)", "like x", "", "[1, 8]"),
        ("F.hinge_embedding_loss(x, t)", "[]", "  t: {dtype: x, shape: like x}\n", "[1, 8]"),
        ("F.prelu(x, w)", "like x", "  w: {dtype: x, shape: '[x[1]]'}\n", "[2, 8]"),
        ("x.max(-1)[0]", "[*x[:-1]]", "", "[1, 8]"),
        ("x.prod(-1)", "[*x[:-1]]", "", "[1, 8]"),
        ("torch.cdist(x, t)", "[x[0], 5]", "  t: {dtype: x, shape: '[5, x[1]]'}\n", "2"),
        (
            "(F.one_hot(t, 8).sum(-1, keepdim=True) * x)",
            "like x",
            "  t: {dtype: int64, shape: '[x[0]]', range: [0, 7]}\n",
            "2",
        ),
        ("F.local_response_norm(x, 5, alpha=0.1)", "like x", "", "4"),
        # 8 groups divide none of the first sample sizes
        ("F.group_norm(x, 8)", "like x", "", "4"),
        # numbers of elements along all axes but some, whichever rank
        ("F.instance_norm(x)", "like x", "", "[3, 5]"),
        ("F.batch_norm(x, None, None, training=True)", "like x", "", "[2, 5]"),
        ("x.square().sum(-1).sqrt().mean()", "[]", "", "[1, 8]"),
    ],
)
def test_gradients_that_pytorch_derives_with_plain_numbers_have_kernels(
    compute: str, shape: str, inputs: str, rank: str
) -> None:
    plan_op(gradient(compute, shape, inputs, rank))


@pytest.mark.parametrize("count", ["x.shape[-1]", "n"])
def test_a_size_or_an_attr_counts_classes(count: str) -> None:
    text = (
        "op: Classes\ninputs:\n  x: {dtype: float32, rank: 2}\n  t: {dtype: int64, rank: 1}\n"
        f"attrs:\n  n: {{type: int, default: 5, min: 1}}\n"
        f"outputs:\n  y: {{dtype: float32, shape: '[t[0], {count.replace('.shape', '')}]'}}\n"
        f"compute: F.one_hot(t % {count}, {count}).float()\n"
    ).replace("x[-1]", "x[1]")
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    numbers = [n for n in traced(spec).graph.nodes if "arange" in str(n.target)]
    assert numbers[0].all_input_nodes  # and proven at other sizes
    assert plan_op(spec).family.name == "elementwise"


def test_an_exponent_and_a_weight_may_be_attrs() -> None:
    text = (
        "op: Powers\ninputs:\n  x: {dtype: float32, range: [0.1, 2]}\noutputs:\n  y: like x\n"
        "attrs: {p: 2.5, w: 0.3}\ncompute: torch.lerp(x**p, x, w)\nbackward: kernel\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    assert plan_op(gradient_spec(spec)).scalar_names


def refusal(spec: OpSpec) -> Diagnostic:
    with pytest.raises(OpgenError) as raised:
        plan_op(spec)
    return raised.value.diagnostics[0]


def test_an_argument_without_a_derivative_is_named_with_the_cure() -> None:
    target = "  t: {dtype: x, shape: like x}\n"
    found = refusal(gradient("F.soft_margin_loss(x, t)", "[]", target))
    assert found.code == "OPG201"
    assert "no derivative of soft_margin_loss by 'target'" in found.what
    assert "detach()" in found.fix and "backward: reference" in found.fix
    plan_op(gradient("F.soft_margin_loss(x, t.detach())", "[]", target))


def test_a_rule_that_an_input_lacks_is_shown() -> None:
    text = (
        "op: Biased\ninputs:\n  x: {dtype: float32, rank: 2}\n  w: {dtype: x, rank: 2}\n"
        "  b: {dtype: x, rank: 1}\noutputs:\n  y: {dtype: x, shape: '[x[0], w[0]]'}\n"
        "compute: torch.tanh(F.linear(x, w, b)) * x.shape[0]\nbackward: kernel\n"
        "cases:\n  - {x: [5, 7], w: [3, 7], b: [3]}\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    with pytest.raises(OpgenError) as raised:
        traced(gradient_spec(spec))
    problem = raised.value.diagnostics[0]
    assert problem.code == "OPG203" and "`b: {shape: [w[0]]}`" in problem.fix


def test_an_output_whose_gradient_has_the_name_of_anothers_is_to_be_renamed() -> None:
    with pytest.raises(OpgenError) as raised:
        text = (
            "op: Named\ninputs:\n  x: {dtype: float32}\n  t: {dtype: x, shape: like x}\n"
            "outputs:\n  x_out: {dtype: x, shape: like x}\n"
            "compute: torch.sin(x) * t\nbackward: kernel\n"
        )
        spec = parse_spec(text, "op.yaml").spec
        assert spec is not None
        gradient_spec(spec)
    assert "rename" in raised.value.diagnostics[0].fix


def test_an_attr_that_takes_the_reductions_away_is_refused() -> None:
    text = (
        "op: Repeated\ninputs:\n  x: {dtype: float32, rank: 2}\n"
        "outputs:\n  y: {dtype: x, shape: '[x[0] * n, x[1]]'}\n"
        "attrs: {n: 3}\ncompute: x.repeat(n, 1) * 2\nbackward: kernel\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    found = refusal(gradient_spec(spec))
    assert found.code == "OPG202" and "'n'" in found.what


def test_a_derivative_may_read_what_is_repeated() -> None:
    """The graph views what it has expanded, as kernels do and tensors cannot."""
    text = (
        "op: Repeated\ninputs:\n  x: {dtype: float32, rank: 2}\n"
        "outputs:\n  y: {dtype: x, shape: '[x[1] * 3]'}\n"
        "compute: torch.tanh(x.sum(-2).repeat(3))\nbackward: kernel\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    assert traced(gradient_spec(spec)).graph


@pytest.mark.parametrize("compute", ["x.var(dim)", "torch.std(x, dim, correction=0)"])
def test_the_axis_of_a_variance_may_be_an_attr(compute: str) -> None:
    text = (
        "op: Spread\ninputs:\n  x: {dtype: float32, rank: [1, 8]}\n"
        "outputs:\n  y: reduce(x, dim)\nattrs: {dim: -1}\n"
        f"compute: {compute}\nbackward: kernel\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    assert traced(gradient_spec(spec)).graph


SLICES = """op: GradientOfSlice
inputs:
  x: {{dtype: float32, rank: 2}}
outputs:
  y: {{dtype: float32, shape: "[x[0], x[1] - {less}]"}}
{attrs}backward: kernel
compute: {compute}
"""


@pytest.mark.parametrize(
    ("compute", "less", "attrs"),
    [
        # the sign of an attr is not known in the trace
        ("torch.exp(x[..., start:])", "start", "attrs:\n  start: {type: int, min: 0}\n"),
        # the proof took the maximum of no elements, which PyTorch refuses, for another result
        ("torch.softmax(x[..., :-1], -1)", "1", ""),
    ],
)
def test_gradients_of_slices_are_planned(compute: str, less: str, attrs: str) -> None:
    spec = parse_spec(SLICES.format(compute=compute, less=less, attrs=attrs)).spec
    assert spec is not None
    plan_op(gradient_spec(spec))


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("start", [0, 3, -1, -5, -7])
def test_where_a_slice_begins(start: int, size: int) -> None:
    """The formula that a trace has for symbols, here of numbers."""
    assert min(begin_of_slice(start, size), size) == slice(start, None).indices(size)[0]
