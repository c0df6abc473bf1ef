"""Automatic synchronisation as a project's build files choose it."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.run.compile_options import auto_sync_off, check_options
from msopgen_wrap.run.program_runner import ProgramOptions, run_program

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
    ],
)
def test_build_files(tmp_path: Path, file: str, text: str, off: bool) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    assert auto_sync_off(tmp_path, "MyOp") is off


def test_of_two_calls_the_last_wins(tmp_path: Path) -> None:
    text = MINE + "\n" + MINE.replace("=off", "=on")
    (tmp_path / "CMakeLists.txt").write_text(text, encoding="utf-8")
    assert not auto_sync_off(tmp_path, "MyOp")


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
