"""Generated InferShape against the Python reference of the shape rules, unknown dims included."""

from __future__ import annotations

import pytest

from msopgen_wrap.render.op_host import TilingText, render_op_host
from msopgen_wrap.run.op_abi import ShapeOnly
from msopgen_wrap.run.op_runtime import OpRuntimeError
from msopgen_wrap.spec.model import (
    Attr,
    AttrTest,
    Code,
    DimAttr,
    DimBinary,
    DimConst,
    DimGiven,
    DimNumel,
    DimOf,
    DimRank,
    DimSlice,
    OpSpec,
    ParamKind,
    ShapeBroadcast,
    ShapeChoice,
    ShapeLike,
    ShapeList,
    ShapeReduce,
    TensorParam,
)
from msopgen_wrap.spec.shapes import ShapeError, evaluate

NO_TILING = TilingText((), "", "", "")
BOTH = ("float16", "float32")
X = TensorParam("x", BOTH)
Y = TensorParam("y", BOTH)
OPTIONAL_Y = TensorParam("y", BOTH, ParamKind.OPTIONAL)


def spec(name, inputs, outputs, attrs=()):
    return OpSpec(
        op=name,
        name=name.lower(),
        doc="",
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        attrs=tuple(attrs),
        compute=Code("x"),
        kernel=None,
        tiling=None,
        backward="none",
        cases=(),
        tolerance={},
        soc=("ascend910b",),
    )


def out(rule, name="z", **more):
    return TensorParam(name, BOTH, shape=rule, shape_text="rule of the test", **more)


DIM = Attr("dim", "list_int", ())
N = Attr("n", "int", 4)
KEEP = Attr("keepdim", "bool", False)
AXIS = Attr("axis", "int", -1)
HOW = Attr("how", "str", "mean", ("none", "mean", "sum"))

SPECS = [
    spec("RuleLike", [X], [out(ShapeLike("x"))]),
    spec("RuleBroadcast", [X, Y], [out(ShapeBroadcast(("x", "y")))]),
    spec("RuleBroadcastOptional", [X, OPTIONAL_Y], [out(ShapeBroadcast(("x", "y")))]),
    spec(
        "RuleGiven",
        [X, OPTIONAL_Y],
        [
            out(
                ShapeList(
                    (
                        DimGiven("y", DimOf("y", -1), DimConst(5)),
                        DimBinary("//", DimNumel("x"), DimGiven("y", DimOf("y", 0), DimAttr("n"))),
                    )
                )
            )
        ],
        [N],
    ),
    spec("RuleScalar", [X], [out(ShapeList(()))]),
    spec("RuleSlice", [X], [out(ShapeList((DimSlice("x", None, -1), DimAttr("n"))))], [N]),
    spec("RuleMiddle", [X], [out(ShapeList((DimSlice("x", 1, 3), DimOf("x", 0))))]),
    spec(
        "RuleArithmetic",
        [X],
        [
            out(
                ShapeList(
                    (
                        DimBinary("//", DimOf("x", 0), DimAttr("n")),
                        DimBinary("%", DimOf("x", -1), DimConst(3)),
                        DimBinary("max", DimRank("x"), DimConst(2)),
                        DimBinary("-", DimNumel("x"), DimConst(1)),
                        DimBinary("min", DimConst(7), DimBinary("*", DimAttr("n"), DimConst(2))),
                    )
                )
            )
        ],
        [N],
    ),
    spec(
        "RuleTerms",
        [X],
        [
            out(
                ShapeList(
                    (
                        DimBinary("max", DimBinary("+", DimOf("x", 0), DimAttr("n")), DimConst(0)),
                        DimBinary("//", DimAttr("n"), DimConst(-1)),
                        DimBinary("%", DimAttr("n"), DimConst(-1)),
                    )
                )
            )
        ],
        [N],
    ),
    spec("RuleElement", [X], [out(ShapeList((DimAttr("dim", 0), DimAttr("dim", -1))))], [DIM]),
    spec("RuleReduce", [X], [out(ShapeReduce("x", "dim", "keepdim"))], [DIM, KEEP]),
    spec("RuleReduceAxis", [X], [out(ShapeReduce("x", "axis", True))], [AXIS]),
    spec("RuleReduceFixed", [X], [out(ShapeReduce("x", (0, -1), False))]),
    spec("RuleReduceAll", [X], [out(ShapeReduce("x", (), False))]),
    spec(
        "RuleList",
        [TensorParam("x", BOTH, ParamKind.DYNAMIC), TensorParam("y", BOTH, ParamKind.DYNAMIC)],
        [
            out(ShapeBroadcast(("x", "y")), kind=ParamKind.DYNAMIC),
            TensorParam("w", BOTH, shape=ShapeList((DimConst(3),))),
        ],
    ),
    spec(
        "RuleChoice",
        [X],
        [out(ShapeChoice(AttrTest("how", ("none",)), ShapeLike("x"), ShapeList(())))],
        [HOW],
    ),
    spec(
        "RuleChoices",
        [X],
        [
            out(
                ShapeChoice(
                    AttrTest("how", ("none", "sum"), inverted=True),
                    ShapeReduce("x", (0,), "keepdim"),
                    ShapeChoice(
                        AttrTest("keepdim", (False,)),
                        ShapeList((DimConst(3),)),
                        ShapeChoice(AttrTest("n", (4,)), ShapeList(()), ShapeReduce("x", (1,))),
                    ),
                )
            )
        ],
        [HOW, KEEP, N],
    ),
    spec("RuleTwo", [X, Y], [out(ShapeLike("y"), "a"), out(ShapeReduce("x", (-1,), True), "b")]),
    spec(
        "RuleConstraint",
        [
            TensorParam("x", BOTH, min_rank=1, max_rank=3),
            TensorParam("y", BOTH, shape=ShapeList((DimOf("x", -1),)), shape_text="[x[-1]]"),
        ],
        [out(ShapeLike("x"))],
    ),
]
BY_NAME = {s.op: s for s in SPECS}


@pytest.fixture(scope="module")
def runtime(load_ops):
    files = {}
    for item in SPECS:
        files.update({f.path: f.text for f in render_op_host(item, NO_TILING, "8.1")})
    return load_ops(files)


CASES = [
    ("RuleLike", [(2, 3)], {}),
    ("RuleLike", [()], {}),
    ("RuleLike", [(0, 5)], {}),
    ("RuleBroadcast", [(4, 1, 3), (5, 1)], {}),
    ("RuleBroadcast", [(), (7,)], {}),
    ("RuleBroadcast", [(0, 3), (1, 3)], {}),
    ("RuleBroadcast", [(2, 3), (4, 3)], {}),
    ("RuleBroadcastOptional", [(2, 3), None], {}),
    ("RuleBroadcastOptional", [(2, 3), (3,)], {}),
    ("RuleGiven", [(2, 6), (3, 4)], {}),
    ("RuleGiven", [(2, 6), None], {}),
    ("RuleGiven", [(2, 6), None], {"n": 0}),
    ("RuleScalar", [(2, 3)], {}),
    ("RuleSlice", [(2, 3, 5)], {"n": 9}),
    ("RuleSlice", [(2,)], {}),
    ("RuleSlice", [()], {"n": -3}),
    ("RuleMiddle", [(2, 3, 5, 7)], {}),
    ("RuleMiddle", [(2,)], {}),
    ("RuleMiddle", [()], {}),
    ("RuleArithmetic", [(9, 4)], {"n": 2}),
    ("RuleArithmetic", [(9, 4)], {"n": 0}),
    ("RuleArithmetic", [(9, 4)], {"n": -2}),
    ("RuleElement", [(1,)], {"dim": [4, 5, 6]}),
    ("RuleElement", [(1,)], {"dim": []}),
    ("RuleReduce", [(2, 3, 4)], {"dim": [1], "keepdim": False}),
    ("RuleReduce", [(2, 3, 4)], {"dim": [0, -1], "keepdim": True}),
    ("RuleReduce", [(2, 3, 4)], {"dim": [], "keepdim": True}),
    ("RuleReduce", [(2, 3, 4)], {"dim": [3], "keepdim": False}),
    ("RuleReduce", [()], {"dim": [-1], "keepdim": True}),
    ("RuleReduceAxis", [(2, 3)], {"axis": 0}),
    ("RuleReduceAxis", [(2, 3)], {"axis": -3}),
    ("RuleReduceFixed", [(2, 3, 4)], {}),
    ("RuleReduceAll", [(2, 3, 4)], {}),
    ("RuleList", [[(2, 1), (4,)], [(3,), (1,)]], {}),
    ("RuleList", [[(2, 1)], [(3,), (1,)]], {}),
    ("RuleTwo", [(2, 3), (9,)], {}),
    *(("RuleChoice", [(2, 3)], {"how": how}) for how in ("none", "mean", "sum")),
    *(
        ("RuleChoices", [(2, 3)], {"how": how, "keepdim": keep, "n": n})
        for how in ("none", "mean", "sum")
        for keep in (False, True)
        for n in (4, 5)
    ),
]


@pytest.mark.parametrize(("op", "shapes", "attrs"), CASES)
def test_generated_infer_shape_agrees_with_python(runtime, op, shapes, attrs):
    item = BY_NAME[op]
    given = {p.name: s for p, s in zip(item.inputs, shapes, strict=True)}
    values = {a.name: attrs.get(a.name, a.default) for a in item.attrs}
    expected: list = []
    error = None
    try:
        for param in item.outputs:
            result = evaluate(param.shape, given, values)
            expected += result if isinstance(result, list) else [result]
    except ShapeError as problem:
        error = str(problem)
    inputs = [_tensors(shape) for shape in shapes]
    count = len(shapes[0]) + 1 if op == "RuleList" else None
    if error is not None:
        with pytest.raises(OpRuntimeError, match=f"op {op}"):
            runtime.infer(op, inputs, values, num_outputs=count)
        return
    got = runtime.infer(op, inputs, values, num_outputs=count)
    assert [t.shape for t in got] == expected
    assert {t.dtype for t in got} == {"float32"}


def _tensors(shape):
    if isinstance(shape, list):
        return [ShapeOnly("float32", s) for s in shape]
    return None if shape is None else ShapeOnly("float32", shape)


UNKNOWN = (-2,)


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "expected"),
    [
        ("RuleLike", [(-1, 3)], {}, [(-1, 3)]),
        ("RuleLike", [UNKNOWN], {}, [UNKNOWN]),
        ("RuleBroadcast", [(-1, 3), (1, 1)], {}, [(-1, 3)]),
        ("RuleBroadcast", [(-1, 3), (4, -1)], {}, [(4, 3)]),
        ("RuleBroadcast", [UNKNOWN, (4,)], {}, [UNKNOWN]),
        ("RuleSlice", [(-1, -1)], {"n": 2}, [(-1, 2)]),
        ("RuleSlice", [UNKNOWN], {"n": 2}, [UNKNOWN]),
        ("RuleArithmetic", [(-1, 4)], {"n": 2}, [(-1, 1, 2, -1, 4)]),
        ("RuleArithmetic", [UNKNOWN], {"n": 2}, [(-1, -1, -1, -1, 4)]),
        ("RuleReduce", [(-1, 3)], {"dim": [0], "keepdim": True}, [(1, 3)]),
        ("RuleReduce", [(-1, 3)], {"dim": [1], "keepdim": False}, [(-1,)]),
        ("RuleReduce", [UNKNOWN], {"dim": [1], "keepdim": False}, [UNKNOWN]),
        ("RuleConstraint", [(-1, 3), (-1,)], {}, [(-1, 3)]),
        ("RuleConstraint", [UNKNOWN, (7,)], {}, [UNKNOWN]),
    ],
)
def test_unknown_dims_and_ranks_pass_through(runtime, op, shapes, attrs, expected):
    got = runtime.infer(op, [_tensors(s) for s in shapes], attrs)
    assert [t.shape for t in got] == expected


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ([(2, 3), (4,)], ["input y has shape [4]", "[x[-1]] = [3]"]),
        ([(2, 3, 4, 5), (5,)], ["input x has shape [2,3,4,5]", "1 to 3"]),
    ],
)
def test_a_refused_input_is_named_with_its_shape(runtime, shapes, words):
    with pytest.raises(OpRuntimeError) as caught:
        runtime.infer("RuleConstraint", [_tensors(s) for s in shapes])
    assert all(word in str(caught.value) for word in words)


LEAST = -(2**63)


@pytest.mark.parametrize(
    ("op", "shape", "attrs"),
    [
        ("RuleArithmetic", (2**32, 2**32), {"n": 1}),  # numel(x)
        ("RuleArithmetic", (9, 4), {"n": 2**62}),  # n * 2
        ("RuleTerms", (2**62,), {"n": 2**62}),
        ("RuleTerms", (2,), {"n": 2**63 - 2}),  # x[0] + n
        ("RuleTerms", (2,), {"n": LEAST}),  # n // -1
    ],
)
def test_dimensions_that_64_bits_cannot_hold_are_refused(runtime, op, shape, attrs):
    with pytest.raises(OpRuntimeError, match="a dimension does not fit 64 bits"):
        runtime.infer(op, [_tensors(shape)], attrs)


def test_dimensions_past_32_bits(runtime):
    got = runtime.infer("RuleArithmetic", [_tensors((2**33, 2**28))], {"n": 2})
    assert [t.shape for t in got] == [(2**32, 1, 2, 2**61 - 1, 4)]
    got = runtime.infer("RuleTerms", [_tensors((2**33,))], {"n": -(2**62)})
    assert [t.shape for t in got] == [(0, 2**62, 0)]


def test_infer_data_type_follows_the_combination(load_ops):
    item = spec(
        "TypeTable",
        [TensorParam("x", ("float16", "float32", "int32")), TensorParam("y", ("int8",) * 3)],
        [TensorParam("z", ("float32", "float32", "float16"), shape=ShapeLike("x"))],
    )
    files = {f.path: f.text for f in render_op_host(item, NO_TILING, "9.x")}
    runtime = load_ops(files)
    pairs = [("float16", "float32"), ("float32", "float32"), ("int32", "float16")]
    for given, expected in pairs:
        inputs = [ShapeOnly(given, (2,)), ShapeOnly("int8", (2,))]
        assert runtime.infer("TypeTable", inputs)[0].dtype == expected
    with pytest.raises(OpRuntimeError, match="not among the supported combinations"):
        runtime.infer("TypeTable", [ShapeOnly("int64", (2,)), ShapeOnly("int8", (2,))])
