"""Sums over all axes that a pass keeps, made beside what the pass computes of each row.

The gradient of a scale or a bias is a sum over the rows of values that the pass for the rows has
in UB. Where whole rows stay there, each core adds them to an accumulator that is as long as a tile,
and all cores join their sums at the end (``opgen/row_columns.h``): nothing is read a second time.
``OpSpec.columns`` says which outputs are such sums; ``families.parts`` tries it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.schedule.calls import (
    AXES_OF_ONE,
    IDENTITY,
    RESHAPES,
    Node,
    reduced_dims,
    reduction_kind,
    target_name,
)
from msopgen_wrap.schedule.program import Inst, Program, Val, sources_of
from msopgen_wrap.spec.model import OpSpec

# What may stand between a sum and the output that it is stored in.
_CASTS = {"aten._to_copy.default", "prims.convert_element_type.default"}
_STORED_AS = _CASTS | IDENTITY | RESHAPES | AXES_OF_ONE - {"aten.expand.default"}


@dataclass(frozen=True)
class ColumnSum:
    """A sum over the kept axes.

    Attributes:
        operand: what is added up.
        reduction: the call that adds; None at a rank where no axes are left to add over.
        behind: the calls from the reduction to the output.
    """

    operand: Any
    reduction: Node | None
    behind: tuple[Node, ...]

    @property
    def dims(self) -> tuple[int, ...]:
        """The axes of the operand that are added up."""
        rank = len(self.operand.meta["val"].shape)
        return reduced_dims(self.reduction, rank) if self.reduction is not None else ()


def column_sums(spec: OpSpec, traced: TracedGraph) -> dict[str, ColumnSum]:
    """Return the sums of ``spec.columns``, by output.

    Raises:
        OpgenError: OPG335 where an output is something else.
    """
    return {name: _column_sum(spec, traced, name) for name in spec.columns}


def _column_sum(spec: OpSpec, traced: TracedGraph, name: str) -> ColumnSum:
    node = traced.outputs[name]
    stored = traced.outputs[name].meta["val"].dtype if isinstance(node, Node) else None
    behind: list[Node] = []
    while isinstance(node, Node) and node.op == "call_function":
        behind.append(node)
        if reduction_kind(node) == "sum":
            users = {user for n in behind for user in n.users} - {*behind}
            if any(user.op != "output" for user in users):
                break
            return ColumnSum(node.args[0], node, tuple(behind))
        # a sum that is rounded to a third type on its way would be rounded once less
        other = str(node.meta["val"].dtype) != "torch.float32" and node.meta["val"].dtype != stored
        if target_name(node) not in _STORED_AS or other:
            break
        node = node.args[0]
    if not any(reduction_kind(n) == "sum" for n in behind):
        return ColumnSum(traced.outputs[name], None, ())
    raise refused(spec, name)


def refused(spec: OpSpec, name: str) -> OpgenError:
    """Return the error for an output that is no sum over the rows of a pass."""
    return OpgenError(
        Diagnostic(
            "OPG335",
            f"output {name!r} is no sum over the rows that the other outputs are made of",
            spec.compute.location if spec.compute else spec.outputs[0].location,
            "a pass over rows adds up elements of the rows themselves, in float32",
            "leave it to a pass of its own",
        )
    )


def adds(program: Program) -> list[Inst]:
    """Return the instructions that add to sums of columns."""
    return [i for i in program.insts if i.op == "AddColumns"]


def added_early(program: Program) -> Program:
    """Return the program with values added to their sums as soon as they are there."""
    late = {id(i): i for i in adds(program)}
    waiting: dict[int, list[Inst]] = {}
    for inst in late.values():
        waiting.setdefault(_added(inst).id, []).append(inst)
    insts: list[Inst] = []
    for inst in program.insts:
        if id(inst) not in late:
            insts.append(inst)
            insts += waiting.get(inst.dst.id, []) if inst.dst is not None else []
    return Program(insts, dict(program.scalars), program._next)


def _added(inst: Inst) -> Val:
    value = inst.args[0]
    assert isinstance(value, Val)
    return value


def operands_added(program: Program, name: str) -> set[str]:
    """Return the operands that the elements of a sum are made of."""
    added = [_added(i) for i in adds(program) if i.mode == name]
    # what is reduced is a number of a row, whatever it is made of
    return sources_of(program, added, ("Load",), ends=("Reduce",))
