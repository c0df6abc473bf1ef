"""Code that only computes, and would not end or would fill the memory."""

from __future__ import annotations

import resource
import time
from typing import Any

import pytest
import torch

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec import compute_limits
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec

HEAD = """\
op: Demo
inputs:
  x: [float32]
outputs:
  z: like x
attrs:
  n: 3
"""


def spec_of(code: str) -> OpSpec:
    lines = "".join(f"  {row}\n" for row in code.splitlines())
    result = parse_spec(HEAD + "compute: |\n" + lines)
    assert result.spec is not None, result.diagnostics
    return result.spec


HOSTILE = {
    "ints": "n2 = n * n\n" + "n2 = n2 * n2\n" * 60 + "z = x * n2",
    "add ints": "n2 = n + n\n" + "n2 = n2 + n2\n" * 200 + "z = x * n2",
    "lists": "a = [1]\n" + "a = a + a\n" * 60 + "z = x + len(a)",
    "tuples": "a = (1, 2)\n" + "a = a + a\n" * 60 + "z = x + len(a)",
    "shape": "a = x.shape\n" + "a = a + a\n" * 60 + "z = x + len(a)",
    "star": "a = [1]\n" + "a = [*a, *a]\n" * 60 + "z = x + len(a)",
    "nest": "a = [1]\n" + "a = [a, a]\n" * 60 + "z = x + len(a)",
    "cat": "a = x\n" + "a = torch.cat([a, a])\n" * 60 + "z = x + a.sum()",
    "outer": "a = x.reshape(-1)\n" + "a = (a[:, None] * a).reshape(-1)\n" * 10 + "z = x + a.sum()",
    "outer2": "a = x.reshape(-1)\n"
    + "a = torch.outer(a, a).reshape(-1)\n" * 10
    + "z = x + a.sum()",
    "repeat": "k = 4096\nz = x + x.repeat(k, k, k).sum()",
    "zeros": "k = 65536\nz = x + torch.zeros(k, k).sum()",
    "arange": "k = 65536 * 65536\nz = x + torch.arange(k).sum()",
    "steps": "z = x + torch.arange(0, 1, 1e-10).sum()",
    "pairs": "z = x + torch.combinations(torch.ones(4096), r=4).sum()",
    "diagonal": "z = x + torch.diag_embed(torch.ones(65536)).sum()",
    "blocks": "a = torch.ones(1, 65536)\nz = x + torch.block_diag(a, a.mT).sum()",
    "round": "k = 1000000000 * 1000\nz = x + round(5, -k)",
    "unbind": "k = 4096\na = torch.zeros(k, 4096).reshape(-1)\nz = x + len(a.unbind(0))",
    "iter": "k = 4096\na = torch.zeros(k, 4096).reshape(-1)\nz = x + len([*a])",
    "split": "k = 4096\na = torch.zeros(k, 4096).reshape(-1)\nz = x + len(a.split(1))",
    "mm": "k = 4096\na = torch.ones(k, 4096)\nz = x + (a @ a).sum()",
    "expand": "k = 65536\nz = x + x[0, 0].expand(k, k).contiguous().sum()",
    "sdpa": "k = 65536\nq = torch.ones(1, k, 4)\n"
    "z = x + F.scaled_dot_product_attention(q, q, q).sum()",
    "onehot": "k = 16777216\nz = x + F.one_hot(torch.arange(1000), k).sum()",
    "many": "k = 4096\na = torch.ones(k, 4096)\n" + "a = torch.exp(a)\n" * 100 + "z = x + a.sum()",
    "pow": "k = n ** 3\n" + "k = k ** 3\n" * 10 + "z = x * k",
    "int": "k = int(1e300)\nk = k * k\nz = x",
    "einsum": "k = 4096\na = torch.ones(k, 4096)\nz = x + torch.einsum('ij,kl->ijkl', a, a).sum()",
}


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Load what torch loads at the first call on tensors without data."""
    k = 1 << 12
    run(spec_of(f"k = {k}\nz = x + x[0, 0].expand(k, k).sum() * 0"))
    run(spec_of(f"k = {k}\na = torch.ones(k, 4)\nz = x + torch.cat([a, a]).sum()"))


def run(spec: OpSpec, **inputs: Any) -> Any:
    return compile_compute(spec)({"x": torch.ones(2, 3), **inputs}, {})["z"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_code_ends_soon(name: str) -> None:
    spec = spec_of(HOSTILE[name])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    with pytest.raises(OpgenError) as caught:
        run(spec)
    seconds = time.process_time() - started
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    problem = caught.value.diagnostics[0]
    assert problem.code == "OPG046" and problem.location.line and problem.fix
    assert seconds < 5, "the bound is 1 s on a quiet machine"
    assert more < 2**20, "KiB"


ORDINARY = [
    "k = n * n + 7\nz = x * k",
    "a = [1] + [2, 3]\nz = x.reshape(-1).reshape(2, 3) + len(a)",
    "z = torch.cat([*x.unbind(0), *x.unbind(0)]).reshape(2, 2, 3).sum(0)",
    "a, b = x[:, :1], x[:, 1:3]\nz = torch.cat([a, b], -1)",
    "z = x.clamp(-3.0e38, 2147483647)",
    "z = x * 1e30 + round(2.5, 1) - round(2.5)",
    "z = x + torch.eye(1024).sum()",
    "z = x + (torch.ones(512, 512) @ torch.ones(512, 512)).sum()",
    "z = x + F.one_hot(torch.arange(3), 5).sum()",
    "z = x[..., None].expand(2, 3, 4).sum(-1)",
    "z = x.masked_fill(x > 2147483647, -1e30)",
]


@pytest.mark.parametrize("code", ORDINARY)
def test_ordinary_code_is_not_bounded(code: str) -> None:
    assert run(spec_of(code)).shape == (2, 3)


def test_large_inputs_raise_the_bounds() -> None:
    """The products and broadcasts of the largest cases are not hostile."""
    x = torch.ones(1 << 14)
    with compute_limits.watch(torch, [x]):
        assert (x[:, None] * torch.ones(1 << 11)).numel() == 1 << 25
    with pytest.raises(compute_limits.LimitError), compute_limits.watch(torch, [x[:2]]):
        torch.ones(1 << 14)[:, None] * torch.ones(1 << 11)


def test_a_step_that_is_cheap_cannot_be_repeated_without_end() -> None:
    ones = "a = [" + "x, " * 1000 + "]\n"
    spec = spec_of(ones + "b = [t + 1 for t in a]\n" * 12 + "z = x")
    with pytest.raises(OpgenError, match="OPG046"):
        run(spec)


def test_loops_are_bounded() -> None:
    spec = spec_of("z = x\nfor i in range(3):\n  z = z + i\n")
    assert torch.equal(run(spec), torch.full_like(run(spec_of("z = x")), 3) + run(spec_of("z = x")))
    with pytest.raises(OpgenError, match="OPG046"):
        run(spec_of("z = x\nfor i in range(1000):\n  z = z + i\n"))


def test_a_number_of_steps_must_be_known() -> None:
    with pytest.raises(OpgenError, match="OPG202"):
        plan_op(spec_of("z = x\nfor i in range(n):\n  z = z * 2\n"))
    with pytest.raises(OpgenError, match="OPG203"):
        plan_op(spec_of("z = x\nfor i in range(x.shape[0]):\n  z = z * 2\n"))


TRACED = [
    "z = x * 2 ** 10",
    "z = x * 2.0 ** 3",
    "z = x * round(2.5)",
    "z = x * n ** 2",
    "z = x ** 2",
    "z = x\nfor i in range(2, 5):\n  z = z * i + x",
]


@pytest.mark.parametrize("code", TRACED)
def test_code_with_bounds_can_be_traced(code: str) -> None:
    """Tracing replaces some of the bounded operators by its own."""
    assert plan_op(spec_of(code)).family.name == "elementwise"
