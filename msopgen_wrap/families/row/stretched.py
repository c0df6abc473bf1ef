"""Reductions of tensors that other tensors of a call may stretch.

All values of a pass are lined up in one space. A tensor that has one element along a reduced axis
of the space, or lacks the axis, is read as often as the others have elements there: its own sum
would be another one. The tiling function refuses such a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msopgen_wrap.schedule.program import LOADS, Program, sources_of, values_read
from msopgen_wrap.schedule.views import SQUEEZED, View
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.shapes import rule_tensors

# Reductions that give the same of an element, however often it is read.
_EXTREMES = ("max", "min")


@dataclass(frozen=True)
class Reduced:
    """What a reduction adds up.

    Attributes:
        names: operands and counted numbers, in the order of the pass.
        extreme: whether one element may stand for several.
    """

    names: tuple[str, ...]
    extreme: bool

    @property
    def shapes(self) -> list[str]:
        """The shapes of the tensors, as the tiling function has them."""
        return [f"{name}View.dim" for name in self.names]


def reduced_alone(
    spec: OpSpec,
    program: Program,
    operands: Mapping[str, View],
    indices: Mapping[str, View],
    covering: frozenset[str],
) -> list[Reduced]:
    """Return the reductions of some of the tensors that make the space, which others may stretch.

    Sizes that follow from one another by shape rules are compared when the formula is traced.

    Args:
        spec: the op.
        program: with extents.
        operands: by name.
        indices: numbers that are counted along an axis, by name.
        covering: operands that have all elements of the space in each call.
    """
    spanning = [n for n, v in {**operands, **indices}.items() if v.extent != SQUEEZED]
    sized = {n: _sized_by(spec, operands[n].tensor) for n in spanning if n in operands}
    every = frozenset().union(*sized.values())
    found: dict[Reduced, None] = {}
    for inst in program.insts:
        if inst.op != "Reduce":
            continue
        read = sources_of(program, values_read(inst), (*LOADS, "Index"), ends=("Reduce",))
        names = tuple(name for name in spanning if name in read)
        own = frozenset().union(*(sized.get(n, frozenset()) for n in names))
        if names and every > own and not covering & read:
            found[Reduced(names, inst.mode in _EXTREMES)] = None
    return list(found)


def _sized_by(spec: OpSpec, tensor: str) -> frozenset[str]:
    """Return the tensors without a shape rule that the sizes of one follow from."""
    rule = spec.param(tensor).shape
    if rule is None:
        return frozenset((tensor,))
    return frozenset().union(*(_sized_by(spec, name) for name in rule_tensors(rule)))
