"""A NumPy oracle of vector programs that runs them on their places, as the kernel would in UB."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from msopgen_wrap.graph.scalars import evaluate
from msopgen_wrap.schedule.buffers import Place, Placement
from msopgen_wrap.schedule.orthogonal_polynomials import FAMILIES
from msopgen_wrap.schedule.program import F32, I32, MASK, Inst, Program, Scalar, Val

_COMPARE = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}
_ROUND = {
    "CAST_RINT": np.rint,
    "CAST_FLOOR": np.floor,
    "CAST_CEIL": np.ceil,
    "CAST_TRUNC": np.trunc,
}
_TORCH = [
    "expm1",
    "log1p",
    "tanh",
    "sinh",
    "cosh",
    "erf",
    "erfc",
    "sin",
    "cos",
    "tan",
    "atan",
    "asin",
    "acos",
    "asinh",
    "acosh",
    "atanh",
]


class Machine:
    """Holds the contents of places; garbage (NaN, minimum) where nothing was written."""

    def __init__(self, program: Program, placement: Placement, attrs: dict[str, Any]):
        self.program, self.placement, self.attrs = program, placement, attrs
        self.memory: dict[Place, np.ndarray] = {}
        self.shape: tuple[int, ...] = ()

    def run(self, inputs: dict[str, np.ndarray], shape: tuple[int, ...]) -> dict[str, np.ndarray]:
        """Execute on arrays of one shape; returns the stored outputs in their compute kinds."""
        self.shape = shape
        outputs = {}
        with np.errstate(all="ignore"):
            for inst in self.program.insts:
                if inst.op == "Load":
                    self._write(inst.dst, inputs[inst.mode])
                elif inst.op == "Store":
                    outputs[inst.mode] = self._read(inst.args[0]).copy()
                else:
                    result = self._execute(inst)
                    for temp in inst.temps:
                        self._write(temp, np.full_like(result, 0).astype(_NUMPY[temp.kind]))
                    self._write(inst.dst, result)
        return outputs

    def _write(self, value: Val, data: np.ndarray) -> None:
        self.memory[self.placement.place(value)] = data.astype(_NUMPY[value.kind])

    def _read(self, operand: Any) -> Any:
        if isinstance(operand, Scalar):
            number = evaluate(operand.expr, self.attrs, {})
            return np.float32(number) if operand.kind == F32 else np.int32(number)
        data = self.memory[self.placement.place(operand)]
        wanted = _NUMPY[operand.kind]
        return data if data.dtype == wanted else data.view(wanted)

    def _execute(self, inst: Inst) -> np.ndarray:
        a = [self._read(x) for x in inst.args]
        op = inst.op
        simple = {
            "Add": np.add,
            "Adds": np.add,
            "Sub": np.subtract,
            "Mul": np.multiply,
            "Muls": np.multiply,
            "Div": np.divide,
            "Max": np.maximum,
            "Maxs": np.maximum,
            "Min": np.minimum,
            "Mins": np.minimum,
            "Exp": np.exp,
            "Ln": np.log,
            "Sqrt": np.sqrt,
            "Abs": np.abs,
            "BitAnd": np.bitwise_and,
            "BitOr": np.bitwise_or,
            "BitNot": np.invert,
            "MaskAnd": np.logical_and,
            "MaskOr": np.logical_or,
            "MaskNot": np.logical_not,
            "ShiftLeft": np.left_shift,
            "ShiftRight": np.right_shift,
        }
        if op in simple:
            return simple[op](*a)
        if op == "ShiftRightLogical":
            return (a[0].view(np.uint32) >> np.uint32(a[1])).view(np.int32)
        if op == "Relu":
            return np.maximum(a[0], a[0].dtype.type(0))
        if op == "Fill":
            return np.full(self.shape, a[0])
        if op in ("Compare", "Compares"):
            return _COMPARE[inst.mode](a[0], a[1])
        if op in ("Select", "Selects"):
            return np.where(a[0], a[1], a[2])
        if op == "Bits":
            return a[0].view(_NUMPY[inst.dst.kind])
        if op == "Polynomial":
            *lower, highest = map(np.float32, inst.mode.split(", "))
            result = np.full_like(a[0], highest)
            for c in reversed(lower):
                result = result * a[0] + c
            return result
        if op == "Cast":
            return self._cast(inst, a[0])
        return self._block(op.removeprefix("opgen::"), inst, a)

    @staticmethod
    def _cast(inst: Inst, x: np.ndarray) -> np.ndarray:
        if x.dtype == np.int32:
            return x.astype(np.float32)
        rounded = _ROUND[inst.mode](x)
        return rounded if inst.dst.kind == F32 else rounded.astype(np.int64).astype(np.int32)

    @staticmethod
    def _block(name: str, inst: Inst, a: list[np.ndarray]) -> np.ndarray:
        t = [torch.from_numpy(np.ascontiguousarray(x)) for x in a]
        if name.lower() in _TORCH:
            return getattr(torch, name.lower())(t[0].double()).float().numpy()
        if name in ("Pow", "PowOfNumber"):
            return torch.pow(t[0].double(), t[1].double()).float().numpy()
        if name == "Atan2":
            return torch.atan2(t[0].double(), t[1].double()).float().numpy()
        if name == "RoundTo":
            dtype = torch.float16 if inst.mode == "half" else torch.bfloat16
            return t[0].to(dtype).float().numpy()
        if name in ("Fmod", "Remainder"):
            return getattr(torch, name.lower())(t[0].double(), t[1].double()).float().numpy()
        if name == "Recurrence":
            return _recurrence(inst.mode, *t)
        if name == "Gcd":
            return torch.gcd(*t).numpy()
        mode = "trunc" if name == "DivideTrunc" else "floor"
        wide = [x.double() for x in t]
        result = torch.div(*wide, rounding_mode=mode)
        return result.numpy().astype(np.int64 if inst.dst.kind == I32 else np.float64)


def _recurrence(family: str, x: torch.Tensor, degree: torch.Tensor) -> np.ndarray:
    """Return the polynomials of a family of opgen/recurrence.h."""
    name = next(n for n, f in FAMILIES.items() if f == family)
    return getattr(torch.special, name)(x.double(), degree.double()).float().numpy()


_NUMPY = {F32: np.float32, I32: np.int32, MASK: np.bool_}
