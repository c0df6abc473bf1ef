"""``aclrtlaunch_<kernel>.h``: generated launch headers, and a program that starts through one."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.cli.app import run as opgen
from msopgen_wrap.foreign.launch_source import add_launchers, kernel_parameters

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
