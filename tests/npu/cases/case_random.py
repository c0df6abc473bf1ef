"""Random numbers: seeds, states, generators, and independence from the CPU's generator."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

pytestmark = pytest.mark.npu

DRAWS = {
    "randn": lambda d: torch.randn(5, device=d),
    "rand": lambda d: torch.rand(5, device=d),
    "randint": lambda d: torch.randint(0, 1000, (5,), device=d),
    "randperm": lambda d: torch.randperm(20, device=d),
    "uniform_": lambda d: torch.empty(5, device=d).uniform_(),
    "normal_": lambda d: torch.empty(5, device=d).normal_(),
    "bernoulli": lambda d: torch.bernoulli(torch.full((50,), 0.5, device=d)),
    "bernoulli_": lambda d: torch.empty(50, device=d).bernoulli_(0.5),
    "multinomial": lambda d: torch.multinomial(torch.ones(50, device=d), 10),
    "exponential_": lambda d: torch.empty(5, device=d).exponential_(),
    "dropout": lambda d: F.dropout(torch.ones(50, device=d), 0.5, True),
    "dropout2d": lambda d: F.dropout2d(torch.ones(5, 9, 2, 2, device=d), 0.5, True),
    "rrelu": lambda d: F.rrelu(-torch.ones(50, device=d), training=True),
    "normal": lambda d: torch.normal(0.0, torch.ones(5, device=d)),
    "randn_like": lambda d: torch.randn_like(torch.empty(5, device=d)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_seed_repeats(npu, name):
    draw = DRAWS[name]
    torch.npu.manual_seed(11)
    first, second = draw(npu), draw(npu)
    assert first.device == npu
    assert not torch.equal(first, second), "two draws in a row are the same"
    torch.npu.manual_seed(11)
    assert torch.equal(draw(npu), first)
    torch.npu.manual_seed(12)
    assert not torch.equal(draw(npu), first)
    torch.manual_seed(11)  # seeds every device
    assert torch.equal(draw(npu), first)


@pytest.mark.parametrize("name", DRAWS)
def test_cpu_generator_is_left_alone(npu, name):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    DRAWS[name](npu)
    assert torch.equal(torch.rand(3), expected)


def test_state_can_be_saved(npu):
    torch.npu.manual_seed(1)
    torch.randn(3, device=npu)
    state = torch.npu.get_rng_state()
    first = torch.randn(7, device=npu)
    torch.npu.set_rng_state(state)
    assert torch.equal(torch.randn(7, device=npu), first)
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        torch.randn(9, device=npu)
    after = torch.randn(7, device=npu)
    torch.npu.set_rng_state(state)
    torch.randn(7, device=npu)
    assert torch.equal(torch.randn(7, device=npu), after)


def test_own_generator(npu):
    generator = torch.Generator(device=npu).manual_seed(3)
    first = torch.randn(4, device=npu, generator=generator)
    default = torch.randn(4, device=npu)
    generator.manual_seed(3)
    assert torch.equal(torch.randn(4, device=npu, generator=generator), first)
    assert not torch.equal(default, first)
    assert generator.device == npu
    with pytest.raises(RuntimeError, match=r"generator|device"):
        torch.randn(4, device=npu, generator=torch.Generator())


def test_distribution(npu):
    torch.npu.manual_seed(0)
    x = torch.randn(100_000, device=npu)
    assert abs(x.mean().item()) < 0.02 and abs(x.std().item() - 1) < 0.02
    y = torch.cat([torch.rand(10, device=npu) for _ in range(2000)])
    assert abs(y.mean().item() - 0.5) < 0.02 and y.unique().numel() > 19_000
