"""Reductions and normalisations of rows with infinities, NaN, zeros and huge numbers.

A result is right when it is PyTorch's in float64, or what PyTorch itself computes in float32 (a sum
that overflows, for instance). What differs on purpose is declared with ``aten.sum`` and in
``op_specs/README.md``.
"""

from __future__ import annotations

import math

import pytest
import torch
from harness import BuiltOp, make_spec, poison

from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.model import DimSlice, ShapeLike, ShapeList

INF, NAN = math.inf, math.nan
# What stands at the first, a middle and the last place of a row of random numbers.
ROWS = [
    (None, None, None),
    (INF, None, None),
    (None, None, INF),
    (None, -INF, None),
    (INF, None, -INF),
    (None, INF, INF),
    (NAN, None, None),
    (None, None, NAN),
    (INF, NAN, None),
    (-INF, None, NAN),
    (3e38, 3e38, 3e38),
    (3e38, None, -3e38),
    (1e30, None, None),
    (None, -3e38, None),
]
FILLED = [INF, -INF, NAN, 0.0, -0.0, 3e38, -3e38, 1e-45, 1e-38, 1e20, 88.0, -104.0]

FULL = ShapeLike("x")
KEPT = ShapeList((DimSlice("x", None, -1),))
OPS = {
    "softmax": ("z = torch.softmax(x, -1)\ny = torch.log_softmax(x, -1)", {"z": FULL, "y": FULL}),
    "reductions": (
        "a = x.sum(-1)\nb = x.mean(-1)\nc = x.amax(-1)\nd = x.amin(-1)\ne = torch.logsumexp(x, -1)",
        dict.fromkeys("abcde", KEPT),
    ),
    "positions": ("a = x.argmax(-1)\nb = x.argmin(-1)", dict.fromkeys("ab", KEPT)),
    "masks": (
        "a = torch.any(x > 1, -1)\nb = torch.all(x == x, -1)\nc = torch.isnan(x).any(-1)",
        dict.fromkeys("abc", KEPT),
    ),
    "layer norm": ("z = F.layer_norm(x, [x.shape[-1]], None, None, 1e-5)", {"z": FULL}),
    "group norm": (
        "z = F.group_norm(x.unsqueeze(1), 1, None, None, 1e-5).squeeze(1)",
        {"z": FULL},
    ),
    "means beside variances": (
        "a = torch.native_layer_norm(x, [x.shape[-1]], None, None, 1e-5)[1].squeeze(-1)",
        {"a": KEPT},
    ),
    "variance": (
        "a = x.var(-1)\nb = torch.linalg.vector_norm(x, 2, -1)",
        dict.fromkeys("ab", KEPT),
    ),
}
# Outputs that hold a sum of the numbers of a row, and those that are made of the distances from the
# mean, which for equal numbers are its rounding.
SUMS = {
    "reductions": "ab",
    "means beside variances": "a",
    "variance": "a",
    "layer norm": "z",
    "group norm": "z",
}
NORMALISED = ("layer norm", "group norm", "variance")
DTYPES = {"positions": "int64", "masks": "bool"}
TOLERANCE = {torch.float32: 2**-13, torch.float16: 2**-9, torch.bfloat16: 2**-6}
# Rows that fit a tile, rows of several tiles, and one row that several cores share.
LENGTHS = (70, 9001, 40003)


def rows(length: int, dtype: str) -> torch.Tensor:
    """Return the rows of one length."""
    generator = torch.Generator().manual_seed(length)
    x = torch.randn((len(ROWS) + len(FILLED), length), generator=generator, dtype=torch.float64)
    for row, values in enumerate(ROWS):
        for place, value in zip((0, length // 2, -1), values, strict=True):
            if value is not None:
                x[row, place] = value
    for row, value in enumerate(FILLED, len(ROWS)):
        x[row] = value
    return x.to(getattr(torch, dtype))


def differs(name: str, output: str, row: torch.Tensor) -> bool:
    """Whether the result of a row is declared to differ."""
    if output not in SUMS.get(name, "") or not bool(torch.isfinite(row).all()):
        return False
    size = row.double().abs()
    equal = name in NORMALISED and bool((row == row[0]).all()) and float(size[0]) > 1e4
    return equal or float(size.sum()) > torch.finfo(torch.float32).max


def right(got: torch.Tensor, references: list[torch.Tensor]) -> torch.Tensor:
    """Return which elements of a result are right."""
    ok = torch.zeros(got.shape, dtype=torch.bool)
    for reference in references:
        rounded = reference.to(got.dtype)
        ok |= got == rounded
        if got.dtype not in TOLERANCE:
            continue
        value, expected, exact = got.double(), rounded.double(), reference.double()
        ok |= torch.isnan(value) & torch.isnan(expected)
        # an element next to a mean carries the rounding of the mean
        bound = TOLERANCE[got.dtype] * exact.abs().clamp(min=2**-10)
        ok |= torch.isfinite(value) & ((value - exact).abs() <= bound)
    return ok


@pytest.mark.slow
@pytest.mark.parametrize("name", OPS)
def test_special_rows(name, tmp_path):
    compute, shapes = OPS[name]
    dtypes = ("float32", "float16")
    out = [DTYPES.get(name, d) for d in dtypes]
    spec = make_spec(compute, "x", " ".join(shapes), dtypes, out, shapes=shapes)
    op, found = BuiltOp(spec, tmp_path), []
    for dtype, result in zip(dtypes, out, strict=True):
        for length in LENGTHS:
            every = rows(length, dtype)
            # few long rows: the cores share them
            blocks = every.split(1) if length == LENGTHS[-1] else [every]
            for block in blocks:
                golden = [
                    compile_compute(spec)({"x": block.to(kind)}, {})
                    for kind in (torch.float64, torch.float32)
                ]
                outputs = {n: poison(golden[0][n].shape, getattr(torch, result)) for n in shapes}
                op.runtime.run(spec.op, [block], list(outputs.values()), {}, mode="fast")
                for output, got in outputs.items():
                    wrong = (~right(got, [g[output] for g in golden])).nonzero()
                    wrong = [at for at in wrong.tolist() if not differs(name, output, block[at[0]])]
                    for at in wrong[:3]:
                        row = block[at[0]]
                        found.append(
                            f"{dtype} {length} {output} {at} of {row[[0, length // 2, -1]]}: "
                            f"{got[tuple(at)]}, torch {golden[0][output][tuple(at)]}"
                        )
    assert not found, "\n".join(found)
