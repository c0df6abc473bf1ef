"""How the share of a core is cut into tiles whose first and last one are short."""

import ctypes

import pytest

from msopgen_wrap.build.emulation import compile_shared
from msopgen_wrap.resources import data_dir

SOURCE = r"""
#include "%s/include/opgen/host/tile_budget.h"
extern "C" void Cut(int64_t elements, int64_t longest, double bytes, double vector, int64_t cores,
                    int64_t* tile, double* cycles) {
    opgen::FlatTiles tiles;
    tiles.length = std::min(longest, opgen::AlignUp(opgen::CeilDiv(elements, 2), opgen::kUnit));
    const opgen::TileTimes times(bytes, bytes, vector, opgen::CoreRates(32), cores);
    cycles[0] = times.Of(elements, tiles.length, 0);
    tiles.ChooseEdges(elements, longest, times);
    tile[0] = tiles.length;
    tile[1] = tiles.edge;
    cycles[1] = times.Of(elements, tiles.length, tiles.edge);
}
"""


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    source = tmp_path_factory.mktemp("edges") / "cut.cpp"
    source.write_text(SOURCE % data_dir("ascendc_kernels"))
    run = ctypes.CDLL(str(compile_shared([source], opt="-O0"))).Cut
    run.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_double, ctypes.c_double]
    run.argtypes += [ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)]
    run.argtypes += [ctypes.POINTER(ctypes.c_double)]

    def made(*given):
        tile, cycles = (ctypes.c_int64 * 2)(), (ctypes.c_double * 2)()
        run(*given, tile, cycles)
        return tile[0], tile[1], cycles[0], cycles[1]

    return made


# Elements of a core, the longest tile, bytes and vector cycles of an element, cores, edges or not.
CUTS = [
    (32768, 11264, 2.0, 0.14, 32, True),  # sigmoid of 1M float16
    (42240, 8192, 4.0, 0.11, 28, True),  # bound by reading
    (256, 8192, 4.0, 0.14, 1, False),
    (512, 8192, 4.0, 0.14, 1, False),
    (1 << 20, 8192, 4.0, 0.14, 48, False),  # many tiles
]


@pytest.mark.parametrize(("elements", "longest", "bytes_", "vector", "cores", "edges"), CUTS)
def test_edges(cut, elements, longest, bytes_, vector, cores, edges):
    length, edge, before, after = cut(elements, longest, bytes_, vector, cores)
    assert (edge > 0) == edges
    assert length % 256 == edge % 256 == 0
    assert edge < length <= longest
    assert after < before if edges else after == before
