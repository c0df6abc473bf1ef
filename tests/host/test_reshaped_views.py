"""The open size (-1) of a reshape, as TilingFunc computes it for a call."""

import ctypes

import pytest

from msopgen_wrap.build.emulation import compile_shared
from msopgen_wrap.resources import data_dir

SOURCE = r"""
#include "%s/include/opgen/host/view.h"
extern "C" int64_t OpenSize(const int64_t* sizes, int64_t rank, const int64_t* wanted,
                            int64_t count, int64_t open) {
    opgen::View view = opgen::View::Dense(std::vector<int64_t>(sizes, sizes + rank));
    return view.Reshape(std::vector<int64_t>(wanted, wanted + count)) ? view.dim[open] : -1;
}
// The first column of rows of two, in other axes: the stride of its last axis of more than one
// element, 0: none; -1: it does not fit.
extern "C" int64_t FitStride(const int64_t* sizes, int64_t rank, const int64_t* wanted,
                             int64_t count) {
    std::vector<int64_t> dims(sizes, sizes + rank);
    dims.push_back(2);
    opgen::View view = opgen::View::Dense(dims);
    view.Slab(-1, 0, 1);
    if (!view.Fit(std::vector<int64_t>(wanted, wanted + count)) || view.Rank() != count) {
        return -1;
    }
    for (int64_t i = count; i > 0; --i) {
        if (view.dim[i - 1] > 1) {
            return view.stride[i - 1];
        }
    }
    return 0;
}
"""


def array(numbers):
    return (ctypes.c_int64 * len(numbers))(*numbers), ctypes.c_int64(len(numbers))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    source = tmp_path_factory.mktemp("views") / "view.cpp"
    source.write_text(SOURCE % data_dir("ascendc_kernels"))
    found = ctypes.CDLL(str(compile_shared([source], opt="-O0")))
    found.OpenSize.restype = found.FitStride.restype = ctypes.c_int64
    return found


@pytest.fixture(scope="module")
def open_size(library):
    run = library.OpenSize
    return lambda sizes, wanted: run(
        *array(sizes), *array(wanted), ctypes.c_int64(wanted.index(-1))
    )


@pytest.mark.parametrize(
    ("sizes", "wanted", "size"),
    [
        ((2, 3, 5), (-1, 5), 6),
        ((2, 3, 0), (-1, 0), 6),  # rows without elements are counted
        ((0, 3, 5), (-1, 5), 0),
        ((0, 2, 3), (0, -1), 6),
        ((4, 0, 2, 3, 7), (4, 0, -1, 7), 6),
        ((0, 4), (-1, 0), 0),  # nothing tells it
        ((0,), (0, -1), 1),
        ((2, 3), (-1, 4), -1),  # does not divide
    ],
)
def test_open_size(open_size, sizes, wanted, size):
    assert open_size(sizes, wanted) == size


@pytest.mark.parametrize(
    ("sizes", "wanted", "stride"),
    [
        ((4, 3), (4, 3), 2),
        ((4, 3), (1, 4, 1, 3), 2),
        ((4, 1), (4,), 2),
        ((1, 1), (1,), 0),
        ((1, 1), (), 0),
        ((4, 0, 3), (4, 0, 3), 2),
        ((4, 3), (12,), -1),  # elements that lie apart
        ((4, 3), (3, 4), -1),
        ((4, 3), (4,), -1),
    ],
)
def test_axes_of_one_come_and_go(library, sizes, wanted, stride):
    assert library.FitStride(*array(sizes), *array(wanted)) == stride
