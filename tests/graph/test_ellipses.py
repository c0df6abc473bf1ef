"""``torch.einsum`` with an ellipsis: equal to PyTorch's, and planned for any rank."""

from __future__ import annotations

import pytest
import torch

from msopgen_wrap.families.planner import plan_op
from msopgen_wrap.graph.ellipses import ellipsis_functions
from msopgen_wrap.spec.loader import parse_spec

SIZES = {"i": 3, "j": 4, "k": 5, "n": 6}
WRITTEN = [
    "...i,...i->...",
    "...ij,...ij->...",
    "...ik,...jk->...ij",
    "...ki, ...kj -> ...ji",
    "...k,nk->...n",
    "nk,...k->...n",
    "...k,...kn->...n",
    "...ik,k->...i",
    "...i,...j->...ij",
    "...i,...j->...ji",
    "...i,i->...",
]
LEFT = ["...,...->...", "...bi,...bj->...bij", "...ij,...ji->...", "i...,i...->...", "ik,kj->ij"]


def operands(equation: str, batch: tuple[int, ...]) -> list[torch.Tensor]:
    terms = equation.replace(" ", "").split("->")[0].split(",")
    shapes = [
        ((*batch,) if "..." in t else ()) + tuple(SIZES.get(c, 2) for c in t.strip("."))
        for t in terms
    ]
    return [torch.randn(shape, dtype=torch.float64) for shape in shapes]


@pytest.mark.parametrize("equation", WRITTEN)
def test_products_are_those_of_pytorch(equation: str) -> None:
    for batch in ((), (2,), (2, 7)):
        given = operands(equation, batch)
        found = ellipsis_functions()[torch.einsum](equation, *given)
        torch.testing.assert_close(found, torch.einsum(equation, *given))


@pytest.mark.parametrize("equation", LEFT)
def test_others_are_left_to_pytorch(equation: str) -> None:
    found = ellipsis_functions()[torch.einsum](equation, *operands(equation, (2, 2)))
    assert found is NotImplemented


@pytest.mark.parametrize(
    ("equation", "shape", "low"),
    [("...i,...i->...", "[*x[:-1]]", 1), ("...ik,...jk->...ij", "[*x[:-1], x[-2]]", 2)],
)
def test_one_kernel_serves_all_ranks(equation: str, shape: str, low: int) -> None:
    spec = parse_spec(
        f"op: Joined\ninputs:\n  x: {{dtype: float32, rank: [{low}, 8]}}\n  y: like x\n"
        f'outputs: {{z: "{shape}"}}\nbackward: none\ncompute: torch.einsum("{equation}", x, y)\n',
        "op.yaml",
    ).spec
    assert spec is not None
    assert plan_op(spec).parts
