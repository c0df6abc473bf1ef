"""What stands in place of PyTorch's resampling, searches and reductions by index: equal to them."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F

from msopgen_wrap.graph.counting import (
    counting_decompositions,
    counting_functions,
)
from msopgen_wrap.graph.index_decompositions import (
    index_decompositions,
    index_functions,
    scalar_row_decompositions,
)
from msopgen_wrap.graph.resampling import interpolate_functions, resampling_decompositions
from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import variants
from msopgen_wrap.spec.loader import load_spec

aten = torch.ops.aten
SAMPLERS = {2: (0, 1, 2), 3: (0, 1)}  # bilinear, nearest, bicubic
MODES = {1: ["linear"], 2: ["bilinear", "bicubic"], 3: ["trilinear"]}
SIZES = {1: [(5,), (1,), (23,)], 2: [(5, 9), (1, 3), (14, 8)], 3: [(3, 5, 2), (9, 1, 12)]}
TABLE = {**counting_decompositions(), **index_decompositions(), **resampling_decompositions()}

SAMPLES = """
op: Samples
inputs:
  x: {dtype: float32, rank: 5}
  grid: {dtype: x, rank: 5}
outputs:
  y: {dtype: x, shape: "[x[0], x[1], grid[1], grid[2], grid[3]]"}
compute: F.grid_sample(x, grid, align_corners=False)
"""


def image(axes: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    torch.manual_seed(axes)
    return torch.randn([2, 3, *(7, 4, 6)[:axes]]).to(dtype)


def positions(axes: int) -> torch.Tensor:
    """Return a grid, of which about half of the positions lie outside of an image."""
    torch.manual_seed(0)
    return torch.rand(2, *(5, 4, 3)[:axes], axes, dtype=torch.float64) * 5 - 2.5


@pytest.mark.parametrize("differentiated", [False, True])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_images_are_resized_as_pytorch_does(axes, differentiated):
    resize = interpolate_functions({}, differentiated)[F.interpolate]
    x = image(axes)
    for mode, size, corners in itertools.product(MODES[axes], SIZES[axes], (False, True)):
        ours = resize(x, size, None, mode, corners)
        torch.testing.assert_close(
            ours, F.interpolate(x, size, None, mode, corners), rtol=1e-5, atol=1e-5
        )
    for mode, scale, again in itertools.product(MODES[axes], (0.6, 1.7, 2), (False, True)):
        wanted = F.interpolate(x, None, scale, mode, False, recompute_scale_factor=again)
        ours = resize(x, None, scale, mode, False, again)
        torch.testing.assert_close(ours, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "area"])
@pytest.mark.parametrize("differentiated", [False, True])
def test_the_nearest_element_is_the_same_one(axes, mode, differentiated):
    resize = interpolate_functions({}, differentiated)[F.interpolate]
    x = image(axes, torch.float32)
    for size in (*SIZES[axes], (100, 37, 51)[:axes]):
        assert torch.equal(resize(x, size, None, mode), F.interpolate(x, size, None, mode))
    for scale in (0.3, 1.7, 3):
        wanted = F.interpolate(x, None, scale, mode)
        assert torch.equal(resize(x, None, scale, mode), wanted)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("padding", [0, 1, 2], ids=["zeros", "border", "reflection"])
def test_samples_are_those_of_pytorch(axes, padding):
    x, grid = image(axes), positions(axes)
    call = getattr(aten, f"grid_sampler_{axes}d").default
    for mode, corners in itertools.product(SAMPLERS[axes], (False, True)):
        ours = TABLE[call](x, grid, mode, padding, corners)
        torch.testing.assert_close(ours, call(x, grid, mode, padding, corners))
    if padding == 2:
        single = x[:, :, :1]  # an axis of one element has nothing to turn back in
        wanted = call(single, grid, 0, padding, True)
        torch.testing.assert_close(TABLE[call](single, grid, 0, padding, True), wanted)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("padding", [0, 1, 2], ids=["zeros", "border", "reflection"])
def test_gradients_of_samples_are_those_of_pytorch(axes, padding):
    x, grid = image(axes), positions(axes)
    grid[0, 0] = 1.0  # a border
    grad = torch.randn(2, 3, *(5, 4, 3)[:axes], dtype=torch.float64)
    call = getattr(aten, f"grid_sampler_{axes}d_backward").default
    for mode, corners in itertools.product(SAMPLERS[axes], (False, True)):
        wanted = call(grad, x, grid, mode, padding, corners, [True, True])
        ours = TABLE[call](grad, x, grid, mode, padding, corners, [True, True])
        torch.testing.assert_close(ours, wanted)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_largest_positions_are_outside_of_an_image_as_in_pytorch(size):
    """Whether they are infinite, which makes NaN, depends on the size."""
    x = torch.randn(1, 1, size, size)
    largest = torch.finfo(torch.float32).max
    points = torch.tensor(list(itertools.product([largest, -largest, 0.6], repeat=2)))
    grid = points.reshape(1, 1, -1, 2)
    call = aten.grid_sampler_2d.default
    ours = TABLE[call](x, grid, 0, 0, False)
    torch.testing.assert_close(ours, call(x, grid, 0, 0, False), equal_nan=True)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("padding", [0, 1, 2], ids=["zeros", "border", "reflection"])
def test_samples_at_positions_that_are_no_numbers_are_those_of_pytorch(axes, padding):
    x = image(axes, torch.float32)[:1]
    x[0, 0].view(-1)[0], x[0, 1].view(-1)[-1] = torch.inf, torch.nan
    values = [torch.inf, -torch.inf, torch.nan, 0.0, -1.0, 1.0, 65504.0, 3.4e38]
    points = torch.tensor(list(itertools.product(values, repeat=axes)))
    grid = points.reshape(1, *[1] * (axes - 1), -1, axes)
    call = getattr(aten, f"grid_sampler_{axes}d").default
    for mode, corners in itertools.product(SAMPLERS[axes], (False, True)):
        ours = TABLE[call](x, grid, mode, padding, corners)
        wanted = call(x, grid, mode, padding, corners)
        torch.testing.assert_close(ours, wanted, equal_nan=True)


def test_the_corners_of_a_cell_are_gathered_at_once(tmp_path):
    path = tmp_path / "samples.yaml"
    path.write_text(SAMPLES, encoding="utf-8")
    spec = load_spec(path)
    graph = trace(spec, variants(spec)[0]).graph
    assert [n.target for n in graph.nodes].count(aten.gather.default) == 1
    assert len(graph.nodes) < 150


@pytest.mark.parametrize("right", [False, True])
def test_places_are_those_of_a_search(right):
    torch.manual_seed(0)
    rows = torch.randint(0, 9, (3, 8)).double().sort(-1).values
    values = torch.tensor([[-1.0, 4.0, 20.0, torch.nan, torch.inf]] * 3, dtype=torch.float64)
    search = TABLE[aten.searchsorted.Tensor]
    assert torch.equal(
        search(rows, values, right=right), torch.searchsorted(rows, values, right=right)
    )
    place = TABLE[aten.bucketize.Tensor](values, rows[0], right=right, out_int32=True)
    assert torch.equal(place, torch.bucketize(values, rows[0], right=right, out_int32=True))
    order = torch.randperm(8).expand(3, 8).contiguous()
    mixed = torch.empty_like(rows).scatter(-1, order, rows)
    wanted = torch.searchsorted(mixed, values, right=right, sorter=order)
    assert torch.equal(search(mixed, values, right=right, sorter=order), wanted)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.5, float("inf")])
def test_distances_are_those_of_pytorch(p):
    torch.manual_seed(0)
    x, y = torch.randn(2, 5, 3, dtype=torch.float64), torch.randn(1, 4, 3, dtype=torch.float64)
    y[0, 0] = x[0, 0]
    torch.testing.assert_close(TABLE[aten._cdist_forward.default](x, y, p), torch.cdist(x, y, p))
    for n in (1, 2, 3, 40, 301):
        rows = torch.randn(n, 3, dtype=torch.float64)
        ours = TABLE[aten._pdist_forward.default](rows, p)
        torch.testing.assert_close(ours, F.pdist(rows, p))


def test_statistics_are_those_of_pytorch():
    torch.manual_seed(0)
    functions = counting_functions()
    for x in (torch.randn(3, 9, dtype=torch.float64), torch.randn(9, dtype=torch.float64)):
        torch.testing.assert_close(functions[torch.corrcoef](x), torch.corrcoef(x))
        for correction in (0, 1, 2):
            ours = functions[torch.cov](x, correction=correction)
            torch.testing.assert_close(ours, torch.cov(x, correction=correction))
    x = torch.tensor([-1.0, 0.0, 2.5, 9.99, 10.0, 10.1, torch.nan, torch.inf])
    ours = TABLE[aten.histc.default](x, 20, 0, 10)
    assert torch.equal(ours, torch.histc(x[:-2], 20, 0, 10))
    left, right = torch.randn(2, 4, 3), torch.randn(2, 4, 5)
    weight, bias = torch.randn(6, 3, 5), torch.randn(6)
    ours = functions[F.bilinear](left, right, weight, bias)
    torch.testing.assert_close(ours, F.bilinear(left, right, weight, bias))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32])
@pytest.mark.parametrize("include_self", [True, False])
def test_reductions_by_index_are_those_of_pytorch(dtype, include_self):
    torch.manual_seed(0)
    x = torch.randint(-9, 9, (3, 6)).to(dtype)
    index, source = torch.randint(0, 6, (3, 8)), torch.randint(-9, 9, (3, 8)).to(dtype)
    rows = torch.randint(0, 6, (8,))
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        args = (1, index, source, reduce)
        ours = TABLE[aten.scatter_reduce.two](x, *args, include_self=include_self)
        if ours is not NotImplemented:
            wanted = torch.scatter_reduce(x, *args, include_self=include_self)
            torch.testing.assert_close(ours, wanted)
        if reduce == "sum":
            continue
        args = (1, rows, source, reduce)
        ours = TABLE[aten.index_reduce.default](x, *args, include_self=include_self)
        if ours is not NotImplemented:
            wanted = torch.index_reduce(x, *args, include_self=include_self)
            torch.testing.assert_close(ours, wanted)


def test_a_tensor_without_axes_is_one_row():
    table = {**TABLE, **scalar_row_decompositions({})}
    x, index, source = torch.tensor(2.0), torch.tensor([0]), torch.tensor(3.0)
    calls = {
        aten.index_select.default: (0, index),
        aten.index_copy.default: (0, index, source),
        aten.index_add.default: (0, index, source),
        aten.index_fill.int_Scalar: (0, index, 7.0),
        aten.index_fill.int_Tensor: (0, index, source),
        aten.index_reduce.default: (0, index, source, "amax"),
        aten.unfold.default: (0, 1, 1),
    }
    for op, args in calls.items():
        ours, wanted = table[op](x, *args), op(x, *args)
        assert ours.shape == wanted.shape and torch.equal(ours, wanted), op
    assert table[aten.index_select.default](torch.ones(2), 0, index) is NotImplemented


def test_elements_are_put_and_taken_as_pytorch_does():
    torch.manual_seed(0)
    x = torch.randn(3, 5)
    for accumulate in (False, True):
        args = (torch.tensor([[1, -1], [7, 2]]), torch.randn(2, 2), accumulate)
        assert torch.equal(TABLE[aten.put.default](x, *args), x.put(*args))
    index = torch.tensor([[0, -1, 2], [4, -5, 1], [3, 3, 3]])
    flat = index.clamp(min=0)
    for differentiated in (False, True):
        take = index_functions(differentiated)[torch.take_along_dim]
        assert torch.equal(take(x, index, 1), torch.take_along_dim(x, index, 1))
        assert torch.equal(take(x, index[:1], 1), torch.take_along_dim(x, index[:1], 1))
        assert torch.equal(take(x, flat), torch.take_along_dim(x, flat))
    mask, source = torch.rand(3, 5) < 0.5, torch.randn(15)
    ours = TABLE[aten.masked_scatter.default](x, mask, source)
    assert torch.equal(ours, x.masked_scatter(mask, source))
    pooled, where = F.max_pool2d(torch.randn(2, 3, 6, 8), 2, return_indices=True)
    ours = TABLE[aten.max_unpool2d.default](pooled, where, [6, 8])
    assert torch.equal(ours, F.max_unpool2d(pooled, where, 2))
