"""Programs that crash, do not end, or end the process: an error each, with the line."""

from __future__ import annotations

import json

import pytest

from msopgen_wrap.cli.app import run as opgen
from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

# ---- Programs whose host code or kernel is ended by a signal: each says where --------------------

DYING = """
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include "acl/acl.h"
#include "kernel_operator.h"

__aicore__ inline int Dive(volatile int* p, int n)
{
    volatile char room[256];
    room[n & 255] = 1;
    return *p == 77 ? 0 : Dive(p, n + 1) + room[(n + 3) & 255];  // DIVE
}
__aicore__ inline void Die(int how, GM_ADDR x)
{
    int* volatile null = nullptr;
    volatile int zero = 0;
    void (*volatile call)() = nullptr;
    if (how == 1) *null = 1;  // 1
    if (how == 2) zero = Dive(&zero, 0);
    if (how == 3) abort();  // 3
    if (how == 4) throw std::runtime_error("thrown");  // 4
    if (how == 5) __builtin_trap();  // 5
    if (how == 6) reinterpret_cast<volatile char*>(x)[1ll << 40] = 3;  // 6
    if (how == 7) call();  // 7
    if (how == 8) assert(zero == 1);  // 8
    if (how == 9) zero = 7 / zero;  // 9
    if (how == 10) { void* volatile p = malloc(4); free(p); free(p); }  // 10
}
__global__ __aicore__ void Kernel(GM_ADDR x, int how) { Die(how, x); x[0] = 5; }

int main(int, char** argv)
{
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream stream;
    aclrtCreateStream(&stream);
    void* x;
    aclrtMalloc(&x, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    const int how = atoi(argv[2]);
    if (argv[1][0] == 'h') Die(how, static_cast<GM_ADDR>(x));
    Kernel<<<1, nullptr, stream>>>(static_cast<GM_ADDR>(x), how);
    aclrtSynchronizeStream(stream);
    Kernel<<<1, nullptr, stream>>>(static_cast<GM_ADDR>(x), 0);
    aclrtSynchronizeStream(stream);
    printf("wrote %d\\n", static_cast<char*>(x)[0]);
    aclrtFree(x);
    return 0;
}
"""

WORDS = {
    1: "SIGSEGV: write to address 0x0, a null pointer",
    2: "SIGSEGV: the stack is full",
    3: "SIGABRT",
    4: "thrown",
    5: "SIGILL",
    6: "SIGSEGV: write to address",
    7: "SIGSEGV: a call through a null pointer",
    8: "zero == 1",
    9: "SIGFPE: an integer division by zero",
    10: "SIGABRT",
}


@pytest.fixture(scope="module")
def dying(tmp_path_factory):
    path = tmp_path_factory.mktemp("crashes") / "crash.cpp"
    path.write_text(DYING, encoding="utf-8")
    return path


def line_of_crash(how):
    mark = "// DIVE" if how == 2 else f"// {how}"
    return next(i for i, row in enumerate(DYING.split("\n"), 1) if row.endswith(mark))


@pytest.mark.parametrize("how", WORDS)
def test_host_code_that_dies(dying, tmp_path, how):
    done = run_program(dying, ["h", str(how)], ProgramOptions(), cwd=tmp_path)
    assert done.exit_code < 0 and not done.clean
    assert WORDS[how] in (done.output if how == 8 else done.crash["text"])
    first = done.crash["sites"][0]
    assert first["file"] == str(dying)
    # The stack may be full in the function's first line, and unwinding knows no caller of null.
    assert first["line"] == line_of_crash(how) or how == 2
    if how not in (2, 7):
        assert "main" in [s["function"] for s in done.crash["sites"]]


@pytest.mark.parametrize("mode", ["check", "fast"])
@pytest.mark.parametrize("how", [h for h in WORDS if h not in (9, 10)])
def test_a_kernel_that_dies_fails_its_launch_only(dying, tmp_path, how, mode):
    done = run_program(dying, ["k", str(how)], ProgramOptions(mode=mode), cwd=tmp_path)
    assert (done.exit_code, done.launches, done.failures) == (0, 2, 1)
    assert "wrote 5" in done.output
    assert WORDS[how] in done.output
    assert how == 2 or f"{dying}:{line_of_crash(how)}" in done.output
    if mode == "check":
        found = [f for f in done.findings if f["check"] == "Trap"]
        assert [f["file"] for f in found] == [str(dying)]
        assert found[0]["line"] == line_of_crash(how) or how == 2


def test_a_kernel_that_breaks_the_heap_ends_the_program(dying, tmp_path):
    done = run_program(dying, ["k", "10"], ProgramOptions(timeout=60), cwd=tmp_path)
    assert done.exit_code < 0
    assert done.crash["sites"][0]["line"] == line_of_crash(10)


def test_a_kernel_divides_by_zero(dying, tmp_path):
    done = run_program(dying, ["k", "9"], ProgramOptions(), cwd=tmp_path)
    assert done.clean and "wrote 5" in done.output


def test_the_command_names_the_line(dying, capsys):
    assert opgen(["run", str(dying), "h", "1"]) == 1
    said = capsys.readouterr().err
    assert (
        f"{dying}:{line_of_crash(1)}:" in said
        and "error[OPG530]: crash.cpp died of SIGSEGV" in said
    )
    assert "called from" in said and "in main" in said


# --------------------------------------------------------------------------------------------------
# Kernels and programs that do not end, or that end the process: an error each, with the line.

STAYING = """
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;

#define Clean DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE>
__aicore__ inline void Act(const char* how, GM_ADDR x)
{
    volatile int zero = 0;
    auto is = [how](const char* name) { return std::strcmp(how, name) == 0; };
    if (is("loop")) while (zero == 0) {}  // loop
    if (is("loop of one core") && GetBlockIdx() == 1) while (zero == 0) {}  // loop of one core
    if (is("loop with calls")) {
        TPipe pipe;
        TBuf<TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, 1024);
        auto tile = buffer.Get<float>();
        for (;;) Duplicate(tile, 1.0f, 256);  // loop with calls
    }
    if (is("polls")) {
        GlobalTensor<int32_t> flag;
        flag.SetGlobalBuffer((__gm__ int32_t*)x);
        while (flag.GetValue(8) == 0) Clean(flag);  // polls
    }
    if (is("exit")) exit(0);  // exit
    if (is("_exit")) _exit(0);  // _exit
    if (is("_Exit")) _Exit(0);  // _Exit
    if (is("quick_exit")) quick_exit(0);  // quick_exit
    if (is("kill")) raise(SIGKILL);  // kill
    if (is("stop")) raise(SIGSTOP);  // stop
    if (is("stop by pid")) kill(getpid(), SIGSTOP);  // stop by pid
}
__global__ __aicore__ void Kernel(GM_ADDR x, const char* how) { Act(how, x); }

int main(int, char** argv)
{
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream stream;
    aclrtCreateStream(&stream);
    void* x;
    aclrtMalloc(&x, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemset(x, 64, 0, 64);
    const bool host = argv[1][0] == 'h';
    Kernel<<<2, nullptr, stream>>>(static_cast<GM_ADDR>(x), host ? "" : argv[2]);
    aclrtSynchronizeStream(stream);
    if (host && std::strcmp(argv[2], "sleeps") == 0) sleep(100);  // sleeps
    if (host && std::strcmp(argv[2], "late but alive") == 0) {
        for (int i = 0; i < 5; ++i) {
            usleep(500000);
            Kernel<<<2, nullptr, stream>>>(static_cast<GM_ADDR>(x), "");
        }
    }
    if (host) Act(argv[2], static_cast<GM_ADDR>(x));
    Kernel<<<2, nullptr, stream>>>(static_cast<GM_ADDR>(x), "");
    printf("went on\\n");
    return 0;
}
"""
LIMIT = ProgramOptions(limit=1, timeout=60)


@pytest.fixture(scope="module")
def staying(tmp_path_factory):
    path = tmp_path_factory.mktemp("late") / "late.cpp"
    path.write_text(STAYING, encoding="utf-8")
    return path


def line_of_stay(how):
    rows = STAYING.split("\n")
    return next(i for i, row in enumerate(rows, 1) if row.endswith(f"// {how}"))


@pytest.mark.parametrize("mode", ["check", "fast"])
@pytest.mark.parametrize(
    ("how", "cores"), [("loop", 2), ("loop of one core", 1), ("loop with calls", 2), ("polls", 2)]
)
def test_a_kernel_that_does_not_end_is_stopped(staying, tmp_path, how, cores, mode):
    options = ProgramOptions(limit=1, timeout=60, mode=mode)
    done = run_program(staying, ["k", how], options, cwd=tmp_path)
    assert (done.exit_code, done.failures) == (0, 1) and not done.clean, done.output
    assert "went on" in done.output  # only the launch has failed
    (late,) = done.late
    places = [(c["file"], c["line"]) for c in late["crash"]["cores"]]
    # A core that has not started, because the other one holds the only thread, is at no line.
    assert 1 <= len(places) <= cores and set(places) == {(str(staying), line_of_stay(how))}, late
    if mode == "check":
        assert ("Deadlock", line_of_stay(how)) in [(f["check"], f["line"]) for f in done.findings]


@pytest.mark.parametrize("how", ["loop", "sleeps"])
def test_a_program_that_does_not_end_is_stopped(staying, tmp_path, how):
    done = run_program(staying, ["h", how], LIMIT, cwd=tmp_path)
    assert done.exit_code == 124 and "went on" not in done.output
    assert done.crash["limit"] == 1
    assert str(staying) in {s["file"] for s in done.crash["sites"]}
    assert line_of_stay(how) in {s["line"] for s in done.crash["sites"]}


def test_a_program_may_take_long_as_long_as_it_launches(staying, tmp_path):
    done = run_program(staying, ["h", "late but alive"], LIMIT, cwd=tmp_path)
    assert done.exit_code == 0 and "went on" in done.output


@pytest.mark.parametrize(
    "how", ["exit", "_exit", "_Exit", "quick_exit", "kill", "stop", "stop by pid"]
)
def test_a_kernel_cannot_end_its_process(staying, tmp_path, how):
    done = run_program(staying, ["k", how], LIMIT, cwd=tmp_path)
    assert (done.exit_code, done.failures) == (0, 1), done.output
    assert "which ends the process" in done.output and "went on" in done.output
    found = [f["line"] for f in done.findings if f["check"] == "Trap"]
    assert found == [line_of_stay(how)]


@pytest.mark.parametrize(
    ("how", "code"), [("_exit", 0), ("quick_exit", 0), ("kill", -9), ("stop", -9)]
)
def test_a_host_that_leaves_before_its_end_is_no_success(staying, tmp_path, how, code):
    done = run_program(staying, ["h", how], LIMIT, cwd=tmp_path)
    assert done.exit_code == code and not done.clean
    assert done.stopped is (how == "stop")


def test_a_host_may_exit(staying, tmp_path):
    assert run_program(staying, ["h", "exit"], LIMIT, cwd=tmp_path).clean


def test_the_command_says_where_and_fails(staying, capsys):
    assert opgen(["run", str(staying), "--timeout", "1", "k", "loop"]) == 1
    said = capsys.readouterr().err
    assert f"{staying}:{line_of_stay('loop')}:" in said
    assert "error[OPG533]: kernel Kernel did not end within 1 s" in said
    assert f"at {staying}:{line_of_stay('loop')}, in Act" in said


def test_the_report_has_the_place(staying, capfd):
    assert opgen(["run", str(staying), "--json", "--timeout", "1", "h", "loop"]) == 1
    report = json.loads(capfd.readouterr().out)
    assert report["ok"] is False and report["exit_code"] == 124
    assert report["crash"]["sites"][0]["line"] == line_of_stay("loop")
