"""Specs of ops with two operands, for the tests of the families of the cube."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec


def operands_spec(
    name: str,
    compute: str,
    ranks: Mapping[str, Any],
    shapes: tuple[tuple[int, ...], ...],
    z: str,
    dtypes: tuple[str, str],
) -> OpSpec:
    """Return a spec of z with a case.

    Args:
        ranks: operand -> its rank; the first gives the others their dtypes.
        shapes: of the operands, in the case.
        z: shape rule of the result.
        dtypes: of the first operand and of z.
    """
    first = next(iter(ranks))
    inputs = "".join(
        f"  {n}: {{dtype: {dtypes[0] if n == first else first}, rank: {rank}}}\n"
        for n, rank in ranks.items()
    )
    case = ", ".join(f"{n}: {list(s)}" for n, s in zip(ranks, shapes, strict=True))
    text = (
        f"op: {name}\ninputs:\n{inputs}outputs:\n"
        f'  z: {{dtype: {dtypes[1]}, shape: "{z}"}}\ncompute: "{compute}"\n'
        f"backward: none\ncases:\n  - {{{case}}}\n"
    )
    result = parse_spec(text, "case.yaml")
    assert result.spec is not None, result.diagnostics
    return result.spec
