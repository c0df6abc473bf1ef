"""Gradients of an op from its PyTorch reference.

The backward of an op with ``backward: reference`` is the vector-Jacobian product of its reference,
taken by PyTorch when backward runs: right for every rank, broadcast and attr, differentiable
again, and traceable by torch.compile. It recomputes the reference; nothing but inputs is saved.
Of inputs whose elements no gradient depends on (those of a sum), only the shape is saved.
Where the derivatives are formulas of outputs (of a softmax), forward saves these in their place.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor

# Shape, dtype and device of a tensor that is not kept.
_Description = tuple[Any, torch.dtype, torch.device]

IN_PLACE = "{} works in place, which an ONNX graph cannot express"


def pack(
    ctx: Any, inputs: Sequence[Any], unread: Sequence[int] = (), *, replaced: bool = False
) -> None:
    """Save tensors, None and lists of tensors (the inputs of an op, in order) for backward.

    Args:
        unread: inputs whose elements no gradient depends on, by position: only shape, dtype and
            device are saved.
        replaced: whether saved outputs, the last of the tensors, take their place. What is
            differentiated again reaches the inputs through tensors without memory of their own.
    """
    flat: list[Tensor | None] = []
    layout: list[int | None] = []  # None: a single value; n: a list of n
    described: dict[int, _Description] = {}
    for position, value in enumerate(inputs):
        values = list(value) if isinstance(value, (list, tuple)) else [value]
        layout.append(len(values) if isinstance(value, (list, tuple)) else None)
        if position in unread:
            for place, tensor in enumerate(values, len(flat)):
                if tensor is not None:
                    described[place] = _description(tensor)
            values = [_stand_for(t, inputs[-1]) if replaced else None for t in values]
        flat += values
    ctx.save_for_backward(*flat)
    ctx.layout, ctx.described = layout, described


def unpack(ctx: Any) -> list[Any]:
    """Return what :func:`pack` saved; tensors of any values where it saved a shape only.

    Where PyTorch differentiates the reference these are zeros, which every operator supports.
    """
    again = torch.is_grad_enabled()
    flat = list(ctx.saved_tensors)
    for place, description in ctx.described.items():
        if again and flat[place] is not None:
            flat[place] = _Zeros.apply(flat[place])
        else:
            flat[place] = _stand_in(description, torch.zeros if again else torch.empty)
    return _nest(flat, ctx.layout)


class _Shadow(torch.autograd.Function):
    """A tensor of the shape of an input, whose gradient is that of the input; no elements of it."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, memory: Tensor) -> Tensor:
        if memory.dtype != tensor.dtype or not memory.numel():
            memory = tensor.new_zeros(())
        return memory.as_strided((), ()).expand(tensor.shape)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return grad, None


class _Zeros(torch.autograd.Function):
    """Zeros, whose gradient is that of the tensor in the place of which they are."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        return torch.zeros(tensor.shape, dtype=tensor.dtype, device=tensor.device)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # type: ignore[override]
        return grad


def _stand_for(tensor: Tensor | None, memory: Tensor) -> Tensor | None:
    if tensor is None or not tensor.requires_grad:
        return None
    with torch.enable_grad():
        shadow: Tensor = _Shadow.apply(tensor, memory.data)  # not a view of it
    return shadow


def _description(tensor: Tensor) -> _Description:
    return tensor.shape, tensor.dtype, tensor.device


def _stand_in(description: _Description, make: Callable[..., Tensor] = torch.empty) -> Tensor:
    shape, dtype, device = description
    return make(shape, dtype=dtype, device=device)


def _nest(flat: list[Any], layout: Sequence[int | None]) -> list[Any]:
    values: list[Any] = []
    place = 0
    for count in layout:
        if count is None:
            values.append(flat[place])
            place += 1
        else:
            values.append(flat[place : place + count])
            place += count
    return values


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _spread(needed: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """Return ``needed`` per tensor: one answer for a list holds for each tensor of it."""
    spread: list[Any] = []
    for one, value in zip(needed, inputs, strict=True):
        count = len(value) if isinstance(value, (list, tuple)) else 1
        spread += one if isinstance(one, (list, tuple)) else [one] * count
    return spread


def _differentiable(tensor: Any) -> bool:
    return isinstance(tensor, Tensor) and (tensor.is_floating_point() or tensor.is_complex())


def needs(ctx: Any, count: int) -> list[Any]:
    """Return, per input of an op, whether a gradient is asked for; a list for a tensor list.

    The dispatcher drops arguments that equal their default: nothing is asked for these.
    """
    given = list(ctx.needs_input_grad)[:count]
    return given + [False] * (count - len(given))


def asked(needed: Sequence[Any], subsets: Mapping[str, Sequence[int]]) -> str:
    """Return the smallest subset of gradients, by name, that has all that are needed.

    Args:
        needed: per input, whether its gradient is (``needs``).
        subsets: per name, the inputs whose gradients it has, by position; the first has all.
    """
    every = next(iter(subsets.values()))
    wanted = {i for i in every if needed[i]}
    fitting = [name for name, places in subsets.items() if wanted <= set(places)]
    return min(fitting, key=lambda name: len(subsets[name]))


def served(grads: Sequence[Any], values: Mapping[str, Sequence[int]]) -> str | None:
    """Return the value of the attr that has the outputs from which gradients come.

    Args:
        grads: gradient per output (a list per list); None for an output that nobody uses.
        values: per value, the outputs that have one, by position.

    Returns:
        An empty text where all have one, None where no value has just these.
    """
    if all(leaf is not None for leaf in _leaves(list(grads))):
        return ""
    given = {i for i, grad in enumerate(grads) if grad is not None}
    return next((value for value, places in values.items() if set(places) == given), None)


def described(outputs: Any) -> list[_Description | None]:
    """Return shape, dtype and device of each output of an op: what :func:`unread` needs."""
    tensors = outputs if isinstance(outputs, tuple) else (outputs,)
    return [_description(t) if isinstance(t, Tensor) else None for t in tensors]


def unread(grad: Tensor | None, output: _Description) -> Tensor:
    """Return a gradient; for an output without one a tensor that the kernel does not read."""
    return _stand_in(output) if grad is None else grad


def vjp(
    reference: Callable[..., Any],
    inputs: Sequence[Any],
    grads: Sequence[Any],
    needed: Sequence[Any] | None = None,
    saved: Sequence[Tensor] = (),
) -> tuple[Any, ...]:
    """Return the gradients of the inputs, nested like them; None where there is none.

    Args:
        reference: the op as a PyTorch function of its inputs and of ``saved`` (attrs bound).
        inputs: tensors, None, or lists of tensors.
        grads: gradient per output (nested like the outputs); None for one that nobody uses.
        needed: per input, whether its gradient is asked for (``needs``); None: all are.
        saved: outputs that forward has saved, which derivatives take instead of computing them.
    """
    layout = [len(v) if isinstance(v, (list, tuple)) else None for v in inputs]
    flat = _leaves(list(inputs))
    wanted = [True] * len(flat) if needed is None else _spread(needed, inputs)
    places = [i for i, leaf in enumerate(flat) if wanted[i] and _differentiable(leaf)]
    given = _leaves(list(grads))
    chosen: list[int] = []

    def run(*leaves: Tensor) -> tuple[Tensor, ...]:
        values = list(flat)
        for place, leaf in zip(places, leaves, strict=True):
            values[place] = leaf
        outputs = _leaves(reference(*_nest(values, layout), *saved))
        # Zeros for what nobody uses would still meet infinite derivatives on their way back.
        chosen[:] = [
            i
            for i, output in enumerate(outputs)
            if _differentiable(output) and given[i] is not None
        ]
        return tuple(outputs[i] for i in chosen)

    result: list[Any] = [None] * len(flat)
    if places:
        pulled = _pull(run, chosen, [flat[i] for i in places], given, bool(saved))
        for place, grad in zip(places, pulled, strict=True):
            result[place] = grad
    return tuple(_nest(result, layout))


def _pull(
    run: Callable[..., tuple[Tensor, ...]],
    chosen: list[int],
    leaves: list[Tensor],
    given: list[Any],
    saved: bool = False,
) -> Sequence[Tensor | None]:
    """Return the gradient per leaf; ``run`` sets ``chosen``, the places of its outputs.

    ``saved``: derivatives take results that forward has saved.
    """

    def cotangents(outputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return tuple(given[i].to(output.dtype) for i, output in zip(chosen, outputs, strict=True))

    if torch._C._functorch.peek_interpreter_stack() is not None:  # inside torch.func
        outputs, pull = torch.func.vjp(run, *leaves)
        return pull(cotangents(outputs)) if outputs else [None] * len(leaves)
    # The same by plain autograd: torch.func.vjp imports torch._dynamo, which takes seconds.
    again = torch.is_grad_enabled()
    results = _results_as_saved() if saved else contextlib.nullcontext()
    with _with_autograd(), torch.enable_grad(), results:
        own = [x.view_as(x) if again and x.requires_grad else _leaf(x) for x in leaves]
        outputs = [y for y in run(*own)]
        pairs = [
            (y, c) for y, c in zip(outputs, cotangents(outputs), strict=True) if y.requires_grad
        ]
        if not pairs:
            return [torch.zeros_like(x) for x in leaves]
        wanted, weights = zip(*pairs, strict=True)
        return torch.autograd.grad(
            wanted, own, weights, create_graph=again, allow_unused=True, materialize_grads=True
        )


_Pairs = list[tuple[Tensor, Tensor]]
# Results computed again, each with the saved value, of the reference that is being differentiated.
_results: ContextVar[_Pairs | None] = ContextVar("results", default=None)


def saved(computed: Tensor, value: Tensor) -> Tensor:
    """Return the value that forward has saved; its gradient goes on to what is computed again."""
    pairs = _results.get()
    if pairs is None:
        return computed  # all inputs are there
    pairs.append((computed, value.detach()))
    result: Tensor = _Saved.apply(computed, value)
    return result


class _Saved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, computed: Tensor, value: Tensor) -> Tensor:
        return value.detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return grad, None


@contextlib.contextmanager
def _results_as_saved() -> Iterator[None]:
    """Give derivatives that are formulas of a result what ``saved`` has in its place."""
    pairs: _Pairs = []

    def unpack(tensor: Tensor) -> Tensor:
        for computed, value in pairs:
            if _is_same(tensor, computed):
                return value
        return tensor

    token = _results.set(pairs)
    try:
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
            yield
    finally:
        _results.reset(token)


def _is_same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are the same elements of the same memory."""
    return (
        one.untyped_storage()._cdata == other.untyped_storage()._cdata
        and one.shape == other.shape
        and one.stride() == other.stride()
        and one.storage_offset() == other.storage_offset()
    )


def broadcast(inputs: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Return views of one shape of tensors that broadcast with each other; None stays."""
    views = iter(torch.broadcast_tensors(*(t for t in inputs if t is not None)))
    return [None if t is None else next(views) for t in inputs]


def kept(grad: Tensor, tensor: Tensor, dim: int | Sequence[int]) -> Tensor:
    """Return the gradient of a reduction of ``tensor`` with its axes ``dim``, of size 1."""
    dims = [dim] if isinstance(dim, int) else list(dim)
    axes = {d % max(1, tensor.dim()) for d in dims} or set(range(tensor.dim()))
    return grad.reshape([1 if i in axes else size for i, size in enumerate(tensor.shape)])


def summed(grad: Tensor, tensor: Tensor) -> Tensor:
    """Return the gradient of what was broadcast: summed to the shape of ``tensor``."""
    return grad if grad.shape == tensor.shape else grad.sum_to_size(tensor.shape)


def _with_autograd() -> Any:
    """Return a context in which autograd records, also inside the kernel of an op.

    The dispatcher leaves autograd out below the op; the reference of a gradient needs it there.
    """
    key = torch._C.DispatchKey.AutogradFunctionality
    if not torch._C._dispatch_tls_is_dispatch_key_excluded(key):
        return contextlib.nullcontext()
    left_out = torch._C._dispatch_tls_local_exclude_set()
    included = torch._C._dispatch_tls_local_include_set()
    return torch._C._ForceDispatchKeyGuard(included, left_out - torch._C.DispatchKeySet(key))


def _leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().requires_grad_()


def not_differentiable(op: str) -> Callable[..., Any]:
    """Return a backward that says that ``op`` has none."""

    def backward(ctx: Any, *grads: Any) -> None:
        raise RuntimeError(
            f"{op} is not differentiable: its spec says 'backward: none'. "
            "Detach its inputs or call it under torch.no_grad()."
        )

    return backward


def register_inplace(library: torch.library.Library, op: str) -> None:
    """Make torch see that an in-place op writes its arguments.

    Args:
        library: a fragment of the op's namespace.
        op: name without namespace; its schema marks the written arguments.
    """
    overload = getattr(getattr(torch.ops, library.ns), op).default
    schema = overload._schema
    written = [
        i
        for i, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    below_autograd = torch._C._after_autograd_keyset
    below_views = torch._C._after_ADInplaceOrView_keyset

    def autograd(keyset: Any, *args: Any) -> Any:
        # Said here: the TorchScript exporter drops the call, the other names something else.
        if "torch.onnx" in sys.modules and torch.onnx.is_in_onnx_export():
            raise RuntimeError(IN_PLACE.format(op))
        if torch.is_grad_enabled():
            for i, value in enumerate(args):
                for leaf in _leaves(value):
                    if isinstance(leaf, Tensor) and leaf.requires_grad:
                        raise RuntimeError(
                            f"{op} works in place and is not differentiable, but "
                            f"'{schema.arguments[i].name}' requires grad; "
                            "call it under torch.no_grad()"
                        )
        with torch._C._AutoDispatchBelowAutograd():
            return overload.redispatch(keyset & below_autograd, *args)

    def bump_versions(keyset: Any, *args: Any) -> Any:
        for i in written:
            if i < len(args):
                for leaf in _leaves(args[i]):
                    if isinstance(leaf, Tensor):
                        torch.autograd.graph.increment_version(leaf)
        return overload.redispatch(keyset & below_views, *args)

    library.impl(op, autograd, "Autograd", with_keyset=True)
    library.impl(op, bump_versions, "ADInplaceOrView", with_keyset=True)
