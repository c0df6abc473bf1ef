"""Our 8.1 project built by a real CANN's CMake functions, scripts and makeself.

Only what needs a machine with full CANN is stood in for: opbuild, the libraries to link against and
the device compiler (binary packages are switched off).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from msopgen_wrap.build.toolchain import find_toolchain
from msopgen_wrap.cann_discovery import find_cann
from msopgen_wrap.project.cann_project import (
    CannOptions,
    render_cann_project,
    write_msopgen_project,
)
from msopgen_wrap.render.files import GeneratedFile

from .conftest import make_spec

pytestmark = [
    pytest.mark.cann,
    pytest.mark.skipif(
        not os.environ.get("OPGEN_CANN_DIR"), reason="OPGEN_CANN_DIR names no CANN install or tree"
    ),
]

OP_BUILD = """#!/bin/sh
out=$2
echo 'int op_proto;' > "$out/op_proto.cc"
echo '// proto' > "$out/op_proto.h"
echo '// aclnn' > "$out/aclnn_sample_add.h"
echo 'int aclnnSampleAdd() { return 0; }' > "$out/aclnn_sample_add.cpp"
for unit in ascend910b ascend910_93; do
    cat > "$out/aic-$unit-ops-info.ini" <<EOF
[SampleAdd]
input0.name=x
input0.paramType=required
input0.dtype=float16,float32
input0.format=ND,ND
output0.name=z
output0.paramType=required
output0.dtype=float16,float32
output0.format=ND,ND
opFile.value=sample_add
opInterface.value=sample_add
EOF
done
"""
HOST = """#include "register/op_def_registry.h"
namespace ops {
class SampleAdd : public OpDef {
public:
    explicit SampleAdd(const char* name) : OpDef(name) {}
};
OP_ADD(SampleAdd);
}
"""


@pytest.fixture
def toolkit(tmp_path):
    """A CANN of real headers and real build scripts, with stand-ins for its binaries."""
    tree = find_cann(os.environ["OPGEN_CANN_DIR"])
    if tree is None or tree.style != "8.1" or tree.project_template is None:
        pytest.skip("the tree has no 8.x project template")
    root = tmp_path / "toolkit"
    for folder in ("lib64", "toolkit/tools/opbuild", "compiler", "tools", "runtime"):
        (root / folder).mkdir(parents=True)
    (root / "include").symlink_to(tree.host_includes[0])
    templates = tree.project_template.parent.parent
    shutil.copytree(templates, root / "tools/op_project_templates")
    for name in ("compiler", "runtime"):
        info = tree.root / name / "version.info"
        if info.is_file():
            shutil.copyfile(info, root / name / "version.info")
    source = tmp_path / "empty.cpp"
    source.write_text("")
    tool = find_toolchain().cxx
    for lib in ("exe_graph", "register", "tiling_api", "ascendcl", "nnopbase", "graph"):
        out = root / "lib64" / f"lib{lib}.so"
        subprocess.run([tool, "-shared", "-fPIC", "-o", str(out), str(source)], check=True)
    subprocess.run([tool, "-c", "-o", str(tmp_path / "e.o"), str(source)], check=True)
    archive = root / "lib64/librt2_registry.a"
    subprocess.run(["ar", "rc", str(archive), str(tmp_path / "e.o")], check=True)
    op_build = root / "toolkit/tools/opbuild/op_build"
    op_build.write_text(OP_BUILD)
    op_build.chmod(0o755)
    return tree, root


@pytest.fixture
def toolkit_9(toolkit, tmp_path):
    """The same with the CMake functions of CANN 9 (an install or an asc-devkit checkout)."""
    if not os.environ.get("OPGEN_CANN9_DIR"):
        pytest.skip("OPGEN_CANN9_DIR names no CANN 9 install or asc-devkit tree")
    base = Path(os.environ["OPGEN_CANN9_DIR"])
    found = [base / "cmake/asc", base / "compiler/tikcpp/ascendc_kernel_cmake"]
    functions = next(f for f in found if (f / "asc-config.cmake").is_file())
    _, root = toolkit
    target = root / "compiler/tikcpp/ascendc_kernel_cmake"
    shutil.copytree(functions, target)
    makeself = target / "fwk_modules/util/makeself"
    if not makeself.is_dir():  # a third-party part that the checkout downloads
        template = root / "tools/op_project_templates/ascendc/customize"
        shutil.copytree(template / "cmake/util/makeself", makeself)
    (root / "tools/opbuild").mkdir()
    shutil.copy2(root / "toolkit/tools/opbuild/op_build", root / "tools/opbuild/op_build")
    for lib in ("mmpa", "c_sec", "unified_dlog", "error_manager", "metadef", "platform"):
        shutil.copyfile(root / "lib64/libgraph.so", root / "lib64" / f"lib{lib}.so")
    return root


def test_9_x_project_builds_packs_and_installs(toolkit_9, tmp_path):
    project = tmp_path / "project"
    for file in [
        *render_cann_project([make_spec()], CannOptions("acme", "9.x")),
        GeneratedFile("op_host/sample_add.cpp", '#include "sample_add_tiling.h"\n' + HOST),
        GeneratedFile("op_kernel/sample_add_tiling.h", "#pragma once\n"),
        GeneratedFile("op_kernel/sample_add.cpp", "// kernel\n"),
        GeneratedFile("op_kernel/opgen/blocks.h", "// blocks\n"),
    ]:
        path = project / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        text = file.text.replace("ENABLE_BINARY_PACKAGE True", "ENABLE_BINARY_PACKAGE False")
        path.write_text(text)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ASCEND_HOME_PATH": str(toolkit_9)}
    done = subprocess.run(
        ["bash", str(project / "build.sh")], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (run,) = (project / "build_out").glob("custom_opp_*.run")
    opp = tmp_path / "opp"
    # --force: CANN 9's installer loads the libraries, which the stand-ins do not survive
    command = ["bash", str(run), "--quiet", "--force", f"--install-path={opp}"]
    subprocess.run(command, env=env, check=True)
    vendor = opp / "vendors/acme"
    for name in (
        "op_api/lib/libcust_opapi.so",
        "framework/onnx/libcust_onnx_parsers.so",
        "framework/tensorflow/libcust_tf_parsers.so",
        # the building blocks and the shared tiling struct must travel with the kernel
        "op_impl/ai_core/tbe/acme_impl/dynamic/sample_add.cpp",
        "op_impl/ai_core/tbe/acme_impl/dynamic/sample_add_tiling.h",
        "op_impl/ai_core/tbe/acme_impl/dynamic/opgen/blocks.h",
        "op_impl/ai_core/tbe/config/ascend910_93/aic-ascend910_93-ops-info.json",
    ):
        assert (vendor / name).exists(), name


@pytest.mark.parametrize("through_msopgen", [False, True], ids=["our tree", "msopgen's tree"])
def test_builds_packs_and_installs(toolkit, tmp_path, through_msopgen):
    tree, root = toolkit
    spec = make_spec()
    files = [
        *render_cann_project([spec], CannOptions("acme")),
        GeneratedFile("op_host/sample_add.cpp", HOST),
        GeneratedFile("op_kernel/sample_add.cpp", "// kernel\n"),
        GeneratedFile("op_kernel/opgen/blocks.h", "// blocks\n"),
    ]
    project = tmp_path / "project"
    if through_msopgen:
        write_msopgen_project(tree, [spec], files, project, vendor="acme")
    else:
        for file in files:
            path = project / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text)
    script = project / "build.sh"
    script.write_text(
        script.read_text().replace("-DENABLE_BINARY_PACKAGE=True", "-DENABLE_BINARY_PACKAGE=False")
    )
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ASCEND_HOME_PATH": str(root)}
    done = subprocess.run(
        ["bash", str(script)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (run,) = (project / "build_out").glob("custom_opp_*.run")
    opp = tmp_path / "opp"
    # as CANN's documentation tells users to call it; the package is for this CANN, so it fits
    done = subprocess.run(
        ["bash", str(run), "--quiet", f"--install-path={opp}"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    vendor = opp / "vendors/acme"
    info = (vendor / "version.info").read_text()
    assert f"cann_version={tree.version}" in info
    assert "opgen_version=" in info and "target=npu" in info
    for name in (
        "op_api/lib/libcust_opapi.so",
        "op_api/include/aclnn_sample_add.h",
        "framework/onnx/libcust_onnx_parsers.so",
        "framework/tensorflow/libcust_tf_parsers.so",
        "op_impl/ai_core/tbe/op_tiling/liboptiling.so",
        "op_impl/ai_core/tbe/acme_impl/dynamic/sample_add.py",
        "op_impl/ai_core/tbe/acme_impl/dynamic/opgen/blocks.h",
        "op_impl/ai_core/tbe/config/ascend910_93/aic-ascend910_93-ops-info.json",
        "bin/set_env.bash",
    ):
        assert (vendor / name).exists(), name
    again = subprocess.run(["bash", str(run), f"--install-path={opp}"], env=env, check=False)
    assert again.returncode == 0
    gone = subprocess.run(
        ["bash", str(run), "--uninstall", f"--install-path={opp}"], env=env, check=False
    )
    assert gone.returncode == 0
    assert not vendor.exists()
