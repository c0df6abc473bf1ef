"""A fused model in use: blocks of known models, training, state, other inputs, bad input."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.fusion.api import fuse
from msopgen_wrap.fusion.backend import fusion_backend
from msopgen_wrap.torch_import import torch
from tests.fusion.models import (
    Lambda,
    LlamaBlock,
    ResNetBlock,
    TransformerBlock,
    UNetBlock,
)
from tests.fusion.reference_ops import fused, library, registered

F = torch.nn.functional
TRANSFORMER = library("norm/custom_layer_norm", "activation/custom_gelu", "norm/softmax")
LLAMA = library("norm/rms_norm", "norm/add_rms_norm", "elementwise/fused_mul_sigmoid")
RESNET = library("elementwise/fused_add_relu")
UNET = library("norm/group_norm", "activation/swish")

# model, inputs, ops, op calls in evaluation and in training
BLOCKS = [
    (TransformerBlock(dropout=0.1), ((2, 6, 32),), TRANSFORMER, 4, 4),
    (LlamaBlock(), ((2, 6, 32),), LLAMA, 3, 3),
    (ResNetBlock(), ((2, 8, 6, 6),), RESNET, 1, 1),
    pytest.param(UNetBlock(), ((2, 16, 6, 6), (2, 24)), UNET, 5, 5, marks=pytest.mark.slow),
]
NAMES = ["transformer", "llama", "resnet", "unet"]


@pytest.mark.parametrize(("model", "shapes", "specs", "calls", "training"), BLOCKS, ids=NAMES)
def test_blocks_of_models_give_the_same_results_and_gradients(
    model: Any, shapes: Any, specs: Any, calls: int, training: int
) -> None:
    torch.manual_seed(0)
    inputs = tuple(torch.randn(shape) for shape in shapes)
    block = fused(model.eval(), inputs, *specs)
    assert len(block.report.fused) == calls, str(block.report)
    torch.testing.assert_close(block(*inputs), model(*inputs), rtol=1e-4, atol=1e-5)
    block.train()
    state = {k: v.clone() for k, v in model.state_dict().items()}
    grads = []
    for module in (model, block):
        model.load_state_dict(state)
        model.zero_grad()
        torch.manual_seed(1)
        (module(*inputs) ** 2).sum().backward()
        grads.append([p.grad.clone() for p in model.parameters()])
    assert len(block.report.fused) == training, str(block.report)
    for wanted, found in zip(*grads, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_a_fused_model_shares_state_with_the_original() -> None:
    model = TransformerBlock().eval()
    x = torch.randn(1, 4, 32)
    block = fused(model, x, *TRANSFORMER)
    assert list(block.state_dict()) == list(model.state_dict())
    assert dict(block.named_parameters()).keys() == dict(model.named_parameters()).keys()
    with torch.no_grad():
        block.norm1.weight.mul_(2)
    torch.testing.assert_close(block(x), model(x), rtol=1e-4, atol=1e-5)
    half = block.bfloat16()
    assert half(x.bfloat16()).dtype is torch.bfloat16
    assert len(half.report.fused) == 4


def test_statistics_of_batch_norm_are_updated_once_per_call() -> None:
    model = ResNetBlock().train()
    x = torch.randn(2, 8, 5, 5)
    block = fused(model, x, *RESNET)
    assert int(model.bn1.num_batches_tracked) == 0
    assert float(model.bn1.running_mean.abs().sum()) == 0
    block(x)
    assert int(model.bn1.num_batches_tracked) == 1
    assert float(model.bn1.running_mean.abs().sum()) > 0


def test_other_shapes_get_graphs_of_their_own() -> None:
    model = Lambda(lambda x: torch.relu(x + x.shape[0]) / x.numel())
    block = fused(model, (torch.randn(3, 4),), *RESNET)
    for shape in [(3, 4), (5, 4), (1, 2, 3), (0, 4)]:
        x = torch.randn(shape)
        torch.testing.assert_close(block(x), model(x))
    with pytest.raises(OpgenError, match="OPG744"):
        for n in range(20):
            block(torch.randn(n + 6))


def test_sizes_that_depend_on_values_stay() -> None:
    model = Lambda(lambda x: torch.relu(x[x > 0] + 1))
    x = torch.randn(9)
    torch.testing.assert_close(fused(model, x, *RESNET)(x), model(x))


def test_a_block_without_gradients_keeps_that() -> None:
    def partly(x: Any) -> Any:
        with torch.no_grad():
            y = torch.relu(x + 1 / x)
        return torch.relu(y + x)

    model = Lambda(partly)
    x = torch.rand(9, requires_grad=True)
    block = fused(model, x, *RESNET)
    for module in (model, block):
        (grad,) = torch.autograd.grad(module(x).sum(), x)
        torch.testing.assert_close(grad, torch.ones(9))


def branches(x: Any) -> Any:
    if x.sum() > 0:
        return x
    return -x


def through_numpy(x: Any) -> Any:
    return torch.from_numpy(x.numpy() + 1)


def leaves(x: Any) -> Any:
    raise SystemExit(0)


X = torch.ones(2)
BAD = [
    (lambda: fuse(Lambda(leaves), (X,)), "OPG740", "model(*inputs) works"),
    (lambda: fuse(torch.nn.LazyLinear(2), (X,)), "OPG740", "once before"),
    (lambda: fuse(torch.nn.ReLU(), (torch.eye(2).to_sparse(),)), "OPG740", "dense"),
    (lambda: fuse(torch.nn.ReLU(), X, example_kwargs=[1]), "OPG740", "example_kwargs="),
    (lambda: fuse(Lambda(lambda x: x), X, specs=3), "OPG742", "specs="),
    (lambda: fuse(Lambda(lambda x: x), X, specs=""), "OPG742", "specs="),
    (lambda: fuse(Lambda(lambda x: x), X, ops=3), "OPG742", "ops="),
    (lambda: fusion_backend(specs=RESNET, inner="inducter"), "OPG750", "inductor"),
    (lambda: fusion_backend(specs=RESNET, inner=3), "OPG750", "inductor"),
    (lambda: fuse(Lambda(through_numpy), (X,)), "OPG740", "with torch"),
    (lambda: fuse(torch.jit.script(torch.nn.Linear(2, 2)), (X,)), "OPG740", "torch.jit.script"),
    (lambda: fuse(torch.nn.Linear(3, 3), (X,)), "OPG740", "model(*inputs) works"),
    (lambda: fuse(torch.nn.Linear(2, 2), ()), "OPG740", "model(*inputs) works"),
    (lambda: fuse(Lambda(branches), (X,)), "OPG740", "torch.where"),
    (lambda: fuse(Lambda(lambda x: x), (X, X)), "OPG740", ""),
    (lambda: fuse(Lambda(lambda x: x), {"x": X}), "OPG740", ""),
    (lambda: fuse(branches, (X,)), "OPG740", "forward of a module"),
    (lambda: fuse(Lambda(lambda x: x), X, specs=[3]), "OPG742", ""),
    (lambda: fuse(Lambda(lambda x: x), X, specs=[]), "OPG742", ""),
    (lambda: fuse(Lambda(lambda x: x), X, specs="nowhere.yaml"), "OPG001", ""),
    (lambda: fuse(Lambda(lambda x: x), X, ops="no_such_vendor"), "OPG742", ""),
    (lambda: fuse(Lambda(lambda x: x), X, ops=registered([])), "OPG742", "specs"),
    (
        lambda: fuse(
            Lambda(lambda x: torch.relu(x + 1 / x)), X, specs=RESNET, ops=registered(TRANSFORMER)
        ),
        "OPG742",
        "build the package",
    ),
]


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize(("action", "code", "fix"), BAD)
def test_bad_input_has_a_code_and_says_what_to_do(action: Any, code: str, fix: str) -> None:
    with pytest.raises(OpgenError) as caught:
        action()
    (problem,) = caught.value.diagnostics
    assert problem.code == code
    assert fix in problem.fix + problem.why


def test_a_branch_on_values_is_found_in_the_users_file() -> None:
    with pytest.raises(OpgenError) as caught:
        fuse(Lambda(branches), (X,))
    location = caught.value.diagnostics[0].location
    assert location.file.endswith("test_fused_module.py")
    assert location.line == branches.__code__.co_firstlineno + 1


def test_an_op_that_computes_something_else_is_an_error() -> None:
    (spec,) = library("elementwise/fused_add_relu")
    module = registered([spec])
    wrong = torch.library.Library(module.__name__, "IMPL")
    wrong.impl(spec.name, lambda x, y: torch.relu(x + y) * 1.01, "CPU")
    with pytest.raises(OpgenError, match="OPG741"):
        fuse(Lambda(lambda x, y: torch.relu(x + y)), (X, X + 1), specs=spec, ops=module)


def test_the_package_is_imported_without_torch() -> None:
    code = "import msopgen_wrap, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
