"""Programs that collect profiling data: their calls are accepted, nothing is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.build.emulation_library import include_dirs
from msopgen_wrap.build.rewriting.kernel_sources import dialect_flags
from msopgen_wrap.build.toolchain import find_toolchain, run_compiler
from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

PROGRAM = """
#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "kernel_operator.h"
__global__ __aicore__ void k(GM_ADDR x) { x[0] = 1; }
struct aclprofEventAttributes { int version; };
int main() {
    uint32_t device = 0, count = 9;
    size_t length = 0;
    aclInit(nullptr);
    aclrtSetDevice(0);
    if (aclprofInit(nullptr, 0) == ACL_SUCCESS || aclprofInit("out", 3) != ACL_SUCCESS) return 1;
    auto config = aclprofCreateConfig(&device, 1, ACL_AICORE_PIPE_UTILIZATION, nullptr,
                                      ACL_PROF_ACL_API | ACL_PROF_TASK_TIME);
    if (aclprofStart(nullptr) == ACL_SUCCESS || aclprofStart(config) != ACL_SUCCESS) return 2;
    auto step = aclprofCreateStepInfo();
    aclprofEventAttributes attributes{1};
    if (aclprofGetStepTimestamp(step, ACL_STEP_START, nullptr)) return 3;
    if (aclprofRangePushEx(&attributes)) return 3;
    void* x = nullptr;
    aclrtMalloc(&x, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    k<<<1, nullptr, nullptr>>>((GM_ADDR)x);
    aclrtSynchronizeDevice();
    aclrtFree(x);
    aclprofRangePop();
    aclprofDestroyStepInfo(step);
    if (aclprofStop(config) || aclprofDestroyConfig(config) || aclprofFinalize()) return 4;
    if (aclprofGetOpNum(nullptr, 0, &count) || count != 0) return 5;
    if (aclprofGetOpNameLen(nullptr, 0, 0, &length) == ACL_SUCCESS) return 6;
    return aclprofStr2Id("a") == aclprofStr2Id("b") || aclprofStr2Id("a") != aclprofStr2Id("a");
}
"""

STRUCTS = """
struct aclprofTensor { uint32_t type, format, dataType, shapeDim, shape[8]; };
struct aclprofTensorInfo { uint64_t opNameId, opTypeId; uint32_t resv, tensorNum, kernelType,
    blockNums; void* stream; aclprofTensor* tensors; };
struct aclprofEventAttributes { uint16_t version, size; uint32_t messageType;
    union message { aclprofTensorInfo* tensorInfo; } message; };
"""
REPORTS = """
#include <cstdint>
#include "acl/acl_prof.h"
%s
int main() {
    aclprofTensor x = {0, 2, 0, 1, {8}};
    aclprofTensorInfo info = {aclprofStr2Id("k"), 0, 0, 1, 0, 1, nullptr, &x};
    aclprofEventAttributes message = {1, sizeof(message.message), 0, {&info}};
    return aclprofRangePushEx(&message) || aclprofRangePop();
}
"""


@pytest.mark.parametrize(
    "own",
    ["", STRUCTS, "#ifndef ACL_PROF_TENSOR_INFO_DEFINED\n" + STRUCTS + "#endif\n"],
    ids=["header's", "own", "own, guarded"],
)
def test_tensors_of_a_kernel_can_be_reported(tmp_path: Path, own: str) -> None:
    """The header has the structs; programs that bring their own keep them."""
    source = tmp_path / "r.cpp"
    source.write_text(REPORTS % own, encoding="utf-8")
    flags = dialect_flags([source.read_text(encoding="utf-8")])
    command = [find_toolchain().cxx, "-fsyntax-only", *flags, *(f"-I{d}" for d in include_dirs())]
    run_compiler([*command, str(source)], source, code="OPG303")


def test_a_program_that_profiles_itself(tmp_path: Path) -> None:
    source = tmp_path / "p.asc"
    source.write_text(PROGRAM, encoding="utf-8")
    done = run_program(source, [], ProgramOptions(timeout=120), cwd=tmp_path)
    assert done.clean and done.launches == 1, (done.exit_code, done.findings)
    assert "aclprofStart: no profiling data is recorded" in done.output
