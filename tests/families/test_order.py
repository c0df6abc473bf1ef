"""Sorts: rows in order along any axis, of any length, alone and beside other work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.families.order.plan import DIGITS
from msopgen_wrap.graph.scalars import AttrRef
from msopgen_wrap.resources import data_dir
from msopgen_wrap.run.chosen_places import ChosenPlaces
from msopgen_wrap.schedule.soc import soc_limits
from msopgen_wrap.spec.loader import gradient_spec, load_spec
from msopgen_wrap.spec.model import OpSpec

SAME = "  v: {dtype: x, shape: like x}"
PAIR = f"{SAME}\n  i: {{dtype: int64, shape: like x}}"
ROW = '  v: {dtype: x, shape: "[x[0]]"}\n  i: {dtype: int64, shape: "[x[0]]"}'
TOP = '  v: {dtype: x, shape: "[*x[:-1], k]"}'
K = "attrs:\n  k: {type: int, default: 3, min: 1}\n"
SORT = (
    "v, i = torch.sort(x, dim=dim, descending=descending, stable=True)",
    "attrs:\n  dim: {type: int, default: -1}\n  descending: {type: bool, default: false}\n",
)


class Case(NamedTuple):
    """A formula, and the families of the passes that it is expected to be made in."""

    compute: str
    outputs: str
    passes: list[str]
    attrs: str = ""
    rank: str = "2"


CASES = {
    "a sort": Case(SORT[0], PAIR, ["order"], SORT[1], "[1, 8]"),
    "of all columns": Case("v = torch.msort(x)", SAME, ["order"]),
    "positions alone": Case(
        "i = torch.argsort(x, 0).to(torch.int32)", "  i: {dtype: int32, shape: like x}", ["order"]
    ),
    "of a softmax, scaled": Case(
        "v = torch.topk(torch.softmax(x, -1), k, -1).values * 2",
        TOP,
        ["row", "order", "elementwise"],
        K,
    ),
    "as many as sizes say, of joined rows": Case(
        "v = torch.cat([x * 2, x[..., :1]], -1).topk(min(2, x.shape[-1] + 1), -1).values",
        '  v: {dtype: x, shape: "[*x[:-1], min(2, x[-1] + 1)]"}',
        ["elementwise", "order"],
    ),
    "the median taken off": Case(
        "v = x - torch.median(x, -1, keepdim=True).values", SAME, ["order", "elementwise"]
    ),
    "the middle of all": Case("v = torch.nanmedian(x)", '  v: {dtype: x, shape: "[]"}', ["order"]),
    "of a transposed tensor": Case(
        "v = torch.topk(x.T, k, 0).values.T", TOP, ["elementwise", "order", "elementwise"], K
    ),
    "read by index": Case(
        "v = torch.gather(x.abs(), -1, torch.argsort(x, -1))",
        SAME,
        ["order", "elementwise", "index"],
    ),
}


def spec_of(case: Case, folder: Path, dtype: str = "float32", backward: str = "none") -> OpSpec:
    path = folder / "case.yaml"
    path.write_text(
        f"op: OrderCase\ninputs:\n  x: {{dtype: {dtype}, rank: {case.rank}}}\n"
        f"outputs:\n{case.outputs}\n{case.attrs}compute: {case.compute}\nbackward: {backward}\n",
        encoding="utf-8",
    )
    return load_spec(path)


@pytest.mark.parametrize("name", CASES)
def test_formulas_are_made_in_passes(name, tmp_path):
    plan = plan_op(spec_of(CASES[name], tmp_path))
    assert [part.family.name for part in plan.parts] == CASES[name].passes


def test_integers_keep_their_type_between_passes(tmp_path):
    """A pass that sorts keeps it, and int32 does not hold what is made of int64."""
    plan = plan_op(spec_of(CASES["the median taken off"], tmp_path, "[int32, int64, int8]"))
    assert [p.dtypes for p in plan.parts[0].spec.outputs] == [("int32", "int64", "int8")]
    plan = plan_op(spec_of(CASES["read by index"], tmp_path, "int64"))
    stored = {p.name: p.dtypes for part in plan.parts[:2] for p in part.spec.outputs}
    assert stored == {"position1": ("int32",), "value1": ("int64",)}


@pytest.mark.parametrize("name", default_part(["sort", "kthvalue", "median"], ["kthvalue"]))
def test_gradients_sort_and_scatter(name, tmp_path):
    computes = {
        "sort": ("v = torch.sort(x, -1).values", SAME, ""),
        "kthvalue": ("v = torch.kthvalue(x, k, -1).values", ROW.splitlines()[0], K),
        "median": ("v = torch.median(x, -1).values", ROW.splitlines()[0], ""),
    }
    compute, outputs, attrs = computes[name]
    spec = spec_of(Case(compute, outputs, [], attrs), tmp_path, backward="auto")
    plan = plan_op(gradient_spec(spec))
    assert [part.family.name for part in plan.parts] == ["order", "index"]


@pytest.mark.parametrize(
    "dtype", default_part(["float16", "float32", "int8", "int32", "int64"], ["float16", "int64"])
)
def test_buffers_fit_on_every_soc(dtype, tmp_path):
    spec = spec_of(CASES["a sort"], tmp_path, dtype)
    for body in plan_op(spec).bodies:
        assert {mode for _, mode in body.budgets} == {"rows", "workspace"}
        for budget in body.budgets.values():
            for soc in spec.soc:
                tile = budget.tile_length(soc_limits(soc).ub)
                assert tile >= 1024
                assert budget.used(tile) <= soc_limits(soc).ub


def test_what_has_no_keys_is_refused(tmp_path):
    with pytest.raises(OpgenError) as caught:
        plan_op(spec_of(CASES["a sort"], tmp_path, "bool"))
    assert [d.code for d in caught.value.diagnostics] == ["OPG332"]


def test_integers_have_the_digits_of_the_block():
    """The plan counts UB, the block sorts: both have to know how many digits an integer has."""
    text = (data_dir("ascendc_kernels") / "include/opgen/order_digits.h").read_text("utf-8")
    found = re.findall(r"kDigitsOf<(\w+)_t> = (\d+);", text)
    assert {dtype: int(digits) for dtype, digits in found} == DIGITS


def test_values_may_leave_in_another_float(tmp_path):
    compute = "v = torch.topk(torch.softmax(x.float(), -1), k, -1).values.to(x.dtype)"
    plan = plan_op(spec_of(Case(compute, TOP, [], K), tmp_path, "float16"))
    assert [part.family.name for part in plan.parts] == ["row", "order", "elementwise"]


def test_numbers_are_counted_up_to_an_attr_whatever_the_sample_is(tmp_path):
    compute = "v = torch.topk(x, k, -1).values * torch.arange(k, device=x.device)"
    plan = plan_op(spec_of(Case(compute, TOP, [], K), tmp_path))
    views = [view for part in plan.parts for body in part.bodies for view in body.indices.values()]
    lengths = [view.counted.length for view in views]
    assert lengths == [AttrRef("k", True)]


def test_positions_of_equal_elements_are_as_good() -> None:
    source = torch.tensor([[3.0, 5.0, 5.0, float("nan"), 1.0]])
    places = ChosenPlaces(source, -1)
    golden = torch.tensor([[3, 1, 2]])
    assert not places.wrong(torch.tensor([[3, 2, 1]]), golden).any()
    assert places.wrong(torch.tensor([[3, 2, 2]]), golden).tolist() == [[False, False, True]]
    assert places.wrong(torch.tensor([[3, 0, 1]]), golden).tolist() == [[False, True, False]]
    assert places.wrong(torch.tensor([[3, 1, -1]]), golden).tolist() == [[False, False, True]]
    assert places.wrong(torch.tensor([[3, 1, 9]]), golden).tolist() == [[False, False, True]]


# ---- compiled ------------------------------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1.0, 1.0, float("inf"), -1.0, float("-inf"), 3.0, float("nan"), 5.0, 5.0]
SHAPES = [
    ((5, 9), -1),
    ((300, 8), -1),
    ((7, 130), -1),
    ((2, 12001), -1),
    ((40, 7), 0),
    ((3, 130, 70), 1),
    ((0, 7), -1),
    ((3, 0), 0),
]


def elements(shape: tuple[int, ...], dtype: torch.dtype, kind: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        if kind == "any":
            ends = (info.min, info.max)
            return torch.randint(*ends, shape, generator=generator, dtype=torch.int64).to(dtype)
        if dtype in (torch.int8, torch.uint8):
            return torch.randint(0, 5, shape, generator=generator).to(dtype)
        picks = torch.tensor(ends_of_digits(info.bits))
        return picks[torch.randint(0, len(picks), shape, generator=generator)].to(dtype)
    if kind == "any":
        return torch.randn(shape, generator=generator).to(dtype)
    picks = torch.tensor(SPECIAL)[torch.randint(0, len(SPECIAL), shape, generator=generator)]
    if picks.numel():
        picks[0] = float("nan") if shape[0] > 100 else picks[0].nan_to_num(2.0)
    return picks.to(dtype)


def ends_of_digits(bits: int) -> list[int]:
    """Return the integers at which a digit of 16 bits, or the sign, changes."""
    ends = [1 << place for place in range(15, bits - 1, 16)] + [1 << (bits - 1)]
    near = {end + step for end in [0, *ends] for step in (-1, 0, 1)}
    near |= {-number for number in near}
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return sorted(number for number in near if least <= number <= most)


def equal(got: torch.Tensor, want: torch.Tensor) -> bool:
    if not want.is_floating_point():
        return torch.equal(got, want)
    return torch.equal(got.double().nan_to_num(7e300), want.double().nan_to_num(7e300))


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int64, torch.int32, torch.int8], ids=str
)
def test_sorts_are_those_of_torch(dtype, tmp_path):
    name = str(dtype).removeprefix("torch.")
    op = BuiltOp(spec_of(CASES["a sort"], tmp_path, name), tmp_path)
    for number, (shape, dim) in enumerate(SHAPES):
        for kind in ("any", "special"):
            descending = (number + (kind == "any")) % 2 == 0
            x = elements(shape, dtype, kind)
            attrs = {"dim": dim, "descending": descending}
            outputs, _, result = op.run({"x": x}, attrs, mode="check", auto_sync=number % 2 == 0)
            values, places = torch.sort(x, dim=dim, descending=descending, stable=True)
            assert equal(outputs["v"], values), (shape, kind, descending)
            assert torch.equal(outputs["i"], places), (shape, kind, descending)
            assert result.findings == []


@pytest.mark.slow
def test_several_rounds_of_merges(tmp_path):
    op = BuiltOp(spec_of(CASES["a sort"], tmp_path), tmp_path, style="9.x")
    for descending in (False, True):
        x = elements((1, 90001), torch.float32, "special")
        x[0, 7::5] = float("nan")
        attrs = {"dim": -1, "descending": descending}
        outputs, _, result = op.run({"x": x}, attrs, mode="check")
        values, places = torch.sort(x, descending=descending, stable=True)
        assert equal(outputs["v"], values)
        assert torch.equal(outputs["i"], places)
        assert result.findings == []


CHOSEN: dict[str, tuple[str, Any]] = {
    "kthvalue": ("v, i = torch.kthvalue(x, 5, -1)", lambda x: torch.kthvalue(x, 5)),
    "median": ("v, i = torch.median(x, -1)", lambda x: torch.median(x, -1)),
    "nanmedian": ("v, i = torch.nanmedian(x, -1)", lambda x: torch.nanmedian(x, -1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32], ids=str)
def test_several_rounds_of_merges_by_digits(dtype, tmp_path):
    name = str(dtype).removeprefix("torch.")
    op = BuiltOp(spec_of(CASES["a sort"], tmp_path, name), tmp_path)
    for descending in (False, True):
        x = elements((2, 30001), dtype, "special")
        attrs = {"dim": -1, "descending": descending}
        outputs, _, result = op.run({"x": x}, attrs, mode="check", auto_sync=False)
        values, places = torch.sort(x, descending=descending, stable=True)
        assert equal(outputs["v"], values)
        assert torch.equal(outputs["i"], places)
        assert result.findings == []


def test_integers_of_64_bits_differ_in_any_digit(tmp_path):
    """The largest of rows in UB, and of columns, which go by way of the workspace."""
    attrs = "attrs:\n  dim: {type: int, default: -1, min: -1, max: 0}\n"
    shape = '"[40, *x[1:]] if dim == 0 else [*x[:-1], 40]"'
    outputs = f"  v: {{dtype: x, shape: {shape}}}\n  i: {{dtype: int64, shape: {shape}}}"
    case = Case("v, i = torch.topk(x, 40, dim)", outputs, [], attrs)
    op = BuiltOp(spec_of(case, tmp_path, "int64"), tmp_path)
    x = elements((70, 90), torch.int64, "special")
    for dim in (-1, 0):
        outputs, _, result = op.run({"x": x}, {"dim": dim}, mode="check", auto_sync=False)
        assert torch.equal(outputs["v"], torch.topk(x, 40, dim).values)
        places = torch.sort(x, dim=dim, descending=True, stable=True).indices.narrow(dim, 0, 40)
        assert torch.equal(outputs["i"], places)
        assert result.findings == []


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
@pytest.mark.parametrize("name", CHOSEN)
def test_single_elements_of_the_order(name, dtype, tmp_path):
    compute, reference = CHOSEN[name]
    spec = spec_of(Case(compute, ROW, []), tmp_path, str(dtype).removeprefix("torch."))
    op = BuiltOp(spec, tmp_path)
    for shape in ((5, 70), (3, 33), (130, 9), (2, 12001)):
        for kind in ("any", "special"):
            x = elements(shape, dtype, kind)
            outputs, _, result = op.run({"x": x}, mode="check", auto_sync=False)
            values, places = reference(x)
            assert equal(outputs["v"], values)
            assert not ChosenPlaces(x, -1).wrong(outputs["i"], places).any()
            assert result.findings == []


@pytest.mark.slow
def test_work_around_a_choice(tmp_path):
    op = BuiltOp(spec_of(CASES["of a softmax, scaled"], tmp_path), tmp_path)
    for shape, k in (((40, 64), 2), ((3, 1000), 300)):
        x = elements(shape, torch.float32, "any")
        outputs, golden, result = op.run({"x": x}, {"k": k}, mode="check")
        torch.testing.assert_close(outputs["v"], golden["v"].float(), rtol=1e-5, atol=1e-6)
        assert result.findings == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["of a transposed tensor", "the median taken off", "read by index"]
)
def test_work_around_a_sort_keeps_all_bits(name, tmp_path):
    """A copy, words and moves of int64 beside a sort, which temporaries of int32 would cut."""
    case = CASES[name]
    op = BuiltOp(spec_of(case, tmp_path, "int64"), tmp_path)
    attrs = {"k": 30} if case.attrs else {}
    # no two elements alike, as PyTorch leaves open where its `argsort` puts these
    x = elements((60, 70), torch.int64, "any")
    outputs, _, result = op.run({"x": x}, attrs, mode="check", auto_sync=False)
    wanted = {
        "of a transposed tensor": lambda: torch.topk(x, 30, 1).values,
        "the median taken off": lambda: x - torch.median(x, -1, keepdim=True).values,
        "read by index": lambda: x.abs().gather(-1, torch.argsort(x, -1)),
    }
    assert torch.equal(outputs["v"], wanted[name]())
    assert result.findings == []


@pytest.mark.slow
def test_rows_of_half_become_floats_for_the_next_pass(tmp_path):
    """What is sorted is an input in half, and the pass after it reads floats of the workspace."""
    compute = "v = torch.softmax(torch.topk(x.float(), k, -1).values, -1).to(x.dtype)"
    op = BuiltOp(spec_of(Case(compute, TOP, [], K), tmp_path, "float16"), tmp_path)
    for shape, k in (((40, 64), 4), ((2, 12001), 300)):  # rows in UB, and by way of the workspace
        x = elements(shape, torch.float16, "any")
        outputs, golden, result = op.run({"x": x}, {"k": k}, mode="check", auto_sync=False)
        torch.testing.assert_close(outputs["v"], golden["v"].half(), rtol=2e-3, atol=1e-6)
        assert result.findings == []
