"""What stands in place of PyTorch's quantiles, modes, places and labels: equal to it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from msopgen_wrap.graph.counting import counting_decompositions, counting_functions
from msopgen_wrap.graph.index_decompositions import index_decompositions
from msopgen_wrap.graph.orders import order_decompositions
from msopgen_wrap.graph.placement import placement_decompositions
from msopgen_wrap.graph.quantiles import quantile_functions
from msopgen_wrap.graph.zeta import zeta
from msopgen_wrap.run.chosen_places import ChosenPlaces

aten = torch.ops.aten
TABLE = {
    **counting_decompositions(),
    **index_decompositions(),
    **order_decompositions(),
    **placement_decompositions(),
}
INTERPOLATIONS = ("linear", "midpoint", "lower", "higher", "nearest")


def cube(special: bool = False) -> torch.Tensor:
    torch.manual_seed(3)
    x = torch.randn(3, 4, 5, dtype=torch.float64)
    if special:
        x[0] = torch.nan
        x[1, 1, 2] = torch.nan
        x[-1, -1, -1] = torch.inf
    return x


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_are_those_of_pytorch(name: str, interpolation: str) -> None:
    theirs = getattr(torch, name)
    ours = quantile_functions()[theirs]
    several = torch.tensor([0.1, 0.9, 0.5, 1.0], dtype=torch.float64)
    quantiles = (0.3, 0.0, 1, several, several[0])
    for x, dim in itertools.product((cube(), cube(True)), (None, -1, 0)):
        for q, keep in itertools.product(quantiles, (False, True)):
            wanted = theirs(x, q, dim, keep, interpolation=interpolation)
            found = ours(x, q, dim, keep, interpolation=interpolation)
            torch.testing.assert_close(found, wanted, equal_nan=True)
    single = torch.tensor(2.5, dtype=torch.float64)
    assert ours(single, 0.3, 0, True).item() == 2.5


def test_what_is_no_quantile_is_left_to_pytorch() -> None:
    quantile = quantile_functions()[torch.quantile]
    assert quantile(cube(), 1.5) is NotImplemented
    assert quantile(cube(), 0.5, interpolation="other") is NotImplemented
    assert quantile(torch.ones(3, dtype=torch.int32), 0.5) is NotImplemented


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
@pytest.mark.parametrize("keepdim", [False, True])
def test_modes_are_those_of_pytorch(dtype: torch.dtype, keepdim: bool) -> None:
    torch.manual_seed(0)
    x = torch.randint(-2, 3, (4, 9, 6)).to(dtype)
    for dim in (0, 1, -1):
        values, places = TABLE[aten.mode.default](x, dim, keepdim)
        wanted = torch.mode(x, dim, keepdim)
        assert torch.equal(values, wanted.values)
        assert places.shape == wanted.indices.shape
        found = x.gather(dim, places if keepdim else places.unsqueeze(dim))
        assert torch.equal(found if keepdim else found.squeeze(dim), values)


def test_a_mode_among_nan_is_that_of_the_numbers() -> None:
    rows = torch.tensor([[torch.nan, 2, 1, 1], [torch.nan] * 4, [3, torch.nan, torch.inf, 4]])
    values, places = TABLE[aten.mode.default](rows)
    torch.testing.assert_close(values, torch.tensor([1.0, torch.nan, 3.0]), equal_nan=True)
    assert places.tolist() == [2, 0, 0]
    chosen = ChosenPlaces.of("mode", (rows, -1), {})
    assert chosen is not None
    # a row without NaN is judged, one with NaN is not
    chosen = ChosenPlaces(torch.tensor([[1.0, 2.0, 2.0], [torch.nan, 2.0, 2.0]]), -1, True)
    wrong = chosen.wrong(torch.tensor([0, 0]), torch.tensor([1, 1]))
    assert wrong.tolist() == [True, False]


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 4), (0, 3)])
@pytest.mark.parametrize("size", [0, 1, 5, 40])
def test_places_of_what_is_not_zero(shape: tuple[int, ...], size: int) -> None:
    torch.manual_seed(1)
    x = torch.randint(0, 2, shape).float()
    ours = TABLE[aten.nonzero_static.default](x, size=size, fill_value=-7)
    assert torch.equal(ours, torch.nonzero_static(x, size=size, fill_value=-7))


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_a_margin_of_several_labels(reduction: int) -> None:
    torch.manual_seed(2)
    x = torch.randn(4, 6)
    labels = torch.tensor([[3, 0, -1, 2, 2, 2], [5] * 6, [-1] * 6, [0, 1, 2, 3, 4, 5]])
    x[1, 2] = torch.nan  # is no loss
    call = aten.multilabel_margin_loss_forward.default
    for given in ((x, labels), (x[0], labels[0]), (x[2], labels[2])):
        found, wanted = TABLE[call](*given, reduction), call(*given, reduction)
        torch.testing.assert_close(found[0], wanted[0])
        torch.testing.assert_close(found[1], wanted[1])


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("p", [1, 2])
def test_a_margin_of_one_label(p: int, reduction: int) -> None:
    torch.manual_seed(2)
    x, labels, weight = torch.randn(4, 6), torch.tensor([5, 0, 3, 2]), torch.rand(6)
    x[1, 2], x[3, 2] = torch.nan, torch.nan  # a step of NaN is no loss
    call = aten.multi_margin_loss.default
    of_a_number = (x[0, 0], torch.zeros((), dtype=torch.int64))
    for given in ((x, labels), (x[0], labels[:1]), (x[0], labels[0]), of_a_number):
        for scales in (None, weight[: given[0].shape[-1] if given[0].dim() else 1]):
            found = TABLE[call](*given, p, 0.7, scales, reduction)
            torch.testing.assert_close(found, call(*given, p, 0.7, scales, reduction))


def test_covariances_of_weighted_observations() -> None:
    torch.manual_seed(0)
    covariance = counting_functions()[torch.cov]
    counts, shares = torch.randint(1, 9, (5,)), torch.rand(5)
    weights = ({"fweights": counts}, {"aweights": shares}, {"fweights": counts, "aweights": shares})
    for x, correction, given in itertools.product(
        (torch.randn(3, 5), torch.randn(5)), (0, 1, 2), weights
    ):
        found = covariance(x, correction=correction, **given)
        torch.testing.assert_close(found, torch.cov(x, correction=correction, **given))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("density", [False, True])
def test_a_histogram_between_given_edges(density: bool, weighted: bool) -> None:
    torch.manual_seed(0)
    edges = torch.tensor([-1.0, 0.0, 0.5, 2.0])
    x = torch.cat([torch.randn(40), edges]).reshape(4, 11)
    weight = torch.rand(4, 11) if weighted else None
    found = counting_functions()[torch.histogram](x, edges, weight=weight, density=density)
    wanted = torch.histogram(x, edges, weight=weight, density=density)
    torch.testing.assert_close(found[0], wanted.hist)
    assert torch.equal(found[1], wanted.bin_edges)


@pytest.mark.parametrize("shape", [(6,), (4, 6)])
@pytest.mark.parametrize("integers", [False, True])
def test_correlations(shape: tuple[int, ...], integers: bool) -> None:
    torch.manual_seed(0)
    x = torch.randint(-9, 9, shape) if integers else torch.randn(shape)
    if x.dim() > 1:
        x[1] = 3  # a row that does not vary gives NaN
    found = counting_functions()[torch.corrcoef](x)
    torch.testing.assert_close(found, torch.corrcoef(x), equal_nan=True)


MASKS: dict[str, tuple[int, tuple[int, ...], tuple[int, ...]]] = {
    # axis of the mask, its shape, shape of the values
    "rows": (0, (3,), (4, 5)),
    "a row for all": (0, (3,), (1, 1, 5)),
    "a number": (1, (4, 5), ()),
    "elements": (0, (3, 4, 5), (1,)),
    "behind an axis": (1, (4,), (3, 1, 5)),
    "behind axes": (2, (5,), (3, 1, 1)),
}


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("name", MASKS)
def test_values_where_a_mask_says_so(name: str, accumulate: bool) -> None:
    torch.manual_seed(0)
    axis, shape, sizes = MASKS[name]
    x, mask, values = torch.randn(3, 4, 5), torch.rand(shape) < 0.5, torch.randn(sizes)
    indices = [None] * axis + [mask]
    found = TABLE[aten.index_put.default](x, indices, values, accumulate)
    assert torch.equal(found, aten.index_put(x, indices, values, accumulate))


def test_values_of_each_place_of_a_mask_stay_an_index() -> None:
    x, mask = torch.zeros(3, 4), torch.tensor([True, False, True])
    assert TABLE[aten.index_put.default](x, [mask], torch.ones(2, 4)) is NotImplemented
    assert TABLE[aten.index_put.default](x, [mask, mask], torch.ones(())) is NotImplemented
    with pytest.raises(RuntimeError, match="other sizes"):
        TABLE[aten.index_put.default](x, [mask[:1]], torch.ones(()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
@pytest.mark.parametrize("reduce", ["add", "multiply"])
def test_a_scatter_that_joins_values(reduce: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, values = (torch.randint(-4, 5, (6, 5)).to(dtype) for _ in range(2))
    index = torch.randint(0, 5, (4, 5))
    for source, call in ((values, aten.scatter.reduce), (3, aten.scatter.value_reduce)):
        found = TABLE[call](x, 1, index, source, reduce=reduce)
        assert torch.equal(found, call(x, 1, index, source, reduce=reduce))


def test_nothing_is_rolled() -> None:
    for shape, shifts, dims in (((0, 3), [2, 1], [0, 1]), ((0,), [0], []), ((2, 0), [1], [-1])):
        x = torch.zeros(shape)
        assert TABLE[aten.roll.default](x, shifts, dims).shape == shape


SHAPES = {"rows": ((1, 3), (5, 3)), "columns": ((2, 3, 1), (1, 3, 4))}


@pytest.mark.parametrize("name", SHAPES)
def test_a_cross_product_of_tensors_that_broadcast(name: str) -> None:
    x, y = (torch.randn(shape) for shape in SHAPES[name])
    dim = -2 if name == "columns" else -1
    found = TABLE[aten.linalg_cross.default](x, y, dim=dim)
    torch.testing.assert_close(found, torch.linalg.cross(x, y, dim=dim))


# ---- zeta ----------------------------------------------------------------------------------------

RANGES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "arguments of tests": lambda: (torch.rand(5000) * 8 - 4, torch.rand(5000) * 8 - 4),
    "large ones": lambda: (torch.rand(5000) * 30 + 1, torch.rand(5000) * 20),
    "next to the pole": lambda: (torch.rand(5000) * 0.01 + 1, torch.rand(5000) * 8),
    "whole powers below 0": lambda: (
        torch.randint(2, 12, (5000,)).float(),
        torch.rand(5000) * 8 - 6,
    ),
}


@pytest.mark.parametrize("name", RANGES)
def test_zeta_is_that_of_pytorch_in_double_precision(name: str) -> None:
    torch.manual_seed(0)
    s, q = RANGES[name]()
    wanted = torch.special.zeta(s.double(), q.double()).float()
    torch.testing.assert_close(zeta(s, q), wanted, rtol=1e-4, atol=0, equal_nan=True)


def test_zeta_of_special_values() -> None:
    inf, nan = torch.inf, torch.nan
    s = [inf, inf, nan, 1.0, 20.0, 20.0, 20.0, -1.0, 3e38, 3e38, 2.0, 2.0, 2.0, 1.5, 1.0, nan, 0.5]
    q = [2.0, 0.5, 1.0, 3.0, -3.5, 0.0, inf, 2.0, 1.0, 0.5, 1e30, nan, -0.0, inf, nan, -2.0, nan]
    s, q = torch.tensor(s), torch.tensor(q)
    wanted = torch.special.zeta(s.double(), q.double()).float()
    torch.testing.assert_close(zeta(s, q), wanted, equal_nan=True)


def test_zeta_of_all_pairs_of_extreme_arguments() -> None:
    inf, nan = torch.inf, torch.nan
    small = [0.0, 1e-38, 0.5, 0.75, 1.0, 1.5, 2.5, 88.0]
    sizes = [*small, 65503.0, 65504.0, 1e10, 2e13, 1e20, 3e38, inf]
    values = torch.tensor([nan, *sizes, *(-v for v in sizes)])
    s, q = torch.meshgrid(values, values, indexing="ij")
    wanted = torch.special.zeta(s.double(), q.double()).float()
    torch.testing.assert_close(zeta(s, q), wanted, rtol=1e-4, atol=1e-37, equal_nan=True)
