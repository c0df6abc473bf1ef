"""Automatic synchronisation as a project's build files choose it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from msopgen_wrap.foreign.compile_options import read_options
from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program
from msopgen_wrap.run.run_environment import check_options

MINE = "add_ops_compile_options(OP_NAME MyOp OPTIONS --cce-auto-sync=off -Wall)"


@pytest.mark.parametrize(
    ("file", "text", "off"),
    [
        ("CMakeLists.txt", "project(x)", False),
        ("op_host/CMakeLists.txt", MINE, True),
        ("op_host/CMakeLists.txt", MINE.replace("MyOp", "Other"), False),
        ("op_host/CMakeLists.txt", "# " + MINE, False),
        ("op_host/CMakeLists.txt", MINE.replace("=off", "=on"), False),
        ("op_host/CMakeLists.txt", MINE.replace("=off", ""), False),
        ("op_kernel/CMakeLists.txt", MINE.replace("OP_NAME MyOp", "ALL"), True),
        ("op_kernel/CMakeLists.txt", MINE.replace("OP_NAME MyOp", "MyOp"), True),
        ("op_kernel/CMakeLists.txt", MINE.replace(" OPTIONS", "\n    OPTIONS\n   -g"), True),
        (
            "CMakeLists.txt",
            "target_compile_options(demo PRIVATE\n"
            "    $<$<COMPILE_LANGUAGE:ASC>:--npu-arch=dav-2201 --cce-auto-sync=off>)",
            True,
        ),
        ("cmake/CMakeLists.txt", MINE, False),
        ("CMakeLists.txt", MINE.replace("MyOp ", "MyOp COMPUTE_UNIT Ascend910B3 "), True),
        ("CMakeLists.txt", MINE.replace("MyOp ", "MyOp COMPUTE_UNIT Ascend950PR_9599 "), False),
        ("CMakeLists.txt", 'npu_op_kernel_options("" ALL OPTIONS --cce-auto-sync=off)', True),
        ("CMakeLists.txt", "npu_op_kernel_options(k Other OPTIONS --cce-auto-sync=off)", False),
        ("op_kernel/CMakeLists.txt", "add_kernel_sources(AUTO_SYNC false)", True),
        (
            "op_host/CMakeLists.txt",
            f'if(CMAKE_BUILD_TYPE STREQUAL "Debug")\n{MINE}\nendif()',
            False,
        ),
        (
            "op_host/CMakeLists.txt",
            f'if(ASCEND_COMPUTE_UNIT MATCHES "310p")\n{MINE}\nendif()',
            False,
        ),
        ("op_host/CMakeLists.txt", f"if(NOT SOMETHING)\n{MINE}\nendif()", True),
        ("op_kernel/CMakeLists.txt", "add_kernel_sources(KERNEL_SRC my_op.cpp)", False),
        (
            "op_kernel/CMakeLists.txt",
            "add_kernel_sources(COMPUTE_UNITS ascend910_93 ascend910b AUTO_SYNC false)",
            True,
        ),
        (
            "op_kernel/CMakeLists.txt",
            "add_kernel_sources(KERNEL_SRC a.cpp COMPUTE_UNITS ascend950 AUTO_SYNC false)",
            False,
        ),
    ],
)
def test_build_files(tmp_path: Path, file: str, text: str, off: bool) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    assert read_options(tmp_path, "MyOp", "ascend910b").auto_sync is not off


BRANCHED = """
set(EXTRA -DFROM_SET=1)
if(ASCEND_COMPUTE_UNIT STREQUAL "ascend310p")
  add_ops_compile_options(ALL OPTIONS -DSMALL=1)
elseif("${SOC_VERSION}" MATCHES "^Ascend910B")
  add_ops_compile_options(ALL OPTIONS -DLARGE=1 ${EXTRA})
else()
  add_ops_compile_options(ALL OPTIONS -DOTHER=1)
endif()
if(WITH_ASSERTS AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  add_ops_compile_options(ALL OPTIONS -DASSERTS=1)
endif()
if(OF_THE_USER)
  add_ops_compile_options(ALL OPTIONS -DPERHAPS=1)
endif()
if(FROM_ABOVE)
  add_ops_compile_options(ALL OPTIONS -DABOVE=1)
endif()
"""


@pytest.mark.parametrize(
    ("family", "defines"),
    [
        ("ascend910b", ["LARGE=1", "FROM_SET=1", "PERHAPS=1", "ABOVE=1"]),
        ("ascend310p", ["SMALL=1", "PERHAPS=1", "ABOVE=1"]),
    ],
)
def test_macros_of_branches_that_are_not_taken_stay_out(
    tmp_path: Path, family: str, defines: list[str]
) -> None:
    root = tmp_path / "repository/op"
    (root / "op_kernel").mkdir(parents=True)
    top = "project(x)\noption(FROM_ABOVE doc ON)\nadd_subdirectory(op)\n"
    (root.parent / "CMakeLists.txt").write_text(top, encoding="utf-8")
    (root / "CMakeLists.txt").write_text("add_subdirectory(op_kernel)\n", encoding="utf-8")
    build = root / "op_kernel/CMakeLists.txt"
    build.write_text(BRANCHED, encoding="utf-8")
    found = read_options(root, "MyOp", family)
    assert found.defines == defines
    line = BRANCHED.split("\n").index("  add_ops_compile_options(ALL OPTIONS -DPERHAPS=1)") + 1
    assert found.assumed == [f"{build}:{line}"]


def test_of_two_calls_the_last_wins(tmp_path: Path) -> None:
    text = MINE + "\n" + MINE.replace("=off", "=on")
    (tmp_path / "CMakeLists.txt").write_text(text, encoding="utf-8")
    assert read_options(tmp_path, "MyOp").auto_sync


@pytest.mark.parametrize(
    ("entry", "off"),
    [
        ({"auto_sync": False}, True),
        ({"auto_sync": {"ascend910b": False, "ascend310p": True}}, True),
        ({"auto_sync": {"ascend910b": True, "ascend310p": False}}, False),
        ({"auto_sync": False, "compute_units": ["ascend950"]}, False),
        ({"compile_options": {"ascend910b": ["--cce-auto-sync=off"]}}, True),
        ({"auto_sync": False, "name": "Other"}, False),
        ({}, False),
    ],
)
def test_a_repository_lists_the_options_of_its_ops(
    tmp_path: Path, entry: dict[str, object], off: bool
) -> None:
    config = tmp_path / "scripts/kernel/binary_config/ascendc_config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps([{"name": "MyOp", **entry}]), encoding="utf-8")
    project = tmp_path / "math/my_op"
    project.mkdir(parents=True)
    assert read_options(project, "MyOp", "ascend910b").auto_sync is not off


def test_macros_header_folders_and_source(tmp_path: Path) -> None:
    project = tmp_path / "math/my_op"
    for folder in (project / "op_host", tmp_path / "shared", tmp_path / "math"):
        folder.mkdir(parents=True, exist_ok=True)
    for folder in (tmp_path, tmp_path / "math", project):
        (folder / "CMakeLists.txt").write_text("", encoding="utf-8")
    (project / "op_host/CMakeLists.txt").write_text(
        "add_ops_compile_options(ALL OPTIONS -DTILE=64 -g -DX=${UNKNOWN}\n"
        "    -I${CMAKE_CURRENT_SOURCE_DIR} -I${CMAKE_SOURCE_DIR}/shared -Inot_there)\n"
        "add_ops_compile_options(OP_NAME MyOp COMPUTE_UNIT Ascend310P3 OPTIONS -DOLD)\n"
        "add_kernel_sources(KERNEL_SRC arch22/my_op_22.cpp\n"
        "    COMPUTE_UNITS ascend910b OPTIONS -DFAST)\n"
        "add_kernel_sources(KERNEL_SRC my_op_35.cpp COMPUTE_UNITS ascend950)\n",
        encoding="utf-8",
    )
    options = read_options(project, "MyOp", "ascend910b")
    assert options.defines == ["TILE=64", "FAST"]
    assert options.kernel == "my_op_22"
    assert options.include_dirs == [project / "op_host", tmp_path / "shared"]


@pytest.mark.parametrize(
    ("given", "off", "want"),
    [
        ("", True, "auto-sync=project"),
        ("", False, None),
        ("uninit=off", True, "uninit=off,auto-sync=project"),
        ("auto-sync=on", True, None),
        ("uninit=off, auto-sync=on", True, None),
    ],
)
def test_the_users_choice_wins(
    monkeypatch: pytest.MonkeyPatch, given: str, off: bool, want: str | None
) -> None:
    monkeypatch.setenv("OPGEN_CHECK", given)
    assert check_options(off) == want


PROGRAM = """
#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;
__global__ __aicore__ void twice(GM_ADDR z)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 256);
    auto t = buf.Get<float>();
    Duplicate(t, 1.0f, 64);
    Muls(t, t, 2.0f, 64);
    t.SetValue(0, t.GetValue(1));
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    GlobalTensor<float> g;
    g.SetGlobalBuffer((__gm__ float*)z);
    DataCopy(g, t, 64);
}
int main()
{
    void* z = nullptr;
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtMalloc(&z, 256, ACL_MEM_MALLOC_HUGE_FIRST);
    twice<<<1, nullptr, nullptr>>>((uint8_t*)z);
    aclrtSynchronizeDevice();
    return 0;
}
"""


@pytest.mark.parametrize("off", [False, True])
def test_check_mode_demands_barriers_where_the_compiler_adds_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: bool
) -> None:
    monkeypatch.delenv("OPGEN_CHECK", raising=False)
    source = tmp_path / "twice.asc"
    source.write_text(PROGRAM, encoding="utf-8")
    if off:
        text = "target_compile_options(twice PRIVATE --cce-auto-sync=off)\n"
        (tmp_path / "CMakeLists.txt").write_text(text, encoding="utf-8")
    result = run_program(source, [], ProgramOptions(timeout=600), cwd=tmp_path)
    assert result.reported, result.output
    found = {(f["check"], f["severity"]) for f in result.findings}
    assert (("ErrorSync2", "warning") in found) is off, result.findings
    assert not result.errors, result.findings
