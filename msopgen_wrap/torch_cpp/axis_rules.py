"""Which axes the rows of a nest run along, for every rank and every value of an attr."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_cpp.refusals import axes_differ


@dataclass(frozen=True)
class Sample:
    """The axes of a nest in one trace.

    Attributes:
        rank: rank of its shape.
        reduced: axes of its rows.
        attrs: values of the int and list attrs that the trace was made with.
    """

    rank: int
    reduced: frozenset[int]
    attrs: dict[str, Any] = field(default_factory=dict)


def axes_code(spec: OpSpec, samples: list[Sample], names: dict[str, str], sizes: str) -> str:
    """Return C++ of the axes.

    Args:
        samples: the nest at several ranks and values of attrs.
        names: C++ names of the attrs.
        sizes: C++ name of the sizes of the nest.

    Raises:
        OpgenError: OPG572 when no rule gives them all.
    """
    rank = f"static_cast<int64_t>({sizes}.size())"
    for attr in samples[0].attrs:
        if all(_wrapped(s.attrs[attr], s.rank) == s.reduced for s in samples):
            name = names[attr]
            if spec.attr(attr).type == "int":
                return f"{{{name}}}"
            return f"{name}.empty() ? loops::AxisRange({rank}, 0, 0) : {name}.vec()"
    first = samples[0]
    for origin in (first.rank, 0):
        offsets = {frozenset(a - (s.rank if origin else 0) for a in s.reduced) for s in samples}
        if len(offsets) == 1:
            listed = ", ".join(str(a) for a in sorted(next(iter(offsets))))
            return f"{{{listed}}}" if listed else "loops::Sizes{}"
    start = min(first.reduced, default=0)
    if all(s.reduced == frozenset(range(start, s.rank)) for s in samples):
        return f"loops::AxisRange({rank}, {start}, 0)"
    kept = first.rank - 1 - max(first.reduced, default=0)
    if all(s.reduced == frozenset(range(0, s.rank - kept)) for s in samples):
        return f"loops::AxisRange({rank}, 0, {kept})"
    if all(s.reduced == frozenset(range(1, s.rank - kept)) for s in samples):
        return f"loops::AxisRange({rank}, 1, {kept})"
    raise axes_differ(spec, "for inputs of every rank: it reduces other axes")


def _wrapped(value: Any, rank: int) -> frozenset[int]:
    axes = [value] if isinstance(value, int) else list(value)
    if not axes:
        return frozenset(range(rank))
    if rank == 0 or any(not -rank <= a < rank for a in axes):
        return frozenset()
    return frozenset(a % rank for a in axes)
