"""Kernels compiled by a running program (aclrtc), and launched by their handle."""

from pathlib import Path

import pytest

from msopgen_wrap.foreign.program_runner import ProgramOptions, ProgramResult, run_program
from msopgen_wrap.foreign.runtime_compiler import global_kernels, parse_options

# The device code has a template in a namespace, a kernel with C linkage, a cube kernel and headers.
PROGRAM = r"""
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
#include "acl/acl.h"
#include "acl/acl_rt_compile.h"

#define WANT(call, code)                                                       \
    do {                                                                       \
        int got = (call);                                                      \
        if (got != (code)) {                                                   \
            printf("line %d: %s is %d: %s\n", __LINE__, #call, got, aclGetRecentErrMsg()); \
            return 1;                                                          \
        }                                                                      \
    } while (0)

static const char* kSource = R"code(
#include "kernel_operator.h"
#include "parts/step.h"
namespace deep {
template <typename T, int times>
__global__ __vector__ void more(__gm__ T* y, T x, uint8_t flag)
{
    AscendC::InitSocState();
    AscendC::GlobalTensor<T> g;
    g.SetGlobalBuffer(y, 8);
    g.SetValue(0, g.GetValue(0) + x * times + STEP + flag);
    AscendC::DataCacheCleanAndInvalid<T, AscendC::CacheLine::ENTIRE_DATA_CACHE>(g);
}
}
extern "C" {
__global__ __aicore__ void add_table(GM_ADDR y, GM_ADDR table)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AscendC::GlobalTensor<int32_t> g;
    g.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y), 8);
    const int32_t first = *reinterpret_cast<__gm__ int32_t*>(table);
    BODY
}
}
)code";
static const char* kHeader = "#pragma once\n#define STEP 1000\n";
static const char* kHeaderName = "parts/step.h";

static std::string Compiled(aclrtcProg prog)
{
    size_t size = 0;
    aclrtcGetBinDataSize(prog, &size);
    std::string data(size, 0);
    aclrtcGetBinData(prog, &data[0]);
    return data;
}

int main()
{
    WANT(aclInit(nullptr), 0);
    WANT(aclrtSetDevice(0), 0);
    aclrtStream stream = nullptr;
    WANT(aclrtCreateStream(&stream), 0);
    int32_t *y = nullptr, host[8] = {7}, back[8] = {};
    WANT(aclrtMalloc((void**)&y, 32, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    WANT(aclrtMemcpy(y, 32, host, 32, ACL_MEMCPY_HOST_TO_DEVICE), 0);

    aclrtcProg prog = nullptr;
    const char* lowered = nullptr;
    const char* expression = "deep::more<int32_t, 3>";
    WANT(aclrtcCreateProg(&prog, kSource, "two kernels", 1, &kHeader, &kHeaderName), 0);
    WANT(aclrtcAddNameExpr(prog, expression), 0);
    WANT(aclrtcGetLoweredName(prog, expression, &lowered),
         ACL_ERROR_RTC_NO_LOWERED_NAMES_BEFORE_COMPILATION);
    const char* options[] = {"--npu-arch=dav-2201", "-O2", "-D", MACRO, "--cce-auto-sync=on"};
    const int code = aclrtcCompileProg(prog, 5, options);
    size_t log_size = 0;
    WANT(aclrtcGetCompileLogSize(prog, &log_size), 0);
    std::vector<char> log(log_size);
    WANT(aclrtcGetCompileLog(prog, log.data()), 0);
    printf("log: %s\n", log.data());
    if (code != 0) {
        printf("compile: %d: %s\n", code, aclGetRecentErrMsg());
        return 0;
    }
    WANT(aclrtcAddNameExpr(prog, "add_table"), ACL_ERROR_RTC_NO_NAME_EXPR_AFTER_COMPILATION);
    WANT(aclrtcGetLoweredName(prog, "other", &lowered), ACL_ERROR_RTC_NAME_EXPR_NOT_VALID);
    WANT(aclrtcGetLoweredName(prog, expression, &lowered), 0);
    printf("lowered: %s\n", lowered);

    const std::string data = Compiled(prog);
    aclrtBinHandle binary = nullptr;
    WANT(aclrtBinaryLoadFromData("no code", 7, nullptr, &binary), ACL_ERROR_INVALID_FILE);
    aclrtBinaryLoadOption option;
    option.type = ACL_RT_BINARY_LOAD_OPT_MAGIC;
    option.value.magic = ACL_RT_BINARY_MAGIC_ELF_AICORE;
    aclrtBinaryLoadOptions load = {&option, 1};
    WANT(aclrtBinaryLoadFromData(data.data(), data.size(), &load, &binary), 0);
    aclrtFuncHandle more = nullptr, table = nullptr;
    WANT(aclrtBinaryGetFunction(binary, "nowhere", &table), ACL_ERROR_INVALID_PARAM);
    WANT(aclrtBinaryGetFunction(binary, lowered, &more), 0);
    WANT(aclrtBinaryGetFunction(binary, "add_table", &table), 0);
    char name[4];
    WANT(aclrtGetFunctionName(table, 4, name), 0);
    if (strcmp(name, "add") != 0) return 2;

    // In every way: an array, a block like a struct, a list.
    int32_t x = 10;
    uint8_t flag = 1;
    void* array[] = {&y, &x, &flag};
    WANT(aclrtLaunchKernelWithArgsArray(more, 1, stream, nullptr, array), 0);
    struct { void* y; int32_t x; uint8_t flag; } block = {y, 20, 2};
    WANT(aclrtLaunchKernel(more, 1, &block, 12, stream), ACL_ERROR_INVALID_PARAM);
    WANT(aclrtLaunchKernel(more, 1, &block, sizeof(block), stream), 0);
    aclrtArgsHandle list = nullptr;
    aclrtParamHandle second = nullptr;
    WANT(aclrtKernelArgsInit(more, &list), 0);
    WANT(aclrtKernelArgsAppend(list, &y, sizeof(y), nullptr), 0);
    WANT(aclrtKernelArgsAppend(list, &x, sizeof(x), &second), 0);
    WANT(aclrtLaunchKernelWithConfig(more, 1, stream, nullptr, list, nullptr),
         ACL_ERROR_INVALID_PARAM);
    WANT(aclrtKernelArgsAppend(list, &flag, sizeof(flag), nullptr), 0);
    x = 30;
    WANT(aclrtKernelArgsParaUpdate(list, second, &x, sizeof(x)), 0);
    WANT(aclrtKernelArgsFinalize(list), 0);
    WANT(aclrtLaunchKernelWithConfig(more, 1, stream, nullptr, list, nullptr), 0);
    aclrtLaunchKernelAttr attr = {};
    attr.id = ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET;
    attr.value.blockDimOffset = 2;
    aclrtLaunchKernelCfg config = {&attr, 1};
    WANT(aclrtLaunchKernelWithConfig(more, 1, stream, &config, list, nullptr),
         ACL_ERROR_FEATURE_UNSUPPORTED);
    // A table behind the arguments, and one in a buffer of the list: the launch has its own copy.
    struct { void* y; void* table; int32_t data[8]; } held = {y, nullptr, {10000}};
    aclrtPlaceHolderInfo holder = {8, 16};
    WANT(aclrtLaunchKernelWithHostArgs(table, 1, stream, nullptr, &held, sizeof(held), &holder, 1),
         0);
    WANT(aclrtLaunchKernelWithHostArgs(table, 1, stream, nullptr, &held, 16, &holder, 1),
         ACL_ERROR_INVALID_PARAM);
    void* buffer = nullptr;
    WANT(aclrtKernelArgsInit(table, &list), 0);
    WANT(aclrtKernelArgsAppend(list, &y, sizeof(y), nullptr), 0);
    WANT(aclrtKernelArgsAppendPlaceHolder(list, &second), 0);
    WANT(aclrtKernelArgsGetPlaceHolderBuffer(list, second, 32, &buffer), 0);
    *static_cast<int32_t*>(buffer) = 200000;
    WANT(aclrtLaunchKernelWithConfig(table, 1, stream, nullptr, list, nullptr), 0);
    // On a captured stream nothing runs before the model does.
    aclmdlRI model = nullptr;
    WANT(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
    *static_cast<int32_t*>(buffer) = 1000000;
    WANT(aclrtLaunchKernelWithConfig(table, 1, stream, nullptr, list, nullptr), 0);
    WANT(aclmdlRICaptureEnd(stream, &model), 0);
    *static_cast<int32_t*>(buffer) = 0;
    WANT(aclmdlRIExecuteAsync(model, stream), 0);
    WANT(aclmdlRIExecuteAsync(model, stream), 0);
    WANT(aclrtSynchronizeStream(stream), 0);
    WANT(aclrtMemcpy(back, 32, y, 32, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    printf("y %d\n", back[0]);

    WANT(aclrtBinaryUnLoad(binary), 0);
    WANT(aclrtLaunchKernel(more, 1, &block, sizeof(block), stream), ACL_ERROR_RT_INVALID_HANDLE);
    WANT(aclrtcDestroyProg(&prog), 0);
    WANT(aclrtcDestroyProg(&prog), ACL_ERROR_RTC_INVALID_PROG);
    return 0;
}
"""
ADD = """g.SetValue(0, g.GetValue(0) + first + ONE);
    AscendC::DataCacheCleanAndInvalid<int32_t, AscendC::CacheLine::ENTIRE_DATA_CACHE>(g);"""


def run(folder: Path, body: str = ADD, macro: str = '"ONE=1"') -> ProgramResult:
    program = folder / "program.cpp"
    program.write_text(PROGRAM.replace("BODY", body).replace("MACRO", macro))
    return run_program(program, [], ProgramOptions(), cwd=folder)


def test_kernels_are_compiled_found_and_launched(tmp_path: Path) -> None:
    done = run(tmp_path)
    # 7 + (10*3 + 1001) + (20*3 + 1002) + (30*3 + 1001), four tables and ONEs
    assert "y 2213195\n" in done.output, done.output
    assert "lowered: _ZN4deep4more" in done.output
    assert "--cce-auto-sync=on: has no effect" in done.output
    assert done.exit_code == 0 and done.launches == 7 and done.clean


def test_source_that_does_not_compile_has_a_log(tmp_path: Path) -> None:
    done = run(tmp_path, "int32_t z = nothing;")
    assert "compile: 176003" in done.output, done.output
    assert "'nothing' was not declared" in done.output or "identifier 'nothing'" in done.output
    assert "two_kernels.asc:22:" in done.output


def test_function_that_is_nowhere_is_a_link_error(tmp_path: Path) -> None:
    done = run(tmp_path, "extern void nowhere(int); nowhere(first);")
    assert "compile: 176004" in done.output and "nowhere" in done.output, done.output


def test_wrong_option_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, macro='"ONE=1", "file.cpp"')
    assert "compile: 176002" in done.output and "file.cpp: not an option" in done.output, (
        done.output
    )


def test_finding_names_the_line_of_the_source(tmp_path: Path) -> None:
    done = run(tmp_path, "g.SetValue(8, 1); // one too far")
    found = [f for f in done.findings if f["line"] == 22]
    assert found and found[0]["file"].endswith("two_kernels.asc"), done.findings


def test_kernels_outside_namespaces_need_no_name() -> None:
    text = """
    // __global__ void commented()
    template <typename T> __global__ __aicore__ void generic(GM_ADDR x) {}
    namespace a { __global__ __vector__ void inner(GM_ADDR x) {} }
    const char* s = "__global__ void quoted(";
    extern "C" { __global__ __aicore__ void linked(GM_ADDR x) { if (x) { } } }
    extern "C" __global__ __aicore__ void declared(GM_ADDR x);
    __global__ __mix__(1, 2) void mixed(GM_ADDR x) {}
    """
    assert global_kernels(text) == ["linked", "mixed"]


def test_options_are_sorted() -> None:
    options = parse_options(["-Ia", "-I", "b", "-DX=1", "-U", "Y", "-O3", "-g", "--weird"], 2201)
    assert [f.name for f in options.folders] == ["a", "b"]
    assert (options.defines, options.undefines, options.opt) == (["X=1"], ["Y"], "-O3")
    assert options.ignored == ["--weird"]


@pytest.mark.parametrize("word", ["--npu-arch=dav-3510", "-D"])
def test_options_that_cannot_be_followed(word: str) -> None:
    with pytest.raises(Exception, match=word):
        parse_options([word], 2201)
