"""Views of inputs: which elements of an input an operand reads, as steps the host replays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.graph.scalars import AttrRef, Binary, Const, DimRef, Numel, ScalarExpr, fold
from msopgen_wrap.schedule.axis_names import OpenOrder
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

_ZERO = Const(0)
_ONE = Const(1)

# What an operand of a row kernel spans: every element; one number per row, with dimensions of size
# 1 in place of the reduced axes; or without these dimensions, as a result without keepdim.
FULL, ROW, SQUEEZED = "full", "row", "squeezed"

# The call of ``graph.placement.place`` in a graph.
PLACE = "opgen.place.default"
# Views that do not keep apart what lies inside and around the elements of an input.
_WITHOUT_SURROUNDINGS = ("aten.diagonal.default", "aten.unfold.default")


@dataclass(frozen=True)
class Step:
    """One view step; axes count from the end (negative) wherever the rank may differ.

    ``op`` is one of ``slice`` (axis, start, length), ``slab`` (the same, of an output),
    ``unsqueeze`` (axis in the result), ``squeeze`` (axis), ``permute`` (order of the last axes, or
    of the first ``axis`` and the last ones, or
    in ``start`` the list attr that orders all of them), ``select`` (axis, index), ``flip`` (axis),
    ``every`` (axis, step in ``length``), ``diagonal`` (two axes, shift in ``start``), ``unfold``
    (axis, size of a window in ``length``, step in ``start``), ``place`` (axis, elements before in
    ``start``, the new size in ``length``, the size before in ``shape``: elements outside are
    unspecified), ``behind`` (axes of size 1 at the end, until there are ``start`` more axes than
    the input ``tensor`` has), ``reshape`` (shape, where a size of -1 is what is left; with an axis,
    that of the axes from there to the end, or before it where it counts from the front).
    """

    op: str
    axis: int = 0
    start: ScalarExpr = _ZERO
    length: ScalarExpr = _ZERO
    axes: tuple[int, ...] = ()
    shape: tuple[ScalarExpr, ...] = ()
    tensor: str = ""

    @property
    def scalars(self) -> tuple[ScalarExpr, ...]:
        """The numbers that the host evaluates."""
        return (self.start, self.length, *self.shape)

    @property
    def named(self) -> bool:
        """Whether an attr gives the order of all axes."""
        return self.op == "permute" and isinstance(self.start, AttrRef)


@dataclass(frozen=True)
class Counted:
    """The numbers start, start + step, ... of an axis: they have an address and no memory.

    Attributes:
        length: how many.
        start, step: integers; of floats, what the first and the difference are.
        floating: whether they are float32 numbers.
        shape: the input in whose shape they lie, whatever its rank; empty: along one axis.
    """

    length: ScalarExpr
    start: ScalarExpr = _ZERO
    step: ScalarExpr = _ONE
    floating: bool = False
    shape: str = ""


@dataclass(frozen=True)
class View:
    """An input, or numbers counted along an axis, seen through steps.

    Attributes:
        rank: the rank in the traced sample.
        extent: ``FULL``, ``ROW`` or ``SQUEEZED``; views of one input that differ in it are
            operands of their own.
        leading: dimensions that an expand has put in front and no step has made yet: broadcasting
            adds them, unless a later step names one.
        counted: the numbers, where it is no input (``tensor`` is empty then).
    """

    tensor: str
    rank: int
    steps: tuple[Step, ...] = ()
    extent: str = FULL
    leading: int = 0
    counted: Counted | None = None

    def with_leading(self) -> View:
        """Return the view with steps that make the dimensions in front."""
        rank = self.rank - self.leading
        made = tuple(Step("unsqueeze", -(rank + i + 1)) for i in range(self.leading))
        return replace(self, steps=(*self.steps, *made), leading=0)

    @property
    def placed(self) -> bool:
        """Whether it has elements around those of the input."""
        return any(step.op == "place" for step in self.steps)

    @property
    def transposable(self) -> bool:
        """Whether elements of the last axis may lie apart, so that UB is where they are joined."""
        transposing = ("permute", "diagonal", "unfold")
        choosing = ("every", "flip", "select")
        last = [step for step in self.steps if step.axis == -1]
        apart = any(step.op in choosing or step.length == _ONE for step in last)
        # one number for each of a few columns; two such axes are no pairs
        same = [step.op for step in last].count("unsqueeze") == 1
        moved = any(step.op in transposing for step in self.steps)
        return not self.placed and (moved or apart or same)

    @property
    def rearranged(self) -> bool:
        """Whether the elements are not all of the input's in its order: no reshape may follow."""
        kept = ("reshape", "squeeze", "unsqueeze")
        return any(step.op not in kept for step in self.steps)

    @property
    def shapes(self) -> set[str]:
        """The other inputs of which the host reads the rank or the shape to replay the view."""
        found = {step.tensor for step in self.steps if step.tensor}
        return found | ({self.counted.shape} if self.counted and self.counted.shape else set())

    def scalars(self) -> list[ScalarExpr]:
        """Return the expressions that the host evaluates to replay the view."""
        found = [e for step in self.steps for e in step.scalars]
        if self.counted is not None:
            found += [self.counted.length]
            found += [] if self.counted.floating else [self.counted.start, self.counted.step]
        return found

    @staticmethod
    def of_input(tensor: str, rank: int) -> View:
        """Return the whole input."""
        return View(tensor, rank)


@dataclass(frozen=True)
class Span:
    """Sizes that an ``expand`` gives to the iteration space beside those of the operands.

    Attributes:
        tensor: the input whose shape it is, whatever its rank; else empty.
        sizes: the last sizes of the space (1: whatever the operands have).
    """

    tensor: str = ""
    sizes: tuple[ScalarExpr, ...] = ()

    @staticmethod
    def of(sizes: list[Any]) -> Span:
        """Return the span of the sizes that ``expand`` is called with."""
        exprs = tuple(Const(1) if s == -1 else _expr(s) for s in sizes)
        refs = [e for e in exprs if isinstance(e, DimRef)]
        if refs and len(refs) == len(exprs) == refs[0].rank:
            first = refs[0].tensor
            if all(r.tensor == first and r.axis == i for i, r in enumerate(refs)):
                return Span(first)
        return Span(sizes=exprs)

    def covered(self, whole: set[str]) -> bool:
        """Whether operands that are these inputs from end to end have all of it already."""
        if self.tensor:
            return self.tensor in whole
        return all(
            e == Const(1)
            or (
                isinstance(e, DimRef)
                and e.tensor in whole
                and e.axis - e.rank == i - len(self.sizes)
            )
            for i, e in enumerate(self.sizes)
        )


@dataclass(frozen=True)
class StoredShape:
    """Sizes of a temporary that is written in another shape than it has.

    Attributes:
        written: the sizes that the kernel works through.
        own: the sizes that the temporary has.
    """

    written: tuple[ScalarExpr, ...]
    own: tuple[ScalarExpr, ...]

    @property
    def sizes(self) -> tuple[ScalarExpr, ...]:
        """All sizes."""
        return (*self.written, *self.own)


@dataclass(frozen=True)
class Reshaped:
    """A value that an output holds in another shape.

    Attributes:
        nodes: the reshapes, each one of what the one before it gives.
        value: the node whose elements they are, in their order.
        sizes: the sizes of that node.
    """

    nodes: tuple[Any, ...]
    value: Any
    sizes: tuple[ScalarExpr, ...]


@dataclass(frozen=True)
class InSlab:
    """A value that is some elements of an output along an axis.

    Attributes:
        value: the node, or a number.
        rank: of the output.
        step: the slice of the output.
    """

    value: Any
    rank: int
    step: Step


def _from_end(axis: int, rank: int) -> int:
    return axis - rank if axis >= 0 else axis


def _from_front(axis: int, rank: int) -> int:
    return axis % max(1, rank)


# Views that give several, whose axis is their third argument.
SPLITS = ("aten.split.Tensor", "aten.split_with_sizes.default")


# One case per view of ATen; splitting would hide the table.
def apply_view(
    view: View,
    target: str,
    args: list[Any],
    node: Node,
    size_of: Callable[[int], ScalarExpr | None] = lambda axis: None,
    *,
    front: bool = False,
    order: OpenOrder | None = None,
) -> Any:
    """Return the view after an ATen view op (a list of views for a split).

    Args:
        size_of: what gives the size of an axis of the view, where its steps do not.
        front: whether its axes count from the front at every rank, else from the end.
        order: of a permute whose axes count from both ends, its first and its last axes.
    """
    counted = _from_front if front else _from_end
    if target != "aten.expand.default" and view.leading:
        view = view.with_leading()
    rank = view.rank

    def then(step: Step, change: int = 0) -> View:
        return replace(view, rank=rank + change, steps=(*view.steps, step), leading=0)

    if view.placed and target in _WITHOUT_SURROUNDINGS:
        raise OpgenError(
            Diagnostic(
                "OPG331",
                f"{target} has no lowering on what is joined or padded",
                fix="take this view before `cat` or `pad`, or use `kernel:`",
            )
        )
    if target == PLACE:
        axis = counted(args[0], rank)
        return then(Step("place", axis, _expr(args[1]), _expr(args[2]), shape=(_expr(args[3]),)))
    if target == "aten.flip.default":
        for axis in args[0]:
            view = replace(view, steps=(*view.steps, Step("flip", counted(axis, rank))))
        return view

    if target == "aten.expand.default":
        # Broadcasting is decided on the host from the shapes; new leading dims included.
        extra = max(0, len(args[0]) - rank)
        return replace(view, rank=rank + extra, leading=view.leading + extra)
    if target == "aten.unsqueeze.default":
        axis = counted(args[0], rank + 1)
        return then(Step("unsqueeze", axis), 1)
    if target in ("aten.squeeze.dim", "aten.squeeze.dims"):
        axes = args[0] if isinstance(args[0], list) else [args[0]]
        # from the far end, so that those that are left keep their numbers
        for axis in sorted((counted(a, rank) for a in axes), reverse=front):
            view = replace(view, rank=view.rank - 1, steps=(*view.steps, Step("squeeze", axis)))
        return view
    if target in ("aten.permute.default", "aten.transpose.int", "aten.t.default"):
        if args and isinstance(args[0], AttrRef):
            return then(Step("permute", start=args[0]))
        if order is not None:
            return then(Step("permute", len(order[0]), axes=(*order[0], *order[1])))
        last = _permutation(target, args, rank)
        while last and last[0] == -len(last):
            last = last[1:]  # stays in front, with whatever a tensor of higher rank has there
        return then(Step("permute", axes=last)) if last else view
    if target == "aten.select.int":
        axis = counted(args[0], rank)
        return then(Step("select", axis, _expr(args[1])), -1)
    if target == "aten.slice.Tensor":
        return _slice(view, args, node, size_of, counted)
    if target == "aten.diagonal.default":
        shift = args[0] if args else 0
        first = args[1] if len(args) > 1 else 0
        second = args[2] if len(args) > 2 else 1
        pair = (_from_end(first, rank), _from_end(second, rank))
        return then(Step("diagonal", start=_expr(shift), axes=pair), -1)
    if target == "aten.unfold.default":
        axis = counted(args[0], rank)
        return then(Step("unfold", axis, _expr(args[2]), _expr(args[1])), 1)
    if target in SPLITS:
        return _split(view, target, args, node, size_of, counted)
    raise OpgenError(
        Diagnostic("OPG331", f"{target} has no lowering as a view of input {view.tensor!r}")
    )


def _permutation(target: str, args: list[Any], rank: int) -> tuple[int, ...]:
    if target == "aten.permute.default":
        return tuple(_from_end(a, rank) for a in args[0])
    order = list(range(-rank, 0))
    if rank < 2:
        return tuple(order)
    first, second = (args[0], args[1]) if target == "aten.transpose.int" else (0, 1)
    i, j = first % rank, second % rank
    order[i], order[j] = order[j], order[i]
    return tuple(order)


def _expr(value: Any) -> ScalarExpr:
    return Const(value) if isinstance(value, int) else value


_Sizes = Callable[[int], "ScalarExpr | None"]
_Count = Callable[[int, int], int]


def _dim(view: View, axis: int, size_of: _Sizes) -> ScalarExpr:
    """Size of an axis of a view, as an expression over input sizes."""
    size: ScalarExpr | None = None
    position = axis % view.rank
    for step in reversed(view.steps):
        if step.op == "slice" and (step.axis < 0) != (axis < 0):
            raise OpgenError(
                Diagnostic(
                    "OPG334",
                    "an axis that slices count from both ends has no known size",
                    Location(),
                    "at some rank the slice before is one of the same axis",
                    "count axes from one end, or fix the rank of the input",
                )
            )
        if step.op == "slice" and step.axis % view.rank == position:
            size = step.length
            break
        if step.named:
            raise OpgenError(
                Diagnostic(
                    "OPG334",
                    "an axis that an attr orders has no known size",
                    Location(),
                    "which size of the input it has is known when the op is called",
                    "slice before the axes are ordered",
                )
            )
        if step.op not in ("slice", "flip"):
            size = size_of(position)
            if size is not None:
                return size
            raise OpgenError(
                Diagnostic(
                    "OPG334",
                    "a slice of a reshaped input has no known size",
                    Location(),
                    "the size of the sliced axis follows from the reshape alone, not from an input",
                    "slice before the reshape, or give the length of the slice",
                )
            )
    if size is not None:
        return size
    if view.counted is not None:
        return view.counted.length
    return DimRef(view.tensor, position, view.rank, axis)


def _slice(
    view: View, args: list[Any], node: Node, size_of: _Sizes, counted: _Count = _from_end
) -> View:
    axis = counted(args[0] if args else 0, view.rank)
    start = args[1] if len(args) > 1 and args[1] is not None else 0
    end = args[2] if len(args) > 2 else None
    step = args[3] if len(args) > 3 else 1
    if step != 1:
        if view.placed:
            raise OpgenError(
                Diagnostic(
                    "OPG331",
                    "a slice with a step has no lowering on what is joined or padded",
                    fix="take it before `cat` or `pad`, or use `kernel:`",
                )
            )
        every = Step("every", axis, length=_expr(step))
        whole = view
        if start != 0 or not (end is None or _is_max(end)):
            whole = _slice(view, [*args[:3]], node, size_of, counted)
        return replace(whole, steps=(*whole.steps, every))
    size = _dim(view, axis, size_of)
    begin = _clip(_expr(start), size)
    stop = size if end is None or _is_max(end) else _clip(_expr(end), size)
    if begin == Const(0) and stop == size:
        return view
    length = fold("max", Binary("-", stop, begin), Const(0))
    return replace(view, steps=(*view.steps, Step("slice", axis, begin, length)))


def _is_max(value: Any) -> bool:
    return isinstance(value, int) and value >= 2**62


def _clip(position: ScalarExpr, size: ScalarExpr) -> ScalarExpr:
    """Where a slice begins or ends, in 0 .. size; negative positions count from the end."""
    if isinstance(position, Const):
        if position.value == 0:
            return position
        if position.value < 0:
            return Binary("max", Binary("+", size, position), Const(0))
    elif not _not_negative(position):
        negative = fold("min", fold("max", fold("neg", position), Const(0)), Const(1))
        from_start = Binary("+", position, Binary("*", size, negative))
        return Binary("max", Binary("min", from_start, size), Const(0))
    return Binary("min", position, size)


def _not_negative(expr: ScalarExpr) -> bool:
    """Whether an expression cannot be negative, whatever the sizes and attrs are."""
    if isinstance(expr, Const):
        return expr.value >= 0
    if isinstance(expr, (DimRef, Numel)):
        return True
    if not isinstance(expr, Binary):
        return False
    left, right = _not_negative(expr.left), _not_negative(expr.right)
    if expr.op == "max":
        return left or right
    return expr.op in ("+", "*", "//", "%", "min") and left and right


def _split(
    view: View, target: str, args: list[Any], node: Node, size_of: _Sizes, counted: _Count
) -> list[View]:
    axis = counted(args[1] if len(args) > 1 else 0, view.rank)
    count = len(node.meta["val"]) if "val" in node.meta else 0
    size = _dim(view, axis, size_of)
    start: ScalarExpr = Const(0)
    parts = []
    for i in range(count):
        if target == "aten.split.Tensor":
            chunk = _expr(args[0])
            length: ScalarExpr = Binary("min", chunk, Binary("-", size, start)) if i else chunk
        else:
            length = _expr(args[0][i])
        parts.append(replace(view, steps=(*view.steps, Step("slice", axis, start, length))))
        start = length if start == Const(0) else Binary("+", start, length)
    return parts
