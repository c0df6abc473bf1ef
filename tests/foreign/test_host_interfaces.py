"""Host-side interfaces of programs: types of cube kernels, profiling, captured streams."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.build.emulation_library import include_dirs
from msopgen_wrap.build.rewriting.kernel_sources import dialect_flags
from msopgen_wrap.build.toolchain import find_toolchain, run_compiler
from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

# ---- Host-side types and calls that programs with cube kernels use -------------------------------

TYPES = """
#include "acl/acl.h"
#include <opdev/bfloat16.h>
#include <opdev/fp16_t.h>
#include "kernel_operator.h"
#include <cstdio>
#include <type_traits>
#include <vector>
using op::bfloat16;
using op::fp16_t;

#define CHECK(...) do { if (!(__VA_ARGS__)) { puts(#__VA_ARGS__); return 1; } } while (0)

int main()
{
    fp16_t a = 1.5, b(0.25f), c = uint16_t(0x3c00), d = 70000;
    CHECK(a.val == 0x3e00 && b.val == 0x3400 && float(c) == 1.0f && d.IsInf() == 1);
    CHECK(std::is_same<decltype(a + b), fp16_t>::value);
    CHECK(std::is_same<decltype(a * 2.0f), fp16_t>::value);
    CHECK((a + b) * a == 2.625f && a / b == 6 && -a < b && a - 1 == fp16_t(0.5));
    CHECK(fp16_t(2049) == 2048 && fp16_t(1 / 3.f).val == 0x3555);  // nearest even
    CHECK(2.0f * a == 3.0f && static_cast<int8_t>(a) == 1 && static_cast<double>(b) == 0.25);
    a += b;
    CHECK(a.toFloat() == 1.75f && std::abs(-a) == 1.75f && !std::isnan(a));
    bfloat16 e = 1.0f, f(uint16_t(0x3f80), bfloat16::from_bits());
    CHECK(e == f && e.value == 0x3f80 && bfloat16(257).value == 0x4380 && bfloat16(3) == 3);
    CHECK(bfloat16(fp16_t(0.5)) == 0.5f && fp16_t(bfloat16(0.5)) == 0.5f && (e + f) / 4 == 0.5f);
    std::vector<fp16_t> v(3, fp16_t(2));
    float sum = 0;
    for (const auto& x : v) sum += static_cast<float>(x) * x;
    CHECK(sum == 12.0f && std::numeric_limits<fp16_t>::max() == 65504);
    CHECK(AscendC::SizeOfBits<AscendC::int4b_t>::value == 4);
    CHECK(sizeof(AscendC::fp8_e8m0_t) + sizeof(AscendC::fp8_e4m3fn_t) + sizeof(fp4x2_e2m1_t) == 3);
    CHECK(std::is_same<AscendC::hifloat8_t, ::hifloat8_t>::value && sizeof(fp8_e5m2_t) == 1);
    void* flags = nullptr;
    CHECK(aclrtGetHardwareSyncAddr(&flags) == ACL_SUCCESS && flags != nullptr);
    CHECK(aclrtGetHardwareSyncAddr(nullptr) != ACL_SUCCESS);
    return 0;
}
"""


def test_half_types_and_sync_address(tmp_path: Path):
    source = tmp_path / "p.cpp"
    source.write_text(TYPES)
    done = run_program(source, [], ProgramOptions(mode="fast"), cwd=tmp_path)
    assert done.exit_code == 0, done.output


# ---- Programs that collect profiling data: their calls are accepted, nothing is recorded ---------

PROFILED = """
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
    source.write_text(PROFILED, encoding="utf-8")
    done = run_program(source, [], ProgramOptions(timeout=120), cwd=tmp_path)
    assert done.clean and done.launches == 1, (done.exit_code, done.findings)
    assert "aclprofStart: no profiling data is recorded" in done.output


# ---- Streams captured into a model (aclgraph): nothing runs before the model does ----------------

CAPTURED = """
#include <cstdio>
#include "acl/acl.h"
#include "kernel_operator.h"

// y += x, with x as a copied argument.
__global__ __vector__ void more(__gm__ int32_t* y, int32_t x)
{
    AscendC::GlobalTensor<int32_t> g;
    g.SetGlobalBuffer(y, 8);
    g.SetValue(0, g.GetValue(0) + x);
    using AscendC::CacheLine;
    AscendC::DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE>(g);
}

static void Launch(int32_t* y, aclrtStream stream)
{
    int32_t step = 5;
    more<<<1, nullptr, stream>>>(y, step);
    step = 1000;  // the launch has its own
}

int main()
{
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream first = nullptr, second = nullptr;
    aclrtCreateStream(&first);
    aclrtCreateStream(&second);
    aclrtEvent ready = nullptr, done = nullptr;
    aclrtCreateEvent(&ready);
    aclrtCreateEvent(&done);
    int32_t *y = nullptr, host[8] = {1}, out[8] = {-1};
    aclrtMalloc((void**)&y, 32, ACL_MEM_MALLOC_HUGE_FIRST);
    aclmdlRI model = nullptr;
    aclmdlRICaptureStatus status;
    if (aclmdlRICaptureBegin(nullptr, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) == ACL_SUCCESS) return 2;
    if (aclmdlRICaptureBegin(first, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) != ACL_SUCCESS) return 3;
    aclrtMemcpyAsync(y, 32, host, 32, ACL_MEMCPY_HOST_TO_DEVICE, first);
    aclrtRecordEvent(ready, first);
    aclrtStreamWaitEvent(second, ready);
    Launch(y, second);
    Launch(y, second);
    aclrtRecordEvent(done, second);
    aclrtStreamWaitEvent(first, done);
    aclrtMemcpyAsync(out, 32, y, 32, ACL_MEMCPY_DEVICE_TO_HOST, first);
    aclmdlRICaptureGetInfo(first, &status, nullptr);
    if (status != ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE || out[0] != -1) return 4;
    if (aclmdlRIExecuteAsync(model, first) == ACL_SUCCESS) return 5;
    if (aclmdlRICaptureEnd(first, &model) != ACL_SUCCESS) return 6;
    aclmdlRICaptureGetInfo(second, &status, nullptr);
    if (status != ACL_MODEL_RI_CAPTURE_STATUS_NONE || out[0] != -1) return 7;
    for (int run = 0; run < 3; ++run) {
        host[0] = 100 * run;
        if (aclmdlRIExecuteAsync(model, first) != ACL_SUCCESS) return 8;
        aclrtSynchronizeStream(first);
        printf("%d ", out[0]);
    }
    Launch(y, second);  // not captured any more: runs at once
    int32_t now[8];
    aclrtMemcpy(now, 32, y, 32, ACL_MEMCPY_DEVICE_TO_HOST);
    printf("%d\\n", now[0]);
    aclmdlRIDestroy(model);
    const int gone = aclmdlRIExecuteAsync(model, first) != ACL_SUCCESS;
    aclrtFree(y);
    return gone ? 0 : 9;
}
"""


def test_a_captured_stream_runs_with_its_model(tmp_path):
    program = tmp_path / "capture.asc"
    program.write_text(CAPTURED)
    result = run_program(program, [], ProgramOptions(mode="check", timeout=60), cwd=tmp_path)
    assert result.exit_code == 0, result.output
    assert "10 110 210 215" in result.output
    assert result.launches == 7
    assert result.findings == []
