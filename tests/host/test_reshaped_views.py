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
"""


@pytest.fixture(scope="module")
def open_size(tmp_path_factory):
    source = tmp_path_factory.mktemp("views") / "view.cpp"
    source.write_text(SOURCE % data_dir("ascendc_kernels"))
    run = ctypes.CDLL(str(compile_shared([source], opt="-O0"))).OpenSize
    run.restype = ctypes.c_int64

    def array(numbers):
        return (ctypes.c_int64 * len(numbers))(*numbers), ctypes.c_int64(len(numbers))

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
