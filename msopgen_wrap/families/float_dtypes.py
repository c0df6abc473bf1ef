"""Dtypes of families that compute in float32 alone."""

from __future__ import annotations

from collections.abc import Iterable

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.dtypes import FLOATS
from msopgen_wrap.spec.model import TensorParam


def check_floats(params: Iterable[TensorParam], refused: str, why: str) -> None:
    """Refuse tensors of other dtypes than floats.

    Args:
        params: the tensors that a pass reads and writes.
        refused: what it does to them, before the name of a dtype.
        why: what it takes.

    Raises:
        OpgenError: OPG332.
    """
    for param in params:
        for dtype in param.dtypes:
            if dtype not in FLOATS:
                raise OpgenError(
                    Diagnostic(
                        "OPG332",
                        f"{refused} {dtype}",
                        param.location,
                        why,
                        "leave the dtype out, or write the kernel with `kernel:`",
                    )
                )
