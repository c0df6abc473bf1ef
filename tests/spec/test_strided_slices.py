"""Slices by lists and masks: sizes and elements are those of NumPy's slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from msopgen_wrap.spec.strided_slices import sliced_shape, strided_slice

# shape; begin, end, strides, masks of begin, end, ellipsis, new axes, axes that shrink; the index
SLICES: list[tuple[tuple[int, ...], tuple[Any, ...], Any]] = [
    ((7,), ([1], [6], [2]), np.s_[1:6:2]),
    ((7,), ([-3], [99], [1]), np.s_[-3:]),
    ((7,), ([-99], [-1], [3]), np.s_[:-1:3]),
    ((7,), ([5], [1], [-2]), np.s_[5:1:-2]),
    ((7,), ([9], [-99], [-1]), np.s_[::-1]),
    ((7,), ([2], [2], [-1]), np.s_[2:2]),
    ((7,), ([3], [3], [-2], 1, 1), np.s_[::-2]),
    ((7,), ([3], [5], [1], 1, 0), np.s_[:5]),
    ((4, 5), ([1], [3], [1]), np.s_[1:3]),
    ((4, 5), ([9, 1], [9, 4], [1, 1], 0, 0, 1), np.s_[..., 1:4]),
    ((4, 5, 6), ([1, 0, 2], [3, 0, 6], [1, 1, 3], 0, 0, 2), np.s_[1:3, ..., 2:6:3]),
    ((4, 5), ([0, 1, 2], [0, 3, 4], [1, 1, 1], 0, 0, 0, 1), np.s_[None, 1:3, 2:4]),
    ((4, 5), ([-1, 0], [0, 5], [1, 2], 0, 0, 0, 0, 1), np.s_[-1, 0:5:2]),
    ((4, 5), ([2, 4], [0, 0], [1, -1], 2, 0, 0, 0, 2), np.s_[2:0, 4]),
    ((4, 5), ([1, 0, 3], [2, 0, 4], [1, 1, 1], 0, 0, 0, 2, 5), np.s_[1, None, 3]),
    ((), ([0], [0], [1], 0, 0, 0, 1), np.s_[None]),
    ((0, 3), ([0], [5], [1]), np.s_[0:5]),
]


@pytest.mark.parametrize(("shape", "arguments", "index"), SLICES, ids=[str(s[1]) for s in SLICES])
def test_slices(shape: tuple[int, ...], arguments: tuple[Any, ...], index: Any) -> None:
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    assert sliced_shape(shape, *arguments) == list(x[index].shape)
    assert np.array_equal(strided_slice(torch.from_numpy(x), *arguments).numpy(), x[index])


_PLACE = st.integers(-6, 6)


@given(st.lists(st.tuples(st.integers(0, 4), _PLACE, _PLACE, _PLACE.filter(bool)), max_size=4))
def test_all_places_and_steps(axes: list[tuple[int, int, int, int]]) -> None:
    shape = [axis[0] for axis in axes]
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    expected = x[tuple(slice(*axis[1:]) for axis in axes)]
    lists = [[axis[i] for axis in axes] for i in (1, 2, 3)]
    assert sliced_shape(shape, *lists) == list(expected.shape)
    assert np.array_equal(strided_slice(torch.from_numpy(x), *lists).numpy(), expected)


@pytest.mark.parametrize(
    ("shape", "arguments", "why"),
    [
        ((4,), ([0], [1], [0]), "a stride of 0"),
        ((4,), ([0, 0], [1, 1], [1, 1]), "2 entries cut a tensor of 1 axes"),
        ((4,), ([0], [1, 2], [1]), "1, 2, 1 entries"),
        ((4,), ([0, 0], [1, 1], [1, 1], 0, 0, 3), "more than one entry"),
        ((4,), ([-5], [1], [1], 0, 0, 0, 0, 1), "has no element -1"),
        ((4,), ([4], [1], [1], 0, 0, 0, 0, 1), "has no element 4"),
    ],
)
def test_refusals(shape: tuple[int, ...], arguments: tuple[Any, ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        sliced_shape(shape, *arguments)
