"""The backend of ``torch.compile``: the same ops, in inference and in training."""

from __future__ import annotations

from typing import Any

import pytest

from msopgen_wrap.fusion.backend import FusionBackend
from msopgen_wrap.fusion.packages import op_source
from msopgen_wrap.torch_import import torch
from tests.fusion.models import Lambda, ResNetBlock, TransformerBlock
from tests.fusion.reference_ops import library, registered

RESNET = library("elementwise/fused_add_relu")
TRANSFORMER = library("norm/custom_layer_norm", "activation/custom_gelu", "norm/softmax")


def backend(specs: Any, inner: str | None = None) -> FusionBackend:
    torch._dynamo.reset()
    return FusionBackend(op_source(specs, registered(specs)), inner)


@pytest.mark.parametrize("inner", [None, pytest.param("aot_eager", marks=pytest.mark.slow)])
def test_a_compiled_block_calls_the_ops_and_trains(inner: str | None) -> None:
    model = TransformerBlock().train()
    x = torch.randn(2, 5, 32)
    made = backend(TRANSFORMER, inner)
    compiled = torch.compile(model, backend=made)
    grads = []
    for module in (model, compiled):
        model.zero_grad()
        (module(x) ** 2).sum().backward()
        grads.append([p.grad.clone() for p in model.parameters()])
    assert [len(r.fused) for r in made.reports] == [4]
    for wanted, found in zip(*grads, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


def test_sizes_that_vary_get_graphs_of_their_own() -> None:
    model = Lambda(lambda x, y: torch.relu(x + y) / x.shape[0])
    made = backend(RESNET)
    compiled = torch.compile(model, backend=made)
    for n in (4, 5, 6):
        x, y = torch.randn(n, 3), torch.randn(n, 3)
        torch.testing.assert_close(compiled(x, y), model(x, y))
    assert [len(r.fused) for r in made.reports] == [1, 1, 1]


def test_a_mask_made_by_vmap_stays_and_the_op_behind_it_is_called() -> None:
    def attention(x: Any, y: Any) -> Any:
        causal = torch.vmap(lambda i: torch.vmap(lambda j: i >= j)(torch.arange(5)))
        masked = torch.where(causal(torch.arange(5)), x, -1e30)
        return torch.relu(torch.softmax(masked, -1) + y)

    made = backend([*RESNET, *library("norm/softmax")])
    x, y = torch.randn(2, 5, 5), torch.randn(2, 5, 5)
    compiled = torch.compile(Lambda(attention), backend=made)
    torch.testing.assert_close(compiled(x, y), attention(x, y))
    assert [len(r.fused) for r in made.reports] == [2]


def test_buffers_are_updated_once() -> None:
    model = ResNetBlock().train()
    compiled = torch.compile(model, backend=backend(RESNET))
    compiled(torch.randn(2, 8, 4, 4))
    assert int(model.bn1.num_batches_tracked) == 1


def test_a_block_without_gradients_in_a_model_stays() -> None:
    def partly(x: Any, y: Any) -> Any:
        with torch.no_grad():
            z = x + y
        return torch.relu(z) + x

    made = backend(RESNET)
    x, y = torch.randn(3, requires_grad=True), torch.randn(3)
    torch.compile(Lambda(partly), backend=made)(x, y).sum().backward()
    torch.testing.assert_close(x.grad, torch.ones(3))
    assert not any(r.fused for r in made.reports)
