"""Read a matrix product from a traced graph: its operands as views of inputs, and what it fills.

PyTorch writes every product as ``mm`` of two matrices or ``bmm`` of two lists of matrices, with
views around it: ``torch.matmul`` expands its operands to common batches and joins these to one
axis; ``linear`` transposes the weight; ``einsum`` permutes. Those views only say where the elements
of a matrix lie, so the kernel reads through them. Batches that are joined stay apart here: an
operand that is the same in all of them is then read where it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.axes_of_one import is_one, sizes_of
from msopgen_wrap.graph.cuts import has_batches_apart
from msopgen_wrap.graph.sizes import same_size
from msopgen_wrap.graph.wide_products import HALVES, is_widening
from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, VIEW_OPS, Node, target_name
from msopgen_wrap.schedule.lowering import Lowerer, reshape_step
from msopgen_wrap.schedule.unit_axes import reshaped_by_ones, steps_of_ones
from msopgen_wrap.schedule.views import Span, Step, View
from msopgen_wrap.torch_import import torch

# Calls that multiply matrices.
PRODUCTS = {"aten.mm.default", "aten.bmm.default"}
# Calls that change the dtype of a tensor.
_CASTS = {"prims.convert_element_type.default", "aten._to_copy.default", "aten.to.dtype"}
_PERMUTES = {"aten.permute.default", "aten.transpose.int", "aten.t.default"}


# What an output joins to one axis, as ``opgen::Joined`` has it.
NOTHING, BATCHES, ROWS = "kNothing", "kBatches", "kRows"


@dataclass(frozen=True)
class Product:
    """One product and the output that it fills.

    Attributes:
        left, right: operands, as names of views.
        output: the output that holds it.
        view: how the product lies in the output, None where the output is the product itself.
        joined: axes of the product that are one axis of the output: none, the batches, or these
            and the rows.
    """

    left: str
    right: str
    output: str
    view: View | None = None
    joined: str = NOTHING


@dataclass
class Matrices:
    """Two views that are multiplied.

    Attributes:
        sizes: of the batches, and of the rows where these were joined.
    """

    left: View
    right: View
    sizes: tuple[Any, ...]
    node: Node


@dataclass
class ProductLowerer(Lowerer):
    """Reads the graph of a pass that is one product, with views before and after it.

    Attributes:
        products: the products of the outputs, in their order.
    """

    products: list[Product] = field(default_factory=list)
    _spread: dict[Node, tuple[Any, ...]] = field(default_factory=dict)

    def read(self) -> list[Product]:
        """Return the product of every output.

        Raises:
            OpgenError: OPG370 for what is more than a product with views.
        """
        for node in self.traced.graph.nodes:
            if node.op == "placeholder" and node.name in self.traced.attrs:
                self.values[node] = self.traced.attrs[node.name]
            elif node.op == "placeholder":
                name = self.traced.inputs[node.name]
                self.values[node] = View.of_input(name, len(node.meta["val"].shape))
            elif node.op == "call_function":
                self.values[node] = self._value(node)
            elif node.op == "get_attr":
                raise self.more(node)
        self.products = [
            self._stored(p.name, self.traced.outputs[p.name]) for p in self.spec.outputs
        ]
        return self.products

    def more(self, node: Any) -> OpgenError:
        """Return the refusal of a call that is not part of a product."""
        what = target_name(node) if isinstance(node, Node) else "a number"
        return OpgenError(
            Diagnostic(
                "OPG370",
                f"{self.spec.op} has {what} beside a matrix product",
                self.location(what.split(".")[1] if what.startswith("aten.") else what),
                "a pass on the cube reads views of its inputs, multiplies them, and writes the "
                "product",
                "make it an op of its own, or write the kernel with `kernel:`",
            )
        )

    # ---- nodes ---------------------------------------------------------------------------------

    def _value(self, node: Node) -> Any:
        target = target_name(node)
        if target in PRODUCTS:
            return self._product_of(node)
        source: Any = node.args[0] if node.args else None
        value = self.values.get(source) if isinstance(source, Node) else None
        if isinstance(value, Matrices) and target == "aten.sym_size.int":
            axis: Any = node.args[1]
            return self._size_of(source, int(axis))
        if isinstance(value, Matrices):
            ordered = target in _PERMUTES and len(node.args) > 1 and isinstance(node.args[1], Node)
            if target in _CASTS | IDENTITY | RESHAPES | _PERMUTES and not ordered:
                return value
            raise self.more(node)
        if isinstance(value, View) and target in _CASTS | IDENTITY:
            if self._converts(node, value):
                raise self.more(node)  # a pass before this one does
            return value
        if isinstance(value, View) and target in RESHAPES:
            reshaped = reshaped_by_ones(value, node)
            if reshaped is not None:
                return reshaped
            if _joined(node) is not None:
                return None  # its operand is read before the axes are joined
        if value is None and _transposes(node) and target_name(_behind(source)) in RESHAPES:
            return None  # neither is this
        if isinstance(value, View) and target == "aten.expand.default" and _spreads(node):
            raise self.more(node)
        is_number = not isinstance(node.meta.get("val"), torch.Tensor)
        is_piece = isinstance(value, list) and target == "operator.getitem"
        if target in VIEW_OPS | RESHAPES or is_number or is_piece:
            return self._call(node)
        raise self.more(node)

    def _converts(self, node: Node, value: View) -> bool:
        """Whether a cast of an input gives elements that the cube does not read in its place."""
        dtypes = self.spec.param(value.tensor).dtypes
        if is_widening(node):
            return any(dtype in HALVES for dtype in dtypes)
        to_floats = node.meta["val"].dtype.is_floating_point
        return to_floats and not any("float" in dtype for dtype in dtypes)

    def _product_of(self, node: Node) -> Matrices:
        if target_name(node) == "aten.mm.default":
            left, sizes = self._operand(node.args[0])
            right, _ = self._plain(node.args[1])
            return self._checked(left, right, sizes, node)
        left, left_batches = self._operand(node.args[0])
        right, right_batches = self._operand(node.args[1])
        if len(left_batches) != len(right_batches) or not all(
            map(same_size, left_batches, right_batches)
        ):
            left, left_batches = self._plain(node.args[0])
            right, right_batches = self._plain(node.args[1])
        return self._checked(left, right, left_batches, node)

    def _checked(self, left: View, right: View, sizes: tuple[Any, ...], node: Node) -> Matrices:
        """Return a product of views that have rows or columns without gaps."""
        whole = ("unsqueeze", "squeeze", "permute", "slice", "select", "reshape")
        for view in (left, right):
            strange = any(step.op not in whole for step in view.steps)
            if strange or view.counted is not None or not _is_matrix(view):
                raise self.more(node)
        return Matrices(left, right, sizes, node)

    def _operand(self, node: Any) -> tuple[View, tuple[Any, ...]]:
        """Return the view of an operand and its batches, taken apart where they were joined.

        A list of matrices that is transposed after its batches were joined, as the operands of
        gradients are, is a transposed view of what was joined.
        """
        inner, flips = _behind(node), 0
        while _transposes(inner):
            inner, flips = _behind(inner.args[0]), flips + 1
        apart = _joined(inner) if target_name(inner) in RESHAPES else None
        view = self.values.get(inner.args[0]) if apart is not None else None
        if apart is None or not isinstance(view, View):
            return self._plain(node)
        steps, sizes = apart
        kept = len(node.meta["val"].shape) - 1
        view = view.with_leading() if steps else view
        flipped = [Step("permute", axes=(-1, -2))] * (flips % 2)
        view = replace(view, rank=view.rank - len(steps), steps=(*view.steps, *steps, *flipped))
        return view, tuple(sizes[:-kept])

    def _plain(self, node: Any) -> tuple[View, tuple[Any, ...]]:
        view = self.values.get(node)
        inner = _behind(node)
        if view is None and target_name(inner) in RESHAPES:
            view = self._reshape(inner)
        if not isinstance(view, View):
            raise self.more(node)
        kept = len(node.meta["val"].shape) - 1
        return view, tuple(node.meta["val"].shape[:-kept])

    # ---- outputs -------------------------------------------------------------------------------

    def _stored(self, name: str, result: Any) -> Product:
        """Return the product that an output holds, with the views between them undone."""
        value = self.values.get(result) if isinstance(result, Node) else None
        if not isinstance(value, Matrices):
            raise self.more(result)
        own = next(p for p in self.spec.outputs if p.name == name)
        rank = len(result.meta["val"].shape)
        view = View(name, rank)
        node = result
        split = False
        while node is not value.node:
            target = target_name(node)
            source: Any = node.args[0]
            shape = source.meta["val"].shape
            if target in _PERMUTES:
                order = _order(node, len(shape))
                inverse = tuple(order.index(i) - len(order) for i in range(len(order)))
                view = replace(view, steps=_permuted(view.steps, inverse))
            elif target in RESHAPES:
                steps, split = self._undone(node, value)
                if view.rearranged and any(step.op == "reshape" for step in steps):
                    raise self.more(node)  # axes that lie apart in the output cannot be joined
                view = replace(view, steps=(*view.steps, *steps))
            node = source
        temporary = own.site is not None
        if not _is_matrix(view) or (view.steps and temporary):
            raise self.more(result)
        # A matrix has no batches; where those of other ranks are apart, none are joined in it.
        whole = own.site is not None and not has_batches_apart(own.site)
        joined = NOTHING
        if not split and (whole or len(value.sizes) != 1):
            joined = BATCHES if target_name(value.node) == "aten.bmm.default" else ROWS
        left, right = value.left, value.right
        if _unit_axis(view) == -2:  # the transposed product is that of the transposed matrices
            flipped = Step("permute", axes=(-1, -2))
            view = replace(view, steps=(*view.steps, flipped))
            left, right = (replace(v, steps=(*v.steps, flipped)) for v in (right, left))
        return Product(
            self._named(left),
            self._named(right),
            name,
            view if view.steps else None,
            joined,
        )

    def _undone(self, node: Node, value: Matrices) -> tuple[list[Step], bool]:
        """Return the steps from the result of a reshape back to what it takes.

        The second value says that it is the product, with the joined axes apart.
        """
        source: Any = node.args[0]
        before, after = sizes_of(source), sizes_of(node)
        if source is value.node:
            wanted = [*(getattr(s, "node", s) for s in value.sizes), *before[1:]]
            steps = steps_of_ones(after, wanted)
            if steps is not None:
                return steps, True
        steps = steps_of_ones(after, before)
        if steps is None:
            sizes = [self.known_size(source, axis) for axis in range(len(before))]
            steps = [reshape_step(sizes)]
        return steps, False

    def known_size(self, source: Node, axis: int) -> Any:
        """Return a size of a tensor, as the trace knows it if it does."""
        size = self._size_of(source, axis)
        return super().known_size(source, axis) if size is None else size

    def _named(self, view: View) -> str:
        """Return the name of an operand: that of its input, with a number for a further view."""
        view = replace(view, leading=0, rank=view.rank - view.leading)
        known = self.operand_names.get(view)
        if known is None:
            taken = set(self.operand_names.values()) | {p.name for p in self.spec.inputs}
            number = 1
            known = view.tensor
            while known in self.operand_names.values() or (known in taken and number > 1):
                known, number = f"{view.tensor}{number}", number + 1
            self.operand_names[view] = known
        self.operands[known] = view
        return known

    def spans(self) -> tuple[Span, ...]:
        """Return nothing: the batches are those of the operands, or the output's."""
        return ()


def _order(node: Node, rank: int) -> list[int]:
    if target_name(node) == "aten.permute.default":
        listed: Any = node.args[1]
        if isinstance(listed, Node):
            return []  # an attr gives the order: it may be any
        return [int(axis) % rank for axis in listed]
    order = list(range(rank))
    first, second = node.args[1:3] if len(node.args) > 2 else (0, 1)
    i, j = int(first) % rank, int(second) % rank  # type: ignore[arg-type]
    order[i], order[j] = order[j], order[i]
    return order


def _permuted(steps: tuple[Step, ...], axes: tuple[int, ...]) -> tuple[Step, ...]:
    """Return steps with a permutation behind them, joined with one that is their last.

    Two that undo one another are none: attention has such a pair, which names four axes whatever
    the rank is.
    """
    last = steps[-1] if steps else None
    if last is None or last.op != "permute" or len(last.axes) != len(axes):
        return (*steps, Step("permute", axes=axes))
    joined = tuple(last.axes[axis] for axis in axes)
    same = joined == tuple(range(-len(axes), 0))
    return steps[:-1] if same else (*steps[:-1], Step("permute", axes=joined))


def _transposes(node: Any) -> bool:
    """Whether a call transposes every matrix of a list of matrices."""
    return (
        target_name(node) in _PERMUTES
        and len(node.meta["val"].shape) == 3
        and _order(node, 3) == [0, 2, 1]
    )


def _behind(node: Any) -> Any:
    """Return what a value is a plain copy of."""
    while target_name(node) in IDENTITY:
        node = node.args[0]
    return node


def _joined(node: Node) -> tuple[list[Step], list[Any]] | None:
    """Return what a reshape joins to the first axis of an operand; None where it does otherwise.

    Returns:
        Steps that drop axes of size 1 before it, and the sizes that it then joins, with those
        behind them. In front of ``bmm`` these are matrices, of ``mm`` the rows of the left one.
    """
    source: Any = node.args[0]
    before, after = list(source.meta["val"].shape), sizes_of(node)
    kept = len(after) - 1
    users = [user for user in node.users if target_name(user) not in IDENTITY]
    if not _only_multiplied(node) or (kept == 1 and any(u.args[0] is not node for u in users)):
        return None
    ones = [i - len(before) for i, size in enumerate(sizes_of(source)) if is_one(size)]
    for dropped in ([], ones):
        sizes = [s for i, s in enumerate(before, -len(before)) if i not in dropped]
        matches = len(sizes) >= kept + 1 and all(map(same_size, sizes[-kept:], after[-kept:]))
        if matches and (kept == 2 or len(sizes) >= 2):
            return [Step("squeeze", axis) for axis in dropped], sizes
    return None


def _only_multiplied(node: Node) -> bool:
    return all(
        target_name(user) in PRODUCTS
        or ((target_name(user) in IDENTITY or _transposes(user)) and _only_multiplied(user))
        for user in node.users
    )


def _spreads(node: Node) -> bool:
    """Whether an expand repeats rows or columns of a matrix."""
    source: Any = node.args[0]
    before, after = sizes_of(source)[-2:], sizes_of(node)[-2:]
    return len(before) < 2 or not all(map(same_size, before, after))


def _is_matrix(view: View) -> bool:
    """Whether rows or columns of a view of a dense tensor lie without gaps in every call."""
    return _unit_axis(view) in (-1, -2)


def _unit_axis(view: View) -> int | None:
    """Return which axis of a view the last one of its tensor is, counted from the end."""
    last: int | None = -1
    for step in view.steps:
        if last is None:
            return None
        if step.op == "permute" and -last <= len(step.axes):
            last = list(step.axes).index(last) - len(step.axes)
        elif step.op == "unsqueeze" and step.axis >= last:
            last -= 1  # axes are counted from the end
        elif step.op == "reshape":
            last = -1
        elif step.op in ("squeeze", "select"):
            if step.axis == last:
                last = None if step.op == "select" else last
            elif step.axis > last:
                last += 1
    return last
