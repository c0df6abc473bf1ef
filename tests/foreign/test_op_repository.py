"""Ops of a repository in CANN 9's layout: base library headers, headers of neighbours, shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from repository_sources import FILES, PROJECT, SECOND

from msopgen_wrap.build.arch_conditions import text_for
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.kernel_text import declared_name, has_c_linkage
from msopgen_wrap.foreign.op_project import open_project
from msopgen_wrap.foreign.project_runner import ProjectRunner
from msopgen_wrap.foreign.repository_sources import (
    IncludeFinder,
    for_other_arch,
    registering_sources,
    repository_root,
)
from msopgen_wrap.run.op_abi import ShapeOnly
from msopgen_wrap.run.op_runtime import OpRuntimeError
from msopgen_wrap.run.tensors import Tensor, TensorSpec


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    return ProjectRunner(write(tmp_path_factory.mktemp("repository"), FILES) / PROJECT)


def tensor(values, dtype="float32"):
    return Tensor.from_float(np.asarray(values, np.float64), dtype)


def test_an_op_of_a_repository_runs(runner):
    x = tensor(np.arange(21).reshape(3, 7) / 4)
    bias = tensor(np.arange(7) / 8)
    done = runner.run("ShiftRows", {"x": x, "bias": bias})
    want = np.minimum(x.to_float() + bias.to_float(), 3.25)
    np.testing.assert_array_equal(done.outputs["y"].to_float(), want)
    assert done.result.findings == []
    again = runner.run("ShiftRows", {"x": x, "bias": bias})
    assert again.result.tiling_key == done.result.tiling_key + 1


def test_template_parameters_of_another_architecture_are_not_the_kernels(tmp_path):
    files = dict(FILES)
    files[f"{PROJECT}/op_kernel/arch35/shift_rows_struct.h"] = """
#include "ascendc/host_api/tiling/template_argument.h"
ASCENDC_TPL_ARGS_DECL(ShiftRows,
    ASCENDC_TPL_UINT_DECL(WIDE, ASCENDC_TPL_8_BW, ASCENDC_TPL_UI_RANGE, 1, 0, 255), );
ASCENDC_TPL_SEL(ASCENDC_TPL_ARGS_SEL(
    ASCENDC_TPL_UINT_SEL(WIDE, ASCENDC_TPL_UI_RANGE, 1, 0, 255), ), );
"""
    files[f"{PROJECT}/op_host/shift_rows_keys.cpp"] = (
        '#include "../op_kernel/arch35/shift_rows_struct.h"\n'
    )
    runner = ProjectRunner(write(tmp_path, files) / PROJECT)
    x = tensor(np.arange(21).reshape(3, 7) / 4)
    done = runner.run("ShiftRows", {"x": x, "bias": tensor(np.zeros(7))})
    assert runner.runtime.template("ShiftRows", done.result.tiling_key)
    np.testing.assert_array_equal(done.outputs["y"].to_float(), np.minimum(x.to_float(), 3.25))


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        (None, True),
        ("set(INC ${DIR}/common/inc/op_host)", True),
        (
            "set(INC ${DIR}/common/inc ${DIR}/common/inc/op_host/register)\n# /common/inc/op_host",
            False,
        ),
    ],
)
def test_shared_headers_are_found_as_the_build_files_say(tmp_path, flags, found):
    """The op base library has headers of the same names, which are meant otherwise."""
    files = {n: t.replace('#include "tiling_util.h"', "") for n, t in FILES.items()}
    if flags is not None:
        files["cmake/flags.cmake"] = flags
    project = open_project(write(tmp_path, files) / PROJECT)
    assert (tmp_path / "common" / "inc" / "op_host" in project.include_dirs) == found


def test_functions_that_a_neighbour_registers(tmp_path):
    runner = ProjectRunner(write(tmp_path, FILES) / SECOND)
    names = {p.name for p in runner.project.host_sources}
    assert names == {"shift_rows_v2_def.cpp", "shift_rows_tiling.cpp", "shift_rows_infershape.cpp"}
    x = tensor(np.arange(20).reshape(2, 10) / 8)
    done = runner.run("ShiftRowsV2", {"x": x, "bias": tensor(np.ones(10))})
    want = np.minimum(x.to_float() + 1, 3.25)
    np.testing.assert_array_equal(done.outputs["y"].to_float(), want)


def test_outputs_that_nobody_infers_have_to_be_given(runner):
    with pytest.raises(OpgenError, match="say nothing about its outputs"):
        runner.run("LeftAsMade", {"x": tensor([1])})


def test_a_function_for_another_name_is_pointed_out(runner):
    with pytest.raises(OpgenError) as caught:
        runner.run("NoTiling", {"x": tensor([1])})
    found = caught.value.diagnostics[0]
    assert found.code == "OPG522" and "IMPL_OP_OPTILING(NoTiling)" in found.fix
    assert "NoTilingCustom" in found.fix


def test_sources_for_another_architecture_are_left_out(runner):
    left_out = [p.name for p in runner.project.other_arch_sources]
    assert left_out == ["shift_rows_tiling_arch35.cpp", "shift_rows_graph_tiling.cpp"]
    with pytest.raises(OpgenError, match=r"TilingArch35.* is for another architecture"):
        runner.run("ShiftRows", {"x": tensor([1]), "bias": tensor([1])})


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ("op_host/arch35/k_tiling.cpp", True),
        ("op_host/k_tiling_arch35.cpp", True),
        ("op_kernel/arch31/k.h", True),
        ("op_host/arch22/k_tiling.cpp", False),
        ("op_host/arch32/k_tiling.cpp", False),
        ("op_kernel/k_apt.cpp", True),
        ("op_kernel/k.cpp", False),
    ],
)
def test_which_files_are_for_another_architecture(path, other):
    assert for_other_arch(Path(path)) == other


@pytest.mark.parametrize("suffix", ["cpp", pytest.param("cc", marks=pytest.mark.slow)])
def test_a_function_that_a_neighbour_defines(tmp_path, suffix):
    files = {n: t for n, t in FILES.items() if "arch35" not in n}
    files["norm/tall_rows/op_host/inner/tall.h"] = "#define TALL ge::GRAPH_FAILED\n"
    tiling = f"tall_rows_tiling.{suffix}"
    files[f"norm/tall_rows/op_host/{tiling}"] = """
#include "log/log.h"
#include "register/op_def_registry.h"
#include "tall.h"
namespace optiling {
ge::graphStatus TilingArch35(gert::TilingContext* context) {
    OP_LOGE(context->GetNodeName(), "tall rows only");
    return TALL;
}
}
"""
    caller = (
        "namespace optiling { int Other() { return TilingArch35(nullptr); } }\n#error a caller\n"
    )
    files["norm/tall_rows/op_host/caller.cpp"] = caller
    # The same name in another scope.
    other = "ge::graphStatus Tall::TilingArch35(gert::TilingContext*) { return 0; }\n#error Tall\n"
    files["norm/tall_rows/op_host/method.cpp"] = other
    tried = []
    runner = ProjectRunner(write(tmp_path, files) / PROJECT, progress=tried.append)
    assert [t for t in tried if "tall" in t] == [f"compiling {tiling} for its functions"]
    assert not any("caller" in t or "method" in t for t in tried)
    with pytest.raises(OpgenError, match="tall rows only"):
        runner.run("ShiftRows", {"x": tensor([1]), "bias": tensor([1])})


TILING_BEFORE_DEF = {
    "op_host/arch22/tiling.cpp": """
#include "log/log.h"
#include "register/op_def_registry.h"
static ge::graphStatus Tiling(gert::TilingContext* context) {
    OP_LOGE(context->GetNodeName(), "value %d", *context->GetInputTensor(1)->GetData<int32_t>());
    return ge::GRAPH_FAILED;
}
static ge::graphStatus Parse(gert::TilingParseContext*) { return ge::GRAPH_SUCCESS; }
struct Compiled {};
IMPL_OP_OPTILING(ReadValue).Tiling(Tiling).TilingParse<Compiled>(Parse).TilingInputsDataDependency({1});
""",
    "op_host/read_value_def.cpp": """
#include "register/op_def_registry.h"
namespace ops {
class ReadValue : public OpDef {
public:
    explicit ReadValue(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Input("n").ParamType(REQUIRED).DataType({ge::DT_INT32}).Format({ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(ReadValue);
}
""",
    "op_kernel/read_value.cpp": "",
}


def test_values_for_a_tiling_that_registers_before_the_op(tmp_path):
    for root in (tmp_path / "first", tmp_path / "again"):
        runner = ProjectRunner(write(root, TILING_BEFORE_DEF))
        inputs = {"x": tensor([1]), "n": Tensor("int32", np.array([7], np.int32))}
        with pytest.raises(OpgenError, match="value 7"):
            runner.run("ReadValue", inputs, outputs={"y": TensorSpec("float32", (1,))})


def test_sources_that_only_call_a_function_are_not_taken(tmp_path):
    files = {n: t for n, t in FILES.items() if "arch35" not in n}
    for name, body in {
        "caller.cpp": "int Other() { return TilingArch35(nullptr); }",
        "definition.cpp": "ge::graphStatus TilingArch35(gert::TilingContext* context)\n{\n"
        '    OP_LOGE(context->GetNodeName(), "defined here");\n    return ge::GRAPH_FAILED;\n}',
    }.items():
        files[f"{PROJECT}/op_host/arch35/{name}"] = (
            '#include "log/log.h"\n#include "register/op_def_registry.h"\n'
            f"namespace optiling {{\n{body}\n}}\n"
        )
    tried = []
    runner = ProjectRunner(write(tmp_path, files) / PROJECT, progress=tried.append)
    assert "compiling definition.cpp for its functions" in tried
    assert not any("caller" in t for t in tried)
    with pytest.raises(OpgenError, match="defined here"):
        runner.run("ShiftRows", {"x": tensor([1]), "bias": tensor([1])})


def test_a_stand_in_for_a_bool_function_returns_false(tmp_path):
    files = {n: t for n, t in FILES.items() if "arch35" not in n}
    files[f"{PROJECT}/op_host/closed.h"] = """
#pragma once
#include "register/op_def_registry.h"
namespace optiling {
bool FitsClosedRegbase(gert::TilingContext* context);
bool TilingPrepareForOpCache(gert::TilingContext* context);
}
"""
    files[f"{PROJECT}/op_host/closed_regbase.cpp"] = (
        '#include "no_such_header.h"\nFitsClosedRegbase();\n'
    )
    files[f"{PROJECT}/op_host/shift_rows_rest.cpp"] = """
#include "closed.h"
#include "log/log.h"
namespace optiling {
ge::graphStatus TilingArch35(gert::TilingContext* context) {
    if (!TilingPrepareForOpCache(context)) return ge::GRAPH_SUCCESS;
    if (FitsClosedRegbase(context)) return ge::GRAPH_SUCCESS;
    OP_LOGE(context->GetNodeName(), "does not fit");
    return ge::GRAPH_FAILED;
}
}
"""
    runner = ProjectRunner(write(tmp_path, files) / PROJECT)
    with pytest.raises(OpgenError, match="does not fit"):
        runner.run("ShiftRows", {"x": tensor([1]), "bias": tensor([1])})


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ('#include "nowhere_to_be_found.h"\n', "RowPlan.* is for another architecture"),
        ("", "planned by the neighbour"),
    ],
)
def test_a_virtual_class_that_a_neighbour_defines(tmp_path, body, match):
    """Its table of virtual functions is in the neighbour's source, which may not compile here."""
    files = {n: t for n, t in FILES.items() if "arch35" not in n}
    files["norm/tall_rows/op_host/row_plan_regbase.h"] = """
#pragma once
#include "register/op_def_registry.h"
namespace optiling {
class RowPlan {
public:
    virtual ~RowPlan() = default;
    virtual ge::graphStatus Make(gert::TilingContext* context);
};
}
"""
    files["norm/tall_rows/op_host/row_plan_regbase.cpp"] = (
        body
        + """
#include "log/log.h"
#include "row_plan_regbase.h"
namespace optiling {
ge::graphStatus RowPlan::Make(gert::TilingContext* context) {
    OP_LOGE(context->GetNodeName(), "planned by the neighbour");
    return ge::GRAPH_FAILED;
}
}
"""
    )
    files[f"{PROJECT}/op_host/shift_rows_plan.cpp"] = """
#include "../../tall_rows/op_host/row_plan_regbase.h"
namespace optiling {
ge::graphStatus TilingArch35(gert::TilingContext* context) {
    RowPlan plan;
    RowPlan* const made = context == nullptr ? nullptr : &plan;
    return made->Make(context);
}
}
"""
    runner = ProjectRunner(write(tmp_path, files) / PROJECT)
    with pytest.raises(OpgenError, match=match):
        runner.run("ShiftRows", {"x": tensor([1]), "bias": tensor([1])})


def test_a_class_that_derives_from_one_of_another_architecture(tmp_path):
    files = {n: t for n, t in FILES.items() if "arch35" not in n}
    files["norm/tall_rows/op_host/plan_regbase.h"] = """
#pragma once
#include "register/op_def_registry.h"
namespace optiling {
class Plan {
public:
    virtual ge::graphStatus Make(gert::TilingContext* context);
    virtual uint64_t Key() const { return 0; }
};
}
"""
    files["norm/tall_rows/op_host/plan_regbase.cpp"] = """
#include "nowhere_to_be_found.h"
#include "plan_regbase.h"
namespace optiling {
ge::graphStatus Plan::Make(gert::TilingContext*) { return ge::GRAPH_SUCCESS; }
}
"""
    files[f"{PROJECT}/op_host/shift_rows_plan.cpp"] = """
#include "log/log.h"
#include "../../tall_rows/op_host/plan_regbase.h"
namespace optiling {
struct Own : Plan {
    uint64_t Key() const override { return 5; }
};
ge::graphStatus TilingArch35(gert::TilingContext* context) {
    Own own;
    Plan* const plan = context == nullptr ? nullptr : &own;
    OP_LOGE(context->GetNodeName(), "key %d", static_cast<int>(plan->Key()));
    return ge::GRAPH_FAILED;
}
}
"""
    runner = ProjectRunner(write(tmp_path, files) / PROJECT)
    with pytest.raises(OpgenError, match="key 5"):
        runner.run("ShiftRows", {"x": tensor([1]), "bias": tensor([1])})


@pytest.mark.parametrize(
    "caller",
    [
        f"{PROJECT}/op_host/rest.cpp",
        pytest.param("norm/tall_rows/op_host/t.cpp", marks=pytest.mark.slow),
    ],
)
def test_a_function_of_cann_that_only_a_neighbour_calls(tmp_path, caller):
    """Its op may have that part of CANN; what the op itself calls has to be there."""
    files = {n: t for n, t in FILES.items() if "arch35" not in n}
    files[caller] = """
#include "register/op_def_registry.h"
namespace optiling {
bool ClosedTiling(gert::TilingContext* context);
ge::graphStatus TilingArch35(gert::TilingContext* context) {
    return ClosedTiling(context) ? ge::GRAPH_SUCCESS : ge::GRAPH_FAILED;
}
}
"""
    write(tmp_path, files)
    if caller.startswith(PROJECT):
        with pytest.raises(OpgenError) as caught:
            ProjectRunner(tmp_path / PROJECT)
        assert "ClosedTiling" in caught.value.diagnostics[0].why
    else:
        with pytest.raises(OpgenError, match=r"ClosedTiling.* is for .* a part of CANN"):
            runner = ProjectRunner(tmp_path / PROJECT)
            runner.run("ShiftRows", {"x": tensor([1]), "bias": tensor([1])})


def test_a_symbol_that_is_nowhere_is_an_error(tmp_path):
    files = {n: t for n, t in FILES.items() if "arch35" not in n}
    with pytest.raises(OpgenError) as caught:
        ProjectRunner(write(tmp_path, files) / PROJECT)
    found = caught.value.diagnostics[0]
    assert found.code == "OPG514" and "TilingArch35" in found.what + found.why


@pytest.mark.parametrize(
    ("x", "bias", "want"),
    [
        ((3, 7), (7,), (3, 7)),
        ((7,), (3, 1), (3, 7)),
        ((), (2,), (2,)),
        ((-1, 7), (4, 1), (4, 7)),
        ((-1,), (1,), (-1,)),
        ((1,), (-1,), (-1,)),
        ((-2,), (5,), (-2,)),
        ((3, 7), (6,), "[3, 7] and [6] cannot be broadcast"),
    ],
)
def test_broadcast_shapes(runner, x, bias, want):
    inputs = [ShapeOnly("float32", x), ShapeOnly("float32", bias)]
    if isinstance(want, str):
        with pytest.raises(OpRuntimeError) as caught:
            runner.runtime.infer_shapes("ShiftRows", inputs)
        assert want in str(caught.value)
    else:
        assert runner.runtime.infer_shapes("ShiftRows", inputs) == [want]


@pytest.mark.parametrize(
    ("axes", "keep", "want"),
    [
        ([1], False, (2, 4)),
        ([-1, 0], False, (3,)),
        ([-1, 0], True, (1, 3, 1)),
        ([], False, ()),
        ([], True, (1, 1, 1)),
        ([3], False, "axis 3 is outside [-3, 2]"),
    ],
)
def test_reduced_shapes(runner, axes, keep, want):
    inputs = [ShapeOnly("float32", (2, 3, 4)), np.asarray(axes, np.int64)]
    if isinstance(want, str):
        with pytest.raises(OpRuntimeError) as caught:
            runner.runtime.infer_shapes("KeepReduced", inputs, {"keep_dims": keep})
        assert want in str(caught.value)
    else:
        got = runner.runtime.infer_shapes("KeepReduced", inputs, {"keep_dims": keep})
        assert got == [want]


def test_unknown_axes_leave_the_dimensions_open(runner):
    inputs = [ShapeOnly("float32", (2, 3, 4)), ShapeOnly("int64", (1,))]
    infer = runner.runtime.infer_shapes
    assert infer("KeepReduced", inputs, {"keep_dims": False}) == [(-1, -1)]
    assert infer("KeepReduced", inputs, {"keep_dims": True}) == [(-1, -1, -1)]


def test_values_and_element_wise_shapes(runner):
    infer = runner.runtime.infer_shapes
    assert infer("LikeFirst", [ShapeOnly("float32", (2, -1))]) == [(2, -1)]
    assert infer("FillShape", [np.asarray([5, 6], np.int32)]) == [(5, 6)]
    assert infer("FillShape", [ShapeOnly("int32", (2,))]) == [(-2,)]
    with pytest.raises(OpRuntimeError, match="value of dims is -4: it is negative"):
        infer("FillShape", [np.asarray([-4], np.int32)])


def test_a_missing_header_is_named_with_what_to_do(tmp_path):
    files = dict(FILES)
    files[f"{PROJECT}/op_host/shift_rows_tiling.cpp"] = '#include "elsewhere/limits_of_x.h"\n'
    with pytest.raises(OpgenError) as caught:
        ProjectRunner(write(tmp_path, files) / PROJECT)
    found = caught.value.diagnostics[0]
    assert found.code == "OPG514" and "elsewhere/limits_of_x.h" in found.what
    assert "-I" in found.fix and str(tmp_path) in found.why


def test_the_nearest_of_several_headers_is_taken(tmp_path):
    write(
        tmp_path,
        {
            "build.sh": "",
            "a/op/op_host/x.cpp": '#include "util.h"\n#include "deep/only.h"\n#include <vector>\n',
            "a/shared/util.h": '#include "next.h"\n',
            "a/shared/arch35/util.h": "",
            "b/util.h": "",
            "b/next.h": "",
            "tests/deep/only.h": "",
            "c/inc/deep/only.h": "",
        },
    )
    op = tmp_path / "a" / "op"
    assert repository_root(op) == tmp_path
    finder = IncludeFinder(tmp_path, [op / "op_host"])
    assert set(finder.folders([op / "op_host" / "x.cpp"])) == {
        tmp_path / "a" / "shared",
        tmp_path / "b",
        tmp_path / "c" / "inc",
    }


@pytest.mark.parametrize(
    ("headers", "want"),
    [
        (["ASCENDC_TPL_ARGS_DECL(PickOne, X)"], "PickOne"),
        (["// ASCENDC_TPL_ARGS_DECL(Other, X)\nASCENDC_TPL_ARGS_DECL( pick_one,\n X)"], "pick_one"),
        (["ASCENDC_TPL_ARGS_DECL(CopiedFrom, X)"], "CopiedFrom"),
        (["ASCENDC_TPL_ARGS_DECL(A, X)", "ASCENDC_TPL_ARGS_DECL(pickOne, X)"], "pickOne"),
        (["ASCENDC_TPL_ARGS_DECL(A, X)", "ASCENDC_TPL_ARGS_DECL(B, X)"], "PickOne"),
        ([], "PickOne"),
    ],
)
def test_template_parameters_are_found_under_any_name(tmp_path, headers, want):
    write(tmp_path, {f"{i}.h": text for i, text in enumerate(headers)})
    assert declared_name(tmp_path, "PickOne") == want


def test_sources_that_belong_to_headers(tmp_path):
    """With every ending that op_host sources may have; in ``src`` for a header in ``inc``."""
    files = ["one/op_host/a.h", "one/op_host/a.cc", "common/inc/b.h", "common/src/b.cxx"]
    write(
        tmp_path,
        {name: "" for name in files}
        | {"two/op_host/x.cpp": '#include "../../one/op_host/a.h"\n#include "b.h"\n'},
    )
    finder = IncludeFinder(tmp_path, [tmp_path / "common/inc"])
    finder.folders([tmp_path / "two/op_host/x.cpp"])
    assert [p.relative_to(tmp_path).as_posix() for p in finder.companions()] == [
        "common/src/b.cxx",
        "one/op_host/a.cc",
    ]


def test_a_header_further_up_than_anything_lies_deep(tmp_path):
    """The build copies the kernel deeper into its tree, from where the path leads to the header."""
    name = "../../../../shared/tools.h"
    write(tmp_path, {"src/shared/tools.h": "", "src/one/op_kernel/one.cpp": f'#include "{name}"\n'})
    finder = IncludeFinder(tmp_path, [])
    folders = finder.folders([tmp_path / "src/one/op_kernel/one.cpp"])
    assert any((folder / name).is_file() for folder in folders)


def test_template_parameters_that_a_neighbour_declares(tmp_path):
    declaration = "ASCENDC_TPL_ARGS_DECL(pick_one, ASCENDC_TPL_BOOL_DECL(A, 0, 1));\n"
    write(
        tmp_path,
        {
            "two/op_kernel/pick_two.cpp": '#include "../../one/op_kernel/one.h"\n',
            "one/op_kernel/one.h": '#include "keys.h"\n#include "no_such.h"\n',
            "one/op_kernel/keys.h": declaration,
        },
    )
    assert declared_name(tmp_path / "two" / "op_kernel", "PickTwo") == "pick_one"
    # As in an installed kernel tree, which the build lays out in a folder of its own.
    write(
        tmp_path,
        {
            "three/op_kernel/pick_three.cpp": '#include "../one/keys.h"\n',
            "tree/one/keys.h": declaration,
            "tree/_/empty.h": "",
        },
    )
    three = tmp_path / "three" / "op_kernel"
    assert declared_name(three, "PickThree", [tmp_path / "tree" / "_"]) == "pick_one"
    assert declared_name(three, "PickThree") == "PickThree"


def test_template_parameters_that_only_another_architecture_declares_here(tmp_path):
    own = "ASCENDC_TPL_ARGS_DECL(PickFour, ASCENDC_TPL_BOOL_DECL(B, 0, 1));\n"
    write(
        tmp_path,
        {
            "four/op_kernel/pick_four.cpp": '#include "../../one/op_kernel/keys.h"\n',
            "four/op_kernel/arch35/pick_four.cpp": '#include "four_keys.h"\n',
            "four/op_kernel/arch35/four_keys.h": own,
            "one/op_kernel/keys.h": "ASCENDC_TPL_ARGS_DECL(PickOne, A);\n",
        },
    )
    assert declared_name(tmp_path / "four" / "op_kernel", "PickFour") == "PickOne"
    (tmp_path / "one" / "op_kernel" / "keys.h").write_text("")
    assert declared_name(tmp_path / "four" / "op_kernel", "PickFour") == "PickFour"


@pytest.mark.parametrize(
    ("text", "linkage"),
    [
        ('extern "C" __global__ __aicore__ void k(GM_ADDR x) {}', True),
        ('extern "C" {\n__global__ __aicore__ void k(GM_ADDR x) {}\n}', True),
        ("__global__ __aicore__ void k(GM_ADDR x) {}", False),
        ('extern "C" void other();\n__global__ __aicore__ void k(GM_ADDR x) {}', False),
        ('// extern "C" void k(\n__global__ __aicore__ void k(GM_ADDR x) {}', False),
        ('void k(int);\nextern "C" __global__ __aicore__ void k(GM_ADDR x) {}', True),
    ],
)
def test_linkage_of_an_entry(text, linkage):
    assert has_c_linkage(text_for(text, 2201), "k") == linkage


ENTRIES = """
#if {condition}
template <int mode> __global__ __aicore__ void k(GM_ADDR x) {{}}
#else  // extern "C"
extern "C" __global__ __aicore__ void k(GM_ADDR x) {{}}
#endif
"""


@pytest.mark.parametrize(
    ("condition", "template", "plain"),
    [
        ("defined(__CCE_AICORE__) && __CCE_AICORE__ == 310", False, True),
        ("defined(__CCE_AICORE__) && \\\n    __CCE_AICORE__ == 220", True, False),
        ("!(__NPU_ARCH__ == 3510 || defined(__DAV_C310__))", True, False),
        ("defined(ANY) && __NPU_ARCH__ == 3510", False, True),
        ("defined(ANY)", True, True),
        ("WIDTH > 3", True, True),
    ],
)
def test_text_of_one_architecture(condition, template, plain):
    text = ENTRIES.format(condition=condition)
    result = text_for(text, 2201)
    assert ("template" in result, 'extern "C"' in result) == (template, plain)
    assert result.count("\n") == text.count("\n")


def test_text_of_one_architecture_between_branches():
    text = (
        "#ifdef __DAV_C220__\na\n#elif X\nb\n#else\nc\n#endif\n#ifndef __NPU_ARCH__\nd\n#endif\ne\n"
    )
    words = [w for w in text_for(text, 2201).split("\n") if w and "#" not in w]
    assert words == ["a", "e"]


def test_kernels_find_each_other_as_installed(tmp_path):
    write(
        tmp_path,
        {
            "build.sh": "",
            "a/one/op_kernel/one.cpp": '#include "../two/two.h"\n#include "../beside/three.h"\n'
            '#include "arch22/deep.h"\n',
            "a/one/op_kernel/arch22/deep.h": '#include "../../five/five.h"\n',
            "b/five/op_kernel/five.h": "",
            "b/two/op_kernel/two.h": '#include "../inc/four.h"\n',
            "a/lib/beside/three.h": "",
            "common/inc/op_kernel/four.h": "",
        },
    )
    source = tmp_path / "a" / "one" / "op_kernel" / "one.cpp"
    folders = IncludeFinder(tmp_path, []).folders([source])
    for name in ("../two/two.h", "../inc/four.h", "../beside/three.h", "../../five/five.h"):
        assert any((folder / name).is_file() for folder in folders), name


def test_each_side_has_its_own_header_of_one_name(tmp_path):
    op = "shift"
    files = {
        ".git/HEAD": "",
        "common/op_host/common.h": "",
        "common/op_kernel/common.h": "",
        f"{op}/op_host/shift.cpp": '#include "common.h"\n',
        f"{op}/op_kernel/shift.cpp": '#include "common.h"\n'
        'extern "C" __global__ __aicore__ void shift(GM_ADDR x) {}\n',
        f"{op}/op_kernel/arch35/shift.cpp": '#include "micro.h"\n'
        'extern "C" __global__ __aicore__ void shift(GM_ADDR x) {}\n',
    }
    project = open_project(write(tmp_path, files) / op)

    def first(folders):
        return next(d for d in folders if (d / "common.h").is_file())

    assert first(project.include_dirs) == tmp_path / "common" / "op_host"
    assert first(project.kernel_include_dirs) == tmp_path / "common" / "op_kernel"
    assert project.kernel("Shift").path == tmp_path / op / "op_kernel" / "shift.cpp"


@pytest.mark.parametrize("declares", ["OP_ADD(AbsRows);", "DECLARE_ROWS(Abs)"])
def test_functions_that_are_registered_in_a_common_folder(tmp_path, declares):
    """Of an op that a macro declares nothing but the folder tells the name."""
    own = tmp_path / "rows/abs_rows/op_host/abs_rows.cpp"
    write(
        tmp_path,
        {
            "build.sh": "",
            "rows/abs_rows/op_host/abs_rows.cpp": declares,
            "common/src/rows/tiling.cc": "IMPL_OP_OPTILING(AbsRows).Tiling(TilingRows);",
            "common/src/rows/others.cpp": "IMPL_OP_OPTILING(AbsRowsOther);",
            "common/inc/tiling.h": "IMPL_OP_OPTILING(AbsRows)",
        },
    )
    found = registering_sources(tmp_path / "rows/abs_rows", {own: declares})
    assert found == [tmp_path / "common/src/rows/tiling.cc"]
    complete = "AICore().SetTiling(F); SetInferShape(S);"
    assert registering_sources(tmp_path / "rows/abs_rows", {own: complete}) == []
