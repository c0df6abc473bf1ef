"""Programs whose host code or kernel is ended by a signal: each says where."""

from __future__ import annotations

import pytest

from msopgen_wrap.cli.app import run as opgen
from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

PROGRAM = """
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
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("crashes") / "crash.cpp"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def line_of(how):
    mark = "// DIVE" if how == 2 else f"// {how}"
    return next(i for i, row in enumerate(PROGRAM.split("\n"), 1) if row.endswith(mark))


@pytest.mark.parametrize("how", WORDS)
def test_host_code_that_dies(program, tmp_path, how):
    done = run_program(program, ["h", str(how)], ProgramOptions(), cwd=tmp_path)
    assert done.exit_code < 0 and not done.clean
    assert WORDS[how] in (done.output if how == 8 else done.crash["text"])
    first = done.crash["sites"][0]
    assert first["file"] == str(program)
    # The stack may be full in the function's first line, and unwinding knows no caller of null.
    assert first["line"] == line_of(how) or how == 2
    if how not in (2, 7):
        assert "main" in [s["function"] for s in done.crash["sites"]]


@pytest.mark.parametrize("mode", ["check", "fast"])
@pytest.mark.parametrize("how", [h for h in WORDS if h not in (9, 10)])
def test_a_kernel_that_dies_fails_its_launch_only(program, tmp_path, how, mode):
    done = run_program(program, ["k", str(how)], ProgramOptions(mode=mode), cwd=tmp_path)
    assert (done.exit_code, done.launches, done.failures) == (0, 2, 1)
    assert "wrote 5" in done.output
    assert WORDS[how] in done.output
    assert how == 2 or f"{program}:{line_of(how)}" in done.output
    if mode == "check":
        found = [f for f in done.findings if f["check"] == "Trap"]
        assert [f["file"] for f in found] == [str(program)]
        assert found[0]["line"] == line_of(how) or how == 2


def test_a_kernel_that_breaks_the_heap_ends_the_program(program, tmp_path):
    done = run_program(program, ["k", "10"], ProgramOptions(timeout=60), cwd=tmp_path)
    assert done.exit_code < 0
    assert done.crash["sites"][0]["line"] == line_of(10)


def test_a_kernel_divides_by_zero(program, tmp_path):
    done = run_program(program, ["k", "9"], ProgramOptions(), cwd=tmp_path)
    assert done.clean and "wrote 5" in done.output


def test_the_command_names_the_line(program, capsys):
    assert opgen(["run", str(program), "h", "1"]) == 1
    said = capsys.readouterr().err
    assert f"{program}:{line_of(1)}:" in said and "error[OPG530]: crash.cpp died of SIGSEGV" in said
    assert "called from" in said and "in main" in said
