"""What stands in a trace instead of functions that PyTorch differentiates by plain numbers.

PyTorch's own derivatives of these functions write temporaries in place, for which autograd wants
sizes that are numbers, or count axes from the front and from the end at once, which one kernel for
all ranks cannot. The formulas here have the same values and the same derivatives. Those of channels
see a tensor as ``[n, channels, rest]``, whatever its rank is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.graph.counting import distances
from msopgen_wrap.graph.differentiated_losses import LOSSES
from msopgen_wrap.graph.placement import index_along
from msopgen_wrap.torch_import import torch

functional = torch.nn.functional


# ---- statistics ----------------------------------------------------------------------------------


def _variance(
    x: Any, dim: Any = None, unbiased: Any = None, *, correction: Any = None, keepdim: bool = False
) -> Any:
    """Return a variance whose gradient PyTorch derives with symbols for sizes and correction.

    Its own takes plain numbers. The mean counts as constant: what the gradient has by it is 0.
    """
    if isinstance(dim, bool) or (isinstance(unbiased, int) and not isinstance(unbiased, bool)):
        return NotImplemented  # other overloads
    if unbiased is not None:
        correction = int(unbiased)
    dims = list(range(x.dim())) if dim is None or dim == [] or dim == () else dim
    dims = [dims] if isinstance(dims, (int, torch.SymInt)) else list(dims)
    if not dims:
        return NotImplemented
    centred = x - x.mean(dims, keepdim=True).detach()
    count: Any = 1
    for axis in dims:
        count = count * x.shape[axis]
    freedom = torch.sym_max(0, count - (1 if correction is None else correction))
    return (centred * centred).sum(dims, keepdim=keepdim) / freedom


def _deviation(x: Any, *args: Any, **kwargs: Any) -> Any:
    variance = _variance(x, *args, **kwargs)
    if variance is NotImplemented:
        return variance
    none = variance == 0  # where PyTorch says that the gradient is 0
    return torch.where(none, 0.0, torch.where(none, 1.0, variance).sqrt())


def _gather(x: Any, dim: Any, index: Any, *, sparse_grad: bool = False) -> Any:
    """Return one element of each row, as a sum: its derivative is a comparison, no scatter."""
    if sparse_grad or not isinstance(dim, int) or not x.is_floating_point():
        return NotImplemented
    if not x.dim() or index.dim() != x.dim():
        return NotImplemented
    axis = dim % x.dim()
    # An index with fewer rows takes the first ones: sizes have to be the same by a shape rule.
    sizes = [[getattr(getattr(n, "node", n), "expr", n) for n in t.shape] for t in (x, index)]
    if sizes[1] != [*sizes[0][:axis], 1, *sizes[0][axis + 1 :]]:
        return NotImplemented
    return _element_at(x, axis, index)


def _element_at(x: Any, axis: int, index: Any, keepdim: bool = True) -> Any:
    """Return the element of each row that ``index``, of size 1 along ``axis``, says."""
    chosen = index_along(x, axis, x.shape[axis]) == index
    return torch.where(chosen, x, 0.0).sum(axis, keepdim=keepdim)


# ---- numbers and products ------------------------------------------------------------------------

_SYMBOLS = (torch.SymInt, torch.SymFloat)


def power(x: Any, exponent: Any) -> Any:
    """Return a power of which the exponent is an attr; PyTorch's derivative branches on it."""
    if not isinstance(exponent, _SYMBOLS) or not x.is_floating_point():
        return NotImplemented
    number: Any = exponent  # of which the stubs of torch.full know no symbols
    return torch.pow(x, torch.full([], number, dtype=x.dtype, device=x.device))


def _lerp(start: Any, end: Any, weight: Any) -> Any:
    if not isinstance(weight, _SYMBOLS):
        return NotImplemented
    return start + weight * (end - start)


def _chosen(name: str) -> Callable[..., Any]:
    """Return ``max`` or ``min`` along an axis: the gradient goes to the element that is given."""
    whole = getattr(torch, name)

    def replaced(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if not isinstance(dim, int) or not x.is_floating_point() or not x.dim():
            return NotImplemented
        places = whole(x.detach(), dim, keepdim=True)[1]
        axis = dim % x.dim()
        values = _element_at(x, axis, places, keepdim)
        places = places if keepdim else places.squeeze(axis)
        return getattr(torch.return_types, name)([values, places])

    return replaced


def _product(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Return a product; PyTorch divides by elements, and scans where one of them is 0."""
    x = x if dtype is None else x.to(dtype)
    if not x.is_floating_point():
        return NotImplemented
    zero = x == 0
    kept = torch.where(zero, 1.0, x).detach()
    every: tuple[int, ...] = () if dim is None else (dim,)
    kwargs: dict[str, Any] = {} if dim is None else {"keepdim": True}
    others = kept.prod(*every, **kwargs)
    zeros = zero.to(x.dtype).sum(*every, **kwargs)
    # where the zero meets NaN or an infinity, the product of the others is NaN
    alone = torch.where(zero & (zeros == 1), others, others * 0.0)
    slope = torch.where(zeros == 0, others / kept, alone).detach()
    change = (x - x.detach()) * slope
    if dim is None:
        return x.detach().prod() + change.sum()
    return x.detach().prod(dim, keepdim=keepdim) + change.sum(dim, keepdim=keepdim)


def _running_product(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Return products up to each element; PyTorch's derivative loops over them for zeros.

    From the first zero on all products are 0: they depend on that element alone, by the product of
    the others.
    """
    x = x if dtype is None else x.to(dtype)
    if not x.is_floating_point() or not x.dim():
        return NotImplemented
    given = x.detach()
    zero = given == 0
    zeros = zero.to(x.dtype).cumsum(dim)
    first = zero & (zeros == 1)
    others = torch.where(first, 1.0, given).cumprod(dim)
    products = torch.where(zeros == 0, others, 0.0)
    change = x - given
    shares = torch.where(zero, 0.0, change / torch.where(zero, 1.0, given))
    alone = torch.where(first, change, 0.0)
    return products + products * shares.cumsum(dim) + others * alone.cumsum(dim)


def _cdist(x1: Any, x2: Any, p: Any = 2.0, compute_mode: Any = None) -> Any:
    """Return distances of rows; PyTorch's derivative is a call of its own.

    That of the largest difference is left to it: a norm shares the gradient among equal ones.
    """
    if type(p) not in (int, float) or not 0 < p < math.inf or not x1.is_floating_point():
        return NotImplemented
    return distances(x1, x2, p)


def padded(x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """Read margins as elements of the input; PyTorch's derivative of them is a call of its own."""
    modes = ("replicate", "reflect", "circular")
    if mode not in modes or len(pad) % 2 or len(pad) > 2 * x.dim():
        return NotImplemented
    for axis, before, behind in zip(range(x.dim() - 1, -1, -1), pad[::2], pad[1::2], strict=False):
        if type(before) is int and type(behind) is int and before == behind == 0:
            continue
        size = x.shape[axis]
        last = size - 1
        count = size + before + behind
        places = torch.arange(count, dtype=torch.int32, device=x.device) - before
        if mode == "reflect":
            torch._check(size > torch.sym_max(before, behind), lambda: "margins exceed the axis")
            places = last - torch.abs(last - torch.abs(places))
        elif mode == "circular":
            once = size >= torch.sym_max(before, behind)
            torch._check(once, lambda: "padding wraps around more than once")
            places = torch.where(places < 0, places + size, places)
            places = torch.where(places > last, places - size, places)
        x = torch.index_select(x, axis, torch.clamp(torch.clamp(places, min=0), max=last))
    return x


# ---- channels ------------------------------------------------------------------------------------


def _rest(x: Any) -> Any:
    """Return how many elements of ``x`` lie behind its first two axes."""
    count: Any = 1
    for size in x.shape[2:]:
        count = count * size
    return count


def standardized(x: Any, dims: list[int], eps: float) -> Any:
    """Return ``x`` with mean 0 and variance 1 over some axes."""
    centred = x - x.mean(dims, keepdim=True)
    return centred * torch.rsqrt((centred * centred).mean(dims, keepdim=True) + eps)


def _scaled(x: Any, weight: Any, bias: Any, count: Any = None) -> Any:
    """Return ``x``, seen as ``[n, channels..., rest]``, with scale and shift per channel.

    Args:
        count: of how many elements the means are; None where PyTorch refuses means of nothing.
    """
    sizes = (1, *x.shape[1:-1], 1)
    if weight is not None:
        weight = weight.view(sizes)
        x = x * (weight if count is None else _with_gradient_of_mean(weight, count))
    return x if bias is None else x + bias.view(sizes)


def _with_gradient_of_mean(values: Any, count: Any) -> Any:
    """Return the values; their gradient is NaN where ``count`` is 0, as a mean of nothing is.

    ``graph.saved_values`` makes ``values`` of the sum: 1 or NaN stands in their gradient alone.
    """
    number: Any = count  # of which the stubs of torch.full know no symbols
    known = torch.full([], number, dtype=values.dtype, device=values.device)
    scaled = values * (known / known)
    return scaled + (values - scaled).detach()


def _group_norm(
    x: Any, num_groups: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    grouped = x.reshape(x.shape[0], num_groups, x.shape[1] // num_groups, _rest(x))
    # of nothing at all there are no means
    count = torch.sym_max(grouped.shape[2] * grouped.shape[3], 1 - x.shape[0])
    return _scaled(standardized(grouped, [2, 3], eps), weight, bias, count).reshape(x.shape)


def _batch_norm(
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if not training or running_mean is not None or running_var is not None:
        return NotImplemented
    seen = x.reshape(x.shape[0], x.shape[1], _rest(x))
    return _scaled(standardized(seen, [0, 2], eps), weight, bias).reshape(x.shape)


def _instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if not use_input_stats or running_mean is not None or running_var is not None:
        return NotImplemented
    seen = x.reshape(x.shape[0], x.shape[1], _rest(x))
    return _scaled(standardized(seen, [2], eps), weight, bias).reshape(x.shape)


def _prelu(x: Any, weight: Any) -> Any:
    if x.dim() < 2:
        return NotImplemented
    seen = x.reshape(x.shape[0], x.shape[1], _rest(x))
    above = seen > 0
    # the weight has no part in what is above, infinities included
    scaled = torch.where(above, 0.0, seen) * weight.view(1, weight.shape[0], 1)
    return torch.where(above, seen, scaled).reshape(x.shape)


# ---- attention -----------------------------------------------------------------------------------


def _for_heads_of(query: Any, x: Any) -> Any:
    """Repeat each head of keys or values for the heads of the query that it serves."""
    before, heads, rest = list(x.shape[:-3]), x.shape[-3], list(x.shape[-2:])
    each = query.shape[-3] // heads
    return x.unsqueeze(-3).expand(*before, heads, each, *rest).reshape(*before, heads * each, *rest)


def attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Any:
    """Return attention as products and a softmax; PyTorch's derivative is a call of its own."""
    if isinstance(dropout_p, float) and dropout_p != 0.0:
        return NotImplemented
    if enable_gqa:
        key, value = _for_heads_of(query, key), _for_heads_of(query, value)
    factor = torch.sym_max(query.shape[-1], 1) ** -0.5 if scale is None else scale
    scores = query @ key.mT * factor
    if is_causal:
        rows = index_along(scores, scores.dim() - 2, scores.shape[-2])
        columns = index_along(scores, scores.dim() - 1, scores.shape[-1])
        scores = scores.masked_fill(columns > rows, float("-inf"))
    if attn_mask is None:
        return torch.softmax(scores, -1) @ value
    if attn_mask.dtype == torch.bool:
        scores = torch.where(attn_mask, scores, float("-inf"))
    else:
        scores = scores + attn_mask
    hidden = (scores == float("-inf")).all(-1, keepdim=True)  # such rows give zeros
    weights = torch.softmax(torch.where(hidden, 0.0, scores), -1)
    return torch.where(hidden, 0.0, weights) @ value


def _trace(x: Any) -> Any:
    # PyTorch's derivative counts the elements of the sample
    return x.diagonal().sum() if x.dim() == 2 else NotImplemented


def _sinc(x: Any) -> Any:
    # next to 0 the terms of PyTorch's derivative cancel; there, a series
    if not x.is_floating_point():
        return NotImplemented
    turn = x * math.pi
    square = turn * turn
    series = 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)))
    near = torch.abs(x) < 0.25
    return torch.where(near, series, torch.sin(turn) / torch.where(near, 1.0, turn))


def _sgn(x: Any) -> Any:
    # PyTorch's derivative makes zeros of the sample's sizes
    return NotImplemented if x.is_complex() else torch.sign(x)


# Function -> what a trace that is differentiated calls; NotImplemented leaves it to PyTorch.
DIFFERENTIATED: dict[Any, Callable[..., Any]] = {
    torch.sinc: _sinc,
    torch.special.sinc: _sinc,
    torch.Tensor.sinc: _sinc,
    torch.sgn: _sgn,
    torch.Tensor.sgn: _sgn,
    torch.trace: _trace,
    torch.Tensor.trace: _trace,
    torch.var: _variance,
    torch.Tensor.var: _variance,
    torch.std: _deviation,
    torch.Tensor.std: _deviation,
    torch.pow: power,
    torch.Tensor.pow: power,
    torch.Tensor.__pow__: power,
    torch.lerp: _lerp,
    torch.Tensor.lerp: _lerp,
    torch.max: _chosen("max"),
    torch.Tensor.max: _chosen("max"),
    torch.min: _chosen("min"),
    torch.Tensor.min: _chosen("min"),
    torch.gather: _gather,
    torch.Tensor.gather: _gather,
    torch.cdist: _cdist,
    functional.pad: padded,
    torch.prod: _product,
    torch.Tensor.prod: _product,
    torch.cumprod: _running_product,
    torch.Tensor.cumprod: _running_product,
    functional.group_norm: _group_norm,
    functional.batch_norm: _batch_norm,
    functional.instance_norm: _instance_norm,
    functional.prelu: _prelu,
    functional.scaled_dot_product_attention: attention,
    **LOSSES,
}
