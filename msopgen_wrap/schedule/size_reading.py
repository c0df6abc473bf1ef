"""Sizes and numbers of a traced graph as scalar expressions, which the tiling function computes."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.axes_of_one import is_one
from msopgen_wrap.graph.sample import count_attrs
from msopgen_wrap.graph.scalars import (
    UNARY_FUNCTIONS,
    Binary,
    Const,
    DimRef,
    Numel,
    ScalarExpr,
    Unary,
    fold,
    with_numel,
    with_product,
)
from msopgen_wrap.graph.sizes import attr_symbols, size_of, size_symbols
from msopgen_wrap.schedule.axis_names import AxisNames
from msopgen_wrap.schedule.calls import (
    IDENTITY,
    RESHAPES,
    Node,
    is_expanded,
    target_name,
    tensor_arguments,
)
from msopgen_wrap.schedule.emission import Emitter
from msopgen_wrap.schedule.handed_bounds import HandedBounds
from msopgen_wrap.schedule.intervals import Interval
from msopgen_wrap.schedule.views import View
from msopgen_wrap.spec.model import ShapeLike, ShapeReduce
from msopgen_wrap.torch_import import torch


def _constants(expr: ScalarExpr) -> set[float]:
    """Return the numbers in an expression."""
    if isinstance(expr, Binary):
        return _constants(expr.left) | _constants(expr.right)
    if isinstance(expr, Unary):
        return _constants(expr.arg)
    return {expr.value} if isinstance(expr, Const) else set()


def _cut_length(view: Any, axis: int) -> ScalarExpr | None:
    """Return the length that a slice gave an axis of a view; None where no slice did.

    A trace takes every axis to be longer than what is cut off; of a shorter one nothing is left.
    """
    steps = view.steps if isinstance(view, View) else ()
    for step in reversed(steps):
        if step.op not in ("slice", "place"):
            return None
        if step.axis % view.rank == axis:
            return step.length if step.op == "slice" else None
    return None


# Function of two numbers in a traced graph -> operator of scalar expressions.
NUMBER_CALLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "max": "max",
    "min": "min",
    "sym_max": "max",
    "sym_min": "min",
}


def _axis_order(node: Node) -> list[int]:
    """Return the axis of its argument that each axis of a call is, none where it orders none."""
    axes = list(range(len(node.meta["val"].shape)))
    if target_name(node) == "aten.permute.default":
        order: Any = node.args[1]
        return [axes[int(axis)] for axis in order]
    if target_name(node) == "aten.transpose.int":
        one, other = (int(a) % len(axes) for a in node.args[1:3])  # type: ignore[arg-type]
        axes[one], axes[other] = other, one
        return axes
    return []


# Calls whose result has the shape of their first argument, without being pointwise.
_KEPT = (
    "aten.cumsum.default",
    "aten.cumprod.default",
    "aten.logcumsumexp.default",
    "aten.flip.default",
)

# Calls that are told the sizes of their result, and by which argument.
_TOLD = {**dict.fromkeys(RESHAPES, 1), "aten.expand.default": 1, "aten.full.default": 0}


@dataclass
class SizeReader(Emitter):
    """Lowers the calls whose results are numbers of the host: sizes, and arithmetic on them.

    Attributes:
        axis_names: what axes of the sample are for every rank.
    """

    axis_names: AxisNames = field(default_factory=AxisNames)

    def _size(self, source: Any, axis: int) -> Any:
        view = self.values[source]
        axis %= len(source.meta["val"].shape)
        if isinstance(view, View) and is_expanded(source):
            size = self._intermediate_size(source, axis)  # the view has the sizes of what is read
            if size is not None:
                return size
        if isinstance(view, View) and not view.steps and view.counted is not None:
            if not view.counted.shape:
                return view.counted.length
            tensor = view.counted.shape
            return DimRef(tensor, axis, view.rank, self.axis_names.get((tensor, axis)))
        if isinstance(view, View) and not view.steps:
            return DimRef(view.tensor, axis, view.rank, self.axis_names.get((view.tensor, axis)))
        size = self._intermediate_size(source, axis)
        if size is not None:
            return size
        raise OpgenError(
            Diagnostic(
                "OPG334",
                "compute uses the size of an intermediate tensor",
                self.location("shape"),
                "only what follows from the sizes of inputs is known to the tiling function",
                "take the size from an input",
            )
        )

    def _intermediate_size(self, source: Node, axis: int) -> ScalarExpr | None:
        while target_name(source) in IDENTITY:
            source = source.args[0]  # type: ignore[assignment]
        if target_name(source) in _TOLD:
            sizes: Any = source.args[_TOLD[target_name(source)]]
            if isinstance(sizes[axis], Node) or sizes[axis] >= 0:
                return self.scalar_expr(sizes[axis])
        cut = _cut_length(self.values.get(source), axis)
        size = self._size_of(source, axis) if cut is None else cut
        if size is None and target_name(source) in RESHAPES:
            return self._open_size(source, axis)
        return self._size_of_work(source, axis) if size is None else size

    def _open_size(self, source: Node, axis: int) -> ScalarExpr:
        """Return the size for which a reshape says -1: what the other sizes leave."""
        sizes: Any = source.args[1]
        others = [self.scalar_expr(size) for i, size in enumerate(sizes) if i != axis]
        left = Binary("max", Const(1), self._product(others))
        return fold("//", self._numel(source.args[0]), left)

    def _size_of_work(self, source: Node, axis: int) -> ScalarExpr | None:
        """Return a size that a call takes over from an argument.

        Of pointwise arguments it is that of one which is not broadcast there.
        """
        order = _axis_order(source)
        if order:
            moved: ScalarExpr = self._size(source.args[0], order[axis])
            return moved
        if target_name(source) in ("aten.unsqueeze.default", "opgen.place.default"):
            return self._size_beside(source, axis)
        if target_name(source) in _KEPT:
            kept: ScalarExpr = self._size(source.args[0], axis)
            return kept
        if torch.Tag.pointwise not in getattr(source.target, "tags", ()):
            return None
        rank = len(source.meta["val"].shape)
        for argument in tensor_arguments(source):
            shape = argument.meta["val"].shape
            own = axis - rank + len(shape)
            if own >= 0 and not is_one(shape[own]) and argument in self.values:
                found: ScalarExpr = self._size(argument, own)
                return found
        return None

    def _size_beside(self, source: Node, axis: int) -> ScalarExpr:
        """Return a size of a call that makes one axis and takes over the others."""
        made = int(source.args[1]) % len(source.meta["val"].shape)  # type: ignore[arg-type]
        if target_name(source) == "aten.unsqueeze.default":
            if axis == made:
                return Const(1)
            axis -= axis > made
        elif axis == made:
            length: ScalarExpr = self.scalar_expr(source.args[3])
            return length
        result: ScalarExpr = self._size(source.args[0], axis)
        return result

    def _size_of(self, source: Node, axis: int) -> ScalarExpr | None:
        """Return a size as the trace knows it; it has the sample's value of a counting attr."""
        structural = self.traced.structural
        if any(ref.name in structural for ref in self.traced.attrs.values()):
            return None
        size = size_of(source, axis, self.size_symbols())
        # A gradient may have a count in its sizes alone, where no call tells it from a number.
        counts = {value for value in structural.values() if type(value) is int}
        return None if size is not None and counts & _constants(size) else size

    def known_size(self, source: Node, axis: int) -> ScalarExpr:
        """Return a size of a tensor over sizes of inputs; raises OPG334 where it has none."""
        view = self.values[source]
        if isinstance(view, View) and view.steps and not is_expanded(source):
            size = self._size_of(source, axis)
            if size is not None:
                return size
        result: ScalarExpr = self._size(source, axis)
        return result

    def size_symbols(self) -> Any:
        """Return which size of which input, or which attr, every symbol of the graph is."""
        known = size_symbols(self.traced.graph, self.traced.inputs)
        sizes: dict[Any, ScalarExpr] = {
            symbol: replace(ref, signed=self.axis_names.get((ref.tensor, ref.axis)))
            for symbol, ref in known.items()
        }
        # a structural attr is in some sizes by its value in the sample
        free = {k: r for k, r in self.traced.attrs.items() if r.name not in self.traced.structural}
        return {**attr_symbols(self.traced.graph, free), **sizes}

    def _handed_bounds(self, node: Node) -> Interval | None:
        fixed = {p.name for p in self.spec.inputs if p.min_rank == p.max_rank}
        return HandedBounds(self.size_symbols(), fixed, self.has_axes_of_attrs()).of(node)

    def has_axes_of_attrs(self) -> bool:
        """Whether an attr may choose the axes that are reduced or scanned."""
        return bool(set(self.traced.structural) - set(count_attrs(self.spec)))

    def _reduced_count(self, node: Node) -> ScalarExpr:
        dims: Any = node.args[1]
        return self._product([self._size(node.args[0], int(d)) for d in dims])

    def _numel(self, source: Any) -> ScalarExpr:
        """Return the number of elements of a tensor.

        A trace takes a size of one input for that of another one that has the same shape. Written
        as the product of sizes of both it would hold for one rank only.
        """
        sizes = [self._size(source, axis) for axis in range(len(source.meta["val"].shape))]
        count = with_numel(self._product(sizes))
        if isinstance(count, Numel):
            return count
        return with_numel(self._product([self._size_of_first(size) for size in sizes]))

    def _size_of_first(self, size: ScalarExpr) -> ScalarExpr:
        """Return the size of an input as that of the input which a rule says it is ``like``."""
        while isinstance(size, DimRef):
            rule = self.spec.param(size.tensor).shape
            if not isinstance(rule, ShapeLike) or rule.tensor not in self.traced.shapes:
                break
            names = self.axis_names.get((rule.tensor, size.axis))
            size = replace(size, tensor=rule.tensor, signed=names)
        return size

    def _product(self, sizes: list[ScalarExpr]) -> ScalarExpr:
        one: ScalarExpr = Const(1)
        return functools.reduce(functools.partial(fold, "*"), sizes or [one])

    def kernel_number(self, expr: ScalarExpr) -> ScalarExpr:
        """Write the product of the sizes of the axes that an attr lists as a number of elements.

        Only in the gradient of a reduction, which has a tensor of that shape. The caller proves
        that the attr and nothing else is meant: other values of it give the same program.
        A product of more factors at a higher rank is written by the other sizes.
        """
        for (tensor, factors), others in self.axis_names.left_out.items():
            expr = with_product(expr, tensor, set(factors), Numel(tensor, others))
        for param in self.spec.inputs if self.spec.differentiated else ():
            rule = param.shape
            if not isinstance(rule, ShapeReduce) or rule.dims not in self.traced.structural:
                continue
            rank = len(self.traced.shapes[rule.tensor])
            listed: Any = self.traced.structural[rule.dims]
            listed = [listed] if isinstance(listed, int) else listed
            axes = {int(d) % max(1, rank) for d in listed} or set(range(rank))
            count = self._elements_per(rule.tensor, param.name, axes)
            expr = with_product(expr, rule.tensor, axes, count)
        return expr

    def _elements_per(self, tensor: str, reduced: str, axes: set[int]) -> ScalarExpr:
        """Return how many elements of a tensor there are for each of its reduction over axes."""
        return Binary("//", Numel(tensor), Binary("max", Const(1), Numel(reduced)))

    def _scalar_call(self, node: Node, target: str) -> Any:
        name = target.split(".")[-1]
        if name == "getitem":
            return self.values[node.args[0]][node.args[1]]  # type: ignore[index]
        args = [self.scalar_expr(a) for a in node.args if a is not None]
        if name in NUMBER_CALLS:
            return with_numel(fold(NUMBER_CALLS[name], *args))
        if name == "neg":
            return fold("neg", *args)
        if name in ("sym_float", "sym_int"):
            return fold(name.removeprefix("sym_"), *args)
        if name.removeprefix("sym_") in UNARY_FUNCTIONS:
            return fold(name.removeprefix("sym_"), *args)
        raise OpgenError(self.unsupported(node))
