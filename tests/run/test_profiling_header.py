"""Programs that collect profiling data: their calls are accepted, nothing is recorded."""

from __future__ import annotations

from pathlib import Path

from msopgen_wrap.run.program_runner import ProgramOptions, run_program

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


def test_a_program_that_profiles_itself(tmp_path: Path) -> None:
    source = tmp_path / "p.asc"
    source.write_text(PROGRAM, encoding="utf-8")
    done = run_program(source, [], ProgramOptions(timeout=120), cwd=tmp_path)
    assert done.clean and done.launches == 1, (done.exit_code, done.findings)
    assert "aclprofStart: no profiling data is recorded" in done.output
