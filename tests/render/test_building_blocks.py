"""Which C++ building blocks a project has: those that its kernels call, and what these include."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest

from msopgen_wrap.build.emulation import compile_kernel
from msopgen_wrap.project.onnx_plugin import render_onnx_plugin
from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.render import building_blocks
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_spec

BLOCKS = data_dir("ascendc_kernels") / "include"
HEADERS = sorted(p.name for p in (BLOCKS / "opgen").glob("*.h"))
TILE = {"convert.h", "tile.h"}
OPERANDS = {*TILE, "operand.h"}
TILING = {"sizes.h", "view.h", "core_count.h", "tile_budget.h", "tiling_buffer.h"}
ELEMENTWISE = {*TILING, "iteration_space.h", "box_shape.h", "elementwise_tiling.h"}
# op: blocks of its kernel, blocks of its tiling function
PROJECTS = {
    ("elementwise/fused_add_relu",): (OPERANDS, ELEMENTWISE),
    ("activation/custom_gelu",): (
        {*OPERANDS, "float_tile.h", "error_function.h"},
        ELEMENTWISE,
    ),
    ("norm/softmax",): (
        {
            *OPERANDS,
            *("float_tile.h", "row.h", "row_cores.h", "row_join.h", "row_online.h"),
            "row_operands.h",
        },
        {*TILING, "iteration_space.h", "row_axes.h", "row_space.h"},
    ),
    ("foreach/foreach_addcdiv_scalar",): (
        OPERANDS,
        TILING,
    ),
    ("embedding/embedding_gather",): ({*TILE, "project.h"}, set()),
    ("activation/custom_gelu", "embedding/embedding_gather"): (
        {*OPERANDS, "float_tile.h", "error_function.h", "project.h"},
        ELEMENTWISE,
    ),
}


@pytest.mark.parametrize("ops", PROJECTS, ids=" ".join)
def test_a_project_has_what_its_ops_use(ops):
    specs = [load_spec(data_dir("op_specs") / f"{op}.yaml") for op in ops]
    options = ProjectOptions(vendor="acme", parts=("op_host", "op_kernel"))
    paths = [Path(f.path) for f in render_project(specs, options)]
    kernel = {p.name for p in paths if p.parent == Path("op_kernel/opgen")}
    own = {"opgen_log.h", "opgen_shape.h"}
    host = {p.name for p in paths if p.name.startswith("opgen_")} - own
    assert (kernel, {name.removeprefix("opgen_") for name in host}) == PROJECTS[ops]


@pytest.mark.parametrize(
    ("op", "reads"),
    [("elementwise/fused_add_relu", False), ("activation/custom_gelu", True)],
)
def test_only_plugins_with_attributes_have_the_reader(op, reads):
    spec = load_spec(data_dir("op_specs") / f"{op}.yaml")
    files = {f.path: f.text for f in render_onnx_plugin([spec])}
    plugin = files[f"framework/onnx_plugin/{spec.name}_plugin.cpp"]
    assert ("framework/onnx_plugin/onnx_attributes.h" in files) == reads
    assert ("opgen_onnx::" in plugin) == ("onnx_attributes.h" in plugin) == reads


CALLS = {
    "": [],
    "opgen::Same<T, float>::value": ["convert.h"],
    "opgen::Tanh(a, b); opgen::Tanh(a, b);": ["hyperbolic.h"],
    "opgen::Pow(a); opgen::Walk w; opgen::kUnit": ["power.h", "tile.h"],
    "AscendC::Pow(a); OtherPow(b)": [],
}


@pytest.mark.parametrize("text", CALLS)
def test_a_kernel_includes_the_headers_of_its_calls(text):
    result = building_blocks.include_blocks(f"{building_blocks.PLACE}{text}\n")
    assert result == "".join(f'#include "opgen/{h}"\n' for h in CALLS[text]) + f"{text}\n"


def test_every_name_is_declared_in_one_header():
    places = collections.defaultdict(list)
    for header, names in building_blocks._declared().items():
        assert names or header == "math.h", header
        for name in names - {"AscendC"}:  # using AscendC::...
            places[name].append(header)
    assert {name: headers for name, headers in places.items() if len(headers) > 1} == {}


@pytest.mark.slow
@pytest.mark.parametrize("header", HEADERS)
def test_a_header_includes_what_it_needs(header, tmp_path):
    source = tmp_path / "alone.cpp"
    source.write_text(
        f'#include "opgen/{header}"\n'
        'extern "C" __global__ __aicore__ void alone(GM_ADDR workspace, GM_ADDR tiling) {}\n'
    )
    compile_kernel(source, include_dirs=[BLOCKS], opt="-O0", own=True)
