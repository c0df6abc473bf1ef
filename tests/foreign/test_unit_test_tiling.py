"""Kernel unit tests whose tiling structs are registered in op_host (``--tiling-from``)."""

from __future__ import annotations

import pytest
from project_sources import FILES

from msopgen_wrap.cli.app import run as opgen

TEST = r"""
#include "tikicpulib.h"
extern "C" __global__ __aicore__ void scale_rows(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
int main()
{
    const int n = 64;
    float* x = (float*)AscendC::GmAlloc(n * sizeof(float));
    float* y = (float*)AscendC::GmAlloc(n * sizeof(float));
    auto* tiling = (ScaleRowsTilingData*)AscendC::GmAlloc(sizeof(ScaleRowsTilingData));
    tiling->length = n;
    tiling->factor = 3;
    for (int i = 0; i < n; ++i) x[i] = i;
    AscendC::SetKernelMode(KernelMode::AIV_MODE);
    ICPU_RUN_KF(scale_rows, 1, (uint8_t*)x, (uint8_t*)y, nullptr, (uint8_t*)tiling);
    int bad = 0;
    for (int i = 0; i < n; ++i) bad += y[i] != 3 * i;
    return bad;
}
"""


@pytest.mark.parametrize(
    ("op", "code", "text"), [("ScaleRows", 0, ""), ("PickTemplate", 1, "OPG907")]
)
def test_structs_come_from_op_host(tmp_path, capfd, op, code, text):
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    test = tmp_path / "test_scale_rows.cpp"
    test.write_text(TEST, encoding="utf-8")
    arguments = ["run", str(test), str(tmp_path / "op_kernel" / "scale_rows.cpp")]
    arguments += ["--tiling-from", str(tmp_path), "--op", op]
    arguments += [f"-D{n}_{p}={v}" for p in "XY" for n, v in _TYPES]
    assert opgen(arguments) == code
    assert text in capfd.readouterr().err


_TYPES = (("DTYPE", "float"), ("ORIG_DTYPE", "DT_FLOAT"))
