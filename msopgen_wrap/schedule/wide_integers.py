"""Lowerings of 64-bit integers that no bounds make int32: each number is computed as two words.

The vector unit of arch 2201 has no arithmetic of 64 bits. Kernels of the elementwise family take
the words of an operand apart (``LoadLow``, ``LoadHigh``), compute with them in int32 and join them
where an output is stored. Divisions are made by the scalar unit, an element at a time.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.schedule import comparisons
from msopgen_wrap.schedule.calls import Node, lowers_words, target_name
from msopgen_wrap.schedule.lowering import Lowerer, wrap_small
from msopgen_wrap.schedule.program import F32, I32, MASK, OPS, Operand, OpInfo, Scalar, Val, Words

_LEAST = -(2**31)


def _number(value: int) -> Scalar:
    return Scalar(Const(value), I32)


def _tiles(low: Lowerer, value: Any) -> tuple[Val, Val]:
    words = low.words(value)
    return low.word_tile(words.low), low.word_tile(words.high)


def _select(low: Lowerer, mask: Val, yes: Words, no: Words) -> Words:
    return Words(
        comparisons.select(low, I32, mask, yes.low, no.low),
        comparisons.select(low, I32, mask, yes.high, no.high),
    )


def _unsigned(low: Lowerer, word: Operand) -> Operand:
    """Return a word that orders as a signed number as ``word`` does as an unsigned one."""
    if isinstance(word, Scalar) and isinstance(word.expr, Const):
        return _number(int(word.expr.value) ^ _LEAST)
    return low.emit("Adds", I32, low.word_tile(word), _number(_LEAST))


def _below(low: Lowerer, a: Operand, b: Operand) -> Val:
    """Return the mask of ``a < b`` of words without signs."""
    return comparisons.compare(low, "LT", _unsigned(low, a), _unsigned(low, b))


def _less(low: Lowerer, a: Words, b: Words) -> Val:
    """Return the mask of ``a < b``: the low words decide where the high ones are equal."""
    same = comparisons.compare(low, "EQ", a.high, b.high)
    first = comparisons.select(low, I32, same, _unsigned(low, a.low), a.high)
    second = comparisons.select(low, I32, same, _unsigned(low, b.low), b.high)
    return comparisons.compare(low, "LT", first, second)


def compare_words(low: Lowerer, mode: str, a: Words, b: Words) -> Val:
    """Return the mask of ``a mode b``."""
    if mode in ("EQ", "NE"):
        masks = [
            comparisons.compare(low, "EQ", a.low, b.low),
            comparisons.compare(low, "EQ", a.high, b.high),
        ]
        same = low.emit("MaskAnd", MASK, *masks)
        return same if mode == "EQ" else low.emit("MaskNot", MASK, same)
    if mode in ("GT", "LE"):
        a, b = b, a
    less = _less(low, a, b)
    return less if mode in ("LT", "GT") else low.emit("MaskNot", MASK, less)


def _add(low: Lowerer, a: Words, b: Words) -> Words:
    """a + b: the high words get the carry of the low ones, whose sum is below either then."""
    first, second = low.word_tile(a.low), low.word_tile(b.low)
    total = low.emit("Add", I32, first, second)
    carry = _below(low, total, second)
    high = low.emit("Add", I32, low.word_tile(a.high), low.word_tile(b.high))
    more = low.emit("Adds", I32, high, _number(1))
    return Words(total, low.emit("Select", I32, carry, more, high))


def _subtract(low: Lowerer, a: Words, b: Words) -> Words:
    """a - b."""
    first, second = low.word_tile(a.low), low.word_tile(b.low)
    borrow = _below(low, first, second)
    high = low.emit("Sub", I32, low.word_tile(a.high), low.word_tile(b.high))
    less = low.emit("Adds", I32, high, _number(-1))
    return Words(low.emit("Sub", I32, first, second), low.emit("Select", I32, borrow, less, high))


def _upper_product(low: Lowerer, a: Val, b: Val) -> Val:
    """Return the high word of the product of two words without signs, from halves of 16 bits."""

    def upper(value: Val) -> Val:
        return low.emit("ShiftRightLogical", I32, value, _number(16))

    def lower(value: Val) -> Val:
        return upper(low.emit("ShiftLeft", I32, value, _number(16)))

    def product(first: Val, second: Val) -> Val:
        return low.emit("Mul", I32, first, second)

    a_low, a_high, b_low, b_high = lower(a), upper(a), lower(b), upper(b)
    middle = low.emit("Add", I32, product(a_high, b_low), upper(product(a_low, b_low)))
    other = low.emit("Add", I32, product(a_low, b_high), lower(middle))
    total = low.emit("Add", I32, product(a_high, b_high), upper(middle))
    return low.emit("Add", I32, total, upper(other))


def _multiply(low: Lowerer, a: Words, b: Words) -> Words:
    """a * b, without the bits beyond 64."""
    parts = (a.low, a.high, b.low, b.high)
    a_low, a_high, b_low, b_high = (low.word_tile(part) for part in parts)
    high = _upper_product(low, a_low, b_low)
    for pair in ((a_high, b_low), (a_low, b_high)):
        high = low.emit("Add", I32, high, low.emit("Mul", I32, *pair))
    return Words(low.emit("Mul", I32, a_low, b_low), high)


def _negate(low: Lowerer, a: Words) -> Words:
    return _subtract(low, low.words(0), a)


@lowers_words("aten.add.Tensor", "aten.add.Scalar", "aten.sub.Tensor", "aten.sub.Scalar")
def _sum(low: Lowerer, node: Node) -> Any:
    a, b = (low.words(value) for value in node.args[:2])
    alpha = node.kwargs.get("alpha", node.args[2] if len(node.args) > 2 else 1)
    if alpha != 1:
        b = _multiply(low, b, low.words(alpha))
    return (_add if "add" in target_name(node) else _subtract)(low, a, b)


@lowers_words("aten.rsub.Scalar", "aten.rsub.Tensor")
def _difference(low: Lowerer, node: Node) -> Any:
    return _subtract(low, low.words(node.args[1]), low.words(node.args[0]))


@lowers_words("aten.mul.Tensor", "aten.mul.Scalar")
def _product(low: Lowerer, node: Node) -> Any:
    return _multiply(low, low.words(node.args[0]), low.words(node.args[1]))


@lowers_words("aten.square.default")
def _square(low: Lowerer, node: Node) -> Any:
    return _multiply(low, low.words(node.args[0]), low.words(node.args[0]))


@lowers_words("aten.pow.Tensor_Scalar")
def _power(low: Lowerer, node: Node) -> Any:
    base, exponent = low.words(node.args[0]), node.args[1]
    if not isinstance(exponent, int) or exponent < 0:
        raise low.unsupported_dtype("int64", "", node)
    if exponent == 0:
        return low.words(1)
    result: Words | None = None
    while exponent:
        if exponent % 2:
            result = base if result is None else _multiply(low, result, base)
        exponent //= 2
        base = _multiply(low, base, base) if exponent else base
    return result


@lowers_words("aten.neg.default")
def _negative(low: Lowerer, node: Node) -> Any:
    return _negate(low, low.words(node.args[0]))


@lowers_words("aten.abs.default")
def _magnitude(low: Lowerer, node: Node) -> Any:
    words = low.words(node.args[0])
    below = comparisons.compare(low, "LT", words.high, _number(0))
    return _select(low, below, _negate(low, words), words)


@lowers_words("aten.sign.default", "aten.sgn.default")
def _sign(low: Lowerer, node: Node) -> Any:
    words, zero = low.words(node.args[0]), low.words(0)
    below = comparisons.compare(low, "LT", words.high, _number(0))
    none = compare_words(low, "EQ", words, zero)
    return _select(low, none, zero, _select(low, below, low.words(-1), low.words(1)))


def _larger(low: Lowerer, which: str, a: Words, b: Words) -> Words:
    less = _less(low, a, b)
    return _select(low, less, b, a) if which == "max" else _select(low, less, a, b)


@lowers_words("aten.maximum.default", "aten.minimum.default")
def _extremum(low: Lowerer, node: Node) -> Any:
    which = "max" if "maximum" in target_name(node) else "min"
    return _larger(low, which, low.words(node.args[0]), low.words(node.args[1]))


@lowers_words("aten.clamp.default", "aten.clamp.Tensor", "aten.hardtanh.default")
def _clamp(low: Lowerer, node: Node) -> Any:
    arguments = [*node.args, None, None][:3]
    value = low.words(arguments[0])
    for which, bound in (
        ("max", node.kwargs.get("min", arguments[1])),
        ("min", node.kwargs.get("max", arguments[2])),
    ):
        if bound is not None:
            value = _larger(low, which, value, low.words(bound))
    return value


@lowers_words("aten.clamp_min.default", "aten.clamp_max.default")
@lowers_words("aten.clamp_min.Tensor", "aten.clamp_max.Tensor")
def _clamp_one(low: Lowerer, node: Node) -> Any:
    which = "max" if "clamp_min" in target_name(node) else "min"
    return _larger(low, which, low.words(node.args[0]), low.words(node.args[1]))


@lowers_words("aten.relu.default")
def _relu(low: Lowerer, node: Node) -> Any:
    return _larger(low, "max", low.words(node.args[0]), low.words(0))


@lowers_words("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf")
@lowers_words("aten.where.Scalar")
def _where(low: Lowerer, node: Node) -> Any:
    mask = _mask(low, node.args[0])
    return _select(low, mask, low.words(node.args[1]), low.words(node.args[2]))


@lowers_words("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def _masked_fill(low: Lowerer, node: Node) -> Any:
    mask = _mask(low, node.args[1])
    return _select(low, mask, low.words(node.args[2]), low.words(node.args[0]))


def _mask(low: Lowerer, value: Any) -> Val:
    return low.tile(low.as_kind(low.operand(value), MASK))


def _register_comparisons() -> None:
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):

        def handler(low: Lowerer, node: Node, mode: str = name.upper()) -> Any:
            return compare_words(low, mode, low.words(node.args[0]), low.words(node.args[1]))

        lowers_words(f"aten.{name}.Tensor", f"aten.{name}.Scalar")(handler)


_register_comparisons()


@lowers_words("aten.bitwise_and.Tensor", "aten.bitwise_or.Tensor", "aten.bitwise_xor.Tensor")
@lowers_words("aten.bitwise_and.Scalar", "aten.bitwise_or.Scalar", "aten.bitwise_xor.Scalar")
def _bitwise(low: Lowerer, node: Node) -> Any:
    op = target_name(node).split("bitwise_")[1].split(".")[0]
    pairs = zip(_tiles(low, node.args[0]), _tiles(low, node.args[1]), strict=True)
    return Words(*(comparisons.bitwise(low, op, a, b) for a, b in pairs))


@lowers_words("aten.bitwise_not.default")
def _bitwise_not(low: Lowerer, node: Node) -> Any:
    return Words(*(low.emit("BitNot", I32, part) for part in _tiles(low, node.args[0])))


def _shifted_left(low: Lowerer, a: Words, by: int) -> Words:
    first, second = low.word_tile(a.low), low.word_tile(a.high)
    if by >= 32:
        moved = low.emit("ShiftLeft", I32, first, _number(by - 32)) if by > 32 else first
        return Words(_number(0), moved)
    carried = low.emit("ShiftRightLogical", I32, first, _number(32 - by))
    high = low.emit("Add", I32, low.emit("ShiftLeft", I32, second, _number(by)), carried)
    return Words(low.emit("ShiftLeft", I32, first, _number(by)), high)


def _shifted_right(low: Lowerer, a: Words, by: int) -> Words:
    first, second = low.word_tile(a.low), low.word_tile(a.high)
    if by >= 32:
        moved = low.emit("ShiftRight", I32, second, _number(by - 32)) if by > 32 else second
        return Words(moved, low.emit("ShiftRight", I32, second, _number(31)))
    carried = low.emit("ShiftLeft", I32, second, _number(32 - by))
    rest = low.emit("Add", I32, low.emit("ShiftRightLogical", I32, first, _number(by)), carried)
    return Words(rest, low.emit("ShiftRight", I32, second, _number(by)))


@lowers_words("aten.bitwise_left_shift.Tensor_Scalar", "aten.bitwise_right_shift.Tensor_Scalar")
@lowers_words("aten.__lshift__.Scalar", "aten.__rshift__.Scalar")
def _shift(low: Lowerer, node: Node) -> Any:
    words, by = low.words(node.args[0]), node.args[1]
    if not isinstance(by, int):
        raise low.unsupported_dtype("int64", "", node)
    left = "left" in target_name(node) or "lshift" in target_name(node)
    if not 0 <= by < 64:  # PyTorch leaves the sign of a right shift and 0 of a left one
        return low.words(0) if left else _shifted_right(low, words, 63)
    if by == 0:
        return words
    return _shifted_left(low, words, by) if left else _shifted_right(low, words, by)


@lowers_words("aten.logical_and.default", "aten.logical_or.default", "aten.logical_xor.default")
def _logical(low: Lowerer, node: Node) -> Any:
    a, b = (_truth(low, value) for value in node.args[:2])
    op = target_name(node).split("logical_")[1].split(".")[0]
    return comparisons.logical_masks(low, op, a, b)


def _truth(low: Lowerer, value: Any) -> Val:
    """Return the mask of what is not 0."""
    held = low.values.get(value) if isinstance(value, Node) else value
    if isinstance(held, Words):
        return compare_words(low, "NE", held, low.words(0))
    return _mask(low, value)


@lowers_words("aten.logical_not.default")
def _logical_not(low: Lowerer, node: Node) -> Any:
    return compare_words(low, "EQ", low.words(node.args[0]), low.words(0))


def _words_of_floats(low: Lowerer, x: Val) -> Words:
    """Return the whole parts of floats as words: 0 for NaN, the ends for what lies beyond them.

    A float has 24 bits, so that its shares of both words, which have its sign, are exact.
    """

    def chosen(kind: str, mask: Val, yes: Val, no: Val) -> Val:
        return low.emit("Select", kind, mask, yes, no)

    def compared(value: Val, mode: str, limit: float) -> Val:
        return low.emit("Compares", MASK, value, _float(limit), mode=mode)

    whole = low.emit("Cast", F32, x, mode="CAST_TRUNC")
    share = low.emit("Muls", F32, whole, _float(2.0**-32))
    upper = low.emit("Cast", F32, share, mode="CAST_TRUNC")
    rest = low.emit("Sub", F32, whole, low.emit("Muls", F32, upper, _float(2.0**32)))
    signed = rest  # the lower word, as a signed number
    for mode, limit in (("GE", 2.0**31), ("LT", -(2.0**31))):
        moved = low.emit("Adds", F32, rest, _float(-2 * limit))
        signed = chosen(F32, compared(rest, mode, limit), moved, signed)
    lower = low.emit("Cast", I32, signed, mode="CAST_TRUNC")
    high = low.emit("Cast", I32, upper, mode="CAST_TRUNC")
    less = low.emit("Adds", I32, high, _number(-1))
    high = chosen(I32, compared(rest, "LT", 0.0), less, high)
    least, most = low.words(_LEAST * 2**32), low.words(2**63 - 1)
    for mode, limit, end in (("LE", -(2.0**31), least), ("GE", 2.0**31, most)):
        beyond = compared(upper, mode, limit)
        lower = chosen(I32, beyond, low.word_tile(end.low), lower)
        high = chosen(I32, beyond, low.word_tile(end.high), high)
    return Words(lower, high)


def _float(value: float) -> Scalar:
    return Scalar(Const(value), F32)


@lowers_words("aten._to_copy.default", "prims.convert_element_type.default", "aten.to.dtype")
def _convert(low: Lowerer, node: Node) -> Any:
    source: Any = node.args[0]
    if not isinstance(low.values.get(source), Words):
        operand = low.operand(source)
        if isinstance(operand, Val) and operand.kind == F32:
            return _words_of_floats(low, operand)
    words, target = low.words(source), low.dtype(node)
    if target == "int64":
        return words
    if target == "bool":
        return compare_words(low, "NE", words, low.words(0))
    return wrap_small(low, words.low, target)


@lowers_words("aten.full.default", "aten.full_like.default", "aten.scalar_tensor.default")
def _full(low: Lowerer, node: Node) -> Any:
    return low.words(node.args[0 if "scalar_tensor" in target_name(node) else 1])


@lowers_words("aten.copy.default", "aten.fill.Scalar", "aten.fill.Tensor")
def _copy(low: Lowerer, node: Node) -> Any:
    return low.words(node.args[1])


# ---- Divisions, by the scalar unit --------------------------------------------------------------

OPS["opgen::JoinByScalar"] = OpInfo("opgen::JoinByScalar", in_place=False)


def _by_scalar(low: Lowerer, kind: str, a: Any, b: Any) -> Words:
    """Return what ``opgen::JoinByScalar`` makes of two numbers, as the two words it writes."""
    first, second = _tiles(low, a), _tiles(low, b)
    # no two blocks may write the same tile
    room = low.emit("Room", I32, mode=str(len(low.program.insts)))
    result = low.emit("opgen::JoinByScalar", I32, *first, *second, room, mode=f"opgen::kWide{kind}")
    return Words(result, low.emit("Beside", I32, room, result))


@lowers_words("aten.gcd.default")
def _gcd(low: Lowerer, node: Node) -> Any:
    return _by_scalar(low, "Divisor", *node.args[:2])


@lowers_words("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor")
def _remainder(low: Lowerer, node: Node) -> Any:
    return _by_scalar(low, "FloorRest", *node.args[:2])


@lowers_words("aten.fmod.Tensor", "aten.fmod.Scalar")
def _fmod(low: Lowerer, node: Node) -> Any:
    return _by_scalar(low, "Rest", *node.args[:2])


@lowers_words("aten.floor_divide.default", "aten.div.Tensor_mode", "aten.div.Scalar_mode")
def _divide(low: Lowerer, node: Node) -> Any:
    truncates = node.kwargs.get("rounding_mode") == "trunc"
    return _by_scalar(low, "Quotient" if truncates else "FloorQuotient", *node.args[:2])
