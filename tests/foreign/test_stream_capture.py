"""Streams captured into a model (aclgraph): nothing runs before the model does."""

from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

PROGRAM = """
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
    program.write_text(PROGRAM)
    result = run_program(program, [], ProgramOptions(mode="check", timeout=60), cwd=tmp_path)
    assert result.exit_code == 0, result.output
    assert "10 110 210 215" in result.output
    assert result.launches == 7
    assert result.findings == []
