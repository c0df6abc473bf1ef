"""Kernels and programs that do not end, or that end the process: an error each, with the line."""

from __future__ import annotations

import json

import pytest

from msopgen_wrap.cli.app import run as opgen
from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

PROGRAM = """
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
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("late") / "late.cpp"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def line_of(how):
    rows = PROGRAM.split("\n")
    return next(i for i, row in enumerate(rows, 1) if row.endswith(f"// {how}"))


@pytest.mark.parametrize("mode", ["check", "fast"])
@pytest.mark.parametrize(
    ("how", "cores"), [("loop", 2), ("loop of one core", 1), ("loop with calls", 2), ("polls", 2)]
)
def test_a_kernel_that_does_not_end_is_stopped(program, tmp_path, how, cores, mode):
    options = ProgramOptions(limit=1, timeout=60, mode=mode)
    done = run_program(program, ["k", how], options, cwd=tmp_path)
    assert (done.exit_code, done.failures) == (0, 1) and not done.clean, done.output
    assert "went on" in done.output  # only the launch has failed
    (late,) = done.late
    places = [(c["file"], c["line"]) for c in late["crash"]["cores"]]
    # A core that has not started, because the other one holds the only thread, is at no line.
    assert 1 <= len(places) <= cores and set(places) == {(str(program), line_of(how))}, late
    if mode == "check":
        assert ("Deadlock", line_of(how)) in [(f["check"], f["line"]) for f in done.findings]


@pytest.mark.parametrize("how", ["loop", "sleeps"])
def test_a_program_that_does_not_end_is_stopped(program, tmp_path, how):
    done = run_program(program, ["h", how], LIMIT, cwd=tmp_path)
    assert done.exit_code == 124 and "went on" not in done.output
    assert done.crash["limit"] == 1
    assert str(program) in {s["file"] for s in done.crash["sites"]}
    assert line_of(how) in {s["line"] for s in done.crash["sites"]}


def test_a_program_may_take_long_as_long_as_it_launches(program, tmp_path):
    done = run_program(program, ["h", "late but alive"], LIMIT, cwd=tmp_path)
    assert done.exit_code == 0 and "went on" in done.output


@pytest.mark.parametrize(
    "how", ["exit", "_exit", "_Exit", "quick_exit", "kill", "stop", "stop by pid"]
)
def test_a_kernel_cannot_end_its_process(program, tmp_path, how):
    done = run_program(program, ["k", how], LIMIT, cwd=tmp_path)
    assert (done.exit_code, done.failures) == (0, 1), done.output
    assert "which ends the process" in done.output and "went on" in done.output
    found = [f["line"] for f in done.findings if f["check"] == "Trap"]
    assert found == [line_of(how)]


@pytest.mark.parametrize(
    ("how", "code"), [("_exit", 0), ("quick_exit", 0), ("kill", -9), ("stop", -9)]
)
def test_a_host_that_leaves_before_its_end_is_no_success(program, tmp_path, how, code):
    done = run_program(program, ["h", how], LIMIT, cwd=tmp_path)
    assert done.exit_code == code and not done.clean
    assert done.stopped is (how == "stop")


def test_a_host_may_exit(program, tmp_path):
    assert run_program(program, ["h", "exit"], LIMIT, cwd=tmp_path).clean


def test_the_command_says_where_and_fails(program, capsys):
    assert opgen(["run", str(program), "--timeout", "1", "k", "loop"]) == 1
    said = capsys.readouterr().err
    assert f"{program}:{line_of('loop')}:" in said
    assert "error[OPG533]: kernel Kernel did not end within 1 s" in said
    assert f"at {program}:{line_of('loop')}, in Act" in said


def test_the_report_has_the_place(program, capfd):
    assert opgen(["run", str(program), "--json", "--timeout", "1", "h", "loop"]) == 1
    report = json.loads(capfd.readouterr().out)
    assert report["ok"] is False and report["exit_code"] == 124
    assert report["crash"]["sites"][0]["line"] == line_of("loop")
