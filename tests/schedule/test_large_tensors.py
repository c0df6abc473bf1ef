"""Tiling of tensors past 2^31 elements and 4 GiB of row stride: no data, only what is decided."""

from __future__ import annotations

import math
import mmap
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "kernel"))

from harness import BuiltOp, make_spec

from msopgen_wrap.spec.model import Attr, DimSlice, ShapeList

ROW_BYTES = 2**32 - 1


def untouched(shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    """Return an array whose memory is only reserved; tiling reads shapes and no data."""
    size = max(1, math.prod(shape)) * np.dtype(dtype).itemsize
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_NORESERVE
    return np.frombuffer(mmap.mmap(-1, size, flags=flags), dtype, math.prod(shape)).reshape(shape)


def fields(op: BuiltOp, data: bytes) -> dict[str, Any]:
    """Decode tiling data by the fields of the generated header."""
    codes = {"uint64_t": "Q", "int64_t": "q", "uint32_t": "I", "int32_t": "i", "float": "f"}
    struct_name = f"{op.spec.op}TilingData"
    rows = next(d for d in op.runtime.tiling_defs() if d["name"] == struct_name)["fields"]
    result: dict[str, Any] = {}
    for row in rows:
        count = int(row.get("count") or 1)
        values = struct.unpack_from(f"<{count}{codes[row['type']]}", data, row["offset"])
        result[row["name"]] = values if count > 1 else values[0]
    return result


def run_tiling(op: BuiltOp, *inputs: Any, attrs: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run TilingFunc on untouched arrays; returns the fields."""
    outputs = [
        untouched(tuple(s)) for s in op.runtime.infer_shapes(op.spec.op, list(inputs), attrs)
    ]
    info = op.runtime.tile(op.spec.op, list(inputs), outputs, attrs or {})
    return fields(op, info.data)


def steps_fit(decided: dict[str, Any], walks: list[str], bytes_per_element: int = 4) -> bool:
    """Whether copies of a box stay within a 32-bit distance between rows."""
    if decided["boxRows"] == 1:
        return True
    return all(abs(decided[w][6]) * bytes_per_element <= ROW_BYTES for w in walks)


@pytest.fixture(scope="module")
def add(tmp_path_factory: pytest.TempPathFactory) -> BuiltOp:
    return BuiltOp(make_spec("x + y", "x y"), tmp_path_factory.mktemp("add"), combos=())


def test_flat_elements_past_2_31(add: BuiltOp) -> None:
    x = untouched((3, 2**30))
    decided = run_tiling(add, x, x)
    assert decided["total"] == 3 * 2**30


def test_boxes_past_2_31(add: BuiltOp) -> None:
    decided = run_tiling(add, untouched((2**20, 3000)), untouched((2**20, 1)))
    assert (decided["rowCount"], decided["colCount"]) == (2**20, 3000)
    assert steps_fit(decided, ["xWalk", "yWalk", "zWalk"])


@pytest.mark.parametrize("columns", [2**30 + 8, 2**30 - 1, 2**30 - 600])
@pytest.mark.parametrize("rows", [2, 300])
def test_rows_4_gib_apart(rows: int, columns: int, tmp_path: Path) -> None:
    """Some columns of every row: the rows are as far apart as the input's, boxes included."""
    if (rows, columns) not in ((2, 2**30 + 8), (300, 2**30 + 8), (300, 2**30 - 600)):
        pytest.skip("one spec each is enough")
    op = BuiltOp(
        make_spec(
            "x[..., :n] * 2",
            attrs=(Attr("n", "int", 3),),
            shapes={"z": ShapeList((DimSlice("x", None, -1), "n"))},
        ),
        tmp_path,
        combos=(),
    )
    x, z = untouched((rows, columns)), untouched((rows, 1000))
    info = op.runtime.tile(op.spec.op, [x], [z], {"n": 1000}, skip_shape_check=True)
    decided = fields(op, info.data)
    assert decided["xWalk"][6] == columns
    assert steps_fit(decided, ["xWalk"])
    assert (decided["boxRows"] > 1) == (rows == 300 and columns * 4 <= ROW_BYTES)


def test_reductions_past_2_31(tmp_path: Path) -> None:
    op = BuiltOp(make_spec("x - x.amax(0, keepdim=True) / x.shape[0]"), tmp_path, combos=())
    decided = run_tiling(op, untouched((5, 2**30)))
    assert decided["rowCount"] * decided["colCount"] == 5 * 2**30
    assert steps_fit(decided, ["xWalk", "zWalk"])


def test_sizes_that_64_bits_do_not_hold_are_refused(add: BuiltOp) -> None:
    """A shape of more elements than there are addresses: a message, no wrapped product."""
    x = np.broadcast_to(untouched((1, 1, 1)), (2**31, 2**31, 2**3))
    with pytest.raises(Exception, match="64-bit offsets do not reach"):
        add.runtime.tile(add.spec.op, [x, x], [x], {}, skip_shape_check=True)


def test_int_attr_past_int32_is_refused(tmp_path: Path) -> None:
    op = BuiltOp(
        make_spec("x * n", dtypes=("int32",), attrs=(Attr("n", "int", 1),)), tmp_path, combos=()
    )
    x = torch.ones(8, dtype=torch.int32)
    op.runtime.tile(op.spec.op, [x], [x], {"n": 2**31 - 1})
    with pytest.raises(Exception, match="int32 cannot hold"):
        op.runtime.tile(op.spec.op, [x], [x], {"n": 2**31})
