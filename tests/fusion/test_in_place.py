"""Writes in place: seen through where they are private, and made where nobody reads the operand."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from msopgen_wrap.fusion.in_place import put_back, without_writes
from msopgen_wrap.fusion.model_trace import traced_model
from msopgen_wrap.torch_import import torch
from tests.fusion.models import Lambda
from tests.fusion.reference_ops import fused, library

F = torch.nn.functional
RELU = library("elementwise/fused_add_relu")


def calls(function: Callable[..., Any], *inputs: Any) -> tuple[Any, int]:
    """Return the fused model and its op calls; results are compared in both modes of gradients."""
    model = Lambda(function)
    block = fused(model, tuple(x.clone() for x in inputs), *RELU)
    for mode in (torch.enable_grad, torch.no_grad):
        given = [[x.clone() for x in inputs] for _ in range(2)]
        with mode():
            wanted, found = model(*given[0]), block(*given[1])
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(given[1], given[0])  # what the model writes, this writes too
    return block, len(block.report.fused)


def added(x: Any) -> Any:
    y = x * 2
    y += 1 / x
    return y.relu_()


def written_input(x: Any) -> Any:
    x += 1
    return torch.relu(x + x.flip(0))


def read_again(x: Any) -> Any:
    y = x * 2
    view = y[1:]
    y.add_(1)
    return torch.relu(view + 1 / x[1:]) + y[1:]


def written_view(x: Any) -> Any:
    y = x * 2
    y[1:].add_(1)
    return torch.relu(y + 1 / x)


# the model, op calls, writes that are taken out
WRITES = [
    (added, 1, 2),
    (lambda x: F.relu(x * 2 + 1 / x, inplace=True), 1, 1),
    (lambda x: F.dropout(torch.relu(x + 1 / x), 0.5, False, True), 1, 1),
    (written_input, 0, 0),
    (read_again, 0, 0),
    (written_view, 0, 0),
    (lambda x: torch.relu((x * 2).reshape(-1).exp_() + 1 / x), 1, 1),
    # a plain product would be float32
    (lambda x: torch.relu((x * 2).half().mul_(x) + x.half()), 0, 0),
]


@pytest.mark.parametrize(("function", "count", "taken"), WRITES)
def test_a_private_write_hides_no_formula(
    function: Callable[..., Any], count: int, taken: int
) -> None:
    x = torch.rand(6) + 0.5
    assert calls(function, x)[1] == count
    graph = traced_model(Lambda(function), (x,), {}).graph
    before = [n.target for n in graph.nodes]
    writes = without_writes(graph)
    assert len(writes) == taken
    put_back(graph, writes)
    assert [n.target for n in graph.nodes] == before


def test_steps_write_in_place_only_without_gradients() -> None:
    def steps(x: Any, y: Any) -> Any:
        return (x @ y).sin().add(1).exp() + (x @ y).cos()

    x, y = torch.randn(8, 8), torch.randn(8, 8)
    block, _ = calls(steps, x, y)
    text = str(block.report)
    assert "after: temporaries take at most 768 B at once" in text
    assert "without gradients, 5 steps in place: temporaries take at most 512 B at once" in text
    kept = x.clone().requires_grad_()
    block(kept, y).sum().backward()
    (wanted,) = torch.autograd.grad(steps(kept, y).sum(), kept)
    torch.testing.assert_close(kept.grad, wanted)


def drawn(seed: int) -> Callable[[Any], Any]:
    """Return a program of views, pointwise steps and writes in place."""
    steps: list[Callable[[Any, Any], Any]] = [
        lambda a, b: a + b,
        lambda a, b: a * b,
        lambda a, b: torch.relu(a + b),
        lambda a, b: a.sigmoid(),
        lambda a, b: a.t(),
        lambda a, b: a.reshape(4, 4),
        lambda a, b: a.t().contiguous(),
        lambda a, b: a.flip(0),
        lambda a, b: a[:, :1].expand(4, 4),
        lambda a, b: a.clone().add_(b),
        lambda a, b: a.exp().mul_(b.sigmoid()),
        lambda a, b: (a - b).relu_(),
        lambda a, b: torch.cat((a[:2], b[2:])),
        lambda a, b: F.dropout(a, 0.5, False),
    ]
    draw = random.Random(seed)
    plan = [(draw.choice(steps), draw.random(), draw.random()) for _ in range(9)]

    def program(x: Any) -> Any:
        values = [x, x.tanh()]
        for step, one, other in plan:
            a, b = (values[int(share * len(values))] for share in (one, other))
            values.append(step(a, b))
        return values[-1], values[-3]

    return program


@pytest.mark.parametrize("seed", [pytest.param(s, marks=pytest.mark.slow) for s in range(25)])
def test_random_programs_give_the_same(seed: int) -> None:
    torch.manual_seed(seed)
    calls(drawn(seed), torch.randn(4, 4).clamp(-2, 2))
