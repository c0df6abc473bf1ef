"""``torch.einsum`` of two tensors with an ellipsis, as products and sums for any rank.

PyTorch permutes and joins the axes of an ellipsis one by one, which another number of axes does
otherwise. Counted from the end, the axes that have letters are the same at every rank.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch

_DOTS = "..."


def _einsum(equation: Any, *operands: Any) -> Any:
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str) or _DOTS not in equation or len(operands) != 2:
        return NotImplemented
    terms = equation.replace(" ", "").replace("->", ",").split(",")
    if "->" not in equation or len(terms) != 3 or not terms[2].startswith(_DOTS):
        return NotImplemented
    first, second, result = (term.removeprefix(_DOTS) for term in terms)
    if not all(_are_letters(term) for term in (first, second, result)):
        return NotImplemented
    # A term without an ellipsis has no axes but those of its letters.
    x, y = operands
    for tensor, term, letters in ((x, terms[0], first), (y, terms[1], second)):
        if tensor.dim() < len(letters) or (term == letters and tensor.dim() != len(letters)):
            return NotImplemented
    return _product(x, first, y, second, result)


def _are_letters(term: str) -> bool:
    return len(set(term)) == len(term) and (not term or term.isalpha())


def _product(x: Any, first: str, y: Any, second: str, result: str) -> Any:
    """Return the product of two tensors, whose last axes have the letters of their terms."""
    summed = [letter for letter in first if letter in second and letter not in result]
    rows = [letter for letter in first if letter not in second]
    columns = [letter for letter in second if letter not in first]
    kept = {*rows, *columns}
    if kept != {*result} or max(len(rows), len(columns)) > 1:
        return NotImplemented  # batches with a letter, and sums over one tensor alone
    if not kept:
        axes = list(range(-len(summed), 0))
        return (x * y).sum(axes) if first == second and axes else NotImplemented
    if len(summed) > 1:
        return NotImplemented
    if not summed:
        if len(kept) == 1:
            return NotImplemented
        outer = x.unsqueeze(-1) * y.unsqueeze(-2)
        return outer if result == first + second else outer.transpose(-1, -2)
    x = x.unsqueeze(-2) if not rows else _ending_with(x, first, summed[0])
    y = y.unsqueeze(-1) if not columns else _ending_with(y, second, columns[0])
    product = torch.matmul(x, y)
    if not rows:
        return product.squeeze(-2)
    if not columns:
        return product.squeeze(-1)
    return product if result == rows[0] + columns[0] else product.transpose(-1, -2)


def _ending_with(x: Any, letters: str, last: str) -> Any:
    """Return a tensor of which the last two axes are in the order that a product needs."""
    return x if letters[-1] == last else x.transpose(-1, -2)


def ellipsis_functions() -> dict[Any, Callable[..., Any]]:
    """Return what a trace calls instead of functions; NotImplemented leaves a call to PyTorch."""
    return {torch.einsum: _einsum}
