"""Bags of rows: what a trace has in place of ``F.embedding_bag``, its test data, its kernels."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from harness import BuiltOp

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.trace_rewrites import Composites
from msopgen_wrap.run.golden import make_inputs
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec

STARTS = {
    "one length": None,
    "offsets": [0, 3, 3, 7, 11],
    "an empty first bag": [0, 0, 5, 15],
    "an end": [0, 4, 4, 9, 15],
}


@pytest.mark.parametrize("padding", [None, 2, -2])
@pytest.mark.parametrize("bags", STARTS)
@pytest.mark.parametrize("mode", ["sum", "mean", "max", "weighted"])
def test_bags_have_the_same_values_and_gradients(mode: str, bags: str, padding: int | None) -> None:
    generator = torch.Generator().manual_seed(3)
    table = torch.randn(9, 4, dtype=torch.float64, generator=generator).requires_grad_()
    weights = torch.randn(5, 3, dtype=torch.float64, generator=generator).requires_grad_()
    index = torch.randint(0, 9, (5, 3), generator=generator)
    index[0], index[1] = 2, 7  # bags of padding alone
    kwargs: dict[str, Any] = {"mode": mode, "padding_idx": padding}
    given, wanted = weights, [table]
    if STARTS[bags] is not None:
        index, given = index.flatten(), weights.flatten()
        kwargs |= {"offsets": torch.tensor(STARTS[bags]), "include_last_offset": bags == "an end"}
    if mode == "weighted":
        kwargs |= {"mode": "sum", "per_sample_weights": given}
        wanted.append(weights)

    def both() -> tuple[torch.Tensor, ...]:
        result = F.embedding_bag(index, table, **kwargs)
        grads = torch.autograd.grad(
            result, wanted, torch.linspace(1, 2, result.numel()).double().view(result.shape)
        )
        return result, *grads

    expected = both()
    with Composites(differentiated=True):
        torch.testing.assert_close(both(), expected)


SPEC = """
op: Bags
inputs:
  t: {{dtype: [float32], rank: 2}}
  i: {{dtype: [int64], rank: {rank}}}
{more}
outputs:
  y: {{dtype: t, shape: '[{first}, t[1]]'}}
compute: {compute}
cases:
  - {{t: [17, 300], {case}}}
"""


def spec_of(compute: str) -> OpSpec:
    offsets = "offsets" in compute
    more = ""
    if offsets:
        more = "  offsets: {dtype: [int64], rank: 1, range: [0, 3]}"
    elif "weights" in compute:
        more = "  weights: {dtype: t, shape: like i}"
    first = "offsets[0] - 1" if "include_last" in compute else "offsets[0]" if offsets else "i[0]"
    # the case shows that the length of bags is not that of rows
    case = "i: [300], offsets: [40]" if offsets else "i: [70, 7]"
    case += ", weights: [70, 7]" if "weights" in compute else ""
    text = SPEC.format(rank=1 if offsets else 2, more=more, first=first, compute=compute, case=case)
    spec = parse_spec(text, "spec.yaml").spec
    assert spec is not None
    return spec


@pytest.mark.parametrize("end", [False, True])
def test_offsets_are_drawn_in_order_from_zero(end: bool) -> None:
    spec = spec_of(f"F.embedding_bag(i, t, offsets, include_last_offset={end})")
    inputs = make_inputs(spec, TestCase(0, {"t": (9, 4), "i": (30,), "offsets": (8,)}))
    offsets = inputs["offsets"].tolist()
    assert offsets == sorted(offsets) and offsets[0] == 0 and len(set(offsets)) > 3
    assert offsets[-1] == 30 if end else offsets[-1] <= 30
    assert inputs["i"].min() >= 0 and inputs["i"].max() <= 8


BAGS = {
    "averages": ("F.embedding_bag(i, t)", {"i": (70, 7)}),
    "a table first": ("F.embedding_bag(t, i)", {"i": (70, 7)}),
    "averages without padding": ("F.embedding_bag(i, t, padding_idx=-1)", {"i": (70, 7)}),
    "weighted": (
        "F.embedding_bag(i, t, mode='sum', per_sample_weights=weights)",
        {"i": (70, 7), "weights": (70, 7)},
    ),
    "largest": ("F.embedding_bag(i, t, mode='max')", {"i": (70, 7)}),
    "from offsets": ("F.embedding_bag(i, t, offsets)", {"i": (300,), "offsets": (40,)}),
    "largest from offsets": (
        "F.embedding_bag(i, t, offsets, mode='max', include_last_offset=True)",
        {"i": (300,), "offsets": (40,)},
    ),
}


@pytest.mark.parametrize("name", BAGS)
def test_bags_are_planned(name: str) -> None:
    families = [part.family.name for part in plan_op(spec_of(BAGS[name][0])).parts]
    assert families[0] == "index" and families[-1] in ("row", "elementwise", "index")


@pytest.mark.slow
@pytest.mark.parametrize("name", BAGS)
def test_results_and_sanitizer(name: str, tmp_path: Any) -> None:
    compute, shapes = BAGS[name]
    op = BuiltOp(spec_of(compute), tmp_path)
    inputs = make_inputs(op.spec, TestCase(0, {"t": (17, 300), **shapes}))
    for auto_sync in (True, False):
        outputs, golden, result = op.run(inputs, mode="check", auto_sync=auto_sync)
        torch.testing.assert_close(outputs["y"].double(), golden["y"], rtol=1e-5, atol=1e-5)
        assert [f for f in result.findings if f["severity"] != "warning"] == []


def test_a_norm_that_is_written_to_the_table_is_refused() -> None:
    with pytest.raises(OpgenError) as error:
        plan_op(spec_of("F.embedding_bag(i, t, max_norm=1.0)"))
    assert error.value.diagnostics[0].code.startswith("OPG")
