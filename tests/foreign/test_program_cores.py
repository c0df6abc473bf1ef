"""Programs whose kernels are compiled once per core kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program
from msopgen_wrap.foreign.program_sources import architecture_macros

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
