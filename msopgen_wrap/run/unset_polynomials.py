"""Orthogonal polynomials of NaN: PyTorch returns a variable that nothing was written to.

Its loop over degrees ends before the first step where the argument is NaN, so that the result of a
degree of 2 or more is what memory held. Kernels give NaN, and so does the reference.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.torch_import import torch

_FIRST_STEP = 2  # the degree of the first polynomial that the loop computes
_DEGREES = 2.0**63  # from here on a degree counts as negative, as NaN does


def set_polynomials(name: str, args: Any, result: Any) -> None:
    """Write NaN to the elements of a polynomial that PyTorch has not set.

    Args:
        name: of an operator of ATen; nothing is done where it is no orthogonal polynomial.
        args: its arguments: x and the degree, each a tensor of floats or a number.
        result: of the call; it is changed.
    """
    if not name.startswith("special_") or "_polynomial_" not in name:
        return
    x, degree = (torch.as_tensor(a, dtype=torch.float64) for a in args[:2])
    unset = torch.isnan(x) & (degree >= _FIRST_STEP) & (degree < _DEGREES)
    result.masked_fill_(unset, torch.nan)
