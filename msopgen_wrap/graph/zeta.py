"""Hurwitz's zeta function as powers: its first terms, and the Euler-Maclaurin series of the rest.

zeta(s, q) is the sum of (q + k)^-s over all k from 0 on. With the first ``_TERMS`` of them taken
one by one, w = q + _TERMS and the Bernoulli numbers B, the rest is

    w^(1 - s) / (s - 1)
        + w^-s (1/2 + the sum over j of B_2j s (s + 1) ... (s + 2j - 2) / ((2j)! w^(2j - 1)))
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.torch_import import torch

_TERMS = 6
# (2j)! / B_2j
_DIVISORS = (12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1307674368000.0 / 691.0)
# A last power of a smaller share of the sum means that all later ones add nothing to a float32.
_NOTHING = 1e-9
# PyTorch's product s (s + 1) ... (s + 22) is infinite in float64 from here on. Powers of numbers
# above 1 are 0 there, and PyTorch multiplies the two: NaN.
_INFINITE_FACTORS = 2.5256e13


def _of_positive(s: Any, q: Any) -> Any:
    """Return zeta(s, q) for s > 1 and q > 0; anything for others."""
    total = torch.pow(q, -s)
    for k in range(1, _TERMS):
        total = total + torch.pow(q + k, -s)
    w = q + _TERMS
    power = torch.pow(w, -s)
    inverse = 1 / w
    square = inverse * inverse
    factor = s * inverse
    share = 0.5
    for j, divisor in enumerate(_DIVISORS):
        share = share + factor / divisor
        factor = factor * ((s + 2 * j + 1) * (s + 2 * j + 2) * square)
    # a power of its own: w^-s is 0 for large w before w^(1 - s) is
    rest = torch.pow(w, 1 - s) / (s - 1)
    # a large s makes the share infinite long after it has made its factor 0
    rest = rest + torch.where(power == 0, 0, power * share)
    return total + torch.where(power < total * _NOTHING, 0, rest)


def zeta(s: Any, q: Any) -> Any:
    """Return what ``torch.special.zeta`` gives of two tensors of float32.

    Below 0 an argument has a value for whole s only: the terms up to 0 are those of a positive
    argument, with a sign, and as many of them as lie between two values of the function.
    """
    s, q = (t if t.is_floating_point() else t.to(torch.float32) for t in (s, q))
    s, q = torch.broadcast_tensors(s, q)
    whole = torch.floor(q) == q
    # from the first term above 0 on; -q as far as its last term below 0
    fraction = q - torch.floor(q)
    above = _of_positive(s, torch.where(q > 0, q, fraction))
    below = _of_positive(s, 1 - fraction) - _of_positive(s, torch.where(q > 0, 1, 1 - q))
    odd = torch.floor(s * 0.5) * 2 != s
    found = torch.where(q > 0, above, above + torch.where(odd, -below, below))
    found = torch.where((q < 0) & (torch.floor(s) != s), torch.nan, found)
    without_value = (q == torch.inf) | ((q > 1) & (s > _INFINITE_FACTORS))
    found = torch.where(without_value, torch.nan, found)
    found = torch.where(torch.isnan(s) | torch.isnan(q), torch.nan, found)
    # the poles come first, as in PyTorch: there NaN is no NaN
    found = torch.where((q <= 0) & whole, torch.inf, found)
    return torch.where(s < 1, torch.nan, torch.where(s == 1, torch.inf, found))
