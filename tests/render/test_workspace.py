"""The workspace that a handwritten kernel asks for by ``workspace:``."""

from __future__ import annotations

import pytest
from harness import BuiltOp

from msopgen_wrap.run.op_abi import ShapeOnly
from msopgen_wrap.run.op_runtime import OpRuntimeError
from msopgen_wrap.spec.loader import load_specs

SPEC = """
op: Scratch
inputs: {x: {dtype: float32}, y: {dtype: float32, optional: true}}
outputs: {z: {dtype: x, shape: like x}}
attrs: {n: 3}
workspace: "4 * numel(x) * n + (y[0] if y is not None else 0)"
kernel: scratch.cpp
compute: x + 1.0
"""
LIBRARY_BYTES = 16 << 20


@pytest.fixture(scope="module")
def op(tmp_path_factory: pytest.TempPathFactory) -> BuiltOp:
    folder = tmp_path_factory.mktemp("scratch")
    (folder / "scratch.cpp").write_text("// no kernel: only the tiling runs\n", encoding="utf-8")
    path = folder / "scratch.yaml"
    path.write_text(SPEC, encoding="utf-8")
    return BuiltOp(load_specs([path])[0], folder, combos=())


@pytest.mark.parametrize(
    ("x", "y", "attrs", "size"),
    [((5, 7), None, {}, 420), ((5, 7), (9, 2), {"n": 2}, 289), ((0,), (4,), {}, 4)],
)
def test_tiling_asks_for_what_the_rule_says(
    op: BuiltOp, x: tuple[int, ...], y: tuple[int, ...] | None, attrs: dict, size: int
) -> None:
    given = [ShapeOnly("float32", x), None if y is None else ShapeOnly("float32", y)]
    tiling = op.runtime.tile("Scratch", given, [ShapeOnly("float32", x)], attrs)
    assert tiling.workspace_size == LIBRARY_BYTES + size


def test_a_rule_below_zero_is_refused(op: BuiltOp) -> None:
    x = ShapeOnly("float32", (5,))
    with pytest.raises(OpRuntimeError, match="workspace: dimension 0 would be -20"):
        op.runtime.tile("Scratch", [x, None], [x], {"n": -1})
