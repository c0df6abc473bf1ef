"""Functions of an op and kernels of a project that crash, do not end, or end the process."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import threading

import numpy as np
import pytest

from msopgen_wrap.cli.app import run as opgen
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.project_runner import ProjectRunner
from msopgen_wrap.run.tensors import Tensor

# ---- op_host functions and kernels of a project that a signal or an exception ends ---------------

DYING_HOST = """
#include <cstdlib>
#include <stdexcept>
#include "register/op_def_registry.h"

static int Divide(int64_t by) { return 100 / static_cast<int>(by); }  // DIVIDE
static int64_t Dive(volatile int64_t* p, int64_t n) {
    volatile char room[512];
    room[n & 511] = 1;
    return *p == 12345 ? 0 : Dive(p, n + 1) + room[(n + 7) & 511];
}
static ge::graphStatus Fail(int64_t how, const gert::Shape* absent) {
    volatile int64_t zero = 0;
    if (how == 1) return absent->GetDimNum() == 7 ? ge::GRAPH_FAILED : ge::GRAPH_SUCCESS;
    if (how == 2) return Divide(zero) == 1 ? ge::GRAPH_FAILED : ge::GRAPH_SUCCESS;
    if (how == 3) std::abort();  // ABORT
    if (how == 4) throw std::out_of_range("no such dim");  // THROW
    if (how == 5) return Dive(&zero, 0) == 1 ? ge::GRAPH_FAILED : ge::GRAPH_SUCCESS;
    if (how == 6) *reinterpret_cast<volatile int*>(zero + 8) = 3;  // WRITE
    return ge::GRAPH_SUCCESS;
}
static int64_t How(const gert::RuntimeAttrs* attrs, int64_t base) {
    return *attrs->GetInt(0) - base;
}
static ge::graphStatus InferShape(gert::InferShapeContext* context) {
    const gert::Shape* const absent = context->GetOptionalInputShape(1);
    if (Fail(How(context->GetAttrs(), 10), absent) != ge::GRAPH_SUCCESS) {
        return ge::GRAPH_FAILED;
    }
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus InferDataType(gert::InferDataTypeContext* context) {
    if (Fail(How(context->GetAttrs(), 20), nullptr) != ge::GRAPH_SUCCESS) return ge::GRAPH_FAILED;
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus Tiling(gert::TilingContext* context) {
    if (Fail(How(context->GetAttrs(), 30), nullptr) != ge::GRAPH_SUCCESS) return ge::GRAPH_FAILED;
    context->SetBlockDim(1);
    const int64_t how = How(context->GetAttrs(), 40);
    context->SetTilingKey(how > 0 ? how : 0);
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}
namespace ops {
class DiesHere : public OpDef {
public:
    explicit DiesHere(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Input("mask").ParamType(OPTIONAL).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Attr("how").AttrType(OPTIONAL).Int(0);
        this->SetInferShape(InferShape).SetInferDataType(InferDataType);
        this->AICore().SetTiling(Tiling).AddConfig("ascend910b");
    }
};
OP_ADD(DiesHere);
}
"""
DYING_KERNEL = """
#include <cassert>
#include <stdexcept>
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void dies_here(GM_ADDR x, GM_ADDR mask, GM_ADDR y,
                                                GM_ADDR w, GM_ADDR t)
{
    volatile int* pointer = nullptr;
    if (TILING_KEY_IS(1)) *pointer = 3;  // KERNEL WRITE
    if (TILING_KEY_IS(4)) throw std::runtime_error("no kernel throws");  // KERNEL THROW
    *reinterpret_cast<__gm__ float*>(y) = 7;
}
"""


@pytest.fixture(scope="module")
def dying_project(tmp_path_factory):
    root = tmp_path_factory.mktemp("crashes")
    for name, text in {
        "op_host/dies_here.cpp": DYING_HOST,
        "op_kernel/dies_here.cpp": DYING_KERNEL,
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def dying_runner(dying_project):
    return ProjectRunner(dying_project)


def line_of_mark(mark):
    """Return the 1-based line of a marked statement."""
    text = DYING_KERNEL if mark.startswith("KERNEL") else DYING_HOST
    return next(i for i, row in enumerate(text.split("\n"), 1) if mark in row)


STEPS = [(10, "InferShape"), (20, "InferDataType"), (30, "TilingFunc")]


@pytest.mark.parametrize(("base", "step"), STEPS)
@pytest.mark.parametrize(
    ("how", "mark", "words"),
    [
        (1, "return absent->", "SIGSEGV: read of address 0x"),
        (2, "// DIVIDE", "SIGFPE: an integer division by zero"),
        (3, "// ABORT", "SIGABRT"),
        (4, "// THROW", "an exception: no such dim"),
        (5, "Dive(p, n + 1)", "SIGSEGV: the stack is full"),
        (6, "// WRITE", "SIGSEGV: write to address 0x8, a null pointer"),
    ],
)
def test_a_host_function_that_dies_is_an_error(dying_runner, base, step, how, mark, words):
    x = Tensor.from_float(np.ones(3), "float32")
    with pytest.raises(OpgenError) as caught:
        dying_runner.run("DiesHere", {"x": x}, {"how": base + how})
    (said,) = caught.value.diagnostics
    assert said.code == "OPG530"
    assert said.what.startswith("op DiesHere on Ascend910B3 (x=float32[3]") and words in said.what
    assert f"how={base + how}): {step} died of" in said.what
    if how != 4:  # see test_an_exception_is_named_with_its_line
        assert said.location.file.endswith("op_host/dies_here.cpp")
        # A pointer may be read in the inlined function one line later.
        assert abs(said.location.line - line_of_mark(mark)) <= (how == 5)
    assert said.fix
    # The process is as good as before.
    done = dying_runner.run("DiesHere", {"x": x})
    assert done.outputs["y"].to_float()[0] == 7


@pytest.mark.parametrize("mode", ["check", "fast"])
@pytest.mark.parametrize(
    ("how", "mark", "words"),
    [
        (1, "KERNEL WRITE", "SIGSEGV: write to address 0x0"),
        (4, "KERNEL THROW", "the kernel threw: no kernel throws"),
    ],
)
def test_a_kernel_that_dies_is_an_error(dying_runner, how, mark, words, mode):
    x = Tensor.from_float(np.ones(3), "float32")
    with pytest.raises(OpgenError) as caught:
        dying_runner.run("DiesHere", {"x": x}, {"how": 40 + how}, mode=mode)
    (said,) = caught.value.diagnostics
    assert said.code == "OPG530" and words in said.what
    assert how == 4 or said.location.line == line_of_mark(mark)
    assert dying_runner.run("DiesHere", {"x": x}, mode=mode).outputs["y"].to_float()[0] == 7


@pytest.mark.parametrize(
    ("how", "mark"), [(14, "// THROW"), (24, "// THROW"), (34, "// THROW"), (44, "KERNEL THROW")]
)
def test_an_exception_is_named_with_its_line(dying_project, how, mark):
    # In a process of its own: where PyTorch has loaded the C++ library for all, throws do not come
    # by the emulation, which then knows the text of an exception and not its line.
    arguments = ["run", str(dying_project), "-i", "x=float32[3]", "-a", f"how={how}", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "msopgen_wrap.cli", *arguments], capture_output=True, text=True
    )
    (said,) = json.loads(done.stdout)["diagnostics"]
    assert done.returncode != 0 and said["code"] == "OPG530"
    assert said["line"] == line_of_mark(mark)


def test_the_command_says_it_and_writes_nothing(dying_project, tmp_path, capsys):
    arguments = ["run", str(dying_project), "-i", "x=float32[3]", "-a", "how=31", "--json"]
    assert opgen([*arguments, "--save", str(tmp_path / "out")]) != 0
    (said,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert said["code"] == "OPG530" and said["line"] == line_of_mark("return absent->")
    assert not (tmp_path / "out").exists()


def test_static_initialisation_that_dies_is_an_error(tmp_path):
    (tmp_path / "op_host").mkdir()
    (tmp_path / "op_kernel").mkdir()
    (tmp_path / "op_kernel/dies_here.cpp").write_text(DYING_KERNEL)
    text = DYING_HOST + "static volatile int* volatile g_null = nullptr;\nint g_value = *g_null;\n"
    (tmp_path / "op_host/dies_here.cpp").write_text(text)
    with pytest.raises(OpgenError) as caught:
        ProjectRunner(tmp_path)
    (said,) = caught.value.diagnostics
    assert said.code == "OPG530" and "initialisation of the host library" in said.what
    assert said.location.line == text.count("\n")
    # The loader's lock must not be left behind: any other thread would wait for it for ever.
    thread = threading.Thread(target=ctypes.CDLL, args=("libm.so.6",), daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()


# ---- Functions of an op and kernels of a project that do not end, or that end the process --------

STAYING_HOST = """
#include <csignal>
#include <cstdlib>
#include <unistd.h>
#include "register/op_def_registry.h"

static void Stay(int64_t how) {
    volatile int64_t zero = 0;
    if (how == 1) while (zero == 0) {}  // LOOP
    if (how == 2) exit(0);  // EXIT
    if (how == 3) _exit(0);  // _EXIT
    if (how == 4) quick_exit(0);  // QUICK
    if (how == 5) raise(SIGSTOP);  // STOP
}
static int64_t How(const gert::RuntimeAttrs* attrs, int64_t base) {
    return *attrs->GetInt(0) - base;
}
static ge::graphStatus InferShape(gert::InferShapeContext* context) {
    Stay(How(context->GetAttrs(), 10));
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus InferDataType(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus Tiling(gert::TilingContext* context) {
    Stay(How(context->GetAttrs(), 20));
    context->SetBlockDim(3);
    const int64_t how = How(context->GetAttrs(), 30);
    context->SetTilingKey(how > 0 ? how : 0);
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}
namespace ops {
class StaysHere : public OpDef {
public:
    explicit StaysHere(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Attr("how").AttrType(OPTIONAL).Int(0);
        this->SetInferShape(InferShape).SetInferDataType(InferDataType);
        this->AICore().SetTiling(Tiling).AddConfig("ascend910b");
    }
};
OP_ADD(StaysHere);
}
"""
STAYING_KERNEL = """
#include <csignal>
#include <cstdlib>
#include <unistd.h>
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void stays_here(GM_ADDR x, GM_ADDR y, GM_ADDR w, GM_ADDR t)
{
    volatile int zero = 0;
    if (TILING_KEY_IS(1)) while (zero == 0) {}  // KERNEL LOOP
    if (TILING_KEY_IS(2)) exit(0);  // KERNEL EXIT
    if (TILING_KEY_IS(3)) _exit(0);  // KERNEL _EXIT
    if (TILING_KEY_IS(4)) quick_exit(0);  // KERNEL QUICK
    if (TILING_KEY_IS(5)) raise(SIGSTOP);  // KERNEL STOP
    for (int i = 0; i < 3; ++i) reinterpret_cast<__gm__ float*>(y)[i] = 7;
}
"""
CALLS = {2: "exit(0)", 3: "_exit(0)", 4: "quick_exit(0)", 5: "raise(SIGSTOP)"}
MARKS = {1: "LOOP", 2: "EXIT", 3: "_EXIT", 4: "QUICK", 5: "STOP"}


@pytest.fixture(scope="module")
def staying_project(tmp_path_factory):
    root = tmp_path_factory.mktemp("late")
    for name, text in {
        "op_host/stays_here.cpp": STAYING_HOST,
        "op_kernel/stays_here.cpp": STAYING_KERNEL,
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def staying_runner(staying_project):
    return ProjectRunner(staying_project)


def line_of_call(how, kernel):
    text, mark = (STAYING_KERNEL, "// KERNEL ") if kernel else (STAYING_HOST, "// ")
    return next(i for i, r in enumerate(text.split("\n"), 1) if r.endswith(mark + MARKS[how]))


@pytest.mark.parametrize(("base", "step"), [(10, "InferShape"), (20, "TilingFunc"), (30, "")])
@pytest.mark.parametrize("how", [1, 2, 3, 4, 5])
def test_each_is_an_error_with_its_line(staying_runner, monkeypatch, base, step, how):
    monkeypatch.setenv("OPGEN_TIMEOUT", "1")
    x = Tensor.from_float(np.ones(3), "float32")
    with pytest.raises(OpgenError) as caught:
        staying_runner.run("StaysHere", {"x": x}, {"how": base + how})
    (said,) = caught.value.diagnostics
    assert said.code == ("OPG533" if how == 1 else "OPG530")
    assert said.what.startswith("op StaysHere on Ascend910B3") and step in said.what
    assert said.location.line == line_of_call(how, kernel=base == 30), said
    if how == 1:
        assert "did not end within 1 s" in said.what
    else:
        assert f"{CALLS[how]}, which ends the process" in said.what
    if base == 30 and how == 1:
        assert "AIV 0, AIV 1, AIV 2 at" in said.why
    # The process is as good as before. A busy machine may need more than the second.
    monkeypatch.delenv("OPGEN_TIMEOUT")
    done = staying_runner.run("StaysHere", {"x": x})
    assert done.outputs["y"].to_float()[0] == 7 and not done.result.findings


@pytest.mark.parametrize("how", [11, 22, 31, 32])
def test_the_command_fails(staying_project, how):
    command = [
        sys.executable,
        "-m",
        "msopgen_wrap.cli",
        "run",
        str(staying_project),
        "-i",
        "x=float32[3]",
    ]
    command += ["-a", f"how={how}", "--json", "--timeout", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    (said,) = json.loads(done.stdout)["diagnostics"]
    assert said["code"] == ("OPG533" if how % 10 == 1 else "OPG530") and said["line"] > 0
