"""One run of an op: its shapes, attrs, dtypes and kind of values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.spec.model import OpSpec


@dataclass(frozen=True)
class TestCase:
    """One run of an op.

    Attributes:
        combo: index of the dtype combination.
        shapes: per input a shape, a tuple of shapes for a dynamic input, or None when absent.
        values: ``normal`` draws from the inputs' ranges, ``wide`` from a range where exponentials
            of float32 overflow, ``special`` mixes in inf, nan, signed zeros, subnormals and the
            largest values, ``whole`` takes -1, 0 and 1, of which many are equal.
        block_dim: 0 lets tiling see all cores, 1 restricts it to one.
        large: too big for a quick run.
        draw: which of several drawings of the values.
    """

    __test__ = False  # not a pytest class

    combo: int
    shapes: dict[str, Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    values: str = "normal"
    block_dim: int = 0
    large: bool = False
    draw: int = 0

    def label(self, spec: OpSpec) -> str:
        """Return a stable, readable name such as ``float16 x=13x7 y=7 dim=-1 1core``."""
        parts = [",".join(dict.fromkeys(p.dtypes[self.combo] for p in spec.inputs))]
        parts += [f"{name}={_shape_text(shape)}" for name, shape in self.shapes.items()]
        parts += [f"{name}={value}" for name, value in self.attrs.items()]
        if self.values != "normal":
            parts.append(self.values)
        if self.draw:
            parts.append(f"draw{self.draw}")
        if self.block_dim:
            parts.append(f"{self.block_dim}core")
        return " ".join(parts)


def _shape_text(shape: Any) -> str:
    if shape is None:
        return "none"
    if shape and isinstance(shape[0], (tuple, list)):
        return "[" + ",".join(_shape_text(s) for s in shape) + "]"
    return "x".join(str(d) for d in shape) or "scalar"


def combined_attrs(spec: OpSpec, combo: int, attrs: dict[str, Any]) -> dict[str, Any]:
    """Return the attrs of a call in a combination of dtypes.

    An attr that chooses the dtype of an output has the value of the combination.
    """
    return {**attrs, **spec.chosen_attrs(combo)}


def case_key(case: TestCase) -> str:
    """Return a hashable identity of the case."""
    values = (case.values, case.draw)
    return repr((case.combo, case.shapes, sorted(case.attrs.items()), values, case.block_dim))
