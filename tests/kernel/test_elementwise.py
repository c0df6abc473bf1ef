"""Generated elementwise kernels in the emulation: values, sanitizer, shapes; against float64."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from harness import BuiltOp, check, make_spec

from msopgen_wrap.spec.model import Attr, DimConst, DimOf, ShapeList

PAIRS = [
    ((0,), (0,)),
    ((), ()),
    ((1,), (1,)),
    ((7,), (7,)),
    ((1000,), (1000,)),
    ((100003,), (100003,)),
    ((7, 300), (300,)),
    ((7, 300), (7, 1)),
    ((3000, 3), (3,)),
    ((3000, 1), (1, 3)),
    ((5, 1, 3), (1, 4, 1)),
    ((2, 3, 4, 5), (3, 1, 5)),
    ((4, 30000), (30000,)),
    ((50000,), (1,)),
    ((2, 1, 3, 1, 2, 1, 3, 1), (1, 2, 1, 3, 1, 2, 1, 3)),
]


@pytest.fixture(scope="module")
def fused(tmp_path_factory):
    spec = make_spec(
        "torch.where(x > alpha, x * y, torch.relu(x + y))",
        "x y",
        attrs=(Attr("alpha", "float", 0.25),),
        dtypes=("float32", "float16"),
    )
    return BuiltOp(spec, tmp_path_factory.mktemp("fused"))


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_broadcast_grid(fused, shapes, dtype, mode):
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(s, generator=generator).to(dtype) for s in shapes)
    outputs, golden, result = fused.run({"x": x, "y": y}, {"alpha": 0.25}, mode=mode)
    check(outputs["z"], golden["z"], 2)
    assert result.findings == []


@pytest.mark.parametrize("cores", [1, 2, 7, 40])
def test_core_counts(fused, cores):
    x = torch.randn(12345)
    outputs, golden, result = fused.run({"x": x, "y": x + 1}, {}, block_dim=cores, mode="check")
    check(outputs["z"], golden["z"], 2)
    assert result.block_dim <= cores
    assert result.cores == result.block_dim
    assert result.findings == []


@pytest.mark.parametrize(
    ("count", "cores", "working", "tiles"), [(0, 0, 0, 0), (1, 0, 1, 1), (12345, 3, 3, 2)]
)
def test_work_of_a_launch_is_counted(fused, count, cores, working, tiles):
    x = torch.randn(count)
    _, _, result = fused.run({"x": x, "y": x}, {}, block_dim=cores)
    assert (result.cores, result.tiles) == (working, tiles)


@pytest.mark.slow
@pytest.mark.parametrize(
    "compute, dtypes, out_dtypes",
    [
        ("x * y + x", ("int32", "int8", "uint8", "int16"), None),
        ("torch.where(x > y, x // torch.where(y == 0, 1, y), -y)", ("int32", "int8"), None),
        ("(x > y) | (x == 0)", ("float32", "int32", "bool", "uint8"), ("bool",) * 4),
        ("torch.remainder(x, y)", ("float32", "float16"), None),
        ("torch.pow(x.abs() + 0.1, y)", ("float32",), None),
        ("torch.atan2(x, y)", ("float32",), None),
        ("F.gelu(x) * torch.erf(y)", ("float32", "bfloat16"), None),
    ],
)
def test_kernels(compute, dtypes, out_dtypes, tmp_path):
    op = BuiltOp(make_spec(compute, "x y", dtypes=dtypes, out_dtypes=out_dtypes), tmp_path)
    generator = torch.Generator().manual_seed(4)
    for dtype in dtypes:
        kind = getattr(torch, dtype)
        for shapes in [((1000,), (1000,)), ((7, 33), (33,)), ((5, 1), (1, 70))]:
            draw = [torch.randn(s, generator=generator) * 3 for s in shapes]
            if not kind.is_floating_point:
                draw = [d.round() for d in draw]
            if dtype == "uint8":
                draw = [d.abs() for d in draw]
            x, y = (d.to(kind) for d in draw)
            for mode in ("fast", "check"):
                outputs, golden, result = op.run({"x": x, "y": y}, {}, mode=mode)
                check(outputs["z"], golden["z"], 2)
                assert result.findings == [], (dtype, shapes)


@pytest.mark.parametrize("first", ["row", "matrix"])
def test_outputs_that_differ_by_a_leading_one(first, tmp_path):
    """The space has the dimensions of the first output; the other may have more or fewer."""
    shapes = {
        "row": ShapeList((DimOf("x", 1),)),
        "matrix": ShapeList((DimConst(1), DimOf("x", 1))),
    }
    names = [first, *(shapes.keys() - {first})]
    code = "matrix = F.leaky_relu(w, 0.2)\nrow = w.select(0, -1)"
    rule = {"w": shapes["matrix"]}
    spec = make_spec(code, "x w", " ".join(names), shapes=shapes, input_shapes=rule)
    x, w = spec.inputs
    op = BuiltOp(replace(spec, inputs=(replace(x, min_rank=2, max_rank=2), w)), tmp_path)
    for length in (1, 7, 100003):
        given = {"x": torch.randn(2, length), "w": torch.randn(1, length)}
        outputs, golden, result = op.run(given, mode="check")
        for name in names:
            check(outputs[name], golden[name])
        assert result.findings == [], length


@pytest.mark.slow
def test_every_function_at_the_extremes(tmp_path_factory):
    groups = [
        "expm1 log1p tanh sinh",
        "cosh erf erfc sin",
        "cos tan atan asin",
        "acos asinh acosh atanh",
    ]
    special = [0.0, -0.0, 1e-6, -1e-6, 1e-30, 88.0, 89.0, -88.0, -100.0, 1e10, -1e10, 3e38]
    x = torch.cat(
        [
            torch.linspace(-12, 12, 4001),
            torch.tensor([*special, float("inf"), float("-inf"), float("nan")]),
            torch.rand(1000) * 2 - 1,
        ]
    )
    for names in groups:
        listed = names.split()
        outputs = " ".join(f"z{i}" for i in range(len(listed)))
        code = "\n".join(f"z{i} = torch.{n}(x)" for i, n in enumerate(listed))
        op = BuiltOp(make_spec(code, "x", outputs), tmp_path_factory.mktemp("math"))
        # sines reduce their argument exactly up to about 1e5
        data = torch.where(x.abs() > 1e5, torch.zeros(()), x) if "sin" in names else x
        data = torch.where(data.isnan(), data, data) if "cos" not in listed else data
        results, golden, run = op.run({"x": data}, {}, mode="check")
        for i in range(len(listed)):
            check(results[f"z{i}"], golden[f"z{i}"])
        assert run.findings == []
