"""Arithmetic on tiles for lowerings that are formulas: operators emit the instructions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Union

from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.schedule.lowering import Lowerer
from msopgen_wrap.schedule.program import F32, MASK, OPS, OpInfo, Scalar, Val

OPS["Polynomial"] = OpInfo("opgen::Polynomial", in_place=False)


@dataclass(frozen=True)
class Fit:
    """A polynomial fitted on ``[low, high]``.

    Attributes:
        coefficients: of the powers of u, which runs from -1 at ``low`` to 1 at ``high``.
    """

    low: float
    high: float
    coefficients: tuple[float, ...]


@dataclass(frozen=True)
class OddFit:
    """An odd function as x times a polynomial of x^2.

    Attributes:
        cut: beyond it x^2 counts as this number, so that the function goes on as a straight line.
        coefficients: of the powers of x^2.
    """

    cut: float
    coefficients: tuple[float, ...]


@dataclass(frozen=True)
class SplitNumber:
    """A number as the sum of two float32 numbers."""

    high: float
    low: float


@dataclass(frozen=True)
class ZeroSeries:
    """A function next to one of its zeros.

    Attributes:
        zero: the zero.
        reach: how far from it the series holds.
        coefficients: of the powers of the distance, from the first one on.
    """

    zero: SplitNumber
    reach: float
    coefficients: tuple[float, ...]


@dataclass(frozen=True)
class Mask:
    """Lanes that meet a condition."""

    low: Lowerer
    value: Val

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.low, self.low.emit("MaskAnd", MASK, self.value, other.value))

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.low, self.low.emit("MaskOr", MASK, self.value, other.value))

    def __invert__(self) -> Mask:
        return Mask(self.low, self.low.emit("MaskNot", MASK, self.value))


@dataclass(frozen=True)
class Number:
    """A tile of float32 numbers."""

    low: Lowerer
    value: Val

    def _new(self, op: str, *args: Val | Scalar, mode: str = "") -> Number:
        return Number(self.low, self.low.emit(op, F32, *args, mode=mode))

    def filled(self, number: float) -> Number:
        """Return a tile of one number."""
        return self._new("Fill", _scalar(number))

    def __add__(self, other: Operand) -> Number:
        if isinstance(other, Number):
            return self._new("Add", self.value, other.value)
        return self._new("Adds", self.value, _scalar(other))

    __radd__ = __add__

    def __mul__(self, other: Operand) -> Number:
        if isinstance(other, Number):
            return self._new("Mul", self.value, other.value)
        return self._new("Muls", self.value, _scalar(other))

    __rmul__ = __mul__

    def __neg__(self) -> Number:
        return self * -1.0

    def __sub__(self, other: Operand) -> Number:
        if isinstance(other, Number):
            return self._new("Sub", self.value, other.value)
        return self + -other

    def __rsub__(self, other: float) -> Number:
        return -self + other

    def __truediv__(self, other: Number) -> Number:
        return self._new("Div", self.value, other.value)

    def __rtruediv__(self, other: float) -> Number:
        return self.filled(other) / self

    def __abs__(self) -> Number:
        return self._new("Abs", self.value)

    def exp(self) -> Number:
        """e to the power of the number."""
        return self._new("Exp", self.value)

    def log(self) -> Number:
        """The natural logarithm."""
        return self._new("Ln", self.value)

    def sqrt(self) -> Number:
        """The square root."""
        return self._new("Sqrt", self.value)

    def rounded(self, mode: str = "RINT") -> Number:
        """The integer next to the number, by the rounding mode of Cast."""
        return self._new("Cast", self.value, mode=f"CAST_{mode}")

    def at_most(self, bound: float) -> Number:
        """The smaller of the number and the bound; NaN stays."""
        return self._new("Mins", self.value, _scalar(bound))

    def at_least(self, bound: float) -> Number:
        """The larger of the number and the bound; NaN stays."""
        return self._new("Maxs", self.value, _scalar(bound))

    def minus(self, number: SplitNumber) -> Number:
        """The difference to a number, with the accuracy of float32 next to it."""
        return (self - number.high) - number.low

    def polynomial(self, coefficients: tuple[float, ...]) -> Number:
        """The sum of coefficients times powers of the number, the constant first."""
        if len(coefficients) == 2:
            # in place, where the block has to keep the number
            return self * coefficients[1] + coefficients[0]
        return self._new("Polynomial", self.value, mode=", ".join(map(repr, coefficients)))

    def fit(self, fit: Fit) -> Number:
        """The value of a fit, which the number must lie in the interval of; NaN stays."""
        half = (fit.high - fit.low) / 2
        unit = self * (1 / half) - (fit.high + fit.low) / 2 / half
        return unit.polynomial(fit.coefficients)

    def odd_fit(self, fit: OddFit, factor: float = 1.0) -> Number:
        """The value of a fit times a factor; NaN stays."""
        square = (self * self).at_most(fit.cut) if fit.cut < math.inf else self * self
        return self * square.polynomial(tuple(factor * c for c in fit.coefficients))

    def compare(self, mode: str, other: Operand) -> Mask:
        """The lanes where ``self mode other`` holds; NaN meets none."""
        if isinstance(other, Number):
            result = self.low.emit("Compare", MASK, self.value, other.value, mode=mode)
        else:
            result = self.low.emit("Compares", MASK, self.value, _scalar(other), mode=mode)
        return Mask(self.low, result)

    def __lt__(self, other: Operand) -> Mask:
        return self.compare("LT", other)

    def __gt__(self, other: Operand) -> Mask:
        return self.compare("GT", other)

    def equals(self, other: Operand) -> Mask:
        """The lanes of equal numbers; NaN equals none."""
        return self.compare("EQ", other)


Operand = Union[Number, float]  # noqa: UP007  (evaluated on Python 3.10)


def where(mask: Mask, yes: Operand, no: Operand) -> Number:
    """Take ``yes`` in the lanes of the mask and ``no`` elsewhere; one of them is a tile."""
    if not isinstance(yes, Number):
        assert isinstance(no, Number)
        return where(~mask, no, yes)
    low = yes.low
    if isinstance(no, Number):
        return Number(low, low.emit("Select", F32, mask.value, yes.value, no.value))
    return Number(low, low.emit("Selects", F32, mask.value, yes.value, _scalar(no)))


def _scalar(number: float) -> Scalar:
    return Scalar(Const(float(number)))
