"""Which operands have every element of the iteration space in each call, by the spec's shape rules.

Such an operand is never broadcast: its tile is worked on where it lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msopgen_wrap.graph.scalars import DimRef
from msopgen_wrap.schedule.views import SQUEEZED, Span, View
from msopgen_wrap.spec.model import (
    DimConst,
    DimOf,
    DimSlice,
    OpSpec,
    ParamKind,
    ShapeLike,
    ShapeList,
)


def covering_operands(
    spec: OpSpec,
    operands: Mapping[str, View],
    spans: Sequence[Span] = (),
    indices: Iterable[View] = (),
) -> tuple[str, frozenset[str]]:
    """Return the input whose shape is that of the space, and the operands that have all of it.

    Returns:
        The input's name, empty where the rules do not tell, and names of ``operands``.
    """
    for root in dict.fromkeys(v.tensor for v in operands.values()):
        param = spec.param(root)
        if param.kind is not ParamKind.REQUIRED or param.shape is not None:
            continue
        whole = frozenset(n for n, v in operands.items() if _is_whole(spec, v, root))
        rest = [v for n, v in operands.items() if n not in whole]
        tensors = {operands[n].tensor for n in whole}
        if (
            whole
            and all(_is_inside(spec, v, root) for v in rest)
            and all(span.covered(tensors) for span in spans)
            and all(_counts_along(view, root) for view in indices)
        ):
            return root, whole
    return "", frozenset()


def _is_whole(spec: OpSpec, view: View, root: str) -> bool:
    if view.steps or view.leading or view.extent == SQUEEZED:
        return False
    tensor = view.tensor
    while tensor != root:
        rule = spec.param(tensor).shape
        if not isinstance(rule, ShapeLike):
            return False
        tensor = rule.tensor
    return True


def _counts_along(view: View, root: str) -> bool:
    """Whether numbers are counted along an axis of the root, and lie along that axis."""
    counted = view.counted
    if counted is None or not isinstance(counted.length, DimRef):
        return False
    place = -1
    for step in view.steps:
        if step.op != "unsqueeze":
            return False
        place -= int(step.axis >= place)
    length = counted.length
    return view.extent != SQUEEZED and (length.tensor, length.axis - length.rank) == (root, place)


def _is_inside(spec: OpSpec, view: View, root: str) -> bool:
    """Whether an operand has no size that the root does not have at the same place from the end."""
    rule = spec.param(view.tensor).shape
    if view.steps or view.extent == SQUEEZED or not isinstance(rule, ShapeList):
        return False
    param = spec.param(root)
    rank = param.min_rank if param.min_rank == param.max_rank else None
    for behind, item in enumerate(reversed(rule.items)):
        if isinstance(item, DimConst):
            fits = item.value == 1
        elif isinstance(item, DimSlice):
            first = behind == len(rule.items) - 1
            stop = None if behind == 0 else -behind
            fits = first and item.tensor == root and item.start is None and item.stop == stop
        elif isinstance(item, DimOf):
            axis = item.axis
            if axis >= 0 and rank is not None:
                axis -= rank
            fits = item.tensor == root and axis == -behind - 1
        else:
            fits = False
        if not fits:
            return False
    return True
