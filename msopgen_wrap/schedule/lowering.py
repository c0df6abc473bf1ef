"""Lower a traced ATen graph to a vector program: the driver, views of inputs, counted numbers."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.graph.cuts import MADE_BY
from msopgen_wrap.graph.equal_sizes import same_sizes
from msopgen_wrap.graph.scalars import Binary, Const, DimRef, Numel, ScalarExpr, Unary, fold
from msopgen_wrap.graph.sizes import reduced_count, same_size, size_of
from msopgen_wrap.graph.views import is_tensor, kept_axes, kept_behind, repeats_nothing, reshapes
from msopgen_wrap.schedule import intervals
from msopgen_wrap.schedule.anchors import ANCHORS
from msopgen_wrap.schedule.axis_names import OpenOrder
from msopgen_wrap.schedule.calls import (
    EXPANDS,
    HANDLERS,
    IDENTITY,
    RESHAPES,
    SCALAR_CALLS,
    VIEW_OPS,
    WORD_HANDLERS,
    Node,
    is_expanded,
    lowers,
    target_name,
)
from msopgen_wrap.schedule.open_axes import axis_views, chains_behind, permutes
from msopgen_wrap.schedule.peepholes import narrow_stores
from msopgen_wrap.schedule.program import (
    I32,
    STORED_KIND,
    Operand,
    Program,
    Scalar,
    Val,
    Words,
    eliminate_dead,
    only_moves,
    share_common,
)
from msopgen_wrap.schedule.unit_axes import reshaped_by_ones
from msopgen_wrap.schedule.views import (
    PLACE,
    SQUEEZED,
    Counted,
    InSlab,
    Reshaped,
    Span,
    Step,
    StoredShape,
    View,
    apply_view,
)
from msopgen_wrap.schedule.word_reading import WordReader
from msopgen_wrap.spec.model import TensorParam
from msopgen_wrap.spec.shapes import MAX_RANK
from msopgen_wrap.torch_import import torch

# The modules of lowerings need both.
__all__ = ["Lowerer", "lowers"]


def _makes_other_sizes(graph: torch.fx.Graph) -> bool:
    """Whether a constant has sizes that no input has: ``torch.ones(3, 4) + x.sum()``."""
    tensors = [node for node in graph.nodes if is_tensor(node)]
    given = [node.meta["val"].shape for node in tensors if node.op == "placeholder"]
    made = [
        n for n in tensors if n.op != "placeholder" and not any(map(is_tensor, n.all_input_nodes))
    ]
    sizes = [node.meta["val"].shape for node in made if node.meta["val"].dim()]
    return any(not any(same_sizes(size, other) for other in given) for size in sizes)


@dataclass
class Lowerer(WordReader):
    """State of one lowering.

    Attributes:
        expanded: calls of expand, with the sizes that they give to the iteration space.
        output_views: outputs that are written in another shape than they have.
        stored_shapes: sizes of the temporaries that have another shape than they are written in.
        stretches: whether the graph expands a tensor, as also a constant of other sizes does.
    """

    expanded: dict[Node, Span] = field(default_factory=dict)
    output_views: dict[str, View] = field(default_factory=dict)
    stored_shapes: dict[str, StoredShape] = field(default_factory=dict)
    stretches: bool = False

    # ---- driver --------------------------------------------------------------------------------

    def run(self) -> Program:
        """Lower every node, store the outputs and drop what is unused."""
        for node in self.traced.graph.nodes:
            if node.op != "output":
                self.values[node] = self.lowered(node)
        wide = [param.name for param in self.spec.outputs if self.store_output(param)]
        self.stretches |= _makes_other_sizes(self.traced.graph)
        self._check_spans()
        program = self._finished()
        if not wide:
            return program
        if not self.splits:
            raise self.unsupported_dtype("int64", wide[0])
        if self._moves_longs(program):  # copied whole
            program.insts = [replace(i, note=i.op.lower()) for i in program.insts]
            return program
        self.program.insts = [i for i in self.program.insts if i.op != "Store"]
        for param in self.spec.outputs:
            self.store_output(param, by_words=param.name in wide)
        return self._finished()

    def _finished(self) -> Program:
        stored = {p.name: p.dtypes[self.combo] for p in self.spec.outputs}
        return eliminate_dead(narrow_stores(share_common(self.program), stored))

    def _moves_longs(self, program: Program) -> bool:
        """Whether a program copies elements of 64 bits, and nothing else."""
        stored = {p.name: p.dtypes[self.combo] for p in self.spec.outputs}
        moved = {stored[i.mode] for i in program.stores}
        read = {self.operands[i.mode].tensor for i in program.loads}
        moved |= {self.spec.param(name).dtypes[self.combo] for name in read}
        return only_moves(program) and moved == {"int64"}

    def store_output(self, param: TensorParam, *, by_words: bool = False) -> bool:
        """Store an output; returns whether its elements need 64 bits and lie in one tile.

        Args:
            by_words: whether the elements of an int64 input are stored from their words.
        """
        result = self._output_value(param.name, self.traced.outputs[param.name])
        self._note = f"store {param.name}"
        held = self.values.get(result) if isinstance(result, Node) else result
        if isinstance(held, Words) and param.dtypes[self.combo] == "int32":
            node = result if isinstance(result, Node) else None
            refused = self.unsupported_dtype("int64", param.name, node)
            raise refused if param.site is None else WideTemporaryError(param.name, refused)
        if by_words or isinstance(held, Words):
            words = self.words(result)
            low, high = map(self.word_tile, (words.low, words.high))
            self.program.store_words(param.name, low, high, f"store {param.name}")
            return False
        kind = STORED_KIND.get(param.dtypes[self.combo])
        if kind is None:
            raise self.unsupported_dtype(param.dtypes[self.combo], param.name)
        operand = self.operand(result)
        wide = param.dtypes[self.combo] == "int64" and self.is_wide(operand)
        self.program.store(
            param.name, self.tile(self.as_kind(operand, kind)), f"store {param.name}"
        )
        return wide

    def operand(self, value: Any) -> Operand:
        """Turn a node, number or expression into a value or a scalar; loads views."""
        found = super().operand(value)
        view = self.values.get(value) if isinstance(value, Node) else value
        if isinstance(view, View) and view.tensor in self._unwrapped:
            return wrap_small(self, found, self._unwrapped[view.tensor])
        return found

    @functools.cached_property
    def _unwrapped(self) -> dict[str, str]:
        """Temporaries with sums of small integers by index, which int32 holds as they are.

        Of each the dtype that it has in PyTorch.
        """
        found = {}
        for node in self.traced.graph.find_nodes(op="placeholder"):
            made = node.meta.get(MADE_BY)
            if made is not None and ANCHORS.get(target_name(made)) == "index":
                dtype = str(node.meta["val"].dtype).removeprefix("torch.")
                name = self.traced.inputs[node.name]
                if dtype in SMALL_BITS and self.spec.param(name).dtypes[self.combo] == "int32":
                    found[name] = dtype
        return found

    def lowered(self, node: Node) -> Any:
        """Return the value of a node whose arguments have theirs."""
        if node.op == "placeholder" and node.name in self.traced.attrs:
            return self.traced.attrs[node.name]
        if node.op == "placeholder":
            return View.of_input(self.traced.inputs[node.name], len(node.meta["val"].shape))
        if node.op == "get_attr":
            return self._constant(node)
        return self._call(node)

    def _constant(self, node: Node) -> Operand:
        """Return the number of a tensor that compute makes of literals (``torch.tensor(2.0)``)."""
        tensor = getattr(self.traced.module, str(node.target))
        if tensor.numel() != 1:
            raise OpgenError(self.unsupported(node, "several numbers"))
        return self.operand(tensor.item())

    def _call(self, node: Node) -> Any:
        target = target_name(node)
        self._note = target.rsplit(".", 1)[0] if target.startswith("aten") else target
        if target == "aten.sym_size.int":
            source, axis = node.args[0], node.args[1]
            return self._size(source, int(axis))  # type: ignore[arg-type]
        if target == "aten.sym_numel.default":
            return self._numel(node.args[0])
        if node.target is reduced_count:
            return self._reduced_count(node)
        if target.startswith(("operator.", "math.")) or target in SCALAR_CALLS:
            return self._scalar_call(node, target)
        if target in IDENTITY:
            return self.values[node.args[0]]  # type: ignore[index]
        if target in VIEW_OPS:
            return self._view(node, target)
        if target in RESHAPES:
            return self._reshape(node)
        handler = HANDLERS.get(target)
        # the bounds of calls without words may follow from their value, which is not there yet
        if target in WORD_HANDLERS and self.takes_words(node):
            handler = WORD_HANDLERS[target]
        if handler is None:
            raise OpgenError(self.unsupported(node))
        words = self.words_of_floats(node)
        self.values.update({n: self.float_of(value) for n, value in words.items()})
        try:
            return handler(self, node)
        finally:
            self.values.update(words)  # other calls may take integers

    # ---- sizes from expand -----------------------------------------------------------------------

    def loaded(self, program: Program) -> dict[str, View]:
        """Return the operands that a program loads, in the order of the inputs."""
        order = [p.name for p in self.spec.inputs]
        names = dict.fromkeys(i.mode for i in program.loads)
        by_input = sorted(names, key=lambda n: order.index(self.operands[n].tensor))
        return {name: self.operands[name] for name in by_input}

    def spans(self) -> tuple[Span, ...]:
        """Return the sizes of the iteration space that no operand has."""
        whole = {v.tensor for v in self.operands.values() if not v.steps and v.extent != SQUEEZED}
        found = dict.fromkeys(self.expanded.values())
        return tuple(span for span in found if not span.covered(whole))

    def stored_spans(self) -> tuple[Span, ...]:
        """Return the sizes that later passes see of temporaries written in another shape."""
        return tuple(Span.of(list(shape.own)) for shape in self.stored_shapes.values())

    def note_span(self, node: Node) -> None:
        """Remember the sizes of a call of expand that lines up with the iteration space.

        Along an axis in which the result is placed, the space is as long as the whole.
        """
        sizes: Any = list(self._static(node.args[1]))
        source = self.values.get(node.args[0])  # type: ignore[arg-type]
        if isinstance(source, View) and not self._has_fixed_ranks():
            # a rule gives an input the sizes that it has in the sample; all sizes of one input hold
            # whichever axes of this one an attr makes 1
            ruled = self.spec.param(source.tensor).shape is not None and not Span.of(sizes).tensor
            sizes = _own_sizes_unsaid(node, source, sizes, ruled)
        users = list(node.users)
        if users and all(target_name(user) == PLACE for user in users):
            rank = len(node.meta["val"].shape)
            for user in users:
                place: Any = user.args[1]
                from_end = rank - place % rank
                if from_end <= len(sizes):
                    sizes[-from_end] = 1
        self.expanded[node] = Span.of(sizes)

    def _check_spans(self) -> None:
        missing = self.spans()
        derived = any(p.site is not None for p in self.spec.outputs)
        for node, span in self.expanded.items():
            # a reshape that is not moved to an input is of an output: it is written in the space;
            # the shape of a temporary follows from the spans, behind copies too
            moved = [
                u
                for u in _behind_placements(_users(node) if derived else list(node.users))
                if target_name(u) in VIEW_OPS | RESHAPES
                and target_name(u) not in EXPANDS
                and not isinstance(self.values.get(u), Reshaped)
            ]
            if span in missing and moved:
                raise OpgenError(self.unsupported(moved[0], "an expanded tensor"))

    # ---- views ---------------------------------------------------------------------------------

    def _view(self, node: Node, target: str) -> Any:
        source = self.values[node.args[0]]  # type: ignore[index]
        if target == "aten.expand.default" and not repeats_nothing(node):
            self.note_span(node)
            self.stretches = True
        if isinstance(source, (Scalar, Const)):
            return source
        if isinstance(source, (Val, Words, Reshaped)):
            if not isinstance(source, Reshaped) and target == "aten.expand.default":
                return source
            raise OpgenError(self.unsupported(node, "a view of a computed tensor"))
        rest = [self._static(a) for a in node.args[1:]]
        found = apply_view(
            source,
            target,
            rest,
            node,
            lambda axis: self._intermediate_size(node.args[0], axis),  # type: ignore[arg-type]
            front=bool(self.axis_names.fronts) and self._counts_from_front(node),
            order=self._open_order(node) if self.axis_names.orders else None,
        )
        return self._behind(node, found) if self.axis_names.behind else found

    def _counts_from_front(self, node: Node) -> bool:
        every = axis_views(self.traced.graph)
        return node in every and every.index(node) in self.axis_names.fronts

    def _open_order(self, node: Node) -> OpenOrder | None:
        every = permutes(self.traced.graph)
        return self.axis_names.orders.get(every.index(node)) if node in every else None

    def _behind(self, node: Node, view: Any) -> Any:
        """Return a view with as many axes behind as the rank of a call asks for."""
        chains = chains_behind(self.traced.graph)
        ended = [n for n in self.axis_names.behind if chains[n] and chains[n][-1] is node]
        if not ended or not isinstance(view, View):
            return view
        more = view.rank - len(self.traced.shapes[self.axis_names.ranked])
        step = Step("behind", start=Const(more), tensor=self.axis_names.ranked)
        return replace(view, steps=(*view.steps[: -len(chains[ended[0]])], step))

    def _reshape(self, node: Node) -> Any:
        source: Any = node.args[0]
        value = self.values[source]
        if isinstance(value, (Scalar, Const)):
            return value
        if isinstance(value, View) and not value.rearranged and not is_expanded(source):
            sizes = [self.scalar_expr(s) for s in node.args[1]]  # type: ignore[union-attr]
            if value.counted is not None and not value.steps and self._shape_of(sizes):
                counted = replace(value.counted, shape=self._shape_of(sizes))
                return replace(value, rank=len(sizes), counted=counted)
            step = self._step_to(source, node, sizes, (node,))
            front = self._leading_ones(step)
            step = replace(step, shape=step.shape[front:])
            return replace(value, rank=len(sizes), steps=(*value.steps, step), leading=front)
        if isinstance(value, View) and self._has_fixed_ranks():
            reshaped = reshaped_by_ones(value.with_leading(), node)
            if reshaped is not None:
                return reshaped
        if isinstance(value, Reshaped):
            return replace(value, nodes=(*value.nodes, node))
        rank = len(source.meta["val"].shape)
        before = tuple(self.known_size(source, axis) for axis in range(rank))
        return Reshaped((node,), source, before)

    def _shape_of(self, sizes: list[ScalarExpr]) -> str:
        """Return the input whose shape the sizes are; empty for none."""
        refs = [size for size in sizes if isinstance(size, DimRef)]
        names = {ref.tensor for ref in refs}
        whole = [ref.axis for ref in refs] == list(range(len(sizes)))
        if not sizes or len(names) != 1 or not whole or refs[0].rank != len(sizes):
            return ""
        return names.pop()

    def _step_to(
        self, before: Node, after: Node, sizes: list[ScalarExpr], nodes: tuple[Node, ...]
    ) -> Step:
        """Return the step between the shapes on both sides of some reshapes.

        Where all ranks are fixed every size is said: of an empty tensor none follows from the rest.
        Else axes at one end that stay as they are go unsaid where a higher rank has more of them.

        Args:
            before, after: nodes that have these shapes.
            sizes: those after the step.
            nodes: the reshapes, one of the other.
        """
        if not self._has_fixed_ranks():
            rank, kept = len(before.meta["val"].shape), kept_axes(before, after)
            if 0 < kept < min(rank, len(sizes)) and self._all_among(nodes, self.axis_names.tails):
                return replace(reshape_step(sizes[kept:]), axis=kept - rank)
            kept = kept_behind(before, after)
            if 0 < kept < min(rank, len(sizes)) and self._all_among(nodes, self.axis_names.heads):
                return replace(reshape_step(sizes[:-kept]), axis=rank - kept)
            return reshape_step(sizes)
        known = [
            self._size_of(after, axis) if size == Const(-1) else size
            for axis, size in enumerate(sizes)
        ]
        every = tuple(size for size in known if size is not None)
        return Step("reshape", shape=every) if len(every) == len(known) else reshape_step(sizes)

    def _all_among(self, nodes: tuple[Node, ...], numbers: frozenset[int]) -> bool:
        """Whether each reshape is one of those with these numbers in the graph."""
        every = reshapes(self.traced.graph)
        return all(every.index(node) in numbers for node in nodes)

    def _leading_ones(self, step: Step) -> int:
        """Return how many axes of size 1 a reshape makes in front, which broadcasting adds as well.

        There are more of them at a higher rank.
        """
        if self._has_fixed_ranks() or step.axis:
            return 0
        ones = [size == Const(1) for size in step.shape[:-1]]
        return [*ones, False].index(False)

    def _has_fixed_ranks(self) -> bool:
        given = [p for p in self.spec.inputs if p.shape is None and p.site is None]
        return all(p.min_rank == p.max_rank for p in given)

    def _output_value(self, name: str, result: Any) -> Any:
        """Return what an output stores; where it is reshaped, note the shape it is stored in."""
        value = self.values.get(result) if isinstance(result, Node) else None
        if isinstance(value, InSlab):
            self.output_views[name] = View(name, value.rank, (value.step,))
            return value.value
        if not isinstance(value, Reshaped):
            return result
        if any(p.name == name and p.site is not None for p in self.spec.outputs):
            rank = len(result.meta["val"].shape)
            own = tuple(self.known_size(result, a) for a in range(rank))
            self.stored_shapes[name] = StoredShape(value.sizes, own)
            return value.value
        assert isinstance(result, Node)
        step = self._step_to(result, value.value, list(value.sizes), value.nodes)
        self.output_views[name] = View(name, len(value.sizes), (step,))
        return value.value

    def stored_steps(self) -> tuple[Step, ...]:
        """Return the steps from the shapes of outputs to those which they are written in."""
        return tuple(step for view in self.output_views.values() for step in view.steps)

    def _static(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._static(v) for v in value]
        if isinstance(value, Node):
            return self.values[value]
        return value


def _own_sizes_unsaid(node: Node, view: View, sizes: list[Any], ruled: bool) -> list[Any]:
    """Return the sizes of an expand without those that its tensor has, of which ranks differ.

    Sizes of another input are said, also where the sample has the same: this one may have size 1,
    where no rule gives its shape.

    Args:
        node: the call of expand.
        view: what it expands.
        sizes: those that it is called with, as expressions.
        ruled: whether a rule gives the shape of the tensor.
    """
    source: Any = node.args[0]
    own = [*[None] * (len(sizes) - len(source.meta["val"].shape)), *source.meta["val"].shape]
    whole = node.meta["val"].shape
    kept = [
        -1
        if isinstance(said, DimRef)
        and (ruled or said.tensor == view.tensor)
        and known is not None
        and same_size(known, size)
        else said
        for known, size, said in zip(own, whole, sizes, strict=True)
    ]
    first = next((i for i, size in enumerate(kept) if size != -1), len(kept))
    return kept[first:]


class WideTemporaryError(OpgenError):
    """A temporary for integers of 32 bits gets some that are computed in 64.

    Attributes:
        name: of the temporary.
    """

    def __init__(self, name: str, refused: OpgenError) -> None:
        super().__init__(refused.diagnostics)
        self.name = name


def reshape_step(sizes: Sequence[ScalarExpr]) -> Step:
    """Return the step to a shape; one size follows from the others, whatever the rank is.

    It is the one that most axes are joined in, which are more of them at a higher rank.
    """
    if not sizes or Const(-1) in sizes:
        return Step("reshape", shape=tuple(sizes))
    joined = max(range(len(sizes)), key=lambda i: (_axes_in(sizes[i]), i))
    return Step("reshape", shape=(*sizes[:joined], Const(-1), *sizes[joined + 1 :]))


def _axes_in(expr: ScalarExpr) -> int:
    """Return how many sizes of inputs an expression reads; all of one count as many."""
    if isinstance(expr, Binary):
        return _axes_in(expr.left) + _axes_in(expr.right)
    if isinstance(expr, Unary):
        return _axes_in(expr.arg)
    return MAX_RANK if isinstance(expr, Numel) else int(isinstance(expr, DimRef))


SMALL_BITS = {"int8": 24, "uint8": 24, "int16": 16}


def wrap_small(low: Lowerer, value: Operand, dtype: str) -> Operand:
    """Wrap an int32 result to the range of int8, uint8 or int16, as two's complement does."""
    bits = SMALL_BITS.get(dtype)
    if bits is None or not isinstance(value, Val) or value.kind != I32:
        return value
    up = low.emit("ShiftLeft", I32, value, Scalar(Const(bits), I32), note=f"wrap to {dtype}")
    down = "ShiftRightLogical" if dtype == "uint8" else "ShiftRight"
    return low.emit(down, I32, up, Scalar(Const(bits), I32), note=f"wrap to {dtype}")


def _users(node: Node) -> list[Node]:
    """Return what reads a value, through plain copies of it."""
    found = []
    for user in node.users:
        found += _users(user) if target_name(user) in IDENTITY else [user]
    return found


_CUTS = ("aten.slice.Tensor", "aten.select.int", PLACE)


def _behind_placements(users: list[Node]) -> list[Node]:
    """Add what cuts the tensors that an expanded one is placed in: it cuts the repeats, too."""
    found = list(users)
    for user in found:  # grows
        if target_name(user) == PLACE:
            found += [u for u in user.users if u not in found and target_name(u) in _CUTS]
    return found


def _counted(low: Lowerer, node: Node, start: Any, step: Any) -> View:
    end: Any = node.args[1] if len(node.args) > 1 else node.args[0]
    # a counting attr that was put back into the graph has the sample's number as its value
    whole = isinstance(end, Node) and isinstance(end.meta.get("val"), (int, torch.SymInt))
    from_zero = whole and (start, step) == (0, 1)
    length = low.scalar_expr(end) if from_zero else size_of(node, 0, low.size_symbols())
    if length is None:
        raise OpgenError(low.unsupported(node, "a length that does not follow from sizes"))
    first, difference = low.scalar_expr(start), low.scalar_expr(step)
    floating = bool(node.meta["val"].dtype.is_floating_point)
    if not floating:
        first, difference = fold("int", first), fold("int", difference)
        low.check_bounds(node, intervals.counted(length, first, difference))
    return View("", 1, counted=Counted(length, first, difference, floating))


@lowers("opgen.slab.default")
def _slab(low: Lowerer, node: Node) -> InSlab:
    value: Any = node.args[0]
    if isinstance(low.values.get(value), Reshaped):
        raise OpgenError(low.unsupported(node, "a reshape"))
    rank = len(node.meta["val"].shape)
    axis: Any = node.args[1]
    first, size = low.scalar_expr(node.args[2]), low.scalar_expr(node.args[3])
    return InSlab(value, rank, Step("slab", axis - rank, first, size))


@lowers("aten.arange.default", "aten.arange.start", "aten.arange.start_step")
def _arange(low: Lowerer, node: Node) -> Any:
    values: list[Any] = list(node.args)
    start = values[0] if len(values) > 1 else 0
    step = values[2] if len(values) > 2 else 1
    return _counted(low, node, start, step)


@lowers("prims.iota.default")
def _iota(low: Lowerer, node: Node) -> Any:
    return _counted(low, node, node.kwargs.get("start", 0), node.kwargs.get("step", 1))
