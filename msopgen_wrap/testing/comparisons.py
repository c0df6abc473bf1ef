"""Compare a tensor with what it should be, and say where and how it differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msopgen_wrap.run.accuracy import Comparison
from msopgen_wrap.run.accuracy_rules import THRESHOLDS
from msopgen_wrap.run.worst_elements import worst_index
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from torch import Tensor

    from msopgen_wrap.spec.model import Tolerance

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Verdict:
    """Outcome of one comparison.

    Attributes:
        reason: why it failed, "" when it passed; ``note``: by what allowance it passed.
        index, got, expected: of the worst element.
        differing, total: elements beyond the bound of a single element, and all.
        refuses_zeros: whether zeros in its place would fail; None for an empty tensor.
    """

    reason: str = ""
    note: str = ""
    index: tuple[int, ...] | None = None
    got: Any = None
    expected: Any = None
    differing: int = 0
    total: int = 0
    refuses_zeros: bool | None = None


def compare(
    actual: Tensor,
    golden: Tensor,
    native: Tensor | None = None,
    quantised: bool = False,
    tolerance: Tolerance | None = None,
) -> Verdict:
    """Compare by CANN's accuracy rule for the dtype of ``actual``; float64 by a rule like it."""
    actual = actual.detach().cpu()
    if tuple(actual.shape) != tuple(golden.shape):
        shapes = f"shape {tuple(actual.shape)}, expected {tuple(golden.shape)}"
        return Verdict(shapes, total=actual.numel())
    kind = str(actual.dtype).removeprefix("torch.")
    if actual.dtype.is_complex or (actual.dtype.is_floating_point and kind not in THRESHOLDS):
        return Verdict(f"there is no accuracy rule for {kind}", total=actual.numel())
    comparison = Comparison(golden, actual.dtype, native, tolerance, quantised)
    accuracy = comparison.accuracy(actual)
    zeros = comparison.refuses_zeros(actual) if actual.numel() else None
    if accuracy.passed:
        return Verdict(note=accuracy.note, total=actual.numel(), refuses_zeros=zeros)
    index, differing = worst_index(actual, golden)
    reason = accuracy.reason.replace("`tolerance: {OUTPUT: mixed}`", "`tolerance='mixed'`")
    return Verdict(
        reason,
        index=index,
        got=actual[index].item(),
        expected=golden.to(actual.dtype)[index].item(),
        differing=differing,
        total=actual.numel(),
        refuses_zeros=zeros,
    )


#: Why a gradient passes that misses the rule.
EAGER_NOTE = "off by no more than twice what eager autograd in the same dtype is"


def as_good_as_eager(actual: Tensor, golden: Tensor, native: Tensor | None) -> bool:
    """Whether errors are at most twice those of eager PyTorch in the same dtype."""
    if native is None or actual.shape != golden.shape or native.dtype is not actual.dtype:
        return False
    own = (actual.detach().cpu().double() - golden).abs()
    eager = (native.double() - golden).abs()
    finite = bool(torch.isfinite(own).all()) and bool(torch.isfinite(eager).all())
    if not finite or not own.numel():
        return False
    return bool(own.max() <= 2 * eager.max()) and bool(own.mean() <= 2 * eager.mean())


def same_bits(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors hold the same bits; NaN equals itself."""
    return one.shape == other.shape and one.dtype == other.dtype and not bits_differ(one, other)


def bits_differ(one: Tensor, other: Tensor) -> int:
    """Return how many elements of two tensors of one shape and dtype have other bits."""
    return int((_bits(one) != _bits(other)).sum())


def first_difference(one: Tensor, other: Tensor) -> Verdict:
    """Describe two tensors of one shape and dtype that should have the same bits."""
    where = (_bits(one) != _bits(other)).nonzero()[0]
    index = tuple(int(i) for i in where)
    return Verdict(
        index=index,
        got=one[index].item(),
        expected=other[index].item(),
        differing=bits_differ(one, other),
        total=one.numel(),
    )


def _bits(tensor: Tensor) -> Tensor:
    plain = tensor.detach().cpu().contiguous()
    return plain.view(_INTEGERS[plain.element_size()]) if plain.numel() else plain


def inputs_at(
    names: Sequence[str], args: Sequence[Any], index: tuple[int, ...] | None, shape: Sequence[int]
) -> tuple[str, ...]:
    """Return what the arguments hold at an index of a tensor of ``shape``.

    An argument that broadcasts to the shape shows its value; of others the shape is told.
    """
    found = []
    for name, value in zip(names, args, strict=False):
        if not isinstance(value, torch.Tensor):
            shown = "a list" if isinstance(value, (list, tuple)) else repr(value)
            found.append(f"{name} = {shown}")
            continue
        value = value.detach().cpu()
        place = None if index is None else _own_index(tuple(value.shape), index, tuple(shape))
        if place is None:
            found.append(f"{name} of shape {tuple(value.shape)}")
        else:
            where = f"[{', '.join(map(str, place))}]" if place else ""
            found.append(f"{name}{where} = {value[place].item()!r}")
    return tuple(found)


def _own_index(
    own: tuple[int, ...], index: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the index in a tensor that broadcasts to ``shape``; None where it does not."""
    if len(own) > len(shape):
        return None
    tail = shape[len(shape) - len(own) :]
    if any(a not in (1, b) for a, b in zip(own, tail, strict=True)):
        return None
    last = index[len(index) - len(own) :]
    return tuple(0 if a == 1 else i for a, i in zip(own, last, strict=True))
