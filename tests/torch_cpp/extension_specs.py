"""Specs of the tests of torch extensions: the tutorial's ops, and what the op library lacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def assert_formatted(name: str, text: str) -> None:
    """Check that C++ is as clang-format would write it; ``name`` says which language it is."""
    tool = Path(sys.executable).with_name("clang-format")
    if not tool.is_file():
        pytest.skip("clang-format is not installed beside this Python")
    style = Path(__file__).resolve().parents[2] / ".clang-format"
    command = [str(tool), f"--style=file:{style}", f"--assume-filename={name}"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert done.stdout == text


# The tutorial's loop writes `result[i] = a[i] + b[i]` through tensors of one element, a hundred
# times as slow as a loop over data, and only along the first axis.
CUSTOM_ADD = """\
op: CustomAdd
doc: a + b
inputs:
  a: {dtype: [float16, bfloat16, float32, int32]}
  b: {dtype: a}
outputs:
  c: {dtype: a, shape: "broadcast(a, b)"}
compute: a + b
"""

# Integer tensors have no `result[i][j] += ...` problem there either: each element was a tensor.
CUSTOM_MATMUL = """\
op: CustomMatmul
doc: a @ b
inputs:
  a: {dtype: [float16, bfloat16, float32], rank: 2}
  b: {dtype: a, rank: 2}
outputs:
  c: {dtype: a, shape: "[a[0], b[1]]"}
compute: a @ b
cases:
  - {a: [3, 4], b: [4, 5]}
"""

LINEAR = """\
op: ScaledLinear
doc: relu of x weights + bias, scaled
inputs:
  x: {dtype: float32, rank: 2}
  weight: {dtype: float32, rank: 2}
  bias: {dtype: float32, shape: "[weight[0]]"}
outputs:
  y: {dtype: float32, shape: "[x[0], weight[0]]"}
attrs:
  scale: 2.0
compute: scale * torch.relu(F.linear(x, weight, bias))
cases:
  - {x: [3, 4], weight: [5, 4], bias: [5]}
"""

# The gradient of a row's sum stands before the axis that the sum has dropped, at every rank.
ROW_ENERGY = """\
op: RowEnergy
doc: mean square per row
inputs:
  x: {dtype: [float16, float32], rank: [1, 8]}
outputs:
  e: {dtype: float32, shape: "[*x[:-1]]"}
compute: x.float().square().mean(-1)
"""

OPTIONAL = """\
op: ShiftedSwish
doc: x * sigmoid(beta * x), with a shift where one is given
inputs:
  x: {dtype: [float16, float32]}
  shift: {dtype: x, optional: true}
outputs:
  y: {dtype: x, shape: like x}
attrs:
  beta: 1.0
  how: {type: str, default: plain, allowed: [plain, squared]}
compute: |
  swish = x * torch.sigmoid(beta * x)
  if how == 'squared':
      swish = swish * swish
  y = swish if shift is None else swish + shift
cases:
  - {x: [3, 4], shift: [3, 4]}
"""

STATISTICS = """\
op: RowStatistics
doc: largest element of a row, where it is, and the mean of its squares
inputs:
  x: {dtype: [float32, bfloat16], rank: [1, 8]}
outputs:
  largest: {dtype: x, shape: "[*x[:-1]]"}
  place: {dtype: int64, shape: "[*x[:-1]]"}
  power: {dtype: float32, shape: "[*x[:-1]]"}
compute: |
  largest = x.amax(-1)
  place = torch.argmax(x, -1)
  power = (x.float() * x.float()).mean(-1)
backward: none
"""

SCAN = """\
op: RunningSum
doc: sums of all elements up to each
inputs:
  x: {dtype: float32, rank: [1, 8]}
outputs:
  y: like x
compute: torch.cumsum(x, -1)
"""

SORTED = SCAN.replace("RunningSum", "Sorted").replace(
    "torch.cumsum(x, -1)", "torch.sort(x, -1).values"
)

IN_PLACE = """\
op: AddInPlace
doc: x += y
inputs:
  x: {dtype: float32}
  y: {dtype: float32, shape: like x}
outputs:
  x: {inplace: x}
compute: x + y
"""
