"""Decompositions, what replaces functions of PyTorch, and the proof that the result is the same."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
import torch.nn.functional as F
from harness import make_spec

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.decomposition_table import decompositions
from msopgen_wrap.graph.trace_rewrites import Composites
from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import variants
from msopgen_wrap.spec.model import Attr, DimBinary, DimConst, DimOf, ShapeLike, ShapeList

# ---- Decompositions of our own: what they are there for ------------------------------------------

UNLIKE = {
    "a row value": "torch.lerp(x * 2, x.sum(-1, keepdim=True), 0.25)",
    "a weight per row": "torch.lerp(x, x * 2, torch.sigmoid(x.amax(-1, keepdim=True)))",
    "a number": "torch.lerp(x.sum(), x * x, 0.75)",
}


@pytest.mark.parametrize("name", UNLIKE)
def test_lerp_of_unlike_shapes_is_planned(name):
    plan_op(make_spec(UNLIKE[name], shapes={"z": ShapeLike("x")}))


@pytest.mark.parametrize("value", [0, 1, 2.7, -3.0])
@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int32, torch.float16])
def test_what_is_padded_keeps_its_dtype(dtype: torch.dtype, value: float) -> None:
    x = torch.tensor([[0, 1, 5], [7, 0, 1]]).to(dtype)
    pad = decompositions()[torch.ops.aten.constant_pad_nd.default]
    for sizes in ([2, 1], [0, -1], [-1, 2, 1, 0]):
        result, expected = pad(x, sizes, value), F.pad(x, sizes, value=value)
        torch.testing.assert_close(result, expected, rtol=0, atol=0)


SLOPES = {
    "elu": lambda grad, x: (grad, 1.3, 1.1, 0.7, False, x),
    "elu of the result": lambda grad, x: (grad, 1.3, 1.1, 0.7, True, x),
    "hardswish": lambda grad, x: (grad, x),
    "hardtanh": lambda grad, x: (grad, x, -0.5, 0.7),
}


@pytest.mark.parametrize("name", SLOPES)
def test_slopes_at_nan_are_those_of_the_vectorised_kernels(name: str) -> None:
    """The last few elements of a tensor, which PyTorch takes one by one, have others."""
    some = [torch.nan, -4.0, -3.0, -0.5, -0.2, 0.0, 0.7, 1.5, 3.0, 4.0, torch.inf, -torch.inf]
    x = torch.tensor(some * 16, dtype=torch.float64)
    given = SLOPES[name](torch.linspace(-1, 2, len(x), dtype=torch.float64), x)
    call = getattr(torch.ops.aten, f"{name.split()[0]}_backward").default
    torch.testing.assert_close(decompositions()[call](*given), call(*given), equal_nan=True)


def test_bools_are_padded_with_an_attr() -> None:
    shapes = {"z": ShapeList((DimOf("x", 0), DimBinary("+", DimOf("x", 1), DimConst(3))))}
    attrs = (Attr("a", "float", 1.5),)
    compute = "F.pad(x, (2, 1), value=a)"
    spec = make_spec(compute, dtypes=("bool",), attrs=attrs, shapes=shapes)
    x = dataclasses.replace(spec.inputs[0], min_rank=2, max_rank=2)
    plan_op(dataclasses.replace(spec, inputs=(x,)))


# ---- What replaces functions of PyTorch is the same, and why others cannot be traced -------------

CALLS = {
    "pad after": lambda x: F.pad(x[:, 0], (0, 3), "circular"),
    "pad without a batch": lambda x: F.pad(x[0, 0], (2, 1), mode="circular"),
    "pad two axes without a batch": lambda x: F.pad(x[0], (1, 2, 3, 0), mode="circular"),
    "pad two axes": lambda x: F.pad(x, (1, 2, 3, 0), mode="circular"),
    "pad with zeros": lambda x: F.pad(x, (1, 2)),
    "loss": lambda x: F.gaussian_nll_loss(x, x * 2, x.square()),
    "loss with a number": lambda x: F.gaussian_nll_loss(x, x * 2, 0.5, True, reduction="sum"),
    "loss with a variance per row": lambda x: F.gaussian_nll_loss(
        x, x * 2, x[..., 0].abs(), eps=0.1, reduction="none"
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_replacement_is_the_same(name: str) -> None:
    x = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(1))
    with Composites():
        replaced = CALLS[name](x)
    torch.testing.assert_close(replaced, CALLS[name](x))


def test_a_check_of_values_does_not_keep_a_loss_from_a_kernel() -> None:
    compute = "F.gaussian_nll_loss(x, torch.relu(x), y, reduction='none')"
    plan_op(make_spec(compute, "x y", shapes={"z": ShapeLike("x"), "y": ShapeLike("x")}))


@pytest.mark.parametrize(
    ("compute", "text"),
    [
        ("F.one_hot(x.to(torch.int64)).to(torch.float32)", "values of a tensor"),
        ("torch.linalg.pinv(x)", "takes no sizes that are symbols"),
        ("torch.geqrf(x)[0]", "does not know the shapes"),
    ],
)
def test_a_failure_of_tracing_says_what_is_missing(compute: str, text: str) -> None:
    with pytest.raises(OpgenError) as raised:
        plan_op(make_spec(compute))
    assert text in raised.value.diagnostics[0].what


# ---- The proof of a graph: what counts as the result of compute ----------------------------------


def test_leading_axes_of_one_may_be_missing():
    """Views are moved to inputs, where an axis before all others says nothing."""
    column = ShapeList((DimConst(1), DimOf("x", 0), DimConst(1)))
    twice = ShapeList((DimBinary("*", DimOf("x", 0), DimConst(2)),))
    spec = make_spec(
        "a = torch.maximum(x, x * 2).unsqueeze(-1).unsqueeze(-3)\nb = x.repeat_interleave(2, -1)",
        outputs="a b",
        shapes={"a": column, "b": twice},
    )
    x = dataclasses.replace(spec.inputs[0], min_rank=1, max_rank=1)
    spec = dataclasses.replace(spec, inputs=(x,))
    trace(spec, variants(spec)[0])


# GELU without the differences in which PyTorch's own loses the tail.
GELU = {
    "none": lambda x: 0.5 * x * torch.erfc(-x * 0.5**0.5),
    "tanh": lambda x: x * torch.sigmoid((8 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)),
}


@pytest.mark.parametrize("approximate", GELU)
def test_the_gradient_of_gelu_keeps_its_tail_and_large_values(approximate):
    x = torch.tensor([-1e36, -1e19, -50, -9, -5, -1, 0, 1, 5, 1e19, 1e36], dtype=torch.float64)
    x.requires_grad_()
    (want,) = torch.autograd.grad(GELU[approximate](x).sum(), x)
    gradient = decompositions()[torch.ops.aten.gelu_backward.default]
    got = gradient(torch.ones(11), x.detach().float(), approximate=approximate)
    assert got.dtype == torch.float32
    torch.testing.assert_close(got.double(), want, rtol=2e-5, atol=1e-45)


@pytest.mark.parametrize("approximate", GELU)
def test_the_gradient_of_gelu_at_no_number_is_pytorchs(approximate):
    x = torch.tensor([torch.inf, -torch.inf, torch.nan])
    gradient = decompositions()[torch.ops.aten.gelu_backward.default]
    got = gradient(torch.ones(3), x, approximate=approximate)
    assert got.isnan().all()
    assert torch.ops.aten.gelu_backward(torch.ones(3), x, approximate=approximate).isnan().all()


def test_a_relu_of_random_slopes_has_the_mean_slope_outside_of_training():
    x = torch.tensor([-2.0, -0.0, 0.0, 3.0, -torch.inf, torch.inf, torch.nan])
    relu = decompositions()[torch.ops.aten.rrelu_with_noise.default]
    torch.testing.assert_close(relu(x, x), F.rrelu(x), equal_nan=True)
    torch.testing.assert_close(relu(x, x, 0.5, 1.0), F.rrelu(x, 0.5, 1.0), equal_nan=True)
    assert relu(x, x, 0.5, 1.0, True) is NotImplemented


@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (1, 1), ()])
@pytest.mark.parametrize("repeats", [(2, 3), (1, 2), (1, 1), (2, 1, 3), (0, 2)])
def test_a_tensor_is_repeated(shape: tuple[int, ...], repeats: tuple[int, ...]) -> None:
    x = torch.arange(math.prod(shape)).reshape(shape)
    found = decompositions()[torch.ops.aten.repeat.default](x, list(repeats))
    assert torch.equal(found, x.repeat(repeats))
