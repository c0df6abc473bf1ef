"""Move views of computed tensors to the inputs they are computed from.

``torch.relu(x + y).mT`` is ``torch.relu(x.mT + y.mT)``: a view of a pointwise result is the same
function of views of its arguments. Views of inputs cost nothing in a kernel (they only say which
elements are read), so graphs of pointwise work end up without any other. Graphs with reductions or
other anchors are left as they are.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from msopgen_wrap.graph import placement  # noqa: F401  (defines the operator)
from msopgen_wrap.graph.equal_sizes import always_equal, fixed_size, same_sizes
from msopgen_wrap.graph.pieces import END, is_split, slice_pieces
from msopgen_wrap.graph.walks import reached
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_aten = torch.ops.aten
_place = torch.ops.opgen.place.default
RESHAPES = (_aten.view.default, _aten.reshape.default, _aten._unsafe_view.default)
_ORDERS = (_aten.permute.default, _aten.transpose.int, _aten.t.default)
_WHOLE = (0, END, 1)  # start, end and step of a slice that names none
PRODUCTS = (_aten.mm.default, _aten.bmm.default)
_SQUEEZES = (_aten.squeeze.dim, _aten.squeeze.dims)
_AXES_OF_ONE = (_aten.unsqueeze.default, *_SQUEEZES)
_MOVED = (
    *RESHAPES,
    *_ORDERS,
    *_SQUEEZES,
    _aten.unsqueeze.default,
    _aten.slice.Tensor,
    _aten.select.int,
    _aten.flip.default,
    _place,
)
_OTHER_VIEWS = (
    _aten.expand.default,
    _aten.alias.default,
    _aten.clone.default,
    _aten.detach.default,
    _aten.split.Tensor,
    _aten.split_with_sizes.default,
    _aten.squeeze.default,
)
# Calls that give elements of their first argument as they are.
VIEWS = frozenset(
    (*_MOVED, *_OTHER_VIEWS, _aten.t.default, _aten.lift_fresh_copy.default, _aten.diagonal.default)
)


def is_view(node: Node) -> bool:
    """Whether a call gives elements of its first argument as they are; a piece of a split does."""
    if node.target is operator.getitem:
        source: Any = node.args[0]
        return source.target in VIEWS
    return node.target in VIEWS


_CREATIONS = (
    *("full", "full_like", "scalar_tensor", "empty", "empty_like", "empty_permuted"),
    *("arange", "prims::iota"),
)


def fill_places(graph: Graph) -> None:
    """Make a tensor of one number as large as the tensor that it is placed in.

    What lies around it there is unspecified, so that the number may.
    """
    for node in list(graph.nodes):
        source: Any = node.args[0] if node.target is _place else None
        if not isinstance(source, Node) or source.target is not _aten.full.default:
            continue
        sizes: Any = list(source.args[0])  # type: ignore[arg-type]
        sizes[node.args[1]] = node.args[3]
        with graph.inserting_before(node):
            filled = graph.call_function(source.target, (sizes, source.args[1]), source.kwargs)
        filled.meta = dict(node.meta)
        node.replace_all_uses_with(filled)
        graph.erase_node(node)


def reshapes(graph: Graph) -> list[Node]:
    """Return the reshapes of a graph, in its order."""
    return [node for node in graph.nodes if node.target in RESHAPES]


def kept_axes(before: Node, after: Node) -> int:
    """Return how many axes in front have the same sizes in the shapes of two nodes."""
    return _equal_sizes(before.meta["val"].shape, after.meta["val"].shape)


def kept_behind(before: Node, after: Node) -> int:
    """Return how many axes at the end have the same sizes in the shapes of two nodes."""
    return _equal_sizes(before.meta["val"].shape[::-1], after.meta["val"].shape[::-1])


def _equal_sizes(one: Sequence[Any], other: Sequence[Any]) -> int:
    pairs = zip(one, other, strict=False)
    return [*(always_equal(a, b) for a, b in pairs), False].index(False)


def drop_idle_views(graph: Graph, *, keep_orders: bool) -> None:
    """Leave out views that show a tensor as it is, so that no pass ends at them.

    They are slices of all elements, such as those of ``x[:, None]``, axes in the order that they
    have, such as those of two transposes, tensors placed in as many elements as they have, copies
    that only views read, and two reshapes back to the shape before them. Those between two products
    stay: the second one learns from them which axes its rows are made of.

    Args:
        keep_orders: leave permuted axes and reshapes as they are.
    """
    for node in list(graph.nodes):
        before = _reshaped_back(node)
        if before is not None and not keep_orders:
            node.replace_all_uses_with(before)
            graph.erase_node(node)
        elif _is_idle(node) and not (keep_orders and node.target in _ORDERS):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


def _reshaped_back(node: Node) -> Node | None:
    """Return the node whose shape two reshapes give back, None where they are no such ones."""
    first: Any = node.args[0] if node.target in RESHAPES else None
    source: Any = first.args[0] if isinstance(first, Node) and first.target in RESHAPES else None
    if not isinstance(source, Node) or not same_sizes(
        source.meta["val"].shape, node.meta["val"].shape
    ):
        return None
    between = source.target in PRODUCTS and any(user.target in PRODUCTS for user in node.users)
    return None if between else source


def slice_numbers(node: Node) -> tuple[Any, ...]:
    """Return start, end and step of a slice, also where it names none."""
    return (*node.args[2:], *_WHOLE[len(node.args) - 2 :])


def _is_idle(node: Node) -> bool:
    if node.target is _aten.slice.Tensor:
        return slice_numbers(node) == _WHOLE
    if node.target is _aten.permute.default:
        order: Any = node.args[1]
        return all(int(axis) % len(order) == place for place, axis in enumerate(order))
    if node.target is _place:
        before, length, size = node.args[2:5]
        return bool(before == 0 and length == size)
    # a copy that only views read
    return node.target is _aten.clone.default and all(u.target in _MOVED for u in node.users)


def drop_slices_of_repeats(graph: Graph) -> None:
    """Leave out slices of one element that is placed in many places of an axis.

    Whatever places a slice keeps, they hold this element, and a mask chooses from them: the element
    itself, which is broadcast, stands for them.
    """
    for node in graph.nodes:
        if node.target is not _aten.slice.Tensor or len(node.args) < 2:
            continue
        placed: Any = node.args[0]
        rank = placed.meta["val"].dim()
        if placed.target is not _place or int(node.args[1]) % rank != placed.args[1] % rank:
            continue
        axis, repeat = placed.args[1] % rank, placed.args[0]
        alike = all(u.target is _place or is_pointwise(u) for u in node.users)
        elsewhere = all(u.target is not _place or u.args[1] % rank != axis for u in node.users)
        spread = repeat.target is _aten.expand.default and _is_repeated(repeat, axis)
        if not (alike and elsewhere and spread):
            continue
        sizes = list(repeat.args[1])
        sizes[axis] = 1
        with graph.inserting_before(node):
            one = graph.call_function(_aten.expand.default, (repeat.args[0], sizes))
        value = repeat.meta["val"]
        with value.fake_mode:
            one.meta["val"] = value.narrow(axis, 0, 1)
        node.replace_all_uses_with(one)


def repeats_nothing(node: Node) -> bool:
    """Whether a call of ``expand`` gives a tensor the sizes that it has.

    It and the sizes are made of one input: those of another may be larger than 1 in a call where
    this one's are 1.
    """
    above = reached(node.all_input_nodes, lambda n: n.all_input_nodes)
    inputs = [n for n in above if n.op == "placeholder" and is_tensor(n)]
    source: Any = node.args[0]
    whole = same_sizes(source.meta["val"].shape, node.meta["val"].shape)
    return len(inputs) == 1 and whole


def _is_of_wide_input(view: Node) -> bool:
    """Whether a node is a view of an int32 input that became int64, as ``index.long()``.

    Where the input has 64 bits there is no conversion, and the view is one of the input.
    """
    source: Any = view.args[0]
    if source.target is not _aten._to_copy.default or source.args[0].op != "placeholder":
        return False
    dtypes = source.args[0].meta["val"].dtype, source.meta["val"].dtype
    return dtypes == (torch.int32, torch.int64)


def move_views_to_inputs(graph: Graph) -> None:
    """Rewrite a pointwise graph so that views are taken of inputs alone, where that is possible.

    A view stays where it is when an argument is broadcast along an axis that the view cuts or
    merges.
    """
    plain = made_of_inputs(graph)
    for split in [n for n in graph.nodes if n in plain and is_split(n)]:
        if is_pointwise(split.args[0]) and all(map(_goes_to_work, split.users)):
            plain.update(slice_pieces(split))
            plain.discard(split)
    loops = made_of_inputs(graph, with_loops=True)
    anchored = any(n.op == "call_function" and n not in loops for n in graph.nodes)

    def movable(node: Node) -> bool:
        kept = (_aten.unsqueeze.default,) if anchored else ()
        stays = node.target in kept and not _is_of_wide_input(node)
        return node in plain and _is_movable(node) and not stays

    known: dict[Any, Node] = {}  # the views that are in the graph, so that none is made twice
    pending = {n for n in graph.nodes if movable(n)}
    while pending:
        # The first one of the graph: what it needs is made before it, where all others can use it.
        view = min(pending)
        pending.remove(view)
        source = view.args[0]
        assert isinstance(source, Node)
        same = known.get(_key(view))
        if same is not None and same < view:
            users = list(view.users)
            view.replace_all_uses_with(same)
            graph.erase_node(view)
            pending |= {n for n in users if movable(n)}
            continue
        made: list[Node] = []
        arguments = _viewed_arguments(graph, view, source, made, known)
        if arguments is None:
            for node in reversed(made):
                known.pop(_key(node), None)
                graph.erase_node(node)
            known[_key(view)] = view
            continue
        with graph.inserting_before(view):
            target: Any = source.target
            moved = graph.call_function(target, tuple(arguments), source.kwargs)
        moved.meta = dict(view.meta)
        known[_key(view)] = moved
        view.replace_all_uses_with(moved)
        graph.erase_node(view)
        plain.update(made)
        plain.add(moved)
        pending |= {n for n in (*made, *moved.users) if movable(n)}
    if not anchored:
        _broadcast_single_places(graph)
    graph.eliminate_dead_code()


def _broadcast_single_places(graph: Graph) -> None:
    """Let single elements that are placed in an axis be broadcast along it, where a choice follows.

    What lies around them is unspecified, so that it may be the same element: kernels need no bounds
    for such an operand.
    """
    for node in list(graph.nodes):
        if node.target is not _place:
            continue
        source: Any = node.args[0]
        axis: Any = node.args[1]
        spread = fixed_size(source.meta["val"].shape[axis]) == 1
        if spread and all(_spans_without(user, node, axis) for user in node.users):
            node.replace_all_uses_with(source)


def _spans_without(user: Node, placed: Node, axis: int) -> bool:
    """Whether another argument of a pointwise call has all elements along an axis of ``placed``."""
    size = placed.meta["val"].shape[axis]
    behind = placed.meta["val"].dim() - axis % placed.meta["val"].dim()  # from the end
    others = [n.meta["val"].shape for n in user.all_input_nodes if n is not placed and is_tensor(n)]
    return is_pointwise(user) and any(
        len(shape) >= behind and always_equal(shape[-behind], size) for shape in others
    )


def _key(view: Node) -> Any:
    """Return what is the same for calls that show a tensor in the same way."""

    def hashable(value: Any) -> Any:
        if isinstance(value, torch.SymInt):
            return "size", value.node.expr
        return tuple(map(hashable, value)) if isinstance(value, (list, tuple)) else value

    return view.target, hashable(view.args)


def made_of_inputs(graph: Graph, *, with_loops: bool = False) -> set[Node]:
    """Return the nodes that are made of inputs by pointwise work and views alone.

    Args:
        with_loops: take the calls of loops for such work, too.
    """
    plain: set[Node] = set()
    for node in graph.nodes:
        given = node.op in ("placeholder", "get_attr")
        given |= with_loops and str(node.target).startswith("opgen.loop_")
        before = node.op == "call_function" and _is_plain(node)
        if given or (before and all(n in plain for n in node.all_input_nodes)):
            plain.add(node)
    return plain


def _is_movable(node: Node) -> bool:
    """Whether a node is a view of a pointwise result; the store reshapes outputs itself."""
    if node.target not in _MOVED or not is_pointwise(node.args[0]):
        return False
    if node.target in (*RESHAPES, *_ORDERS) and _is_multiplied(node):
        return False
    return node.target not in RESHAPES or (not is_stored(node) and keeps_order(node.args[0]))


def _is_multiplied(node: Node) -> bool:
    """Whether a view goes to products of matrices alone, which read it as a view of its source.

    They reshape and transpose what they load, so that a gradient's operand is computed once for
    the products of both sides. The source has axes that mean the same at every rank.
    """
    views = (*RESHAPES, *_ORDERS)
    return all(
        u.target in PRODUCTS or (u.target in views and _is_multiplied(u)) for u in node.users
    )


def _goes_to_work(node: Node) -> bool:
    """Whether pointwise work alone reads a value, or views of it.

    Products and reductions read pieces as views of what they are cut from.
    """
    return all(
        is_pointwise(user) or (user.target in _MOVED and _goes_to_work(user)) for user in node.users
    )


def keeps_order(value: Any) -> bool:
    """Whether all that pointwise work reads has its elements one behind the other.

    Of other views of inputs there is no reshape; of the result of the work there is one.
    """
    pending, seen = [value], {value}
    while pending:
        node = pending.pop()
        if node.op != "call_function" or not is_tensor(node):
            continue
        if node.target in _MOVED and node.target not in (*RESHAPES, *_AXES_OF_ONE):
            return False
        inputs = [n for n in node.all_input_nodes if n not in seen]
        pending += inputs
        seen.update(inputs)
    return True


def is_stored(node: Node) -> bool:
    """Whether a node goes to outputs alone, through reshapes and copies at most."""
    passing = (*RESHAPES, _aten.clone.default, _aten.alias.default, _aten.detach.default)
    return all(u.op == "output" or (u.target in passing and is_stored(u)) for u in node.users)


def is_pointwise(node: Any) -> bool:
    target = getattr(node, "target", None)
    if not isinstance(target, torch._ops.OpOverload) or target is _aten.clone.default:
        return False  # a clone is there for its memory layout
    # PyTorch does not tag conversions.
    return torch.Tag.pointwise in target.tags or target is _aten._to_copy.default


def _is_plain(node: Node) -> bool:
    """Whether a call is pointwise, a view, a filled tensor, or arithmetic with sizes."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return True
    name = target._schema.name.removeprefix("aten::")
    known = target in _MOVED or target in _OTHER_VIEWS or name in (*_CREATIONS, "opgen::slab")
    return known or is_pointwise(node) or name in ("sym_size", "sym_numel", "where")


def _viewed_arguments(
    graph: Graph, view: Node, source: Node, made: list[Node], known: dict[Any, Node]
) -> list[Any] | None:
    """Return the arguments of ``source`` seen through ``view``, None where one cannot be.

    Args:
        graph: the graph.
        view: of a pointwise result.
        source: the call that gives that result.
        made: takes the nodes that are made.
        known: views by what they show; those before ``view`` are used again.
    """
    if has_named_tensors(source):
        return None
    arguments: list[Any] = []
    for argument in source.args:
        if isinstance(argument, Node) and is_tensor(argument):
            seen = _through(graph, view, source, argument, made, known)
            if seen is None:
                return None
            arguments.append(seen)
        elif isinstance(argument, (list, tuple)) and any(isinstance(a, Node) for a in argument):
            return None
        else:
            arguments.append(argument)
    return arguments


def has_named_tensors(node: Node) -> bool:
    """Whether a call has tensors among its keyword arguments."""
    return any(isinstance(v, Node) and is_tensor(v) for v in node.kwargs.values())


def is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


# One case per kind of view. They share the sizes and the call that they make, which functions of
# their own would pass on.
def _through(
    graph: Graph,
    view: Node,
    source: Node,
    value: Node,
    made: list[Node],
    known: dict[Any, Node],
) -> Node | None:
    """Return ``value``, an argument of ``source``, as ``view`` shows it."""
    if view.target not in RESHAPES and _is_spread_for(source, value):
        value = value.args[0]  # type: ignore[assignment]
    shape, whole = value.meta["val"].shape, source.meta["val"].shape
    missing = len(whole) - len(shape)
    if not len(shape):
        return value

    def call(target: Any, node: Node, *args: Any) -> Node:
        with graph.inserting_before(view):
            result = graph.call_function(target, (node, *args))
        same = known.get(_key(result))
        if same is not None and same < view:
            graph.erase_node(result)
            return same
        if target is _aten.reshape.default:
            result.meta = {"val": node.meta["val"].new_empty(view.meta["val"].shape)}
        else:
            numbers = torch.fx.node.map_arg(args, lambda n: n.meta["val"])
            result.meta = {"val": target(node.meta["val"], *numbers)}
        known[_key(result)] = result
        made.append(result)
        return result

    target = view.target
    if target in RESHAPES:
        same = missing == 0 and all(always_equal(a, b) for a, b in zip(shape, whole, strict=True))
        if not same:
            return None
        # not a view: what it is of need not be contiguous
        return call(_aten.reshape.default, value, view.args[1])
    if target in _ORDERS:
        for _ in range(missing):
            value = call(_aten.unsqueeze.default, value, 0)
        return call(target, value, *view.args[1:])
    if target in _SQUEEZES:
        listed: Any = view.args[1]
        listed = listed if isinstance(listed, (list, tuple)) else [listed]
        axes = [int(a) % len(whole) for a in listed]
        axes = [a for a in axes if fixed_size(whole[a]) == 1]  # others stay
        if len(whole) - len(view.meta["val"].shape) != len(axes):
            return None
        own = [a - missing for a in axes if a >= missing]
        return call(_aten.squeeze.dims, value, own) if own else value
    if target is _aten.flip.default:
        flipped: Any = view.args[1]
        turned = [int(a) % len(whole) - missing for a in flipped]
        own = [a for a in turned if a >= 0 and not _is_repeated(value, a)]
        if not all(always_equal(shape[a], whole[a + missing]) for a in own):
            return None
        return call(target, value, own) if own else value
    axis: Any = view.args[1] if len(view.args) > 1 else 0
    if target is _aten.unsqueeze.default:
        place = int(axis) % (len(whole) + 1) - missing
        return call(target, value, place) if place > 0 else value
    place = int(axis) % len(whole) - missing
    if place < 0:
        return value
    single = fixed_size(shape[place]) == 1
    if not single and not always_equal(shape[place], whole[place + missing]):
        return None
    if target is _aten.select.int:
        return call(target, value, place, 0 if single else view.args[2])
    return value if single else call(target, value, place, *view.args[2:])


def _is_spread_for(source: Node, value: Node) -> bool:
    """Whether ``source`` would repeat an expanded argument itself: another one has its shape."""
    if value.target is not _aten.expand.default:
        return False
    whole = source.meta["val"].shape
    for other in source.all_input_nodes:
        if is_tensor(other) and other.target is not _aten.expand.default:
            shape = other.meta["val"].shape
            same = len(shape) == len(whole)
            if same and all(always_equal(a, b) for a, b in zip(shape, whole, strict=True)):
                return True
    return False


def _is_repeated(value: Node, axis: int) -> bool:
    """Whether all elements along an axis are the same one."""
    if fixed_size(value.meta["val"].shape[axis]) == 1:
        return True
    if value.target is not _aten.expand.default:
        return False
    source: Any = value.args[0]
    own = source.meta["val"].shape
    place = axis - len(value.meta["val"].shape) + len(own)
    return place < 0 or fixed_size(own[place]) == 1
