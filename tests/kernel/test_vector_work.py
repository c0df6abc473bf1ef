"""The work that tiling assumes of an element against the instructions that the emulation counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.families import plan_op
from msopgen_wrap.run.measurement import measure_op
from msopgen_wrap.schedule.soc import PASSES, vector_cycles, vector_passes
from msopgen_wrap.spec.loader import load_spec

SPEC = (
    "op: {op}\ninputs:\n  x: {{dtype: {dtype}, rank: 2, range: [1, 7]}}\n"
    "  y: {{dtype: x, shape: like x, range: [1, 7]}}\noutputs:\n  z: like x\ncompute: {compute}\n"
)
# formula, dtype: one of each sort; the slow test has every block
FORMULAS = {
    "simple": ("x * y + 2 * x", "float32"),
    "converted": ("x * y", "float16"),
    "function": ("torch.tanh(x) + y", "float32"),
}
SLOW = {
    **{
        name: (f"torch.{name}(x) + y", "float32")
        for name in (
            *("expm1", "log1p", "sinh", "cosh", "erf", "erfc", "sin", "cos", "tan", "atan"),
            *("asin", "acos", "asinh", "acosh", "atanh"),
        )
    },
    "atan2": ("torch.atan2(x, y)", "float32"),
    "pow": ("torch.pow(x, y)", "float32"),
    "fmod": ("torch.fmod(x, y)", "float32"),
    "remainder": ("torch.remainder(x, y)", "float32"),
    "floor_divide": ("torch.floor_divide(x, y)", "float32"),
    "int_floor": ("torch.div(x, y, rounding_mode='floor')", "int32"),
    "int_trunc": ("torch.div(x, y, rounding_mode='trunc')", "int32"),
    "gcd": ("torch.gcd(x, y)", "int32"),
    "round_to": ("x.to(torch.float16).to(torch.float32) + y", "float32"),
}


def compare(tmp_path: Path, name: str, compute: str, dtype: str) -> None:
    path = tmp_path / "work.yaml"
    op = f"Work{name.title().replace('_', '')}"
    path.write_text(SPEC.format(op=op, dtype=dtype, compute=compute))
    spec = load_spec(path)
    (body,) = plan_op(spec).bodies
    passes = vector_passes(body.program, [dtype] * 3)
    (measured,) = measure_op(spec, {"x": (64, 1024), "y": (64, 1024)})
    counted = measured.instructions_per_element
    assert 0.85 * counted <= passes <= 1.15 * counted, (passes, counted)


@pytest.mark.parametrize("name", FORMULAS)
def test_passes_are_the_instructions_of_an_element(tmp_path, name):
    compare(tmp_path, name, *FORMULAS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_passes_of_every_block(tmp_path, name):
    compare(tmp_path, name, *SLOW[name])


def test_every_block_is_compared():
    assert len(PASSES) == len(SLOW) + 1  # tanh is not slow


def test_cycles_are_those_of_the_slowest_chip():
    assert vector_cycles(32, ["ascend910b", "ascend910_93"]) == 1.0
