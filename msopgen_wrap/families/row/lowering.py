"""Lower graphs with reductions: what operands span, which views a kernel takes, how it reduces."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.row.axes import Axes, GraphAxes, result_shape
from msopgen_wrap.families.row.columns import refused
from msopgen_wrap.graph.axes_of_one import is_one, sizes_of
from msopgen_wrap.graph.scalars import Binary, Const, ReducedCount, ScalarExpr, fold
from msopgen_wrap.schedule import comparisons
from msopgen_wrap.schedule.calls import (
    AXES_OF_ONE,
    DIFFERENCES,
    REDUCTIONS,
    RESHAPES,
    VIEW_OPS,
    Node,
    reduction_kind,
    target_name,
    tensor_arguments,
)
from msopgen_wrap.schedule.lowering import Lowerer, lowers
from msopgen_wrap.schedule.program import F32, I32, MASK, Inst, Scalar, Val
from msopgen_wrap.schedule.views import FULL, PLACE, ROW, SQUEEZED, Step, View
from msopgen_wrap.spec.model import TensorParam
from msopgen_wrap.torch_import import torch

# Views that move elements, also where they leave all sizes as they are.
_MOVES = {
    "aten.permute.default",
    "aten.transpose.int",
    "aten.t.default",
    "aten.flip.default",
    "aten.diagonal.default",
    PLACE,
}


def _sizes_above_one(node: Any) -> list[Any]:
    """Return the sizes of a tensor as comparable expressions, without those that are always 1."""
    sizes = [s for s in result_shape(node) if not is_one(s)]
    return [s.node.expr if isinstance(s, torch.SymInt) else s for s in sizes]


def _is_stored(node: Node) -> bool:
    """Whether a reshape goes to outputs alone, through pointwise work on it alone at most."""
    return target_name(node) in RESHAPES and _leads_to_outputs(node)


def _leads_to_outputs(node: Node) -> bool:
    return all(u.op == "output" or (_works_alone(u) and _leads_to_outputs(u)) for u in node.users)


def _works_alone(node: Node) -> bool:
    """Whether a call has one tensor argument and gives the result its shape, or a reshape of it."""
    same = {"aten.clone.default", "aten.alias.default"} | AXES_OF_ONE - {"aten.expand.default"}
    if target_name(node) in RESHAPES | same:
        return True
    tags = getattr(node.target, "tags", ())
    return torch.Tag.pointwise in tags and len(tensor_arguments(node)) == 1


@dataclass
class RowLowerer(Lowerer):
    """Lowers a graph whose reductions all run over the same axes of one iteration space.

    Attributes:
        spread: whether operands with axes have an element for each of the space, also where no axis
            of them is reduced in the sample: an attr may choose one of theirs.
        space: the axes of every node in that space.
        row_loads: ids of loaded values that do not span a reduced axis.
        partial_loads: ids of those that span one, and lack another axis of the space.
    """

    padded = True
    spread: bool = False
    space: GraphAxes = field(init=False)
    row_loads: set[int] = field(default_factory=set)
    partial_loads: set[int] = field(default_factory=set)
    _current: Node | None = None

    def __post_init__(self) -> None:
        self.space = GraphAxes(self.spec, self.traced)

    def _call(self, node: Node) -> Any:
        self._current = node
        target = target_name(node)
        if target in RESHAPES:
            self._note = target
            return self._reshape(node)
        if target in VIEW_OPS and not isinstance(self.values.get(node.args[0]), View):  # type: ignore[arg-type]
            self._check_view(node)
            if target == "aten.expand.default":
                self.note_span(node)
            return self.values[node.args[0]]  # type: ignore[index]
        return super()._call(node)

    def lowered(self, node: Node) -> Any:
        """Return the value of a node; those behind a sum of columns have none in the program."""
        return None if node in self.space.beyond else super().lowered(node)

    def store_output(self, param: TensorParam, *, by_words: bool = False) -> bool:
        """Store an output, or add to the sums of columns that it is made of."""
        column = self.space.columns.get(param.name)
        if column is None:
            return super().store_output(param, by_words=by_words)
        self._current = column.reduction or column.operand
        operand = self.operand(column.operand)
        summed = column.reduction is None or self.joined_kind(column.reduction) == F32
        if not summed or not isinstance(operand, Val) or operand.kind != F32:
            raise refused(self.spec, param.name)
        note = f"sum of {param.name}"
        self.program.insts.append(Inst("AddColumns", None, (operand,), param.name, (), note))
        return False

    def note_span(self, node: Node) -> None:
        """Remember the sizes of an expand of what has all axes of the space, in their order."""
        if all(a in (None, i) for i, a in enumerate(self.space.of[node])) and (
            len(self.space.of[node]) == self.space.rank
        ):
            super().note_span(node)

    def _reshape(self, node: Node) -> Any:
        value = self.values[node.args[0]]  # type: ignore[index]
        if isinstance(value, View):
            return super()._reshape(node)
        self._check_view(node)
        return value

    def _check_view(self, node: Node) -> None:
        """Refuse a view of a computed value that moves elements: the kernel has one space.

        Axes of size 1 may come and go, and an output may be stored in another shape.
        """
        target = target_name(node)
        if target in AXES_OF_ONE or _is_stored(node):
            return
        before, after = (_sizes_above_one(n) for n in (node.args[0], node))
        if target in _MOVES or before != after:
            raise OpgenError(self.unsupported(node, "a computed result"))

    def _reduced_count(self, node: Node) -> ScalarExpr:
        source: Any = node.args[0]
        dims: Any = node.args[1]
        axes, sizes = self.space.of[source], sizes_of(source)
        own = [d for d in dims if self._has_axis(axes[d], sizes[d])]
        # others are axes of one element, or of a tensor that another pass has reduced
        beyond = any(d not in own and not is_one(sizes[d]) for d in dims)
        if not beyond and {axes[d] for d in own} == set(self.space.reduced):
            return ReducedCount()
        return super()._reduced_count(node)

    def _has_axis(self, axis: int | None, size: Any) -> bool:
        """Whether an axis of a value is one of the space, of the same length."""
        return axis is not None and self.space.same_size(self.space.sizes.get(axis), size)

    def _elements_per(self, tensor: str, reduced: str, axes: set[int]) -> ScalarExpr:
        rank = len(self.traced.shapes[tensor])
        if rank == self.space.rank and axes == set(self.space.reduced):
            return ReducedCount()
        return super()._elements_per(tensor, reduced, axes)  # the pass reduces other axes

    def _load(self, view: View) -> Val:
        axes = self._load_axes(view)
        extent = self._extent(axes)
        if extent == FULL:
            view = self._lined_up(view, axes)
        if view.placed and extent != FULL:
            assert self._current is not None
            what = "joined or padded numbers of rows"
            raise OpgenError(self.unsupported(self._current, what))
        value = super()._load(replace(view, extent=extent))
        if extent != FULL:
            self.row_loads.add(value.id)
        elif len({a for a in axes if a is not None}) < self.space.rank:
            self.partial_loads.add(value.id)
        return value

    def _lined_up(self, view: View, axes: Axes) -> View:
        """Return a view whose axes line up with the last ones of the space.

        The graph gives axes of size 1 to a value that is computed of the operand, behind its own.

        Raises:
            OpgenError: OPG336 where the axes of the operand have another order.
        """
        if all(a in (None, self.space.rank - len(axes) + i) for i, a in enumerate(axes)):
            return view
        view = view.with_leading()
        wanted = self.space.rank - 1
        place = -1
        for axis in reversed(axes):
            while axis is not None and axis < wanted:
                step = Step("unsqueeze", place)
                view = replace(view, rank=view.rank + 1, steps=(*view.steps, step))
                wanted, place = wanted - 1, place - 1
            if axis not in (None, wanted):
                assert self._current is not None
                raise self.space.other_axes(self._current)
            wanted, place = wanted - 1, place - 1
        return view

    def _extent(self, axes: Axes) -> str:
        """Return what an operand with these axes spans."""
        own = [a for a in axes if a is not None]
        if any(a in self.space.reduced for a in own) or (self.spread and own):
            return FULL
        if all(a in (None, self.space.rank - len(axes) + i) for i, a in enumerate(axes)):
            return ROW
        kept = [a for a in range(self.space.rank) if a not in self.space.reduced]
        if len(axes) <= len(kept) and all(
            a in (None, k) for a, k in zip(axes[::-1], kept[::-1], strict=False)
        ):
            return SQUEEZED
        assert self._current is not None
        raise self.space.other_axes(self._current)

    def _load_axes(self, view: View) -> Axes:
        """Return the axes behind an operand of the current call.

        A call that is matched together with calls before it reads the operands of these.
        """
        assert self._current is not None
        pending = [self._current]
        for node in pending:
            for argument in node.all_input_nodes:
                if self.values.get(argument) == view:
                    return self._axes_in(node, argument)
            pending += [n for n in node.all_input_nodes if n not in pending]
        for output in self.traced.outputs.values():
            if isinstance(output, Node) and self.values.get(output) == view:
                return self.space.of[output]  # a view that is stored as it is
        return tuple(range(self.space.rank))

    def _axes_in(self, node: Node, argument: Node) -> Axes:
        """Return the axes behind an argument of a call, lined up with those of the result."""
        own = self.space.of[argument]
        if reduction_kind(node):
            return own
        result = self.space.of[node]
        return tuple(
            None if o is None else result[len(result) - len(own) + i]
            for i, o in enumerate(own)
            if len(result) - len(own) + i >= 0
        )

    def joined_kind(self, node: Node) -> str:
        """Return what the elements of a sum, product or mean are joined in.

        Raises:
            OpgenError: OPG332 where int32 may not hold 64-bit results.
        """
        if self.dtype(node) == "int64" and self._bounds(node) is None:
            raise OpgenError(
                Diagnostic(
                    "OPG332",
                    f"{target_name(node)} gives int64, whose values nothing bounds",
                    self.location(target_name(node).split(".")[1]),
                    "generated kernels add and multiply integers in int32, and TilingFunc checks "
                    "that as many of the largest elements fit; a sum of elements that are as large "
                    "as int32 itself has no such bound, and a product has none",
                    "give it dtype=torch.int32 or convert the result to int32, which wraps as "
                    "PyTorch's does, bound its elements (`x.clamp(0, 1)`), or reduce a narrower "
                    "type",
                )
            )
        return self.kind(node)

    def _elements(self, node: Node) -> ScalarExpr | None:
        return ReducedCount() if reduction_kind(node) else None

    def reduce(self, kind: str, value: Val) -> Val:
        """Append a reduction over the reduced axes, of floats or int32."""
        dst = self.program.value(value.kind, "row")
        scratch = self.program.value(value.kind)
        self.program.insts.append(Inst("Reduce", dst, (value,), kind, (scratch,), self._note))
        return dst


DIFFERENCES.update(
    dict.fromkeys(
        ("aten.sum", "aten.mean"),
        "adds in float32 and in an order of its own: magnitudes that add up to more than 3.4e38 "
        "may overflow or cancel otherwise than PyTorch's",
    )
)
DIFFERENCES["aten.sum of integers"] = (
    "adds in int32: TilingFunc refuses shapes of which the largest elements would not fit"
)
DIFFERENCES["aten.prod"] = (
    "multiplies in float32 and in an order of its own: products of a part of the elements may "
    "overflow or vanish where PyTorch's do not"
)


@lowers(*(f"aten.{name}" for name in REDUCTIONS))
def _reduction(low: Lowerer, node: Node) -> Any:
    if not isinstance(low, RowLowerer):
        raise OpgenError(
            Diagnostic(
                "OPG335",
                f"compute of {low.spec.op} reduces for some dtypes or ranks, and not for others",
                low.location(target_name(node).split(".")[1]),
                "a pass reduces in all that it serves, or in none",
                "split the op, or write the kernel with `kernel:`",
            )
        )
    kind = reduction_kind(node)
    operand = low.operand(node.args[0])
    if isinstance(operand, Scalar) and kind in ("sum", "mean", "max", "min"):
        # every element is the same number
        count = fold("*", operand.expr, ReducedCount()) if kind == "sum" else operand.expr
        return Scalar(count, operand.kind)
    if kind in ("any", "all") or (kind in ("max", "min") and operand.kind == MASK):
        number = low.tile(low.as_kind(low.as_kind(operand, MASK), F32))
        reduced = low.reduce("max" if kind in ("any", "max") else "min", number)
        # not `!= 0`: no elements at all give the identity of the reduction, an infinity
        return low.emit("Compares", MASK, reduced, Scalar(Const(0.0)), mode="GT")
    if kind in ("sum", "prod", "mean"):
        joined = low.joined_kind(node)
        if joined == I32:
            low.refine_note("of integers" if low.dtype(node) == "int64" else "in int32")
        operand = low.as_kind(operand, joined)
    value = low.tile(low.as_kind(operand, F32) if operand.kind == MASK else operand)
    if kind == "mean":
        total = low.reduce("sum", value)
        share = Scalar(Binary("/", Const(1.0), ReducedCount()), F32)
        return low.emit("Muls", F32, total, low.scalar(share, F32))
    if kind in ("argmax", "argmin"):
        return _arg_extremum(low, value, "max" if kind == "argmax" else "min")
    if kind in ("max_dim", "min_dim"):
        which = str(kind)[:3]
        return low.reduce(which, value), _arg_extremum(low, value, which)
    assert kind is not None
    return low.reduce(kind, value)


def _arg_extremum(low: RowLowerer, value: Val, which: str) -> Val:
    """Index of the first extreme element: the smallest position among those equal to it."""
    best = low.reduce(which, value)
    position = low.emit("Position", F32)
    hit: Any = low.emit("Compare", MASK, value, best, mode="EQ")
    if value.kind == F32:
        number = low.emit("Compare", MASK, value, value, mode="EQ")
        nan = low.emit("MaskNot", MASK, number)
        hit = comparisons.logical_masks(low, "or", hit, nan)
    # 2^24 bounds positions that float holds exactly; the tiling function checks it.
    candidate = low.emit("Selects", F32, hit, position, Scalar(Const(16777216.0)))
    first = low.reduce("min", candidate)
    return low.emit("Cast", I32, first, mode="CAST_RINT")
