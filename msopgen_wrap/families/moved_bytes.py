"""Bytes of global memory that a call of an op moves, counted from its plan: nothing is compiled.

A kernel has classes for rows that stay in UB and for rows that stream through, and TilingFunc says
which of them a call gets. Both are counted; the sizes are those of one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.graph.kept_tensors import element_count
from msopgen_wrap.schedule.plan import Body, OpPlan
from msopgen_wrap.schedule.ranks import apply_steps

Shapes = Mapping[str, Any]


@dataclass(frozen=True)
class MovedBytes:
    """What a call loads, stores and passes through the workspace.

    Attributes:
        resident: where whole rows stay in UB; formulas without reductions have the one number only.
        streamed: where rows stream through.
        instructions: of the programs of the kernels that run.
    """

    resident: int
    streamed: int
    instructions: int

    @property
    def total(self) -> int:
        """What plans are compared by: both kinds of calls count alike."""
        return self.resident + self.streamed

    def text(self) -> str:
        """Return the bytes for ``opgen plan``."""
        if self.resident == self.streamed:
            return f"{self.resident:,}"
        return f"{self.resident:,} ({self.streamed:,} where rows stream)"


def moved_bytes(
    plan: OpPlan[Any], shapes: Shapes, attrs: Mapping[str, Any], combo: int = 0
) -> MovedBytes:
    """Count what a call moves.

    Args:
        plan: of the op.
        shapes: of inputs and outputs by name; None for an absent input.
        attrs: those of the call.
        combo: the combination of dtypes.
    """
    variant = _variant(plan, shapes, attrs)
    sizes = dict(shapes)
    parts = [part for part in plan.parts if variant in part.served and part.bodies]
    replaced = {id(other) for part in parts for other in part.instead}
    resident = streamed = instructions = 0
    for part in parts:
        body: Body = part.body(variant, combo)
        loads = [
            (_bytes(part, view.tensor, sizes, combo), body.times_loaded(name))
            for name, view in body.operands.items()
        ]
        _add_temporaries(part, body, sizes, attrs)
        _add_slabs(part, body, sizes, attrs)
        stored = sum(_bytes(part, param.name, sizes, combo) for param in part.writes)
        if id(part) not in replaced:
            resident += stored + sum(size * times for size, (times, _) in loads)
            instructions += len(body.program.insts)
        if not part.instead:
            streamed += stored + sum(size * times for size, (_, times) in loads)
    return MovedBytes(resident, streamed, instructions)


def _variant(plan: OpPlan[Any], shapes: Shapes, attrs: Mapping[str, Any]) -> int:
    """Return the variant of a call."""
    for index, variant in enumerate(plan.variants):
        given = all(shapes.get(name) is not None for name in variant.present)
        if given and all(attrs.get(name, value) == value for name, value in variant.attrs):
            return index
    return 0


def _bytes(part: OpPlan[Any], name: str, sizes: Shapes, combo: int) -> int:
    params = (*part.spec.inputs, *part.writes)
    dtype = next(p.dtypes[combo] for p in params if p.name == name)
    size = sizes.get(name)
    count = size if isinstance(size, int) else element_count(size)
    return count * BY_NAME[dtype].size


def _add_slabs(
    part: OpPlan[Any], body: Body, sizes: dict[str, Any], attrs: Mapping[str, Any]
) -> None:
    """Note the elements of the slabs of outputs that a part writes."""
    for param in part.writes:
        if param.slab is not None and param.tensor in sizes:
            shapes = {**sizes, param.name: sizes[param.tensor]}
            view = body.output_views[param.name]
            sizes[param.name] = tuple(apply_steps(view, shapes, dict(attrs)).dim)


def _add_temporaries(
    part: OpPlan[Any], body: Body, sizes: dict[str, Any], attrs: Mapping[str, Any]
) -> None:
    """Note the elements of the temporaries that a part writes."""
    shapes = [sizes.get(view.tensor) for view in body.operands.values()]
    known: list[Sequence[int]] = [s for s in shapes if isinstance(s, tuple)]
    largest = max(known, key=element_count, default=())
    for param in part.spec.outputs:
        if param.site is not None:
            sizes[param.name] = part.elements_written(param.name, largest, attrs)
