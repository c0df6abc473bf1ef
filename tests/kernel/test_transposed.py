"""Operands that are contiguous along the rows of a box: read in columns and transposed in UB."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from harness import BuiltOp, check

from msopgen_wrap.spec.loader import load_spec

_COUNTER = itertools.count()  # the runtime's registry is global


class Transposed(NamedTuple):
    """A formula of x (and y), and the shapes of its tensors."""

    compute: str
    rank: int
    z: str
    shapes: list[tuple[int, ...]]
    y: str = ""
    dtype: str = "float32"


MATRICES = [(5, 6), (16, 32), (33, 70), (1, 7), (1000, 3), (3, 1000), (517, 529), (0, 4)]
CASES = {
    "float": Transposed("x.mT * 2", 2, "[x[1], x[0]]", MATRICES),
    "half": Transposed("x.mT + y", 2, "[x[1], x[0]]", MATRICES, "[x[1], x[0]]", "float16"),
    "int": Transposed("x.mT + 1", 2, "[x[1], x[0]]", MATRICES, dtype="int32"),
    "bfloat with a row": Transposed("x.mT * y", 2, "[x[1], x[0]]", MATRICES, "[x[0]]", "bfloat16"),
    "channels to the front": Transposed(
        "x.permute(0, 3, 1, 2) * y",
        4,
        "[x[0], x[3], x[1], x[2]]",
        [(2, 5, 7, 3), (1, 40, 40, 16), (3, 1, 9, 65)],
        "[x[3], 1, 1]",
        "float16",
    ),
    "channels to the back": Transposed(
        "x.permute(0, 2, 3, 1).exp()",
        4,
        "[x[0], x[2], x[3], x[1]]",
        [(2, 3, 5, 7), (1, 16, 40, 40), (3, 65, 1, 9)],
    ),
    "one as it is, one transposed": Transposed(
        "(x + y.mT) / 2", 2, "like x", [(7, 5), (64, 64), (301, 210)], "[x[1], x[0]]"
    ),
    "axes of three": Transposed(
        "x.permute(2, 1, 0) - y", 3, "[x[2], x[1], x[0]]", [(4, 5, 6), (70, 3, 33)], "[x[0]]"
    ),
    "two ways at once": Transposed(
        "x.permute(2, 0, 1) + y.permute(1, 2, 0)",
        3,
        "[x[2], x[0], x[1]]",
        [(4, 5, 6), (17, 18, 19)],
        "[x[1], x[2], x[0]]",
    ),
    "every second column": Transposed(
        "x.mT[:, ::2] * 3", 2, "[x[1], (x[0] + 1) // 2]", [(5, 6), (80, 64)]
    ),
    "a diagonal of matrices": Transposed(
        "x.diagonal(dim1=0, dim2=1) + 1", 3, "[x[2], x[0]]", [(5, 5, 6), (40, 40, 70)]
    ),
    "reduced along the columns": Transposed("x.mT.sum(-1)", 2, "[x[1]]", MATRICES),
    "reduced along the rows": Transposed("x.mT.amax(0)", 2, "[x[0]]", MATRICES[:-1]),
    "the outer axes reduced": Transposed(
        "x.permute(1, 0, 2).sum((0, 1))", 3, "[x[2]]", [(4, 5, 6), (3, 70, 33)]
    ),
    "normalised": Transposed("torch.softmax(x.mT, -1)", 2, "[x[1], x[0]]", MATRICES[:5]),
    "one byte": Transposed("x.mT | y", 2, "[x[1], x[0]]", [(5, 6), (64, 70)], "[x[0]]", "int8"),
}
# Compiled and run by the default suite; CI's slow part has every case.
DEFAULT = ("float", "half", "channels to the front", "reduced along the columns")


def built(case: Transposed, folder: Path) -> BuiltOp:
    rows = [f"op: TurnedCase{next(_COUNTER)}", "inputs:"]
    rows += [f"  x: {{dtype: [{case.dtype}], rank: {case.rank}}}"]
    rows += [f'  y: {{dtype: x, shape: "{case.y}"}}'] if case.y else []
    rows += ["outputs:", f'  z: {{dtype: x, shape: "{case.z}"}}', "backward: none"]
    path = folder / "transposed.yaml"
    path.write_text("\n".join([*rows, f"compute: {case.compute}"]) + "\n", encoding="utf-8")
    return BuiltOp(load_spec(path), folder)


def sample(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(len(shape))
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(-100, 100, shape, generator=generator, dtype=dtype)


def y_shape(case: Transposed, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(eval(case.y, {"x": shape}))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in DEFAULT else pytest.mark.slow) for n in CASES]
)
def test_transposed_operands(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    op = built(case, tmp_path)
    dtype = getattr(torch, case.dtype)
    for shape, mode in itertools.product(case.shapes, ("check", "fast")):
        inputs = {"x": sample(shape, dtype)}
        if case.y:
            inputs["y"] = sample(y_shape(case, shape), dtype)
        outputs, golden, result = op.run(inputs, mode=mode)
        check(outputs["z"], golden["z"], 4)
        assert result.findings == []
