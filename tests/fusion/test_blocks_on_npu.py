"""Blocks of known models fused with compiled kernels, on the emulated NPU.

Each block compiles the kernels of up to three ops when the build cache has none: some 30 seconds of
two idle cores per op, several minutes on a loaded machine.
"""

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
import torch_npu
from msopgen_wrap.fusion.api import fuse
from tests.fusion import models
from tests.fusion.reference_ops import library
torch.manual_seed(0)
model = models.{model}().eval().to("npu")
inputs = tuple(torch.randn(shape).to("npu") for shape in {shapes})
fused = fuse(model, inputs, specs=library(*{specs}))
assert len(fused.report.fused) == {calls}, str(fused.report)
result = fused(*inputs)
assert result.device.type == "npu"
torch.testing.assert_close(result.cpu(), model(*inputs).cpu(), rtol=1e-3, atol=1e-4)
grads = []
for module in (model, fused):
    model.zero_grad()
    (module(*inputs) ** 2).sum().backward()
    grads.append([p.grad.cpu() for p in model.parameters()])
for wanted, found in zip(*grads, strict=True):
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-3)
"""

# model, shapes of its inputs, ops, calls of them
BLOCKS = [
    (
        "TransformerBlock",
        ((2, 6, 32),),
        ("norm/custom_layer_norm", "activation/custom_gelu", "norm/softmax"),
        4,
    ),
    (
        "LlamaBlock",
        ((2, 6, 32),),
        ("norm/rms_norm", "norm/add_rms_norm", "elementwise/fused_mul_sigmoid"),
        3,
    ),
    ("UNetBlock", ((2, 16, 6, 6), (2, 24)), ("norm/group_norm", "activation/swish"), 5),
]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "shapes", "specs", "calls"), BLOCKS, ids=[b[0] for b in BLOCKS])
def test_a_block_runs_kernels(model: str, shapes: object, specs: object, calls: int) -> None:
    here = importlib.util.find_spec("torch_npu") is not None
    python = sys.executable if here else os.environ.get("OPGEN_NPU_PYTHON")
    if not python:
        pytest.skip("no Python with torch_npu (set OPGEN_NPU_PYTHON)")
    program = PROGRAM.format(model=model, shapes=shapes, specs=specs, calls=calls)
    done = subprocess.run(
        [python, "-m", "msopgen_wrap.cli", "exec", "--", python, "-c", program],
        capture_output=True,
        text=True,
        env=dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1"),
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
