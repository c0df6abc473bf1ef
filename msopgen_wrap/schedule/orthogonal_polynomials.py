"""Lowerings of orthogonal polynomials whose degree is a tensor: each element takes its own.

A degree that is a number is a decomposition (``graph/decomposition_table.py``). Here the elements
of a tile take the steps of the largest degree, and each keeps the polynomial of its own.
"""

from __future__ import annotations

import math
from typing import Any

from msopgen_wrap.schedule.formulas import Number, where
from msopgen_wrap.schedule.lowering import Lowerer, lowers
from msopgen_wrap.schedule.mathematics import BLOCKS
from msopgen_wrap.schedule.program import F32, MASK, OPS, OpInfo
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

BLOCKS["Recurrence"] = (F32, F32, F32, F32, MASK)
OPS["opgen::Recurrence"] = OpInfo("opgen::Recurrence", in_place=False)

# Name in aten -> family of ``opgen/recurrence.h``.
FAMILIES = {
    "chebyshev_polynomial_t": "opgen::Chebyshev<1, 0>",
    "chebyshev_polynomial_u": "opgen::Chebyshev<2, 0>",
    "chebyshev_polynomial_v": "opgen::Chebyshev<2, -1>",
    "chebyshev_polynomial_w": "opgen::Chebyshev<2, 1>",
    "hermite_polynomial_h": "opgen::Hermite<2>",
    "hermite_polynomial_he": "opgen::Hermite<1>",
    "laguerre_polynomial_l": "opgen::Laguerre",
    "legendre_polynomial_p": "opgen::Legendre",
}
# All elements of a tile take as many steps as the largest degree has.
MAX_DEGREE = 4096
DEGREES = (
    f"gives NaN for degrees of a tensor beyond {MAX_DEGREE}, and for NaN as argument from degree 2 "
    "on, where PyTorch's is what memory held; rounds each step, one for each degree, to float32"
)


def _register(name: str, family: str, shifted: bool) -> None:
    packet = f"special_{'shifted_' if shifted else ''}{name}"
    if not hasattr(torch.ops.aten, packet):
        return

    def handler(low: Lowerer, node: Node) -> Any:
        x, degree = (Number(low, low.tile(low.as_kind(low.operand(a), F32))) for a in node.args[:2])
        x = 2 * x - 1 if shifted else x
        # a fraction does not count; NaN, and what 64 bits do not hold, count as negative in PyTorch
        degree = degree.rounded("TRUNC")
        known = degree < MAX_DEGREE + 1
        beyond = (degree > MAX_DEGREE) & (degree < 2.0**63)
        degree = where(known, degree, -1)
        value = low.emit(
            "opgen::Recurrence",
            F32,
            x.value,
            degree.value,
            mode=family,
            temps=BLOCKS["Recurrence"],
        )
        return where(beyond, math.nan, Number(low, value)).value

    overloads = [f"aten.{packet}.{overload}" for overload in ("default", "x_scalar")]
    lowers(*overloads, differs=DEGREES)(handler)


for _name, _family in FAMILIES.items():
    for _shifted in (False, True):
        _register(_name, _family, _shifted)
