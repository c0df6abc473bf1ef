"""Decompositions of orthogonal polynomials of a literal degree into their recurrences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.torch_import import torch

# Beyond, the recurrence of some kinds loses too many digits of float32, and kernels get long.
MAX_DEGREE = 64

# The polynomial of degree 1, and that of degree k + 1 from those of degrees k and k - 1.
_First = Callable[[Any], Any]
_Next = Callable[[Any, int, Any, Any], Any]


def _chebyshev_next(x: Any, k: int, now: Any, before: Any) -> Any:
    return 2 * x * now - before


def _hermite_h_next(x: Any, k: int, now: Any, before: Any) -> Any:
    return 2 * (x * now - k * before)


def _hermite_he_next(x: Any, k: int, now: Any, before: Any) -> Any:
    return x * now - k * before


def _laguerre_next(x: Any, k: int, now: Any, before: Any) -> Any:
    return (((2 * k + 1) - x) * now - k * before) / (k + 1)


def _legendre_next(x: Any, k: int, now: Any, before: Any) -> Any:
    return ((2 * k + 1) * x * now - k * before) / (k + 1)


_KINDS: dict[str, tuple[_First, _Next]] = {
    "chebyshev_polynomial_t": (lambda x: x, _chebyshev_next),
    "chebyshev_polynomial_u": (lambda x: 2 * x, _chebyshev_next),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, _chebyshev_next),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, _chebyshev_next),
    "hermite_polynomial_h": (lambda x: 2 * x, _hermite_h_next),
    "hermite_polynomial_he": (lambda x: x, _hermite_he_next),
    "laguerre_polynomial_l": (lambda x: 1 - x, _laguerre_next),
    "legendre_polynomial_p": (lambda x: x, _legendre_next),
}


def _polynomial(first: _First, following: _Next, shifted: bool) -> Callable[[Any, Any], Any]:
    def decomposition(x: Any, n: Any) -> Any:
        if type(n) not in (int, float) or n > MAX_DEGREE:
            return NotImplemented
        x = x if x.is_floating_point() else x.to(torch.float32)
        degree = int(n)
        if degree <= 0:
            return torch.full_like(x, 1.0 if degree == 0 else 0.0)
        x = 2 * x - 1 if shifted else x
        before, now = torch.ones_like(x), first(x)
        for k in range(1, degree):
            before, now = now, following(x, k, now, before)
        return now

    return decomposition


def _of_tensor_degree(name: str) -> Callable[[Any, Any], Any]:
    def refusal(x: Any, n: Any) -> Any:
        raise OpgenError(
            Diagnostic(
                "OPG331",
                f"the degree of {name} is a tensor",
                Location(),
                "the recurrence takes as many steps as the degree says, and the instructions of a "
                "kernel are the same for all elements",
                f"write the degree as a number of up to {MAX_DEGREE}, select among several degrees "
                "with torch.where, or use `kernel:`",
            )
        )

    return refusal


def polynomial_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table entries: recurrences for numbers as degree, refusals for tensors."""
    table = {}
    for name, (first, following) in _KINDS.items():
        for prefix in ("", "shifted_"):
            packet = getattr(torch.ops.aten, f"special_{prefix}{name}", None)
            if packet is not None:
                table[packet.n_scalar] = _polynomial(first, following, bool(prefix))
                table[packet.default] = _of_tensor_degree(f"special.{prefix}{name}")
    return table
