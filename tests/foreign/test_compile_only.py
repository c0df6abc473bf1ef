"""Foreign kernels without data: compiled, and said not to have run."""

import pytest
from kernel_bench.compile_only import compile_op_project, compile_source, is_op_project
from project_sources import FILES

from msopgen_wrap.foreign.project_runner import ProjectRunner

LAUNCHER = """
#include "kernel_operator.h"
#include "acl/acl.h"
__global__ __aicore__ void fill(GM_ADDR x) {
    AscendC::GlobalTensor<int32_t> all;
    all.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(x));
    all.SetValue(0, 1);
}
void launch(aclrtStream stream, uint8_t* x) { fill<<<1, nullptr, stream>>>(x); }
"""


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        if "keep_positive" in name or "_wide" in name:
            continue  # one of its ops has no kernel of its own; other template parameters
        path = tmp_path / "p" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "p"


def test_a_project(project):
    assert is_op_project(project) and not is_op_project(project / "op_host")
    result = compile_op_project(project)
    assert (result.compiles, result.runs, result.matches) == (True, None, None)
    assert "1 kernels by tiling key not compiled" in result.detail


def test_other_template_parameters_are_left_out(project):
    name = "op_host/z_pick_template_wide.cpp"
    (project / name).write_text(FILES[name], encoding="utf-8")
    result = compile_op_project(project)
    assert result.compiles, result.detail
    assert "2 kernels by tiling key not compiled" in result.detail


@pytest.mark.parametrize("again", [False, True], ids=["included", "written"])
def test_a_declaration_that_two_sources_see(project, again):
    definition = project / "op_host" / "scale_rows.cpp"
    more = definition.read_text() if again else f'#include "{definition.name}"\n'
    (project / "op_host" / "scale_rows_more.cpp").write_text(more)
    problems = ProjectRunner(project).declaration("ScaleRows")["problems"]
    assert problems == (["OP_ADD(ScaleRows) appears twice"] if again else [])


def test_a_broken_kernel_of_a_project(project):
    kernel = project / "op_kernel" / "scale_rows.cpp"
    kernel.write_text(kernel.read_text() + "#error not finished\n")
    result = compile_op_project(project)
    assert result.compiles is False and "not finished" in result.detail


def test_ops_for_other_socs_are_left_out(project):
    definition = project / "op_host" / "scale_rows.cpp"
    text = definition.read_text()
    definition.write_text(text.replace('AddConfig("ascend910b")', 'AddConfig("ascend950")'))
    kernel = project / "op_kernel" / "scale_rows.cpp"
    kernel.write_text(kernel.read_text() + "#error for another architecture\n")
    result = compile_op_project(project)
    assert result.compiles, result.detail
    assert "1 of 2 ops are for other SoCs" in result.detail


@pytest.mark.parametrize("broken", [False, True])
def test_a_file_of_kernels_and_launches(tmp_path, broken):
    source = tmp_path / "fill.cpp"
    source.write_text(LAUNCHER.replace("SetValue", "SetValues") if broken else LAUNCHER)
    result = compile_source(source, tmp_path)
    assert result.compiles is not broken and result.runs is None
    assert ("SetValues" in result.detail) is broken
