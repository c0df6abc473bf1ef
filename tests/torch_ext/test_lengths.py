"""Outputs whose length another output says: the function of a package cuts them, the op does not."""

from __future__ import annotations

from pathlib import Path

from msopgen_wrap.spec.loader import parse_spec

from .packages import run_python, write_package

COUNTED = """
op: PositivesFirst
inputs: {x: {dtype: float32, rank: 1}}
outputs:
  count: {dtype: int32, shape: "[1]"}
  y: {dtype: x, shape: "[x[0]]", length: count}
compute: |
  count = (x > 0).sum().to(torch.int32).reshape(1)
  y = torch.sort(x, stable=True, descending=True).values
"""


def test_the_function_cuts_what_the_op_gives_whole(tmp_path: Path) -> None:
    spec = parse_spec(COUNTED, "counted.yaml").spec
    assert spec is not None
    package = write_package(tmp_path, [spec], "lengthsv")
    out = run_python(
        package,
        """
import torch, lengthsv
x = torch.tensor([-1.0, 3.0, 0.0, 2.0], requires_grad=True)
count, whole = torch.ops.lengthsv.positives_first(x)
count, y = lengthsv.positives_first(x)
print(whole.tolist(), count.tolist(), y.tolist(), torch.autograd.grad(y.sum(), x)[0].tolist())
print(lengthsv.positives_first(-x.abs())[1].tolist())
""",
        OPGEN_CPU_KERNEL="reference",
    )
    assert out.splitlines() == [
        "[3.0, 2.0, 0.0, -1.0] [2] [3.0, 2.0] [0.0, 1.0, 0.0, 1.0]",
        "[]",
    ]
