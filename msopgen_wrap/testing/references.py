"""What an op should give: its reference in float64, and in the case's own dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msopgen_wrap.run.golden import KeepDouble
from msopgen_wrap.testing.op_under_test import results
from msopgen_wrap.testing.samples import map_tensors
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from torch import Tensor


#: Position of an argument; with the position in it where it is a list.
Place = tuple[int, ...]


class ReferenceRefused(Exception):
    """The reference itself does not take these arguments: there is nothing to compare with."""


@dataclass(frozen=True)
class Expected:
    """Values to compare with, one per tensor.

    Attributes:
        golden: in float64; integers and bool in their own dtype.
        native: in the case's dtypes, None where PyTorch's CPU kernels lack them.
        quantised: whether an integer was rounded from a float that the reference calculated.
    """

    golden: list[Tensor]
    native: list[Tensor | None]
    quantised: list[bool]


def wide(value: Any) -> Any:
    """Return a copy on the CPU with floats in float64; anything but tensors as it is."""
    return map_tensors(_wide, value)


def _wide(tensor: Tensor) -> Tensor:
    dtype = torch.float64 if tensor.dtype.is_floating_point else tensor.dtype
    return tensor.detach().to("cpu", dtype, copy=True)


def _in_double(args: Sequence[Any]) -> bool:
    """Whether an argument is a tensor of float64."""
    tensors = (v for v in torch.utils._pytree.tree_leaves(list(args)) if torch.is_tensor(v))
    return any(tensor.dtype is torch.float64 for tensor in tensors)


def _same(value: Any) -> Any:
    return map_tensors(lambda t: t.detach().to("cpu", copy=True), value)


def forward_reference(
    reference: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    mutates: frozenset[int],
) -> Expected:
    """Run the reference on copies of the arguments.

    Raises:
        ReferenceRefused: it raises in float64.
    """
    wide_args = [wide(a) for a in args]
    try:
        with torch.no_grad(), KeepDouble(epsilon=not _in_double(args)) as origins:
            golden = results(reference(*wide_args, **kwargs), wide_args, mutates)
    except Exception as error:  # the user's code
        raise ReferenceRefused(first_line(error)) from error
    native = _native(reference, args, kwargs, mutates)
    quantised = [not g.dtype.is_floating_point and origins.quantised(g, g.dtype) for g in golden]
    golden = [g.double() if g.dtype.is_floating_point else g for g in golden]
    if native is None or len(native) != len(golden):
        native = []
    return Expected(golden, [*native, *[None] * (len(golden) - len(native))], quantised)


def _native(
    reference: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    mutates: frozenset[int],
) -> list[Tensor] | None:
    own_args = [_same(a) for a in args]
    try:
        with torch.no_grad():
            return results(reference(*own_args, **kwargs), own_args, mutates)
    except Exception:
        return None


def gradient_reference(
    reference: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    wanted: Sequence[Place],
    weights: Sequence[Tensor | None],
) -> Expected | None:
    """Differentiate the reference at the same points as the op.

    Args:
        wanted: places of the tensors to differentiate by.
        weights: per output the incoming gradient; None for an output that nobody uses.

    Returns:
        One gradient per wanted argument, zeros where an output does not depend on it; None where
        no output that is used depends on any of them.

    Raises:
        ReferenceRefused: it raises in float64.
    """
    try:
        with KeepDouble(epsilon=not _in_double(args)):
            golden = _gradients(reference, [wide(a) for a in args], kwargs, wanted, weights)
    except Exception as error:  # the user's code
        raise ReferenceRefused(first_line(error)) from error
    if golden is None:
        return None
    try:
        native = _gradients(reference, [_same(a) for a in args], kwargs, wanted, weights)
    except Exception:
        native = None  # PyTorch's CPU kernels lack a dtype
    found: list[Tensor | None] = [None] * len(golden) if native is None else [*native]
    return Expected(golden, found, [False] * len(golden))


def _gradients(
    reference: Callable[..., Any],
    args: list[Any],
    kwargs: dict[str, Any],
    wanted: Sequence[Place],
    weights: Sequence[Tensor | None],
) -> list[Tensor] | None:
    points = leaves(args, wanted)
    outputs = results(reference(*args, **kwargs), args, frozenset())
    used = [
        (o, w.detach().to(o.device, o.dtype))
        for o, w in zip(outputs, weights, strict=True)
        if w is not None and o.requires_grad
    ]
    if not used:
        return None
    found = torch.autograd.grad(
        [o for o, _ in used], points, [w for _, w in used], allow_unused=True
    )
    return [
        torch.zeros_like(point) if g is None else g for g, point in zip(found, points, strict=True)
    ]


def float_places(args: Sequence[Any], but: frozenset[int] = frozenset()) -> list[Place]:
    """Return the places of the floating tensors among the arguments, those in lists too."""
    found: list[Place] = []
    for index, value in enumerate(args):
        if index in but:
            continue
        if isinstance(value, torch.Tensor):
            found += [(index,)] if value.is_floating_point() else []
        elif isinstance(value, (list, tuple)):
            found += [
                (index, at)
                for at, one in enumerate(value)
                if isinstance(one, torch.Tensor) and one.is_floating_point()
            ]
    return found


def at_place(args: Sequence[Any], place: Place) -> Tensor:
    """Return the tensor at a place."""
    value = args[place[0]]
    tensor: Tensor = value[place[1]] if len(place) > 1 else value
    return tensor


def leaves(args: Sequence[Any], wanted: Sequence[Place]) -> list[Tensor]:
    """Mark the wanted tensors as leaves that need a gradient; return them."""
    return [at_place(args, place).requires_grad_(True) for place in wanted]


def first_line(error: BaseException) -> str:
    """Return the kind of an error and the first line of its text."""
    text = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {text[0]}"
