"""Functions of an op and kernels of a project that do not end, or that end the process."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.project_runner import ProjectRunner
from msopgen_wrap.run.tensors import Tensor

HOST = """
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
KERNEL = """
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
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("late")
    for name, text in {"op_host/stays_here.cpp": HOST, "op_kernel/stays_here.cpp": KERNEL}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def runner(project):
    return ProjectRunner(project)


def line_of(how, kernel):
    text, mark = (KERNEL, "// KERNEL ") if kernel else (HOST, "// ")
    return next(i for i, r in enumerate(text.split("\n"), 1) if r.endswith(mark + MARKS[how]))


@pytest.mark.parametrize(("base", "step"), [(10, "InferShape"), (20, "TilingFunc"), (30, "")])
@pytest.mark.parametrize("how", [1, 2, 3, 4, 5])
def test_each_is_an_error_with_its_line(runner, monkeypatch, base, step, how):
    monkeypatch.setenv("OPGEN_TIMEOUT", "1")
    x = Tensor.from_float(np.ones(3), "float32")
    with pytest.raises(OpgenError) as caught:
        runner.run("StaysHere", {"x": x}, {"how": base + how})
    (said,) = caught.value.diagnostics
    assert said.code == ("OPG533" if how == 1 else "OPG530")
    assert said.what.startswith("op StaysHere on Ascend910B3") and step in said.what
    assert said.location.line == line_of(how, kernel=base == 30), said
    if how == 1:
        assert "did not end within 1 s" in said.what
    else:
        assert f"{CALLS[how]}, which ends the process" in said.what
    if base == 30 and how == 1:
        assert "AIV 0, AIV 1, AIV 2 at" in said.why
    # The process is as good as before. A busy machine may need more than the second.
    monkeypatch.delenv("OPGEN_TIMEOUT")
    done = runner.run("StaysHere", {"x": x})
    assert done.outputs["y"].to_float()[0] == 7 and not done.result.findings


@pytest.mark.parametrize("how", [11, 22, 31, 32])
def test_the_command_fails(project, how):
    command = [sys.executable, "-m", "msopgen_wrap.cli", "run", str(project), "-i", "x=float32[3]"]
    command += ["-a", f"how={how}", "--json", "--timeout", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    (said,) = json.loads(done.stdout)["diagnostics"]
    assert said["code"] == ("OPG533" if how % 10 == 1 else "OPG530") and said["line"] > 0
