"""Convolution and batch norm as one convolution: exact in evaluation, refused in training.

FusedConvBN of the tutorials; its version has no backward and computes statistics wrong for strides
and padding. Here the convolution is PyTorch's, so it has both.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.cli import app, output
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.fusion.api import fuse
from msopgen_wrap.fusion.batch_norm import fold_batch_norms
from msopgen_wrap.torch_import import torch
from tests.fusion.models import ResNetBlock
from tests.fusion.reference_ops import library, registered

nn = torch.nn


def with_statistics(model: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            for tensor in (module.running_mean, module.running_var, module.weight, module.bias):
                tensor.data.uniform_(0.5, 2)
    return model.eval()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_folded_model_gives_the_same_results_and_gradients(dims: int, bias: bool) -> None:
    conv = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dims - 1]
    norm = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[dims - 1]
    layers = (conv(4, 6, 3, 2, 1, groups=2, bias=bias), norm(6, eps=1e-3), nn.ReLU())
    model = with_statistics(nn.Sequential(*layers)).double()
    folded, done, left = fold_batch_norms(model)
    assert [(f.convolution, f.norm, f.epilogue) for f in done] == [("0", "1", "relu")] and not left
    x = torch.randn((2, 4) + (7,) * dims, dtype=torch.float64, requires_grad=True)
    results = [m(x) for m in (model, folded)]
    torch.testing.assert_close(*results)
    grads = [torch.autograd.grad(r.square().sum(), x)[0] for r in results]
    torch.testing.assert_close(*grads)


def test_a_residual_block_loses_both_norms_and_the_model_keeps_them() -> None:
    model = with_statistics(ResNetBlock())
    folded, done, _ = fold_batch_norms(model)
    assert [f.norm for f in done] == ["bn1", "bn2"]
    assert isinstance(model.bn1, nn.BatchNorm2d)
    x = torch.randn(2, 8, 5, 5)
    torch.testing.assert_close(folded(x), model(x), rtol=1e-4, atol=1e-4)


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return self.norm(y) + y


class Again(Twice):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.conv(self.conv(x)))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.norm = nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2)
        self.b.weight = self.a.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.a(self.b(x)))


STAYS = [
    (Twice(), "used elsewhere"),
    (Again(), "more than once"),
    (nn.Sequential(nn.ReLU(), nn.BatchNorm2d(2)), "no convolution"),
    (nn.Sequential(nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2, track_running_stats=False)), "statistics"),
]


@pytest.mark.parametrize(("model", "reason"), STAYS)
def test_what_cannot_be_folded_stays_with_a_reason(model: nn.Module, reason: str) -> None:
    folded, done, left = fold_batch_norms(model.eval())
    assert not done and reason in left[0]
    x = torch.randn(1, 2, 3, 3)
    torch.testing.assert_close(folded(x), model(x))


def test_shared_weights_give_the_same_results() -> None:
    model = with_statistics(Tied())
    folded, _, _ = fold_batch_norms(model)
    x = torch.randn(1, 2, 3, 3)
    torch.testing.assert_close(folded(x), model(x), rtol=1e-4, atol=1e-5)


def test_fuse_folds_by_option_and_compares_with_the_model_that_has_norms() -> None:
    model, x = with_statistics(ResNetBlock()), torch.randn(2, 8, 5, 5)
    (spec,) = library("elementwise/fused_add_relu")
    block = fuse(model, x, specs=spec, ops=registered([spec]), fold=True)
    report = block.report
    assert [f.norm for f in report.folded] == ["bn1", "bn2"] and len(report.fused) == 1
    lines = str(report).splitlines()
    assert (
        "  batch norm bn1 is a part of convolution conv1 now; relu behind it is a step of its own"
        in lines
    )
    assert (
        "  batch norm bn2 is a part of convolution conv2 now; add, relu behind it are FusedAddRelu"
        in lines
    )
    plain = fuse(model, x, specs=spec, ops=registered([spec])).report
    assert report.bytes_before == plain.bytes_before
    assert report.bytes_after < plain.bytes_after
    torch.testing.assert_close(block(x), model(x), rtol=1e-4, atol=1e-4)
    assert report.agreements
    with pytest.raises(OpgenError, match="OPG749"):
        block.train()
    folded = block.original
    with torch.no_grad():
        folded.conv2.weight.mul_(1.01)
    with pytest.raises(OpgenError, match="OPG741"):
        block(torch.randn(1, 8, 5, 5))


@pytest.mark.parametrize(
    ("activation", "op"),
    [
        (nn.SiLU(), "activation/swish"),
        (nn.ReLU(inplace=True), "activation/custom_relu"),
        (nn.GELU(), "activation/custom_gelu"),
    ],
)
def test_the_activation_behind_a_folded_convolution_is_an_op(
    activation: nn.Module, op: str
) -> None:
    layers = (nn.Conv2d(4, 6, 3, bias=False), nn.BatchNorm2d(6), activation)
    model, x = with_statistics(nn.Sequential(*layers)), torch.randn(2, 4, 5, 5)
    specs = library(op)
    report = fuse(model, x, specs=specs, ops=registered(specs), fold=True).report
    (call,) = report.fused
    assert report.epilogues["0"].endswith(f"behind it is {call.op}")
    assert report.epilogues["0"] in str(report)


class Unpacked(nn.Module):
    """Calls that ``torch.fx`` cannot follow without values: a loop over the arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, bias=False)
        self.stages = nn.ModuleList(
            nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.ReLU()) for _ in range(2)
        )
        self.norm, self.tail = nn.BatchNorm2d(4), nn.BatchNorm2d(4)

    def forward(self, *images: torch.Tensor) -> torch.Tensor:
        y = torch.zeros(())
        for image in images:
            if image.shape[0] > 1:
                y = nn.functional.silu(self.norm(self.conv(image)))
        for stage in self.stages:
            y = stage(y)
        return self.tail(y)


def test_an_example_helps_where_calls_cannot_be_followed_without_values() -> None:
    model, x = with_statistics(Unpacked()), torch.randn(2, 3, 5, 5)
    with pytest.raises(OpgenError, match="OPG740") as error:
        fold_batch_norms(model)
    assert "fold_batch_norms(model, inputs)" in error.value.diagnostics[0].fix
    folded, done, left = fold_batch_norms(model, x)
    assert [(f.convolution, f.norm, f.epilogue) for f in done] == [
        ("conv", "norm", "silu"),
        ("stages.0.0", "stages.0.1", "relu"),
        ("stages.1.0", "stages.1.1", "relu"),
    ]
    assert left == ["tail: no convolution before it; it stays a step of its own"]
    torch.testing.assert_close(folded(x), model(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("model", "reason"), STAYS)
def test_calls_of_the_exported_graph_stay_for_the_same_reasons(
    model: nn.Module, reason: str
) -> None:
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *xs: torch.Tensor) -> torch.Tensor:
            return self.model(*[x for x in xs if x.shape[0] > 0])

    _, done, left = fold_batch_norms(Hidden().eval(), torch.randn(1, 2, 3, 3))
    assert not done and reason in left[0]


def test_training_is_refused() -> None:
    with pytest.raises(OpgenError, match="OPG749"):
        fold_batch_norms(ResNetBlock().train())


def test_the_command_names_batch_norms_that_can_be_folded(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        "import torch\n"
        "nn = torch.nn\n"
        "def make():\n"
        "    layers = (nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.SiLU())\n"
        "    return nn.Sequential(*layers).eval(), torch.randn(2, 4, 5, 5)\n"
    )
    assert app.run(["fuse", f"{path}:make"]) == output.OK
    out = capfd.readouterr().out
    assert "batch norm 1 can be a part of convolution 0, before silu" in out
    assert "fold=True" in out
