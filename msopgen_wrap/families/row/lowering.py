"""Lower graphs with reductions: which axes each value spans, and the reductions themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.scalars import Binary, Const, ReducedCount, ScalarExpr, fold
from msopgen_wrap.schedule import comparisons
from msopgen_wrap.schedule.lowering import (
    DIFFERENCES,
    RESHAPES,
    VIEW_OPS,
    Lowerer,
    lowers,
    target_name,
)
from msopgen_wrap.schedule.program import F32, I32, MASK, Inst, Scalar, Val
from msopgen_wrap.schedule.reductions import REDUCTIONS, reduced_dims, reduction_kind
from msopgen_wrap.schedule.views import FULL, ROW, SQUEEZED, View, apply_view
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

Axes = tuple["int | None", ...]

_WRITTEN_REDUCTION = re.compile(r"\b(?:sum|mean|amax|amin|max|min|any|all|prod|var|std|norm)\(")


def _keepdim_advice(text: str) -> str:
    """Return the fix for lost axes: keepdim is only for reductions that the code itself writes."""
    if _WRITTEN_REDUCTION.search(text):
        return "use keepdim=True in the reduction, or write the kernel with `kernel:`"
    return "split the op, or write the kernel with `kernel:`"


def _keepdim(node: Node) -> bool:
    position = 2
    if len(node.args) > position:
        return bool(node.args[position])
    return bool(node.kwargs.get("keepdim", False))


def _shape(node: Any) -> tuple[Any, ...]:
    value: Any = node.meta.get("val")
    value = value[0] if isinstance(value, (list, tuple)) else value
    return tuple(value.shape) if hasattr(value, "shape") else ()


def _is_one(size: Any) -> bool:
    """Whether a size is 1 in every call: a number, or a symbol that the trace has settled."""
    if isinstance(size, torch.SymInt):
        return size.node.maybe_as_int() == 1
    return isinstance(size, int) and size == 1


# Views that add, drop or repeat axes of size 1.
_AXES_OF_ONE = {
    "aten.expand.default",
    "aten.unsqueeze.default",
    "aten.squeeze.default",
    "aten.squeeze.dim",
    "aten.squeeze.dims",
}
_ORDERS = {"aten.permute.default", "aten.transpose.int", "aten.t.default"}


def _sizes_above_one(node: Any) -> list[Any]:
    """Return the sizes of a tensor as comparable expressions, without those that are always 1."""
    sizes = [s for s in _shape(node) if not _is_one(s)]
    return [s.node.expr if isinstance(s, torch.SymInt) else s for s in sizes]


def _is_stored(node: Node) -> bool:
    """Whether a reshape goes to outputs alone, through pointwise work on it alone at most."""
    return target_name(node) in RESHAPES and _leads_to_outputs(node)


def _leads_to_outputs(node: Node) -> bool:
    return all(u.op == "output" or (_works_alone(u) and _leads_to_outputs(u)) for u in node.users)


def _works_alone(node: Node) -> bool:
    """Whether a call has one tensor argument and gives the result its shape, or a reshape of it."""
    same = {"aten.clone.default", "aten.alias.default"} | _AXES_OF_ONE - {"aten.expand.default"}
    if target_name(node) in RESHAPES | same:
        return True
    tags = getattr(node.target, "tags", ())
    tensors = [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), torch.Tensor)]
    return torch.Tag.pointwise in tags and len(tensors) == 1


@dataclass
class RowLowerer(Lowerer):
    """Lowers a graph whose reductions all run over the same axes of one iteration space.

    Attributes:
        rank: rank of the iteration space in the sample.
        reduced: its reduced axes (sample numbering).
        axes: node -> space axis behind each of its dims (None: size 1).
        free: nodes of fewer dims made of inputs alone; what they line up with is not known before
            they meet a reduction.
        row_loads: ids of loaded values that do not span a reduced axis.
        output_axes: output name -> its axes.
    """

    rank: int = 0
    reduced: frozenset[int] = frozenset()
    axes: dict[Node, Axes] = field(default_factory=dict)
    free: set[Node] = field(default_factory=set)
    row_loads: set[int] = field(default_factory=set)
    _current: Node | None = None

    # ---- axes ----------------------------------------------------------------------------------

    def find_axes(self) -> None:
        """Find the iteration space, the reduced axes, and the axes of every node."""
        first = next(n for n in self.traced.graph.nodes if reduction_kind(n))
        operand = first.args[0]
        self.rank = len(_shape(operand))
        for node in self.traced.graph.nodes:
            if node.op == "placeholder":
                self.axes[node] = self._aligned(_shape(node))
            elif node.op == "call_function":
                self.axes[node] = self._node_axes(node)

    def _aligned(self, shape: tuple[Any, ...]) -> Axes:
        start = self.rank - len(shape)
        return tuple(
            None if _is_one(s) or start + i < 0 else start + i for i, s in enumerate(shape)
        )

    def _is_view(self, node: Any) -> bool:
        """Whether a node is an input or a chain of views of one."""
        if not isinstance(node, Node):
            return False
        if node.op == "placeholder":
            return True
        target = target_name(node)
        if target in VIEW_OPS or target in RESHAPES or target == "operator.getitem":
            return self._is_view(node.args[0])
        return target in ("aten.alias.default", "aten.clone.default", "aten.detach.default") and (
            self._is_view(node.args[0])
        )

    def _node_axes(self, node: Node) -> Axes:
        if self._is_view(node):
            return self._aligned(_shape(node))
        target = target_name(node)
        source = node.args[0] if node.args else None
        known = self.axes.get(source, ()) if isinstance(source, Node) else ()
        if reduction_kind(node):
            dims = reduced_dims(node, len(known))
            self._note_reduction(node, known, dims)
            if _keepdim(node):
                return tuple(None if i in dims else a for i, a in enumerate(known))
            return tuple(a for i, a in enumerate(known) if i not in dims)
        if target == "aten.unsqueeze.default":
            place: Any = node.args[1]
            axis = int(place) % (len(known) + 1)
            if source in self.free:
                return self._free_axes(node)
            return (*known[:axis], None, *known[axis:])
        if target in ("aten.squeeze.dim", "aten.squeeze.dims"):
            listed: Any = node.args[1]
            listed = listed if isinstance(listed, (list, tuple)) else [listed]
            gone = {int(d) % len(known) for d in listed}
            return tuple(a for i, a in enumerate(known) if i not in gone)
        if target == "aten.expand.default":
            axes = (*([None] * (len(_shape(node)) - len(known))), *known)
            if len(axes) == self.rank and all(a in (None, i) for i, a in enumerate(axes)):
                return self._aligned(_shape(node))  # sizes of 1 may have become axes
            return axes
        if target in RESHAPES:
            return tuple(range(len(_shape(node))))
        if target == "operator.getitem":
            return known
        arguments = [a for a in node.all_input_nodes if a in self.axes]
        if arguments and all(self._is_view(a) or a in self.free for a in arguments):
            return self._free_axes(node)
        return self._broadcast_axes(node)

    def _free_axes(self, node: Node) -> Axes:
        """Line a node of inputs alone up from the right, until a result says otherwise."""
        axes = self._aligned(_shape(node))
        if len(axes) < self.rank:
            self.free.add(node)
        self._realign(node, axes)
        return axes

    def _realign(self, node: Node, axes: Axes) -> None:
        """Give a node, and the nodes of inputs alone that it is made of, other axes."""
        self.axes[node] = axes
        below = axes
        if target_name(node) == "aten.unsqueeze.default":
            place: Any = node.args[1]
            at = int(place) % len(axes)
            below = (*axes[:at], *axes[at + 1 :])
        for source in node.all_input_nodes:
            if source in self.free:
                shape = _shape(source)
                tail = below[len(below) - len(shape) :]
                self._realign(
                    source,
                    tuple(None if _is_one(n) else a for n, a in zip(shape, tail, strict=True)),
                )

    def _note_reduction(self, node: Node, known: Axes, dims: tuple[int, ...]) -> None:
        axes = frozenset(a for i, a in enumerate(known) if i in dims and a is not None)
        if not self.reduced:
            self.reduced = axes
        elif axes != self.reduced:
            raise OpgenError(
                Diagnostic(
                    "OPG335",
                    f"{target_name(node)} reduces other axes than the reductions before it",
                    self.location(target_name(node).split(".")[1].lstrip("_")),
                    "a row kernel works through one iteration space and reduces the same axes of "
                    "it throughout",
                    "split the op, or write the kernel with `kernel:`",
                )
            )

    def _broadcast_axes(self, node: Node) -> Axes:
        rank = len(_shape(node))
        merged: list[int | None] = [None] * rank
        arguments = [a for a in node.all_input_nodes if a in self.axes]
        computed = [a for a in arguments if not self._is_view(a) and a not in self.free]
        for argument in computed:
            axes = self.axes[argument]
            for i, axis in enumerate(axes):
                at = rank - len(axes) + i
                if axis is None or at < 0:
                    continue
                if merged[at] not in (None, axis):
                    raise self._other_axes(node)
                merged[at] = axis
        for argument in arguments:
            for i, size in enumerate(_shape(argument)):
                at = rank - len(_shape(argument)) + i
                if at >= 0 and merged[at] is None and not _is_one(size):
                    merged[at] = self.rank - rank + at if self.rank >= rank else None
        for argument in arguments:
            if argument in self.free:
                shape = _shape(argument)
                self._realign(
                    argument,
                    tuple(
                        None if _is_one(n) else a
                        for n, a in zip(shape, merged[rank - len(shape) :], strict=True)
                    ),
                )
        return tuple(merged)

    def _other_axes(self, node: Node) -> OpgenError:
        return OpgenError(
            Diagnostic(
                "OPG336",
                f"{target_name(node)} lines up different axes",
                self.location(target_name(node).split(".")[1]),
                "a reduced result is broadcast against another axis than it came from",
                _keepdim_advice(self.spec.compute.text if self.spec.compute else ""),
            )
        )

    # ---- lowering ------------------------------------------------------------------------------

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

    def note_span(self, node: Node) -> None:
        """Remember the sizes of an expand of what has all axes of the space, in their order."""
        if all(a in (None, i) for i, a in enumerate(self.axes[node])) and (
            len(self.axes[node]) == self.rank
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
        if target in _AXES_OF_ONE or _is_stored(node):
            return
        before, after = (_sizes_above_one(n) for n in (node.args[0], node))
        if target in _ORDERS or before != after:
            raise OpgenError(self.unsupported(node, "a computed result"))

    def _reduced_count(self, node: Node) -> ScalarExpr:
        source: Any = node.args[0]
        dims: Any = node.args[1]
        axes = self.axes[source]
        named = {axes[int(d)] for d in dims if axes[int(d)] is not None}
        return ReducedCount() if named == set(self.reduced) else super()._reduced_count(node)

    def _load(self, view: View) -> Val:
        if view.placed or view.counted is not None:
            assert self._current is not None
            what = "joined or padded tensors" if view.placed else "numbers counted from an index"
            raise OpgenError(self.unsupported(self._current, f"{what} beside a reduction"))
        extent = self._extent(self._load_axes(view))
        value = super()._load(replace(view, extent=extent))
        if extent != FULL:
            self.row_loads.add(value.id)
        return value

    def _extent(self, axes: Axes) -> str:
        """Return what an operand with these axes spans."""
        if any(a in self.reduced for a in axes if a is not None):
            return FULL
        if all(a in (None, self.rank - len(axes) + i) for i, a in enumerate(axes)):
            return ROW
        kept = [a for a in range(self.rank) if a not in self.reduced]
        if len(axes) <= len(kept) and all(
            a in (None, k) for a, k in zip(axes[::-1], kept[::-1], strict=False)
        ):
            return SQUEEZED
        assert self._current is not None
        raise self._other_axes(self._current)

    def _load_axes(self, view: View) -> Axes:
        assert self._current is not None
        for argument in self._current.all_input_nodes:
            if self.values.get(argument) == view:
                own = self.axes[argument]
                result = self.axes[self._current]
                if reduction_kind(self._current):
                    return own
                return tuple(
                    None if o is None else result[len(result) - len(own) + i]
                    for i, o in enumerate(own)
                    if len(result) - len(own) + i >= 0
                )
        return tuple(range(self.rank))

    def reduce(self, kind: str, value: Val) -> Val:
        """Append a reduction over the reduced axes."""
        dst = self.program.value(F32, "row")
        scratch = self.program.value(F32)
        self.program.insts.append(Inst("Reduce", dst, (value,), kind, (scratch,), self._note))
        return dst


DIFFERENCES.update(
    dict.fromkeys(
        ("aten.sum", "aten.mean"),
        "adds in float32 and in an order of its own: magnitudes that add up to more than 3.4e38 "
        "may overflow or cancel otherwise than PyTorch's",
    )
)


@lowers(*(f"aten.{name}" for name in REDUCTIONS))
def _reduction(low: Lowerer, node: Node) -> Any:
    assert isinstance(low, RowLowerer)
    kind = reduction_kind(node)
    operand = low.operand(node.args[0])
    if isinstance(operand, Scalar) and kind in ("sum", "mean", "max", "min"):
        # every element is the same number
        count = fold("*", operand.expr, ReducedCount()) if kind == "sum" else operand.expr
        return Scalar(count, operand.kind)
    if kind in ("any", "all"):
        number = low.tile(low.as_kind(low.as_kind(operand, MASK), F32))
        reduced = low.reduce("max" if kind == "any" else "min", number)
        return low.as_kind(reduced, MASK)
    if operand.kind == I32:
        raise OpgenError(low.unsupported(node, "integers"))
    value = low.tile(low.as_kind(operand, F32))
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
    hit = low.emit("Compare", MASK, value, best, mode="EQ")
    number = low.emit("Compare", MASK, value, value, mode="EQ")
    nan = low.emit("MaskNot", MASK, number)
    either = comparisons.logical_masks(low, "or", hit, nan)
    # 2^24 bounds positions that float holds exactly; the tiling function checks it.
    candidate = low.emit("Selects", F32, either, position, Scalar(Const(16777216.0)))
    first = low.reduce("min", candidate)
    return low.emit("Cast", I32, first, mode="CAST_RINT")


def view_of(view: View, target: str, args: list[Any], node: Node) -> Any:
    """Apply a view op (kept here for tests)."""
    return apply_view(view, target, args, node)
