"""Decompositions of labels and indices: comparisons with counted numbers, or scatters.

A loss of labels needs one element of each row. Compared with the numbers of the classes, a label
is a mask of the row, so that what follows is a sum in the pass that computes the row.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from msopgen_wrap.graph.placement import lined_up
from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.fx.experimental.symbolic_shapes import statically_known_true

_aten = torch.ops.aten
_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
_LIBRARY.define("take_along(Tensor x, int dim, Tensor index) -> Tensor")


def _take_along(x: Any, dim: int, index: Any) -> Any:
    return torch.gather(x, dim, torch.remainder(index, max(1, x.shape[dim])))


def _take_along_meta(x: Any, dim: int, index: Any) -> Any:
    return x.new_empty(index.shape)


_LIBRARY.impl("take_along", _take_along, "CPU")
_LIBRARY.impl("take_along", _take_along_meta, "Meta")


def _wrapped_gather(x: Any, dim: int, index: Any) -> Any:
    return torch.gather(x, dim, torch.remainder(index, x.shape[dim]))


def _take_along_dim(gather: Callable[..., Any], input: Any, indices: Any, dim: Any = None) -> Any:
    """Gather with indices that count from the end where they are negative.

    PyTorch's own takes a remainder by the size of the axis, which a trace knows as a number only.
    """
    if dim is None:
        return torch.gather(input.reshape(-1), 0, indices.reshape(-1))  # nothing wraps there
    if input.dim() != indices.dim() or type(dim) is not int or not input.dim():
        return NotImplemented
    dim %= input.dim()
    rests = [[*t.shape[:dim], *t.shape[dim + 1 :]] for t in (input, indices)]
    others = torch.broadcast_shapes(*rests)

    def sized(value: Any) -> Any:
        shape = [*others[:dim], value.shape[dim], *others[dim:]]
        alike = zip(value.shape, shape, strict=True)
        return (
            value if all(statically_known_true(a == b) for a, b in alike) else value.expand(shape)
        )

    return gather(sized(input), dim, sized(indices))


def index_functions(differentiated: bool) -> dict[Any, Callable[..., Any]]:
    """Return PyTorch's functions, each with what tracing calls in its place.

    Args:
        differentiated: whether PyTorch differentiates the formula; the kit's op has no gradient.
    """
    gather = _wrapped_gather if differentiated else torch.ops.opgen.take_along
    along = functools.partial(_take_along_dim, gather)
    return {torch.take_along_dim: along, torch.Tensor.take_along_dim: along}


# Values of ``reduction`` in ATen.
NONE, MEAN = 0, 1


def _class_axis(x: Any) -> int:
    return 1 if x.dim() > 1 else 0


def _hits(x: Any, target: Any) -> Any:
    """Return where the class of an element of ``x`` is the label of its row."""
    classes = torch.arange(x.shape[_class_axis(x)], dtype=target.dtype, device=x.device)
    return target.unsqueeze(_class_axis(x)) == lined_up(x, 1, classes)


def _chosen(x: Any, hits: Any, values: Any) -> Any:
    return torch.where(hits, values, 0).sum(_class_axis(x))


def _nll_loss_forward(
    x: Any, target: Any, weight: Any, reduction: int, ignore_index: int
) -> tuple[Any, Any]:
    """Return the loss, and the sum of the weights; a label that is no class gives NaN."""
    hits = _hits(x, target)
    used = target != ignore_index
    inside = (target >= 0) & (target < x.shape[_class_axis(x)])
    if weight is None:
        losses, weights = -_chosen(x, hits, x), used.to(x.dtype)
    else:
        scaled = lined_up(x, 1, weight)
        losses = -_chosen(x, hits, x * scaled)
        weights = _chosen(x, hits, scaled + torch.zeros_like(x))
        weights = torch.where(used, weights, 0)
    losses = torch.where(inside, losses, float("nan"))
    losses = torch.where(used, losses, 0)
    if reduction == NONE and x.dim() > 1:
        return losses, x.new_full((), 0.0)
    total = weights.sum()
    if reduction == NONE:
        return losses, total
    loss = losses.sum()
    return (loss / total if reduction == MEAN else loss), total


def _nll_loss_backward(
    grad: Any,
    x: Any,
    target: Any,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Any,
) -> Any:
    if reduction == MEAN:
        grad = grad / total_weight
    if grad.dim():
        grad = grad.unsqueeze(_class_axis(x))
    used = (target != ignore_index).unsqueeze(_class_axis(x))
    scaled = -grad if weight is None else -grad * lined_up(x, 1, weight)
    return torch.where(_hits(x, target) & used, scaled, torch.zeros_like(x))


def _multilabel_margin_loss(x: Any, target: Any, reduction: int) -> tuple[Any, Any]:
    """Return the loss, and which classes are labels: those before the first negative number."""
    rows, labels = torch.atleast_2d(x), torch.atleast_2d(target)
    classes = rows.shape[-1]
    labels = torch.clamp(labels, -1, classes).to(torch.int32)
    number = torch.arange(classes, dtype=torch.int32, device=x.device)
    end = torch.where(labels < 0, number, classes).amin(-1, keepdim=True)
    used = number < end
    hits = (labels.unsqueeze(-1) == number) & used.unsqueeze(-1)
    chosen = torch.where(hits, rows.unsqueeze(-2), 0).sum(-1, keepdim=True)
    is_label = hits.any(-2)
    off = 1 - chosen + rows.unsqueeze(-2)
    counts = used.unsqueeze(-1) & torch.logical_not(is_label).unsqueeze(-2)
    counts = counts & (off > 0)  # NaN is no loss, as in PyTorch
    losses = torch.where(counts, off / classes, 0).sum(-1).sum(-1)
    if reduction == MEAN:
        losses = losses.sum() / torch.sym_max(losses.numel(), 1)  # PyTorch's of no rows is 0
    elif reduction != NONE:
        losses = losses.sum()
    elif x.dim() < 2:
        losses = losses.squeeze(0)
    return losses, is_label.to(x.dtype).reshape(target.shape)


def multi_margins(x: Any, target: Any, p: Any, margin: Any, weight: Any) -> Any:
    """Return the multi-class margin loss of each row: labels are compared with class numbers.

    A step that is no number is no part of the loss, as in PyTorch.

    Args:
        x: floats, classes on the last axis.
        target: labels, one for each row.
        p: 1 or 2.
        weight: of each class; None for 1.
    """
    own = torch.arange(x.shape[-1], device=x.device) == target.reshape([*x.shape[:-1], 1])
    labelled = torch.where(own, x, 0.0).sum(-1, keepdim=True)
    steps = x - labelled + margin
    steps = torch.where(own | ~(steps > 0), 0.0, steps)
    steps = steps * steps if p == 2 else steps
    if weight is not None:
        steps = steps * torch.where(own, weight, 0.0).sum(-1, keepdim=True)
    return steps.sum(-1) / x.shape[-1]


def _multi_margin_loss(
    x: Any,
    target: Any,
    p: Any = 1,
    margin: Any = 1,
    weight: Any = None,
    reduction: int = MEAN,
) -> Any:
    losses = multi_margins(torch.atleast_1d(x), target, p, margin, weight)
    if reduction == NONE:
        return losses.reshape(target.shape)
    return losses.mean() if reduction == MEAN else losses.sum()


def _embedding_backward(
    grad: Any, indices: Any, num_weights: Any, padding_idx: Any, scale_grad_by_freq: bool
) -> Any:
    if scale_grad_by_freq:
        return NotImplemented
    if type(padding_idx) is not int or padding_idx >= 0:
        grad = torch.where((indices == padding_idx).unsqueeze(-1), 0, grad)
    sums = grad.new_zeros((num_weights, *grad.shape[indices.dim() :]))
    return _aten.index_put(sums, [indices], grad, True)


# Of a reduction by index, what joins with a value to that value.
_IDENTITIES = {"sum": 0, "prod": 1, "amax": -math.inf, "amin": math.inf}


def _identity(x: Any, reduce: str) -> Any:
    number = 0 if reduce == "mean" else _IDENTITIES[reduce]
    if x.is_floating_point() or number in (0, 1):
        return number
    limits = torch.iinfo(x.dtype)
    return limits.min if number < 0 else limits.max


def _shares(total: Any, count: Any) -> Any:
    """Return sums divided by how many values they have; none divides by 1."""
    count = torch.clamp(count, min=1)
    floating = total.is_floating_point()
    return total / count if floating else torch.div(total, count, rounding_mode="floor")


def _scatter_reduce(
    x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """Reduce by index as a scatter that joins values: no mean, and what was there takes part."""
    if reduce in ("prod", "amax", "amin") and include_self:
        return NotImplemented
    base = x if include_self else _aten.scatter(x, dim, index, _identity(x, reduce))
    if reduce not in ("sum", "mean"):
        return _aten.scatter_reduce(base, dim, index, source, reduce)
    total = _aten.scatter_add(base, dim, index, source)
    if reduce == "sum":
        return total
    found = torch.full_like(x, 1 if include_self else 0)
    return _shares(total, _aten.scatter_add(found, dim, index, torch.ones_like(source)))


def _scatter_with(x: Any, dim: int, index: Any, source: Any, *, reduce: str) -> Any:
    """Scatter values, or one number, that join with what is there."""
    if not isinstance(source, torch.Tensor):
        source = torch.full_like(index, source, dtype=x.dtype)
    if reduce == "add":
        return _aten.scatter_add(x, dim, index, source)
    return _aten.scatter_reduce(x, dim, index, source, "prod")


def _index_reduce(
    x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """Reduce rows by index; see ``_scatter_reduce``."""
    if reduce in ("prod", "amax", "amin") and include_self:
        return NotImplemented
    base = x if include_self else _aten.index_fill(x, dim, index, _identity(x, reduce))
    if reduce != "mean":
        return _aten.index_reduce(base, dim, index, source, reduce)
    dim %= max(1, x.dim())
    found = x.new_full(x.shape[dim : dim + 1], 1 if include_self else 0)
    count = _aten.index_add(found, 0, index, x.new_ones(index.shape))
    for _ in range(x.dim() - dim - 1):
        count = count.unsqueeze(-1)
    return _shares(_aten.index_add(base, dim, index, source), count)


def _put(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    flat = [x.reshape(-1), index.reshape(-1), source.reshape(-1)]
    return _aten.index_put(flat[0], [flat[1]], flat[2], accumulate).reshape(x.shape)


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Write one element, row or number wherever a mask says so: a choice, no index.

    How many places a mask has only the data say, so values that differ from place to place stay
    an ``index_put``.
    """
    given = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    if len(given) != 1 or given[0][1].dtype is not torch.bool:
        return NotImplemented
    axis, mask = given[0]
    for size, known in zip(mask.shape, x.shape[axis:], strict=False):
        torch._check(size == known, lambda: "a mask in brackets has other sizes than the tensor")
    rest = x.dim() - axis - mask.dim()  # axes behind those of the mask
    chosen = values.dim() - rest - 1  # the axis of the places
    if chosen >= 0:
        if not statically_known_true(values.shape[chosen] == 1):
            return NotImplemented
        values = values.squeeze(chosen)
        for _ in range(mask.dim()):
            values = values.unsqueeze(chosen)
    for _ in range(rest):
        mask = mask.unsqueeze(-1)
    return torch.where(mask, x + values if accumulate else values, x)


def _take(x: Any, index: Any) -> Any:
    # PyTorch's own reads an index without axes while it is traced
    return _aten.index(x.reshape(-1), [index.reshape(-1)]).reshape(index.shape)


def _as_row(value: Any) -> Any:
    """Return a tensor without axes as a row of one element."""
    return value.reshape(1) if isinstance(value, torch.Tensor) and value.dim() == 0 else value


def _of_a_scalar(function: Any, other: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return rows by index of a tensor without axes, which is one row for PyTorch.

    Args:
        other: the decomposition for tensors with axes, None without one.
    """

    def decomposed(x: Any, dim: int, index: Any, *more: Any, **options: Any) -> Any:
        if x.dim() > 0:
            return NotImplemented if other is None else other(x, dim, index, *more, **options)
        # what is filled in has no axes itself
        given = more if function is _aten.index_fill else [_as_row(value) for value in more]
        return function(_as_row(x), 0, _as_row(index), *given, **options).reshape(())

    return decomposed


def scalar_row_decompositions(table: Mapping[Any, Callable[..., Any]]) -> dict[Any, Any]:
    """Return the entries of operators on rows for tensors without axes, before the table's."""
    names = {
        _aten.index_select.default: _aten.index_select,
        _aten.index_copy.default: _aten.index_copy,
        _aten.index_add.default: _aten.index_add,
        _aten.index_fill.int_Scalar: _aten.index_fill,
        _aten.index_fill.int_Tensor: _aten.index_fill,
        _aten.index_reduce.default: _aten.index_reduce,
    }
    return {op: _of_a_scalar(packet, table.get(op)) for op, packet in names.items()}


def _unfold(x: Any, dim: int, size: int, step: int) -> Any:
    return x.reshape(1) if x.dim() == 0 and size == 1 else NotImplemented


def index_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table entries of losses with labels, and of the gradient of an embedding."""
    return {
        _aten.nll_loss_forward.default: _nll_loss_forward,
        _aten.nll_loss2d_forward.default: _nll_loss_forward,
        _aten.nll_loss_backward.default: _nll_loss_backward,
        _aten.nll_loss2d_backward.default: _nll_loss_backward,
        _aten.multilabel_margin_loss_forward.default: _multilabel_margin_loss,
        _aten.multi_margin_loss.default: _multi_margin_loss,
        _aten.embedding_dense_backward.default: _embedding_backward,
        _aten.scatter_reduce.two: _scatter_reduce,
        _aten.scatter.reduce: _scatter_with,
        _aten.scatter.value_reduce: _scatter_with,
        _aten.index_reduce.default: _index_reduce,
        _aten.unfold.default: _unfold,
        _aten.index_put.default: _index_put,
        _aten.put.default: _put,
        _aten.take.default: _take,
    }
