"""Programs and unit tests that call kernels through CANN's CPU twin (tikicpulib.h)."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from msopgen_wrap.cli.run_command import command
from msopgen_wrap.foreign import program_sources
from msopgen_wrap.foreign.program_runner import ProgramOptions, ProgramResult, run_program
from msopgen_wrap.foreign.program_sources import SourceKind, is_twin

# Adds tiling.count numbers per block, or subtracts (key 7); results also go to the workspace.
KERNEL = r"""
#include "kernel_operator.h"
#include "add_tiling.h"
#if ORIG_DTYPE_X != DT_FLOAT
#error "the data type macros are missing"
#endif
using namespace AscendC;
extern "C" __global__ __aicore__ void add(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR work, GM_ADDR t)
{
    REGISTER_TILING_DEFAULT(AddTiling);
    GET_TILING_DATA(tiling, t);
    const uint32_t n = tiling.count;
    GlobalTensor<float> gx, gy, gz;
    gx.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * n, n);
    gy.SetGlobalBuffer((__gm__ float*)y + GetBlockIdx() * n, n);
    gz.SetGlobalBuffer((__gm__ float*)GetUserWorkspace(work) + GetBlockIdx() * n, n);
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> in;
    TQue<QuePosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 2, n * sizeof(float));
    pipe.InitBuffer(out, 1, n * sizeof(float));
    auto a = in.AllocTensor<float>();
    DataCopy(a, gx, n);
    in.EnQue(a);
    auto b = in.AllocTensor<float>();
    DataCopy(b, gy, n);
    in.EnQue(b);
    a = in.DeQue<float>();
    b = in.DeQue<float>();
    auto c = out.AllocTensor<float>();
    if (TILING_KEY_IS(7)) {
        Sub(c, a, b, n);
    } else {
        Add(c, a, b, n);
    }
    out.EnQue(c);
    c = out.DeQue<float>();
    DataCopy(gz, c, n);
    GlobalTensor<float> result;
    result.SetGlobalBuffer((__gm__ float*)z + GetBlockIdx() * n, n);
    DataCopy(result, c, n);
    out.FreeTensor(c);
    in.FreeTensor(a);
    in.FreeTensor(b);
}
"""
TILING = "#pragma once\n#include <stdint.h>\nstruct AddTiling { uint32_t count; };\n"
MAIN = r"""
#ifdef ASCENDC_CPU_DEBUG
#include "tikicpulib.h"
#else
#error "not compiled as a CPU twin"
#endif
#ifndef __CCE_KT_TEST__
#error "not compiled as a CPU twin"
#endif
#include "add_tiling.h"
extern "C" __global__ __aicore__ void add(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR work, GM_ADDR t);

int main(int argc, char** argv)
{
    const uint32_t blocks = 2, count = 64;
    const size_t bytes = blocks * count * sizeof(float);
    const size_t given = argc > 1 ? atoi(argv[1]) : bytes;
    float* x = (float*)AscendC::GmAlloc(given);
    float* y = (float*)AscendC::GmAlloc(bytes);
    float* z = (float*)AscendC::GmAlloc(bytes);
    float* work = (float*)AscendC::GmAlloc(bytes);
    AddTiling* tiling = (AddTiling*)AscendC::GmAlloc(sizeof(AddTiling));
    tiling->count = count;
    for (int i = 0; i < (int)(given / 4); ++i) x[i] = i;
    for (int i = 0; i < (int)(blocks * count); ++i) y[i] = 1000;
    AscendC::SetKernelMode(KernelMode::AIV_MODE);
    int bad = 0;
    for (uint64_t key : {1, 7}) {
        ICPU_SET_TILING_KEY(key);
        ICPU_RUN_KF(add, blocks, (uint8_t*)x, (uint8_t*)(y), (uint8_t*)z, (uint8_t*)work,
                    (uint8_t*)tiling);
        for (int i = 0; i < (int)(given / 4); ++i) {
            const float expected = key == 7 ? x[i] - 1000 : x[i] + 1000;
            bad += z[i] != expected || work[i] != expected;
        }
    }
    bad += AscendC::GmGetUserSize((uint64_t)x) != given;
    for (float* p : {x, y, z, work}) AscendC::GmFree(p);
    AscendC::GmFree(tiling);
    bad += AscendC::GmGetUserSize((uint64_t)x) != 0;
    return bad != 0;
}
"""


def _run(folder: Path, files: dict[str, str], *arguments: str, **options) -> ProgramResult:
    paths = []
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    sources = [p for p in paths if p.suffix == ".cpp"]
    given = ProgramOptions(sources=tuple(sources[1:]), timeout=120, **options)
    return run_program(sources[0], arguments, given, cwd=folder)


ADD = {"test/main.cpp": MAIN, "op_kernel/add.cpp": KERNEL, "op_kernel/add_tiling.h": TILING}
ADD_OPTIONS = {"defines": ("ORIG_DTYPE_X=DT_FLOAT",)}


@pytest.mark.parametrize("mode", ["fast", "check"])
def test_kernel_in_its_own_file(tmp_path, mode):
    folders = (tmp_path / "op_kernel",)
    result = _run(tmp_path, ADD, mode=mode, include_dirs=folders, **ADD_OPTIONS)
    assert result.exit_code == 0, result.output
    assert result.clean
    assert result.launches == 2


def test_memory_is_bounded_and_has_the_name_of_its_argument(tmp_path):
    result = _run(
        tmp_path, ADD, "384", include_dirs=(tmp_path / "op_kernel",), mode="check", **ADD_OPTIONS
    )
    assert not result.clean
    found = {f.get("operand", {}).get("name") for f in result.findings}
    assert "x" in found, result.findings


def test_folder_of_main_and_kernels(tmp_path):
    for name, text in ADD.items():
        (tmp_path / Path(name).name).write_text(text, encoding="utf-8")
    (tmp_path / "unrelated.cpp").write_text("#error not part of the program", encoding="utf-8")
    arguments = [str(tmp_path), "-D", "ORIG_DTYPE_X=DT_FLOAT"]
    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert done.return_value == 0, done.output


@pytest.mark.parametrize(
    "files",
    [
        {"a.cpp": "__global__ void k() {}"},
        {"a.cpp": "int main() {}", "b.cpp": "int main() {}"},
        {"main.cpp": "// int main() {}"},
    ],
)
def test_other_folders_are_no_program(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert program_sources.folder_sources(tmp_path) == []


MODES = r"""
#include "tikicpulib.h"
#include "kernel_operator.h"
static int aic, aiv, blocks;
extern "C" __global__ __aicore__ void who()
{
    DECLARE
    if (g_coreType == AscendC::AIC) { ++aic; } else { ++aiv; }
    if (AscendC::GetBlockIdx() >= blocks) blocks = AscendC::GetBlockIdx() + 1;
}
int main()
{
    SET
    ICPU_RUN_KF(who, 3);
    printf("%d %d %d\n", aic, aiv, blocks);
}
"""


@pytest.mark.parametrize(
    ("call", "declared", "cores"),
    [
        ("", "", "0 3 3"),
        ("MIX_MODE", "", "3 6 6"),
        ("AIV_MODE", "", "0 3 3"),
        ("AIC_MODE", "", "3 0 3"),
        ("MIX_AIC_1_1", "", "3 3 3"),
        ("", "KERNEL_TYPE_MIX_AIC_1_1", "3 3 3"),
        ("MIX_MODE", "KERNEL_TYPE_AIV_ONLY", "0 3 3"),
        ("AIV_MODE", "KERNEL_TYPE_MIX_AIC_1_2", "0 3 3"),
    ],
)
def test_cores_of_a_mode(tmp_path, call, declared, cores):
    text = MODES.replace("SET", f"AscendC::SetKernelMode(KernelMode::{call});" if call else "")
    text = text.replace("DECLARE", f"KERNEL_TASK_TYPE_DEFAULT({declared});" if declared else "")
    result = _run(tmp_path, {"main.cpp": text}, mode="check")
    assert result.output.split("\n")[0] == cores
    assert result.clean


def test_free_of_foreign_memory_is_reported(tmp_path):
    text = '#include "tikicpulib.h"\nint main() { int x; AscendC::GmFree(&x); }\n'
    result = _run(tmp_path, {"main.cpp": text})
    assert "was not returned by GmAlloc" in result.output
    assert not result.clean, "a program that launched nothing has tested nothing"


TEMPLATE = r"""
#include "tikicpulib.h"
#include "ascendc/host_api/tiling/template_argument.h"
#define GET_TILING_DATA(name, arg) const int name = *(int*)(arg)
ASCENDC_TPL_ARGS_DECL(Own,
    ASCENDC_TPL_UINT_DECL(MODE, ASCENDC_TPL_8_BW, ASCENDC_TPL_UI_LIST, 3, 5), );
ASCENDC_TPL_SEL(ASCENDC_TPL_ARGS_SEL(ASCENDC_TPL_UINT_SEL(MODE, ASCENDC_TPL_UI_LIST, 3, 5)));
#include "kernel_operator.h"
template <uint32_t MODE> __global__ __aicore__ void own(GM_ADDR y, GM_ADDR tiling)
{
    GET_TILING_DATA(data, tiling);
    if (TILING_KEY_VAR == GET_TPL_TILING_KEY(MODE)) y[0] = data;
}
int main()
{
    uint8_t* y = (uint8_t*)AscendC::GmAlloc(32);
    int* tiling = (int*)AscendC::GmAlloc(sizeof(int));
    *tiling = 42;
    AscendC::SetKernelMode(KernelMode::AIV_MODE);
    ICPU_SET_TILING_KEY(GET_TPL_TILING_KEY(5));
    ICPU_RUN_KF(own<5>, 1, y, (uint8_t*)tiling);
    auto third = [](GM_ADDR y, GM_ADDR t) { own<3>(y + 1, t); };
    ICPU_RUN_KF(third, 1, y, (uint8_t*)tiling);
    printf("%d %d\n", y[0], y[1]);
}
"""


def test_template_kernel_and_own_tiling_macro_in_the_test(tmp_path):
    result = _run(tmp_path, {"main.cpp": TEMPLATE})
    assert result.output.split("\n")[0] == "42 0"
    assert result.launches == 2


GTEST = r"""
#include "gtest/gtest.h"
#include "tikicpulib.h"
extern "C" __global__ __aicore__ void nothing(GM_ADDR x);
TEST(nothing, runs)
{
    uint8_t* x = (uint8_t*)AscendC::GmAlloc(32);
    ICPU_RUN_KF(nothing, 1, x);
    EXPECT_EQ(x[0], 0);
    AscendC::GmFree(x);
}
TEST(nothing, fails) { EXPECT_TRUE(false); }
"""
NOTHING = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void nothing(GM_ADDR x) {}
"""


@pytest.mark.skipif(not Path("/usr/include/gtest/gtest.h").is_file(), reason="no gtest here")
@pytest.mark.parametrize(("chosen", "code"), [("*.runs", 0), ("*.fails", 1)])
def test_gtest_is_linked(tmp_path, chosen, code):
    for name, text in (("test.cpp", GTEST), ("kernel.cpp", NOTHING)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    sources = [str(tmp_path / "test.cpp"), str(tmp_path / "kernel.cpp")]
    done = CliRunner().invoke(
        command, [*sources, f"--gtest_filter={chosen}"], standalone_mode=False
    )
    assert done.return_value == code, done.output


@pytest.mark.parametrize(
    ("text", "twin", "host", "ge", "libraries"),
    [
        ('#include "tikicpulib.h"\nint main() {}', True, True, False, []),
        ("#ifdef A\n  # include <tools/cpudebug/include/stub_def.h>", True, False, False, []),
        (
            '#ifdef __CCE_KT_TEST__\n#include "stub_def.h"\n#endif\nk<<<1, 0, s>>>(x);',
            False,
            True,
            False,
            [],
        ),
        (
            "#ifdef ASCENDC_CPU_DEBUG\n#include <tikicpulib.h>\n#endif\nICPU_RUN_KF(k, 1);",
            True,
            True,
            False,
            [],
        ),
        ('#ifndef __CCE_KT_TEST__\n#else\n#endif\n#include "kern_fwk.h"', True, False, False, []),
        ('// #include "tikicpulib.h"', False, False, False, []),
        ('#include "kernel_operator.h"\n// ge::DT_FLOAT', False, False, False, []),
        ("ge::DataType x;", False, True, True, []),
        ('#include "register/tilingdata_base.h"', False, True, True, []),
        ("k<<<1, 0, s>>>(x);", False, True, False, []),
        ("#include <gtest/gtest.h>\ntesting::Test", False, True, False, ["gtest_main", "gtest"]),
        ("#include <gtest/gtest.h>\nint main(int, char**) {}", False, True, False, ["gtest"]),
        ('#include "gmock/gmock.h"', False, False, False, ["gmock_main", "gmock", "gtest"]),
    ],
)
def test_needs_are_read_from_the_text(text, twin, host, ge, libraries):
    kind = SourceKind.of([text])
    assert (is_twin([text]), kind.host, kind.ge) == (twin, host, ge)
    assert program_sources.framework_libraries([text]) == libraries


# The compiler's own names precede every include of device code.
_OWN = [f"ascendc_emu/{name}.h" for name in ("macros", "types", "compiler_enums")]
_DEVICE = ["ascendc_emu/program.h", "ascendc_emu/compiler_enums.h"]


@pytest.mark.parametrize(
    ("text", "twin", "single", "flags"),
    [
        ("__aicore__ void k() {}", True, False, _OWN),
        ("memcpy(a, b, 4);", True, False, ["tikicpulib.h"]),
        ("memcpy(a, b, 4);", False, False, []),
        (
            "ICPU_RUN_KF(k, 1);",
            True,
            False,
            ["-DOPGEN_HOST_CODE", "ascendc_emu/program.h", "tikicpulib.h"],
        ),
        (
            "k<<<1, 0, s>>>();",
            False,
            True,
            ["-DOPGEN_PROGRAM", "-DOPGEN_HOST_CODE", *_DEVICE],
        ),
        ("k<<<1, 0, s>>>();", False, False, ["-DOPGEN_HOST_CODE", *_DEVICE]),
    ],
)
def test_flags_follow_the_text(text, twin, single, flags):
    given = SourceKind.of([text]).flags(twin=twin, single=single)
    assert [f for f in given if f != "-include"] == flags


def test_a_stub_of_hccl_takes_its_place(tmp_path):
    source = tmp_path / "stub.cpp"
    source.write_text(
        "#define LIB_HCCL_HCCL_H\n#include <cstdint>\n"
        "namespace AscendC { constexpr uint32_t HCCL_GROUP_ID_0 = 0; enum HcclReduceOp { MINE };\n"
        "template <int type> class Hccl { public: int Own() { return 5; } }; }\n"
        '#include "kernel_operator.h"\n#include "lib/hccl/hccl.h"\n'
        "int main() { return AscendC::Hccl<0>().Own() - 5; }\n",
        encoding="utf-8",
    )
    assert run_program(source, [], ProgramOptions(), cwd=tmp_path).exit_code == 0
