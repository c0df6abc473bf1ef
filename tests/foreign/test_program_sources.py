"""Where a program's sources come from: headers of repositories, what examples say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.cli.app import run as opgen
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.example_project import build_file_defines, read_example, run_example
from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program
from msopgen_wrap.foreign.program_sources import cmake_includes
from msopgen_wrap.foreign.repository_sources import program_folders

# --------------------------------------------------------------------------------------------------
# Programs of repositories: headers that build files add, byte order marks, compiler's names.

# The device compiler knows EVENT_ID0 before any include: the macro does not reach its declaration.
KERNEL = """#ifndef EVENT_ID0
#define EVENT_ID0 0
#endif
#include "kernel_operator.h"
#include "tools/step.h"
extern "C" __global__ __aicore__ void put(GM_ADDR y)
{
    AscendC::SetFlag<AscendC::HardEvent::S_MTE3>(EVENT_ID0);
    AscendC::WaitFlag<AscendC::HardEvent::S_MTE3>(EVENT_ID0);
    y[0] = STEP;
}
"""
MAIN = """
#include "acl/acl.h"
#include "aclrtlaunch_put.h"
int main()
{
    uint8_t* y = nullptr;
    aclrtStream stream = nullptr;
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtMalloc(reinterpret_cast<void**>(&y), 64, ACL_MEM_MALLOC_HUGE_FIRST);
    ACLRT_LAUNCH_KERNEL(put)(1, stream, y);
    aclrtSynchronizeStream(stream);
    return y[0] == 7 ? 0 : 3;
}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose build file would add ``shared`` to the include path."""
    files = {
        "build.sh": "",
        "ops/put/op_host/main.cpp": "\ufeff" + MAIN,
        "ops/put/op_kernel/put.cce": "\ufeff" + KERNEL,
        "shared/tools/step.h": "\ufeff#define STEP 7\n",
        "far/away/tools/step.h": "#define STEP 9\n",
        # CANN's own headers are the emulation's, wherever a repository has a copy.
        "cann/kernel_operator.h": "#error not this one\n",
        "cann/only/here.h": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_a_program_of_a_repository(repository):
    kernel = repository / "ops/put/op_kernel/put.cce"
    options = ProgramOptions(sources=(kernel,), opt="-O0")
    result = run_program(repository / "ops/put/op_host/main.cpp", [], options, cwd=repository)
    assert result.clean and result.launches == 1, result


@pytest.mark.parametrize(
    "text, found",
    [
        ('#include "tools/step.h"\n', ["shared"]),
        ("#include <tools/step.h>\n", ["shared"]),
        ('#include "only/here.h"\n', []),
        (
            '#include "nowhere.h"\n#include <sys/types.h>\n#include <stddef.h>\n',
            [],
        ),
    ],
)
def test_folders_that_build_files_add(repository, text, found):
    source = repository / "ops/put/op_kernel/put.cce"
    source.write_text(text)
    assert program_folders([source], []) == [repository / name for name in found]


def test_outside_of_a_repository_nothing_is_searched(repository):
    (repository / "build.sh").unlink()
    kernel = repository / "ops/put/op_kernel/put.cce"
    assert program_folders([kernel], []) == []
    with pytest.raises(OpgenError) as error:
        run_program(kernel, [], ProgramOptions(), cwd=repository)
    assert "tools/step.h" in str(error.value)


# --------------------------------------------------------------------------------------------------
# What an example folder says about itself: macros and scenarios from its CMake file and README.

CMAKE = """
set(CMAKE_ASC_ARCHITECTURES "dav-2201" CACHE STRING "dav-2201, dav-3510")
set(SCENARIO_NUM "1" CACHE STRING "Scenario number (1-3)")
add_definitions(-DSCENARIO_NUM=${SCENARIO_NUM})
add_definitions(-DASC_ARCHITECTURES=${ARCH_NUM})
if (CMAKE_ASC_RUN_MODE STREQUAL "npu")
    target_compile_definitions(demo PRIVATE CYCLES=10000)
else()
    target_compile_definitions(demo PRIVATE CYCLES=1)
endif()
"""
README = """
**场景1：all**
**场景3：DN（仅Ascend 950PR/Ascend 950DT支持）**
cmake .. -DCMAKE_ASC_ARCHITECTURES=dav-2201
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "demo.asc").write_text("int main() { return 0; }\n")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "README.md").write_text(README)
    return tmp_path


def test_macros_of_the_build(folder):
    example = read_example(folder)
    assert example.defines == {"ASC_ARCHITECTURES": "2201", "SCENARIO_NUM": "1", "CYCLES": "1"}
    assert example.scenarios == ("1", "2", "3")


def test_scenarios_of_other_parts_are_skipped(folder, tmp_path_factory):
    example = read_example(folder)
    assert example.other_arch == {"3"}
    scratch = tmp_path_factory.mktemp("scratch")
    result = run_example(example, scratch, scenario="3", soc="ascend910b3", timeout=60)
    assert "not for arch 2201" in result.skipped
    assert result.compiles is None


def test_variables_of_the_readme_reach_scripts_and_program(folder, tmp_path_factory):
    (folder / "demo.asc").write_text(
        '#include <cstdio>\n#include "acl/acl.h"\n#include "kernel_operator.h"\n'
        "__global__ __aicore__ void k() {}\n"
        "int main(int n, char** a) {\n"
        "    aclInit(nullptr); aclrtSetDevice(0); k<<<1, nullptr, nullptr>>>();\n"
        '    FILE* f = fopen("case.txt", "r"); char c = f ? fgetc(f) : 0;\n'
        "    return n == 2 && a[1][0] == c ? 0 : 1;\n}\n"
    )
    (folder / "scripts").mkdir()
    (folder / "scripts" / "gen_data.py").write_text(
        "import sys\nopen('case.txt', 'w').write(sys.argv[2])\n"
    )
    (folder / "README.md").write_text(
        README
        + "```bash\n  CASE=7   # which\n  python3 ../scripts/gen_data.py --case $CASE\n"
        + "  ./demo $CASE   # run\n```\n"
    )
    scratch = tmp_path_factory.mktemp("scratch")
    result = run_example(read_example(folder), scratch, soc="ascend910b3", timeout=60)
    assert (result.compiles, result.runs, result.matches) == (True, True, True), result.detail


def test_a_program_gets_the_macros_of_its_build_file(folder, capfd):
    program = folder / "demo.asc"
    program.write_text(
        '#include "acl/acl.h"\n#include "kernel_operator.h"\n'
        "__global__ __aicore__ void k() {}\n"
        "int main() {\n"
        "    aclInit(nullptr); aclrtSetDevice(0); k<<<1, nullptr, nullptr>>>();\n"
        "    return SCENARIO_NUM;\n}\n"
    )
    assert build_file_defines(program) == {"SCENARIO_NUM": "1"}
    assert opgen(["run", str(program)]) == 1
    assert "with -D SCENARIO_NUM=1 of" in capfd.readouterr().err
    assert opgen(["run", str(program), "-D", "SCENARIO_NUM=0"]) == 0
    assert "with -D" not in capfd.readouterr().err


def test_sources_that_cmake_lists_are_one_program(tmp_path, tmp_path_factory):
    """main.cpp, its kernel and a device function in a file of its own; unlisted.asc stays out."""
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "README.md").write_text("```bash\n  SCENE=3 ARCH=dav-2201\n```\n")
    (folder / "CMakeLists.txt").write_text(
        "# add_executable(demo unlisted.asc)\nadd_library(kernels SHARED\n  kernel.asc)\n"
        "add_executable(demo\n  ${CMAKE_CURRENT_SOURCE_DIR}/main.cpp twice.asc)\n"
    )
    (folder / "unlisted.asc").write_text("#error not a part\n")
    (folder / "twice.asc").write_text(
        '#include "kernel_operator.h"\n__aicore__ int twice(int x) { return 2 * x; }\n'
    )
    (folder / "kernel.asc").write_text(
        '#include "acl/acl.h"\n#include "kernel_operator.h"\n'
        "extern __aicore__ int twice(int x);\n"
        "__global__ __vector__ void k(__gm__ int32_t* y) {\n"
        "    AscendC::GlobalTensor<int32_t> g; g.SetGlobalBuffer(y, 8);\n"
        "    g.SetValue(0, twice(21));\n"
        "    using AscendC::CacheLine;\n"
        "    AscendC::DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE>(g);\n"
        "}\nvoid run(int32_t* y, aclrtStream s) { k<<<1, nullptr, s>>>(y); }\n"
    )
    (folder / "main.cpp").write_text(
        '#include "acl/acl.h"\nvoid run(int32_t* y, aclrtStream s);\n'
        "int main() {\n    aclInit(nullptr); aclrtSetDevice(0);\n    int32_t* y = nullptr;\n"
        "    aclrtMalloc((void**)&y, 64, ACL_MEM_MALLOC_HUGE_FIRST);\n    run(y, nullptr);\n"
        "    aclrtSynchronizeStream(nullptr);\n    int r = *y == 42 ? 0 : 1;\n    aclrtFree(y);\n"
        "    return r;\n}\n"
    )
    example = read_example(folder)
    assert example.program.name == "main.cpp"
    assert [s.name for s in example.sources] == ["kernel.asc", "twice.asc"]
    result = run_example(example, tmp_path_factory.mktemp("scratch"), soc="ascend910b3", timeout=60)
    assert (result.runs, result.matches, result.clean) == (True, True, True), result.detail


CMAKE_INCLUDES = """
set(TEST_ROOT "${CMAKE_CURRENT_LIST_DIR}")
set(SHARED ${TEST_ROOT}/../shared)
set(CANN_PATH "/usr" CACHE STRING "CANN")
set(OTHER /usr)
# include_directories(commented)
include_directories(${OTHER}/include ${CANN_PATH}/include "inc")
target_include_directories(demo PRIVATE ${TEST_ROOT} ${SHARED} ../nowhere)
"""


def test_include_folders_of_the_build_file(tmp_path, monkeypatch):
    """Two neighbours have the header, so only the build file tells which is meant."""
    for name, text in {
        "demo/CMakeLists.txt": CMAKE_INCLUDES,
        "demo/main.cpp": '#include "value.h"\n#include "one.h"\n#include "acl/acl.h"\n'
        '#include "kernel_operator.h"\n__global__ __aicore__ void k() {}\n'
        "int main() { aclInit(nullptr); k<<<1, nullptr, nullptr>>>(); return kValue + kOne; }\n",
        "demo/inc/one.h": "constexpr int kOne = -6;\n",
        "demo/commented/one.h": "constexpr int kOne = 0;\n",
        "shared/value.h": "constexpr int kValue = 6;\n",
        "aside/value.h": "constexpr int kValue = 7;\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    folders = cmake_includes(tmp_path / "demo")
    assert folders == [tmp_path / "demo" / "inc", tmp_path / "demo", tmp_path / "shared"]
    monkeypatch.chdir(tmp_path)
    assert opgen(["run", "demo", "--mode", "fast"]) == 0
