"""``check --deep`` refuses what ``opgen test`` would refuse before a launch, and is quiet."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from msopgen_wrap.cli.check_command import deep_findings
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.torch_import import quiet_torch

KERNEL = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void by_hand(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                              GM_ADDR tiling) {
    BODY
}
"""
# Spec, kernel source if any, and the codes that are found.
SPECS = {
    "an attr that is an axis of a view": (
        """
op: UnsqueezeAt
inputs:
  x: {dtype: float32, rank: 1}
outputs:
  y: {dtype: x, shape: "[x[0], 1]"}
attrs:
  n: 1
compute: x.unsqueeze(n) * 2
""",
        "",
        {"OPG202"},
    ),
    "a kernel that does not compile": (
        """
op: ByHand
inputs: {x: float32}
outputs: {y: like x}
compute: x
backward: none
kernel: by_hand.cpp
""",
        KERNEL.replace("BODY", "no_such_type t;"),
        {"OPG303"},
    ),
    "a kernel that names what is absent": (
        """
op: ByHand
inputs: {z: float32, x: {dtype: float32, optional: true, shape: like z}}
outputs: {y: like z}
compute: z if x is None else z + x
backward: none
kernel: by_hand.cpp
""",
        KERNEL.replace("GM_ADDR x", "GM_ADDR z, GM_ADDR x").replace(
            "BODY", "AscendC::GlobalTensor<DTYPE_X> source;"
        ),
        {"OPG303"},
    ),
    "integers that lie apart in memory, one to a row": (
        """
op: Counted
inputs:
  x: {dtype: float32, rank: 2}
  k: {dtype: int32, shape: "[x[0], 2]"}
outputs: {y: "[x[0]]"}
compute: x.sum(-1) * k[..., 0]
backward: none
""",
        "",
        {"OPG073"},
    ),
    "a case with a longer list than the default": (
        """
op: Weighted
inputs: {x: float32}
outputs: {y: like x}
attrs: {weights: [0.5, 2.0]}
compute: x * weights[0] + weights[-1]
cases:
  - {x: [3, 5], weights: [1.0, 2.0, 4.0]}
""",
        "",
        {"OPG073"},
    ),
    "a good spec": (
        """
op: PerToken
inputs:
  x: {dtype: float32, rank: [2, 3]}
  w: {dtype: x, shape: "[x[-1]]", optional: true}
outputs: {y: like x}
attrs: {eps: 1.0e-5}
compute: |
  y = x / (x.abs().mean(-1, keepdim=True) + eps)
  if w is not None:
      y = y * w
""",
        "",
        set(),
    ),
}


@pytest.mark.parametrize("name", SPECS)
def test_deep_check(name: str, tmp_path: Path) -> None:
    text, kernel, codes = SPECS[name]
    path = tmp_path / "spec.yaml"
    path.write_text(text, encoding="utf-8")
    (tmp_path / "by_hand.cpp").write_text(kernel, encoding="utf-8")
    found = deep_findings(load_spec(path))
    assert {d.code for d in found} == codes, [str(d) for d in found]
    if "Weighted" in text:
        assert "weights has 3 numbers, the kernel is made for 2" in found[0].why
        assert "x=3x5 weights=(1.0, 2.0, 4.0)" in found[0].what
        assert len(found) == 1
    if "Counted" in text:
        assert "not contiguous along the rows, as integers must be" in found[0].why
        assert len(found) == 3
        assert re.search(r"refuses \d+ cases, the last shown is", found[-1].what)


def test_nothing_is_printed_for_a_good_spec(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(SPECS["a good spec"][0], encoding="utf-8")
    command = [sys.executable, "-m", "msopgen_wrap.cli", "check", "--deep", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["1 spec, 1 valid: no findings"]


def test_torch_is_heard_again_afterwards(caplog: pytest.LogCaptureFixture) -> None:
    import logging

    with quiet_torch():
        logging.getLogger("torch.fx").error("while running")
    logging.getLogger("torch.fx").error("later")
    assert [r.message for r in caplog.records] == ["later"]
