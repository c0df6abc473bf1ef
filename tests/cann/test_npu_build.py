"""``opgen build --target npu``: what is written, what is said to be missing, what fails how."""

from __future__ import annotations

import json
import subprocess

import pytest

from msopgen_wrap.cann.npu_build import (
    build_failure,
    build_npu_package,
    cannot_build,
    missing_for_build,
    prepare_npu_project,
)
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.manifest import ProjectTree
from msopgen_wrap.project.cann_project import STYLES, CannOptions, render_cann_project

from .conftest import make_spec, write_tree


@pytest.fixture
def project(tmp_path):
    """Return ``make(style) -> ProjectTree`` on disk."""

    def make(style="8.1"):
        root = tmp_path / f"project_{style}"
        spec = make_spec()
        files = render_cann_project([spec], CannOptions("acme", style))
        write_tree(root, {"opgen.json": "{}\n", "torch_ext/acme/__init__.py": "# stays\n"})
        for file in files:
            write_tree(root, {file.path: ""})
            (root / file.path).write_text(file.text)
        write_tree(root, {"op_host/sample_add.cpp": "// mine, edited\n"})
        return ProjectTree(root, "acme", style, (), (spec,))

    return make


def test_without_cann_the_tree_is_ready_to_be_copied(project, tmp_path):
    tree = project()
    out = tmp_path / "npu"
    assert prepare_npu_project(tree, None, out) is False
    assert (out / "op_host/sample_add.cpp").read_text() == "// mine, edited\n"
    assert (out / "build.sh").stat().st_mode & 0o111
    assert not (out / "torch_ext").exists()
    diagnostic = cannot_build(tree, None, out).diagnostics[0]
    assert diagnostic.code == "OPG620"
    assert "CANN toolkit" in diagnostic.what
    assert str(out) in diagnostic.fix and "./build.sh" in diagnostic.fix


def test_with_msopgen_it_makes_the_tree(project, cann, tmp_path):
    (cann.root / "tools/op_project_templates/ascendc/customize").mkdir(parents=True)
    from msopgen_wrap.cann_discovery import find_cann

    tree = find_cann(cann.root)
    out = tmp_path / "npu"
    assert prepare_npu_project(project(), tree, out) is True
    assert (out / "op_host/CMakeLists.txt").read_text() == "# msopgen\n"
    assert (out / "op_host/sample_add.cpp").read_text() == "// mine, edited\n"
    missing = missing_for_build(tree)
    assert any("bisheng" in m for m in missing) and any("opbuild" in m for m in missing)


def test_style_must_fit_the_cann(project, cann, tmp_path):
    with pytest.raises(OpgenError) as caught:
        prepare_npu_project(project("9.x"), cann, tmp_path / "npu")
    assert caught.value.diagnostics[0].code == "OPG621"
    assert "--style 8.1" in caught.value.diagnostics[0].fix


def fake_build(folder, body):
    (folder / "build.sh").write_text(f"#!/bin/bash\nmkdir -p build_out\n{body}\n")


@pytest.mark.parametrize(
    ("body", "code", "message", "line"),
    [
        (
            "printf 'warning: x\\nop.cpp:3:1: error: true one\\nop.cpp:9:1: error: later\\n"
            "make: *** Error 1\\n' > build_out/build.log; exit 2",
            "OPG622",
            "op.cpp:3:1: error: true one",
            2,
        ),
        (
            "printf -- '-- ok\\nCMake Error at op_host:7:\\n  opbuild run failed!\\n' "
            "> build_out/build.log; exit 1",
            "OPG622",
            "opbuild run failed!",
            2,
        ),
        ("echo 'no CANN: source it' >&2; exit 3", "OPG622", "no CANN: source it", 0),
        ("true", "OPG623", "made no .run", 0),
    ],
)
def test_build_failures_show_the_first_true_error(
    project, cann, tmp_path, body, code, message, line
):
    folder = tmp_path / "npu"
    folder.mkdir()
    fake_build(folder, body)
    with pytest.raises(OpgenError) as caught:
        build_npu_package(project(), cann, folder)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert message in diagnostic.what
    assert diagnostic.location.line == line


def test_build_returns_the_package(project, cann, tmp_path):
    folder = tmp_path / "npu"
    folder.mkdir()
    fake_build(folder, 'echo "$ASCEND_HOME_PATH" > build_out/custom_opp_x.run')
    run = build_npu_package(project(), cann, folder)
    assert run.read_text().strip() == str(cann.root)


def test_failure_without_a_log(tmp_path):
    assert build_failure(tmp_path / "none", "a\nlast words\n").what == "last words"


# ---- the generated shell and CMake files ---------------------------------------------------------


@pytest.mark.parametrize("style", STYLES)
def test_build_sh_says_that_cann_is_missing(project, style):
    root = project(style).root
    done = subprocess.run(
        ["bash", str(root / "build.sh")],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "set_env.sh" in done.stderr


# Stand-ins for the functions CANN's template defines; they record how they are called.
FUNC = """
function(get_system_info out)
  set(${out} test_${CMAKE_SYSTEM_PROCESSOR} PARENT_SCOPE)
endfunction()
function(opbuild)
  cmake_parse_arguments(O "" "OUT_DIR" "OPS_SRC" ${ARGN})
  file(MAKE_DIRECTORY ${O_OUT_DIR})
  file(WRITE ${O_OUT_DIR}/op_proto.cc "")
  file(WRITE ${O_OUT_DIR}/op_proto.h "")
  file(WRITE ${O_OUT_DIR}/aclnn_x.cpp "")
  file(WRITE ${O_OUT_DIR}/aclnn_x.h "")
endfunction()
function(add_kernels_compile)
  add_custom_target(binary)
  file(WRITE ${CMAKE_BINARY_DIR}/units.txt "${ASCEND_COMPUTE_UNIT} ${vendor_name}")
endfunction()
"""
CONFIG = """
set(ASCEND_AUTOGEN_PATH ${CMAKE_BINARY_DIR}/autogen)
file(MAKE_DIRECTORY ${ASCEND_AUTOGEN_PATH})
"""
# Stubs of CANN's libraries, so that the targets link.
INTF = """
add_library(intf_pub INTERFACE)
foreach(lib exe_graph register tiling_api rt2_registry ascendcl nnopbase graph)
  file(WRITE ${CMAKE_BINARY_DIR}/stub.cpp "")
  add_library(${lib} STATIC ${CMAKE_BINARY_DIR}/stub.cpp)
endforeach()
"""
MAKESELF = """
file(GLOB_RECURSE staged RELATIVE ${CPACK_TEMPORARY_DIRECTORY} ${CPACK_TEMPORARY_DIRECTORY}/*)
string(REPLACE ";" "\\n" staged "${staged}")
file(WRITE ${CPACK_TEMPORARY_DIRECTORY}/${CPACK_PACKAGE_FILE_NAME} "${staged}\\n")
"""


def test_our_8_1_project_configures_builds_and_packs(project, cann):
    """With CANN's functions stubbed: our CMake logic, install rules and packing are exercised."""
    template = "tools/op_project_templates/ascendc/customize/cmake"
    write_tree(
        cann.root,
        {
            f"{template}/func.cmake": FUNC,
            f"{template}/config.cmake": CONFIG,
            f"{template}/intf.cmake": INTF,
            f"{template}/makeself.cmake": MAKESELF,
        },
    )
    root = project().root
    for path in root.glob("framework/*_plugin/*.cpp"):
        path.write_text("")
    done = subprocess.run(
        ["bash", str(root / "build.sh")],
        env={"PATH": "/usr/bin:/bin", "ASCEND_HOME_PATH": str(cann.root)},
        capture_output=True,
        text=True,
        check=False,
    )
    log = (root / "build_out/build.log").read_text()
    assert done.returncode == 0, done.stderr + log[-3000:]
    assert (root / "build_out/units.txt").read_text() == "ascend910b;ascend910_93 acme"
    (run,) = (root / "build_out").glob("custom_opp_*.run")
    packed = run.read_text().splitlines()
    vendor = "packages/vendors/acme"
    for name in (
        "install.sh",
        "help.info",
        f"{vendor}/version.info",
        f"{vendor}/op_api/lib/libcust_opapi.so",
        f"{vendor}/op_api/include/aclnn_x.h",
        f"{vendor}/op_proto/inc/op_proto.h",
        f"{vendor}/framework/onnx/libcust_onnx_parsers.so",
        f"{vendor}/framework/tensorflow/libcust_tf_parsers.so",
        f"{vendor}/op_impl/ai_core/tbe/op_tiling/liboptiling.so",
    ):
        assert name in packed, packed
    info = (root / "build_out/version.info").read_text()
    assert "custom_opp_compiler_version=7.7.0.1.238" in info
    assert "cann_version=8.1.RC1" in info
    assert "opgen_version=" in info


def test_manifest_errors(tmp_path):
    from msopgen_wrap.manifest import read_project

    for text in (
        None,
        "{",
        "[]",
        '{"vendor": "x"}',
        json.dumps({"vendor": "x", "format": 1, "specs": 3}),
    ):
        if text is not None:
            (tmp_path / "opgen.json").write_text(text)
        with pytest.raises(OpgenError) as caught:
            read_project(tmp_path)
        code = "OPG650" if text is None else "OPG091"
        assert caught.value.diagnostics[0].code == code
