"""Which values of a row program are numbers of rows, and how they meet the elements of a box.

A value is *full* (every element of a box), *row* (one number per row of results) or *kept* (an
operand with fewer dimensions, whose part of a box many boxes share). An instruction that joins a
full value with one of the others reads it by stride; anything else needs it expanded to every
element.

An operand that has every element of the space in each call, by the shape rules of the spec, is
never broadcast: its tile is worked on where it lies (``covering_operands``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from msopgen_wrap.families.row.axes import before_reshapes
from msopgen_wrap.families.row.lowering import RowLowerer
from msopgen_wrap.graph.scalars import Const, DimRef
from msopgen_wrap.schedule.calls import Node
from msopgen_wrap.schedule.program import F32, MASK, Inst, Program, Scalar, Val
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
    if counted is not None and counted.shape:
        return counted.shape == root and not view.steps and view.extent != SQUEEZED
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
    if spec.param(view.tensor).site is not None and not view.steps and view.extent != SQUEEZED:
        # computed from inputs: inside if all of them are
        given = [View(p.name, 0) for p in spec.inputs if p.site is None]
        return all(_is_whole(spec, v, root) or _is_inside(spec, v, root) for v in given)
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


FULL, ROW, KEPT = "full", "row", "kept"
_FLOATS = {"float16", "bfloat16", "float32"}
# Instructions that can read an operand by stride, and how the building blocks call them.
STRIDED = {name: f"opgen::k{name}" for name in ("Add", "Sub", "Mul", "Div", "Max", "Min")}


def assign_extents(
    program: Program, lowerer: RowLowerer, kept: frozenset[str] = frozenset()
) -> Program:
    """Return the program with the extent of every value, and ``Apply`` and ``Expand``.

    ``Apply`` joins a full value with a row value or a kept operand; its mode is the instruction.
    Constants (``Fill``, and what is computed of them) take the extent of their reader.

    Args:
        kept: the operands to keep (see ``kept_operands``).
    """
    return _Extents(program, lowerer, kept).run()


class _Extents:
    def __init__(self, program: Program, lowerer: RowLowerer, kept: frozenset[str]):
        self.program, self.lowerer, self.kept = program, lowerer, kept
        self.result = Program([], dict(program.scalars), program._next)
        self.at: dict[tuple[int, str], Val] = {}
        self.source: dict[int, Inst] = {}
        self.natural: dict[int, str] = {}
        self.constants: set[int] = set()

    def run(self) -> Program:
        for inst in self.program.insts:
            if inst.dst is not None:
                self.source[inst.dst.id] = inst
                if self._is_constant(inst):
                    self.constants.add(inst.dst.id)
                    continue
            if inst.op == "Store":
                self._store(inst)
            elif inst.op == "AddColumns":
                self._add(inst)
            else:
                self._instruction(inst)
        return self.result

    def _is_constant(self, inst: Inst) -> bool:
        values = [a for a in inst.args if isinstance(a, Val)]
        computed = bool(values) and inst.op != "Reduce"
        return inst.op == "Fill" or (computed and all(v.id in self.constants for v in values))

    def _store(self, inst: Inst) -> None:
        (value,) = (a for a in inst.args if isinstance(a, Val))
        full = self.natural.get(value.id) != ROW or _output_is_full(self.lowerer, inst.mode)
        if value.id in self.constants:
            full = _output_is_full(self.lowerer, inst.mode)
        self.result.insts.append(replace(inst, args=(self._get(value, FULL if full else ROW),)))

    def _add(self, inst: Inst) -> None:
        (value,) = (a for a in inst.args if isinstance(a, Val))
        self.result.insts.append(replace(inst, args=(self._get(value, FULL),)))

    def _instruction(self, inst: Inst) -> None:
        assert inst.dst is not None
        values = [a for a in inst.args if isinstance(a, Val)]
        kinds = [self.natural[v.id] for v in values if v.id in self.natural]
        extent = self._extent(inst, kinds)
        self.natural[inst.dst.id] = extent
        dst = self.result.value(inst.dst.kind, extent)
        self.at[inst.dst.id, extent] = dst
        if extent == FULL and self._strided(inst):
            # a constant is as good as a number per row
            found = [self.natural.get(v.id, ROW) for v in values]
            wanted = found if FULL in found else [FULL if k == ROW else k for k in found]
            joined = tuple(self._get(v, k) for v, k in zip(values, wanted, strict=True))
            self.result.insts.append(Inst("Apply", dst, joined, inst.op, (), inst.note))
            return
        read = FULL if inst.op == "Reduce" else extent
        args = tuple(self._get(a, read) if isinstance(a, Val) else a for a in inst.args)
        temps = tuple(
            self.result.value(t.kind, FULL if inst.op == "Reduce" else extent) for t in inst.temps
        )
        self.result.insts.append(replace(inst, dst=dst, args=args, temps=temps))

    def _extent(self, inst: Inst, kinds: list[str]) -> str:
        assert inst.dst is not None
        if inst.op == "Load":
            if inst.dst.id in self.lowerer.row_loads:
                return ROW
            return KEPT if inst.mode in self.kept and inst.dst.kind == F32 else FULL
        if inst.op == "Position":
            return FULL
        if inst.op == "Index":
            return FULL if self.lowerer.indices[inst.mode].extent == FULL else ROW
        return ROW if inst.op == "Reduce" or set(kinds) == {ROW} else FULL

    def _strided(self, inst: Inst) -> bool:
        """Whether an instruction joins two values of which one can be read by stride."""
        values = [a for a in inst.args if isinstance(a, Val)]
        kinds = {self.natural.get(v.id, ROW) for v in values}
        return (
            inst.op in STRIDED
            and len(values) == len(inst.args) == len(kinds) == 2
            and all(v.kind == F32 for v in values)
            and any(v.id in self.natural for v in values)
        )

    def _get(self, value: Val, extent: str) -> Val:
        """Return a value with an extent, expanded if need be."""
        key = (value.id, extent)
        if key in self.at:
            return self.at[key]
        inst = self.source[value.id]
        if value.id in self.constants:
            args = [self._get(a, extent) if isinstance(a, Val) else a for a in inst.args]
            temps = tuple(t.kind for t in inst.temps)
            self.at[key] = self.result.emit(
                inst.op,
                value.kind,
                *args,
                mode=inst.mode,
                temps=temps,
                note=inst.note,
                extent=extent,
            )
        elif extent == FULL:
            self.at[key] = self._expand(self.at[value.id, self.natural[value.id]])
        else:
            raise AssertionError(f"a {self.natural[value.id]} value is read as {extent}")
        return self.at[key]

    def _expand(self, value: Val) -> Val:
        result = self.result
        if value.kind == MASK:
            one = result.emit("Fill", F32, Scalar(Const(1.0)), extent=ROW)
            number = result.emit("Selects", F32, value, one, Scalar(Const(0.0)), extent=ROW)
            wide = self._expand(number)
            zero = result.emit("Compares", MASK, wide, Scalar(Const(0.0)), mode="EQ", extent=FULL)
            return result.emit("MaskNot", MASK, zero, extent=FULL)
        dst = result.value(value.kind)
        result.insts.append(Inst("Expand", dst, (value,), "", (), "to every element"))
        return dst


def kept_operands(lowerer: RowLowerer) -> frozenset[str]:
    """Return the operands that an instruction reads by stride, as they have fewer elements.

    They have fewer dimensions than others, and are the same for many rows; or they lack an axis of
    the space (``spread_operands``); or they are temporaries with one number per reduced element,
    such as the statistics of the rows that columns are summed over.
    """
    return _shared_operands(lowerer) | spread_operands(lowerer)


def spread_operands(lowerer: RowLowerer) -> frozenset[str]:
    """Return those of ``kept_operands`` whose part changes from box to box.

    They have the dimensions of the others and lack an axis, such as the scales of the channels of a
    group: they come through a queue.
    """
    shared = _shared_operands(lowerer)
    found = set()
    for inst in lowerer.program.loads:
        if inst.dst is None or inst.dst.id not in lowerer.partial_loads or inst.mode in shared:
            continue
        view = lowerer.operands[inst.mode]
        floats = set(lowerer.spec.param(view.tensor).dtypes) <= _FLOATS
        if floats and view.extent == FULL and not view.placed:
            found.add(inst.mode)
    return frozenset(found)


def _shared_operands(lowerer: RowLowerer) -> frozenset[str]:
    """Return the operands whose part of a box is the same for many boxes."""
    most = max((view.rank for view in lowerer.operands.values()), default=0)
    numbers = _numbers_of_reduced(lowerer)
    return frozenset(
        name
        for name, view in lowerer.operands.items()
        if (view.rank < most or (view.tensor in numbers and not view.steps))
        and view.extent == FULL
        and not view.placed
    )


def _numbers_of_reduced(lowerer: RowLowerer) -> frozenset[str]:
    """Return the temporaries whose axes that are kept all have size 1."""
    sites = {p.name for p in lowerer.spec.inputs if p.site is not None}
    found = set()
    for node, value in lowerer.values.items():
        if isinstance(value, View) and not value.steps and value.tensor in sites:
            axes = lowerer.space.of.get(node, ())
            if any(a is not None for a in axes) and all(
                a is None or a in lowerer.space.reduced for a in axes
            ):
                found.add(value.tensor)
    return frozenset(found)


def _output_is_full(lowerer: RowLowerer, name: str) -> bool:
    node = lowerer.traced.outputs[name]
    if isinstance(node, Node):
        node = before_reshapes(lowerer.space, node)
    axes = lowerer.space.of.get(node, ())
    return any(a in lowerer.space.reduced for a in axes if a is not None)
