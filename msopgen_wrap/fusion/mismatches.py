"""Why a formula of a model is not an op: what a report says of it."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.fusion.regions import Region, place_of
from msopgen_wrap.fusion.terms import PRODUCT, SUM, Term
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import torch


def weight(reason: str) -> int:
    """Return how near to a match a reason is: proofs come last."""
    order = ("constants or axes", "dtype", "used elsewhere", "in place", "is not the same")
    return max((i + 1 for i, text in enumerate(order) if text in reason), default=0)


def head(term: Term) -> tuple[Any, ...]:
    """Return what two terms have in common that differ in their operands only."""
    bare = term.bare()
    return (bare.kind, bare.op, len(bare.children), sorted(bare.powers))


def shown(term: Term, *, loose: bool = False) -> str:
    """Return what a term is, in one word or two; ``loose``: its numbers may stand for others."""
    bare = term.bare()
    if bare.kind == "leaf":
        return f"input '{bare.op}'" if bare.op else "a value of another kind"
    if bare.kind == "const":
        return f"{bare.number:g}"
    if bare.kind in (SUM, PRODUCT):
        return _operands_text(bare, loose)
    return bare.op


def _operands_text(term: Term, loose: bool) -> str:
    """Return a sum or product with its numbers: ``a sum of 2 values (1, -1) and 3``.

    In a pattern a number that no one writes stands for an attr or a size: any would do.
    """
    count = len(term.children)
    text = f"a {term.kind} of {count} value{'s' if count > 1 else ''}"
    if any(p != 1 for p in term.powers):
        numbers = ", ".join(f"{p:g}" for p in term.powers)
        text += f" with {'factors' if term.kind == SUM else 'exponents'} {numbers}"
    if term.number == (0 if term.kind == SUM else 1):
        return text
    written = not loose or float(2 * term.number).is_integer()
    return f"{text} and {term.number:g}" if written else f"{text} and a number"


def shapes_text(shapes: dict[str, Any]) -> str:
    """Return the shapes of inputs by name."""
    return ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())


def dtype_reason(spec: OpSpec, fakes: dict[str, Any], name: str, result: Any) -> str:
    """Return why an op has no result of a dtype for inputs of these dtypes, empty when it has."""
    given = {n: str(f.dtype).removeprefix("torch.") for n, f in fakes.items()}
    wanted = str(result.dtype).removeprefix("torch.")
    for i in range(spec.combos):
        if all(spec.param(n).dtypes[i] == d for n, d in given.items()):
            out = next(p for p in spec.outputs if p.name == name)
            if out.dtypes[i] == wanted:
                return ""
    text = ", ".join(f"{n} {d}" for n, d in given.items())
    return f"the op has no dtypes {text} -> {name} {wanted}; add them to its spec"


_WIDTH = {torch.bfloat16: 1, torch.float16: 1, torch.float32: 2, torch.float64: 3}


def rounding_reason(region: Region, fakes: dict[str, Any]) -> str:
    """Return where the model rounds to a dtype that is narrower than what the op is given."""
    ends = [*fakes.values(), *(n.meta["val"] for n in region.outputs)]
    widths = [_WIDTH[f.dtype] for f in ends if f.dtype in _WIDTH]
    if not widths:
        return ""
    for node in region.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.dtype in _WIDTH:
            if _WIDTH[value.dtype] < min(widths):
                dtype = str(value.dtype).removeprefix("torch.")
                return (
                    f"{place_of(node)} rounds to {dtype} on the way; leave the conversion out, or "
                    "write it in the spec"
                )
            if value.dtype is torch.float64:
                return f"{place_of(node)} calculates in float64; use float32, which kernels have"
    return ""
