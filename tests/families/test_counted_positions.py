"""Positions that a formula counts: of tokens, of rows in groups; int64 over several passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp, check

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

TOKENS = "x: {dtype: [int32, int64], rank: 2, range: [0, 3]}"
GROUPS = "i: {dtype: [int32, int64], rank: 1, range: [0, 6]}"
SCORES = "g: {dtype: [float32, float16], rank: 2}"


class Case(NamedTuple):
    """A formula, the shapes of its inputs, and the values of its attr."""

    compute: str
    inputs: str
    shape: str  # of the output
    shapes: tuple[tuple[tuple[int, ...], ...], ...]
    attr: str = ""
    values: tuple[int, ...] = ()


CASES = {
    "of tokens that are no padding": Case(
        "m = (x != pad).to(torch.int32)\n"
        "  z = (torch.cumsum(m, 1, dtype=torch.int32) * m).long() + pad",
        TOKENS,
        "like x",
        (((5, 7),), ((33, 300),), ((2, 9001),), ((3, 0),)),
        "pad: {type: int, default: 1, min: 0, max: 100}",
        (0, 1, 100),
    ),
    "of tokens, counted from the number of them": Case(
        "m = x != 0\n"
        "  k = m.sum(-1, keepdim=True)\n"
        "  p = m.cumsum(-1) - 1\n"
        "  z = torch.where(m, p * 2 + k, k - 1)",
        TOKENS,
        "like x",
        (((5, 7),), ((33, 300),), ((2, 9001),)),
    ),
    "of rows in their group": Case(
        "h = F.one_hot(i.long(), 7)\n  z = (h.cumsum(0) - 1) * h",
        GROUPS,
        "[i[0], 7]",
        (((1,),), ((300,),), ((5000,),), ((0,),)),
    ),
    "of rows, added up": Case(
        "h = (i.unsqueeze(-1) == torch.arange(7, device=i.device)).to(torch.int32)\n"
        "  c = torch.cumsum(h, 0, dtype=torch.int32) - 1\n"
        "  z = (c * h).sum(-1, dtype=torch.int32).long() + start",
        GROUPS,
        "[i[0]]",
        (((1,),), ((300,),), ((5000,),)),
        "start: {type: int, default: 0, min: 0, max: 10}",
        (0, 3),
    ),
    # The case that the spec is traced at has as many columns as there are groups.
    "of rows in groups with an end": Case(
        "e = g.argmax(-1)\n"
        "  p = (F.one_hot(e, 8).cumsum(0) - 1).gather(1, e.unsqueeze(-1)).squeeze(-1)\n"
        "  z = torch.where(p < most, e * most + p, -1)",
        SCORES,
        "[g[0]]",
        (((1, 1),), ((300, 8),), ((77, 7),), ((500, 3),)),
        "most: {type: int, default: 4, min: 1, max: 1000}",
        (4, 60),
    ),
}
# Compiled and run by the default suite; the others are planned there and run in CI's slow part.
DEFAULT = ("of tokens that are no padding", "of rows in groups with an end")


def spec_of(name: str, folder: Path) -> OpSpec:
    case = CASES[name]
    text = (
        f"op: PositionCase{list(CASES).index(name)}\ninputs:\n  {case.inputs}\n"
        f'outputs:\n  z: {{dtype: int64, shape: "{case.shape}"}}\n'
        + (f"attrs:\n  {case.attr}\n" if case.attr else "")
        + f"compute: |\n  {case.compute}\nbackward: none\n"
        + ("cases:\n  - {g: [300, 8]}\n" if case.inputs == SCORES else "")
    )
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


@pytest.mark.parametrize("name", CASES)
def test_a_plan_is_found(name, tmp_path):
    assert plan_op(spec_of(name, tmp_path)).bodies


@pytest.fixture(scope="module", params=default_part(CASES, DEFAULT))
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("positions")
    return BuiltOp(spec_of(request.param, folder), folder), CASES[request.param]


def drawn(dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    if "int" in dtype:
        return torch.randint(0, 4, shape, generator=generator, dtype=getattr(torch, dtype))
    return torch.randn(shape, generator=generator).to(getattr(torch, dtype))


@pytest.mark.parametrize("auto_sync", [True, False], ids=["compiler's sync", "own sync"])
def test_results_and_sanitizer(built, auto_sync):
    op, case = built
    (param,) = op.spec.inputs
    for dtype in param.dtypes:
        for (shape,) in case.shapes:
            for value in case.values or (0,):
                attrs: dict[str, Any] = {a.name: value for a in op.spec.attrs}
                inputs = {param.name: drawn(dtype, shape)}
                outputs, golden, result = op.run(inputs, attrs, mode="check", auto_sync=auto_sync)
                check(outputs["z"], golden["z"])
                assert result.findings == []
