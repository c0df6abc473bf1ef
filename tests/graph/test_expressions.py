"""Integer expressions of the host: which operations are checked, and which terms are left out."""

from __future__ import annotations

import itertools
import random

import pytest

from msopgen_wrap.graph.host_text import bounds, is_checked, simplified, to_cpp
from msopgen_wrap.graph.scalars import (
    AttrRef,
    Binary,
    Const,
    DimRef,
    Numel,
    ScalarExpr,
    Unary,
    evaluate,
    with_attr,
)
from msopgen_wrap.graph.scalars import describe as text

# ---- Which integer operations of the host are checked: all that may leave 64 bits ----------------

N, SIZE = AttrRef("n", True), DimRef("x", 0, 1)
# A size is below kMaxElements: larger tensors are refused.
NUMBERS = (-(2**63), -(2**31), -7, -1, 0, 1, 2, 2**31, 2**62, 2**63 - 1)
SIZES = (0, 1, 5, 2**33, 2**58)


def random_expression(rng: random.Random, depth: int) -> ScalarExpr:
    if depth == 0:
        return rng.choice((N, SIZE, Const(rng.choice(NUMBERS)), Const(3)))
    if rng.random() < 0.2:
        return Unary(rng.choice(("neg", "abs", "int")), random_expression(rng, depth - 1))
    op = rng.choice(("+", "-", "*", "//", "%", "min", "max"))
    return Binary(op, random_expression(rng, depth - 1), random_expression(rng, depth - 1))


def parts(expr: ScalarExpr) -> list[ScalarExpr]:
    """Return an expression and what it is made of, innermost first."""
    below = {Unary: ("arg",), Binary: ("left", "right")}.get(type(expr), ())
    return [*(p for name in below for p in parts(getattr(expr, name))), expr]


def has_no_value(expr: ScalarExpr, n: int, size: int) -> bool:
    given = ({"n": n}, {"x": (size,)})
    if isinstance(expr, Binary) and expr.op in ("//", "%") and evaluate(expr.right, *given) == 0:
        return True
    return not -(2**63) <= evaluate(expr, *given) < 2**63


def only_empty_lacks(expr: ScalarExpr) -> bool:
    """Whether only an empty tensor lacks a remainder or quotient, for which the host takes 0."""
    if not isinstance(expr, Binary) or expr.right != SIZE:
        return False
    return expr.op == "%" or (expr.op == "//" and has_factor(expr.left))


def has_factor(expr: ScalarExpr) -> bool:
    """Whether an expression is the size, or a product with it."""
    if isinstance(expr, Binary) and expr.op == "*":
        return has_factor(expr.left) or has_factor(expr.right)
    return expr == SIZE


@pytest.mark.parametrize("seed", range(300))
def test_what_leaves_64_bits_first_is_checked(seed):
    rng = random.Random(seed)
    expr = random_expression(rng, 1 + seed % 4)
    for n in NUMBERS:
        for size in SIZES:
            for part in parts(expr):
                if has_no_value(part, n, size):
                    assert is_checked(part) or only_empty_lacks(part), (to_cpp(part), n, size)
                    break  # what is made of it has no value either
                low, high = bounds(part)
                assert low <= evaluate(part, {"n": n}, {"x": (size,)}) <= high


def test_arithmetic_of_sizes_is_plain():
    """Most tiling functions read as before: sizes have room for sums, halves and remainders."""
    half = Binary("//", SIZE, Const(2))
    assert to_cpp(Binary("-", SIZE, half)) == (
        "(opgen::DimAt(xShape, 0) - opgen::FloorDiv(opgen::DimAt(xShape, 0), 2))"
    )
    assert to_cpp(Binary("+", Binary("%", SIZE, Const(7)), Const(2**40))) == (
        "(opgen::FloorMod(opgen::DimAt(xShape, 0), 7) + 1099511627776LL)"
    )
    assert to_cpp(Binary("%", N, SIZE)) == "opgen::FloorMod(nValue, opgen::DimAt(xShape, 0))"
    assert to_cpp(Binary("//", N, SIZE)) == "whole.FloorDiv(nValue, opgen::DimAt(xShape, 0))"
    # the elements of a tensor by one of its sizes: 0 where that is 0
    assert to_cpp(Binary("//", Numel("x"), SIZE)) == (
        "opgen::FloorDiv(opgen::Numel(xShape), opgen::DimAt(xShape, 0))"
    )
    assert to_cpp(Binary("*", SIZE, N)) == "whole.Mul(opgen::DimAt(xShape, 0), nValue)"
    assert to_cpp(Binary("*", N, Const(2**70))) == (
        "whole.Mul(nValue, whole.Of(1.1805916207174113e+21))"
    )


# ---- Expressions are written shorter where ranges show that a clamp or a term does nothing -------

D, E = DimRef("x", 0, 2), DimRef("x", 1, 2)
REST = Binary("%", Binary("-", D, Const(3)), D)
# The start of the part that a roll takes, as PyTorch clamps it.
START = Binary(
    "+",
    REST,
    Binary("*", D, Binary("min", Binary("max", Unary("neg", REST), Const(0)), Const(1))),
)
CASES: list[tuple[ScalarExpr, str]] = [
    (Binary("+", Const(0), D), "x.shape[0]"),
    (Binary("*", Const(1), Binary("-", D, Const(0))), "x.shape[0]"),
    (Binary("+", Const(-3), D), "(x.shape[0] - 3)"),
    (Binary("+", D, Binary("*", Const(-1), E)), "(x.shape[0] - x.shape[-1])"),
    (Binary("+", Binary("-", D, E), E), "x.shape[0]"),
    (Binary("max", Const(0), D), "x.shape[0]"),
    (Binary("min", D, E), "(x.shape[0] min x.shape[-1])"),
    (START, "((x.shape[0] - 3) % x.shape[0])"),
    (Binary("min", START, D), "((x.shape[0] - 3) % x.shape[0])"),
    (Binary("max", Binary("-", D, REST), Const(0)), f"(x.shape[0] - {text(REST)})"),
    (Binary("min", Binary("//", D, Const(2)), D), "(x.shape[0] // 2)"),
    # floats are not regrouped, and what may leave 64 bits is checked when it runs
    (Binary("+", Const(0.0), AttrRef("a")), "(0 + a)"),
    (Binary("-", Binary("*", N, N), Binary("*", N, N)), "((n * n) - (n * n))"),
]


@pytest.mark.parametrize(("expr", "short"), CASES)
def test_forms(expr, short):
    assert text(simplified(expr)) == short


def test_sizes_seen_in_other_ranks_are_the_same():
    assert text(simplified(Binary("min", DimRef("x", 2, 3), E))) == "x.shape[-1]"


@pytest.mark.parametrize("expr", [e for e, _ in CASES])
def test_values_stay(expr):
    for d, e, n in itertools.product((0, 1, 2, 5, 9), (0, 1, 7), (-2, 0, 3)):
        given = {"n": n, "a": 0.5}, {"x": (d, e)}
        assert evaluate(simplified(expr), *given) == evaluate(expr, *given)


# ---- Expressions at one value of an attr ---------------------------------------------------------


def test_an_attr_becomes_a_number() -> None:
    rng = random.Random(3)
    for _ in range(200):
        expr, value = random_expression(rng, 3), rng.choice((-3, 0, 1, 8))
        known = with_attr(expr, "n", value)
        assert "n" not in {part.name for part in parts(known) if isinstance(part, AttrRef)}
        for size in SIZES:
            shapes = {"x": (size,)}
            assert evaluate(known, {}, shapes) == evaluate(expr, {"n": value}, shapes)


def test_elements_of_a_list_become_numbers() -> None:
    first, third = (AttrRef("sizes", True, index) for index in (0, 2))
    product = Binary("*", first, Binary("+", third, N))
    assert with_attr(product, "sizes", (4, 5)) == Binary("*", Const(4), Binary("+", third, N))
