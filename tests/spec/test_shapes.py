"""Shape rules: text to nodes to shapes and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.model import (
    AttrTest,
    DimAttr,
    DimBinary,
    DimConst,
    DimNumel,
    DimOf,
    DimRank,
    DimScaled,
    DimSlice,
    ShapeBroadcast,
    ShapeChoice,
    ShapeLike,
    ShapeList,
    ShapePermute,
    ShapeReduce,
    ShapeStridedSlice,
)
from msopgen_wrap.spec.shape_parser import ShapeNames, parse_shape
from msopgen_wrap.spec.shapes import (
    ShapeError,
    broadcast_shapes,
    evaluate,
    format_shape,
    needed_tensors,
    queried_tensors,
    rule_attrs,
    rule_tensors,
)

NAMES = ShapeNames(
    ("x", "y", "xs"),
    {
        "n": "int",
        "sizes": "list_int",
        "keep": "bool",
        "dims": "list_int",
        "alpha": "float",
        "factors": "list_float",
        "how": "str",
        "perm": "list_int",
    },
    frozenset({"xs"}),
)


def parse(text: str) -> Any:
    findings = Findings()
    rule = parse_shape(text, NAMES, Location("t", 1, 1), findings)
    assert not findings.items, findings.items
    return rule


SHAPES = {"x": (2, 3, 5), "y": (4, 1, 5)}
ATTRS = {
    "n": 7,
    "how": "sum",
    "sizes": (8, 9),
    "keep": True,
    "dims": (0, -1),
    "alpha": 0.7,
    "factors": (0.5, 2.0, 1e30),
    "perm": (2, -3, 1),
}

RULES = [
    ("x", ShapeLike("x"), (2, 3, 5)),
    ("like x", ShapeLike("x"), (2, 3, 5)),
    ("broadcast(x)", ShapeBroadcast(("x",)), (2, 3, 5)),
    ("[]", ShapeList(()), ()),
    ("[4]", ShapeList((DimConst(4),)), (4,)),
    ("[*x]", ShapeList((DimSlice("x", None, None),)), (2, 3, 5)),
    ("[*x[:-1], n]", ShapeList((DimSlice("x", None, -1), DimAttr("n"))), (2, 3, 7)),
    ("[*x[1:], y[0]]", ShapeList((DimSlice("x", 1, None), DimOf("y", 0))), (3, 5, 4)),
    ("[sizes[1], sizes[-2]]", ShapeList((DimAttr("sizes", 1), DimAttr("sizes", -2))), (9, 8)),
    ("[rank(x), numel(y)]", ShapeList((DimRank("x"), DimNumel("y"))), (3, 20)),
    (
        "[x[0] * 2 + 1]",
        ShapeList((DimBinary("+", DimBinary("*", DimOf("x", 0), DimConst(2)), DimConst(1)),)),
        (5,),
    ),
    ("[x[-1] // 2]", ShapeList((DimBinary("//", DimOf("x", -1), DimConst(2)),)), (2,)),
    ("[(x[2] + 7) % 4]", None, (0,)),
    ("[min(x[0], 1), max(x[1], n, 2)]", None, (1, 7)),
    ("reduce(x, 1)", ShapeReduce("x", (1,), False), (2, 5)),
    ("reduce(x, [0, -1], true)", ShapeReduce("x", (0, -1), True), (1, 3, 1)),
    ("reduce(x, dims, keep)", ShapeReduce("x", "dims", "keep"), (1, 3, 1)),
    ("reduce(x, dim=n, keepdim=False)", ShapeReduce("x", "n", False), ShapeError),
    ("reduce(x, [])", ShapeReduce("x", (), False), ()),
    ("broadcast(x, y)", ShapeBroadcast(("x", "y")), ShapeError),
    (
        "like x if how == 'none' else []",
        ShapeChoice(AttrTest("how", ("none",)), ShapeLike("x"), ShapeList(())),
        (),
    ),
    ("[] if how != 'none' else like x", None, ()),
    ("like y if how in ('sum', 'mean') else [] if keep else [n]", None, (4, 1, 5)),
    ("(like y if keep else like x) if n == 7 else []", None, (4, 1, 5)),
    ("reduce(x, 1, true) if not keep else x", None, (2, 3, 5)),
    ("[1] if n not in (7, 8) else [2]", None, (2,)),
    (
        "[floor(x[2] * factors[0]), ceil(factors[0] * x[2])]",
        ShapeList(
            (
                DimScaled(DimOf("x", 2), DimAttr("factors", 0)),
                DimScaled(DimOf("x", 2), DimAttr("factors", 0), up=True),
            )
        ),
        (2, 3),
    ),
    # ten times 0.7 is 7, but not ten times the float32 beside it
    ("[floor((x[0] * 5) * alpha), max(n, floor(x[1] * factors[-2]))]", None, (6, 7)),
    ("[floor(x[0] * factors[2])]", None, ShapeError),
    ("[floor(x[0] * factors[3])]", None, ShapeError),
    ("permute(x, perm)", ShapePermute("x", "perm"), (5, 2, 3)),
    ("permute(x, dims)", None, ShapeError),
    (
        "strided_slice(x, sizes, dims, perm, n)",
        ShapeStridedSlice("x", ("sizes", "dims", "perm"), ("n",)),
        ShapeError,
    ),
    ("strided_slice(x, dims, sizes, sizes)", None, (1, 1, 5)),
    ("strided_slice(x, dims, sizes, sizes, n, n, n)", None, ShapeError),
    ("permute(y, sizes)", None, ShapeError),
    ("[x[0] - 3]", None, ShapeError),
    ("[x[5]]", None, ShapeError),
    ("[x[0] // (x[1] - 3)]", None, ShapeError),
]


@pytest.mark.parametrize(("text", "nodes", "shape"), RULES, ids=[r[0] for r in RULES])
def test_rules(text: str, nodes: Any, shape: Any) -> None:
    rule = parse(text)
    if nodes is not None:
        assert rule == nodes
    assert parse(format_shape(rule)) == rule
    if shape is ShapeError:
        with pytest.raises(ShapeError):
            evaluate(rule, SHAPES, ATTRS)
    else:
        assert evaluate(rule, SHAPES, ATTRS) == shape


BROADCASTS = [
    ([(3, 1), (1, 4)], (3, 4)),
    ([(5,), (2, 3, 5)], (2, 3, 5)),
    ([(), (3,)], (3,)),
    ([(0,), (1,)], (0,)),
    ([(0,), (3,)], None),
    ([(2, 3), (3, 2)], None),
]


@pytest.mark.parametrize(("shapes", "result"), BROADCASTS)
def test_broadcast(shapes: list[tuple[int, ...]], result: Any) -> None:
    if result is None:
        with pytest.raises(ShapeError, match="do not broadcast"):
            broadcast_shapes(shapes)
    else:
        assert broadcast_shapes(shapes) == result


@given(st.lists(st.lists(st.integers(0, 3), max_size=4).map(tuple), min_size=1, max_size=4))
def test_broadcast_agrees_with_numpy(shapes: list[tuple[int, ...]]) -> None:
    import numpy as np

    try:
        expected: Any = np.broadcast_shapes(*shapes)
    except ValueError:
        expected = None
    if expected is None:
        with pytest.raises(ShapeError):
            broadcast_shapes(shapes)
    else:
        assert broadcast_shapes(shapes) == expected


def test_absent_optional_inputs_are_skipped_only_by_broadcast() -> None:
    assert evaluate(parse("broadcast(x, y)"), {"x": (3,), "y": None}) == (3,)
    with pytest.raises(ShapeError, match="absent"):
        evaluate(parse("like y"), {"y": None})


@pytest.mark.parametrize("text", ["[{} if y is not None else n]", "[n if y is None else {}]"])
def test_a_dimension_may_ask_whether_an_input_is_given(text: str) -> None:
    rule = parse(text.format("x[0] // y[1]"))
    assert evaluate(rule, {"x": (12,), "y": (5, 4)}, {"n": 7}) == (3,)
    assert evaluate(rule, {"x": (12,), "y": None}, {"n": 7}) == (7,)
    assert format_shape(rule) == "[x[0] // y[1] if y is not None else n]"
    assert (rule_tensors(rule), rule_attrs(rule)) == (("y", "x"), ("n",))
    assert (needed_tensors(rule), queried_tensors(rule)) == (("x",), ("y",))


@pytest.mark.parametrize("rows", [[(2, 3), (4,)], ((2, 3), (4,))])
def test_rules_over_lists_give_lists(rows: Any) -> None:
    assert evaluate(parse("like xs"), {"xs": rows}) == [(2, 3), (4,)]
    assert evaluate(parse("[xs[0], 2]"), {"xs": rows}) == [(2, 2), (4, 2)]
    assert evaluate(parse("broadcast(xs, y)"), {"xs": rows, "y": (1,)}) == [(2, 3), (4,)]


def test_lists_of_different_length_do_not_fit() -> None:
    rule = ShapeBroadcast(("xs", "y"))
    with pytest.raises(ShapeError, match="differ in length"):
        evaluate(rule, {"xs": [(1,), (2,)], "y": [(1,)]})


def test_references() -> None:
    rule = parse("[*x[:-1], n + sizes[0], y[0]]")
    assert rule_tensors(rule) == ("x", "y")
    assert rule_attrs(rule) == ("n", "sizes")
    scaled = parse("[floor((x[0] + n) * factors[1])]")
    assert (rule_tensors(scaled), rule_attrs(scaled)) == (("x",), ("n", "factors"))
    ordered = parse("permute(y, perm)")
    assert (rule_tensors(ordered), rule_attrs(ordered)) == (("y",), ("perm",))


def test_references_of_rules_with_conditions() -> None:
    rule = parse("like x if how == 'none' else reduce(y, dims, keep) if keep else []")
    assert rule_tensors(rule) == ("x", "y")
    assert rule_attrs(rule) == ("how", "keep", "dims")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x if n else y", "OPG033"),  # no bool attr
        ("x if how == 3 else y", "OPG033"),
        ("x if alpha == 1 else y", "OPG033"),
        ("x if who == 'none' else y", "OPG031"),
        ("x if how > 'none' else y", "OPG030"),
        ("x if how in 'none' else y", "OPG030"),
        ("x if how in () else y", "OPG030"),
        ("x if 'none' == how else y", "OPG030"),
        ("x if keep and keep else y", "OPG030"),
        ("like [] if keep else y", "OPG033"),
        ("[n if keep else 1]", "OPG030"),
        ("[1 if y is n else 2]", "OPG030"),
        ("[1 if n is None else 2]", "OPG033"),
        ("[floor(x[0])]", "OPG030"),
        ("[floor(x[0] * n)]", "OPG033"),
        ("[floor(x[0] * factors)]", "OPG033"),
        ("[floor(x[0] * alpha[0])]", "OPG033"),
        ("[floor(alpha * alpha)]", "OPG033"),
        ("[x[0] * alpha]", "OPG033"),
        ("permute(x)", "OPG030"),
        ("permute(x, [1, 0])", "OPG030"),
        ("permute(x, n)", "OPG033"),
    ],
)
def test_rules_that_are_none(text: str, code: str) -> None:
    findings = Findings()
    assert parse_shape(text, NAMES, Location("t", 1, 1), findings) is None
    assert [d.code for d in findings.items] == [code]


DIM = st.recursive(
    st.sampled_from(["1", "7", "n", "x[0]", "y[-1]", "sizes[0]", "rank(x)", "numel(y)"]),
    lambda inner: st.builds(
        lambda a, op, b: f"{op}({a}, {b})" if op in ("min", "max") else f"({a}) {op} ({b})",
        inner,
        st.sampled_from(["+", "-", "*", "//", "%", "min", "max", "if y is not None else"]),
        inner,
    ),
    max_leaves=6,
)


@given(st.lists(st.one_of(DIM, st.sampled_from(["*x", "*y[1:]", "*x[:-1]"])), max_size=4))
def test_text_form_round_trips(parts: list[str]) -> None:
    rule = parse("[" + ", ".join(parts) + "]")
    assert parse(format_shape(rule)) == rule


def test_many_parentheses_beside_one_another_are_no_deep_nesting() -> None:
    parse("[" + ", ".join(["((1) + (n)) + ((1) + (x[0]))"] * 8) + "]")


@given(st.text(max_size=60))
def test_any_text_is_a_rule_or_a_finding(text: str) -> None:
    findings = Findings()
    rule = parse_shape(text, NAMES, Location("t", 1, 1), findings)
    assert (rule is None) == bool(findings.items)
