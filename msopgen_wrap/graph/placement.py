"""Tensors placed in larger ones, and what is made of that: joining, padding and rolling.

``opgen::place(x, dim, before, length)`` is ``x`` with elements around it along an axis. It is a
view: what lies around is unspecified, and whoever places a tensor selects by the index. So every
operator here is ``where`` over placed pieces, and fuses with pointwise work like any other.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from msopgen_wrap.graph.axes_of_one import is_one
from msopgen_wrap.graph.size_order import at_most, expression
from msopgen_wrap.spec.differentiation import is_from_attrs
from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.fx.experimental.symbolic_shapes import statically_known_true

_aten = torch.ops.aten

# Elements of a window whose gradients are added one by one.
MAX_WINDOW = 16

_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
_LIBRARY.define("place(Tensor x, int dim, SymInt before, SymInt length, SymInt size) -> Tensor")


def _place_meta(x: Any, dim: int, before: Any, length: Any, size: Any) -> Any:
    sizes = list(x.shape)
    sizes[dim] = length
    return x.new_empty(sizes)


def _place_on_cpu(x: Any, dim: int, before: int, length: int, size: int) -> Any:
    result = x.new_zeros([length if a == dim else n for a, n in enumerate(x.shape)])
    result.narrow(dim, before, size).copy_(x)
    return result


_LIBRARY.impl("place", _place_meta, "Meta")
_LIBRARY.impl("place", _place_on_cpu, "CPU")


def place(x: Any, dim: int, before: Any, length: Any, size: Any = None) -> Any:
    """Return a view of ``length`` elements along ``dim``, those of ``x`` from ``before`` on.

    ``size`` is that of ``x`` where it is known better than as the size of a view.
    """
    own = x.shape[dim] if size is None else size
    return torch.ops.opgen.place(x, dim, before, length, own)


def index_along(x: Any, dim: int, length: Any) -> Any:
    """Return int32 numbers 0, 1, ... along an axis, that broadcast with ``x``."""
    return lined_up(x, dim, torch.arange(length, dtype=torch.int32, device=x.device))


def lined_up(x: Any, dim: int, values: Any) -> Any:
    """Give a vector axes of one behind, so that it lies along an axis of ``x``, from the front."""
    for _ in range(x.dim() - dim - 1):
        values = values.unsqueeze(-1)
    return values


def join(pieces: Sequence[Any], dim: int) -> Any:
    """Return pieces of one dtype one behind the other along ``dim`` (non-negative)."""
    if len(pieces) == 1:
        return pieces[0].clone()
    starts = [0]
    for piece in pieces:
        starts.append(starts[-1] + piece.shape[dim])
    length = starts[-1]
    placed = [place(p, dim, s, length) for p, s in zip(pieces, starts, strict=False)]
    index = index_along(pieces[0], dim, length)
    result = placed[-1]
    for piece, end in zip(placed[-2::-1], starts[-2:0:-1], strict=True):
        result = torch.where(index < end, piece, result)
    return result


def _cat(tensors: Any, dim: int = 0) -> Any:
    # torch takes empty vectors beside tensors of any rank, and leaves them out
    rank = max(t.dim() for t in tensors)
    pieces = [t for t in tensors if t.dim() == rank]
    dtype = pieces[0].dtype
    for other in pieces[1:]:
        dtype = torch.promote_types(dtype, other.dtype)
    return join([p if p.dtype == dtype else p.to(dtype) for p in pieces], dim % rank)


def _stack(tensors: Any, dim: int = 0) -> Any:
    shape = list(tensors[0].shape)
    dim %= len(shape) + 1
    if 0 < dim < len(shape):
        return _cat(tensors, dim).view([*shape[:dim], len(tensors), *shape[dim:]])
    # a first axis of pairs in a joined one lies otherwise at each rank
    return _cat([t.unsqueeze(dim) for t in tensors], dim)


def _part(x: Any, dim: int, start: Any, end: Any) -> Any:
    return _aten.slice.Tensor(x, dim, start, end)


def _constant_pad(x: Any, pad: Any, value: Any = 0) -> Any:
    result = x
    for position in range(len(pad) // 2):
        dim = x.dim() - 1 - position
        before, after = pad[2 * position], pad[2 * position + 1]
        if _cuts(before) or _cuts(after):
            end = result.shape[dim] + (after if _cuts(after) else 0)
            result = _part(result, dim, -before if _cuts(before) else 0, end)
        before, after = (0 if _cuts(n) else n for n in (before, after))
        if type(before) is type(after) is int and before == after == 0:
            continue
        size = result.shape[dim]
        placed = place(result, dim, before, before + size + after)
        index = index_along(x, dim, before + size + after)
        inside = index < before + size
        if type(before) is not int or before > 0:
            inside = (index >= before) & inside
        result = _filled(inside, placed, value)
    return result.clone() if result is x else result


def _filled(inside: Any, x: Any, value: Any) -> Any:
    """Return ``x`` where ``inside`` and elsewhere a number, in the dtype of ``x``.

    torch gives the number that dtype, too; beside a wider one ``where`` would widen ``x``.
    """
    number = type(value) in (bool, int, float)
    if x.dtype == torch.bool:
        if not number:
            return torch.where(inside, x, torch.scalar_tensor(value, device=x.device) != 0)
        return x | ~inside if value else x & inside
    if not x.is_floating_point() and not isinstance(value, (bool, int, torch.SymInt)):
        value = int(value) if number else torch.sym_int(value)
    return torch.where(inside, x, value)


def _cuts(amount: Any) -> bool:
    return type(amount) is int and amount < 0


def _padding(edge: Callable[[Any, int, Any, bool], Any]) -> Callable[[Any, Any], Any]:
    """Return a padding whose margins ``edge(x, dim, count, first)`` makes."""

    def decomposition(x: Any, pad: Any) -> Any:
        result = x
        for position in range(len(pad) // 2):
            dim = x.dim() - 1 - position
            before, after = pad[2 * position], pad[2 * position + 1]
            if not all(type(n) is int for n in (before, after)):
                return NotImplemented
            whole = result.shape[dim]
            pieces = [result]
            if before < 0 or after < 0:
                pieces = [_part(result, dim, max(-before, 0), whole + min(after, 0))]
            if before > 0:
                pieces.insert(0, edge(result, dim, before, True))
            if after > 0:
                pieces.append(edge(result, dim, after, False))
            result = join(pieces, dim) if len(pieces) > 1 else pieces[0]
        return result.clone() if result is x else result

    return decomposition


def _reflected(x: Any, dim: int, count: Any, first: bool) -> Any:
    size = x.shape[dim]
    margin = _part(x, dim, 1, count + 1) if first else _part(x, dim, size - 1 - count, size - 1)
    return torch.flip(margin, [dim])


def _repeated(x: Any, dim: int, count: Any, first: bool) -> Any:
    size = x.shape[dim]
    edge = _part(x, dim, 0, 1) if first else _part(x, dim, size - 1, size)
    sizes = list(x.shape)
    sizes[dim] = count
    return edge.expand(sizes)


def _roll(x: Any, shifts: Any, dims: Any = ()) -> Any:
    if not dims:
        return _roll(x.reshape(-1), shifts, [0]).reshape(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        dim %= x.dim()
        size = x.shape[dim]
        if type(size) is int and size == 0:
            continue  # nothing turns, and no shift has a remainder
        if type(shift) is int:
            start = (size - shift) % torch.sym_max(size, 1)
            x = join([_part(x, dim, start, size), _part(x, dim, 0, start)], dim)
            continue
        # how many elements the end has, between 0 and the size
        end = shift % torch.sym_max(size, 1)
        first = place(_part(x, dim, size - end, size), dim, 0, size, end)
        rest = place(_part(x, dim, 0, size - end), dim, end, size, size - end)
        x = torch.where(index_along(x, dim, size) < end, first, rest)
    return x


def _slice_scatter(
    x: Any, source: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1
) -> Any:
    if type(step) is not int or step != 1:
        return NotImplemented
    if type(start or 0) is not int:
        return NotImplemented
    dim %= x.dim()
    size = x.shape[dim]
    first = start or 0  # torch has checked that the source is as long as the slice
    first = torch.sym_max(size + first, 0) if first < 0 else first
    last = first + source.shape[dim]
    pieces = [source, _part(x, dim, last, size)]
    if type(first) is not int or first > 0:
        pieces.insert(0, _part(x, dim, 0, first))
    return join(pieces, dim)


def _slice_backward(grad: Any, sizes: Any, dim: int, start: Any, end: Any, step: Any) -> Any:
    """Return the gradient of a slice: zeros around ``grad``; torch has cut ``end`` to the size."""
    if type(step) is not int:
        return NotImplemented
    dim %= len(sizes)
    if statically_known_true(grad.shape[dim] == sizes[dim]):
        return grad.clone()  # the slice took all
    if not statically_known_true(start >= 0):
        start = begin_of_slice(start, sizes[dim])
    if step > 1:
        length = torch.sym_max((grad.shape[dim] - 1) * step + 1, 0)
        grad = _part(_spread(grad, dim, step), dim, 0, length)
        return _among_zeros(grad, dim, start, sizes[dim], length)
    return _among_zeros(grad, dim, start, sizes[dim], _size_of_slice(start, end, sizes[dim]))


def _size_of_slice(start: Any, end: Any, whole: Any) -> Any:
    """Return the size of a slice that lies within an axis in every call, None for another one.

    What arrives as its gradient may have the size of a tensor that it was broadcast with.
    """
    attrs = whole.node.shape_env.attr_of if isinstance(whole, torch.SymInt) else {}
    known = expression(whole).free_symbols - attrs.keys()
    ordered = [0, start, end, whole]
    if all(at_most(one, next_one, known) for one, next_one in itertools.pairwise(ordered)):
        return end - start
    return None


def begin_of_slice(start: Any, size: Any) -> Any:
    """Return where a slice begins, without asking for the sign of ``start``.

    That of an attr differs from call to call. A start behind the end stays what it is.
    """
    from_front = torch.sym_min(torch.sym_max(start + 1, 0), 1)  # 1 or 0
    from_end = torch.sym_max(size + torch.sym_min(start, 0), 0)
    return torch.sym_max(start, 0) + from_end - size * from_front


def _spread(x: Any, dim: int, step: int) -> Any:
    """Return ``x`` with ``step - 1`` zeros behind every element along an axis."""
    single = x.unsqueeze(dim + 1)
    apart = torch.where(index_along(single, dim + 1, step) < 1, single, 0)
    return apart.reshape(*x.shape[:dim], x.shape[dim] * step, *x.shape[dim + 1 :])


def _unfold_backward(grad: Any, sizes: Any, dim: int, size: Any, step: Any) -> Any:
    """Return the gradient of windows: what each element has of the windows that it is in."""
    if any(type(n) is not int for n in (size, step)) or not 0 < size <= MAX_WINDOW:
        return NotImplemented
    dim %= len(sizes)
    if size == step:
        joined = grad.movedim(-1, dim + 1).flatten(dim, dim + 1)
        return _among_zeros(joined, dim, 0, sizes[dim])
    span = (grad.shape[dim] - 1) * step + 1
    parts = [
        _slice_backward(grad.select(-1, k), sizes, dim, k, k + span, step) for k in range(size)
    ]
    return functools.reduce(torch.add, parts)


def _among_zeros(x: Any, dim: int, first: Any, length: Any, size: Any = None) -> Any:
    """Return ``x`` from ``first`` on along an axis, zeros in the rest of ``length`` elements.

    ``size`` is that of ``x`` where it is known better than as the size of a view.
    """
    last = first + (x.shape[dim] if size is None else size)
    index = index_along(x, dim, length)
    inside = index < last
    if type(first) is not int or first > 0:
        inside = (index >= first) & inside
    return torch.where(inside, place(x, dim, first, length, size), 0)


def _select_scatter(x: Any, source: Any, dim: int, index: Any) -> Any:
    dim %= x.dim()
    if is_one(x.shape[dim]):
        return source.unsqueeze(dim)  # nothing of x is left
    if type(index) is not int:
        if is_from_attrs(index):
            return NotImplemented  # of any sign
        at = index  # a size
    else:
        at = index if index >= 0 else x.shape[dim] + index
    return torch.where(index_along(x, dim, x.shape[dim]) == at, source.unsqueeze(dim), x)


def _beyond_diagonal(x: Any, rows: Any, columns: Any) -> Any:
    """Return how far each element of a matrix is right of its diagonal; ``x`` names the device."""
    row = torch.arange(rows, dtype=torch.int32, device=x.device).unsqueeze(-1)
    return torch.arange(columns, dtype=torch.int32, device=x.device) - row


def _diag_embed(x: Any, offset: Any = 0, dim1: Any = -2, dim2: Any = -1) -> Any:
    rank = x.dim() + 1
    first, second = dim1 % rank, dim2 % rank
    if first > second:
        first, second, offset = second, first, -offset
    if second != rank - 1 or first != rank - 2:
        matrix = _diag_embed(x, offset)
        order = list(range(rank - 2))
        for place_, axis in ((first, rank - 2), (second, rank - 1)):
            order.insert(place_, axis)
        return matrix.permute(order)
    size = x.shape[-1] + abs(offset)
    placed = place(x, x.dim() - 1, max(-offset, 0), size).unsqueeze(-1)
    nothing = False if x.dtype == torch.bool else 0
    return torch.where(_beyond_diagonal(x, size, size) == offset, placed, nothing)


def _diagonal_scatter(x: Any, source: Any, offset: Any = 0, dim1: Any = 0, dim2: Any = 1) -> Any:
    rank = x.dim()
    first, second = dim1 % rank, dim2 % rank
    order = [a for a in range(rank) if a not in (first, second)] + [first, second]
    rows, columns = x.shape[first], x.shape[second]
    placed = place(source, source.dim() - 1, max(-offset, 0), rows).unsqueeze(-1)
    diagonal = _beyond_diagonal(x, rows, columns) == offset
    seen = torch.where(diagonal, placed, x.permute(order))
    back = sorted(range(rank), key=order.__getitem__)
    return seen.permute(back)


def _triangle(lower: bool) -> Callable[..., Any]:
    def decomposition(x: Any, diagonal: Any = 0) -> Any:
        distance = _beyond_diagonal(x, x.shape[-2], x.shape[-1])
        kept = distance <= diagonal if lower else distance >= diagonal
        # a number beside a bool would make an integer of it
        return kept & x if x.dtype == torch.bool else torch.where(kept, x, 0)

    return decomposition


def _cross(x: Any, y: Any, *, dim: int = -1) -> Any:
    dim %= x.dim()

    def turned(value: Any, start: int) -> Any:
        # before it broadcasts: no pass slices repeated elements
        return join([_part(value, dim, start, 3), _part(value, dim, 0, start)], dim)

    return turned(x, 1) * turned(y, 2) - turned(x, 2) * turned(y, 1)


def placement_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table entries of what joins, pads, rolls and scatters along axes."""
    reflect, replicate = _padding(_reflected), _padding(_repeated)
    table: dict[Any, Callable[..., Any]] = {
        _aten.cat.default: _cat,
        _aten.stack.default: _stack,
        _aten.constant_pad_nd.default: _constant_pad,
        _aten.roll.default: _roll,
        _aten.slice_scatter.default: _slice_scatter,
        _aten.slice_backward.default: _slice_backward,
        _aten.unfold_backward.default: _unfold_backward,
        _aten.select_scatter.default: _select_scatter,
        _aten.diagonal_scatter.default: _diagonal_scatter,
        _aten.diag_embed.default: _diag_embed,
        _aten.tril.default: _triangle(True),
        _aten.triu.default: _triangle(False),
        _aten.linalg_cross.default: _cross,
    }
    for rank in (1, 2, 3):
        table[getattr(_aten, f"reflection_pad{rank}d").default] = reflect
        table[getattr(_aten, f"replication_pad{rank}d").default] = replicate
    return table
