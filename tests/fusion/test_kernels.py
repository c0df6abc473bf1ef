"""A fused model with compiled kernels: on CPU tensors, and on the emulated NPU."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import torch
if {npu}:
    import torch_npu
from msopgen_wrap.fusion.api import fuse
from msopgen_wrap.resources import data_dir
from tests.fusion.models import ResNetBlock
device = "npu" if {npu} else "cpu"
model, x = ResNetBlock().eval().to(device), torch.randn(2, 8, 6, 6).to(device)
fused = fuse(model, x, specs=data_dir("op_specs") / "elementwise/fused_add_relu.yaml")
(call,) = fused.report.fused
assert fused(x).device.type == device
torch.testing.assert_close(fused(x).cpu(), model(x).cpu(), rtol=1e-4, atol=1e-5)
(fused(x) ** 2).sum().backward()
assert model.conv1.weight.grad.abs().sum() > 0
print("fused", call.op)
"""


def run(command: list[str], *, npu: bool) -> None:
    env = dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1")
    done = subprocess.run(
        [*command, "-c", PROGRAM.format(npu=npu)],
        capture_output=True,
        text=True,
        env=env,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fused FusedAddRelu" in done.stdout


@pytest.mark.slow
def test_a_residual_block_runs_a_kernel_that_is_built_for_it() -> None:
    run([sys.executable], npu=False)


@pytest.mark.slow
def test_a_residual_block_runs_a_kernel_on_the_emulated_npu() -> None:
    here = importlib.util.find_spec("torch_npu") is not None
    python = sys.executable if here else os.environ.get("OPGEN_NPU_PYTHON")
    if not python:
        pytest.skip("no Python with torch_npu (set OPGEN_NPU_PYTHON)")
    run([python, "-m", "msopgen_wrap.cli", "exec", "--", python], npu=True)
