"""Host tiling of the high-level APIs: what a TilingFunc writes is what the kernel reads."""

import ctypes

import pytest

from msopgen_wrap.build.emulation import compile_shared

from .launcher import KERNELS


@pytest.fixture(scope="module")
def host():
    library = ctypes.CDLL(str(compile_shared([KERNELS / "host_tiling.cpp"])))
    library.Fill.restype = ctypes.c_bool
    return library


@pytest.mark.parametrize(
    ("rows", "columns", "k", "workspace"),
    [(16, 64, 5, 4096), (7, 96, 9, 1 << 16), (33, 4096, 1, 1 << 14), (1, 32, 32, 0)],
)
def test_fields_arrive(host, rows, columns, k, workspace):
    out = (ctypes.c_uint32 * 16)()
    assert host.Fill(rows, columns, k, workspace, out)
    # The split covers every row once; group norm has 4 channels in 2 groups.
    want = [7, rows, columns, rows, rows, columns, rows, (k + 7) // 8 * 8, 2, 2, rows * columns]
    assert list(out)[: len(want)] == want


@pytest.mark.parametrize(("columns", "k"), [(64, 65), (64, 0), (63, 3)])
def test_top_k_refuses_impossible_sizes(host, columns, k):
    assert not host.Fill(4, columns, k, 4096, (ctypes.c_uint32 * 16)())


@pytest.mark.parametrize(("rows", "columns"), [(1, 8), (64, 128), (512, 4096)])
def test_temporary_sizes_are_a_range(host, rows, columns):
    out = (ctypes.c_uint32 * 32)()
    count = host.TmpSizes(rows, columns, out)
    pairs = list(zip(out[:count:2], out[1:count:2], strict=True))
    assert len(pairs) == 8
    for high, low in pairs:
        assert 0 < low <= high < 2**31
        assert low % 32 == 0
