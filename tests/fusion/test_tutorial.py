"""The programs of a tutorial on fusion, with their mistakes mended.

FusedAddReLU: its backward read inputs that forward had not saved. FusionOptimizer: it walked over a
graph and fused every node, because its ``can_fuse`` was always true; here a node is fused when the
formula before it is an op's, and everything else is left with a reason.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.torch_import import torch
from tests.fusion.models import Lambda
from tests.fusion.reference_ops import fused, library

ADD_RELU, MUL_SIGMOID = library("elementwise/fused_add_relu", "elementwise/fused_mul_sigmoid")


def test_add_relu_is_fused_and_has_gradients_of_both_inputs() -> None:
    x, y = (torch.randn(32, 64, requires_grad=True) for _ in range(2))
    model = fused(Lambda(lambda x, y: torch.relu(x + y)), (x, y), ADD_RELU)
    assert [c.op for c in model.report.fused] == ["FusedAddRelu"]
    grads = torch.autograd.grad(model(x, y).sum(), (x, y))
    wanted = (x + y > 0).float()
    assert all(torch.equal(g, wanted) for g in grads)


def test_mul_sigmoid_is_fused() -> None:
    x, y = torch.randn(8, 16), torch.randn(8, 16)
    model = fused(Lambda(lambda x, y: x * y / (1.0 + torch.exp(-y))), (x, y), MUL_SIGMOID)
    (call,) = model.report.fused
    assert call.bytes_after < call.bytes_before / 3
    torch.testing.assert_close(model(x, y), x * y * torch.sigmoid(y))


def test_the_optimizer_over_a_graph_fuses_what_can_be_fused() -> None:
    def network(x: Any, y: Any, w: Any) -> Any:
        a = torch.relu(x + y)  # an op
        b = a @ w
        c = torch.relu(b - y)  # a difference is not the op
        d = c + y
        e = torch.relu(d)  # d is used again
        return e + d

    inputs = torch.randn(4, 4), torch.randn(4, 4), torch.randn(4, 4)
    report = fused(Lambda(network), inputs, ADD_RELU).report
    assert [c.replaced for c in report.fused] == [("add", "relu")]
    assert any("used elsewhere" in miss.reason for miss in report.left)
