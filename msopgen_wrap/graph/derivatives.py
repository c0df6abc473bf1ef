"""Derivatives of the calls that stand in a trace in place of PyTorch's.

PyTorch's own convolutions and pools take plain numbers, or ask symbols for their values, where they
are differentiated. A call of ours has a derivative of ours, which is made of such calls again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch

# What torch.func itself makes of a function at one level of a transform: the dispatcher calls it
# with the tensors of that level.
_SingleLevel: Any = torch.autograd.function._SingleLevelFunction  # type: ignore[attr-defined]


def differentiate(library: Any, overload: Any, backward: Callable[..., Any]) -> None:
    """Register the derivative of a call.

    Args:
        library: in which the call is defined.
        overload: the call; of several results the first one is differentiated.
        backward: ``f(gradient, arguments, asked)`` gives a gradient for each argument, None where
            there is none; ``asked`` says which are wanted.
    """

    class Call(_SingleLevel):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.save_for_backward(*(a for a in args if isinstance(a, torch.Tensor)))
            ctx.arguments = [None if isinstance(a, torch.Tensor) else a for a in args]
            ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
            with torch._C._AutoDispatchBelowAutograd():
                result = overload(*args)
            if isinstance(result, (tuple, list)):
                ctx.mark_non_differentiable(*result[1:])
                return tuple(result)
            return result

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            arguments = list(ctx.arguments)
            for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
                arguments[place] = tensor
            return backward(gradients[0], arguments, ctx.needs_input_grad)

    def call(*args: Any) -> Any:
        # Inside of torch.func calls have transforms around them, which this one is for.
        with torch._functorch.autograd_function.enable_single_level_autograd_function():
            return Call.apply(*args)

    library.impl(overload._schema.name.partition("::")[2], call, "Autograd")
