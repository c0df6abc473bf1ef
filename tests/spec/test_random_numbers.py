"""The functions under ``opgen`` in compute: Philox, what is made of it, and what is refused."""

from __future__ import annotations

import math

import pytest
import torch

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.spec import random_numbers
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.random_numbers import opgen, philox_words
from msopgen_wrap.spec.torch_names import OPGEN_FUNCTIONS, RANDOM_NAMES, SEEDED_CALLS

WORD = 0xFFFFFFFF
# Known answers that the authors of Philox publish: counter, key, result.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((WORD,) * 4, (WORD,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def block_of(counter, key):
    """Philox4x32-10 of one counter in Python's integers."""
    (a, b, c, d), (k, m) = counter, key
    for _ in range(10):
        even, odd = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (odd >> 32) ^ b ^ k, odd & WORD, (even >> 32) ^ d ^ m, even & WORD
        k, m = (k + 0x9E3779B9) & WORD, (m + 0xBB67AE85) & WORD
    return a, b, c, d


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_the_block_of_this_test_is_philox(counter, key, words):
    assert block_of(counter, key) == words


SEEDS = [(0, 0), (7, 3), (-1, 1 << 40), (2**63 - 1, -(2**63)), (0x299F31D0A4093822, -5)]


@pytest.mark.parametrize(("seed", "offset"), SEEDS)
def test_words_are_those_of_the_block(seed, offset):
    index = torch.tensor([0, 1, 2, 3, 4, 7, 1001, 2**31 - 1, (1 << 40) + 2])
    expected = []
    for i in index.tolist():
        words = [w & WORD for n in (i >> 2, offset) for w in (n, n >> 32)]
        word = block_of(words, (seed & WORD, (seed >> 32) & WORD))[i % 4]
        expected.append(word - (1 << 32) if word >> 31 else word)
    found = philox_words(index, seed, offset)
    assert found.dtype is torch.int32
    assert found.tolist() == expected
    small = index[:-1].to(torch.int32)
    assert torch.equal(philox_words(small, seed, offset), found[:-1])


def test_numbers_are_distributed_as_they_say():
    count = 200_000
    x = torch.empty(400, 500)
    error = 1 / math.sqrt(count)
    uniform = opgen.rand_like(x, 1, 2).double().flatten()
    assert uniform.min() >= 0 and uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 4 * error * math.sqrt(1 / 12)
    assert abs(uniform.var() - 1 / 12) < 4 * error * math.sqrt(1 / 180)
    places = torch.arange(1, count + 1) / count
    assert (uniform.sort().values - places).abs().max() < 1.7 * error  # Kolmogorov-Smirnov
    normal = opgen.randn_like(x, 1, 2).double().flatten()
    assert abs(normal.mean()) < 4 * error
    assert abs(normal.var() - 1) < 4 * error * math.sqrt(2)
    ranks = torch.special.ndtr(normal.sort().values)
    assert (ranks - places).abs().max() < 1.7 * error
    for numbers in (uniform - 0.5, normal):
        for apart in (1, 2, 3, 4, 500):
            products = numbers[:-apart] * numbers[apart:]
            assert abs(products.mean()) < 4.5 * error * numbers.var()
    # other seeds and offsets give other numbers
    for other in (opgen.rand_like(x, 2, 2), opgen.rand_like(x, 1, 3)):
        products = (other.double().flatten() - 0.5) * (uniform - 0.5)
        assert abs(products.mean()) < 4.5 * error / 12


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.999, 1.0])
def test_dropout_keeps_a_share_and_the_mean(p):
    x = torch.full((300, 400), 2.0)
    y = opgen.dropout(x, p, 3, 4)
    kept = y != 0
    assert abs(float(kept.double().mean()) - (1 - p)) <= 4 * math.sqrt(p * (1 - p) / x.numel())
    assert torch.equal(kept, opgen.bernoulli_like(x, 1 - p, 3, 4))
    torch.testing.assert_close(y[kept], torch.full_like(y[kept], 2 / (1 - p) if p < 1 else 0))


def test_the_gradient_of_dropout_has_the_same_mask():
    x = torch.linspace(-2, 2, 1000).requires_grad_()
    y = opgen.dropout(x, 0.25, 9, 0)
    (grad,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(grad, (y != 0).float() / 0.75)
    (none,) = torch.autograd.grad(opgen.dropout(x, 1.0, 9, 0).sum(), x)
    assert torch.equal(none, torch.zeros(1000))


def test_bernoulli_follows_its_probabilities():
    p = torch.tensor([0.0, 0.25, 0.9, 1.0]).repeat_interleave(40_000).half()
    share = opgen.bernoulli(p, 5, 6).double().view(4, -1).mean(-1)
    assert opgen.bernoulli(p, 5, 6).dtype is torch.float16
    assert share[0] == 0 and share[3] == 1
    assert (share - torch.tensor([0, 0.25, 0.9, 1])).abs().max() < 0.01


SPEC = """\
op: Demo
inputs:
  x: [float32]
outputs:
  y: like x
attrs:
  seed: {{type: int}}
  p: {{type: float, default: 0.5}}
compute: {compute}
"""


def test_compute_may_call_every_function():
    assert {n for n in dir(random_numbers.RandomNumbers) if not n.startswith("_")} == (
        OPGEN_FUNCTIONS | {"whole", "largest"}
    )
    assert SEEDED_CALLS.keys() <= RANDOM_NAMES
    spec = parse_spec(SPEC.format(compute="opgen.dropout(x, p, seed, 0)")).spec
    x = torch.ones(5, 7)
    outputs = compile_compute(spec)({"x": x}, {"seed": 3})
    assert torch.equal(outputs["y"], opgen.dropout(x, 0.5, 3, 0))


@pytest.mark.parametrize(
    ("compute", "fix"),
    [
        ("F.dropout(x, p)", "opgen.dropout(x, p, seed, offset)"),
        ("x.bernoulli()", "opgen.bernoulli(p, seed, offset)"),
        ("torch.rand_like(x)", "opgen.rand_like(x, seed, offset)"),
        ("opgen.rnd_like(x, seed, 0)", "did you mean 'rand_like'?"),
        ("opgen.poisson(x)", "pass the mask or the noise as an input"),
        ("opgen", ""),
        ("opgen.rand_like", "opgen.rand_like(...)"),
        ("opgen.__class__(x)", ""),
    ],
)
def test_what_is_refused_says_what_to_write(compute, fix):
    (found,) = parse_spec(SPEC.format(compute=compute)).diagnostics
    assert found.code in ("OPG042", "OPG043")
    assert fix in found.fix


def test_wrong_arguments_are_an_error_of_compute():
    spec = parse_spec(SPEC.format(compute="opgen.dropout(x)")).spec
    with pytest.raises(OpgenError) as caught:
        compile_compute(spec)({"x": torch.ones(3)}, {"seed": 3})
    assert [d.code for d in caught.value.diagnostics] == ["OPG071"]
