"""Expressions are written shorter where ranges show that a clamp or a term does nothing."""

from __future__ import annotations

import itertools

import pytest

from msopgen_wrap.graph.scalars import AttrRef, Binary, Const, DimRef, ScalarExpr, Unary, evaluate
from msopgen_wrap.graph.scalars import describe as text
from msopgen_wrap.graph.simplification import simplified

D, E, N = DimRef("x", 0, 2), DimRef("x", 1, 2), AttrRef("n", True)
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
