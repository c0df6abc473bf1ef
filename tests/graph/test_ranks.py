"""What the rank and the broadcasting of inputs may not decide: refused, or proved not to."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from harness import BuiltOp, check, make_spec

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import (
    DimBinary,
    DimConst,
    DimOf,
    DimSlice,
    OpSpec,
    ShapeLike,
    ShapeList,
)

# Axes that count from the front at every rank.
FRONT = [
    "torch.softmax(x, 1)",
    "x.sum(0, keepdim=True) * x",
    "x.mean([1, 2], keepdim=True) * x",
    "F.layer_norm(x, x.shape[1:])",
    "x[:, :2] * 2",
    "x[0] * 2",
    "x.narrow(1, 0, 2) * 2",
    "x.select(0, 1) * 2",
    "x.unsqueeze(1) * 2",
    "x.transpose(0, 1) * 2",
]
# Other things at other ranks, counted from either end.
OTHER = [
    "F.softmax(x)",
    "x.sum((0, 1, 2), keepdim=True) * x",
    "x - x.mean((1, 2), keepdim=True) if x.dim() > 2 else x",
    "x * x.dim()",
    "x * x.ndim",
    "x * len(x.shape)",
    "x * (x.shape[-1] if x.dim() == 2 else 1)",
    "x.numel() / (x.shape[0] * x.shape[1] * x.shape[2]) * x",
]


@pytest.mark.filterwarnings("ignore:Implicit dimension choice")
@pytest.mark.parametrize("text", OTHER)
def test_other_things_at_other_ranks_are_refused(text):
    with pytest.raises(OpgenError) as caught:
        plan_op(make_spec(text))
    (found,) = caught.value.diagnostics
    assert found.code == "OPG204"
    assert "rank 3 and of rank" in found.what


@pytest.mark.parametrize("text", FRONT)
def test_axes_from_the_front_are_planned(text):
    plan_op(make_spec(text))


@pytest.mark.filterwarnings("ignore:Implicit dimension choice")
@pytest.mark.parametrize("text", [*FRONT, *OTHER])
def test_a_fixed_rank_is_no_question(text):
    spec = make_spec(text)
    x = dataclasses.replace(spec.inputs[0], min_rank=3, max_rank=3)
    plan_op(dataclasses.replace(spec, inputs=(x,)))


# Of the first axis: z, whose shape is a rule of x.
OF_FIRST = {
    "z = torch.softmax(x, 0) + x.flip(0)": "like x",
    "z = x - x.amax(0, keepdim=True)": "like x",
    "z = x.mean(0)": "[*x[1:]]",
    "z = x[1:] - x[:-1]": "[x[0] - 1, *x[1:]]",
    "z = torch.cat([x, x * 2])": "[x[0] * 2, *x[1:]]",
    "z = torch.stack([x, x + 1, x * 2])": "[3, *x]",
    "z = x.roll(1, 0) * 2": "like x",
    "z = x[0] + x.select(0, -1)": "[*x[1:]]",
    "z = x.repeat_interleave(3, -1)": "[*x[:-1], x[-1] * 3]",
    "z = x.reshape(x.shape[0], -1).sum(1)": "[x[0]]",
    "z = x.quantile(0.3, 0)": "[*x[1:]]",
    "z = torch.stack([x.amax(-1), x.amin(-1), x.mean(-1)])": "[3, *x[:-1]]",
}


# Of the second axis, too.
OF_SECOND = {
    "z = x.flatten(0, 1) * 2": "[x[0] * x[1], *x[2:]]",
    "z = x.unflatten(0, (2, -1)) * 2": "[2, x[0] // 2, *x[1:]]",
    "z = torch.stack([x, x * 3], 1)": "[x[0], 2, *x[1:]]",
    "z = torch.hstack([x, x + 1])": "[x[0], x[1] * 2, *x[2:]]",
    "z = x.max(1).values": "[x[0], *x[2:]]",
    "z = x / x.abs().sum(1, keepdim=True)": "like x",
    "z = F.batch_norm(x, None, None, m, training=True)": "like x",
    "z = F.prelu(x, m)": "like x",
}
# Of axes counted from both ends, between which all others lie.
OF_BOTH = {
    "z = x.transpose(0, -1) * 2": "[x[-1], *x[1:-1], x[0]]",
    "z = x.swapaxes(0, 1) + 1": "[x[1], x[0], *x[2:]]",
    "z = F.layer_norm(x.movedim(1, -1), (x.shape[1],)).movedim(-1, 1)": "like x",
    "z = x.movedim(0, -1).softmax(-1)": "[*x[1:], x[0]]",
    "z = x.movedim(-1, 0).cumsum(0)": "[x[-1], *x[:-1]]",
}
SHAPES_OF_FIRST = ((7,), (1,), (2, 300), (3, 1, 5), (4, 3, 2, 33), (2, 1, 3, 1, 2, 9))
SHAPES_OF_SECOND = ((4, 5), (2, 300), (2, 1, 5), (4, 3, 2, 33), (6, 2, 3, 1, 9))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formulas", "shapes"),
    [(OF_FIRST, SHAPES_OF_FIRST), (OF_SECOND, SHAPES_OF_SECOND), (OF_BOTH, SHAPES_OF_SECOND)],
    ids=["first", "second", "both"],
)
def test_axes_from_the_front_of_tensors_of_any_rank(formulas, shapes, tmp_path):
    """One op, whose outputs have parts of their own."""
    ranks = [min(map(len, shapes)), max(map(len, shapes))]
    channels = any(" m" in formula for formula in formulas)
    text = f"op: OfFront\ninputs:\n  x: {{dtype: float32, rank: {ranks}}}\n"
    text += "  m: {dtype: x, shape: '[x[1]]'}\n" * channels + "outputs:\n"
    for number, rule in enumerate(formulas.values()):
        text += f'  z{number}: {{dtype: x, shape: "{rule}"}}\n'
    text += "backward: none\ncompute: |\n"
    for number, formula in enumerate(formulas):
        text += f"  {formula.replace('z =', f'z{number} =')}\n"
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for shape in shapes:
        inputs = {"x": torch.randn(shape)}
        if channels:
            inputs["m"] = torch.randn(shape[1])
        outputs, golden, result = op.run(inputs, {}, mode="check")
        assert result.findings == [], shape
        for name, value in outputs.items():
            check(value, golden[name])


def test_slices_from_both_ends_are_refused():
    """At rank 1 both are of one axis, whose size is that of the first slice."""
    with pytest.raises(OpgenError) as caught:
        plan_op(make_spec("x[1:][..., :2] * 2"))
    assert [d.code for d in caught.value.diagnostics] == ["OPG334"]


# The same at all ranks, however it is written.
ANY_RANK = [
    "torch.softmax(x, -1)",
    "x.mean((-1, -2), keepdim=True) * x",
    "x.mean() * x",
    "x.transpose(-1, -2) * 2",
    "x * x.shape[x.dim() - 1]",
    "x * x.shape[0] + x.shape[-2]",
    "x[..., 1:] * 2",
    "x.flatten(1).sum(-1)",
]


@pytest.mark.parametrize("text", ANY_RANK)
def test_axes_that_mean_the_same_are_not(text):
    plan_op(make_spec(text))


def of_ranks(text: str, least: int, most: int) -> OpSpec:
    spec = make_spec(text, shapes={"z": ShapeLike("x")})
    x = dataclasses.replace(spec.inputs[0], min_rank=least, max_rank=most)
    return dataclasses.replace(spec, inputs=(x,))


@pytest.mark.parametrize("ranks", [(2, 5), (2, 4), (2, 8), (3, 5)])
def test_the_sample_has_the_axes_that_a_reshape_joins(ranks):
    """Of the first sizes only those of rank 2 have 8 groups, and no axes behind the channels."""
    plan_op(of_ranks("F.group_norm(x, 8)", *ranks))


@pytest.mark.slow
def test_groups_without_axes_behind_the_channels(tmp_path):
    op = BuiltOp(of_ranks("F.group_norm(x, 8)", 2, 5), tmp_path)
    for shape in ((3, 16), (2, 8), (5, 24, 7), (2, 16, 3, 5), (2, 8, 3, 2, 4), (0, 8)):
        outputs, golden, result = op.run({"x": torch.randn(shape)}, {}, mode="check")
        assert result.findings == [], shape
        check(outputs["z"], golden["z"])


# Whose size it is, the equal sizes of the sample do not tell.
SIZES_OF_SUMS = {
    "x * (x + y).shape[-1]": True,
    "x * (x * 2).shape[-1]": False,
    "(x + y) * x.shape[-1]": False,
    "(x + y) * (x + y).numel()": True,
    "(x + y).mean(-1, keepdim=True) * y": False,
    "x[..., : (x + y).shape[-1] // 2] * 2": True,
    "x.chunk(4, -1)[-1] * 2": True,
    "x.chunk(2, -1)[0] * 2": False,
}


@pytest.mark.parametrize("text", SIZES_OF_SUMS)
def test_sizes_of_broadcast_tensors(text):
    spec = make_spec(text, "x y" if "y" in text else "x")
    if not SIZES_OF_SUMS[text]:
        plan_op(spec)
        return
    with pytest.raises(OpgenError) as caught:
        plan_op(spec)
    assert [d.code for d in caught.value.diagnostics] == ["OPG203"]


def test_sizes_of_sums_of_one_shape_are_known():
    spec = make_spec("(x + y) * (x + y).shape[-1]", "x y", input_shapes={"y": ShapeLike("x")})
    assert [str(s) for s in plan_op(spec).scalars().values()]


# What the kernel reads has fewer elements than it is expanded to; the sizes are another input's.
EXPANDED = {
    "torch.sum(s.expand_as(x), -1)": ShapeList((DimSlice("x", None, -1),)),
    "(s * 2).expand_as(x)": ShapeLike("x"),
    "s.expand(3, x.shape[-1] + 1) * 2": ShapeList(
        (DimConst(3), DimBinary("+", DimOf("x", -1), DimConst(1)))
    ),
}


@pytest.mark.parametrize("text", EXPANDED)
def test_sizes_that_only_an_expand_has(text, tmp_path):
    column = ShapeList((DimSlice("x", None, -1), DimConst(1)))
    own = {"s": ShapeList((DimConst(3), DimConst(1)))} if "expand(3" in text else {"s": column}
    spec = make_spec(text, "x s", shapes={"z": EXPANDED[text]}, input_shapes=own)
    op = BuiltOp(spec, tmp_path)
    for shape in ((3, 37), (1, 1), (2, 3, 70)):
        s = (3, 1) if "expand(3" in text else (*shape[:-1], 1)
        inputs = {"x": torch.randn(shape), "s": torch.randn(s)}
        outputs, golden, result = op.run(inputs, {}, mode="check")
        assert result.findings == []
        check(outputs["z"], golden["z"])


def test_a_view_of_an_expanded_tensor_has_no_lowering():
    """Its axes are not where the other input has them."""
    with pytest.raises(OpgenError) as caught:
        plan_op(make_spec("s.expand_as(x).transpose(-1, -2).sum(-1)", "s x"))
    assert [d.code for d in caught.value.diagnostics] == ["OPG331"]
