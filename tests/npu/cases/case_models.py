"""Whole models trained on "npu" give the numbers they give on "cpu"."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

pytestmark = pytest.mark.npu


class Transformer(nn.Module):
    """Two encoder layers over embeddings."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 50)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
        return self.head(self.encoder(self.embed(x), mask=mask, is_causal=True))

    @staticmethod
    def batch():
        tokens = torch.randint(0, 50, (4, 13))
        return tokens[:, :-1], tokens[:, 1:]

    @staticmethod
    def loss(out, target):
        return F.cross_entropy(out.flatten(0, 1), target.flatten())


class Block(nn.Module):
    """Residual block of two convolutions."""

    def __init__(self, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels * stride, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels * stride)
        self.conv2 = nn.Conv2d(channels * stride, channels * stride, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels * stride)
        self.skip = (
            nn.Identity() if stride == 1 else nn.Conv2d(channels, channels * stride, 1, stride)
        )

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.skip(x))


class ResNet(nn.Module):
    """A small residual network."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU())
        self.blocks = nn.Sequential(nn.MaxPool2d(2), Block(8, 1), Block(8, 2), Block(16, 2))
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(F.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1).flatten(1))

    @staticmethod
    def batch():
        return torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))

    @staticmethod
    def loss(out, target):
        return F.cross_entropy(out, target, label_smoothing=0.1)


OPTIMIZERS = {
    "adamw": lambda p: torch.optim.AdamW(p, 1e-2),
    "sgd": lambda p: torch.optim.SGD(p, 1e-2, momentum=0.9, nesterov=True),
    "adam_foreach": lambda p: torch.optim.Adam(p, 1e-2, foreach=True),
}


def train(model, make_optimizer, device, steps=4):
    """Return the losses and the final parameters, on the CPU."""
    model = model.to(device)
    optimizer = make_optimizer(model.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    torch.manual_seed(7)
    losses = []
    for _ in range(steps):
        x, target = model.batch()
        loss = model.loss(model(x.to(device)), target.to(device))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses, [p.detach().cpu() for p in model.parameters()]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("kind", [Transformer, ResNet], ids=lambda k: k.__name__)
def test_training_equals_cpu(npu, kind, optimizer):
    torch.manual_seed(0)
    model = kind()
    twin = copy.deepcopy(model)
    expected, expected_parameters = train(model, OPTIMIZERS[optimizer], torch.device("cpu"))
    got, parameters = train(twin, OPTIMIZERS[optimizer], npu)
    assert got == pytest.approx(expected, rel=1e-5)
    if optimizer == "sgd":  # Adam divides a gradient that is zero but for rounding by its own size
        for a, b in zip(parameters, expected_parameters, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert expected[0] != expected[-1]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_autocast(npu, dtype):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4)).to(npu)
    with torch.amp.autocast("npu", dtype=dtype):
        x = torch.randn(8, 16, device=npu)
        hidden = model[0](x)
        out = model(x)
        loss = F.mse_loss(out, torch.zeros_like(out))
    assert hidden.dtype == dtype and loss.dtype == torch.float32
    loss.backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in model.parameters())
    exact = copy.deepcopy(model).float()(x)
    torch.testing.assert_close(out.float(), exact, rtol=0.05, atol=0.05)


def test_grad_scaler(npu):
    model = nn.Linear(4, 4).to(npu)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("npu", init_scale=1024.0)
    before = model.weight.detach().cpu().clone()
    for scale_it in (1.0, float("inf")):
        with torch.amp.autocast("npu", dtype=torch.float16):
            loss = model(torch.ones(2, 4, device=npu)).float().sum() * scale_it
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 512.0  # the inf step was skipped and halved the scale
    moved = model.weight.detach().cpu()
    assert torch.isfinite(moved).all() and not torch.equal(moved, before)


def test_checkpointing_and_hooks(npu):
    from torch.utils.checkpoint import checkpoint

    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.ReLU()).to(npu)
    seen = []
    model[0].register_full_backward_hook(lambda m, gi, go: seen.append(go[0].device))
    x = torch.randn(4, 8, device=npu, requires_grad=True)
    torch.npu.manual_seed(3)
    plain = model(x).sum()
    (expected,) = torch.autograd.grad(plain, x)
    torch.npu.manual_seed(3)
    kept = checkpoint(model, x, use_reentrant=False).sum()
    (got,) = torch.autograd.grad(kept, x)
    # Dropout must repeat in the recomputation: the generator's state is restored.
    torch.testing.assert_close(got, expected)
    assert seen and all(d == npu for d in seen)


def test_compile_with_aot_eager(npu):
    model = nn.Sequential(nn.Linear(8, 8), nn.SiLU(), nn.Linear(8, 2)).to(npu)
    x = torch.randn(4, 8, device=npu, requires_grad=True)
    compiled = torch.compile(model, backend="aot_eager")
    out = compiled(x)
    torch.testing.assert_close(out, model(x))
    out.sum().backward()
    assert x.grad is not None and x.grad.device == npu
