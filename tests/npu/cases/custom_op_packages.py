"""Builds and installs two vendors' packages through the command line, for the custom-op cases."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ADD = """\
op: {name}
doc: {expression}
inputs:
  x: {{dtype: [float32]}}
  y: {{dtype: x}}
outputs:
  z: {{dtype: x, shape: "broadcast(x, y)"}}
compute: {expression}
"""

WAIT = """\
op: WaiterDouble
doc: 2 x, and no end when the first element is large.
inputs:
  x: {dtype: [float32], rank: [1, 2]}
outputs:
  y: {dtype: x, shape: like x}
kernel: waiter_double.cpp
compute: x * 2
"""
WAIT_KERNEL = """\
#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/project.h"
#include "opgen/tile.h"
#if OPGEN_PLAIN_TILING
#include "waiter_double_tiling.h"
#endif
using namespace AscendC;

extern "C" __global__ __aicore__ void waiter_double(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                    GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(WaiterDoubleTilingData);
#endif
    GET_TILING_DATA(tilingData, tiling);
    GlobalTensor<float> xGm, yGm;
    xGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
    yGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    if (GetBlockIdx() == 0) {
        while (xGm.GetValue(0) > 100.0f) {
        }
        TPipe pipe;
        TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
        pipe.InitBuffer(queue, 1, 256);
        for (int64_t i = 0; i < tilingData.xShape[0]; ++i) {
            LocalTensor<float> tile = queue.AllocTensor<float>();
            opgen::LoadRange(tile, xGm[i], 1);
            queue.EnQue(tile);
            tile = queue.DeQue<float>();
            Muls(tile, tile, 2.0f, 1);
            PipeBarrier<PIPE_ALL>();
            opgen::StoreRange(yGm[i], tile, 1);
            queue.FreeTensor(tile);
        }
    }
}
"""

#: vendor -> (op type, expression); both vendors' ops are found side by side.
VENDORS = {
    "acme": ("AcmeAddRelu", "torch.relu(x + y)"),
    "zenith": ("ZenithMulTanh", "torch.tanh(x * y)"),
}


@dataclass(frozen=True)
class Package:
    """An installed package: its vendor folder and the folder of its torch package."""

    vendor: str
    folder: Path
    python: Path


def opgen(*arguments: str) -> None:
    """Run an opgen command; a failure shows its output."""
    env = dict(os.environ, OPGEN_NPU="auto")
    done = subprocess.run(
        [sys.executable, "-m", "msopgen_wrap.cli", *arguments],
        capture_output=True,
        text=True,
        env=env,
    )
    assert done.returncode == 0, f"opgen {' '.join(arguments)}:\n{done.stdout}{done.stderr}"


def build(vendor: str, work: Path, install: Path) -> Package:
    """Spec -> project -> .run -> installed package."""
    name, expression = VENDORS[vendor]
    spec = work / f"{vendor}.yaml"
    spec.write_text(ADD.format(name=name, expression=expression))
    return package(vendor, spec, work, install)


def build_waiter(work: Path, install: Path) -> Package:
    """A package whose handwritten kernel can be told not to end."""
    spec = work / "waiter.yaml"
    spec.write_text(WAIT)
    (work / "waiter_double.cpp").write_text(WAIT_KERNEL)
    return package("waiter", spec, work, install)


def package(vendor: str, spec: Path, work: Path, install: Path) -> Package:
    """Project -> .run -> installed package."""
    project, out = work / f"{vendor}_project", work / f"{vendor}_out"
    opgen("new", str(spec), "-o", str(project), "--vendor", vendor)
    opgen("build", str(project), "--target", "cpu", "-o", str(out))
    (archive,) = out.glob("*.run")
    subprocess.run(
        ["sh", str(archive), "--quiet", f"--install-path={install}"],
        check=True,
        capture_output=True,
    )
    return Package(vendor, install / "vendors" / vendor, project / "torch_ext")
