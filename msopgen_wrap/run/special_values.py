"""Special functions at arguments for which PyTorch gives no result of use.

*Orthogonal polynomials of NaN.* PyTorch's loop over degrees ends before the first step where the
argument is NaN, so that the result of a degree of 2 or more is what memory held. Kernels give NaN,
and so does the reference.

*The trigamma function at its poles.* PyTorch divides by the square of ``sin(pi x)``, whose rounding
error it takes for a value: 1e33 in double precision. Kernels give infinity there, and so does the
reference; PyTorch does it at 0.

*Searches of a sequence with NaN.* NaN comes behind all numbers, as in a sorted tensor. PyTorch's
binary search takes it for a small number where it meets it, which depends on the length.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.torch_import import torch

_FIRST_STEP = 2  # the degree of the first polynomial that the loop computes
_DEGREES = 2.0**63  # from here on a degree counts as negative, as NaN does
# Where a search has its sequence and its values.
_SEARCHES = {
    torch.ops.aten.searchsorted.Tensor: (0, 1),
    torch.ops.aten.bucketize.Tensor: (1, 0),
}


def searched(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return the result of a search among numbers and NaN; None where there is no such search.

    Args:
        func: an operator of ATen.
        args, kwargs: of the call.
    """
    if func not in _SEARCHES:
        return None
    sequence, values = (args[place] for place in _SEARCHES[func])
    if kwargs.get("sorter") is not None:
        sequence = torch.gather(sequence, -1, kwargs["sorter"])
    nan = torch.isnan(sequence)
    if not bool(nan.any()):
        return None
    right = bool(kwargs.get("right")) or kwargs.get("side") == "right"
    found = torch.searchsorted(sequence.masked_fill(nan, torch.inf), values, right=right)
    numbers = torch.logical_not(nan).sum(-1, keepdim=sequence.dim() > 1)
    found = torch.where(torch.isnan(values), sequence.shape[-1], torch.minimum(found, numbers))
    return found.to(torch.int32) if kwargs.get("out_int32") else found


def set_special_values(name: str, args: Any, result: Any) -> None:
    """Write NaN or infinity to the elements of a result to which PyTorch gives no useful value.

    Args:
        name: of an operator of ATen; nothing is done for others than those above.
        args: its arguments: of a polynomial x and the degree, each a tensor of floats or a number;
            of ``polygamma`` the order and x.
        result: of the call; it is changed.
    """
    if name == "polygamma" and args[0] == 1:
        x = args[1]
        result.masked_fill_((x <= 0) & torch.isfinite(x) & (x == torch.floor(x)), torch.inf)
    elif name.startswith("special_") and "_polynomial_" in name:
        _set_polynomials(args, result)


def _set_polynomials(args: Any, result: Any) -> None:
    x, degree = (torch.as_tensor(a, dtype=torch.float64) for a in args[:2])
    unset = torch.isnan(x) & (degree >= _FIRST_STEP) & (degree < _DEGREES)
    result.masked_fill_(unset, torch.nan)
