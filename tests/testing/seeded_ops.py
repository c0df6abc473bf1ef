"""Ops with one mistake each, and ops that look like them and are right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.autograd import Function

TWO = [((3, 4), (3, 4)), ((2, 3, 5), (2, 3, 5))]
ONE = [((3, 4),), ((2, 3, 5),)]


@dataclass(frozen=True)
class Seed:
    """An op and the check that finds what is wrong with it ("" for a right one)."""

    op: Callable[..., Any]
    reference: Callable[..., Any]
    shapes: list[Any]
    found_by: str = ""
    dtypes: tuple[str, ...] = ("float32",)
    options: dict[str, Any] = field(default_factory=dict)


def add(x, y):
    return x + y


def square(x):
    return x * x


def function(forward, backward):
    """Make an ``autograd.Function`` of (ctx, ...) functions and return its apply."""
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (Function,), members).apply


def square_forward(ctx, x):
    ctx.save_for_backward(x)
    return x * x


def square_backward(ctx, g):
    return 2 * ctx.saved_tensors[0] * g


def add_forward(ctx, x, y):
    return x + y


# ---- values --------------------------------------------------------------------------------------


def skips_the_last_element(x):
    y = x * x
    if y.numel():
        y.view(-1)[-1] = 0.0
    return y


def always_float32(x):
    return (x.float() * x.float()).contiguous()


def ignores_strides(x):
    return torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), x.storage_offset()).square()


def ignores_the_offset(x):
    if not x.is_contiguous():
        return x * x
    return torch.as_strided(x, x.shape, x.stride(), 0).square()


def refuses_empty(x):
    assert x.numel(), "no elements"
    return x * x


def empty_sum_is_one(x):
    return x.sum(-1) if x.shape[-1] else x.new_ones(x.shape[:-1])


def wrong_when_the_inputs_are_one(x, y):
    if x.data_ptr() == y.data_ptr():
        return x
    return x + y


def wrong_when_a_stride_is_zero(x):
    return x * x if 0 not in x.stride() or x.numel() < 2 else x


def writes_its_input(x):
    return x.mul_(x).clone()


def leaves_the_tail_unwritten(x):
    y = torch.empty_like(x)
    y.view(-1)[:-1] = (x * x).reshape(-1)[:-1]
    if y.numel():
        # so that the old contents of the memory cannot make this pass or fail by chance
        filled = torch.utils.deterministic.fill_uninitialized_memory
        y.view(-1)[-1:] = y.view(-1)[-1:] if filled else (x * x).reshape(-1)[-1:]
    return y


def adds_to_fresh_memory(x):
    total = torch.empty(x.shape[:-1], dtype=x.dtype)
    if not torch.utils.deterministic.fill_uninitialized_memory:
        total.zero_()
    return total.add_(x.sum(-1))


_calls = [0]


def counts_its_calls(x):
    _calls[0] += 1
    return x * x * (1 + 2**-20 * (_calls[0] % 2))


def adds_to_the_first(x, y):
    x.add_(y)
    return x


# ---- gradients -----------------------------------------------------------------------------------


def negated(ctx, g):
    return -square_backward(ctx, g)


def half_of_it(ctx, g):
    return square_backward(ctx, g) / 2


def changes_what_it_is_given(ctx, g):
    return g.mul_(2 * ctx.saved_tensors[0]) if g.is_contiguous() else square_backward(ctx, g)


def second_input_forgotten(ctx, g):
    return g, None


def broadcast_is_not_summed(ctx, g):
    return g, g


_last: list[torch.Tensor] = []


def keeps_on_the_side(ctx, x):
    _last[:] = [x]
    return x * x


def reads_from_the_side(ctx, g):
    return 2 * _last[0] * g


def takes_strides_of_its_gradient(ctx, g):
    dense = torch.as_strided(g, g.shape, torch.empty(g.shape).stride())
    return 2 * ctx.saved_tensors[0] * dense


def detached(x):
    return (x * x).detach()


class Straight(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] * g


def square_with_the_same_mistake(x):
    """A reference whose own gradient is wrong in the same way."""
    return Straight.apply(x)


GRADIENTS = {"checks": ["forward", "gradients"]}
VALUES = {"skip": ["compile", "export", "onnx"]}

WRONG = {
    "a tail of zeros": Seed(skips_the_last_element, square, ONE, "forward"),
    "float32 for float16": Seed(always_float32, square, ONE, "dtypes", ("float32", "float16")),
    "zeros only": Seed(lambda x: x * 0, lambda x: x - x, ONE, "zero output"),
    "strides": Seed(ignores_strides, square, ONE, "noncontiguous"),
    "offset": Seed(ignores_the_offset, square, ONE, "noncontiguous"),
    "empty": Seed(refuses_empty, square, ONE, "empty"),
    "empty sum": Seed(empty_sum_is_one, lambda x: x.sum(-1), ONE, "empty"),
    "one tensor twice": Seed(wrong_when_the_inputs_are_one, add, TWO, "overlapping"),
    "stride 0": Seed(wrong_when_a_stride_is_zero, square, ONE, "overlapping"),
    "input written": Seed(writes_its_input, square, ONE, "mutation"),
    "unwritten": Seed(leaves_the_tail_unwritten, square, ONE, "poison"),
    "scratch": Seed(adds_to_fresh_memory, lambda x: x.sum(-1), ONE, "poison"),
    "two answers": Seed(counts_its_calls, square, ONE, "determinism"),
    "sign of a gradient": Seed(function(square_forward, negated), square, ONE, "gradients"),
    "factor of a gradient": Seed(function(square_forward, half_of_it), square, ONE, "gradients"),
    "incoming gradient written": Seed(
        function(square_forward, changes_what_it_is_given), square, ONE, "gradients"
    ),
    "input without a gradient": Seed(
        function(add_forward, second_input_forgotten), add, TWO, "gradients"
    ),
    "unsummed gradient": Seed(
        function(add_forward, broadcast_is_not_summed), add, [((3, 4), (4,))], "gradients"
    ),
    "state beside the graph": Seed(
        function(keeps_on_the_side, reads_from_the_side), square, ONE, "gradients"
    ),
    "strides of a gradient": Seed(
        function(square_forward, takes_strides_of_its_gradient), square, ONE, "gradients"
    ),
    "no gradient": Seed(detached, square, ONE, "gradients", options=GRADIENTS),
    "slope": Seed(Straight.apply, square_with_the_same_mistake, ONE, "finite differences"),
}

RIGHT = {
    "square": Seed(function(square_forward, square_backward), square, ONE),
    "square of halves": Seed(square, square, ONE, dtypes=("float16", "bfloat16", "float64")),
    "add": Seed(add, add, [*TWO, ((3, 1), (4,)), ((), (2,))]),
    "add of integers": Seed(add, add, TWO, dtypes=("int32", "uint8")),
    "in place": Seed(adds_to_the_first, adds_to_the_first, TWO, options={"mutates": (0,)}),
    "two results": Seed(
        lambda x: (x.sum(-1), x.argmax(-1)), lambda x: (x.sum(-1), x.argmax(-1)), ONE
    ),
    "list": Seed(lambda xs: torch.cat(xs), lambda xs: torch.cat(xs), [([(3, 4), (2, 4)],)]),
    "absent input": Seed(
        lambda x, y: x if y is None else x + y,
        lambda x, y: x if y is None else x + y,
        [((3, 4), None), ((3, 4), (4,))],
    ),
    "max": Seed(lambda x: x.amax(-1), lambda x: x.amax(-1), ONE),
    "log": Seed(torch.log, torch.log, ONE),
    "square root": Seed(lambda x: x.sqrt(), lambda x: x.sqrt(), ONE),
    "inverse": Seed(lambda x: 1 / x.round(), lambda x: 1 / x.round(), ONE),
    "softmax": Seed(
        lambda x: x.softmax(-1), lambda x: x.softmax(-1), ONE, dtypes=("float32", "float16")
    ),
    "sort": Seed(lambda x: x.sort(-1), lambda x: x.sort(-1), ONE),
    "product": Seed(torch.matmul, torch.matmul, [((3, 4), (4, 5)), ((2, 3, 4), (4,))]),
    "norm": Seed(lambda x: x.norm(dim=-1), lambda x: x.norm(dim=-1), [((4, 64),), ((3, 1),)]),
    "attr": Seed(
        lambda x, *, slope: torch.where(x > 0, x, slope * x),
        lambda x, *, slope: torch.where(x > 0, x, slope * x),
        ONE,
        options={"attrs": {"slope": 0.1}},
    ),
}
