"""Words of 64-bit integers in a vector program, and which calls are computed with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from msopgen_wrap.graph.scalars import WORDS, Const, fold
from msopgen_wrap.schedule.calls import Node, target_name, tensor_arguments
from msopgen_wrap.schedule.program import F32, I32, WORD_LOADS, Operand, Scalar, Val, Words
from msopgen_wrap.schedule.size_reading import SizeReader
from msopgen_wrap.schedule.views import View
from msopgen_wrap.torch_import import torch

_COMPARISONS = frozenset(
    f"aten.{name}.{form}"
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
    for form in ("Tensor", "Scalar")
)


def _is_float(value: Any) -> bool:
    """Whether a result is a float, a symbolic one, or a tensor of floats."""
    if isinstance(value, torch.Tensor):
        return value.dtype.is_floating_point
    return isinstance(value, (float, torch.SymFloat))


def _compares_floats(node: Node) -> bool:
    """Whether a call compares integers with floats, to which PyTorch converts them."""
    if target_name(node) not in _COMPARISONS:
        return False
    sides = [a.meta.get("val") if isinstance(a, Node) else a for a in node.args[:2]]
    return any(map(_is_float, sides))


@dataclass
class WordReader(SizeReader):
    """Reads 64-bit integers as two words of 32 bits each.

    Attributes:
        splits: whether a kernel may move elements of 64 bits as two of 32, and compute with these.
        padded: whether tiles have numbers that nobody wrote, between rows: steps that follow the
            data would read them.
    """

    splits: bool = False
    padded: ClassVar[bool] = False

    def words(self, value: Any) -> Words:
        """Return 64-bit integers as words: an input's, those of a number, or extended int32."""
        if isinstance(value, Node):
            value = self.values[value]
        if isinstance(value, Words):
            return value
        if isinstance(value, View) and self._is_wide_view(value):
            return self._load_words(value)
        operand = self.operand(value)
        if isinstance(operand, Scalar):
            exprs = [fold(word, fold("int", operand.expr)) for word in WORDS]
            return Words(*(Scalar(expr, I32) for expr in exprs))
        low = self.as_kind(operand, I32)
        return Words(low, self.emit("ShiftRight", I32, low, Scalar(Const(31), I32)))

    def _load_words(self, view: View) -> Words:
        """Load an int64 input as its words."""
        name = self._operand_name(view)
        self.operands[name] = view
        parts = [self.emit(op, I32, mode=name, note=f"words of {name}") for op in WORD_LOADS]
        return Words(*parts)

    def word_tile(self, word: Operand) -> Val:
        """Return a word as a tile; one of a number becomes a tiling field first."""
        return self.tile(self.scalar(word, I32) if isinstance(word, Scalar) else word)

    def float_of(self, words: Words) -> Val:
        """Return 64-bit integers as floats, whole numbers up to 2**24 exactly.

        The lower word counts as a signed number, and what it lacks is added to the upper one: the
        lower word of -1 would be rounded to 2**32 as an unsigned number.
        """
        low, high = self.word_tile(words.low), self.word_tile(words.high)
        lacking = self.emit("ShiftRight", I32, low, Scalar(Const(31), I32))
        upper = self.emit("Sub", F32, self.as_kind(high, F32), self.as_kind(lacking, F32))
        upper = self.emit("Muls", F32, upper, Scalar(Const(2.0**32), F32))
        return self.emit("Add", F32, upper, self.as_kind(low, F32))

    def words_of_floats(self, node: Node) -> dict[Node, Words]:
        """Return the arguments in words of a call that makes floats of them."""
        result = node.meta.get("val")
        return self._word_arguments(node) if _is_float(result) or _compares_floats(node) else {}

    def _word_arguments(self, node: Node) -> dict[Node, Words]:
        held = {n: self.values.get(n) for n in tensor_arguments(node)}
        return {n: value for n, value in held.items() if isinstance(value, Words)}

    def takes_words(self, node: Node) -> bool:
        """Whether a call has to be computed on words.

        It has where it makes or gets 64-bit integers that int32 may lack, and where it compares two
        such numbers. Beside a number of int32 an input is compared as the nearest number of int32,
        which gives the same.
        """
        result = node.meta.get("val")
        if not self.splits or not isinstance(result, torch.Tensor):
            return False
        if self._word_arguments(node):
            return not (_is_float(result) or _compares_floats(node))
        if result.dtype is torch.int64:
            return not self.has_bounds(node)
        compares = target_name(node) in _COMPARISONS
        return compares and all(self._is_wide(value) for value in node.args[:2])

    def _is_wide(self, value: Any) -> bool:
        if isinstance(value, int):
            return not -(2**31) < value < 2**31 - 1
        return isinstance(value, Node) and self.is_wide_input(value)

    def is_wide_input(self, node: Node) -> bool:
        """Whether the value of a node is an int64 input."""
        value = self.values.get(node)
        return isinstance(value, View) and self._is_wide_view(value)

    def _is_wide_view(self, view: View) -> bool:
        plain = view.counted is None
        return plain and self.spec.param(view.tensor).dtypes[self.combo] == "int64"
