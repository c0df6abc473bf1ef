"""What attrs decide: groups of variants with passes of their own, and amounts that tiling knows."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp, check

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.schedule.report import mode_text
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

# --------------------------------------------------------------------------------------------------
# Variants that need other passes than the rest: each group has its own, chosen by tiling key.

BOOL = "root: {type: bool, default: true}"
HOW = "how: {type: str, default: none, allowed: [none, mean, sum]}"

# name -> attr, formula, shape of the output, parts with the variants that they serve
CASES = {
    "some reduce": (
        HOW,
        "x * 2 if how == 'none' else x - x.mean(-1, keepdim=True)",
        "like x",
        [("ZNone", (0,)), ("ZMeanSum", (1, 2))],
    ),
    "other axes": (
        BOOL,
        "x.softmax(-1) if root else x.softmax(0)",
        "like x",
        [("ZRootFalse", (0,)), ("ZRootTrue", (1,))],
    ),
    "other phases": (
        BOOL,
        "(x.norm(dim=-1) if root else x.sum(0)).mean()",
        "[]",
        [
            ("Sum1RootFalse", (0,)),
            ("ZRootFalse", (0,)),
            ("Value1RootTrue", (1,)),
            ("ZRootTrue", (1,)),
        ],
    ),
    "with and without phases": (
        HOW,
        "x.exp() if how == 'none' else x.softmax(-1).flip(-1) "
        "if how == 'mean' else x / x.norm(dim=-1, keepdim=True).sum(0)",
        "like x",
        [
            ("ZNone", (0,)),
            ("Max1Sum1Mean", (1,)),
            ("ZMean", (1,)),
            ("Value1Sum", (2,)),
            ("ZSum", (2,)),
        ],
    ),
}


LOSS = "like x if how == 'none' else []"
CASES["a loss"] = (
    HOW,
    "F.smooth_l1_loss(x, x.flip(-1), reduction=how)",
    LOSS,
    [("ZNone", (0,)), ("ZMeanSum", (1, 2))],
)
# One family would plan them together.
CASES["outputs of other shapes"] = (
    BOOL,
    "x[:, :3] * 2 if root else x[:, 3:].exp()",
    "[x[0], 3] if root else [x[0], x[1] - 3]",
    [("ZRootFalse", (0,)), ("ZRootTrue", (1,))],
)
CASES["rows and their sums"] = (
    BOOL,
    "x.softmax(-1) if root else x.square().sum(-1)",
    "like x if root else [x[0]]",
    [("ZRootFalse", (0,)), ("ZRootTrue", (1,))],
)


# Compiled and run by the default suite.
DEFAULT = ("some reduce", "a loss")


def spec_of(name: str, folder: Path, op: str = "GroupCase") -> OpSpec:
    attr, compute, shape, _ = CASES[name]
    path = folder / "case.yaml"
    path.write_text(
        f"op: {op}\ninputs:\n  x: {{dtype: float32, rank: 2}}\n"
        f'outputs:\n  z: {{dtype: x, shape: "{shape}"}}\nattrs:\n  {attr}\n'
        f"compute: |\n  z = {compute}\nbackward: none\n",
        encoding="utf-8",
    )
    return load_spec(path)


@pytest.mark.parametrize("name", CASES)
def test_variants_that_share_no_passes_have_their_own(name, tmp_path):
    plan = plan_op(spec_of(name, tmp_path))
    assert [(p.part, tuple(p.served)) for p in plan.parts] == CASES[name][3]
    names = [{b.class_name for b in p.bodies} for p in plan.parts]
    assert sum(map(len, names)) == len(set.union(*names))  # no class is of two parts
    temporaries = [p.name for p in plan.temporaries]
    assert len(set(temporaries)) == len(temporaries)
    assert mode_text(plan, 10).startswith("parts (")


@pytest.mark.parametrize(
    "name",
    default_part(CASES, DEFAULT),
)
def test_each_variant_gives_its_own_results(name, tmp_path):
    number = list(CASES).index(name)
    spec = spec_of(name, tmp_path, f"GroupCase{number}")
    built = BuiltOp(spec, tmp_path, style="9.x" if number % 2 else "8.1")
    values = spec.attrs[0].allowed or (False, True)
    for shape in ((5, 9), (1, 7), (130, 1000), (3, 20000)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        for value in values:
            outputs, golden, result = built.run({"x": x}, {spec.attrs[0].name: value}, mode="check")
            check(outputs["z"], golden["z"], 4)
            assert [f for f in result.findings if f.severity == "error"] == []


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("like x if how == 'nun' else []", "how is never 'nun'"),
        ("like x if root else []", "unknown name 'root'"),
    ],
)
def test_conditions_name_attrs_and_their_values(shape, words, tmp_path):
    path = tmp_path / "case.yaml"
    path.write_text(
        f"op: GroupRefused\ninputs:\n  x: float32\noutputs:\n  z: {{dtype: x, shape: {shape!r}}}\n"
        f"attrs:\n  {HOW}\ncompute: x * 2\nbackward: none\n".replace('\\"', '"'),
        encoding="utf-8",
    )
    with pytest.raises(OpgenError) as caught:
        load_spec(path)
    assert words in str(caught.value), caught.value


def test_what_no_passes_make_is_refused_for_its_own_reason(tmp_path):
    path = tmp_path / "case.yaml"
    path.write_text(
        "op: GroupRefused\ninputs:\n  x: {dtype: float32, rank: 2}\noutputs:\n  z: like x\n"
        f"attrs:\n  {BOOL}\ncompute: torch.special.airy_ai(x) if root else x.softmax(-1)\n"
        "backward: none\n",
        encoding="utf-8",
    )
    with pytest.raises(OpgenError) as caught:
        plan_op(load_spec(path))
    assert [d.code for d in caught.value.diagnostics] == ["OPG331"], caught.value


# ---- Attrs as indices, shifts, counts and margins: the tiling function knows their values --------

COUNT = "{type: int, default: 2, min: 1}"
MARGIN = "{type: int, default: 2, min: 0}"


class Amount(NamedTuple):
    """A formula of a matrix and attr ``n``, with values of ``n`` to run it at."""

    compute: str
    shape: str
    values: tuple[int, ...]
    attr: str = "1"


AMOUNTS = {
    "a column": Amount("x[:, n] * 2", "[x[0]]", (0, 1, -1)),
    "a row of the end": Amount("x[..., 1:][n - 1]", "[x[1] - 1]", (0, 1)),
    "new axes": Amount("x[None, n, None, 2:].exp()", "[1, 1, x[1] - 2]", (0, -2)),
    "a shift": Amount("x - x.roll(n, 1)", "like x", (0, 1, -3, 1000)),
    "a shift of all": Amount("torch.roll(x, n)", "like x", (0, 5, -3)),
    "rows times shifted ones": Amount("(x * x.roll(n, 1)).sum(-1)", "[x[0]]", (0, 1, -3)),
    "axes of one in the workspace": Amount("x.sum(n, keepdim=True).var()", "[]", (0, 1, -1)),
    "axes of one beside whole ones": Amount(
        "x * x.sum(n, keepdim=True).square().sum((0, 1), keepdim=True)", "like x", (0, 1, -2)
    ),
    "a count": Amount("x.repeat(n, 1)", "[x[0] * n, x[1]]", (1, 2, 3), COUNT),
    "a count, then numbers": Amount(
        "x.repeat_interleave(n, -1) * 2", "[x[0], x[1] * n]", (1, 2, 3), COUNT
    ),
    "a count, then rows": Amount("x.repeat(n, 1).sum(0)", "[x[1]]", (1, 2, 3), COUNT),
    "a margin": Amount("F.pad(x, (n, 1))", "[x[0], x[1] + n + 1]", (0, 2, 5), MARGIN),
    "a margin of rows": Amount(
        "F.pad(x.softmax(-1), (n, n), value=1.0)", "[x[0], x[1] + n + n]", (0, 3), MARGIN
    ),
}


def amount_spec(name: str, folder: Path) -> OpSpec:
    case = AMOUNTS[name]
    path = folder / "case.yaml"
    path.write_text(
        f"op: AmountCase{list(AMOUNTS).index(name)}\ninputs:\n  x: {{dtype: float32, rank: 2}}\n"
        f'outputs:\n  z: {{dtype: x, shape: "{case.shape}"}}\nattrs:\n  n: {case.attr}\n'
        f"compute: |\n  z = {case.compute}\nbackward: none\n",
        encoding="utf-8",
    )
    return load_spec(path)


@pytest.mark.parametrize("name", AMOUNTS)
def test_attrs_may_be_amounts(name, tmp_path):
    """A plan is proved at other values of the attrs."""
    assert plan_op(amount_spec(name, tmp_path)).bodies


@pytest.mark.parametrize(
    "name",
    default_part(AMOUNTS, ["a shift"]),
)
def test_results_at_other_values(name, tmp_path):
    built = BuiltOp(amount_spec(name, tmp_path), tmp_path)
    for shape in ((5, 9), (4, 7), (130, 1000)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        for value in AMOUNTS[name].values:
            outputs, golden, result = built.run({"x": x}, {"n": value}, mode="check")
            check(outputs["z"], golden["z"], 4)
            assert [f for f in result.findings if f.severity == "error"] == []
