"""Sources with headers of Python packages: built as extensions and run by a script."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.foreign import extensions
from msopgen_wrap.foreign.example_project import read_example, run_example
from msopgen_wrap.foreign.host_library import with_header_advice
from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

SOURCE = """
#include <pybind11/pybind11.h>
// #include <torch/extension.h>
#include "torch_npu/csrc/core/npu/NPUStream.h"
#include "torch_npu/csrc/framework/OpCommand.h"
#include "kernel_operator.h"
__global__ __aicore__ void count(GM_ADDR x, int from)
{
    for (int i = 0; i < 8; ++i) x[i] = from + i;
    if (from < 0) *reinterpret_cast<volatile int*>(x - x) = 1;
}
static void Count(uintptr_t x, int from)
{
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    at_npu::native::OpCommand::RunOpApi("count", [=]() -> int {
        count<<<1, nullptr, stream>>>(reinterpret_cast<GM_ADDR>(x), from);
        return 0;
    });
}
PYBIND11_MODULE(counting, m) { m.def("count", &Count); }
"""
SCRIPT = """
import ctypes, os, sys, counting
memory = ctypes.create_string_buffer(8)
counting.count(ctypes.addressof(memory), int(sys.argv[1]))
print(list(memory.raw), sorted(os.listdir("build")))
"""
ALONE = "import sys; sys.argv = ['t', '5']\n" + SCRIPT
CMAKE = "# add_library(old SHARED x.asc)\nadd_library(my_ops SHARED count.asc)\n"
OPTIONS = ProgramOptions(mode="check")

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("extension")
    for name, text in {"count.asc": SOURCE, "t.py": SCRIPT, "CMakeLists.txt": CMAKE}.items():
        (root / name).write_text(text, encoding="utf-8")
    return root


@needs_torch
def test_a_script_runs_its_kernels(folder, tmp_path):
    done = run_program(folder / "count.asc", [str(folder / "t.py"), "5"], OPTIONS, cwd=tmp_path)
    assert "[5, 6, 7, 8, 9, 10, 11, 12]" in done.output
    for name in ("counting.so", "libmy_ops.so", "my_ops.so", "libcount.so"):
        assert f"'{name}'" in done.output
    assert "libold.so" not in done.output
    assert (done.exit_code, done.launches, done.failures) == (0, 1, 0) and done.clean


@needs_torch
def test_a_kernel_that_fails_is_found(folder, tmp_path):
    done = run_program(folder / "count.asc", [str(folder / "t.py"), "-1"], OPTIONS, cwd=tmp_path)
    assert done.failures == 1 and not done.clean
    (found,) = [f for f in done.findings if f["check"] == "Trap"]
    line = next(i for i, row in enumerate(SOURCE.split("\n"), 1) if "x - x" in row)
    assert (found["file"], found["line"]) == (str(folder / "count.asc"), line)


@needs_torch
@pytest.mark.parametrize(
    "readme, script, runs, matches, detail",
    [
        (
            "python3 ../t.py 5  # run",
            ALONE,
            True,
            True,
            "",
        ),
        ("", ALONE + "sys.exit(3)\n", True, False, ""),
        ("python3 ../t.py", None, None, None, "no script runs it"),
        ("", "import torch_npu\n", None, None, "torch_npu"),
    ],
)
def test_an_example_that_is_an_extension(tmp_path, readme, script, runs, matches, detail):
    folder = tmp_path / "example"
    folder.mkdir()
    (folder / "count.asc").write_text(SOURCE, encoding="utf-8")
    (folder / "CMakeLists.txt").write_text(CMAKE, encoding="utf-8")
    (folder / "README.md").write_text(readme, encoding="utf-8")
    if script is not None:
        (folder / "t.py").write_text(script, encoding="utf-8")
    if detail == "torch_npu" and importlib.util.find_spec("torch_npu"):
        pytest.skip("torch_npu is here")
    done = run_example(read_example(folder), tmp_path / "scratch", soc="ascend910b3", timeout=120)
    assert (done.compiles, done.runs, done.matches) == (True, runs, matches)
    assert detail in done.detail


@needs_torch
@pytest.mark.parametrize("arguments", [[], ["5"]])
def test_without_a_script_nothing_runs(folder, tmp_path, arguments):
    with pytest.raises(OpgenError) as caught:
        run_program(folder / "count.asc", arguments, OPTIONS, cwd=tmp_path)
    (said,) = caught.value.diagnostics
    assert said.code == "OPG532" and "counting.so" in said.why


@pytest.mark.parametrize(
    ("line", "installed", "package"),
    [
        ("#include <torch/extension.h>", (), "torch"),
        ("#include <ATen/ATen.h>", ("pybind11",), "torch"),
        ('#include "pybind11/numpy.h"', (), "pybind11"),
        ("#include <pybind11/pybind11.h>", ("pybind11",), None),
        ("#include <Python.h>", (), None),
        ("#include <torchlike/a.h>", (), None),
    ],
)
def test_a_missing_package_is_named(monkeypatch, line, installed, package):
    place = {name: Path(name) for name in installed}
    monkeypatch.setattr(extensions, "_package", place.get)
    if package is None:
        extensions.extension(Path("x.asc"), [line])
        return
    with pytest.raises(OpgenError) as caught:
        extensions.extension(Path("x.asc"), [line])
    (said,) = caught.value.diagnostics
    assert said.code == "OPG531" and f"{package} is not installed" in said.what


def test_a_script_for_torch_npu_needs_it(monkeypatch, tmp_path):
    monkeypatch.setattr(extensions, "_package", lambda name: None)
    script = tmp_path / "t.py"
    script.write_text("import torch\nimport torch_npu\n", encoding="utf-8")
    with pytest.raises(OpgenError) as caught:
        extensions.script_command(script, [], tmp_path / "x.so", soc="ascend910b3", check=True)
    assert caught.value.diagnostics[0].code == "OPG706"


@pytest.mark.parametrize(
    ("header", "words"),
    [("ATen/ATen.h", "code for PyTorch"), ("atvoss/x.h", "header atvoss/x.h is not found")],
)
def test_host_code_for_pytorch_is_told_as_that(tmp_path, header, words):
    failed = OpgenError(Diagnostic("OPG514", f"{header}: No such file or directory"))
    (said,) = with_header_advice(failed, tmp_path).diagnostics
    assert said.code == "OPG514" and words in said.what


def test_the_emulation_is_there_before_torch_npus_runtime(monkeypatch, tmp_path):
    """The runtime tells it of the memory it gives out, if it is there when that loads."""
    monkeypatch.setattr(extensions, "_package", lambda name: tmp_path)
    monkeypatch.setattr(
        "msopgen_wrap.npu.selection.child_environment",
        lambda variables, **options: (variables | {"LD_PRELOAD": "libfirst.so"}, None),
    )
    (tmp_path / "t.py").write_text("import torch_npu\n")
    _, variables = extensions.script_command(
        tmp_path / "t.py", [], tmp_path / "lib.so", soc="ascend910b3", check=True
    )
    emulation, first = variables["LD_PRELOAD"].split(":")
    assert Path(emulation).name.startswith("libascendc_emulation-") and first == "libfirst.so"


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("import torch_npu\n", True),
        ("import torch, torch_npu.npu as n\n", True),
        ("from torch_npu.contrib import x\n", True),
        ("with open('x') as f:\n    import torch_npu\n", True),
        ("try:\n    import torch_npu\nexcept ImportError:\n    torch_npu = None\n", False),
        ("import os\nif 'NPU' in os.environ:\n    import torch_npu\n", False),
        ("def on_npu():\n    import torch_npu\n", False),
        ("text = '''\nimport torch_npu\n'''\n", False),
        ("from . import torch_npu\n", False),
        ("import torch_npu_tools\n", False),
        ("import torch_npu ]\n", False),
    ],
)
def test_only_an_import_that_is_always_made_needs_the_package(text, needed):
    assert extensions.needs_package(text, "torch_npu") is needed


def test_the_library_has_the_names_of_its_build_files(tmp_path):
    """Extensions that register a TORCH_LIBRARY alone are loaded by file name."""
    folder = tmp_path / "csrc"
    folder.mkdir()
    setup = "setup(ext_modules=[NpuExtension(\n    name='my_ops._C', sources=['csrc/add.asc'])])"
    (tmp_path / "setup.py").write_text(setup, encoding="utf-8")
    (folder / "CMakeLists.txt").write_text("add_library(add_ops SHARED add.asc)", encoding="utf-8")
    names = extensions._library_names(folder / "add.asc", ["TORCH_LIBRARY(my_ops, m) {}"])
    assert set(names) >= {"libadd_ops.so", "_C.so", "libadd.so", "add.so"}


LIBRARY = """
#include <torch/library.h>
#include <ATen/ATen.h>
#include "kernel_operator.h"
__global__ __aicore__ void plus_one(GM_ADDR x, GM_ADDR y, int n)
{
    for (int i = 0; i < n; ++i) {
        reinterpret_cast<__gm__ float*>(y)[i] = reinterpret_cast<__gm__ float*>(x)[i] + 1;
    }
}
static at::Tensor PlusOne(const at::Tensor& x)
{
    at::Tensor y = at::empty_like(x);
    plus_one<<<1, nullptr, nullptr>>>(static_cast<GM_ADDR>(x.data_ptr()),
        static_cast<GM_ADDR>(y.data_ptr()), static_cast<int>(x.numel()));
    return y;
}
TORCH_LIBRARY(plus, m) { m.def("one(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(plus, CPU, m) { m.impl("one", &PlusOne); }
"""
GUARDED = """
import torch
try:
    import torch_npu
except ImportError:
    torch_npu = None
torch.ops.load_library("build/libplus.so")
print(torch.ops.plus.one(torch.ones(3)).tolist())
"""


@pytest.mark.slow
@needs_torch
def test_a_torch_library_without_a_module_runs(tmp_path):
    (tmp_path / "plus.asc").write_text(LIBRARY, encoding="utf-8")
    (tmp_path / "t.py").write_text(GUARDED, encoding="utf-8")
    done = run_program(tmp_path / "plus.asc", [str(tmp_path / "t.py")], OPTIONS, cwd=tmp_path)
    assert "[2.0, 2.0, 2.0]" in done.output
    assert (done.exit_code, done.launches, done.failures) == (0, 1, 0)
