"""Outputs with a length or in pieces: the function of a package cuts them, the op does not."""

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


PIECES = """
op: InPieces
inputs: {x: {dtype: float32, rank: 1}}
outputs: {y: {dtype: x, shape: like x, pieces: "ends if how in (0, 1) else []"}}
attrs: {ends: {type: list_int, default: [0]}, how: 0}
compute: x + 1.0
"""


def test_the_function_gives_pieces_as_an_attr_says(tmp_path: Path) -> None:
    spec = parse_spec(PIECES, "pieces.yaml").spec
    assert spec is not None
    out = run_python(
        write_package(tmp_path, [spec], "piecesv"),
        """
import torch, piecesv
x = torch.arange(4.0)
for how in (1, 2):
    print([piece.tolist() for piece in piecesv.in_pieces(x, [1, 1, 4], how)])
print(torch.ops.piecesv.in_pieces(x, [1, 1, 4]).tolist())
""",
        OPGEN_CPU_KERNEL="reference",
    )
    assert out.splitlines() == [
        "[[1.0], [], [2.0, 3.0, 4.0]]",
        "[[1.0, 2.0, 3.0, 4.0]]",
        "[1.0, 2.0, 3.0, 4.0]",
    ]


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
