"""Launches of kernels in programs: generated headers, rewritten sources, core kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.cli.app import run as opgen
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.launch_source import (
    add_launchers,
    find_launches,
    kernel_kinds,
    kernel_parameters,
    rewrite,
)
from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program
from msopgen_wrap.foreign.program_sources import architecture_macros

# --------------------------------------------------------------------------------------------------
# ``aclrtlaunch_<kernel>.h``: generated launch headers, and a program that starts through one.

KERNEL = """
#include "kernel_operator.h"
struct Ramp { float start; float step; };
extern "C" __global__ __aicore__ void ramp(GM_ADDR y, Ramp values, uint32_t count)
{
    AscendC::GlobalTensor<float> out;
    out.SetGlobalBuffer((__gm__ float*)y + count * AscendC::GetBlockIdx(), count);
    AscendC::LocalTensor<float> line(AscendC::TPosition::VECCALC, 0, 256);
    AscendC::CreateVecIndex(line, values.start, count);
    AscendC::Muls(line, line, values.step, count);
    AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(EVENT_ID0);
    AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(EVENT_ID0);
    AscendC::DataCopy(out, line, count);
}
"""

MAIN = """
#include "acl/acl.h"
struct Ramp { float start; float step; };
#include "aclrtlaunch_ramp.h"
int main()
{
    float* y = nullptr;
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream stream = nullptr;
    aclrtCreateStream(&stream);
    aclrtMalloc((void**)&y, 2 * 64 * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST);
    if (ACLRT_LAUNCH_KERNEL(ramp)(2, stream, y, Ramp{3.0f, 0.5f}, 64) != 0) return 2;
    aclrtSynchronizeStream(stream);
    for (int i = 0; i < 128; ++i) {
        if (y[i] != (3 + i % 64) * 0.5f) return 3;
    }
    aclrtFree(y);
    return 0;
}
"""


@pytest.mark.parametrize(
    ("code", "want"),
    [
        ("void k(GM_ADDR x) {}", [("GM_ADDR", "x", "void*")]),
        ("void k(__gm__ uint8_t* x, float s) {}", None),
        (
            "void k(__gm__ half *x, /* a, b */ A<B, 2> t, const uint32_t n = 3)\n{}",
            [
                ("__gm__ half *", "x", "void*"),
                ("A<B, 2>", "t", "A<B, 2>"),
                ("const uint32_t", "n", "const uint32_t"),
            ],
        ),
        ("void k(GM_ADDR);", "undefined"),
        ("void k() {}", []),
    ],
)
def test_parameters(code, want):
    plain = want is None
    found = kernel_parameters(("" if plain else "__global__ __aicore__ ") + code, "k")
    if want in (None, "undefined"):
        assert found is None
        return
    assert [(p.type, p.name, p.host_type) for p in found] == want


def test_a_header_of_the_users_own_is_left_alone():
    main = '#include "aclrtlaunch_k.h"\n'
    kernel = "__global__ __aicore__ void k(GM_ADDR x) {}\n"
    texts = {Path("/a/main.cpp"): main, Path("/a/k.cpp"): kernel}
    changed, headers = add_launchers(texts)
    assert list(changed) == [Path("/a/k.cpp")] and list(headers) == ["aclrtlaunch_k.h"]
    assert add_launchers({**texts, Path("/a/aclrtlaunch_k.h"): ""}) == ({}, {})


DECLARED = """extern "C" void aclrtlaunch_ramp(uint32_t blocks, aclrtStream stream, void* y,
    Ramp values, uint32_t count);
"""


def test_a_function_of_the_users_own_is_left_alone():
    main = DECLARED + "int main() { aclrtlaunch_ramp(1, s, y, v, 2); }\n"
    texts = {Path("/a/main.cpp"): main, Path("/a/ramp.cpp"): KERNEL}
    assert list(add_launchers(texts)[0]) == [Path("/a/ramp.cpp")]
    assert add_launchers({**texts, Path("/a/b.cpp"): DECLARED.replace(";", " {}")}) == ({}, {})


@pytest.mark.parametrize("mode", ["check", "fast"])
@pytest.mark.parametrize("declared", [False, True])
def test_a_program_starts_kernels_through_the_header(tmp_path, declared, mode, capfd):
    (tmp_path / "ramp.cpp").write_text(KERNEL)
    main = MAIN
    if declared:
        main = main.replace('#include "aclrtlaunch_ramp.h"', DECLARED)
        main = main.replace("if (ACLRT_LAUNCH_KERNEL(ramp)(", "aclrtlaunch_ramp(")
        main = main.replace("64) != 0) return 2;", "64);")
    (tmp_path / "main.cpp").write_text(main)
    assert opgen(["run", str(tmp_path), "--mode", mode]) == 0, capfd.readouterr().err


def test_a_kernel_that_no_source_defines_is_a_missing_header(tmp_path, capfd):
    (tmp_path / "main.cpp").write_text(MAIN)
    assert opgen(["run", str(tmp_path / "main.cpp")]) != 0
    assert "aclrtlaunch_ramp.h" in capfd.readouterr().err


# ---- Rewriting of kernel launches in self-contained programs -------------------------------------


@pytest.mark.parametrize(
    ("code", "name", "config", "arguments"),
    [
        ("f() { add<<<8, nullptr, stream>>>(x, y); }", "add", ("8", " nullptr", " stream"), "x, y"),
        ("add<<<n / 2, 0, s()>>>(p(1, 2))", "add", ("n / 2", " 0", " s()"), "p(1, 2)"),
        ("k<half, 4><<<1, 0, s>>>(x)", "k", ("1", " 0", " s"), "x"),
        ("ns::k<A<B>, (1 > 0)><<<1, 0, s>>>(x)", "k", ("1", " 0", " s"), "x"),
        ("k <<< blocks , 0 >>> (x)", "k", (" blocks ", " 0 "), "x"),
        (
            "k<<<1, 0, s>>>(\n  x, // a >>> b\n  y)",
            "k",
            ("1", " 0", " s"),
            "\n  x, // a >>> b\n  y",
        ),
        ("k<<<f<int>(2), 0, a[1]>>>()", "k", ("f<int>(2)", " 0", " a[1]"), ""),
    ],
)
def test_finds_launch(code, name, config, arguments):
    (launch,) = find_launches(code)
    assert (launch.name, launch.config, launch.arguments) == (name, config, arguments)


@pytest.mark.parametrize("code", ['"k<<<1, 0, s>>>(x)"', "// k<<<1, 0, s>>>(x)", "/* <<< */ a"])
def test_ignores_comments_and_strings(code):
    assert find_launches(code) == []


@pytest.mark.parametrize("code", ["k<<<1, 0, s>>>;", "k<<<1, 0", "<<<1, 0, s>>>(x)", "k<<<1>>>(x)"])
def test_refuses_incomplete_launch(code):
    with pytest.raises(OpgenError, match="OPG905"):
        find_launches(code)


def test_keeps_lines():
    text = "int a;\nk<<<1,\n  0, s>>>(\n  x);\nint b;\n"
    out = rewrite(text, {"k": "OPGEN_KERNEL_AIV_ONLY"}, Path("/p/main.asc"))
    assert out.startswith('#line 1 "/p/main.asc"\n')
    body = out.split("\n", 1)[1]
    assert body.split("\n").index("int b;") == text.split("\n").index("int b;")
    assert 'LaunchProgram<0>("k", OPGEN_KERNEL_AIV_ONLY, (1), ( s), [&] { k(\n  x); })' in body
    assert "LaunchProgram<5>(" in rewrite(text, {}, Path("/p/main.asc"), 5)


@pytest.mark.parametrize(
    ("declaration", "kind"),
    [
        ("__global__ __vector__ void k(int)", "OPGEN_KERNEL_AIV_ONLY"),
        ("__vector__ __global__ __aicore__ void k(int)", "OPGEN_KERNEL_AIV_ONLY"),
        ('extern "C" __global__ __cube__ void k(int)', "OPGEN_KERNEL_AIC_ONLY"),
        ("__global__ __mix__(1, 2) void k(int)", "OPGEN_KERNEL_MIX_AIC_1_2"),
        ("__mix__(1,1) __global__ void k(int)", "OPGEN_KERNEL_MIX_AIC_1_1"),
        ('extern "C" __global__ __aicore__ void k(int)', "OPGEN_KERNEL_AUTO"),
        # the instructions that it reaches tell; see test_cores of the emulation
        ("__global__ __aicore__ void k(int) { Mmad(a, b); }", "OPGEN_KERNEL_AUTO"),
    ],
)
def test_kernel_kind(declaration, kind):
    assert kernel_kinds([declaration]) == {"k": kind}


# ---- Programs whose kernels are compiled once per core kind --------------------------------------

PROGRAM = """
#include <cstdio>
#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;

template <int step>
struct Bodies {
    template <int32_t CORE_TYPE = %(kind)s>
    __aicore__ inline void operator()(GM_ADDR y);
    template <>
    __aicore__ inline void operator()<AIC>(GM_ADDR y)
    {
        LocalTensor<half> a(TPosition::A2, 0, 256), b(TPosition::B2, 0, 256);
        LocalTensor<float> c(TPosition::CO1, 0, 256);
        if (GetBlockNum() > 100) {
            Mmad(c, a, b, MmadParams(16, 16, 16, false, 0, false, false, false));
        }
        y[GetBlockIdx()] = step;
    }
    template <>
    __aicore__ inline void operator()<AIV>(GM_ADDR y)
    {
        LocalTensor<float> x(TPosition::VECCALC, 0, 64);
        if (GetBlockNum() > 100) Adds(x, x, 1.0f, 64);
        y[10 + GetBlockIdx()] = step + 100;
    }
};

template <class Op>
__global__ __aicore__ void Adapter(GM_ADDR y) { Op op; op(y); }

__global__ __aicore__ void Vectors(GM_ADDR y) { y[20 + GetBlockIdx()] = 7; }

template <class Op>
void Run(aclrtStream stream, uint8_t* y) { Adapter<Op><<<2, nullptr, stream>>>(y); }

int main()
{
    aclInit(nullptr);
    aclrtStream stream;
    aclrtSetDevice(0);
    aclrtCreateStream(&stream);
    uint8_t* y;
    aclrtMalloc(reinterpret_cast<void**>(&y), 32, ACL_MEM_MALLOC_HUGE_FIRST);
    for (int i = 0; i < 32; ++i) y[i] = 0;
    Run<Bodies<1>>(stream, y);
    aclrtSynchronizeStream(stream);
    for (int i = 0; i < 32; ++i) printf("%%d ", y[i]);
    Run<Bodies<2>>(stream, y);
    Vectors<<<3, nullptr, stream>>>(y);
    aclrtSynchronizeStream(stream);
    for (int i = 0; i < 32; ++i) printf("%%d ", y[i]);
    return 0;
}
"""


@pytest.mark.parametrize(
    ("given", "flags"),
    [((), ["-DCATLASS_ARCH=2201"]), (("CATLASS_ARCH",), []), (("OTHER",), ["-DCATLASS_ARCH=2201"])],
)
def test_architecture_of_a_library(given, flags):
    text = "#if (defined(CATLASS_ARCH) && CATLASS_ARCH == 2201)"
    assert architecture_macros(["int x;", text], 2201, given) == flags
    assert architecture_macros(["int x;"], 2201, given) == []


@pytest.mark.parametrize("kind", ["g_coreType", "AscendC::g_coreType"])
def test_bodies_per_kind(tmp_path: Path, kind: str):
    source = tmp_path / "p.asc"
    source.write_text(PROGRAM % {"kind": kind})
    done = run_program(source, [], ProgramOptions(mode="fast"), cwd=tmp_path)
    assert done.clean, done.output
    values = [int(v) for v in done.output.split()]

    def want(step: int, third: list[int]) -> list[int]:
        return [step] * 2 + [0] * 8 + [step + 100] * 4 + [0] * 6 + third + [0] * 9

    assert values == want(1, [0] * 3) + want(2, [7] * 3)
    assert done.launches == 3


# A source without device code is compiled once, so that what its static objects do is done once.
def test_sources_without_kernels_are_there_once(tmp_path: Path):
    (tmp_path / "kernel.asc").write_text(
        """#include "kernel_operator.h"
        __global__ __aicore__ void Fill(GM_ADDR y) {
        #ifdef __DAV_CUBE__
            y[0] = 1;
        #else
            y[1] = 2;
        #endif
        }
        void Launch(void* stream, uint8_t* y) { Fill<<<1, nullptr, stream>>>(y); }
        """,
        encoding="utf-8",
    )
    main = tmp_path / "main.cpp"
    main.write_text(
        """#include <cstdio>
        #include "acl/acl.h"
        void Launch(void* stream, uint8_t* y);
        static int made = printf("made ");
        int main() {
            aclInit(nullptr);
            aclrtStream stream;
            aclrtSetDevice(0);
            aclrtCreateStream(&stream);
            uint8_t* y;
            aclrtMalloc(reinterpret_cast<void**>(&y), 32, ACL_MEM_MALLOC_HUGE_FIRST);
            y[0] = y[1] = 0;
            Launch(stream, y);
            aclrtSynchronizeStream(stream);
            printf("%d %d", y[0], y[1]);
        }
        """,
        encoding="utf-8",
    )
    options = ProgramOptions(mode="fast", sources=(tmp_path / "kernel.asc",))
    result = run_program(main, [], options, cwd=tmp_path)
    assert result.output == "made 0 2"


# A pool in UB that only the vector cores of a mixed kernel set up, as public libraries have it.
POOL = """#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;
__global__ __mix__(1, 2) void Copy(GM_ADDR x) {
    TPipe pipe;
    TBufPool<TPosition::VECCALC, 16> pool;
    if (ASCEND_IS_AIV || FORGOTTEN) pipe.InitBufPool(pool, 1024);
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pool.InitBuffer(queue, 2, 256);
    GlobalTensor<float> all;
    all.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x) + 64 * (1 + GetBlockIdx()));
    auto tile = queue.AllocTensor<float>();
    DataCopy(tile, all, 64);
    queue.EnQue(tile);
    tile = queue.DeQue<float>();
    if ASCEND_IS_AIV DataCopy(all[128], tile, 64);
    queue.FreeTensor(tile);
    pool.Reset();
}
int main() {
    aclInit(nullptr);
    aclrtStream stream;
    aclrtSetDevice(0);
    aclrtCreateStream(&stream);
    float* x;
    aclrtMalloc(reinterpret_cast<void**>(&x), 5 * 256, ACL_MEM_MALLOC_HUGE_FIRST);
    for (int i = 0; i < 320; ++i) x[i] = i;
    Copy<<<1, nullptr, stream>>>(reinterpret_cast<uint8_t*>(x));
    if (aclrtSynchronizeStream(stream) != 0) return 2;
    return x[192] == 64 && x[319] == 191 ? 0 : 3;
}
"""


@pytest.mark.parametrize("mode", ["fast", "check"])
def test_a_pool_of_the_vector_cores(tmp_path: Path, mode: str):
    program = tmp_path / "pool.asc"
    program.write_text(POOL.replace("FORGOTTEN", "false"), encoding="utf-8")
    result = run_program(program, [], ProgramOptions(mode=mode), cwd=tmp_path)
    assert result.clean, (result.exit_code, result.output, result.findings)


def test_a_pool_that_vector_cores_forget(tmp_path: Path):
    program = tmp_path / "pool.asc"
    text = POOL.replace("ASCEND_IS_AIV || FORGOTTEN", "false")
    program.write_text(text, encoding="utf-8")
    result = run_program(program, [], ProgramOptions(mode="check"), cwd=tmp_path)
    assert [f["check"] for f in result.findings][:1] == ["ErrorBuffer4"]
