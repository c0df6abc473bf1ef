"""Read the call of a graph that moves elements by index: tensors as views, its axis, its rules."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.scalars import AttrRef, Const
from msopgen_wrap.schedule.anchors import anchors
from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, Node, is_expanded, target_name
from msopgen_wrap.schedule.lowering import Lowerer
from msopgen_wrap.schedule.program import Scalar
from msopgen_wrap.schedule.views import Span, View
from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.fx.experimental.symbolic_shapes import statically_known_true

# How a scatter joins a value to what an element has -> the instruction; a copy takes its place.
COMBINES = {"copy": "", "add": "Add", "multiply": "Mul", "largest": "Max", "smallest": "Min"}
# Reductions of PyTorch's calls -> how values are joined.
_REDUCTIONS = {"sum": "add", "prod": "multiply", "amax": "largest", "amin": "smallest"}
# Steps that leave a view one of memory, with steps forwards.
_STEPS = {"slice", "unsqueeze", "squeeze", "permute", "select", "every", "diagonal", "reshape"}


@dataclass(frozen=True)
class IndexCall:
    """One call.

    Attributes:
        table: the operand whose rows or elements are chosen; of a scatter what they are written
            over, "" where that is a number.
        indices: the operands that choose, one per indexed axis.
        axis: the first indexed axis, from the front; that of an attr where ``attr`` names it.
        rank: of the table in the sample.
        attr: the attr that gives the axis, "" where it is fixed.
        rows: whether indices stand for whole axes; otherwise there is one per element.
        wraps: whether negative indices count from the end.
        combine: of a scatter one of ``COMBINES``; "" of a gather.
        values: the operand that is scattered, "" where it is a number.
        numbers: of a scatter, the numbers in place of the table and of the values.
        sizes: those of the result where neither the output nor an operand has them: a scatter over
            a number, a gather whose index repeats elements.
        reshaped: whether the output is the result in another shape; of calls with an index for each
            element, and scatters.
        items: of a scatter with an index for each element, the operand that has the shape of the
            index; "" where none has, as of an index and values that repeat elements.
        item_sizes: those of the index where ``items`` is "".
    """

    table: str
    indices: tuple[str, ...]
    axis: int
    rank: int
    attr: str = ""
    rows: bool = True
    wraps: bool = False
    combine: str = ""
    values: str = ""
    numbers: tuple[Scalar | None, Scalar | None] = (None, None)
    sizes: Span | None = None
    reshaped: bool = False
    items: str = ""
    item_sizes: Span | None = None

    def spans(self) -> tuple[Span, ...]:
        """Return the sizes that no operand has."""
        return tuple(span for span in (self.sizes, self.item_sizes) if span is not None)


@dataclass
class CallReader(Lowerer):
    """Reads the call of a graph.

    Attributes:
        call: the call, once ``read`` has found it.
    """

    call: IndexCall | None = None
    _names: dict[View, str] = field(default_factory=dict)

    def read(self) -> IndexCall:
        """Return the call that the only output of the graph is.

        Raises:
            OpgenError: OPG350 where there is more in the graph than this family makes.
        """
        node = self._result()
        target = target_name(node)
        if target not in _READERS:
            raise self.refusal(node, f"{target} stands around it")
        call: IndexCall = _READERS[target](self, node)
        dims = [n for n in self.traced.structural if self._is_axis(n, call)]
        self.call = replace(call, attr=dims[0]) if dims else call
        return self.call

    def anchor(self) -> Node:
        """Return the first call of the graph that moves elements by index."""
        return anchors(self.traced.graph.nodes, "index")[0]

    def _result(self) -> Node:
        """Return the call behind the output; a tensor of another shape with its elements is it."""
        results = [self.traced.outputs[p.name] for p in self.spec.outputs]
        node = results[0]
        if len(results) > 1 or not isinstance(node, Node):
            raise self.refusal(self.anchor(), "there are several outputs")
        stored = self.spec.outputs[0].site is None
        while target_name(node) in IDENTITY or (stored and target_name(node) in RESHAPES):
            node = node.args[0]
        return node

    def is_reshaped(self) -> bool:
        """Whether the output is the result of the call in another shape."""
        node: Any = self.traced.outputs[self.spec.outputs[0].name]
        while target_name(node) in IDENTITY:
            node = node.args[0]
        return target_name(node) in RESHAPES

    def _is_axis(self, name: str, call: IndexCall) -> bool:
        value = self.traced.structural[name]
        whole = isinstance(value, int) and -call.rank <= value < call.rank
        return whole and value % call.rank == call.axis

    def view(self, value: Any, what: str) -> str:
        """Return the operand that an argument is.

        Raises:
            OpgenError: OPG350 where it is no view of an input, or one with elements repeated,
                reversed or added.
        """
        view = self._value(value, what)
        if not isinstance(view, View) or view.counted is not None:
            raise self.refusal(value, f"{what} is computed")
        if any(step.op not in _STEPS for step in view.steps):
            raise self.refusal(value, f"{what} has its elements in another order")
        return self._name(view)

    def table(self, value: Any, what: str) -> str:
        """Return the operand that is read by index; its axes are those of the call.

        Raises:
            OpgenError: OPG350 where it is no view, or one whose axes repeat elements, of which
                TilingFunc does not know how often.
        """
        if is_expanded(value):
            raise self.refusal(value, f"{what} repeats elements")
        return self.view(value, what)

    def view_or_number(self, value: Any, what: str) -> tuple[str, Scalar | None]:
        """Return the operand that an argument is, or the number that it repeats."""
        found = self._value(value, what) if isinstance(value, Node) else self.operand(value)
        if isinstance(found, (Const, AttrRef)):
            found = self.operand(found)
        return ("", found) if isinstance(found, Scalar) else (self.view(value, what), None)

    def _value(self, value: Any, what: str) -> Any:
        node = value
        while target_name(node) in IDENTITY or _is_widened(node):
            node = node.args[0]
        try:
            for above in self._needed(node):
                # a view of ``index.long()`` is one of the index
                source: Any = above.args[0] if _is_widened(above) else None
                self.values[above] = self.values.get(source) or self.lowered(above)
        except OpgenError as error:
            if any(d.code not in ("OPG331", "OPG332", "OPG333") for d in error.diagnostics):
                raise
            raise self.refusal(value, f"{what} is computed") from error
        return self.values[node]

    def sizes_of(self, node: Any) -> Span:
        """Return the sizes of a tensor that repeats a number, or elements."""
        rank = len(node.meta["val"].shape)
        return Span.of([self.known_size(node, axis) for axis in range(rank)])

    def _needed(self, node: Node) -> list[Node]:
        """Return a node and what it is made of, in the order of the graph."""
        wanted, pending = {node}, [node]
        while pending:
            for above in pending.pop().all_input_nodes:
                if above not in wanted and above not in self.values:
                    wanted.add(above)
                    pending.append(above)
        return [n for n in self.traced.graph.nodes if n in wanted and n not in self.values]

    def _name(self, view: View) -> str:
        if view not in self._names:
            used = set(self._names.values())
            numbers = (f"{view.tensor}{n}" for n in range(2, len(used) + 3))
            self._names[view] = next(n for n in (view.tensor, *numbers) if n not in used)
            self.operands[self._names[view]] = view
        return self._names[view]

    def refusal(self, node: Node, why: str) -> OpgenError:
        """Return the error for a graph with more than one pass of this family makes."""
        return OpgenError(
            Diagnostic(
                "OPG350",
                f"{target_name(node)} is not all that a pass makes: {why}",
                self.location(target_name(node).split(".")[-2] if "." in target_name(node) else ""),
                "a pass that moves elements by index reads views of tensors in memory and writes "
                "what it has read",
                "split the op, or write the kernel with `kernel:`",
            )
        )


def _is_widened(node: Node) -> bool:
    """Whether a call only widens integers."""
    if target_name(node) != "aten._to_copy.default":
        return False
    source: Any = node.args[0]
    dtypes = (source.meta["val"].dtype, node.meta["val"].dtype)
    return dtypes[0] in (torch.int32, torch.int64) and dtypes[1] in (torch.int32, torch.int64)


def _rank(node: Node) -> int:
    return len(node.meta["val"].shape)


def _axis(node: Any, dim: Any) -> tuple[int, int]:
    """Return an axis of a tensor from the front, and the rank."""
    rank = max(1, node.meta["val"].dim())
    return int(dim) % rank, rank


def _index_select(reader: CallReader, node: Node) -> IndexCall:
    table, dim, index = node.args
    axis, rank = _axis(table, dim)
    indices = (reader.view(index, "the index"),)
    return IndexCall(reader.table(table, "the tensor"), indices, axis, rank)


def _embedding(reader: CallReader, node: Node) -> IndexCall:
    table, index = node.args[:2]
    return IndexCall(reader.table(table, "the table"), (reader.view(index, "the index"),), 0, 2)


def _index(reader: CallReader, node: Node, reads: bool = True) -> IndexCall:
    """Read indices in brackets; ``reads``: of a tensor that is read, else of one written."""
    table, given = node.args[:2]
    chosen: Any = given
    axes = [axis for axis, index in enumerate(chosen) if index is not None]
    if axes[-1] - axes[0] >= len(axes):
        raise reader.refusal(node, "axes between its indices keep their elements")
    if any(chosen[a].meta["val"].dtype in (torch.bool, torch.uint8) for a in axes):
        raise OpgenError(reader.unsupported(node, "a mask"))
    indices = tuple(reader.view(chosen[a], "an index") for a in axes)
    axis, rank = _axis(table, axes[0])
    read = reader.table(table, "the tensor") if reads else ""
    return IndexCall(read, indices, axis, rank, wraps=True)


def _gather(reader: CallReader, node: Node) -> IndexCall:
    table, dim, index = node.args[:3]
    axis, rank = _axis(table, dim)
    indices = (reader.view(index, "the index"),)
    read = reader.table(table, "the tensor")
    reshaped = reader.is_reshaped()
    unknown = reshaped or reader.spec.outputs[0].site is not None
    return IndexCall(
        read,
        indices,
        axis,
        rank,
        rows=False,
        wraps=target_name(node) != "aten.gather.default",
        sizes=reader.sizes_of(index) if is_expanded(index) and unknown else None,
        reshaped=reshaped,
    )


def _put(reader: CallReader, node: Node) -> IndexCall:
    """Read rows that are written: index_put, and what is decomposed to it."""
    gathered = _index(reader, node, reads=False)
    combine = "add" if len(node.args) > 3 and bool(node.args[3]) else "copy"
    return _scattered(reader, gathered, node.args[0], node.args[2], combine)


def _elements(reader: CallReader, node: Node) -> IndexCall:
    """Read the index of a scatter that has one for each element."""
    table, dim, index = node.args[:3]
    axis, rank = _axis(table, dim)
    return IndexCall("", (reader.view(index, "the index"),), axis, rank, rows=False)


def _scatter(reader: CallReader, node: Node) -> IndexCall:
    combine = "add" if "scatter_add" in target_name(node) else "copy"
    return _scattered_elements(reader, node, combine)


def _scatter_reduce(reader: CallReader, node: Node) -> IndexCall:
    return _scattered_elements(reader, node, _joined(reader, node))


def _scattered_elements(reader: CallReader, node: Node, combine: str) -> IndexCall:
    """Read a scatter that has an index for each element, and whose shape the index has.

    A view does not repeat elements (``i[:, None].expand_as(values)``): sizes of 1 are broadcast.
    """
    call = _scattered(reader, _elements(reader, node), node.args[0], node.args[3], combine)
    index, values = node.args[2], node.args[3]
    if not is_expanded(index):
        return replace(call, items=call.indices[0])
    if call.values and not is_expanded(values) and _have_one_shape(index, values):
        return replace(call, items=call.values)
    return replace(call, item_sizes=reader.sizes_of(index))


def _have_one_shape(first: Any, second: Any) -> bool:
    """Whether two tensors of a graph have the same shape in every call."""
    one, other = first.meta["val"].shape, second.meta["val"].shape
    return len(one) == len(other) and all(
        statically_known_true(a == b) for a, b in zip(one, other, strict=True)
    )


def _index_reduce(reader: CallReader, node: Node) -> IndexCall:
    table, dim, index, values = node.args[:4]
    axis, rank = _axis(table, dim)
    call = IndexCall("", (reader.view(index, "the index"),), axis, rank)
    return _scattered(reader, call, table, values, _joined(reader, node))


def _joined(reader: CallReader, node: Node) -> str:
    """Return how a reduction by index joins values; the decompositions leave those that join."""
    if node.args[4] not in _REDUCTIONS or not node.kwargs.get("include_self", True):
        raise OpgenError(reader.unsupported(node, f"reduce={node.args[4]!r}"))
    return _REDUCTIONS[str(node.args[4])]


def _scattered(
    reader: CallReader, call: IndexCall, table: Any, values: Any, combine: str
) -> IndexCall:
    output = reader.spec.outputs[0]
    if output.inplace:
        raise OpgenError(reader.unsupported(table, "a tensor in place"))
    below, number = reader.view_or_number(table, "the tensor")
    if below and (reader.operands[below].rearranged or is_expanded(table)):
        raise reader.refusal(table, "the tensor is a view")
    given, value = reader.view_or_number(values, "the values")
    reshaped = reader.is_reshaped()
    known = below or (output.site is None and not reshaped)
    return replace(
        call,
        table=below,
        combine=combine,
        values=given,
        numbers=(number, value),
        sizes=None if known else reader.sizes_of(table),
        reshaped=reshaped,
    )


_READERS: dict[str, Any] = {
    "aten._unsafe_index.Tensor": _index,
    "aten._unsafe_index_put.default": _put,
    "aten.index_put.default": _put,
    "aten.index_reduce.default": _index_reduce,
    "aten.scatter.src": _scatter,
    "aten.scatter.value": _scatter,
    "aten.scatter_add.default": _scatter,
    "aten.scatter_reduce.two": _scatter_reduce,
    "aten.embedding.default": _embedding,
    "aten.gather.default": _gather,
    "opgen.take_along.default": _gather,
    "aten.index.Tensor": _index,
    "aten.index_select.default": _index_select,
}
