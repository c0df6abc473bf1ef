"""Programs of repositories: headers that build files add, byte order marks, compiler's names."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program
from msopgen_wrap.foreign.repository_sources import program_folders

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
