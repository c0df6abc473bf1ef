"""Models that fusion was not made for: never another result, never a traceback, a true report."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from msopgen_wrap.fusion.api import fuse
from msopgen_wrap.fusion.model_trace import traced_model
from msopgen_wrap.fusion.packages import op_source, searched
from msopgen_wrap.fusion.proposals import survey
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import torch
from tests.fusion.model_styles import styles
from tests.fusion.reference_ops import registered

pytestmark = pytest.mark.slow

# name -> steps that ops replace when each op of the library is asked for, at least
FUSED = {
    "vit": 6,
    "gpt2": 13,
    "experts": 5,
    "t5": 15,
    "convnext": 3,
    "mobilenet": 3,
    "wavenet": 13,
    "unet_attention": 3,
    "rotary": 7,
    "bert": 9,
}


@pytest.fixture(scope="module")
def ops() -> tuple[list[OpSpec], ModuleType]:
    specs = searched(op_source(None, None).specs)[0]
    return specs, registered(specs)


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("name", FUSED)
def test_a_model_of_any_style_keeps_its_results_and_gradients(
    name: str, training: bool, ops: tuple[list[OpSpec], ModuleType]
) -> None:
    model, inputs = styles()[name]
    model.train(training)
    block = fuse(model, inputs, specs=ops[0], ops=ops[1])
    report = block.report
    assert sum(len(c.replaced) for c in report.fused) >= FUSED[name], str(report)
    assert report.bytes_after <= report.bytes_before
    found = []
    for module in (model, block):
        model.zero_grad()
        torch.manual_seed(1)
        result = module(*inputs)
        result.square().sum().backward()
        found.append([result, *(p.grad.clone() for p in model.parameters() if p.grad is not None)])
    for wanted, got in zip(*found, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-4)


# what `opgen fuse` proposes
CHAINS: dict[str, list[str]] = {
    "gpt2": ["FusedMulBitwiseNotMaskedFillSoftmax", "FusedAddLayerNorm"],
    "rotary": ["FusedDivAddSoftmax"],
    "wavenet": ["FusedTanhSigmoidMul", "FusedAddAddAddRelu", "FusedAddMul"],
    "bert": ["FusedAddLayerNorm"],
    "experts": ["FusedMulSum", "FusedSumDiv"],
    "mobilenet": ["FusedHardsigmoidMul"],
}


@pytest.mark.parametrize("name", FUSED)
def test_chains_of_any_style_are_proposed(name: str, ops: tuple[list[OpSpec], ModuleType]) -> None:
    model, inputs = styles()[name]
    found = survey(traced_model(model.eval(), inputs, {}).graph, ops[0])
    assert [p.spec.op for p in found.proposals][: len(CHAINS.get(name, []))] == CHAINS.get(name, [])


def test_the_report_says_what_each_style_saves(ops: tuple[list[OpSpec], ModuleType]) -> None:
    model, inputs = styles()["t5"]
    report: Any = fuse(model.eval(), inputs, specs=ops[0], ops=ops[1]).report
    assert report.bytes_after < report.bytes_before
    assert "in place: temporaries take at most" in str(report)
