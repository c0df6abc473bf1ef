"""What generated sources hold: building blocks, the kernel's type, the conditions of variants."""

from __future__ import annotations

import collections
import re
from pathlib import Path

import pytest
import torch
from harness import BuiltOp, check, make_spec

from msopgen_wrap.build.emulation import compile_kernel
from msopgen_wrap.build.rewriting.source_text import blank_comments
from msopgen_wrap.families import plan_op
from msopgen_wrap.families.row.kernel import render_kernel
from msopgen_wrap.project.onnx_plugin import render_onnx_plugin
from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.render import files
from msopgen_wrap.render.call_reading import attr_test
from msopgen_wrap.render.files import include_blocks
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import find_specs, load_spec
from msopgen_wrap.spec.model import Attr, ShapeLike

# --------------------------------------------------------------------------------------------------
# Which C++ building blocks a project has: those that its kernels call, and what these include.

BLOCKS = data_dir("ascendc_kernels") / "include"
HEADERS = sorted(p.name for p in (BLOCKS / "opgen").glob("*.h"))
TILE = {"convert.h", "tile.h"}
OPERANDS = {*TILE, "operand.h"}
TILING = {"schedule.h", "sizes.h", "view.h", "tile_budget.h", "tiling_buffer.h"}
ELEMENTWISE = {*TILING, "iteration_space.h", "box_shape.h", "elementwise_tiling.h"}
# op: blocks of its kernel, blocks of its tiling function
PROJECTS = {
    ("elementwise/fused_add_relu",): (OPERANDS, ELEMENTWISE),
    ("activation/custom_gelu",): (
        {*OPERANDS, "float_tile.h"},
        ELEMENTWISE,
    ),
    ("norm/softmax",): (
        {
            *OPERANDS,
            *("core_wait.h", "float_tile.h", "row.h", "row_blocks.h", "row_cores.h", "row_join.h"),
            *("row_online.h", "row_operands.h"),
        },
        {*TILING, "iteration_space.h", "row_axes.h", "row_space.h"},
    ),
    ("foreach/foreach_addcdiv_scalar",): (
        OPERANDS,
        TILING,
    ),
    ("embedding/embedding_gather",): ({*TILE, "project.h"}, set()),
    ("activation/custom_gelu", "embedding/embedding_gather"): (
        {*OPERANDS, "float_tile.h", "project.h"},
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
    result = files.include_blocks(f"{files.PLACE}{text}\n")
    assert result == "".join(f'#include "opgen/{h}"\n' for h in CALLS[text]) + f"{text}\n"


def test_every_name_is_declared_in_one_header():
    places = collections.defaultdict(list)
    for header, names in files._declared().items():
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


# ---- A kernel that calls SyncAll declares a type with hardware synchronisation -------------------
# With ``KERNEL_TYPE_AIV_ONLY`` the device does not open the module that passes flags between cores:
# SyncAll hangs on the board although it works on a CPU.

TEMPLATES = sorted(data_dir("templates").glob("*/kernel.cpp.jinja"))
WRITTEN = sorted((data_dir("ascendc_kernels") / "ops").rglob("op_kernel/*.cpp"))
GOLDEN = sorted((Path(__file__).parent / "golden").rglob("op_kernel/*.cpp.golden"))
SPECS = find_specs([data_dir("op_specs")])

_DECLARED = re.compile(r"\bKERNEL_TASK_TYPE(?:_DEFAULT)?\s*\(([^)]*)\)")
_BRANCH = re.compile(r"\bTILING_KEY_IS\s*\(([^)]*)\)")
_EXTENDS = re.compile(r'{%-? extends "([^"]+)" -?%}')
_INCLUDE = re.compile(r'#\s*include\s+"(opgen/[\w./]+)"')
# Kinds without the module behind cross-core flags.
_PLAIN = ("KERNEL_TYPE_AIV_ONLY", "KERNEL_TYPE_AIC_ONLY")


def all_texts(source: str) -> list[str]:
    """Return the code of a kernel, then of the blocks it includes, comments blanked."""
    texts, pending, seen = [source], [source], set()
    while pending:
        for name in _INCLUDE.findall(pending.pop()):
            # opgen/project.h is made for each project and has macros only
            if name not in seen and (BLOCKS / name).is_file():
                seen.add(name)
                texts.append((BLOCKS / name).read_text(encoding="utf-8"))
                pending.append(texts[-1])
    return [blank_comments(t) for t in texts]


def template_text(path: Path) -> str:
    """Return a kernel template, behind the one it extends, with the includes that it needs."""
    text = path.read_text(encoding="utf-8")
    for extended in _EXTENDS.findall(text):
        text = (data_dir("templates") / extended).read_text(encoding="utf-8") + text
    return include_blocks(text)


def problem(source: str) -> str:
    """Return what is wrong with the declared kernel types, empty when they are right.

    A tiling key may have a type of its own; what is no branch of a key may run for all of them.
    """
    own_text, *blocks = all_texts(source)
    head, *branches = _BRANCH.split(own_text)
    common = "\n".join([head, *blocks])
    declared = [[p.strip() for p in d.split(",")] for d in _DECLARED.findall(common)]
    if not declared:
        return "no kernel type is declared"
    default = [d[0] for d in declared if len(d) == 1]
    own = {d[0]: [d[1]] for d in declared if len(d) == 2}
    parts = [(common, [d[-1] for d in declared])]
    parts += [(t, own.get(k, default)) for k, t in zip(branches[::2], branches[1::2], strict=True)]
    for text, kinds in parts:
        if re.search(r"\bSyncAll\s*[(<]", text) and any(kind in _PLAIN for kind in kinds):
            return f"SyncAll in a kernel that declares {kinds}"
    return ""


@pytest.mark.parametrize("path", [*TEMPLATES, *WRITTEN, *GOLDEN], ids=lambda p: p.name)
def test_sources(path):
    assert problem(template_text(path)) == ""


def test_the_check_sees_a_wrong_type():
    row = template_text(next(p for p in TEMPLATES if p.parent.name == "row"))
    assert "SyncAll in a kernel" in problem(row.replace("MIX_AIV_1_0", "AIV_ONLY"))
    product = template_text(next(p for p in TEMPLATES if p.parent.name == "contract"))
    assert "SyncAll in a kernel" in problem(product.replace("{{ c.task }}", "KERNEL_TYPE_AIV_ONLY"))
    assert "SyncAll in a kernel" in problem(product.replace("KERNEL_TASK_TYPE({{ c.key }}", "Key("))


@pytest.mark.slow
@pytest.mark.parametrize("style", ["8.1", "9.x"])
@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_library(path, style):
    for file in render_project([load_spec(path)], ProjectOptions(vendor="acme", style=style)):
        if re.fullmatch(r"op_kernel/[^/]+\.cpp", file.path):
            assert problem(file.text) == "", file.path


# ---- How TilingFunc tells variants apart: every attr type, every kind of allowed value -----------

CONDITIONS = [
    ("int", 3, "aValue == 3"),
    ("int", -1, "aValue == -1"),
    ("float", 0.5, "aValue == 0.5f"),
    ("float", 2, "aValue == 2.0f"),
    ("bool", True, "aValue"),
    ("bool", False, "!aValue"),
    ("str", "tanh", 'aValue == "tanh"'),
    ("dtype", "float16", "aValue == static_cast<int64_t>(ge::DT_FLOAT16)"),
    ("list_int", (), "aAttr->GetSize() == 0"),
    ("list_int", (0, -1), "aAttr->GetSize() == 2 && aValue[0] == 0 && aValue[1] == -1"),
    ("list_float", (1, 0.1), "aAttr->GetSize() == 2 && aValue[0] == 1.0f && "
     "aValue[1] == 0.1f"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "text"), CONDITIONS)
def test_conditions(kind, value, text):
    assert attr_test(Attr("a", kind, value), value) == text


def test_kernels_of_like_values_have_names_of_their_own():
    values = ((2.0, 0.1), (20.0, 0.1), (2.0, 1.0), (2.0, 10.0), (-2.0, 1.0))
    attr = Attr("w", "list_float", values[0], allowed=values)
    plan = plan_op(make_spec("x * w[0] + w[1]", attrs=(attr,)))
    names = [body.class_name for body in plan.bodies]
    assert len(set(names)) == len(values), names
    assert all(re.fullmatch(r"\w+", n) for n in names)


def test_variants_that_compute_alike_share_a_class():
    spec = load_spec(data_dir("op_specs") / "reduce/reduce_sum.yaml")
    (kernel,) = render_kernel(plan_op(spec), "8.1")
    assert kernel.text.count("\nclass Kernel {") == kernel.text.count("\nclass ") == 1
    assert "For float16, bfloat16, float32.\n" in kernel.text


@pytest.mark.slow
def test_lists_choose_the_kernel(tmp_path):
    # the attr is called like a variable of TilingFunc
    values = ((-1,), (0,), (0, 1))
    attr = Attr("axes", "list_int", (-1,), allowed=values)
    compute = "x * len(axes) + (1.0 if axes[0] == 0 else 2.0)"
    op = BuiltOp(make_spec(compute, attrs=(attr,), shapes={"z": ShapeLike("x")}), tmp_path)
    for value in values:
        outputs, golden, _ = op.run({"x": torch.rand(3, 70)}, {"axes": list(value)})
        check(outputs["z"], golden["z"])
