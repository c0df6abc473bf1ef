"""An op whose handwritten kernel does not end: ``opgen test`` stops it and names its line."""

from __future__ import annotations

from msopgen_wrap.cli.app import run as opgen

SPEC = """\
op: EndlessAdd
doc: x + 1, by a loop that forgets to go on.
inputs:
  x: {dtype: [float32], rank: [1, 2]}
outputs:
  y: {dtype: x, shape: like x}
kernel: endless_add.cpp
compute: x + 1
"""
KERNEL = """\
#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/project.h"
#include "opgen/tile.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void endless_add(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                  GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> xGm;
    xGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 256);
    LocalTensor<float> tile = buffer.Get<float>();
    for (uint32_t at = 0; at < 8;) opgen::LoadRange(tile, xGm, 1);  // endless
}
"""


def test_an_endless_kernel_of_a_spec(tmp_path, capsys):
    (tmp_path / "endless.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "endless_add.cpp").write_text(KERNEL, encoding="utf-8")
    assert opgen(["test", str(tmp_path / "endless.yaml"), "--timeout", "1", "-k", "x="]) == 1
    said = "".join(capsys.readouterr())
    rows = KERNEL.split("\n")
    line = next(i for i, row in enumerate(rows, 1) if row.endswith("// endless"))
    assert f"op_kernel/endless_add.cpp:{line}:" in said
    assert "error[OPG533]: op EndlessAdd" in said and "did not end within 1 s" in said
    assert "calls void opgen::LoadRange<float>" in said  # the block, behind the kernel's own line
    assert "cases of EndlessAdd did not run" in said
